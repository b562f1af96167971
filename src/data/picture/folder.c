/* Folders of pictures, one folder a class. */
#include "base/text.h"
#include "data/picture/image.h"
#include "data/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The files of a folder's pictures, and what they are brought to; the column's `user`. */
typedef struct pictures {
  char **files;
  int32_t *labels;
  size_t count, capacity;
  int32_t channels, height, width;
} pictures;

static void release_pictures(void *object) {
  pictures *p = object;
  for (size_t i = 0; i < p->count; i++) free(p->files[i]);
  free(p->files);
  free(p->labels);
  free(p);
}

static mica_status grow(pictures *p) {
  const size_t capacity = p->capacity ? p->capacity * 2 : 256;
  char **files = realloc(p->files, capacity * sizeof *files);
  if (files) p->files = files;
  int32_t *labels = files ? realloc(p->labels, capacity * sizeof *labels) : NULL;
  if (!labels) return mica__fail_nomem("the names of pictures");
  p->labels = labels;
  p->capacity = capacity;
  return MICA_OK;
}

/* Adds the pictures of one class. */
static mica_status add_class(pictures *p, const char *path, int32_t label) {
  mica__names names;
  MICA_TRY(mica__names_read(path, &names));
  mica_status status = MICA_OK;
  const size_t before = p->count;
  bool texts = false;
  for (size_t i = 0; status == MICA_OK && i < names.count; i++) {
    mica__text file = {0};
    texts = texts || mica__name_ends(names.names[i], ".txt");
    if (!mica__image_is_named(names.names[i])) continue;
    if (p->count == p->capacity) status = grow(p);
    mica__text_addf(&file, "%s/%s", path, names.names[i]);
    if (status == MICA_OK) status = mica__text_status(&file);
    if (status != MICA_OK) {
      mica__text_free(&file);
      break;
    }
    p->labels[p->count] = label;
    p->files[p->count++] = file.data;
  }
  mica__names_free(&names);
  if (status == MICA_OK && p->count == before && texts)
    return mica__fail(MICA_E_FORMAT,
                      "the folder %s holds texts, not pictures; --task text learns from a table with a column of texts "
                      "and one of classes",
                      path);
  if (status == MICA_OK && p->count == before)
    return mica__fail(MICA_E_FORMAT, "the folder %s holds no pictures: no file ends in .png, .jpg or .jpeg", path);
  return status;
}

/* The class of a folder: the next number, or that of its name in config->like. */
static mica_status class_of(const mica_dataset_config *config, const char *path, const char *name, int32_t next,
                            int32_t *label) {
  *label = config->like ? mica__config_class_of(config, name) : next;
  if (*label >= 0) return MICA_OK;
  return mica__fail(MICA_E_FORMAT, "%s: the label \"%s\" is out of range: no class has this name", path, name);
}

/* Makes a class of each folder among the names; *names gets those of classes, *classes their number. */
static mica_status add_classes(pictures *p, const char *path, const mica__names *names,
                               const mica_dataset_config *config, char **found, int32_t *classes) {
  mica_status status = MICA_OK;
  for (size_t i = 0; status == MICA_OK && i < names->count; i++) {
    mica__text folder = {0};
    int32_t label = 0;
    mica__text_addf(&folder, "%s/%s", path, names->names[i]);
    status = mica__text_status(&folder);
    if (status == MICA_OK && mica__is_folder(folder.data)) {
      char *name = mica__name_printable(names->names[i]);
      status = name ? class_of(config, path, name, *classes, &label) : mica__fail_nomem("names of classes");
      if (status == MICA_OK) status = add_class(p, folder.data, label);
      found[(*classes)++] = name;
    }
    mica__text_free(&folder);
  }
  return status;
}

/* The sentence for a folder that holds no class. */
static mica_status fail_empty(const char *path, const mica__names *names) {
  for (size_t i = 0; i < names->count; i++)
    if (mica__image_is_named(names->names[i]))
      return mica__fail(MICA_E_FORMAT, "the folder %s holds pictures, but no folders of them, one a class", path);
  return mica__fail(MICA_E_FORMAT,
                    "the folder %s holds no folders of pictures, nor train*, val* or test* files of a known kind",
                    path);
}

/* The shape that pictures are scaled and cropped to. */
static mica_status choose_shape(const pictures *p, const mica_dataset_config *config, mica_shape *shape) {
  mica_shape first = MICA_SCALAR;
  uint8_t *pixels = NULL;
  if (config->like) {
    *shape = mica_dataset_shape(config->like);
    return MICA_OK;
  }
  *shape = MICA_SHAPE(config->channels, config->height, config->width);
  if (shape->dim[0] && shape->dim[1] && shape->dim[2]) return MICA_OK;
  MICA_TRY(mica_image_read(p->files[0], MICA_SHAPE(config->channels, 0, 0), &pixels, &first));
  mica_free(pixels);
  for (int i = 0; i < 3; i++)
    if (shape->dim[i] == 0) shape->dim[i] = first.dim[i];
  return MICA_OK;
}

/* How many pictures are looked at, one in so many: their headers alone are read. */
#define LOOKED_AT 200
#define HEADER 65536

static bool has_shape(const char *file, mica_shape shape, uint8_t *header) {
  int32_t height = 0, width = 0;
  FILE *in = fopen(file, "rb");
  const size_t size = in ? fread(header, 1, HEADER, in) : 0;
  if (in) fclose(in);
  return !mica__image_size(header, size, &height, &width) || (height == shape.dim[1] && width == shape.dim[2]) ||
         (height == shape.dim[2] && width == shape.dim[1]);
}

/* The first picture decides what is learnt of all others: where they are of other sizes, the summary says so. */
static mica_status note_sizes(const pictures *p, mica_shape shape, mica__store *store) {
  const size_t step = 1 + p->count / LOOKED_AT;
  mica__text text = {0};
  uint8_t *header = malloc(HEADER);
  bool same = true;
  if (!header) return mica__fail_nomem("the header of a picture");
  for (size_t i = 0; same && i < p->count; i += step) same = has_shape(p->files[i], shape, header);
  free(header);
  if (same) return MICA_OK;
  mica__text_addf(&text,
                  "pictures of several sizes, scaled and cut to that of the first, %dx%d (height and width of %s)",
                  (int)shape.dim[1], (int)shape.dim[2], p->files[0]);
  const mica_status status = mica__text_status(&text);
  if (status == MICA_OK)
    store->summary = text.data;
  else
    mica__text_free(&text);
  return status;
}

/* Reads and scales one picture. Any thread. */
static mica_status read_picture(void *user, uint64_t sample, void *data, size_t bytes) {
  const pictures *p = user;
  (void)bytes;
  return mica__image_read_fit(p->files[sample], p->channels, p->height, p->width, data);
}

/* Adds both columns. */
static mica_status fill_store(mica__store *store, pictures *p, const char *path, const mica_dataset_config *config,
                              char **names, int32_t classes) {
  mica_shape shape;
  mica__column *column = NULL;
  int32_t *labels = NULL;
  MICA_TRY(choose_shape(p, config, &shape));
  if (shape.rank != 3 || (shape.dim[0] != 1 && shape.dim[0] != 3))
    return mica__fail(MICA_E_FORMAT, "%s: what it goes with holds no pictures of 1 or 3 channels", path);
  if (!config->like && !config->height && !config->width) MICA_TRY(note_sizes(p, shape, store));
  p->channels = (int32_t)shape.dim[0];
  p->height = (int32_t)shape.dim[1];
  p->width = (int32_t)shape.dim[2];
  MICA_TRY(mica__store_set_count(store, p->count));
  MICA_TRY(mica__store_add_input(store, MICA_U8, shape, &column));
  column->user = p;
  column->read = read_picture;
  column->files = (const char *const *)p->files;
  labels = p->labels;
  p->labels = NULL;
  const int32_t known = mica__config_classes(config);
  MICA_TRY(mica__store_add_labels(store, labels, known ? known : classes));
  if (config->like) return MICA_OK;
  return mica__column_name_classes(mica__store_find(store, "label"), (const char *const *)names, classes);
}

static bool has_name(const mica__names *names, const char *name) {
  for (size_t i = 0; i < names->count; i++)
    if (!strcmp(names->names[i], name)) return true;
  return false;
}

mica_status mica__folder_read(const char *path, const mica_dataset_config *config, mica__store *store) {
  mica__names names;
  int32_t classes = 0;
  pictures *p = calloc(1, sizeof *p);
  if (!p) return mica__fail_nomem("the names of pictures");
  MICA_TRY(mica__store_own(store, p, release_pictures));
  MICA_TRY(mica__names_read(path, &names));
  char **found = calloc(names.count + 1, sizeof *found);
  mica_status status =
      found ? add_classes(p, path, &names, config, found, &classes) : mica__fail_nomem("names of classes");
  if (status == MICA_E_FORMAT && has_name(&names, "images") && has_name(&names, "labels"))
    status = mica__fail(MICA_E_FORMAT,
                        "the folder %s has images and labels, as YOLO has them; detect reads COCO (annotations/*.json) "
                        "and Pascal VOC (Annotations/*.xml): convert the labels to one of these",
                        path);
  if (status == MICA_OK && classes == 0) status = fail_empty(path, &names);
  if (status == MICA_OK) status = fill_store(store, p, path, config, found, classes);
  for (int32_t i = 0; i < classes; i++) free(found[i]);
  free(found);
  mica__names_free(&names);
  return status;
}

static bool is_part(mica_part part, const char *name, const char *rest) {
  return rest && (!*rest || (part == MICA_PART_VALIDATION && !strcmp(name, "validation")));
}

static mica_status open_folder(const char *const *paths, size_t count, const mica_dataset_config *config,
                               mica__store *store) {
  (void)count;
  return mica__folder_read(paths[0], config, store);
}

static mica_status is_folder(const char *path, bool *is) {
  *is = mica__is_folder(path);
  return MICA_OK;
}

const mica__source mica__source_pictures = {.is_part = is_part, .is_folder = is_folder, .open = open_folder};
