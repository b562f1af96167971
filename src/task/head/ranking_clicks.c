/* Measures how well the network's scores separate clicks from items that users passed over. */
#include "run/facts.h"
#include "run/predict/batches.h"
#include "task/head/ranking.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A pair of user and item in a test, with its label and the network's score. */
typedef struct judged {
  int32_t user, item;
  float score, label;
} judged;

typedef struct collected {
  judged *list;
  mica__clicked *pairs; /* room for scores with labels, which mica__auc sorts */
  size_t count, capacity;
  void *values; /* of a batch: labels, users, items */
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
  c->values = malloc(3 * count * sizeof(float));
  return c->values ? MICA_OK : mica__fail_nomem("a test");
}

/* A mica__tested_fn that appends a batch's pairs to `user`, a `collected`. */
static mica_status add_batch(mica_run *run, const mica_batch *batch, const float *scores, void *user) {
  collected *c = user;
  const mica_tensor *labels = mica__batch_find(batch, "label"), *users = mica__batch_find(batch, "user");
  if (!labels || !users || !mica__batch_find(batch, "item"))
    return mica__fail(MICA_E_STATE, "a batch has no labels, users or items");
  const size_t padded = (size_t)mica_tensor_shape(labels).dim[0], bytes = padded * sizeof(float);
  MICA_TRY(grow(c, padded));
  float *label = c->values;
  int32_t *user_ids = (int32_t *)(void *)(label + padded), *items = user_ids + padded;
  MICA_TRY(mica__batch_read(run, batch, "label", label, bytes));
  MICA_TRY(mica__batch_read(run, batch, "user", user_ids, bytes));
  MICA_TRY(mica__batch_read(run, batch, "item", items, bytes));
  for (size_t i = 0; i < (size_t)batch->count; i++)
    c->list[c->count++] = (judged){user_ids[i], items[i], scores[i], label[i]};
  return MICA_OK;
}

/* Fails because one of the stored values "popularity", "item_bias" and "user_bias" lacks a number for this item or its
 * user. counts: the lengths of the three. */
static mica_status fail_short(size_t item, const size_t counts[3]) {
  static const char *const facts[] = {"popularity", "item_bias", "user_bias"};
  const int i = item >= counts[0] ? 0 : item >= counts[1] ? 1 : 2;
  return mica__fail(MICA_E_FORMAT, "the run is damaged: \"%s\" has %zu numbers, but must have one per %s", facts[i],
                    counts[i], i < 2 ? "item" : "user");
}

/* Adds the AUC of three simple orders, which the network should beat: by how often an item occurs, by the item's share
 * of clicks, and by that share together with the user's share of clicks. All shares are from the training part. */
static mica_status add_baselines(const mica_run *run, const collected *c, mica_metrics *m) {
  const mica__recommend_facts facts = mica__recommend_facts_of(run);
  const double *popularity = facts.popularity.list, *items = facts.item_bias.list, *users = facts.user_bias.list;
  const size_t counts[] = {facts.popularity.count, facts.item_bias.count, facts.user_bias.count};
  static const char *const names[] = {"popularity_auc", "item_mean_auc", "biases_auc"};
  if (!popularity || !items || !users) return MICA_OK; /* an older version of Mica made the run */
  for (int which = 0; which < 3; which++) {
    for (size_t i = 0; i < c->count; i++) {
      const size_t item = (size_t)c->list[i].item, user = (size_t)c->list[i].user;
      if (item >= counts[0] || item >= counts[1] || user >= counts[2]) return fail_short(item, counts);
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
  mica_status status = mica__test_batches(run, source, 1, add_batch, &c);
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
