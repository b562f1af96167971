/* Letters as UTF-8. */
#include "data/sound/letters.h"
#include "base/utf8.h"

#include <stdlib.h>

int32_t mica__letter_at(const char *text, size_t size, size_t *bytes) {
  return mica__utf8_first(text, size) ? (int32_t)mica__utf8_at(text, bytes) : -1;
}

void mica__letter_add(mica__text *text, int32_t letter) {
  char bytes[4];
  if (letter == ' ' && (!text->length || text->data[text->length - 1] == ' ')) return;
  mica__text_add_bytes(text, bytes, mica__utf8_encode((uint32_t)letter, bytes));
}

mica_status mica__letters_take(const mica_dataset *data, uint64_t i, mica__text *text) {
  const size_t tokens = mica_dataset_column_index(data, "tokens");
  int64_t count = 0;
  MICA_TRY(mica_dataset_length(data, tokens, i, &count));
  int32_t *list = malloc((size_t)count * sizeof *list + 1);
  mica_status status =
      list ? mica_dataset_read(data, tokens, i, list, (size_t)count * sizeof *list) : mica__fail_nomem("texts");
  mica__text_add(text, "");
  for (int64_t k = 0; status == MICA_OK && k < count; k++) mica__letter_add(text, list[k]);
  free(list);
  return status == MICA_OK ? mica__text_status(text) : status;
}
