/* run/suggest.h: finds the choice that was probably meant by a wrong value. */
#ifndef MICA_RUN_SUGGEST_H
#define MICA_RUN_SUGGEST_H

#include <stddef.h>

/* The name that `typed` probably means: the same except for case, another program's word for it
 * (foreign_values.def), or one that begins with `typed`, if that has three letters or more. NULL: none. `names` ends
 * with NULL. */
const char *mica__suggest(const char *(*names)(size_t index), const char *typed);

#endif
