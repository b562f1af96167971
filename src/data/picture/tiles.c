/* Pictures, masks and maps in tiles: a dataset that reads them from another one. */
#include "data/dataset.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* --- positions of tiles --- */

/* The number of tiles along a side; 0 for impossible sizes. */
static int64_t along(int64_t size, int64_t tile, int64_t overlap) {
  if (size < 1 || tile < 1 || overlap < 0 || overlap >= tile) return 0;
  return size <= tile ? 1 : (size - tile + tile - overlap - 1) / (tile - overlap) + 1;
}

/* The position of tile i of `count`; the last tile ends at the edge of the picture. */
static int64_t begin_of(int64_t size, int64_t tile, int64_t overlap, int64_t i) {
  const int64_t at = i * (tile - overlap);
  return size <= tile ? 0 : at < size - tile ? at : size - tile;
}

/* The elements [*from, *to) along a side that belong to tile i. They end at the middle of its overlap with each
 * neighbour. */
static void own_of(int64_t size, int64_t tile, int64_t overlap, int64_t i, int64_t count, int64_t *from, int64_t *to) {
  const int64_t at = begin_of(size, tile, overlap, i);
  *from = i == 0 ? 0 : (begin_of(size, tile, overlap, i - 1) + tile + at) / 2;
  *to = i + 1 == count ? size : (at + tile + begin_of(size, tile, overlap, i + 1)) / 2;
}

int64_t mica_tiling_count(const mica_tiling *t, int64_t height, int64_t width) {
  return along(height, t->height, t->overlap) * along(width, t->width, t->overlap);
}

mica_tiling_tile mica_tiling_at(const mica_tiling *t, int64_t height, int64_t width, int64_t index) {
  const int64_t across = along(width, t->width, t->overlap), down = along(height, t->height, t->overlap);
  if (index < 0 || !across || index / across >= down) return (mica_tiling_tile){0};
  mica_tiling_tile tile = {.row = begin_of(height, t->height, t->overlap, index / across),
                           .column = begin_of(width, t->width, t->overlap, index % across)};
  own_of(height, t->height, t->overlap, index / across, down, &tile.own_row, &tile.own_row_end);
  own_of(width, t->width, t->overlap, index % across, across, &tile.own_column, &tile.own_column_end);
  return tile;
}

/* Mirrors an index at both edges until it is inside. */
static int64_t mirrored(int64_t i, int64_t size) {
  const int64_t period = size > 1 ? 2 * size - 2 : 1, at = i % period;
  return at < size ? at : period - at;
}

void mica_tiling_cut(const mica_tiling *t, const uint8_t *planes, mica_shape shape, mica_tiling_tile tile,
                     uint8_t *out) {
  const int64_t H = shape.dim[1], W = shape.dim[2];
  for (int64_t c = 0; c < shape.dim[0]; c++)
    for (int64_t r = 0; r < t->height; r++) {
      const uint8_t *row = planes + (c * H + mirrored(tile.row + r, H)) * W;
      for (int64_t q = 0; q < t->width; q++) *out++ = row[mirrored(tile.column + q, W)];
    }
}

/* --- the dataset --- */

/* The picture or mask that was read last, since its tiles are read one after another. */
typedef struct cache {
  pthread_mutex_t lock;
  uint64_t sample;
  uint8_t *data;
  bool filled;
} cache;

/* The tiles of a dataset: those of picture i are begin[i] to begin[i + 1] - 1. */
typedef struct ranges {
  uint64_t *begin;
  uint64_t pictures;
} ranges;

static void release_ranges(void *object) {
  ranges *p = object;
  free(p->begin);
  free(p);
}

/* The `user` object of a column of tiles. */
typedef struct tiled {
  const mica_dataset *from;
  const ranges *ranges;
  size_t column;
  mica_tiling tiling;
  bool pixels;    /* a class or number for every pixel */
  size_t element; /* bytes */
  cache cache;
} tiled;

static void release(void *object) {
  tiled *t = object;
  pthread_mutex_destroy(&t->cache.lock);
  free(t->cache.data);
  free(t);
}

/* Copies the part of a mask or map that belongs to the tile. All other pixels of the tile get class 255 (none) or the
 * number 0 (unknown). */
static void cut_mask(const tiled *t, mica_tiling_tile tile, int64_t width, uint8_t *out) {
  const size_t size = t->element;
  memset(out, size == 1 ? 255 : 0, (size_t)(t->tiling.height * t->tiling.width) * size);
  for (int64_t r = tile.own_row; r < tile.own_row_end; r++)
    memcpy(out + (size_t)((r - tile.row) * t->tiling.width + tile.own_column - tile.column) * size,
           t->cache.data + (size_t)(r * width + tile.own_column) * size,
           (size_t)(tile.own_column_end - tile.own_column) * size);
}

static mica_status fill(tiled *t, uint64_t sample, mica_shape shape) {
  if (t->cache.filled && t->cache.sample == sample) return MICA_OK;
  t->cache.filled = false;
  const size_t bytes = (size_t)(shape.dim[0] * shape.dim[1] * shape.dim[2]) * t->element;
  MICA_TRY(mica__dataset_read_own(t->from, t->column, sample, t->cache.data, bytes));
  t->cache.sample = sample;
  t->cache.filled = true;
  return MICA_OK;
}

static bool is_of_pixels(const mica_column *c) {
  return c->kind == MICA_COLUMN_KIND_MASK || c->kind == MICA_COLUMN_KIND_MAP;
}

static int64_t channels_of(const mica_dataset *data, size_t column) {
  const mica_column *about = mica_dataset_column(data, column);
  return is_of_pixels(about) ? 1 : about->shape.dim[0];
}

static uint64_t picture_of(const ranges *p, uint64_t tile) {
  uint64_t low = 0, high = p->pictures;
  while (high - low > 1) {
    const uint64_t middle = low + (high - low) / 2;
    if (p->begin[middle] <= tile)
      low = middle;
    else
      high = middle;
  }
  return low;
}

static mica_status read_tile(void *user, uint64_t sample, void *data, size_t bytes) {
  tiled *t = user;
  const uint64_t picture = picture_of(t->ranges, sample);
  mica_shape shape = MICA_SHAPE(channels_of(t->from, t->column), 0, 0);
  mica__dataset_sides(t->from, picture, &shape.dim[1], &shape.dim[2]);
  const mica_tiling_tile tile =
      mica_tiling_at(&t->tiling, shape.dim[1], shape.dim[2], (int64_t)(sample - t->ranges->begin[picture]));
  (void)bytes;
  pthread_mutex_lock(&t->cache.lock);
  mica_status status = fill(t, picture, shape);
  if (status == MICA_OK && t->pixels) cut_mask(t, tile, shape.dim[2], data);
  if (status == MICA_OK && !t->pixels) mica_tiling_cut(&t->tiling, t->cache.data, shape, tile, data);
  pthread_mutex_unlock(&t->cache.lock);
  return status;
}

/* Adds the tiles of a column. */
static mica_status add_column(mica__store *store, const mica_dataset *from, size_t column, const mica_tiling *tiling,
                              const ranges *p) {
  const mica_column *about = mica_dataset_column(from, column);
  mica_column shown = *about;
  mica__column *made = NULL;
  shown.shape.dim[shown.shape.rank - 2] = tiling->height;
  shown.shape.dim[shown.shape.rank - 1] = tiling->width;
  tiled *t = calloc(1, sizeof *t);
  if (!t) return mica__fail_nomem("tiles");
  pthread_mutex_init(&t->cache.lock, NULL);
  MICA_TRY(mica__store_own(store, t, release));
  t->from = from;
  t->column = column;
  t->tiling = *tiling;
  t->ranges = p;
  t->pixels = is_of_pixels(about);
  t->element = mica_dtype_size(about->dtype);
  t->cache.data = malloc(mica__dataset_most_pixels(from) * (size_t)channels_of(from, column) * t->element);
  if (!t->cache.data) return mica__fail_nomem("tiles");
  MICA_TRY(mica__store_add(store, &shown, &made));
  if (about->classes)
    MICA_TRY(
        mica__column_name_classes(made, (const char *const *)from->store->columns[column].class_names, about->classes));
  made->user = t;
  made->read = read_tile;
  return MICA_OK;
}

static bool is_picture(const mica_column *c) { return c->kind == MICA_COLUMN_KIND_IMAGE && c->dtype == MICA_U8; }

/* The first column of u8 pictures, whose size all others must have; NULL: none. */
static const mica_column *first_picture(const mica_dataset *from) {
  for (size_t k = 0; k < mica_dataset_column_count(from); k++)
    if (is_picture(mica_dataset_column(from, k))) return mica_dataset_column(from, k);
  return NULL;
}

/* Finds the ranges of tiles; the store releases them. */
static mica_status find_ranges(mica__store *store, const mica_dataset *from, const mica_tiling *t, ranges **out) {
  ranges *p = calloc(1, sizeof *p);
  if (!p) return mica__fail_nomem("tiles");
  MICA_TRY(mica__store_own(store, p, release_ranges));
  p->pictures = mica_dataset_count(from);
  p->begin = calloc((size_t)p->pictures + 1, sizeof *p->begin);
  if (!p->begin) return mica__fail_nomem("tiles");
  for (uint64_t i = 0; i < p->pictures; i++) {
    int64_t height = 0, width = 0;
    mica__dataset_sides(from, i, &height, &width);
    p->begin[i + 1] = p->begin[i] + (uint64_t)mica_tiling_count(t, height, width);
    if (p->begin[i + 1] > UINT32_MAX)
      return mica__fail(MICA_E_OVERFLOW, "%s has 2^32 tiles or more", from->store->name);
  }
  *out = p;
  return MICA_OK;
}

static mica_status fill_store(mica__store *store, const mica_dataset *from, const mica_tiling *t) {
  ranges *p = NULL;
  const mica_column *first = first_picture(from);
  if (!first) return mica__fail(MICA_E_FORMAT, "%s holds no pictures of type u8 to cut into tiles", from->store->name);
  const int64_t height = first->shape.dim[1], width = first->shape.dim[2];
  MICA_TRY(find_ranges(store, from, t, &p));
  MICA_TRY(mica__store_set_count(store, p->begin[p->pictures]));
  for (size_t k = 0; k < mica_dataset_column_count(from); k++) {
    const mica_column *about = mica_dataset_column(from, k);
    const int64_t *sides = about->shape.dim + about->shape.rank - 2;
    if (!is_picture(about) && !is_of_pixels(about)) continue;
    if (sides[0] != height || sides[1] != width)
      return mica__fail(MICA_E_FORMAT, "%s: the column \"%s\" has %lld x %lld pixels, but \"%s\" has %lld x %lld",
                        from->store->name, about->name, (long long)sides[1], (long long)sides[0], first->name,
                        (long long)width, (long long)height);
    MICA_TRY(add_column(store, from, k, t, p));
  }
  return MICA_OK;
}

mica_status mica_dataset_tiles(const mica_dataset *dataset, const mica_tiling *tiling, mica_dataset **out) {
  mica__store *store = NULL;
  if (!dataset || !tiling || !out)
    return mica__fail(MICA_E_INVALID, "mica_dataset_tiles: dataset, tiling or tiles is NULL");
  if (tiling->height < 1 || tiling->height > 16384 || tiling->width < 1 || tiling->width > 16384 ||
      tiling->overlap < 0 || tiling->overlap >= tiling->height || tiling->overlap >= tiling->width)
    return mica__fail(MICA_E_INVALID,
                      "mica_dataset_tiles: sides of tiles (%lld x %lld) must be 1 to 16384 pixels, and the overlap "
                      "(%lld) at least 0 and less than each",
                      (long long)tiling->width, (long long)tiling->height, (long long)tiling->overlap);
  MICA_TRY(mica__store_create(dataset->store->name, &store));
  mica_status status = fill_store(store, dataset, tiling);
  if (status == MICA_OK) return mica__dataset_of(store, out);
  mica__store_release(store);
  return status;
}
