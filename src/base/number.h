/* base/number.h: numbers as text, the same in every locale.
 *
 * A program that embeds Mica may run in a locale with a decimal comma. Kernel sources, files and messages always use a
 * decimal point, so code outside src/base must not format floats by printf or read them by strtod
 * (tests/lint/numbers.sh). */
#ifndef MICA_BASE_NUMBER_H
#define MICA_BASE_NUMBER_H

#include "base/shared.h"

#include <stdarg.h>
#include <stddef.h>

/* strtod, snprintf and vsnprintf in the "C" locale, unless memory is too short to make it; the program's locale does
 * not change. Callable from any thread. */
MICA__SHARED double mica__strtod(const char *text, char **end);
MICA__SHARED int mica__snprintf(char *text, size_t bytes, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
MICA__SHARED int mica__vsnprintf(char *text, size_t bytes, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));

#endif
