/* diffuse: pictures drawn from noise. A U-Net learns to remove noise from pictures (DDPM, Ho et al. 2020). */
#include "task/diffuse/diffuse.h"
#include "run/columns/classes.h"
#include "run/columns/columns.h"
#include "run/common_facts.h"
#include "run/common_fields.h"
#include "run/common_values.h"
#include "run/composed.h"
#include "run/fact_fields.h"
#include "run/facts.h"
#include "run/parts.h"
#include "run/settings.h"
#include "run/state/parts.h"

#include "base/number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The first key of this task's random streams. */
#define KEY UINT64_C(0x64696666)
/* The default warm-up is WARM_UP steps, or a tenth of the run's steps if that is less. */
#define WARM_UP 100
/* The default window of the moving averages of the weights (ema), as a share of the run's steps. */
#define AVERAGED 0.1
/* The fewest steps of a run by default. */
#define LEAST_STEPS 2500

static const mica_setting defaults[] = {{"model", "denoiser"},
                                        {"epochs", "3"},
                                        {"batch", "64"},
                                        {"optimizer", "adamw"},
                                        {"lr", "0.001"},
                                        {"weight-decay", "0"},
                                        {"schedule", "cosine"},
                                        {"clip-norm", "1"},
                                        {"warm-up", ""},
                                        {"ema", ""},
                                        {0}};

static const mica_task_metric metrics[] = {{"noise_mse", true, "mean squared error of the predicted noise", false},
                                           {0}};

#define DIFFUSE_FACTS(X, S) X(S, TEXTS, classes, .needed = true)
MICA__FACTS_STRUCT(diffuse, DIFFUSE_FACTS);
static MICA__FACTS_TABLE(diffuse, DIFFUSE_FACTS, 3);

/* Returns 0, so that no data select this task by themselves: every kind of data suits another task better. The user
 * must choose this task by name. */
static int32_t suits(const mica_dataset *data) {
  (void)data;
  return 0;
}

/* --- preparation --- */

/* Sets the settings that depend on the number of steps, unless the user set them. */
static mica_status set_lengths(mica_run *run) {
  const mica_dataset *data = run->parts->at[MICA_PART_TRAIN].data;
  if (!data) return MICA_OK;
  const mica__common_settings s = mica__common_settings_of(run);
  const double batches = fmax(floor((double)mica_dataset_count(data) / (double)s.batch), 1);
  double steps = floor(batches * (double)s.epochs / fmax((double)s.accumulate, 1));
  if (!mica__common_given(run, MICA__SETTING_epochs)) steps = fmax(steps, LEAST_STEPS);
  if (!mica__common_is_set(run, MICA__SETTING_warm_up))
    MICA_TRY(mica__common_set_number(run, MICA__SETTING_warm_up, fmin(WARM_UP, floor(steps / 10))));
  if (mica__common_is_set(run, MICA__SETTING_ema)) return MICA_OK;
  return mica__common_set_number(run, MICA__SETTING_ema, fmin(1 - 1 / fmax(AVERAGED * steps, 2), 0.9999));
}

/* Sets mean and deviation to 0.5. This scales pictures to -1 .. 1, the range of the values that drawing computes. Fails
 * if the user chose other values. */
static mica_status set_scale(mica_run *run) {
  static const mica__common_setting scale[] = {MICA__SETTING_mean, MICA__SETTING_deviation};
  for (int i = 0; i < 2; i++) {
    if (!*mica__common_typed(run, scale[i])) MICA_TRY(mica__common_set(run, scale[i], "0.5"));
    if (!mica__equal_values(mica__common_typed(run, scale[i]), "0.5"))
      return mica__fail(MICA_E_INVALID, "the task diffuse scales pictures to -1 to 1 with %s 0.5, not %s; leave %s out",
                        i ? "deviation" : "mean", mica__common_typed(run, scale[i]), i ? "deviation" : "mean");
  }
  return MICA_OK;
}

static mica_status check_augment(const mica_run *run) {
  mica_augment_config augment;
  MICA_TRY(mica_augment_parse(mica__common_settings_of(run).augment, &augment));
  if (augment.mixup > 0 || augment.cutmix > 0)
    return mica__fail(MICA_E_INVALID, "%s blends pictures, but the task diffuse draws single ones; leave it out",
                      augment.mixup > 0 ? "mixup" : "cutmix");
  return MICA_OK;
}

/* Rounds `side` up to a multiple of `multiple`, and returns at least `least`. */
static int64_t fitting_side(int64_t side, int64_t multiple, int64_t least) {
  const int64_t rounded = (side + multiple - 1) / multiple * multiple;
  return rounded < least ? least : rounded;
}

/* Checks that the network can halve the sides of the run's pictures often enough: `depth` times or, with the default
 * depth, once with at least 4 pixels left. */
static mica_status check_sides(const mica_run *run) {
  const mica_shape s = mica_dataset_shape(run->parts->whole);
  const int64_t depth = mica__diffuse_settings_of(run).depth, times = depth ? depth : 1;
  const int64_t multiple = (int64_t)1 << times, least = depth ? multiple : 8;
  const int64_t height = fitting_side(s.dim[1], multiple, least), width = fitting_side(s.dim[2], multiple, least);
  if (s.dim[1] == height && s.dim[2] == width) return MICA_OK;
  return mica__fail(MICA_E_INVALID,
                    "%s has pictures of %lldx%lld; the network needs sides of %lld or more that can be halved %lld "
                    "time%s; scale pictures in folders with --size %lldx%lld, or choose another --depth",
                    run->data, (long long)s.dim[1], (long long)s.dim[2], (long long)least, (long long)times,
                    times == 1 ? "" : "s", (long long)height, (long long)width);
}

static mica_status prepare(mica_run *run) {
  const mica_column *label = NULL;
  const bool fresh = run->parts->whole && !run->resumed;
  if (fresh) MICA_TRY(mica__run_set_unset(run, defaults));
  if (fresh) MICA_TRY(set_lengths(run));
  MICA_TRY(mica__run_set_defaults(run));
  MICA_TRY(mica__task_check_network(run));
  const mica__diffuse_settings s = mica__diffuse_settings_of(run);
  if (s.sample_steps > s.noise_steps)
    return mica__fail(MICA_E_INVALID, "sample-steps %lld must be at most noise-steps %lld", (long long)s.sample_steps,
                      (long long)s.noise_steps);
  if (s.width % 2) return mica__fail(MICA_E_INVALID, "width must be even, not %lld", (long long)s.width);
  if (!run->parts->whole) return MICA_OK;
  if (mica_dataset_shape(run->parts->whole).rank != 3 || mica_dataset_dtype(run->parts->whole) != MICA_U8)
    return mica__fail(MICA_E_FORMAT, "%s has no pictures of 8 bits: the task diffuse learns to draw pictures",
                      run->data);
  MICA_TRY(mica__run_note_columns(run, &label));
  if (label->kind != MICA_COLUMN_KIND_CLASS || label->shape.rank != 0)
    return mica__fail(MICA_E_FORMAT, "%s has no class for each picture: the task diffuse wants one folder per class",
                      run->data);
  MICA_TRY(mica__run_note_classes(run, label));
  MICA_TRY(mica__run_check_size(run));
  MICA_TRY(check_sides(run));
  MICA_TRY(check_augment(run));
  return set_scale(run);
}

static mica_status teaches(const mica_run *run, const mica_run *teacher) {
  (void)run;
  return mica__fail(MICA_E_UNSUPPORTED, "the task diffuse cannot learn from a teacher (%s); leave out --teacher",
                    teacher->folder);
}

/* --- the step --- */

/* The row of each label in the network's table of classes. A label below 0 gets the last row, "no class"; in training,
 * a random share `drop_class` of the labels gets it too. */
static mica_value rows_of(const mica_run *run, mica_value step, mica_value like, mica_value label, bool training) {
  const mica__diffuse_settings s = mica__diffuse_settings_of(run);
  const int64_t classes = mica__diffuse_classes(run);
  mica_value none = mica_full_like(label, (double)classes), zero = mica_full_like(label, 0);
  label = mica_where(mica_less(label, zero), none, label);
  if (!training || s.drop_class <= 0) return label;
  return mica_where(mica_random_bernoulli(step, like, KEY + 2, s.drop_class), none, label);
}

/* The training and test step. Other heads get the output of the network as an argument. This head ignores that argument
 * (`none`) and builds the network itself, because the network must read the noisy picture. The loss compares the output
 * with the run's target. */
static void step(mica_nn *nn, const mica_run *run, mica_value none, const mica_batch_values *batch,
                 mica_objective *out) {
  (void)none;
  const mica__diffusion trained = mica__diffuse_trained(run);
  const bool training = mica_nn_is_training(nn);
  const char *label_column = mica__common_facts_of(run).label_column;
  const mica_value picture = mica_batch_value(batch, mica__common_facts_of(run).input_column);
  if (!picture.graph || !mica_batch_has(batch, label_column)) return;
  mica_value label = mica_batch_value(batch, label_column), like = mica_full_like(mica_cast(label, MICA_F32), 0);
  mica_value now = training ? mica_nn_step(nn) : mica_full(label.graph, MICA_I64, MICA_SCALAR, 0), error = {0};
  const uint64_t key = KEY + ((uint64_t)mica__common_settings_of(run).seed << 32);
  const mica__diffusion_mixture m = mica__diffusion_mix(&trained, picture, now, like, key, training);
  if (!m.x.graph) return;
  label = rows_of(run, now, like, label, training);
  mica_value z = mica__diffuse_network(nn, run, m.x, m.time, label);
  if (!z.graph) return;
  mica__diffusion_losses(&trained, &m, z, &out->loss, &error);
  out->metrics[0] = mica_metric_mean("noise_mse", error);
}

/* --- the row --- */

static const char *const networks[] = {"denoiser", NULL};

/* Exports one pass of the network. A program that draws pictures runs the pass once per step. */
static void exports(mica_nn *nn, const mica_batch_values *batch, const void *config, mica_objective *out) {
  const mica_run *run = config;
  mica_value x = mica_batch_value(batch, mica__common_facts_of(run).input_column), label = {0};
  mica_value time = mica_input(mica_nn_graph(nn), "batch.time", MICA_I32, MICA_SHAPE(MICA_DYNAMIC));
  if (mica__diffuse_classes(run))
    label = mica_input(mica_nn_graph(nn), "batch.class", MICA_I32, MICA_SHAPE(MICA_DYNAMIC));
  out->outputs[0] = mica__diffuse_network(nn, run, x, time, label);
  out->output_names[0] = "prediction";
}

static const mica_onnx_text export_docs[] = {
    {"image", "noisy pictures: sqrt(k) (u8 / 127.5 - 1) + sqrt(1 - k) noise, with k of the schedule at the time"},
    {"time", "step of the schedule, from 0 to \"noise-steps\" - 1"},
    {"class", "index of one of the \"classes\"; their number for any class"},
    {"prediction", "the \"target\": the noise, or the velocity sqrt(k) noise - sqrt(1 - k) picture"},
    {0}};

/* Pictures that two runs draw cannot be compared one by one. */
static mica_status agree(mica_run *run, mica_run *other, int64_t most, double *share, int64_t *count) {
  (void)run, (void)other, (void)most;
  *share = (double)NAN;
  *count = 0;
  return MICA_OK;
}

static bool suits_label(const mica_column *label) { return label->kind == MICA_COLUMN_KIND_CLASS; }

/* The number of values in a picture: channels times height times width. */
static int64_t outputs(const mica_run *run) {
  const mica__fact_numbers input = mica__common_facts_of(run).input;
  int64_t count = 1;
  for (size_t i = 0; i < input.count; i++) count *= (int64_t)input.list[i];
  return count;
}

static const mica__input mica__input_noisy = {.name = "noisy picture",
                                              .traits = {.sized = true},
                                              .suits = suits,
                                              .fits = mica__run_fits_input,
                                              .networks = networks};
static const mica__head mica__head_noise = {
    .name = "noise",
    .suits = suits_label,
    .output = "prediction",
    .outputs = outputs,
    .step = step,
    .shows = {.predict = mica__diffuse_predict, .report = mica__diffuse_report},
};

const mica__task_row mica__task_diffuse = {
    .name = "diffuse",
    .text = "pictures drawn from noise, of a class or of any",
    MICA__COMPOSED_PREPARED(noisy, noise),
    .draws = true,
    .classes = true,
    .metrics = metrics,
    .facts = &mica__diffuse_fact_list,
    .settings = &mica__diffuse_setting_list,
    .defaults = defaults,
    .least_steps = LEAST_STEPS,
    .prepare = prepare,
    .teaches = teaches,
    .exports = exports,
    .export_docs = export_docs,
    .agree = agree,
};
