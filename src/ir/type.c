#include "ir/graph.h"

#include "base/checked.h"

#include <stdio.h>

const char *mica__type_format(mica__type type, char text[MICA__TYPE_TEXT]) {
  char shape[MICA_SHAPE_TEXT];
  snprintf(text, MICA__TYPE_TEXT, "%s %s", mica_dtype_name(type.dtype), mica_shape_format(type.shape, shape));
  return text;
}

mica_status mica__type_check(mica__type type) {
  char text[MICA__TYPE_TEXT];
  mica_shape counted = type.shape;
  int64_t count = 0, bytes = 0;
  for (int32_t i = 0; i < counted.rank && i < MICA_MAX_RANK; i++)
    if (counted.dim[i] == MICA_DYNAMIC || counted.dim[i] == 0) counted.dim[i] = 1;
  MICA_TRY(mica_shape_count(counted, &count));
  if (mica__mul_i64(count, (int64_t)mica_dtype_size(type.dtype), &bytes)) return MICA_OK;
  return mica__fail(MICA_E_OVERFLOW, "%s has 2^63 bytes or more", mica__type_format(type, text));
}

bool mica__shape_is_open(mica_shape shape) {
  for (int32_t i = 0; i < shape.rank; i++)
    if (shape.dim[i] == MICA_DYNAMIC) return true;
  return false;
}

bool mica__shape_fits(mica_shape shape, mica_shape declared) {
  bool fits = shape.rank == declared.rank;
  for (int32_t d = 0; fits && d < shape.rank; d++)
    fits = declared.dim[d] == MICA_DYNAMIC || declared.dim[d] == shape.dim[d];
  return fits;
}

mica_status mica__shape_broadcast(mica_shape a, mica_shape b, mica_shape *out) {
  /* mica_shape_broadcast accepts no open dimensions. So each open dimension is replaced by the other shape's extent, or
   * by 1 if this is open too or missing. */
  mica_shape closed_a = a, closed_b = b, result;
  char ta[MICA_SHAPE_TEXT], tb[MICA_SHAPE_TEXT];
  int32_t shorter = a.rank < b.rank ? a.rank : b.rank, longer = a.rank + b.rank - shorter;
  bool open[MICA_MAX_RANK] = {false};
  for (int32_t back = 1; back <= longer && longer <= MICA_MAX_RANK; back++) {
    int64_t *da = back <= a.rank ? &closed_a.dim[a.rank - back] : NULL;
    int64_t *db = back <= b.rank ? &closed_b.dim[b.rank - back] : NULL;
    bool open_a = da && *da == MICA_DYNAMIC, open_b = db && *db == MICA_DYNAMIC;
    open[longer - back] = (open_a && (!db || open_b || *db == 1)) || (open_b && (!da || open_a || *da == 1));
    if (open_a) *da = db && !open_b ? *db : 1;
    if (open_b) *db = da ? *da : 1;
  }
  mica_status status = mica_shape_broadcast(closed_a, closed_b, &result);
  if (status != MICA_OK)
    return mica__fail(status, "shapes %s and %s cannot be broadcast together", mica_shape_format(a, ta),
                      mica_shape_format(b, tb));
  for (int32_t i = 0; i < result.rank; i++)
    if (open[i]) result.dim[i] = MICA_DYNAMIC;
  *out = result;
  return MICA_OK;
}
