/* run/suggest.h: what a value that is not a choice may mean. */
#ifndef MICA_RUN_SUGGEST_H
#define MICA_RUN_SUGGEST_H

#include <stddef.h>

/* The name among names that typed means: the same but for case, the name that another program has for it
 * (foreign_values.def), or the one that typed begins. NULL: none. names ends with NULL. */
const char *mica__suggest(const char *(*names)(size_t index), const char *typed);

#endif
