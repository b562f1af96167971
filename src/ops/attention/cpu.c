/* Attention on CPUs (cl/attention/cpu/forward.cl, cl/attention/cpu/row.cl, cl/attention/cpu/grad.cl). Forward, a
 * work-item computes one or more tiles of queries of a head, or one query if a head has few. Backward, a work-item
 * takes some or all tiles of keys of a head. */
#include "ops/attention/attention.h"

#include "base/arith.h"
#include "base/error.h"
#include "cl/attention/fields.clh"
#include "runtime/fields.h"
#include "runtime/workspace.h"

#define PADDED_SIZES 64, 32, 96, 128, 160, 192, 224, 256, 320, 384, 512
#define TILE_PARAMS(...)                                                                                               \
  MICA__ATTENTION_PARAMS_OF(MICA__ATTENTION_TILE_TYPES), MICA__INT("VW", "lanes of a vector", 16, 8),                  \
      MICA__INT("NV", "vectors of a tile", __VA_ARGS__), MICA__INT("MR", "rows of a register tile", 8, 4),             \
      MICA__INT("BLOCK", "rows copied at once", 64, 128, 32, 16), MICA__CASE("D_PAD", "D, padded", PADDED_SIZES),      \
      MICA__CASE("E_PAD", "E, padded", PADDED_SIZES)
#define MOST_TILES 4
static const mica__kernel_param params[] = {TILE_PARAMS(1, 2, 3),
                                            MICA__INT("TILES", "most tiles of a work-item", MOST_TILES, 2, 1)};
static const mica__kernel_param grad_params[] = {TILE_PARAMS(1, 2)};
/* A register tile has 16 sums of 16 lanes with AVX-512, 12 sums of 8 lanes with shorter vectors. */
static const mica__variant variants[] = {
    MICA__VECTOR_VARIANT("cpu512", MICA__LONG_VECTOR, MICA__ATTENTION_VALUES, 16, 2, 8, 64, 64, 64, MOST_TILES),
    MICA__VARIANT("cpu", MICA__ON_CPU, MICA__ATTENTION_VALUES, 8, 3, 4, 64, 64, 64, MOST_TILES),
};
/* With shorter vectors a register tile has only 8 sums of 8 lanes, because the gradients of queries are computed in
 * tiles of VW NV columns, which must divide D_PAD. */
static const mica__variant grad_variants[] = {
    MICA__VECTOR_VARIANT("cpu512", MICA__LONG_VECTOR, MICA__ATTENTION_VALUES, 16, 2, 8, 64, 64, 64),
    MICA__VARIANT("cpu", MICA__ON_CPU, MICA__ATTENTION_VALUES, 8, 2, 4, 64, 64, 64),
};
const mica__kernel_desc mica__attention_cpu_kernel = {
    MICA__KERNEL("attention_cpu", "attention/cpu/forward.cl", params, variants)};
/* The row kernel computes one query per work-item. */
static const mica__kernel_param row_params[] = {
    MICA__ATTENTION_PARAMS_OF(MICA__ATTENTION_TILE_TYPES), MICA__INT("VW", "lanes of a vector", 16, 8),
    MICA__CASE("D_PAD", "D, padded", PADDED_SIZES), MICA__CASE("E_PAD", "E, padded", PADDED_SIZES),
    MICA__CASE("WHOLE", "1: rows of k and v are D_PAD and E_PAD adjacent elements", 1, 0)};
static const mica__variant row_variants[] = {
    MICA__VECTOR_VARIANT("cpu512", MICA__LONG_VECTOR, MICA__ATTENTION_VALUES, 16, 64, 64, 1),
    MICA__VARIANT("cpu", MICA__ON_CPU, MICA__ATTENTION_VALUES, 8, 64, 64, 1),
};
const mica__kernel_desc mica__attention_cpu_row_kernel = {
    MICA__KERNEL("attention_cpu_row", "attention/cpu/row.cl", row_params, row_variants)};
const mica__kernel_desc mica__attention_cpu_grad_kernel = {
    MICA__KERNEL("attention_cpu_grad", "attention/cpu/grad.cl", grad_params, grad_variants)};

static const mica__kernel_param sum_params[] = {MICA__ATTENTION_PARAMS, MICA__CASE("D_PAD", "D, padded", PADDED_SIZES)};
static const mica__variant sum_variants[] = {MICA__VARIANT("any", MICA__ON_CPU, MICA__ATTENTION_VALUES, 64)};
const mica__kernel_desc mica__attention_sum_kernel = {
    MICA__KERNEL("attention_sum", "attention/sum.cl", sum_params, sum_variants)};

/* The smallest padded head size of the kernels that holds `size`; 0 if it is too large for all. */
static int32_t padded(int64_t size) {
  int index = mica__kernel_param_index(&mica__attention_cpu_kernel, "D_PAD");
  const mica__kernel_param *param = &params[index];
  int32_t best = 0;
  for (int i = 0; i < param->choice_count; i++)
    if (param->choices[i] >= size && (best == 0 || param->choices[i] < best)) best = param->choices[i];
  return best;
}

static int64_t value(const mica__kernel_desc *desc, const int32_t *values, const char *macro) {
  return mica__kernel_value(desc, values, macro);
}

/* Local arrays begin at multiples of 64 bytes. This bounds the bytes of all gaps between them. */
#define ALIGNMENT 256

/* The bytes of local memory that a work-item takes. */
static uint64_t local_bytes(const mica__kernel_desc *desc, const int32_t *values) {
  bool grad = desc == &mica__attention_cpu_grad_kernel;
  int64_t tile = value(desc, values, "VW") * value(desc, values, "NV"), block = value(desc, values, "BLOCK");
  int64_t d = value(desc, values, "D_PAD"), e = value(desc, values, "E_PAD");
  int64_t count = grad ? (3 * d + 2 * e) * tile + block * (d + e + 3 * tile + 4)
                       : value(desc, values, "TILES") * (d + e + 2) * tile + block * (tile + d + e);
  return (uint64_t)count * sizeof(float) + ALIGNMENT;
}

static bool has_whole_rows(const mica__attention *a) {
  const int64_t *k = mica_tensor_strides(a->in[MICA__ATTENTION_OF_K]);
  const int64_t *v = mica_tensor_strides(a->in[MICA__ATTENTION_OF_V]);
  return k[3] == 1 && v[3] == 1;
}

/* Sets the values of the device's variant for a problem. Takes the most rows per block, and then the most tiles,
 * that fit local memory. False if none fit, or if the heads are larger than every padded size. */
static bool choose(const mica__task *task, const mica__kernel_desc *desc, int32_t *values) {
  static const int32_t blocks[] = {128, 64, 32, 16};
  const mica__attention *a = task->problem;
  const mica_device_info *device = task->device;
  const mica__variant *variant =
      mica__kernel_suited(desc, task->variant ? task->variant->vector_bytes : device->vector_bytes);
  int32_t d = padded(a->size.d), e = padded(a->size.e);
  if (!variant || d == 0 || e == 0) return false;
  mica__kernel_values(desc, variant, values);
  mica__attention_set(desc, values, a);
  mica__kernel_set(desc, values, "D_PAD", d);
  mica__kernel_set(desc, values, "E_PAD", e);
  if (desc == &mica__attention_cpu_row_kernel) { /* one query needs less local memory than any tile, and always fits */
    mica__kernel_set(desc, values, "WHOLE", d == a->size.d && e == a->size.e && has_whole_rows(a));
    return true;
  }
  const bool grad = desc == &mica__attention_cpu_grad_kernel;
  const int32_t most = mica__kernel_value(desc, values, "BLOCK"), tiles = grad ? 1 : MOST_TILES;
  for (size_t k = 0; k < sizeof blocks / sizeof *blocks; k++) {
    if (blocks[k] > most) continue;
    mica__kernel_set(desc, values, "BLOCK", blocks[k]);
    for (int32_t t = tiles; t > 0; t /= 2) {
      if (!grad) mica__kernel_set(desc, values, "TILES", t);
      if (local_bytes(desc, values) <= device->local_bytes) return true;
    }
  }
  return false;
}

static const mica__kernel_desc *kernel_of(const mica__attention *a) {
  return a->of_gradient ? &mica__attention_cpu_grad_kernel : &mica__attention_cpu_kernel;
}

static const char *decline(const mica__task *task) {
  const mica__attention *a = task->problem;
  int32_t values[MICA__MAX_PARAMS];
  const char *reason = mica__attention_declines(task, MICA__ON_CPU, "cpu");
  if (reason) return reason;
  if (a->dtype == MICA_F64) return "it cannot sum in f64";
  return choose(task, kernel_of(a), values) ? NULL : "the heads are too large for local memory";
}

static int64_t tile_of(const mica__kernel_desc *desc, const int32_t *values) {
  return value(desc, values, "VW") * value(desc, values, "NV");
}

static void set_range(mica__launch *launch, int64_t x, int64_t y, int64_t z) {
  mica__launch_range3(launch, (const int64_t[]){x, y, z}, (const size_t[]){1, 1, 1});
}

static mica_status no_room(const mica__kernel_desc *desc) {
  return mica__fail(MICA_E_UNSUPPORTED, "%s: the heads are too large for the kernel or for local memory", desc->name);
}

/* The row kernel runs for at most this many queries, because so few would leave most lanes of a tile empty. */
#define MOST_ROWS 3

/* The number of work-items for each head. A work-item takes up to TILES tiles, but fewer if otherwise a core would get
 * fewer than GROUPS_A_CORE work-items of all heads. */
#define GROUPS_A_CORE 8
static int64_t groups_of(const mica__task *task, const int32_t *values) {
  const mica__kernel_desc *desc = &mica__attention_cpu_kernel;
  const mica__attention *a = task->problem;
  const int64_t tiles = mica__ceil_div(a->size.tq, tile_of(desc, values));
  const int64_t even = tiles * a->size.b * a->size.h / (GROUPS_A_CORE * (int64_t)task->device->compute_units);
  return mica__ceil_div(tiles, mica__max(1, mica__min(even, value(desc, values, "TILES"))));
}

/* Chooses the vectors of a tile by the number of queries. Few queries take tiles of fewer vectors, so that fewer lanes
 * are idle. Queries for 4 vectors take two tiles of 2 vectors, instead of one of 3 and one that is mostly empty. */
static void set_vectors(const mica__kernel_desc *desc, int64_t queries, int32_t *values) {
  const int64_t lanes = value(desc, values, "VW"), vectors = value(desc, values, "NV");
  const int64_t needed = mica__ceil_div(queries, lanes);
  if (needed < vectors)
    mica__kernel_set(desc, values, "NV", (int32_t)needed);
  else if (vectors == 3 && needed == 4)
    mica__kernel_set(desc, values, "NV", 2);
}

static mica_status forward(mica_queue *queue, const mica__task *task) {
  const mica__attention *a = task->problem;
  const bool rows = a->size.tq <= MOST_ROWS;
  const mica__kernel_desc *desc = rows ? &mica__attention_cpu_row_kernel : &mica__attention_cpu_kernel;
  const mica__attention_sizes s = a->size;
  int32_t values[MICA__MAX_PARAMS];
  mica__launch launch;
  (void)queue;
  if (!choose(task, desc, values)) return no_room(desc);
  if (!rows) set_vectors(desc, s.tq, values);
  MICA_TRY(mica__attention_begin(a, desc, values, &launch));
  mica__attention_push_forward(a, &launch);
  set_range(&launch, rows ? s.tq : groups_of(task, values), s.h, s.b);
  mica__launch_cost(&launch, mica__attention_cost(a, 1, 1), 0);
  return mica__queue_submit(a->exec->queue, &launch);
}

/* Partial sums of dq, one for each split of the keys: (splits, B H, rows, pad) floats, which cl/attention/sum.cl adds
 * up. */
typedef struct partial {
  mica_tensor *sums;
  int64_t splits, rows, pad;
} partial;

/* The number of work-items that share the tiles of keys of one head of k and v: enough to give each core
 * WORK_ITEMS_A_CORE of them, but at most one per tile. */
#define WORK_ITEMS_A_CORE 4
static int64_t splits_of(const mica__attention *a, int64_t tile) {
  const mica_device_info *device = mica_engine_device(mica__queue_engine(a->exec->queue));
  int64_t heads = a->size.b * a->size.g, wanted = WORK_ITEMS_A_CORE * (int64_t)device->compute_units;
  if (heads >= wanted) return 1;
  return mica__max(1, mica__min(mica__ceil_div(wanted, heads), mica__ceil_div(a->size.tk, tile)));
}

MICA__PACKED(grad_results, CPU_GRAD_RESULTS);
MICA__PACKED(sum_operands, SUM_OPERANDS);

static mica_status launch_pass(const mica__attention *a, const int32_t *values, const mica_tensor *delta,
                               const partial *p) {
  const mica__kernel_desc *desc = &mica__attention_cpu_grad_kernel;
  mica__launch launch;
  MICA_TRY(mica__attention_begin(a, desc, values, &launch));
  mica__attention_push_grad(a, delta, &launch);
  grad_results_push(&launch, &(grad_results){.DK = a->exec->outputs[MICA__ATTENTION_DK],
                                             .DV = a->exec->outputs[MICA__ATTENTION_DV],
                                             .P = p->sums,
                                             .P_rows = p->rows});
  set_range(&launch, p->splits, a->size.g, a->size.b);
  mica__launch_cost(&launch, mica__attention_cost(a, 3, 2), 0);
  return mica__queue_submit(a->exec->queue, &launch);
}

static mica_status launch_sum(const mica__attention *a, const partial *p) {
  const mica__kernel_desc *desc = &mica__attention_sum_kernel;
  int32_t values[MICA__MAX_PARAMS];
  mica__launch launch;
  int64_t count = a->size.b * a->size.tq * a->size.h;
  if (!a->exec->outputs[MICA__ATTENTION_DQ] || count == 0) return MICA_OK;
  mica__kernel_values(desc, &sum_variants[0], values);
  mica__kernel_set(desc, values, "Q_T", (int32_t)a->dtype);
  mica__kernel_set(desc, values, "D_PAD", (int32_t)p->pad);
  MICA_TRY(mica__attention_begin(a, desc, values, &launch));
  sum_operands_push(&launch, &(sum_operands){.P = p->sums,
                                             .DQ = a->exec->outputs[MICA__ATTENTION_DQ],
                                             .count = count,
                                             .P_rows = p->rows,
                                             .splits = p->splits});
  mica__launch_range1(&launch, count, MICA__RANGE_GROUP);
  mica__launch_cost(&launch, 0, (double)(count * p->splits * p->pad) * 4);
  return mica__queue_submit(a->exec->queue, &launch);
}

static mica_status backward(mica_queue *queue, const mica__task *task) {
  const mica__attention *a = task->problem;
  const mica__kernel_desc *desc = &mica__attention_cpu_grad_kernel;
  const mica__attention_sizes s = a->size;
  int32_t values[MICA__MAX_PARAMS];
  mica_tensor *delta = NULL;
  if (s.b * s.h == 0) return MICA_OK;
  if (!choose(task, desc, values)) return no_room(desc);
  partial p = {.splits = splits_of(a, tile_of(desc, values)),
               .rows = s.tq + value(desc, values, "MR"),
               .pad = value(desc, values, "D_PAD")};
  MICA_TRY(mica__attention_delta(a, &delta));
  mica_status status = mica__workspace_tensor(queue, MICA_F32, MICA_SHAPE(p.splits, s.b * s.h, p.rows, p.pad), &p.sums);
  if (status == MICA_OK) status = launch_pass(a, values, delta, &p);
  if (status == MICA_OK) status = launch_sum(a, &p);
  mica_tensor_destroy(p.sums);
  mica_tensor_destroy(delta);
  return status;
}

const mica__impl mica__attention_cpu = {
    .name = "attention_cpu", .kernel = &mica__attention_cpu_kernel, .decline = decline, .launch = forward};
const mica__impl mica__attention_cpu_grad = {
    .name = "attention_cpu_grad", .kernel = &mica__attention_cpu_grad_kernel, .decline = decline, .launch = backward};
