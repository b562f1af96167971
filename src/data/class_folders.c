/* Files in a folder per class. */
#include "data/class_folders.h"

#include "data/source.h"

#include <stdlib.h>
#include <string.h>

void mica__class_files_free(mica__class_files *f) {
  for (size_t i = 0; i < f->count; i++) free(f->files[i]);
  for (int32_t i = 0; i < f->classes; i++) free(f->names[i]);
  for (size_t i = 0; i < MICA__NAMED_UNUSED; i++) free(f->unused_names[i]);
  free(f->files);
  free(f->labels);
  free(f->names);
  *f = (mica__class_files){0};
}

static mica_status grow(mica__class_files *f) {
  const size_t capacity = f->capacity ? f->capacity * 2 : 256;
  char **files = realloc(f->files, capacity * sizeof *files);
  if (files) f->files = files;
  int32_t *labels = files ? realloc(f->labels, capacity * sizeof *labels) : NULL;
  if (!labels) return mica__fail_nomem("names of files");
  f->labels = labels;
  f->capacity = capacity;
  return MICA_OK;
}

/* Counts a file that is not a sample; a folder is not a file. */
static mica_status note_unused(mica__class_files *f, const char *path, const char *name) {
  char *file = NULL;
  MICA_TRY(mica__path_join(path, name, &file));
  const bool folder = mica__is_folder(file);
  if (!folder && f->unused < MICA__NAMED_UNUSED)
    f->unused_names[f->unused] = file;
  else
    free(file);
  f->unused += !folder;
  return MICA_OK;
}

/* Adds the files of one class. */
static mica_status add_class(mica__class_files *f, const char *path, const mica__class_kind *kind, int32_t label) {
  mica__names names;
  MICA_TRY(mica__names_read(path, &names));
  mica_status status = MICA_OK;
  const size_t before = f->count;
  for (size_t i = 0; status == MICA_OK && i < names.count; i++) {
    char *file = NULL;
    if (!kind->takes(names.names[i])) {
      if (kind->lists_unused) status = note_unused(f, path, names.names[i]);
      continue;
    }
    if (f->count == f->capacity) status = grow(f);
    if (status == MICA_OK) status = mica__path_join(path, names.names[i], &file);
    if (status != MICA_OK) break;
    f->labels[f->count] = label;
    f->files[f->count++] = file;
  }
  mica__names_free(&names);
  if (status == MICA_OK && f->count == before) return mica__fail(MICA_E_FORMAT, "the folder %s %s", path, kind->none);
  return status;
}

/* The class of a folder: the next number, or the number of its name in config->like. */
static mica_status class_of(const mica_dataset_config *config, const char *path, const char *name, int32_t next,
                            int32_t *label) {
  *label = config->like ? mica__config_class_of(config, name) : next;
  if (*label >= 0) return MICA_OK;
  return mica__fail(MICA_E_FORMAT, "%s: the label \"%s\" is out of range: no class has this name", path, name);
}

mica_status mica__class_files_read(const char *path, const mica_dataset_config *config, const mica__class_kind *kind,
                                   mica__class_files *f) {
  mica__names names;
  MICA_TRY(mica__names_read(path, &names));
  f->names = calloc(names.count + 1, sizeof *f->names);
  mica_status status = f->names ? MICA_OK : mica__fail_nomem("names of classes");
  for (size_t i = 0; status == MICA_OK && i < names.count; i++) {
    char *folder = NULL;
    int32_t label = 0;
    status = mica__path_join(path, names.names[i], &folder);
    if (status == MICA_OK && mica__is_folder(folder)) {
      char *name = mica__name_printable(names.names[i]);
      status = name ? class_of(config, path, name, f->classes, &label) : mica__fail_nomem("names of classes");
      if (status == MICA_OK) status = add_class(f, folder, kind, label);
      f->names[f->classes++] = name;
    }
    free(folder);
  }
  mica__names_free(&names);
  return status;
}

mica_status mica__class_files_label(mica__class_files *f, const mica_dataset_config *config, mica__store *store) {
  int32_t *labels = f->labels;
  const int32_t known = mica__config_classes(config);
  f->labels = NULL;
  MICA_TRY(mica__store_add_labels(store, labels, known ? known : f->classes));
  if (config->like) return MICA_OK;
  return mica__column_name_classes(mica__store_find(store, "label"), (const char *const *)f->names, f->classes);
}

bool mica__class_folder_is_part(mica_part part, const char *name, const char *rest) {
  return rest && (!*rest || (part == MICA_PART_VALIDATION && !strcmp(name, "validation")));
}
