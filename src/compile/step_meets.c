/* Finds the operands whose memory a kernel's result may take over. */
#include "compile/fused_plan.h"
#include "compile/partition.h"

#include <string.h>

/* True if the store writes one value per row. */
static bool is_of_rows(const mica__fused *fused, const mica__fused_instr *store) {
  for (int32_t d = fused->rank - fused->reduced; d < fused->rank; d++)
    if (fused->extent[d] > 1 && store->access.stride[d]) return false;
  return fused->reduced > 0;
}

/* True if the operand's values enter a reduction or a store of elements. */
static bool is_read_for_elements(const mica__step *step, int32_t operand) {
  const mica__fused *fused = step->fused;
  bool depends[MICA__FUSED_INSTRS] = {false};
  for (int32_t i = 0; i < fused->count; i++) {
    const mica__fused_instr *instr = &fused->instrs[i];
    depends[i] = instr->kind == MICA__FUSED_LOAD && step->operands[instr->operand] == operand;
    for (int32_t k = 0; k < mica__fused_arg_count(instr); k++) depends[i] = depends[i] || depends[instr->args[k]];
    const bool inner = instr->kind == MICA__FUSED_STORE && !is_of_rows(fused, instr);
    if (depends[i] && (inner || instr->kind == MICA__FUSED_REDUCE)) return true;
  }
  return false;
}

bool mica__step_meets(const mica__step *step, int32_t from, int32_t to) {
  const mica__fused *fused = step->fused;
  int32_t store = 0;
  mica_shape space = {.rank = fused->rank};
  memcpy(space.dim, fused->extent, sizeof space.dim);
  while (store < fused->count &&
         (fused->instrs[store].kind != MICA__FUSED_STORE || step->operands[fused->instrs[store].operand] != to))
    store++;
  for (int32_t i = 0; i < fused->count; i++) {
    const mica__fused_instr *instr = &fused->instrs[i];
    if (instr->kind == MICA__FUSED_LOAD && step->operands[instr->operand] == from &&
        (instr->bounded || i > store || store == fused->count ||
         !mica__access_equal(space, &instr->access, &fused->instrs[store].access)))
      return false;
  }
  if (store == fused->count) return false;
  /* Long rows may be walked by several launches (fused_split.h). A launch before the last one may store the values per
   * row; it must not overwrite what later launches still read. */
  return !is_of_rows(fused, &fused->instrs[store]) || !is_read_for_elements(step, from);
}
