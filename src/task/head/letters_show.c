/* Transcribed texts: predictions, and the worst samples in a report. */
#include "data/dataset.h"
#include "run/fields.h"
#include "run/letters.h"
#include "run/run.h"
#include "run/state/evaluation.h"
#include "task/head/letters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Rows of the table of worst errors, and how many samples are shown as pictures. */
#define WORST 20
#define SHOWN 4

MICA__SETTINGS_STRUCT(letters, LETTERS_SETTINGS);
MICA__SETTINGS(letters, LETTERS_SETTINGS);

/* --- one sample --- */

/* Finds the labels in a recording's scores (steps, classes) by beam search or, if neither a beam width nor a text model
 * is set, greedily. `labels` and `at` have room for `steps` elements. `at` (may be NULL) receives the step of each
 * label, or -1 with beam search. */
static mica_status decode(const mica_run *run, const float *scores, int64_t steps, int32_t *labels, int32_t *at,
                          int64_t *count) {
  const int64_t classes = mica__letters_classes(run);
  const mica__letters_decoding *decoding = run->task_state;
  mica_ctc_beam_config search = decoding ? decoding->search : (mica_ctc_beam_config){0};
  if (!search.beam) search.beam = (int32_t)settings_of(run).beam;
  for (int64_t i = 0; at && i < steps; i++) at[i] = -1;
  if (search.beam > 0 || search.text) return mica_ctc_beam(scores, steps, classes, &search, labels, count, NULL);
  *count = mica_ctc_greedy(scores, steps, classes, 0, labels, at);
  return MICA_OK;
}

mica_status mica__letters_hear(const mica_run *run, const float *scores, int64_t steps, mica__heard *h) {
  h->labels = malloc((size_t)steps * sizeof *h->labels + 1);
  h->at = malloc((size_t)steps * sizeof *h->at + 1);
  if (!h->labels || !h->at) return mica__fail_nomem("texts");
  MICA_TRY(decode(run, scores, steps, h->labels, h->at, &h->count));
  return mica__letters_text(run, h->labels, h->count, &h->text);
}

void mica__heard_free(mica__heard *h) {
  free(h->labels);
  free(h->at);
  mica__text_free(&h->text);
  *h = (mica__heard){0};
}

mica_status mica__letters_section(mica_run *run, mica_report *report, const mica__sample *sample, const float *outputs,
                                  const mica_run_input *given) {
  mica__heard h = {0};
  (void)given;
  mica_status status = mica__letters_hear(run, outputs, sample->steps->count, &h);
  if (status == MICA_OK && sample->meaning) status = mica_report_add_text(report, "truth", sample->meaning);
  if (status == MICA_OK) status = mica_report_add_text(report, "text", h.text.data);
  if (status == MICA_OK) status = mica_report_add_number(report, "seconds", sample->steps->seconds);
  mica__heard_free(&h);
  return status;
}

static mica_status take_any(mica_run *run, const mica__sample *sample, const float *outputs, void *user) {
  mica__heard h = {0};
  (void)user;
  mica_status status = mica__letters_hear(run, outputs, sample->steps->count, &h);
  mica__heard_free(&h);
  return status;
}

mica_status mica__letters_answers(mica_run *run) {
  const mica_dataset *data = run->evaluation->data;
  uint8_t *chosen = calloc((size_t)mica_dataset_count(data) + 1, 1);
  mica_dataset *first = NULL;
  if (!chosen) return mica__fail_nomem("a recording");
  chosen[0] = 1;
  mica_status status = mica__dataset_pick(data, chosen, &first);
  if (status == MICA_OK) status = run->task->input->samples.look(run, first, take_any, NULL);
  mica_dataset_destroy(first);
  free(chosen);
  return status;
}

/* --- the report --- */

/* A tested sample: its true text, the text found, and the number of edits; for the worst ones also the times of
 * letters and a picture. */
typedef struct judged {
  uint64_t sample;
  int64_t edits;
  char *said, *heard, *alignment;
  uint8_t *planes;
  mica_shape shape;
} judged;

/* The tested samples, those with the most edits first. */
typedef struct judging {
  judged *list;
  size_t count, room;
} judging;

static void free_judged(judged *j) {
  free(j->said);
  free(j->heard);
  free(j->alignment);
  free(j->planes);
  *j = (judged){0};
}

/* Writes each letter whose step is known, and its time: "3 0.42 s, 7 0.61 s". The text is empty after a beam search. */
static mica_status write_alignment(const mica_run *run, const mica__steps *t, const mica__heard *h, mica__text *text) {
  mica__text_add(text, "");
  for (int64_t k = 0; k < h->count; k++) {
    mica__text letter = {0};
    MICA_TRY(mica__letters_text(run, &h->labels[k], 1, &letter));
    if (letter.length && h->at[k] >= 0)
      mica__text_addf(text, "%s%s %.2f s", text->length ? ", " : "", letter.data,
                      (double)(h->at[k] * t->apart + t->middle) / t->rate);
    mica__text_free(&letter);
  }
  return mica__text_status(text);
}

/* Draws the sample's picture with a white line where each letter was found. */
static mica_status draw(const mica__sample *sample, const mica__heard *h, judged *j) {
  const int64_t high = sample->shape.dim[1], wide = sample->shape.dim[2];
  const mica__steps *t = sample->steps;
  if (!sample->pixels) return MICA_OK;
  if (!(j->planes = malloc((size_t)(high * wide) + 1))) return mica__fail_nomem("a picture");
  memcpy(j->planes, sample->pixels, (size_t)(high * wide));
  j->shape = sample->shape;
  for (int64_t k = 0; k < h->count; k++) {
    /* The column of the picture at the middle of the step's window. */
    const int64_t x = h->at[k] < 0 ? wide : (h->at[k] * t->apart + t->middle) / t->column;
    for (int64_t y = 0; x < wide && y < high; y++) j->planes[y * wide + x] = 255;
  }
  return MICA_OK;
}

static mica_status fill_judged(const mica_run *run, const mica__sample *sample, const mica__heard *h, bool drawn,
                               judged *j) {
  mica__text alignment = {0};
  j->said = mica__strdup(sample->meaning);
  j->heard = mica__strdup(h->text.data);
  if (!j->said || !j->heard) return mica__fail_nomem("a report");
  if (!drawn) return MICA_OK;
  mica_status status = write_alignment(run, sample->steps, h, &alignment);
  if (status == MICA_OK && !(j->alignment = mica__strdup(alignment.data))) status = mica__fail_nomem("a report");
  mica__text_free(&alignment);
  return status == MICA_OK ? draw(sample, h, j) : status;
}

/* Inserts a sample into the list, which is sorted by descending number of edits, after samples with an equal number.
 * Only the first SHOWN samples keep a picture. */
static mica_status judge(mica_run *run, const mica__sample *sample, const float *outputs, void *user) {
  judging *all = user;
  mica_text_errors errors = {0};
  mica__heard h = {0};
  if (all->count == all->room) {
    const size_t room = 2 * all->room + 16;
    judged *more = realloc(all->list, room * sizeof *more);
    if (!more) return mica__fail_nomem("a report");
    all->list = more, all->room = room;
  }
  mica_status status = mica__letters_hear(run, outputs, sample->steps->count, &h);
  if (status == MICA_OK) status = mica_text_errors_add(&errors, sample->meaning, h.text.data);
  judged made = {.sample = all->count, .edits = errors.character_edits};
  size_t at = all->count;
  while (at > 0 && all->list[at - 1].edits < made.edits) at--;
  if (status == MICA_OK) status = fill_judged(run, sample, &h, at < SHOWN, &made);
  memmove(all->list + at + 1, all->list + at, (all->count - at) * sizeof *all->list);
  all->list[at] = made;
  if (++all->count > SHOWN) {
    free(all->list[SHOWN].planes);
    all->list[SHOWN].planes = NULL;
  }
  mica__heard_free(&h);
  return status;
}

static mica_status add_worst(mica_report *r, const judged *list, size_t count) {
  static const char *const columns[] = {"said", "heard", "edits"};
  static const bool number_columns[] = {false, false, true};
  double numbers[3 * WORST] = {0};
  const char *texts[3 * WORST], *rows[WORST];
  char names[WORST][32], edits[WORST][32];
  size_t shown = 0;
  for (; shown < count && shown < WORST && list[shown].edits > 0; shown++) {
    snprintf(names[shown], sizeof names[shown], "recording %llu", (unsigned long long)list[shown].sample);
    snprintf(edits[shown], sizeof edits[shown], "%lld", (long long)list[shown].edits);
    rows[shown] = names[shown];
    texts[3 * shown] = list[shown].said;
    texts[3 * shown + 1] = list[shown].heard;
    texts[3 * shown + 2] = edits[shown];
    numbers[3 * shown + 2] = (double)list[shown].edits;
  }
  if (!shown) return MICA_OK;
  MICA_TRY(mica_report_begin(r, "Worst errors"));
  return mica_report_add(r, &(mica_item){.kind = MICA_ITEM_KIND_TABLE,
                                         .name = "worst",
                                         .rows = shown,
                                         .columns = 3,
                                         .row_names = rows,
                                         .column_names = columns,
                                         .numbers = numbers,
                                         .texts = texts,
                                         .number_columns = number_columns});
}

static mica_status add_shown(mica_report *r, const judged *j) {
  MICA_TRY(mica_report_add_text(r, "said", j->said));
  MICA_TRY(mica_report_add_text(r, "heard", j->alignment));
  if (!j->planes) return MICA_OK;
  return mica_report_add(
      r,
      &(mica_item){
          .kind = MICA_ITEM_KIND_PICTURE, .name = "spectra", .text = j->heard, .planes = j->planes, .shape = j->shape});
}

mica_status mica__letters_report(mica_run *run, mica_report *r) {
  judging all = {0};
  mica_status status = run->task->input->samples.look(run, run->evaluation->data, judge, &all);
  if (status == MICA_OK) status = add_worst(r, all.list, all.count);
  if (status == MICA_OK) status = mica_report_begin(r, "Recordings");
  for (size_t k = 0; status == MICA_OK && k < all.count && k < SHOWN; k++) status = add_shown(r, &all.list[k]);
  for (size_t i = 0; i < all.count; i++) free_judged(&all.list[i]);
  free(all.list);
  return status;
}
