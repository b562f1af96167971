/* base/json.h: JSON as text. */
#ifndef MICA_BASE_JSON_H
#define MICA_BASE_JSON_H

#include "base/shared.h"
#include "base/text.h"

/* A string in quotes; bytes that are no UTF-8 become U+FFFD, control characters escapes. */
MICA__SHARED void mica__json_string(mica__text *json, const char *s);
/* Nine digits, or null if it is not finite; whole numbers below 2^53 have no point. */
void mica__json_number(mica__text *json, double number);

#endif
