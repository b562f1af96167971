/* compile/without.h: parts of the compiler that a test can switch off, to find which of them makes a result wrong. */
#ifndef MICA_COMPILE_WITHOUT_H
#define MICA_COMPILE_WITHOUT_H

#include <stdbool.h>

/* Name and text of each part that can be switched off:
 * - MEMORY: values share the arena's memory
 * - IN_PLACE: a result takes over an operand's memory, and a parameter is written in place
 * - REWRITE: written-out forms become ops
 * - SCALES: factors move into weights
 * - EPILOGUES: launches compute their pointwise users
 * - AGAIN: cheap values are recomputed where they are used
 * - TOGETHER: updates and casts of weights share launches
 * - INVARIANT: values that are the same in all runs are computed once
 * - SPLIT: long rows are walked in pieces
 * - COMPOSITES: operands of a concatenation are computed in its result's memory
 * - CHANNELS_LAST: launches share copies with channels last */
#define MICA__WITHOUT_LIST(X)                                                                                          \
  X(MEMORY, "memory")                                                                                                  \
  X(IN_PLACE, "in_place")                                                                                              \
  X(REWRITE, "rewrite")                                                                                                \
  X(SCALES, "scales")                                                                                                  \
  X(EPILOGUES, "epilogues")                                                                                            \
  X(AGAIN, "again")                                                                                                    \
  X(TOGETHER, "together")                                                                                              \
  X(INVARIANT, "invariant")                                                                                            \
  X(SPLIT, "split")                                                                                                    \
  X(COMPOSITES, "composites")                                                                                          \
  X(CHANNELS_LAST, "channels_last")

enum {
#define MICA__WITHOUT_NUMBER(name, text) MICA__WITHOUT_NUMBER_##name,
  MICA__WITHOUT_LIST(MICA__WITHOUT_NUMBER)
#undef MICA__WITHOUT_NUMBER
      MICA__WITHOUT_COUNT
};
typedef enum mica__without {
#define MICA__WITHOUT_BIT(name, text) MICA__WITHOUT_##name = 1 << MICA__WITHOUT_NUMBER_##name,
  MICA__WITHOUT_LIST(MICA__WITHOUT_BIT)
#undef MICA__WITHOUT_BIT
} mica__without;

/* Switches parts off for sessions and plans that are made from now on. `parts` joins bits of mica__without; 0, the
 * initial value, switches nothing off. For tests, while no other thread makes sessions. */
void mica__compile_without(unsigned parts);
/* True if that part is switched off. */
bool mica__is_without(mica__without part);

#endif
