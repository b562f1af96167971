/* Folders of volumes with a folder of masks next to them. */
#include "data/annotation/masks.h"
#include "data/annotation/pairs.h"
#include "data/class_folders.h"
#include "data/source.h"
#include "data/volume/volume.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* How many masks are inspected for their values before samples are read. */
#define LOOKED_AT 200
/* How many voxels of a mask are inspected at once. */
#define BLOCK 65536
/* Bytes of unpacked files that stay in memory unless the configuration gives another limit. */
#define MEMORY ((uint64_t)1 << 30)
#define MOST_OPEN 128

/* One file, of a volume or a mask. `open` is NULL while the file is closed. */
typedef struct entry {
  const char *path;
  mica__nifti header;
  mica__volume *open;
  mica__intensity intensity;
  bool measured;
  int users;
  uint64_t used; /* value of the counter `uses` at the last use */
} entry;

struct mica__volumes {
  mica__pairs files;
  entry *entries[2]; /* [0]: volumes, [1]: their masks */
  int32_t (*sides)[2];
  mica__mask_table table;
  int16_t classes[256]; /* the class of each mask value; 255: not labelled, -1: refused */
  uint64_t uses, memory;
  pthread_mutex_t lock;
};

static void release(void *object) {
  mica__volumes *v = object;
  for (int k = 0; k < 2; k++) {
    for (size_t i = 0; v->entries[k] && i < v->files.count; i++) mica__volume_close(v->entries[k][i].open);
    free(v->entries[k]);
  }
  mica__pairs_free(&v->files);
  mica__mask_table_free(&v->table);
  free(v->sides);
  pthread_mutex_destroy(&v->lock);
  free(v);
}

/* --- open files --- */

static entry *entry_at(const mica__volumes *v, size_t k) { return &v->entries[k % 2][k / 2]; }

/* The share of the memory limit that an open file uses: the bytes of an unpacked file, but at least 1 / MOST_OPEN of
 * the limit, so that usually at most MOST_OPEN files are open. */
static uint64_t cost_of(const mica__volumes *v, const entry *e) {
  const uint64_t least = v->memory / MOST_OPEN;
  const bool packed = mica__name_ends(e->path, ".nii") && strcasecmp(e->path + strlen(e->path) - 4, ".nii") != 0;
  return packed && mica__nifti_bytes(&e->header) > least ? mica__nifti_bytes(&e->header) : least;
}

/* Closes the least recently used files until `wanted` bytes fit into the memory limit. Files in use stay open. */
static void make_room(mica__volumes *v, uint64_t wanted) {
  for (;;) {
    uint64_t taken = wanted;
    entry *oldest = NULL;
    for (size_t k = 0; k < 2 * v->files.count; k++) {
      entry *e = entry_at(v, k);
      if (!e->open) continue;
      taken += cost_of(v, e);
      if (!e->users && (!oldest || e->used < oldest->used)) oldest = e;
    }
    if (taken <= v->memory || !oldest) return;
    mica__volume_close(oldest->open);
    oldest->open = NULL;
  }
}

static mica_status hold(mica__volumes *v, entry *e, bool measured) {
  mica_status status = MICA_OK;
  pthread_mutex_lock(&v->lock);
  if (!e->open) {
    make_room(v, cost_of(v, e));
    status = mica__volume_open(e->path, &e->open);
  }
  if (status == MICA_OK && memcmp(mica__volume_header(e->open)->header, e->header.header, sizeof e->header.header) != 0)
    status =
        mica__fail(MICA_E_FORMAT, "%s has changed: its header is not the same as when the data were opened", e->path);
  if (status == MICA_OK && measured && !e->measured) status = mica__volume_measure(e->open, &e->intensity);
  if (status == MICA_OK) {
    e->measured = e->measured || measured;
    e->used = ++v->uses;
    e->users++;
  }
  pthread_mutex_unlock(&v->lock);
  return status;
}

static void let_go(mica__volumes *v, entry *e) {
  pthread_mutex_lock(&v->lock);
  e->users--;
  pthread_mutex_unlock(&v->lock);
}

/* --- reading --- */

static mica_status fail_value(const mica__volumes *v, const entry *e, float value) {
  mica__text list = {0};
  mica_status status = mica__mask_table_write(&v->table, &list);
  if (status == MICA_OK)
    status = mica__fail(MICA_E_FORMAT,
                        "%s holds the value %g, which is not a class of mask-values \"%.200s\"; append *=void or "
                        "*=nearest for all other values",
                        e->path, (double)value, list.data);
  mica__text_free(&list);
  return status;
}

static bool is_byte(float value) { return value >= 0 && value <= 255 && value == floorf(value); }

static mica_status read_classes(mica__volumes *v, entry *e, const mica__window *w, uint8_t *classes) {
  const int64_t voxels = mica__window_voxels(w);
  float *values = malloc((size_t)voxels * sizeof *values);
  mica_status status = values ? hold(v, e, false) : mica__fail_nomem("a mask");
  if (status == MICA_OK) {
    status = mica__volume_read(e->open, w, NAN, values);
    let_go(v, e);
  }
  for (int64_t i = 0; status == MICA_OK && i < voxels; i++) {
    const int16_t known = isnan(values[i]) ? 255 : is_byte(values[i]) ? v->classes[(uint8_t)values[i]] : -1;
    if (known < 0) status = fail_value(v, e, values[i]);
    classes[i] = (uint8_t)known;
  }
  free(values);
  return status;
}

static mica_status read_values(mica__volumes *v, entry *e, const mica__window *w, float *values) {
  MICA_TRY(hold(v, e, true));
  mica_status status = mica__volume_read(e->open, w, NAN, values);
  let_go(v, e);
  mica__intensity_apply(&e->intensity, e->header.channels, mica__window_voxels(w), values);
  return status;
}

static mica__volumes *volumes_of(const mica_dataset *data) { return data->store->volumes; }

const mica__nifti *mica__volumes_header(const mica_dataset *data, uint64_t sample) {
  return &volumes_of(data)->entries[0][mica__dataset_index(data, sample)].header;
}

mica_status mica__volumes_read(const mica_dataset *data, uint64_t sample, const mica__window *w, float *values,
                               uint8_t *classes) {
  mica__volumes *v = volumes_of(data);
  const uint64_t i = mica__dataset_index(data, sample);
  if (values) MICA_TRY(read_values(v, &v->entries[0][i], w, values));
  return classes ? read_classes(v, &v->entries[1][i], w, classes) : MICA_OK;
}

/* Reads a whole volume or mask into a column. `bytes` is the size of the column's element; a volume of another size
 * fails. */
static mica_status read_whole(void *user, uint64_t sample, void *data, size_t bytes, bool mask) {
  mica__volumes *v = user;
  entry *e = &v->entries[mask][sample];
  const int64_t *sides = e->header.sides;
  const mica__window all = {.sides = {sides[0], sides[1], sides[2]}};
  const size_t wanted = (size_t)mica__window_voxels(&all) * (mask ? 1 : sizeof(float) * (size_t)e->header.channels);
  if (bytes != wanted)
    return mica__fail(MICA_E_FORMAT,
                      "%s differs in size from the first volume; only the task segment_volumes takes volumes of "
                      "different sizes",
                      e->path);
  return mask ? read_classes(v, e, &all, data) : read_values(v, e, &all, data);
}

static mica_status read_image(void *user, uint64_t sample, void *data, size_t bytes) {
  return read_whole(user, sample, data, bytes, false);
}

static mica_status read_mask(void *user, uint64_t sample, void *data, size_t bytes) {
  return read_whole(user, sample, data, bytes, true);
}

/* --- opening --- */

static mica_status read_header(const char *path, mica__nifti *header) {
  mica__volume *volume = NULL;
  MICA_TRY(mica__volume_open(path, &volume));
  *header = *mica__volume_header(volume);
  mica__volume_close(volume);
  return MICA_OK;
}

static mica_status check_pair(const mica__volumes *v, size_t i) {
  const entry *e = &v->entries[0][i], *mask = &v->entries[1][i];
  const int64_t *a = e->header.sides, *b = mask->header.sides;
  if (mask->header.channels != 1)
    return mica__fail(MICA_E_FORMAT, "%s has %lld channels, but a mask must have one", mask->path,
                      (long long)mask->header.channels);
  if (memcmp(a, b, sizeof e->header.sides) != 0)
    return mica__fail(MICA_E_FORMAT,
                      "%s is a mask of %lld x %lld x %lld voxels, but its volume %s has %lld x %lld x %lld", mask->path,
                      (long long)b[2], (long long)b[1], (long long)b[0], e->path, (long long)a[2], (long long)a[1],
                      (long long)a[0]);
  if (e->header.channels == v->entries[0][0].header.channels) return MICA_OK;
  return mica__fail(MICA_E_FORMAT, "%s has %lld channels, but %s has %lld", e->path, (long long)e->header.channels,
                    v->entries[0][0].path, (long long)v->entries[0][0].header.channels);
}

static mica_status read_headers(mica__volumes *v) {
  v->sides = calloc(v->files.count + 1, sizeof *v->sides);
  for (int k = 0; k < 2; k++) v->entries[k] = calloc(v->files.count + 1, sizeof *v->entries[k]);
  if (!v->sides || !v->entries[0] || !v->entries[1]) return mica__fail_nomem("volumes");
  for (size_t i = 0; i < v->files.count; i++) {
    for (int k = 0; k < 2; k++) {
      v->entries[k][i].path = (k ? v->files.masks : v->files.pictures)[i];
      MICA_TRY(read_header(v->entries[k][i].path, &v->entries[k][i].header));
    }
    MICA_TRY(check_pair(v, i));
    const int64_t *sides = v->entries[0][i].header.sides;
    v->sides[i][0] = (int32_t)(sides[0] * sides[1]);
    v->sides[i][1] = (int32_t)sides[2];
  }
  return MICA_OK;
}

/* Counts the values of a mask's voxels in `census`. Does not count NaN, because such voxels are not labelled. */
static mica_status look_at(mica__volumes *v, size_t i, mica__mask_census *census) {
  entry *e = &v->entries[1][i];
  const int64_t *sides = e->header.sides;
  const int64_t rows = sides[1], columns = sides[2];
  mica__image slice = {.channels = 1};
  float *values = malloc((size_t)(rows * columns) * sizeof *values);
  slice.pixels = malloc((size_t)(rows * columns));
  mica_status status = values && slice.pixels ? hold(v, e, false) : mica__fail_nomem("a mask");
  const bool held = status == MICA_OK;
  for (int64_t z = 0; status == MICA_OK && z < sides[0]; z++) {
    status = mica__volume_read(e->open, &(mica__window){{z, 0, 0}, {1, rows, columns}}, 0, values);
    int32_t labelled = 0;
    for (int64_t k = 0; status == MICA_OK && k < rows * columns; k++) {
      if (isnan(values[k])) continue;
      if (!is_byte(values[k]))
        status = mica__fail(MICA_E_FORMAT, "%s holds the value %g, but masks must have whole numbers from 0 to 255",
                            e->path, (double)values[k]);
      else
        slice.pixels[labelled++] = (uint8_t)values[k];
    }
    slice.height = 1, slice.width = labelled;
    if (status == MICA_OK) mica__mask_count(&slice, i, census);
  }
  if (held) let_go(v, e);
  free(values);
  free(slice.pixels);
  return status;
}

/* Finds the class of each value from the table. */
static mica_status find_classes_of_values(mica__volumes *v) {
  const mica__mask_table *t = &v->table;
  for (int32_t c = 0; c < t->classes; c++)
    if (t->values[c] > 255)
      return mica__fail(MICA_E_INVALID, "mask-values of volumes must be numbers from 0 to 255, not colours");
  for (int k = 0; k < 256; k++) {
    uint8_t value = (uint8_t)k, known = 255;
    const mica__image one = {1, 1, 1, &value};
    bool listed = t->rest != MICA__MASK_REST_FAILS;
    for (int32_t c = 0; c < t->classes; c++) listed = listed || t->values[c] == value;
    for (int32_t c = 0; c < t->void_count; c++) listed = listed || t->voids[c] == value;
    if (listed) MICA_TRY(mica__mask_classes("a mask", &one, t, 1, 1, &known));
    v->classes[k] = listed ? known : -1;
  }
  return MICA_OK;
}

static mica_status find_classes(mica__volumes *v, const mica_dataset_config *config) {
  const char *given = config->mask_values;
  if (!given && config->like) given = config->like->store->mask_values;
  if (given) MICA_TRY(mica__mask_table_parse(given, &v->table));
  mica__mask_census *census = calloc(1, sizeof *census);
  mica_status status = census ? MICA_OK : mica__fail_nomem("masks");
  const size_t count = v->files.count, looked_at = given ? 0 : count < LOOKED_AT ? count : LOOKED_AT;
  for (size_t k = 0; status == MICA_OK && k < looked_at; k++) status = look_at(v, k * count / looked_at, census);
  if (status == MICA_OK && !given) status = mica__mask_guess(census, (const char *const *)v->files.masks, &v->table);
  free(census);
  return status == MICA_OK ? find_classes_of_values(v) : status;
}

static mica_status describe(const mica__volumes *v, mica__store *store) {
  mica__text summary = {0}, values = {0};
  mica_status status = mica__mask_table_write(&v->table, &values);
  store->mask_values = values.data;
  if (status != MICA_OK) return status;
  const int64_t *sides = v->entries[0][0].header.sides;
  bool same = true;
  for (size_t i = 1; i < v->files.count; i++)
    same = same && !memcmp(v->entries[0][i].header.sides, sides, sizeof v->entries[0][i].header.sides);
  mica__text_addf(&summary, "%zu volumes of ", v->files.count);
  if (same)
    mica__text_addf(&summary, "%lld x %lld x %lld voxels", (long long)sides[2], (long long)sides[1],
                    (long long)sides[0]);
  else
    mica__text_add(&summary, "several sizes");
  mica__text_addf(&summary, ", %d classes in their masks: %.200s", v->table.classes, values.data);
  store->summary = summary.data;
  return mica__text_status(&summary);
}

static mica_status fill_store(mica__store *store, mica__volumes *v) {
  const int64_t channels = v->entries[0][0].header.channels, rows = v->sides[0][0], columns = v->sides[0][1];
  const mica_column image = {"image", MICA_COLUMN_KIND_IMAGE, MICA_F32, MICA_SHAPE(channels, rows, columns), 0};
  const mica_column mask = {"mask", MICA_COLUMN_KIND_MASK, MICA_U8, MICA_SHAPE(rows, columns), v->table.classes};
  mica__column *column = NULL;
  store->volumes = v;
  store->sides = v->sides;
  MICA_TRY(mica__store_set_count(store, v->files.count));
  MICA_TRY(mica__store_add(store, &image, &column));
  column->user = v;
  column->read = column->read_own = read_image;
  column->files = (const char *const *)v->files.pictures;
  MICA_TRY(mica__store_add(store, &mask, &column));
  column->user = v;
  column->read = column->read_own = read_mask;
  MICA_TRY(mica__column_name_classes(column, (const char *const *)v->table.names, v->table.classes));
  return describe(v, store);
}

static const mica__pairing pairing = {mica__nifti_is_named, "volumes", "nii.gz", ".nii or .nii.gz", true, NULL};

static mica_status open_volumes(const char *const *paths, size_t count, const mica_dataset_config *config,
                                mica__store *store) {
  (void)count;
  mica__volumes *v = calloc(1, sizeof *v);
  if (!v) return mica__fail_nomem("volumes");
  v->memory = config->memory ? config->memory : MEMORY;
  pthread_mutex_init(&v->lock, NULL);
  MICA_TRY(mica__store_own(store, v, release));
  MICA_TRY(mica__pairs_find(paths[0], &pairing, &v->files));
  MICA_TRY(read_headers(v));
  MICA_TRY(find_classes(v, config));
  return fill_store(store, v);
}

static mica_status is_folder(const char *path, bool *is) { return mica__pairs_are_in(path, &pairing, is); }

const mica__source mica__source_volumes = {
    .is_part = mica__class_folder_is_part, .is_folder = is_folder, .open = open_volumes};
