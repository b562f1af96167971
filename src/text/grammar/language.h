/* text/grammar/language.h: sets of texts as automata without calls; rule 0 accepts the texts in UTF-8. */
#ifndef MICA_TEXT_GRAMMAR_LANGUAGE_H
#define MICA_TEXT_GRAMMAR_LANGUAGE_H

#include "text/grammar/automaton.h"

#define MICA__MOST_LANGUAGE_STATES 20000 /* of a complement */

/* Characters from low to high. */
typedef struct mica__characters {
  uint32_t low, high;
} mica__characters;

/* Adds paths for one character of these ranges, without surrogates. */
void mica__language_characters(mica__automaton *a, const mica__characters *ranges, size_t count, uint32_t from,
                               uint32_t to);

/* Each function below with an argument `out` fills a zeroed automaton. The automaton then accepts the texts that the
 * comment names. The caller frees it, even after a failure. */

/* All texts. */
mica_status mica__language_any(mica__automaton *out);
/* Texts that both automata accept. */
mica_status mica__language_both(const mica__automaton *a, const mica__automaton *b, mica__automaton *out);
/* Texts of `a` with `least` to `most` characters (most -1: no limit). */
mica_status mica__language_length(const mica__automaton *a, int64_t least, int64_t most, mica__automaton *out);
/* All texts that `a` does not accept. Calls mica__automaton_finish for `a`. */
mica_status mica__language_not(mica__automaton *a, mica__automaton *out);
/* Tests a text against a finished automaton without calls. */
mica_status mica__language_accepts(const mica__automaton *a, const char *text, size_t bytes, bool *accepts);

/* Texts that contain a match of a regular expression; `whole`: the match is the whole text (regex.c). */
mica_status mica__language_regex(const char *pattern, size_t bytes, bool whole, mica__automaton *out);
/* Texts of a format of JSON schema (formats.def). MICA_E_UNSUPPORTED: the format is unknown. */
mica_status mica__language_format(const char *name, size_t bytes, mica__automaton *out);

#endif
