/* Several labels per sample: the loss, the metrics of a test, and the labels in predictions and reports. */
#include "task/head/labels.h"
#include "data/dataset.h"
#include "data/table/table.h"
#include "run/columns/classes.h"
#include "run/columns/columns.h"
#include "run/columns/constants.h"
#include "run/common_facts.h"
#include "run/facts.h"
#include "run/fields.h"
#include "run/predict/label_scores.h"
#include "run/run.h"
#include "run/state/evaluation.h"
#include "run/state/parts.h"

#include "base/arith.h"

#include <math.h>
#include <mica/loss.h>
#include <mica/metric.h>
#include <mica/nodes.h>
#include <stdlib.h>
#include <string.h>

MICA__FACTS(labels, LABELS_FACTS, 0);

static mica__fact_texts labels_of(const mica_run *run) { return facts_of(run).classes; }

static size_t count_of(const mica_run *run) { return labels_of(run).count; }

/* --- tests --- */

/* Adds map, f1, precision and recall: means over the labels that occur in the samples, or NaN if none does. */
static mica_status add_means(const double *scores, size_t labels, mica_metrics *m) {
  static const struct {
    const char *name;
    size_t score;
  } means[] = {{"map", MICA__LABEL_AP},
               {"f1", MICA__LABEL_F1},
               {"precision", MICA__LABEL_PRECISION},
               {"recall", MICA__LABEL_RECALL}};
  for (size_t i = 0; i < sizeof means / sizeof *means; i++) {
    double sum = 0, there = 0;
    for (size_t k = 0; k < labels; k++)
      if (scores[k * MICA__LABEL_SCORES + MICA__LABEL_SAMPLES] > 0)
        sum += scores[k * MICA__LABEL_SCORES + means[i].score], there++;
    MICA_TRY(mica_metrics_add(m, means[i].name, there > 0 ? sum / there : (double)NAN));
  }
  return MICA_OK;
}

/* Adds map, f1, precision and recall, and keeps the values of each label for the report. */
static mica_status evaluate(mica_run *run, const mica_batch_source *source, mica_metrics *m) {
  const size_t labels = count_of(run);
  double *scores = calloc(labels + 1, MICA__LABEL_SCORES * sizeof *scores);
  mica_status status = scores ? mica__label_scores(run, source, labels, MICA__LABEL_THRESHOLD, scores)
                              : mica__fail_nomem("scores of labels");
  if (status == MICA_OK) status = add_means(scores, labels, m);
  free(run->evaluation->label_scores);
  run->evaluation->label_scores = scores;
  return status;
}

static mica_status report(mica_run *run, mica_report *r) {
  static const char *const columns[MICA__LABEL_SCORES] = {"samples", "precision", "recall", "f1", "ap"};
  const mica_item table = {.kind = MICA_ITEM_KIND_TABLE,
                           .name = "labels",
                           .rows = count_of(run),
                           .columns = MICA__LABEL_SCORES,
                           .row_names = labels_of(run).list,
                           .column_names = columns,
                           .numbers = run->evaluation->label_scores};
  if (!run->evaluation->label_scores) return MICA_OK;
  MICA_TRY(mica_report_begin(r, "Labels"));
  return mica_report_add(r, &table);
}

/* --- predictions --- */

/* Adds three numbers per label of a sample: its probability, whether it is predicted, and whether it is true (NaN if
 * unknown). */
static mica_status add_labels(const mica_run *run, mica_report *report, const float *shares, const double *truths,
                              double threshold) {
  const size_t labels = count_of(run);
  const double least = mica__or_default(threshold, MICA__LABEL_THRESHOLD);
  double *numbers = calloc(3 * labels + 1, sizeof *numbers);
  if (!numbers) return mica__fail_nomem("predictions");
  for (size_t k = 0; k < labels; k++) {
    numbers[3 * k] = (double)shares[k];
    numbers[3 * k + 1] = (double)shares[k] > least;
    numbers[3 * k + 2] = truths[k];
  }
  const mica_item item = {.kind = MICA_ITEM_KIND_LABELS,
                          .name = "labels",
                          .rows = labels,
                          .columns = 3,
                          .row_names = labels_of(run).list,
                          .numbers = numbers};
  mica_status status = mica_report_add(report, &item);
  free(numbers);
  return status;
}

/* --- the head --- */

static bool suits(const mica_column *label) { return label->kind == MICA_COLUMN_KIND_CLASSES; }

/* Fails because a column of numbers is not a label. If the column is from a table and has a number that is neither 0
 * nor 1, the message names the first of these. */
static mica_status fail_numbers(const mica_run *run) {
  const mica__schema *schema = run->parts->whole->store->schema;
  for (size_t i = 0; schema && i < schema->count; i++) {
    const mica__field *field = &schema->fields[i];
    if (field->label && schema->answers && field->no_flag_line)
      return mica__fail(MICA_E_FORMAT,
                        "%s line %zu: column \"%s\" holds %s; the task %s needs columns of 0 and 1 as labels",
                        run->data, field->no_flag_line, field->name, field->no_flag, run->task->name);
  }
  return mica__fail(MICA_E_FORMAT,
                    "%s: the task %s needs columns of 0 and 1 as labels; name them with --label, as in --label "
                    "urgent,billing",
                    run->data, run->task->name);
}

static mica_status prepare(mica_run *run, const mica_column *label) {
  const double one = 1;
  if (!suits(label)) return fail_numbers(run);
  MICA_TRY(mica__run_remark_constants(run, label));
  MICA_TRY(mica__run_note_numbers(run, "several", &one, 1));
  return mica__run_note_classes(run, label);
}

/* Data without labels fit. Data with labels must have one for each class of the run. */
static mica_status fits(const mica_run *run, const mica_dataset *data, const mica_column *label) {
  const long long wants = (long long)count_of(run);
  if (!label || (suits(label) && label->classes == wants)) return MICA_OK;
  const long long has = suits(label) ? label->classes : 1;
  if (has == wants)
    return mica__fail(
        MICA_E_FORMAT,
        "%s has no labels of 0 and 1, but the network was trained on %lld per sample: labels must have the "
        "shape (%lld, %lld)",
        mica_dataset_name(data), wants, (long long)mica_dataset_count(data), wants);
  return mica__fail(
      MICA_E_FORMAT,
      "%s has %lld label%s per sample, but the network was trained on %lld, each 0 or 1: labels must have "
      "the shape (%lld, %lld)",
      mica_dataset_name(data), has, has == 1 ? "" : "s", wants, (long long)mica_dataset_count(data), wants);
}

static int64_t outputs(const mica_run *run) { return (int64_t)count_of(run); }

static void exports(const mica_run *run, mica_value z, mica_objective *out) {
  (void)run;
  out->outputs[0] = mica_sigmoid(z), out->output_names[0] = "shares";
}

static void step(mica_nn *nn, const mica_run *run, mica_value z, const mica_batch_values *batch, mica_objective *out) {
  const char *label = mica__common_facts_of(run).label_column;
  mica_value y = mica_batch_has(batch, label) ? mica_batch_value(batch, label) : (mica_value){0};
  out->answers[0] = (mica_answer){.kind = MICA_ANSWER_KIND_LABELS, .value = z};
  if (!mica_nn_is_training(nn)) exports(run, z, out);
  if (!y.graph || !z.graph) return;
  mica_value said = mica_cast(mica_greater(z, mica_full_like(z, 0)), MICA_F32);
  out->loss = mica_bce_with_logits(z, y, 1, MICA_LOSS_REDUCTION_MEAN);
  out->metrics[0] = mica_metric_mean("accuracy", mica_cast(mica_equal(said, y), MICA_F32));
}

#define USUAL_TOP 3

static mica_status section(mica_run *run, mica_report *report, const mica__sample *sample, const float *shares,
                           const mica_run_input *given) {
  MICA_TRY(mica__run_add_choices(run, report, shares, given->top > 0 ? given->top : USUAL_TOP));
  MICA_TRY(add_labels(run, report, shares, sample->truths, given->threshold));
  return mica__sample_add_picture(run, report, sample, "picture",
                                  labels_of(run).list[mica__likeliest(shares, outputs(run), 0)]);
}

const mica__head mica__head_labels = {
    .name = "labels",
    .suits = suits,
    .prepare = prepare,
    .fits = fits,
    .output = "shares",
    .outputs = outputs,
    .step = step,
    .exports = exports,
    .evaluate = evaluate,
    .shows.section = section,
    .shows.report = report,
};
