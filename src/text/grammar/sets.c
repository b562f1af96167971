/* Sets of items; equal sets are stored once. */
#include "base/hash.h"
#include "text/grammar/closure.h"

#include <stdlib.h>
#include <string.h>

#define MOST_BYTES ((size_t)256 << 20)

mica_status mica__grow_list(void *list, size_t count, size_t *room, size_t size) {
  void *old;
  if (count < *room) return MICA_OK;
  memcpy(&old, list, sizeof old);
  const size_t more = *room + *room / 2 + 64;
  void *grown = more < SIZE_MAX / size ? realloc(old, more * size) : NULL;
  if (!grown) return mica__fail_nomem("a grammar");
  memcpy(list, &grown, sizeof grown);
  *room = more;
  return MICA_OK;
}

static size_t find_slot(const mica__states *s, const mica__set_table *table, const mica__item *items, size_t count,
                        const mica__item_set *facts) {
  size_t i = facts->hash & (table->slot_count - 1);
  for (; table->slots[i]; i = (i + 1) & (table->slot_count - 1)) {
    const mica__item_set *set = &table->sets[table->slots[i] - 1];
    if (set->hash == facts->hash && set->count == count && set->may_end == facts->may_end &&
        (count == 0 || !memcmp(s->pool + set->at, items, count * sizeof *items)))
      break;
  }
  return i;
}

static mica_status grow_slots(mica__set_table *table) {
  const size_t size = table->slot_count ? 2 * table->slot_count : 256;
  uint32_t *slots = calloc(size, sizeof *slots);
  if (!slots) return mica__fail_nomem("a grammar");
  free(table->slots);
  table->slots = slots;
  table->slot_count = size;
  for (uint32_t k = 0; k < table->count; k++) {
    size_t i = table->sets[k].hash & (size - 1);
    while (slots[i]) i = (i + 1) & (size - 1);
    slots[i] = k + 1;
  }
  return MICA_OK;
}

size_t mica__states_bytes(const mica__states *s) {
  return s->pool_room * sizeof *s->pool + ((size_t)s->frames.room + s->states.room) * sizeof(mica__item_set) +
         (s->frames.slot_count + s->states.slot_count) * sizeof(uint32_t) + (size_t)s->row_room * 256 * sizeof *s->rows;
}

static mica_status add_to_pool(mica__states *s, const mica__item *items, size_t count) {
  if (count > s->pool_room - s->pool_count) {
    const size_t room = s->pool_room + s->pool_room / 2 + count + 256;
    mica__item *grown = realloc(s->pool, room * sizeof *grown);
    if (!grown) return mica__fail_nomem("a grammar");
    s->pool = grown;
    s->pool_room = room;
  }
  if (count) memcpy(s->pool + s->pool_count, items, count * sizeof *items);
  s->pool_count += count;
  return MICA_OK;
}

mica_status mica__set_intern(mica__states *s, mica__set_table *table, const mica__item *items, size_t count,
                             mica__item_set facts, uint32_t *index) {
  facts.hash = (uint32_t)mica__hash_bytes((mica__hash){facts.may_end, 0}, items, count * sizeof *items).low;
  facts.at = s->pool_count;
  facts.count = (uint32_t)count;
  if (2 * (size_t)table->count >= table->slot_count) MICA_TRY(grow_slots(table));
  const size_t slot = find_slot(s, table, items, count, &facts);
  if (table->slots[slot]) return *index = table->slots[slot] - 1, MICA_OK;
  if (mica__states_bytes(s) > MOST_BYTES)
    return mica__fail(MICA_E_UNSUPPORTED, "the grammar needs more than %zu MiB", MOST_BYTES >> 20);
  size_t room = table->room;
  MICA_TRY(mica__grow_list(&table->sets, table->count, &room, sizeof *table->sets));
  table->room = (uint32_t)room;
  MICA_TRY(add_to_pool(s, items, count));
  *index = table->count;
  table->sets[table->count++] = facts;
  table->slots[slot] = table->count;
  return MICA_OK;
}
