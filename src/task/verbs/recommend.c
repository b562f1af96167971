/* Recommends items to known users, to new users by their ratings, and items similar to another. */
#include "networks/tables.h"
#include "run/facts.h"
#include "task/head/ranking.h"

#include "base/number.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The user of a query: an id, or 0 with the items and ratings of a new user. */
typedef struct asked {
  int32_t user;
  int32_t *items;
  float *ratings;
  int64_t count;
} asked;

/* Items in descending order of scores. */
typedef mica__ranked answer;
#define MOST_ANSWERS ((int64_t)(sizeof((answer *)0)->items / sizeof(int32_t)))

/* --- ids --- */

static int32_t find_id(mica__fact_texts names, const char *name) {
  for (size_t i = 0; i < names.count; i++)
    if (!strcmp(names.list[i], name)) return (int32_t)i + 1;
  return 0;
}

static mica_status find_item(const mica_run *run, const char *name, int32_t *item) {
  const mica__fact_texts items = mica__recommend_facts_of(run).items;
  *item = find_id(items, name);
  if (*item) return MICA_OK;
  return mica__fail(MICA_E_NOT_FOUND, "item '%s' is not one of the %zu items that the run was trained on", name,
                    items.count);
}

/* The history of a user from the training part. */
static mica_status read_history(const mica_run *run, int32_t user, asked *a) {
  const mica__recommend_facts facts = mica__recommend_facts_of(run);
  const size_t users = facts.histories.count, items = facts.items.count;
  const char *const *texts = facts.histories.list;
  if (!texts || (size_t)user > users) return mica__fail(MICA_E_FORMAT, "the run has no history of user %d", (int)user);
  const char *at = texts[user - 1];
  a->user = user;
  a->items = malloc((strlen(at) / 2 + 2) * sizeof *a->items);
  if (!a->items) return mica__fail_nomem("a user");
  for (char *next = NULL; *at; at = next) {
    const long item = strtol(at, &next, 10);
    if (next == at || item < 1 || (size_t)item > items)
      return mica__fail(MICA_E_FORMAT, "the run is damaged: the history of user %d is \"%.40s\"", (int)user,
                        texts[user - 1]);
    a->items[a->count++] = (int32_t)item;
  }
  return MICA_OK;
}

/* --- scores by the network --- */

static bool has_item(const asked *a, int32_t item) {
  for (int64_t i = 0; i < a->count; i++)
    if (a->items[i] == item) return true;
  return false;
}

/* The best items by the scores of all. */
static mica_status choose(mica_run *run, const mica_tensor *all, const asked *a, bool excludes, answer *out) {
  float *scores = malloc(mica_tensor_bytes(all) + 1);
  if (!scores) return mica__fail_nomem("a user");
  mica_status status = mica_tensor_download(mica_engine_queue(run->engine), all, scores, mica_tensor_bytes(all));
  for (int32_t i = 1; status == MICA_OK && i < (int32_t)mica_tensor_shape(all).dim[1]; i++)
    if (!excludes || !has_item(a, i)) mica__ranked_add(out, i, scores[i]);
  free(scores);
  return status;
}

static mica_status make_tensor(mica_run *run, mica_shape shape, const int32_t *ids, mica_tensor **tensor) {
  MICA_TRY(mica_tensor_create(run->engine, MICA_I32, shape, tensor));
  return mica_tensor_upload(mica_engine_queue(run->engine), *tensor, ids, mica_tensor_bytes(*tensor));
}

/* The columns that a prediction needs: user, seen and, for networks that read one, the window of the history. */
static mica_status feed(mica_run *run, const asked *a, bool excludes, mica_tensor *tensors[4], mica_feed feeds[4],
                        size_t *count) {
  const mica__recommender network = mica__recommend_network(run);
  const int64_t context = mica__recommender_context(&network);
  int64_t known = 1; /* rounded up, so that users share plans; unused slots are 0 */
  while (excludes && known < a->count) known *= 2;
  const int64_t from = a->count > context ? a->count - context : 0;
  const int32_t length = (int32_t)(a->count - from);
  int32_t *ids = calloc((size_t)(known + context) + 1, sizeof *ids);
  mica_status status = ids ? MICA_OK : mica__fail_nomem("a user");
  /* The first id in "seen" is 0, so the item that stands for unknown ones is never recommended. */
  if (ids && excludes) memcpy(ids + 1, a->items, (size_t)a->count * sizeof *ids);
  if (status == MICA_OK) status = make_tensor(run, MICA_SHAPE(1), &a->user, &tensors[0]);
  if (status == MICA_OK) status = make_tensor(run, MICA_SHAPE(1, known + 1), ids, &tensors[1]);
  if (status == MICA_OK && context) {
    memset(ids, 0, (size_t)context * sizeof *ids);
    memcpy(ids, a->items + from, (size_t)length * sizeof *ids);
    status = make_tensor(run, MICA_SHAPE(1, context), ids, &tensors[2]);
    if (status == MICA_OK) status = make_tensor(run, MICA_SHAPE(1), &length, &tensors[3]);
  }
  free(ids);
  static const char *const names[] = {"user", "seen", "history", "history_length"};
  for (*count = 0; *count < (context ? 4u : 2u); ++*count) feeds[*count] = (mica_feed){names[*count], tensors[*count]};
  return status;
}

static mica_status rank_by_network(mica_run *run, const asked *a, bool excludes, answer *out) {
  mica_queue *queue = mica_engine_queue(run->engine);
  mica_tensor *tensors[4] = {NULL};
  mica_feed feeds[4];
  size_t count = 0;
  mica_status status = feed(run, a, excludes, tensors, feeds, &count);
  if (status == MICA_OK)
    status = mica_trainer_predict(run->trainer, &(mica_batch){.count = 1, .tensors = feeds, .tensor_count = count});
  const mica_tensor *all = status == MICA_OK ? mica_trainer_output(run->trainer, "all") : NULL;
  if (all) {
    status = choose(run, all, a, excludes, out);
    for (int i = 0; i < 4; i++) mica_tensor_destroy(tensors[i]);
    return status;
  }
  const mica_tensor *ranked = status == MICA_OK ? mica_trainer_output(run->trainer, "ranked") : NULL;
  const mica_tensor *scores = status == MICA_OK ? mica_trainer_output(run->trainer, "scores") : NULL;
  if (status == MICA_OK && (!ranked || !scores))
    status = mica__fail(MICA_E_STATE, "the network has no outputs 'ranked' and 'scores', so it cannot rank items");
  if (status == MICA_OK) {
    out->count = mica_tensor_shape(ranked).dim[1];
    status = mica_tensor_download(queue, ranked, out->items, mica_tensor_bytes(ranked));
  }
  if (status == MICA_OK) status = mica_tensor_download(queue, scores, out->scores, mica_tensor_bytes(scores));
  for (int i = 0; i < 4; i++) mica_tensor_destroy(tensors[i]);
  /* Items that must not be recommended come last. */
  while (out->count > 0 && (out->scores[out->count - 1] < -1e29f || !out->items[out->count - 1])) out->count--;
  return status;
}

/* Features of the pair besides user and item, from the query. */
static mica_status read_context(const mica_run *run, const mica_run_query *q, mica__features *f) {
  mica__text text = {0}, names = {0};
  bool any = false;
  for (size_t k = 0; k < f->count; k++)
    if (f->list[k].side == MICA__SIDE_PAIR) mica__text_addf(&names, any ? ", %s" : "%s", f->list[k].name), any = true;
  for (size_t i = 0; i < q->context_count; i++) {
    size_t k = 0;
    while (k < f->count && (f->list[k].side != MICA__SIDE_PAIR || strcmp(f->list[k].name, q->context[i].name) != 0))
      k++;
    if (k < f->count) continue;
    mica_status status =
        mica__fail(MICA_E_NOT_FOUND, "context: '%s' is not a column of pairs; the columns of pairs are: %s",
                   q->context[i].name, any ? names.data : "none");
    mica__text_free(&names);
    return status;
  }
  mica__text_free(&names);
  if (!any) return MICA_OK;
  /* A table of one row with quoted cells. */
  for (int line = 0; line < 2; line++, mica__text_add(&text, "\n"))
    for (size_t k = 0, n = 0; k < f->count; k++) {
      const char *cell = line ? "" : f->list[k].name;
      if (f->list[k].side != MICA__SIDE_PAIR) continue;
      for (size_t i = 0; line && i < q->context_count; i++)
        if (!strcmp(q->context[i].name, f->list[k].name)) cell = q->context[i].value;
      mica__text_add(&text, n++ ? ",\"" : "\"");
      for (; *cell; cell++) mica__text_addf(&text, *cell == '"' ? "\"\"" : "%c", *cell);
      mica__text_add(&text, "\"");
    }
  MICA_TRY(mica__text_status(&text));
  mica__records records = mica__records_in("context", text.data, strlen(text.data));
  const mica__feature_config config = {.separator = *mica__recommend_settings_of(run).separator,
                                       .key = SIZE_MAX,
                                       .title = SIZE_MAX,
                                       .header = true,
                                       .known = true};
  mica_status status = mica__features_read(&records, MICA__SIDE_PAIR, &config, f);
  mica__records_free(&records);
  mica__text_free(&text);
  return status;
}

/* Scores all items in pairs with a known user. */
static mica_status rank_pairs(mica_run *run, const mica__features *f, const asked *a, bool excludes, answer *out) {
  const mica__recommender network = mica__recommend_network(run);
  const int32_t pair = f->rows[MICA__SIDE_PAIR] ? 0 : -1, user = f->rows[MICA__SIDE_USER] ? a->user - 1 : -1;
  mica__interaction pairs[MICA__PAIRS];
  float values[MICA__PAIRS];
  for (int32_t from = 1; from < network.items; from += MICA__PAIRS) {
    /* The last batch is padded, since another size would need another plan. */
    for (int32_t i = 0; i < MICA__PAIRS; i++) {
      const int32_t item = from + i < network.items ? from + i : from;
      const int32_t row = f->rows[MICA__SIDE_ITEM] ? item - 1 : -1;
      pairs[i] = (mica__interaction){.user = a->user, .item = item, .rows = {{pair, user, row}}};
    }
    MICA_TRY(mica__recommend_values(run, f, pairs, MICA__PAIRS, values));
    for (int32_t i = 0; i < MICA__PAIRS && from + i < network.items; i++)
      if (!excludes || !has_item(a, from + i)) mica__ranked_add(out, from + i, values[i]);
  }
  return MICA_OK;
}

static mica_status rank_by_pairs(mica_run *run, const asked *a, const mica_run_query *q, bool excludes, answer *out) {
  mica__features f = {0};
  mica_status status = mica__features_recall(run, &f);
  if (status == MICA_OK) status = read_context(run, q, &f);
  if (status == MICA_OK) status = rank_pairs(run, &f, a, excludes, out);
  mica__features_free(&f);
  return status;
}

/* --- scores on the host: new users of mf, and items like another --- */

static mica_status read_tables(mica_run *run, bool biased, mica__tables *t) {
  mica_queue *queue = mica_engine_queue(run->engine);
  mica_session *session = mica_trainer_test_session(run->trainer);
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

static mica_status rank_by_fit(mica_run *run, const asked *a, bool excludes, answer *out) {
  mica__tables w = {0};
  const double mean = mica__recommend_facts_of(run).rating_mean;
  mica_status status = read_tables(run, true, &w);
  double *user = status == MICA_OK ? calloc(w.width + 1, sizeof *user) : NULL;
  const mica__rated_items rated = {a->items, a->ratings, a->count};
  const double l2 = fmax(mica__recommend_settings_of(run).l2, 1e-3);
  if (status == MICA_OK) status = user ? mica__tables_fit(&w, &rated, mean, l2, user) : mica__fail_nomem("a user");
  for (size_t i = 1; status == MICA_OK && i < w.items; i++) {
    double score = mean + user[w.width] + (double)w.bias[i];
    for (size_t d = 0; d < w.width; d++) score += user[d] * (double)w.rows[i * w.width + d];
    if (!excludes || !has_item(a, (int32_t)i)) mica__ranked_add(out, (int32_t)i, (float)score);
  }
  free(user);
  free_tables(&w);
  return status;
}

/* Ranks the other items by the cosines between their features and the item's. */
static mica_status rank_like(mica_run *run, int32_t item, answer *out) {
  mica__tables w = {0};
  mica_status status = read_tables(run, false, &w);
  if (status == MICA_OK) mica__tables_nearest(&w, item, out);
  free_tables(&w);
  return status;
}

/* --- answers --- */

static mica_status add_answer(const mica_run *run, const char *title, const answer *a, int64_t top, mica_report *p) {
  static const char *const columns[] = {"item", "title", "score"};
  static const bool number_columns[] = {false, false, true};
  const mica__recommend_facts facts = mica__recommend_facts_of(run);
  const char *const *items = facts.items.list, *const *titles = facts.titles.list;
  const char *cells[3 * (sizeof a->items / sizeof *a->items)];
  double numbers[3 * (sizeof a->items / sizeof *a->items)] = {0};
  char scores[sizeof a->items / sizeof *a->items][16];
  const size_t rows = (size_t)(a->count < top ? a->count : top);
  for (size_t i = 0; i < rows; i++) {
    const size_t at = (size_t)a->items[i] - 1;
    mica__snprintf(scores[i], sizeof scores[i], "%.4g", (double)a->scores[i]);
    cells[3 * i] = items[at];
    cells[3 * i + 1] = titles ? titles[at] : "";
    cells[3 * i + 2] = scores[i];
    numbers[3 * i + 2] = (double)a->scores[i];
  }
  MICA_TRY(mica_report_begin(p, title));
  return mica_report_add(p, &(mica_item){.kind = MICA_ITEM_KIND_TABLE,
                                         .name = "items",
                                         .rows = rows,
                                         .columns = 3,
                                         .column_names = columns,
                                         .numbers = numbers,
                                         .texts = cells,
                                         .number_columns = number_columns});
}

static mica_status rank_user(mica_run *run, const asked *a, const mica_run_query *q, bool excludes, answer *out) {
  const mica__recommender network = mica__recommend_network(run);
  const bool features = mica__recommender_has_features(&network);
  if (q->context_count && !features)
    return mica__fail(MICA_E_UNSUPPORTED, "the network %s reads only users and items, so it takes no context",
                      network.name);
  if (features && a->user) return rank_by_pairs(run, a, q, excludes, out);
  if (a->user || mica__recommender_context(&network)) return rank_by_network(run, a, excludes, out);
  if (!strcmp(network.name, "mf")) return rank_by_fit(run, a, excludes, out);
  return mica__fail(MICA_E_UNSUPPORTED,
                    "the network %s knows only the users that it was trained on; mf, towers and sasrec take new users",
                    network.name);
}

mica_status mica__recommend_items(mica_run *run, int32_t user, int64_t top, int32_t *items, int64_t *count) {
  asked a = {0};
  answer found = {.count = 0};
  mica_status status = read_history(run, user, &a);
  if (status == MICA_OK) status = rank_user(run, &a, &(mica_run_query){0}, true, &found);
  *count = found.count < top ? found.count : top;
  memcpy(items, found.items, (size_t)*count * sizeof *items);
  free(a.items);
  return status;
}

static mica_status answer_user(mica_run *run, const char *title, const asked *a, const mica_run_query *q,
                               mica_report *p) {
  answer found = {.count = 0};
  MICA_TRY(rank_user(run, a, q, q->exclude_seen || !a->user, &found));
  return add_answer(run, title, &found, q->top, p);
}

static mica_status answer_known(mica_run *run, const char *name, const mica_run_query *q, mica_report *p) {
  const mica__fact_texts users = mica__recommend_facts_of(run).users;
  asked a = {0};
  const int32_t user = find_id(users, name);
  if (!user)
    return mica__fail(MICA_E_NOT_FOUND,
                      "user '%s' is not one of the %zu users that the run was trained on; for a new user, give ratings",
                      name, users.count);
  mica_status status = read_history(run, user, &a);
  if (status == MICA_OK) status = answer_user(run, name, &a, q, p);
  free(a.items);
  return status;
}

/* A new user rates each item once, within the range of ratings in training; rankings do not use the ratings. */
static mica_status check_rated(const mica_run *run, const mica_run_rating *rated, int32_t item, bool *seen) {
  const mica__fact_numbers within = mica__recommend_facts_of(run).rating_range;
  const double *range = within.list;
  if (seen[item]) return mica__fail(MICA_E_INVALID, "item '%s' is rated twice", rated->item);
  seen[item] = true;
  if (within.count != 2 || mica__recommend_ranks(run)) return MICA_OK;
  const float rating = (float)rated->rating; /* as training reads them */
  if (rating >= (float)range[0] && rating <= (float)range[1]) return MICA_OK;
  return mica__fail(MICA_E_INVALID,
                    "the rating %.6g of item '%s' is out of range: the run was trained on ratings of %g to %g",
                    rated->rating, rated->item, range[0], range[1]);
}

static mica_status answer_new(mica_run *run, const mica_run_query *q, mica_report *p) {
  const size_t items = mica__recommend_facts_of(run).items.count;
  bool *seen = calloc(items + 1, sizeof *seen);
  asked a = {.items = calloc(q->rated_count, sizeof *a.items), .ratings = calloc(q->rated_count, sizeof *a.ratings)};
  mica_status status = seen && a.items && a.ratings ? MICA_OK : mica__fail_nomem("a user");
  for (size_t i = 0; status == MICA_OK && i < q->rated_count; i++) {
    status = find_item(run, q->rated[i].item, &a.items[i]);
    if (status == MICA_OK) status = check_rated(run, &q->rated[i], a.items[i], seen);
    a.ratings[i] = (float)q->rated[i].rating;
    a.count++;
  }
  if (status == MICA_OK) status = answer_user(run, "new user", &a, q, p);
  free(seen);
  free(a.items);
  free(a.ratings);
  return status;
}

/* A new user whose ratings are read from a file. */
static mica_status answer_file(mica_run *run, const mica_run_query *q, mica_report *p) {
  mica__rated rated = {0};
  mica_run_query own = *q;
  mica_status status = mica__rated_open(q->rated_file, &rated);
  mica_run_rating *list = status == MICA_OK ? calloc(rated.count, sizeof *list) : NULL;
  if (status == MICA_OK && !list) status = mica__fail_nomem("a user");
  for (size_t i = 0; list && i < rated.count; i++) list[i] = (mica_run_rating){rated.items[i], rated.ratings[i]};
  own.rated = list;
  own.rated_count = rated.count;
  if (status == MICA_OK) status = answer_new(run, &own, p);
  free(list);
  mica__rated_free(&rated);
  return status;
}

mica_status mica__recommend_query(mica_run *run, const mica_run_query *given, mica_report *p) {
  mica_run_query q = *given;
  if (q.top < 0 || q.top > MOST_ANSWERS)
    return mica__fail(MICA_E_INVALID, "mica_run_recommend: top is %lld, but must be from 1 to %lld", (long long)q.top,
                      (long long)MOST_ANSWERS);
  if (!q.top) q.top = 10;
  for (size_t i = 0; i < q.user_count; i++) MICA_TRY(answer_known(run, q.users[i], &q, p));
  if (q.rated_file)
    MICA_TRY(answer_file(run, &q, p));
  else if (q.rated_count)
    MICA_TRY(answer_new(run, &q, p));
  for (size_t i = 0; i < q.like_count; i++) {
    answer found = {.count = 0};
    int32_t item = 0;
    MICA_TRY(find_item(run, q.like[i], &item));
    MICA_TRY(rank_like(run, item, &found));
    MICA_TRY(add_answer(run, q.like[i], &found, q.top, p));
  }
  return MICA_OK;
}
