/* Folders of pictures, one folder a class. */
#include "base/text.h"
#include "data/dataset.h"
#include "data/image.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool is_folder(const char *path) {
  struct stat about;
  return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

/* Doubles the capacity of files and labels. */
static mica_status grow(mica__store *store, size_t *capacity) {
  *capacity = *capacity ? *capacity * 2 : 256;
  char **files = realloc(store->files, *capacity * sizeof *files);
  if (files) store->files = files;
  int32_t *labels = files ? realloc(store->labels, *capacity * sizeof *labels) : NULL;
  if (!labels) return mica__fail_nomem("the names of pictures");
  store->labels = labels;
  return MICA_OK;
}

/* Adds the pictures of one class. */
static mica_status add_class(mica__store *store, const char *path, int32_t label, size_t *capacity) {
  mica__names names;
  MICA_TRY(mica__names_read(path, &names));
  mica_status status = MICA_OK;
  uint64_t before = store->count;
  for (size_t i = 0; status == MICA_OK && i < names.count; i++) {
    mica__text file = {0};
    if (!mica__image_is_named(names.names[i])) continue;
    if (store->count == *capacity) status = grow(store, capacity);
    mica__text_addf(&file, "%s/%s", path, names.names[i]);
    if (status == MICA_OK) status = mica__text_status(&file);
    if (status != MICA_OK) {
      mica__text_free(&file);
      break;
    }
    store->labels[store->count] = label;
    store->files[store->count++] = file.data;
  }
  mica__names_free(&names);
  if (status == MICA_OK && store->count == before)
    return mica__fail(MICA_E_FORMAT, "the folder %s holds no pictures", path);
  return status;
}

/* The class of a folder: the next number, or that of its name in config->like. */
static mica_status class_of(const mica_dataset_config *config, const char *path, const char *name, int32_t next,
                            int32_t *label) {
  *label = next;
  if (!config->like) return MICA_OK;
  const mica__store *known = config->like->store;
  for (int32_t i = 0; i < known->classes; i++)
    if (!strcmp(known->class_names[i], name)) {
      *label = i;
      return MICA_OK;
    }
  return mica__fail(MICA_E_FORMAT, "%s: the label \"%s\" is out of range: no class has this name", path, name);
}

/* Makes a class of each folder among the names. */
static mica_status add_classes(mica__store *store, const char *path, const mica__names *names,
                               const mica_dataset_config *config) {
  size_t capacity = 0;
  int32_t classes = 0;
  const char **found = calloc(names->count + 1, sizeof *found);
  if (!found) return mica__fail_nomem("names of classes");
  mica_status status = MICA_OK;
  for (size_t i = 0; status == MICA_OK && i < names->count; i++) {
    mica__text folder = {0};
    int32_t label = 0;
    mica__text_addf(&folder, "%s/%s", path, names->names[i]);
    status = mica__text_status(&folder);
    if (status == MICA_OK && is_folder(folder.data)) {
      status = class_of(config, path, names->names[i], classes, &label);
      if (status == MICA_OK) status = add_class(store, folder.data, label, &capacity);
      found[classes++] = names->names[i];
    }
    mica__text_free(&folder);
  }
  if (status == MICA_OK && classes == 0)
    status = mica__fail(MICA_E_FORMAT, "the folder %s holds no folders of pictures", path);
  store->classes = config->like ? config->like->store->classes : classes;
  if (status == MICA_OK && !config->like) status = mica__store_name_classes(store, found, classes);
  free(found);
  return status;
}

/* The shape that pictures are scaled and cropped to. */
static mica_status choose_shape(const mica__store *store, const mica_dataset_config *config, mica_shape *shape) {
  mica_shape first = MICA_SCALAR;
  uint8_t *pixels = NULL;
  if (config->like) {
    *shape = config->like->store->shape;
    return MICA_OK;
  }
  *shape = MICA_SHAPE(config->channels, config->height, config->width);
  if (shape->dim[0] && shape->dim[1] && shape->dim[2]) return MICA_OK;
  MICA_TRY(mica_image_read(store->files[0], MICA_SHAPE(config->channels, 0, 0), &pixels, &first));
  mica_free(pixels);
  for (int i = 0; i < 3; i++)
    if (shape->dim[i] == 0) shape->dim[i] = first.dim[i];
  return MICA_OK;
}

mica_status mica__folder_read(const char *path, const mica_dataset_config *config, mica__store *store) {
  mica__names names;
  mica_shape shape;
  MICA_TRY(mica__names_read(path, &names));
  mica_status status = add_classes(store, path, &names, config);
  mica__names_free(&names);
  if (status == MICA_OK) status = choose_shape(store, config, &shape);
  if (status != MICA_OK) return status;
  if (shape.rank != 3 || (shape.dim[0] != 1 && shape.dim[0] != 3))
    return mica__fail(MICA_E_FORMAT, "%s: what it goes with holds no pictures of 1 or 3 channels", path);
  return mica__store_set_shape(store, store->count, MICA_U8, shape);
}

mica_status mica__folder_input(const mica__store *store, uint64_t stored, uint8_t *input) {
  const char *path = store->files[stored];
  const int32_t channels = (int32_t)store->shape.dim[0], height = (int32_t)store->shape.dim[1],
                width = (int32_t)store->shape.dim[2];
  uint8_t *content = NULL;
  size_t size = 0;
  mica__image image = {0};
  MICA_TRY(mica__content_read(path, &content, &size));
  mica_status status = mica__image_decode(path, content, size, channels, height, width, &image);
  free(content);
  if (status == MICA_OK) status = mica__image_fit(&image, height, width, input);
  free(image.pixels);
  return status;
}
