/* compile/emit.h: a set of nodes as one fused kernel.
 *
 * Every value is written as an expression of the kernel's index space: a node at an access. Views compose with the
 * access of what looks through them, pointwise nodes hand it on to their operands, reductions add the steps of the row.
 * So whatever is emitted is right; what cannot be said as one kernel fails, and which sets are worth a kernel is the
 * partition's choice. */
#ifndef MICA_COMPILE_EMIT_H
#define MICA_COMPILE_EMIT_H

#include "compile/fused.h"
#include "compile/template.h"

typedef struct mica__emission {
  const mica_graph *graph;
  const int32_t *group; /* by id - 1: nodes of group `own` are computed in the kernel */
  int32_t own;
  const bool *inlined;                    /* by id - 1: computed wherever they are used */
  mica__fused *fused, *scratch;           /* the result; the caller's memory for another one */
  int32_t operands[MICA__FUSED_OPERANDS]; /* the node behind each operand */
  uint32_t stores;                        /* bit k: operand k is written */
  int64_t elements, rows;                 /* of the index space; rows is elements where nothing is reduced */
  /* The fields below are private to the emitter. */
  mica_shape space;
  int32_t memo_node[MICA__FUSED_INSTRS];
  mica__access memo_access[MICA__FUSED_INSTRS];
} mica__emission;

/* Emits the kernel of the nodes `members` (ascending ids, all of group `own`), storing those for which stored[id - 1].
 * false when they are not one kernel. */
bool mica__emit(mica__emission *emission, const int32_t *members, int32_t count, const bool *stored);

#endif
