/* task/input/interactions.h: reads tables of users and items: the ratings, the clicks, or the items that each user took
 * and when, and features of users and items. */
#ifndef MICA_TASK_INPUT_INTERACTIONS_H
#define MICA_TASK_INPUT_INTERACTIONS_H

#include "data/interactions/interactions.h"
#include "networks/ranker.h"
#include "run/fact_fields.h"
#include "run/input.h"
#include "run/run.h"
#include "run/setting_fields.h"

#include <math.h>

/* The head builds the network (task/head/ranking.h), because its losses read the tables of users and items. */
extern const mica__input mica__input_interactions;

/* --- settings and stored values --- */

enum { MICA__OBJECTIVE_RATING, MICA__OBJECTIVE_RANKING, MICA__OBJECTIVE_CLICK };
enum { MICA__SAMPLING_POPULAR, MICA__SAMPLING_EVEN };
/* Each returns name i of a setting's choices; NULL after the last. */
const char *mica__recommend_objective_at(size_t i);
const char *mica__recommend_split_at(size_t i);      /* i is a mica__holdout */
const char *mica__recommend_duplicates_at(size_t i); /* i is a mica__duplicates */
const char *mica__recommend_sampling_at(size_t i);

#define RECOMMEND_SETTINGS(X, S)                                                                                       \
  X(S, CHOICE, objective, "objective", "rating", "NAME",                                                               \
    "what to learn: ratings of items, a ranking of all items, or clicks; without --model by the networks mf, sasrec "  \
    "and dlrm in this order",                                                                                          \
    .names = mica__recommend_objective_at, .fixed = true)                                                              \
  X(S, CHOICE, split, "split", "", "NAME",                                                                             \
    "how to split off the test part: random samples, the newest samples of all users (time), or the newest item of "   \
    "each user (leave-one-out) (default: random, or leave-one-out for ranking)",                                       \
    .names = mica__recommend_split_at, .fixed = true)                                                                  \
  X(S, REAL, test, "test", "0.1", "SHARE", "with --split random or time: share of the data for the test part",         \
    .low = 0, .high = 0.9, .of = "split=random|time", .fixed = true)                                                   \
  X(S, INT, least, "least", "1", "N", "treat users and items that occur fewer than N times as unknown", .low = 1,      \
    .high = 1e6, .fixed = true)                                                                                        \
  X(S, CHOICE, duplicates, "duplicates", "", "NAME",                                                                   \
    "if a user and an item occur together more than once: stop (error), use the last line or keep all lines "          \
    "(default: keep for clicks, else error)",                                                                          \
    .names = mica__recommend_duplicates_at, .fixed = true)                                                             \
  X(S, TEXT, user_column, "user-column", "", "NAME", "column of users (default: found by its name or position)",       \
    .fixed = true)                                                                                                     \
  X(S, TEXT, item_column, "item-column", "", "NAME", "column of items (default: found by its name or position)",       \
    .fixed = true)                                                                                                     \
  X(S, TEXT, rating_column, "rating-column", "", "NAME", "column of ratings (default: found by its name or position)", \
    .fixed = true)                                                                                                     \
  X(S, TEXT, time_column, "time-column", "", "NAME",                                                                   \
    "column of times, which are numbers or dates (default: found by its name; without it, lines are in order of "      \
    "time)",                                                                                                           \
    .fixed = true)                                                                                                     \
  X(S, REAL, clicks_from, "clicks-from", "", "RATING",                                                                 \
    "objective click: count ratings of at least RATING as clicks (default: the column holds 0 and 1)", .low = -1e9,    \
    .high = 1e9, .of = "objective=click", .fixed = true)                                                               \
  X(S, PATH, titles, "titles", "", "FILE",                                                                             \
    "table of items and titles (default: movies.csv, items.csv, u.item or movies.dat in DATA or beside it)",           \
    .fixed = true)                                                                                                     \
  X(S, PATH, item_features, "item-features", "", "FILE",                                                               \
    "dlrm: table with features of the items (default: movies.csv or items.csv in DATA)", .of = "model=dlrm",           \
    .fixed = true)                                                                                                     \
  X(S, PATH, user_features, "user-features", "", "FILE",                                                               \
    "dlrm: table with features of the users (default: users.csv in DATA)", .of = "model=dlrm", .fixed = true)          \
  X(S, TEXT, categorical, "categorical", "", "LIST", "dlrm: columns whose numbers are categories, as in zip,device",   \
    .of = "model=dlrm", .fixed = true)                                                                                 \
  X(S, TEXT, separator, "separator", "|", "CHARACTER", "dlrm: character between values of a cell", .of = "model=dlrm", \
    .fixed = true)                                                                                                     \
  X(S, INT, width, "width", "", "N",                                                                                   \
    "features per user and per item (default: 16; 32 for ratings with mf and for rankings with neumf; 64 for "         \
    "rankings with mf, towers and sasrec)",                                                                            \
    .low = 1, .high = 4096, .fixed = true, .structure = true)                                                          \
  X(S, INT, layers, "layers", "2", "N", "sasrec: transformer blocks", .low = 1, .high = 64, .of = "model=sasrec",      \
    .fixed = true, .structure = true)                                                                                  \
  X(S, INT, heads, "heads", "1", "N", "sasrec: attention heads", .low = 1, .high = 64, .of = "model=sasrec",           \
    .fixed = true, .structure = true)                                                                                  \
  X(S, INT, context, "context", "50", "N", "sasrec and towers: number of earlier items that a prediction sees",        \
    .low = 1, .high = 4096, .of = "model=sasrec|towers", .fixed = true)                                                \
  X(S, REAL, dropout, "dropout", "", "P",                                                                              \
    "neumf, dlrm, towers and sasrec: dropout of features (default: 0.2, but for dlrm 0.1 for ratings and 0 for "       \
    "clicks)",                                                                                                         \
    .low = 0, .high = 0.99, .of = "model=neumf|dlrm|towers|sasrec", .fixed = true)                                     \
  X(S, INT, negatives, "negatives", "", "N",                                                                           \
    "objective ranking: negative items drawn per positive one (default: 1 for mf, 4 for neumf, 256 for sasrec, 512 "   \
    "for towers)",                                                                                                     \
    .low = 1, .high = 1 << 16, .of = "objective=ranking", .fixed = true)                                               \
  X(S, CHOICE, sampling, "sampling", "popular", "NAME",                                                                \
    "objective ranking: draw negative items by their popularity or evenly", .names = mica__recommend_sampling_at,      \
    .of = "objective=ranking", .fixed = true)                                                                          \
  X(S, REAL, l2, "l2", "", "W",                                                                                        \
    "mf and dlrm: weight of the L2 penalty on the features of a batch's users and items (default: for ratings 0.1 "    \
    "with mf and 0.05 with dlrm; for rankings 0.01; for clicks 0.01 with mf and 0.001 with dlrm)",                     \
    .low = 0, .high = 1e6, .of = "model=mf|dlrm", .fixed = true)                                                       \
  X(S, FLAG, whole_tables, "whole-tables", "false", "",                                                                \
    "update the features of all users and items in each step, not only of those in the batch", .fixed = true)          \
  X(S, INT, top, "top", "10", "K", "objective ranking: rank cut-off of hit, ndcg and recall", .low = 1, .high = 1000,  \
    .of = "objective=ranking", .fixed = true)
MICA__SETTINGS_STRUCT(recommend, RECOMMEND_SETTINGS);

#define RECOMMEND_FACTS(X, S)                                                                                          \
  X(S, TEXTS, users, .needed = true)                                                                                   \
  X(S, TEXTS, items, .needed = true)                                                                                   \
  X(S, TEXTS, histories, .needed = true, .of = "users")                                                                \
  X(S, TEXTS, titles, .of = "items")                                                                                   \
  X(S, NUMBERS, popularity, .needed = true, .of = "items", .more = 1, MICA__OR_ZERO)                                   \
  X(S, NUMBERS, item_bias, .of = "items", .more = 1, MICA__ANY_SIGN)                                                   \
  X(S, NUMBERS, user_bias, .of = "users", .more = 1, MICA__ANY_SIGN)                                                   \
  X(S, NUMBER, rating_mean, .needed = true, MICA__ANY_SIGN)                                                            \
  X(S, NUMBERS, rating_range, .count = 2, MICA__ANY_SIGN)                                                              \
  X(S, TEXTS, features, .needed = false)                                                                               \
  X(S, NUMBERS, feature_numbers, .of = "features", .each = 4, MICA__ANY_SIGN)
MICA__FACTS_STRUCT(recommend, RECOMMEND_FACTS);

/* Settings and stored values (run/facts.h) of a recommending run. */
mica__recommend_settings mica__recommend_settings_of(const mica_run *run);
mica__recommend_facts mica__recommend_facts_of(const mica_run *run);

/* --- tables --- */

/* Reads the file at path, or the file of interactions in the folder at path, by the run's settings. If the network uses
 * features, they are read too: for the training data from the tables of users and items, for other data from the values
 * stored with the run (run/facts.h). */
mica_status mica__recommend_read(const mica_run *run, const char *path, mica__interactions *out);
/* Reads a file that is not the training data, and calls `each` after every block of lines. Repeated pairs are included.
 * *out is the object that `each` gets; the caller frees it. */
mica_status mica__recommend_read_each(const mica_run *run, const char *path, mica__interactions *out,
                                      mica__interactions_fn *each, void *user);
/* While x was read, users and items got ids of their own. Replaces them by the run's ids for the same users and items,
 * or by 0 if the run does not know them. */
mica_status mica__recommend_adopt(mica__interactions *x, const mica_run *run);

/* --- features --- */

/* Stores with the run (run/facts.h) what the columns of features are, and the features of each user and item, in the
 * order of the run's ids. */
mica_status mica__features_note(mica_run *run, const mica__features *f, const mica__id_names *users,
                                const mica__id_names *items);
/* True if the run has features. */
bool mica__features_are_noted(const mica_run *run);
/* Makes features from the run's stored values. Row id - 1 holds the features of the user or item with that id.
 * MICA_E_FORMAT if the stored values contradict each other. The caller frees *f, even after a failure. */
mica_status mica__features_recall(const mica_run *run, mica__features *f);

/* --- the run --- */

/* True if the run learns to rank items. */
bool mica__recommend_ranks(const mica_run *run);
/* True if the run learns whether a user takes an item: ratings are 0 and 1. */
bool mica__recommend_clicks(const mica_run *run);
/* The network's sizes, from settings and stored values. */
mica__recommender mica__recommend_network(const mica_run *run);
/* The run's trained network, with what queries to it need. */
mica__ranker mica__recommend_ranker(const mica_run *run);
/* The share of the data in the validation part. With the split leave-one-out (the default of rankings), any value above
 * 0 puts the last but one item of each user there. */
double mica__recommend_validation(const mica_run *run);
/* The list length of tests: the setting "top". */
int64_t mica__recommend_top(const mica_run *run);
/* True if path leads to the run's training data, even if the path is written in another way. Only the training data are
 * split into parts. */
bool mica__recommend_owns(const mica_run *run, const char *path);
/* mica__task_row.open. */
mica_status mica__recommend_open(const mica_run *run, const char *path, const mica_dataset_config *config,
                                 mica_dataset **data);
#endif
