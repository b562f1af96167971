/* data/class_folders.h: files in one folder per class, as pictures and texts are often stored. */
#ifndef MICA_DATA_CLASS_FOLDERS_H
#define MICA_DATA_CLASS_FOLDERS_H

#include "base/text.h"
#include "data/dataset.h"

/* Which files are samples, and what messages call them. */
typedef struct mica__class_kind {
  bool (*takes)(const char *name);
  const char *samples; /* "pictures" */
  const char *none;    /* "holds no ...", the message for a folder without such files */
  const char *formats; /* "PNG or JPEG": other files are counted and mentioned; NULL: they are not */
} mica__class_kind;

/* The most file names that are kept of files that are not samples. */
#define MICA__NAMED_UNUSED 5

/* The files of all classes in the order of names, and their classes. */
typedef struct mica__class_files {
  char **files;
  int32_t *labels;
  size_t count, capacity;
  char **names; /* of the classes, printable */
  int32_t classes;
  /* unused: files that are not samples (counted only if mica__class_kind.formats is set) and folders that are not
   * searched; unused_names: the paths of the first of them. */
  size_t unused;
  char *unused_names[MICA__NAMED_UNUSED];
  size_t inner, inner_at; /* how many files are in folders within their class; the index of the first one */
  size_t empty;           /* folders without samples, which are not classes */
  char *empty_name;       /* the first of them */
} mica__class_files;

/* Lists the files of the folders in `path`, each of which is a class, and of the folders within these. *files is zeroed
 * before; it has no class if there are no folders. Folders without such files are skipped. With config->like, classes
 * are matched by name. *files must be freed, also on failure. MICA_E_FORMAT if
 * - there are folders, but none has such files,
 * - config->like lacks one of the classes,
 * - without config->like, the classes are one level too deep, or lie above parts such as "train". */
mica_status mica__class_files_read(const char *path, const mica_dataset_config *config, const mica__class_kind *kind,
                                   mica__class_files *files);
/* Adds sentences about files in folders within a class, folders without samples, files of other kinds and folders that
 * were not searched. */
void mica__class_files_note(const mica__class_files *files, const mica__class_kind *kind, mica__text *summary);
void mica__class_files_free(mica__class_files *files);
/* Adds the column "label" to the store, whose sample count is set. The store takes over the labels. */
mica_status mica__class_files_label(mica__class_files *files, const mica_dataset_config *config, mica__store *store);

/* True for folder names that denote the part (mica__part_is_named). `rest` is not used. */
bool mica__class_folder_is_part(mica_part part, const char *name, const char *rest);

#endif
