/* segment: which class each pixel of a picture belongs to. */
#include "task/segment/segment.h"
#include "data/annotation/masks.h"
#include "data/dataset.h"
#include "ops/collective/channels.h"
#include "run/columns/categories.h"
#include "run/columns/classes.h"
#include "run/columns/columns.h"
#include "run/composed.h"
#include "run/fact_fields.h"
#include "run/facts.h"
#include "run/setting_fields.h"
#include "run/settings.h"
#include "run/state/parts.h"

#include <math.h>
#include <mica/loss.h>
#include <mica/nodes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a run is trained on unless its settings say otherwise: about so many windows, in so many epochs. */
#define USUAL_WINDOWS 1600
#define LEAST_EPOCHS 10
#define MOST_EPOCHS 100
/* Masks in which classes are counted to balance them. */
#define COUNTED 500

static const char *loss_at(size_t i) {
  static const char *const names[] = {"cross_entropy_dice", "cross_entropy", "dice", "focal", NULL};
  return names[i];
}

static const char *norm_at(size_t i) {
  static const char *const names[] = {"batch", "group", NULL};
  return names[i];
}

#define SEGMENT_SETTINGS(X, S)                                                                                         \
  X(S, CHOICE, loss, "loss", "cross_entropy_dice", "NAME", "loss to minimise", .names = loss_at, .fixed = true)        \
  X(S, REAL, gamma, "gamma", "2", "G", "focal loss: how little easy pixels count", .low = 0, .high = 100,              \
    .fixed = true, .of = "loss=focal")                                                                                 \
  X(S, TEXT, class_weights, "class-weights", "", "LIST", "balanced, or one weight per class, as in 1,5,2",             \
    .fixed = true)                                                                                                     \
  X(S, TEXT, mask_values, "mask-values", "", "LIST",                                                                   \
    "classes of mask values, as in 0=wall,255=cell,*=void (default: found)", .fixed = true)                            \
  X(S, INT, width, "width", "24", "N", "channels of U-Net at full resolution", .low = 1, .high = 1024, .fixed = true)  \
  X(S, INT, depth, "depth", "4", "N", "times that U-Net halves the sides", .low = 1, .high = 8, .fixed = true)         \
  X(S, CHOICE, norm, "norm", "batch", "NAME", "normalisation; use group for batches of one or two", .names = norm_at,  \
    .fixed = true)                                                                                                     \
  X(S, INT, window, "window", "256", "PIXELS", "side of the windows cut from pictures for training", .low = 16,        \
    .high = 8192, .fixed = true)                                                                                       \
  X(S, INT, tile, "tile", "512", "PIXELS", "largest side predicted at once; larger pictures are split into tiles",     \
    .low = 16, .high = 8192, .fixed = true)                                                                            \
  X(S, REAL, overlap, "overlap", "0.25", "SHARE", "share of a tile that overlaps the next one", .low = 0,              \
    .high = 0.75, .fixed = true)
MICA__SETTINGS_STRUCT(segment, SEGMENT_SETTINGS);
static MICA__SETTINGS_TABLE(segment, SEGMENT_SETTINGS);

static const mica_setting defaults[] = {
    {"model", "unet"}, {"epochs", ""}, {"batch", "4"}, {"augment", "flip,rotate,scale,elastic"}, {0}};

static const mica_task_metric metrics[] = {{"dice", false}, {"iou", false}, {"accuracy", false}, {NULL, false}};

static const mica_column *column_of(const mica_dataset *data, mica_column_kind kind) {
  for (size_t i = 0; i < mica_dataset_column_count(data); i++)
    if (mica_dataset_column(data, i)->kind == kind) return mica_dataset_column(data, i);
  return NULL;
}

static int32_t suits(const mica_dataset *data) {
  return column_of(data, MICA_COLUMN_KIND_MASK) && column_of(data, MICA_COLUMN_KIND_IMAGE) ? 20 : 0;
}

/* --- data --- */

/* Pictures have the channels of the training's, masks its classes; sizes are their own. */
static void opens(const mica_run *run, mica_dataset_config *config) {
  const char *values = mica__run_fact_text(run, "mask_values"), *set = mica_run_setting(run, "mask-values");
  size_t rank = 0;
  const double *input = mica_run_fact_numbers(run, "input", &rank);
  config->like = NULL;
  config->height = config->width = 0;
  if (input && rank == 3) config->channels = (int32_t)input[0];
  /* Other data have no channels; that they are none to learn masks from is said later. */
  const mica_shape known = run->parts->whole ? mica_dataset_shape(run->parts->whole) : MICA_SCALAR;
  if (known.rank == 3) config->channels = (int32_t)known.dim[0];
  config->mask_values = *values             ? values
                        : *set              ? set
                        : run->parts->whole ? mica_dataset_mask_values(run->parts->whole)
                                            : NULL;
}

static void loads(const mica_run *run, mica_part part, mica_loader_config *config) {
  size_t count = 0;
  const double *window = mica_run_fact_numbers(run, "window", &count);
  if (part != MICA_PART_TRAIN || count != 2) return;
  config->window_height = (int32_t)window[0];
  config->window_width = (int32_t)window[1];
}

static mica_status shows(const mica_run *run, const mica_dataset *data, mica_dataset **shown) {
  const mica_tiling tiling = mica__segment_tiling(run);
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

static mica_status note_masks(mica_run *run, const mica_column *mask) {
  MICA_TRY(mica__run_note_classes(run, mask));
  const char *values = mica_dataset_mask_values(run->parts->whole);
  return values ? mica__run_note_text(run, "mask_values", values) : MICA_OK;
}

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

static mica_status count_classes(mica_run *run, double *counts, int64_t classes) {
  const mica_dataset *data = run->parts->at[MICA_PART_TRAIN].data;
  const uint64_t all = mica_dataset_count(data), count = all < COUNTED ? all : COUNTED;
  const mica_column *mask = column_of(data, MICA_COLUMN_KIND_MASK);
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

/* As many epochs as the pictures that there are need. */
static mica_status find_epochs(mica_run *run) {
  if (mica__run_is_set(run, "epochs")) return MICA_OK;
  const double pictures = (double)mica_dataset_count(run->parts->at[MICA_PART_TRAIN].data);
  const double epochs = fmin(fmax(ceil(USUAL_WINDOWS / pictures), LEAST_EPOCHS), MOST_EPOCHS);
  return mica__run_set_number(run, "epochs", epochs);
}

static mica_status prepare(mica_run *run) {
  const mica_column *label = NULL;
  size_t count = 0;
  MICA_TRY(mica__run_set_defaults(run));
  MICA_TRY(mica__task_check_network(run));
  if (mica__segment_classes(run) > MICA__MASK_CLASSES)
    return mica__fail(MICA_E_FORMAT, "%lld classes: masks have %d at most", (long long)mica__segment_classes(run),
                      MICA__MASK_CLASSES);
  if (!run->parts->whole) {
    const double *tile = mica_run_fact_numbers(run, "tile", &count);
    const mica_tiling t = mica__segment_tiling(run);
    if (tile && count == 3 && t.height <= 8192 && t.width <= 8192 && t.overlap < t.height && t.overlap < t.width &&
        t.overlap >= 0 && t.height > 0 && t.width > 0)
      return MICA_OK;
    return mica__fail(MICA_E_FORMAT, "\"tile\" holds no size of tiles");
  }
  if (!suits(run->parts->whole))
    return mica__fail(MICA_E_FORMAT,
                      "%s: the task segment wants pictures and masks: folders image and mask, or columns", run->data);
  MICA_TRY(mica__run_note_columns(run, &label));
  label = column_of(run->parts->whole, MICA_COLUMN_KIND_MASK);
  MICA_TRY(mica__run_note_text(run, "label_column", label->name));
  MICA_TRY(note_masks(run, label));
  MICA_TRY(note_sizes(run));
  MICA_TRY(find_epochs(run));
  return mica__run_note_weights(run, mica__segment_classes(run), count_classes);
}

static mica_status fits(const mica_run *run, const mica_dataset *data) {
  const mica_column *mask = column_of(data, MICA_COLUMN_KIND_MASK), *image = column_of(data, MICA_COLUMN_KIND_IMAGE);
  int32_t *map = NULL;
  size_t classes = 0;
  const char *const *names = mica_run_fact(run, "classes", &classes);
  if (!mask || !image)
    return mica__fail(MICA_E_FORMAT, "%s has no %s, which the run was trained on", mica_dataset_name(data),
                      mask ? "pictures" : "masks");
  if (image->shape.dim[0] != (int64_t)mica__run_fact_number(run, "input", 0))
    return mica__fail(MICA_E_FORMAT, "%s has pictures of %lld channels, the run was trained on %lld",
                      mica_dataset_name(data), (long long)image->shape.dim[0],
                      (long long)mica__run_fact_number(run, "input", 0));
  MICA_TRY(mica__run_map_names(data, mica_dataset_column_index(data, mask->name), false, names, classes, &map));
  if (!map) return MICA_OK;
  free(map);
  return mica__fail(MICA_E_FORMAT, "%s has the run's classes in another order", mica_dataset_name(data));
}

/* --- the step --- */

static mica_value sum_all(mica_value x) { return mica_sum(x, MICA_ALL_AXES, false); }

/* How many pixels count, each by its class's weight where there are weights. */
static mica_value count_pixels(mica_value y, mica_value weights) {
  mica_value counted = mica_cast(mica_greater_equal(y, mica_full_like(y, 0)), MICA_F32);
  if (!weights.graph) return sum_all(counted);
  mica_value known = mica_maximum(y, mica_full_like(y, 0));
  return sum_all(mica_mul(mica_gather(weights, known, 0), counted));
}

/* The mean over pixels that count; 0 of a batch, or of a rank's share of one, in which none does. */
static mica_value mean_of(mica_value sum, mica_value count) {
  return mica_div(sum, mica_maximum(count, mica_full_like(count, 1e-6)));
}

static mica_value cross_entropy(mica_value z, mica_value y, mica_value weights, mica_value count) {
  const mica_cross_entropy_config how = {
      .reduction = MICA_LOSS_REDUCTION_SUM, .weights = weights, .ignore = true, .ignored = -1};
  return mean_of(mica_cross_entropy(z, y, &how), count);
}

/* A quotient of sums over the batch, of which each of several ranks has a part. */
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
  const char *name = mica_run_setting(run, "loss");
  const double gamma = mica_run_number(run, "gamma");
  const mica_focal_config focal = {.reduction = MICA_LOSS_REDUCTION_SUM,
                                   .gamma = gamma > 0 ? gamma : MICA_ZERO,
                                   .weights = weights,
                                   .ignore = true,
                                   .ignored = -1};
  if (!strcmp(name, "focal")) return mean_of(mica_focal(z, y, &focal), count);
  if (!strcmp(name, "cross_entropy")) return cross_entropy(z, y, weights, count);
  mica_value dice = dice_of(nn, z, y, weights, joined);
  return !strcmp(name, "dice") ? dice : mica_add(cross_entropy(z, y, weights, count), dice);
}

static void step(mica_nn *nn, const mica_batch_values *batch, const void *config, mica_objective *out) {
  const mica_run *run = config;
  const char *label = mica__run_fact_text(run, "label_column");
  const int64_t classes = mica__segment_classes(run);
  const mica_model_config model = {.name = "unet",
                                   .classes = classes,
                                   .width = (int64_t)mica_run_number(run, "width"),
                                   .depth = (int64_t)mica_run_number(run, "depth"),
                                   .norm = strcmp(mica_run_setting(run, "norm"), "group") ? MICA_MODEL_NORM_BATCH
                                                                                          : MICA_MODEL_NORM_GROUP};
  mica_value z = mica_model_build(nn, mica_batch_value(batch, mica__run_fact_text(run, "input_column")), &model);
  if (mica_value_dtype(z) != MICA_F32) z = mica_cast(z, MICA_F32);
  out->answers[0] = (mica_answer){.kind = MICA_ANSWER_KIND_CLASSES, .value = z};
  if (!mica_nn_is_training(nn)) out->outputs[0] = mica_softmax(z, 1), out->output_names[0] = "shares";
  if (!z.graph || !mica_batch_has(batch, label)) return;
  mica_value y = mica_batch_value(batch, label), weights = mica__run_class_weights(run, z.graph);
  const char *const *names = mica_run_fact(run, "classes", NULL);
  out->weight = count_pixels(y, weights);
  out->loss = loss_of(run, nn, z, y, weights, out->weight, &out->joined);
  out->metrics[0] = mica_metric_dice("dice", z, y, names);
  out->metrics[1] = mica_metric_iou("iou", z, y, names);
  out->metrics[2] =
      (mica_metric){.name = "accuracy", .sum = sum_all(mica_hits(z, y)), .weight = count_pixels(y, (mica_value){0})};
}

static const mica_onnx_text export_docs[] = {
    {"image",
     "a picture, or a tile of a larger one, of sides that the network can halve: (u8 / 255 - \"mean\") / \"deviation\" "
     "of the channel"},
    {"shares", "of each pixel the probability of each of the \"classes\", whose values in masks are \"mask_values\""},
    {0}};

static const char *const networks[] = {"unet", NULL};

/* What config.json must hold of a run of the task. */
#define SEGMENT_FACTS(X, S)                                                                                            \
  X(S, TEXTS, classes, .needed = true)                                                                                 \
  X(S, NUMBERS, class_weights, .of = "classes", .above = -0x1p-149)                                                    \
  X(S, NUMBERS, tile, .needed = true, .count = 3, .above = -1, .most = 1 << 13)                                        \
  X(S, NUMBERS, window, .count = 2, .most = MICA__LARGEST_ROW)                                                         \
  X(S, NUMBERS, cut, .count = 2, .most = MICA__LARGEST_ROW)
MICA__FACTS_STRUCT(segment, SEGMENT_FACTS);
static MICA__FACTS_TABLE(segment, SEGMENT_FACTS, 3);

static const mica__input input = {
    .name = "picture",
    .loads = loads,
    .shows = shows,
    .trains = trains,
    .networks = networks,
};

const mica__task_row mica__task_segment = {
    .name = "segment",
    .text = "the class of each pixel of a picture, from pictures and masks",
    .input = &input,
    .metrics = metrics,
    .facts = &mica__segment_fact_list,
    .settings = &mica__segment_setting_list,
    .defaults = defaults,
    .opens = opens,
    .suits = suits,
    .prepare = prepare,
    .fits = fits,
    .step = step,
    .export_docs = export_docs,
    .evaluate = mica__segment_evaluate,
    .predict = mica__segment_predict,
    .report = mica__segment_report,
};
