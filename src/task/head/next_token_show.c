/* Generates text with a trained language model: texts for the caller, and one text for the report. */
#include "base/text.h"
#include "run/run.h"
#include "run/verbs/generate.h"
#include "task/head/next_token.h"
#include "task/input/contexts.h"

/* Maximum number of bytes of the text that a report shows. */
#define SHOWN 600

mica_status mica__next_token_generate(mica_run *run, const mica_run_texts *texts) {
  const mica__writer writer = {mica__contexts_network(run), mica__contexts_encode};
  return mica__run_write_texts(run, &writer, texts);
}

/* --- the report --- */

static bool keep(void *user, size_t prompt, const char *bytes, size_t count) {
  mica__text *text = user;
  (void)prompt;
  for (size_t i = 0; i < count; i++) {
    const char c = bytes[i];
    mica__text_addf(text, "%c", c == '\n' || ((unsigned char)c >= ' ' && (unsigned char)c < 0x7f) ? c : '?');
  }
  return !text->failed;
}

/* A prompt with at least one token; NULL: none was found. */
static const char *find_prompt(const mica_run *run) {
  static const char *const prompts[] = {"\n", "a", "."};
  for (size_t i = 0; i < sizeof prompts / sizeof *prompts; i++) {
    mica__ids ids = {0};
    mica__attempt_begin();
    const bool good = mica__contexts_encode(run, "a prompt", prompts[i], 1, &ids) == MICA_OK && ids.count;
    mica__attempt_end();
    mica__ids_free(&ids);
    if (good) return prompts[i];
  }
  return NULL;
}

mica_status mica__next_token_report(mica_run *run, mica_report *report) {
  const char *const prompt[] = {find_prompt(run)};
  mica__text text = {0};
  if (!prompt[0]) return MICA_OK;
  const mica_run_texts texts = {.prompts = prompt,
                                .prompt_count = 1,
                                .length = SHOWN,
                                .sampling = {.temperature = 0.8},
                                .text = keep,
                                .user = &text};
  mica_status status = mica__next_token_generate(run, &texts);
  if (status == MICA_OK) status = mica__text_status(&text);
  if (status == MICA_OK) status = mica_report_begin(report, "A text that the network writes");
  if (status == MICA_OK) status = mica_report_add_text(report, "at temperature 0.8", text.data);
  mica__text_free(&text);
  return status;
}
