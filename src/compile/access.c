#include "compile/access.h"

#include <stdlib.h>

mica__access mica__access_row_major(mica_shape shape) {
  mica__access access = {0};
  int64_t step = 1;
  for (int32_t i = shape.rank - 1; i >= 0; i--) {
    access.stride[i] = shape.dim[i] > 1 ? step : 0;
    step *= shape.dim[i] > 1 ? shape.dim[i] : 1;
  }
  return access;
}

mica__access mica__access_broadcast(mica_shape from, mica_shape to) {
  mica__access access = {0}, own = mica__access_row_major(from);
  int32_t shift = to.rank - from.rank;
  for (int32_t i = 0; i < from.rank; i++) access.stride[i + shift] = own.stride[i];
  return access;
}

bool mica__access_equal(mica_shape space, const mica__access *a, const mica__access *b) {
  if (a->offset != b->offset) return false;
  for (int32_t i = 0; i < space.rank; i++)
    if (space.dim[i] > 1 && a->stride[i] != b->stride[i]) return false;
  return true;
}

bool mica__access_is_row_major(mica_shape space, const mica__access *access) {
  mica__access expected = mica__access_row_major(space);
  return mica__access_equal(space, &expected, access);
}

/* Adjacent dimensions of a value that the inner access steps through with one stride, as if they were one dimension. */
typedef struct run {
  int64_t extent, row_major, stride;
  /* at: the index along the run that the outer access's offset gives. low, high: the outer access reaches the indices
   * at + low to at + high; low <= 0 <= high. */
  int64_t at, low, high;
} run;

static int32_t find_runs(mica_shape shape, const mica__access *inner, run runs[MICA_MAX_RANK]) {
  int32_t count = 0;
  int64_t row_major = 1;
  for (int32_t i = shape.rank - 1; i >= 0; i--) {
    if (shape.dim[i] == 1) continue;
    run *last = count ? &runs[count - 1] : NULL;
    if (last && inner->stride[i] == last->stride * last->extent)
      last->extent *= shape.dim[i];
    else
      runs[count++] = (run){.extent = shape.dim[i], .row_major = row_major, .stride = inner->stride[i]};
    row_major *= shape.dim[i];
  }
  return count;
}

/* The run along which a step of `step` elements moves: the outermost run whose row-major stride is at most |step| and
 * divides it. NULL if there is no such run. */
static run *run_of(run *runs, int32_t count, int64_t step) {
  for (int32_t j = count - 1; j >= 0; j--)
    if (llabs(step) >= runs[j].row_major && step % runs[j].row_major == 0) return &runs[j];
  return NULL;
}

bool mica__access_compose(mica_shape space, const mica__access *outer, mica_shape shape, const mica__access *inner,
                          mica__access *out) {
  run runs[MICA_MAX_RANK];
  *out = (mica__access){0};
  for (int32_t i = 0; i < space.rank; i++)
    if (space.dim[i] == 0) return true; /* a space without elements accepts any access */
  out->offset = inner->offset;
  int32_t count = find_runs(shape, inner, runs);
  for (int32_t j = 0; j < count; j++) {
    runs[j].at = outer->offset / runs[j].row_major % runs[j].extent;
    out->offset += runs[j].at * runs[j].stride;
  }
  for (int32_t k = 0; k < space.rank; k++) {
    if (space.dim[k] == 1 || outer->stride[k] == 0) continue;
    run *along = run_of(runs, count, outer->stride[k]);
    if (!along) return false;
    int64_t step = outer->stride[k] / along->row_major, reach = step * (space.dim[k] - 1);
    *(reach < 0 ? &along->low : &along->high) += reach;
    out->stride[k] = step * along->stride;
  }
  for (int32_t j = 0; j < count; j++)
    if (runs[j].at + runs[j].low < 0 || runs[j].at + runs[j].high >= runs[j].extent) return false;
  return true;
}
