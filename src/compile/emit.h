/* compile/emit.h: emits a set of nodes as one fused kernel.
 *
 * Every value is an expression over the kernel's index space: a node at an access. A view composes its access with that
 * of its user. A pointwise node reads its operands at its own access. A reduction adds the steps of the row. Emitting
 * fails if the set cannot be expressed as one kernel; a kernel that is emitted is always correct. The partition decides
 * which sets are worth a kernel. */
#ifndef MICA_COMPILE_EMIT_H
#define MICA_COMPILE_EMIT_H

#include "compile/fused.h"
#include "compile/template.h"

typedef struct mica__emission {
  const mica_graph *graph;
  const int32_t *group; /* by id - 1: the node's group; the kernel computes the nodes of group `own` */
  int32_t own;
  const bool *inlined;                    /* by id - 1: each kernel that uses the node computes it again */
  mica__fused *fused, *scratch;           /* fused: the result; scratch: memory of the caller for mica__fused_fits */
  int32_t operands[MICA__FUSED_OPERANDS]; /* operands[k]: the node that operand k is */
  uint32_t stores;                        /* bit k: the kernel writes operand k */
  int64_t elements, rows;                 /* of the index space; rows equals elements if nothing is reduced */
  /* The fields below are private to the emitter. */
  mica_shape space;
  int32_t memo_node[MICA__FUSED_INSTRS];
  mica__access memo_access[MICA__FUSED_INSTRS];
} mica__emission;

/* Emits the kernel of the nodes `members` (ascending ids, all of group `own`), and stores those with stored[id - 1].
 * False if they do not form one kernel. */
bool mica__emit(mica__emission *emission, const int32_t *members, int32_t count, const bool *stored);

#endif
