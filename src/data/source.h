/* data/source.h: formats of datasets. A format is a file with a mica__source, and a row of data/sources.def. */
#ifndef MICA_DATA_SOURCE_H
#define MICA_DATA_SOURCE_H

#include "data/dataset.h"

typedef struct mica__source {
  /* True if what has this name in a folder belongs to the part; rest is what follows the part's word in it ("train",
   * "data_batch", "val", "test", "t10k"), NULL if the name begins with none. */
  bool (*is_part)(mica_part part, const char *name, const char *rest);
  /* True if a file is of this format, by its name and its first bytes; NULL: files alone are none. */
  bool (*is_file)(const char *path, const uint8_t *begin, size_t size);
  /* Sets *is if a folder has this format, as a part or as a whole. A folder that the user may not read does not; every
   * other failure is a status, so that no other format takes the folder because memory was short. NULL: no folder has
   * it. */
  mica_status (*is_folder)(const char *path, bool *is);
  bool parts_itself; /* a folder holds all parts: open takes config->part, and says MICA_E_NOT_FOUND for none */
  bool many;         /* a part is all files that belong to it, not the first */
  /* Fills the store from the files or the folder. */
  mica_status (*open)(const char *const *paths, size_t count, const mica_dataset_config *config, mica__store *store);
} mica__source;

#define SOURCE(name) extern const mica__source mica__source_##name;
#include "data/sources.def"
#undef SOURCE

/* True if the name ends so, before ".gz" where it has that. */
bool mica__name_ends(const char *name, const char *ending);
/* "FOLDER/NAME" */
mica_status mica__path_join(const char *folder, const char *name, char **path);
/* "FOLDER/A", or "FOLDER/A/B" unless b is NULL */
mica_status mica__path_join_two(const char *folder, const char *a, const char *b, char **path);
/* True if there is a folder, or an ordinary file, of that path. */
bool mica__is_folder(const char *path);
bool mica__is_file(const char *path);

#endif
