/* The chunks of PNG files. */
#include "data/picture/image.h"

#include <string.h>

bool mica__image_is_png(const uint8_t *bytes, size_t size) {
  return size >= 8 && !memcmp(bytes, "\x89PNG\r\n\x1a\n", 8);
}

/* A PNG file consists of chunks: a length, a type, that many bytes, and a checksum. */
const uint8_t *mica__png_find_chunk(const uint8_t *bytes, size_t size, const char *type, size_t *length) {
  if (!mica__image_is_png(bytes, size)) return NULL;
  for (size_t at = 8; size - at >= 12; at += 12 + *length) {
    *length = (size_t)bytes[at] << 24 | (size_t)bytes[at + 1] << 16 | (size_t)bytes[at + 2] << 8 | bytes[at + 3];
    if (!memcmp(bytes + at + 4, type, 4)) return bytes + at + 8;
    if (!memcmp(bytes + at + 4, "IDAT", 4) || *length > size - at - 12) return NULL;
  }
  return NULL;
}
