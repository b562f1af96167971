/* Computes the mask of a state, which has a bit for each token that may come next. Walks the trie of all tokens, and
 * follows the states of the automaton byte by byte. */
#include "text/grammar/closure.h"
#include "text/grammar/grammar.h"

#include <stdlib.h>
#include <string.h>

#define MOST_MASK_BYTES ((size_t)16 << 20)
#define FEWEST_MASKS 16

static mica_status walk(mica_grammar *g, uint32_t *mask) {
  const mica__byte_trie *trie = g->trie;
  mica__states *s = g->states;
  const uint32_t *row;
  MICA_TRY(mica__states_row(s, g->now[0], &row));
  g->path[0] = s->states.sets[g->now[0]].row - 1;
  memset(mask, 0, g->words * sizeof *mask);
  for (uint32_t i = 0; i < trie->count;) {
    const uint32_t depth = trie->depths[i];
    const uint32_t next = s->rows[(size_t)256 * g->path[depth - 1] + trie->bytes[i]];
    if (next == MICA__DEAD_STATE) {
      i = trie->ends[i];
      continue;
    }
    for (uint32_t k = trie->first[i]; k < trie->first[i + 1]; k++)
      mask[trie->ids[k] / 32] |= UINT32_C(1) << trie->ids[k] % 32;
    if (trie->ends[i] > i + 1) {
      if (s->states.sets[next].row == 0) MICA_TRY(mica__states_row(s, next, &row));
      g->path[depth] = s->states.sets[next].row - 1;
    }
    i++;
  }
  return MICA_OK;
}

/* Finds a slot for a mask: a new one, or the oldest one when the limit is reached. */
static mica_status take_slot(mica_grammar *g, size_t *slot) {
  size_t most = MOST_MASK_BYTES / (g->words * sizeof *g->masks);
  if (most < FEWEST_MASKS) most = FEWEST_MASKS;
  if (g->mask_count < most) {
    size_t room = g->mask_room;
    MICA_TRY(mica__grow_list(&g->owners, g->mask_count, &room, sizeof *g->owners));
    MICA_TRY(mica__grow_list(&g->masks, g->mask_count, &g->mask_room, g->words * sizeof *g->masks));
    *slot = g->mask_count++;
    return MICA_OK;
  }
  *slot = g->next_mask;
  g->next_mask = (g->next_mask + 1) % most;
  if (g->owners[*slot] != MICA__DEAD_STATE) g->states->states.sets[g->owners[*slot]].mask = 0;
  return MICA_OK;
}

mica_status mica__grammar_state_mask(mica_grammar *g, const uint32_t **mask) {
  if (g->states->states.sets[g->now[0]].mask == 0) {
    size_t slot;
    MICA_TRY(take_slot(g, &slot));
    g->owners[slot] = MICA__DEAD_STATE;
    MICA_TRY(walk(g, g->masks + slot * g->words));
    g->owners[slot] = g->now[0];
    g->states->states.sets[g->now[0]].mask = (int32_t)slot + 1;
  }
  *mask = g->masks + (size_t)(g->states->states.sets[g->now[0]].mask - 1) * g->words;
  return MICA_OK;
}
