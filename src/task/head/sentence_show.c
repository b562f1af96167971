/* Translations for the user and in reports. */
#include "base/text.h"
#include "run/fields.h"
#include "run/run.h"
#include "run/state/evaluation.h"
#include "task/head/sentence.h"
#include "task/input/pairs.h"

#include <math.h>
#include <stdlib.h>

MICA__SETTINGS_STRUCT(sentence, SENTENCE_SETTINGS);
MICA__SETTINGS(sentence, SENTENCE_SETTINGS);

/* --- sentences --- */

void mica__sentences_free(mica__sentences *s) {
  for (size_t i = 0; i < s->count; i++) {
    free(s->names[i]);
    free(s->sources[i]);
    free(s->truths[i]);
  }
  free(s->names);
  free(s->sources);
  free(s->truths);
  mica__ids_free(&s->ids);
}

static mica_status make_room(mica__sentences *s) {
  if (s->count < s->capacity) return MICA_OK;
  const size_t capacity = 2 * s->capacity + 64;
  char ***lists[] = {&s->names, &s->sources, &s->truths};
  for (int i = 0; i < 3; i++) {
    char **grown = realloc(*lists[i], capacity * sizeof **lists[i]);
    if (!grown) return mica__fail_nomem("texts");
    *lists[i] = grown;
  }
  s->capacity = capacity;
  return MICA_OK;
}

mica_status mica__sentences_add(mica_run *run, const mica__sample *sample, const float *outputs, void *sentences) {
  mica__sentences *s = sentences;
  mica__text source = {0};
  (void)run, (void)outputs;
  MICA_TRY(make_room(s));
  mica__text_add_bytes(&source, sample->text, sample->bytes);
  mica__text_add(&source, "");
  const size_t at = s->count++;
  s->names[at] = mica__strdup(sample->name);
  s->sources[at] = source.data;
  s->truths[at] = sample->meaning ? mica__strdup(sample->meaning) : NULL;
  MICA_TRY(mica__text_status(&source));
  if (!s->names[at] || (sample->meaning && !s->truths[at])) return mica__fail_nomem("texts");
  return mica__ids_append(&s->ids, sample->ids, sample->id_count);
}

/* --- predictions --- */

static mica_status add_translation(mica_report *p, const mica__sentences *s, const mica__translations *made, size_t i) {
  MICA_TRY(mica_report_begin(p, s->names[i]));
  MICA_TRY(mica_report_add_text(p, "source", s->sources[i]));
  MICA_TRY(mica_report_add_text(p, "translation", made->texts[i]));
  if (s->truths[i]) MICA_TRY(mica_report_add_text(p, "truth", s->truths[i]));
  return *made->texts[i] ? mica_report_add_number(p, "score", made->scores[i]) : MICA_OK;
}

mica_status mica__sentence_predict(mica_run *run, const mica_run_input *given, mica_report *p) {
  const bool set = given->length_penalty != 0 || signbit(given->length_penalty);
  const double penalty = set ? fabs(given->length_penalty) : settings_of(run).length_penalty;
  mica__translations made = {0};
  mica__sentences s = {0};
  mica_status status = run->task->input->samples.visit(run, given, mica__sentences_add, &s);
  if (status == MICA_OK) status = mica__pairs_translate(run, &s.ids, given->beams ? given->beams : 1, penalty, &made);
  for (size_t i = 0; status == MICA_OK && i < s.count; i++) status = add_translation(p, &s, &made, i);
  mica__translations_free(&made);
  mica__sentences_free(&s);
  return status;
}

mica_status mica__sentence_answers(mica_run *run) {
  mica__translations made = {0};
  mica__sentences s = {0};
  const mica__pair_samples pairs = mica__pairs_samples(run);
  mica_status status =
      mica__pair_samples_walk(run, &pairs, run->evaluation->data, 1, MICA__PAIR_CHOICE_FIRST, mica__sentences_add, &s);
  if (status == MICA_OK) status = mica__pairs_translate(run, &s.ids, 1, 0, &made);
  mica__translations_free(&made);
  mica__sentences_free(&s);
  return status;
}

/* --- the report --- */

static mica_status add_table(mica_report *report, const mica__sentences *s, const mica__translations *made) {
  static const char *const columns[] = {"source", "truth", "translation"};
  const char **cells = calloc(3 * s->count + 1, sizeof *cells);
  if (!cells) return mica__fail_nomem("a report");
  for (size_t i = 0; i < s->count; i++) {
    cells[3 * i] = s->sources[i];
    cells[3 * i + 1] = s->truths[i];
    cells[3 * i + 2] = made->texts[i];
  }
  const mica_item table = {.kind = MICA_ITEM_KIND_TABLE,
                           .name = "translations",
                           .rows = s->count,
                           .columns = 3,
                           .column_names = columns,
                           .texts = cells};
  mica_status status = mica_report_begin(report, "Translations");
  if (status == MICA_OK) status = mica_report_add(report, &table);
  free(cells);
  return status;
}

mica_status mica__sentence_report(mica_run *run, mica_report *report) {
  mica__translations made = {0};
  mica__sentences s = {0};
  mica_status status = run->task->input->samples.look(run, run->evaluation->data, mica__sentences_add, &s);
  if (status == MICA_OK) status = mica__pairs_translate(run, &s.ids, 1, 0, &made);
  if (status == MICA_OK) status = add_table(report, &s, &made);
  if (status == MICA_OK && s.count) status = mica__sentence_attention(run, s.sources[0], made.texts[0], report);
  mica__translations_free(&made);
  mica__sentences_free(&s);
  return status;
}
