/* Pictures with an alpha channel: transparent pixels become black (png.c). The summary says so, since other readers
 * make them white or keep the stored colours. */
#include "data/dataset.h"
#include "data/picture/image.h"

#include <stdlib.h>

/* True for PNG's colour types 4 and 6, which have an alpha channel, and for the other types if the file has a chunk
 * tRNS (transparent colours). */
bool mica__png_has_alpha(const uint8_t *bytes, size_t size) {
  size_t length = 0;
  return size >= 33 && mica__image_is_png(bytes, size) &&
         (bytes[25] & 4 || mica__png_find_chunk(bytes, size, "tRNS", &length));
}

static bool count_alpha(void *user, const uint8_t *header, size_t size) {
  *(size_t *)user += mica__png_has_alpha(header, size);
  return true;
}

bool mica__pictures_with_alpha(const char *const *files, size_t count, mica__text *sentence) {
  const size_t inspected = mica__pictures_inspected(count);
  size_t found = 0;
  mica__attempt_begin();
  const mica_status status = mica__pictures_inspect(files, count, count_alpha, &found);
  mica__attempt_end();
  sentence->failed = sentence->failed || status != MICA_OK; /* mica__text_status will report the failure */
  if (!found) return sentence->failed;
  mica__text_addf(sentence, inspected == count ? "%zu of %zu pictures" : "%zu of the %zu pictures looked at", found,
                  inspected);
  mica__text_add(sentence, " have an alpha channel; transparent pixels are shown over black");
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
