/* task/recommend/recommend.h: users, items, and what is known between them. Ids are texts in files; inside they are
 * numbers from 1, and 0 stands for all that training has not seen. */
#ifndef MICA_TASK_RECOMMEND_RECOMMEND_H
#define MICA_TASK_RECOMMEND_RECOMMEND_H

#include "data/interactions/features.h"
#include "data/interactions/titles.h"
#include "nn/zoo/recommender.h"
#include "run/run.h"

/* One line of a file: a user had to do with an item. */
typedef struct mica__interaction {
  int32_t user, item;
  float rating;
  uint8_t part; /* a mica_part */
  double time;
  size_t line;
  mica__feature_rows rows; /* of its pair, and of user and item in tables of theirs */
} mica__interaction;

/* The columns of a table of interactions. */
enum { MICA__USER, MICA__ITEM, MICA__RATING, MICA__TIME, MICA__INTERACTION_COLUMNS };

typedef struct mica__interactions {
  mica__id_names users, items;
  mica__interaction *list;
  size_t count, capacity;
  bool rated, timed;                    /* the file has ratings, times */
  size_t passed;                        /* lines that begin with # and were not read */
  bool header;                          /* its first line names the columns */
  size_t at[MICA__INTERACTION_COLUMNS]; /* which columns are what; SIZE_MAX: not there */
  mica__features features;              /* of networks that take some */
} mica__interactions;

/* Names of the columns; NULL: found by usual names. */
typedef struct mica__interaction_columns {
  const char *user, *item, *rating, *time;
} mica__interaction_columns;

/* What becomes of pairs that come twice. */
typedef enum mica__duplicates { MICA__DUPLICATES_FAIL, MICA__DUPLICATES_LAST, MICA__DUPLICATES_KEEP } mica__duplicates;

/* Reads all of a table. MICA_E_FORMAT names file, line and column of a cell that is missing or no number, a column that
 * is missing, and a pair that comes twice, unless the last or all of them are kept. */
mica_status mica__interactions_read(mica__records *records, const mica__interaction_columns *columns,
                                    mica__duplicates duplicates, mica__interactions *out);
void mica__interactions_free(void *interactions);
/* Opens the file at path, or in the folder at path, and reads it as the run's settings say; with features, for networks
 * that take some: of users and items from the tables of the training's data, or for other data from the run. */
mica_status mica__interactions_open(const mica_run *run, const char *path, mica__interactions *out);
/* Likewise, of a file that is none of the training's; calls `each` with the lines, part by part, a pair that comes
 * twice among them. *out is what it is called with, the caller's to free. */
typedef mica_status mica__interactions_fn(void *user, mica__interactions *x);
mica_status mica__interactions_each(const mica_run *run, const char *path, mica__interactions *out,
                                    mica__interactions_fn *each, void *user);
/* Titles by the names of items, from the table that the setting "titles" names, or the file movies.csv, items.csv,
 * u.item or movies.dat of the data's folder; *titles (items->count texts, "" for none) stays NULL where there is no
 * such table. */
mica_status mica__titles_open(const mica_run *run, const mica__id_names *items, char ***titles);

/* What a new user thinks of items. */
typedef struct mica__rated {
  char **items;
  double *ratings;
  size_t count, capacity;
  mica__id_names users; /* where there is a column of them: one */
} mica__rated;
/* Reads a table of items and ratings: the columns that are called so, else the first two, of three numbers or more the
 * second and third behind the user; a first line whose rating is no number names the columns. MICA_E_FORMAT names file,
 * line and what is wrong. *out is to be freed after a failure too. */
mica_status mica__rated_read(mica__records *records, mica__rated *out);
mica_status mica__rated_open(const char *path, mica__rated *out);
void mica__rated_free(mica__rated *rated);

/* --- features --- */

/* The sizes that a network has for these features. */
void mica__features_size(const mica__features *f, mica__recommender *network);
/* Notes the features, and the rows of users and items by the run's ids. */
mica_status mica__features_note(mica_run *run, const mica__features *f, const mica__id_names *users,
                                const mica__id_names *items);
/* True if the run has any. */
bool mica__features_are_noted(const mica_run *run);
/* Makes them from these facts, with the rows of users and items by their ids less 1. MICA_E_FORMAT for facts that no
 * run has. To be freed after a failure too. */
mica_status mica__features_recall(const mica_run *run, mica__features *f);

/* --- parts --- */

typedef enum mica__holdout { MICA__HOLDOUT_RANDOM, MICA__HOLDOUT_TIME, MICA__HOLDOUT_LAST } mica__holdout;

/* Gives each interaction its part: shares `test` and `validation` of all; of LAST the last item of each user, and for
 * a validation above 0 the one before it. */
mica_status mica__interactions_part(mica__interactions *x, mica__holdout how, double test, double validation,
                                    uint64_t seed);
/* Ids anew: those that come `least` times in the training part, in the order of their first appearance; all others
 * become 0 and lose their names. */
mica_status mica__interactions_number(mica__interactions *x, int64_t least);
/* Ids anew: those of the run. */
mica_status mica__interactions_adopt(mica__interactions *x, const mica_run *run);

/* Items of each user, in order of time, equal times in that of the lines: those of id u are items[offsets[u]] to
 * items[offsets[u + 1] - 1]. */
typedef struct mica__histories {
  int64_t *offsets; /* users + 2 */
  int32_t *items;
  float *ratings;
} mica__histories;
/* Makes them from the interactions of parts up to `last` (train, validation, test) with known items. */
mica_status mica__histories_make(const mica__interactions *x, mica_part last, mica__histories *out);
void mica__histories_free(mica__histories *h);
/* The interactions that a dataset of the task was made from; NULL: none. */
const mica__interactions *mica__interactions_of(const mica_dataset *dataset);

/* --- the run --- */

bool mica__recommend_ranks(const mica_run *run);
/* True if what is learned is whether a user takes an item: ratings are 0 and 1. */
bool mica__recommend_clicks(const mica_run *run);
/* The network's sizes, by settings and facts. */
mica__recommender mica__recommend_network(const mica_run *run);
/* The share that validates: of rankings the last item but one of each user for any above 0. */
double mica__recommend_validation(const mica_run *run);
/* What tests look at: "top". */
int64_t mica__recommend_top(const mica_run *run);
/* True for the data of the training, however their path is spelled: they alone are parted. */
bool mica__recommend_owns(const mica_run *run, const char *path);
/* mica__task_row.open. */
mica_status mica__recommend_open(const mica_run *run, const char *path, const mica_dataset_config *config,
                                 mica_dataset **data);
void mica__recommend_step(mica_nn *nn, const mica_batch_values *batch, const void *config, mica_objective *out);
extern const mica_onnx_text mica__recommend_docs[]; /* of what they read and make */
void mica__recommend_exports(mica_nn *nn, const mica_batch_values *batch, const void *config, mica_objective *out);
mica_status mica__recommend_evaluate(mica_run *run, const mica_batch_source *source, mica_metrics *m);
/* Adds "auc" of the source's samples, beside it those of plain orders, and "base_log_loss", that of the share of clicks
 * in training as the answer to all. */
mica_status mica__recommend_evaluate_clicks(mica_run *run, const mica_batch_source *source, mica_metrics *m);
/* Notes "item_bias" and "user_bias": how far the ratings of each, by their ids, are from the mean in the training part,
 * as if there were MICA__BIAS_PRIOR ratings more, which are the mean; of users, what the items' biases leave. */
#define MICA__BIAS_PRIOR 10
mica_status mica__recommend_note_biases(mica_run *run, const mica__interactions *x);
/* The share of pairs of a click and none whose scores stand in this order, equal ones as a half; scores are sorted.
 * NaN where one of the two is missing. */
typedef struct mica__clicked {
  float score, label;
} mica__clicked;
double mica__auc(mica__clicked *list, size_t count);
/* Adds the metrics of popularity and of neighbouring items on the same users. */
mica_status mica__recommend_baselines(mica_run *run, mica_metrics *m);
/* The rows of a layer's table as floats, of a quantised run too. *values is the caller's to free, on failure as
 * well. */
mica_status mica__recommend_table(mica_run *run, const char *table, float **values, mica_shape *shape);
/* The values of pairs, of a run that learns ratings or clicks. */
#define MICA__PAIRS 256
mica_status mica__recommend_values(mica_run *run, const mica__features *f, const mica__interaction *pairs, size_t n,
                                   float *values);
mica_status mica__recommend_predict(mica_run *run, const mica_run_input *input, mica_report *prediction);
mica_status mica__recommend_query(mica_run *run, const mica_run_query *query, mica_report *prediction);
/* Up to `top` (256 at most) items that a user of the training has not had, the best first. */
mica_status mica__recommend_items(mica_run *run, int32_t user, int64_t top, int32_t *items, int64_t *count);
/* Adds the long tail and the items in two dimensions. */
mica_status mica__recommend_report(mica_run *run, mica_report *report);

/* Sums over users of what rankings of `top` items are worth: held-out items that are among them. */
typedef struct mica__ranking {
  double users, hits, gain, recall;
} mica__ranking;
/* Adds a user: the ranked items, and those held out, of which some may be unknown (0). */
void mica__ranking_add(mica__ranking *sums, const int32_t *ranked, int64_t top, const int32_t *held, int64_t count);

#endif
