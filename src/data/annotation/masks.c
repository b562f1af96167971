/* Folders of pictures with a folder of masks next to them. */
#include "data/annotation/masks.h"
#include "data/annotation/pairs.h"

#include "data/class_folders.h"
#include "data/source.h"

#include <stdlib.h>
#include <string.h>

/* How many masks are inspected for their values before samples are read. */
#define LOOKED_AT 1000
/* The size of a picture is within this many bytes at the beginning of its file. */
#define FIRST_BYTES ((size_t)1 << 18)

/* The files of both columns, stored as their `user`. */
typedef struct pairs {
  mica__pairs files;
  int32_t channels, height, width;
  int32_t (*sides)[2]; /* height and width of each picture in its file */
  mica__mask_table table;
} pairs;

static void release_pairs(void *object) {
  pairs *p = object;
  mica__pairs_free(&p->files);
  free(p->sides);
  mica__mask_table_free(&p->table);
  free(p);
}

static bool is_named(const char *name) { return mica__image_is_named(name); }

static const mica__pairing pairing = {is_named, "pictures", "png", ".png or .jpg", false};

static mica_status is_folder(const char *path, bool *is) { return mica__pairs_are_in(path, &pairing, is); }

/* --- what they hold --- */

static mica_status read_stored(const char *path, mica__image *mask) {
  uint8_t *content = NULL;
  size_t size = 0;
  MICA_TRY(mica__content_read(path, &content, &size));
  mica_status status = mica__mask_decode(path, content, size, mask);
  free(content);
  return status;
}

/* The sides in the header of a picture or mask: in the first bytes, or after what a camera wrote before it. If the
 * header has none, the file is not a picture, which decoding reports. */
static mica_status find_sides(const char *path, uint8_t *bytes, int32_t sides[2]) {
  uint64_t size = 0;
  MICA_TRY(mica__file_begin(path, bytes, FIRST_BYTES, &size));
  bool found = mica__image_size(bytes, size < FIRST_BYTES ? (size_t)size : FIRST_BYTES, &sides[0], &sides[1]);
  if (!found) {
    uint8_t *content = NULL;
    mica__image image = {0};
    size_t all = 0;
    MICA_TRY(mica__content_read(path, &content, &all));
    found = mica__image_size(content, all, &sides[0], &sides[1]);
    mica_status status = found ? MICA_OK : mica__image_decode(path, content, all, 0, 0, 0, &image);
    free(content);
    MICA_TRY(status);
    free(image.pixels);
    if (!found) sides[0] = image.height, sides[1] = image.width;
  }
  if (sides[0] > 0 && sides[1] > 0 && (uint64_t)sides[0] * (uint64_t)sides[1] <= MICA__MAX_PIXELS) return MICA_OK;
  return mica__fail(MICA_E_FORMAT, "%s claims a size of %d x %d pixels", path, sides[1], sides[0]);
}

/* Masks have the size of their pictures. */
static mica_status check_sizes(pairs *p) {
  uint8_t *bytes = malloc(FIRST_BYTES);
  p->sides = calloc(p->files.count + 1, sizeof *p->sides);
  mica_status status = bytes && p->sides ? MICA_OK : mica__fail_nomem("pictures");
  for (size_t i = 0; status == MICA_OK && i < p->files.count; i++) {
    int32_t mask[2] = {0};
    status = find_sides(p->files.pictures[i], bytes, p->sides[i]);
    if (status == MICA_OK) status = find_sides(p->files.masks[i], bytes, mask);
    if (status == MICA_OK && (mask[0] != p->sides[i][0] || mask[1] != p->sides[i][1]))
      status = mica__fail(MICA_E_FORMAT, "%s is a mask of %d x %d pixels, its picture %s has %d x %d",
                          p->files.masks[i], mask[1], mask[0], p->files.pictures[i], p->sides[i][1], p->sides[i][0]);
  }
  free(bytes);
  return status;
}

/* The classes: those given, which masks must have, else those found in the masks. */
static mica_status find_classes(pairs *p, const mica_dataset_config *config) {
  const char *given = config->mask_values;
  if (!given && config->like) given = config->like->store->mask_values;
  if (given) MICA_TRY(mica__mask_table_parse(given, &p->table));
  if (given && p->table.rest != MICA__MASK_REST_FAILS) return MICA_OK;
  mica__mask_census *census = calloc(1, sizeof *census);
  mica_status status = census ? MICA_OK : mica__fail_nomem("masks");
  const size_t looked_at = p->files.count < LOOKED_AT ? p->files.count : LOOKED_AT;
  for (size_t k = 0; status == MICA_OK && k < looked_at; k++) {
    const size_t i = k * p->files.count / looked_at;
    mica__image mask = {0};
    status = read_stored(p->files.masks[i], &mask);
    if (status == MICA_OK) mica__mask_count(&mask, i, census);
    free(mask.pixels);
  }
  const char *const *names = (const char *const *)p->files.masks;
  if (status == MICA_OK)
    status = given ? mica__mask_check(census, names, &p->table) : mica__mask_guess(census, names, &p->table);
  free(census);
  return status;
}

static mica_status choose_shape(pairs *p, const mica_dataset_config *config) {
  mica_shape shape =
      config->like ? mica_dataset_shape(config->like) : MICA_SHAPE(config->channels, config->height, config->width);
  if (shape.rank != 3)
    return mica__fail(MICA_E_FORMAT, "%s holds pictures, but the other parts of the data do not", p->files.pictures[0]);
  if (!shape.dim[0] || !shape.dim[1] || !shape.dim[2]) {
    mica_shape first = MICA_SCALAR;
    uint8_t *pixels = NULL;
    MICA_TRY(mica_image_read(p->files.pictures[0], MICA_SHAPE(shape.dim[0], 0, 0), &pixels, &first));
    mica_free(pixels);
    for (int i = 0; i < 3; i++)
      if (shape.dim[i] == 0) shape.dim[i] = first.dim[i];
  }
  p->channels = (int32_t)shape.dim[0];
  p->height = (int32_t)shape.dim[1];
  p->width = (int32_t)shape.dim[2];
  return MICA_OK;
}

/* Read and scale a sample. Any thread. */
static mica_status read_picture(void *user, uint64_t sample, void *data, size_t bytes) {
  const pairs *p = user;
  (void)bytes;
  return mica__image_read_fit(p->files.pictures[sample], p->channels, p->height, p->width, data);
}

static mica_status read_mask(void *user, uint64_t sample, void *data, size_t bytes) {
  const pairs *p = user;
  mica__image mask = {0};
  (void)bytes;
  MICA_TRY(read_stored(p->files.masks[sample], &mask));
  mica_status status = mica__mask_classes(p->files.masks[sample], &mask, &p->table, p->height, p->width, data);
  free(mask.pixels);
  return status;
}

/* If a file has changed since it was inspected, it no longer fits the memory made for it. */
static mica_status fail_changed(const char *path) {
  return mica__fail(MICA_E_FORMAT, "%s has other sides than when the data were opened", path);
}

/* Read a sample in its own size. Any thread. */
static mica_status own_picture(void *user, uint64_t sample, void *data, size_t bytes) {
  const pairs *p = user;
  const int32_t *sides = p->sides[sample];
  if (bytes != (size_t)p->channels * (size_t)sides[0] * (size_t)sides[1])
    return fail_changed(p->files.pictures[sample]);
  uint8_t *content = NULL;
  size_t size = 0;
  mica__image image = {0};
  MICA_TRY(mica__content_read(p->files.pictures[sample], &content, &size));
  mica_status status = mica__image_decode(p->files.pictures[sample], content, size, p->channels, 0, 0, &image);
  free(content);
  if (status == MICA_OK && (image.height != sides[0] || image.width != sides[1]))
    status = fail_changed(p->files.pictures[sample]);
  if (status == MICA_OK) status = mica__image_fit(&image, sides[0], sides[1], data);
  free(image.pixels);
  return status;
}

static mica_status own_mask(void *user, uint64_t sample, void *data, size_t bytes) {
  const pairs *p = user;
  const int32_t *sides = p->sides[sample];
  mica__image mask = {0};
  if (bytes != (size_t)sides[0] * (size_t)sides[1]) return fail_changed(p->files.masks[sample]);
  MICA_TRY(read_stored(p->files.masks[sample], &mask));
  mica_status status =
      mask.height == sides[0] && mask.width == sides[1] ? MICA_OK : fail_changed(p->files.masks[sample]);
  if (status == MICA_OK)
    status = mica__mask_classes(p->files.masks[sample], &mask, &p->table, sides[0], sides[1], data);
  free(mask.pixels);
  return status;
}

static mica_status describe(const pairs *p, mica__store *store) {
  mica__text summary = {0}, values = {0};
  mica_status status = mica__mask_table_write(&p->table, &values);
  store->mask_values = values.data;
  if (status != MICA_OK) return status;
  int32_t least[2] = {p->height, p->width}, most[2] = {p->height, p->width};
  for (size_t i = 0; store->sides && i < p->files.count; i++)
    for (int k = 0; k < 2; k++) {
      if (p->sides[i][k] < least[k]) least[k] = p->sides[i][k];
      if (p->sides[i][k] > most[k]) most[k] = p->sides[i][k];
    }
  if (store->sides)
    mica__text_addf(&summary, "%zu pictures of several sizes, %d to %d x %d to %d pixels", p->files.count, least[1],
                    most[1], least[0], most[0]);
  else
    mica__text_addf(&summary, "%zu pictures of %d x %d pixels", p->files.count, p->width, p->height);
  mica__text_addf(&summary, ", %d classes in their masks: %.200s", p->table.classes, values.data);
  store->summary = summary.data;
  return mica__text_status(&summary);
}

/* If pictures are not scaled to a size, other than that of the first, they keep their own. */
static void keep_sides(const pairs *p, const mica_dataset_config *config, mica__store *store) {
  if (config->like || config->height || config->width) return;
  for (size_t i = 0; i < p->files.count; i++)
    if (p->sides[i][0] != p->height || p->sides[i][1] != p->width) store->sides = p->sides;
}

static mica_status fill_store(mica__store *store, pairs *p) {
  const mica_column mask = {.name = "mask",
                            .kind = MICA_COLUMN_KIND_MASK,
                            .dtype = MICA_U8,
                            .shape = MICA_SHAPE(p->height, p->width),
                            .classes = p->table.classes};
  mica__column *column = NULL;
  MICA_TRY(mica__store_set_count(store, p->files.count));
  MICA_TRY(mica__store_add_input(store, MICA_U8, MICA_SHAPE(p->channels, p->height, p->width), &column));
  column->user = p;
  column->read = read_picture;
  column->read_own = own_picture;
  column->files = (const char *const *)p->files.pictures;
  MICA_TRY(mica__store_add(store, &mask, &column));
  column->user = p;
  column->read = read_mask;
  column->read_own = own_mask;
  MICA_TRY(mica__column_name_classes(column, (const char *const *)p->table.names, p->table.classes));
  return describe(p, store);
}

static mica_status open_masks(const char *const *paths, size_t count, const mica_dataset_config *config,
                              mica__store *store) {
  (void)count;
  pairs *p = calloc(1, sizeof *p);
  if (!p) return mica__fail_nomem("the names of pictures");
  MICA_TRY(mica__store_own(store, p, release_pairs));
  mica_status status = mica__pairs_find(paths[0], &pairing, &p->files);
  if (status == MICA_OK) status = check_sizes(p);
  if (status == MICA_OK) status = find_classes(p, config);
  if (status == MICA_OK) status = choose_shape(p, config);
  if (status == MICA_OK) keep_sides(p, config, store);
  return status == MICA_OK ? fill_store(store, p) : status;
}

const mica__source mica__source_masks = {
    .is_part = mica__class_folder_is_part, .is_folder = is_folder, .open = open_masks};
