/* Predicts ratings or clicks for pairs of user and item that the caller gives. */
#include "run/evaluation.h"
#include "run/predict/take.h"
#include "task/head/ranking.h"

#include <stdlib.h>

static mica_status add_value(mica_report *p, const mica__interaction *pair, bool rated, float value) {
  mica__text title = {0};
  mica__text_addf(&title, "line %zu", pair->line);
  mica_status status = mica__text_status(&title);
  if (status == MICA_OK) status = mica_report_begin(p, title.data);
  mica__text_free(&title);
  if (status == MICA_OK && rated) status = mica_report_add_number(p, "truth", (double)pair->rating);
  return status == MICA_OK ? mica_report_add_number(p, "value", (double)value) : status;
}

/* A prediction under way. */
typedef struct predicting {
  mica_run *run;
  mica__ranker ranker;
  const mica_run_input *input;
  mica_report *p;
  size_t left; /* the number of pairs that may still be predicted */
} predicting;

/* Predicts the value of each pair that belongs to the part, until enough are predicted. */
static mica_status predict_pairs(predicting *c, const mica__interactions *x, mica_part part) {
  mica__interaction pairs[MICA__PAIRS];
  float values[MICA__PAIRS];
  for (size_t at = 0; c->left > 0;) {
    size_t n = 0;
    for (; at < x->count && n < MICA__PAIRS && n < c->left; at++)
      if (x->list[at].part == part) pairs[n++] = x->list[at];
    if (!n) break;
    c->left -= n;
    MICA_TRY(mica__ranker_values(&c->ranker, &x->features, pairs, n, values));
    for (size_t i = 0; i < n; i++) MICA_TRY(add_value(c->p, &pairs[i], x->rated, values[i]));
    MICA_TRY(mica__run_take(c->input, c->p));
  }
  return MICA_OK;
}

/* Predicts all pairs that the reader passes on: those of a whole file, or of one chunk of a large file. A file is not
 * split into parts, so all its pairs belong to MICA_PART_TRAIN. */
static mica_status predict_lines(void *user, mica__interactions *x) {
  predicting *c = user;
  if (!c->left) return MICA_OK;
  MICA_TRY(mica__recommend_adopt(x, c->run));
  return predict_pairs(c, x, MICA_PART_TRAIN);
}

static mica_status predict_file(predicting *c, const char *path) {
  mica__interactions *x = calloc(1, sizeof *x);
  mica_status status = x ? mica__recommend_read_each(c->run, path, x, predict_lines, c) : mica__fail_nomem(path);
  if (x) mica__interactions_free(x);
  return status;
}

/* Predicts a part of the run's own data, split as in training, or other data as a whole. */
static mica_status predict_data(predicting *c) {
  const mica_run_input *input = c->input;
  mica_dataset *data = NULL;
  bool all = false;
  if (input->count > 0) c->left = (size_t)input->count;
  if (!mica__recommend_owns(c->run, input->data)) return predict_file(c, input->data);
  MICA_TRY(mica__run_open_given(c->run, input->data, input->part, &all, &data));
  mica_status status = predict_pairs(c, mica__interactions_of(data), all ? MICA_PART_TRAIN : input->part);
  mica_dataset_destroy(data);
  return status;
}

mica_status mica__recommend_predict(mica_run *run, const mica_run_input *input, mica_report *p) {
  predicting c = {.run = run, .ranker = mica__recommend_ranker(run), .input = input, .p = p, .left = SIZE_MAX};
  if (mica__recommend_ranks(run))
    return mica__fail(MICA_E_UNSUPPORTED, "the run ranks items and does not predict ratings; use mica recommend");
  if (input->text)
    return mica__fail(MICA_E_UNSUPPORTED,
                      "pairs of users and items must be rows of a table; give a file or --data, not a text");
  if (input->data) return predict_data(&c);
  for (size_t i = 0; i < input->file_count; i++) MICA_TRY(predict_file(&c, input->files[i]));
  return MICA_OK;
}
