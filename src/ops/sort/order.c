/* Stable orders. Rows of up to MOST_RANKED elements are sorted in one launch, which compares each element with all
 * others. Longer rows are sorted by a radix sort. A pass of it has three launches: count the digits of each block, scan
 * the counts, and write the elements to their positions. */
#include "ops/sort/order.h"

#include "base/error.h"
#include "ops/select/launch_check.h"
#include "runtime/kernel.h"
#include "runtime/launch.h"
#include "runtime/workspace.h"

/* To compare n elements with each other takes n n steps in one launch; a radix sort of 32 bits takes about 30 n steps,
 * in 13 launches on a CPU and 25 on a GPU. */
#define MOST_RANKED 64
/* On a CPU, a row of n elements has ceil(n / LEAST_BLOCK) blocks, but the blocks of all rows are at most MOST_BLOCKS
 * (at least one per row). These are more blocks than cores, so that no core waits for long. */
#define LEAST_BLOCK 4096
#define MOST_BLOCKS 128
/* The elements per work-item on a GPU, in ops that read an order (mica__sort_blocks). */
#define GPU_BLOCK 16
/* GPU_DIGITS is how many values a digit has in a pass on a GPU, LEAST_GROUP the fewest work-items of a group in the
 * pass. */
#define GPU_DIGITS 16
#define LEAST_GROUP 32

static const mica__kernel_param key_params[] = {
    MICA__DTYPE("X_T", "type of x", MICA__NUMBERS),
    MICA__CASE("KIND", "0 rising, 1 falling, 2 indices", 0, 1, 2),
    MICA__CASE("KEY_BYTES", "bytes of a key", 4, 8),
};
static const mica__variant key_variants[] = {MICA__VARIANT("any", MICA__ON_ANY, MICA_F32, 0, 4)};
const mica__kernel_desc mica__sort_keys_kernel = {MICA__KERNEL("sort_keys", "sort/order.cl", key_params, key_variants)};
const mica__kernel_desc mica__sort_rank_kernel = {MICA__KERNEL("sort_rank", "sort/order.cl", key_params, key_variants)};

static const mica__kernel_param cpu_params[] = {MICA__CASE("KEY_BYTES", "bytes of a key", 4, 8)};
static const mica__variant cpu_variants[] = {MICA__VARIANT("cpu", MICA__ON_CPU, 4)};
const mica__kernel_desc mica__radix_count_kernel = {
    MICA__KERNEL("radix_count", "sort/cpu/radix.cl", cpu_params, cpu_variants)};
const mica__kernel_desc mica__radix_scatter_kernel = {
    MICA__KERNEL("radix_scatter", "sort/cpu/radix.cl", cpu_params, cpu_variants)};

static const mica__kernel_param gpu_params[] = {
    MICA__CASE("KEY_BYTES", "bytes of a key", 4, 8),
    MICA__INT("GROUP", "work-items of a group", 32, 64),
    MICA__INT("EACH", "elements of a work-item", 4, 8, 16),
};
static const mica__variant gpu_variants[] = {
    MICA__VARIANT("gpu", MICA__ON_GPU, 4, 64, 8),
};
const mica__kernel_desc mica__radix_count_gpu_kernel = {
    MICA__KERNEL("radix_count_gpu", "sort/gpu/radix.cl", gpu_params, gpu_variants)};
const mica__kernel_desc mica__radix_scatter_gpu_kernel = {
    MICA__KERNEL("radix_scatter_gpu", "sort/gpu/radix.cl", gpu_params, gpu_variants)};

static const mica__kernel_param scan_params[] = {MICA__INT("GROUP", "work-items of a group", 1, 32, 64)};
static const mica__variant scan_variants[] = {
    MICA__VARIANT("cpu", MICA__ON_CPU, 1),
    MICA__VARIANT("gpu", MICA__ON_GPU, 64),
};
const mica__kernel_desc mica__radix_scan_kernel = {
    MICA__KERNEL("radix_scan", "sort/scan.cl", scan_params, scan_variants)};

static const mica__kernel_param result_params[] = {
    MICA__DTYPE("X_T", "type of x", MICA__NUMBERS),
    MICA__CASE("VALUES", "1: the values are written", 1, 0),
    MICA__CASE("INDICES", "1: the indices are written", 1, 0),
};
static const mica__variant result_variants[] = {MICA__VARIANT("any", MICA__ON_ANY, MICA_F32, 1, 1)};
const mica__kernel_desc mica__sort_results_kernel = {
    MICA__KERNEL("sort_results", "sort/results.cl", result_params, result_variants)};

/* A sort in progress: keys and order alternate between [0] and [1]. */
typedef struct sort {
  const mica__exec *exec;
  mica__rows r;
  mica__order_kind kind;
  int64_t extent;
  int32_t bits, key_bytes, digits; /* bits and bytes of a key; values of a digit */
  int64_t blocks, size;            /* blocks of a row; elements of a block */
  bool cpu;
  mica_tensor *keys[2], *order[2], *starts;
} sort;

static int32_t bits_below(int64_t count) {
  int32_t bits = 1;
  while (bits < 31 && (int64_t)1 << bits < count) bits++;
  return bits;
}

static mica_status key_kernel(const sort *s, const mica__kernel_desc *desc, mica_dtype dtype, mica__kernel **kernel) {
  int32_t values[MICA__MAX_PARAMS];
  MICA_TRY(mica__exec_values(s->exec, desc, values));
  mica__kernel_set(desc, values, "X_T", (int32_t)dtype);
  mica__kernel_set(desc, values, "KIND", (int32_t)s->kind);
  mica__kernel_set(desc, values, "KEY_BYTES", s->key_bytes);
  return mica__kernel_get(mica__queue_engine(s->exec->queue), desc, values, NULL, kernel);
}

/* Launches sort_rank if `rank` is true, otherwise sort_keys. */
static mica_status launch_keys(const sort *s, const mica_tensor *x, bool rank) {
  mica__kernel *kernel = NULL;
  int64_t count = s->r.outer * s->r.n * s->r.inner;
  MICA_TRY(key_kernel(s, rank ? &mica__sort_rank_kernel : &mica__sort_keys_kernel, mica_tensor_dtype(x), &kernel));
  mica__launch launch = mica__launch_of(kernel);
  mica__launch_tensor(&launch, x);
  if (!rank) mica__launch_tensor(&launch, s->keys[0]);
  mica__launch_tensor(&launch, s->order[0]);
  mica__launch_size(&launch, s->r.outer);
  mica__launch_size(&launch, s->r.n);
  mica__launch_size(&launch, s->r.inner);
  mica__launch_size(&launch, s->kind == MICA__ORDER_INDEX ? s->extent : 0);
  mica__launch_range1(&launch, count, MICA__RANGE_GROUP);
  mica__launch_cost(&launch, rank ? (double)count * (double)s->r.n : (double)count,
                    (double)mica_tensor_bytes(x) + (double)count * (rank ? 4 : 4 + s->key_bytes));
  return mica__queue_submit(s->exec->queue, &launch);
}

/* Gets the values of a kernel of a pass. A GPU's work-group has counters in local memory, for each work-item one per
 * digit and one for a sum. If there is no room for them, the group has LEAST_GROUP work-items. */
static mica_status pass_values(const sort *s, const mica__kernel_desc *desc, int32_t *values) {
  const mica_device_info *device = mica_engine_device(mica__queue_engine(s->exec->queue));
  MICA_TRY(mica__exec_values(s->exec, desc, values));
  if (s->cpu) return MICA_OK;
  const uint64_t group = (uint64_t)mica__kernel_value(desc, values, "GROUP");
  if (group * (GPU_DIGITS + 1) * sizeof(int32_t) > device->local_bytes)
    mica__kernel_set(desc, values, "GROUP", LEAST_GROUP);
  return MICA_OK;
}

static mica_status launch_pass(const sort *s, const mica__kernel_desc *desc, int from, int shift, bool scatter) {
  mica__kernel *kernel = NULL;
  int32_t values[MICA__MAX_PARAMS];
  int64_t groups = s->r.outer * s->r.inner * s->blocks, count = s->r.outer * s->r.n * s->r.inner;
  MICA_TRY(pass_values(s, desc, values));
  mica__kernel_set(desc, values, "KEY_BYTES", s->key_bytes);
  int32_t group = s->cpu ? 1 : mica__kernel_value(desc, values, "GROUP");
  MICA_TRY(mica__kernel_get(mica__queue_engine(s->exec->queue), desc, values, NULL, &kernel));
  mica__launch launch = mica__launch_of(kernel);
  mica__launch_tensor(&launch, s->keys[from]);
  if (scatter) {
    mica__launch_tensor(&launch, s->order[from]);
    mica__launch_tensor(&launch, s->keys[1 - from]);
    mica__launch_tensor(&launch, s->order[1 - from]);
  }
  mica__launch_tensor(&launch, s->starts);
  mica__launch_size(&launch, s->r.n);
  mica__launch_size(&launch, s->blocks);
  if (s->cpu) mica__launch_size(&launch, s->size);
  mica__launch_int(&launch, shift);
  mica__launch_range1(&launch, groups * group, (size_t)group);
  mica__launch_cost(&launch, (double)count, (double)count * (scatter ? 2 * (s->key_bytes + 4) : s->key_bytes));
  return mica__queue_submit(s->exec->queue, &launch);
}

mica_status mica__sort_scan(const mica__exec *exec, const mica_tensor *x, int64_t rows, int64_t n) {
  const mica__kernel_desc *desc = &mica__radix_scan_kernel;
  int32_t values[MICA__MAX_PARAMS];
  mica__kernel *kernel = NULL;
  MICA_TRY(mica__exec_values(exec, desc, values));
  int64_t group = values[0];
  MICA_TRY(mica__kernel_get(mica__queue_engine(exec->queue), desc, values, NULL, &kernel));
  mica__launch launch = mica__launch_of(kernel);
  mica__launch_tensor(&launch, x);
  mica__launch_size(&launch, n);
  mica__launch_range1(&launch, rows * group, (size_t)group);
  mica__launch_cost(&launch, (double)(rows * n), 8 * (double)(rows * n));
  return mica__queue_submit(exec->queue, &launch);
}

static mica__blocks cut(int64_t rows, int64_t n) {
  int64_t most = rows < MOST_BLOCKS ? MOST_BLOCKS / rows : 1, wanted = (n + LEAST_BLOCK - 1) / LEAST_BLOCK;
  int64_t count = wanted < most ? wanted : most;
  return (mica__blocks){count, (n + count - 1) / count};
}

mica__blocks mica__sort_blocks(const mica__exec *exec, mica__rows r) {
  if (mica__exec_class(exec) == MICA__ON_CPU) return cut(r.outer * r.inner, r.n);
  return (mica__blocks){(r.n + GPU_BLOCK - 1) / GPU_BLOCK, GPU_BLOCK};
}

/* Chooses digits and blocks of the passes, and allocates their memory. */
static mica_status prepare(sort *s) {
  const mica__kernel_desc *desc = &mica__radix_count_gpu_kernel;
  int32_t values[MICA__MAX_PARAMS];
  mica_queue *queue = s->exec->queue;
  int64_t rows = s->r.outer * s->r.inner;
  s->digits = s->cpu ? 256 : GPU_DIGITS;
  if (s->cpu) {
    const mica__blocks b = cut(rows, s->r.n);
    s->blocks = b.count;
    s->size = b.size;
  } else {
    MICA_TRY(pass_values(s, desc, values));
    s->size = (int64_t)mica__kernel_value(desc, values, "GROUP") * mica__kernel_value(desc, values, "EACH");
    s->blocks = (s->r.n + s->size - 1) / s->size;
  }
  for (int i = 0; i < 2; i++)
    MICA_TRY(
        mica__workspace_tensor(queue, s->key_bytes == 8 ? MICA_U64 : MICA_U32, MICA_SHAPE(rows, s->r.n), &s->keys[i]));
  MICA_TRY(mica__workspace_tensor(queue, MICA_I32, MICA_SHAPE(rows, s->r.n), &s->order[1]));
  return mica__workspace_tensor(queue, MICA_I32, MICA_SHAPE(rows, s->digits, s->blocks), &s->starts);
}

static mica_status run_passes(sort *s, const mica_tensor *x) {
  const mica__kernel_desc *count = s->cpu ? &mica__radix_count_kernel : &mica__radix_count_gpu_kernel;
  const mica__kernel_desc *scatter = s->cpu ? &mica__radix_scatter_kernel : &mica__radix_scatter_gpu_kernel;
  int width = s->cpu ? 8 : 4, from = 0;
  MICA_TRY(launch_keys(s, x, false));
  for (int shift = 0; shift < s->bits; shift += width, from = 1 - from) {
    MICA_TRY(launch_pass(s, count, from, shift, false));
    MICA_TRY(mica__sort_scan(s->exec, s->starts, s->r.outer * s->r.inner, s->digits * s->blocks));
    MICA_TRY(launch_pass(s, scatter, from, shift, true));
  }
  if (from == 0) return MICA_OK;
  mica_tensor *sorted = s->order[1];
  s->order[1] = s->order[0];
  s->order[0] = sorted;
  return MICA_OK;
}

/* A sort, and the variable that receives its order. */
typedef struct problem {
  sort s; /* its tensors are not allocated */
  const mica_tensor *x;
  mica_tensor **order;
} problem;

static mica_status finish(const problem *p, mica_status status, sort *s) {
  if (status == MICA_OK)
    *p->order = s->order[0];
  else
    mica_tensor_destroy(s->order[0]);
  mica_tensor_destroy(s->order[1]);
  mica_tensor_destroy(s->keys[0]);
  mica_tensor_destroy(s->keys[1]);
  mica_tensor_destroy(s->starts);
  return status;
}

static mica_status begin(mica_queue *queue, sort *s) {
  return mica__workspace_tensor(queue, MICA_I32, MICA_SHAPE(s->r.outer * s->r.inner, s->r.n), &s->order[0]);
}

static const char *decline_rank(const mica__task *task) {
  return ((const problem *)task->problem)->s.r.n > MOST_RANKED ? "rows are too long" : NULL;
}

static mica_status launch_rank(mica_queue *queue, const mica__task *task) {
  const problem *p = task->problem;
  sort s = p->s;
  mica_status status = begin(queue, &s);
  if (status == MICA_OK) status = launch_keys(&s, p->x, true);
  return finish(p, status, &s);
}

static mica_status launch_radix(mica_queue *queue, const problem *p, bool cpu) {
  sort s = p->s;
  s.cpu = cpu;
  mica_status status = begin(queue, &s);
  if (status == MICA_OK) status = prepare(&s);
  if (status == MICA_OK) status = run_passes(&s, p->x);
  return finish(p, status, &s);
}

static const char *decline_radix_cpu(const mica__task *task) {
  const problem *p = task->problem;
  const char *reason = mica__exec_declines(p->s.exec, task, &mica__radix_count_kernel);
  return reason ? reason : mica__exec_declines(p->s.exec, task, &mica__radix_scatter_kernel);
}

static mica_status launch_radix_cpu(mica_queue *queue, const mica__task *task) {
  return launch_radix(queue, task->problem, true);
}
static mica_status launch_radix_gpu(mica_queue *queue, const mica__task *task) {
  return launch_radix(queue, task->problem, false);
}

static const mica__impl rank = {
    .name = "sort_rank", .kernel = &mica__sort_rank_kernel, .decline = decline_rank, .launch = launch_rank};
static const mica__impl radix_cpu = {
    .name = "radix_cpu", .kernel = &mica__radix_count_kernel, .decline = decline_radix_cpu, .launch = launch_radix_cpu};
static const mica__impl radix_gpu = {
    .name = "radix_gpu", .kernel = &mica__radix_count_gpu_kernel, .launch = launch_radix_gpu};
static const mica__impl *const impls[] = {&rank, &radix_cpu, &radix_gpu, NULL};

mica_status mica__sort_order(const mica__exec *exec, const mica_tensor *x, mica__rows r, mica__order_kind kind,
                             int64_t extent, mica_tensor **order) {
  size_t bytes = mica_dtype_size(mica_tensor_dtype(x));
  problem p = {.s = {.exec = exec, .r = r, .kind = kind, .extent = extent}, .x = x, .order = order};
  bool index = kind == MICA__ORDER_INDEX;
  if (r.n > INT32_MAX / 2)
    return mica__fail(MICA_E_OVERFLOW, "sort: rows have %lld elements, but may have at most %d", (long long)r.n,
                      INT32_MAX / 2);
  if (index && extent > INT32_MAX - 1)
    return mica__fail(MICA_E_OVERFLOW, "sort: indices of %lld elements do not fit 32 bits", (long long)extent);
  p.s.bits = index ? bits_below(extent + 1) : (int32_t)bytes * 8;
  p.s.key_bytes = p.s.bits > 32 ? 8 : 4;
  return mica__exec_choose(exec, impls, &p, "sort");
}

mica_status mica__sort_results(const mica__exec *exec, const mica_tensor *x, mica__rows r, int64_t k,
                               const mica_tensor *order, const mica_tensor *values_to, const mica_tensor *indices_to) {
  const mica__kernel_desc *desc = &mica__sort_results_kernel;
  int32_t values[MICA__MAX_PARAMS];
  mica__kernel *kernel = NULL;
  int64_t count = r.outer * k * r.inner;
  MICA_TRY(mica__exec_values(exec, desc, values));
  mica__kernel_set(desc, values, "X_T", (int32_t)mica_tensor_dtype(x));
  mica__kernel_set(desc, values, "VALUES", values_to != NULL);
  mica__kernel_set(desc, values, "INDICES", indices_to != NULL);
  MICA_TRY(mica__kernel_get(mica__queue_engine(exec->queue), desc, values, NULL, &kernel));
  mica__launch launch = mica__launch_of(kernel);
  mica__launch_tensor(&launch, x);
  mica__launch_tensor(&launch, order);
  mica__launch_optional(&launch, values_to);
  mica__launch_optional(&launch, indices_to);
  mica__launch_size(&launch, r.outer);
  mica__launch_size(&launch, r.n);
  mica__launch_size(&launch, k);
  mica__launch_size(&launch, r.inner);
  mica__launch_range1(&launch, count, MICA__RANGE_GROUP);
  mica__launch_cost(&launch, 0, (double)count * (12 + 2 * (double)mica_dtype_size(mica_tensor_dtype(x))));
  return mica__queue_submit(exec->queue, &launch);
}
