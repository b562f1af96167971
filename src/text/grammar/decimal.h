/* text/grammar/decimal.h: numbers of a schema as decimal digits, exact. */
#ifndef MICA_TEXT_GRAMMAR_DECIMAL_H
#define MICA_TEXT_GRAMMAR_DECIMAL_H

#include "text/template/value.h"

#define MICA__MOST_DIGITS 40 /* before and after the point */

/* Digits without zeros at the two ends: 10.50 is "10" and "5", 0 is "" and "". */
typedef struct mica__decimal {
  bool negative;
  char whole[MICA__MOST_DIGITS + 1], part[MICA__MOST_DIGITS + 1];
  size_t whole_count, part_count;
} mica__decimal;

/* MICA_E_UNSUPPORTED, without a place, if it has too many digits. */
mica_status mica__decimal_of(const mica__object *number, mica__decimal *d);
/* Below, at or above 0. */
int mica__decimal_compare(const mica__decimal *a, const mica__decimal *b);
static inline bool mica__decimal_is_zero(const mica__decimal *d) { return d->whole_count + d->part_count == 0; }

#endif
