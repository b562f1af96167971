/* base/number.h: numbers as text, alike in every locale.
 *
 * A program that embeds Mica may have a locale with a decimal comma. Kernels' sources, files and sentences hold numbers
 * with a point all the same, so that nothing outside this room formats floats by printf or reads them by strtod
 * (tests/lint/numbers.sh). */
#ifndef MICA_BASE_NUMBER_H
#define MICA_BASE_NUMBER_H

#include "base/shared.h"

#include <stdarg.h>
#include <stddef.h>

/* As strtod, snprintf and vsnprintf in the locale "C". The program's locale stays as it is. Any thread. */
MICA__SHARED double mica__strtod(const char *text, char **end);
MICA__SHARED int mica__snprintf(char *text, size_t bytes, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
MICA__SHARED int mica__vsnprintf(char *text, size_t bytes, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));

#endif
