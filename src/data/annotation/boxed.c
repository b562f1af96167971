/* Datasets of pictures with boxes. */
#include "data/annotation/boxed.h"

#include "base/checked.h"
#include "base/text.h"
#include "data/picture/image.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The colour of the border around a picture that does not fill its frame. */
#define GREY 114
/* Boxes may exceed their picture by this many pixels. The error is common: some formats count pixels from 1, and some
 * files of these formats count from 0. */
#define SLACK 1.0
/* With config->longest, sides are rounded up to multiples of this: the number of pixels per cell of a detector's
 * smallest feature map. */
#define MULTIPLE 32
#define MOST_SIDE 32768
/* The most classes that a summary lists by name. */
#define NAMED 20
#define MOST_BOXES ((size_t)1 << 28)

struct mica__boxed {
  char **paths;
  int32_t *sizes; /* width and height of each file's picture */
  int64_t *offsets;
  size_t count, capacity; /* of pictures */
  float *boxes, *areas;
  int32_t *labels, *ignored;
  size_t box_count, box_capacity, flat; /* flat: how many boxes without area were left out */
  char **names;                         /* of classes */
  int32_t class_count, class_capacity;
  int32_t channels, height, width;
  size_t left_out; /* pictures without annotations */
  size_t bare;     /* pictures without a file of boxes, which therefore have none */
  size_t merged;   /* categories that have the same name as another one */
};

static void release(void *object) {
  mica__boxed *b = object;
  for (size_t i = 0; i < b->count; i++) free(b->paths[i]);
  for (int32_t i = 0; i < b->class_count; i++) free(b->names[i]);
  free(b->paths);
  free(b->sizes);
  free(b->offsets);
  free(b->boxes);
  free(b->areas);
  free(b->labels);
  free(b->ignored);
  free(b->names);
  free(b);
}

mica_status mica__boxed_create(mica__store *store, mica__boxed **out) {
  mica__boxed *b = calloc(1, sizeof *b);
  if (!b) return mica__fail_nomem("boxes");
  MICA_TRY(mica__store_own(store, b, release));
  *out = b;
  return MICA_OK;
}

static bool grow(void *array, size_t capacity, size_t size) {
  void **at = array;
  size_t bytes = 0;
  void *grown = mica__mul_size(capacity, size, &bytes) ? realloc(*at, bytes) : NULL;
  if (grown) *at = grown;
  return grown != NULL;
}

mica_status mica__boxed_picture(mica__boxed *b, char *path, double width, double height) {
  if (!path) return mica__fail_nomem("boxes");
  if (!(width >= 1 && width <= MOST_SIDE && height >= 1 && height <= MOST_SIDE)) {
    mica_status status = mica__fail(MICA_E_FORMAT, "%s: the picture has %g x %g pixels, but sides must be 1 to %d",
                                    path, width, height, MOST_SIDE);
    free(path);
    return status;
  }
  if (b->count == b->capacity) {
    const size_t capacity = b->capacity ? 2 * b->capacity : 256;
    if (!grow(&b->paths, capacity, sizeof *b->paths) || !grow(&b->sizes, capacity, 2 * sizeof *b->sizes) ||
        !grow(&b->offsets, capacity + 1, sizeof *b->offsets)) {
      free(path);
      return mica__fail_nomem("boxes");
    }
    b->capacity = capacity;
  }
  b->sizes[2 * b->count] = (int32_t)width;
  b->sizes[2 * b->count + 1] = (int32_t)height;
  b->offsets[b->count] = b->offsets[b->count + 1] = (int64_t)b->box_count;
  b->paths[b->count++] = path;
  return MICA_OK;
}

/* Clips a box that exceeds the picture by up to SLACK. MICA_E_FORMAT: it exceeds the picture further, has a corner that
 * is not finite, or has no area. */
static mica_status fit_box(mica__boxed_box *box, double width, double height, const char *where) {
  const bool finite = isfinite(box->x0) && isfinite(box->y0) && isfinite(box->x1) && isfinite(box->y1);
  if (!finite || box->x0 < -SLACK || box->y0 < -SLACK || box->x1 > width + SLACK || box->y1 > height + SLACK)
    return mica__fail(MICA_E_FORMAT, "%s: the box from (%g, %g) to (%g, %g) is not inside of the picture of %g x %g",
                      where, box->x0, box->y0, box->x1, box->y1, width, height);
  box->x0 = fmax(box->x0, 0);
  box->y0 = fmax(box->y0, 0);
  box->x1 = fmin(box->x1, width);
  box->y1 = fmin(box->y1, height);
  if (box->x1 > box->x0 && box->y1 > box->y0) return MICA_OK;
  return mica__fail(MICA_E_FORMAT, "%s: the box from (%g, %g) to (%g, %g) has no area", where, box->x0, box->y0,
                    box->x1, box->y1);
}

mica_status mica__boxed_add(mica__boxed *b, const mica__boxed_box *given, const char *where) {
  mica__boxed_box box = *given;
  const size_t at = b->box_count;
  MICA_TRY(fit_box(&box, b->sizes[2 * b->count - 2], b->sizes[2 * b->count - 1], where));
  if (at == MOST_BOXES) return mica__fail(MICA_E_OVERFLOW, "%s: there are more than %zu boxes", where, MOST_BOXES);
  if (at == b->box_capacity) {
    const size_t capacity = at ? 2 * at : 1024;
    if (!grow(&b->boxes, capacity, 4 * sizeof *b->boxes) || !grow(&b->areas, capacity, sizeof *b->areas) ||
        !grow(&b->labels, capacity, sizeof *b->labels) || !grow(&b->ignored, capacity, sizeof *b->ignored))
      return mica__fail_nomem("boxes");
    b->box_capacity = capacity;
  }
  const double sides[4] = {box.x0, box.y0, box.x1, box.y1}, area = (box.x1 - box.x0) * (box.y1 - box.y0);
  for (int k = 0; k < 4; k++) b->boxes[4 * at + (size_t)k] = (float)sides[k];
  b->areas[at] = (float)(box.area >= 0 && isfinite(box.area) ? box.area : area);
  b->labels[at] = box.class_index;
  b->ignored[at] = (int32_t)box.state;
  b->offsets[b->count] = (int64_t)++b->box_count;
  return MICA_OK;
}

void mica__boxed_count_flat(mica__boxed *b) { b->flat++; }

void mica__boxed_count_merged(mica__boxed *b) { b->merged++; }

void mica__boxed_count_bare(mica__boxed *b) { b->bare++; }

/* --- classes --- */

mica_status mica__boxed_class(mica__boxed *b, const char *name, int32_t *class_index) {
  char *printable = mica__name_printable(name);
  if (!printable) return mica__fail_nomem("names of classes");
  for (int32_t i = 0; i < b->class_count; i++)
    if (!strcmp(b->names[i], printable)) {
      free(printable);
      *class_index = i;
      return MICA_OK;
    }
  const int32_t capacity = b->class_capacity ? 2 * b->class_capacity : 32;
  mica_status status = MICA_OK;
  if (b->class_count >= 100000)
    status = mica__fail(MICA_E_FORMAT, "the annotations name more than %d classes of boxes", (int)b->class_count);
  else if (b->class_count == b->class_capacity && !grow(&b->names, (size_t)capacity, sizeof *b->names))
    status = mica__fail_nomem("names of classes");
  else if (b->class_count == b->class_capacity)
    b->class_capacity = capacity;
  if (status != MICA_OK) {
    free(printable);
    return status;
  }
  b->names[b->class_count] = printable;
  *class_index = b->class_count++;
  return MICA_OK;
}

static int compare_names(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Sets each box's class to the index of the class name in the sorted list b->names. before[i] is the name of class i in
 * the old numbering. */
static void renumber(mica__boxed *b, char *const *before) {
  for (size_t i = 0; i < b->box_count; i++) {
    char **at = bsearch(&before[b->labels[i]], b->names, (size_t)b->class_count, sizeof *b->names, compare_names);
    b->labels[i] = (int32_t)(at - b->names);
  }
}

void mica__boxed_sort_classes(mica__boxed *b) {
  char **before = b->class_count ? malloc((size_t)b->class_count * sizeof *before) : NULL;
  if (!before) return; /* no classes, or memory is short: unsorted numbers are valid too */
  memcpy(before, b->names, (size_t)b->class_count * sizeof *before);
  qsort(b->names, (size_t)b->class_count, sizeof *b->names, compare_names);
  renumber(b, before);
  free(before);
}

/* Renumbers the classes as in another dataset, by their names. */
static mica_status take_classes(mica__boxed *b, const mica_dataset *like, const mica__store *store) {
  const mica__column *known = mica__store_find(like->store, "label");
  if (!known || !known->class_names)
    return mica__fail(MICA_E_FORMAT, "%s has classes, but the data of training have none", store->name);
  int32_t *map = malloc(((size_t)b->class_count + 1) * sizeof *map);
  if (!map) return mica__fail_nomem("names of classes");
  mica_status status = MICA_OK;
  for (int32_t i = 0; status == MICA_OK && i < b->class_count; i++) {
    map[i] = 0;
    while (map[i] < known->about.classes && strcmp(known->class_names[map[i]], b->names[i]) != 0) map[i]++;
    if (map[i] == known->about.classes)
      status = mica__fail(MICA_E_FORMAT, "%s: the class \"%s\" is unknown: the data of training do not have it",
                          store->name, b->names[i]);
  }
  for (size_t i = 0; status == MICA_OK && i < b->box_count; i++) b->labels[i] = map[b->labels[i]];
  free(map);
  return status;
}

/* --- pictures --- */

mica__placement mica__placement_of(int64_t from_width, int64_t from_height, int64_t width, int64_t height) {
  const double scale = fmin((double)width / (double)from_width, (double)height / (double)from_height);
  mica__placement p = {.width = (int32_t)fmin(fmax(floor((double)from_width * scale + 0.5), 1), (double)width),
                       .height = (int32_t)fmin(fmax(floor((double)from_height * scale + 0.5), 1), (double)height)};
  p.scale[0] = (double)p.width / (double)from_width;
  p.scale[1] = (double)p.height / (double)from_height;
  p.left = (int32_t)(width - p.width) / 2;
  p.top = (int32_t)(height - p.height) / 2;
  return p;
}

static mica_status fit_inside(const mica__image *image, int32_t height, int32_t width, uint8_t *planes) {
  const mica__placement p = mica__placement_of(image->width, image->height, width, height);
  const size_t inner = (size_t)p.height * (size_t)p.width, plane = (size_t)height * (size_t)width;
  if (inner == plane) return mica__image_fit(image, height, width, planes);
  uint8_t *scaled = malloc(inner * (size_t)image->channels);
  if (!scaled) return mica__fail_nomem("a picture");
  mica_status status = mica__image_fit(image, p.height, p.width, scaled);
  memset(planes, GREY, plane * (size_t)image->channels);
  for (int32_t c = 0; status == MICA_OK && c < image->channels; c++)
    for (int32_t y = 0; y < p.height; y++)
      memcpy(planes + (size_t)c * plane + (size_t)(p.top + y) * (size_t)width + (size_t)p.left,
             scaled + (size_t)c * inner + (size_t)y * (size_t)p.width, (size_t)p.width);
  free(scaled);
  return status;
}

mica_status mica__boxed_read(const char *path, int32_t channels, int32_t height, int32_t width, uint8_t *planes,
                             int32_t *from_width, int32_t *from_height) {
  uint8_t *content = NULL;
  size_t size = 0;
  mica__image image = {0};
  MICA_TRY(mica__content_read(path, &content, &size));
  mica_status status = mica__image_decode(path, content, size, channels, 0, 0, &image);
  free(content);
  *from_width = image.width;
  *from_height = image.height;
  if (status == MICA_OK) status = fit_inside(&image, height, width, planes);
  free(image.pixels);
  return status;
}

static mica_status read_picture(void *user, uint64_t sample, void *data, size_t bytes) {
  const mica__boxed *b = user;
  int32_t width = 0, height = 0;
  const int32_t *size = b->sizes + 2 * sample;
  (void)bytes;
  MICA_TRY(mica__boxed_read(b->paths[sample], b->channels, b->height, b->width, data, &width, &height));
  if (width == size[0] && height == size[1]) return MICA_OK;
  return mica__fail(MICA_E_FORMAT, "%s: the picture has %d x %d pixels, but its annotation is for %d x %d",
                    b->paths[sample], width, height, size[0], size[1]);
}

/* Finds the number of channels: the first picture's, or 3 if that is grey and others have colours. */
static mica_status find_channels(mica__boxed *b) {
  uint8_t *pixels = NULL;
  mica_shape shape = MICA_SCALAR;
  MICA_TRY(mica_image_read(b->paths[0], MICA_SHAPE(0, 0, 0), &pixels, &shape));
  mica_free(pixels);
  b->channels = (int32_t)shape.dim[0];
  bool coloured = false;
  if (b->channels == 1) MICA_TRY(mica__pictures_with_colours((const char *const *)b->paths, b->count, &coloured));
  if (coloured) b->channels = 3;
  return MICA_OK;
}

static int32_t multiple(double side) { return (int32_t)(ceil(side / MULTIPLE - 1e-9) * MULTIPLE); }

/* Finds the usual width and height among up to MICA__MOST_INSPECTED evenly spaced pictures (mica__sizes_find_usual). */
static void find_usual(const mica__boxed *b, int32_t usual[2]) {
  int32_t sizes[MICA__MOST_INSPECTED][2];
  const size_t count = mica__pictures_inspected(b->count);
  for (size_t i = 0; i < count; i++)
    for (size_t k = 0; k < 2; k++) sizes[i][k] = b->sizes[2 * (size_t)((uint64_t)i * b->count / count) + k];
  mica__sizes_find_usual((const int32_t(*)[2])sizes, count, usual);
}

static mica_status choose_shape(mica__boxed *b, const mica_dataset_config *config, const mica__store *store) {
  int32_t usual[2] = {0, 0};
  find_usual(b, usual);
  const double width = usual[0], height = usual[1];
  if (config->like) {
    const mica_shape shape = mica_dataset_shape(config->like);
    if (shape.rank != 3)
      return mica__fail(MICA_E_FORMAT, "%s holds pictures, but the data of training do not", store->name);
    b->channels = (int32_t)shape.dim[0];
    b->height = (int32_t)shape.dim[1];
    b->width = (int32_t)shape.dim[2];
    return MICA_OK;
  }
  const double scale = config->longest ? config->longest / fmax(width, height) : 1;
  b->height = config->height ? config->height : config->longest ? multiple(height * scale) : (int32_t)height;
  b->width = config->width ? config->width : config->longest ? multiple(width * scale) : (int32_t)width;
  b->channels = config->channels;
  return b->channels ? MICA_OK : find_channels(b);
}

/* --- columns --- */

/* Converts boxes from pixels of their files to pixels of the picture column. */
static void move_boxes(mica__boxed *b) {
  for (size_t i = 0; i < b->count; i++) {
    const mica__placement p = mica__placement_of(b->sizes[2 * i], b->sizes[2 * i + 1], b->width, b->height);
    for (int64_t k = 4 * b->offsets[i]; k < 4 * b->offsets[i + 1]; k++)
      b->boxes[k] = (float)((double)b->boxes[k] * p.scale[k & 1] + (k & 1 ? p.top : p.left));
  }
}

static mica_status add_ragged(mica__store *store, const mica__boxed *b, const mica_column *about, const void *data) {
  mica__column *column = NULL;
  MICA_TRY(mica__store_add(store, about, &column));
  column->data = data;
  column->offsets = b->offsets;
  return MICA_OK;
}

static mica_status add_columns(mica__store *store, mica__boxed *b, int32_t classes) {
  mica__column *column = NULL;
  const mica_shape rows = {1, {MICA_DYNAMIC}}, boxes = {2, {MICA_DYNAMIC, 4}};
  MICA_TRY(mica__store_add_input(store, MICA_U8, MICA_SHAPE(b->channels, b->height, b->width), &column));
  column->user = b;
  column->read = read_picture;
  column->files = (const char *const *)b->paths;
  MICA_TRY(add_ragged(store, b, &(mica_column){"boxes", MICA_COLUMN_KIND_BOXES, MICA_F32, boxes, 0}, b->boxes));
  MICA_TRY(add_ragged(store, b, &(mica_column){"label", MICA_COLUMN_KIND_CLASS, MICA_I32, rows, classes}, b->labels));
  MICA_TRY(add_ragged(store, b, &(mica_column){"ignored", MICA_COLUMN_KIND_ID, MICA_I32, rows, 0}, b->ignored));
  MICA_TRY(add_ragged(store, b, &(mica_column){"area", MICA_COLUMN_KIND_NUMBER, MICA_F32, rows, 0}, b->areas));
  MICA_TRY(mica__store_add(store, &(mica_column){"size", MICA_COLUMN_KIND_ID, MICA_I32, {1, {2}}, 0}, &column));
  column->data = (const uint8_t *)b->sizes;
  return MICA_OK;
}

void mica__boxed_leave_out(mica__boxed *b, size_t count) { b->left_out += count; }

/* Adds to the summary: "15 pictures with boxes, 1 without annotations left out, 37 boxes, 2 classes: cat, dog". A
 * misspelt class is easy to see in this list. */
static mica_status describe(const mica__boxed *b, const mica__column *label, mica__store *store) {
  mica__text summary = {0};
  const int32_t classes = label->about.classes;
  mica__text_addf(&summary, b->left_out ? "%zu pictures with boxes" : "%zu pictures", b->count);
  if (b->left_out) mica__text_addf(&summary, ", %zu without annotations left out", b->left_out);
  mica__text_addf(&summary, ", %zu boxes, %d classes", b->box_count, (int)classes);
  for (int32_t c = 0; c < classes && c < NAMED; c++)
    mica__text_addf(&summary, c ? ", %s" : ": %s", label->class_names[c]);
  if (classes > NAMED) mica__text_addf(&summary, " and %d more", (int)(classes - NAMED));
  if (b->bare) mica__text_addf(&summary, "; %zu pictures have no file of boxes, and count as without boxes", b->bare);
  if (b->flat) mica__text_addf(&summary, "; %zu boxes without area are left out", b->flat);
  if (b->merged)
    mica__text_addf(&summary, "; %zu categories have the name of another category, and are read as the same class",
                    b->merged);
  MICA_TRY(mica__text_status(&summary));
  store->summary = summary.data;
  return MICA_OK;
}

mica_status mica__boxed_finish(mica__boxed *b, const mica_dataset_config *config, mica__store *store) {
  if (!b->count) return mica__fail(MICA_E_FORMAT, "%s holds no pictures with boxes", store->name);
  if (!b->box_count && !config->like) return mica__fail(MICA_E_FORMAT, "%s: no picture has a box", store->name);
  /* Columns get memory even if there are no boxes. */
  if (!b->boxes) {
    b->boxes = calloc(4, sizeof *b->boxes);
    b->areas = calloc(1, sizeof *b->areas);
    b->labels = calloc(1, sizeof *b->labels);
    b->ignored = calloc(1, sizeof *b->ignored);
    if (!b->boxes || !b->areas || !b->labels || !b->ignored) return mica__fail_nomem("boxes");
  }
  if (config->like) MICA_TRY(take_classes(b, config->like, store));
  MICA_TRY(choose_shape(b, config, store));
  MICA_TRY(mica__store_set_count(store, b->count));
  move_boxes(b);
  const mica__column *known = config->like ? mica__store_find(config->like->store, "label") : NULL;
  MICA_TRY(add_columns(store, b, known ? known->about.classes : b->class_count));
  mica__column *label = mica__store_find(store, "label");
  MICA_TRY(mica__column_name_classes(label, (const char *const *)(known ? known->class_names : b->names),
                                     label->about.classes));
  return describe(b, label, store);
}
