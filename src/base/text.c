#include "base/text.h"
#include "base/number.h"

#include "base/checked.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reserves room for n more bytes and the terminator. If memory is short it sets `failed` and returns false. */
static bool reserve(mica__text *text, size_t n) {
  size_t need = 0;
  if (text->failed || !mica__add_size(n, 1, &n) || !mica__add_size(text->length, n, &need)) {
    text->failed = true;
    return false;
  }
  if (need <= text->capacity) return true;
  size_t capacity = text->capacity ? text->capacity : 256;
  while (capacity < need) capacity = capacity > SIZE_MAX / 2 ? need : capacity * 2;
  char *grown = realloc(text->data, capacity);
  if (!grown) {
    text->failed = true;
    return false;
  }
  text->data = grown;
  text->capacity = capacity;
  return true;
}

void mica__text_add_bytes(mica__text *text, const char *s, size_t n) {
  if (!reserve(text, n)) return;
  if (n) memcpy(text->data + text->length, s, n);
  text->length += n;
  text->data[text->length] = '\0';
}

void mica__text_add(mica__text *text, const char *s) { mica__text_add_bytes(text, s, strlen(s)); }

void mica__text_addf(mica__text *text, const char *format, ...) {
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  int n = mica__vsnprintf(NULL, 0, format, args);
  if (n < 0) text->failed = true;
  if (n >= 0 && reserve(text, (size_t)n)) {
    mica__vsnprintf(text->data + text->length, (size_t)n + 1, format, again);
    text->length += (size_t)n;
  }
  va_end(again);
  va_end(args);
}

mica_status mica__text_status(const mica__text *text) { return text->failed ? mica__fail_nomem("a text") : MICA_OK; }

void mica__text_free(mica__text *text) {
  free(text->data);
  *text = (mica__text){0};
}

char *mica__strdup(const char *s) {
  if (!s) return NULL;
  size_t n = strlen(s) + 1;
  char *copy = malloc(n);
  return copy ? memcpy(copy, s, n) : NULL;
}
