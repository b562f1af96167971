/* data/annotation/pairs.h: a folder of files and a folder of masks beside it: images/NAME.png, masks/NAME.png; or files
 * and masks in one folder: NAME.nii.gz, NAME_mask.nii.gz. */
#ifndef MICA_DATA_ANNOTATION_PAIRS_H
#define MICA_DATA_ANNOTATION_PAIRS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

/* Describes the second file of each pair, such as a depth map. Folders and endings: the names that both folders may
 * have and the endings that the file's name may have, each list with a NULL at its end. what, mark, types: words for
 * messages, such as "depth map", "depth" and ".png or .npy" (types NULL: those of the pairing). */
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
/* In what follows, "masks" are files of pairing->with, if that is set.
 *
 * *is: the folder has both folders, and masks of this kind; or files with their masks, if pairing->together. */
mica_status mica__pairs_are_in(const char *path, const mica__pairing *pairing, bool *is);
/* *is: a folder in path has this name, holds masks, and a folder of pictures lies beside it. */
mica_status mica__pairs_is_folder(const char *path, const char *name, const mica__pairing *pairing, bool *is);
/* Fills zeroed pairs in the order of names; they must be freed, also after a failure. MICA_E_FORMAT names a file
 * without a partner. */
mica_status mica__pairs_find(const char *path, const mica__pairing *pairing, mica__pairs *pairs);
/* Explains why the folder of a picture has no pairs. MICA_E_FORMAT names the folder of masks beside it, if there is one
 * without files of a type that is read; MICA_OK: there is none. */
mica_status mica__pairs_check_types(const char *picture, const mica__pairing *pairing);
void mica__pairs_free(mica__pairs *pairs);

#endif
