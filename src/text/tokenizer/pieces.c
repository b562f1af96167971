/* Pieces of a text, and rules for cutting it into pieces. */
#include "text/tokenizer/pieces.h"
#include "text/unicode.h"

#include <stdlib.h>

void mica__pieces_clear(mica__pieces *pieces) {
  pieces->text.length = pieces->count = 0;
  pieces->text.failed = false;
}

void mica__pieces_free(mica__pieces *pieces) {
  mica__text_free(&pieces->text);
  free(pieces->list);
}

mica_status mica__pieces_close(mica__pieces *pieces, size_t begin, int32_t id) {
  if (pieces->text.failed) return mica__fail_nomem("a text");
  if (pieces->text.length > MICA__MOST_TEXT)
    return mica__fail(MICA_E_FORMAT, "the text grows beyond %zu bytes", MICA__MOST_TEXT);
  if (pieces->text.length == begin && id < 0) return MICA_OK;
  if (pieces->count == pieces->room) {
    const size_t room = pieces->room ? 2 * pieces->room : 64;
    mica__piece *grown = realloc(pieces->list, room * sizeof *grown);
    if (!grown) return mica__fail_nomem("the pieces of a text");
    pieces->list = grown;
    pieces->room = room;
  }
  pieces->list[pieces->count++] = (mica__piece){(uint32_t)begin, (uint32_t)(pieces->text.length - begin), id};
  return MICA_OK;
}

mica_status mica__pieces_add(mica__pieces *pieces, const char *text, size_t length, int32_t id) {
  const size_t begin = pieces->text.length;
  mica__text_add_bytes(&pieces->text, text, length);
  return mica__pieces_close(pieces, begin, id);
}

static mica_status flush(mica__cutter *c) {
  if (!c->held) return MICA_OK;
  c->held = false;
  return mica__pieces_add(c->out, c->text + c->begin, c->end - c->begin, c->begin == 0 ? c->id : MICA__PIECE_TEXT);
}

mica_status mica__cut(mica__cutter *c, size_t begin, size_t end, bool match) {
  bool joins = false;
  switch (c->behaviour) {
  case MICA__REMOVED:
    if (match) return flush(c);
    break;
  case MICA__ISOLATED: break;
  case MICA__CONTIGUOUS: joins = match == c->match; break;
  case MICA__MERGED_WITH_PREVIOUS: joins = match && !c->match; break;
  case MICA__MERGED_WITH_NEXT: joins = !match && c->match; break;
  }
  if (!joins || !c->held) {
    MICA_TRY(flush(c));
    c->begin = begin;
  }
  c->held = true;
  c->end = end;
  c->match = match;
  return MICA_OK;
}

mica_status mica__cut_end(mica__cutter *c) { return flush(c); }

mica_status mica__cut_pattern(mica__cutter *c, const mica__pattern *pattern, mica__search *search, size_t bytes,
                              bool invert) {
  size_t done = 0, from = 0, begin = 0, end = 0;
  while (from <= bytes) {
    MICA_TRY(mica__pattern_find(pattern, search, c->text, bytes, from, &begin, &end));
    if (begin >= bytes) break;
    if (begin > done) MICA_TRY(mica__cut(c, done, begin, invert));
    MICA_TRY(mica__cut(c, begin, end, !invert));
    done = from = end;
    if (begin == end && end < bytes) { /* an empty match: continue after the next character */
      size_t n;
      mica__utf8_at(c->text + end, &n);
      from += n;
    }
  }
  if (done < bytes) MICA_TRY(mica__cut(c, done, bytes, invert));
  return mica__cut_end(c);
}

mica_status mica__cut_characters(mica__cutter *c, size_t bytes, bool (*is)(uint32_t)) {
  size_t done = 0;
  for (size_t at = 0, n; at < bytes; at += n) {
    if (!is(mica__utf8_at(c->text + at, &n))) continue;
    if (at > done) MICA_TRY(mica__cut(c, done, at, false));
    MICA_TRY(mica__cut(c, at, at + n, true));
    done = at + n;
  }
  if (done < bytes) MICA_TRY(mica__cut(c, done, bytes, false));
  return mica__cut_end(c);
}
