/* The k largest (or smallest) elements along an axis, and their indices: results VALUES and INDICES. */
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
    return mica__fail(MICA_E_SHAPE, "k is %lld, but must be from 0 to the size of axis %lld of %s", (long long)k,
                      (long long)which->axis, mica_shape_format(inputs[0].shape, text));
  out[VALUES] = inputs[0];
  out[VALUES].shape.dim[which->axis] = k;
  out[INDICES].shape = out[VALUES].shape;
  return MICA_OK;
}

/* True if value a at index i precedes b at index j among the results: a NaN precedes numbers, and of equal values
 * the one with the smaller index comes first. */
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

/* LEAST_LONG: the shortest rows for which the kernels for long rows run. FOUR_BYTES: the types of x that these kernels
 * take, of at most 4 bytes. */
#define LEAST_LONG 256
#define FOUR_BYTES MICA_F32, MICA_F16, MICA_BF16, MICA_I8, MICA_U8, MICA_I16, MICA_U16, MICA_I32, MICA_U32
#define LONG_PARAMS                                                                                                    \
  MICA__DTYPE("X_T", "type of x", FOUR_BYTES), MICA__CASE("KIND", "0: the smallest, 1: the largest", 1, 0),            \
      MICA__CASE("VALUES", "1: the values are written", 1, 0),                                                         \
      MICA__CASE("INDICES", "1: the indices are written", 1, 0)
static const mica__kernel_param cpu_params[] = {LONG_PARAMS};
static const mica__variant cpu_variants[] = {MICA__VARIANT("cpu", MICA__ON_CPU, MICA_F32, 1, 1, 1)};
static const mica__kernel_desc top_k_cpu = {MICA__KERNEL("top_k_cpu", "index/cpu/top_k.cl", cpu_params, cpu_variants)};

static const mica__kernel_param gpu_params[] = {LONG_PARAMS, MICA__CASE("KEY_BITS", "of a key", 32, 16, 8),
                                                MICA__INT("GROUP", "work-items of a group", 256, 64, 128),
                                                MICA__INT("ROOM", "the most elements that are sorted", 1024, 256)};
static const mica__variant gpu_variants[] = {MICA__VARIANT("gpu", MICA__ON_GPU, MICA_F32, 1, 1, 1, 32, 256, 1024)};
/* True if the device takes groups of this size, and local memory holds the elements that are sorted, the counters of
 * digits and a few ints. Devices without this room sort whole rows. */
static bool gpu_has_room(const int32_t *values, const mica_device_info *device);
static const mica__kernel_desc top_k_gpu = {MICA__KERNEL("top_k_gpu", "index/gpu/top_k.cl", gpu_params, gpu_variants),
                                            .has_room = gpu_has_room};
static bool gpu_has_room(const int32_t *values, const mica_device_info *device) {
  int64_t group = mica__kernel_value(&top_k_gpu, values, "GROUP"),
          room = mica__kernel_value(&top_k_gpu, values, "ROOM");
  return (size_t)group <= device->max_group && (uint64_t)(room * 8 + 260 * 4) <= device->local_bytes;
}

/* A work-item that walks a row of n elements once for each of the k results takes k n steps. To sort the row takes
 * about 50 n steps, divided among many work-items. */
#define MOST_WALKED 8
#define LEAST_SORTED 256

/* Begins a launch with its first arguments: x and the wanted results. */
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

/* The smallest room of the array `kept` of index/cpu/top_k.cl, which collects elements between two sorts. With less
 * room, sorts would be small and frequent. */
#define LEAST_KEPT 64

/* A launch, and the rows of x. */
typedef struct problem {
  const mica__exec *exec;
  const mica__top_k_attrs *attrs;
  mica__rows r;
} problem;

/* Returns why the kernels for long rows decline the problem, or NULL. */
static const char *decline_long(const mica__task *task, const mica__kernel_desc *desc) {
  const problem *p = task->problem;
  if (p->r.n < LEAST_LONG || p->r.n > INT32_MAX / 2) return "rows are too short, or too long for indices in 32 bits";
  if (mica_dtype_size(mica_tensor_dtype(p->exec->inputs[0])) > 4) return "keys are longer than 4 bytes";
  return mica__exec_declines(p->exec, task, desc);
}

static const char *decline_cpu(const mica__task *task) {
  const problem *p = task->problem;
  const char *reason = decline_long(task, &top_k_cpu);
  return !reason && p->attrs->k > p->r.n / 4 ? "k is more than a quarter of a row" : reason;
}

static mica_status launch_cpu(mica_queue *queue, const mica__task *task) {
  const problem *p = task->problem;
  const int64_t k = p->attrs->k, rows = p->r.outer * p->r.inner, room = mica__max(2 * k, LEAST_KEPT);
  int32_t values[MICA__MAX_PARAMS];
  mica_buffer *kept = NULL;
  mica__launch launch;
  MICA_TRY(mica__exec_values(p->exec, &top_k_cpu, values));
  MICA_TRY(begin_long(p->exec, &top_k_cpu, values, &launch));
  MICA_TRY(mica__workspace_create(queue, (size_t)(rows * room) * sizeof(uint64_t), &kept));
  mica__launch_buffer(&launch, kept, 0);
  mica__launch_size(&launch, p->r.n);
  mica__launch_size(&launch, k);
  mica__launch_size(&launch, p->r.inner);
  mica__launch_size(&launch, room);
  mica__launch_range1(&launch, rows, 1);
  mica__launch_cost(&launch, 0, (double)mica_tensor_bytes(p->exec->inputs[0]));
  mica_status status = mica__queue_submit(queue, &launch);
  mica_buffer_destroy(kept);
  return status;
}

static const char *decline_gpu(const mica__task *task) {
  const problem *p = task->problem;
  const char *reason = decline_long(task, &top_k_gpu);
  int32_t values[MICA__MAX_PARAMS];
  if (reason) return reason;
  mica__kernel_values(&top_k_gpu, task->variant ? task->variant : &gpu_variants[0], values);
  return p->attrs->k > mica__kernel_value(&top_k_gpu, values, "ROOM")
             ? "k is larger than the number that a work-group can sort"
             : NULL;
}

static mica_status launch_gpu(mica_queue *queue, const mica__task *task) {
  const problem *p = task->problem;
  int32_t values[MICA__MAX_PARAMS];
  mica__launch launch;
  MICA_TRY(mica__exec_values(p->exec, &top_k_gpu, values));
  MICA_TRY(begin_long(p->exec, &top_k_gpu, values, &launch));
  mica__launch_size(&launch, p->r.n);
  mica__launch_size(&launch, p->attrs->k);
  mica__launch_size(&launch, p->r.inner);
  int64_t group = mica__kernel_value(&top_k_gpu, values, "GROUP");
  mica__launch_range1(&launch, p->r.outer * p->r.inner * group, (size_t)group);
  mica__launch_cost(&launch, 0, 5 * (double)mica_tensor_bytes(p->exec->inputs[0]));
  return mica__queue_submit(queue, &launch);
}

static const char *decline_sorted(const mica__task *task) {
  const problem *p = task->problem;
  return p->attrs->k > MOST_WALKED && p->r.n >= LEAST_SORTED ? NULL : "walking the rows takes fewer steps";
}

static mica_status launch_sorted(mica_queue *queue, const mica__task *task) {
  const problem *p = task->problem;
  const mica_tensor *x = p->exec->inputs[0];
  const mica__order_kind kind = p->attrs->smallest ? MICA__ORDER_RISING : MICA__ORDER_FALLING;
  mica_tensor *const *to = p->exec->outputs, *order = NULL;
  (void)queue;
  MICA_TRY(mica__sort_order(p->exec, x, p->r, kind, 0, &order));
  mica_status status = mica__sort_results(p->exec, x, p->r, p->attrs->k, order, to[VALUES], to[INDICES]);
  mica_tensor_destroy(order);
  return status;
}

static mica_status launch_walk(mica_queue *queue, const mica__task *task) {
  const problem *p = task->problem;
  const mica_tensor *x = p->exec->inputs[0], *values_to = p->exec->outputs[VALUES],
                    *indices_to = p->exec->outputs[INDICES];
  const int64_t k = p->attrs->k;
  int32_t values[MICA__MAX_PARAMS];
  mica__kernel *kernel = NULL;
  MICA_TRY(mica__exec_values(p->exec, &top_k, values));
  mica__kernel_set(&top_k, values, "X_T", (int32_t)mica_tensor_dtype(x));
  mica__kernel_set(&top_k, values, "VALUES", values_to != NULL);
  mica__kernel_set(&top_k, values, "INDICES", indices_to != NULL);
  mica__kernel_set(&top_k, values, "SMALLEST", p->attrs->smallest);
  MICA_TRY(mica__kernel_get(mica__queue_engine(queue), &top_k, values, NULL, &kernel));
  mica__launch launch = mica__launch_of(kernel);
  mica__launch_tensor(&launch, x);
  mica__launch_optional(&launch, values_to);
  mica__launch_optional(&launch, indices_to);
  mica__launch_size(&launch, p->r.outer);
  mica__launch_size(&launch, p->r.n);
  mica__launch_size(&launch, k);
  mica__launch_size(&launch, p->r.inner);
  mica__launch_range1(&launch, p->r.outer * p->r.inner, MICA__RANGE_GROUP);
  mica__launch_cost(&launch, 0, (double)k * (double)mica_tensor_bytes(x) + (double)(p->r.outer * k * p->r.inner * 8));
  return mica__queue_submit(queue, &launch);
}

static const mica__impl impl_cpu = {
    .name = "top_k_cpu", .kernel = &top_k_cpu, .decline = decline_cpu, .launch = launch_cpu};
static const mica__impl impl_gpu = {
    .name = "top_k_gpu", .kernel = &top_k_gpu, .decline = decline_gpu, .launch = launch_gpu};
static const mica__impl impl_sorted = {
    .name = "top_k_sorted", .kernel = &mica__sort_results_kernel, .decline = decline_sorted, .launch = launch_sorted};
static const mica__impl impl_walk = {.name = "top_k_walk", .kernel = &top_k, .launch = launch_walk};
static const mica__impl *const impls[] = {&impl_cpu, &impl_gpu, &impl_sorted, &impl_walk, NULL};

static mica_status launch_top_k(const mica__exec *exec) {
  const mica__top_k_attrs *attrs = exec->attrs;
  const problem p = {.exec = exec, .attrs = attrs, .r = mica__rows_of(mica_tensor_shape(exec->inputs[0]), attrs->axis)};
  if (p.r.outer * attrs->k * p.r.inner == 0) return MICA_OK;
  return mica__exec_choose(exec, impls, &p, "top_k");
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
