/* Overlaps of boxes, made of pointwise ops. */
#include "ops/common/build.h"

#include <mica/loss.h>

/* The least area to divide by, so that no division is by 0. */
#define LEAST 1e-12

/* Returns coordinate k of boxes (..., 4), without the last axis. */
static mica_value side(mica_value box, int32_t k) {
  return mica_squeeze(mica_slice(box, -1, k, k + 1, 1), MICA_AXES(-1));
}

static mica_value positive(mica_value x) { return mica_maximum(x, mica__number(x, 0)); }

/* Returns a / b, where b counts as at least LEAST; 0 if b is 0, since a is then 0 too (for boxes with x0 <= x1 and y0
 * <= y1). */
static mica_value share(mica_value a, mica_value b) { return mica_div(a, mica_maximum(b, mica__number(b, LEAST))); }

static mica_value overlap(const char *name, mica_value a, mica_value b, bool generalised) {
  const mica_shape x = mica_value_shape(a), y = mica_value_shape(b);
  if (mica_value_is_null(a)) return a;
  if (mica_value_is_null(b)) return b;
  if (x.rank < 1 || x.dim[x.rank - 1] != 4 || y.rank < 1 || y.dim[y.rank - 1] != 4)
    return mica__builder_fail(name, a, MICA_E_SHAPE, "both operands must be boxes (..., 4)");
  /* Only floats: differences of unsigned corners would wrap, and quotients of integer areas would be 0 or 1. */
  for (int i = 0; i < 2; i++) {
    const mica_dtype dtype = mica_value_dtype(i ? b : a);
    if (mica_dtype_kind_of(dtype) != MICA_DTYPE_KIND_FLOAT)
      return mica__builder_fail(name, i ? b : a, MICA_E_DTYPE, "boxes are %s, but must be of a floating type",
                                mica_dtype_name(dtype));
  }
  mica_value s[4], t[4], low[2], high[2], inner[2], hull[2];
  for (int32_t k = 0; k < 4; k++) s[k] = side(mica__widen(a), k), t[k] = side(mica__widen(b), k);
  for (int k = 0; k < 2; k++) {
    low[k] = mica_maximum(s[k], t[k]);
    high[k] = mica_minimum(s[k + 2], t[k + 2]);
    inner[k] = positive(mica_sub(high[k], low[k]));
    hull[k] = mica_sub(mica_maximum(s[k + 2], t[k + 2]), mica_minimum(s[k], t[k]));
  }
  mica_value both = mica_mul(inner[0], inner[1]);
  mica_value own = mica_mul(mica_sub(s[2], s[0]), mica_sub(s[3], s[1]));
  mica_value other = mica_mul(mica_sub(t[2], t[0]), mica_sub(t[3], t[1]));
  mica_value all = mica_sub(mica_add(own, other), both), result = share(both, all);
  if (generalised) {
    mica_value area = mica_mul(hull[0], hull[1]);
    result = mica_sub(result, share(mica_sub(area, all), area));
  }
  return mica__narrow(result, a);
}

mica_value mica_iou(mica_value a, mica_value b) { return overlap("iou", a, b, false); }
mica_value mica_giou(mica_value a, mica_value b) { return overlap("giou", a, b, true); }
