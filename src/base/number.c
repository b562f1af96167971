#include "base/number.h"

#include <locale.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* The "C" locale, made once and never freed; 0 if memory is short. */
static locale_t plain;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_plain(void) { plain = newlocale(LC_ALL_MASK, "C", (locale_t)0); }

/* Sets this thread's locale to "C" and returns the previous one. If memory was short, changes nothing and returns 0. */
static locale_t enter(void) {
  pthread_once(&once, make_plain);
  return plain ? uselocale(plain) : (locale_t)0;
}

static void leave(locale_t before) {
  if (before) uselocale(before);
}

double mica__strtod(const char *text, char **end) {
  const locale_t before = enter();
  const double value = strtod(text, end);
  leave(before);
  return value;
}

int mica__vsnprintf(char *text, size_t bytes, const char *format, va_list args) {
  const locale_t before = enter();
  const int length = vsnprintf(text, bytes, format, args);
  leave(before);
  return length;
}

int mica__snprintf(char *text, size_t bytes, const char *format, ...) {
  va_list args;
  va_start(args, format);
  const int length = mica__vsnprintf(text, bytes, format, args);
  va_end(args);
  return length;
}
