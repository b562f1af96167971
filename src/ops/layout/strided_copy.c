#include "ops/layout/strided_copy.h"

#include "base/error.h"
#include "ops/common/build.h"
#include "ops/select/check.h"

#include <stdlib.h>

static const mica__kernel_param params[] = {
    MICA__DTYPE("X_T", "an integer of the elements' size", MICA_I32, MICA_I8, MICA_I16, MICA_I64),
    MICA__INT("RANK", "dimensions", 1, 2, 3, 4, 5, 6, 7, 8),
    MICA__INT("UNIT", "1: the last dimension has stride 1 on both sides", 0, 1),
    MICA__INT("VW", "elements a work-item moves", 1, 2, 4, 8, 16),
    MICA__INT("GROUP", "work-items of a group, along the last dimension", 1, MICA__RANGE_GROUP),
    MICA__INT("FLAT", "1: rows of the last dimension follow one another in one dimension of the range", 0, 1),
};
static const mica__variant variants[] = {
    MICA__VARIANT("cpu", MICA__ON_CPU, MICA_I32, 2, 1, 16, 1, 0),
    MICA__VARIANT("gpu", MICA__ON_GPU, MICA_I32, 2, 1, 1, MICA__RANGE_GROUP, 1),
};
static const mica__kernel_desc strided_copy = {
    MICA__KERNEL("strided_copy", "layout/strided_copy.cl", params, variants)};

/* A copy as the kernel takes it, with as few dimensions as possible. */
typedef struct plan {
  int32_t rank;
  int64_t extent[MICA_MAX_RANK], from[MICA_MAX_RANK], to[MICA_MAX_RANK];
} plan;

/* Drops dimensions of extent 1 and merges adjacent dimensions whose elements are evenly spaced in both x and y. At
 * least one dimension is left. */
static plan make_plan(mica_shape space, const mica__access *from, const mica__access *to) {
  plan p = {0};
  for (int32_t i = 0; i < space.rank; i++) {
    int32_t last = p.rank - 1;
    int64_t extent = space.dim[i];
    if (extent == 1) continue;
    if (last >= 0 && p.from[last] == from->stride[i] * extent && p.to[last] == to->stride[i] * extent) {
      p.extent[last] *= extent;
    } else {
      last = p.rank++;
      p.extent[last] = extent;
    }
    p.from[last] = from->stride[i];
    p.to[last] = to->stride[i];
  }
  if (p.rank == 0) p = (plan){.rank = 1, .extent = {1}, .from = {1}, .to = {1}};
  return p;
}

static mica_dtype carrier(mica_dtype dtype) {
  size_t size = mica_dtype_size(dtype);
  return size == 1 ? MICA_I8 : size == 2 ? MICA_I16 : size == 4 ? MICA_I32 : MICA_I64;
}

/* What the launches of one copy share. */
typedef struct copying {
  plan p;
  mica__kernel *kernel;
  const mica_tensor *x, *y;
  int64_t x_from, y_from, steps, outer; /* steps: work-items per row; outer: rows */
  size_t group;
  bool flat;
} copying;

/* Launches the copy of `rows` rows from `row` on. */
static mica_status launch_rows(mica_queue *queue, const copying *c, int64_t row, int64_t rows) {
  const plan *p = &c->p;
  mica__launch launch = mica__launch_of(c->kernel);
  mica__launch_tensor(&launch, c->x);
  mica__launch_tensor(&launch, c->y);
  mica__launch_long(&launch, c->x_from);
  mica__launch_long(&launch, c->y_from);
  for (int32_t i = 0; i < MICA_MAX_RANK; i++) {
    mica__launch_size(&launch, i < p->rank ? p->extent[i] : 1);
    mica__launch_long(&launch, i < p->rank ? p->from[i] : 0);
    mica__launch_long(&launch, i < p->rank ? p->to[i] : 0);
  }
  mica__launch_size(&launch, row);
  mica__launch_size(&launch, rows);
  if (c->flat)
    mica__launch_range1(&launch, c->steps * rows, c->group);
  else
    mica__launch_range3(&launch, (int64_t[]){c->steps, rows, 1}, (size_t[]){c->group, 1, 1});
  double elements = (double)rows * (double)p->extent[p->rank - 1];
  mica__launch_cost(&launch, 0, 2 * elements * (double)mica_dtype_size(mica_tensor_dtype(c->x)));
  return mica__queue_submit(queue, &launch);
}

/* The most work-items of a launch along one dimension: the kernel numbers them in 32 bits. */
#define MOST_ITEMS ((int64_t)1 << 31)

mica_status mica__strided_copy(mica_queue *queue, const mica__variant *variant, mica_shape space, const mica_tensor *x,
                               const mica__access *from, mica_tensor *y, const mica__access *to) {
  int64_t count = 0;
  MICA_TRY(mica_shape_count(space, &count));
  if (count == 0) return MICA_OK;
  copying c = {.p = make_plan(space, from, to), .x = x, .y = y, .x_from = from->offset, .y_from = to->offset};
  int32_t values[MICA__MAX_PARAMS], last = c.p.rank - 1;
  mica_engine *engine = mica__queue_engine(queue);
  if (!variant) MICA_TRY(mica__kernel_choose(engine, &strided_copy, &variant));
  mica__kernel_values(&strided_copy, variant, values);
  mica__kernel_set(&strided_copy, values, "X_T", (int32_t)carrier(mica_tensor_dtype(x)));
  mica__kernel_set(&strided_copy, values, "RANK", c.p.rank);
  int64_t width = values[mica__kernel_param_index(&strided_copy, "VW")];
  mica__kernel_set(&strided_copy, values, "UNIT", c.p.from[last] == 1 && c.p.to[last] == 1 && width > 1);
  c.flat = mica__kernel_value(&strided_copy, values, "FLAT");
  c.steps = (c.p.extent[last] + width - 1) / width;
  c.outer = count / c.p.extent[last];
  c.group = c.flat || c.steps >= MICA__RANGE_GROUP ? MICA__RANGE_GROUP : 1;
  mica__kernel_set(&strided_copy, values, "GROUP", (int32_t)c.group);
  MICA_TRY(mica__kernel_get(engine, &strided_copy, values, NULL, &c.kernel));
  int64_t each = c.flat && c.outer > MOST_ITEMS / c.steps ? MOST_ITEMS / c.steps : c.outer;
  for (int64_t row = 0; row < c.outer; row += each)
    MICA_TRY(launch_rows(queue, &c, row, row + each < c.outer ? each : c.outer - row));
  return MICA_OK;
}

/* --- check --- */

/* Doubles one axis of `space` for a tensor, and returns a window of it: every second element of that axis, backwards,
 * and all elements of the others, forwards. */
static mica__access window(mica_shape *space, int32_t axis) {
  mica__access access = {0};
  if (space->rank > 0) space->dim[axis] *= 2;
  mica__row_major(*space, access.stride);
  if (space->rank == 0) return access;
  access.offset = space->dim[axis] ? (space->dim[axis] - 1) * access.stride[axis] : 0;
  access.stride[axis] *= -2;
  return access;
}

/* Copies from a window of x to a window of y, around which y holds other values. */
static mica_status check_case(mica__check_group *group, const mica__variant *variant, mica_dtype dtype,
                              mica_shape space, int32_t x_axis, int32_t y_axis) {
  mica__check *check = group->check;
  mica_shape x_shape = space, y_shape = space;
  mica__access from = {0}, to = {0};
  int64_t index[MICA_MAX_RANK] = {0}, count = 0, total = 0;
  mica__check_tensor x = {0}, y = {0};
  mica__row_major(space, from.stride);
  mica__row_major(space, to.stride);
  if (x_axis >= 0) from = window(&x_shape, x_axis);
  if (y_axis >= 0) to = window(&y_shape, y_axis);
  MICA_TRY(mica_shape_count(space, &count));
  MICA_TRY(mica_shape_count(y_shape, &total));
  double *want = calloc((size_t)total + 1, 2 * sizeof *want);
  mica_status status = want ? mica__check_input(check, dtype, x_shape, 100, &x) : mica__fail_nomem("a reference");
  if (status == MICA_OK) status = mica__check_input(check, dtype, y_shape, 100, &y);
  for (int64_t i = 0; status == MICA_OK && i < total; i++) want[i] = y.values[i];
  for (int64_t i = 0; status == MICA_OK && i < count; i++, mica__next_index(space, index))
    want[mica__access_at(&to, space, index)] = x.values[mica__access_at(&from, space, index)];
  if (status == MICA_OK) status = mica__strided_copy(check->queue, variant, space, x.tensor, &from, y.tensor, &to);
  /* bound is 0: elements are only moved, so nothing may differ. */
  if (status == MICA_OK) status = mica__check_compare(group, &y, want, want + total);
  mica__check_free(&x);
  mica__check_free(&y);
  free(want);
  return status;
}

static mica_status check_type(mica__check *check, const mica__variant *variant, mica_dtype dtype) {
  static const mica_shape spaces[] = {
      {0, {0}},    {1, {1}},        {1, {1000}},          {2, {3, 17}},
      {2, {0, 4}}, {3, {2, 1, 33}}, {5, {2, 3, 2, 1, 5}}, {8, {2, 1, 2, 2, 3, 2, 2, 16}},
  };
  mica__check_group group = mica__check_begin(check, "strided_copy", variant->name, mica_dtype_name(dtype));
  for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++)
    for (int32_t x_axis = -1; x_axis < spaces[i].rank; x_axis++)
      for (int32_t y_axis = -1; y_axis < spaces[i].rank; y_axis += check->level != MICA__CHECK_FULL ? 3 : 1) {
        char text[MICA_SHAPE_TEXT];
        if (!mica__check_note(&group, check_case(&group, variant, dtype, spaces[i], x_axis, y_axis), "%s %s axes %d %d",
                              mica_dtype_name(dtype), mica_shape_format(spaces[i], text), (int)x_axis, (int)y_axis))
          break;
      }
  return mica__check_end(&group);
}

static mica_status check_strided_copy(mica__check *check) {
  static const mica_dtype types[] = {MICA_F32, MICA_I8, MICA_F16, MICA_I64};
  for (int v = 0; v < strided_copy.variant_count; v++)
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
      MICA_TRY(check_type(check, &strided_copy.variants[v], types[t]));
  return MICA_OK;
}

static const mica__kernel_desc *const kernels[] = {&strided_copy, NULL};
const mica__op mica__op_strided_copy = {.name = "strided_copy", .kernels = kernels, .check = check_strided_copy};
