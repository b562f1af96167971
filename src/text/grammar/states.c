/* States of an automaton, created when they are reached. */
#include "text/grammar/states.h"

#include "base/hash.h"
#include "text/grammar/closure.h"

#include <stdlib.h>
#include <string.h>

/* --- making --- */

static void table_free(mica__set_table *table) {
  free(table->sets);
  free(table->slots);
}

void mica__states_free(mica__states *s) {
  if (!s) return;
  table_free(&s->frames);
  table_free(&s->states);
  mica__closure_free(s->closure);
  free(s->pool);
  free(s->rows);
  free(s);
}

mica_status mica__states_create(const mica__automaton *automaton, mica__states **states) {
  mica__states *s = calloc(1, sizeof *s);
  uint32_t zero;
  if (!s) return mica__fail_nomem("a grammar");
  s->automaton = automaton;
  s->closure = calloc(1, sizeof *s->closure);
  mica_status status = s->closure ? MICA_OK : mica__fail_nomem("a grammar");
  if (status == MICA_OK) status = mica__set_intern(s, &s->frames, NULL, 0, (mica__item_set){0}, &zero);
  if (status == MICA_OK) status = mica__set_intern(s, &s->states, NULL, 0, (mica__item_set){0}, &zero);
  if (status == MICA_OK)
    *states = s;
  else
    mica__states_free(s);
  return status;
}

/* Completes the closure, and finds its state. */
static mica_status close_state(mica__states *s, uint32_t *state) {
  mica__closure *c = s->closure;
  MICA_TRY(mica__closure_run(s, c));
  return mica__set_intern(s, &s->states, c->kept.at, c->kept.count, (mica__item_set){.may_end = c->may_end}, state);
}

mica_status mica__states_begin(mica__states *s, uint32_t *state) {
  mica__closure_begin(s->closure);
  mica__closure_add(s->closure, (mica__item){s->automaton->rules[0].start, 0});
  return close_state(s, state);
}

/* --- rows --- */

/* Collects the byte edges of a state. Sets borders[b] if an edge begins at byte b or ends at byte b - 1. */
static mica_status find_steps(mica__states *s, uint32_t state, bool borders[257]) {
  mica__closure *c = s->closure;
  const mica__automaton *a = s->automaton;
  const mica__item_set set = s->states.sets[state];
  c->step_count = 0;
  for (uint32_t k = 0; k < set.count; k++) {
    const mica__item item = s->pool[set.at + k];
    for (uint32_t i = a->first[item.node]; i < a->first[item.node + 1]; i++) {
      const mica__grammar_edge *edge = &a->edges[i];
      if (edge->kind != MICA__EDGE_BYTES || !mica__item_fits(s, item.frame, a->need[edge->to])) continue;
      MICA_TRY(mica__grow_list(&c->steps, c->step_count, &c->step_room, sizeof *c->steps));
      c->steps[c->step_count++] = (mica__byte_step){edge->low, edge->high, {edge->to, item.frame}};
      borders[edge->low] = borders[edge->high + 1] = true;
    }
  }
  return MICA_OK;
}

static mica_status fill_row(mica__states *s, uint32_t state, uint32_t row[256]) {
  bool borders[257] = {0};
  mica__closure *c = s->closure;
  MICA_TRY(find_steps(s, state, borders));
  for (int from = 0, to; from < 256; from = to) {
    uint32_t next = MICA__DEAD_STATE;
    bool some = false;
    for (to = from + 1; to < 256 && !borders[to];) to++;
    mica__closure_begin(c);
    for (size_t i = 0; i < c->step_count; i++) {
      if (c->steps[i].low > from || c->steps[i].high < from) continue;
      mica__closure_add(c, c->steps[i].to);
      some = true;
    }
    if (some) MICA_TRY(close_state(s, &next));
    for (int byte = from; byte < to; byte++) row[byte] = next;
  }
  return MICA_OK;
}

mica_status mica__states_row(mica__states *s, uint32_t state, const uint32_t **row) {
  if (s->states.sets[state].row == 0) {
    uint32_t made[256];
    size_t room = s->row_room;
    MICA_TRY(fill_row(s, state, made));
    MICA_TRY(mica__grow_list(&s->rows, s->row_count, &room, 256 * sizeof *s->rows));
    s->row_room = (uint32_t)room;
    memcpy(s->rows + (size_t)256 * s->row_count, made, sizeof made);
    s->states.sets[state].row = ++s->row_count;
  }
  *row = s->rows + (size_t)256 * (s->states.sets[state].row - 1);
  return MICA_OK;
}

/* --- forgetting --- */

/* Copies a frame and the frames it returns to. known: the new number of each frame; 0: not copied yet. */
static mica_status copy_frame(const mica__states *from, mica__states *to, uint32_t *known, uint32_t frame);

static mica_status copy_items(const mica__states *from, mica__states *to, uint32_t *known, const mica__item_set *set,
                              mica__item **items) {
  *items = calloc((size_t)set->count + 1, sizeof **items);
  if (!*items) return mica__fail_nomem("a grammar");
  for (uint32_t i = 0; i < set->count; i++) {
    const mica__item item = from->pool[set->at + i];
    MICA_TRY(copy_frame(from, to, known, item.frame));
    (*items)[i] = (mica__item){item.node, known[item.frame]};
  }
  mica__items_sort(*items, set->count);
  return MICA_OK;
}

static mica_status copy_frame(const mica__states *from, mica__states *to, uint32_t *known, uint32_t frame) {
  const mica__item_set *set = &from->frames.sets[frame];
  mica__item *items = NULL;
  if (frame == 0 || known[frame]) return MICA_OK;
  mica_status status = copy_items(from, to, known, set, &items);
  if (status == MICA_OK)
    status = mica__set_intern(to, &to->frames, items, set->count, (mica__item_set){.depth = set->depth}, &known[frame]);
  free(items);
  return status;
}

static mica_status copy_state(const mica__states *from, mica__states *to, uint32_t *known, uint32_t *state) {
  const mica__item_set *set = &from->states.sets[*state];
  mica__item *items = NULL;
  mica_status status = copy_items(from, to, known, set, &items);
  if (status == MICA_OK)
    status = mica__set_intern(to, &to->states, items, set->count, (mica__item_set){.may_end = set->may_end}, state);
  free(items);
  return status;
}

mica_status mica__states_forget(mica__states *s, uint32_t kept[2]) {
  mica__states *fresh = NULL;
  uint32_t moved[2] = {kept[0], kept[1]};
  MICA_TRY(mica__states_create(s->automaton, &fresh));
  uint32_t *known = calloc((size_t)s->frames.count + 1, sizeof *known);
  mica_status status = known ? copy_state(s, fresh, known, &moved[0]) : mica__fail_nomem("a grammar");
  if (status == MICA_OK) status = copy_state(s, fresh, known, &moved[1]);
  free(known);
  if (status == MICA_OK) {
    const mica__states old = *s;
    *s = *fresh;
    *fresh = old;
    kept[0] = moved[0];
    kept[1] = moved[1];
  }
  mica__states_free(fresh);
  return status;
}
