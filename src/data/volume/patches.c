/* Views of volumes: windows that cover them, and windows drawn at random. */
#include "data/volume/volume.h"
#include "ops/random/philox.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How many random windows are tried to find a voxel of a class. */
#define ATTEMPTS 64

/* --- a grid --- */

static int64_t step_of(const mica__grid *g, int axis) {
  const int64_t step = g->sides[axis] - (int64_t)((double)g->sides[axis] * g->overlap);
  return step > 0 ? step : 1;
}

/* The number of windows along an axis. */
static int64_t count_along(const mica__grid *g, const int64_t sides[3], int axis) {
  const int64_t rest = sides[axis] - g->sides[axis], step = step_of(g, axis);
  return rest > 0 ? (rest + step - 1) / step + 1 : 1;
}

int64_t mica__grid_count(const mica__grid *g, const int64_t sides[3]) {
  return count_along(g, sides, 0) * count_along(g, sides, 1) * count_along(g, sides, 2);
}

/* The last window along an axis ends at the end of the volume. */
mica__window mica__grid_at(const mica__grid *g, const int64_t sides[3], int64_t index) {
  mica__window w = {{0}, {g->sides[0], g->sides[1], g->sides[2]}};
  for (int axis = 2; axis >= 0; axis--) {
    const int64_t count = count_along(g, sides, axis), k = index % count, last = sides[axis] - g->sides[axis];
    const int64_t at = k * step_of(g, axis);
    w.at[axis] = last > 0 ? (at < last ? at : last) : 0;
    index /= count;
  }
  return w;
}

/* --- views --- */

/* A view, stored as the `user` of its columns. */
typedef struct view {
  const mica_dataset *data;
  mica__grid grid;
  mica__patching how;
  uint64_t *begin; /* of a grid: the first window of each volume, and the total */
} view;

static void release(void *object) {
  view *v = object;
  free(v->begin);
  free(v);
}

static uint64_t volume_of(const view *v, uint64_t tile) {
  uint64_t low = 0, high = mica_dataset_count(v->data);
  while (high - low > 1) {
    const uint64_t middle = low + (high - low) / 2;
    if (v->begin[middle] <= tile)
      low = middle;
    else
      high = middle;
  }
  return low;
}

static mica_status read_tile(void *user, uint64_t sample, void *data, bool mask) {
  const view *v = user;
  const uint64_t volume = volume_of(v, sample);
  const int64_t *sides = mica__volumes_header(v->data, volume)->sides;
  const mica__window w = mica__grid_at(&v->grid, sides, (int64_t)(sample - v->begin[volume]));
  return mica__volumes_read(v->data, volume, &w, mask ? NULL : data, mask ? data : NULL);
}

static mica_status tile_image(void *user, uint64_t sample, void *data, size_t bytes) {
  (void)bytes;
  return read_tile(user, sample, data, false);
}

static mica_status tile_mask(void *user, uint64_t sample, void *data, size_t bytes) {
  (void)bytes;
  return read_tile(user, sample, data, true);
}

/* --- windows that are drawn --- */

static uint64_t below(uint32_t word, int64_t count) { return (uint64_t)word * (uint64_t)count >> 32; }

/* Random words of a sample; `use` makes them differ between uses. */
static void draw_words(uint64_t sample, uint64_t draw, uint32_t use, uint32_t words[4]) {
  words[0] = (uint32_t)sample, words[1] = use, words[2] = UINT32_C(0x766f786c), words[3] = 0; /* "voxl" */
  mica__philox(words, (uint32_t)draw, (uint32_t)(draw >> 32));
}

/* Finds a voxel of a known class other than the first, if possible. */
static mica_status find_voxel(const view *v, uint64_t volume, uint64_t sample, uint64_t draw, int64_t at[3],
                              bool *found) {
  const int64_t *sides = mica__volumes_header(v->data, volume)->sides;
  *found = false;
  for (uint32_t k = 0; !*found && k < ATTEMPTS; k++) {
    uint32_t words[4];
    uint8_t known = 0;
    draw_words(sample, draw, 2 + k, words);
    mica__window w = {{0}, {1, 1, 1}};
    for (int i = 0; i < 3; i++) w.at[i] = at[i] = (int64_t)below(words[i], sides[i]);
    MICA_TRY(mica__volumes_read(v->data, volume, &w, NULL, &known));
    *found = known != 0 && known != 255;
  }
  return MICA_OK;
}

/* Draws the window of a sample, and the axes that are mirrored. About one window in three includes a voxel of a class
 * other than the first, if find_voxel finds one; the others are anywhere in the volume. */
static mica_status draw_window(const view *v, uint64_t sample, uint64_t draw, mica__window *w, bool mirrored[3]) {
  const uint64_t volume = sample / (uint64_t)v->how.count;
  const int64_t *sides = mica__volumes_header(v->data, volume)->sides;
  uint32_t words[4];
  int64_t near[3];
  bool found = false;
  draw_words(sample, draw, 0, words);
  if (words[3] % 3 == 0) MICA_TRY(find_voxel(v, volume, sample, draw, near, &found));
  for (int i = 0; i < 3; i++) {
    const int64_t side = w->sides[i] = v->how.sides[i], room = sides[i] - side;
    w->at[i] = room > 0 ? (int64_t)below(words[i], room + 1) : 0;
    if (!found || room <= 0) continue;
    const int64_t at = near[i] - (int64_t)below(words[i], side);
    w->at[i] = at < 0 ? 0 : at > room ? room : at;
  }
  draw_words(sample, draw, 1, words);
  for (int i = 0; i < 3; i++) mirrored[i] = v->how.flip && words[i] & 1;
  return MICA_OK;
}

/* Mirrors one axis of `planes` arrays of elements of `bytes` bytes. */
static void mirror(uint8_t *values, int64_t planes, const int64_t sides[3], int axis, size_t bytes) {
  int64_t outer = planes, inner = (int64_t)bytes;
  for (int i = 0; i < axis; i++) outer *= sides[i];
  for (int i = axis + 1; i < 3; i++) inner *= sides[i];
  for (int64_t o = 0; o < outer; o++)
    for (int64_t a = 0, b = sides[axis] - 1; a < b; a++, b--)
      for (int64_t k = 0; k < inner; k++) {
        uint8_t *x = values + (o * sides[axis] + a) * inner + k, *y = values + (o * sides[axis] + b) * inner + k;
        const uint8_t kept = *x;
        *x = *y;
        *y = kept;
      }
}

static mica_status read_patch(void *user, uint64_t sample, uint64_t draw, void *data, bool mask) {
  const view *v = user;
  const uint64_t volume = sample / (uint64_t)v->how.count;
  mica__window w;
  bool mirrored[3];
  MICA_TRY(draw_window(v, sample, draw, &w, mirrored));
  MICA_TRY(mica__volumes_read(v->data, volume, &w, mask ? NULL : data, mask ? data : NULL));
  const int64_t planes = mask ? 1 : mica__volumes_header(v->data, volume)->channels;
  for (int i = 0; i < 3; i++)
    if (mirrored[i]) mirror(data, planes, w.sides, i, mask ? 1 : sizeof(float));
  return MICA_OK;
}

static mica_status patch_image(void *user, uint64_t sample, uint64_t draw, void *data, size_t bytes) {
  (void)bytes;
  return read_patch(user, sample, draw, data, false);
}

static mica_status patch_mask(void *user, uint64_t sample, uint64_t draw, void *data, size_t bytes) {
  (void)bytes;
  return read_patch(user, sample, draw, data, true);
}

/* Reads a window where no epoch is known, as when intensities are measured. */
static mica_status any_image(void *user, uint64_t sample, void *data, size_t bytes) {
  return patch_image(user, sample, 0, data, bytes);
}

static mica_status any_mask(void *user, uint64_t sample, void *data, size_t bytes) {
  return patch_mask(user, sample, 0, data, bytes);
}

/* --- datasets --- */

static mica_status fill_store(mica__store *store, view *v, uint64_t count, const int64_t sides[3]) {
  const mica__store *from = v->data->store;
  const bool grid = v->begin != NULL;
  MICA_TRY(mica__store_set_count(store, count));
  for (size_t k = 0; k < from->column_count; k++) {
    mica_column about = from->columns[k].about;
    const bool mask = about.kind == MICA_COLUMN_KIND_MASK;
    mica__column *made = NULL;
    if (!mask && about.kind != MICA_COLUMN_KIND_IMAGE) continue;
    about.shape.dim[about.shape.rank - 2] = sides[0] * sides[1];
    about.shape.dim[about.shape.rank - 1] = sides[2];
    MICA_TRY(mica__store_add(store, &about, &made));
    made->user = v;
    made->read = grid ? (mask ? tile_mask : tile_image) : mask ? any_mask : any_image;
    if (!grid) made->read_drawn = mask ? patch_mask : patch_image;
    if (mask)
      MICA_TRY(mica__column_name_classes(made, (const char *const *)from->columns[k].class_names, about.classes));
  }
  return MICA_OK;
}

/* Finds how many windows there are of each volume. */
static mica_status find_tiles(view *v, uint64_t *count) {
  const uint64_t volumes = mica_dataset_count(v->data);
  v->begin = calloc((size_t)volumes + 1, sizeof *v->begin);
  if (!v->begin) return mica__fail_nomem("windows of volumes");
  for (uint64_t i = 0; i < volumes; i++)
    v->begin[i + 1] = v->begin[i] + (uint64_t)mica__grid_count(&v->grid, mica__volumes_header(v->data, i)->sides);
  *count = v->begin[volumes];
  return MICA_OK;
}

/* Makes a dataset of the view that is described: random windows if how.count is above 0, else the windows of a grid. */
static mica_status make_view(view described, mica_dataset **out) {
  mica__store *store = NULL;
  const bool drawn = described.how.count > 0;
  uint64_t count = mica_dataset_count(described.data) * (uint64_t)described.how.count;
  view *v = malloc(sizeof *v);
  if (!v) return mica__fail_nomem("windows of volumes");
  *v = described;
  mica_status status = drawn ? MICA_OK : find_tiles(v, &count);
  if (status == MICA_OK) status = mica__store_create(v->data->store->name, &store);
  if (status != MICA_OK) {
    release(v);
    return status;
  }
  status = mica__store_own(store, v, release);
  if (status == MICA_OK) status = fill_store(store, v, count, drawn ? v->how.sides : v->grid.sides);
  if (status == MICA_OK) return mica__dataset_of(store, out);
  mica__store_release(store);
  return status;
}

mica_status mica__volumes_tiles(const mica_dataset *data, const mica__grid *grid, mica_dataset **tiles) {
  return make_view((view){.data = data, .grid = *grid}, tiles);
}

mica_status mica__volumes_patches(const mica_dataset *data, const mica__patching *how, mica_dataset **patches) {
  return make_view((view){.data = data, .how = *how}, patches);
}
