/* mica/grammar.h: restrict a model's tokens so that its text satisfies a JSON schema or matches a regular expression.
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
 * may continue with the bytes of the token. Tokens may begin and end anywhere: inside a number, an escape or the UTF-8
 * bytes of a character. Every text that the masks allow can be completed, because branches of the automaton that cannot
 * reach an end are removed when the grammar is created.
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

/* Blanks that are allowed between the elements of JSON syntax.
 *
 * SHORT  none, one space, or one or two line breaks with up to 20 spaces or tabs; so a model cannot write blanks for
 *        ever
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

/* Creates a grammar of the texts that satisfy a JSON schema. The schema is JSON of at most 1 MiB; {"type": "object"}
 * allows any object. docs/foundation/grammars.md lists the keywords. The tokeniser must outlive the grammar; NULL means
 * a vocabulary of 256 tokens, one per byte. config may be NULL.
 *
 * The grammar allows only one way to write a value. Members of an object are in the order of "properties", then come
 * the members that only "required" names, then others. Characters are escaped only if JSON demands it. A number with
 * bounds or "multipleOf" has no exponent, and an integer has no point. To keep numbers finite in length, they have at
 * most 20 digits before the point and 20 after it (more if their bounds have more), and 3 in the exponent, unless
 * "multipleOf" without its point is above 2000.
 *
 * MICA_E_FORMAT: the schema is not JSON. MICA_E_UNSUPPORTED: a keyword that Mica does not have, a reference to another
 * document, or a schema or grammar that is too large (100,000 states). MICA_E_INVALID: a keyword has a wrong value,
 * references form a cycle without a value between them, or no value satisfies the schema. The message gives the path in
 * the schema: "#/properties/a". */
MICA_API MICA_CHECKED mica_status mica_grammar_create_schema(const char *json, size_t bytes,
                                                             const mica_tokenizer *tokenizer,
                                                             const mica_grammar_config *config, mica_grammar **grammar);
/* Creates a grammar of the texts that match a regular expression as a whole. The syntax is JavaScript's, without back
 * references, \p, and assertions in the middle of the pattern. MICA_E_FORMAT: a syntax error. MICA_E_UNSUPPORTED: a
 * feature that is not supported. The message gives the byte of the pattern. */
MICA_API MICA_CHECKED mica_status mica_grammar_create_regex(const char *pattern, size_t bytes,
                                                            const mica_tokenizer *tokenizer,
                                                            const mica_grammar_config *config, mica_grammar **grammar);
MICA_API void mica_grammar_destroy(mica_grammar *grammar);

/* Words of 32 bits in a mask: (size of the vocabulary + 31) / 32. */
MICA_API size_t mica_grammar_mask_words(const mica_grammar *grammar);
/* Writes the mask of tokens that may come next: token t is bit t % 32 of word t / 32, as mica_sampler_draw reads it.
 * `mask` has mica_grammar_mask_words words. Only bits of `ends` are set if the text must end here, or if a token of
 * `ends` has ended it already. MICA_E_UNSUPPORTED: the text must continue but no token of the vocabulary continues it,
 * or the text has too many possible readings. */
MICA_API MICA_CHECKED mica_status mica_grammar_mask(mica_grammar *grammar, uint32_t *mask);
/* Appends a token. MICA_E_INVALID: the mask does not allow the token; then the grammar does not change. */
MICA_API MICA_CHECKED mica_status mica_grammar_accept(mica_grammar *grammar, int32_t token);
/* Appends bytes, for texts that are not made of tokens. MICA_E_INVALID: a byte is not allowed (the message gives the
 * first one); then the grammar does not change. */
MICA_API MICA_CHECKED mica_status mica_grammar_accept_text(mica_grammar *grammar, const char *text, size_t bytes);
/* True if the text may end here. */
MICA_API bool mica_grammar_may_end(const mica_grammar *grammar);
/* Begins another text. The masks computed so far are kept and used again. */
MICA_API void mica_grammar_reset(mica_grammar *grammar);

MICA_END_DECLS

#endif
