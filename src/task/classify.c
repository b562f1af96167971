/* classify: which class a sample belongs to, or which of several. */
#include "run/columns/categories.h"
#include "run/columns/classes.h"
#include "run/columns/columns.h"
#include "run/common_settings.h"
#include "run/fact_fields.h"
#include "run/facts.h"
#include "run/network.h"
#include "run/parts.h"
#include "run/predict/samples.h"
#include "run/state/evaluation.h"
#include "run/state/parts.h"
#include "run/verbs/published.h"
#include "task/head/classes.h"
#include "task/head/labels.h"

#include <math.h>
#include <mica/loss.h>
#include <mica/nodes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Samples of the judged part that are looked at for mistakes. */
#define LOOKED_AT 2000
#define AT_A_TIME 250

static const char *loss_at(size_t i) {
  static const char *const names[] = {"cross_entropy", "focal", NULL};
  return names[i];
}

#define CLASSIFY_SETTINGS(X, S)                                                                                        \
  X(S, CHOICE, loss, "loss", "cross_entropy", "NAME",                                                                  \
    "loss to minimise; several labels per sample use binary cross entropy", .names = loss_at, .fixed = true)           \
  X(S, REAL, gamma, "gamma", "2", "G", "focal loss: how little easy samples count", .low = 0, .high = 100,             \
    .fixed = true, .of = "loss=focal")                                                                                 \
  MICA__SMOOTHING_SETTINGS(X, S, "0")                                                                                  \
  X(S, INT, width, "width", "0", "N", "units of mlp, first filters of cnn; 0: 128 and 32", .low = 0, .high = 4096,     \
    .fixed = true, .of = "model=mlp|cnn")                                                                              \
  X(S, TEXT, size, "size", "", "PIXELS",                                                                               \
    "N or HxW: scale and crop pictures in folders to this size (default: the first picture's)", .fixed = true)         \
  MICA__CLASS_WEIGHT_SETTINGS(X, S)
MICA__SETTINGS_STRUCT(classify, CLASSIFY_SETTINGS);
static MICA__SETTINGS_TABLE(classify, CLASSIFY_SETTINGS);

static const mica_task_metric metrics[] = {{"accuracy", false}, {"f1", false}, {"top_5", false}, {NULL, false}};

static int64_t classes_of(const mica_run *run) {
  size_t count = 0;
  mica_run_fact(run, "classes", &count);
  return (int64_t)count;
}

static bool has_several(const mica_run *run) { return mica__run_fact_number(run, "several", 0) > 0; }

static int32_t suits(const mica_dataset *data) {
  const mica_column *label = mica__run_find_label(data);
  return label && (label->kind == MICA_COLUMN_KIND_CLASS || label->kind == MICA_COLUMN_KIND_CLASSES) ? 10 : 0;
}

/* --- preparation --- */

static mica_status count_classes(mica_run *run, double *counts, int64_t classes) {
  const mica_dataset *data = run->parts->at[MICA_PART_TRAIN].data;
  const uint64_t count = mica_dataset_count(data);
  for (uint64_t i = 0; i < count; i++) {
    const int32_t label = mica_dataset_label(data, i);
    if (label >= 0 && label < classes) counts[label]++;
  }
  return MICA_OK;
}

static mica_status note_weights(mica_run *run) {
  static const char *const single[] = {"class-weights", "label-smoothing", "loss"};
  for (size_t i = 0; has_several(run) && i < sizeof single / sizeof *single; i++) {
    const char *is = mica_run_setting(run, single[i]);
    if (*is && strcmp(is, "0") != 0 && strcmp(is, "cross_entropy") != 0)
      return mica__fail(MICA_E_INVALID, "%s %s is for one label a sample; %s has several", single[i], is, run->data);
  }
  return mica__run_note_weights(run, classes_of(run), count_classes);
}

static mica_status prepare(mica_run *run) {
  const mica_column *label = NULL;
  const double one = 1;
  MICA_TRY(mica__published_open(run, true));
  if (!run->parts->whole)
    return classes_of(run) ? MICA_OK : mica__fail(MICA_E_FORMAT, "%s has no classes", run->folder);
  MICA_TRY(mica__run_note_columns(run, &label));
  if (label->kind != MICA_COLUMN_KIND_CLASS && label->kind != MICA_COLUMN_KIND_CLASSES)
    return mica__fail(MICA_E_FORMAT, "%s: the column '%s' holds a %s, not a class; --task %s learns those", run->data,
                      mica__run_answer_name(run, label), mica_column_kind_name(label->kind),
                      label->kind == MICA_COLUMN_KIND_MASK ? "segment" : "regress");
  if (label->kind == MICA_COLUMN_KIND_CLASSES) MICA_TRY(mica__run_note_numbers(run, "several", &one, 1));
  MICA_TRY(mica__run_note_classes(run, label));
  MICA_TRY(mica__run_check_size(run));
  return note_weights(run);
}

static mica_status fits(const mica_run *run, const mica_dataset *data) {
  int32_t *map = NULL;
  MICA_TRY(mica__run_fits_input(run, data));
  if (has_several(run))
    return mica__labels_fit(
        run, data,
        mica_dataset_column(data, mica_dataset_column_index(data, mica__run_fact_text(run, "label_column"))));
  mica_status status = mica__run_map_classes(run, data, &map);
  free(map);
  return status;
}

/* --- the step --- */

static mica_value loss_of(const mica_run *run, mica_value z, mica_value y, mica_value weights) {
  const double smoothing = mica_run_number(run, "label-smoothing");
  if (!strcmp(mica_run_setting(run, "loss"), "focal")) {
    const double gamma = mica_run_number(run, "gamma");
    return mica_focal(
        z, y,
        &(mica_focal_config){.gamma = gamma > 0 ? gamma : MICA_ZERO, .label_smoothing = smoothing, .weights = weights});
  }
  return mica_cross_entropy(z, y, &(mica_cross_entropy_config){.label_smoothing = smoothing, .weights = weights});
}

static void step(mica_nn *nn, const mica_batch_values *batch, const void *config, mica_objective *out) {
  const mica_run *run = config;
  const char *label = mica__run_fact_text(run, "label_column");
  const int64_t classes = classes_of(run);
  const bool training = mica_nn_is_training(nn);
  mica_value x = mica__run_inputs(run, batch);
  mica_value y = mica_batch_has(batch, label) ? mica_batch_value(batch, label) : (mica_value){0};
  mica_value z = mica__run_network(run, nn, x, classes);
  if (has_several(run)) {
    mica__labels_step(nn, run, z, batch, out);
    return;
  }
  out->answers[0] = (mica_answer){.kind = MICA_ANSWER_KIND_CLASSES, .value = z};
  if (!training) out->outputs[0] = mica_softmax(z, 1), out->output_names[0] = "shares";
  if (!y.graph || !z.graph) return;
  mica_value weights = mica__run_class_weights(run, z.graph);
  const bool mixed = mica_value_dtype(y) == MICA_F32;
  out->loss = loss_of(run, z, y, weights);
  if (weights.graph && !mixed) out->weight = mica_sum(mica_gather(weights, y, 0), MICA_ALL_AXES, false);
  out->metrics[0] = mica_metric_mean("accuracy", mica_hits(z, y));
  if (training) return;
  size_t k = 1;
  if (classes > 5) out->metrics[k++] = mica_metric_mean("top_5", mica_top_k_hits(z, y, 5));
  if (classes <= MOST_CONFUSED) out->metrics[k] = (mica_metric){.name = "confusion", .sum = mica_confusion(z, y)};
}

/* --- metrics that are no sums --- */

static mica_status evaluate(mica_run *run, const mica_batch_source *source, mica_metrics *m) {
  int64_t *confusion = NULL;
  mica_class_scores mean;
  const int64_t classes = classes_of(run);
  if (has_several(run)) return mica__labels_evaluate(run, source, m);
  if (classes > MOST_CONFUSED) return MICA_OK;
  MICA_TRY(mica__run_read_confusion(run, &confusion));
  mica_confusion_scores(confusion, classes, NULL, &mean, NULL);
  free(confusion);
  MICA_TRY(mica_metrics_add(m, "f1", mean.f1));
  MICA_TRY(mica_metrics_add(m, "precision", mean.precision));
  return mica_metrics_add(m, "recall", mean.recall);
}

/* --- predictions --- */

static mica_status add_picture(const mica_run *run, mica_report *report, const uint8_t *pixels, const char *name,
                               const char *text) {
  size_t dims = 0;
  const double *input = mica_run_fact_numbers(run, "input", &dims);
  if (!pixels || dims != 3 || (input[0] != 1 && input[0] != 3)) return MICA_OK;
  const mica_item item = {.kind = MICA_ITEM_KIND_PICTURE,
                          .name = name,
                          .text = text,
                          .planes = pixels,
                          .shape = MICA_SHAPE((int64_t)input[0], (int64_t)input[1], (int64_t)input[2])};
  return mica_report_add(report, &item);
}

static mica_status add_sample(const mica_run *run, mica_report *p, const mica__samples *s, int64_t i,
                              const float *shares, const mica_run_input *input) {
  const int64_t top = input->top > 0 ? input->top : 3;
  const char *const *names = mica_run_fact(run, "classes", NULL);
  MICA_TRY(mica_report_begin(p, s->names[i]));
  const double *truths = s->truths + (size_t)i * s->truth_count;
  const bool several = has_several(run);
  if (!several && !isnan(truths[0])) MICA_TRY(mica_report_add_text(p, "truth", names[(size_t)truths[0]]));
  MICA_TRY(mica__run_add_choices(run, p, shares, top));
  if (several) MICA_TRY(mica__labels_add(run, p, shares, truths, input->threshold));
  return add_picture(run, p, s->pixels[i], "picture", names[mica__likeliest(shares, classes_of(run), 0)]);
}

static mica_status predict_all(mica_run *run, const mica__samples *s, const mica_run_input *input, mica_report *p) {
  const int64_t classes = classes_of(run);
  float *shares = malloc((size_t)(AT_A_TIME * classes) * sizeof *shares);
  mica_status status = shares ? MICA_OK : mica__fail_nomem("predictions");
  for (int64_t from = 0; status == MICA_OK && from < s->count; from += AT_A_TIME) {
    const int64_t count = s->count - from < AT_A_TIME ? s->count - from : AT_A_TIME;
    status = mica__samples_infer(run, s, from, count, "shares", classes, shares);
    for (int64_t i = 0; status == MICA_OK && i < count; i++)
      status = add_sample(run, p, s, from + i, shares + i * classes, input);
  }
  free(shares);
  return status;
}

static mica_status predict(mica_run *run, const mica_run_input *input, mica_report *p) {
  mica__samples samples = {0};
  mica_status status = mica__samples_read(run, input, &samples);
  if (status == MICA_OK) status = predict_all(run, &samples, input, p);
  mica__samples_free(&samples);
  return status;
}

/* --- the report --- */

static mica_status find_mistakes(mica_run *run, mica__mistake list[MICA__MISTAKES], size_t *count) {
  const int64_t classes = classes_of(run), all = (int64_t)mica_dataset_count(run->evaluation->data);
  float *shares = malloc((size_t)(AT_A_TIME * classes) * sizeof *shares);
  mica_status status = shares ? MICA_OK : mica__fail_nomem("a report");
  for (int64_t from = 0; status == MICA_OK && from < all && from < LOOKED_AT; from += AT_A_TIME) {
    const int64_t n = all - from < AT_A_TIME ? all - from : AT_A_TIME;
    mica__samples s = {0};
    status = mica__samples_of(run, run->evaluation->data, (uint64_t)from, n, &s);
    if (status == MICA_OK) status = mica__samples_infer(run, &s, 0, n, "shares", classes, shares);
    for (int64_t i = 0; status == MICA_OK && i < n; i++) {
      const int64_t guess = mica__likeliest(shares + i * classes, classes, 0);
      if (!isnan(s.truths[i]) && (int64_t)s.truths[i] != guess)
        mica__mistake_add(
            list, count,
            (mica__mistake){(uint64_t)(from + i), guess, (int64_t)s.truths[i], shares[i * classes + guess]});
    }
    mica__samples_free(&s);
  }
  free(shares);
  return status;
}

static mica_status add_mistakes(mica_run *run, mica_report *report) {
  mica__mistake list[MICA__MISTAKES];
  size_t count = 0;
  const char *const *names = mica_run_fact(run, "classes", NULL);
  MICA_TRY(find_mistakes(run, list, &count));
  if (!count) return MICA_OK;
  MICA_TRY(mica_report_begin(report, "Wrong with the most confidence"));
  for (size_t i = 0; i < count; i++) {
    mica__samples s = {0};
    mica__text text = {0};
    mica_status status = mica__samples_of(run, run->evaluation->data, list[i].sample, 1, &s);
    mica__text_addf(&text, "%s, taken for %s (%.1f %%)", names[list[i].truth], names[list[i].guess],
                    100 * (double)list[i].share);
    if (status == MICA_OK) status = mica__text_status(&text);
    if (status == MICA_OK)
      status = s.pixels[0] ? add_picture(run, report, s.pixels[0], s.names[0], text.data)
                           : mica_report_add_text(report, s.names[0], text.data);
    mica__text_free(&text);
    mica__samples_free(&s);
    MICA_TRY(status);
  }
  return MICA_OK;
}

static mica_status report_classes(mica_run *run, mica_report *report) {
  if (has_several(run)) return mica__labels_report(run, report);
  if (classes_of(run) > MOST_CONFUSED) return MICA_OK;
  MICA_TRY(mica__run_report_classes(run, "Classes", report));
  return add_mistakes(run, report);
}

/* What config.json must hold of a run of the task. */
#define CLASSIFY_FACTS(X, S)                                                                                           \
  CLASSES_FACTS(X, S)                                                                                                  \
  X(S, NUMBER, several, .above = -1, .most = 1)
MICA__FACTS_STRUCT(classify, CLASSIFY_FACTS);
static MICA__FACTS_TABLE(classify, CLASSIFY_FACTS, 0);

const mica__task_row mica__task_classify = {
    .name = "classify",
    .sized = true,
    .classes = true,
    .text = "the class of a picture or a row of a table, or several classes of it",
    .metrics = metrics,
    .facts = &mica__classify_fact_list,
    .settings = &mica__classify_setting_list,
    .suits = suits,
    .prepare = prepare,
    .fits = fits,
    .step = step,
    .evaluate = evaluate,
    .by_samples = true,
    .least_steps = 300,
    .predict = predict,
    .report = report_classes,
};
