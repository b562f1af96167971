/* Opens datasets: recognises the format of the file or folder at a path. */
#include "data/sound/sound.h"
#include "data/source.h"
#include "data/table/table.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define FASHION_MNIST "fashion-mnist"
#define FASHION_MNIST_PATH "/usr/share/datasets/fashion-mnist"

/* How many bytes at the beginning of a file identify its format. */
#define FIRST_BYTES 512

static const char *const fashion_names[10] = {"T-shirt/top", "trouser", "pullover", "dress", "coat",
                                              "sandal",      "shirt",   "sneaker",  "bag",   "ankle boot"};

static const mica__source *const sources[] = {
#define SOURCE(name) &mica__source_##name,
#include "data/sources.def"
#undef SOURCE
};
#define SOURCES (sizeof sources / sizeof *sources)

static mica_status is_folder_of(const mica__source *source, const char *path, bool *is) {
  *is = false;
  return source->is_folder ? source->is_folder(path, is) : MICA_OK;
}

static mica_status is_part_folder_of(const mica__source *source, const char *path, bool *is) {
  return source->is_part_folder ? source->is_part_folder(path, is) : is_folder_of(source, path, is);
}

/* True if the name says nothing but a part. For a folder, mica__part_is_named decides. For a file, the name before the
 * first dot must be a word for the part, as in train.csv or, with the "x_" of arrays, x_train.npy. */
static bool is_word(mica_part part, const char *name, bool folder) {
  char stem[64];
  const size_t length = strcspn(name, ".");
  if (folder) return mica__part_is_named(part, name);
  if (length >= sizeof stem) return false;
  memcpy(stem, name, length);
  stem[length] = '\0';
  const bool array = length > 2 && (stem[0] == 'x' || stem[0] == 'X') && stem[1] == '_';
  const char *rest = mica__part_rest(part, array ? stem + 2 : stem);
  return rest && !*rest;
}

/* Refuses a second folder or file of a part under another name. Names that differ only in endings, such as train.csv
 * and train.csv.gz, or that say more, such as test_ids.csv, are not second parts. */
static mica_status check_second(mica_part part, const char *folder, const char *found, const char *path) {
  const char *first = strrchr(found, '/') + 1, *name = strrchr(path, '/') + 1;
  const bool folders = mica__is_folder(path),
             same = strcspn(first, ".") == strcspn(name, ".") && !strncasecmp(first, name, strcspn(name, "."));
  if (folders != mica__is_folder(found) || (!folders && same)) return MICA_OK;
  if (!is_word(part, first, folders) || !is_word(part, name, folders)) return MICA_OK;
  return mica__part_refuse_two(folder, part, found, name);
}

/* The paths of a part in a folder; the caller frees each. */
static mica_status find_part(const mica__source *source, mica_part part, const char *folder, const mica__names *names,
                             char **paths, size_t *count) {
  for (size_t i = 0; i < names->count; i++) {
    char *path = NULL;
    if (!source->is_part(part, names->names[i], mica__part_rest(part, names->names[i]))) continue;
    MICA_TRY(mica__path_join(folder, names->names[i], &path));
    bool is = source->is_file != NULL;
    mica_status status = mica__is_folder(path) ? is_part_folder_of(source, path, &is) : MICA_OK;
    const bool second = is && *count && !source->many;
    if (second) status = check_second(part, folder, paths[0], path);
    if (status != MICA_OK || !is || second) {
      free(path);
      MICA_TRY(status);
      continue;
    }
    paths[(*count)++] = path;
  }
  return MICA_OK;
}

static void free_paths(char **paths, size_t *count) {
  while (*count > 0) free(paths[--*count]);
}

/* If the parts are folders, mentions the other folders beside them in the store's summary. */
static mica_status note_folders(const mica__source *source, const char *folder, const mica__names *names,
                                mica__store *store) {
  char *used[3] = {NULL, NULL, NULL};
  mica_status status = MICA_OK;
  bool folders = false;
  if (source->many) return MICA_OK;
  for (int part = 0; status == MICA_OK && part < 3; part++) {
    size_t count = 0;
    status = find_part(source, (mica_part)part, folder, names, &used[part], &count);
    folders = folders || (used[part] && mica__is_folder(used[part]));
  }
  if (status == MICA_OK && folders) status = mica__parts_note_unused(store, folder, used);
  for (int part = 0; part < 3; part++) free(used[part]);
  return status;
}

/* Reports that there is no such part. If a folder is named like the part but does not hold what the other parts hold,
 * the message names it. */
static mica_status refuse_part(mica_part part, const char *folder, const mica__names *names) {
  for (size_t i = 0; i < names->count; i++)
    if (mica__part_is_named(part, names->names[i]))
      return mica__fail(MICA_E_NOT_FOUND, "%s has no %s part: %s/%s does not hold what the other parts hold", folder,
                        mica_part_name(part), folder, names->names[i]);
  return mica__fail(MICA_E_NOT_FOUND, "%s has no %s part", folder, mica_part_name(part));
}

static mica_status open_parts(const char *folder, const mica__names *names, const mica_dataset_config *config,
                              mica__store *store, char **paths, bool *parted) {
  size_t count = 0;
  *parted = true;
  for (size_t k = 0; k < SOURCES; k++)
    for (int part = 0; part < 3; part++) {
      mica_status status = find_part(sources[k], (mica_part)part, folder, names, paths, &count);
      const bool found = count > 0;
      free_paths(paths, &count);
      if (status != MICA_OK) return status;
      if (!found) continue;
      status = find_part(sources[k], config->part, folder, names, paths, &count);
      if (status == MICA_OK && count == 0) status = refuse_part(config->part, folder, names);
      if (status == MICA_OK) status = sources[k]->open((const char *const *)paths, count, config, store);
      free_paths(paths, &count);
      return status == MICA_OK ? note_folders(sources[k], folder, names, store) : status;
    }
  *parted = false;
  return MICA_OK;
}

/* Reads the first bytes of a file, unpacked; fewer if it is shorter. */
static mica_status read_first(const char *path, uint8_t *bytes, size_t *size) {
  const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return mica__fail(MICA_E_IO, "cannot read %s: %s", path, strerror(errno));
  const ssize_t got = pread(file, bytes, FIRST_BYTES, 0);
  const int error = errno;
  close(file);
  if (got < 0) return mica__fail(MICA_E_IO, "cannot read %s: %s", path, strerror(error));
  *size = (size_t)got;
  if (*size < 2 || bytes[0] != 0x1f || bytes[1] != 0x8b) return MICA_OK;
  uint8_t *content = NULL;
  size_t whole = 0;
  MICA_TRY(mica__content_read(path, &content, &whole));
  *size = whole < FIRST_BYTES ? whole : FIRST_BYTES;
  memcpy(bytes, content, *size);
  free(content);
  return MICA_OK;
}

static mica_status read_file(const char *path, const mica_dataset_config *config, mica__store *store) {
  uint8_t bytes[FIRST_BYTES];
  size_t size = 0;
  if (config->part != MICA_PART_TRAIN)
    return mica__fail(MICA_E_NOT_FOUND, "%s has no %s part, because it is not divided into parts", path,
                      mica_part_name(config->part));
  MICA_TRY(read_first(path, bytes, &size));
  for (size_t k = 0; k < SOURCES; k++)
    if (sources[k]->is_file && sources[k]->is_file(path, bytes, size)) return sources[k]->open(&path, 1, config, store);
  return mica__fail(MICA_E_FORMAT, "%s is not in a data format that Mica reads", path);
}

/* The only file of a folder that contains nothing else except a licence and a README; NULL with MICA_OK for other
 * folders. */
static mica_status only_file(const char *folder, const mica__names *names, char **path) {
  const char *only = NULL;
  for (size_t i = 0; i < names->count; i++) {
    const char *name = names->names[i];
    if (!strncmp(name, "LICENSE", 7) || !strncasecmp(name, "readme", 6)) continue;
    if (only) return MICA_OK;
    only = name;
  }
  if (!only) return MICA_OK;
  MICA_TRY(mica__path_join(folder, only, path));
  if (!mica__is_folder(*path)) return MICA_OK;
  free(*path);
  *path = NULL;
  return MICA_OK;
}

static mica_status read_folder(const char *path, const mica_dataset_config *config, mica__store *store) {
  mica__names names;
  bool parted = false;
  char *only = NULL;
  for (size_t k = 0; k < SOURCES; k++) {
    bool is = false;
    if (sources[k]->parts_itself) MICA_TRY(is_folder_of(sources[k], path, &is));
    if (is) return sources[k]->open(&path, 1, config, store);
  }
  MICA_TRY(mica__names_read(path, &names));
  char **paths = calloc(names.count + 1, sizeof *paths);
  mica_status status = paths ? MICA_OK : mica__fail_nomem(path);
  if (status == MICA_OK && names.count == 0)
    status = mica__fail(MICA_E_FORMAT, "the folder %s is empty, or has only hidden files", path);
  if (status == MICA_OK) status = open_parts(path, &names, config, store, paths, &parted);
  free(paths);
  if (status == MICA_OK && !parted) status = only_file(path, &names, &only);
  mica__names_free(&names);
  if (status != MICA_OK || parted) return status;
  if (only) {
    status = read_file(only, config, store);
    free(only);
    return status;
  }
  if (config->part != MICA_PART_TRAIN)
    return mica__fail(MICA_E_NOT_FOUND, "%s has no %s part, because it is not divided into parts", path,
                      mica_part_name(config->part));
  for (size_t k = 0; k < SOURCES; k++) {
    bool is = false;
    MICA_TRY(is_folder_of(sources[k], path, &is));
    if (is) return sources[k]->open(&path, 1, config, store);
  }
  return mica__fail(MICA_E_FORMAT, "the folder %s holds no data in a format that Mica reads", path);
}

static mica_status check_like(const mica__store *store, const mica_dataset_config *config) {
  char a[MICA_SHAPE_TEXT], b[MICA_SHAPE_TEXT];
  const mica__column *known = config->like ? mica__store_input(config->like->store) : NULL;
  const mica__column *found = known ? mica__store_find(store, known->about.name) : NULL;
  if (!known || (found && mica_shape_equal(found->about.shape, known->about.shape))) return MICA_OK;
  if (!found)
    return mica__fail(MICA_E_FORMAT, "%s has no column \"%s\", but the data of training have one", store->name,
                      known->about.name);
  return mica__fail(MICA_E_FORMAT, "%s holds inputs of shape %s, but the data of training have the shape %s",
                    store->name, mica_shape_format(found->about.shape, a), mica_shape_format(known->about.shape, b));
}

static mica_status name_labels(mica__store *store, const char *const *names, int32_t count) {
  mica__column *label = mica__store_find(store, "label");
  return label && !label->class_names ? mica__column_name_classes(label, names, count) : MICA_OK;
}

/* Names classes if the files do not: as in Fashion-MNIST, or as in config->like. */
static mica_status name_classes(const char *path, mica__store *store, const mica_dataset_config *config) {
  const mica__column *known = config->like ? mica__store_label(config->like->store) : NULL;
  if (known && known->class_names)
    MICA_TRY(name_labels(store, (const char *const *)known->class_names, known->about.classes));
  return strstr(path, FASHION_MNIST) ? name_labels(store, fashion_names, 10) : MICA_OK;
}

static mica_status check_config(const mica_dataset_config *config) {
  if ((unsigned)config->part > MICA_PART_TEST || config->height < 0 || config->height > 32768 || config->width < 0 ||
      config->width > 32768 || (config->channels != 0 && config->channels != 1 && config->channels != 3))
    return mica__fail(MICA_E_INVALID,
                      "mica_dataset_open: part (%d) must be a mica_part, height (%d) and width (%d) 0 to 32768, and "
                      "channels (%d) 0, 1 or 3",
                      (int)config->part, (int)config->height, (int)config->width, (int)config->channels);
  if (config->longest < 0 || config->longest > 32768 || config->rate < 0 || config->rate > MICA__SOUND_RATE)
    return mica__fail(MICA_E_INVALID,
                      "mica_dataset_open: longest (%d) must be 0 to 32768 pixels, and rate (%d) 0 to %d",
                      (int)config->longest, (int)config->rate, MICA__SOUND_RATE);
  if (!(config->depth_scale >= 0) || isinf(config->depth_scale))
    return mica__fail(MICA_E_INVALID, "mica_dataset_open: depth_scale is %g, but must be a finite number of at least 0",
                      config->depth_scale);
  return MICA_OK;
}

mica_status mica__store_finish(const char *name, mica__store *store, const mica_dataset_config *config) {
  MICA_TRY(check_like(store, config));
  return name_classes(name, store, config);
}

mica_status mica_dataset_open(const char *path, const mica_dataset_config *config, mica_dataset **dataset) {
  static const mica_dataset_config none;
  struct stat about;
  if (!path || !dataset) return mica__fail(MICA_E_INVALID, "mica_dataset_open: a pointer is NULL");
  if (!config) config = &none;
  MICA_TRY(check_config(config));
  const char *found = strcmp(path, FASHION_MNIST) ? path : FASHION_MNIST_PATH;
  if (stat(found, &about)) {
    if (found != path)
      return mica__fail(MICA_E_NOT_FOUND, "there is no %s; Debian's package dataset-fashion-mnist installs it", found);
    return mica__fail(MICA_E_NOT_FOUND, "there is no dataset %s, or it cannot be read", path);
  }
  if (!S_ISDIR(about.st_mode) && !S_ISREG(about.st_mode))
    return mica__fail(MICA_E_FORMAT, "%s is neither a file nor a folder", path);
  mica__store *store = NULL;
  MICA_TRY(mica__store_create(path, &store));
  mica_status status = S_ISDIR(about.st_mode) ? read_folder(found, config, store) : read_file(found, config, store);
  if (status == MICA_OK) status = check_like(store, config);
  if (status == MICA_OK) status = name_classes(found, store, config);
  if (status == MICA_OK) status = mica__store_note_alpha(store);
  if (status == MICA_OK) return mica__dataset_of(store, dataset);
  mica__store_release(store);
  return status;
}
