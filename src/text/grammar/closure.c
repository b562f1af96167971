/* Closures: extends a set of items along empty edges, ends of rules and calls. */
#include "text/grammar/closure.h"

#include <stdlib.h>
#include <string.h>

void mica__closure_free(mica__closure *c) {
  if (!c) return;
  free(c->open.at);
  free(c->kept.at);
  free(c->backs.at);
  free(c->calls);
  free(c->seen);
  free(c->steps);
  free(c);
}

static mica_status push(mica__item_list *list, mica__item item) {
  MICA_TRY(mica__grow_list(&list->at, list->count, &list->room, sizeof *list->at));
  list->at[list->count++] = item;
  return MICA_OK;
}

void mica__closure_begin(mica__closure *c) {
  c->open.count = c->kept.count = c->call_count = c->seen_count = 0;
  c->may_end = false;
  c->status = MICA_OK;
  if (++c->round == 0) {
    if (c->seen) memset(c->seen, 0, c->seen_size * sizeof *c->seen);
    c->round = 1;
  }
}

/* --- items that are in the set --- */

static size_t slot_of(const mica__closure *c, mica__item p) {
  const uint64_t mixed = ((uint64_t)p.frame << 32 | p.node) * UINT64_C(0x9e3779b97f4a7c15);
  size_t i = (size_t)(mixed >> 32) & (c->seen_size - 1);
  while (c->seen[i].round == c->round && (c->seen[i].item.node != p.node || c->seen[i].item.frame != p.frame))
    i = (i + 1) & (c->seen_size - 1);
  return i;
}

static mica_status grow_seen(mica__closure *c) {
  mica__seen_item *old = c->seen;
  const size_t old_size = c->seen_size, size = old_size ? 2 * old_size : 256;
  mica__seen_item *grown = calloc(size, sizeof *grown);
  if (!grown) return mica__fail_nomem("a grammar");
  c->seen = grown;
  c->seen_size = size;
  for (size_t i = 0; i < old_size; i++)
    if (old[i].round == c->round) grown[slot_of(c, old[i].item)] = old[i];
  free(old);
  return MICA_OK;
}

static mica_status add(mica__closure *c, mica__item item) {
  if (2 * c->seen_count >= c->seen_size) MICA_TRY(grow_seen(c));
  mica__seen_item *seen = &c->seen[slot_of(c, item)];
  if (seen->round == c->round) return MICA_OK;
  if (c->seen_count == MICA__MOST_ITEMS)
    return mica__fail(MICA_E_UNSUPPORTED,
                      "the grammar is too ambiguous for the text: more than %d states are possible at once",
                      MICA__MOST_ITEMS);
  *seen = (mica__seen_item){item, c->round};
  c->seen_count++;
  return push(&c->open, item);
}

void mica__closure_add(mica__closure *c, mica__item item) {
  if (c->status == MICA_OK) c->status = add(c, item);
}

/* --- the closure --- */

static mica_status add_call(mica__closure *c, uint32_t rule, mica__item back) {
  MICA_TRY(mica__grow_list(&c->calls, c->call_count, &c->call_room, sizeof *c->calls));
  c->calls[c->call_count++] = (mica__pending_call){rule, back};
  return MICA_OK;
}

/* Follows the empty edges and calls of an item. Keeps the item if one of its edges reads bytes. */
static mica_status follow(const mica__states *s, mica__closure *c, mica__item item) {
  const mica__automaton *a = s->automaton;
  bool keep = false;
  for (uint32_t i = a->first[item.node]; i < a->first[item.node + 1]; i++) {
    const mica__grammar_edge *edge = &a->edges[i];
    uint32_t need = a->need[edge->to];
    const mica__item to = {edge->to, item.frame};
    if (edge->kind == MICA__EDGE_CALL) {
      const uint32_t inside = a->need[a->rules[edge->rule].start] + 1u;
      if (inside > need) need = inside;
    }
    if (!mica__item_fits(s, item.frame, need)) continue;
    if (edge->kind == MICA__EDGE_CALL)
      MICA_TRY(add_call(c, edge->rule, to));
    else if (edge->kind == MICA__EDGE_EMPTY)
      MICA_TRY(add(c, to));
    else
      keep = true;
  }
  return keep ? push(&c->kept, item) : MICA_OK;
}

static mica_status leave_rule(const mica__states *s, mica__closure *c, uint32_t frame) {
  if (frame == 0) return c->may_end = true, MICA_OK;
  const mica__item_set *set = &s->frames.sets[frame];
  for (uint32_t i = 0; i < set->count; i++) MICA_TRY(add(c, s->pool[set->at + i]));
  return MICA_OK;
}

static int compare(const void *a, const void *b) {
  const mica__item *x = a, *y = b;
  if (x->node != y->node) return x->node < y->node ? -1 : 1;
  return (x->frame > y->frame) - (x->frame < y->frame);
}

void mica__items_sort(mica__item *items, size_t count) {
  if (count > 1) qsort(items, count, sizeof *items, compare);
}

/* Enters the called rule with the smallest rank. The rules that call it before reading a byte have smaller ranks and
 * were entered before, so all calls of the rule are known by now and share one frame. */
static mica_status enter_rule(mica__states *s, mica__closure *c) {
  const uint32_t *rank = s->automaton->rank;
  uint32_t rule = c->calls[0].rule, depth = 0, frame = 0;
  for (size_t i = 1; i < c->call_count; i++)
    if (rank[c->calls[i].rule] < rank[rule]) rule = c->calls[i].rule;
  size_t left = 0, count = 0;
  c->backs.count = 0;
  for (size_t i = 0; i < c->call_count; i++) {
    const mica__pending_call call = c->calls[i];
    if (call.rule != rule) {
      c->calls[left++] = call;
      continue;
    }
    MICA_TRY(push(&c->backs, call.back));
    if (s->frames.sets[call.back.frame].depth > depth) depth = s->frames.sets[call.back.frame].depth;
  }
  c->call_count = left;
  mica__items_sort(c->backs.at, c->backs.count);
  for (size_t i = 0; i < c->backs.count; i++)
    if (i == 0 || compare(&c->backs.at[i], &c->backs.at[i - 1])) c->backs.at[count++] = c->backs.at[i];
  MICA_TRY(mica__set_intern(s, &s->frames, c->backs.at, count, (mica__item_set){.depth = depth + 1}, &frame));
  return add(c, (mica__item){s->automaton->rules[rule].start, frame});
}

mica_status mica__closure_run(mica__states *s, mica__closure *c) {
  MICA_TRY(c->status);
  while (c->open.count > 0 || c->call_count > 0) {
    while (c->open.count > 0) {
      const mica__item item = c->open.at[--c->open.count];
      if (s->automaton->ends[item.node]) MICA_TRY(leave_rule(s, c, item.frame));
      MICA_TRY(follow(s, c, item));
    }
    if (c->call_count > 0) MICA_TRY(enter_rule(s, c));
  }
  mica__items_sort(c->kept.at, c->kept.count);
  return MICA_OK;
}
