#include "compile/fused_split.h"
#include "compile/without.h"

#include <stdlib.h>
#include <string.h>

/* The number of work units that fill a device, and the fewest elements worth a unit. Both are constants, so that sums
 * do not depend on the number of cores. */
#define CPU_PIECES 64
#define CPU_ELEMENTS 16384
#define GPU_PIECES 1024
#define GPU_ELEMENTS 4096
/* For a GPU whose groups share one row or several blocks of lanes: the total number of work-items that a split aims at,
 * and the fewest elements per work-item. */
#define GPU_ITEMS (128 << 10)
#define GPU_EACH 32

bool mica__fused_split_choose(const mica__fused *fused, const mica__fused_plan *plan, int32_t *split, int64_t *chunk) {
  bool cpu = plan->target.device_class == MICA__ON_CPU;
  int64_t wanted = cpu ? CPU_PIECES : GPU_PIECES, least = cpu ? CPU_ELEMENTS : GPU_ELEMENTS, row = 1;
  int32_t outer = fused->rank - fused->reduced, joins = 0;
  for (int32_t k = 0; k < fused->count; k++) {
    if (fused->instrs[k].kind != MICA__FUSED_REDUCE) continue;
    if (fused->instrs[k].op->join >= MICA__JOIN_ARGMAX) return false;
    joins++;
  }
  if (mica__is_without(MICA__WITHOUT_SPLIT) || !joins || plan->units == 0 ||
      fused->operand_count + 2 * joins > MICA__FUSED_OPERANDS)
    return false;
  if (fused->count + 2 * joins > MICA__FUSED_INSTRS) return false;
  *split = outer;
  for (int32_t d = outer; d < fused->rank; d++) {
    row *= fused->extent[d];
    if (fused->extent[d] > fused->extent[*split]) *split = d;
  }
  /* `unit` is the number of elements per unit. A unit has several rows if its lanes belong to different rows. */
  int64_t rows = 1, unit = 0;
  for (int32_t d = 0; d < outer; d++) rows *= fused->extent[d];
  unit = row * ((rows + plan->units - 1) / plan->units);
  int64_t units = plan->units, each = 1;
  if (!cpu && plan->group > 1) {
    if (units * plan->group >= (plan->abreast ? MICA__FUSED_GPU_COLUMNS : MICA__FUSED_GPU_ENOUGH)) return false;
    wanted = GPU_ITEMS / plan->group;
    least = (int64_t)GPU_EACH * plan->group;
  } else if (!cpu) {
    /* Without groups, each work-item walks a unit of its own, so a work-group walks plan->local units. */
    wanted *= plan->local;
    each = plan->local;
  }
  int64_t pieces = (wanted + units - 1) / units, most = unit * each / least, extent = fused->extent[*split];
  if (pieces > most) pieces = most;
  if (plan->abreast) {
    /* With more pieces a work-item of a group would walk fewer than MICA__FUSED_GPU_STEPS steps. */
    most = extent * plan->abreast / ((int64_t)MICA__FUSED_GPU_STEPS * plan->group);
    if (pieces > most) pieces = most;
  }
  if (pieces < 2 || extent < 2) return false;
  *chunk = (extent + pieces - 1) / pieces;
  /* Rounds up to whole vectors, so that only the last piece has a remainder. */
  if (*split == plan->lane) *chunk = (*chunk + plan->width - 1) / plan->width * plan->width;
  return *chunk < extent;
}

/* How a pass treats a reduction. */
typedef enum fate {
  LEFT_OUT,
  JOINED,           /* reduced over the row, as in the list before the split */
  JOINED_OF_PIECES, /* reduced over the results of the row's pieces */
  LOADED,           /* loaded from where an earlier pass stored it */
} fate;

/* A pass: the instructions that it needs, and what it does with each reduction. */
typedef struct pass {
  const mica__fused *whole;
  bool wanted[MICA__FUSED_INSTRS];
  fate fates[MICA__FUSED_INSTRS];
  int32_t number[MICA__FUSED_INSTRS]; /* by instruction of the whole list: its number in the pass */
  mica__fused *fused;
} pass;

/* The type in which a join's result is stored between passes, which is also the type of its arithmetic. */
static mica_dtype kept_dtype(const mica__fused_instr *instr) {
  return instr->dtype == MICA_F16 || instr->dtype == MICA_BF16 ? MICA_F32 : instr->dtype;
}

/* Returns the number of the operand that holds the results of REDUCE k. If `result`, the operand has one value per row,
 * otherwise one value per piece of a row. These operands come last in the list, two per REDUCE: pieces, then
 * results. */
static int32_t pieces_operand(const mica__fused *whole, int32_t k, bool result) {
  int32_t j = 0;
  for (int32_t i = 0; i < k; i++) j += whole->instrs[i].kind == MICA__FUSED_REDUCE;
  return whole->operand_count + 2 * j + (result ? 1 : 0);
}

/* A row-major access over the outer dimensions, with `last` elements at each index. */
static mica__access outer_access(const mica__fused *whole, int64_t last) {
  mica__access access = {0};
  int64_t step = last;
  for (int32_t d = whole->rank - whole->reduced - 1; d >= 0; d--) {
    access.stride[d] = step;
    step *= whole->extent[d];
  }
  return access;
}

static int32_t push(pass *p, mica__fused_instr instr) {
  p->fused->instrs[p->fused->count] = instr;
  return p->fused->count++;
}

/* Adds everything that the wanted instructions need. If this pass does not compute a join over the row, it loads the
 * results that an earlier pass stored for the row or its pieces, so the join's argument is not needed. */
static void close_over(pass *p) {
  for (int32_t k = p->whole->count - 1; k >= 0; k--) {
    const mica__fused_instr *instr = &p->whole->instrs[k];
    if (!p->wanted[k]) continue;
    if (instr->kind == MICA__FUSED_REDUCE && p->fates[k] == LEFT_OUT) p->fates[k] = LOADED;
    if (instr->kind == MICA__FUSED_REDUCE && p->fates[k] != JOINED) continue;
    for (int32_t i = 0; i < mica__fused_arg_count(instr); i++) p->wanted[instr->args[i]] = true;
  }
}

/* Copies the wanted instructions. `pieces` is the number of pieces of a row. */
static void copy_wanted(pass *p, int64_t pieces) {
  const mica__fused *whole = p->whole;
  int32_t outer = whole->rank - whole->reduced;
  bool pieces_alone = p->fused->rank == outer + 1 && p->fused->extent[outer] == pieces && p->fused->reduced == 1;
  close_over(p);
  for (int32_t k = 0; k < whole->count; k++) {
    mica__fused_instr instr = whole->instrs[k];
    if (!p->wanted[k]) continue;
    for (int32_t i = 0; i < mica__fused_arg_count(&instr); i++) instr.args[i] = p->number[instr.args[i]];
    /* In the pass that joins pieces, the row consists of the pieces, so bounds along the original row do not apply. */
    for (int32_t d = p->fused->rank - p->fused->reduced; d < MICA_MAX_RANK && pieces_alone; d++) {
      instr.low[d] = 0;
      instr.high[d] = INT64_MAX;
    }
    if (instr.kind == MICA__FUSED_REDUCE && p->fates[k] != JOINED) {
      bool loaded = p->fates[k] == LOADED;
      mica__fused_instr load = {.kind = MICA__FUSED_LOAD,
                                .dtype = instr.dtype,
                                .operand = pieces_operand(whole, k, loaded),
                                .access = outer_access(whole, loaded ? 1 : pieces)};
      if (!loaded) load.access.stride[outer] = 1;
      p->number[k] = push(p, load);
      if (loaded) continue;
      instr.args[0] = p->number[k];
    }
    p->number[k] = push(p, instr);
  }
}

static void store(pass *p, int32_t k, int32_t operand, mica__access access) {
  push(p, (mica__fused_instr){.kind = MICA__FUSED_STORE,
                              .dtype = kept_dtype(&p->whole->instrs[k]),
                              .operand = operand,
                              .args = {p->number[k]},
                              .access = access});
}

/* Begins a pass with the index space and the operands of the whole list, and two operands for each join. */
static void start(pass *p, const mica__fused *whole, mica__fused *fused) {
  *p = (pass){.whole = whole, .fused = fused};
  *fused = (mica__fused){.rank = whole->rank, .reduced = whole->reduced, .operand_count = whole->operand_count};
  memcpy(fused->extent, whole->extent, sizeof fused->extent);
  memcpy(fused->operand_dtype, whole->operand_dtype, sizeof fused->operand_dtype);
  for (int32_t k = 0; k < whole->count; k++) {
    if (whole->instrs[k].kind != MICA__FUSED_REDUCE) continue;
    fused->operand_dtype[fused->operand_count++] = kept_dtype(&whole->instrs[k]);
    fused->operand_dtype[fused->operand_count++] = kept_dtype(&whole->instrs[k]);
  }
}

int64_t mica__fused_split_pieces(const mica__fused *fused, int32_t split, int64_t chunk) {
  return (fused->extent[split] + chunk - 1) / chunk;
}

void mica__fused_split_pieces_pass(const mica__fused *whole, const mica__fused_plan *plan, int32_t level, int32_t split,
                                   int64_t chunk, mica__fused *fused) {
  pass p;
  start(&p, whole, fused);
  for (int32_t k = 0; k < whole->count; k++) {
    if (whole->instrs[k].kind != MICA__FUSED_REDUCE || plan->level[k] != level) continue;
    p.wanted[k] = true;
    p.fates[k] = JOINED;
  }
  int64_t pieces = mica__fused_split_pieces(whole, split, chunk);
  copy_wanted(&p, pieces);
  mica__access access = outer_access(whole, pieces);
  access.stride[split] = 1;
  for (int32_t k = 0; k < whole->count; k++)
    if (p.fates[k] == JOINED) store(&p, k, pieces_operand(whole, k, false), access);
  fused->split = split;
  fused->chunk = chunk;
}

void mica__fused_split_join_pass(const mica__fused *whole, const mica__fused_plan *plan, int32_t level, int64_t pieces,
                                 bool last, mica__fused *fused) {
  pass p;
  start(&p, whole, fused);
  int32_t outer = whole->rank - whole->reduced;
  fused->rank = outer + 1;
  fused->reduced = 1;
  fused->extent[outer] = pieces;
  for (int32_t k = 0; k < whole->count; k++) {
    mica__fused_kind kind = whole->instrs[k].kind;
    if (kind == MICA__FUSED_REDUCE && plan->level[k] == level) {
      p.wanted[k] = true;
      p.fates[k] = JOINED_OF_PIECES;
    }
    if (kind == MICA__FUSED_STORE && last && !mica__fused_is_inner(plan, k)) p.wanted[k] = true;
  }
  copy_wanted(&p, pieces);
  for (int32_t k = 0; k < whole->count; k++)
    if (p.fates[k] == JOINED_OF_PIECES) store(&p, k, pieces_operand(whole, k, true), outer_access(whole, 1));
}

bool mica__fused_split_rest_pass(const mica__fused *whole, const mica__fused_plan *plan, mica__fused *fused) {
  pass p;
  bool any = false;
  start(&p, whole, fused);
  fused->reduced = 0;
  for (int32_t k = 0; k < whole->count; k++)
    if (whole->instrs[k].kind == MICA__FUSED_STORE && mica__fused_is_inner(plan, k)) any = p.wanted[k] = true;
  if (any) copy_wanted(&p, 1);
  return any;
}
