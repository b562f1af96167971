/* base/json.h: JSON as text. */
#ifndef MICA_BASE_JSON_H
#define MICA_BASE_JSON_H

#include "base/text.h"

/* A string in quotes; bytes that are no UTF-8 become U+FFFD, control characters escapes. */
void mica__json_string(mica__text *json, const char *s);
/* Nine digits, or null for what is not finite; a whole number below 2^53 without a point. */
void mica__json_number(mica__text *json, double number);

#endif
