/* text/grammar/decimal.h: exact decimal digits of numbers in a schema. */
#ifndef MICA_TEXT_GRAMMAR_DECIMAL_H
#define MICA_TEXT_GRAMMAR_DECIMAL_H

#include "text/template/value.h"

#define MICA__MOST_DIGITS 40 /* before and after the point */

/* Digits without leading and trailing zeros: 10.50 is "10" and "5", 0 is "" and "". */
typedef struct mica__decimal {
  bool negative;
  char whole[MICA__MOST_DIGITS + 1], part[MICA__MOST_DIGITS + 1];
  size_t whole_count, part_count;
} mica__decimal;

/* Converts a number of a schema. MICA_E_UNSUPPORTED if it has more than MICA__MOST_DIGITS digits before or after the
 * point. The message lacks the number's path in the schema; the caller adds it. */
mica_status mica__decimal_of(const mica__object *number, mica__decimal *d);
/* Below 0 if a < b, 0 if they are equal, above 0 if a > b. */
int mica__decimal_compare(const mica__decimal *a, const mica__decimal *b);
static inline bool mica__decimal_is_zero(const mica__decimal *d) { return d->whole_count + d->part_count == 0; }

#endif
