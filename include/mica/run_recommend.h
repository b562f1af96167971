/* mica/run_recommend.h: recommendations from runs of the task recommend.
 *
 * Threads: as in mica/run.h. */
#ifndef MICA_RUN_RECOMMEND_H
#define MICA_RUN_RECOMMEND_H

#include <mica/run.h>
#include <mica/task.h>

MICA_BEGIN_DECLS

/* A user's rating of an item. Items have the names used in the data. */
typedef struct mica_run_rating {
  const char *item;
  double rating; /* ignored if the run ranks items; list items in order of time then */
} mica_run_rating;

/* Users and items to find recommendations for. */
typedef struct mica_run_query {
  const char *const *users; /* users of the training data */
  size_t user_count;
  const mica_run_rating *rated; /* ratings of one new user; these items are not recommended */
  size_t rated_count;
  const char *rated_file;  /* table of items and ratings, used instead of `rated`; the first line may hold names */
  const char *const *like; /* items for which to find similar ones */
  size_t like_count;
  int64_t top;       /* recommendations per user or item, at most 256; 0: 10 */
  bool exclude_seen; /* omits items that a user already had */
  /* Further facts about the pairs, by column of the interactions table: {"hour", "17"}. For networks with such inputs.
   * Columns that are not named count as missing. */
  const mica_setting *context;
  size_t context_count;
} mica_run_query;

/* Recommends items. The report has a section for each user, then one for the new user, then one for each item of
 * `like`. Each section has a table "items" with item, title and score, best first. The caller frees *prediction with
 * mica_report_destroy. Blocks.
 *
 * MICA_E_NOT_FOUND: a user or item does not occur in the training data, or `context` names a column that the run does
 * not read; the message names it. MICA_E_INVALID: the query has no users, items or ratings, top is out of range, an
 * item is rated twice, or a rating is outside the range of the training data. MICA_E_UNSUPPORTED: the run's task is not
 * recommend, or its network cannot take new users or this context. */
MICA_API MICA_CHECKED mica_status mica_run_recommend(mica_run *run, const mica_run_query *query,
                                                     mica_report **prediction);

MICA_END_DECLS

#endif
