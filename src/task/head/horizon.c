/* Forecasts the next values of series. The metrics are the RMSE, the mean absolute error (mae) and the scaled one
 * (mase). Tests also give mae and mase of two naive forecasts: the last value repeated, and the last season
 * repeated. */
#include "task/head/horizon.h"
#include "run/fields.h"
#include "run/run.h"

#include <math.h>
#include <mica/nodes.h>
#include <stdlib.h>
#include <string.h>

#define OUTPUT "forecast"

MICA__FACTS(horizon, HORIZON_FACTS, 0);

static const mica_column *label_of(const mica_dataset *data) {
  return mica_dataset_column(data, mica_dataset_column_index(data, "target"));
}

static bool suits(const mica_column *label) { return label->kind == MICA_COLUMN_KIND_NUMBER && label->shape.rank == 2; }

static int64_t targets_of(const mica__horizon_facts *facts) { return facts->targets > 0 ? (int64_t)facts->targets : 1; }

static int64_t outputs(const mica_run *run) {
  const mica__horizon_facts facts = facts_of(run);
  return (int64_t)facts.horizon * targets_of(&facts);
}

/* --- the step --- */

/* One factor per target, which converts an error to the user's units: the target's scale. For `mase` the factor is also
 * divided by the mean absolute change of the target over a season. */
static mica_value factors(const mica__horizon_facts *facts, mica_graph *graph, bool mase) {
  const int64_t targets = targets_of(facts);
  float *numbers = malloc((size_t)targets * sizeof *numbers);
  if (!numbers) return mica_graph_fail(graph, MICA_E_NOMEM, "out of memory for the scales of series");
  for (int64_t k = 0; k < targets; k++)
    numbers[k] = (float)(mase ? facts->scale.list[k] / facts->mase_scale.list[k] : facts->scale.list[k]);
  mica_value value = mica_constant(graph, MICA_F32, MICA_SHAPE(targets), numbers);
  free(numbers);
  return value;
}

static mica_value total(mica_value x) { return mica_sum(x, MICA_ALL_AXES, false); }

/* Adds the errors of the network and, in tests, of repeating the last value (a change of 0) and of repeating the
 * last season. */
static void add_metrics(const mica_run *run, mica_value z, mica_value y, mica_value season, mica_value known,
                        bool training, mica_objective *out) {
  static const char *const names[2][3] = {{"mase", "mase_last", "mase_season"}, {"mae", "mae_last", "mae_season"}};
  const mica__horizon_facts facts = facts_of(run);
  const mica_value weight = total(known);
  size_t count = 0;
  for (int unit = 0; unit < 2; unit++) {
    const mica_value factor = mica_mul(known, factors(&facts, z.graph, unit == 0));
    for (int k = 0; k < (training ? 1 : 3); k++) {
      const mica_value error = k == 0 ? mica_sub(z, y) : k == 1 ? y : mica_sub(season, y);
      out->metrics[count++] =
          (mica_metric){.name = names[unit][k], .sum = total(mica_mul(mica_abs(error), factor)), .weight = weight};
    }
  }
  if (training) return;
  const mica_value error = mica_mul(mica_mul(mica_sub(z, y), factors(&facts, z.graph, false)), known);
  const mica_value sums[] = {mica_reshape(total(mica_square(error)), MICA_SHAPE(1)),
                             mica_reshape(weight, MICA_SHAPE(1))};
  out->metrics[count] = (mica_metric){.name = "squares", .sum = mica_concat(sums, 2, 0)};
}

/* Reshapes the network's output to (N, horizon, targets): changes since the last value, in units of each series'
 * scale. */
static mica_value steps(const mica_run *run, mica_value z) {
  const mica__horizon_facts facts = facts_of(run);
  return mica_reshape(z, MICA_SHAPE(MICA_DYNAMIC, (int64_t)facts.horizon, targets_of(&facts)));
}

static void step(mica_nn *nn, const mica_run *run, mica_value z, const mica_batch_values *batch, mica_objective *out) {
  const bool training = mica_nn_is_training(nn);
  z = steps(run, z);
  if (!training) out->outputs[0] = z, out->output_names[0] = OUTPUT;
  out->answers[0] = (mica_answer){.kind = MICA_ANSWER_KIND_NUMBERS, .value = z};
  if (!mica_batch_has(batch, "target") || !z.graph) return;
  mica_value y = mica_batch_value(batch, "target"), known = mica_batch_value(batch, "known");
  mica_value weight = total(known), errors = total(mica_mul(mica_abs(mica_sub(z, y)), known));
  /* If a batch has no known answer, its loss is 0. */
  out->loss = mica_div(errors, mica_maximum(weight, mica_full_like(weight, 1e-6)));
  out->weight = weight;
  add_metrics(run, z, y, training ? y : mica_batch_value(batch, "season"), known, training, out);
}

static void exports(const mica_run *run, mica_value z, mica_objective *out) {
  out->outputs[0] = steps(run, z);
  out->output_names[0] = OUTPUT;
}

static mica_status evaluate(mica_run *run, const mica_batch_source *source, mica_metrics *m) {
  double sums[2];
  (void)source;
  MICA_TRY(mica_trainer_sum(run->trainer, "squares", sums, 2));
  return mica_metrics_add(m, "rmse", sums[1] > 0 ? sqrt(sums[0] / sums[1]) : (double)NAN);
}

const mica__head mica__head_horizon = {
    .name = "horizon",
    .label = label_of,
    .suits = suits,
    .output = OUTPUT,
    .outputs = outputs,
    .step = step,
    .exports = exports,
    .evaluate = evaluate,
    .shows.section = mica__horizon_section,
    .shows.report = mica__horizon_report,
};
