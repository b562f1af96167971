/* Pictures of any sizes: windows of them to train on, tiles to test on, and U-Net. */
#include "task/input/picture.h"
#include "data/dataset.h"
#include "run/columns/columns.h"
#include "run/facts.h"
#include "run/fields.h"
#include "run/run.h"
#include "run/settings.h"
#include "run/state/parts.h"

#include <math.h>
#include <mica/nodes.h>
#include <string.h>

/* What a run is trained on unless its settings say otherwise: about so many windows, in so many epochs. */
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

static int32_t suits(const mica_dataset *data) { return mica__dataset_find(data, MICA_COLUMN_KIND_IMAGE) ? 20 : 0; }

/* --- data --- */

/* Pictures have the channels of the training's; sizes are their own. */
static void opens(const mica_run *run, mica_dataset_config *config) {
  size_t rank = 0;
  const double *input = mica_run_fact_numbers(run, "input", &rank);
  config->like = NULL;
  config->height = config->width = 0;
  if (input && rank == 3) config->channels = (int32_t)input[0];
  /* Other data have no channels; that they are none to learn masks from is said later. */
  const mica_shape known = run->parts->whole ? mica_dataset_shape(run->parts->whole) : MICA_SCALAR;
  if (known.rank == 3) config->channels = (int32_t)known.dim[0];
}

static void loads(const mica_run *run, mica_part part, mica_loader_config *config) {
  size_t count = 0;
  const double *window = mica_run_fact_numbers(run, "window", &count);
  if (part != MICA_PART_TRAIN || count != 2) return;
  config->window_height = (int32_t)window[0];
  config->window_width = (int32_t)window[1];
}

static mica_status shows(const mica_run *run, const mica_dataset *data, mica_dataset **shown) {
  const mica_tiling tiling = mica__picture_tiling(run);
  return mica_dataset_tiles(data, &tiling, shown);
}

/* Pictures of several sizes are each cut in their own, into parts that windows are drawn from. A run that began
 * without has them scaled and cut to the first one's. */
static bool has_own_sizes(const mica_run *run) {
  return run->parts->whole->store->sides && (!run->resumed || mica__run_find_fact(run, "cut"));
}

/* Every pixel lies in one part, and a part is larger than a window where no picture is smaller: windows begin anywhere
 * in it. Where a picture is smaller than a part it is mirrored, and what is so is of no class. */
static mica_status trains(const mica_run *run, const mica_dataset *data, mica_dataset **shown) {
  size_t count = 0;
  const double *cut = mica_run_fact_numbers(run, "cut", &count);
  if (count != 2 || !data->store->sides) return MICA_OK;
  return mica_dataset_tiles(data, &(mica_tiling){(int64_t)cut[0], (int64_t)cut[1], 0}, shown);
}

/* --- preparation --- */

/* The least multiple of what U-Net halves to 1 that holds a side, `most` at most. */
static double side_of(const mica_run *run, int64_t side, const char *most) {
  const double step = ldexp(1, (int)mica_run_number(run, "depth"));
  return fmin(ceil((double)side / step) * step, mica_run_number(run, most));
}

static mica_status note_sizes(mica_run *run) {
  const double step = ldexp(1, (int)mica_run_number(run, "depth"));
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
    const char *name = i ? "tile" : "window";
    if (fmod(mica_run_number(run, name), step) != 0)
      return mica__fail(MICA_E_INVALID, "%s %s cannot be halved %s times (depth); %.15g can", name,
                        mica_run_setting(run, name), mica_run_setting(run, "depth"),
                        fmax(floor(mica_run_number(run, name) / step), 1) * step);
    window[i] = side_of(run, most[i], "window");
    tile[i] = side_of(run, most[i], "tile");
    cut[i] = fmax(window[i], fmin((double)least[i], 2 * window[i]));
  }
  if (has_own_sizes(run)) MICA_TRY(mica__run_note_numbers(run, "cut", cut, 2));
  tile[2] = floor(fmin(tile[0], tile[1]) * mica_run_number(run, "overlap"));
  MICA_TRY(mica__run_note_numbers(run, "window", window, 2));
  return mica__run_note_numbers(run, "tile", tile, 3);
}

/* As many epochs as the pictures that there are need. */
static mica_status find_epochs(mica_run *run) {
  if (mica__run_is_set(run, "epochs")) return MICA_OK;
  const double pictures = (double)mica_dataset_count(run->parts->at[MICA_PART_TRAIN].data);
  const double epochs = fmin(fmax(ceil(USUAL_WINDOWS / pictures), LEAST_EPOCHS), MOST_EPOCHS);
  return mica__run_set_number(run, "epochs", epochs);
}

static mica_status check_tile(const mica_run *run) {
  size_t count = 0;
  const double *tile = mica_run_fact_numbers(run, "tile", &count);
  const mica_tiling t = mica__picture_tiling(run);
  if (tile && count == 3 && t.height <= 8192 && t.width <= 8192 && t.overlap < t.height && t.overlap < t.width &&
      t.overlap >= 0 && t.height > 0 && t.width > 0)
    return MICA_OK;
  return mica__fail(MICA_E_FORMAT, "\"tile\" holds no size of tiles");
}

static mica_status prepare(mica_run *run) {
  const mica_column *label = NULL;
  MICA_TRY(mica__run_set_defaults(run));
  MICA_TRY(mica__task_check_network(run));
  if (!run->parts->whole) return check_tile(run);
  const mica_dataset *data = run->parts->whole;
  if (!mica__dataset_find(data, MICA_COLUMN_KIND_IMAGE) || !run->task->head->label(data))
    return mica__fail(MICA_E_FORMAT, "%s: the task %s wants pictures and masks: folders image and mask, or columns",
                      run->data, run->task->name);
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
    return mica__fail(MICA_E_FORMAT, "%s has no pictures, which the run was trained on", mica_dataset_name(data));
  if (image->shape.dim[0] == (int64_t)mica__run_fact_number(run, "input", 0)) return MICA_OK;
  return mica__fail(MICA_E_FORMAT, "%s has pictures of %lld channels, the run was trained on %lld",
                    mica_dataset_name(data), (long long)image->shape.dim[0],
                    (long long)mica__run_fact_number(run, "input", 0));
}

/* --- the network --- */

static mica_value network(mica_nn *nn, const mica_run *run, const mica_batch_values *batch, int64_t outputs) {
  const mica__picture_settings s = settings_of(run);
  const mica_model_config model = {.name = "unet",
                                   .classes = outputs,
                                   .width = s.width,
                                   .depth = s.depth,
                                   .norm = s.norm == GROUP ? MICA_MODEL_NORM_GROUP : MICA_MODEL_NORM_BATCH};
  mica_value z = mica_model_build(nn, mica_batch_value(batch, mica__run_fact_text(run, "input_column")), &model);
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
    .samples.visit = mica__picture_visit,
    .samples.look = mica__picture_look,
    .samples.join = mica__picture_join,
};
