/* text/tokenizer/pieces.h: a text in pieces, ways to cut it, and the patterns to cut at. */
#ifndef MICA_TEXT_TOKENIZER_PIECES_H
#define MICA_TEXT_TOKENIZER_PIECES_H

#include "base/text.h"

#include <stdint.h>

/* Maximum bytes of a text at any stage; positions have 32 bits. */
#define MICA__MOST_TEXT ((size_t)1 << 31)

/* Maximum bytes that a text of `bytes` bytes may grow to, far above any real text. The character that grows most is
 * U+FDFA: normalising multiplies its bytes by 11. */
static inline size_t mica__most_grown(size_t bytes) {
  return bytes < MICA__MOST_TEXT / 64 ? ((size_t)1 << 24) + 32 * bytes : MICA__MOST_TEXT;
}

/* Ids of pieces that are not tokens yet. */
enum {
  MICA__PIECE_TEXT = -1,
  MICA__PIECE_FIRST = -2, /* the piece at the beginning of the text */
  MICA__PIECE_RAW = -3,   /* bytes that are not UTF-8 */
};

typedef struct mica__piece {
  uint32_t begin, length; /* in the text */
  int32_t id;
} mica__piece;

/* Zero-initialise. mica__pieces_clear keeps the memory. */
typedef struct mica__pieces {
  mica__text text;
  mica__piece *list;
  size_t count, room;
} mica__pieces;

void mica__pieces_clear(mica__pieces *pieces);
void mica__pieces_free(mica__pieces *pieces);
/* Appends a piece, unless it is empty and not a token. */
mica_status mica__pieces_add(mica__pieces *pieces, const char *text, size_t length, int32_t id);
/* Appends a piece: the bytes of the text from `begin` to its end. An empty piece is left out unless it is a token. */
mica_status mica__pieces_close(mica__pieces *pieces, size_t begin, int32_t id);

/* --- patterns --- */

/* A literal, or a regular expression (PCRE2) in Oniguruma's syntax. */
typedef struct mica__pattern mica__pattern;
/* MICA_E_FORMAT: the pattern is invalid or an empty literal. MICA_E_UNSUPPORTED: the build lacks PCRE2. */
mica_status mica__pattern_create(const char *text, bool literal, mica__pattern **pattern);
void mica__pattern_free(mica__pattern *pattern);

/* Work memory of searches in one thread. */
typedef struct mica__search {
  void *data;
} mica__search;
void mica__search_free(mica__search *search);
/* Finds the first match at or after `from` in valid UTF-8; *begin is `bytes` if there is no match. MICA_E_FORMAT: the
 * search exceeds a limit, such as that of its steps. */
mica_status mica__pattern_find(const mica__pattern *pattern, mica__search *search, const char *text, size_t bytes,
                               size_t from, size_t *begin, size_t *end);
/* Appends the text with each match replaced. MICA_E_FORMAT: `out` grows beyond `most` bytes. */
mica_status mica__pattern_replace(const mica__pattern *pattern, mica__search *search, const char *text, size_t bytes,
                                  const char *content, size_t most, mica__text *out);

/* --- cutting --- */

typedef enum mica__behaviour {
  MICA__ISOLATED,
  MICA__REMOVED,
  MICA__CONTIGUOUS,
  MICA__MERGED_WITH_PREVIOUS,
  MICA__MERGED_WITH_NEXT,
} mica__behaviour;

/* State of cutting one piece of a text. Call mica__cut with all matches and the texts between them, in order, then
 * mica__cut_end. */
typedef struct mica__cutter {
  mica__pieces *out;
  const char *text;
  mica__behaviour behaviour;
  int32_t id; /* id of the first piece; later pieces get MICA__PIECE_TEXT */
  size_t begin, end;
  bool held, match; /* held: begin .. end is not appended yet; match: its last part was a match */
} mica__cutter;
mica_status mica__cut(mica__cutter *cutter, size_t begin, size_t end, bool match);
mica_status mica__cut_end(mica__cutter *cutter);
/* Cuts the whole text at the matches of a pattern; `invert`: at the text between matches. */
mica_status mica__cut_pattern(mica__cutter *cutter, const mica__pattern *pattern, mica__search *search, size_t bytes,
                              bool invert);
/* Cuts the text at each character for which `is` returns true. */
mica_status mica__cut_characters(mica__cutter *cutter, size_t bytes, bool (*is)(uint32_t character));

#endif
