#include "compile/fused_plan.h"

#include "base/checked.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Tuned on PoCL; see "fused kernels" in tests/bench. */
#define CPU_WIDTH 16
#define CPU_CHUNK 8192       /* elements of a pointwise chunk */
#define CPU_TILE_CHUNK 256   /* elements of a pointwise chunk if the kernel has a tile (see reads_across) */
#define CPU_UNIT 16384       /* small units are put together until a work-item has about this many elements */
#define CPU_WORK_ITEMS 16    /* units are put together only while at least this many work-items remain */
#define CPU_CACHE (64 << 10) /* bytes of local memory for the values of a row, so that they stay in the L2 cache */
#define GPU_VECTOR 16        /* bytes */
#define GPU_LOCAL 64
#define GPU_GROUP 128
#define GPU_MOST_GROUP 512    /* more would leave a work-item too few registers */
#define GPU_ITEMS (128 << 10) /* the number of work-items that fill a device */
#define GPU_VECTORS 4         /* the fewest vectors per work-item of a group */
#define GPU_SOLO 64           /* rows up to this length are walked by single work-items */
#define GPU_ABREAST 8 /* the most blocks of lanes that a group walks side by side: 8 x 16 bytes are a cache line */
#define GPU_NARROW 2  /* the fewest blocks side by side: 2 x 16 bytes are a memory sector */
#define GPU_CACHE (16 << 10) /* bytes of local memory for the values of a row: several groups fit on a multiprocessor */
#define CPU_PANEL 64         /* blocks of lanes per panel: a few KiB of sums */
#define TILE 16
#define CACHE_COST 8 /* values of ops with at least this op->cost are cached rather than recomputed */

bool mica__fused_is_literal(double value) { return fabs(value) <= 16 && rint(value * 4) == value * 4; }

static void find_depends(const mica__fused *fused, mica__fused_plan *plan) {
  for (int32_t k = 0; k < fused->count; k++) {
    const mica__fused_instr *instr = &fused->instrs[k];
    uint32_t depends = mica__fused_bounds(fused, instr);
    if (instr->kind == MICA__FUSED_LOAD || instr->kind == MICA__FUSED_STORE)
      for (int32_t d = 0; d < fused->rank; d++) depends |= instr->access.stride[d] ? 1u << d : 0;
    if (instr->kind == MICA__FUSED_INDEX) depends = 1u << instr->operand;
    for (int32_t i = 0; i < mica__fused_arg_count(instr); i++) depends |= plan->depends[instr->args[i]];
    if (instr->kind == MICA__FUSED_REDUCE || (instr->kind == MICA__FUSED_STORE && fused->chunk)) depends &= ~plan->row;
    plan->depends[k] = depends;
  }
}

/* Assigns each instruction its level and counts the walks over the row. */
static void find_levels(const mica__fused *fused, mica__fused_plan *plan) {
  plan->walks = 0;
  for (int32_t k = 0; k < fused->count; k++) {
    const mica__fused_instr *instr = &fused->instrs[k];
    int32_t level = 0, walks = 0;
    for (int32_t i = 0; i < mica__fused_arg_count(instr); i++)
      if (plan->level[instr->args[i]] > level) level = plan->level[instr->args[i]];
    if (instr->kind == MICA__FUSED_REDUCE) walks = ++level;
    if (instr->kind == MICA__FUSED_STORE && mica__fused_is_inner(plan, k)) walks = level + 1;
    plan->level[k] = level;
    if (walks > plan->walks) plan->walks = walks;
  }
}

/* Counts the elements that are read or written with stride 1 along dimension d. Accesses that do not vary along the row
 * are not counted, nor are stores if the row is cut into pieces. */
static double neighbours(const mica__fused *fused, int32_t d) {
  double found = 0;
  for (int32_t k = 0; k < fused->count; k++) {
    const mica__fused_instr *instr = &fused->instrs[k];
    double elements = 1;
    bool in_row = false;
    if (instr->kind != MICA__FUSED_LOAD && (instr->kind != MICA__FUSED_STORE || fused->chunk)) continue;
    for (int32_t r = 0; r < fused->rank; r++) {
      if (instr->access.stride[r]) elements *= (double)fused->extent[r];
      in_row |= instr->access.stride[r] != 0 && r >= fused->rank - fused->reduced;
    }
    if (in_row && instr->access.stride[d] == 1) found += elements;
  }
  return found;
}

/* True if a pointwise kernel has a LOAD with stride 1 along the last but one dimension, whose extent is at least 4, and
 * a stride other than 0 and 1 along the last one. */
static bool reads_across(const mica__fused *fused) {
  int32_t last = fused->rank - 1;
  if (last < 1 || fused->extent[last - 1] < 4) return false;
  for (int32_t k = 0; k < fused->count; k++) {
    const int64_t *stride = fused->instrs[k].access.stride;
    if (fused->instrs[k].kind == MICA__FUSED_LOAD && stride[last - 1] == 1 && stride[last] != 0 && stride[last] != 1)
      return true;
  }
  return false;
}

bool mica__fused_is_transposed(const mica__fused *fused, const mica__fused_plan *plan, int32_t k) {
  const mica__fused_instr *instr = &fused->instrs[k];
  if (instr->kind != MICA__FUSED_LOAD || plan->tile != 16 || plan->width != 16) return false;
  bool floats = instr->dtype == MICA_F32 && fused->operand_dtype[instr->operand] == MICA_F32;
  int64_t across = instr->access.stride[plan->lane];
  return floats && !mica__fused_bounds(fused, instr) && instr->access.stride[plan->inner] == 1 && across != 0 &&
         across != 1;
}

static int64_t ceil_div(int64_t a, int64_t b) { return a / b + (a % b != 0); }

/* Sets *out to the product of extents [first, end). Returns false if it overflows. */
static bool product(const mica__fused *fused, int32_t first, int32_t end, int64_t *out) {
  *out = 1;
  for (int32_t d = first; d < end; d++)
    if (!mica__mul_i64(*out, fused->extent[d], out)) return false;
  return true;
}

/* Returns the number of lanes of a GPU's vectors: how many elements fit 16 bytes. An element has the size of the
 * narrowest floating type that is accessed with stride 1 along dimension `lane`, or 4 bytes if no such type is
 * narrower. */
static int32_t gpu_width(const mica__fused *fused, int32_t lane) {
  size_t least = 4;
  for (int32_t k = 0; lane >= 0 && k < fused->count; k++) {
    const mica__fused_instr *instr = &fused->instrs[k];
    mica_dtype dtype = fused->operand_dtype[instr->operand];
    bool access = instr->kind == MICA__FUSED_LOAD || instr->kind == MICA__FUSED_STORE;
    if (access && instr->access.stride[lane] == 1 && mica_dtype_kind_of(dtype) == MICA_DTYPE_KIND_FLOAT &&
        mica_dtype_size(dtype) < least)
      least = mica_dtype_size(dtype);
  }
  return (int32_t)(GPU_VECTOR / least);
}

/* Returns how many work-items of a GPU share a row. The number is doubled while all of these hold:
 * - there are too few rows to fill the device;
 * - the rows are long enough for twice as many work-items;
 * - the partial results of the kernel's reductions ("joins") take at most half of the local memory. */
static int32_t gpu_group(const mica__fused *fused, const mica__fused_plan *plan, int64_t length) {
  int64_t rows = 1, pieces = fused->chunk ? ceil_div(fused->extent[fused->split], fused->chunk) : 1;
  uint64_t bytes = 0;
  int32_t group = GPU_GROUP;
  /* `bytes` is the local memory per work-item: each join stores a value and, for argmax and argmin, an index. */
  for (int32_t k = 0; k < fused->count; k++)
    if (fused->instrs[k].kind == MICA__FUSED_REDUCE) bytes += mica_dtype_size(fused->instrs[k].dtype) == 8 ? 16 : 8;
  if (!product(fused, 0, plan->inner, &rows) || !mica__mul_i64(rows, pieces, &rows)) return group;
  while (group < GPU_MOST_GROUP && (size_t)(2 * group) <= plan->target.max_group && rows * group < GPU_ITEMS &&
         length / pieces >= (int64_t)2 * group * plan->width * GPU_VECTORS &&
         2 * (uint64_t)group * bytes <= plan->target.local_bytes / 2)
    group *= 2;
  return group;
}

/* True if the joins of `items` work-items, `width` lanes each, take at most half of the local memory. */
static bool joins_fit(const mica__fused *fused, const mica__fused_plan *plan, int32_t items) {
  uint64_t bytes = 0;
  for (int32_t k = 0; k < fused->count; k++) {
    const mica__fused_instr *instr = &fused->instrs[k];
    if (instr->kind != MICA__FUSED_REDUCE) continue;
    const bool sum = instr->op->join == MICA__JOIN_SUM || instr->op->join == MICA__JOIN_PROD;
    bytes += (mica_dtype_size(instr->dtype) == 8 ? 8u : 4u) * (sum ? 1u : 2u);
  }
  return bytes * (uint64_t)items * (uint64_t)plan->width <= plan->target.local_bytes / 2;
}

/* If lanes belong to different rows, decides for a GPU whether a group walks several blocks of lanes together. It does
 * if there are too few blocks to fill the device with work-items that each walk one block alone. Only full blocks are
 * shared, so that all work-items of a group reach its barriers. */
static void choose_abreast(const mica__fused *fused, mica__fused_plan *plan) {
  int64_t units = 1, pieces = fused->chunk ? ceil_div(fused->extent[fused->split], fused->chunk) : 1;
  int64_t blocks = fused->extent[plan->lane] / plan->width;
  int32_t striped = plan->inner, group = GPU_MOST_GROUP, abreast = GPU_ABREAST;
  for (int32_t d = plan->inner; d < fused->rank; d++)
    if (fused->extent[d] > fused->extent[striped]) striped = d;
  if (fused->chunk) striped = fused->split;
  if (fused->extent[plan->lane] % plan->width || !product(fused, 0, plan->lane, &units) ||
      !mica__mul_i64(units, pieces, &units) || units == 0 || blocks >= MICA__FUSED_GPU_ENOUGH / units)
    return;
  while (abreast >= GPU_NARROW && blocks % abreast) abreast /= 2;
  if (abreast < GPU_NARROW) return;
  /* Fewer blocks side by side mean more groups, and so more work-items, although the row is not cut into more pieces.
   * Takes the largest number of blocks that gives enough work-items. If even GPU_NARROW blocks give too few, `abreast`
   * is not changed. */
  int32_t narrow = abreast;
  while (narrow > GPU_NARROW && units * (blocks / narrow) * group < MICA__FUSED_GPU_COLUMNS) narrow /= 2;
  if (units * (blocks / narrow) * group >= MICA__FUSED_GPU_COLUMNS) abreast = narrow;
  while (group > GPU_LOCAL && ((size_t)group > plan->target.max_group || !joins_fit(fused, plan, group / 2) ||
                               fused->extent[striped] / pieces < (int64_t)MICA__FUSED_GPU_STEPS * group / abreast))
    group /= 2;
  if ((size_t)group > plan->target.max_group || !joins_fit(fused, plan, group / 2) ||
      fused->extent[striped] / pieces < (int64_t)MICA__FUSED_GPU_STEPS * group / abreast)
    return;
  plan->group = group;
  plan->abreast = abreast;
  plan->striped = striped;
}

/* Chooses the dimension of the lanes, their number, and whether a work-item or a whole group walks a row. */
static void choose_walk(const mica__fused *fused, mica__fused_plan *plan) {
  bool cpu = plan->target.device_class == MICA__ON_CPU;
  int32_t last = fused->rank - 1;
  plan->lane = last;
  plan->inner = fused->rank - fused->reduced;
  plan->group = 1;
  if (!fused->reduced && fused->rank) {
    plan->tile = reads_across(fused) ? TILE : 0;
    plan->inner = plan->tile ? last - 1 : last;
    plan->cut = last;
  } else if (plan->inner > 0 && neighbours(fused, plan->inner - 1) > neighbours(fused, last)) {
    plan->lane = plan->inner - 1;
  }
  if (fused->chunk) plan->cut = fused->split;
  plan->row = ((1u << fused->rank) - 1) & ~((1u << plan->inner) - 1);
  plan->width = cpu ? CPU_WIDTH : gpu_width(fused, plan->lane);
  while (plan->width > 1 && (plan->lane < 0 || fused->extent[plan->lane] < plan->width)) plan->width /= 2;
  int64_t length = 0;
  bool long_rows = !product(fused, plan->inner, fused->rank, &length) || length > GPU_SOLO;
  if (!cpu && fused->reduced && plan->lane == last && long_rows) plan->group = gpu_group(fused, plan, length);
  if (!cpu && fused->reduced && plan->lane >= 0 && plan->lane < plan->inner) choose_abreast(fused, plan);
  while ((size_t)plan->group > plan->target.max_group) plan->group /= 2;
  plan->flat = plan->group > 1 && !plan->abreast && fused->rank - plan->inner == 2;
  plan->local = cpu ? 1 : plan->group > 1 ? plan->group : GPU_LOCAL;
  while ((size_t)plan->local > plan->target.max_group) plan->local /= 2;
}

/* Chooses a panel for a CPU if lanes belong to neighbouring rows, each row is walked once, and no elements of it are
 * stored. A panel reads memory in order and keeps the sums of many lanes in an array. Without a panel, the blocks of
 * lanes are walked one after the other, and every step of a walk touches another page. */
static void choose_panel(const mica__fused *fused, mica__fused_plan *plan) {
  bool suits =
      plan->target.device_class == MICA__ON_CPU && plan->lane >= 0 && plan->lane < plan->inner && plan->walks == 1;
  for (int32_t k = 0; k < fused->count; k++)
    if (fused->instrs[k].kind == MICA__FUSED_STORE && mica__fused_is_inner(plan, k)) suits = false;
  plan->panel = suits ? CPU_PANEL : 0;
}

/* Divides the work into units. */
static mica_status choose_units(const mica__fused *fused, mica__fused_plan *plan) {
  bool cpu = plan->target.device_class == MICA__ON_CPU;
  int64_t all = 0, cut = plan->cut >= 0 ? fused->extent[plan->cut] : 0;
  if (!product(fused, 0, fused->rank, &all))
    return mica__fail(MICA_E_OVERFLOW, "a fused kernel would have 2^63 elements or more");
  /* The margin of 2^20 is for the padding to whole groups and for a loop whose index steps past its end. */
  plan->wide = all > INT_MAX - (1 << 20);
  plan->chunk = fused->chunk;
  if (!fused->reduced && plan->cut >= 0) {
    int64_t wanted = cpu ? plan->tile ? CPU_TILE_CHUNK : CPU_CHUNK : plan->width, pieces = ceil_div(cut, wanted);
    plan->chunk = pieces ? ceil_div(ceil_div(cut, pieces), plan->width) * plan->width : 1;
  }
  plan->chunks = plan->cut >= 0 ? ceil_div(cut, plan->chunk) : 1;
  plan->units = plan->chunks;
  for (int32_t d = 0; d < plan->inner; d++)
    plan->units *= d == plan->lane ? ceil_div(fused->extent[d], mica__fused_block(plan)) : fused->extent[d];
  if (plan->tile) plan->units *= ceil_div(fused->extent[plan->inner], plan->tile);
  plan->per = 1;
  if (cpu && plan->units > CPU_WORK_ITEMS && all / plan->units < CPU_UNIT) {
    int64_t size = all / plan->units ? all / plan->units : 1;
    plan->per = ceil_div(CPU_UNIT, size);
    if (plan->per > plan->units / CPU_WORK_ITEMS) plan->per = plan->units / CPU_WORK_ITEMS;
  }
  return MICA_OK;
}

void mica__fused_needed(const mica__fused *fused, const mica__fused_plan *plan, int32_t w,
                        bool needed[MICA__FUSED_INSTRS]) {
  memset(needed, 0, MICA__FUSED_INSTRS * sizeof *needed);
  for (int32_t k = fused->count - 1; k >= 0; k--) {
    const mica__fused_instr *instr = &fused->instrs[k];
    if (instr->kind == MICA__FUSED_REDUCE) needed[k] = plan->level[k] == w + 1;
    if (instr->kind == MICA__FUSED_STORE) needed[k] = mica__fused_is_inner(plan, k) && w == plan->walks - 1;
    if (!needed[k] || (plan->cached[k] >= 0 && plan->cached[k] < w)) continue;
    for (int32_t i = 0; i < mica__fused_arg_count(instr); i++)
      if (mica__fused_in_loop(plan, instr->args[i])) needed[instr->args[i]] = true;
  }
}

/* Chooses costly values that several walks use and keeps them in local memory, if a row of them fits and the group
 * works on only one row at a time. */
static void choose_cached(const mica__fused *fused, mica__fused_plan *plan) {
  bool needed[MICA__FUSED_INSTRS], again[MICA__FUSED_INSTRS];
  int32_t last = fused->rank - 1;
  int64_t room = plan->target.device_class == MICA__ON_CPU ? CPU_CACHE : GPU_CACHE;
  /* Takes at most half of the local memory, because reductions that a group shares need some too. */
  if ((uint64_t)room > plan->target.local_bytes / 2) room = (int64_t)(plan->target.local_bytes / 2);
  for (int32_t k = 0; k < fused->count; k++) plan->cached[k] = -1;
  if (!fused->reduced || plan->inner != last || plan->lane != last || plan->cut >= 0) return;
  if (plan->local != plan->group) return;
  for (int32_t w = 0; w + 1 < plan->walks; w++)
    for (int32_t later = w + 1; later < plan->walks; later++)
      for (int32_t k = fused->count - 1; k >= 0; k--) { /* caches a result before its arguments */
        mica__fused_needed(fused, plan, w, needed);
        mica__fused_needed(fused, plan, later, again);
        int64_t bytes = 8 * fused->extent[last];
        if (!needed[k] || !again[k] || plan->cached[k] >= 0 || bytes > room) continue;
        if (fused->instrs[k].kind != MICA__FUSED_OP || fused->instrs[k].op->cost < CACHE_COST) continue;
        plan->cached[k] = w;
        room -= bytes;
      }
}

/* Appends to the list of arguments. If the list is full, arg_count becomes MICA__MAX_ARGS + 1, which list_args
 * reports. */
static void add_arg(mica__fused_plan *plan, mica__fused_arg_kind kind, int32_t instr, int32_t index) {
  if (plan->arg_count < MICA__MAX_ARGS)
    plan->args[plan->arg_count] = (mica__fused_arg){.kind = kind, .instr = instr, .index = index};
  plan->arg_count += plan->arg_count <= MICA__MAX_ARGS;
}

static void add_access_args(const mica__fused *fused, mica__fused_plan *plan, int32_t k, int32_t *hidden) {
  const mica__fused_instr *instr = &fused->instrs[k];
  add_arg(plan, MICA__FUSED_ARG_POINTER, k, 0);
  (*hidden)++; /* a pointer is passed as a buffer and the index of its first element */
  uint32_t bounds = mica__fused_bounds(fused, instr);
  for (int32_t d = 0; d < fused->rank; d++) {
    if (instr->access.stride[d] != 0 && instr->access.stride[d] != 1) add_arg(plan, MICA__FUSED_ARG_STRIDE, k, d);
    if (bounds >> d & 1) {
      add_arg(plan, MICA__FUSED_ARG_LOW, k, d);
      add_arg(plan, MICA__FUSED_ARG_HIGH, k, d);
    }
  }
}

static void add_constant_args(const mica__fused *fused, mica__fused_plan *plan, int32_t k) {
  const mica__fused_instr *instr = &fused->instrs[k];
  const mica__attr_list *attrs = instr->op->attrs;
  const char *expression = mica__fused_expression(fused, instr);
  for (int32_t i = 0; attrs && i < attrs->count; i++)
    if (mica__fused_uses(expression, attrs->rows[i].name) &&
        !mica__fused_is_literal(mica__attr_number(&attrs->rows[i], instr->attrs)))
      add_arg(plan, MICA__FUSED_ARG_ATTR, k, i);
}

static mica_status list_args(const mica__fused *fused, mica__fused_plan *plan) {
  int32_t hidden = 0;
  plan->arg_count = 0;
  add_arg(plan, MICA__FUSED_ARG_UNITS, 0, 0);
  if (plan->group == 1) add_arg(plan, MICA__FUSED_ARG_PER, 0, 0);
  if (plan->cut >= 0) add_arg(plan, MICA__FUSED_ARG_CHUNK, 0, 0);
  if (plan->cut >= 0) add_arg(plan, MICA__FUSED_ARG_CHUNKS, 0, 0);
  for (int32_t d = 0; d < fused->rank; d++) add_arg(plan, MICA__FUSED_ARG_EXTENT, 0, d);
  for (int32_t k = 0; k < fused->count; k++) {
    const mica__fused_instr *instr = &fused->instrs[k];
    bool access = instr->kind == MICA__FUSED_LOAD || instr->kind == MICA__FUSED_STORE;
    if (access) add_access_args(fused, plan, k, &hidden);
    if (instr->kind == MICA__FUSED_OP) add_constant_args(fused, plan, k);
    bool constant = instr->kind == MICA__FUSED_VALUE || (instr->kind == MICA__FUSED_LOAD && instr->bounded);
    if (constant && !mica__fused_is_literal(instr->value)) add_arg(plan, MICA__FUSED_ARG_VALUE, k, 0);
    if (plan->cached[k] >= 0) add_arg(plan, MICA__FUSED_ARG_CACHE, k, 0);
  }
  if (plan->arg_count + hidden > MICA__MAX_ARGS)
    return mica__fail(MICA_E_UNSUPPORTED, "a fused kernel would have more than %d arguments", MICA__MAX_ARGS);
  return MICA_OK;
}

/* Returns an upper bound for the number of kernel arguments that the instructions need after simplification. Dimensions
 * are counted separately even if simplification merges them. */
static int32_t most_args(const mica__fused *fused) {
  int32_t count = 4 + fused->rank;
  for (int32_t k = 0; k < fused->count; k++) {
    const mica__fused_instr *instr = &fused->instrs[k];
    uint32_t bounds = mica__fused_bounds(fused, instr);
    if (instr->kind == MICA__FUSED_LOAD || instr->kind == MICA__FUSED_STORE) {
      count += 2 + instr->bounded;
      for (int32_t d = 0; d < fused->rank; d++)
        count += (instr->access.stride[d] != 0 && instr->access.stride[d] != 1) + 2 * (int32_t)(bounds >> d & 1);
    }
    if (instr->kind == MICA__FUSED_VALUE) count++;
    if (instr->kind == MICA__FUSED_OP) {
      const mica__attr_list *attrs = instr->op->attrs;
      count += instr->op->cost >= CACHE_COST;
      for (int32_t i = 0; attrs && i < attrs->count; i++)
        count += !mica__fused_is_literal(mica__attr_number(&attrs->rows[i], instr->attrs));
    }
    /* If rows are split, their joined values are loaded, which takes further arguments. */
    if (instr->kind == MICA__FUSED_REDUCE) count += 4;
  }
  return count;
}

bool mica__fused_fits(const mica__fused *fused, mica__fused *scratch) {
  if (most_args(fused) <= MICA__MAX_ARGS) return true;
  mica__fused_copy(scratch, fused);
  mica__fused_simplify(scratch);
  return most_args(scratch) <= MICA__MAX_ARGS;
}

/* Fails for instructions that no kernel can be made from. */
static mica_status check(const mica__fused *fused) {
  int64_t row = 0;
  bool fits = product(fused, fused->rank - fused->reduced, fused->rank, &row) && row < INT_MAX;
  for (int32_t k = 0; k < fused->count; k++) {
    const mica__fused_instr *instr = &fused->instrs[k];
    if (instr->kind == MICA__FUSED_OP && !mica__fused_expression(fused, instr))
      return mica__fail(MICA_E_UNSUPPORTED, "the op %s cannot be part of a fused kernel", instr->op->name);
    if (instr->kind != MICA__FUSED_REDUCE) continue;
    if (!fused->reduced || instr->op->join == MICA__JOIN_NONE)
      return mica__fail(MICA_E_UNSUPPORTED, "the op %s cannot reduce within a fused kernel", instr->op->name);
    if (instr->op->join >= MICA__JOIN_ARGMAX && !fits)
      return mica__fail(MICA_E_UNSUPPORTED, "the op %s can reduce at most 2^31 - 2 elements in a fused kernel",
                        instr->op->name);
  }
  return MICA_OK;
}

mica_status mica__fused_plan_make(const mica__fused *fused, const mica__fused_target *target, mica__fused_plan *plan) {
  *plan = (mica__fused_plan){.target = *target, .cut = -1};
  MICA_TRY(check(fused));
  choose_walk(fused, plan);
  find_depends(fused, plan);
  find_levels(fused, plan);
  choose_panel(fused, plan);
  choose_cached(fused, plan);
  MICA_TRY(choose_units(fused, plan));
  return list_args(fused, plan);
}
