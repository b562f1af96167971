/* Builds automata, removes edges that cannot reach an end, and ranks rules by which calls which. */
#include "text/grammar/automaton.h"

#include <stdlib.h>
#include <string.h>

#define NEVER UINT8_MAX

void mica__automaton_free(mica__automaton *a) {
  free(a->edges);
  free(a->rules);
  free(a->first);
  free(a->need);
  free(a->ends);
  free(a->rank);
  *a = (mica__automaton){0};
}

void mica__automaton_fail(mica__automaton *a, mica_status status) {
  if (a->status == MICA_OK) a->status = status;
}

uint32_t mica__automaton_node(mica__automaton *a) {
  if (a->status != MICA_OK) return 0;
  if (a->node_count == MICA__MOST_GRAMMAR_STATES) {
    a->status =
        mica__fail(MICA_E_UNSUPPORTED, "the grammar is too large: it needs more than %d states; make it simpler",
                   MICA__MOST_GRAMMAR_STATES);
    return 0;
  }
  return a->node_count++;
}

/* Makes room for one more element; the list grows by half. */
static void *grow(mica__automaton *a, void *list, uint32_t count, uint32_t *room, size_t size) {
  if (count < *room) return list;
  const uint32_t more = *room + *room / 2 + 64;
  void *grown = realloc(list, more * size);
  if (!grown)
    mica__automaton_fail(a, mica__fail_nomem("a grammar"));
  else
    *room = more;
  return grown ? grown : list;
}

static void add_edge(mica__automaton *a, mica__grammar_edge edge) {
  if (a->status != MICA_OK) return;
  if (a->edge_count == MICA__MOST_GRAMMAR_EDGES) {
    a->status =
        mica__fail(MICA_E_UNSUPPORTED, "the grammar is too large: it needs more than %d transitions; make it simpler",
                   MICA__MOST_GRAMMAR_EDGES);
    return;
  }
  a->edges = grow(a, a->edges, a->edge_count, &a->edge_room, sizeof *a->edges);
  if (a->status == MICA_OK) a->edges[a->edge_count++] = edge;
}

uint32_t mica__automaton_rule(mica__automaton *a) {
  const mica__grammar_rule rule = {mica__automaton_node(a), mica__automaton_node(a)};
  if (a->status == MICA_OK) a->rules = grow(a, a->rules, a->rule_count, &a->rule_room, sizeof *a->rules);
  if (a->status != MICA_OK) return 0;
  a->rules[a->rule_count] = rule;
  return a->rule_count++;
}

void mica__automaton_bytes(mica__automaton *a, uint32_t from, uint8_t low, uint8_t high, uint32_t to) {
  add_edge(a, (mica__grammar_edge){MICA__EDGE_BYTES, low, high, MICA__NO_RULE, from, to});
}
void mica__automaton_empty(mica__automaton *a, uint32_t from, uint32_t to) {
  add_edge(a, (mica__grammar_edge){MICA__EDGE_EMPTY, 0, 0, MICA__NO_RULE, from, to});
}
void mica__automaton_call(mica__automaton *a, uint32_t from, uint32_t rule, uint32_t to) {
  add_edge(a, (mica__grammar_edge){MICA__EDGE_CALL, 0, 0, rule, from, to});
}

void mica__automaton_text(mica__automaton *a, uint32_t from, const char *text, size_t bytes, uint32_t to) {
  if (bytes == 0) mica__automaton_empty(a, from, to);
  for (size_t i = 0; i < bytes && a->status == MICA_OK; i++) {
    const uint32_t next = i + 1 < bytes ? mica__automaton_node(a) : to;
    mica__automaton_bytes(a, from, (uint8_t)text[i], (uint8_t)text[i], next);
    from = next;
  }
}

/* --- edges that can reach an end --- */

/* For each node, the edges that depend on it: edges that lead to it, or that call the rule that starts at it. */
typedef struct backward {
  uint32_t *first, *edges, *queue;
  bool *queued;
} backward;

static void backward_free(backward *b) {
  free(b->first);
  free(b->edges);
  free(b->queue);
  free(b->queued);
}

static mica_status backward_make(const mica__automaton *a, backward *b) {
  const size_t nodes = a->node_count, edges = a->edge_count;
  b->first = calloc(nodes + 2, sizeof *b->first);
  b->edges = calloc(2 * edges + 1, sizeof *b->edges);
  b->queue = calloc(nodes + 1, sizeof *b->queue);
  b->queued = calloc(nodes + 1, sizeof *b->queued);
  if (!b->first || !b->edges || !b->queue || !b->queued) return mica__fail_nomem("a grammar");
  for (size_t i = 0; i < edges; i++) {
    b->first[a->edges[i].to + 2]++;
    if (a->edges[i].kind == MICA__EDGE_CALL) b->first[a->rules[a->edges[i].rule].start + 2]++;
  }
  for (size_t n = 0; n < nodes; n++) b->first[n + 2] += b->first[n + 1];
  for (uint32_t i = 0; i < edges; i++) {
    b->edges[b->first[a->edges[i].to + 1]++] = i;
    if (a->edges[i].kind == MICA__EDGE_CALL) b->edges[b->first[a->rules[a->edges[i].rule].start + 1]++] = i;
  }
  return MICA_OK;
}

static uint8_t need_of(const mica__automaton *a, const mica__grammar_edge *edge) {
  const uint8_t after = a->need[edge->to];
  if (edge->kind != MICA__EDGE_CALL || after == NEVER) return after;
  const uint8_t inside = a->need[a->rules[edge->rule].start];
  if (inside >= MICA__MOST_GRAMMAR_DEPTH) return NEVER;
  return inside + 1 > after ? inside + 1 : after;
}

static mica_status find_needs(mica__automaton *a) {
  backward b = {0};
  size_t head = 0, waiting = 0;
  const size_t nodes = a->node_count;
  mica_status status = backward_make(a, &b);
  memset(a->need, NEVER, nodes);
  for (uint32_t r = 0; r < a->rule_count && status == MICA_OK; r++) {
    a->need[a->rules[r].end] = 0;
    b.queue[waiting++] = a->rules[r].end;
    b.queued[a->rules[r].end] = true;
  }
  while (waiting > 0 && status == MICA_OK) {
    const uint32_t node = b.queue[head];
    head = (head + 1) % nodes;
    waiting--;
    b.queued[node] = false;
    for (uint32_t i = b.first[node]; i < b.first[node + 1]; i++) {
      const mica__grammar_edge *edge = &a->edges[b.edges[i]];
      const uint8_t need = need_of(a, edge);
      if (need >= a->need[edge->from]) continue;
      a->need[edge->from] = need;
      if (b.queued[edge->from]) continue;
      b.queued[edge->from] = true;
      b.queue[(head + waiting++) % nodes] = edge->from;
    }
  }
  backward_free(&b);
  return status;
}

/* Sorts edges by node, and removes those that cannot reach an end. */
static mica_status sort_edges(mica__automaton *a) {
  mica__grammar_edge *sorted = calloc((size_t)a->edge_count + 1, sizeof *sorted);
  uint32_t *next = calloc((size_t)a->node_count + 2, sizeof *next);
  const bool made = sorted && next;
  if (made) {
    for (uint32_t i = 0; i < a->edge_count; i++)
      if (need_of(a, &a->edges[i]) != NEVER) a->first[a->edges[i].from + 1]++;
    for (uint32_t n = 0; n < a->node_count; n++) next[n + 1] = a->first[n + 1] += a->first[n];
    for (uint32_t i = 0; i < a->edge_count; i++)
      if (need_of(a, &a->edges[i]) != NEVER) sorted[next[a->edges[i].from]++] = a->edges[i];
    free(a->edges);
    a->edges = sorted;
    a->edge_count = a->edge_room = a->first[a->node_count];
    sorted = NULL;
  }
  free(sorted);
  free(next);
  return made ? MICA_OK : mica__fail_nomem("a grammar");
}

/* --- ranks --- */

/* The rules that each rule calls before it reads a byte: rule r calls called[first[r]] to called[first[r + 1] - 1]. */
typedef struct callers {
  uint32_t *first, *called, *waiting; /* waiting: number of callers of a rule that have no rank yet */
  uint32_t *nodes, *seen;             /* seen: per node, 1 + the last rule whose start reaches it */
  uint32_t *queue;
} callers;

static void callers_free(callers *c) {
  free(c->first);
  free(c->called);
  free(c->waiting);
  free(c->nodes);
  free(c->seen);
  free(c->queue);
}

static void find_called(const mica__automaton *a, uint32_t rule, callers *c, uint32_t *count) {
  uint32_t open = 0;
  c->nodes[open++] = a->rules[rule].start;
  c->seen[a->rules[rule].start] = rule + 1;
  while (open > 0) {
    const uint32_t node = c->nodes[--open];
    for (uint32_t i = a->first[node]; i < a->first[node + 1]; i++) {
      const mica__grammar_edge *edge = &a->edges[i];
      if (edge->kind == MICA__EDGE_CALL) {
        c->called[(*count)++] = edge->rule;
        c->waiting[edge->rule]++;
      }
      if (edge->kind != MICA__EDGE_EMPTY || c->seen[edge->to] == rule + 1) continue;
      c->seen[edge->to] = rule + 1;
      c->nodes[open++] = edge->to;
    }
  }
}

static mica_status rank_rules(mica__automaton *a) {
  const size_t rules = a->rule_count, nodes = a->node_count;
  callers c = {.first = calloc(rules + 1, sizeof *c.first),
               .called = calloc((size_t)a->edge_count + 1, sizeof *c.called),
               .waiting = calloc(rules + 1, sizeof *c.waiting),
               .nodes = calloc(nodes + 1, sizeof *c.nodes),
               .seen = calloc(nodes + 1, sizeof *c.seen),
               .queue = calloc(rules + 1, sizeof *c.queue)};
  if (!c.first || !c.called || !c.waiting || !c.nodes || !c.seen || !c.queue) {
    callers_free(&c);
    return mica__fail_nomem("a grammar");
  }
  uint32_t count = 0, ranked = 0, known = 0;
  for (uint32_t r = 0; r < rules; r++) {
    find_called(a, r, &c, &count);
    c.first[r + 1] = count;
  }
  for (uint32_t r = 0; r < rules; r++)
    if (c.waiting[r] == 0) c.queue[known++] = r;
  for (; ranked < known; ranked++) {
    const uint32_t rule = c.queue[ranked];
    a->rank[rule] = ranked;
    for (uint32_t i = c.first[rule]; i < c.first[rule + 1]; i++)
      if (--c.waiting[c.called[i]] == 0) c.queue[known++] = c.called[i];
  }
  callers_free(&c);
  return known == rules
             ? MICA_OK
             : mica__fail(MICA_E_INVALID, "a rule of the grammar refers to itself before any text (left recursion)");
}

mica_status mica__automaton_finish(mica__automaton *a) {
  MICA_TRY(a->status);
  a->first = calloc((size_t)a->node_count + 1, sizeof *a->first);
  a->need = calloc((size_t)a->node_count + 1, sizeof *a->need);
  a->ends = calloc((size_t)a->node_count + 1, sizeof *a->ends);
  a->rank = calloc((size_t)a->rule_count + 1, sizeof *a->rank);
  if (!a->first || !a->need || !a->ends || !a->rank) return mica__fail_nomem("a grammar");
  MICA_TRY(find_needs(a));
  for (uint32_t r = 0; r < a->rule_count; r++) a->ends[a->rules[r].end] = true;
  if (a->need[a->rules[0].start] == NEVER)
    return mica__fail(MICA_E_INVALID, "no value satisfies the grammar, or only values nested deeper than %d levels",
                      MICA__MOST_GRAMMAR_DEPTH);
  MICA_TRY(sort_edges(a));
  return rank_rules(a);
}
