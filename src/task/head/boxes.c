/* detect: boxes of things in pictures and their classes, by a network that answers at points (FCOS, Tian et al.
 * 2019). What each point is to answer is found on the device. */
#include "task/head/boxes.h"
#include "run/columns/categories.h"
#include "run/columns/classes.h"
#include "run/columns/columns.h"
#include "run/composed.h"
#include "run/fact_fields.h"
#include "run/facts.h"
#include "run/setting_fields.h"
#include "run/settings.h"
#include "run/state/evaluation.h"
#include "run/state/parts.h"

#include <math.h>
#include <mica/loss.h>
#include <mica/nodes.h>
#include <mica/vision.h>
#include <stdlib.h>
#include <string.h>

/* Points within so many strides of a box's centre are responsible for it (FCOS's centre sampling). */
#define RADIUS 1.5
/* Distances that points of a stride are responsible for: up to so many strides; those of the coarsest for all above. */
#define REACH 6
/* The answers of a picture that suppression is done on. */
#define CANDIDATES 400
/* More than any area. */
#define FAR 1e12

#define DETECT_SETTINGS(X, S)                                                                                          \
  X(S, INT, size, "size", "320", "PIXELS", "longer side that pictures are scaled to, padded to a multiple of 32",      \
    .low = 32, .high = 4096, .fixed = true)                                                                            \
  X(S, INT, width, "width", "32", "CHANNELS", "channels of the detector at stride 4, a multiple of 8", .low = 8,       \
    .high = 1024, .fixed = true)                                                                                       \
  X(S, REAL, mosaic, "mosaic", "0", "SHARE", "share of training pictures composed of four", .low = 0, .high = 1,       \
    .fixed = true)                                                                                                     \
  X(S, REAL, overlap, "overlap", "0.6", "IOU", "drop boxes that overlap a better one of their class by more",          \
    .low = 0.01, .high = 1)                                                                                            \
  X(S, REAL, least_score, "least-score", "0.5", "SCORE", "lowest score of predicted boxes; metrics count all",         \
    .low = 0, .high = 1)
MICA__SETTINGS_STRUCT(detect, DETECT_SETTINGS);
static MICA__SETTINGS_TABLE(detect, DETECT_SETTINGS);

/* Blood cells (205 pictures) from scratch come to a map_50 of 0.876 on their test part with them, 0.882 with
 * --mosaic 0.5 (2026-11-25). */
static const mica_setting defaults[] = {{"model", "detector"},
                                        {"epochs", "30"},
                                        {"batch", "8"},
                                        {"optimizer", "adamw"},
                                        {"lr", "0.002"},
                                        {"weight-decay", "0.01"},
                                        {"schedule", "cosine"},
                                        {"clip-norm", "5"},
                                        {"ema", "0.99"},
                                        {"augment", "flip,scale=0.2,crop=16,brightness=0.1,contrast=0.1"},
                                        {0}};

static const mica_task_metric metrics[] = {{"map_50", false}, {"map", false}, {NULL, false}};

/* The first column of a kind; NULL without one. */
static const mica_column *column_of(const mica_dataset *data, mica_column_kind kind) {
  for (size_t i = 0; i < mica_dataset_column_count(data); i++)
    if (mica_dataset_column(data, i)->kind == kind) return mica_dataset_column(data, i);
  return NULL;
}

static bool is_label(const mica_column *c) {
  return c->kind == MICA_COLUMN_KIND_CLASS && c->shape.rank == 1 && c->shape.dim[0] == MICA_DYNAMIC;
}

static const mica_column *label_of(const mica_dataset *data) {
  for (size_t i = 0; i < mica_dataset_column_count(data); i++)
    if (is_label(mica_dataset_column(data, i))) return mica_dataset_column(data, i);
  return NULL;
}

static int32_t suits(const mica_dataset *data) {
  return column_of(data, MICA_COLUMN_KIND_BOXES) && column_of(data, MICA_COLUMN_KIND_IMAGE) && label_of(data) ? 20 : 0;
}

static void opens(const mica_run *run, mica_dataset_config *config) {
  if (!config->like) config->longest = (int32_t)mica_run_number(run, "size");
}

/* --- preparation --- */

/* Steps of a rising rate where none are set, but a tenth of the run's at most: a short run would end before. */
#define WARM_UP 100
static mica_status set_warm_up(mica_run *run) {
  const mica_dataset *data = run->parts->at[MICA_PART_TRAIN].data;
  if (!data || mica__run_is_set(run, "warm-up")) return MICA_OK;
  const double batches = fmax(floor((double)mica_dataset_count(data) / mica_run_number(run, "batch")), 1);
  const double steps = floor(batches / fmax(mica_run_number(run, "accumulate"), 1) * mica_run_number(run, "epochs"));
  return mica__run_set_number(run, "warm-up", fmin(WARM_UP, floor(steps / 10)));
}

static mica_status note_columns(mica_run *run) {
  const mica_column *image = column_of(run->parts->whole, MICA_COLUMN_KIND_IMAGE);
  const mica_column *boxes = column_of(run->parts->whole, MICA_COLUMN_KIND_BOXES), *label = label_of(run->parts->whole);
  double dims[3];
  if (!image || !boxes || !label)
    return mica__fail(MICA_E_FORMAT, "%s has no %s: the task detect wants pictures, boxes and a class of each",
                      mica_dataset_name(run->parts->whole),
                      !image   ? "pictures"
                      : !boxes ? "boxes"
                               : "classes of boxes");
  for (int i = 0; i < 3; i++) dims[i] = (double)image->shape.dim[i];
  if (image->shape.dim[1] % MICA_DETECTOR_MULTIPLE != 0 || image->shape.dim[2] % MICA_DETECTOR_MULTIPLE != 0)
    return mica__fail(MICA_E_FORMAT, "%s has pictures of %g x %g; the detector takes sides that are multiples of %d",
                      mica_dataset_name(run->parts->whole), dims[2], dims[1], MICA_DETECTOR_MULTIPLE);
  MICA_TRY(mica__run_note_numbers(run, "input", dims, 3));
  MICA_TRY(mica__run_note_text(run, "input_column", image->name));
  MICA_TRY(mica__run_note_text(run, "boxes_column", boxes->name));
  MICA_TRY(mica__run_note_text(run, "label_column", label->name));
  return mica__run_note_classes(run, label);
}

static mica_status no_picture(void *user, uint64_t sample, void *data, size_t bytes) {
  (void)user, (void)sample, (void)data, (void)bytes;
  return mica__fail(MICA_E_STATE, "an outline has no pictures");
}

/* Data for a run that was opened go with a dataset of its classes and its size. */
static mica_status make_outline(mica_run *run) {
  static const int64_t offsets[2];
  static const int32_t none[1];
  size_t classes = 0, rank = 0;
  const char *const *names = mica_run_fact(run, "classes", &classes);
  const double *input = mica_run_fact_numbers(run, "input", &rank);
  if (rank != 3 || !classes) return mica__fail(MICA_E_FORMAT, "%s has no classes, or no pictures", run->folder);
  const mica_column_data columns[] = {
      {.column = {"image", MICA_COLUMN_KIND_IMAGE, MICA_U8,
                  MICA_SHAPE((int64_t)input[0], (int64_t)input[1], (int64_t)input[2]), 0},
       .read = no_picture},
      {.column = {"label", MICA_COLUMN_KIND_CLASS, MICA_I32, {1, {MICA_DYNAMIC}}, (int32_t)classes},
       .data = none,
       .offsets = offsets,
       .class_names = names}};
  MICA_TRY(mica_dataset_create("the run", 1, columns, 2, &run->parts->outline));
  run->parts->outlined = true;
  return MICA_OK;
}

static mica_status prepare(mica_run *run) {
  MICA_TRY(mica__run_set_defaults(run));
  MICA_TRY(set_warm_up(run));
  MICA_TRY(mica__task_check_network(run));
  if ((int64_t)mica_run_number(run, "width") % 8 != 0)
    return mica__fail(MICA_E_INVALID, "width is a multiple of 8, not %s", mica_run_setting(run, "width"));
  return run->parts->whole ? note_columns(run) : make_outline(run);
}

static mica_status fits(const mica_run *run, const mica_dataset *data) {
  const mica_column *label = label_of(data);
  int32_t *map = NULL;
  size_t known = 0;
  const char *const *names = mica_run_fact(run, "classes", &known);
  MICA_TRY(mica__run_fits_input(run, data));
  if (!column_of(data, MICA_COLUMN_KIND_BOXES) || !label)
    return mica__fail(MICA_E_FORMAT, "%s has no boxes with classes", mica_dataset_name(data));
  mica_status status =
      mica__run_map_names(data, mica_dataset_column_index(data, label->name), false, names, known, &map);
  if (status == MICA_OK && map)
    status =
        mica__fail(MICA_E_FORMAT, "%s: the classes stand in another order than the run's", mica_dataset_name(data));
  free(map);
  return status;
}

/* Pictures that fit are decoded once. */
#define MOST_RESIDENT 5e8

static void loads(const mica_run *run, mica_part part, mica_loader_config *config) {
  const mica_dataset *data = run->evaluation->data ? run->evaluation->data : run->parts->at[part].data;
  const double bytes = data ? (double)mica_dataset_count(data) * (double)mica_dataset_input_bytes(data) : INFINITY;
  if (bytes <= MOST_RESIDENT) config->residence = MICA_RESIDENCE_DEVICE;
}

/* --- the network's answers, taken apart --- */

/* What is known of each point, (1, points): constants. */
typedef struct points {
  int64_t count, height, width;
  mica_value x, y, low, high, radius;
} points;

static points make_points(const mica_run *run, mica_graph *graph) {
  const double *input = mica_run_fact_numbers(run, "input", NULL);
  points p = {.height = (int64_t)input[1], .width = (int64_t)input[2]};
  p.count = mica_detector_points(p.height, p.width, NULL);
  float *list = malloc((size_t)p.count * 8 * sizeof *list), *columns = list ? list + 3 * p.count : NULL;
  if (!list) {
    mica_graph_fail(graph, MICA_E_NOMEM, "out of memory for a detector's points");
    return p;
  }
  mica_detector_points(p.height, p.width, list);
  for (int64_t i = 0; i < p.count; i++) {
    const float *point = list + 3 * i, stride = point[2];
    columns[i] = point[0];
    columns[p.count + i] = point[1];
    columns[2 * p.count + i] = stride == list[2] ? 0 : REACH * stride / 2;
    columns[3 * p.count + i] = stride == list[3 * p.count - 1] ? (float)FAR : REACH * stride;
    columns[4 * p.count + i] = (float)RADIUS * stride;
  }
  mica_value *const values[] = {&p.x, &p.y, &p.low, &p.high, &p.radius};
  for (int k = 0; k < 5; k++)
    *values[k] = mica_constant(graph, MICA_F32, MICA_SHAPE(1, p.count), columns + k * p.count);
  free(list);
  return p;
}

/* Element k of the last axis, which is dropped. */
static mica_value part(mica_value x, int32_t k) { return mica_squeeze(mica_slice(x, -1, k, k + 1, 1), MICA_AXES(-1)); }

static mica_value number(mica_value like, double value) {
  return mica_scalar(like.graph, mica_value_dtype(like), value);
}

/* Distances (N, points, 4) as corners. */
static mica_value corners(const points *p, mica_value distances) {
  mica_value sides[4] = {mica_sub(p->x, part(distances, 0)), mica_sub(p->y, part(distances, 1)),
                         mica_add(p->x, part(distances, 2)), mica_add(p->y, part(distances, 3))};
  for (int k = 0; k < 4; k++) sides[k] = mica_unsqueeze(sides[k], MICA_AXES(2));
  return mica_concat(sides, 4, 2);
}

/* --- targets --- */

/* What each point is to answer. */
typedef struct targets {
  mica_value positive; /* (N, points) f32: 1 where a box is to be found */
  mica_value counts;   /* likewise: 0 where a point says neither yes nor no, in what is ignored */
  mica_value label;    /* (N, points) i32 */
  mica_value box;      /* (N, points, 4) */
  mica_value centre;   /* (N, points) f32: centre-ness */
} targets;

static mica_value all_of(const mica_value *conditions, int count) {
  mica_value all = conditions[0];
  for (int i = 1; i < count; i++) all = mica_logical_and(all, conditions[i]);
  return all;
}

/* The extremes of four values. */
static mica_value extreme(const mica_value d[4], bool largest) {
  return largest ? mica_maximum(mica_maximum(d[0], d[1]), mica_maximum(d[2], d[3]))
                 : mica_minimum(mica_minimum(d[0], d[1]), mica_minimum(d[2], d[3]));
}

/* sqrt(min(l, r) / max(l, r) min(t, b) / max(t, b)); 0 outside of the box. */
static mica_value centreness(const points *p, mica_value box) {
  mica_value l = mica_sub(p->x, part(box, 0)), t = mica_sub(p->y, part(box, 1));
  mica_value r = mica_sub(part(box, 2), p->x), b = mica_sub(part(box, 3), p->y);
  mica_value across = mica_div(mica_minimum(l, r), mica_maximum(mica_maximum(l, r), number(l, 1e-3)));
  mica_value down = mica_div(mica_minimum(t, b), mica_maximum(mica_maximum(t, b), number(t, 1e-3)));
  return mica_sqrt(mica_clip(mica_mul(mica_clip(across, 0, 1), mica_clip(down, 0, 1)), 0, 1));
}

/* A point is responsible for the smallest box among those that it is in, near whose centre it is, and whose farthest
 * side is in its stride's reach. boxes (N, M, 4), label (N, M), ignored (N, M) or null. */
static targets assign(const points *p, mica_value boxes, mica_value label, mica_value ignored) {
  mica_value side[4], d[4];
  mica_value x = mica_unsqueeze(p->x, MICA_AXES(2)), y = mica_unsqueeze(p->y, MICA_AXES(2));
  for (int k = 0; k < 4; k++) side[k] = mica_unsqueeze(part(boxes, k), MICA_AXES(1));
  d[0] = mica_sub(x, side[0]), d[1] = mica_sub(y, side[1]);
  d[2] = mica_sub(side[2], x), d[3] = mica_sub(side[3], y);
  mica_value radius = mica_unsqueeze(p->radius, MICA_AXES(2)), farthest = extreme(d, true);
  mica_value area = mica_mul(mica_sub(side[2], side[0]), mica_sub(side[3], side[1]));
  mica_value zero = number(area, 0), inside = mica_greater(extreme(d, false), zero);
  /* x - (x0 + x1) / 2 is half of l - r. */
  mica_value off = mica_affine(mica_maximum(mica_abs(mica_sub(d[0], d[2])), mica_abs(mica_sub(d[1], d[3]))), 0.5, 0);
  mica_value conditions[6] = {
      inside, mica_less(off, radius), mica_greater(farthest, mica_unsqueeze(p->low, MICA_AXES(2))),
      mica_less_equal(farthest, mica_unsqueeze(p->high, MICA_AXES(2))), mica_greater(area, zero)};
  int count = 5;
  mica_value some = {0};
  if (ignored.graph) {
    some = mica_unsqueeze(mica_greater(ignored, number(ignored, 0)), MICA_AXES(1));
    conditions[count++] = mica_logical_not(some);
  }
  mica_value cost = mica_where(all_of(conditions, count), area, number(area, FAR));
  mica_value best = mica_argmin(cost, 2, false);
  targets t = {.positive = mica_cast(mica_less(mica_min(cost, MICA_AXES(2), false), number(cost, FAR / 2)), MICA_F32)};
  t.label = mica_gather_elements(label, best, 1);
  mica_value index = mica_unsqueeze(best, MICA_AXES(2));
  t.box = mica_gather_elements(boxes, mica_concat((mica_value[]){index, index, index, index}, 4, 2), 1);
  t.centre = mica_mul(centreness(p, t.box), t.positive);
  t.counts = mica_full_like(t.positive, 1);
  if (!ignored.graph) return t;
  mica_value hidden = mica_max(mica_cast(mica_logical_and(inside, some), MICA_F32), MICA_AXES(2), false);
  t.counts = mica_maximum(mica_affine(hidden, -1, 1), t.positive);
  return t;
}

/* --- the step --- */

static mica_value sum(mica_value x) { return mica_sum(x, MICA_ALL_AXES, false); }

/* Sums over points, of which the loss is the mean over those that are to find a box. */
static void add_losses(const points *p, mica_value z, int32_t classes, const targets *t, mica_objective *out) {
  mica_value logits = mica_slice(z, 2, 0, classes, 1), centre = part(z, classes);
  mica_value found_at = corners(p, mica_slice(z, 2, classes + 1, classes + 5, 1));
  mica_value off = number(z, 0), on = number(z, 1);
  mica_value kinds = mica_mul(mica_one_hot(t->label, classes, 2, off, on), mica_unsqueeze(t->positive, MICA_AXES(2)));
  mica_value focal =
      mica_binary_focal(logits, kinds, &(mica_binary_focal_config){.reduction = MICA_LOSS_REDUCTION_NONE});
  mica_value overlap = mica_giou(found_at, t->box), positive = sum(t->positive), found = mica_maximum(positive, on);
  mica_value of_class = sum(mica_mul(focal, mica_unsqueeze(t->counts, MICA_AXES(2))));
  mica_value of_box = sum(mica_mul(mica_affine(overlap, -1, 1), t->positive));
  mica_value of_centre =
      sum(mica_mul(mica_bce_with_logits(centre, t->centre, 1, MICA_LOSS_REDUCTION_NONE), t->positive));
  out->loss = mica_div(mica_add(mica_add(of_class, of_box), of_centre), found);
  out->weight = positive;
  out->least = 1;
  out->metrics[0] = (mica_metric){.name = "class_loss", .sum = of_class, .weight = found};
  out->metrics[1] = (mica_metric){.name = "giou_loss", .sum = of_box, .weight = found};
  out->metrics[2] = (mica_metric){.name = "centre_loss", .sum = of_centre, .weight = found};
}

/* A teacher's boxes and centre-ness count where it finds something, and its classes everywhere; as the losses, per
 * point that is to find a box. t and found: of a batch with answers. */
static void add_answers(const points *p, mica_value z, int32_t classes, const targets *t, mica_value found,
                        mica_objective *out) {
  mica_value logits = mica_slice(z, 2, 0, classes, 1), sure = {0}, counts = {0};
  if (t)
    counts = mica_unsqueeze(t->counts, MICA_AXES(2));
  else
    sure = mica_max(mica_sigmoid(logits), MICA_AXES(2), false);
  out->answers[0] =
      (mica_answer){.kind = MICA_ANSWER_KIND_RARE_LABELS, .value = logits, .weight = counts, .count = found};
  out->answers[1] =
      (mica_answer){.kind = MICA_ANSWER_KIND_LABELS, .value = part(z, classes), .weight = sure, .count = found};
  out->answers[2] = (mica_answer){.kind = MICA_ANSWER_KIND_BOXES,
                                  .value = corners(p, mica_slice(z, 2, classes + 1, classes + 5, 1)),
                                  .weight = sure,
                                  .count = found};
}

/* Rows of x (N, n, ...) at `index` (N, k). */
static mica_value rows_at(mica_value x, mica_value index) {
  if (mica_value_shape(x).rank == 2) return mica_gather_elements(x, index, 1);
  mica_value wide = mica_unsqueeze(index, MICA_AXES(2));
  return mica_gather_elements(x, mica_concat((mica_value[]){wide, wide, wide, wide}, 4, 2), 1);
}

/* Where pictures of these sizes (N, 2) lie in their frames, as mica__placement_of says: left, top, right and bottom,
 * (N, 1) each. */
static void find_room(const points *p, mica_value sizes, mica_value room[4]) {
  const double frame[2] = {(double)p->width, (double)p->height};
  mica_value side[2], scale[2];
  for (int k = 0; k < 2; k++) {
    side[k] = mica_cast(mica_slice(sizes, 1, k, k + 1, 1), MICA_F32);
    scale[k] = mica_div(number(side[k], frame[k]), side[k]);
  }
  mica_value least = mica_minimum(scale[0], scale[1]);
  for (int k = 0; k < 2; k++) {
    mica_value length = mica_clip(mica_floor(mica_affine(mica_mul(side[k], least), 1, 0.5)), 1, frame[k]);
    room[k] = mica_floor(mica_affine(length, -0.5, frame[k] / 2));
    room[k + 2] = mica_add(room[k], length);
  }
}

/* The score of what is no box. */
#define NO_BOX (-1)

/* Boxes (N, points, 4) cut where the picture ends; sizes (N, 2) are those of the files, null: pictures fill their
 * frames. *scores (N, points, classes) of those without area, which lie beside the picture, become NO_BOX. */
static mica_value cut_boxes(const points *p, mica_value boxes, mica_value sizes, mica_value *scores) {
  mica_value side[4], room[4];
  if (sizes.graph) find_room(p, sizes, room);
  for (int k = 0; k < 4; k++) {
    const double most = (double)(k & 1 ? p->height : p->width);
    side[k] = part(boxes, k);
    side[k] =
        sizes.graph ? mica_minimum(mica_maximum(side[k], room[k & 1]), room[2 + (k & 1)]) : mica_clip(side[k], 0, most);
  }
  mica_value has_area = mica_logical_and(mica_greater(side[2], side[0]), mica_greater(side[3], side[1]));
  *scores = mica_where(mica_unsqueeze(has_area, MICA_AXES(2)), *scores, number(*scores, NO_BOX));
  for (int k = 0; k < 4; k++) side[k] = mica_unsqueeze(side[k], MICA_AXES(2));
  return mica_concat(side, 4, 2);
}

/* The best boxes: (N, MICA__DETECT_MOST, 4), their scores and classes, and how many there are. */
static void add_outputs(const mica_run *run, const points *p, mica_value z, mica_value sizes, int32_t classes,
                        mica_objective *out) {
  static const char *const names[] = {"boxes", "scores", "classes", "count"};
  const int64_t all = p->count * classes, n = all < CANDIDATES ? all : CANDIDATES;
  mica_value shares = mica_sigmoid(mica_slice(z, 2, 0, classes, 1));
  mica_value centre = mica_sigmoid(mica_slice(z, 2, classes, classes + 1, 1));
  mica_value scores = mica_sqrt(mica_mul(shares, centre));
  mica_value found_at = cut_boxes(p, corners(p, mica_slice(z, 2, classes + 1, classes + 5, 1)), sizes, &scores);
  mica_top_k_results best = mica_top_k(mica_reshape(scores, MICA_SHAPE(MICA_DYNAMIC, all)), n, 1, false);
  mica_value point = mica_div(best.indices, number(best.indices, classes));
  mica_value kind = mica_cast(mica_sub(best.indices, mica_mul(point, number(best.indices, classes))), MICA_I32);
  mica_value boxes = rows_at(found_at, point);
  const mica_nms_results kept = mica_nms(
      boxes, best.values,
      &(mica_nms_config){
          .threshold = mica_run_number(run, "overlap"), .least = NO_BOX, .most = MICA__DETECT_MOST, .classes = kind});
  mica_value index = mica_maximum(kept.kept, number(kept.kept, 0));
  const mica_value values[] = {rows_at(boxes, index), rows_at(best.values, index), rows_at(kind, index), kept.count};
  for (int k = 0; k < 4; k++) out->outputs[k] = values[k], out->output_names[k] = names[k];
}

/* The sizes of the files' pictures; null where a batch has none, or another column of that name. */
static mica_value sizes_of(const mica_batch_values *batch) {
  if (!mica_batch_has(batch, "size")) return (mica_value){0};
  mica_value sizes = mica_batch_value(batch, "size");
  const mica_shape shape = mica_value_shape(sizes);
  const bool is = shape.rank == 2 && shape.dim[1] == 2 && mica_value_dtype(sizes) == MICA_I32;
  return is ? sizes : (mica_value){0};
}

static void step(mica_nn *nn, const mica_batch_values *batch, const void *config, mica_objective *out) {
  const mica_run *run = config;
  const char *boxes = mica__run_fact_text(run, "boxes_column"), *label = mica__run_fact_text(run, "label_column");
  size_t classes = 0;
  mica_run_fact(run, "classes", &classes);
  const double mosaic = mica_run_number(run, "mosaic");
  const bool training = mica_nn_is_training(nn);
  mica__detect_batch b = {.x = mica_batch_value(batch, mica__run_fact_text(run, "input_column"))};
  if (mica_batch_has(batch, boxes) && mica_batch_has(batch, label)) {
    b.boxes = mica_batch_value(batch, boxes);
    b.label = mica_batch_value(batch, label);
    if (mica_batch_has(batch, "ignored")) b.ignored = mica_batch_value(batch, "ignored");
  }
  if (training && mosaic > 0 && b.boxes.graph) {
    mica__detect_mosaic(nn, mosaic, &b);
    out->seen = b.x, out->seen_column = mica__run_fact_text(run, "input_column");
  }
  const mica_model_config model = {
      .name = "detector", .classes = (int64_t)classes, .width = (int64_t)mica_run_number(run, "width")};
  mica_value z = mica_model_build(nn, b.x, &model);
  if (!z.graph) return;
  const points p = make_points(run, z.graph);
  if (!training) add_outputs(run, &p, z, sizes_of(batch), (int32_t)classes, out);
  if (!b.boxes.graph) {
    add_answers(&p, z, (int32_t)classes, NULL, (mica_value){0}, out);
    return;
  }
  const targets t = assign(&p, b.boxes, b.label, b.ignored);
  add_losses(&p, z, (int32_t)classes, &t, out);
  add_answers(&p, z, (int32_t)classes, &t, out->weight, out);
}

/* Every point's box and scores: which of them are kept has no form in ONNX. */
static void exports(mica_nn *nn, const mica_batch_values *batch, const void *config, mica_objective *out) {
  const mica_run *run = config;
  size_t classes = 0;
  mica_run_fact(run, "classes", &classes);
  const int64_t count = (int64_t)classes;
  const mica_model_config model = {
      .name = "detector", .classes = count, .width = (int64_t)mica_run_number(run, "width")};
  mica_value z = mica_model_build(nn, mica_batch_value(batch, mica__run_fact_text(run, "input_column")), &model);
  if (!z.graph) return;
  const points p = make_points(run, z.graph);
  mica_value centre = mica_sigmoid(mica_slice(z, 2, count, count + 1, 1));
  out->outputs[0] = corners(&p, mica_slice(z, 2, count + 1, count + 5, 1));
  out->outputs[1] = mica_sqrt(mica_mul(mica_sigmoid(mica_slice(z, 2, 0, count, 1)), centre));
  out->output_names[0] = "boxes";
  out->output_names[1] = "scores";
}

static const mica_onnx_text export_docs[] = {
    {"image",
     "a picture scaled, its sides in proportion, until it fits, in the middle of grey (114): (u8 / 255 - \"mean\") / "
     "\"deviation\" of the channel"},
    {"boxes",
     "x0 y0 x1 y1 of each point of the network, in pixels of the input; of those that overlap the best is meant"},
    {"scores", "of each point and each of the \"classes\", from 0 to 1"},
    {0}};

static const char *const networks[] = {"detector", NULL};

/* What config.json must hold of a run of the task. */
#define DETECT_FACTS(X, S)                                                                                             \
  X(S, TEXTS, classes, .needed = true)                                                                                 \
  X(S, TEXT, boxes_column, .needed = true)
MICA__FACTS_STRUCT(detect, DETECT_FACTS);
static MICA__FACTS_TABLE(detect, DETECT_FACTS, 3);

static const mica__input input = {
    .name = "frame",
    .loads = loads,
    .networks = networks,
};

const mica__task_row mica__task_detect = {
    .name = "detect",
    .text = "boxes of things in pictures, and the class of each",
    .input = &input,
    .threshold = true,
    .metrics = metrics,
    .facts = &mica__detect_fact_list,
    .settings = &mica__detect_setting_list,
    .defaults = defaults,
    .opens = opens,
    .suits = suits,
    .prepare = prepare,
    .fits = fits,
    .step = step,
    .exports = exports,
    .export_docs = export_docs,
    .evaluate = mica__detect_evaluate,
    .predict = mica__detect_predict,
    .report = mica__detect_report,
};
