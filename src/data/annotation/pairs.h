/* data/annotation/pairs.h: a folder of files and a folder of masks next to it: images/NAME.png, masks/NAME.png. */
#ifndef MICA_DATA_ANNOTATION_PAIRS_H
#define MICA_DATA_ANNOTATION_PAIRS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

/* Which files are paired, and what messages call them: "pictures", "png", ".png or .jpg". */
typedef struct mica__pairing {
  bool (*is_named)(const char *name);
  const char *what, *ending, *endings;
} mica__pairing;

/* Paths of files and of their masks. */
typedef struct mica__pairs {
  char **pictures, **masks;
  size_t count;
} mica__pairs;

/* *is: the folder has both folders and masks of this kind. */
mica_status mica__pairs_are_in(const char *path, const mica__pairing *pairing, bool *is);
/* Fills zeroed pairs in the order of names; they must be freed, also after a failure. MICA_E_FORMAT names a file
 * without a partner. */
mica_status mica__pairs_find(const char *path, const mica__pairing *pairing, mica__pairs *pairs);
void mica__pairs_free(mica__pairs *pairs);

#endif
