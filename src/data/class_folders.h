/* data/class_folders.h: files in a folder per class, as pictures and texts are kept. */
#ifndef MICA_DATA_CLASS_FOLDERS_H
#define MICA_DATA_CLASS_FOLDERS_H

#include "base/text.h"
#include "data/dataset.h"

/* The files that are samples. */
typedef struct mica__class_kind {
  bool (*takes)(const char *name);
  const char *samples; /* "pictures" */
  const char *none;    /* "holds no ...", of a folder without such files */
  const char *formats; /* "PNG or JPEG": other files are noted; NULL: they are not */
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
  size_t inner, inner_at; /* files in folders within their class; the first of them */
  size_t empty;           /* folders that hold no samples, which are not classes */
  char *empty_name;       /* the first of them */
} mica__class_files;

/* Lists the files of the folders in `path`, each a class, and of the folders in these. *files is zero before; it has no
 * class if there is no folder. Folders without such files are passed over. With config->like classes are taken by their
 * names. MICA_E_FORMAT: all folders are without such files, a class that config->like lacks, or the classes lie in the
 * only folder or above parts. To be freed also on failure. */
mica_status mica__class_files_read(const char *path, const mica_dataset_config *config, const mica__class_kind *kind,
                                   mica__class_files *files);
/* Adds sentences about files in folders within a class, folders that are not classes, and files of other kinds. */
void mica__class_files_note(const mica__class_files *files, const mica__class_kind *kind, mica__text *summary);
void mica__class_files_free(mica__class_files *files);
/* Adds the column "label" to the store, whose count is set. The labels become the store's. */
mica_status mica__class_files_label(mica__class_files *files, const mica_dataset_config *config, mica__store *store);

/* True for names of folders that are the part (mica__part_is_named). */
bool mica__class_folder_is_part(mica_part part, const char *name, const char *rest);

#endif
