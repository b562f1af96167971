/* How well clicks are separated from items that were passed over. */
#include "run/facts.h"
#include "run/predict/batches.h"
#include "task/head/ranking.h"

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

/* A pair of a test, and the network's score. */
typedef struct judged {
  int32_t user, item;
  float score, label;
} judged;

typedef struct collected {
  judged *list;
  mica__clicked *pairs; /* as many, for the measure */
  size_t count, capacity;
  void *values; /* of a batch: scores, labels, users, items */
} collected;

static mica_status grow(collected *c, size_t count) {
  if (c->capacity - c->count < count) {
    const size_t capacity = c->capacity + c->capacity / 2 + count;
    judged *grown = realloc(c->list, capacity * sizeof *grown);
    if (grown) c->list = grown;
    mica__clicked *pairs = grown ? realloc(c->pairs, capacity * sizeof *pairs) : NULL;
    if (!pairs) return mica__fail_nomem("a test");
    c->pairs = pairs;
    c->capacity = capacity;
  }
  free(c->values);
  c->values = malloc(4 * count * sizeof(float));
  return c->values ? MICA_OK : mica__fail_nomem("a test");
}

static mica_status add_batch(mica_run *run, const mica_batch *batch, collected *c) {
  mica_queue *queue = mica_engine_queue(run->engine);
  const mica_tensor *labels = mica__batch_find(batch, "label"), *users = mica__batch_find(batch, "user");
  const mica_tensor *items = mica__batch_find(batch, "item");
  const size_t count = (size_t)batch->count;
  if (!labels || !users || !items) return mica__fail(MICA_E_STATE, "a batch has no labels, users or items");
  const size_t padded = (size_t)mica_tensor_shape(labels).dim[0];
  MICA_TRY(grow(c, padded));
  float *score = c->values, *label = score + padded;
  int32_t *user = (int32_t *)(void *)(label + padded), *item = user + padded;
  MICA_TRY(mica_trainer_predict(run->trainer, batch));
  const mica_tensor *scores = mica_trainer_output(run->trainer, "value");
  if (!scores) return mica__fail(MICA_E_STATE, "the network has no values");
  MICA_TRY(mica_tensor_download(queue, labels, label, padded * sizeof *label));
  MICA_TRY(mica_tensor_download(queue, users, user, padded * sizeof *user));
  MICA_TRY(mica_tensor_download(queue, items, item, padded * sizeof *item));
  MICA_TRY(mica_tensor_download(queue, scores, score, mica_tensor_bytes(scores)));
  for (size_t i = 0; i < count; i++) c->list[c->count++] = (judged){user[i], item[i], score[i], label[i]};
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

/* The simple orders that the network is compared with: items by how often they occur, items by their share of clicks,
 * and that combined with the user's share. All are computed from the training part. */
static mica_status add_baselines(const mica_run *run, const collected *c, mica_metrics *m) {
  const mica__recommend_facts facts = mica__recommend_facts_of(run);
  const double *popularity = facts.popularity.list, *items = facts.item_bias.list, *users = facts.user_bias.list;
  const size_t counts[] = {facts.popularity.count, facts.item_bias.count, facts.user_bias.count};
  static const char *const names[] = {"popularity_auc", "item_mean_auc", "biases_auc"};
  if (!popularity || !items || !users) return MICA_OK; /* a run of an older version */
  for (int which = 0; which < 3; which++) {
    for (size_t i = 0; i < c->count; i++) {
      const size_t item = (size_t)c->list[i].item, user = (size_t)c->list[i].user;
      if (item >= counts[0] || item >= counts[1] || user >= counts[2])
        return mica__fail(MICA_E_FORMAT, "the run is damaged: \"item_bias\" or \"user_bias\" is too short");
      const double score = which == 0 ? popularity[item] : items[item] + (which == 2 ? users[user] : 0);
      c->pairs[i] = (mica__clicked){(float)score, c->list[i].label};
    }
    MICA_TRY(mica_metrics_add(m, names[which], mica__auc(c->pairs, c->count)));
  }
  return MICA_OK;
}

mica_status mica__recommend_evaluate_clicks(mica_run *run, const mica_batch_source *source, mica_metrics *m) {
  collected c = {0};
  double clicks = 0;
  const double p = fmin(fmax(mica__recommend_facts_of(run).rating_mean, 1e-6), 1 - 1e-6);
  mica_status status = collect(run, source, &c);
  for (size_t i = 0; status == MICA_OK && i < c.count; i++) {
    c.pairs[i] = (mica__clicked){c.list[i].score, c.list[i].label};
    clicks += c.list[i].label > 0.5f;
  }
  const double share = c.count ? clicks / (double)c.count : 0;
  if (status == MICA_OK) status = mica_metrics_add(m, "auc", mica__auc(c.pairs, c.count));
  if (status == MICA_OK) status = add_baselines(run, &c, m);
  if (status == MICA_OK) status = mica_metrics_add(m, "base_log_loss", -share * log(p) - (1 - share) * log(1 - p));
  free(c.list);
  free(c.pairs);
  free(c.values);
  return status;
}

mica_status mica__recommend_note_biases(mica_run *run, const mica__interactions *x) {
  const size_t counts[2] = {(size_t)x->users.count + 1, (size_t)x->items.count + 1};
  const double mean = mica__recommend_facts_of(run).rating_mean;
  double *sums[2] = {calloc(counts[0], sizeof(double)), calloc(counts[1], sizeof(double))};
  double *times[2] = {calloc(counts[0], sizeof(double)), calloc(counts[1], sizeof(double))};
  mica_status status = sums[0] && sums[1] && times[0] && times[1] ? MICA_OK : mica__fail_nomem("a run");
  /* Items first, then users from what is left after subtracting the items' share. */
  for (int side = 1; side >= 0 && status == MICA_OK; side--) {
    for (size_t i = 0; i < x->count; i++) {
      const mica__interaction *one = &x->list[i];
      if (one->part != MICA_PART_TRAIN) continue;
      const int32_t id = side ? one->item : one->user;
      sums[side][id] += (double)one->rating - mean - (side ? 0 : sums[1][one->item]);
      times[side][id]++;
    }
    for (size_t i = 0; i < counts[side]; i++) sums[side][i] /= times[side][i] + MICA__BIAS_PRIOR;
    sums[side][0] = 0;
  }
  if (status == MICA_OK) status = mica__run_note_numbers(run, "user_bias", sums[0], counts[0]);
  if (status == MICA_OK) status = mica__run_note_numbers(run, "item_bias", sums[1], counts[1]);
  for (int side = 0; side < 2; side++) {
    free(sums[side]);
    free(times[side]);
  }
  return status;
}
