/* recommend: how users rate items, whether they click on them, or which items they choose next, from tables of
 * interactions. An id is the row of a user or an item in a table of embeddings. Unless something prevents it
 * (task/head/ranking.c), an optimizer step updates only the rows that its batch has read. */
#include "run/columns/columns.h"
#include "run/common_fields.h"
#include "run/common_values.h"
#include "run/composed.h"
#include "run/fact_fields.h"
#include "run/facts.h"
#include "run/record.h"
#include "run/setting_fields.h"
#include "run/settings.h"
#include "run/state/parts.h"
#include "run/verbs/distil.h"
#include "task/head/ranking.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static MICA__SETTINGS_TABLE(recommend, RECOMMEND_SETTINGS);

static const mica_task_metric rating_metrics[] = {
    {"rmse", true, "root of the mean squared error, in the units of the answers", false},
    {"mae", true, "mean absolute error, in the units of the answers", false},
    {"ndcg", false, "rank of a user's next items among the recommendations; 1 is best", false},
    {"hit_rate", false, "share of users who find a next item among the recommendations", false},
    {"recall", false, "share of a user's next items that are among the first recommendations", false},
    {"coverage", false, "share of all items that are recommended to someone", false},
    {"auc", false, "probability that a right pair or click scores higher than a wrong one", false},
    {"log_loss", true, "mean negative logarithm of the true answer's probability", false},
    {0}};

/* --- defaults --- */

/* Defaults measured on MovieLens with 100,000 ratings (2026-11-25). The defaults of dlrm and for clicks are common
 * values, since no data with features or clicks were available. */
typedef struct usual {
  const char *model, *objective, *epochs, *batch, *lr, *width, *dropout, *negatives, *l2;
} usual;
static const usual usuals[] = {
    {"mf", "rating", "12", "256", "0.005", "32", "0", "1", "0.1"},
    {"neumf", "rating", "10", "256", "0.002", "16", "0.2", "1", "0.02"},
    {"dlrm", "rating", "10", "256", "0.003", "16", "0.1", "1", "0.05"},
    {"dlrm", "click", "3", "256", "0.002", "16", "0", "1", "0.001"},
    {"mf", "click", "5", "256", "0.003", "16", "0", "1", "0.01"},
    {"neumf", "click", "5", "256", "0.002", "16", "0.2", "1", "0.001"},
    {"mf", "ranking", "20", "256", "0.003", "64", "0", "1", "0.01"},
    {"neumf", "ranking", "10", "256", "0.002", "32", "0.2", "4", "0"},
    {"towers", "ranking", "15", "256", "0.002", "64", "0.2", "512", "0"},
    {"sasrec", "ranking", "20", "64", "0.003", "64", "0.2", "256", "0"},
};

/* The defaults of all models. Help lists the settings with "" as chosen automatically. */
static const mica_setting defaults[] = {{"model", ""},
                                        {"validation", ""},
                                        {"epochs", ""},
                                        {"batch", ""},
                                        {"lr", ""},
                                        {"optimizer", "adam"},
                                        {"schedule", "one_cycle"},
                                        {"weight-decay", "0"},
                                        {0}};

static mica_status set_defaults(mica_run *run) {
  const char *model = mica__recommend_network(run).name;
  const usual *u = usuals, *end = usuals + sizeof usuals / sizeof *usuals;
  const char *objective = mica__recommend_objective_at((size_t)mica__recommend_settings_of(run).objective);
  while (u < end && (strcmp(u->objective, objective) != 0 || strcmp(u->model, model) != 0)) u++;
  if (u == end)
    return mica__fail(MICA_E_INVALID, "the task recommend with the objective %s trains %s, not %s", objective,
                      mica__recommend_ranks(run)    ? "sasrec, towers, neumf or mf"
                      : mica__recommend_clicks(run) ? "dlrm, mf or neumf"
                                                    : "mf, neumf or dlrm",
                      model);
  const mica_setting values[] = {
      {"model", model},
      /* The setting is recorded, so that a resumed run splits its data in the same way. */
      {"validation", !strcmp(objective, "rating") ? "0" : ""},
      {"epochs", u->epochs},
      {"batch", u->batch},
      {"lr", mica__common_is_set(run, MICA__SETTING_optimizer) ? "" : u->lr},
      {"width", u->width},
      {"dropout", u->dropout},
      {"negatives", u->negatives},
      {"l2", u->l2},
      {NULL, NULL},
  };
  MICA_TRY(mica__run_set_unset(run, values));
  return mica__run_set_defaults(run);
}

static mica_status check_share(const mica_run *run) {
  const double share = mica__recommend_facts_of(run).rating_mean;
  if (!mica__recommend_clicks(run) || (share > 0 && share < 1)) return MICA_OK;
  return mica__fail(MICA_E_FORMAT, "%s: every sample for training is %s; training needs both kinds", run->data,
                    share > 0 ? "a click" : "not a click");
}

static mica_status check(const mica_run *run) {
  const mica__recommend_settings settings = mica__recommend_settings_of(run);
  const size_t items = mica__recommend_facts_of(run).items.count;
  if (!strcmp(mica__common_settings_of(run).model, "sasrec"))
    MICA_TRY(mica__task_share_width(settings.width, settings.heads, false));
  if (items < 2)
    return mica__fail(MICA_E_FORMAT, "%s: the number of items is %zu, but must be at least 2", run->data, items);
  if ((int64_t)items < settings.top)
    return mica__fail(MICA_E_INVALID, "top is %lld, but there are only %zu items", (long long)settings.top, items);
  return check_share(run);
}

/* Checks that each id means the same user or item to the teacher. Ids are numbered in the order of the training part,
 * and another seed can put other samples into that part. */
static mica_status check_ids(const mica_run *run, const mica_run *teacher) {
  const int64_t own = mica__common_settings_of(run).seed, other = mica__common_settings_of(teacher).seed;
  mica_status status = mica__distil_check_texts(run, "users", "user", "users");
  if (status == MICA_OK) status = mica__distil_check_texts(run, "items", "item", "items");
  if (status == MICA_OK || own == other) return status;
  return mica__fail(
      status,
      "the teacher in %s was trained with seed %lld, the run with %lld; the seed decides how users and items are "
      "numbered; set --seed %lld",
      teacher->folder, (long long)other, (long long)own, (long long)other);
}

/* Checks that the teacher can read the run's batches: their columns, and the numbers for users, items and features. */
static mica_status teaches(const mica_run *run, const mica_run *teacher) {
  const mica__recommender own = mica__recommend_network(run), other = mica__recommend_network(teacher);
  const int64_t sees = mica__recommender_context(&other), given = mica__recommender_context(&own);
  const bool ranks = mica__recommend_ranks(run);
  MICA_TRY(check_ids(run, teacher));
  if (ranks && mica__recommender_is_sequential(&own) != mica__recommender_is_sequential(&other))
    return mica__fail(MICA_E_UNSUPPORTED,
                      "the network %s cannot teach %s: only one of them learns from windows of items", other.name,
                      own.name);
  if (ranks && sees && sees != given)
    return mica__fail(MICA_E_FORMAT, "the teacher in %s sees the last %lld items, but the run sees %lld",
                      teacher->folder, (long long)sees, (long long)given);
  if (!mica__recommender_has_features(&other)) return MICA_OK;
  if (!mica__recommender_has_features(&own))
    return mica__fail(MICA_E_UNSUPPORTED, "the network %s cannot teach %s, which reads no features", other.name,
                      own.name);
  MICA_TRY(mica__distil_check_texts(run, "features", "feature", "features"));
  MICA_TRY(mica__distil_check_texts(run, "feature_values", "value", "values"));
  return mica__distil_check_numbers(run, "feature_numbers");
}

static mica_status begin(mica_run *run) { return mica__ranker_begin(run->engine, run->trainer); }

static mica_status prepare(mica_run *run) {
  if (run->parts->whole && !mica__interactions_of(run->parts->whole))
    return mica__fail(MICA_E_UNSUPPORTED,
                      "the task recommend reads tables of interactions from files, not datasets that a program made");
  if (run->parts->whole) MICA_TRY(set_defaults(run));
  MICA_TRY(mica__composed_prepare(run));
  return run->parts->whole ? check(run) : MICA_OK;
}

static bool is_count(double number, double most) { return number >= 0 && number <= most && number == floor(number); }

/* feature_numbers holds four numbers for each feature: how many values it has, the most that a cell holds, mean and
 * deviation. */
static mica_status check_feature_numbers(const mica_run *run) {
  const mica__fact_numbers numbers = mica__recommend_facts_of(run).feature_numbers;
  for (size_t k = 0; k + 4 <= numbers.count; k += 4)
    for (size_t i = 0; i < 2; i++)
      if (!is_count(numbers.list[k + i], i ? 1 << 8 : 1 << 24))
        return mica__fail(MICA_E_FORMAT, "\"feature_numbers\"[%zu] is %g, but must be a whole number from 0 to %d",
                          k + i, numbers.list[k + i], i ? 1 << 8 : 1 << 24);
  return MICA_OK;
}

static MICA__FACTS_TABLE(recommend, RECOMMEND_FACTS, 0);

const mica__task_row mica__task_recommend = {
    .name = "recommend",
    .text = "ratings of items by users, or the items that they choose next",
    MICA__COMPOSED_PREPARED(interactions, ranking),
    .metrics = rating_metrics,
    .facts = &mica__recommend_fact_list,
    .checks = check_feature_numbers,
    .settings = &mica__recommend_setting_list,
    .defaults = defaults,
    .open = mica__recommend_open,
    .prepare = prepare,
    .begin = begin,
    .answer_columns = (const char *const[]){"label", "held", NULL},
    .exports = mica__recommend_exports,
    .export_docs = mica__recommend_docs,
    .teaches = teaches,
    .verbs.recommend = mica__recommend_query,
};
