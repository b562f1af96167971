#include "compile/fused_plan.h"

#include <stdlib.h>
#include <string.h>

static bool has_access(const mica__fused_instr *instr) {
  return instr->kind == MICA__FUSED_LOAD || instr->kind == MICA__FUSED_STORE;
}

uint32_t mica__fused_bounds(const mica__fused *fused, const mica__fused_instr *instr) {
  uint32_t dims = 0;
  if (instr->kind != MICA__FUSED_LOAD || !instr->bounded) return 0;
  for (int32_t d = 0; d < fused->rank; d++)
    if (instr->low[d] > 0 || instr->high[d] < fused->extent[d]) dims |= 1u << d;
  return dims;
}

/* Removes dimension d from every instruction. The caller has ensured that nothing varies along it, or that it is merged
 * into d - 1. */
static void remove_dim(mica__fused *fused, int32_t d) {
  size_t after = (size_t)(fused->rank - d - 1) * sizeof(int64_t);
  for (int32_t k = 0; k < fused->count; k++) {
    mica__fused_instr *instr = &fused->instrs[k];
    if (instr->kind == MICA__FUSED_INDEX && instr->operand > d) instr->operand--;
    memmove(&instr->access.stride[d], &instr->access.stride[d + 1], after);
    memmove(&instr->low[d], &instr->low[d + 1], after);
    memmove(&instr->high[d], &instr->high[d + 1], after);
  }
  memmove(&fused->extent[d], &fused->extent[d + 1], after);
  if (d >= fused->rank - fused->reduced) fused->reduced--;
  fused->rank--;
}

/* Replaces instruction k by `by` in all its users. */
static void replace(mica__fused *fused, int32_t k, int32_t by) {
  for (int32_t user = k + 1; user < fused->count; user++)
    for (int32_t i = 0; i < 4; i++)
      if (fused->instrs[user].args[i] == k) fused->instrs[user].args[i] = by;
}

/* Drops dimensions of extent 1. The index along such a dimension is 0. A LOAD whose bounds exclude index 0 is replaced
 * by its fill value. */
static void drop_ones(mica__fused *fused) {
  for (int32_t d = fused->rank - 1; d >= 0; d--) {
    bool in_row = d >= fused->rank - fused->reduced;
    if (fused->extent[d] != 1 || (in_row && fused->reduced == 1)) continue;
    for (int32_t k = 0; k < fused->count; k++) {
      mica__fused_instr *instr = &fused->instrs[k];
      bool outside = mica__fused_bounds(fused, instr) >> (d & 31) & 1;
      if (outside || (instr->kind == MICA__FUSED_INDEX && instr->operand == d)) {
        if (outside && instr->arg_count) replace(fused, k, instr->args[0]);
        instr->kind = MICA__FUSED_VALUE;
        instr->arg_count = 0;
        if (!outside) instr->value = 0;
      }
    }
    remove_dim(fused, d);
  }
}

/* Swaps dimensions d and d + 1. */
static void swap_dims(mica__fused *fused, int32_t d) {
#define SWAP(array)                                                                                                    \
  do {                                                                                                                 \
    int64_t kept_ = (array)[d];                                                                                        \
    (array)[d] = (array)[d + 1];                                                                                       \
    (array)[d + 1] = kept_;                                                                                            \
  } while (0)
  SWAP(fused->extent);
  for (int32_t k = 0; k < fused->count; k++) {
    mica__fused_instr *instr = &fused->instrs[k];
    SWAP(instr->access.stride);
    SWAP(instr->low);
    SWAP(instr->high);
    if (instr->kind != MICA__FUSED_INDEX) continue;
    if (instr->operand == d)
      instr->operand = d + 1;
    else if (instr->operand == d + 1)
      instr->operand = d;
  }
#undef SWAP
}

/* The access that determines the order of dimensions: in a pointwise kernel the first STORE, in a reduction the first
 * LOAD that varies along the row. NULL if there is none. */
static const mica__access *leading_access(const mica__fused *fused) {
  for (int32_t k = 0; k < fused->count; k++) {
    const mica__fused_instr *instr = &fused->instrs[k];
    if (instr->kind != (fused->reduced ? MICA__FUSED_LOAD : MICA__FUSED_STORE)) continue;
    if (!fused->reduced) return &instr->access;
    for (int32_t d = fused->rank - fused->reduced; d < fused->rank; d++)
      if (instr->access.stride[d]) return &instr->access;
  }
  return NULL;
}

/* Sorts dimensions [first, end) by descending stride of the leading access. */
static void sort_dims(mica__fused *fused, int32_t first, int32_t end) {
  const mica__access *lead = leading_access(fused);
  if (!lead) return;
  for (int32_t pass = first; pass + 1 < end; pass++)
    for (int32_t d = first; d + 1 < end; d++)
      if (lead->stride[d] && llabs(lead->stride[d + 1]) > llabs(lead->stride[d])) swap_dims(fused, d);
}

/* True if dimensions d and d + 1 can be merged, because every access walks them like a single dimension. */
static bool can_merge(const mica__fused *fused, int32_t d) {
  if (d + 1 == fused->rank - fused->reduced) return false;
  for (int32_t k = 0; k < fused->count; k++) {
    const mica__fused_instr *instr = &fused->instrs[k];
    if (instr->kind == MICA__FUSED_INDEX && (instr->operand == d || instr->operand == d + 1)) return false;
    if (mica__fused_bounds(fused, instr) >> (d & 31) & 3) return false;
    if (has_access(instr) && instr->access.stride[d] != instr->access.stride[d + 1] * fused->extent[d + 1])
      return false;
  }
  int64_t merged = 0;
  return !__builtin_mul_overflow(fused->extent[d], fused->extent[d + 1], &merged);
}

static void merge_dims(mica__fused *fused) {
  for (int32_t d = fused->rank - 2; d >= 0; d--) {
    if (!can_merge(fused, d)) continue;
    for (int32_t k = 0; k < fused->count; k++) {
      mica__fused_instr *instr = &fused->instrs[k];
      instr->access.stride[d] = instr->access.stride[d + 1];
      instr->low[d] = 0;
      instr->high[d] = fused->extent[d] * fused->extent[d + 1];
    }
    fused->extent[d] *= fused->extent[d + 1];
    remove_dim(fused, d + 1);
  }
}

void mica__fused_simplify(mica__fused *fused) {
  /* True with argmax or argmin: their index into the row depends on the order of its dimensions. */
  bool ordered = false;
  for (int32_t k = 0; k < fused->count; k++) {
    mica__fused_instr *instr = &fused->instrs[k];
    if (instr->kind == MICA__FUSED_REDUCE) ordered |= instr->op->join >= MICA__JOIN_ARGMAX;
    if (instr->kind == MICA__FUSED_LOAD && !mica__fused_bounds(fused, instr)) instr->bounded = false;
  }
  drop_ones(fused);
  int32_t outer = fused->rank - fused->reduced;
  sort_dims(fused, 0, outer);
  if (!ordered) sort_dims(fused, outer, fused->rank);
  merge_dims(fused);
}
