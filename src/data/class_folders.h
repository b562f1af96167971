/* data/class_folders.h: files in a folder per class, as pictures and texts are kept. */
#ifndef MICA_DATA_CLASS_FOLDERS_H
#define MICA_DATA_CLASS_FOLDERS_H

#include "data/dataset.h"

/* The files that are samples. */
typedef struct mica__class_kind {
  bool (*takes)(const char *name);
  const char *none;  /* "holds no ...", of a folder without such files */
  bool lists_unused; /* notes the other files */
} mica__class_kind;

/* Most names of files that are not samples. */
#define MICA__NAMED_UNUSED 5

/* The files of all classes in the order of names, and their classes. */
typedef struct mica__class_files {
  char **files;
  int32_t *labels;
  size_t count, capacity;
  char **names; /* of the classes, printable */
  int32_t classes;
  size_t unused; /* files in the folders that are not samples, if their kind lists them; the first of their paths */
  char *unused_names[MICA__NAMED_UNUSED];
} mica__class_files;

/* Lists the files of the folders in `path`, each a class. *files is zero before; it has no class if there is no folder.
 * With config->like classes are taken by their names. MICA_E_FORMAT: a folder without such files, a class that
 * config->like lacks. To be freed also on failure. */
mica_status mica__class_files_read(const char *path, const mica_dataset_config *config, const mica__class_kind *kind,
                                   mica__class_files *files);
void mica__class_files_free(mica__class_files *files);
/* Adds the column "label" to the store, whose count is set. The labels become the store's. */
mica_status mica__class_files_label(mica__class_files *files, const mica_dataset_config *config, mica__store *store);

/* True for names of folders that are a part: "train", "val", "validation", "test". */
bool mica__class_folder_is_part(mica_part part, const char *name, const char *rest);

#endif
