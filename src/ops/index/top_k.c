/* The k largest (or smallest) elements along an axis and their indices: results VALUES and INDICES. */
#include "base/arith.h"
#include "base/error.h"
#include "ops/index/index.h"
#include "ops/select/launch_check.h"
#include "ops/sort/order.h"
#include "runtime/launch.h"
#include "runtime/workspace.h"

#include <math.h>

enum { VALUES, INDICES, RESULTS };

#define TOP_K_ATTRS(X, S)                                                                                              \
  X(S, INT, axis, -1, "along which elements are compared")                                                             \
  X(S, INT, k, 1, "how many")                                                                                          \
  X(S, BOOL, smallest, false, "the smallest, not the largest")
MICA__ATTR_STRUCT(top_k, TOP_K_ATTRS);
static MICA__ATTR_TABLE(top_k, TOP_K_ATTRS);

static mica_status infer_top_k(const mica__type *inputs, int32_t input_count, void *attrs, mica__type *out) {
  (void)input_count;
  mica__top_k_attrs *which = attrs;
  char text[MICA_SHAPE_TEXT];
  MICA_TRY(mica__axis(&which->axis, inputs[0].shape.rank));
  int64_t extent = inputs[0].shape.dim[which->axis], k = which->k;
  if (k < 0 || (extent != MICA_DYNAMIC && k > extent))
    return mica__fail(MICA_E_SHAPE, "%lld of axis %lld of %s", (long long)k, (long long)which->axis,
                      mica_shape_format(inputs[0].shape, text));
  out[VALUES] = inputs[0];
  out[VALUES].shape.dim[which->axis] = k;
  out[INDICES].shape = out[VALUES].shape;
  return MICA_OK;
}

/* True if value a at index i precedes b at index j. */
static bool precedes(double a, int64_t i, double b, int64_t j, bool smallest) {
  if (isnan(a) != isnan(b)) return isnan(a);
  if (a == b || isnan(a)) return i < j;
  return smallest ? a < b : a > b;
}

static mica_status evaluate_top_k(const mica__eval *eval) {
  const mica__top_k_attrs *attrs = eval->attrs;
  const mica__rows r = mica__rows_of(eval->types[0].shape, attrs->axis);
  int64_t k = attrs->k;
  for (int64_t o = 0; o < r.outer; o++)
    for (int64_t i = 0; i < r.inner; i++) {
      const double *x = eval->inputs[0] + o * r.n * r.inner + i;
      for (int64_t j = 0; j < r.n; j++) {
        int64_t rank = 0;
        for (int64_t l = 0; l < r.n; l++) rank += precedes(x[l * r.inner], l, x[j * r.inner], j, attrs->smallest);
        if (rank >= k) continue;
        eval->outputs[VALUES][(o * k + rank) * r.inner + i] = x[j * r.inner];
        eval->outputs[INDICES][(o * k + rank) * r.inner + i] = (double)j;
      }
    }
  return MICA_OK;
}

static const mica__kernel_param params[] = {
    MICA__DTYPE("X_T", "type of x", MICA__NUMBERS),
    MICA__CASE("VALUES", "1: the values are written", 1, 0),
    MICA__CASE("INDICES", "1: the indices are written", 1, 0),
    MICA__INT("SMALLEST", "1: the smallest", 0, 1),
};
static const mica__variant variants[] = {MICA__VARIANT("any", MICA__ON_ANY, MICA_F32, 1, 1, 0)};
static const mica__kernel_desc top_k = {MICA__KERNEL("top_k", "index/top_k.cl", params, variants)};

/* Rows of so many elements are searched by the kernels for long rows, whose keys have at most 4 bytes. */
#define LEAST_LONG 256
#define FOUR_BYTES MICA_F32, MICA_F16, MICA_BF16, MICA_I8, MICA_U8, MICA_I16, MICA_U16, MICA_I32, MICA_U32
#define LONG_PARAMS                                                                                                    \
  MICA__DTYPE("X_T", "type of x", FOUR_BYTES), MICA__CASE("KIND", "0: the smallest, 1: the largest", 1, 0),            \
      MICA__CASE("VALUES", "1: the values are written", 1, 0),                                                         \
      MICA__CASE("INDICES", "1: the indices are written", 1, 0)
static const mica__kernel_param cpu_params[] = {LONG_PARAMS};
static const mica__variant cpu_variants[] = {MICA__VARIANT("cpu", MICA__ON_CPU, MICA_F32, 1, 1, 1)};
static const mica__kernel_desc top_k_cpu = {MICA__KERNEL("top_k_cpu", "index/top_k_cpu.cl", cpu_params, cpu_variants)};

static const mica__kernel_param gpu_params[] = {LONG_PARAMS, MICA__CASE("KEY_BITS", "of a key", 32, 16, 8),
                                                MICA__INT("GROUP", "work-items of a group", 256, 64, 128),
                                                MICA__INT("ROOM", "the most elements that are sorted", 1024, 256)};
static const mica__variant gpu_variants[] = {MICA__VARIANT("gpu", MICA__ON_GPU, MICA_F32, 1, 1, 1, 32, 256, 1024)};
/* Three ints beside the digits' counters and the elements that are sorted. Devices without that room sort whole
 * rows. */
static bool gpu_has_room(const int32_t *values, const mica_device_info *device);
static const mica__kernel_desc top_k_gpu = {MICA__KERNEL("top_k_gpu", "index/top_k_gpu.cl", gpu_params, gpu_variants),
                                            .has_room = gpu_has_room};
static bool gpu_has_room(const int32_t *values, const mica_device_info *device) {
  int64_t group = mica__kernel_value(&top_k_gpu, values, "GROUP"),
          room = mica__kernel_value(&top_k_gpu, values, "ROOM");
  return (size_t)group <= device->max_group && (uint64_t)(room * 8 + 260 * 4) <= device->local_bytes;
}

/* Walking a row takes k n steps of one work-item, sorting it about 50 n of many. */
#define MOST_WALKED 8
#define LEAST_SORTED 256

/* A launch on x and what is wanted, with the sizes that all kernels begin with but for `outer`. */
static mica_status begin_long(const mica__exec *exec, const mica__kernel_desc *desc, int32_t *values,
                              mica__launch *launch) {
  const mica__top_k_attrs *attrs = exec->attrs;
  const mica_tensor *x = exec->inputs[0];
  mica__kernel *kernel = NULL;
  mica__kernel_set(desc, values, "X_T", (int32_t)mica_tensor_dtype(x));
  mica__kernel_set(desc, values, "KIND", !attrs->smallest);
  mica__kernel_set(desc, values, "VALUES", exec->outputs[VALUES] != NULL);
  mica__kernel_set(desc, values, "INDICES", exec->outputs[INDICES] != NULL);
  mica__kernel_set(desc, values, "KEY_BITS", (int32_t)mica_dtype_size(mica_tensor_dtype(x)) * 8);
  MICA_TRY(mica__kernel_get(mica__queue_engine(exec->queue), desc, values, NULL, &kernel));
  *launch = mica__launch_of(kernel);
  mica__launch_tensor(launch, x);
  mica__launch_optional(launch, exec->outputs[VALUES]);
  mica__launch_optional(launch, exec->outputs[INDICES]);
  return MICA_OK;
}

/* Elements kept between two sorts: with fewer, few elements are sorted often. */
#define LEAST_KEPT 64

static mica_status launch_cpu(const mica__exec *exec, mica__rows r) {
  const mica__top_k_attrs *attrs = exec->attrs;
  int64_t rows = r.outer * r.inner, room = mica__max(2 * attrs->k, LEAST_KEPT);
  int32_t values[MICA__MAX_PARAMS];
  mica_buffer *kept = NULL;
  mica__launch launch;
  MICA_TRY(mica__exec_values(exec, &top_k_cpu, values));
  MICA_TRY(begin_long(exec, &top_k_cpu, values, &launch));
  MICA_TRY(mica__workspace_create(exec->queue, (size_t)(rows * room) * sizeof(uint64_t), &kept));
  mica__launch_buffer(&launch, kept, 0);
  mica__launch_size(&launch, r.n);
  mica__launch_size(&launch, attrs->k);
  mica__launch_size(&launch, r.inner);
  mica__launch_size(&launch, room);
  mica__launch_range1(&launch, rows, 1);
  mica__launch_cost(&launch, 0, (double)mica_tensor_bytes(exec->inputs[0]));
  mica_status status = mica__queue_submit(exec->queue, &launch);
  mica_buffer_destroy(kept);
  return status;
}

static mica_status launch_gpu(const mica__exec *exec, mica__rows r, int32_t *values) {
  const mica__top_k_attrs *attrs = exec->attrs;
  mica__launch launch;
  MICA_TRY(begin_long(exec, &top_k_gpu, values, &launch));
  mica__launch_size(&launch, r.n);
  mica__launch_size(&launch, attrs->k);
  mica__launch_size(&launch, r.inner);
  int64_t group = mica__kernel_value(&top_k_gpu, values, "GROUP");
  mica__launch_range1(&launch, r.outer * r.inner * group, (size_t)group);
  mica__launch_cost(&launch, 0, 5 * (double)mica_tensor_bytes(exec->inputs[0]));
  return mica__queue_submit(exec->queue, &launch);
}

/* *taken: the row is long enough, its keys short, and a kernel of this class can. */
static mica_status launch_long(const mica__exec *exec, mica__rows r, bool *taken) {
  const mica__top_k_attrs *attrs = exec->attrs;
  int32_t values[MICA__MAX_PARAMS];
  *taken = true;
  if (r.n >= LEAST_LONG && r.n <= INT32_MAX / 2 && mica_dtype_size(mica_tensor_dtype(exec->inputs[0])) <= 4) {
    if (attrs->k <= r.n / 4 && mica__exec_takes(exec, &top_k_cpu)) return launch_cpu(exec, r);
    if (mica__exec_takes(exec, &top_k_gpu)) {
      MICA_TRY(mica__exec_values(exec, &top_k_gpu, values));
      if (attrs->k <= mica__kernel_value(&top_k_gpu, values, "ROOM")) return launch_gpu(exec, r, values);
    }
  }
  *taken = false;
  return MICA_OK;
}

static mica_status launch_sorted(const mica__exec *exec, mica__rows r) {
  const mica__top_k_attrs *attrs = exec->attrs;
  const mica_tensor *x = exec->inputs[0];
  mica_tensor *order = NULL;
  MICA_TRY(mica__sort_order(exec, x, r, attrs->smallest ? MICA__ORDER_RISING : MICA__ORDER_FALLING, 0, &order));
  mica_status status = mica__sort_results(exec, x, r, attrs->k, order, exec->outputs[VALUES], exec->outputs[INDICES]);
  mica_tensor_destroy(order);
  return status;
}

static mica_status launch_top_k(const mica__exec *exec) {
  const mica__top_k_attrs *attrs = exec->attrs;
  const mica__rows r = mica__rows_of(mica_tensor_shape(exec->inputs[0]), attrs->axis);
  int32_t values[MICA__MAX_PARAMS];
  mica__kernel *kernel = NULL;
  const mica_tensor *values_to = exec->outputs[VALUES], *indices_to = exec->outputs[INDICES];
  int64_t count = r.outer * attrs->k * r.inner;
  bool taken = false;
  if (count == 0) return MICA_OK;
  MICA_TRY(launch_long(exec, r, &taken));
  if (taken) return MICA_OK;
  if (attrs->k > MOST_WALKED && r.n >= LEAST_SORTED) return launch_sorted(exec, r);
  MICA_TRY(mica__exec_values(exec, &top_k, values));
  mica__kernel_set(&top_k, values, "X_T", (int32_t)mica_tensor_dtype(exec->inputs[0]));
  mica__kernel_set(&top_k, values, "VALUES", values_to != NULL);
  mica__kernel_set(&top_k, values, "INDICES", indices_to != NULL);
  mica__kernel_set(&top_k, values, "SMALLEST", attrs->smallest);
  MICA_TRY(mica__kernel_get(mica__queue_engine(exec->queue), &top_k, values, NULL, &kernel));
  mica__launch launch = mica__launch_of(kernel);
  mica__launch_tensor(&launch, exec->inputs[0]);
  mica__launch_optional(&launch, values_to);
  mica__launch_optional(&launch, indices_to);
  mica__launch_size(&launch, r.outer);
  mica__launch_size(&launch, r.n);
  mica__launch_size(&launch, attrs->k);
  mica__launch_size(&launch, r.inner);
  mica__launch_range1(&launch, r.outer * r.inner, MICA__RANGE_GROUP);
  mica__launch_cost(&launch, 0, (double)attrs->k * (double)mica_tensor_bytes(exec->inputs[0]) + (double)(count * 8));
  return mica__queue_submit(exec->queue, &launch);
}

static mica_status grad_top_k(const mica__grad *grad) {
  if (!grad->dy.graph) return MICA_OK;
  const mica__top_k_attrs *attrs = mica__attrs_of(grad->y);
  grad->dinputs[0] = mica__scatter_sum(grad->inputs[0], grad->results[INDICES], grad->dy, (int32_t)attrs->axis, true);
  return MICA_OK;
}

static mica_status check_top_k(mica__check *check) {
  const mica__launch_case list[] = {
      {.attrs = &(mica__top_k_attrs){-1, 3, false}, .inputs = {{MICA_F32, {2, {5, 7}}}}, .input_count = 1},
      {.attrs = &(mica__top_k_attrs){-1, 65, false},
       .inputs = {{MICA_I8, {2, {3, 65}}}},
       .input_count = 1,
       .bound = {5}},
      {.attrs = &(mica__top_k_attrs){-1, 17, false}, .inputs = {{MICA_F32, {2, {2, 300}}}}, .input_count = 1},
      {.attrs = &(mica__top_k_attrs){0, 40, true}, .inputs = {{MICA_BF16, {2, {515, 3}}}}, .input_count = 1},
      {.attrs = &(mica__top_k_attrs){-1, 1, false},
       .inputs = {{MICA_I32, {2, {3, 700}}}},
       .input_count = 1,
       .bound = {1e9},
       .unwanted = 1u << INDICES},
      {.attrs = &(mica__top_k_attrs){-1, 100, true},
       .inputs = {{MICA_I16, {2, {2, 900}}}},
       .input_count = 1,
       .bound = {9},
       .unwanted = 1u << VALUES},
      {.attrs = &(mica__top_k_attrs){-1, 20, false}, .inputs = {{MICA_F64, {2, {2, 300}}}}, .input_count = 1},
      {.attrs = &(mica__top_k_attrs){0, 2, true}, .inputs = {{MICA_F16, {3, {9, 2, 3}}}}, .input_count = 1},
      {.attrs = &(mica__top_k_attrs){0, 2, false},
       .inputs = {{MICA_F32, {2, {9, 3}}}},
       .input_count = 1,
       .unwanted = 1u << VALUES},
      {.attrs = &(mica__top_k_attrs){0, 2, false},
       .inputs = {{MICA_F32, {2, {9, 3}}}},
       .input_count = 1,
       .unwanted = 1u << INDICES},
      {.attrs = &(mica__top_k_attrs){1, 0, false}, .inputs = {{MICA_I64, {2, {5, 7}}}}, .input_count = 1},
      {.attrs = &(mica__top_k_attrs){1, 1, true}, .inputs = {{MICA_BF16, {2, {70, 1}}}}, .input_count = 1},
  };
  return mica__check_launches(check, &mica__op_top_k, "top_k", list, sizeof list / sizeof *list);
}

static const mica__kernel_desc *const kernels[] = {
    &top_k, &top_k_cpu, &top_k_gpu, MICA__SORT_LONG_KERNELS, &mica__sort_results_kernel, NULL};
const mica__op mica__op_top_k = {.name = "top_k",
                                 .kernels = kernels,
                                 .check = check_top_k,
                                 .kind = MICA__OP_LAUNCH,
                                 .min_inputs = 1,
                                 .max_inputs = 1,
                                 .results = RESULTS,
                                 .attrs = &mica__top_k_attr_list,
                                 .dtypes = "n>0l",
                                 .infer = infer_top_k,
                                 .grad = grad_top_k,
                                 .evaluate = evaluate_top_k,
                                 .launch = launch_top_k};

mica_top_k_results mica_top_k(mica_value x, int64_t k, int32_t axis, bool smallest) {
  mica_value values = mica__graph_add(&mica__op_top_k, &x, 1, &(mica__top_k_attrs){axis, k, smallest});
  return (mica_top_k_results){values, mica__graph_result(values, INDICES)};
}
