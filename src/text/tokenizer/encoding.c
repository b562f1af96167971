/* Growing lists of ids, and the work memory of encoding. */
#include "base/checked.h"
#include "text/tokenizer/tokenizer.h"

#include <stdlib.h>
#include <string.h>

mica_status mica__reserve(void *list, size_t *room, size_t count, size_t element) {
  void *old, *grown;
  size_t wanted = *room ? *room : 4, bytes = 0;
  if (count <= *room) return MICA_OK;
  while (wanted < count) wanted += wanted / 2;
  memcpy(&old, list, sizeof old);
  grown = mica__mul_size(wanted, element, &bytes) ? realloc(old, bytes) : NULL;
  if (!grown) return mica__fail_nomem("a text's tokens");
  memcpy(list, &grown, sizeof grown);
  *room = wanted;
  return MICA_OK;
}

mica_status mica__encoding_add(mica_encoding *encoding, int32_t id) {
  if (encoding->count == encoding->capacity)
    MICA_TRY(mica__reserve(&encoding->ids, &encoding->capacity, encoding->count + 1, sizeof *encoding->ids));
  encoding->ids[encoding->count++] = id;
  return MICA_OK;
}

void mica__work_free(mica__work *work) {
  if (!work) return;
  mica__search_free(&work->search);
  for (int i = 0; i < 2; i++) {
    mica__text_free(&work->buffers[i]);
    mica__pieces_free(&work->pieces[i]);
  }
  mica__text_free(&work->word);
  free(work->symbols);
  free(work->heap);
  free(work->best);
  free(work->known);
  free(work);
}

void mica_encoding_free(mica_encoding *encoding) {
  if (!encoding) return;
  mica__work_free(encoding->work);
  free(encoding->ids);
  free(encoding->types);
  *encoding = (mica_encoding){0};
}
