/* Values of pairs: for predictions, and to rank items that are scored pair by pair. */
#include "run/evaluation.h"
#include "run/predict/take.h"
#include "task/head/ranking.h"

#include <stdlib.h>
#include <string.h>

/* The contents of a batch. */
typedef struct columns {
  mica__recommender network;
  int64_t width; /* of all sets */
  int32_t *ids;  /* users, items, categories, sets, lengths */
  float *numbers;
  mica_tensor *tensors[6];
  mica_feed feeds[6];
  size_t count;
} columns;

static mica_status add_tensor(const mica_run *run, columns *c, const char *name, mica_dtype dtype, mica_shape shape,
                              const void *data) {
  mica_tensor **tensor = &c->tensors[c->count];
  MICA_TRY(mica_tensor_create(run->engine, dtype, shape, tensor));
  c->feeds[c->count++] = (mica_feed){name, *tensor};
  return mica_tensor_upload(mica_engine_queue(run->engine), *tensor, data, mica_tensor_bytes(*tensor));
}

static mica_status make_columns(const mica_run *run, const mica__features *f, const mica__interaction *pairs, size_t n,
                                columns *c) {
  const mica__recommender *r = &c->network;
  const int64_t count = (int64_t)n;
  for (int64_t s = 0; s < r->sets; s++) c->width += r->set_width[s];
  c->ids = calloc(n * (size_t)(2 + r->categories + c->width + r->sets) + 1, sizeof *c->ids);
  c->numbers = calloc(n * (size_t)r->numbers + 1, sizeof *c->numbers);
  if (!c->ids || !c->numbers) return mica__fail_nomem("pairs");
  int32_t *users = c->ids, *items = users + n, *categories = items + n, *sets = categories + count * r->categories;
  int32_t *lengths = sets + count * c->width;
  for (int64_t i = 0; i < count; i++) {
    users[i] = pairs[i].user;
    items[i] = pairs[i].item;
    mica__features_encode(f, &pairs[i].rows, c->numbers + i * r->numbers, categories + i * r->categories,
                          sets + i * c->width, lengths + i * r->sets);
  }
  MICA_TRY(add_tensor(run, c, "user", MICA_I32, MICA_SHAPE(count), users));
  MICA_TRY(add_tensor(run, c, "item", MICA_I32, MICA_SHAPE(count), items));
  if (r->numbers) MICA_TRY(add_tensor(run, c, "numbers", MICA_F32, MICA_SHAPE(count, r->numbers), c->numbers));
  if (r->categories) MICA_TRY(add_tensor(run, c, "categories", MICA_I32, MICA_SHAPE(count, r->categories), categories));
  if (!r->sets) return MICA_OK;
  MICA_TRY(add_tensor(run, c, "sets", MICA_I32, MICA_SHAPE(count, c->width), sets));
  return add_tensor(run, c, "set_lengths", MICA_I32, MICA_SHAPE(count, r->sets), lengths);
}

mica_status mica__recommend_values(mica_run *run, const mica__features *f, const mica__interaction *pairs, size_t n,
                                   float *values) {
  columns c = {.network = mica__recommend_network(run)};
  mica_status status = make_columns(run, f, pairs, n, &c);
  const mica_batch batch = {.count = (int64_t)n, .tensors = c.feeds, .tensor_count = c.count};
  if (status == MICA_OK) status = mica_trainer_predict(run->trainer, &batch);
  const mica_tensor *value = status == MICA_OK ? mica_trainer_output(run->trainer, "value") : NULL;
  if (status == MICA_OK && !value) status = mica__fail(MICA_E_STATE, "the network has no values");
  if (value) status = mica_tensor_download(mica_engine_queue(run->engine), value, values, n * sizeof *values);
  for (size_t i = 0; i < sizeof c.tensors / sizeof *c.tensors; i++) mica_tensor_destroy(c.tensors[i]);
  free(c.ids);
  free(c.numbers);
  return status;
}

/* --- mica predict --- */

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
  const mica_run_input *input;
  mica_report *p;
  size_t left; /* pairs that may come yet */
} predicting;

/* The value of each pair of a table that belongs to the part. */
static mica_status predict_pairs(predicting *c, const mica__interactions *x, mica_part part) {
  mica__interaction pairs[MICA__PAIRS];
  float values[MICA__PAIRS];
  for (size_t at = 0; c->left > 0;) {
    size_t n = 0;
    for (; at < x->count && n < MICA__PAIRS && n < c->left; at++)
      if (x->list[at].part == part) pairs[n++] = x->list[at];
    if (!n) break;
    c->left -= n;
    MICA_TRY(mica__recommend_values(c->run, &x->features, pairs, n, values));
    for (size_t i = 0; i < n; i++) MICA_TRY(add_value(c->p, &pairs[i], x->rated, values[i]));
    MICA_TRY(mica__run_take(c->input, c->p));
  }
  return MICA_OK;
}

/* Pairs of a file that is not split all belong to the first part. */
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

/* The training data as they were split, in the same way as for mica_run_evaluate; other data whole. */
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
  predicting c = {.run = run, .input = input, .p = p, .left = SIZE_MAX};
  if (mica__recommend_ranks(run))
    return mica__fail(MICA_E_UNSUPPORTED, "the run ranks items and does not predict ratings; use mica recommend");
  if (input->text)
    return mica__fail(MICA_E_UNSUPPORTED,
                      "pairs of users and items must be rows of a table; give a file or --data, not a text");
  if (input->data) return predict_data(&c);
  for (size_t i = 0; i < input->file_count; i++) MICA_TRY(predict_file(&c, input->files[i]));
  return MICA_OK;
}
