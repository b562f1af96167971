/* RoI align: samples boxes of images, each into a map of the same size. */
#include "base/arith.h"
#include "base/error.h"
#include "ops/sample/sample.h"

/* The samples of all K boxes along one axis, `per` for each cell of the result. */
typedef struct span {
  mica_value positions; /* (K, cells * per) */
  /* True for samples that count: those at most one pixel outside the image. If adaptive, only the first `samples`
   * samples of each cell can count. */
  mica_value inside;
  mica_value samples; /* if adaptive, how many each cell of a box has, (K, 1); otherwise null */
} span;

/* For adaptive sampling, where the number of samples per cell differs between boxes. Returns the relative positions (0
 * to 1) of cells * per samples in each box, (K, cells * per). Sets s->samples to the numbers of samples per cell, at
 * most `per`, and s->inside to true for the first that many samples of each cell; the caller excludes those outside the
 * image. */
static mica_value adaptive_steps(mica_value boxes, int64_t cells, int64_t per, mica_value size, span *s) {
  mica_value numbers = mica_range(boxes.graph, MICA_I64, cells * per),
             each = mica_scalar(boxes.graph, MICA_I64, (double)per);
  mica_value cell = mica_cast(mica_div(numbers, each), mica_value_dtype(boxes));
  mica_value sample = mica_cast(mica_mod(numbers, each), mica_value_dtype(boxes));
  s->samples = mica_clip(mica_ceil(mica_affine(size, 1 / (double)cells, 0)), 0, (double)per);
  s->inside = mica_less(sample, s->samples);
  mica_value divisor = mica_maximum(s->samples, mica__number(boxes, 1));
  return mica_affine(mica_add(cell, mica_div(mica_affine(sample, 1, 0.5), divisor)), 1 / (double)cells, 0);
}

static mica_value edge(mica_value boxes, int32_t k, double scale, double shift) {
  return mica_affine(mica_slice(boxes, 1, k, k + 1, 1), scale, shift);
}

static span span_of(mica_value boxes, int32_t k, int64_t cells, int64_t per, int64_t extent, const mica_roi_config *c) {
  double shift = c->whole_pixels ? 0 : -0.5;
  mica_dtype dtype = mica_value_dtype(boxes);
  mica_value first = edge(boxes, k, c->scale, shift), last = edge(boxes, k + 2, c->scale, shift);
  mica_value size = mica_sub(last, first);
  if (c->whole_pixels) size = mica_maximum(size, mica__number(size, 1));
  span s = {0};
  mica_value steps = {0};
  if (c->adaptive) {
    steps = adaptive_steps(boxes, cells, per, size, &s);
  } else {
    steps = mica_affine(mica_range(boxes.graph, dtype, cells * per), 1, 0.5);
    steps = mica_affine(steps, 1 / ((double)cells * (double)per), 0);
  }
  s.positions = mica_add(first, mica_mul(size, steps));
  mica_value inside = mica_logical_and(mica_greater_equal(s.positions, mica__number(boxes, -1)),
                                       mica_less_equal(s.positions, mica__number(boxes, (double)extent)));
  s.inside = c->adaptive ? mica_logical_and(s.inside, inside) : inside;
  return s;
}

mica_value mica_roi_align(mica_value x, mica_value boxes, mica_value images, const mica_roi_config *config) {
  mica_roi_config c = config ? *config : (mica_roi_config){0};
  mica_shape shape = mica_value_shape(x), given = mica_value_shape(boxes);
  char tx[MICA_SHAPE_TEXT], tb[MICA_SHAPE_TEXT];
  if (mica_value_is_null(x) || mica_value_is_null(boxes) || mica_value_is_null(images)) return (mica_value){0};
  if (c.scale == 0) c.scale = 1;
  if (c.sampling == 0) c.sampling = 2;
  if (c.height == 0) c.height = 7;
  if (c.width == 0) c.width = 7;
  if (shape.rank != 4 || shape.dim[2] < 1 || shape.dim[3] < 1)
    return mica__builder_fail("roi_align", x, MICA_E_SHAPE,
                              "x is %s, but must be (N, C, H, W) with H and W known and at least 1",
                              mica_shape_format(shape, tx));
  if (given.rank != 2 || given.dim[1] != 4 || mica_dtype_kind_of(mica_value_dtype(boxes)) != MICA_DTYPE_KIND_FLOAT)
    return mica__builder_fail("roi_align", x, MICA_E_SHAPE,
                              "boxes are %s %s, but must be (K, 4) and of a floating type",
                              mica_dtype_name(mica_value_dtype(boxes)), mica_shape_format(given, tb));
  if (c.height < 0 || c.width < 0 || c.sampling < 0)
    return mica__builder_fail("roi_align", x, MICA_E_SHAPE,
                              "height is %lld, width %lld and sampling %lld, but none may be negative",
                              (long long)c.height, (long long)c.width, (long long)c.sampling);
  if (c.height > INT32_MAX || c.width > INT32_MAX || c.sampling > INT32_MAX || c.height * c.sampling > INT32_MAX / 4 ||
      c.width * c.sampling > INT32_MAX / 4)
    return mica__builder_fail("roi_align", x, MICA_E_SHAPE,
                              "height is %lld, width %lld and sampling %lld, but height times sampling and width times "
                              "sampling must be below 2^29",
                              (long long)c.height, (long long)c.width, (long long)c.sampling);
  if (c.adaptive && c.largest)
    return mica__builder_fail("roi_align", x, MICA_E_INVALID,
                              "adaptive sampling takes means, so largest must be false");
  boxes = mica_stop_gradient(mica__widen(boxes));
  span v = span_of(boxes, 1, c.height, c.sampling, shape.dim[2], &c);
  span u = span_of(boxes, 0, c.width, c.sampling, shape.dim[3], &c);
  /* Combine both axes: (K, rows, columns). */
  mica_value zero = mica__number(boxes, 0), ys = mica__insert_axis(v.positions, 2),
             xs = mica__insert_axis(u.positions, 1), none = mica_mul(mica_add(xs, ys), zero);
  mica_value pair[] = {mica__insert_axis(mica_add(xs, none), 3), mica__insert_axis(mica_add(ys, none), 3)};
  mica_value grid = mica_concat(pair, 2, 3);
  mica_sample_config how = {.padding = MICA_SAMPLE_PADDING_BORDER, .pixels = true, .images = images};
  mica_value wide = mica__widen(x), y = mica_sample(wide, grid, &how);
  mica_value inside = mica_logical_and(mica__insert_axis(v.inside, 2), mica__insert_axis(u.inside, 1));
  y = mica_where(mica__insert_axis(inside, 1), y, mica__number(wide, 0));
  mica_shape cells = {6, {MICA__COPY_DIM(0), MICA__COPY_DIM(1), c.height, c.sampling, c.width, c.sampling}};
  y = mica_reshape(y, cells);
  if (c.adaptive) {
    mica_value count = mica_maximum(mica_mul(v.samples, u.samples), mica__number(boxes, 1));
    count = mica__insert_axis(mica__insert_axis(count, 2), 3);
    return mica__narrow(mica_div(mica_sum(y, MICA_AXES(3, 5), false), mica_cast(count, mica_value_dtype(wide))), x);
  }
  y = c.largest ? mica_max(y, MICA_AXES(3, 5), false) : mica_mean(y, MICA_AXES(3, 5), false);
  return mica__narrow(y, x);
}
