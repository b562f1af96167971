/* The points of a detector, their targets and losses, and the boxes that it finds (FCOS, Tian et al. 2019). All but the
 * points themselves is computed on the device. */
#include "networks/detector.h"

#include <mica/loss.h>
#include <mica/model.h>
#include <mica/nodes.h>
#include <mica/vision.h>
#include <stdlib.h>

/* Points within this many strides of a box's centre are responsible for it (FCOS's centre sampling). */
#define RADIUS 1.5
/* A point is responsible for boxes whose farthest side is up to this many of its strides away, and more than half of
 * that. There is no lower limit for the finest stride, and no upper one for the coarsest. */
#define REACH 6
/* At most this many scores per picture, the highest ones, go to non-maximum suppression. */
#define CANDIDATES 400
/* Larger than the area of any box, in square pixels: the cost of a box that a point is not responsible for. Also the
 * reach of the coarsest stride, in pixels. */
#define FAR 1e12

typedef mica__detector_points points;
typedef mica__detector_targets targets;

points mica__detector_points_of(mica_graph *graph, int64_t height, int64_t width) {
  points p = {.height = height, .width = width};
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

mica_value mica__detector_corners(const points *p, mica_value distances) {
  mica_value sides[4] = {mica_sub(p->x, part(distances, 0)), mica_sub(p->y, part(distances, 1)),
                         mica_add(p->x, part(distances, 2)), mica_add(p->y, part(distances, 3))};
  for (int k = 0; k < 4; k++) sides[k] = mica_unsqueeze(sides[k], MICA_AXES(2));
  return mica_concat(sides, 4, 2);
}

/* --- targets --- */

static mica_value all_of(const mica_value *conditions, int count) {
  mica_value all = conditions[0];
  for (int i = 1; i < count; i++) all = mica_logical_and(all, conditions[i]);
  return all;
}

/* The largest, or the smallest, of four values at each element. */
static mica_value extreme(const mica_value d[4], bool largest) {
  return largest ? mica_maximum(mica_maximum(d[0], d[1]), mica_maximum(d[2], d[3]))
                 : mica_minimum(mica_minimum(d[0], d[1]), mica_minimum(d[2], d[3]));
}

/* Centre-ness: sqrt(min(l, r) / max(l, r) min(t, b) / max(t, b)), where l, r, t and b are the point's distances to the
 * sides of the box. 0 for points outside the box. */
static mica_value centreness(const points *p, mica_value box) {
  mica_value l = mica_sub(p->x, part(box, 0)), t = mica_sub(p->y, part(box, 1));
  mica_value r = mica_sub(part(box, 2), p->x), b = mica_sub(part(box, 3), p->y);
  mica_value across = mica_div(mica_minimum(l, r), mica_maximum(mica_maximum(l, r), number(l, 1e-3)));
  mica_value down = mica_div(mica_minimum(t, b), mica_maximum(mica_maximum(t, b), number(t, 1e-3)));
  return mica_sqrt(mica_clip(mica_mul(mica_clip(across, 0, 1), mica_clip(down, 0, 1)), 0, 1));
}

targets mica__detector_assign(const points *p, mica_value boxes, mica_value label, mica_value ignored) {
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

/* --- losses --- */

static mica_value sum(mica_value x) { return mica_sum(x, MICA_ALL_AXES, false); }

mica__detector_losses mica__detector_losses_of(const points *p, mica_value z, int32_t classes, const targets *t) {
  mica__detector_losses l;
  mica_value logits = mica_slice(z, 2, 0, classes, 1), centre = part(z, classes);
  mica_value found_at = mica__detector_corners(p, mica_slice(z, 2, classes + 1, classes + 5, 1));
  mica_value off = number(z, 0), on = number(z, 1);
  mica_value kinds = mica_mul(mica_one_hot(t->label, classes, 2, off, on), mica_unsqueeze(t->positive, MICA_AXES(2)));
  mica_value focal =
      mica_binary_focal(logits, kinds, &(mica_binary_focal_config){.reduction = MICA_LOSS_REDUCTION_NONE});
  mica_value overlap = mica_giou(found_at, t->box);
  l.positive = sum(t->positive);
  l.found = mica_maximum(l.positive, on);
  l.of_class = sum(mica_mul(focal, mica_unsqueeze(t->counts, MICA_AXES(2))));
  l.of_box = sum(mica_mul(mica_affine(overlap, -1, 1), t->positive));
  l.of_centre = sum(mica_mul(mica_bce_with_logits(centre, t->centre, 1, MICA_LOSS_REDUCTION_NONE), t->positive));
  l.total = mica_div(mica_add(mica_add(l.of_class, l.of_box), l.of_centre), l.found);
  return l;
}

/* --- found boxes --- */

/* Rows of x, which is (N, n) or (N, n, 4), at `index` (N, k). */
static mica_value rows_at(mica_value x, mica_value index) {
  if (mica_value_shape(x).rank == 2) return mica_gather_elements(x, index, 1);
  mica_value wide = mica_unsqueeze(index, MICA_AXES(2));
  return mica_gather_elements(x, mica_concat((mica_value[]){wide, wide, wide, wide}, 4, 2), 1);
}

/* Where pictures of these sizes (N, 2) are placed in their frames (see mica__placement_of): left, top, right and
 * bottom, (N, 1) each. */
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

/* The score of points without a box. */
#define NO_BOX (-1)

/* Clips the boxes (N, points, 4) to the pictures. sizes (N, 2) are the widths and heights of the pictures' files; if
 * sizes is null, each picture fills its frame. If a box then has no area, for example because it is outside its
 * picture, its *scores (N, points, classes) become NO_BOX. */
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

mica_value mica__detector_find(const points *p, mica_value z, const mica__detector_choice *choice) {
  const int32_t classes = choice->classes;
  const int64_t all = p->count * classes, n = all < CANDIDATES ? all : CANDIDATES;
  mica_value shares = mica_sigmoid(mica_slice(z, 2, 0, classes, 1));
  mica_value centre = mica_sigmoid(mica_slice(z, 2, classes, classes + 1, 1));
  mica_value scores = mica_sqrt(mica_mul(shares, centre));
  mica_value found_at =
      cut_boxes(p, mica__detector_corners(p, mica_slice(z, 2, classes + 1, classes + 5, 1)), choice->sizes, &scores);
  mica_top_k_results best = mica_top_k(mica_reshape(scores, MICA_SHAPE(MICA_DYNAMIC, all)), n, 1, false);
  mica_value point = mica_div(best.indices, number(best.indices, classes));
  mica_value kind = mica_cast(mica_sub(best.indices, mica_mul(point, number(best.indices, classes))), MICA_I32);
  mica_value boxes = rows_at(found_at, point);
  const mica_nms_results kept = mica_nms(
      boxes, best.values,
      &(mica_nms_config){.threshold = choice->overlap, .least = NO_BOX, .most = choice->most, .classes = kind});
  mica_value none = number(kept.kept, 0), index = mica_maximum(kept.kept, none);
  mica_value is = mica_cast(rows_at(kind, index), MICA_F32);
  is = mica_where(mica_less(kept.kept, none), number(is, -1), is);
  const mica_value numbers[] = {rows_at(boxes, index), mica_unsqueeze(rows_at(best.values, index), MICA_AXES(2)),
                                mica_unsqueeze(is, MICA_AXES(2))};
  return mica_concat(numbers, 3, 2);
}
