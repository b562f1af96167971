/* mica/run_recommend.h: recommendations from runs of the task recommend.
 *
 * Threads: as in mica/run.h. */
#ifndef MICA_RUN_RECOMMEND_H
#define MICA_RUN_RECOMMEND_H

#include <mica/run.h>
#include <mica/task.h>

MICA_BEGIN_DECLS

/* What a user thinks of an item, by the names that they have in the data. */
typedef struct mica_run_rating {
  const char *item;
  double rating; /* of a run that ranks: not used, the items come in order of time */
} mica_run_rating;

/* Users and items that a run of the task recommend is asked for. */
typedef struct mica_run_query {
  const char *const *users; /* of the training */
  size_t user_count;
  const mica_run_rating *rated; /* a new user by ratings, whose items are left out */
  size_t rated_count;
  const char *rated_file;  /* in place of rated: a table of items and ratings, with or without a first line of names */
  const char *const *like; /* items to which others are alike */
  size_t like_count;
  int64_t top;       /* items for each, at most 256; 0: 10 */
  bool exclude_seen; /* of users: without the items that they had */
  /* What else is known of the pairs, by columns of the table of interactions, as in {"hour", "17"}, for networks that
   * take it. Columns that are not named count as missing. */
  const mica_setting *context;
  size_t context_count;
} mica_run_query;

/* A section for each user, then for the new one, then for each item: a table "items" of item, title and score, the best
 * first. MICA_E_NOT_FOUND names a user or an item that the training had not; MICA_E_INVALID: an item that is rated
 * twice, or a rating out of the range of the training's; MICA_E_UNSUPPORTED: a run of another task,
 * or a network that takes no new users. *prediction is the caller's to mica_report_destroy. Blocks. */
MICA_API MICA_CHECKED mica_status mica_run_recommend(mica_run *run, const mica_run_query *query,
                                                     mica_report **prediction);

MICA_END_DECLS

#endif
