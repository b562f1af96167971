/* base/byte_order.h: byte order of elements in files: little-endian, or big-endian as in IDX. */
#ifndef MICA_BASE_BYTE_ORDER_H
#define MICA_BASE_BYTE_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MICA__HOST_BIG_ENDIAN (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)

/* Converts elements of `width` bytes from the file's byte order to the host's, or back. */
static inline void mica__bytes_from_file(bool big_endian, uint8_t *elements, size_t count, size_t width) {
  if (big_endian == MICA__HOST_BIG_ENDIAN) return;
  for (; count > 0; count--, elements += width)
    for (size_t i = 0; i < width / 2; i++) {
      const uint8_t kept = elements[i];
      elements[i] = elements[width - 1 - i];
      elements[width - 1 - i] = kept;
    }
}

#endif
