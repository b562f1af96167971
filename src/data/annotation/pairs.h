/* data/annotation/pairs.h: a folder of files and a folder of masks beside it: images/NAME.png, masks/NAME.png; or files
 * and masks in one folder: NAME.nii.gz, NAME_mask.nii.gz. */
#ifndef MICA_DATA_ANNOTATION_PAIRS_H
#define MICA_DATA_ANNOTATION_PAIRS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

/* Describes the second file of each pair, such as a mask or a depth map.
 * - is_named: true for a file name that such a file can have
 * - what, mark, types: words for messages, such as "depth map", "depth" and ".png or .npy"; if types is NULL, messages
 *   use the pairing's `endings`
 * - picture_folders, folders, endings: the names that the folder of pictures may have, the names that the folder of
 *   these files may have, and the endings of their stems, such as "_depth"; each list ends with NULL */
typedef struct mica__pair_kind {
  bool (*is_named)(const char *name);
  const char *what, *mark, *types;
  const char *const *picture_folders, *const *folders, *const *endings;
} mica__pair_kind;

/* Which files are paired, and what messages call them: "pictures", "png", ".png or .jpg". */
typedef struct mica__pairing {
  bool (*is_named)(const char *name);
  const char *what, *ending, *endings;
  bool together;               /* files and masks may be in one folder */
  const mica__pair_kind *with; /* NULL: masks, named as the files are */
} mica__pairing;

/* Paths of files and of their masks. */
typedef struct mica__pairs {
  char **pictures, **masks;
  size_t count;
} mica__pairs;

/* True for the name of a mask of another file in the list: NAME_mask.nii, NAME-seg.nii.gz beside NAME.nii.gz. */
bool mica__pairs_is_mask(bool (*is_kind)(const char *name), const char *name, char *const *names, size_t count);
/* In the functions below, "masks" are the second files of pairs (pairing->with).
 *
 * Sets *is to whether `path` has a folder of pictures and a folder with masks, or, if pairing->together, holds files
 * together with their masks. */
mica_status mica__pairs_are_in(const char *path, const mica__pairing *pairing, bool *is);
/* Sets *is to whether folder `name` in `path` is a folder of masks: it has such a name and holds masks, and a folder of
 * pictures lies beside it. */
mica_status mica__pairs_is_folder(const char *path, const char *name, const mica__pairing *pairing, bool *is);
/* Fills zeroed pairs in the order of names; they must be freed, also after a failure. MICA_E_FORMAT if there are no
 * pairs, if a file has no partner, or if two names differ only in their endings; the message names the files. */
mica_status mica__pairs_find(const char *path, const mica__pairing *pairing, mica__pairs *pairs);
/* Explains why the folder of a picture has no pairs. If there is a folder of masks beside it, but none of its files has
 * a type that can be read, fails with MICA_E_FORMAT, and the message names that folder. Otherwise returns MICA_OK. */
mica_status mica__pairs_check_types(const char *picture, const mica__pairing *pairing);
void mica__pairs_free(mica__pairs *pairs);

#endif
