/* Opens datasets: recognises the kind of what lies at a path. */
#include "base/text.h"
#include "data/dataset.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FASHION_MNIST "fashion-mnist"
#define FASHION_MNIST_PATH "/usr/share/datasets/fashion-mnist"

static const char *const fashion_names[10] = {"T-shirt/top", "trouser", "pullover", "dress", "coat",
                                              "sandal",      "shirt",   "sneaker",  "bag",   "ankle boot"};

/* The beginnings of names of files and folders of each part. */
static const char *const part_words[3][3] = {
    [MICA_PART_TRAIN] = {"train", "data_batch"},
    [MICA_PART_VALIDATION] = {"val"},
    [MICA_PART_TEST] = {"test", "t10k"},
};

/* The kinds of content of a folder, in the order in which they are tried. */
typedef enum kind { IDX, CIFAR, NPY, CSV, PICTURES, KINDS } kind;

static bool ends_in(const char *name, const char *ending) {
  size_t n = strlen(name), m = strlen(ending);
  if (n > 3 && !strcmp(name + n - 3, ".gz")) n -= 3;
  return n >= m && !strncmp(name + n - m, ending, m);
}

/* True if the name is that of this part in a dataset of this kind. */
static bool is_part(kind what, mica_part part, const char *name) {
  for (int i = 0; i < 3 && part_words[part][i]; i++) {
    const char *word = part_words[part][i];
    size_t n = strlen(word);
    const char *rest = strncmp(name, word, n) ? NULL : name + n;
    switch (what) {
    case IDX:
      if (rest && !strncmp(rest, "-images", 7)) return true;
      break;
    case CIFAR:
      if (rest && ends_in(rest, ".bin")) return true;
      break;
    case NPY:
      if ((name[0] == 'x' || name[0] == 'X') && name[1] == '_' && !strncmp(name + 2, word, n) && ends_in(name, ".npy"))
        return true;
      break;
    case CSV:
      if (rest && (ends_in(rest, ".csv") || ends_in(rest, ".tsv"))) return true;
      break;
    default:
      if (rest && (!*rest || (part == MICA_PART_VALIDATION && !strcmp(name, "validation")))) return true;
    }
  }
  return false;
}

static mica_status path_of(const char *folder, const char *name, char **path) {
  mica__text text = {0};
  mica__text_addf(&text, "%s/%s", folder, name);
  MICA_TRY(mica__text_status(&text));
  *path = text.data;
  return MICA_OK;
}

/* Replaces the last `old` of the text by `new` of the same length; false if there is none. */
static bool replace_last(char *text, const char *old, const char *new) {
  char *found = NULL;
  for (char *at = text; (at = strstr(at, old)); at++) found = at;
  if (found) memcpy(found, new, strlen(new)); /* NOLINT(bugprone-not-null-terminated-result) */
  return found != NULL;
}

/* The path of the labels of a file of inputs. */
static mica_status labels_of(const char *path, bool npy, char **labels) {
  char *name = mica__strdup(path);
  if (!name) return mica__fail_nomem(path);
  char *slash = strrchr(name, '/'), *base = slash ? slash + 1 : name;
  bool renamed = false;
  if (npy && (base[0] == 'x' || base[0] == 'X')) {
    base[0] = 'y';
    renamed = true;
  } else if (!npy) {
    renamed = replace_last(base, "images", "labels");
    replace_last(base, "idx3", "idx1");
  }
  if (!renamed) {
    free(name);
    return mica__fail(MICA_E_FORMAT, "%s holds inputs; where their labels are, its name does not say (%s)", path,
                      npy ? "x... for inputs, y... for labels" : "...images... for inputs, ...labels... for labels");
  }
  *labels = name;
  return MICA_OK;
}

static mica_status name_labels(mica__store *store, const char *const *names, int32_t count) {
  mica__column *label = mica__store_find(store, "label");
  return label ? mica__column_name_classes(label, names, count) : MICA_OK;
}

static mica_status parse_array(const char *path, uint8_t *content, size_t size, bool npy, mica__array *array) {
  return npy ? mica__npy_parse(path, content, size, array) : mica__idx_parse(path, content, size, array);
}

/* Reads inputs from their content, which it takes over, and labels from the file that belongs to it. */
static mica_status read_arrays(const char *path, uint8_t *content, size_t size, bool npy,
                               const mica_dataset_config *config, mica__store *store) {
  char *labels_path = NULL;
  uint8_t *labels_content = NULL;
  mica__array inputs = {0}, labels = {0};
  mica_status status = parse_array(path, content, size, npy, &inputs);
  if (status == MICA_OK) status = labels_of(path, npy, &labels_path);
  if (status == MICA_OK) status = mica__content_read(labels_path, &labels_content, &size);
  if (status == MICA_OK) status = parse_array(labels_path, labels_content, size, npy, &labels);
  if (status == MICA_OK)
    status = mica__arrays_join(inputs, content, &labels, config, store);
  else
    free(content);
  if (status == MICA_OK && strstr(path, FASHION_MNIST)) status = name_labels(store, fashion_names, 10);
  free(labels_path);
  free(labels_content);
  return status;
}

static bool is_idx(const uint8_t *content, size_t size) {
  return size >= 4 && !content[0] && !content[1] && content[2] >= 8 && content[2] <= 14 && content[3] >= 1 &&
         content[3] <= MICA_MAX_RANK;
}

static mica_status read_content(const char *path, uint8_t *content, size_t size, const mica_dataset_config *config,
                                mica__store *store) {
  bool npy = size >= 6 && !memcmp(content, "\x93NUMPY", 6);
  if (npy || ends_in(path, ".npy") || is_idx(content, size) || strstr(path, "-idx"))
    return read_arrays(path, content, size, npy || ends_in(path, ".npy"), config, store);
  if (ends_in(path, ".bin")) return mica__cifar_parse(path, content, size, config, store);
  mica_status status = mica__csv_parse(path, (const char *)content, size, config, store);
  free(content);
  return status;
}

static mica_status read_file(const char *path, const mica_dataset_config *config, mica__store *store) {
  uint8_t *content = NULL;
  size_t size = 0;
  MICA_TRY(mica__content_read(path, &content, &size));
  return read_content(path, content, size, config, store);
}

/* Reads CIFAR's files of one part, one after the other into one content. */
static mica_status read_cifar(const char *folder, const mica__names *names, const mica_dataset_config *config,
                              mica__store *store) {
  uint8_t *all = NULL;
  size_t total = 0;
  mica_status status = MICA_OK;
  for (size_t i = 0; status == MICA_OK && i < names->count; i++) {
    char *path = NULL;
    uint8_t *content = NULL, *grown = NULL;
    size_t size = 0;
    if (!is_part(CIFAR, config->part, names->names[i])) continue;
    status = path_of(folder, names->names[i], &path);
    if (status == MICA_OK) status = mica__content_read(path, &content, &size);
    if (status == MICA_OK && !(grown = realloc(all, total + size + 1))) status = mica__fail_nomem(path);
    if (grown) {
      memcpy(grown + total, content, size);
      all = grown;
      total += size;
    }
    free(content);
    free(path);
  }
  if (status == MICA_OK) return mica__cifar_parse(folder, all, total, config, store);
  free(all);
  return status;
}

static mica_status read_part(kind what, const char *folder, const mica__names *names, const mica_dataset_config *config,
                             mica__store *store) {
  if (what == CIFAR) return read_cifar(folder, names, config, store);
  for (size_t i = 0; i < names->count; i++)
    if (is_part(what, config->part, names->names[i])) {
      char *path = NULL;
      MICA_TRY(path_of(folder, names->names[i], &path));
      mica_status status = what == PICTURES ? mica__folder_read(path, config, store) : read_file(path, config, store);
      free(path);
      return status;
    }
  return mica__fail(MICA_E_NOT_FOUND, "%s has no %s part", folder, mica_part_name(config->part));
}

static bool has_part(kind what, mica_part part, const mica__names *names) {
  for (size_t i = 0; i < names->count; i++)
    if (is_part(what, part, names->names[i])) return true;
  return false;
}

static mica_status read_folder(const char *path, const mica_dataset_config *config, mica__store *store) {
  mica__names names;
  MICA_TRY(mica__names_read(path, &names));
  kind what = KINDS;
  for (int k = 0; k < KINDS && what == KINDS; k++)
    for (int part = 0; part < 3; part++)
      if (has_part((kind)k, (mica_part)part, &names)) what = (kind)k;
  mica_status status = MICA_OK;
  if (names.count == 0)
    status = mica__fail(MICA_E_FORMAT, "the folder %s is empty", path);
  else if (what != KINDS && !has_part(what, config->part, &names))
    status = mica__fail(MICA_E_NOT_FOUND, "%s has no %s part", path, mica_part_name(config->part));
  else if (what != KINDS)
    status = read_part(what, path, &names, config, store);
  else if (config->part != MICA_PART_TRAIN)
    status = mica__fail(MICA_E_NOT_FOUND, "%s is not in parts: there is no %s one", path, mica_part_name(config->part));
  else
    status = mica__folder_read(path, config, store);
  mica__names_free(&names);
  return status;
}

static mica_status check_like(const mica__store *store, const mica_dataset_config *config) {
  char a[MICA_SHAPE_TEXT], b[MICA_SHAPE_TEXT];
  const mica__column *known = config->like ? mica__store_input(config->like->store) : NULL;
  const mica__column *found = known ? mica__store_find(store, known->about.name) : NULL;
  if (!known || (found && mica_shape_equal(found->about.shape, known->about.shape))) return MICA_OK;
  if (!found)
    return mica__fail(MICA_E_FORMAT, "%s has no column \"%s\", which what it goes with has", store->name,
                      known->about.name);
  return mica__fail(MICA_E_FORMAT, "%s holds inputs of shape %s, what it goes with %s", store->name,
                    mica_shape_format(found->about.shape, a), mica_shape_format(known->about.shape, b));
}

/* Copies class names from config->like where the files have none. */
static mica_status take_names(mica__store *store, const mica_dataset_config *config) {
  const mica__column *known = config->like ? mica__store_label(config->like->store) : NULL;
  const mica__column *label = mica__store_find(store, "label");
  if (!known || !known->class_names || !label || label->class_names) return MICA_OK;
  return name_labels(store, (const char *const *)known->class_names, known->about.classes);
}

mica_status mica_dataset_open(const char *path, const mica_dataset_config *config, mica_dataset **dataset) {
  static const mica_dataset_config none;
  struct stat about;
  if (!path || !dataset) return mica__fail(MICA_E_INVALID, "mica_dataset_open: a pointer is NULL");
  if (!config) config = &none;
  if ((unsigned)config->part > MICA_PART_TEST || config->height < 0 || config->height > 32768 || config->width < 0 ||
      config->width > 32768 || (config->channels != 0 && config->channels != 1 && config->channels != 3))
    return mica__fail(MICA_E_INVALID, "mica_dataset_open: no such part, or pictures of no such size");
  const char *found = strcmp(path, FASHION_MNIST) ? path : FASHION_MNIST_PATH;
  if (stat(found, &about)) {
    if (found != path)
      return mica__fail(MICA_E_NOT_FOUND, "there is no %s; Debian's package dataset-fashion-mnist brings it", found);
    return mica__fail(MICA_E_NOT_FOUND, "there is no dataset %s", path);
  }
  mica__store *store = NULL;
  MICA_TRY(mica__store_create(path, &store));
  mica_status status = MICA_OK;
  if (S_ISDIR(about.st_mode))
    status = read_folder(found, config, store);
  else if (config->part != MICA_PART_TRAIN)
    status = mica__fail(MICA_E_NOT_FOUND, "%s is not in parts: there is no %s one", path, mica_part_name(config->part));
  else
    status = read_file(found, config, store);
  if (status == MICA_OK) status = check_like(store, config);
  if (status == MICA_OK) status = take_names(store, config);
  if (status == MICA_OK) return mica__dataset_of(store, dataset);
  mica__store_release(store);
  return status;
}
