/* Operators whose result shapes depend on elements. The host computes indices. For some operators they are the result;
 * for others the device gathers elements by them. */
#include "base/element.h"
#include "onnx/flow/host.h"
#include "onnx/ops/family.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- indices of elements that are not 0 --- */

static mica_status find_non_zero(const void *config, const mica__host_array *x, mica__host_array *y) {
  (void)config;
  double *values = mica__host_reals(x);
  if (!values) return mica__fail_nomem("NonZero");
  int64_t found = 0, rank = x->shape.rank ? x->shape.rank : 1;
  for (int64_t i = 0; i < x->count; i++) found += values[i] != 0;
  int64_t *out = mica__host_integers(y, MICA_SHAPE(rank, found));
  for (int64_t i = 0, at = 0; out && i < x->count; i++) {
    if (values[i] == 0) continue;
    int64_t rest = i;
    for (int32_t d = x->shape.rank - 1; d >= 0; d--) {
      out[d * found + at] = rest % x->shape.dim[d];
      rest /= x->shape.dim[d];
    }
    at++;
  }
  free(values);
  return out ? MICA_OK : mica__fail_nomem("NonZero");
}

/* The result is (rank, n): the index along each axis of the n elements that are not 0, in row-major order. */
MICA__LOWER(non_zero) {
  mica_value x = x_of(l, node), positions = {0};
  if (!x.graph) return MICA_OK;
  MICA_TRY(mica__lower_host(l, node, "how many elements are not 0 comes from data", find_non_zero, NULL, 0, &x, 1,
                            &positions, 1));
  return positions.graph ? give(l, node, positions) : MICA_OK;
}

static mica_status find_true(const void *config, const mica__host_array *condition, mica__host_array *positions) {
  int64_t most = condition->count, found = 0, extent = *(const int64_t *)config;
  for (int64_t i = 0; i < most && i < extent; i++)
    found += mica__element_get(condition->dtype, condition->data, i) != 0;
  int64_t *out = mica__host_integers(positions, MICA_SHAPE(found));
  for (int64_t i = 0, at = 0; out && i < most && i < extent; i++)
    if (mica__element_get(condition->dtype, condition->data, i) != 0) out[at++] = i;
  return out ? MICA_OK : mica__fail_nomem("Compress");
}

/* Selects those slices along the axis whose condition is true. Without the attribute `axis`, x is flattened and its
 * elements are selected. */
MICA__LOWER(compress) {
  mica_value x = x_of(l, node), condition = mica__lower_operand(l, node, 1), positions = {0};
  bool flat = !mica__onnx_attr(node, "axis");
  int64_t axis = mica__onnx_int(node, "axis", 0), count = 0;
  if (!condition.graph || !x.graph) return MICA_OK;
  MICA_TRY(mica_shape_count(mica_value_shape(x), &count));
  if (flat) x = mica_reshape(x, MICA_SHAPE(count));
  if (!mica__lower_axis(l, node, mica_value_shape(x).rank, &axis)) return MICA_OK;
  int64_t extent = mica_value_shape(x).dim[axis];
  MICA_TRY(mica__lower_host(l, node, "how many conditions are true comes from data", find_true, &extent, sizeof extent,
                            &condition, 1, &positions, 1));
  return positions.graph ? give(l, node, mica_gather(x, positions, (int32_t)axis)) : MICA_OK;
}

/* --- distinct slices --- */

/* An array of doubles (outer, count, inner), seen as `count` slices of outer * inner doubles. */
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

/* Sorts indices by merging (von Neumann's merge sort); unlike qsort it needs no global state for the comparison. */
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
  /* All slices are numbered along the axis, distinct slices in the order of the result.
   *
   * - first, counts: for each distinct slice, the index of its first occurrence and the number of its occurrences
   * - inverse: for each slice, the number of the distinct slice that equals it
   * - order: the indices of all slices, sorted by value */
  int64_t *first, *inverse, *counts, *order;
} different;

/* Renumbers the distinct slices from value order to the order of first occurrence. */
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

/* Makes keys for comparisons. Sets *each to the number of doubles per element: 2 for a 64-bit integer, which does not
 * fit the 53 bits of a double, else 1. */
static double *keys_of(const mica__host_array *x, int64_t *each) {
  bool is_signed = x->dtype == MICA_I64;
  *each = is_signed || x->dtype == MICA_U64 ? 2 : 1;
  if (*each == 1) return mica__host_reals(x);
  const uint64_t *elements = x->data;
  double *keys = malloc((2 * (size_t)x->count + 1) * sizeof *keys);
  for (int64_t i = 0; keys && i < x->count; i++) {
    uint32_t high = (uint32_t)(elements[i] >> 32);
    keys[2 * i] = is_signed ? (double)(int32_t)high : (double)high;
    keys[2 * i + 1] = (double)(uint32_t)elements[i];
  }
  return keys;
}

typedef struct unique_config {
  int64_t axis;
  bool flat, sorted;
} unique_config;

/* Finds the distinct slices. y[0] receives the index of the first occurrence of each, y[1] for each slice of x the
 * number of the distinct slice that equals it, and y[2] how often each distinct slice occurs. */
static mica_status find_unique(const void *config, const mica__host_array *x, mica__host_array *y) {
  const unique_config *c = config;
  slices s = {.outer = 1, .count = x->count};
  double *values = keys_of(x, &s.inner);
  s.values = values;
  if (!c->flat) s.count = x->shape.dim[c->axis];
  for (int32_t i = 0; !c->flat && i < x->shape.rank; i++) {
    if (i < c->axis) s.outer *= x->shape.dim[i];
    if (i > c->axis) s.inner *= x->shape.dim[i];
  }
  int64_t *room = s.count <= INT64_MAX / 8 ? calloc(5 * (size_t)s.count + 1, sizeof *room) : NULL;
  different f = {0, room, room + s.count, room + 2 * s.count, room + 3 * s.count};
  bool whole = values && room;
  if (whole) {
    find(&s, &f, c->sorted, room + 4 * s.count);
    const int64_t *from[] = {f.first, f.inverse, f.counts}, counts[] = {f.count, s.count, f.count};
    for (int k = 0; whole && k < 3; k++) {
      int64_t *out = mica__host_integers(&y[k], MICA_SHAPE(counts[k]));
      if (out) memcpy(out, from[k], (size_t)counts[k] * sizeof *out);
      whole = out != NULL;
    }
  }
  free(values);
  free(room);
  return whole ? MICA_OK : mica__fail_nomem("Unique");
}

/* Results: the distinct slices, and the three results of find_unique. */
MICA__LOWER(unique) {
  mica_value x = x_of(l, node), found[3] = {{0}};
  unique_config c = {mica__onnx_int(node, "axis", 0), !mica__onnx_attr(node, "axis"),
                     mica__onnx_int(node, "sorted", 1) != 0};
  int64_t count = 0;
  if (!x.graph) return MICA_OK;
  if (!c.flat && !mica__lower_axis(l, node, mica_value_shape(x).rank, &c.axis)) return MICA_OK;
  MICA_TRY(mica__lower_host(l, node, "how many elements are different comes from data", find_unique, &c, sizeof c, &x,
                            1, found, 3));
  if (!found[0].graph) return MICA_OK;
  MICA_TRY(mica_shape_count(mica_value_shape(x), &count));
  if (c.flat) x = mica_reshape(x, MICA_SHAPE(count));
  mica__lower_result(l, node, 0, mica_gather(x, found[0], (int32_t)c.axis));
  for (int32_t k = 0; k < 3; k++) mica__lower_result(l, node, 1 + k, found[k]);
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

/* Intersection over union; 0 for boxes without area. */
static double overlap(const box *a, const box *b) {
  double side[2];
  for (int d = 0; d < 2; d++) side[d] = fmax(0, fmin(a->high[d], b->high[d]) - fmax(a->low[d], b->low[d]));
  double common = side[0] * side[1], all = area(a) + area(b) - common;
  return all > 0 ? common / all : 0;
}

typedef struct suppression {
  /* `boxes` are those of one image; `falling` are its scores for one class with the opposite sign, so that sorting
   * them in ascending order gives falling scores. */
  const double *boxes, *falling;
  int64_t count, most;
  double threshold, least;
  bool centers;
} suppression;

/* Visits the boxes whose score is above s->least by falling score, the lower index first among equals. Keeps a box
 * unless it overlaps a kept one by more than the threshold, and stops after s->most kept boxes. Writes their indices to
 * `kept` and returns their number. `order` and `room` are scratch of s->count indices each. */
static int64_t suppress(const suppression *s, int64_t *kept, int64_t *order, int64_t *room) {
  int64_t n = 0, left = 0;
  const slices falling = {s->falling, 1, s->count, 1};
  for (int64_t i = 0; i < s->count; i++)
    if (-s->falling[i] > s->least) order[left++] = i;
  sort(&falling, order, room, left);
  for (int64_t at = 0; at < left && n < s->most; at++) {
    box own = box_of(s->boxes + 4 * order[at], s->centers);
    bool stays = true;
    for (int64_t k = 0; stays && k < n; k++) {
      box other = box_of(s->boxes + 4 * kept[k], s->centers);
      stays = overlap(&own, &other) <= s->threshold;
    }
    if (stays) kept[n++] = order[at];
  }
  return n;
}

/* Computes (n, 3): image, class and box of each box that is kept. The operands are boxes, scores, and three single
 * numbers (the most boxes per class, the overlap threshold, and the score threshold). */
static mica_status find_boxes(const void *config, const mica__host_array *in, mica__host_array *y) {
  const bool *centers = config;
  mica_shape c = in[1].shape;
  double *boxes = mica__host_reals(&in[0]), *scores = mica__host_reals(&in[1]), given[3] = {0};
  for (int k = 0; k < 3; k++) given[k] = mica__element_get(in[2 + k].dtype, in[2 + k].data, 0);
  int64_t n = c.dim[2], rows = n ? c.dim[0] * c.dim[1] : 0,
          each = given[0] < (double)n ? (int64_t)fmax(given[0], 0) : n;
  int64_t found = 0, *out = calloc((size_t)(rows * each * 3) + 1, sizeof *out);
  int64_t *room = calloc((size_t)(3 * n) + 1, sizeof *room);
  bool whole = boxes && scores && out && room;
  for (int64_t i = 0; whole && i < in[1].count; i++) scores[i] = -scores[i];
  for (int64_t row = 0; whole && row < rows; row++) {
    suppression s = {boxes + row / c.dim[1] * n * 4, scores + row * n, n, each, given[1], given[2], *centers};
    int64_t stay = suppress(&s, room, room + n, room + 2 * n);
    for (int64_t k = 0; k < stay; k++) {
      int64_t triple[] = {row / c.dim[1], row % c.dim[1], room[k]};
      memcpy(&out[3 * found++], triple, sizeof triple);
    }
  }
  int64_t *own = whole ? mica__host_integers(y, MICA_SHAPE(found, 3)) : NULL;
  if (own) memcpy(own, out, (size_t)found * 3 * sizeof *own);
  free(boxes);
  free(scores);
  free(out);
  free(room);
  return own ? MICA_OK : mica__fail_nomem("NonMaxSuppression");
}

/* Result (n, 3): image, class and box of each box that is kept. */
MICA__LOWER(non_max_suppression) {
  mica_value in[5] = {x_of(l, node), mica__lower_operand(l, node, 1)}, found = {0};
  const double standards[] = {0, 0, -(double)INFINITY};
  static const char *const names[] = {"max_output_boxes_per_class", "iou_threshold", "score_threshold"};
  bool centers = mica__onnx_int(node, "center_point_box", 0) != 0;
  for (int32_t k = 2; k < 5; k++)
    in[k] = mica__lower_has(l, node, k) ? mica__lower_operand(l, node, k)
                                        : mica_scalar(mica__lower_graph(l), MICA_F32, standards[k - 2]);
  for (int k = 0; k < 5; k++)
    if (!in[k].graph) return MICA_OK;
  mica_shape b = mica_value_shape(in[0]), c = mica_value_shape(in[1]);
  char boxes[MICA_SHAPE_TEXT], scores[MICA_SHAPE_TEXT];
  if (b.rank != 3 || c.rank != 3 || b.dim[2] != 4 || b.dim[0] != c.dim[0] || b.dim[1] != c.dim[2])
    return mica__lower_fail(
        l, node, MICA_E_SHAPE,
        "boxes is %s and scores is %s, but boxes must be (images, n, 4) and scores (images, classes, n)",
        mica_shape_format(b, boxes), mica_shape_format(c, scores));
  for (int k = 2; k < 5; k++) {
    int64_t count = 0;
    if (mica_shape_count(mica_value_shape(in[k]), &count) != MICA_OK || count != 1)
      return mica__lower_fail(l, node, MICA_E_SHAPE, "%s must have one element", names[k - 2]);
  }
  MICA_TRY(mica__lower_host(l, node, "how many boxes stay comes from data", find_boxes, &centers, sizeof centers, in, 5,
                            &found, 1));
  return found.graph ? give(l, node, found) : MICA_OK;
}
