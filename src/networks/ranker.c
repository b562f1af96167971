/* Ranks items for users with a trained recommender. */
#include "networks/ranker.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- scores by the network --- */

static bool has_item(const mica__ranker_query *a, int32_t item) {
  for (int64_t i = 0; i < a->count; i++)
    if (a->items[i] == item) return true;
  return false;
}

/* Adds the best items to `out`. `all` has the score of every item. */
static mica_status choose(const mica__ranker *r, const mica_tensor *all, const mica__ranker_query *a,
                          mica__ranked *out) {
  float *scores = malloc(mica_tensor_bytes(all) + 1);
  if (!scores) return mica__fail_nomem("a user");
  mica_status status = mica_tensor_download(mica_engine_queue(r->engine), all, scores, mica_tensor_bytes(all));
  for (int32_t i = 1; status == MICA_OK && i < (int32_t)mica_tensor_shape(all).dim[1]; i++)
    if (!a->excludes || !has_item(a, i)) mica__ranked_add(out, i, scores[i]);
  free(scores);
  return status;
}

static mica_status make_tensor(const mica__ranker *r, mica_shape shape, const int32_t *ids, mica_tensor **tensor) {
  MICA_TRY(mica_tensor_create(r->engine, MICA_I32, shape, tensor));
  return mica_tensor_upload(mica_engine_queue(r->engine), *tensor, ids, mica_tensor_bytes(*tensor));
}

/* The columns that a prediction needs: user, seen and, for networks that read one, the window of the history. */
static mica_status feed(const mica__ranker *r, const mica__ranker_query *a, mica_tensor *tensors[4], mica_feed feeds[4],
                        size_t *count) {
  const int64_t context = mica__recommender_context(&r->network);
  /* room for ids in "seen", rounded up to a power of 2, so that few plans are needed; unused entries are 0 */
  int64_t known = 1;
  while (a->excludes && known < a->count) known *= 2;
  const int64_t from = a->count > context ? a->count - context : 0;
  const int32_t length = (int32_t)(a->count - from);
  int32_t *ids = calloc((size_t)(known + context) + 1, sizeof *ids);
  mica_status status = ids ? MICA_OK : mica__fail_nomem("a user");
  /* The first id in "seen" is 0, so the item that stands for unknown ones is never recommended. */
  if (ids && a->excludes) memcpy(ids + 1, a->items, (size_t)a->count * sizeof *ids);
  if (status == MICA_OK) status = make_tensor(r, MICA_SHAPE(1), &a->user, &tensors[0]);
  if (status == MICA_OK) status = make_tensor(r, MICA_SHAPE(1, known + 1), ids, &tensors[1]);
  if (status == MICA_OK && context) {
    memset(ids, 0, (size_t)context * sizeof *ids);
    memcpy(ids, a->items + from, (size_t)length * sizeof *ids);
    status = make_tensor(r, MICA_SHAPE(1, context), ids, &tensors[2]);
    if (status == MICA_OK) status = make_tensor(r, MICA_SHAPE(1), &length, &tensors[3]);
  }
  free(ids);
  static const char *const names[] = {"user", "seen", "history", "history_length"};
  for (*count = 0; *count < (context ? 4u : 2u); ++*count) feeds[*count] = (mica_feed){names[*count], tensors[*count]};
  return status;
}

mica_status mica__ranker_ask(const mica__ranker *r, const mica__ranker_query *a, mica__ranked *out) {
  mica_queue *queue = mica_engine_queue(r->engine);
  mica_tensor *tensors[4] = {NULL};
  mica_feed feeds[4];
  size_t count = 0;
  mica_status status = feed(r, a, tensors, feeds, &count);
  if (status == MICA_OK)
    status = mica_trainer_predict(r->trainer, &(mica_batch){.count = 1, .tensors = feeds, .tensor_count = count});
  const mica_tensor *all = status == MICA_OK ? mica_trainer_output(r->trainer, "all") : NULL;
  if (all) {
    status = choose(r, all, a, out);
    for (int i = 0; i < 4; i++) mica_tensor_destroy(tensors[i]);
    return status;
  }
  const mica_tensor *ranked = status == MICA_OK ? mica_trainer_output(r->trainer, "ranked") : NULL;
  const mica_tensor *scores = status == MICA_OK ? mica_trainer_output(r->trainer, "scores") : NULL;
  if (status == MICA_OK && (!ranked || !scores))
    status = mica__fail(MICA_E_STATE, "the network lacks the output 'ranked' or 'scores', so it cannot rank items");
  if (status == MICA_OK) {
    out->count = mica_tensor_shape(ranked).dim[1];
    status = mica_tensor_download(queue, ranked, out->items, mica_tensor_bytes(ranked));
  }
  if (status == MICA_OK) status = mica_tensor_download(queue, scores, out->scores, mica_tensor_bytes(scores));
  for (int i = 0; i < 4; i++) mica_tensor_destroy(tensors[i]);
  /* The network gives excluded items a very low score, so they are at the end of the list. Removes them. */
  while (out->count > 0 && (out->scores[out->count - 1] < -1e29f || !out->items[out->count - 1])) out->count--;
  return status;
}

/* --- scores of pairs --- */

/* Scores all items in pairs with a known user. */
mica_status mica__ranker_ask_pairs(const mica__ranker *r, const mica__features *f, const mica__ranker_query *a,
                                   mica__ranked *out) {
  const int32_t pair = f->rows[MICA__SIDE_PAIR] ? 0 : -1, user = f->rows[MICA__SIDE_USER] ? a->user - 1 : -1;
  mica__interaction pairs[MICA__PAIRS];
  float values[MICA__PAIRS];
  for (int32_t from = 1; from < r->network.items; from += MICA__PAIRS) {
    /* The last batch is padded, since another size would need another plan. */
    for (int32_t i = 0; i < MICA__PAIRS; i++) {
      const int32_t item = from + i < r->network.items ? from + i : from;
      const int32_t row = f->rows[MICA__SIDE_ITEM] ? item - 1 : -1;
      pairs[i] = (mica__interaction){.user = a->user, .item = item, .rows = {{pair, user, row}}};
    }
    MICA_TRY(mica__ranker_values(r, f, pairs, MICA__PAIRS, values));
    for (int32_t i = 0; i < MICA__PAIRS && from + i < r->network.items; i++)
      if (!a->excludes || !has_item(a, from + i)) mica__ranked_add(out, from + i, values[i]);
  }
  return MICA_OK;
}

/* --- scores on the host: new users of mf, and items like another --- */

static mica_status read_tables(const mica__ranker *r, bool biased, mica__tables *t) {
  mica_queue *queue = mica_engine_queue(r->engine);
  mica_session *session = mica_trainer_test_session(r->trainer);
  mica_shape shape, other;
  MICA_TRY(mica__table_take(queue, session, "items", &t->rows, &shape));
  t->items = (size_t)shape.dim[0];
  t->width = (size_t)shape.dim[1];
  return biased ? mica__table_take(queue, session, "item_bias", &t->bias, &other) : MICA_OK;
}

static void free_tables(mica__tables *w) {
  free(w->rows);
  free(w->bias);
}

mica_status mica__ranker_fit(const mica__ranker *r, const mica__ranker_query *a, mica__ranked *out) {
  mica__tables w = {0};
  mica_status status = read_tables(r, true, &w);
  double *user = status == MICA_OK ? calloc(w.width + 1, sizeof *user) : NULL;
  const mica__rated_items rated = {a->items, a->ratings, a->count};
  const double l2 = fmax(r->l2, 1e-3);
  if (status == MICA_OK) status = user ? mica__tables_fit(&w, &rated, r->mean, l2, user) : mica__fail_nomem("a user");
  for (size_t i = 1; status == MICA_OK && i < w.items; i++) {
    double score = r->mean + user[w.width] + (double)w.bias[i];
    for (size_t d = 0; d < w.width; d++) score += user[d] * (double)w.rows[i * w.width + d];
    if (!a->excludes || !has_item(a, (int32_t)i)) mica__ranked_add(out, (int32_t)i, (float)score);
  }
  free(user);
  free_tables(&w);
  return status;
}

/* Ranks the other items by the cosine between their embeddings and the embedding of `item`. */
mica_status mica__ranker_like(const mica__ranker *r, int32_t item, mica__ranked *out) {
  mica__tables w = {0};
  mica_status status = read_tables(r, false, &w);
  if (status == MICA_OK) mica__tables_nearest(&w, item, out);
  free_tables(&w);
  return status;
}

/* --- initial values --- */

/* True for a table of users or items, or of their biases. */
static bool is_table(const mica_nn_parameter_info *info) {
  static const char *const names[] = {"users.weight",     "items.weight",     "deep_users.weight", "deep_items.weight",
                                      "user_bias.weight", "item_bias.weight", "values.weight"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (!strcmp(info->own_name, names[i])) return true;
  return false;
}

mica_status mica__ranker_begin(mica_engine *engine, mica_trainer *trainer) {
  static const float zeros[4096]; /* the widest row */
  mica_nn *nn = mica_trainer_network(trainer);
  mica_session *session = mica_trainer_session(trainer);
  for (size_t i = 0; i < mica_nn_parameter_count(nn); i++) {
    const mica_nn_parameter_info *info = mica_nn_parameter_at(nn, i);
    mica_tensor *table = mica_session_parameter(session, info->name), *row = NULL;
    if (!table || !is_table(info)) continue;
    MICA_TRY(mica_tensor_view(table, MICA_SHAPE(1, mica_tensor_shape(table).dim[1]), NULL, 0, &row));
    mica_status status = mica_tensor_upload(mica_engine_queue(engine), row, zeros, mica_tensor_bytes(row));
    mica_tensor_destroy(row);
    MICA_TRY(status);
  }
  return MICA_OK;
}
