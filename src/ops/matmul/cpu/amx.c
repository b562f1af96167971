/* Products of bf16 and of bytes on the matrix unit of Intel's CPUs, by inline assembly under PoCL
 * (cl/matmul/cpu/amx.cl). */
#include "base/arith.h"
#include "base/error.h"
#include "ops/matmul/cpu/amx_operand.h"
#include "ops/matmul/gemm.h"
#include "runtime/workspace.h"

#define AMX_TYPES MICA_BF16, MICA_I8, MICA_U8
static const mica__kernel_param params[] = {
    MICA__GEMM_EPILOGUE_PARAMS,
    MICA__DTYPE("A_T", "type of a", AMX_TYPES),
    MICA__DTYPE("B_T", "type of b", AMX_TYPES),
    MICA__TILES_PARAM,
    MICA__CASE("PACK", "1: groups pack their columns of b", 0, 1),
};
static const mica__variant variants[] = {MICA__TILES_VARIANTS(MICA__GEMM_EPILOGUE_VALUES, MICA_BF16, MICA_BF16)};
const mica__kernel_desc mica__gemm_amx_kernel = {MICA__KERNEL("gemm_amx", "matmul/cpu/amx.cl", params, variants)};

#define SIDE MICA__TILES_SIDE
/* A group multiplies at most ROWS panels of A by COLUMNS panels of B at a time. These panels stay in a second-level
 * cache of 2 MB. */
#define ROWS 4
#define COLUMNS 8
/* MOST_PACKED: the most bytes of B that a group packs for itself, half of that cache. LEAST_BUSY: groups pack for
 * themselves only if the cores are then busy for at least this share of the time. Each such group takes all rows of A,
 * so there are fewer groups, and some cores may be idle. */
#define MOST_PACKED (1 << 20)
#define LEAST_BUSY 0.85
/* With fewer rows, or fewer values along k, tiles are mostly padding. */
#define LEAST_ROWS 16
#define LEAST_DEPTH 32

static int64_t per_word(const mica__gemm *gemm) {
  return 4 / (int64_t)mica_dtype_size(mica_tensor_dtype(gemm->a.tensor));
}

static const char *unable(const void *problem) {
  const mica__gemm *gemm = problem;
  mica_dtype a = mica_tensor_dtype(gemm->a.tensor), b = mica_tensor_dtype(gemm->b.tensor);
  bool bf16 = a == MICA_BF16 && b == MICA_BF16,
       bytes = (a == MICA_I8 || a == MICA_U8) && (b == MICA_I8 || b == MICA_U8);
  if (!bf16 && !bytes) return "a and b are not both bf16 or both bytes, as AMX tiles need";
  return gemm->k < 1 ? "k is 0" : NULL;
}

static const char *decline(const mica__task *task) {
  const mica__gemm *gemm = task->problem;
  const char *reason = unable(gemm);
  if (!reason) reason = mica__needs_cpu(task->device);
  if (reason) return reason;
  if (gemm->m < LEAST_ROWS || gemm->k < LEAST_DEPTH) return "the matrices are smaller than a few tiles";
  return mica__tiles_missing(task->device);
}

static mica__tiles_cut cut_of(const mica__gemm *gemm) { return mica__tiles_cut_of(gemm->k, per_word(gemm)); }

static mica_status pack(mica_queue *queue, const mica__gemm *gemm, const mica__matrix *operand, bool rows,
                        mica_tensor **packed) {
  const mica__tiles_operand matrices = {.tensor = operand->tensor,
                                        .rows = rows,
                                        .per = per_word(gemm),
                                        .batches = operand->batch ? gemm->batches : 1,
                                        .batch = operand->batch,
                                        .outer = rows ? gemm->m : gemm->n,
                                        .outer_step = rows ? operand->row : operand->col,
                                        .k = gemm->k,
                                        .k_step = rows ? operand->col : operand->row};
  return mica__tiles_pack(queue, &matrices, cut_of(gemm), packed);
}

/* The layout of a's rows (cl/matmul/cpu/amx.cl), in words. tensor is a itself or its packed copy. */
typedef struct rows {
  const mica_tensor *tensor;
  int64_t batch, panel, chunk, row;
} rows;

/* True if a's rows already consist of whole words and whole panels, so that tiles load from them as fast as from packed
 * rows. */
static bool lies_well(const mica__gemm *gemm) {
  const mica__matrix *a = &gemm->a;
  int64_t per = per_word(gemm);
  bool whole = gemm->m % SIDE == 0 && gemm->k % per == 0 && cut_of(gemm).steps * per == gemm->k;
  return whole && a->col == 1 && a->row >= gemm->k && a->row % per == 0 && a->batch % per == 0;
}

static rows rows_where_they_lie(const mica__gemm *gemm) {
  int64_t per = per_word(gemm), row = gemm->a.row / per;
  return (rows){gemm->a.tensor, gemm->a.batch / per, SIDE * row, cut_of(gemm).words, row};
}

static rows rows_packed(const mica__gemm *gemm, const mica_tensor *packed) {
  mica__tiles_cut c = cut_of(gemm);
  int64_t panel = SIDE * c.steps, batch = mica__ceil_div(gemm->m, SIDE) * panel;
  return (rows){packed, gemm->a.batch ? batch : 0, panel, SIDE * c.words, c.words};
}

/* The number of panels that a group takes: `most`, halved until there are `wanted` groups. others: the number of
 * groups along the other dimension of D. */
static int64_t block_of(int64_t panels, int64_t most, int64_t others, int64_t wanted) {
  while (most > 1 && mica__ceil_div(panels, most) * others < wanted) most /= 2;
  return most;
}

/* The number of panels of B that a group packs for itself and multiplies by all of A. This saves time, because packing
 * on one core and reading on another costs as much as the multiplication. 0 if a launch before should pack B, in any of
 * these cases:
 *
 * - cores would be idle (LEAST_BUSY), or a panel is too large (MOST_PACKED)
 * - B is constant, or several batches share it
 * - neither the rows nor the columns of B have adjacent elements */
static int64_t own_columns(const mica__gemm *gemm, int64_t units) {
  const int64_t wide = mica__ceil_div(gemm->n, SIDE), bytes = 4 * SIDE * cut_of(gemm).steps;
  const bool changes = !(gemm->constant & 2) && (gemm->batches == 1 || gemm->b.batch != 0);
  if (!changes || (gemm->b.row != 1 && gemm->b.col != 1)) return 0;
  for (int64_t columns = COLUMNS; columns >= 1; columns /= 2) {
    const int64_t groups = mica__ceil_div(wide, columns) * gemm->batches, passes = mica__ceil_div(groups, units);
    const double busy = (double)(wide * gemm->batches) / (double)(units * passes * columns);
    if (columns * bytes <= MOST_PACKED && busy >= LEAST_BUSY) return columns;
  }
  return 0;
}

/* Queues the product. b is packed or, if `own` is not 0, the workspace into which groups pack `own` panels each. */
static mica_status multiply(mica_queue *queue, const mica__gemm *gemm, const mica__variant *variant, const rows *a,
                            const mica_tensor *b, int64_t own) {
  const mica__kernel_desc *desc = &mica__gemm_amx_kernel;
  const mica_device_info *device = mica_engine_device(mica__queue_engine(queue));
  mica__tiles_cut c = cut_of(gemm);
  int64_t tall = mica__ceil_div(gemm->m, SIDE), wide = mica__ceil_div(gemm->n, SIDE);
  int64_t wanted = mica__ceil_div(2 * (int64_t)device->compute_units, gemm->batches);
  int64_t columns = own ? own : block_of(wide, COLUMNS, mica__ceil_div(tall, ROWS), wanted);
  int64_t block = own ? ROWS : block_of(tall, ROWS, mica__ceil_div(wide, columns), wanted);
  const int64_t height = own ? tall : block;
  int32_t values[MICA__MAX_PARAMS];
  mica__launch launch;
  mica__kernel_values(desc, variant, values);
  mica__kernel_set(desc, values, "A_T", (int32_t)mica_tensor_dtype(gemm->a.tensor));
  mica__kernel_set(desc, values, "B_T", (int32_t)mica_tensor_dtype(gemm->b.tensor));
  mica__kernel_set(desc, values, "PACK", own != 0);
  MICA_TRY(mica__epilogue_begin(queue, desc, values, &gemm->epilogue, &launch));
  const int64_t sizes[] = {gemm->m, gemm->n, c.steps, c.words, block, height, columns};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) mica__launch_size(&launch, sizes[i]);
  mica__launch_tensor(&launch, a->tensor);
  mica__launch_size(&launch, (int64_t)mica_dtype_size(mica_tensor_dtype(a->tensor)));
  const int64_t strides[] = {a->batch, a->panel, a->chunk, a->row};
  for (size_t i = 0; i < sizeof strides / sizeof *strides; i++) mica__launch_long(&launch, strides[i]);
  if (own) {
    mica__launch_size(&launch, gemm->k);
    mica__launch_tensor(&launch, gemm->b.tensor);
    const int64_t steps[] = {gemm->b.batch, gemm->b.col, gemm->b.row};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) mica__launch_long(&launch, steps[i]);
  }
  mica__launch_tensor(&launch, b);
  mica__launch_long(&launch, gemm->b.batch || own ? wide * SIDE * c.steps : 0);
  const int64_t groups[] = {mica__ceil_div(tall, height), mica__ceil_div(wide, columns), gemm->batches};
  mica__launch_range3(&launch, groups, (size_t[]){1, 1, 1});
  return mica__gemm_end(queue, &launch, gemm);
}

static mica_status launch_amx(mica_queue *queue, const mica__task *task) {
  const mica__gemm *gemm = task->problem;
  const mica__variant *variant = task->variant ? task->variant : &variants[0];
  mica_tensor *a = NULL, *b = NULL;
  MICA_TRY(mica__tiles_check(task->device, &mica__gemm_amx_kernel, variant));
  mica_status status = MICA_OK;
  bool plain = !(gemm->constant & 1) && lies_well(gemm);
  if (!plain) status = pack(gemm->constant & 1 ? gemm->prologue : queue, gemm, &gemm->a, true, &a);
  rows where = plain ? rows_where_they_lie(gemm) : rows_packed(gemm, a);
  const int64_t own = own_columns(gemm, (int64_t)task->device->compute_units);
  if (status == MICA_OK && own)
    status = mica__workspace_tensor(
        queue, MICA_U32, MICA_SHAPE(gemm->batches, mica__ceil_div(gemm->n, SIDE), cut_of(gemm).steps, SIDE), &b);
  else if (status == MICA_OK)
    status = pack(gemm->constant & 2 ? gemm->prologue : queue, gemm, &gemm->b, false, &b);
  if (status == MICA_OK) status = multiply(queue, gemm, variant, &where, b, own);
  mica_tensor_destroy(a);
  mica_tensor_destroy(b);
  return status;
}

const mica__impl mica__gemm_amx = {
    .name = "gemm_amx", .kernel = &mica__gemm_amx_kernel, .unable = unable, .decline = decline, .launch = launch_amx};
