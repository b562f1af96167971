/* The normaliser Precompiled: SentencePiece's rules for characters, as in the package `tokenizers`.
 *
 * A charsmap maps keys, which are strings of characters, to the texts that replace them. It is base64 of: the size of
 * a trie of the keys in bytes (u32, little-endian), the trie as a double array of u32, and the replacement texts, each
 * ending in a NUL. The bits of a unit of the trie are:
 *
 *   0-7, 31  label of the edge that leads to the unit
 *   8        a key ends here; the unit at the offset holds the byte position of its replacement among the texts
 *   9        the offset is multiplied by 256
 *   10-30    offset of the children */
#include "text/tokenizer/precompiled.h"
#include "base/utf8.h"
#include "text/unicode.h"

#include <stdlib.h>
#include <string.h>

/* A grapheme of fewer bytes is first looked up as a whole. If that finds nothing, or if it is longer, its characters
 * are looked up one by one. */
#define LONG_GRAPHEME 6

struct mica__charsmap {
  uint32_t *units;
  size_t unit_count;
  char *texts;
  size_t text_bytes;
};

void mica__charsmap_free(mica__charsmap *map) {
  if (!map) return;
  free(map->units);
  free(map->texts);
  free(map);
}

/* --- reading --- */

static int digit_of(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

static mica_status decode_base64(const char *text, uint8_t **data, size_t *bytes) {
  size_t digits = strlen(text);
  if (digits % 4)
    return mica__fail(MICA_E_FORMAT, "precompiled_charsmap is not base64: its length must be a multiple of 4");
  while (digits > 0 && text[digits - 1] == '=') digits--;
  uint8_t *made = malloc(digits + 4);
  if (!made) return mica__fail_nomem("a charsmap");
  uint32_t bits = 0;
  *bytes = 0;
  for (size_t i = 0; i < digits; i++) {
    const int digit = digit_of(text[i]);
    if (digit < 0) {
      free(made);
      return mica__fail(MICA_E_FORMAT, "precompiled_charsmap is not base64 at byte %zu", i);
    }
    bits = bits << 6 | (uint32_t)digit;
    if (i % 4 > 0) made[(*bytes)++] = (uint8_t)(bits >> (6 - 2 * (i % 4)));
  }
  *data = made;
  return MICA_OK;
}

static uint32_t word_at(const uint8_t *data) {
  return data[0] | (uint32_t)data[1] << 8 | (uint32_t)data[2] << 16 | (uint32_t)data[3] << 24;
}

static size_t offset_of(uint32_t unit) { return (size_t)(unit >> 10) << ((unit & 1u << 9) >> 6); }
static uint32_t label_of(uint32_t unit) { return unit & (1u << 31 | 0xff); }
static bool has_text(uint32_t unit) { return unit >> 8 & 1; }

/* Checks that the offset and the text of every reachable unit are inside the charsmap. Tries may share units. Each unit
 * is therefore checked only once, so the check ends even if there are cycles. */
static mica_status check_units(const mica__charsmap *map, size_t *stack, uint8_t *seen) {
  size_t count = 0;
  stack[count++] = offset_of(map->units[0]);
  while (count > 0) {
    const size_t base = stack[--count];
    for (size_t c = 1; c < 256; c++) {
      const size_t at = base ^ c;
      if (at >= map->unit_count || label_of(map->units[at]) != c || seen[at]) continue;
      seen[at] = 1;
      const uint32_t unit = map->units[at];
      const size_t next = at ^ offset_of(unit);
      if (next >= map->unit_count)
        return mica__fail(MICA_E_FORMAT,
                          "precompiled_charsmap: unit %zu of the trie leads to unit %zu, but the last unit is %zu", at,
                          next, map->unit_count - 1);
      if (has_text(unit) && (map->units[next] & INT32_MAX) >= map->text_bytes)
        return mica__fail(
            MICA_E_FORMAT,
            "precompiled_charsmap: unit %zu of the trie names a text that begins beyond the end of the map", at);
      stack[count++] = next;
    }
  }
  return MICA_OK;
}

static mica_status check(const mica__charsmap *map) {
  size_t *stack = malloc((map->unit_count + 1) * sizeof *stack);
  uint8_t *seen = calloc(map->unit_count, 1);
  const mica_status status = stack && seen ? check_units(map, stack, seen) : mica__fail_nomem("a charsmap");
  free(stack);
  free(seen);
  return status;
}

static mica_status fill(mica__charsmap *map, const uint8_t *data, size_t bytes) {
  if (bytes < 8)
    return mica__fail(MICA_E_FORMAT, "precompiled_charsmap has %zu bytes, but must have at least 8", bytes);
  const size_t trie = word_at(data);
  if (trie < 4 || trie % 4 || trie > bytes - 4)
    return mica__fail(
        MICA_E_FORMAT,
        "precompiled_charsmap: the size of the trie is %zu bytes, but must be a multiple of 4 from 4 to %zu", trie,
        bytes - 4);
  map->unit_count = trie / 4;
  map->text_bytes = bytes - 4 - trie;
  map->units = malloc(trie);
  map->texts = malloc(map->text_bytes + 1);
  if (!map->units || !map->texts) return mica__fail_nomem("a charsmap");
  for (size_t i = 0; i < map->unit_count; i++) map->units[i] = word_at(data + 4 + 4 * i);
  memcpy(map->texts, data + 4 + trie, map->text_bytes);
  map->texts[map->text_bytes] = '\0';
  if (mica__utf8_prefix(map->texts, map->text_bytes) < map->text_bytes)
    return mica__fail(MICA_E_FORMAT, "precompiled_charsmap: the replacement texts are not UTF-8");
  return check(map);
}

mica_status mica__charsmap_read(const uint8_t *data, size_t bytes, mica__charsmap **charsmap) {
  mica__charsmap *map = calloc(1, sizeof *map);
  const mica_status status = map ? fill(map, data, bytes) : mica__fail_nomem("a charsmap");
  if (status == MICA_OK)
    *charsmap = map;
  else
    mica__charsmap_free(map);
  return status;
}

mica_status mica__charsmap_create(const char *base64, mica__charsmap **charsmap) {
  uint8_t *data = NULL;
  size_t bytes = 0;
  MICA_TRY(decode_base64(base64, &data, &bytes));
  const mica_status status = mica__charsmap_read(data, bytes, charsmap);
  free(data);
  return status;
}

/* --- running --- */

/* The replacement for the shortest key that the text begins with; NULL: none. */
static const char *find(const mica__charsmap *map, const char *text, size_t bytes) {
  size_t at = offset_of(map->units[0]);
  for (size_t i = 0; i < bytes && text[i]; i++) {
    at ^= (uint8_t)text[i];
    if (at >= map->unit_count || label_of(map->units[at]) != (uint8_t)text[i]) return NULL;
    const uint32_t unit = map->units[at];
    at ^= offset_of(unit);
    if (at >= map->unit_count) return NULL;
    if (!has_text(unit)) continue;
    const size_t position = map->units[at] & INT32_MAX;
    return position < map->text_bytes && ((uint8_t)map->texts[position] & 0xc0) != 0x80 ? map->texts + position : NULL;
  }
  return NULL;
}

void mica__charsmap_run(const mica__charsmap *map, const char *text, size_t bytes, mica__text *out) {
  size_t length = 0;
  for (size_t at = 0; at < bytes; at += length) {
    length = mica__grapheme(text + at, bytes - at);
    const char *found = length < LONG_GRAPHEME ? find(map, text + at, length) : NULL;
    if (found) {
      mica__text_add(out, found);
      continue;
    }
    for (size_t i = at, n = 0; i < at + length; i += n) {
      mica__utf8_at(text + i, &n);
      found = find(map, text + i, n);
      if (found)
        mica__text_add(out, found);
      else
        mica__text_add_bytes(out, text + i, n);
    }
  }
}
