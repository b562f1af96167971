/* tests/support/number.h: numbers in files and texts, with a point in every locale. */
#ifndef MICA_TESTS_SUPPORT_NUMBER_H
#define MICA_TESTS_SUPPORT_NUMBER_H

#include "base/number.h"
#include "base/text.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* fprintf as in the C locale. */
#define test_print(file, ...)                                                                                          \
  do {                                                                                                                 \
    mica__text printed = {0};                                                                                          \
    mica__text_addf(&printed, __VA_ARGS__);                                                                            \
    fputs(printed.data, file);                                                                                         \
    mica__text_free(&printed);                                                                                         \
  } while (0)

/* Reads the number that follows the first `key` of the text; false if there is no such number. */
static inline bool test_number_after(const char *text, const char *key, double *number) {
  char *end = NULL;
  const char *at = strstr(text, key);
  if (!at) return false;
  *number = mica__strtod(at + strlen(key), &end);
  return end != at + strlen(key);
}

#endif
