/* text/grammar/grammar.h: a grammar, and the masks of its states. */
#ifndef MICA_TEXT_GRAMMAR_GRAMMAR_H
#define MICA_TEXT_GRAMMAR_GRAMMAR_H

#include "text/byte_trie.h"
#include "text/grammar/states.h"

#include <mica/grammar.h>

struct mica_grammar {
  mica__automaton automaton;
  mica__states *states;
  const mica__byte_trie *trie; /* the tokeniser's, or `own` */
  mica__byte_trie *own;
  int32_t *ends;
  size_t end_count;
  uint32_t now[2]; /* the present state, and the first one */
  bool ended;      /* one of `ends` was accepted */
  uint32_t *masks; /* `words` words per mask, without the end tokens */
  size_t words, mask_count, mask_room, next_mask;
  uint32_t *owners; /* per mask: the state it belongs to */
  uint32_t *path;   /* for computing masks: the row of next states at each depth of the trie */
};

/* The mask of the grammar's present state. A limited number of masks is cached, one per state; the pointer is valid
 * until the next call. */
mica_status mica__grammar_state_mask(mica_grammar *g, const uint32_t **mask);

/* Reads a JSON schema into an automaton; its rule 0 accepts the whole text. */
mica_status mica__grammar_read_schema(mica__automaton *a, const char *json, size_t bytes, mica_grammar_blanks blanks);

#endif
