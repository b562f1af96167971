/* How well clicks are separated from items that were passed over. */
#include "run/facts.h"
#include "run/predict/batches.h"
#include "task/head/ranking.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
  const size_t users = (size_t)x->users.count + 1, items = (size_t)x->items.count + 1;
  double *biases = calloc(users + items, sizeof *biases);
  mica_status status =
      biases ? mica__interactions_biases(x, mica__recommend_facts_of(run).rating_mean, biases, biases + users)
             : mica__fail_nomem("a run");
  if (status == MICA_OK) status = mica__run_note_numbers(run, "user_bias", biases, users);
  if (status == MICA_OK) status = mica__run_note_numbers(run, "item_bias", biases + users, items);
  free(biases);
  return status;
}
