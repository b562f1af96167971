/* Pictures of scenes in files, each with a file of values per pixel (a mask or a depth map): their names, sizes and
 * pixels. */
#include "data/annotation/scene_files.h"

#include <stdlib.h>

/* --- sizes --- */

/* Looks for the sides in the file's first bytes and, if a camera wrote long data before them, in the whole file. If
 * there are none, decodes the picture, which also reports files that are not pictures. */
mica_status mica__picture_find_sides(const char *path, uint8_t *bytes, int32_t sides[2]) {
  uint64_t size = 0;
  MICA_TRY(mica__file_begin(path, bytes, MICA__SCENE_BEGIN, &size));
  bool found =
      mica__image_size(bytes, size < MICA__SCENE_BEGIN ? (size_t)size : MICA__SCENE_BEGIN, &sides[0], &sides[1]);
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
  return mica__fail(
      MICA_E_FORMAT,
      "%s: the header states %d x %d pixels, but sides must be at least 1, with at most %zu pixels in all", path,
      sides[1], sides[0], MICA__MAX_PIXELS);
}

/* Checks that each file of values has the size of its picture. */
static mica_status check_sizes(const char *what, mica__scene_sides_fn *sides_of, mica__scene_files *p) {
  uint8_t *bytes = malloc(MICA__SCENE_BEGIN);
  p->sides = calloc(p->files.count + 1, sizeof *p->sides);
  mica_status status = bytes && p->sides ? MICA_OK : mica__fail_nomem("pictures");
  for (size_t i = 0; status == MICA_OK && i < p->files.count; i++) {
    int32_t values[2] = {0};
    status = mica__picture_find_sides(p->files.pictures[i], bytes, p->sides[i]);
    if (status == MICA_OK) status = sides_of(p->files.masks[i], bytes, values);
    if (status == MICA_OK && (values[0] != p->sides[i][0] || values[1] != p->sides[i][1]))
      status =
          mica__fail(MICA_E_FORMAT, "%s is a %s of %d x %d pixels, but its picture %s has %d x %d", p->files.masks[i],
                     what, values[1], values[0], p->files.pictures[i], p->sides[i][1], p->sides[i][0]);
  }
  free(bytes);
  return status;
}

mica_status mica__scene_files_find(const char *path, const mica__pairing *pairing, mica__scene_sides_fn *sides_of,
                                   mica__scene_files *p) {
  MICA_TRY(mica__pairs_find(path, pairing, &p->files));
  return check_sizes(pairing->with ? pairing->with->what : "mask", sides_of, p);
}

void mica__scene_files_free(mica__scene_files *p) {
  mica__pairs_free(&p->files);
  free(p->sides);
  *p = (mica__scene_files){0};
}

mica_status mica__scene_files_shape(const mica_dataset_config *config, mica__scene_files *p) {
  mica_shape shape =
      config->like ? mica_dataset_shape(config->like) : MICA_SHAPE(config->channels, config->height, config->width);
  if (shape.rank != 3)
    return mica__fail(MICA_E_FORMAT, "%s is a picture, but the data of training hold no pictures",
                      p->files.pictures[0]);
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

/* --- samples --- */

/* Reads and scales a picture. Any thread may call it. */
static mica_status read_picture(void *user, uint64_t sample, void *data, size_t bytes) {
  const mica__scene_files *p = user;
  (void)bytes;
  return mica__image_read_fit(p->files.pictures[sample], p->channels, p->height, p->width, data);
}

mica_status mica__scene_file_fail_changed(const char *path) {
  return mica__fail(MICA_E_FORMAT, "%s has changed: its size is not the same as when the data were opened", path);
}

/* Reads a picture in its own size. Any thread may call it. */
static mica_status own_picture(void *user, uint64_t sample, void *data, size_t bytes) {
  const mica__scene_files *p = user;
  const int32_t *sides = p->sides[sample];
  if (bytes != (size_t)p->channels * (size_t)sides[0] * (size_t)sides[1])
    return mica__scene_file_fail_changed(p->files.pictures[sample]);
  uint8_t *content = NULL;
  size_t size = 0;
  mica__image image = {0};
  MICA_TRY(mica__content_read(p->files.pictures[sample], &content, &size));
  mica_status status = mica__image_decode(p->files.pictures[sample], content, size, p->channels, 0, 0, &image);
  free(content);
  if (status == MICA_OK && (image.height != sides[0] || image.width != sides[1]))
    status = mica__scene_file_fail_changed(p->files.pictures[sample]);
  if (status == MICA_OK) status = mica__image_fit(&image, sides[0], sides[1], data);
  free(image.pixels);
  return status;
}

/* If the configuration sets neither a size nor `like`, and a picture differs in size from the samples, all pictures
 * keep their own sizes. */
static void keep_sides(const mica__scene_files *p, const mica_dataset_config *config, mica__store *store) {
  if (config->like || config->height || config->width) return;
  for (size_t i = 0; i < p->files.count; i++)
    if (p->sides[i][0] != p->height || p->sides[i][1] != p->width) store->sides = p->sides;
}

mica_status mica__scene_files_add(mica__store *store, const mica_dataset_config *config, mica__scene_files *p) {
  mica__column *column = NULL;
  keep_sides(p, config, store);
  MICA_TRY(mica__store_set_count(store, p->files.count));
  MICA_TRY(mica__store_add_input(store, MICA_U8, MICA_SHAPE(p->channels, p->height, p->width), &column));
  column->user = p;
  column->read = read_picture;
  column->read_own = own_picture;
  column->files = (const char *const *)p->files.pictures;
  return MICA_OK;
}

void mica__scene_files_describe(const mica__scene_files *p, const mica__store *store, mica__text *text) {
  int32_t least[2] = {p->height, p->width}, most[2] = {p->height, p->width};
  for (size_t i = 0; store->sides && i < p->files.count; i++)
    for (int k = 0; k < 2; k++) {
      if (p->sides[i][k] < least[k]) least[k] = p->sides[i][k];
      if (p->sides[i][k] > most[k]) most[k] = p->sides[i][k];
    }
  if (store->sides)
    mica__text_addf(text, "%zu pictures of several sizes, %d to %d x %d to %d pixels", p->files.count, least[1],
                    most[1], least[0], most[0]);
  else
    mica__text_addf(text, "%zu pictures of %d x %d pixels", p->files.count, p->width, p->height);
}
