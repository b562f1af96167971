/* Counts, finds and strips characters of a template's texts. */
#include "text/template/run.h"
#include "text/unicode.h"

#include <string.h>

size_t mica__characters(const char *text, size_t bytes) {
  size_t count = 0;
  for (size_t i = 0; i < bytes; i++) count += ((unsigned char)text[i] & 0xc0) != 0x80;
  return count;
}

size_t mica__character_at(const char *text, size_t bytes, size_t index) {
  size_t at = 0;
  while (at < bytes && index > 0) {
    at++;
    while (at < bytes && ((unsigned char)text[at] & 0xc0) == 0x80) at++;
    index--;
  }
  return at;
}

bool mica__is_blank(uint32_t c) { return mica__is_space(c) || (c >= 0x1c && c <= 0x1f); }

static bool is_stripped(mica__arena *work, uint32_t c, const mica__object *set) {
  if (!set) return mica__is_blank(c);
  if (!mica__arena_work(work, set->count)) return false;
  for (size_t at = 0, n = 1; at < set->count; at += n)
    if (mica__utf8_at(set->as.text + at, &n) == c) return true;
  return false;
}

mica__object mica__strip(mica__arena *work, const mica__object *text, const mica__object *set, bool left, bool right) {
  const char *s = text->as.text;
  size_t begin = 0, end = text->count, n = 1;
  while (left && begin < end && is_stripped(work, mica__utf8_at(s + begin, &n), set)) begin += n;
  while (right && end > begin) {
    const size_t last = begin + mica__utf8_last(s + begin, end - begin);
    if (!is_stripped(work, mica__utf8_at(s + last, &n), set)) break;
    end = last;
  }
  return mica__object_text(s + begin, end - begin);
}

size_t mica__find_text(mica__arena *work, const char *text, size_t bytes, size_t from, const char *part,
                       size_t part_bytes) {
  if (part_bytes == 0) return from <= bytes ? from : SIZE_MAX;
  while (from < bytes && bytes - from >= part_bytes) {
    const char *at = memchr(text + from, part[0], bytes - from - part_bytes + 1);
    if (!at) return SIZE_MAX;
    size_t same = 1;
    while (same < part_bytes && at[same] == part[same]) same++;
    if (same == part_bytes) return (size_t)(at - text);
    if (!mica__arena_work(work, same)) return SIZE_MAX;
    from = (size_t)(at - text) + 1;
  }
  return SIZE_MAX;
}
