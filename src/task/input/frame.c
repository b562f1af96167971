/* Pictures with boxes, scaled into a frame of one size, and a detector that predicts a box at each point of its
 * grids. */
#include "task/input/frame.h"
#include "data/dataset.h"
#include "networks/mosaic.h"
#include "run/columns/columns.h"
#include "run/facts.h"
#include "run/fields.h"
#include "run/predict/frames.h"
#include "run/run.h"
#include "run/settings.h"
#include "run/state/evaluation.h"
#include "run/state/parts.h"

#include <math.h>
#include <mica/vision.h>

/* If the pictures of a part, at the network's size, have at most this many bytes in all, they stay on the device, and
 * each is decoded once. */
#define MOST_RESIDENT 5e8

static const char *const networks[] = {"detector", NULL};

#define READ_FACTS(X, S)                                                                                               \
  FRAME_FACTS(X, S)                                                                                                    \
  X(S, NUMBERS, input, .needed = false)                                                                                \
  X(S, TEXTS, classes, .needed = false)                                                                                \
  X(S, TEXT, boxes_column, .needed = false)                                                                            \
  X(S, TEXT, label_column, .needed = false)

MICA__SETTINGS_STRUCT(frame, FRAME_SETTINGS);
MICA__SETTINGS(frame, FRAME_SETTINGS);
MICA__FACTS(frame, READ_FACTS, 3);

static int32_t suits(const mica_dataset *data) { return mica__dataset_find(data, MICA_COLUMN_KIND_IMAGE) ? 20 : 0; }

static void opens(const mica_run *run, mica_dataset_config *config) {
  if (!config->like) config->longest = (int32_t)settings_of(run).size;
}

static void loads(const mica_run *run, mica_part part, mica_loader_config *config) {
  const mica_dataset *data = run->evaluation->data ? run->evaluation->data : run->parts->at[part].data;
  const double bytes = data ? (double)mica_dataset_count(data) * (double)mica_dataset_input_bytes(data) : INFINITY;
  if (bytes <= MOST_RESIDENT) config->residence = MICA_RESIDENCE_DEVICE;
}

/* --- preparation --- */

static mica_status note_columns(mica_run *run) {
  const mica_dataset *data = run->parts->whole;
  const mica_column *image = mica__dataset_find(data, MICA_COLUMN_KIND_IMAGE);
  const bool boxes = mica__dataset_find(data, MICA_COLUMN_KIND_BOXES) != NULL;
  double dims[3];
  if (!image || !boxes || !run->task->head->label(data))
    return mica__fail(MICA_E_FORMAT, "%s has no %s: the task %s wants pictures, boxes and a class of each",
                      mica_dataset_name(data),
                      !image   ? "pictures"
                      : !boxes ? "boxes"
                               : "classes of boxes",
                      run->task->name);
  for (int i = 0; i < 3; i++) dims[i] = (double)image->shape.dim[i];
  if (image->shape.dim[1] % MICA_DETECTOR_MULTIPLE != 0 || image->shape.dim[2] % MICA_DETECTOR_MULTIPLE != 0)
    return mica__fail(MICA_E_FORMAT, "%s has pictures of %g x %g pixels, but their sides must be multiples of %d",
                      mica_dataset_name(data), dims[2], dims[1], MICA_DETECTOR_MULTIPLE);
  MICA_TRY(mica__run_note_numbers(run, "input", dims, 3));
  return mica__run_note_text(run, "input_column", image->name);
}

static mica_status no_picture(void *user, uint64_t sample, void *data, size_t bytes) {
  (void)user, (void)sample, (void)data, (void)bytes;
  return mica__fail(MICA_E_STATE, "the run was opened without data, so it has no pictures to read");
}

/* For a run that is opened without data, makes a dataset that has the run's classes and picture size, but no pictures.
 * Data that are given later are compared with it. */
static mica_status make_outline(mica_run *run) {
  static const int64_t offsets[2];
  static const int32_t none[1];
  const mica__frame_facts facts = facts_of(run);
  if (facts.input.count != 3 || !facts.classes.count)
    return mica__fail(MICA_E_FORMAT, "%s is damaged: config.json holds no classes, or no size of pictures",
                      run->folder);
  const double *input = facts.input.list;
  const mica_column_data columns[] = {
      {.column = {"image", MICA_COLUMN_KIND_IMAGE, MICA_U8,
                  MICA_SHAPE((int64_t)input[0], (int64_t)input[1], (int64_t)input[2]), 0},
       .read = no_picture},
      {.column = {"label", MICA_COLUMN_KIND_CLASS, MICA_I32, {1, {MICA_DYNAMIC}}, (int32_t)facts.classes.count},
       .data = none,
       .offsets = offsets,
       .class_names = facts.classes.list}};
  MICA_TRY(mica_dataset_create("the run", 1, columns, 2, &run->parts->outline));
  run->parts->outlined = true;
  return MICA_OK;
}

static mica_status prepare(mica_run *run) {
  MICA_TRY(mica__run_set_defaults(run));
  MICA_TRY(mica__task_check_network(run));
  const int64_t width = settings_of(run).width;
  if (width % 8 != 0) return mica__fail(MICA_E_INVALID, "width must be a multiple of 8, not %lld", (long long)width);
  return run->parts->whole ? note_columns(run) : make_outline(run);
}

/* --- the network --- */

/* The pictures of a batch. In training, a share of them (the setting "mosaic") is composed of four pictures each, and
 * the boxes change with them. */
static mica_value pictures(mica_nn *nn, const mica_run *run, const mica_batch_values *batch) {
  const mica__frame_facts facts = facts_of(run);
  const double share = settings_of(run).mosaic;
  mica__mosaic_batch b = {.x = mica_batch_value(batch, facts.input_column)};
  if (!mica_batch_has(batch, facts.boxes_column) || !mica_batch_has(batch, facts.label_column)) return b.x;
  b.boxes = mica_batch_value(batch, facts.boxes_column);
  b.label = mica_batch_value(batch, facts.label_column);
  if (mica_batch_has(batch, "ignored")) b.ignored = mica_batch_value(batch, "ignored");
  if (!mica_nn_is_training(nn) || !(share > 0)) return b.x;
  mica__mosaic(nn, share, &b);
  mica__batch_replace(batch, facts.input_column, b.x);
  mica__batch_replace(batch, facts.boxes_column, b.boxes);
  mica__batch_replace(batch, facts.label_column, b.label);
  if (b.ignored.graph) mica__batch_replace(batch, "ignored", b.ignored);
  return b.x;
}

/* Returns (N, points, outputs + 5) f32: for each point, a score per class, centre-ness and four distances
 * (networks/detector.h). */
static mica_value network(mica_nn *nn, const mica_run *run, const mica_batch_values *batch, int64_t outputs) {
  const mica_model_config model = {.name = networks[0], .classes = outputs, .width = settings_of(run).width};
  return mica_model_build(nn, pictures(nn, run, batch), &model);
}

const mica__input mica__input_frame = {
    .name = "frame",
    .suits = suits,
    .opens = opens,
    .prepare = prepare,
    .fits = mica__run_fits_input,
    .loads = loads,
    .networks = networks,
    .network = network,
    .samples.visit = mica__frames_visit,
    .samples.look = mica__frames_look,
};
