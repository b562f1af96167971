/* data/source.h: formats of datasets. A format is a file with a mica__source, and a row of data/sources.def. */
#ifndef MICA_DATA_SOURCE_H
#define MICA_DATA_SOURCE_H

#include "data/dataset.h"

typedef struct mica__source {
  /* True if what has this name in a folder belongs to the part; rest is mica__part_rest. */
  bool (*is_part)(mica_part part, const char *name, const char *rest);
  /* True if a file is of this format, by its name and its first bytes; NULL: files alone are none. */
  bool (*is_file)(const char *path, const uint8_t *begin, size_t size);
  /* Sets *is if a folder has this format, as a part or as a whole. A folder that the user may not read does not; every
   * other failure is a status, so that no other format takes the folder because memory was short. NULL: no folder has
   * it. */
  mica_status (*is_folder)(const char *path, bool *is);
  /* Like is_folder, for a folder that is named like a part; NULL: is_folder decides. */
  mica_status (*is_part_folder)(const char *path, bool *is);
  bool parts_itself; /* a folder holds all parts: open takes config->part, and says MICA_E_NOT_FOUND for none */
  bool many;         /* a part is all files that belong to it, not the first */
  /* Fills the store from the files or the folder. */
  mica_status (*open)(const char *const *paths, size_t count, const mica_dataset_config *config, mica__store *store);
} mica__source;

#define SOURCE(name) extern const mica__source mica__source_##name;
#include "data/sources.def"
#undef SOURCE

/* --- part_names.c, parts.c --- */

/* What follows the word of the part that a name begins with, in any case: train, training, data_batch; val, valid,
 * validation, dev; test, testing, t10k, eval, evaluation. NULL: it begins with none. */
const char *mica__part_rest(mica_part part, const char *name);
/* True if the name is such a word, or one with "set", "data", "dataset", "split" or "images" after it: test_set. */
bool mica__part_is_named(mica_part part, const char *name);
/* True if such a word stands anywhere in the name: seg_train, run2-test. */
bool mica__part_is_meant(mica_part part, const char *name);
bool mica__is_part_name(const char *name);
/* Finds the file in a folder that has a name of the part before the ending, as ".tsv"; the longest name of several.
 * *path is the caller's to free; NULL: there is none. */
mica_status mica__part_find_file(const char *folder, mica_part part, const char *ending, char **path);
/* MICA_E_FORMAT for two files or folders of one part: *found, the path of the first, and another name beside it. */
mica_status mica__part_refuse_two(const char *folder, mica_part part, const char *found, const char *name);
/* Names the folders in `folder` in the summary that are no path of `used`: of each part, NULL for none. */
mica_status mica__parts_note_unused(mica__store *store, const char *folder, char *const used[3]);

/* --- path.c --- */

/* True if the name ends so, before ".gz" where it has that. */
bool mica__name_ends(const char *name, const char *ending);
/* "FOLDER/NAME" */
mica_status mica__path_join(const char *folder, const char *name, char **path);
/* "FOLDER/A", or "FOLDER/A/B" unless b is NULL */
mica_status mica__path_join_two(const char *folder, const char *a, const char *b, char **path);
/* True if there is a folder, or an ordinary file, of that path. */
bool mica__is_folder(const char *path);
bool mica__is_file(const char *path);
/* A folder that is being read, and those that it lies in. */
typedef struct mica__folder_level {
  const struct mica__folder_level *above;
  uint64_t device, number;
  int depth; /* 0: the first */
} mica__folder_level;
/* Begins with a folder within `above` (NULL: the first). False if it lies in itself by a link, or 32 levels deep. */
bool mica__folder_enter(const char *path, const mica__folder_level *above, mica__folder_level *here);

#endif
