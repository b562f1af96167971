/* Folders of pictures with a folder of masks next to them. */
#include "data/annotation/masks.h"
#include "data/annotation/scene_files.h"
#include "data/class_folders.h"

#include <stdlib.h>
#include <string.h>

/* How many masks are inspected for their values before samples are read. */
#define LOOKED_AT 1000

/* The `user` object of the column of masks: the files of the samples, and the class of each mask value. The column of
 * pictures has `scenes` as its `user`. */
typedef struct pairs {
  mica__scene_files scenes;
  mica__mask_table table;
} pairs;

static void release_pairs(void *object) {
  pairs *p = object;
  mica__scene_files_free(&p->scenes);
  mica__mask_table_free(&p->table);
  free(p);
}

static bool is_named(const char *name) { return mica__image_is_named(name); }

const mica__pairing mica__mask_pairing = {is_named, "pictures", "png", ".png or .jpg", false, NULL};

static mica_status is_folder(const char *path, bool *is) { return mica__pairs_are_in(path, &mica__mask_pairing, is); }

/* --- the classes of mask values --- */

static mica_status read_stored(const char *path, mica__image *mask) {
  uint8_t *content = NULL;
  size_t size = 0;
  MICA_TRY(mica__content_read(path, &content, &size));
  mica_status status = mica__mask_decode(path, content, size, mask);
  free(content);
  return status;
}

/* Finds which class each mask value means: as the configuration or config->like says, or else as guessed from up to
 * LOOKED_AT masks. If the meaning is given, it must cover all values in these masks or say what other values mean. */
static mica_status find_classes(pairs *p, const mica_dataset_config *config) {
  const char *given = config->mask_values;
  if (!given && config->like) given = config->like->store->mask_values;
  if (given) MICA_TRY(mica__mask_table_parse(given, &p->table));
  if (given && p->table.rest != MICA__MASK_REST_FAILS) return MICA_OK;
  mica__mask_census *census = calloc(1, sizeof *census);
  mica_status status = census ? MICA_OK : mica__fail_nomem("masks");
  const size_t looked_at = p->scenes.files.count < LOOKED_AT ? p->scenes.files.count : LOOKED_AT;
  for (size_t k = 0; status == MICA_OK && k < looked_at; k++) {
    const size_t i = k * p->scenes.files.count / looked_at;
    mica__image mask = {0};
    status = read_stored(p->scenes.files.masks[i], &mask);
    if (status == MICA_OK) mica__mask_count(&mask, i, census);
    free(mask.pixels);
  }
  const char *const *names = (const char *const *)p->scenes.files.masks;
  if (status == MICA_OK)
    status = given ? mica__mask_check(census, names, &p->table) : mica__mask_guess(census, names, &p->table);
  free(census);
  return status;
}

/* Reads and scales the mask of a sample. Any thread may call it. */
static mica_status read_mask(void *user, uint64_t sample, void *data, size_t bytes) {
  const pairs *p = user;
  mica__image mask = {0};
  (void)bytes;
  MICA_TRY(read_stored(p->scenes.files.masks[sample], &mask));
  mica_status status =
      mica__mask_classes(p->scenes.files.masks[sample], &mask, &p->table, p->scenes.height, p->scenes.width, data);
  free(mask.pixels);
  return status;
}

/* Reads the mask of a sample in its own size. Any thread may call it. */
static mica_status own_mask(void *user, uint64_t sample, void *data, size_t bytes) {
  const pairs *p = user;
  const int32_t *sides = p->scenes.sides[sample];
  mica__image mask = {0};
  if (bytes != (size_t)sides[0] * (size_t)sides[1]) return mica__scene_file_fail_changed(p->scenes.files.masks[sample]);
  MICA_TRY(read_stored(p->scenes.files.masks[sample], &mask));
  mica_status status = mask.height == sides[0] && mask.width == sides[1]
                           ? MICA_OK
                           : mica__scene_file_fail_changed(p->scenes.files.masks[sample]);
  if (status == MICA_OK)
    status = mica__mask_classes(p->scenes.files.masks[sample], &mask, &p->table, sides[0], sides[1], data);
  free(mask.pixels);
  return status;
}

static mica_status describe(const pairs *p, mica__store *store) {
  mica__text summary = {0}, values = {0};
  mica_status status = mica__mask_table_write(&p->table, &values);
  store->mask_values = values.data;
  if (status != MICA_OK) return status;
  mica__scene_files_describe(&p->scenes, store, &summary);
  mica__text_addf(&summary, ", %d classes in their masks: %.200s", p->table.classes, values.data);
  store->summary = summary.data;
  return mica__text_status(&summary);
}

static mica_status fill_store(mica__store *store, const mica_dataset_config *config, pairs *p) {
  mica__column *column = NULL;
  MICA_TRY(mica__scene_files_add(store, config, &p->scenes));
  const mica_column mask = {.name = "mask",
                            .kind = MICA_COLUMN_KIND_MASK,
                            .dtype = MICA_U8,
                            .shape = MICA_SHAPE(p->scenes.height, p->scenes.width),
                            .classes = p->table.classes};
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
  mica_status status = mica__scene_files_find(paths[0], &mica__mask_pairing, mica__picture_find_sides, &p->scenes);
  if (status == MICA_OK) status = find_classes(p, config);
  if (status == MICA_OK) status = mica__scene_files_shape(config, &p->scenes);
  return status == MICA_OK ? fill_store(store, config, p) : status;
}

const mica__source mica__source_masks = {
    .is_part = mica__class_folder_is_part, .is_folder = is_folder, .open = open_masks};
