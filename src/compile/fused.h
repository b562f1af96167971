/* compile/fused.h: one generated kernel as data.
 *
 * A fused kernel walks an index space of up to MICA_MAX_RANK dimensions and evaluates a list of instructions at each
 * point. Instructions are in static single assignment form: each refers to earlier ones by their number. The innermost
 * `reduced` dimensions form the row. A REDUCE instruction joins its argument over the row; later instructions may use
 * both the joined value (one per row) and values of elements. Softmax is a list with two REDUCE:
 *
 *   0 LOAD x   1 REDUCE max 0   2 OP sub 0 1   3 OP exp 2   4 REDUCE sum 3   5 OP div 3 4   6 STORE y 5
 *
 * The generator turns the list into OpenCL C. The text depends on the instructions, types and kinds of access (stride
 * 0, stride 1, other). Extents and other strides are arguments, so that a new shape needs a new kernel only if the
 * generator makes other choices for it. It chooses the number of vector lanes and how a row is computed: by a work-item
 * or by a work-group; with neighbouring rows as vector lanes, if the row itself is strided; and with costly values of
 * the row kept in local memory or computed again. The order of every sum depends only on extents and text. */
#ifndef MICA_COMPILE_FUSED_H
#define MICA_COMPILE_FUSED_H

#include "base/text.h"
#include "ir/graph.h"
#include "runtime/kernel_bundle.h"
#include "runtime/launch.h"

#include <stddef.h>
#include <string.h>

typedef enum mica__fused_kind {
  MICA__FUSED_LOAD,   /* operand at access; outside the bounds, if `bounded`: args[0] if given, else `value` */
  MICA__FUSED_VALUE,  /* the constant `value` */
  MICA__FUSED_INDEX,  /* the index along dimension `operand`, as i64 */
  MICA__FUSED_OP,     /* a POINTWISE op of args */
  MICA__FUSED_REDUCE, /* args[0], joined over the row by op->join */
  MICA__FUSED_STORE,  /* stores args[0] to operand at access; once per row if the access has no steps along the row */
} mica__fused_kind;

typedef struct mica__fused_instr {
  mica__fused_kind kind;
  const mica__op *op;
  const void *attrs; /* the op's attributes; the node that owns them outlives the list */
  int32_t args[4];
  int32_t arg_count; /* of an OP; a bounded LOAD has one or none, REDUCE and STORE one, the others none */
  int32_t operand;
  mica_dtype dtype;    /* of the result; arithmetic uses COMPUTE(dtype) */
  mica__access access; /* LOAD, STORE: elements of the operand per step of each dimension */
  bool bounded;        /* LOAD: only where low[k] <= index k < high[k] (a padded read) */
  int64_t low[MICA_MAX_RANK], high[MICA_MAX_RANK];
  double value;
} mica__fused_instr;

#define MICA__FUSED_OPERANDS 32
#define MICA__FUSED_INSTRS 128

typedef struct mica__fused {
  int32_t rank;
  int64_t extent[MICA_MAX_RANK];
  int32_t reduced; /* the number of innermost dimensions that form the row; 0 for a pointwise kernel */
  int32_t count;
  int32_t operand_count;
  mica_dtype operand_dtype[MICA__FUSED_OPERANDS];
  /* Set only by the generator, if there are few long rows. If chunk > 0, the row's dimension `split` is divided into
   * pieces of `chunk` steps, and each piece has its own work-item or work-group. A STORE then stores one value per
   * piece, and stride[split] is the distance between the values of two pieces. */
  int32_t split;
  int64_t chunk;
  mica__fused_instr instrs[MICA__FUSED_INSTRS]; /* the last member, so that a stored list has memory for only `count` */
} mica__fused;

/* The bytes of a list that are in use; a copy copies these. */
static inline size_t mica__fused_bytes(const mica__fused *fused) {
  return offsetof(mica__fused, instrs) + (size_t)fused->count * sizeof *fused->instrs;
}
static inline void mica__fused_copy(mica__fused *to, const mica__fused *from) {
  memcpy(to, from, mica__fused_bytes(from));
}

/* Drops dimensions of extent 1, sorts the others by the stride of one access, and merges adjacent ones if every access
 * steps through them with one stride. Equal loops then get equal kernel text. */
void mica__fused_simplify(mica__fused *fused);

/* True if no kernel of the list can have more arguments than a launch allows, by an upper bound. scratch: memory for
 * another list. */
bool mica__fused_fits(const mica__fused *fused, mica__fused *scratch);

/* Writes the list as the source of one kernel, without division into passes. Assumes a device of this class
 * (MICA__ON_CPU or MICA__ON_GPU) without limits, and that each operand is aligned and has its own memory.
 * MICA_E_UNSUPPORTED: the list cannot be one kernel; the message has the reason. */
mica_status mica__fused_source(const mica__fused *fused, unsigned device_class, mica__text *source);

/* Builds (or finds) the kernel and queues it. Few long rows take several kernels with workspace between them.
 * operands[k] gives the buffer and the first element, from which accesses count. The operand of a STORE may share
 * memory with that of an earlier LOAD with the same access. Extents may be 0, but a max, min, argmax or argmin of
 * nothing is undefined. */
mica_status mica__fused_launch(mica_queue *queue, const mica__fused *fused, const mica_tensor *const *operands);

/* Puts the kernels that mica__fused_launch needs for these operands into a bundle. */
mica_status mica__fused_collect(mica_engine *engine, const mica__fused *fused, const mica_tensor *const *operands,
                                mica__kernel_bundle *bundle);

#endif
