/* Folders of pictures, one folder per class. */
#include "base/text.h"
#include "data/class_folders.h"
#include "data/picture/image.h"
#include "data/source.h"

#include <stdlib.h>
#include <string.h>

/* The picture files of a folder and the size they are scaled to; the column's `user`. */
typedef struct pictures {
  mica__class_files of;
  int32_t channels, height, width;
} pictures;

static const mica__class_kind kind = {mica__image_is_named, "pictures",
                                      "holds no pictures: no file ends in .png, .jpg or .jpeg", "PNG or JPEG"};

static void release_pictures(void *object) {
  pictures *p = object;
  mica__class_files_free(&p->of);
  free(p);
}

/* The message for a folder that contains no class. */
static mica_status fail_empty(const char *path) {
  mica__names names;
  bool some = false;
  MICA_TRY(mica__names_read(path, &names));
  const bool empty = names.count == 0;
  for (size_t i = 0; i < names.count; i++) some = some || mica__image_is_named(names.names[i]);
  mica__names_free(&names);
  if (some) return mica__fail(MICA_E_FORMAT, "the folder %s must have one folder of pictures per class", path);
  if (empty) return mica__fail(MICA_E_FORMAT, "the folder %s is empty", path);
  return mica__fail(MICA_E_FORMAT,
                    "the folder %s holds no folders of pictures or texts, nor train*, val* or test* files of a known "
                    "kind",
                    path);
}

/* Refuses folders that contain pictures of parts rather than of classes: all folders are named like parts, or two are
 * named like different parts. A single class may be named "train". */
static mica_status check_names(const pictures *p, const char *path) {
  int32_t named = 0, parts = 0;
  for (int part = 0; part < 3; part++) {
    const int32_t before = named;
    for (int32_t i = 0; i < p->of.classes; i++) named += mica__part_is_named((mica_part)part, p->of.names[i]);
    parts += named > before;
  }
  if (parts < 2 && (!named || named < p->of.classes)) return MICA_OK;
  for (int32_t i = 0; i < p->of.classes; i++)
    if (mica__is_part_name(p->of.names[i]))
      return mica__fail(MICA_E_FORMAT, "the folder %s/%s must have one folder of pictures per class", path,
                        p->of.names[i]);
  return MICA_OK;
}

/* --- sizes --- */

/* The sizes of the pictures that are inspected. */
typedef struct sizes {
  int32_t (*sides)[2]; /* height, width */
  size_t count;
} sizes;

static bool note_size(void *user, const uint8_t *header, size_t size) {
  sizes *s = user;
  int32_t height = 0, width = 0;
  if (!mica__image_size(header, size, &height, &width) || height < 1 || width < 1 || height > 32768 || width > 32768 ||
      (size_t)height * (size_t)width > MICA__MAX_PIXELS)
    return true;
  s->sides[s->count][0] = height;
  s->sides[s->count++][1] = width;
  return true;
}

static mica_status look_at_sizes(const pictures *p, sizes *s) {
  s->sides = calloc(mica__pictures_inspected(p->of.count) + 1, sizeof *s->sides);
  if (!s->sides) return mica__fail_nomem("sizes of pictures");
  return mica__pictures_inspect((const char *const *)p->of.files, p->of.count, note_size, s);
}

/* If pictures differ in size, the summary says so, and to which size all are scaled. */
static void note_sizes(const sizes *s, mica_shape shape, bool most, mica__text *summary) {
  int32_t least[2] = {INT32_MAX, INT32_MAX}, largest[2] = {0, 0};
  for (size_t i = 0; i < s->count; i++)
    for (int side = 0; side < 2; side++) {
      if (s->sides[i][side] < least[side]) least[side] = s->sides[i][side];
      if (s->sides[i][side] > largest[side]) largest[side] = s->sides[i][side];
    }
  if (!s->count || (least[0] == largest[0] && least[1] == largest[1])) return;
  mica__text_addf(summary,
                  "pictures of several sizes, %d to %d pixels high and %d to %d wide: all are scaled and cut to %dx%d, "
                  "the %s (--size sets another)",
                  least[0], largest[0], least[1], largest[1], (int)shape.dim[1], (int)shape.dim[2],
                  most ? "size of most" : "median height and width");
}

/* The channels and size of the first readable picture. A damaged file is skipped here, since loaders report all of them
 * at once. */
static mica_status read_first(const pictures *p, int32_t channels, mica_shape *first) {
  uint8_t *pixels = NULL;
  mica_status status = MICA_E_FORMAT;
  for (size_t i = 0; status == MICA_E_FORMAT && i < p->of.count; i++)
    status = mica_image_read(p->of.files[i], MICA_SHAPE(channels, 0, 0), &pixels, first);
  mica_free(pixels);
  return status;
}

/* The shape that pictures are scaled and cropped to. */
static mica_status choose_shape(const pictures *p, const mica_dataset_config *config, mica_shape *shape,
                                mica__text *summary) {
  mica_shape first = MICA_SCALAR;
  sizes s = {0};
  const mica__column *like = config->like ? mica__store_find(config->like->store, "image") : NULL;
  if (config->like) {
    *shape = like ? like->about.shape : mica_dataset_shape(config->like);
    return MICA_OK;
  }
  *shape = MICA_SHAPE(config->channels, config->height, config->width);
  if (shape->dim[0] && shape->dim[1] && shape->dim[2]) return MICA_OK;
  MICA_TRY(read_first(p, config->channels, &first));
  mica_status status = look_at_sizes(p, &s);
  if (status == MICA_OK) {
    int32_t usual[2] = {(int32_t)first.dim[1], (int32_t)first.dim[2]};
    const bool most = s.count ? mica__sizes_find_usual((const int32_t(*)[2])s.sides, s.count, usual) : true,
               given = shape->dim[1] || shape->dim[2];
    if (!shape->dim[0]) shape->dim[0] = first.dim[0];
    for (int side = 0; side < 2; side++)
      if (!shape->dim[1 + side]) shape->dim[1 + side] = usual[side];
    if (!given) note_sizes(&s, *shape, most, summary);
  }
  free(s.sides);
  MICA_TRY(status);
  /* Grey pictures can be stored in colour without loss, but not the other way round. */
  bool coloured = false;
  if (!config->channels && shape->dim[0] == 1)
    MICA_TRY(mica__pictures_with_colours((const char *const *)p->of.files, p->of.count, &coloured));
  if (coloured) shape->dim[0] = 3;
  return MICA_OK;
}

/* Reads and scales one picture. Any thread may call it. */
static mica_status read_picture(void *user, uint64_t sample, void *data, size_t bytes) {
  const pictures *p = user;
  (void)bytes;
  return mica__image_read_fit(p->of.files[sample], p->channels, p->height, p->width, data);
}

/* Finds the shape of the pictures, and adds to the store's summary what is notable about the files. */
static mica_status find_shape(mica__store *store, const pictures *p, const mica_dataset_config *config,
                              mica_shape *shape) {
  mica__text text = {0};
  mica_status status = choose_shape(p, config, shape, &text);
  mica__class_files_note(&p->of, &kind, &text);
  if (status == MICA_OK) status = mica__text_status(&text);
  if (status == MICA_OK && text.length) status = mica__store_add_summary(store, text.data);
  mica__text_free(&text);
  return status;
}

/* Adds the column of pictures. */
static mica_status add_pictures(mica__store *store, pictures *p, const char *path, const mica_dataset_config *config) {
  mica_shape shape;
  mica__column *column = NULL;
  MICA_TRY(find_shape(store, p, config, &shape));
  if (shape.rank != 3 || (shape.dim[0] != 1 && shape.dim[0] != 3))
    return mica__fail(MICA_E_FORMAT, "%s holds pictures, but the data of training hold no pictures of 1 or 3 channels",
                      path);
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
  pictures *p = calloc(1, sizeof *p);
  if (!p) {
    for (uint64_t i = 0; i < store->count; i++) free(paths[i]);
    free(paths);
    return mica__fail_nomem("the names of pictures");
  }
  p->of.files = paths;
  p->of.count = store->count;
  MICA_TRY(mica__store_own(store, p, release_pictures));
  return add_pictures(store, p, store->name, config);
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
  if (!p->of.classes) return fail_empty(path);
  MICA_TRY(check_names(p, path));
  return fill_store(store, p, path, config);
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

/* Decides whether a folder can be a part. A folder with pictures and without subfolders cannot: it is a class, even if
 * it is named like a part. */
static mica_status is_part_folder(const char *path, bool *is) {
  mica__names names;
  bool some = false, folders = false;
  *is = mica__is_folder(path);
  MICA_TRY(mica__names_look(path, &names));
  mica_status status = MICA_OK;
  for (size_t i = 0; status == MICA_OK && !folders && i < names.count; i++) {
    char *folder = NULL;
    const bool picture = mica__image_is_named(names.names[i]);
    some = some || picture;
    if (!picture) status = mica__path_join(path, names.names[i], &folder);
    folders = folder && mica__is_folder(folder);
    free(folder);
  }
  mica__names_free(&names);
  *is = *is && (folders || !some);
  return status;
}

const mica__source mica__source_pictures = {.is_part = mica__class_folder_is_part,
                                            .is_folder = is_folder,
                                            .is_part_folder = is_part_folder,
                                            .open = open_folder};
