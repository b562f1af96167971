/* Texts that a language model continues. */
#include "task/language.h"

#include <stdlib.h>
#include <string.h>

#define LENGTH 200
/* Bytes of the text that a report shows. */
#define SHOWN 600

static mica_value build(mica_nn *nn, mica_value ids, const mica_kv_cache *cache, const void *user) {
  mica_model_config network = *(const mica_model_config *)user;
  network.sequence.cache = cache;
  network.sequence.last = true;
  return mica_model_build(nn, ids, &network);
}

/* Prompts as tokens, a row each. */
typedef struct rows {
  int32_t *ids, *lengths;
  int64_t row;
} rows;

static mica_status take_prompts(const mica_run_texts *texts, int64_t context, rows *r) {
  for (size_t b = 0; b < texts->prompt_count; b++) {
    const size_t bytes = texts->prompt_bytes ? texts->prompt_bytes[b] : strlen(texts->prompts[b]);
    if (bytes > INT32_MAX) return mica__fail(MICA_E_INVALID, "prompt %zu is too long", b + 1);
    if (!bytes) return mica__fail(MICA_E_INVALID, "prompt %zu is empty", b + 1);
    if ((int64_t)bytes > context && !texts->window)
      return mica__fail(MICA_E_INVALID,
                        "prompt %zu has %zu tokens, the network's context holds %lld; with a window (--window N) the "
                        "last of them are read",
                        b + 1, bytes, (long long)context);
    if ((int64_t)bytes > r->row) r->row = (int64_t)bytes;
  }
  r->lengths = calloc(texts->prompt_count, sizeof *r->lengths);
  r->ids = calloc(texts->prompt_count, (size_t)r->row * sizeof *r->ids);
  if (!r->ids || !r->lengths) return mica__fail_nomem("prompts");
  for (size_t b = 0; b < texts->prompt_count; b++) {
    const unsigned char *bytes = (const unsigned char *)texts->prompts[b];
    r->lengths[b] = (int32_t)(texts->prompt_bytes ? texts->prompt_bytes[b] : strlen(texts->prompts[b]));
    for (int64_t i = 0; i < r->lengths[b]; i++) r->ids[(int64_t)b * r->row + i] = bytes[i];
  }
  return MICA_OK;
}

/* Hands each token on as it comes. */
static mica_status write_texts(mica_generator *g, const mica_run_texts *texts, const rows *r) {
  const int64_t length = texts->length ? texts->length : LENGTH;
  int32_t *next = calloc(texts->prompt_count, sizeof *next);
  mica_status status = next ? mica_generator_prompt(g, r->ids, r->lengths, r->row) : mica__fail_nomem("tokens");
  bool goes_on = true;
  for (int64_t i = 0; status == MICA_OK && goes_on && i < length; i++) {
    status = mica_generator_next(g, next);
    for (size_t b = 0; status == MICA_OK && goes_on && b < texts->prompt_count; b++) {
      const char byte = (char)next[b];
      goes_on = texts->text(texts->user, b, &byte, 1);
    }
  }
  free(next);
  return status;
}

mica_status mica__language_generate(mica_run *run, const mica_run_texts *texts) {
  const mica_model_config network = mica__language_network(run);
  const int64_t context = network.sequence.context;
  rows r = {0};
  mica_generator *g = NULL;
  const mica_generator_config config = {
      .block = build,
      .block_config = &network,
      .share = mica_trainer_test_session(run->trainer),
      .nn = {.dtype = mica__run_precision(run), .hook = run->training.hook, .hook_user = run->training.hook_user},
      .batch = (int64_t)texts->prompt_count,
      .context = context,
      .window = texts->window ? texts->window : context / 2,
      .sampling = texts->sampling};
  mica_status status = take_prompts(texts, context, &r);
  if (status == MICA_OK) status = mica_generator_create(run->engine, &config, &g);
  if (status == MICA_OK) status = write_texts(g, texts, &r);
  mica_generator_destroy(g);
  free(r.ids);
  free(r.lengths);
  return status;
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

mica_status mica__language_report(mica_run *run, mica_report *report) {
  static const char *const prompt[] = {"\n"};
  mica__text text = {0};
  const mica_run_texts texts = {.prompts = prompt,
                                .prompt_count = 1,
                                .length = SHOWN,
                                .sampling = {.temperature = 0.8},
                                .text = keep,
                                .user = &text};
  mica_status status = mica__language_generate(run, &texts);
  if (status == MICA_OK) status = mica__text_status(&text);
  if (status == MICA_OK) status = mica_report_begin(report, "A text that the network writes");
  if (status == MICA_OK) status = mica_report_add_text(report, "at temperature 0.8", text.data);
  mica__text_free(&text);
  return status;
}
