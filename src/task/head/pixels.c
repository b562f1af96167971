/* The class of each pixel: losses and metrics over the pixels whose class is known. */
#include "task/head/pixels.h"
#include "data/annotation/masks.h"
#include "data/dataset.h"
#include "ops/collective/channels.h"
#include "run/columns/categories.h"
#include "run/columns/classes.h"
#include "run/columns/columns.h"
#include "run/common_facts.h"
#include "run/facts.h"
#include "run/fields.h"
#include "run/run.h"
#include "run/state/parts.h"

#include <math.h>
#include <mica/loss.h>
#include <mica/nodes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The most masks whose pixels are counted, to balance classes. */
#define COUNTED 500

enum { CROSS_ENTROPY_DICE, CROSS_ENTROPY, DICE, FOCAL };

const char *mica__pixels_loss_at(size_t i) {
  static const char *const names[] = {"cross_entropy_dice", "cross_entropy", "dice", "focal", NULL};
  return names[i];
}

MICA__SETTINGS_STRUCT(pixels, PIXELS_SETTINGS);
MICA__SETTINGS(pixels, PIXELS_SETTINGS);
MICA__FACTS(pixels, PIXELS_FACTS, 3);

const mica_column *mica__pixels_label(const mica_dataset *data) {
  return mica__dataset_find(data, MICA_COLUMN_KIND_MASK);
}

bool mica__pixels_suits(const mica_column *label) { return label->kind == MICA_COLUMN_KIND_MASK; }

void mica__pixels_opens(const mica_run *run, mica_dataset_config *config) {
  const char *values = facts_of(run).mask_values, *set = settings_of(run).mask_values;
  config->mask_values = *values             ? values
                        : *set              ? set
                        : run->parts->whole ? mica_dataset_mask_values(run->parts->whole)
                                            : NULL;
}

/* --- preparation --- */

mica_status mica__pixels_check(const mica_run *run) {
  if (mica__pixels_classes(run) <= MICA__MASK_CLASSES) return MICA_OK;
  return mica__fail(MICA_E_FORMAT, "the run has %lld classes, but masks can have at most %d",
                    (long long)mica__pixels_classes(run), MICA__MASK_CLASSES);
}

static mica_status count_classes(mica_run *run, double *counts, int64_t classes) {
  const mica_dataset *data = run->parts->at[MICA_PART_TRAIN].data;
  const uint64_t all = mica_dataset_count(data), count = all < COUNTED ? all : COUNTED;
  const mica_column *mask = mica__pixels_label(data);
  uint8_t *pixels = malloc(mica__dataset_most_pixels(data));
  mica_status status = pixels ? MICA_OK : mica__fail_nomem("a mask");
  for (uint64_t k = 0; status == MICA_OK && k < count; k++) {
    int64_t height = 0, width = 0;
    mica__dataset_sides(data, k * all / count, &height, &width);
    const size_t bytes = (size_t)(height * width), column = mica_dataset_column_index(data, mask->name);
    status = mica__dataset_read_own(data, column, k * all / count, pixels, bytes);
    for (size_t i = 0; status == MICA_OK && i < bytes; i++)
      if (pixels[i] < classes) counts[pixels[i]]++;
  }
  free(pixels);
  return status;
}

mica_status mica__pixels_prepare(mica_run *run, const mica_column *label) {
  MICA_TRY(mica__run_note_classes(run, label));
  MICA_TRY(mica__pixels_check(run));
  const char *values = mica_dataset_mask_values(run->parts->whole);
  if (values) MICA_TRY(mica__run_note_text(run, "mask_values", values));
  return mica__run_note_weights(run, mica__pixels_classes(run), count_classes);
}

mica_status mica__pixels_fits(const mica_run *run, const mica_dataset *data, const mica_column *label) {
  int32_t *map = NULL;
  const mica__fact_texts classes = facts_of(run).classes;
  if (!label)
    return mica__fail(MICA_E_FORMAT, "%s has no masks, but the run was trained on them", mica_dataset_name(data));
  MICA_TRY(mica__run_map_names(data, mica_dataset_column_index(data, label->name), false, classes.list, classes.count,
                               &map));
  if (!map) return MICA_OK;
  free(map);
  return mica__fail(MICA_E_FORMAT,
                    "%s: the classes are numbered differently from the run's; list the same classes in the same order",
                    mica_dataset_name(data));
}

/* --- the step --- */

static mica_value sum_all(mica_value x) { return mica_sum(x, MICA_ALL_AXES, false); }

/* The sum of the weights of the pixels whose class is known. A pixel has the weight of its class, or 1 if classes have
 * no weights. */
static mica_value count_pixels(mica_value y, mica_value weights) {
  mica_value counted = mica_cast(mica_greater_equal(y, mica_full_like(y, 0)), MICA_F32);
  if (!weights.graph) return sum_all(counted);
  mica_value known = mica_maximum(y, mica_full_like(y, 0));
  return sum_all(mica_mul(mica_gather(weights, known, 0), counted));
}

/* The weighted mean over the pixels whose class is known; 0 if a batch, or a rank's share of it, has none. */
static mica_value mean_of(mica_value sum, mica_value count) {
  return mica_div(sum, mica_maximum(count, mica_full_like(count, 1e-6)));
}

static mica_value cross_entropy(mica_value z, mica_value y, mica_value weights, mica_value count) {
  const mica_cross_entropy_config how = {
      .reduction = MICA_LOSS_REDUCTION_SUM, .weights = weights, .ignore = true, .ignored = -1};
  return mean_of(mica_cross_entropy(z, y, &how), count);
}

/* The Dice loss. It is a quotient of sums over the batch. Each rank has only a part of these sums; *joined is true
 * if they are added up over ranks. */
static mica_value dice_of(mica_nn *nn, mica_value z, mica_value y, mica_value weights, bool *joined) {
  const mica_dice_config how = {.weights = weights,
                                .ignore = true,
                                .ignored = -1,
                                .ranks = mica_nn_loss_ranks(nn),
                                .channel = MICA__CHANNEL_DICE};
  *joined = how.ranks != NULL;
  return mica_dice(z, y, &how);
}

static mica_value loss_of(const mica_run *run, mica_nn *nn, mica_value z, mica_value y, mica_value weights,
                          mica_value count, bool *joined) {
  const mica__pixels_settings s = settings_of(run);
  const mica_focal_config focal = {.reduction = MICA_LOSS_REDUCTION_SUM,
                                   .gamma = s.gamma > 0 ? s.gamma : MICA_ZERO,
                                   .weights = weights,
                                   .ignore = true,
                                   .ignored = -1};
  if (s.loss == FOCAL) return mean_of(mica_focal(z, y, &focal), count);
  if (s.loss == CROSS_ENTROPY) return cross_entropy(z, y, weights, count);
  mica_value dice = dice_of(nn, z, y, weights, joined);
  return s.loss == DICE ? dice : mica_add(cross_entropy(z, y, weights, count), dice);
}

void mica__pixels_exports(const mica_run *run, mica_value z, mica_objective *out) {
  (void)run;
  out->outputs[0] = mica_softmax(z, 1), out->output_names[0] = "shares";
}

void mica__pixels_step(mica_nn *nn, const mica_run *run, mica_value z, const mica_batch_values *batch,
                       mica_objective *out) {
  const char *label = mica__common_facts_of(run).label_column;
  out->answers[0] = (mica_answer){.kind = MICA_ANSWER_KIND_CLASSES, .value = z};
  if (!mica_nn_is_training(nn)) mica__pixels_exports(run, z, out);
  if (!z.graph || !mica_batch_has(batch, label)) return;
  mica_value y = mica_batch_value(batch, label), weights = mica__run_class_weights(run, z.graph);
  const char *const *names = facts_of(run).classes.list;
  out->weight = count_pixels(y, weights);
  out->loss = loss_of(run, nn, z, y, weights, out->weight, &out->joined);
  out->metrics[0] = mica_metric_dice("dice", z, y, names);
  out->metrics[1] = mica_metric_iou("iou", z, y, names);
  out->metrics[2] =
      (mica_metric){.name = "accuracy", .sum = sum_all(mica_hits(z, y)), .weight = count_pixels(y, (mica_value){0})};
}

/* --- metrics of pictures that are joined --- */

/* Pixels of a class: `said` are predicted as the class, `meant` truly belong to it, `both` are predicted and true. */
typedef struct counts {
  double both, said, meant;
} counts;

typedef struct tally {
  int64_t classes, pictures;
  double right, pixels;
  counts *counts;
} tally;

static mica_status add_picture(mica_run *run, const mica__sample *sample, const float *shares, void *user) {
  tally *t = user;
  const size_t pixels = (size_t)(sample->shape.dim[1] * sample->shape.dim[2]);
  uint8_t *decided = malloc(pixels + 1);
  (void)run;
  if (!decided) return mica__fail_nomem("a mask");
  mica__mask_decide(shares, t->classes, pixels, decided);
  for (size_t i = 0; i < pixels; i++) {
    if (sample->mask[i] == 255) continue;
    t->counts[decided[i]].said++;
    t->counts[sample->mask[i]].meant++;
    t->counts[sample->mask[i]].both += decided[i] == sample->mask[i];
    t->right += decided[i] == sample->mask[i];
    t->pixels++;
  }
  t->pictures++;
  free(decided);
  return MICA_OK;
}

/* Adds the Dice coefficient or the IoU of each class, as long as the list of metrics has room, and the mean over the
 * classes that are predicted or true anywhere. */
static mica_status add_quotients(const mica_run *run, const tally *t, const char *name, bool dice, mica_metrics *m) {
  const char *const *names = facts_of(run).classes.list;
  double mean = 0;
  int64_t there = 0;
  for (int64_t c = 0; c < t->classes; c++) {
    const counts *n = &t->counts[c];
    const double sum = n->said + n->meant, over = dice ? sum : sum - n->both;
    const double value = over > 0 ? (dice ? 2 : 1) * n->both / over : NAN;
    char part[MICA_METRIC_NAME];
    snprintf(part, sizeof part, "%s_%s", name, names[c]);
    if (over > 0) mean += value, there++;
    if (!isnan(mica_metrics_get(m, part)) || m->count < MICA_METRICS_MAX) MICA_TRY(mica_metrics_add(m, part, value));
  }
  return mica_metrics_add(m, name, there ? mean / (double)there : (double)NAN);
}

/* If the input cuts pictures into tiles, computes the metrics again from whole pictures, whose tiles are joined.
 * Otherwise the metrics that were summed over batches stay. */
static mica_status evaluate(mica_run *run, const mica_batch_source *source, mica_metrics *m) {
  const mica__input *input = run->task->input;
  tally t = {.classes = mica__pixels_classes(run)};
  bool joined = false;
  if (!input->samples.join) return MICA_OK;
  t.counts = calloc((size_t)t.classes + 1, sizeof *t.counts);
  mica_status status =
      t.counts ? input->samples.join(run, source, add_picture, &t, &joined) : mica__fail_nomem("counts");
  if (status == MICA_OK && joined) {
    m->samples = t.pictures;
    status = add_quotients(run, &t, "dice", true, m);
    if (status == MICA_OK) status = add_quotients(run, &t, "iou", false, m);
    if (status == MICA_OK) status = mica_metrics_add(m, "accuracy", t.pixels > 0 ? t.right / t.pixels : (double)NAN);
  }
  free(t.counts);
  return status;
}

const mica__head mica__head_pixels = {
    .name = "pixels",
    MICA__PIXELS_LEARNED,
    .evaluate = evaluate,
    .shows.section = mica__pixels_section,
    .shows.report = mica__pixels_report,
};
