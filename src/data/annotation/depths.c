/* Folders of pictures with a folder of depth maps next to them. */
#include "data/annotation/depth_map.h"
#include "data/annotation/scene_files.h"
#include "data/class_folders.h"

#include <stdlib.h>
#include <string.h>

/* The `user` object of the columns of pictures and of depths: the files of the samples. */
typedef struct scenes {
  mica__scene_files files;
  double scale;
  bool floating; /* all maps hold floating numbers, to which the scale does not apply */
} scenes;

static void release_scenes(void *object) {
  scenes *s = object;
  mica__scene_files_free(&s->files);
  free(s);
}

static const char *const picture_folders[] = {"image",    "images", "img",  "imgs",  "picture",
                                              "pictures", "rgb",    "left", "color", NULL};
static const char *const depth_folders[] = {
    "depth", "depths", "depth_map", "depth_maps", "depthmap", "depthmaps", "groundtruth_depth", "ground_truth", NULL};
static const char *const depth_endings[] = {"_depth", "-depth", "_gt", "-gt", NULL};
static const mica__pair_kind kind = {.is_named = mica__depth_map_is_named,
                                     .what = "depth map",
                                     .mark = "depth",
                                     .types = ".png, .npy or .pfm",
                                     .picture_folders = picture_folders,
                                     .folders = depth_folders,
                                     .endings = depth_endings};

static bool is_named(const char *name) { return mica__image_is_named(name); }

const mica__pairing mica__depth_pairing = {is_named, "pictures", "png", ".png or .jpg", false, &kind};

static mica_status is_folder(const char *path, bool *is) { return mica__pairs_are_in(path, &mica__depth_pairing, is); }

static mica_status read_map(const scenes *s, uint64_t sample, mica__depth_map *map) {
  uint8_t *content = NULL;
  size_t size = 0;
  MICA_TRY(mica__content_read(s->files.files.masks[sample], &content, &size));
  mica_status status = mica__depth_map_decode(s->files.files.masks[sample], content, size, s->scale, map);
  free(content);
  return status;
}

/* Reads and scales the depths of a sample. Any thread may call it. */
static mica_status read_depths(void *user, uint64_t sample, void *data, size_t bytes) {
  const scenes *s = user;
  mica__depth_map map;
  (void)bytes;
  MICA_TRY(read_map(s, sample, &map));
  mica__depth_map_fit(&map, s->files.height, s->files.width, data);
  free(map.depths);
  return MICA_OK;
}

/* Reads the depths of a sample in their own size. Any thread may call it. */
static mica_status own_depths(void *user, uint64_t sample, void *data, size_t bytes) {
  const scenes *s = user;
  mica__depth_map map;
  MICA_TRY(read_map(s, sample, &map));
  const bool same = map.height == s->files.sides[sample][0] && map.width == s->files.sides[sample][1] &&
                    bytes == (size_t)map.height * (size_t)map.width * sizeof *map.depths;
  if (same) memcpy(data, map.depths, bytes);
  free(map.depths);
  return same ? MICA_OK : mica__scene_file_fail_changed(s->files.files.masks[sample]);
}

/* Sets s->floating if no map holds whole numbers. Notes in the summary that some maps have 8 bits and others more,
 * because one scale divides the levels of all maps. */
static mica_status compare_bits(scenes *s, mica__text *summary) {
  uint8_t *bytes = malloc(MICA__SCENE_BEGIN);
  mica_status status = bytes ? MICA_OK : mica__fail_nomem("depth maps");
  const char *narrow = NULL, *wide = NULL;
  int most = 0;
  size_t count = 0;
  s->floating = true;
  for (size_t i = 0; status == MICA_OK && i < s->files.files.count; i++) {
    int bits = 0;
    status = mica__depth_map_find_bits(s->files.files.masks[i], bytes, &bits);
    s->floating = s->floating && bits == 0;
    if (bits == 8 && !count++) narrow = s->files.files.masks[i];
    if (bits > 8 && !wide) wide = s->files.files.masks[i], most = bits;
  }
  free(bytes);
  if (status == MICA_OK && narrow && wide)
    mica__text_addf(summary,
                    "; %zu of %zu depth maps have levels of 8 bits, such as %s, but %s has %d bits: the depth scale %g "
                    "divides the levels of all",
                    count, s->files.files.count, narrow, wide, most, s->scale);
  return status;
}

static mica_status fill_store(mica__store *store, const mica_dataset_config *config, scenes *s) {
  mica__text summary = {0};
  mica__column *column = NULL;
  MICA_TRY(mica__scene_files_add(store, config, &s->files));
  const mica_column depth = {.name = "depth",
                             .kind = MICA_COLUMN_KIND_MAP,
                             .dtype = MICA_F32,
                             .shape = MICA_SHAPE(s->files.height, s->files.width)};
  MICA_TRY(mica__store_add(store, &depth, &column));
  column->user = s;
  column->read = read_depths;
  column->read_own = own_depths;
  mica__scene_files_describe(&s->files, store, &summary);
  mica__text_add(&summary, " with depth maps");
  mica_status status = compare_bits(s, &summary);
  store->summary = summary.data;
  return status == MICA_OK ? mica__text_status(&summary) : status;
}

bool mica__depth_maps_are_floating(const mica_dataset *data) {
  for (size_t i = 0; i < data->store->column_count; i++) {
    const mica__column *column = &data->store->columns[i];
    if (column->read == read_depths) return ((const scenes *)column->user)->floating;
  }
  return false;
}

static mica_status open_depths(const char *const *paths, size_t count, const mica_dataset_config *config,
                               mica__store *store) {
  (void)count;
  scenes *s = calloc(1, sizeof *s);
  if (!s) return mica__fail_nomem("the names of pictures");
  s->scale = config->depth_scale > 0 ? config->depth_scale : MICA__DEPTH_SCALE;
  MICA_TRY(mica__store_own(store, s, release_scenes));
  mica_status status = mica__scene_files_find(paths[0], &mica__depth_pairing, mica__depth_map_find_sides, &s->files);
  if (status == MICA_OK) status = mica__scene_files_shape(config, &s->files);
  return status == MICA_OK ? fill_store(store, config, s) : status;
}

const mica__source mica__source_depths = {
    .is_part = mica__class_folder_is_part, .is_folder = is_folder, .open = open_depths};
