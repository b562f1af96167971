/* text/grammar/states.h: a running automaton. Its states are created when they are reached.
 *
 * An item is a node and a frame. A frame is the set of items (node, frame) at which to continue when a rule ends. Calls
 * of one rule at one byte share a frame, so an ambiguous text has few items instead of one per way to read it. A state
 * is a set of items, each with a byte edge. */
#ifndef MICA_TEXT_GRAMMAR_STATES_H
#define MICA_TEXT_GRAMMAR_STATES_H

#include "text/grammar/automaton.h"

#define MICA__DEAD_STATE 0
#define MICA__MOST_ITEMS (1 << 18) /* of one state */

typedef struct mica__item {
  uint32_t node, frame;
} mica__item;

/* A sorted set of items: pool[at] to pool[at + count - 1]. */
typedef struct mica__item_set {
  size_t at;
  uint32_t count;
  uint32_t depth; /* of a frame: the number of open calls */
  uint32_t hash;
  bool may_end; /* of a state */
  uint32_t row; /* of a state: index of its row of next states, plus 1; 0: none yet */
  int32_t mask; /* of a state: index of its mask, plus 1; 0: none yet */
} mica__item_set;

/* A hash table of sets by their contents. */
typedef struct mica__set_table {
  mica__item_set *sets;
  uint32_t count, room;
  uint32_t *slots; /* index + 1 */
  size_t slot_count;
} mica__set_table;

typedef struct mica__states {
  const mica__automaton *automaton;
  mica__item *pool;
  size_t pool_count, pool_room;
  mica__set_table frames, states; /* frame 0: the frame of rule 0; state 0: no byte fits */
  uint32_t *rows;                 /* 256 states each */
  uint32_t row_count, row_room;
  struct mica__closure *closure;
} mica__states;

mica_status mica__states_create(const mica__automaton *automaton, mica__states **states);
void mica__states_free(mica__states *s);
/* The state before the first byte. */
mica_status mica__states_begin(mica__states *s, uint32_t *state);
/* The next state for each of 256 bytes; valid until the next call. */
mica_status mica__states_row(mica__states *s, uint32_t state, const uint32_t **row);
/* The approximate bytes of memory that the states take. */
size_t mica__states_bytes(const mica__states *s);
/* Drops all states but these two, and updates their numbers. */
mica_status mica__states_forget(mica__states *s, uint32_t kept[2]);

#endif
