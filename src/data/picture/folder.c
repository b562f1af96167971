/* Folders of pictures, one folder a class. */
#include "base/text.h"
#include "data/class_folders.h"
#include "data/picture/image.h"
#include "data/source.h"

#include <stdlib.h>
#include <string.h>

/* The files of a folder's pictures, and what they are brought to; the column's `user`. */
typedef struct pictures {
  mica__class_files of;
  int32_t channels, height, width;
} pictures;

static const mica__class_kind kind = {mica__image_is_named, "holds no pictures: no file ends in .png, .jpg or .jpeg",
                                      true};

static void release_pictures(void *object) {
  pictures *p = object;
  mica__class_files_free(&p->of);
  free(p);
}

/* The sentence for a folder that holds no class. */
static mica_status fail_empty(const char *path) {
  mica__names names;
  bool some = false;
  MICA_TRY(mica__names_read(path, &names));
  for (size_t i = 0; i < names.count; i++) some = some || mica__image_is_named(names.names[i]);
  mica__names_free(&names);
  if (some) return mica__fail(MICA_E_FORMAT, "the folder %s must have one folder of pictures per class", path);
  return mica__fail(MICA_E_FORMAT,
                    "the folder %s holds no folders of pictures or texts, nor train*, val* or test* files of a known "
                    "kind",
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
  /* A damaged file is passed over here: loaders name all of them at once. */
  mica_status status = MICA_E_FORMAT;
  for (size_t i = 0; status == MICA_E_FORMAT && i < p->of.count; i++)
    status = mica_image_read(p->of.files[i], MICA_SHAPE(config->channels, 0, 0), &pixels, &first);
  MICA_TRY(status);
  mica_free(pixels);
  for (int i = 0; i < 3; i++)
    if (shape->dim[i] == 0) shape->dim[i] = first.dim[i];
  /* Grey pictures have a form in colour, and others would lose theirs. */
  bool coloured = false;
  if (!config->channels && shape->dim[0] == 1)
    MICA_TRY(mica__pictures_with_colours((const char *const *)p->of.files, p->of.count, &coloured));
  if (coloured) shape->dim[0] = 3;
  return MICA_OK;
}

/* The size that all pictures have so far. */
typedef struct sizes {
  mica_shape shape;
  bool same;
} sizes;

static bool has_shape(void *user, const uint8_t *header, size_t size) {
  sizes *s = user;
  int32_t height = 0, width = 0;
  if (!mica__image_size(header, size, &height, &width)) return true;
  s->same = (height == s->shape.dim[1] && width == s->shape.dim[2]) ||
            (height == s->shape.dim[2] && width == s->shape.dim[1]);
  return s->same;
}

/* The first picture decides the size of all others. If these have other sizes, the summary says so. */
static mica_status note_sizes(const pictures *p, mica_shape shape, mica__text *summary) {
  sizes s = {.shape = shape, .same = true};
  MICA_TRY(mica__pictures_inspect((const char *const *)p->of.files, p->of.count, has_shape, &s));
  if (!s.same)
    mica__text_addf(summary,
                    "pictures of several sizes, scaled and cut to that of the first, %dx%d (height and width of %s)",
                    (int)shape.dim[1], (int)shape.dim[2], p->of.files[0]);
  return MICA_OK;
}

/* Files beside the pictures of a class. */
static void note_unused(const pictures *p, mica__text *summary) {
  if (!p->of.unused) return;
  mica__text_addf(summary, "%s%zu file%s no PNG or JPEG and %s not used: ", summary->length ? "; " : "", p->of.unused,
                  p->of.unused == 1 ? " is" : "s are", p->of.unused == 1 ? "is" : "are");
  for (size_t i = 0; i < MICA__NAMED_UNUSED && p->of.unused_names[i]; i++)
    mica__text_addf(summary, i ? ", %s" : "%s", p->of.unused_names[i]);
  if (p->of.unused > MICA__NAMED_UNUSED) mica__text_add(summary, ", ...");
}

static mica_status note_summary(const pictures *p, mica_shape shape, bool sized, mica__store *store) {
  mica__text text = {0};
  mica_status status = sized ? MICA_OK : note_sizes(p, shape, &text);
  note_unused(p, &text);
  if (status == MICA_OK) status = mica__text_status(&text);
  if (status == MICA_OK && text.length)
    store->summary = text.data;
  else
    mica__text_free(&text);
  return status;
}

/* Reads and scales one picture. Any thread. */
static mica_status read_picture(void *user, uint64_t sample, void *data, size_t bytes) {
  const pictures *p = user;
  (void)bytes;
  return mica__image_read_fit(p->of.files[sample], p->channels, p->height, p->width, data);
}

/* Adds the column of pictures. */
static mica_status add_pictures(mica__store *store, pictures *p, const char *path, const mica_dataset_config *config) {
  mica_shape shape;
  mica__column *column = NULL;
  MICA_TRY(choose_shape(p, config, &shape));
  if (shape.rank != 3 || (shape.dim[0] != 1 && shape.dim[0] != 3))
    return mica__fail(MICA_E_FORMAT,
                      "%s holds pictures, but the other parts of the data hold no pictures of 1 or 3 channels", path);
  MICA_TRY(note_summary(p, shape, config->like || config->height || config->width, store));
  p->channels = (int32_t)shape.dim[0];
  p->height = (int32_t)shape.dim[1];
  p->width = (int32_t)shape.dim[2];
  MICA_TRY(mica__store_add_input(store, MICA_U8, shape, &column));
  column->user = p;
  column->read = read_picture;
  column->files = (const char *const *)p->of.files;
  return MICA_OK;
}

mica_status mica__pictures_add(mica__store *store, char **paths, const mica_dataset_config *config) {
  char *summary = store->summary;
  pictures *p = calloc(1, sizeof *p);
  if (!p) {
    for (uint64_t i = 0; i < store->count; i++) free(paths[i]);
    free(paths);
    return mica__fail_nomem("the names of pictures");
  }
  p->of.files = paths;
  p->of.count = store->count;
  MICA_TRY(mica__store_own(store, p, release_pictures));
  mica_status status = add_pictures(store, p, store->name, config);
  if (store->summary == summary) return status;
  mica__text both = {0};
  mica__text_addf(&both, "%s, %s", summary, store->summary);
  free(summary);
  free(store->summary);
  store->summary = both.data;
  return status == MICA_OK ? mica__text_status(&both) : status;
}

static mica_status fill_store(mica__store *store, pictures *p, const char *path, const mica_dataset_config *config) {
  MICA_TRY(mica__store_set_count(store, p->of.count));
  MICA_TRY(add_pictures(store, p, path, config));
  return mica__class_files_label(&p->of, config, store);
}

mica_status mica__folder_read(const char *path, const mica_dataset_config *config, mica__store *store) {
  pictures *p = calloc(1, sizeof *p);
  if (!p) return mica__fail_nomem("the names of pictures");
  MICA_TRY(mica__store_own(store, p, release_pictures));
  MICA_TRY(mica__class_files_read(path, config, &kind, &p->of));
  return p->of.classes ? fill_store(store, p, path, config) : fail_empty(path);
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

const mica__source mica__source_pictures = {
    .is_part = mica__class_folder_is_part, .is_folder = is_folder, .open = open_folder};
