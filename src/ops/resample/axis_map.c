/* Computes, on the host, which elements each output of an axis map sums and with which weights
 * (ops/resample/resample.h). A tap is one such element with its weight. */
#include "base/checked.h"
#include "base/error.h"
#include "ops/resample/resample.h"

#include <math.h>
#include <stdlib.h>

/* The most outputs of an axis, and the most taps per output. Larger numbers mean a mistake in sizes. */
#define MOST_WEIGHTS ((int64_t)1 << 28)

typedef struct tap {
  int64_t index;
  double weight;
} tap;

/* --- resizing, as the ONNX operator Resize defines it --- */

static double scale_of(const mica__axis_map *map, int64_t n) {
  return map->scale > 0 ? map->scale : (double)map->outputs / (double)n;
}

mica_status mica__map_outputs(const mica__axis_map *map, int64_t n, int64_t *outputs) {
  *outputs = n;
  if (map->kind == MICA__MAP_IDENTITY) return MICA_OK;
  if (map->kind == MICA__MAP_WINDOW) return mica__resample_window_outputs(&map->window, n, outputs);
  double wanted = map->outputs > 0 ? (double)map->outputs : floor((double)n * map->scale);
  if (!(wanted < 0x1p40))
    return mica__fail(MICA_E_SHAPE, "the axis would have %g elements, but must have fewer than 2^40", wanted);
  *outputs = (int64_t)wanted;
  return MICA_OK;
}

/* Returns the position of output o in the input axis, in elements. */
static double coordinate(const mica__axis_map *map, int64_t n, int64_t outputs, int64_t o) {
  double scale = scale_of(map, n), width = scale * (double)n, last = (double)(n - 1), x = (double)o;
  double middle = (double)n / 2 * (1 - (double)outputs / width);
  switch ((mica_resize_coordinates)map->coordinates) {
  case MICA_RESIZE_COORDINATES_HALF_PIXEL_SYMMETRIC: return middle + (x + 0.5) / scale - 0.5;
  case MICA_RESIZE_COORDINATES_PYTORCH_HALF_PIXEL: return outputs > 1 ? (x + 0.5) / scale - 0.5 : 0;
  case MICA_RESIZE_COORDINATES_ALIGN_CORNERS: return width == 1 || o == 0 ? 0 : x * last / (width - 1);
  case MICA_RESIZE_COORDINATES_ASYMMETRIC: return x / scale;
  case MICA_RESIZE_COORDINATES_TF_HALF_PIXEL: return (x + 0.5) / scale;
  case MICA_RESIZE_COORDINATES_TF_CROP:
    if (width == 1) return (map->crop_start + map->crop_end) / 2 * last;
    return map->crop_start * last + x * (map->crop_end - map->crop_start) * last / (width - 1);
  default: return (x + 0.5) / scale - 0.5;
  }
}

/* Source: Keys, Cubic convolution interpolation for digital image processing, 1981. */
static double cubic(double a, double x) {
  x = fabs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? a * (((x - 5) * x + 8) * x - 4) : 0;
}

static double filter(const mica__axis_map *map, double x) {
  if (map->mode == MICA_RESIZE_MODE_CUBIC) return cubic(map->cubic_a, x);
  return fabs(x) < 1 ? 1 - fabs(x) : 0;
}

/* Returns the offset of the first element that an output may read from the element to the left of the output's
 * position. shrink is below 1 if an antialiased filter is wider, otherwise 1. */
static int64_t reach(const mica__axis_map *map, double shrink) {
  return (int64_t)floor((map->mode == MICA_RESIZE_MODE_CUBIC ? -2 : -1) / shrink) + 1;
}

static double shrink_of(const mica__axis_map *map, int64_t n) {
  double scale = scale_of(map, n);
  return map->antialias && scale < 1 ? scale : 1;
}

static int64_t clamp(int64_t i, int64_t n) { return i < 0 ? 0 : i >= n ? n - 1 : i; }

static int64_t nearest(const mica__axis_map *map, double x) {
  switch ((mica_resize_nearest)map->nearest) {
  case MICA_RESIZE_NEAREST_ROUND_PREFER_CEIL: return (int64_t)floor(x + 0.5);
  case MICA_RESIZE_NEAREST_FLOOR: return (int64_t)floor(x);
  case MICA_RESIZE_NEAREST_CEIL: return (int64_t)ceil(x);
  default: return (int64_t)ceil(x - 0.5);
  }
}

static int64_t resize_taps(const mica__axis_map *map, int64_t n, int64_t outputs, int64_t o, tap *taps) {
  double x = coordinate(map, n, outputs, o), sum = 0, shrink = shrink_of(map, n);
  bool beyond = x < 0 || x > (double)(n - 1);
  int64_t count = 0, left = (int64_t)ceil(x) - 1, from = reach(map, shrink);
  if (map->coordinates == MICA_RESIZE_COORDINATES_TF_CROP && beyond) return 0;
  if (map->mode == MICA_RESIZE_MODE_NEAREST) {
    *taps = (tap){clamp(nearest(map, x), n), 1};
    return 1;
  }
  for (int64_t i = left + from; i < left + 2 - from; i++) {
    double weight = filter(map, ((double)i - x) * shrink);
    if (weight == 0 || (map->exclude_outside && clamp(i, n) != i)) continue;
    taps[count++] = (tap){clamp(i, n), weight};
    sum += weight;
  }
  bool norm = shrink < 1 || map->exclude_outside;
  for (int64_t i = 0; norm && i < count; i++) taps[i].weight /= sum;
  return count;
}

/* --- any map --- */

/* Finds the taps of output o and returns their number. Indices rise from tap to tap, except that a resizing may repeat
 * the first or last element of the axis. */
static int64_t taps_of(const mica__axis_map *map, int64_t n, int64_t outputs, int64_t o, tap *taps) {
  if (map->kind == MICA__MAP_RESIZE) return resize_taps(map, n, outputs, o, taps);
  if (map->kind == MICA__MAP_IDENTITY) {
    *taps = (tap){o, 1};
    return 1;
  }
  mica__resample_window_taps window = mica__resample_window_at(&map->window, n, outputs, o);
  double by = map->divisor == MICA__DIVIDE_BY_ONE        ? 1
              : map->divisor == MICA__DIVIDE_BY_ELEMENTS ? (double)window.count
                                                         : (double)window.padded;
  for (int64_t i = 0; i < window.count; i++) taps[i] = (tap){window.first + i * window.step, 1 / by};
  return window.count;
}

/* Returns an upper bound of the number of taps of an output. */
static int64_t most_taps(const mica__axis_map *map, int64_t n) {
  if (map->kind == MICA__MAP_WINDOW) return map->window.outputs ? n + 1 : map->window.size < n ? map->window.size : n;
  return map->kind == MICA__MAP_RESIZE ? 2 - 2 * reach(map, shrink_of(map, n)) : 1;
}

/* Calls visit(user, output, the tap's number within the output, tap) for every tap of the map. */
typedef void visit_tap(void *user, int64_t o, int64_t k, tap one);
static mica_status each_tap(const mica__axis_map *map, int64_t n, visit_tap *visit, void *user) {
  int64_t outputs = 0, room = n > 0 ? most_taps(map, n) : 0;
  MICA_TRY(mica__map_outputs(map, n, &outputs));
  if (room > MOST_WEIGHTS || outputs > MOST_WEIGHTS)
    return mica__fail(MICA_E_OVERFLOW,
                      "the axis is too large: %lld outputs read %lld elements each, but both must be at most %lld",
                      (long long)outputs, (long long)room, (long long)MOST_WEIGHTS);
  tap *taps = malloc(((size_t)room + 1) * sizeof *taps);
  if (!taps) return mica__fail_nomem("the weights of an axis");
  for (int64_t o = 0; n > 0 && o < outputs; o++) {
    int64_t count = taps_of(map, n, outputs, o, taps);
    for (int64_t k = 0; k < count; k++) visit(user, o, k, taps[k]);
  }
  free(taps);
  return MICA_OK;
}

/* Tables while they are filled, one line per output, or per element for the transposed map. For the transposed map,
 * count[i] is the number of taps so far of element i; otherwise `count` is NULL. most is the largest number of taps of
 * a line so far. index and weight may be NULL. */
typedef struct tables {
  int64_t *count;
  int64_t lines, most;
  double *index, *weight;
} tables;

static void note(void *user, int64_t o, int64_t k, tap one) {
  tables *t = user;
  int64_t line = t->count ? one.index : o, slot = t->count ? t->count[line]++ : k;
  if (slot >= t->most) t->most = slot + 1;
  if (t->index) t->index[slot * t->lines + line] = (double)(t->count ? o : one.index);
  if (t->weight) t->weight[slot * t->lines + line] = one.weight;
}

static mica_status walk(const mica__axis_map *map, int64_t n, bool transposed, tables *t) {
  if (transposed) {
    t->count = calloc((size_t)n + 1, sizeof *t->count);
    if (!t->count) return mica__fail_nomem("the weights of an axis");
  }
  mica_status status = each_tap(map, n, note, t);
  free(t->count);
  return status;
}

mica_status mica__map_taps(const mica__axis_map *map, int64_t n, bool transposed, int64_t *taps) {
  tables t = {.most = 1};
  MICA_TRY(walk(map, n, transposed, &t));
  *taps = t.most;
  return MICA_OK;
}

mica_status mica__map_tables(const mica__axis_map *map, int64_t n, bool transposed, int64_t taps, double *index,
                             double *weight) {
  tables t = {.index = index, .weight = weight};
  int64_t outputs = 0;
  MICA_TRY(mica__map_outputs(map, n, &outputs));
  t.lines = transposed ? n : outputs;
  for (int64_t i = 0; index && i < taps * t.lines; i++) index[i] = (double)(transposed ? outputs : n);
  for (int64_t i = 0; weight && i < taps * t.lines; i++) weight[i] = 0;
  return walk(map, n, transposed, &t);
}
