/* run/common_facts.h: the facts that runs of all tasks may have, as typed fields. */
#ifndef MICA_RUN_COMMON_FACTS_H
#define MICA_RUN_COMMON_FACTS_H

#include "run/fact_fields.h"

#include <math.h>

/* Facts of all tasks. A task with own_input needs "columns" alone. */
#define COMMON_FACTS(X, S)                                                                                             \
  X(S, NUMBERS, input, .needed = true)                                                                                 \
  X(S, TEXT, input_column, .needed = true)                                                                             \
  X(S, TEXT, label_column, .needed = true)                                                                             \
  X(S, TEXT, label_name, .needed = false)                                                                              \
  X(S, TEXTS, columns, .needed = true)                                                                                 \
  X(S, TEXTS, bases, .needed = false)                                                                                  \
  X(S, TEXT, elements, .needed = false)                                                                                \
  X(S, NUMBERS, mean, .needed = true, .of = "input", .above = -INFINITY)                                               \
  X(S, NUMBERS, fills, .of = "input", .above = -INFINITY)                                                              \
  X(S, NUMBERS, deviation, .needed = true, .of = "input")                                                              \
  X(S, NUMBER, header, .above = -1, .most = 1)                                                                         \
  X(S, NUMBER, several, .above = -1, .most = 1)
MICA__FACTS_STRUCT(common, COMMON_FACTS);

mica__common_facts mica__common_facts_of(const mica_run *run);

#endif
