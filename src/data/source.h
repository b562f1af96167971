/* data/source.h: formats of datasets. A format is a file with a mica__source, and a row of data/sources.def. */
#ifndef MICA_DATA_SOURCE_H
#define MICA_DATA_SOURCE_H

#include "data/dataset.h"

typedef struct mica__source {
  /* True if an entry of a folder with this name belongs to the part; rest: see mica__part_rest. */
  bool (*is_part)(mica_part part, const char *name, const char *rest);
  /* True if a file has this format, judged by its name and first bytes; NULL: single files never have it. */
  bool (*is_file)(const char *path, const uint8_t *begin, size_t size);
  /* Sets *is to whether a folder has this format, as a part or as a whole; false if the user may not read the folder.
   * All other failures are returned, so that no other format takes the folder when memory is short. NULL: folders never
   * have this format. */
  mica_status (*is_folder)(const char *path, bool *is);
  /* Like is_folder, for a folder named like a part; NULL: is_folder decides. */
  mica_status (*is_part_folder)(const char *path, bool *is);
  bool parts_itself; /* one folder holds all parts: open reads config->part, or fails with MICA_E_NOT_FOUND */
  bool many;         /* a part consists of all files that belong to it; false: only of the first of them */
  /* Fills the store from the files or the folder. */
  mica_status (*open)(const char *const *paths, size_t count, const mica_dataset_config *config, mica__store *store);
} mica__source;

#define SOURCE(name) extern const mica__source mica__source_##name;
#include "data/sources.def"
#undef SOURCE

/* --- part_names.c, parts.c --- */

/* Returns the rest of a name after the word for the part with which the name begins; NULL: it begins with no such word.
 * Letters may be capitals. No letter may follow the words marked with *:
 * - training*, train, data_batch
 * - validation, valid, val, dev*
 * - testing*, test, t10k, evaluation*, eval* */
const char *mica__part_rest(mica_part part, const char *name);
/* True if the name is such a word, alone or with "set", "data", "dataset", "split" or "images" after it: test_set. */
bool mica__part_is_named(mica_part part, const char *name);
/* True if such a word is anywhere in the name, without a letter before or after it: seg_train, run2-test. */
bool mica__part_is_meant(mica_part part, const char *name);
bool mica__is_part_name(const char *name);
/* Finds the file of a part in a folder: a word for the part with this ending, such as train.tsv. If there are several,
 * takes the longest name. The caller frees *path; NULL: there is none. */
mica_status mica__part_find_file(const char *folder, mica_part part, const char *ending, char **path);
/* Refuses a second file or folder of a part with MICA_E_FORMAT. `found` is the path of the first one, `name` the name
 * of the second. */
mica_status mica__part_refuse_two(const char *folder, mica_part part, const char *found, const char *name);
/* Adds to the summary the names of those folders in `folder` that are no part. used[] has the paths of the parts, NULL
 * for missing ones. */
mica_status mica__parts_note_unused(mica__store *store, const char *folder, char *const used[3]);

/* --- path.c --- */

/* True if the name has this ending; ".gz" at the end of the name is ignored. */
bool mica__name_ends(const char *name, const char *ending);
/* Makes the path "FOLDER/NAME", which the caller frees. A slash at the end of the folder is not doubled. */
mica_status mica__path_join(const char *folder, const char *name, char **path);
/* Makes the path "FOLDER/A" or, unless b is NULL, "FOLDER/A/B", which the caller frees. */
mica_status mica__path_join_two(const char *folder, const char *a, const char *b, char **path);
/* True if a folder, or an ordinary file, exists at that path. */
bool mica__is_folder(const char *path);
bool mica__is_file(const char *path);
/* A folder that is being read, and the folders that contain it. */
typedef struct mica__folder_level {
  const struct mica__folder_level *above;
  uint64_t device, number;
  int depth; /* 0: the first */
} mica__folder_level;
/* Enters a folder within `above` (NULL: the first). False if the folder contains itself through a link, or is 32 levels
 * deep. */
bool mica__folder_enter(const char *path, const mica__folder_level *above, mica__folder_level *here);

#endif
