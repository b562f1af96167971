/* base/json.h: JSON as text. */
#ifndef MICA_BASE_JSON_H
#define MICA_BASE_JSON_H

#include "base/shared.h"
#include "base/text.h"

/* Adds a quoted string. Invalid UTF-8 becomes U+FFFD, control characters become escapes. */
MICA__SHARED void mica__json_string(mica__text *json, const char *s);
/* Adds a number, or null if it is not finite. Whole numbers of magnitude below 2^53 are written without a point. Others
 * have nine significant digits, and from magnitude 1e5 on four digits after the point, but at most 15 digits in all. */
void mica__json_number(mica__text *json, double number);

#endif
