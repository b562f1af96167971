/* Recommends items: to known users, to new users by their ratings, or because they are similar to a given item. */
#include "networks/ranker.h"
#include "run/facts.h"
#include "task/head/ranking.h"

#include "base/number.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef mica__ranker_query asked;
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

/* Reads the history of a user that is stored with the run. */
static mica_status read_history(const mica_run *run, int32_t user, asked *a) {
  const mica__recommend_facts facts = mica__recommend_facts_of(run);
  const size_t users = facts.histories.count, items = facts.items.count;
  const char *const *texts = facts.histories.list;
  const char *name = facts.users.list[user - 1];
  if (!texts || (size_t)user > users)
    return mica__fail(MICA_E_FORMAT, "the run is damaged: it has no history of user '%s'", name);
  const char *at = texts[user - 1];
  a->user = user;
  a->items = malloc((strlen(at) / 2 + 2) * sizeof *a->items);
  if (!a->items) return mica__fail_nomem("a user");
  if (mica__histories_parse(at, items, a->items, &a->count)) return MICA_OK;
  return mica__fail(MICA_E_FORMAT,
                    "the run is damaged: the history of user '%s' begins with \"%.40s\" and is malformed", name, at);
}

/* Ranks all items for a user by the value that the network predicts for each pair of the user and an item. Pairs have
 * the features that the network reads. */
static mica_status rank_by_pairs(mica_run *run, const mica__ranker *r, const asked *a, const mica_run_query *q,
                                 answer *out) {
  mica__features f = {0};
  const char separator = *mica__recommend_settings_of(run).separator;
  mica_status status = mica__features_recall(run, &f);
  if (status == MICA_OK) status = mica__features_context(q->context, q->context_count, separator, &f);
  if (status == MICA_OK) status = mica__ranker_ask_pairs(r, &f, a, out);
  mica__features_free(&f);
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

static mica_status rank_user(mica_run *run, const asked *a, const mica_run_query *q, answer *out) {
  const mica__ranker r = mica__recommend_ranker(run);
  const bool features = mica__recommender_has_features(&r.network);
  if (q->context_count && !features)
    return mica__fail(MICA_E_UNSUPPORTED, "the network %s reads only users and items, so it takes no context",
                      r.network.name);
  if (features && a->user) return rank_by_pairs(run, &r, a, q, out);
  if (a->user || mica__recommender_context(&r.network)) return mica__ranker_ask(&r, a, out);
  if (!strcmp(r.network.name, "mf")) return mica__ranker_fit(&r, a, out);
  return mica__fail(MICA_E_UNSUPPORTED,
                    "the network %s knows only the users that it was trained on; mf, towers and sasrec take new users",
                    r.network.name);
}

mica_status mica__recommend_items(mica_run *run, int32_t user, int64_t top, int32_t *items, int64_t *count) {
  asked a = {.excludes = true};
  answer found = {.count = 0};
  mica_status status = read_history(run, user, &a);
  if (status == MICA_OK) status = rank_user(run, &a, &(mica_run_query){0}, &found);
  *count = found.count < top ? found.count : top;
  memcpy(items, found.items, (size_t)*count * sizeof *items);
  free(a.items);
  return status;
}

static mica_status answer_user(mica_run *run, const char *title, asked *a, const mica_run_query *q, mica_report *p) {
  answer found = {.count = 0};
  a->excludes = q->exclude_seen || !a->user;
  MICA_TRY(rank_user(run, a, q, &found));
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

/* Checks a rating of a new user: the user has not rated the item before (`seen`, which is updated), and the rating is
 * within the range of the ratings in training. A run that ranks items does not use the values of ratings, so it
 * accepts any. */
static mica_status check_rated(const mica_run *run, const mica_run_rating *rated, int32_t item, bool *seen) {
  const mica__fact_numbers within = mica__recommend_facts_of(run).rating_range;
  const double *range = within.list;
  if (seen[item]) return mica__fail(MICA_E_INVALID, "item '%s' is rated twice", rated->item);
  seen[item] = true;
  if (within.count != 2 || mica__recommend_ranks(run)) return MICA_OK;
  const float rating = (float)rated->rating; /* training reads ratings as float */
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

/* Answers for a new user whose ratings are read from a file. */
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
  const mica__ranker ranker = mica__recommend_ranker(run);
  mica_run_query q = *given;
  if (q.top < 0 || q.top > MOST_ANSWERS)
    return mica__fail(MICA_E_INVALID, "mica_run_recommend: top is %lld, but must be from 0 to %lld", (long long)q.top,
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
    MICA_TRY(mica__ranker_like(&ranker, item, &found));
    MICA_TRY(add_answer(run, q.like[i], &found, q.top, p));
  }
  return MICA_OK;
}
