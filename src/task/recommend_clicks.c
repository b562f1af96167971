/* How well clicks are told from what was passed over. */
#include "task/recommend.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b) {
  const float x = ((const mica__clicked *)a)->score, y = ((const mica__clicked *)b)->score;
  return (x > y) - (x < y);
}

double mica__auc(mica__clicked *list, size_t count) {
  double clicks = 0, others = 0, before = 0;
  qsort(list, count, sizeof *list, compare);
  for (size_t from = 0, to = 0; from < count; from = to) {
    double own = 0;
    for (; to < count && !(list[to].score > list[from].score); to++) own += list[to].label > 0.5f;
    const double none = (double)(to - from) - own;
    before += own * (others + none / 2);
    clicks += own;
    others += none;
  }
  return clicks > 0 && others > 0 ? before / (clicks * others) : NAN;
}

typedef struct collected {
  mica__clicked *list;
  size_t count, capacity;
  float *values; /* of a batch: scores, behind them labels */
} collected;

static const mica_tensor *tensor_of(const mica_batch *batch, const char *name) {
  for (size_t i = 0; i < batch->tensor_count; i++)
    if (!strcmp(batch->tensors[i].name, name)) return batch->tensors[i].tensor;
  return NULL;
}

static mica_status grow(collected *c, size_t count) {
  if (c->capacity - c->count < count) {
    const size_t capacity = c->capacity + c->capacity / 2 + count;
    mica__clicked *grown = realloc(c->list, capacity * sizeof *grown);
    if (!grown) return mica__fail_nomem("a test");
    c->list = grown;
    c->capacity = capacity;
  }
  free(c->values);
  c->values = malloc(2 * count * sizeof *c->values);
  return c->values ? MICA_OK : mica__fail_nomem("a test");
}

static mica_status add_batch(mica_run *run, const mica_batch *batch, collected *c) {
  mica_queue *queue = mica_engine_queue(run->engine);
  const mica_tensor *labels = tensor_of(batch, "label");
  const size_t count = (size_t)batch->count;
  if (!labels) return mica__fail(MICA_E_STATE, "a batch has no labels");
  const size_t padded = (size_t)mica_tensor_shape(labels).dim[0];
  MICA_TRY(grow(c, padded));
  MICA_TRY(mica_trainer_predict(run->trainer, batch));
  const mica_tensor *scores = mica_trainer_output(run->trainer, "value");
  if (!scores) return mica__fail(MICA_E_STATE, "the network has no values");
  MICA_TRY(mica_tensor_download(queue, labels, c->values + padded, mica_tensor_bytes(labels)));
  MICA_TRY(mica_tensor_download(queue, scores, c->values, mica_tensor_bytes(scores)));
  for (size_t i = 0; i < count; i++) c->list[c->count++] = (mica__clicked){c->values[i], c->values[padded + i]};
  return MICA_OK;
}

static mica_status collect(mica_run *run, const mica_batch_source *source, collected *c) {
  MICA_TRY(source->seek(source->user, 0, 0));
  for (mica_batch batch = {0};;) {
    MICA_TRY(source->next(source->user, mica_engine_queue(run->engine), &batch));
    if (!batch.count) return MICA_OK;
    MICA_TRY(add_batch(run, &batch, c));
  }
}

mica_status mica__recommend_evaluate_clicks(mica_run *run, const mica_batch_source *source, mica_metrics *m) {
  collected c = {0};
  double clicks = 0;
  const double p = fmin(fmax(mica__run_fact_number(run, "rating_mean", 0), 1e-6), 1 - 1e-6);
  mica_status status = collect(run, source, &c);
  for (size_t i = 0; status == MICA_OK && i < c.count; i++) clicks += c.list[i].label > 0.5f;
  const double share = c.count ? clicks / (double)c.count : 0;
  if (status == MICA_OK) status = mica_metrics_add(m, "auc", mica__auc(c.list, c.count));
  if (status == MICA_OK) status = mica_metrics_add(m, "base_log_loss", -share * log(p) - (1 - share) * log(1 - p));
  free(c.list);
  free(c.values);
  return status;
}
