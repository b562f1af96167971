#include "ops/reduce/reduce.h"
#include "base/error.h"
#include "ir/op.h"
#include "ops/common/operand.h"
#include "runtime/workspace.h"

#include <mica/ops.h>

static const mica__kernel_param params[] = {
    MICA__INT("KIND", "0 sum, 1 max, 2 argmax", MICA_REDUCTION_SUM, MICA_REDUCTION_MAX, MICA_REDUCTION_ARGMAX),
    MICA__DTYPE("X_T", "type of x", MICA__FLOATS, MICA_I32, MICA_I64, MICA_U32, MICA_U64),
    MICA__DTYPE("Y_T", "type of y", MICA__FLOATS, MICA_I32, MICA_I64, MICA_U32, MICA_U64),
    MICA__INT("SHARED", "1: a group shares a chunk", 0, 1),
    MICA__INT("VW", "elements taken together", 1, 2, 4, 8, 16),
    MICA__INT("GROUP", "work-items of a group where SHARED", 32, 64, 128, 256),
};
static const mica__variant variants[] = {
    MICA__VARIANT("cpu", MICA__ON_CPU, MICA_REDUCTION_SUM, MICA_F32, MICA_F32, 0, 16, 64),
    MICA__VARIANT("gpu", MICA__ON_GPU, MICA_REDUCTION_SUM, MICA_F32, MICA_F32, 1, 1, 128),
    MICA__VARIANT("gpu.small", MICA__ON_GPU, MICA_REDUCTION_SUM, MICA_F32, MICA_F32, 1, 1, 32),
};

static bool has_room(const int32_t *values, const mica_device_info *device) {
  const int32_t *group = &values[mica__kernel_param_index(&mica__reduce_rows, "GROUP")];
  return !values[mica__kernel_param_index(&mica__reduce_rows, "SHARED")] || (size_t)*group <= device->max_group;
}

const mica__kernel_desc mica__reduce_rows = {MICA__KERNEL("reduce_rows", "reduce/reduce.cl", params, variants),
                                             .has_room = has_room};
const mica__kernel_desc mica__reduce_columns = {MICA__KERNEL("reduce_columns", "reduce/reduce.cl", params, variants)};

/* If the device would compute few results in parallel, the n elements of each are cut into chunks (not for argmax), so
 * that about WANTED_CHUNKS chunks run in parallel. A chunk has at least SMALLEST_CHUNK elements, except the last one.
 * Chunks depend only on the sizes and not on the number of compute units, so that the result has the same bits on any
 * number of threads. */
#define WANTED_CHUNKS 64
#define SMALLEST_CHUNK 2048

static int64_t chunk_of(mica_reduction reduction, int64_t outer, int64_t n, int64_t inner) {
  int64_t parallel = outer * (inner < 16 ? 1 : inner / 16);
  if (reduction == MICA_REDUCTION_ARGMAX || parallel >= WANTED_CHUNKS) return n;
  int64_t chunks = WANTED_CHUNKS / parallel, chunk = (n + chunks - 1) / chunks;
  return chunk < SMALLEST_CHUNK ? (n < SMALLEST_CHUNK ? n : SMALLEST_CHUNK) : chunk;
}

/* Queues one launch, from x (outer, n, inner) to y (outer, chunks, inner). */
static mica_status launch_pass(mica_queue *queue, const mica__variant *variant, mica_reduction reduction,
                               const mica__reduce_view *view, int64_t chunk, const mica_tensor *x, mica_tensor *y) {
  bool rows = view->inner == 1;
  const mica__kernel_desc *desc = rows ? &mica__reduce_rows : &mica__reduce_columns;
  int32_t values[MICA__MAX_PARAMS];
  mica__kernel *kernel = NULL;
  if (!variant) MICA_TRY(mica__kernel_choose(mica__queue_engine(queue), desc, &variant));
  mica__kernel_values(desc, variant, values);
  mica__kernel_set(desc, values, "KIND", (int32_t)reduction);
  mica__kernel_set(desc, values, "X_T", (int32_t)mica_tensor_dtype(x));
  mica__kernel_set(desc, values, "Y_T", (int32_t)mica_tensor_dtype(y));
  MICA_TRY(mica__kernel_get(mica__queue_engine(queue), desc, values, NULL, &kernel));
  int64_t chunks = (view->n + chunk - 1) / chunk;
  int32_t shared = values[mica__kernel_param_index(desc, "SHARED")],
          width = values[mica__kernel_param_index(desc, "VW")];
  size_t group = (size_t)values[mica__kernel_param_index(desc, "GROUP")];
  mica__launch launch = mica__launch_of(kernel);
  mica__launch_tensor(&launch, x);
  mica__launch_tensor(&launch, y);
  mica__launch_size(&launch, view->n);
  mica__launch_size(&launch, view->inner);
  mica__launch_size(&launch, chunk);
  if (!rows)
    mica__launch_range3(&launch, (int64_t[]){(view->inner + width - 1) / width, chunks, view->outer},
                        (size_t[]){shared ? 32 : 1, 1, 1});
  else if (shared)
    mica__launch_range3(&launch, (int64_t[]){chunks * (int64_t)group, view->outer, 1}, (size_t[]){group, 1, 1});
  else
    mica__launch_range3(&launch, (int64_t[]){chunks, view->outer, 1}, (size_t[]){1, 1, 1});
  double elements = (double)view->outer * (double)view->n * (double)view->inner;
  mica__launch_cost(&launch, elements, elements * (double)mica_dtype_size(mica_tensor_dtype(x)));
  return mica__queue_submit(queue, &launch);
}

mica_status mica__reduce_launch(mica_queue *queue, const mica__variant *variant, mica_reduction reduction,
                                const mica__reduce_view *view, const mica_tensor *x, mica_tensor *y) {
  if (view->outer == 0 || view->inner == 0) return MICA_OK;
  int64_t chunk = chunk_of(reduction, view->outer, view->n, view->inner);
  if (chunk >= view->n) return launch_pass(queue, variant, reduction, view, view->n, x, y);
  mica_dtype type = mica_tensor_dtype(x);
  if (type == MICA_F16 || type == MICA_BF16) type = MICA_F32;
  mica_tensor *partial = NULL;
  mica__reduce_view second = {.outer = view->outer, .n = (view->n + chunk - 1) / chunk, .inner = view->inner};
  MICA_TRY(mica__workspace_tensor(queue, type, MICA_SHAPE(second.outer, second.n, second.inner), &partial));
  mica_status status = launch_pass(queue, variant, reduction, view, chunk, x, partial);
  if (status == MICA_OK) status = launch_pass(queue, variant, reduction, &second, second.n, partial, y);
  mica_tensor_destroy(partial);
  return status;
}

/* True if y is x without the axis, or with extent 1 there. */
static bool shapes_fit(mica_shape x, int axis, mica_shape y) {
  mica_shape kept = x, dropped = {.rank = x.rank - 1};
  kept.dim[axis] = 1;
  for (int32_t i = 0; i < dropped.rank; i++) dropped.dim[i] = x.dim[i < axis ? i : i + 1];
  return mica_shape_equal(y, kept) || mica_shape_equal(y, dropped);
}

static mica_status check_types(mica_reduction reduction, mica_dtype x, mica_dtype y) {
  bool index = y == MICA_I32 || y == MICA_I64;
  bool fits = reduction == MICA_REDUCTION_ARGMAX
                  ? index
                  : y == x || (y == MICA_F32 && mica_dtype_kind_of(x) == MICA_DTYPE_KIND_FLOAT);
  if (fits && mica__kernel_choice(&mica__reduce_rows, "X_T", (int32_t)x) >= 0) return MICA_OK;
  if (fits) return mica__fail(MICA_E_DTYPE, "reduce: x is %s, which is not supported", mica_dtype_name(x));
  return mica__fail(MICA_E_DTYPE, "reduce: x is %s and y is %s, but y must be %s", mica_dtype_name(x),
                    mica_dtype_name(y),
                    reduction == MICA_REDUCTION_ARGMAX ? "i32 or i64 for argmax"
                                                       : "of the type of x, or f32 if x is of a floating type");
}

mica_status mica_op_reduce(mica_queue *queue, mica_reduction reduction, const mica_tensor *x, int axis,
                           mica_tensor *y) {
  char tx[MICA_SHAPE_TEXT], ty[MICA_SHAPE_TEXT];
  MICA_TRY(mica__operand_check(queue, "reduce", "x", x));
  MICA_TRY(mica__operand_check(queue, "reduce", "y", y));
  mica_shape shape = mica_tensor_shape(x);
  if (axis < -shape.rank || axis >= shape.rank)
    return mica__fail(MICA_E_SHAPE, "reduce: axis is %d, but x %s has rank %d", axis, mica_shape_format(shape, tx),
                      (int)shape.rank);
  if (axis < 0) axis += shape.rank;
  if (!shapes_fit(shape, axis, mica_tensor_shape(y)))
    return mica__fail(MICA_E_SHAPE, "reduce: x %s over axis %d (0: the first) does not give y %s",
                      mica_shape_format(shape, tx), axis, mica_shape_format(mica_tensor_shape(y), ty));
  if (reduction < MICA_REDUCTION_SUM || reduction > MICA_REDUCTION_ARGMAX)
    return mica__fail(MICA_E_INVALID, "reduce: %d is not a mica_reduction", (int)reduction);
  MICA_TRY(check_types(reduction, mica_tensor_dtype(x), mica_tensor_dtype(y)));
  MICA_TRY(mica__operand_apart("reduce", "y", y, "x", x));
  mica__reduce_view view = {.outer = 1, .n = shape.dim[axis], .inner = 1};
  for (int32_t i = 0; i < axis; i++) view.outer *= shape.dim[i];
  for (int32_t i = axis + 1; i < shape.rank; i++) view.inner *= shape.dim[i];
  if (view.n > 0) return mica__reduce_launch(queue, NULL, reduction, &view, x, y);
  if (reduction == MICA_REDUCTION_SUM) return mica_op_fill(queue, 0, y);
  return mica__fail(MICA_E_SHAPE, "reduce: x %s has no elements along axis %d, so there is no largest one",
                    mica_shape_format(shape, tx), axis);
}
