/* run/suggest.h: finds the choice that was probably meant by a wrong value. */
#ifndef MICA_RUN_SUGGEST_H
#define MICA_RUN_SUGGEST_H

#include <stddef.h>

/* The name that `typed` probably means, or NULL. It is a name that differs only in case, a name for which `typed` is
 * another program's word (foreign_values.def), or a name that begins with `typed`, if that has three letters or more.
 * `names` ends with NULL. */
const char *mica__suggest(const char *(*names)(size_t index), const char *typed);

#endif
