/* text/grammar/automaton.h: automata over bytes, whose rules call one another.
 *
 * A rule is a part of the graph with a start and an end. A call edge runs a rule and then continues at its target, so
 * nested JSON needs a stack. No called rule accepts the empty text, and none calls itself before it has read a byte. */
#ifndef MICA_TEXT_GRAMMAR_AUTOMATON_H
#define MICA_TEXT_GRAMMAR_AUTOMATON_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MICA__MOST_GRAMMAR_STATES 100000
#define MICA__MOST_GRAMMAR_EDGES 1000000
#define MICA__MOST_GRAMMAR_DEPTH 66 /* open calls: 64 levels of JSON, a character in a string, and its escape */
#define MICA__NO_RULE UINT32_MAX

typedef enum mica__grammar_edge_kind { MICA__EDGE_BYTES, MICA__EDGE_EMPTY, MICA__EDGE_CALL } mica__grammar_edge_kind;

typedef struct mica__grammar_edge {
  uint8_t kind, low, high; /* BYTES: low to high */
  uint32_t rule;           /* CALL */
  uint32_t from, to;
} mica__grammar_edge;

typedef struct mica__grammar_rule {
  uint32_t start, end;
} mica__grammar_rule;

/* Zero-initialise. While it is built, edges are in the order in which they were added. The first failure is remembered;
 * later calls do nothing. */
typedef struct mica__automaton {
  mica__grammar_edge *edges;
  uint32_t edge_count, edge_room;
  uint32_t node_count;
  mica__grammar_rule *rules;
  uint32_t rule_count, rule_room;
  mica_status status;

  /* After mica__automaton_finish: edges are sorted by node; node n has the edges first[n] to first[n + 1] - 1. */
  uint32_t *first;
  uint8_t *need;  /* per node: the fewest nested calls needed to reach the end of its rule */
  bool *ends;     /* per node: it is the end of a rule */
  uint32_t *rank; /* per rule: higher than the rank of every rule that calls it before reading a byte */
} mica__automaton;

void mica__automaton_free(mica__automaton *a);
/* Adds a node, and returns its index. */
uint32_t mica__automaton_node(mica__automaton *a);
/* Adds a rule with a new start and a new end, and returns its index. */
uint32_t mica__automaton_rule(mica__automaton *a);
/* Add an edge from node `from` to node `to`: one that reads a byte from low to high, one that reads nothing, and one
 * that runs a rule. */
void mica__automaton_bytes(mica__automaton *a, uint32_t from, uint8_t low, uint8_t high, uint32_t to);
void mica__automaton_empty(mica__automaton *a, uint32_t from, uint32_t to);
void mica__automaton_call(mica__automaton *a, uint32_t from, uint32_t rule, uint32_t to);
/* Adds a path that reads these bytes, from node `from` to node `to`. */
void mica__automaton_text(mica__automaton *a, uint32_t from, const char *text, size_t bytes, uint32_t to);
/* Remembers a failure if it is the first one. */
void mica__automaton_fail(mica__automaton *a, mica_status status);

/* Removes edges that cannot reach an end, and sorts the rest. MICA_E_INVALID if rule 0 accepts nothing, or if a rule
 * calls itself before it has read a byte. */
mica_status mica__automaton_finish(mica__automaton *a);

#endif
