/* Files in one folder per class, and in folders within it. */
#include "data/class_folders.h"

#include "data/source.h"

#include <stdlib.h>
#include <string.h>

void mica__class_files_free(mica__class_files *f) {
  for (size_t i = 0; i < f->count; i++) free(f->files[i]);
  for (int32_t i = 0; i < f->classes; i++) free(f->names[i]);
  for (size_t i = 0; i < MICA__NAMED_UNUSED; i++) free(f->unused_names[i]);
  free(f->empty_name);
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

static void note_unused(mica__class_files *f, char *file) {
  if (f->unused < MICA__NAMED_UNUSED)
    f->unused_names[f->unused] = file;
  else
    free(file);
  f->unused++;
}

/* Notes a folder that is not searched: it contains itself through a link, or is too deep (mica__folder_enter). */
static mica_status note_folder(mica__class_files *f, const char *path) {
  char *copy = mica__strdup(path);
  if (!copy) return mica__fail_nomem("names of files");
  note_unused(f, copy);
  return MICA_OK;
}

static mica_status add_sample(mica__class_files *f, char *file, int depth) {
  if (f->count == f->capacity) {
    const mica_status status = grow(f);
    if (status != MICA_OK) free(file);
    MICA_TRY(status);
  }
  if (depth && !f->inner++) f->inner_at = f->count;
  f->labels[f->count] = 0;
  f->files[f->count++] = file;
  return MICA_OK;
}

/* Adds the files in a folder and in the folders within it, in the order of their names. */
static mica_status add_files(mica__class_files *f, const char *path, const mica__class_kind *kind,
                             const mica__folder_level *above) {
  mica__names names;
  mica__folder_level here;
  if (!mica__folder_enter(path, above, &here)) return note_folder(f, path);
  MICA_TRY(mica__names_read(path, &names));
  mica_status status = MICA_OK;
  for (size_t i = 0; status == MICA_OK && i < names.count; i++) {
    char *file = NULL;
    status = mica__path_join(path, names.names[i], &file);
    if (status != MICA_OK) break;
    if (kind->takes(names.names[i])) {
      status = add_sample(f, file, here.depth);
    } else if (mica__is_folder(file)) {
      status = add_files(f, file, kind, &here);
      free(file);
    } else if (kind->formats) {
      note_unused(f, file);
    } else {
      free(file);
    }
  }
  mica__names_free(&names);
  return status;
}

/* The class of a folder: the next number, or the number of its name in config->like. */
static mica_status class_of(const mica_dataset_config *config, const char *path, const char *name, int32_t next,
                            int32_t *label) {
  *label = config->like ? mica__config_class_of(config, name) : next;
  if (*label >= 0) return MICA_OK;
  return mica__fail(MICA_E_FORMAT, "the folder %s holds a class \"%s\", which the training part does not have", path,
                    name);
}

/* Adds the files of one class. A folder without any is not a class. */
static mica_status add_class(mica__class_files *f, const char *path, const char *name, const char *folder,
                             const mica_dataset_config *config, const mica__class_kind *kind) {
  const size_t before = f->count;
  int32_t label = 0;
  MICA_TRY(add_files(f, folder, kind, NULL));
  if (f->count == before) {
    if (!f->empty++ && !(f->empty_name = mica__strdup(folder))) return mica__fail_nomem("names of classes");
    return MICA_OK;
  }
  char *printable = mica__name_printable(name);
  mica_status status =
      printable ? class_of(config, path, printable, f->classes, &label) : mica__fail_nomem("names of classes");
  for (size_t i = before; i < f->count; i++) f->labels[i] = label;
  f->names[f->classes++] = printable;
  return status;
}

/* --- folders that are one level too high or too low --- */

/* Lists the names of the first five folders in a folder. *train becomes true if any folder, also a later one, is named
 * like a training part. */
static mica_status list_folders(const char *path, mica__text *list, bool *train) {
  mica__names names;
  size_t count = 0;
  MICA_TRY(mica__names_read(path, &names));
  mica_status status = MICA_OK;
  for (size_t i = 0; status == MICA_OK && i < names.count; i++) {
    char *folder = NULL;
    status = mica__path_join(path, names.names[i], &folder);
    if (status == MICA_OK && mica__is_folder(folder)) {
      if (count++ < MICA__NAMED_UNUSED) mica__text_addf(list, count > 1 ? ", %s" : "%s", names.names[i]);
      *train = *train || mica__part_is_named(MICA_PART_TRAIN, names.names[i]);
    }
    free(folder);
  }
  if (count > MICA__NAMED_UNUSED) mica__text_add(list, ", ...");
  mica__names_free(&names);
  return status == MICA_OK ? mica__text_status(list) : status;
}

static bool has_own_files(const mica__class_files *f, size_t from, const char *folder) {
  const size_t n = strlen(folder);
  for (size_t i = from; i < f->count; i++)
    if (!strncmp(f->files[i], folder, n) && f->files[i][n] == '/' && !strchr(f->files[i] + n + 1, '/')) return true;
  return false;
}

/* Refuses a class whose files are all in folders within it, if it is the only class or if one of these folders is named
 * like a training part. */
static mica_status check_level(const mica__class_files *f, const char *path, const char *name) {
  mica__text list = {0};
  char *folder = NULL;
  bool train = false;
  MICA_TRY(mica__path_join(path, name, &folder));
  mica_status status = list_folders(folder, &list, &train);
  if (status == MICA_OK && f->classes == 1)
    status = mica__fail(
        MICA_E_FORMAT,
        "only one folder of %s holds samples: %s, with the folders %s; if these are the classes or parts, use %s", path,
        f->names[0], list.data, folder);
  else if (status == MICA_OK && train)
    status = mica__fail(MICA_E_FORMAT, "the folder %s holds %s: parts must lie above the classes, as in %s/train/%s",
                        folder, list.data, path, name);
  mica__text_free(&list);
  free(folder);
  return status;
}

/* Refuses folders that are named like different parts, such as seg_train and seg_test, and contain only folders. */
static mica_status check_meant(const char *path, const mica__names *names, const bool *deep) {
  const char *named[3] = {NULL, NULL, NULL};
  size_t parts = 0;
  for (size_t i = 0; i < names->count; i++)
    for (int part = 0; deep[i] && part < 3; part++) {
      if (named[part] || !mica__part_is_meant((mica_part)part, names->names[i])) continue;
      named[part] = names->names[i];
      parts++;
      break;
    }
  if (parts < 2) return MICA_OK;
  const char *first = named[0] ? named[0] : named[1];
  return mica__fail(MICA_E_FORMAT,
                    "the folders %s and %s of %s look like parts of the data, not like classes; name parts train, val "
                    "and test, with a folder per class in each",
                    first, named[2] ? named[2] : named[1], path);
}

/* Adds the files of one class, the folder `name` in `path`. *deep becomes true if all of them are in folders within
 * it. */
static mica_status read_class(mica__class_files *f, const char *path, const char *name,
                              const mica_dataset_config *config, const mica__class_kind *kind, bool *deep) {
  char *folder = NULL;
  const size_t before = f->count;
  MICA_TRY(mica__path_join(path, name, &folder));
  mica_status status = mica__is_folder(folder) ? add_class(f, path, name, folder, config, kind) : MICA_OK;
  *deep = status == MICA_OK && f->count > before && !has_own_files(f, before, folder);
  free(folder);
  return status;
}

mica_status mica__class_files_read(const char *path, const mica_dataset_config *config, const mica__class_kind *kind,
                                   mica__class_files *f) {
  mica__names names;
  MICA_TRY(mica__names_read(path, &names));
  f->names = calloc(names.count + 1, sizeof *f->names);
  bool *deep = calloc(names.count + 1, sizeof *deep);
  mica_status status = f->names && deep ? MICA_OK : mica__fail_nomem("names of classes");
  for (size_t i = 0; status == MICA_OK && i < names.count; i++)
    status = read_class(f, path, names.names[i], config, kind, &deep[i]);
  if (status == MICA_OK && !config->like) status = check_meant(path, &names, deep);
  for (size_t i = 0; status == MICA_OK && !config->like && i < names.count; i++)
    if (deep[i]) status = check_level(f, path, names.names[i]);
  free(deep);
  mica__names_free(&names);
  if (status == MICA_OK && f->empty && !f->classes)
    return mica__fail(MICA_E_FORMAT,
                      f->unused ? "the folder %s %s; there are other files, such as %s" : "the folder %s %s",
                      f->empty_name, kind->none, f->unused ? f->unused_names[0] : "");
  return status;
}

void mica__class_files_note(const mica__class_files *f, const mica__class_kind *kind, mica__text *summary) {
  if (f->inner)
    mica__text_addf(summary, "%s%zu of %zu %s lie in folders within their class, such as %s",
                    summary->length ? "; " : "", f->inner, f->count, kind->samples, f->files[f->inner_at]);
  if (f->empty)
    mica__text_addf(summary, "%s%zu folder%s no %s and %s not %s: %s%s", summary->length ? "; " : "", f->empty,
                    f->empty == 1 ? " holds" : "s hold", kind->samples, f->empty == 1 ? "is" : "are",
                    f->empty == 1 ? "a class" : "classes", f->empty_name, f->empty > 1 ? ", ..." : "");
  if (!f->unused) return;
  if (!kind->formats) /* then only folders are noted */
    mica__text_addf(summary, "%s%zu folder%s not searched, because a link leads back or the path is too deep: ",
                    summary->length ? "; " : "", f->unused, f->unused == 1 ? " is" : "s are");
  else
    mica__text_addf(summary, "%s%zu file%s not %s and %s not used: ", summary->length ? "; " : "", f->unused,
                    f->unused == 1 ? " is" : "s are", kind->formats, f->unused == 1 ? "is" : "are");
  for (size_t i = 0; i < MICA__NAMED_UNUSED && f->unused_names[i]; i++)
    mica__text_addf(summary, i ? ", %s" : "%s", f->unused_names[i]);
  if (f->unused > MICA__NAMED_UNUSED) mica__text_add(summary, ", ...");
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
  (void)rest;
  return mica__part_is_named(part, name);
}
