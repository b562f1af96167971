/* Creates grammars, and advances them by tokens. */
#include "text/grammar/grammar.h"
#include "text/grammar/language.h"

#include <stdlib.h>
#include <string.h>

#define MOST_ENDS 1024
/* If the states take more bytes, all but the first and the present one are dropped. */
#define MOST_STATE_BYTES ((size_t)64 << 20)

void mica_grammar_destroy(mica_grammar *grammar) {
  if (!grammar) return;
  mica__states_free(grammar->states);
  mica__automaton_free(&grammar->automaton);
  mica__byte_trie_free(grammar->own);
  free(grammar->ends);
  free(grammar->masks);
  free(grammar->owners);
  free(grammar->path);
  free(grammar);
}

/* --- making --- */

/* Makes a trie of 256 tokens of one byte. */
static mica_status make_bytes(mica__byte_trie **trie) {
  char *text = malloc(256);
  size_t *at = calloc(257, sizeof *at);
  if (!text || !at) {
    free(text);
    free(at);
    return mica__fail_nomem("a grammar");
  }
  for (int i = 0; i < 256; i++) text[i] = (char)i;
  for (size_t i = 0; i <= 256; i++) at[i] = i;
  return mica__byte_trie_create(text, at, 256, trie);
}

static mica_status copy_ends(mica_grammar *g, const mica_grammar_config *config) {
  const size_t count = config->end_count;
  if (count && !config->ends) return mica__fail(MICA_E_INVALID, "a grammar: ends is NULL, but end_count is %zu", count);
  if (count > MOST_ENDS)
    return mica__fail(MICA_E_INVALID, "a grammar: end_count is %zu, but may be at most %d", count, MOST_ENDS);
  g->ends = calloc(count + 1, sizeof *g->ends);
  if (!g->ends) return mica__fail_nomem("a grammar");
  g->end_count = count;
  for (size_t i = 0; i < count; i++) {
    g->ends[i] = config->ends[i];
    if (g->ends[i] < 0 || g->ends[i] >= g->trie->tokens)
      return mica__fail(MICA_E_INVALID, "a grammar: ends[%zu] is token %d, but tokens of the vocabulary are 0 to %d", i,
                        (int)g->ends[i], (int)g->trie->tokens - 1);
  }
  return MICA_OK;
}

/* Finishes the automaton, and makes its states, the trie of tokens and the list of end tokens. */
static mica_status prepare(mica_grammar *g, const mica_tokenizer *tokenizer, const mica_grammar_config *config) {
  MICA_TRY(mica__automaton_finish(&g->automaton));
  MICA_TRY(mica__states_create(&g->automaton, &g->states));
  MICA_TRY(mica__states_begin(g->states, &g->now[1]));
  g->now[0] = g->now[1];
  if (tokenizer)
    MICA_TRY(mica__tokenizer_byte_trie(tokenizer, &g->trie));
  else
    MICA_TRY(make_bytes(&g->own));
  if (!tokenizer) g->trie = g->own;
  if (g->trie->tokens == 0) return mica__fail(MICA_E_INVALID, "a grammar: the tokeniser has no tokens");
  g->words = ((size_t)g->trie->tokens + 31) / 32;
  g->path = calloc((size_t)g->trie->deepest + 1, sizeof *g->path);
  if (!g->path) return mica__fail_nomem("a grammar");
  return copy_ends(g, config);
}

static const mica_grammar_config no_config = {0};

static mica_status create(bool schema, const char *text, size_t bytes, const mica_tokenizer *tokenizer,
                          const mica_grammar_config *config, mica_grammar **grammar) {
  if (!config) config = &no_config;
  if (config->blanks < MICA_GRAMMAR_BLANKS_SHORT || config->blanks > MICA_GRAMMAR_BLANKS_ANY)
    return mica__fail(MICA_E_INVALID, "a grammar: blanks is %d, but must be a mica_grammar_blanks",
                      (int)config->blanks);
  mica_grammar *g = calloc(1, sizeof *g);
  if (!g) return mica__fail_nomem("a grammar");
  mica_status status = schema ? mica__grammar_read_schema(&g->automaton, text, bytes, config->blanks)
                              : mica__language_regex(text, bytes, true, &g->automaton);
  if (status == MICA_OK) status = prepare(g, tokenizer, config);
  if (status == MICA_OK)
    *grammar = g;
  else
    mica_grammar_destroy(g);
  return status == MICA_OK ? MICA_OK : mica__fail_in(status, schema ? "JSON schema" : "regular expression");
}

mica_status mica_grammar_create_schema(const char *json, size_t bytes, const mica_tokenizer *tokenizer,
                                       const mica_grammar_config *config, mica_grammar **grammar) {
  if (!json || !grammar) return mica__fail(MICA_E_INVALID, "mica_grammar_create_schema: json or grammar is NULL");
  return create(true, json, bytes, tokenizer, config, grammar);
}

mica_status mica_grammar_create_regex(const char *pattern, size_t bytes, const mica_tokenizer *tokenizer,
                                      const mica_grammar_config *config, mica_grammar **grammar) {
  if (!pattern || !grammar) return mica__fail(MICA_E_INVALID, "mica_grammar_create_regex: pattern or grammar is NULL");
  return create(false, pattern, bytes, tokenizer, config, grammar);
}

/* --- moving --- */

/* If the states take more than MOST_STATE_BYTES, drops them, except the first and the present one, and all masks. */
static mica_status trim(mica_grammar *g) {
  if (mica__states_bytes(g->states) <= MOST_STATE_BYTES) return MICA_OK;
  g->mask_count = g->next_mask = 0;
  return mica__states_forget(g->states, g->now);
}

bool mica_grammar_may_end(const mica_grammar *grammar) {
  return grammar && (grammar->ended || grammar->states->states.sets[grammar->now[0]].may_end);
}

void mica_grammar_reset(mica_grammar *grammar) {
  if (!grammar) return;
  grammar->ended = false;
  grammar->now[0] = grammar->now[1];
}

size_t mica_grammar_mask_words(const mica_grammar *grammar) { return grammar ? grammar->words : 0; }

mica_status mica_grammar_mask(mica_grammar *grammar, uint32_t *mask) {
  mica_grammar *g = grammar;
  if (!g || !mask) return mica__fail(MICA_E_INVALID, "mica_grammar_mask: grammar or mask is NULL");
  const uint32_t *computed = NULL;
  if (g->ended) {
    memset(mask, 0, g->words * sizeof *mask);
  } else {
    MICA_TRY(trim(g));
    MICA_TRY(mica__grammar_state_mask(g, &computed));
    memcpy(mask, computed, g->words * sizeof *mask);
  }
  if (mica_grammar_may_end(g)) {
    for (size_t i = 0; i < g->end_count; i++) mask[g->ends[i] / 32] |= UINT32_C(1) << g->ends[i] % 32;
    return MICA_OK;
  }
  for (size_t i = 0; i < g->words; i++)
    if (mask[i]) return MICA_OK;
  return mica__fail(MICA_E_UNSUPPORTED, "grammar: no token of the vocabulary continues the text");
}

/* Advances by bytes; *done receives how many bytes fit. If not all fit, returns MICA_E_INVALID without a message and
 * leaves the state as it was. */
static mica_status move(mica_grammar *g, const char *text, size_t bytes, size_t *done) {
  uint32_t state = g->now[0];
  for (*done = 0; *done < bytes; ++*done) {
    const uint32_t *row;
    MICA_TRY(mica__states_row(g->states, state, &row));
    state = row[(uint8_t)text[*done]];
    if (state == MICA__DEAD_STATE) return MICA_E_INVALID;
  }
  g->now[0] = state;
  return MICA_OK;
}

mica_status mica_grammar_accept_text(mica_grammar *grammar, const char *text, size_t bytes) {
  if (!grammar || (!text && bytes))
    return mica__fail(MICA_E_INVALID, "mica_grammar_accept_text: grammar or text is NULL");
  size_t done = 0;
  if (grammar->ended && bytes) return mica__fail(MICA_E_INVALID, "grammar: the text has ended");
  MICA_TRY(trim(grammar));
  const mica_status status = move(grammar, text, bytes, &done);
  if (status != MICA_E_INVALID) return status;
  return mica__fail(MICA_E_INVALID, "grammar: byte %zu of the text does not fit", done);
}

mica_status mica_grammar_accept(mica_grammar *grammar, int32_t token) {
  mica_grammar *g = grammar;
  size_t done = 0;
  if (!g) return mica__fail(MICA_E_INVALID, "mica_grammar_accept: grammar is NULL");
  if (token < 0 || token >= g->trie->tokens)
    return mica__fail(MICA_E_INVALID, "grammar: token %d is outside of the vocabulary, which has %d tokens", (int)token,
                      (int)g->trie->tokens);
  for (size_t i = 0; i < g->end_count; i++)
    if (g->ends[i] == token && mica_grammar_may_end(g)) return g->ended = true, MICA_OK;
  const size_t at = g->trie->at[token], bytes = g->trie->at[token + 1] - at;
  if (bytes == 0 || g->ended)
    return mica__fail(MICA_E_INVALID, "grammar: token %d is not allowed here: %s", (int)token,
                      bytes ? "the text has ended" : "the token has no bytes, and cannot end the text here");
  MICA_TRY(trim(g));
  const mica_status status = move(g, g->trie->text + at, bytes, &done);
  if (status != MICA_E_INVALID) return status;
  return mica__fail(MICA_E_INVALID, "grammar: byte %zu of token %d does not fit", done, (int)token);
}
