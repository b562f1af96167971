/* run/common_facts.h: the values that may be stored with a run of any task (facts, run/facts.h), as typed fields. */
#ifndef MICA_RUN_COMMON_FACTS_H
#define MICA_RUN_COMMON_FACTS_H

#include "run/fact_fields.h"

#include <math.h>

/* Stored values of all tasks, then values of some tasks (of_task) that the run reads too. A task with own_input needs
 * only "columns" from the first group. */
#define COMMON_FACTS(X, S)                                                                                             \
  X(S, NUMBERS, input, .needed = true)                                                                                 \
  X(S, TEXT, input_column, .needed = true)                                                                             \
  X(S, TEXT, label_column, .needed = true)                                                                             \
  X(S, TEXT, label_name, .needed = false)                                                                              \
  X(S, TEXTS, columns, .needed = true)                                                                                 \
  X(S, TEXTS, bases, .needed = false)                                                                                  \
  X(S, TEXT, elements, .needed = false)                                                                                \
  X(S, NUMBERS, mean, .needed = true, .of = "input", MICA__ANY_SIGN)                                                   \
  X(S, NUMBERS, fills, .of = "input", MICA__ANY_SIGN)                                                                  \
  X(S, NUMBERS, deviation, .needed = true, .of = "input")                                                              \
  X(S, NUMBER, header, MICA__OR_ZERO, .most = 1)                                                                       \
  X(S, NUMBER, several, MICA__OR_ZERO, .most = 1)                                                                      \
  X(S, TEXTS, numbers, .of_task = true)                                                                                \
  X(S, TEXTS, text_columns, .of_task = true)                                                                           \
  X(S, TEXTS, table, .of_task = true)                                                                                  \
  X(S, TEXTS, unused, .of_task = true)                                                                                 \
  X(S, TEXTS, categories, .of_task = true)                                                                             \
  X(S, TEXTS, category_names, .of_task = true)                                                                         \
  X(S, NUMBERS, category_classes, .of_task = true)                                                                     \
  X(S, NUMBERS, category_seen, .of_task = true)                                                                        \
  X(S, TEXTS, classes, .of_task = true)                                                                                \
  X(S, NUMBERS, class_weights, .of_task = true)                                                                        \
  X(S, TEXTS, answers, .of_task = true)                                                                                \
  X(S, NUMBERS, target_mean, .of_task = true)                                                                          \
  X(S, NUMBERS, target_deviation, .of_task = true)                                                                     \
  X(S, TEXT, from, .of_task = true)                                                                                    \
  X(S, TEXT, to, .of_task = true)                                                                                      \
  X(S, TEXT, boxes_column, .of_task = true)                                                                            \
  X(S, NUMBERS, window, .of_task = true)                                                                               \
  X(S, NUMBER, rate, .of_task = true)                                                                                  \
  X(S, TEXTS, tokenizer, .of_task = true)                                                                              \
  X(S, NUMBER, vocabulary, .of_task = true)                                                                            \
  X(S, NUMBER, tolerance, .of_task = true)                                                                             \
  X(S, NUMBER, validation_by_class, .of_task = true, MICA__OR_ZERO, .most = 1)                                         \
  X(S, NUMBERS, pruned, .of_task = true)                                                                               \
  X(S, TEXT, version, .of_task = true)                                                                                 \
  X(S, TEXT, parts_print, .of_task = true)                                                                             \
  X(S, NUMBER, test_samples, .of_task = true)                                                                          \
  X(S, NUMBERS, quantized, .of_task = true)                                                                            \
  X(S, NUMBERS, imported_units, .of_task = true)
MICA__FACTS_STRUCT(common, COMMON_FACTS);
extern const mica__fact_list mica__common_fact_list;

/* The stored values of a run, valid until they change. If run is NULL, all are empty. */
mica__common_facts mica__common_facts_of(const mica_run *run);

#endif
