/* mica/grammar.h: tokens that keep a text inside of a JSON schema or a regular expression.
 *
 *   const mica_grammar_config config = {.ends = &end, .end_count = 1};
 *   mica_grammar_create_schema(schema, bytes, tokenizer, &config, &grammar);
 *   for (token = -1; token != end;) {
 *     mica_grammar_mask(grammar, mask);
 *     mica_sampler_draw(sampler, logits, vocabulary, mask, &token, NULL);
 *     mica_grammar_accept(grammar, token);
 *   }
 *
 * A grammar is an automaton over bytes, and a state in it. A mask has a bit per token of the vocabulary: 1 if the text
 * may go on with the bytes of the token. Tokens may begin and end anywhere: inside of a number, of an escape, of a
 * character's UTF-8. Whatever a mask allows, the text can be finished: branches that lead nowhere are removed first.
 *
 * Special tokens are never allowed, except those in `ends`, where the text may end.
 *
 * Threads: a grammar is used by one thread at a time; any number of grammars share a tokeniser. */
#ifndef MICA_GRAMMAR_H
#define MICA_GRAMMAR_H

#include <mica/status.h>
#include <mica/tokenizer.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

MICA_EXPERIMENTAL
MICA_BEGIN_DECLS

/* Blanks between the tokens of JSON.
 *
 * SHORT  nothing, one space, or one or two line breaks with up to 20 spaces or tabs: a model that only writes blanks
 *        gets no further
 * NONE   none: {"a":1}
 * ANY    all that JSON allows, except before and after the whole text */
#define MICA_GRAMMAR_BLANKS_LIST(X)                                                                                    \
  X(SHORT, "short")                                                                                                    \
  X(NONE, "none")                                                                                                      \
  X(ANY, "any")

typedef enum mica_grammar_blanks {
#define MICA_GRAMMAR_BLANKS_ENUM(name, text) MICA_GRAMMAR_BLANKS_##name,
  MICA_GRAMMAR_BLANKS_LIST(MICA_GRAMMAR_BLANKS_ENUM)
#undef MICA_GRAMMAR_BLANKS_ENUM
} mica_grammar_blanks;

typedef struct mica_grammar_config {
  const int32_t *ends; /* tokens that end a text, allowed where it may end; copied */
  size_t end_count;    /* at most 1,024 */
  mica_grammar_blanks blanks;
} mica_grammar_config;

typedef struct mica_grammar mica_grammar;

/* Texts that satisfy a JSON schema, itself JSON of at most 1 MiB; {"type": "object"} allows any object. The tokeniser
 * must outlive the grammar; NULL means 256 tokens, the bytes. config may be NULL.
 *
 * Texts are written one way: the members of an object in the order of "properties", then those that only "required"
 * names, then others; characters are escaped only if JSON demands it; a number with bounds has no exponent. So that a
 * number ends, it has at most 20 digits before the point (more if its bounds have more), 20 after it and 3 in its
 * exponent, unless "multipleOf" is above 2000.
 * docs/foundation/grammars.md has the keywords. Numbers that JSON schema calls integers are written without a point.
 *
 * MICA_E_FORMAT if the schema is not JSON. MICA_E_UNSUPPORTED for a keyword that Mica does not have, for a reference
 * outside of the schema and for more than 100,000 states; MICA_E_INVALID for a keyword with a wrong value, for
 * references that lead back to themselves and if nothing satisfies the schema; all with the path: "#/properties/a". */
MICA_API MICA_CHECKED mica_status mica_grammar_create_schema(const char *json, size_t bytes,
                                                             const mica_tokenizer *tokenizer,
                                                             const mica_grammar_config *config, mica_grammar **grammar);
/* Texts that match a regular expression from begin to end. It has JavaScript's syntax, without assertions inside of it,
 * back references and \p. MICA_E_FORMAT or MICA_E_UNSUPPORTED with the byte of the pattern. */
MICA_API MICA_CHECKED mica_status mica_grammar_create_regex(const char *pattern, size_t bytes,
                                                            const mica_tokenizer *tokenizer,
                                                            const mica_grammar_config *config, mica_grammar **grammar);
MICA_API void mica_grammar_destroy(mica_grammar *grammar);

/* Words of 32 bits in a mask: (size of the vocabulary + 31) / 32. */
MICA_API size_t mica_grammar_mask_words(const mica_grammar *grammar);
/* Token t is bit t % 32 of word t / 32, as mica_sampler_draw reads it. `mask` has mica_grammar_mask_words words. Where
 * the text must end, and after a token of `ends`, only bits of `ends` are set. MICA_E_UNSUPPORTED if the text must go
 * on and no token of the vocabulary continues it, and if the text is too ambiguous. */
MICA_API MICA_CHECKED mica_status mica_grammar_mask(mica_grammar *grammar, uint32_t *mask);
/* Appends a token. MICA_E_INVALID for a token that the mask does not allow; the grammar does not change then. */
MICA_API MICA_CHECKED mica_status mica_grammar_accept(mica_grammar *grammar, int32_t token);
/* Appends bytes, for texts that are not made of tokens. MICA_E_INVALID if a byte is not allowed (the message has the
 * first one); the grammar does not change then. */
MICA_API MICA_CHECKED mica_status mica_grammar_accept_text(mica_grammar *grammar, const char *text, size_t bytes);
/* True if the text may end here. */
MICA_API bool mica_grammar_may_end(const mica_grammar *grammar);
/* Begins another text. The masks computed so far are kept and used again. */
MICA_API void mica_grammar_reset(mica_grammar *grammar);

MICA_END_DECLS

#endif
