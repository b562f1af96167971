/* Layout ops made of reshape, transpose, expand, slice, pad and concat. */
#include "base/checked.h"
#include "ops/common/build.h"

#include <stdlib.h>

void mica_split(mica_value x, int32_t axis, const int64_t *sizes, size_t count, mica_value *parts) {
  int64_t k = axis, begin = 0;
  for (size_t i = 0; i < count && parts; i++) parts[i] = (mica_value){0};
  if (!mica__builder_axis("split", x, &k)) return;
  if (count > 0 && (!sizes || !parts)) {
    mica__builder_fail("split", x, MICA_E_INVALID, "%s is NULL", sizes ? "parts" : "sizes");
    return;
  }
  for (size_t i = 0; i < count; i++) {
    int64_t end = 0;
    if (sizes[i] < 0) {
      mica__builder_fail("split", x, MICA_E_SHAPE, "size %zu is %lld, but must not be negative", i,
                         (long long)sizes[i]);
      return;
    }
    if (__builtin_add_overflow(begin, sizes[i], &end)) {
      mica__builder_fail("split", x, MICA_E_SHAPE, "the sizes of the parts add up to 2^63 or more");
      return;
    }
    parts[i] = mica_slice(x, (int32_t)k, begin, end, 1);
    begin = end;
  }
  if (mica_value_shape(x).dim[k] == MICA_DYNAMIC)
    mica__builder_fail("split", x, MICA_E_SHAPE, "axis %lld is open, but must have a known size", (long long)k);
  else if (begin != mica_value_shape(x).dim[k])
    mica__builder_fail("split", x, MICA_E_SHAPE,
                       "the sizes of the parts add up to %lld, but axis %lld has %lld elements", (long long)begin,
                       (long long)k, (long long)mica_value_shape(x).dim[k]);
}

mica_value mica_squeeze(mica_value x, mica_axes axes) {
  mica_shape from = mica_value_shape(x), to = {0};
  uint32_t named = 0;
  char text[MICA_SHAPE_TEXT];
  if (!mica__builder_named_axes("squeeze", x, axes, from.rank, &named)) return (mica_value){0};
  for (int32_t k = 0; k < from.rank; k++) {
    const bool drop = named >> k & 1;
    if (drop && from.dim[k] != 1)
      return mica__builder_fail("squeeze", x, MICA_E_SHAPE, "axis %d of %s must have size 1", (int)k,
                                mica_shape_format(from, text));
    if (drop || (axes.count == 0 && from.dim[k] == 1)) continue;
    to.dim[to.rank++] = MICA__COPY_DIM(k);
  }
  return mica_reshape(x, to);
}

mica_value mica_unsqueeze(mica_value x, mica_axes axes) {
  const mica_shape from = mica_value_shape(x);
  uint32_t named = 0;
  if (!x.graph) return x;
  if (axes.count > MICA_MAX_RANK - from.rank)
    return mica__builder_fail("unsqueeze", x, MICA_E_SHAPE, "%d more axes would be too many; a tensor has at most %d",
                              (int)axes.count, MICA_MAX_RANK);
  if (!mica__builder_named_axes("unsqueeze", x, axes, from.rank + axes.count, &named)) return (mica_value){0};
  mica_shape to = {.rank = from.rank + axes.count};
  int32_t k = 0;
  for (int32_t i = 0; i < to.rank; i++) to.dim[i] = named >> i & 1 ? 1 : MICA__COPY_DIM(k++);
  return mica_reshape(x, to);
}

static int64_t times(int64_t a, int64_t b) {
  int64_t product = 0;
  return a == MICA_DYNAMIC || b == MICA_DYNAMIC ? MICA_DYNAMIC : mica__mul_i64(a, b, &product) ? product : INT64_MAX;
}

mica_value mica_flatten(mica_value x, int32_t axis) {
  mica_shape from = mica_value_shape(x), to = {.rank = 2, .dim = {1, 1}};
  int64_t k = axis;
  if (axis != from.rank && !mica__builder_axis("flatten", x, &k)) return (mica_value){0};
  for (int32_t i = 0; i < from.rank; i++) to.dim[i >= k] = times(to.dim[i >= k], from.dim[i]);
  return mica_reshape(x, to);
}

mica_value mica_tile(mica_value x, const int64_t *repeats) {
  int32_t rank = mica_value_shape(x).rank;
  if (x.graph && rank > 0 && !repeats) return mica__builder_fail("tile", x, MICA_E_INVALID, "repeats is NULL");
  for (int32_t k = 0; k < rank && x.graph; k++) {
    if (repeats[k] == 1) continue;
    if (repeats[k] < 0)
      return mica__builder_fail("tile", x, MICA_E_INVALID, "repeats holds %lld, but must not be negative",
                                (long long)repeats[k]);
    if (times(mica_value_shape(x).dim[k], repeats[k]) == INT64_MAX)
      return mica__builder_fail("tile", x, MICA_E_OVERFLOW, "%lld repetitions of axis %d are too many elements",
                                (long long)repeats[k], (int)k);
    mica_shape shape = mica_value_shape(x), wide = {.rank = rank + 1}, merged = shape;
    for (int32_t i = 0; i < wide.rank; i++) wide.dim[i] = i == k ? repeats[k] : MICA_DYNAMIC;
    for (int32_t i = 0; i < rank; i++)
      merged.dim[i] = i == k ? times(shape.dim[k], repeats[k]) : MICA__COPY_DIM(i < k ? i : i + 1);
    x = mica_reshape(mica_expand(mica__insert_axis(x, k), wide), merged);
  }
  return x;
}

/* Records that the axis of x to pad is open. Returns null. */
static mica_value fail_open(mica_value x, int32_t axis) {
  return mica__builder_fail("pad", x, MICA_E_SHAPE, "axis %d of '%s' is open, but must have a known size", (int)axis,
                            mica_value_name(x));
}

/* Returns the `count` elements that pad x on one side of an axis, as the mode says. */
static mica_value continued(mica_value x, int32_t axis, int64_t count, bool before, mica_pad_mode mode) {
  int64_t n = mica_value_shape(x).dim[axis];
  int64_t most = mode == MICA_PAD_MODE_REFLECT ? n - 1 : mode == MICA_PAD_MODE_WRAP ? n : n > 0 ? INT64_MAX : 0;
  if (n == MICA_DYNAMIC) return fail_open(x, axis);
  if (count > most)
    return mica__builder_fail(
        "pad", x, MICA_E_SHAPE,
        "padding of %lld elements is too long for axis %d, which has %lld and may get %lld in this mode",
        (long long)count, (int)axis, (long long)n, (long long)(most > 0 ? most : 0));
  if (mode == MICA_PAD_MODE_REFLECT)
    return before ? mica_slice(x, axis, count, 0, -1)
                  : mica_slice(x, axis, n - 2, count < n - 1 ? n - 2 - count : MICA_END, -1);
  if (mode == MICA_PAD_MODE_WRAP)
    return before ? mica_slice(x, axis, n - count, n, 1) : mica_slice(x, axis, 0, count, 1);
  mica_shape shape = {.rank = mica_value_shape(x).rank};
  for (int32_t i = 0; i < shape.rank; i++) shape.dim[i] = i == axis ? count : MICA_DYNAMIC;
  return mica_expand(mica_slice(x, axis, before ? 0 : n - 1, before ? 1 : n, 1), shape);
}

static mica_value pad_axis(mica_value x, int32_t axis, int64_t before, int64_t after, mica_pad_mode mode,
                           double value) {
  mica_value parts[3] = {{0}};
  size_t count = 0;
  if (before < 0 || after < 0) {
    int64_t n = mica_value_shape(x).dim[axis], rest = n;
    if (n == MICA_DYNAMIC) return fail_open(x, axis);
    bool fits = !__builtin_add_overflow(rest, before < 0 ? before : 0, &rest) &&
                !__builtin_add_overflow(rest, after < 0 ? after : 0, &rest) && rest >= 0;
    if (!fits)
      return mica__builder_fail(
          "pad", x, MICA_E_SHAPE, "padding of %lld and %lld along axis %d would remove more than its %lld elements",
          (long long)(before < 0 ? before : 0), (long long)(after < 0 ? after : 0), (int)axis, (long long)n);
    x = mica_slice(x, axis, before < 0 ? -before : 0, after < 0 ? n + after : n, 1);
    before = before < 0 ? 0 : before;
    after = after < 0 ? 0 : after;
  }
  if (!x.graph || (before == 0 && after == 0)) return x;
  if (mode == MICA_PAD_MODE_CONSTANT) return mica__pad_axis(x, axis, before, after, value);
  if (before > 0) parts[count++] = continued(x, axis, before, true, mode);
  parts[count++] = x;
  if (after > 0) parts[count++] = continued(x, axis, after, false, mode);
  return mica_concat(parts, count, axis);
}

mica_value mica_pad(mica_value x, const int64_t *before, const int64_t *after, mica_pad_mode mode, double value) {
  int32_t rank = mica_value_shape(x).rank;
  if (!mica__builder_choice("pad", x, "mode", (int32_t)mode, MICA_PAD_MODE_WRAP + 1)) return (mica_value){0};
  if (rank > 0 && (!before || !after))
    return mica__builder_fail("pad", x, MICA_E_INVALID, "%s is NULL", before ? "after" : "before");
  if (mica_value_dtype(x) == MICA_BOOL) value = value != 0;
  for (int32_t k = 0; k < rank; k++) x = pad_axis(x, k, before[k], after[k], mode, value);
  return x;
}

/* Checks that x is an image (N, C, H, W) with C known and above 0, and that block is above 0; *shape receives x's
 * shape. False for a null x, and after recording an error. */
static bool image(const char *op, mica_value x, int32_t block, mica_shape *shape) {
  *shape = mica_value_shape(x);
  if (!x.graph) return false;
  if (shape->rank == 4 && block > 0 && shape->dim[1] > 0) return true;
  char text[MICA_SHAPE_TEXT];
  if (block < 1)
    mica__builder_fail(op, x, MICA_E_SHAPE, "block is %d, but must be above 0", (int)block);
  else
    mica__builder_fail(op, x, MICA_E_SHAPE, "x is %s, but must be (N, C, H, W) with C known and above 0",
                       mica_shape_format(*shape, text));
  return false;
}

mica_value mica_depth_to_space(mica_value x, int32_t block, bool columns_first) {
  mica_shape s;
  int64_t b = block;
  char text[MICA_SHAPE_TEXT];
  if (!image("depth_to_space", x, block, &s)) return (mica_value){0};
  int64_t c = s.dim[1] / (b * b);
  if (c * b * b != s.dim[1])
    return mica__builder_fail("depth_to_space", x, MICA_E_SHAPE,
                              "the channels of %s must be a multiple of %lld, the pixels of a block",
                              mica_shape_format(s, text), (long long)(b * b));
  mica_shape cells = columns_first ? MICA_SHAPE(s.dim[0], c, b, b, s.dim[2], s.dim[3])
                                   : MICA_SHAPE(s.dim[0], b, b, c, s.dim[2], s.dim[3]);
  mica_axes order = columns_first ? MICA_AXES(0, 1, 4, 2, 5, 3) : MICA_AXES(0, 3, 4, 1, 5, 2);
  return mica_reshape(mica_transpose(mica_reshape(x, cells), order),
                      MICA_SHAPE(s.dim[0], c, times(s.dim[2], b), times(s.dim[3], b)));
}

mica_value mica_space_to_depth(mica_value x, int32_t block) {
  mica_shape s;
  int64_t b = block;
  char text[MICA_SHAPE_TEXT];
  if (!image("space_to_depth", x, block, &s)) return (mica_value){0};
  if (s.dim[2] % b || s.dim[3] % b)
    return mica__builder_fail("space_to_depth", x, MICA_E_SHAPE,
                              "height and width of %s must be multiples of block (%lld)", mica_shape_format(s, text),
                              (long long)b);
  mica_shape cells = MICA_SHAPE(s.dim[0], s.dim[1], s.dim[2] / b, b, s.dim[3] / b, b);
  return mica_reshape(mica_transpose(mica_reshape(x, cells), MICA_AXES(0, 3, 5, 1, 2, 4)),
                      MICA_SHAPE(s.dim[0], times(s.dim[1], b * b), s.dim[2] / b, s.dim[3] / b));
}
