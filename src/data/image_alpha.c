/* Pictures with an alpha channel: black is behind what is transparent (image_png.c), which whoever trains on them is
 * told, since other readers put white there or take the colours as they are stored. */
#include "base/text.h"
#include "data/dataset.h"
#include "data/image.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* What stands before a file's pixels is nearly always within so many bytes. */
#define HEADER 16384

/* A PNG file is chunks of a length, a type, so many bytes and a sum. Types 4 and 6 of colour have opacity, others may
 * have it in a chunk tRNS, which comes before the pixels. */
bool mica__png_has_alpha(const uint8_t *bytes, size_t size) {
  if (size < 33 || memcmp(bytes, "\x89PNG\r\n\x1a\n", 8) != 0) return false;
  if (bytes[25] & 4) return true;
  for (size_t at = 8; size - at >= 12;) {
    const size_t length =
        (size_t)bytes[at] << 24 | (size_t)bytes[at + 1] << 16 | (size_t)bytes[at + 2] << 8 | bytes[at + 3];
    if (!memcmp(bytes + at + 4, "tRNS", 4)) return true;
    if (!memcmp(bytes + at + 4, "IDAT", 4) || length > size - at - 12) return false;
    at += 12 + length;
  }
  return false;
}

size_t mica__pictures_with_alpha(const char *const *files, size_t count) {
  uint8_t *header = malloc(HEADER);
  size_t found = 0;
  for (size_t i = 0; header && i < count; i++) {
    const char *dot = strrchr(files[i], '.');
    if (!dot || strcasecmp(dot, ".png") != 0) continue;
    const int file = open(files[i], O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) continue; /* which reading it says */
    const ssize_t got = pread(file, header, HEADER, 0);
    close(file);
    found += got > 0 && mica__png_has_alpha(header, (size_t)got);
  }
  free(header);
  return found;
}

mica_status mica__store_note_alpha(mica__store *store) {
  size_t found = 0;
  for (size_t k = 0; k < store->column_count; k++) {
    const mica__column *column = &store->columns[k];
    if (column->about.kind == MICA_COLUMN_KIND_IMAGE && column->files)
      found = mica__pictures_with_alpha(column->files, (size_t)store->count);
  }
  if (!found) return MICA_OK;
  mica__text text = {0};
  if (store->summary) mica__text_addf(&text, "%s; ", store->summary);
  mica__text_addf(&text, MICA__ALPHA_SENTENCE, found, (size_t)store->count);
  const mica_status status = mica__text_status(&text);
  if (status != MICA_OK) return status;
  free(store->summary);
  store->summary = text.data;
  return MICA_OK;
}
