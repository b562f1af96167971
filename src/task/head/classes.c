/* One class per sample: losses, accuracy, confusion, the most likely classes of a sample, mistakes. */
#include "task/head/classes.h"
#include "base/text.h"
#include "run/columns/categories.h"
#include "run/columns/classes.h"
#include "run/columns/columns.h"
#include "run/common_facts.h"
#include "run/facts.h"
#include "run/fields.h"
#include "run/run.h"
#include "run/state/evaluation.h"
#include "run/state/parts.h"

#include <math.h>
#include <mica/loss.h>
#include <mica/nodes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CROSS_ENTROPY, FOCAL };

const char *mica__class_loss_at(size_t i) {
  static const char *const names[] = {"cross_entropy", "focal", NULL};
  return names[i];
}

/* Tasks without the setting "loss" use cross entropy. */
#define HEAD_SETTINGS(X, S) CLASS_LOSS_SETTINGS(X, S) MICA__SMOOTHING_SETTINGS(X, S, "0")
MICA__SETTINGS_STRUCT(classes, HEAD_SETTINGS);
MICA__SETTINGS(classes, HEAD_SETTINGS);
MICA__FACTS(classes, CLASSES_FACTS, 0);

static int64_t count_of(const mica_run *run) { return (int64_t)facts_of(run).classes.count; }

static bool suits(const mica_column *label) { return label->kind == MICA_COLUMN_KIND_CLASS && label->shape.rank == 0; }

/* --- preparation --- */

static mica_status count_classes(mica_run *run, double *counts, int64_t classes) {
  const mica_dataset *data = run->parts->at[MICA_PART_TRAIN].data;
  for (uint64_t i = 0; i < mica_dataset_count(data); i++) {
    const int32_t label = mica_dataset_label(data, i);
    if (label >= 0 && label < classes) counts[label]++;
  }
  return MICA_OK;
}

static mica_status fail_kind(const mica_run *run, const mica_column *label) {
  char shape[MICA_SHAPE_TEXT];
  const char *kind = mica_column_kind_name(label->kind), *name = mica__run_answer_name(run, label), *other = NULL;
  const bool listed = label->shape.rank == 1 && label->shape.dim[0] > 0;
  if (label->kind == MICA_COLUMN_KIND_MASK) other = "segment";
  if (label->kind == MICA_COLUMN_KIND_NUMBER && (label->shape.rank == 0 || listed)) other = "regress";
  if (other)
    return mica__fail(MICA_E_FORMAT,
                      "%s: the column '%s' has values of kind %s, not a class for each sample; --task %s learns those",
                      run->data, name, kind, other);
  return mica__fail(MICA_E_FORMAT,
                    "%s: the column '%s' has values of kind %s and shape %s, not a class for each sample", run->data,
                    name, kind, mica_shape_format(label->shape, shape));
}

static mica_status prepare(mica_run *run, const mica_column *label) {
  if (!suits(label) && label->kind == MICA_COLUMN_KIND_CLASS)
    return mica__fail(
        MICA_E_FORMAT,
        "%s: the column '%s' holds several classes per sample, not one; --task detect learns classes of boxes",
        run->data, mica__run_answer_name(run, label));
  if (!suits(label)) return fail_kind(run, label);
  MICA_TRY(mica__run_note_classes(run, label));
  return mica__run_note_weights(run, label->classes, count_classes);
}

static mica_status fits(const mica_run *run, const mica_dataset *data, const mica_column *label) {
  const char *name = mica__common_facts_of(run).label_name;
  int32_t *map = NULL;
  if (label && !suits(label))
    return mica__fail(MICA_E_FORMAT, "%s has no class for each sample in the column '%s'", mica_dataset_name(data),
                      *name ? name : mica__common_facts_of(run).label_column);
  mica_status status = mica__run_map_classes(run, data, &map);
  free(map);
  return status;
}

/* --- the step --- */

static void exports(const mica_run *run, mica_value z, mica_objective *out) {
  (void)run;
  out->outputs[0] = mica_softmax(z, 1), out->output_names[0] = "shares";
}

static mica_value loss_of(const mica_run *run, mica_value z, mica_value y, mica_value weights, bool training) {
  const mica__classes_settings s = settings_of(run);
  const double smoothing = training ? s.label_smoothing : 0;
  if (s.loss == FOCAL)
    return mica_focal(z, y,
                      &(mica_focal_config){.gamma = s.gamma > 0 ? s.gamma : MICA_ZERO,
                                           .label_smoothing = smoothing,
                                           .weights = weights});
  return mica_cross_entropy(z, y, &(mica_cross_entropy_config){.label_smoothing = smoothing, .weights = weights});
}

static void step(mica_nn *nn, const mica_run *run, mica_value z, const mica_batch_values *batch, mica_objective *out) {
  const char *label = mica__common_facts_of(run).label_column;
  const bool training = mica_nn_is_training(nn);
  const int64_t classes = count_of(run);
  size_t k = 1;
  if (!training) exports(run, z, out);
  out->answers[0] = (mica_answer){.kind = MICA_ANSWER_KIND_CLASSES, .value = z};
  if (!mica_batch_has(batch, label) || !z.graph) return;
  mica_value y = mica_batch_value(batch, label), weights = mica__run_class_weights(run, z.graph);
  const bool mixed = mica_value_dtype(y) == MICA_F32;
  out->loss = loss_of(run, z, y, weights, training);
  if (weights.graph && !mixed) out->weight = mica_sum(mica_gather(weights, y, 0), MICA_ALL_AXES, false);
  out->metrics[0] = mica_metric_mean("accuracy", mica_hits(z, y));
  if (training) return;
  if (classes > 5 && mica__task_measures(run, "top_5"))
    out->metrics[k++] = mica_metric_mean("top_5", mica_top_k_hits(z, y, 5));
  if (classes <= MOST_CONFUSED) out->metrics[k] = (mica_metric){.name = "confusion", .sum = mica_confusion(z, y)};
}

/* --- metrics --- */

/* If there are at most this many classes, the F1 of each class can be a metric of its own. */
#define NAMED_CLASSES 20

/* Adds the mean F1. If f1 is the task's first metric (training keeps the weights that are best by it), adds the F1 of
 * each class too, unless there are more than NAMED_CLASSES. If f1 is not the first metric, adds mean precision and mean
 * recall. */
static mica_status add_scores(const mica_run *run, const mica_class_scores *mean, const mica_class_scores *scores,
                              mica_metrics *m) {
  const mica__fact_texts classes = facts_of(run).classes;
  MICA_TRY(mica_metrics_add(m, "f1", mean->f1));
  if (strcmp(run->task->metrics[0].name, "f1") != 0) {
    MICA_TRY(mica_metrics_add(m, "precision", mean->precision));
    return mica_metrics_add(m, "recall", mean->recall);
  }
  for (size_t c = 0; classes.count <= NAMED_CLASSES && c < classes.count; c++) {
    char name[sizeof m->values[0].name];
    snprintf(name, sizeof name, "f1_%.*s", (int)sizeof name - 4, classes.list[c]);
    MICA_TRY(mica_metrics_add(m, name, scores[c].f1));
  }
  return MICA_OK;
}

static mica_status evaluate(mica_run *run, const mica_batch_source *source, mica_metrics *m) {
  const int64_t classes = count_of(run);
  int64_t *confusion = NULL;
  mica_class_scores mean;
  (void)source;
  if (classes > MOST_CONFUSED || !mica__task_measures(run, "f1")) return MICA_OK;
  mica_class_scores *scores = calloc((size_t)classes + 1, sizeof *scores);
  mica_status status = scores ? mica__run_read_confusion(run, &confusion) : mica__fail_nomem("scores");
  if (status == MICA_OK) {
    mica_confusion_scores(confusion, classes, scores, &mean, NULL);
    status = add_scores(run, &mean, scores, m);
  }
  free(confusion);
  free(scores);
  return status;
}

/* --- predictions --- */

#define USUAL_TOP 3

static mica_status section(mica_run *run, mica_report *report, const mica__sample *sample, const float *shares,
                           const mica_run_input *given) {
  const mica__fact_texts classes = facts_of(run).classes;
  const double truth = sample->truths[0];
  if (!isnan(truth)) MICA_TRY(mica_report_add_text(report, "truth", classes.list[(size_t)truth]));
  MICA_TRY(mica__run_add_choices(run, report, shares, given->top > 0 ? given->top : USUAL_TOP));
  return mica__sample_add_picture(run, report, sample, "picture",
                                  classes.list[mica__likeliest(shares, count_of(run), 0)]);
}

/* --- the report --- */

typedef struct mistakes {
  mica__mistake list[MICA__MISTAKES];
  size_t count;
  uint64_t at; /* index of the next sample to visit */
} mistakes;

static mica_status find_mistake(mica_run *run, const mica__sample *sample, const float *shares, void *user) {
  mistakes *m = user;
  const int64_t guess = mica__likeliest(shares, count_of(run), 0);
  const uint64_t at = m->at++;
  const double truth = sample->truths[0];
  if (!isnan(truth) && (int64_t)truth != guess)
    mica__mistake_add(m->list, &m->count, (mica__mistake){at, guess, (int64_t)truth, shares[guess]});
  return MICA_OK;
}

static mica_status add_mistake(mica_run *run, const mica__mistake *m, mica_report *report) {
  const mica__fact_texts classes = facts_of(run).classes;
  mica__text caption = {0};
  mica__text_addf(&caption, "%s, taken for %s (%.1f %%)", classes.list[m->truth], classes.list[m->guess],
                  100 * (double)m->share);
  mica_status status = mica__text_status(&caption);
  if (status == MICA_OK)
    status = run->task->input->samples.show(run, report, run->evaluation->data, m->sample, caption.data);
  mica__text_free(&caption);
  return status;
}

static mica_status report(mica_run *run, mica_report *r) {
  const mica__input *input = run->task->input;
  mistakes m = {.count = 0};
  if (count_of(run) > MOST_CONFUSED) return MICA_OK;
  MICA_TRY(mica__run_report_classes(run, "Classes", r));
  if (!input->samples.show) return MICA_OK;
  MICA_TRY(input->samples.look(run, run->evaluation->data, find_mistake, &m));
  if (m.count) MICA_TRY(mica_report_begin(r, "Wrong with the most confidence"));
  for (size_t i = 0; i < m.count; i++) MICA_TRY(add_mistake(run, &m.list[i], r));
  return MICA_OK;
}

const mica__head mica__head_classes = {
    .name = "classes",
    .suits = suits,
    .prepare = prepare,
    .fits = fits,
    .output = "shares",
    .outputs = count_of,
    .step = step,
    .exports = exports,
    .evaluate = evaluate,
    .shows.section = section,
    .shows.report = report,
};
