/* Letters of the task speech, as classes and as UTF-8, and how texts of them are searched for. */
#include "base/utf8.h"
#include "task/input/strings.h"

#include <stdlib.h>
#include <string.h>

int32_t mica__speech_letter(const char *text, size_t size, size_t *bytes) {
  return mica__utf8_first(text, size) ? (int32_t)mica__utf8_at(text, bytes) : -1;
}

void mica__speech_add_letter(mica__text *text, int32_t letter) {
  char bytes[4];
  if (letter == ' ' && (!text->length || text->data[text->length - 1] == ' ')) return;
  mica__text_add_bytes(text, bytes, mica__utf8_encode((uint32_t)letter, bytes));
}

int64_t mica__speech_classes(const mica_run *run) {
  size_t count = 0;
  mica_run_fact(run, "alphabet", &count);
  return (int64_t)count + 1;
}

mica_status mica__speech_alphabet(const mica_run *run, int32_t **letters) {
  size_t count = 0;
  const char *const *texts = mica_run_fact(run, "alphabet", &count);
  int32_t *list = texts ? calloc(count + 1, sizeof *list) : NULL;
  if (!texts) return mica__fail(MICA_E_FORMAT, "\"alphabet\" is missing");
  if (!list) return mica__fail_nomem("an alphabet");
  for (size_t i = 0; i < count; i++) {
    size_t bytes = 0;
    list[i] = mica__speech_letter(texts[i], strlen(texts[i]) + 1, &bytes);
    if (list[i] > 0 && !texts[i][bytes] && (!i || list[i] > list[i - 1])) continue;
    free(list);
    return mica__fail(MICA_E_FORMAT, "\"alphabet\" holds '%s', which is no letter, or not behind those before it",
                      texts[i]);
  }
  *letters = list;
  return MICA_OK;
}

mica_status mica__speech_text_of(const mica_run *run, const int32_t *labels, int64_t count, mica__text *text) {
  int32_t *letters = NULL;
  MICA_TRY(mica__speech_alphabet(run, &letters));
  mica__text_add(text, "");
  for (int64_t i = 0; i < count; i++)
    if (labels[i] > 0 && labels[i] < mica__speech_classes(run)) mica__speech_add_letter(text, letters[labels[i] - 1]);
  free(letters);
  MICA_TRY(mica__text_status(text));
  if (text->length && text->data[text->length - 1] == ' ') text->data[--text->length] = '\0';
  return MICA_OK;
}

mica_status mica__speech_search(const mica_run *run, const mica_text_search *how, mica_ctc_beam_config *search,
                                mica_text_model **model, bool *wanted) {
  int32_t *letters = NULL;
  *search = (mica_ctc_beam_config){.beam = how->beam ? how->beam : (int32_t)mica_run_number(run, "beam"),
                                   .weight = how->text_weight,
                                   .bonus = how->text_bonus};
  *wanted = search->beam || how->text_model;
  if (!how->text_model) return MICA_OK;
  MICA_TRY(mica__speech_alphabet(run, &letters));
  const mica_text_model_config config = {
      .letters = letters, .count = mica__speech_classes(run) - 1, .order = how->text_order};
  mica_status status = mica_text_model_open(how->text_model, &config, model);
  free(letters);
  MICA_TRY(status);
  search->text = mica_text_model_score;
  search->user = *model;
  search->context = mica_text_model_context(*model);
  return MICA_OK;
}

mica_status mica__speech_set_search(mica_run *run, const mica_text_search *how) {
  mica__speech_decoding made = {0};
  bool wanted = false;
  if (how->beam < 0) return mica__fail(MICA_E_INVALID, "mica_run_search: a beam of %d", (int)how->beam);
  if (!run->task_state) run->task_state = calloc(1, sizeof made);
  mica__speech_decoding *decoding = run->task_state;
  if (!decoding) return mica__fail_nomem("a run");
  MICA_TRY(mica__speech_search(run, how, &made.search, &made.model, &wanted));
  mica_text_model_destroy(decoding->model);
  *decoding = made;
  return MICA_OK;
}

void mica__speech_close(mica_run *run) {
  mica__speech_decoding *decoding = run->task_state;
  if (decoding) mica_text_model_destroy(decoding->model);
  free(decoding);
}
