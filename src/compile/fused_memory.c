/* Finds out for GPU kernels which accesses are aligned to whole vectors, so that 128 bits can move at once, and which
 * pointers may have `restrict`, because their memory does not overlap with written memory. */
#include "compile/fused_plan.h"
#include "runtime/buffer.h"
#include "runtime/tensor.h"

static bool is_access(const mica__fused_instr *instr) {
  return instr->kind == MICA__FUSED_LOAD || instr->kind == MICA__FUSED_STORE;
}

/* True if all vectors of the access begin at a multiple of their length, provided that the operand's first element
 * does. */
static bool steps_by_vectors(const mica__fused *fused, const mica__fused_plan *plan, int32_t k) {
  const mica__access *access = &fused->instrs[k].access;
  bool chunks = fused->chunk && fused->instrs[k].kind == MICA__FUSED_STORE;
  if (plan->lane < 0 || plan->width == 1 || access->stride[plan->lane] != 1 || access->offset % plan->width || chunks)
    return false;
  for (int32_t d = 0; d < fused->rank; d++)
    if (d != plan->lane && access->stride[d] % plan->width) return false;
  return true;
}

/* True if two tensors may have an element in common. When a plan is recorded, the caller's memory is not known yet, and
 * tensors have placeholder buffers. Any two of these may turn out to be the same memory. */
static bool may_meet(const mica_tensor *a, const mica_tensor *b) {
  return mica__tensor_overlaps(a, b) ||
         (mica__buffer_is_placeholder(mica__tensor_buffer(a)) && mica__buffer_is_placeholder(mica__tensor_buffer(b)));
}

/* True if the pointer of access k may have `restrict`: memory written through it is not accessed through another
 * pointer, and memory accessed through it is not written through another pointer. */
static bool is_alone(const mica__fused *fused, int32_t k, int32_t own, const mica_tensor *const *operands) {
  const mica__fused_instr *instr = &fused->instrs[k];
  for (int32_t i = 0; i < fused->count; i++) {
    const mica__fused_instr *other = &fused->instrs[i];
    if (i == k || !is_access(other)) continue;
    if (instr->kind == MICA__FUSED_LOAD && other->kind == MICA__FUSED_LOAD) continue;
    if (instr->operand >= own || other->operand >= own ? instr->operand == other->operand
                                                       : may_meet(operands[instr->operand], operands[other->operand]))
      return false;
  }
  return true;
}

void mica__fused_see_memory(const mica__fused *fused, int32_t own, const mica_tensor *const *operands,
                            mica__fused_plan *plan) {
  if (plan->target.device_class != MICA__ON_GPU) return;
  for (int32_t k = 0; k < fused->count; k++) {
    const mica__fused_instr *instr = &fused->instrs[k];
    if (!is_access(instr)) continue;
    bool real = mica_dtype_kind_of(fused->operand_dtype[instr->operand]) == MICA_DTYPE_KIND_FLOAT;
    bool begins = instr->operand >= own || mica__tensor_is_aligned(operands[instr->operand]);
    plan->aligned[k] = begins && steps_by_vectors(fused, plan, k) && (real || instr->kind == MICA__FUSED_LOAD);
    plan->alone[k] = is_alone(fused, k, own, operands);
  }
}
