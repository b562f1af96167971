/* text/grammar/closure.h: finds all items (text/grammar/states.h) that can be reached without reading a byte. */
#ifndef MICA_TEXT_GRAMMAR_CLOSURE_H
#define MICA_TEXT_GRAMMAR_CLOSURE_H

#include "text/grammar/states.h"

typedef struct mica__item_list {
  mica__item *at;
  size_t count, room;
} mica__item_list;

typedef struct mica__pending_call {
  uint32_t rule;
  mica__item back;
} mica__pending_call;

typedef struct mica__seen_item {
  mica__item item;
  uint32_t round;
} mica__seen_item;

/* A byte edge of a state's item, and where it leads. */
typedef struct mica__byte_step {
  uint8_t low, high;
  mica__item to;
} mica__byte_step;

typedef struct mica__closure {
  mica__item_list open, kept, backs;
  mica__pending_call *calls;
  size_t call_count, call_room;
  mica__seen_item *seen;
  size_t seen_size, seen_count;
  uint32_t round;
  mica__byte_step *steps; /* of the state whose row is computed */
  size_t step_count, step_room;
  bool may_end;
  mica_status status; /* first failure of mica__closure_add */
} mica__closure;

void mica__closure_free(mica__closure *c);
/* Begins a new, empty set. */
void mica__closure_begin(mica__closure *c);
/* Adds an item unless the set has it. */
void mica__closure_add(mica__closure *c, mica__item item);
/* Follows empty edges, ends and calls until nothing new is found; then `kept` holds the set, sorted. */
mica_status mica__closure_run(mica__states *s, mica__closure *c);
void mica__items_sort(mica__item *items, size_t count);
/* Makes room for one more element of a list. */
mica_status mica__grow_list(void *list, size_t count, size_t *room, size_t size);
/* Finds the index of a set; adds the set if it is new. */
mica_status mica__set_intern(mica__states *s, mica__set_table *table, const mica__item *items, size_t count,
                             mica__item_set facts, uint32_t *index);
/* True if `need` more nested calls from this frame stay within the limit of the depth. */
static inline bool mica__item_fits(const mica__states *s, uint32_t frame, uint32_t need) {
  return s->frames.sets[frame].depth + need <= MICA__MOST_GRAMMAR_DEPTH;
}

#endif
