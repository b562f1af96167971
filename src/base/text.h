/* base/text.h: a growing string. */
#ifndef MICA_BASE_TEXT_H
#define MICA_BASE_TEXT_H

#include "base/error.h"
#include "base/shared.h"

#include <stdbool.h>
#include <stddef.h>

/* Zero-initialise; free with mica__text_free. data is NULL at first and NUL-terminated after the first addition that
 * succeeds. If an allocation fails, later additions do nothing, and mica__text_status reports it once at the end. */
typedef struct mica__text {
  char *data;
  size_t length;
  size_t capacity;
  bool failed;
} mica__text;

MICA__SHARED void mica__text_add(mica__text *text, const char *s);
/* s may be NULL if n is 0. */
MICA__SHARED void mica__text_add_bytes(mica__text *text, const char *s, size_t n);
MICA__SHARED void mica__text_addf(mica__text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
MICA__SHARED mica_status mica__text_status(const mica__text *text);
MICA__SHARED void mica__text_free(mica__text *text);

/* The length to pass for "%.*s": at most 100 bytes are shown. */
static inline int mica__text_shown(size_t bytes) { return (int)(bytes < 100 ? bytes : 100); }

/* Copies s to the heap; NULL if s is NULL or memory is short. */
MICA__SHARED char *mica__strdup(const char *s);

#endif
