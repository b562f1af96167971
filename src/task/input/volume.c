/* Volumes: windows to train and test on, and a three-dimensional U-Net (Cicek et al. 2016). */
#include "task/input/volume.h"
#include "run/columns/columns.h"
#include "run/common_facts.h"
#include "run/common_fields.h"
#include "run/config.h"
#include "run/facts.h"
#include "run/fields.h"
#include "run/run.h"
#include "run/settings.h"
#include "run/state/parts.h"

#include <math.h>
#include <mica/nodes.h>
#include <string.h>

static const char *const networks[] = {"unet", NULL};

enum { GROUP, BATCH };

const char *mica__volume_norm_at(size_t i) {
  static const char *const names[] = {"group", "batch", NULL};
  return names[i];
}

static bool has_volumes(const mica_dataset *data) { return data->store->volumes != NULL; }

static int32_t suits(const mica_dataset *data) { return has_volumes(data) ? 30 : 0; }

/* Lets each volume keep its own size. */
static void opens(const mica_run *run, mica_dataset_config *config) {
  (void)run;
  config->like = NULL;
  config->channels = config->height = config->width = 0;
}

/* --- windows --- */

static mica_status shows(const mica_run *run, const mica_dataset *data, mica_dataset **shown) {
  const mica__grid grid = mica__volume_grid(run);
  return mica__volumes_tiles(data, &grid, shown);
}

static mica_status trains(const mica_run *run, const mica_dataset *data, mica_dataset **shown) {
  const mica__volume_settings s = mica__volume_settings_of(run);
  const mica__grid grid = mica__volume_grid(run);
  const mica__patching how = {{grid.sides[0], grid.sides[1], grid.sides[2]}, s.windows, !s.keep_sides};
  return mica__volumes_patches(data, &how, shown);
}

/* --- preparation --- */

/* Sets the stored values "window" and "input". Along each axis a window is as long as the setting says or, if that is
 * shorter, as the longest volume rounded up to a multiple of 2^depth, so that U-Net can halve it `depth` times. */
static mica_status note_window(mica_run *run) {
  const mica__volume_settings s = mica__volume_settings_of(run);
  const mica_dataset *data = run->parts->whole;
  const double step = ldexp(1, (int)s.depth), channels = (double)mica__volumes_header(data, 0)->channels;
  double most[3] = {1, 1, 1}, window[3];
  if (fmod((double)s.window, step) != 0)
    return mica__fail(MICA_E_INVALID, "window %lld cannot be halved %lld times (depth); %.15g can", (long long)s.window,
                      (long long)s.depth, fmax(floor((double)s.window / step), 1) * step);
  for (uint64_t k = 0; k < mica_dataset_count(data); k++)
    for (int i = 0; i < 3; i++) most[i] = fmax(most[i], (double)mica__volumes_header(data, k)->sides[i]);
  for (int i = 0; i < 3; i++) window[i] = fmin(ceil(most[i] / step) * step, (double)s.window);
  MICA_TRY(mica__run_note_numbers(run, "window", window, 3));
  return mica__run_note_numbers(run, "input", (double[]){channels, window[0] * window[1], window[2]}, 3);
}

static mica_status check_window(const mica_run *run) {
  const mica__fact_numbers window = mica__volume_facts_of(run).window;
  for (size_t i = 0; i < window.count; i++)
    if (window.list[i] < 1)
      return mica__run_damaged(run, run->data,
                               mica__fail(MICA_E_FORMAT,
                                          "config.json: \"window\" has the length %g, but must have lengths above 0",
                                          window.list[i]));
  if (window.count == 3 && mica__common_facts_of(run).input.count == 3) return MICA_OK;
  return mica__run_damaged(
      run, run->data,
      mica__fail(MICA_E_FORMAT, "config.json: \"%s\" must hold 3 numbers", window.count == 3 ? "input" : "window"));
}

static mica_status prepare(mica_run *run) {
  const mica_column *label = NULL;
  MICA_TRY(mica__run_set_defaults(run));
  MICA_TRY(mica__task_check_network(run));
  if (strcmp(mica__common_settings_of(run).augment, "none") != 0)
    return mica__fail(
        MICA_E_INVALID,
        "augment is for pictures; the task %s mirrors windows instead (setting keep-sides); leave augment out",
        run->task->name);
  if (!run->parts->whole) return check_window(run);
  if (!has_volumes(run->parts->whole))
    return mica__fail(MICA_E_FORMAT, "%s: the task %s wants volumes and masks: .nii files in folders image and mask",
                      run->data, run->task->name);
  return mica__run_note_columns(run, &label);
}

static mica_status complete(mica_run *run, const mica_column *label) {
  (void)label;
  return note_window(run);
}

static mica_status fits(const mica_run *run, const mica_dataset *data) {
  const mica__fact_numbers input = mica__common_facts_of(run).input;
  if (!has_volumes(data))
    return mica__fail(MICA_E_FORMAT, "%s has no volumes, but the run was trained on them", mica_dataset_name(data));
  const int64_t channels = mica__volumes_header(data, 0)->channels;
  if (input.count != 3 || channels == (int64_t)input.list[0]) return MICA_OK;
  return mica__fail(MICA_E_FORMAT, "%s has volumes of %lld channels, but the run was trained on %lld",
                    mica_dataset_name(data), (long long)channels, (long long)input.list[0]);
}

/* --- the network --- */

/* Logits (N, K, D, H, W) of windows (N, C, D, H, W). */
static mica_value answer(mica_nn *nn, const mica_run *run, mica_value x, int64_t outputs) {
  const mica__volume_settings s = mica__volume_settings_of(run);
  const mica_model_config model = {.name = "unet",
                                   .classes = outputs,
                                   .width = s.width,
                                   .depth = s.depth,
                                   .norm = s.norm == GROUP ? MICA_MODEL_NORM_GROUP : MICA_MODEL_NORM_BATCH};
  mica_value z = mica_model_build(nn, x, &model);
  return mica_value_dtype(z) == MICA_F32 ? z : mica_cast(z, MICA_F32);
}

static mica_value image_of(const mica_run *run, const mica_batch_values *batch) {
  return mica_batch_value(batch, mica__common_facts_of(run).input_column);
}

/* Batches store a window (D, H, W) as a picture with D * H rows. Builds the network on the windows, and returns its
 * answers in the same form. */
static mica_value network(mica_nn *nn, const mica_run *run, const mica_batch_values *batch, int64_t outputs) {
  const mica__grid grid = mica__volume_grid(run);
  const int64_t depth = grid.sides[0], height = grid.sides[1], width = grid.sides[2];
  mica_value x = image_of(run, batch);
  const int64_t channels = (int64_t)mica__common_facts_of(run).input.list[0];
  mica_value z = answer(nn, run, mica_reshape(x, MICA_SHAPE(MICA_DYNAMIC, channels, depth, height, width)), outputs);
  return mica_reshape(z, MICA_SHAPE(MICA_DYNAMIC, outputs, depth * height, width));
}

static mica_value exported(mica_nn *nn, const mica_run *run, const mica_batch_values *batch, int64_t outputs) {
  return answer(nn, run, image_of(run, batch), outputs);
}

static void export_shapes(const mica_run *run, mica_batch_column *columns, size_t count) {
  const mica__grid grid = mica__volume_grid(run);
  const int64_t channels = (int64_t)mica__common_facts_of(run).input.list[0];
  for (size_t i = 0; i < count; i++)
    if (!strcmp(columns[i].name, mica__common_facts_of(run).input_column))
      columns[i].shape = MICA_SHAPE(MICA_DYNAMIC, channels, grid.sides[0], grid.sides[1], grid.sides[2]);
}

const mica__input mica__input_volume = {
    .name = "volume",
    .traits.volumes = true,
    .suits = suits,
    .opens = opens,
    .prepare = prepare,
    .complete = complete,
    .fits = fits,
    .views.shows = shows,
    .views.trains = trains,
    .networks = networks,
    .network = network,
    .onnx.network = exported,
    .onnx.shapes = export_shapes,
    .samples.visit = mica__volume_visit,
    .samples.look = mica__volume_look,
    .samples.join = mica__volume_join,
};
