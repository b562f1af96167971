/* Operators whose results' shapes come from elements. These have to be known: constants, or inputs, which are bound. */
#include "onnx/ops/family.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static mica_value integers(mica__lowering *l, const int64_t *values, mica_shape shape) {
  return mica_constant(mica__lower_graph(l), MICA_I64, shape, values);
}

/* --- indices of elements that are not 0 --- */

/* (rank, n): a column an element, in row-major order. */
MICA__LOWER(non_zero) {
  mica__reals x;
  if (!mica__lower_reals(l, node, 0, &x)) return MICA_OK;
  int64_t found = 0, rank = x.shape.rank ? x.shape.rank : 1;
  for (int64_t i = 0; i < x.count; i++) found += x.values[i] != 0;
  int64_t *out = mica__lower_room(l, (size_t)(found * rank), sizeof *out);
  if (!out) return MICA_E_NOMEM;
  for (int64_t i = 0, at = 0; i < x.count; i++) {
    if (x.values[i] == 0) continue;
    int64_t rest = i;
    for (int32_t d = x.shape.rank - 1; d >= 0; d--) {
      out[d * found + at] = rest % x.shape.dim[d];
      rest /= x.shape.dim[d];
    }
    at++;
  }
  return give(l, node, integers(l, out, MICA_SHAPE(rank, found)));
}

/* Slices along an axis, or elements of a flat x, whose condition is true. */
MICA__LOWER(compress) {
  mica__integers condition;
  mica_value x = x_of(l, node);
  bool flat = !mica__onnx_attr(node, "axis");
  int64_t axis = mica__onnx_int(node, "axis", 0), count = 0, found = 0;
  if (!mica__lower_integers(l, node, 1, &condition) || !x.graph) return MICA_OK;
  MICA_TRY(mica_shape_count(mica_value_shape(x), &count));
  if (flat) x = mica_reshape(x, MICA_SHAPE(count));
  if (!mica__lower_axis(l, node, mica_value_shape(x).rank, &axis)) return MICA_OK;
  int64_t extent = mica_value_shape(x).dim[axis];
  int64_t *indices = mica__lower_room(l, (size_t)condition.count, sizeof *indices);
  if (!indices) return MICA_E_NOMEM;
  for (int64_t i = 0; i < condition.count && i < extent; i++)
    if (condition.values[i]) indices[found++] = i;
  return give(l, node, mica_gather(x, integers(l, indices, MICA_SHAPE(found)), (int32_t)axis));
}

/* --- different elements --- */

/* x as `count` slices of outer x inner elements each. */
typedef struct slices {
  const double *values;
  int64_t outer, count, inner;
} slices;

static int compare(const slices *s, int64_t a, int64_t b) {
  for (int64_t o = 0; o < s->outer; o++)
    for (int64_t i = 0; i < s->inner; i++) {
      double x = s->values[(o * s->count + a) * s->inner + i], y = s->values[(o * s->count + b) * s->inner + i];
      if (x != y) return x < y ? -1 : 1;
    }
  return 0;
}

/* Merges two sorted runs of indices (von Neumann's merge sort), which needs no state of its own as qsort would. */
static void sort(const slices *s, int64_t *indices, int64_t *room, int64_t n) {
  for (int64_t width = 1; width < n; width *= 2) {
    for (int64_t from = 0; from < n; from += 2 * width) {
      int64_t middle = from + width < n ? from + width : n, end = from + 2 * width < n ? from + 2 * width : n;
      for (int64_t a = from, b = middle, k = from; k < end; k++) {
        bool left = a < middle && (b >= end || compare(s, indices[a], indices[b]) <= 0);
        room[k] = left ? indices[a++] : indices[b++];
      }
    }
    memcpy(indices, room, (size_t)n * sizeof *indices);
  }
}

typedef struct different {
  int64_t count;
  int64_t *first, *inverse, *counts, *order; /* by different slice, and inverse by slice */
} different;

/* Numbers of the different slices by first occurrence in the place of those by value. */
static void by_occurrence(const slices *s, different *f, int64_t *room) {
  int64_t next = 0;
  for (int64_t i = 0; i < f->count; i++) room[i] = -1;
  for (int64_t i = 0; i < s->count; i++) {
    int64_t sorted = f->inverse[i];
    if (room[sorted] < 0) room[sorted] = next++;
    f->inverse[i] = room[sorted];
  }
  for (int64_t i = 0; i < s->count; i++) f->counts[i] = 0;
  for (int64_t i = s->count - 1; i >= 0; i--) {
    f->first[f->inverse[i]] = i;
    f->counts[f->inverse[i]]++;
  }
}

static void find(const slices *s, different *f, bool sorted, int64_t *room) {
  for (int64_t i = 0; i < s->count; i++) f->order[i] = i;
  sort(s, f->order, room, s->count);
  for (int64_t i = 0; i < s->count; i++) {
    int64_t at = f->order[i];
    if (i == 0 || compare(s, f->order[i - 1], at) != 0) {
      f->first[f->count] = at;
      f->counts[f->count++] = 0;
    }
    f->inverse[at] = f->count - 1;
    f->counts[f->count - 1]++;
  }
  if (!sorted) by_occurrence(s, f, room);
}

/* Values, indices of first occurrences, of each slice its value, and counts. */
MICA__LOWER(unique) {
  mica__reals x;
  mica_value value = x_of(l, node);
  bool flat = !mica__onnx_attr(node, "axis"), sorted = mica__onnx_int(node, "sorted", 1);
  int64_t axis = mica__onnx_int(node, "axis", 0);
  if (!mica__lower_reals(l, node, 0, &x) || !value.graph) return MICA_OK;
  if (!flat && !mica__lower_axis(l, node, x.shape.rank, &axis)) return MICA_OK;
  slices s = {x.values, 1, x.count, 1};
  if (flat) value = mica_reshape(value, MICA_SHAPE(x.count));
  if (!flat) s.count = x.shape.dim[axis];
  for (int32_t i = 0; !flat && i < x.shape.rank; i++) {
    if (i < axis) s.outer *= x.shape.dim[i];
    if (i > axis) s.inner *= x.shape.dim[i];
  }
  int64_t *room = mica__lower_room(l, (size_t)(5 * s.count), sizeof *room);
  if (!room) return MICA_E_NOMEM;
  different f = {0, room, room + s.count, room + 2 * s.count, room + 3 * s.count};
  find(&s, &f, sorted, room + 4 * s.count);
  mica_shape each = MICA_SHAPE(f.count);
  mica__lower_result(l, node, 0, mica_gather(value, integers(l, f.first, each), (int32_t)axis));
  mica__lower_result(l, node, 1, integers(l, f.first, each));
  mica__lower_result(l, node, 2, integers(l, f.inverse, MICA_SHAPE(s.count)));
  mica__lower_result(l, node, 3, integers(l, f.counts, each));
  return MICA_OK;
}

/* --- boxes --- */

typedef struct box {
  double low[2], high[2];
} box;

static box box_of(const double *v, bool centers) {
  box b;
  for (int d = 0; d < 2; d++) {
    double first = centers ? v[d] - v[2 + d] / 2 : v[d], second = centers ? v[d] + v[2 + d] / 2 : v[2 + d];
    b.low[d] = fmin(first, second);
    b.high[d] = fmax(first, second);
  }
  return b;
}

static double area(const box *b) { return (b->high[0] - b->low[0]) * (b->high[1] - b->low[1]); }

/* Intersection over union, 0 for boxes without area. */
static double overlap(const box *a, const box *b) {
  double side[2];
  for (int d = 0; d < 2; d++) side[d] = fmax(0, fmin(a->high[d], b->high[d]) - fmax(a->low[d], b->low[d]));
  double common = side[0] * side[1], all = area(a) + area(b) - common;
  return all > 0 ? common / all : 0;
}

typedef struct suppression {
  const double *boxes, *scores; /* of one image and class */
  int64_t count, most;
  double threshold, least;
  bool centers;
} suppression;

/* Greedy: the best that is left stays unless it overlaps one that stays by more than the threshold. */
static int64_t suppress(const suppression *s, int64_t *kept, bool *done) {
  int64_t n = 0;
  memset(done, 0, (size_t)s->count);
  while (n < s->most) {
    int64_t best = -1;
    for (int64_t i = 0; i < s->count; i++)
      if (!done[i] && s->scores[i] > s->least && (best < 0 || s->scores[i] > s->scores[best])) best = i;
    if (best < 0) break;
    done[best] = true;
    box own = box_of(s->boxes + 4 * best, s->centers);
    bool stays = true;
    for (int64_t k = 0; stays && k < n; k++) {
      box other = box_of(s->boxes + 4 * kept[k], s->centers);
      stays = overlap(&own, &other) <= s->threshold;
    }
    if (stays) kept[n++] = best;
  }
  return n;
}

/* The element of operand k, or `standard` where it is absent; false where it is not known. */
static bool number(mica__lowering *l, const mica__onnx_node *node, int32_t k, double standard, double *out) {
  mica__reals given;
  if (!mica__lower_reals(l, node, k, &given)) return false;
  *out = given.count ? given.values[0] : standard;
  return true;
}

/* (n, 3): image, class and box of each that stays. */
MICA__LOWER(non_max_suppression) {
  mica__reals boxes, scores;
  double most, threshold, least;
  if (!mica__lower_reals(l, node, 0, &boxes) || !mica__lower_reals(l, node, 1, &scores) ||
      !number(l, node, 2, 0, &most) || !number(l, node, 3, 0, &threshold) ||
      !number(l, node, 4, -(double)INFINITY, &least))
    return MICA_OK;
  mica_shape b = boxes.shape, c = scores.shape;
  if (b.rank != 3 || c.rank != 3 || b.dim[2] != 4 || b.dim[0] != c.dim[0] || b.dim[1] != c.dim[2])
    return mica__lower_fail(l, node, MICA_E_SHAPE, "boxes are (images, n, 4), scores (images, classes, n)");
  int64_t n = c.dim[2], each = most < (double)n ? (int64_t)fmax(most, 0) : n, found = 0;
  int64_t *out = mica__lower_room(l, (size_t)(c.dim[0] * c.dim[1] * each * 3), sizeof *out);
  int64_t *kept = mica__lower_room(l, (size_t)n, sizeof *kept);
  bool *done = mica__lower_room(l, (size_t)n, sizeof *done);
  if (!out || !kept || !done) return MICA_E_NOMEM;
  for (int64_t row = 0; row < c.dim[0] * c.dim[1]; row++) {
    suppression s = {
        boxes.values + row / c.dim[1] * n * 4,           scores.values + row * n, n, each, threshold, least,
        mica__onnx_int(node, "center_point_box", 0) != 0};
    int64_t stay = suppress(&s, kept, done);
    for (int64_t k = 0; k < stay; k++) {
      int64_t triple[] = {row / c.dim[1], row % c.dim[1], kept[k]};
      memcpy(&out[3 * found++], triple, sizeof triple);
    }
  }
  return give(l, node, integers(l, out, MICA_SHAPE(found, 3)));
}
