/* The depth of each pixel: losses and metrics over the pixels whose depth is known. The network predicts log(depth /
 * usual depth), so that depths are above 0. The usual depth is the geometric mean of the known depths in at most
 * READ_MAPS depth maps of the training data. */
#include "task/head/depths.h"
#include "data/annotation/depth_map.h"
#include "data/dataset.h"
#include "run/common_facts.h"
#include "run/facts.h"
#include "run/fields.h"
#include "run/record.h"
#include "run/run.h"
#include "run/state/parts.h"

#include <math.h>
#include <mica/loss.h>
#include <mica/nodes.h>
#include <stdlib.h>

/* The most depth maps that are read to find the usual depth. */
#define READ_MAPS 200
/* Depths are from e^-9 to e^9 times the usual depth. */
#define LOG_RANGE 9

enum { SILOG, L1, HUBER };

const char *mica__depths_loss_at(size_t i) {
  static const char *const names[] = {"silog", "l1", "huber", NULL};
  return names[i];
}

MICA__SETTINGS_STRUCT(depths, DEPTHS_SETTINGS);
MICA__SETTINGS(depths, DEPTHS_SETTINGS);
MICA__FACTS(depths, DEPTHS_FACTS, 3);

static const mica_column *label_of(const mica_dataset *data) { return mica__dataset_find(data, MICA_COLUMN_KIND_MAP); }

static bool suits(const mica_column *label) { return label->kind == MICA_COLUMN_KIND_MAP; }

static void opens(const mica_run *run, mica_dataset_config *config) {
  config->depth_scale = settings_of(run).depth_scale;
}

static int64_t outputs(const mica_run *run) {
  (void)run;
  return 1;
}

/* --- preparation --- */

/* A summary of the known depths in some maps. */
typedef struct known_depths {
  double least, most, logs, count, pixels; /* logs: sum of logarithms; count: known depths; pixels: all pixels */
} known_depths;

static void add_known(known_depths *k, const float *depths, size_t pixels) {
  for (size_t i = 0; i < pixels; i++) {
    if (!(depths[i] > 0)) continue;
    const double depth = (double)depths[i];
    if (!(k->count > 0) || depth < k->least) k->least = depth;
    if (depth > k->most) k->most = depth;
    k->logs += log(depth), k->count++;
  }
  k->pixels += (double)pixels;
}

/* Sums up the known depths of at most READ_MAPS maps, evenly spaced in the training data. Fails if none has a known
 * depth, and adds a remark if some have none. */
static mica_status find_known(mica_run *run, const mica_column *label, known_depths *k) {
  const mica_dataset *data = run->parts->at[MICA_PART_TRAIN].data;
  const uint64_t all = mica_dataset_count(data), count = all < READ_MAPS ? all : READ_MAPS;
  const size_t column = mica_dataset_column_index(data, label->name);
  float *depths = malloc(mica__dataset_most_pixels(data) * sizeof *depths);
  mica_status status = depths ? MICA_OK : mica__fail_nomem("a depth map");
  const char *empty = NULL, *which = count < all ? " that were read" : "";
  uint64_t empties = 0;
  for (uint64_t i = 0; status == MICA_OK && i < count; i++) {
    int64_t height = 0, width = 0;
    const double before = k->count;
    mica__dataset_sides(data, i * all / count, &height, &width);
    const size_t pixels = (size_t)(height * width);
    status = mica__dataset_read_own(data, column, i * all / count, depths, pixels * sizeof *depths);
    if (status == MICA_OK) add_known(k, depths, pixels);
    if (k->count > before || empties++) continue;
    empty = mica_dataset_file(data, i * all / count);
  }
  free(depths);
  if (status == MICA_OK && !(k->count > 0))
    return mica__fail(MICA_E_FORMAT, "%s: the depth maps%s (%llu) have no depth above 0; there is nothing to learn",
                      mica_dataset_name(data), which, (unsigned long long)count);
  if (status == MICA_OK && empties)
    return mica__run_remark(run, "%llu of %llu depth maps%s have no depth above 0, such as the one of %s",
                            (unsigned long long)empties, (unsigned long long)count, which,
                            empty ? empty : mica_dataset_name(data));
  return status;
}

static mica_status prepare(mica_run *run, const mica_column *label) {
  known_depths k = {0};
  MICA_TRY(find_known(run, label, &k));
  const double usual = exp(k.logs / k.count), range[] = {k.least, k.most, 1 - k.count / k.pixels};
  const uint64_t all = mica_dataset_count(run->parts->at[MICA_PART_TRAIN].data);
  const double read = READ_MAPS;
  MICA_TRY(mica__run_note_numbers(run, "usual_depth", &usual, 1));
  if (all > READ_MAPS) MICA_TRY(mica__run_note_numbers(run, "depth_maps", &read, 1));
  return mica__run_note_numbers(run, "depth_range", range, 3);
}

static mica_status fits(const mica_run *run, const mica_dataset *data, const mica_column *label) {
  (void)run;
  if (label) return MICA_OK;
  return mica__fail(MICA_E_FORMAT, "%s has no depth maps, but the run was trained on them", mica_dataset_name(data));
}

/* --- the step --- */

static mica_value sum_all(mica_value x) { return mica_sum(x, MICA_ALL_AXES, false); }

/* sum / count; 0 if a batch, or a rank's share of it, has no pixel with a known depth. */
static mica_value mean_of(mica_value sum, mica_value count) {
  return mica_div(sum, mica_maximum(count, mica_full_like(count, 1e-6)));
}

/* The scale-invariant loss of Eigen et al. 2014. With g = log(predicted depth / true depth), the loss of a picture is
 * mean(g^2) - share * mean(g)^2 over its known pixels. All pictures have the same weight; *count is the number of
 * pictures with a known pixel. */
static mica_value silog(mica_value g, mica_value known, double share, mica_value *count) {
  const mica_axes sides = MICA_AXES(1, 2);
  mica_value pixels = mica_sum(known, sides, false);
  mica_value mean = mean_of(mica_sum(g, sides, false), pixels);
  mica_value squares = mean_of(mica_sum(mica_square(g), sides, false), pixels);
  *count = sum_all(mica_cast(mica_greater(pixels, mica_full_like(pixels, 0)), MICA_F32));
  return mean_of(sum_all(mica_sub(squares, mica_affine(mica_square(mean), share, 0))), *count);
}

/* The loss that the setting "loss" chooses.
 * depth: the predicted depths
 * y: the true depths; 0 where unknown
 * g: the logarithm of predicted depth / true depth; 0 where the true depth is unknown
 * *count: the number of pixels or pictures over which the loss is a mean */
static mica_value loss_of(const mica_run *run, mica_value depth, mica_value y, mica_value g, mica_value known,
                          mica_value *count) {
  const mica__depths_settings s = settings_of(run);
  if (s.loss == SILOG) return silog(g, known, s.scale_share, count);
  *count = sum_all(known);
  mica_value there = mica_mul(depth, known);
  mica_value sum =
      s.loss == HUBER ? mica_huber(there, y, s.delta, MICA_LOSS_REDUCTION_SUM) : sum_all(mica_abs(mica_sub(there, y)));
  return mean_of(sum, *count);
}

static mica_value limited(mica_value z) { return mica_clip(z, -LOG_RANGE, LOG_RANGE); }

static double usual_of(const mica_run *run) { return facts_of(run).usual_depth.list[0]; }

static void exports(const mica_run *run, mica_value z, mica_objective *out) {
  out->outputs[0] = mica_affine(mica_exp(limited(z)), usual_of(run), 0);
  out->output_names[0] = "depth";
}

static void add_metrics(mica_nn *nn, mica_value depth, mica_value y, mica_value known, mica_objective *out) {
  mica_value pixels = sum_all(known), error = mica_mul(mica_sub(depth, y), known);
  mica_value safe = mica_where(mica_greater(y, mica_full_like(y, 0)), y, depth);
  mica_value ratio = mica_maximum(mica_div(depth, safe), mica_div(safe, depth));
  mica_value close = mica_cast(mica_less(ratio, mica_full_like(ratio, MICA__DEPTH_CLOSE)), MICA_F32);
  out->metrics[0] = (mica_metric){.name = "absrel", .sum = sum_all(mica_div(mica_abs(error), safe)), .weight = pixels};
  out->metrics[1] = (mica_metric){.name = "delta1", .sum = sum_all(mica_mul(close, known)), .weight = pixels};
  if (mica_nn_is_training(nn)) return;
  const mica_value sums[] = {mica_reshape(sum_all(mica_square(error)), MICA_SHAPE(1)),
                             mica_reshape(pixels, MICA_SHAPE(1))};
  out->metrics[2] = (mica_metric){.name = "squares", .sum = mica_concat(sums, 2, 0)};
}

static void step(mica_nn *nn, const mica_run *run, mica_value z, const mica_batch_values *batch, mica_objective *out) {
  const char *label = mica__common_facts_of(run).label_column;
  out->answers[0] = (mica_answer){.kind = MICA_ANSWER_KIND_NUMBERS, .value = z};
  if (!mica_nn_is_training(nn)) exports(run, z, out);
  if (!z.graph || !mica_batch_has(batch, label)) return;
  mica_value y = mica_batch_value(batch, label), there = mica_greater(y, mica_full_like(y, 0));
  mica_value known = mica_cast(there, MICA_F32), logs = limited(mica_squeeze(z, MICA_AXES(1)));
  mica_value depth = mica_affine(mica_exp(logs), usual_of(run), 0);
  mica_value wanted =
      mica_log(mica_affine(mica_where(there, y, mica_full_like(y, usual_of(run))), 1 / usual_of(run), 0));
  out->loss = loss_of(run, depth, y, mica_mul(mica_sub(logs, wanted), known), known, &out->weight);
  add_metrics(nn, depth, y, known, out);
}

/* --- metrics --- */

typedef struct tally {
  mica__depth_errors errors;
  int64_t pictures;
} tally;

static mica_status add_picture(mica_run *run, const mica__sample *sample, const float *depths, void *user) {
  tally *t = user;
  (void)run;
  mica__depth_errors_add(&t->errors, depths, sample->depths, (size_t)(sample->shape.dim[1] * sample->shape.dim[2]));
  t->pictures++;
  return MICA_OK;
}

/* If the input cuts pictures into tiles, computes all metrics again from whole pictures, whose tiles are joined.
 * Otherwise only the RMSE is missing, and it is computed from the sums over all batches. */
static mica_status evaluate(mica_run *run, const mica_batch_source *source, mica_metrics *m) {
  double sums[2] = {0}, scores[3];
  tally t = {.pictures = 0};
  bool joined = false;
  MICA_TRY(run->task->input->samples.join(run, source, add_picture, &t, &joined));
  if (!joined) {
    MICA_TRY(mica_trainer_sum(run->trainer, "squares", sums, 2));
    return mica_metrics_add(m, "rmse", sums[1] > 0 ? sqrt(sums[0] / sums[1]) : (double)NAN);
  }
  m->samples = t.pictures;
  mica__depth_errors_score(&t.errors, scores);
  MICA_TRY(mica_metrics_add(m, "absrel", scores[0]));
  MICA_TRY(mica_metrics_add(m, "rmse", scores[1]));
  return mica_metrics_add(m, "delta1", scores[2]);
}

const mica__head mica__head_depths = {
    .name = "depths",
    .label = label_of,
    .suits = suits,
    .numbers = true,
    .opens = opens,
    .prepare = prepare,
    .fits = fits,
    .output = "depth",
    .outputs = outputs,
    .step = step,
    .exports = exports,
    .evaluate = evaluate,
    .shows.section = mica__depths_section,
    .shows.report = mica__depths_report,
};
