/* Pictures with an alpha channel: black is behind what is transparent (png.c), which whoever trains on them is
 * told, since other readers put white there or take the colours as they are stored. */
#include "data/dataset.h"
#include "data/picture/image.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* How many files are looked at, evenly spaced: opening a folder is not to touch every file in it. */
#define LOOKED_AT 200
/* What stands before a file's pixels is nearly always within so many bytes. */
#define HEADER 16384

/* Types 4 and 6 of colour have opacity, others may have it in a chunk tRNS. */
bool mica__png_has_alpha(const uint8_t *bytes, size_t size) {
  size_t length = 0;
  return size >= 33 && mica__image_is_png(bytes, size) &&
         (bytes[25] & 4 || mica__png_find_chunk(bytes, size, "tRNS", &length));
}

static bool has_alpha(const char *name, uint8_t *header) {
  const char *dot = strrchr(name, '.');
  if (!dot || strcasecmp(dot, ".png") != 0) return false;
  const int file = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return false; /* which reading it says */
  const ssize_t got = pread(file, header, HEADER, 0);
  close(file);
  return got > 0 && mica__png_has_alpha(header, (size_t)got);
}

bool mica__pictures_with_alpha(const char *const *files, size_t count, mica__text *sentence) {
  const size_t looked_at = count < LOOKED_AT ? count : LOOKED_AT;
  uint8_t *header = malloc(HEADER);
  size_t found = 0;
  for (size_t i = 0; header && i < looked_at; i++) found += has_alpha(files[i * count / looked_at], header);
  sentence->failed = sentence->failed || !header; /* which its status says */
  free(header);
  if (!found) return sentence->failed;
  mica__text_addf(sentence, looked_at == count ? "%zu of %zu pictures" : "%zu of the %zu pictures looked at", found,
                  looked_at);
  mica__text_add(sentence, " have an alpha channel: black is behind what is transparent");
  return true;
}

mica_status mica__store_note_alpha(mica__store *store) {
  mica__text text = {0};
  bool found = false;
  if (store->summary) mica__text_addf(&text, "%s; ", store->summary);
  for (size_t k = 0; !found && k < store->column_count; k++) {
    const mica__column *column = &store->columns[k];
    if (column->about.kind == MICA_COLUMN_KIND_IMAGE && column->files)
      found = mica__pictures_with_alpha(column->files, (size_t)store->count, &text);
  }
  const mica_status status = mica__text_status(&text);
  if (!found || status != MICA_OK) {
    mica__text_free(&text);
    return status;
  }
  free(store->summary);
  store->summary = text.data;
  return MICA_OK;
}
