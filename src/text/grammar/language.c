/* Builds automata for sets of texts: from ranges of characters, as the intersection of two sets, by the length of
 * texts, and as the complement of a set. */
#include "text/grammar/language.h"

#include "text/grammar/states.h"

#include <stdlib.h>

/* --- characters --- */

/* left[n]: a node from which n more continuation bytes lead to `to`. */
typedef struct tail {
  mica__automaton *a;
  uint32_t to, left[4];
} tail;

static uint32_t tail_node(tail *t, int left) {
  if (left == 0) return t->to;
  if (!t->left[left]) {
    const uint32_t next = tail_node(t, left - 1);
    t->left[left] = mica__automaton_node(t->a);
    mica__automaton_bytes(t->a, t->left[left], 0x80, 0xbf, next);
  }
  return t->left[left];
}

/* Adds paths for the code points low to high, each as a first byte and `left` more bytes of UTF-8. `first` has the
 * fixed bits of the first byte. */
static void add_range(tail *t, uint32_t from, uint32_t low, uint32_t high, int left, uint8_t first) {
  const uint32_t ones = (UINT32_C(1) << 6 * left) - 1;
  if (left == 0) {
    mica__automaton_bytes(t->a, from, (uint8_t)(first | low), (uint8_t)(first | high), t->to);
    return;
  }
  uint32_t begin = low >> 6 * left, end = high >> 6 * left;
  if (begin == end && ((low & ones) || (high & ones) != ones)) {
    const uint32_t next = mica__automaton_node(t->a);
    mica__automaton_bytes(t->a, from, (uint8_t)(first | begin), (uint8_t)(first | begin), next);
    add_range(t, next, low & ones, high & ones, left - 1, 0x80);
    return;
  }
  if (low & ones) {
    add_range(t, from, low, begin << 6 * left | ones, left, first);
    begin++;
  }
  if ((high & ones) != ones) {
    add_range(t, from, end << 6 * left, high, left, first);
    end--;
  }
  if (begin <= end && end != UINT32_MAX)
    mica__automaton_bytes(t->a, from, (uint8_t)(first | begin), (uint8_t)(first | end), tail_node(t, left));
}

void mica__language_characters(mica__automaton *a, const mica__characters *ranges, size_t count, uint32_t from,
                               uint32_t to) {
  static const struct {
    uint32_t low, high;
    int left;
    uint8_t first;
  } parts[] = {{0, 0x7f, 0, 0},
               {0x80, 0x7ff, 1, 0xc0},
               {0x800, 0xd7ff, 2, 0xe0},
               {0xe000, 0xffff, 2, 0xe0},
               {0x10000, 0x10ffff, 3, 0xf0}};
  tail t = {.a = a, .to = to};
  for (size_t i = 0; i < count; i++)
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
      const uint32_t low = ranges[i].low > parts[k].low ? ranges[i].low : parts[k].low;
      const uint32_t high = ranges[i].high < parts[k].high ? ranges[i].high : parts[k].high;
      if (low <= high) add_range(&t, from, low, high, parts[k].left, parts[k].first);
    }
}

mica_status mica__language_any(mica__automaton *out) {
  static const mica__characters all = {0, 0x10ffff};
  const uint32_t rule = mica__automaton_rule(out);
  if (out->status != MICA_OK) return out->status;
  const mica__grammar_rule r = out->rules[rule];
  mica__language_characters(out, &all, 1, r.start, r.start);
  mica__automaton_empty(out, r.start, r.end);
  return out->status;
}

/* --- pairs of nodes --- */

/* Pairs of numbers (first, second); each pair is a node of `out`. */
typedef struct pairs {
  mica__automaton *out;
  uint64_t *keys; /* pair i has the node i + 2 */
  size_t count, room;
  uint32_t *slots; /* index + 1 */
  size_t slot_count;
} pairs;

static void pairs_free(pairs *p) {
  free(p->keys);
  free(p->slots);
}

static mica_status grow_pairs(pairs *p) {
  const size_t room = p->room ? 2 * p->room : 256;
  uint64_t *keys = realloc(p->keys, room * sizeof *keys);
  if (keys) p->keys = keys;
  uint32_t *slots = calloc(2 * room, sizeof *slots);
  if (!keys || !slots) return free(slots), mica__fail_nomem("a grammar");
  free(p->slots);
  p->slots = slots;
  p->slot_count = 2 * room;
  p->room = room;
  for (size_t k = 0; k < p->count; k++) {
    size_t i = (size_t)(p->keys[k] * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (p->slot_count - 1);
    while (slots[i]) i = (i + 1) & (p->slot_count - 1);
    slots[i] = (uint32_t)k + 1;
  }
  return MICA_OK;
}

static uint32_t pair_node(pairs *p, uint32_t first, uint32_t second) {
  const uint64_t key = (uint64_t)first << 32 | second;
  if (p->count == p->room) mica__automaton_fail(p->out, grow_pairs(p));
  if (p->out->status != MICA_OK) return 0;
  size_t i = (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (p->slot_count - 1);
  for (; p->slots[i]; i = (i + 1) & (p->slot_count - 1))
    if (p->keys[p->slots[i] - 1] == key) return p->slots[i] + 1;
  mica__automaton_node(p->out);
  if (p->out->status != MICA_OK) return 0;
  p->keys[p->count++] = key;
  p->slots[i] = (uint32_t)p->count;
  return (uint32_t)p->count + 1;
}

/* Edges of an automaton, finished or not, sorted by node: node n has list[first[n]] to list[first[n + 1] - 1]. */
typedef struct edges {
  uint32_t *first;
  mica__grammar_edge *list;
} edges;

static mica_status sort_edges(const mica__automaton *a, edges *e) {
  e->first = calloc((size_t)a->node_count + 2, sizeof *e->first);
  e->list = calloc((size_t)a->edge_count + 1, sizeof *e->list);
  if (!e->first || !e->list) return mica__fail_nomem("a grammar");
  for (uint32_t i = 0; i < a->edge_count; i++) e->first[a->edges[i].from + 2]++;
  for (uint32_t n = 0; n < a->node_count; n++) e->first[n + 2] += e->first[n + 1];
  for (uint32_t i = 0; i < a->edge_count; i++) e->list[e->first[a->edges[i].from + 1]++] = a->edges[i];
  return MICA_OK;
}

static void edges_free(edges *e) {
  free(e->first);
  free(e->list);
}

/* Adds the edges of `node`, the pair of node x of a and node y of b. An empty edge of one automaton moves only its
 * node; a byte that both may read moves both. */
static void join(pairs *p, const edges *a, const edges *b, uint32_t x, uint32_t y, uint32_t node) {
  for (uint32_t i = a->first[x]; i < a->first[x + 1]; i++) {
    const mica__grammar_edge *left = &a->list[i];
    if (left->kind == MICA__EDGE_EMPTY) {
      mica__automaton_empty(p->out, node, pair_node(p, left->to, y));
      continue;
    }
    for (uint32_t k = b->first[y]; k < b->first[y + 1]; k++) {
      const mica__grammar_edge *right = &b->list[k];
      const uint8_t low = left->low > right->low ? left->low : right->low;
      const uint8_t high = left->high < right->high ? left->high : right->high;
      if (right->kind == MICA__EDGE_BYTES && low <= high)
        mica__automaton_bytes(p->out, node, low, high, pair_node(p, left->to, right->to));
    }
  }
  for (uint32_t k = b->first[y]; k < b->first[y + 1]; k++)
    if (b->list[k].kind == MICA__EDGE_EMPTY) mica__automaton_empty(p->out, node, pair_node(p, x, b->list[k].to));
}

mica_status mica__language_both(const mica__automaton *a, const mica__automaton *b, mica__automaton *out) {
  edges left = {0}, right = {0};
  pairs p = {.out = out};
  const uint32_t rule = mica__automaton_rule(out);
  mica_status status = out->status;
  if (status == MICA_OK) status = sort_edges(a, &left);
  if (status == MICA_OK) status = sort_edges(b, &right);
  if (status == MICA_OK) {
    const mica__grammar_rule r = out->rules[rule];
    mica__automaton_empty(out, r.start, pair_node(&p, a->rules[0].start, b->rules[0].start));
    for (size_t k = 0; k < p.count && out->status == MICA_OK; k++) {
      const uint32_t x = (uint32_t)(p.keys[k] >> 32), y = (uint32_t)p.keys[k];
      join(&p, &left, &right, x, y, (uint32_t)k + 2);
      if (x == a->rules[0].end && y == b->rules[0].end) mica__automaton_empty(out, (uint32_t)k + 2, r.end);
    }
    status = out->status;
  }
  edges_free(&left);
  edges_free(&right);
  pairs_free(&p);
  return status;
}

/* A node of `out` is a pair: a node of `a`, and the number of characters so far. Without an upper limit, counting stops
 * at `top` = least, which then means "least or more". */
mica_status mica__language_length(const mica__automaton *a, int64_t least, int64_t most, mica__automaton *out) {
  edges all = {0};
  pairs p = {.out = out};
  const int64_t top = most >= 0 ? most : least;
  if (top > MICA__MOST_GRAMMAR_STATES)
    return mica__fail(MICA_E_UNSUPPORTED, "the grammar is too large: it needs more than %d states; make it simpler",
                      MICA__MOST_GRAMMAR_STATES);
  const uint32_t rule = mica__automaton_rule(out);
  mica_status status = out->status;
  if (status == MICA_OK) status = sort_edges(a, &all);
  if (status == MICA_OK) {
    const mica__grammar_rule r = out->rules[rule];
    mica__automaton_empty(out, r.start, pair_node(&p, a->rules[0].start, 0));
    for (size_t k = 0; k < p.count && out->status == MICA_OK; k++) {
      const uint32_t x = (uint32_t)(p.keys[k] >> 32), count = (uint32_t)p.keys[k], node = (uint32_t)k + 2;
      for (uint32_t i = all.first[x]; i < all.first[x + 1]; i++) {
        const mica__grammar_edge *edge = &all.list[i];
        const bool begins = edge->kind == MICA__EDGE_BYTES && (edge->low < 0x80 || edge->low > 0xbf);
        if (begins && count == top && most >= 0) continue;
        const uint32_t next = pair_node(&p, edge->to, begins && count < top ? count + 1 : count);
        if (edge->kind == MICA__EDGE_EMPTY)
          mica__automaton_empty(out, node, next);
        else
          mica__automaton_bytes(out, node, edge->low, edge->high, next);
      }
      if (x == a->rules[0].end && count >= least) mica__automaton_empty(out, node, r.end);
    }
    status = out->status;
  }
  edges_free(&all);
  pairs_free(&p);
  return status;
}

/* --- complement --- */

/* Writes the complement of a finished automaton to `out`. State n of the automaton becomes node n + 2, the dead state
 * included. A text may end at a node if it may not end at the state of that node. */
static mica_status write_states(mica__states *s, mica__automaton *out) {
  const mica__grammar_rule r = out->rules[0];
  uint32_t begin;
  MICA_TRY(mica__states_begin(s, &begin));
  for (uint32_t state = 0; state < s->states.count; state++) {
    const uint32_t *row, node = mica__automaton_node(out);
    if (s->states.count > MICA__MOST_LANGUAGE_STATES)
      return mica__fail(MICA_E_UNSUPPORTED,
                        "the complement of a pattern needs more than %d states; make the pattern simpler",
                        MICA__MOST_LANGUAGE_STATES);
    MICA_TRY(mica__states_row(s, state, &row));
    for (int from = 0, to; from < 256; from = to) {
      for (to = from + 1; to < 256 && row[to] == row[from];) to++;
      mica__automaton_bytes(out, node, (uint8_t)from, (uint8_t)(to - 1), row[from] + 2);
    }
    if (!s->states.sets[state].may_end) mica__automaton_empty(out, node, r.end);
    MICA_TRY(out->status);
  }
  mica__automaton_empty(out, r.start, begin + 2);
  return out->status;
}

mica_status mica__language_not(mica__automaton *a, mica__automaton *out) {
  mica__automaton other = {0}, any = {0};
  mica__states *states = NULL;
  mica__attempt_begin();
  mica_status status = mica__automaton_finish(a);
  mica__attempt_end();
  if (status == MICA_E_INVALID) return mica__language_any(out); /* `a` has no texts */
  if (status == MICA_OK) status = mica__states_create(a, &states);
  if (status == MICA_OK) {
    mica__automaton_rule(&other);
    status = other.status;
  }
  if (status == MICA_OK) status = write_states(states, &other);
  if (status == MICA_OK) status = mica__language_any(&any);
  if (status == MICA_OK) status = mica__language_both(&other, &any, out);
  mica__states_free(states);
  mica__automaton_free(&other);
  mica__automaton_free(&any);
  return status;
}

mica_status mica__language_accepts(const mica__automaton *a, const char *text, size_t bytes, bool *accepts) {
  mica__states *s = NULL;
  uint32_t state = MICA__DEAD_STATE;
  mica_status status = mica__states_create(a, &s);
  if (status == MICA_OK) status = mica__states_begin(s, &state);
  for (size_t i = 0; i < bytes && state != MICA__DEAD_STATE && status == MICA_OK; i++) {
    const uint32_t *row;
    status = mica__states_row(s, state, &row);
    if (status == MICA_OK) state = row[(uint8_t)text[i]];
  }
  if (status == MICA_OK) *accepts = s->states.sets[state].may_end;
  mica__states_free(s);
  return status;
}
