/* Pictures of any size: windows to train on, tiles to test on, and U-Net. */
#include "task/input/picture.h"
#include "data/annotation/scene_files.h"
#include "data/dataset.h"
#include "run/columns/columns.h"
#include "run/common_facts.h"
#include "run/common_values.h"
#include "run/config.h"
#include "run/facts.h"
#include "run/fields.h"
#include "run/predict/pictures.h"
#include "run/predict/tiles.h"
#include "run/run.h"
#include "run/settings.h"
#include "run/state/parts.h"

#include <math.h>
#include <mica/nodes.h>
#include <string.h>

/* By default, a run has as many epochs as give about USUAL_WINDOWS windows, but at least LEAST_EPOCHS and at most
 * MOST_EPOCHS. */
#define USUAL_WINDOWS 1600
#define LEAST_EPOCHS 10
#define MOST_EPOCHS 100

static const char *const networks[] = {"unet", NULL};

enum { BATCH, GROUP };

const char *mica__picture_norm_at(size_t i) {
  static const char *const names[] = {"batch", "group", NULL};
  return names[i];
}

MICA__SETTINGS_STRUCT(picture, PICTURE_SETTINGS);
MICA__SETTINGS(picture, PICTURE_SETTINGS);
MICA__FACTS(picture, PICTURE_FACTS, 3);

static int32_t suits(const mica_dataset *data) { return mica__dataset_find(data, MICA_COLUMN_KIND_IMAGE) ? 20 : 0; }

/* --- data --- */

/* Pictures must have the same number of channels as in training; their sizes may differ. */
static void opens(const mica_run *run, mica_dataset_config *config) {
  const mica__fact_numbers input = mica__common_facts_of(run).input;
  config->like = NULL;
  config->height = config->width = 0;
  if (input.count == 3) config->channels = (int32_t)input.list[0];
  /* Data that are not pictures have no channels. A later check reports that this task cannot learn from them. */
  const mica_shape known = run->parts->whole ? mica_dataset_shape(run->parts->whole) : MICA_SCALAR;
  if (known.rank == 3) config->channels = (int32_t)known.dim[0];
}

static void loads(const mica_run *run, mica_part part, mica_loader_config *config) {
  const mica__fact_numbers window = facts_of(run).window;
  if (part != MICA_PART_TRAIN || window.count != 2) return;
  config->window_height = (int32_t)window.list[0];
  config->window_width = (int32_t)window.list[1];
}

static mica_status shows(const mica_run *run, const mica_dataset *data, mica_dataset **shown) {
  const mica_tiling tiling = mica__picture_tiling(run);
  return mica_dataset_tiles(data, &tiling, shown);
}

/* True if pictures differ in size. Then each picture is cut into parts, and training draws windows from the parts.
 * False for a run that an older version began (without the stored value "cut"): that run scales and crops all pictures
 * to the size of the first one. */
static bool has_own_sizes(const mica_run *run) {
  return run->parts->whole->store->sides && (!run->resumed || facts_of(run).cut.count);
}

/* Cuts pictures into parts that do not overlap. A side of a part is twice that of a window, or that of the smallest
 * picture if it is less, but at least that of a window. So windows can begin at different positions in a part. A
 * picture smaller than a part is extended by mirroring; the mirrored pixels have no class. */
static mica_status trains(const mica_run *run, const mica_dataset *data, mica_dataset **shown) {
  const mica__fact_numbers cut = facts_of(run).cut;
  if (cut.count != 2 || !data->store->sides) return MICA_OK;
  return mica_dataset_tiles(data, &(mica_tiling){(int64_t)cut.list[0], (int64_t)cut.list[1], 0}, shown);
}

/* --- preparation --- */

/* `side`, rounded up to a multiple of `step` = 2^depth so that U-Net can halve it `depth` times, but at most `most`. */
static double side_of(double step, int64_t side, double most) { return fmin(ceil((double)side / step) * step, most); }

static mica_status note_sizes(mica_run *run) {
  const mica__picture_settings s = settings_of(run);
  const double step = ldexp(1, (int)s.depth), sides_of[2] = {(double)s.window, (double)s.tile};
  const mica_shape shape = mica_dataset_shape(run->parts->whole);
  int64_t least[2] = {shape.dim[1], shape.dim[2]}, most[2] = {shape.dim[1], shape.dim[2]};
  double window[2], tile[3], cut[2];
  for (uint64_t k = 0; has_own_sizes(run) && k < mica_dataset_count(run->parts->whole); k++) {
    int64_t sides[2];
    mica__dataset_sides(run->parts->whole, k, &sides[0], &sides[1]);
    for (int i = 0; i < 2; i++) {
      if (sides[i] < least[i]) least[i] = sides[i];
      if (sides[i] > most[i]) most[i] = sides[i];
    }
  }
  for (int i = 0; i < 2; i++) {
    if (fmod(sides_of[i], step) != 0)
      return mica__fail(MICA_E_INVALID, "%s %.15g cannot be halved %lld times (depth); %.15g can",
                        i ? "tile" : "window", sides_of[i], (long long)s.depth,
                        fmax(floor(sides_of[i] / step), 1) * step);
    window[i] = side_of(step, most[i], sides_of[0]);
    tile[i] = side_of(step, most[i], sides_of[1]);
    cut[i] = fmax(window[i], fmin((double)least[i], 2 * window[i]));
  }
  if (has_own_sizes(run)) MICA_TRY(mica__run_note_numbers(run, "cut", cut, 2));
  tile[2] = floor(fmin(tile[0], tile[1]) * s.overlap);
  MICA_TRY(mica__run_note_numbers(run, "window", window, 2));
  return mica__run_note_numbers(run, "tile", tile, 3);
}

/* Sets the number of epochs by the number of pictures, unless the user set it. */
static mica_status find_epochs(mica_run *run) {
  if (mica__common_is_set(run, MICA__SETTING_epochs)) return MICA_OK;
  const double pictures = (double)mica_dataset_count(run->parts->at[MICA_PART_TRAIN].data);
  const double epochs = fmin(fmax(ceil(USUAL_WINDOWS / pictures), LEAST_EPOCHS), MOST_EPOCHS);
  return mica__common_set_number(run, MICA__SETTING_epochs, epochs);
}

static mica_status check_tile(const mica_run *run) {
  const mica_tiling t = mica__picture_tiling(run);
  if (facts_of(run).tile.count == 3 && t.height <= 8192 && t.width <= 8192 && t.overlap < t.height &&
      t.overlap < t.width && t.overlap >= 0 && t.height > 0 && t.width > 0)
    return MICA_OK;
  return mica__run_damaged(
      run, run->data,
      mica__fail(MICA_E_FORMAT,
                 "config.json: \"tile\" must hold a height and a width of 1 to 8192, and an overlap below both"));
}

static mica_status fail_unlabelled(const mica_run *run) {
  const bool depths = run->task->head->numbers;
  const char *picture = mica_dataset_file(run->parts->whole, 0);
  if (picture) MICA_TRY(mica__pairs_check_types(picture, depths ? &mica__depth_pairing : &mica__mask_pairing));
  return mica__fail(MICA_E_FORMAT, "%s: the task %s wants pictures and %s, or a dataset with columns of both",
                    run->data, run->task->name,
                    depths ? "depth maps: folders image and depth" : "masks: folders image and mask");
}

static mica_status prepare(mica_run *run) {
  const mica_column *label = NULL;
  MICA_TRY(mica__run_set_defaults(run));
  MICA_TRY(mica__task_check_network(run));
  if (!run->parts->whole) return check_tile(run);
  const mica_dataset *data = run->parts->whole;
  if (!mica__dataset_find(data, MICA_COLUMN_KIND_IMAGE) || !run->task->head->label(data)) return fail_unlabelled(run);
  return mica__run_note_columns(run, &label);
}

static mica_status complete(mica_run *run, const mica_column *label) {
  (void)label;
  MICA_TRY(note_sizes(run));
  return find_epochs(run);
}

static mica_status fits(const mica_run *run, const mica_dataset *data) {
  const mica_column *image = mica__dataset_find(data, MICA_COLUMN_KIND_IMAGE);
  if (!image)
    return mica__fail(MICA_E_FORMAT, "%s has no pictures, but the run was trained on them", mica_dataset_name(data));
  const mica__fact_numbers input = mica__common_facts_of(run).input;
  const int64_t channels = input.count ? (int64_t)input.list[0] : 0;
  if (image->shape.dim[0] == channels) return MICA_OK;
  return mica__fail(MICA_E_FORMAT, "%s has pictures of %lld channels, but the run was trained on %lld",
                    mica_dataset_name(data), (long long)image->shape.dim[0], (long long)channels);
}

/* --- the network --- */

static mica_value network(mica_nn *nn, const mica_run *run, const mica_batch_values *batch, int64_t outputs) {
  const mica__picture_settings s = settings_of(run);
  const mica_model_config model = {.name = "unet",
                                   .classes = outputs,
                                   .width = s.width,
                                   .depth = s.depth,
                                   .norm = s.norm == GROUP ? MICA_MODEL_NORM_GROUP : MICA_MODEL_NORM_BATCH};
  mica_value z = mica_model_build(nn, mica_batch_value(batch, mica__common_facts_of(run).input_column), &model);
  return mica_value_dtype(z) == MICA_F32 ? z : mica_cast(z, MICA_F32);
}

const mica__input mica__input_picture = {
    .name = "picture",
    .suits = suits,
    .opens = opens,
    .prepare = prepare,
    .complete = complete,
    .fits = fits,
    .loads = loads,
    .views.shows = shows,
    .views.trains = trains,
    .networks = networks,
    .network = network,
    .samples.visit = mica__pictures_visit,
    .samples.look = mica__pictures_look,
    .samples.join = mica__picture_join,
};
