#include "base/checked.h"
#include "base/error.h"

#include <inttypes.h>
#include <mica/shape.h>
#include <stdio.h>

bool mica_shape_is_valid(mica_shape shape) {
  if (shape.rank < 0 || shape.rank > MICA_MAX_RANK) return false;
  for (int32_t i = 0; i < shape.rank; i++)
    if (shape.dim[i] < 0) return false;
  return true;
}

bool mica_shape_equal(mica_shape a, mica_shape b) {
  if (a.rank != b.rank || a.rank < 0 || a.rank > MICA_MAX_RANK) return false;
  for (int32_t i = 0; i < a.rank; i++)
    if (a.dim[i] != b.dim[i]) return false;
  return true;
}

mica_status mica_shape_count(mica_shape shape, int64_t *count) {
  char text[MICA_SHAPE_TEXT];
  if (!count) return mica__fail(MICA_E_INVALID, "mica_shape_count: count is NULL");
  if (!mica_shape_is_valid(shape))
    return mica__fail(MICA_E_INVALID,
                      "%s is not a valid shape; a shape has at most %d dimensions, all known and none negative",
                      mica_shape_format(shape, text), MICA_MAX_RANK);
  /* Check for zeros first: (2^40, 2^40, 0) has no elements, so its product must not count as an overflow. */
  for (int32_t i = 0; i < shape.rank; i++)
    if (shape.dim[i] == 0) {
      *count = 0;
      return MICA_OK;
    }
  int64_t product = 1;
  for (int32_t i = 0; i < shape.rank; i++)
    if (!mica__mul_i64(product, shape.dim[i], &product))
      return mica__fail(MICA_E_OVERFLOW, "shape %s has 2^63 elements or more", mica_shape_format(shape, text));
  *count = product;
  return MICA_OK;
}

const char *mica_shape_format(mica_shape shape, char text[MICA_SHAPE_TEXT]) {
  int32_t rank = shape.rank < 0 ? 0 : shape.rank > MICA_MAX_RANK ? MICA_MAX_RANK : shape.rank;
  size_t at = (size_t)snprintf(text, MICA_SHAPE_TEXT, "(");
  for (int32_t i = 0; i < rank; i++)
    at += (size_t)(shape.dim[i] == -1 /* a dynamic dimension of a graph */
                       ? snprintf(text + at, MICA_SHAPE_TEXT - at, "%s?", i ? ", " : "")
                       : snprintf(text + at, MICA_SHAPE_TEXT - at, "%s%" PRId64, i ? ", " : "", shape.dim[i]));
  snprintf(text + at, MICA_SHAPE_TEXT - at,
           rank == shape.rank ? ")"
           : rank             ? ", rank %d)"
                              : "rank %d)",
           (int)shape.rank);
  return text;
}

mica_status mica_shape_broadcast(mica_shape a, mica_shape b, mica_shape *out) {
  char ta[MICA_SHAPE_TEXT], tb[MICA_SHAPE_TEXT];
  if (!mica_shape_is_valid(a) || !mica_shape_is_valid(b))
    return mica__fail(MICA_E_INVALID,
                      "%s is not a valid shape; a shape has at most %d dimensions, all known and none negative",
                      mica_shape_format(mica_shape_is_valid(a) ? b : a, ta), MICA_MAX_RANK);
  mica_shape result = {.rank = a.rank > b.rank ? a.rank : b.rank};
  for (int32_t back = 1; back <= result.rank; back++) {
    int64_t da = back <= a.rank ? a.dim[a.rank - back] : 1;
    int64_t db = back <= b.rank ? b.dim[b.rank - back] : 1;
    if (da != db && da != 1 && db != 1)
      return mica__fail(MICA_E_SHAPE, "shapes %s and %s cannot be broadcast together", mica_shape_format(a, ta),
                        mica_shape_format(b, tb));
    result.dim[result.rank - back] = da == 1 ? db : da;
  }
  *out = result;
  return MICA_OK;
}
