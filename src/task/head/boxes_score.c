/* Compares the boxes found in a part of the data with the true ones: average precision. */
#include "networks/detector_boxes.h"
#include "run/fields.h"
#include "run/predict/batches.h"
#include "run/run.h"
#include "task/head/boxes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* If there are at most this many classes, each class has a metric of its own. */
#define MOST_NAMED 20

MICA__FACTS(boxes, BOXES_FACTS, 3);

/* The true answers of a batch, downloaded. A column that the batch lacks stays NULL. `sizes` is always filled if the
 * batch has a column of boxes. */
typedef mica__batch_boxes truths;

static void free_truths(truths *t) {
  free(t->boxes);
  free(t->areas);
  free(t->labels);
  free(t->ignored);
  free(t->sizes);
}

/* Downloads a column that has `width` elements per picture; the caller frees *out. *out stays NULL if there is no
 * column of that name, or if that column has another type or size and so another meaning. */
static mica_status take_column(mica_run *run, const mica_batch *batch, const char *name, mica_dtype dtype,
                               int64_t width, void *out) {
  const mica_tensor *tensor = mica__batch_find(batch, name);
  void **to = out;
  if (!tensor || mica_tensor_dtype(tensor) != dtype || mica_tensor_count(tensor) != batch->count * width)
    return MICA_OK;
  *to = malloc(mica_tensor_bytes(tensor) + 1);
  if (!*to) return mica__fail_nomem("boxes");
  return mica_tensor_download(mica_engine_queue(run->engine), tensor, *to, mica_tensor_bytes(tensor));
}

static mica_status take_truths(mica_run *run, const mica_batch *batch, truths *t) {
  const mica__boxes_facts facts = facts_of(run);
  const mica_tensor *tensor = mica__batch_find(batch, facts.boxes_column);
  const mica_shape shape = tensor ? mica_tensor_shape(tensor) : MICA_SCALAR;
  if (shape.rank != 3 || shape.dim[2] != 4) return MICA_OK;
  t->rows = shape.dim[1];
  MICA_TRY(take_column(run, batch, facts.boxes_column, MICA_F32, 4 * t->rows, &t->boxes));
  MICA_TRY(take_column(run, batch, facts.label_column, MICA_I32, t->rows, &t->labels));
  MICA_TRY(take_column(run, batch, "ignored", MICA_I32, t->rows, &t->ignored));
  MICA_TRY(take_column(run, batch, "area", MICA_F32, t->rows, &t->areas));
  MICA_TRY(take_column(run, batch, "size", MICA_I32, 2, &t->sizes));
  if (t->sizes) return MICA_OK;
  /* Without the column "size", each picture is taken to fill the network's input. */
  t->sizes = malloc((size_t)batch->count * 2 * sizeof *t->sizes + 1);
  for (int64_t i = 0; t->sizes && i < batch->count; i++) {
    t->sizes[2 * i] = (int32_t)facts.input.list[2];
    t->sizes[2 * i + 1] = (int32_t)facts.input.list[1];
  }
  return t->sizes ? MICA_OK : mica__fail_nomem("boxes");
}

static mica_status add_batch(mica_run *run, const mica_batch *batch, const float *found, void *user) {
  const double *input = facts_of(run).input.list;
  truths t = {0};
  mica_status status = take_truths(run, batch, &t);
  if (status == MICA_OK && (!t.boxes || !t.labels))
    status = mica__fail(MICA_E_STATE, "a batch has no boxes, or no classes for them");
  for (int64_t i = 0; status == MICA_OK && i < batch->count; i++)
    status = mica__box_lists_add(user, &t, (int64_t)input[1], (int64_t)input[2], found, MICA__BOXES_MOST, i);
  free_truths(&t);
  return status;
}

mica_status mica__boxes_score(mica_run *run, const mica_batch_source *source, mica_box_scores *scores,
                              mica_box_class_scores *by_class) {
  const int32_t classes = (int32_t)facts_of(run).classes.count;
  mica__box_lists c = {0};
  mica_status status = mica__test_batches(run, source, MICA__BOXES_MOST * MICA__BOX_NUMBERS, add_batch, &c);
  if (status == MICA_OK)
    status = mica_box_precision(c.truths, c.truth_count, c.found, c.found_count, classes, scores, by_class);
  free(c.truths);
  free(c.found);
  return status;
}

/* A metric of -1 means that nothing was counted; it is left out. */
static mica_status add_score(mica_metrics *m, const char *name, double value) {
  return value >= 0 ? mica_metrics_add(m, name, value) : MICA_OK;
}

mica_status mica__boxes_evaluate(mica_run *run, const mica_batch_source *source, mica_metrics *m) {
  const mica__fact_texts classes = facts_of(run).classes;
  mica_box_scores s;
  mica_box_class_scores *by_class = calloc(classes.count + 1, sizeof *by_class);
  mica_status status = by_class ? mica__boxes_score(run, source, &s, by_class) : mica__fail_nomem("boxes");
  if (status == MICA_OK) {
    const struct {
      const char *name;
      double value;
    } rows[] = {{"map_50", s.ap_50},         {"map", s.ap},
                {"map_75", s.ap_75},         {"map_small", s.ap_small},
                {"map_medium", s.ap_medium}, {"map_large", s.ap_large},
                {"recall", s.ar_100}};
    for (size_t i = 0; status == MICA_OK && i < sizeof rows / sizeof *rows; i++)
      status = add_score(m, rows[i].name, rows[i].value);
  }
  for (size_t k = 0; status == MICA_OK && k < classes.count && classes.count <= MOST_NAMED; k++) {
    char name[MICA_METRIC_NAME];
    snprintf(name, sizeof name, "ap_50_%.25s", classes.list[k]);
    status = add_score(m, name, by_class[k].ap_50);
  }
  free(by_class);
  return status;
}
