/* Letters as UTF-8. */
#include "data/sound/letters.h"
#include "base/utf8.h"

int32_t mica__letter_at(const char *text, size_t size, size_t *bytes) {
  return mica__utf8_first(text, size) ? (int32_t)mica__utf8_at(text, bytes) : -1;
}

void mica__letter_add(mica__text *text, int32_t letter) {
  char bytes[4];
  if (letter == ' ' && (!text->length || text->data[text->length - 1] == ' ')) return;
  mica__text_add_bytes(text, bytes, mica__utf8_encode((uint32_t)letter, bytes));
}
