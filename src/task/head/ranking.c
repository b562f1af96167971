/* The losses for ratings, clicks and choices, and their metrics. */
#include "task/head/ranking.h"
#include "networks/recommender.h"
#include "run/common_fields.h"
#include "run/facts.h"
#include "run/state/evaluation.h"
#include "run/state/networks.h"
#include "run/state/parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- the step --- */

static mica__recommending recommending_of(const mica_run *run) {
  const mica__recommend_settings s = mica__recommend_settings_of(run);
  const mica__recommend_facts facts = mica__recommend_facts_of(run);
  const bool even = s.sampling == MICA__SAMPLING_EVEN;
  mica__recommending r = {.network = mica__recommend_network(run),
                          .clicks = mica__recommend_clicks(run),
                          .mean = facts.rating_mean,
                          .range = facts.rating_range.list,
                          .l2 = s.l2,
                          .taught = run->networks->teacher.run,
                          .top = mica__recommend_top(run)};
  r.negatives = (mica_negative_config){.count = r.network.items,
                                       .first = 1,
                                       .samples = s.negatives,
                                       .popularity = even ? NULL : facts.popularity.list,
                                       .seed = (uint64_t)mica__common_settings_of(run).seed + UINT64_C(0x6e656761)};
  return r;
}

/* Builds the network itself and ignores z, because the losses also read the network's tables of embeddings. */
static void step(mica_nn *nn, const mica_run *run, mica_value z, const mica_batch_values *batch, mica_objective *out) {
  const mica__recommending r = recommending_of(run);
  (void)z;
  if (mica__recommend_ranks(run))
    mica__recommending_choices(nn, &r, batch, out);
  else
    mica__recommending_pairs(nn, &r, batch, out);
}

const mica_onnx_text mica__recommend_docs[] = {
    {"user", "the user: its number in \"users\", counted from 1; 0 stands for users that training had not"},
    {"item", "the item: its number in \"items\", counted from 1; 0 stands for items that training had not"},
    {"history",
     "items that the user had, by their numbers in \"items\", counted from 1 (0: others): the last ones that "
     "there is room for, the oldest first, from the left on; zeros behind them"},
    {"history_length", "how many numbers of history count, from the left"},
    {"numbers", "of each number of \"features\" in their order (number - mean) / deviation, the last two of its four "
                "\"feature_numbers\"; 0 for none"},
    {"categories",
     "of each category of \"features\" in their order where its value is in \"feature_values\", counted from 1; 0 for "
     "none of them"},
    {"sets",
     "of each set of \"features\" where its values are in \"feature_values\", counted from 1, from the left on; a set "
     "has as many numbers as the second of its four \"feature_numbers\" says, zeros behind"},
    {"set_lengths", "how many numbers of each set count, from the left"},
    {"value", "the rating, within \"rating_range\"; of clicks the probability of one"},
    {"scores", "of each item, the k-th of \"items\" at index k, counted from 1 (index 0: others); higher is better"},
    {0}};

/* Exports the network. For ratings and clicks, the exported model predicts the value of a pair of user and item; for
 * rankings, it gives the scores of all items. */
void mica__recommend_exports(mica_nn *nn, const mica_batch_values *batch, const void *config, mica_objective *out) {
  const mica_run *run = config;
  const mica__recommending r = recommending_of(run);
  if (!mica__recommend_ranks(run)) {
    mica__recommending_pairs(nn, &r, batch, out);
    return;
  }
  out->outputs[0] = mica__recommending_scores(nn, &r, batch);
  out->output_names[0] = "scores";
}

static mica_status evaluate(mica_run *run, const mica_batch_source *source, mica_metrics *m) {
  double squares = 0;
  if (mica__recommend_clicks(run)) return mica__recommend_evaluate_clicks(run, source, m);
  if (!mica__recommend_ranks(run)) {
    MICA_TRY(mica_trainer_sum(run->trainer, "squares", &squares, 1));
    return mica_metrics_add(m, "rmse", sqrt(squares / (double)m->samples));
  }
  const size_t items = (size_t)mica__recommend_network(run).items;
  double *counts = calloc(items, sizeof *counts), covered = 0;
  mica_status status = counts ? MICA_OK : mica__fail_nomem("a test");
  if (status == MICA_OK) status = mica_trainer_sum(run->trainer, "recommended", counts, items);
  for (size_t i = 1; status == MICA_OK && i < items; i++) covered += counts[i] > 0;
  free(counts);
  MICA_TRY(status);
  MICA_TRY(mica_metrics_add(m, "coverage", covered / (double)(items - 1)));
  return run->evaluation->data ? mica__recommend_baselines(run, m) : MICA_OK;
}

/* --- the head --- */

/* Training data have one of these columns: "label" for ratings and clicks, "tokens" for rankings learned from windows
 * of histories, "item" for rankings learned from single choices. */
static const mica_column *label_of(const mica_dataset *data) {
  static const char *const names[] = {"label", "tokens", "item"};
  const size_t columns = mica_dataset_column_count(data);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (mica_dataset_column_index(data, names[i]) < columns)
      return mica_dataset_column(data, mica_dataset_column_index(data, names[i]));
  return NULL;
}

static bool suits(const mica_column *label) { return label != NULL; }

static mica_status prepare(mica_run *run, const mica_column *label) {
  (void)label;
  return mica__recommend_clicks(run) ? mica__recommend_note_biases(run, mica__interactions_of(run->parts->whole))
                                     : MICA_OK;
}

static int64_t outputs(const mica_run *run) {
  return mica__recommend_ranks(run) ? mica__recommend_network(run).items : 1;
}

/* Sets the metric that decides which epoch is the best, and whether an optimizer step updates only those rows of the
 * tables that the batch has read. */
static void configures(const mica_run *run, mica_trainer_config *c) {
  const bool alone = !run->config.communicator || run->config.communicator->ranks == 1;
  /* A student of a ranking teacher scores all items, so every row of the tables has a gradient. */
  const bool taught = *mica__common_settings_of(run).teacher && mica__recommend_ranks(run);
  const bool by_rows = alone && !taught && !mica__recommend_settings_of(run).whole_tables &&
                       c->optimizer.accumulate <= 1 && c->optimizer.ema == 0;
  c->watch = mica__recommend_ranks(run) ? "ndcg" : mica__recommend_clicks(run) ? "auc" : "rmse";
  c->falling = !strcmp(c->watch, "rmse");
  if (by_rows) c->optimizer.rows = "*.weight";
}

const mica__head mica__head_ranking = {
    .name = "ranking",
    .label = label_of,
    .suits = suits,
    .prepare = prepare,
    .output = "value",
    .outputs = outputs,
    .configures = configures,
    .step = step,
    .evaluate = evaluate,
    .shows = {.predict = mica__recommend_predict, .report = mica__recommend_report},
};
