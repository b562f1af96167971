/* The register-tiled kernel of the CPU class (cl/matmul/cpu/tile.cl): chooses the tile, how operands are read or
 * packed, and how the work is cut, for each size. */
#include "base/arith.h"
#include "base/error.h"
#include "cl/matmul/fields.clh"
#include "ops/blocks/blocks.h"
#include "ops/matmul/gemm.h"
#include "runtime/core_model.h"
#include "runtime/fields.h"
#include "runtime/tensor.h"
#include "runtime/workspace.h"

#include <math.h>

#define TILE_TYPES MICA_F32, MICA_F16, MICA_BF16, MICA_I8, MICA_U8

static const mica__kernel_param params[] = {
    MICA__GEMM_EPILOGUE_PARAMS,
    MICA__DTYPE("A_T", "type of a", TILE_TYPES),
    MICA__DTYPE("B_T", "type of b", TILE_TYPES),
    MICA__CASE("A_FORM", "a: 1 rows and 2 columns in place, 3 packed by the group, 4 packed before", 1, 2, 3, 4),
    MICA__CASE("B_FORM", "b: 1 rows in place, 3 packed by the group, 4 packed before", 1, 3, 4),
    MICA__CASE("EPILOGUE", "beyond the product: 0 everything, 1 nothing, 2 bias and activation", 0, 1, 2),
    MICA__CASE("PREFETCH", "the next panel of b is prefetched while tiles are multiplied", 0, 1),
    MICA__INT("MR", "rows of a register tile", 1, 2, 4, 6, 8, 12, 14),
    MICA__INT("NV", "vectors in a row of a register tile", 1, 2, 3, 4, 8),
    MICA__INT("VW", "elements of a vector", 4, 8, 16),
    MICA__CASE("BLOCK", "block type of b; 0: none", MICA_BLOCK_NONE, MICA__BLOCK_TYPES),
};

/* Order matters: the first variant that suits is taken, else the last.
 *
 * - A tile of fewer than NARROW columns suits a D with at most as many columns as the tile.
 * - Any other tile of fewer than TALL rows suits a D with at most as many rows as the tile.
 * - Any other tile of WIDE columns suits cores with wide_tiles (runtime/core_model.h), if D has at least WIDE columns
 *   and more than WIDE_M rows, and B is not best read once (reads_once).
 * - All other tiles suit every D.
 *
 * Sixteen sums in registers hide the latency of a fused multiply-add on every AVX-512 machine. With 8 rows the
 * broadcasts of A fit beside the loads of B, and taller tiles measured no faster. If there are only sixteen shorter
 * registers, twelve hold sums. */
#define TILE(label, bytes, ...)                                                                                        \
  MICA__VECTOR_VARIANT(label, bytes, MICA__GEMM_EPILOGUE_VALUES, MICA_F32, MICA_F32, 3, 3, 0, 0, __VA_ARGS__)
#define TALL 6
#define WIDE 64
#define WIDE_M 16
static const mica__variant variants[] = {
    TILE("cpu.1x64", 0, 1, 4, 16),
    TILE("cpu.8x4", 0, 8, 1, 4),
    TILE("long.4x64", MICA__LONG_VECTOR, 4, 4, 16),
    TILE("cpu.4x16", 0, 4, 1, 16),
    TILE("long.6x64", MICA__LONG_VECTOR, 6, 4, 16),
    TILE("long.8x32", MICA__LONG_VECTOR, 8, 2, 16),
    TILE("cpu.6x16", 0, 6, 1, 16),
};
const mica__kernel_desc mica__gemm_tile_kernel = {MICA__KERNEL("gemm_tile", "matmul/cpu/tile.cl", params, variants)};

enum { IN_ROWS = 1, IN_COLUMNS = 2, PACKED_HERE = 3, PREPACKED = 4 };

/* How the work is cut, in the terms of the comment that opens cl/matmul/cpu/tile.cl. */
typedef struct plan {
  int32_t values[MICA__MAX_PARAMS];
  int32_t mr, nr, vw;
  int64_t mc, nc, kc, kc_a; /* kc_a: the kernel's KA, a multiple of kc if the group packs A */
  int32_t a_form, b_form;
  bool packs_b; /* B is packed by a launch before, for this product only */
  int64_t splits;
  int32_t epilogue;
  bool prefetches;  /* the next panel of B */
  bool own_partial; /* sums between blocks of K need memory of their own */
} plan;
MICA__TASK_PLAN(plan)

static int64_t round_up(int64_t x, int64_t y) { return mica__ceil_div(x, y) * y; }
static double work_of(const mica__gemm *gemm) { return (double)gemm->m * (double)gemm->n * (double)gemm->k; }
static int32_t value(const int32_t *values, const char *macro) {
  return mica__kernel_value(&mica__gemm_tile_kernel, values, macro);
}

/* A panel of B, KC x NR floats, is as large as a first level cache; block_m x BLOCK_K floats of A take a quarter of the
 * second level. If B is read in place, longer blocks of K are better. */
#define BLOCK_K 256
#define BLOCK_N 1024
static int64_t block_m(const mica__core_model *core) { return core->l2_floats / 4 / BLOCK_K; }
#define IN_PLACE_K 512
/* The length of blocks of K if a single tile of rows reads packed panels. Blocks are long so that memory is read in
 * long runs. They are not the whole of K, because a sum in parts rounds less: a sum of 2048 products is 9 units in the
 * last place off, or 4 if it is added in four parts. */
#define LONG_K 512
#define IN_PLACE_M 128
/* With one batch, a D of more than UNCUT_M rows is cut into an even number of blocks of rows. A D of at most UNCUT_M
 * rows is first a single block, so that one group reads B once, unless B is read in place for a k of at most
 * short_depth. choose_blocks cuts this block further only if nothing is packed. */
#define UNCUT_M 64
/* Blocks of a B that is read only once: short in K, so that rows are read in long runs and sums stay in the first level
 * cache. */
#define ONCE_K 32
#define ONCE_N 512
/* With fewer than SMALL multiply-adds, or at most SMALL_TILES tiles of rows, packing costs more than it saves.
 * GROUP: the multiply-adds that make a separate group worthwhile. */
#define SMALL 4.0e6
#define SMALL_TILES 2
#define GROUP 0.3e6
/* Packing A pays only if more tiles than this use each of its elements. */
#define USES_OF_A 8

/* True if D has so few rows, and B is so large, that B is best read in place, each element once. */
static bool reads_once(const mica__gemm *gemm, const mica__core_model *core) {
  return gemm->b.col == 1 && gemm->m <= core->gemv_rows && gemm->k * gemm->n > core->gemv_floats;
}

/* Tiles with fewer columns than this are only for a D of few columns. */
#define NARROW 16

static bool suits(const mica__variant *variant, const mica__gemm *gemm, const mica_device_info *device) {
  int32_t rows = value(variant->values, "MR"), columns = value(variant->values, "NV") * value(variant->values, "VW");
  if (columns < NARROW) return gemm->n <= columns;
  if (rows < TALL) return gemm->m <= rows;
  const mica__core_model *core = mica__core_model_of(device);
  return columns < WIDE || (core->wide_tiles && gemm->n >= columns && gemm->m > WIDE_M && !reads_once(gemm, core));
}

/* Returns the first variant that fits the device and suits the product, else the last of the table, even if that is in
 * quarantine. Other variants in quarantine are skipped, unless engine is NULL. */
static const mica__variant *choose_variant(const mica__gemm *gemm, const mica_device_info *device,
                                           mica_engine *engine) {
  const mica__variant *variant = variants, *last = &variants[mica__gemm_tile_kernel.variant_count - 1];
  for (; variant < last; variant++) {
    if (!mica__variant_fits(&mica__gemm_tile_kernel, variant, device)) continue;
    if (engine && mica__variant_is_bad(engine, &mica__gemm_tile_kernel, variant)) continue;
    if (suits(variant, gemm, device)) break;
  }
  return variant;
}

/* If more than ONCE_BLOCKS blocks of rows would each pack B, a launch before packs it once. The work must be large
 * enough (ONCE_WORK multiply-adds) to hide one more launch, and B may have at most ONCE_FLOATS elements. */
#define ONCE_BLOCKS 4
#define ONCE_WORK 64.0e6
#define ONCE_FLOATS 16.0e6

/* The number of elements of B in all batches; if all batches share B, its elements count once. */
static double b_floats(const mica__gemm *gemm) {
  return (double)gemm->k * (double)gemm->n * (double)(gemm->b.batch ? gemm->batches : 1);
}

static bool packs_once(const mica__gemm *gemm, const mica__core_model *core) {
  double work = work_of(gemm) * (double)gemm->batches;
  return gemm->m > ONCE_BLOCKS * block_m(core) && work >= ONCE_WORK && b_floats(gemm) <= ONCE_FLOATS;
}

static void choose_forms(const mica__gemm *gemm, const mica_device_info *device, plan *p) {
  const mica__core_model *core = mica__core_model_of(device);
  bool a_f32 = mica_tensor_dtype(gemm->a.tensor) == MICA_F32, b_f32 = mica_tensor_dtype(gemm->b.tensor) == MICA_F32;
  bool small = work_of(gemm) < SMALL || gemm->m <= SMALL_TILES * p->mr;
  int64_t line = MICA__TENSOR_ALIGNMENT / (int64_t)sizeof(float);
  bool unaligned = gemm->b.row % line || gemm->b.batch % line;
  int64_t rows = mica__min(gemm->m, unaligned ? block_m(core) : IN_PLACE_M);
  p->a_form = p->b_form = PACKED_HERE;
  if ((small || gemm->n <= USES_OF_A * p->nr) && a_f32 && gemm->a.col == 1)
    p->a_form = IN_ROWS;
  else if (small && a_f32 && gemm->a.row == 1 && gemm->m >= p->mr)
    p->a_form = IN_COLUMNS;
  int64_t uses = unaligned ? core->pack_uses_unaligned : core->pack_uses;
  bool few_uses = b_f32 && (gemm->k <= core->short_depth || reads_once(gemm, core) || rows <= uses * p->mr);
  if (!gemm->block && (small || few_uses) && gemm->b.col == 1 && gemm->n >= p->vw) p->b_form = IN_ROWS;
  if (gemm->constant & 1 && a_f32) p->a_form = PREPACKED;
  if (gemm->constant & 2 && b_f32) p->b_form = PREPACKED;
  p->packs_b = p->b_form == PACKED_HERE && b_f32 && packs_once(gemm, core);
  if (p->packs_b) p->b_form = PREPACKED;
  p->prefetches = p->b_form != IN_ROWS && !gemm->block && p->nr > p->vw && gemm->k * gemm->n > core->prefetch_floats;
}

static int64_t groups_of(const mica__gemm *gemm, const plan *p) {
  return mica__ceil_div(gemm->m, p->mc) * mica__ceil_div(gemm->n, p->nc) * gemm->batches;
}

/* True if the last block would be less than a quarter of the others, so that some compute units would wait for
 * others. */
static bool leaves_sliver(int64_t count, int64_t block) { return count % block && count % block < block / 4; }

/* The multiply-adds that take as long as packing one element. */
#define PACKING 24

/* The time at which the last compute unit ends, in multiply-adds. One unit begins at once, the others after
 * `waking`. */
static double end_of(const mica__gemm *gemm, const plan *p, int64_t units, double waking) {
  int64_t packed = (p->a_form == PACKED_HERE ? p->mc : 0) + (p->b_form == PACKED_HERE ? p->nc : 0);
  double group = (double)(p->mc * p->nc + PACKING * packed) * (double)gemm->k, end = INFINITY;
  int64_t groups = groups_of(gemm, p);
  for (int64_t own = mica__ceil_div(groups, units); own <= groups && (double)own * group < end; own++) {
    int64_t others = units > 1 ? mica__ceil_div(groups - own, units - 1) : 0;
    end = fmin(end, fmax((double)own * group, others > 0 ? waking + (double)others * group : 0));
  }
  return end;
}

/* Cuts D into enough groups for every unit, as long as each group has enough to do. There are more groups if nothing is
 * packed, because units that wake up late then still find work. */
static void choose_blocks(const mica__gemm *gemm, const mica_device_info *device, plan *p) {
  const mica__core_model *core = mica__core_model_of(device);
  int64_t n = round_up(gemm->n, p->nr), units = (int64_t)device->compute_units;
  bool in_place = p->b_form == IN_ROWS, packs = p->a_form == PACKED_HERE || p->b_form == PACKED_HERE;
  bool once = in_place && reads_once(gemm, core);
  p->kc = once ? ONCE_K : in_place ? IN_PLACE_K : core->l1_floats / p->nr;
  /* Sums of products of bytes are exact in float only up to 258 products (u8). */
  if (gemm->epilogue.acc == MICA_I32) p->kc = mica__min(p->kc, BLOCK_K);
  /* If B is stored in quantised blocks, a step along K covers at least one whole block. */
  if (gemm->block) p->kc = mica__max(p->kc, mica_block_elements(gemm->block));
  p->kc_a = once ? p->kc : p->a_form == PACKED_HERE ? mica__max(p->kc, BLOCK_K) : mica__max(gemm->k, 1);
  /* A single tile of rows reads a panel once, in long runs. */
  const bool held = p->b_form == PACKED_HERE && gemm->held & 2;
  if ((p->b_form == PREPACKED || held) && gemm->m <= p->mr && gemm->epilogue.acc != MICA_I32) p->kc = LONG_K;
  int64_t rows = mica__ceil_div(gemm->m, in_place ? IN_PLACE_M : block_m(core));
  if (gemm->batches == 1 && rows % 2 && gemm->m > UNCUT_M) rows++;
  int64_t taken = in_place && gemm->k <= core->short_depth ? core->short_depth_rows : mica__ceil_div(gemm->m, rows);
  p->mc = round_up(mica__min(taken, gemm->m), p->mr);
  p->nc = mica__min(n, once ? ONCE_N : BLOCK_N);
  double possible = work_of(gemm) * (double)gemm->batches / GROUP;
  double waking = core->wake_products;
  plan cut = *p;
  while (groups_of(gemm, &cut) < (packs ? 2 : 16) * units && (double)groups_of(gemm, &cut) < possible) {
    int64_t half = round_up(cut.nc / 2, p->nr);
    if (cut.nc > p->nr && (packs || (cut.nc >= cut.mc && !leaves_sliver(gemm->n, half))))
      cut.nc = half;
    else if (!packs && cut.mc > p->mr)
      cut.mc = round_up(cut.mc / 2, p->mr);
    else
      break;
    if (!packs || end_of(gemm, &cut, units, waking) < end_of(gemm, p, units, waking)) *p = cut;
  }
}

/* If D has few tiles and the sums are long, K is cut too. The number of parts depends on K alone and not on the
 * number of cores, so that machines that take the same tile add in the same order. */
#define SPLIT_TILES 8
#define SPLIT_K 8192

static int64_t choose_splits(const mica__gemm *gemm, const plan *p) {
  if (gemm->block || mica__gemm_tiles(gemm, p->mr, p->nr) >= SPLIT_TILES || gemm->k < 2 * SPLIT_K) return 1;
  return mica__min(SPLIT_TILES, gemm->k / SPLIT_K);
}

/* The floats in a row of a panel of A: the kernel's MRP. */
static int64_t pitch_of(const plan *p) { return p->mr > 8 ? 16 : p->mr > 4 ? 8 : p->mr > 2 ? 4 : p->mr; }

/* Bytes of local memory for the operands that a group packs itself, at least one float: MC rows of A (whole panels),
 * each with KA values, and KC x NR values of B. */
static size_t scratch_bytes(const plan *p) {
  int64_t floats = 1;
  if (p->a_form == PACKED_HERE) floats += mica__ceil_div(p->mc, p->mr) * pitch_of(p) * p->kc_a;
  if (p->b_form == PACKED_HERE) floats += p->kc * p->nr;
  return (size_t)floats * sizeof(float);
}

/* Makes blocks smaller if local memory is short: some drivers for CPUs report only 32 KiB. */
static void fit_blocks(const mica_device_info *device, plan *p) {
  while (scratch_bytes(p) > device->local_bytes && (p->mc > p->mr || p->kc > 1)) {
    if (p->a_form == PACKED_HERE && p->mc > 4 * p->mr) {
      p->mc = round_up(p->mc / 2, p->mr);
    } else if (p->a_form == PACKED_HERE && p->kc_a > p->kc) {
      p->kc_a = p->kc;
    } else if (p->kc > 1) {
      if (p->kc_a == p->kc) p->kc_a = mica__ceil_div(p->kc, 2);
      p->kc = mica__ceil_div(p->kc, 2);
    } else {
      p->mc = p->mr;
    }
  }
}

static plan make_plan(const mica__gemm *gemm, const mica_device_info *device, const mica__variant *variant) {
  plan p = {.splits = 1};
  mica__kernel_values(&mica__gemm_tile_kernel, variant, p.values);
  p.mr = value(p.values, "MR");
  p.vw = value(p.values, "VW");
  p.nr = value(p.values, "NV") * p.vw;
  choose_forms(gemm, device, &p);
  choose_blocks(gemm, device, &p);
  fit_blocks(device, &p);
  p.splits = choose_splits(gemm, &p);
  const mica__epilogue *e = &gemm->epilogue;
  bool same_type = mica_tensor_dtype(e->d.tensor) == e->acc;
  bool bare = !e->bias && e->activation == MICA_ACTIVATION_NONE && e->acc == MICA_F32;
  if (e->alpha == 1 && e->beta == 0 && same_type && p.splits == 1) p.epilogue = bare ? 1 : 2;
  p.own_partial = p.splits > 1 || (gemm->k > mica__min(p.kc, p.kc_a) && (!same_type || e->beta != 0));
  mica__kernel_set(&mica__gemm_tile_kernel, p.values, "A_FORM", p.a_form);
  mica__kernel_set(&mica__gemm_tile_kernel, p.values, "B_FORM", p.b_form);
  mica__kernel_set(&mica__gemm_tile_kernel, p.values, "EPILOGUE", p.epilogue);
  mica__kernel_set(&mica__gemm_tile_kernel, p.values, "PREFETCH", p.prefetches);
  mica__kernel_set(&mica__gemm_tile_kernel, p.values, "BLOCK", gemm->block);
  mica__kernel_set(&mica__gemm_tile_kernel, p.values, "A_T", (int32_t)mica_tensor_dtype(gemm->a.tensor));
  mica__kernel_set(&mica__gemm_tile_kernel, p.values, "B_T", (int32_t)mica_tensor_dtype(gemm->b.tensor));
  return p;
}

static const char *unable(const void *problem) {
  return ((const mica__gemm *)problem)->epilogue.acc == MICA_F64 ? "it cannot sum in f64" : NULL;
}

static void plan_task(mica__task *task) {
  const mica__variant *variant = task->variant;
  if (!variant) variant = choose_variant(task->problem, task->device, task->engine);
  keep_plan(task, make_plan(task->problem, task->device, variant));
}

static const char *decline(const mica__task *task) {
  const mica__gemm *gemm = task->problem;
  if (gemm->block && plan_of(task)->kc % mica_block_elements(gemm->block) != 0)
    return "whole blocks do not fit in local memory";
  return mica__needs_cpu(task->device);
}

static size_t partial_bytes(const mica__gemm *gemm, const plan *p) {
  if (!p->own_partial) return 0;
  return (size_t)(p->splits * gemm->batches * gemm->m * gemm->n) * mica_dtype_size(gemm->epilogue.acc);
}

/* Adds the arguments that the kernel takes for its value of EPILOGUE: D or the partial sums, then as much of the
 * epilogue (bias, numbers) as the kernel reads. */
static void add_results(mica__launch *launch, const mica__gemm *gemm, const plan *p, mica_buffer *partial) {
  if (p->epilogue == 0) {
    if (p->own_partial)
      mica__launch_buffer(launch, partial, 0);
    else
      mica__launch_tensor(launch, gemm->epilogue.d.tensor);
    mica__epilogue_push(launch, &gemm->epilogue);
    return;
  }
  mica__launch_tensor(launch, gemm->epilogue.d.tensor);
  if (p->epilogue == 1) return;
  mica__epilogue_push_bias(launch, &gemm->epilogue);
}

MICA__PACKED(operand_fields, TILE_OPERANDS);
MICA__PACKED(size_fields, TILE_SIZES);

static mica_status launch_tiles(mica_queue *queue, const mica__gemm *gemm, plan *p, mica_buffer *partial) {
  mica__launch launch;
  MICA_TRY(mica__epilogue_begin(queue, &mica__gemm_tile_kernel, p->values, &gemm->epilogue, &launch));
  mica__launch_pack(&launch);
  operand_fields_push(&launch, &(operand_fields){.A = gemm->a.tensor, .B = gemm->b.tensor});
  mica__launch_local(&launch, scratch_bytes(p));
  const mica__matrix *a = &gemm->a, *b = &gemm->b, *d = &gemm->epilogue.d;
  const bool own = p->own_partial;
  const size_fields sizes = {
      .M = gemm->m,
      .N = gemm->n,
      .K = gemm->k,
      .MC = p->mc,
      .NC = p->nc,
      .KC = p->kc,
      .splits = p->splits,
      .KA = p->kc_a,
      .A_row = a->row,
      .A_col = a->col,
      .A_batch = a->batch,
      .B_row = b->row,
      .B_col = b->col,
      .B_batch = b->batch,
      .P_row = own ? gemm->n : d->row,
      .P_batch = own ? gemm->m * gemm->n : d->batch,
  };
  size_fields_push(&launch, &sizes);
  const int64_t groups[] = {mica__ceil_div(gemm->m, p->mc), mica__ceil_div(gemm->n, p->nc), gemm->batches * p->splits};
  mica__launch_range3(&launch, groups, (size_t[]){1, 1, 1});
  add_results(&launch, gemm, p, partial);
  mica__gemm_cost(&launch, gemm);
  return mica__queue_submit(queue, &launch);
}

static mica_status launch_with_partial(mica_queue *queue, const mica__gemm *gemm, plan *p) {
  mica_buffer *partial = NULL;
  if (!p->own_partial) return launch_tiles(queue, gemm, p, NULL);
  MICA_TRY(mica__workspace_create(queue, partial_bytes(gemm, p), &partial));
  mica_status status = launch_tiles(queue, gemm, p, partial);
  if (status == MICA_OK && p->splits > 1) status = mica__gemm_add_splits(queue, gemm, p->splits, partial);
  mica_buffer_destroy(partial);
  return status;
}

/* Replaces the operand's tensor by its packed panels, and its batch stride, unless it is 0, by the stride between the
 * panels of two batches. The other strides stay as they were, because the kernel does not use them. The caller destroys
 * *packed. */
static mica_status prepack(mica_queue *queue, const mica__gemm *gemm, mica__panels panels, mica__matrix *operand,
                           mica_tensor **packed) {
  panels.tensor = operand->tensor;
  panels.batch_stride = operand->batch;
  panels.batches = gemm->batches;
  panels.k = gemm->k;
  MICA_TRY(mica__gemm_pack(queue, &panels, packed));
  if (operand->batch) operand->batch = mica_tensor_strides(*packed)[0];
  operand->tensor = *packed;
  return MICA_OK;
}

static mica_status launch_gemm_tile(mica_queue *queue, const mica__task *task) {
  const mica__gemm *problem = task->problem;
  mica__gemm gemm = *problem;
  plan p = *plan_of(task);
  mica__panels a = {.outer = gemm.m, .width = p.mr, .pitch = pitch_of(&p)}, b = {.outer = gemm.n, .width = p.nr};
  mica_tensor *packed_a = NULL, *packed_b = NULL;
  mica_status status = MICA_OK;
  a.outer_stride = gemm.a.row, a.k_stride = gemm.a.col;
  b.outer_stride = gemm.b.col, b.k_stride = gemm.b.row, b.pitch = p.nr;
  if (p.a_form == PREPACKED) status = prepack(gemm.prologue, &gemm, a, &gemm.a, &packed_a);
  if (status == MICA_OK && p.b_form == PREPACKED)
    status = prepack(p.packs_b ? queue : gemm.prologue, &gemm, b, &gemm.b, &packed_b);
  if (status == MICA_OK) status = launch_with_partial(queue, &gemm, &p);
  mica_tensor_destroy(packed_a);
  mica_tensor_destroy(packed_b);
  return status;
}

const mica__impl mica__gemm_tile = {.name = "gemm_tile",
                                    .kernel = &mica__gemm_tile_kernel,
                                    .unable = unable,
                                    .decline = decline,
                                    .plan = plan_task,
                                    .launch = launch_gemm_tile};
