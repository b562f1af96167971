/* Datasets of two arrays, inputs and labels, from IDX and npy files. */
#include "base/element.h"
#include "base/npy.h"
#include "base/text.h"
#include "data/source.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Finds the shape of one input. Arrays are (N, F) rows, (N, H, W) grey pictures or (N, C, H, W) pictures. */
static mica_status input_shape(const char *name, mica_shape all, mica_shape *one) {
  char text[MICA_SHAPE_TEXT];
  switch (all.rank) {
  case 2: *one = MICA_SHAPE(all.dim[1]); return MICA_OK;
  case 3: *one = MICA_SHAPE(1, all.dim[1], all.dim[2]); return MICA_OK;
  case 4: *one = MICA_SHAPE(all.dim[1], all.dim[2], all.dim[3]); return MICA_OK;
  default:
    return mica__fail(MICA_E_FORMAT, "%s: inputs must have the shape (N, F), (N, H, W) or (N, C, H, W), not %s", name,
                      mica_shape_format(all, text));
  }
}

/* The number of bases that are subtracted from a sample: one per number of a row, one for all numbers of a picture. */
static size_t parts_of(mica_shape one) { return one.rank == 1 ? (size_t)one.dim[0] : 1; }

/* Finds the range (extent) of the values of an array in memory and the base that is subtracted from them, and stores
 * both in the column. `parts` is the number of extents: the numbers of a row each have one, all numbers of a picture
 * share one. */
static mica_status take_extents(mica__store *store, mica__column *column, const mica__array *array, size_t parts,
                                int64_t count, const mica_dataset_config *config) {
  mica__extent *extents = NULL;
  MICA_TRY(mica__extents_create(store, parts, &extents));
  if (array->dtype != MICA_U8) mica__extents_measure(extents, parts, array->dtype, array->elements, count);
  column->extents = extents;
  column->extent_count = parts;
  column->from = array->dtype;
  return mica__extents_find_bases(store, column, config, extents, parts, array->dtype);
}

/* Stores inputs of u8 and f32 without a copy, unless a base is subtracted from them; converts others to f32. Takes over
 * the content. */
static mica_status take_inputs(mica__store *store, const mica__array *inputs, uint8_t *content,
                               const mica_dataset_config *config) {
  mica__column *column = NULL;
  mica_shape shape;
  MICA_TRY(mica__store_own(store, content, free));
  MICA_TRY(input_shape(store->name, inputs->shape, &shape));
  const bool kept = inputs->dtype == MICA_U8 || inputs->dtype == MICA_F32;
  MICA_TRY(mica__store_set_count(store, (uint64_t)inputs->shape.dim[0]));
  MICA_TRY(mica__store_add_input(store, kept ? inputs->dtype : MICA_F32, shape, &column));
  column->data = inputs->elements;
  MICA_TRY(mica__check_finite(store->name, inputs->dtype, inputs->elements, shape, 0, store->count));
  const int64_t count = (int64_t)store->count * (int64_t)(column->bytes / mica_dtype_size(column->about.dtype));
  MICA_TRY(take_extents(store, column, inputs, parts_of(shape), count, config));
  if (kept && !mica__extents_have_bases(column->extents, column->extent_count)) return MICA_OK;
  float *converted = malloc((size_t)store->count * column->bytes);
  if (!converted) return mica__fail_nomem(store->name);
  mica__extents_convert(column->extents, column->extent_count, inputs->dtype, inputs->elements, count, converted);
  column->data = (const uint8_t *)converted;
  return mica__store_own(store, converted, free);
}

/* Adds several labels per input: (N, K) zeros and ones, one for each class. */
static mica_status add_several(mica__store *store, const mica__array *labels) {
  const int64_t classes = labels->shape.dim[1], count = (int64_t)store->count * classes;
  mica__column *column = NULL;
  uint8_t *marks = malloc((size_t)count + 1);
  if (!marks) return mica__fail_nomem(store->name);
  MICA_TRY(mica__store_own(store, marks, free));
  for (int64_t i = 0; i < count; i++) {
    const double mark = mica__element_get(labels->dtype, labels->elements, i);
    if (mark != 0 && mark != 1)
      return mica__fail(MICA_E_FORMAT,
                        "%s: label %lld of sample %lld is %g; if a sample has several labels, each must be 0 or 1",
                        store->name, (long long)(i % classes), (long long)(i / classes), mark);
    marks[i] = mark == 1;
  }
  const mica_column about = {.name = "label",
                             .kind = MICA_COLUMN_KIND_CLASSES,
                             .dtype = MICA_U8,
                             .shape = MICA_SHAPE(classes),
                             .classes = (int32_t)classes};
  MICA_TRY(mica__store_add(store, &about, &column));
  column->data = marks;
  return MICA_OK;
}

/* Checks that samples have as many labels as the samples of config->like. */
static mica_status check_like(const mica__store *store, const mica__array *labels, const mica_dataset_config *config) {
  const mica_dataset *like = config->regression ? NULL : config->like;
  const mica_column *about = like ? mica_dataset_column(like, mica_dataset_column_index(like, "label")) : NULL;
  const int64_t has = labels->shape.rank == 2 ? labels->shape.dim[1] : 1;
  const int64_t wants = about && about->kind == MICA_COLUMN_KIND_CLASSES ? about->classes : 1;
  if (!about || has == wants) return MICA_OK;
  return mica__fail(MICA_E_FORMAT, "%s has %lld label%s per sample, but the data of training have %lld", store->name,
                    (long long)has, has == 1 ? "" : "s", (long long)wants);
}

/* Adds labels for all inputs: one number per input or, if config->regression is not set, either that or K zeros and
 * ones per input. */
static mica_status add_labels(mica__store *store, const mica__array *labels, const mica_dataset_config *config) {
  char text[MICA_SHAPE_TEXT];
  MICA_TRY(check_like(store, labels, config));
  if (!config->regression && labels->shape.rank == 2 && labels->shape.dim[1] > 1 &&
      labels->shape.dim[0] == (int64_t)store->count && labels->shape.dim[1] <= MICA__MAX_CLASSES)
    return add_several(store, labels);
  bool column = labels->shape.rank == 1 || (labels->shape.rank == 2 && labels->shape.dim[1] == 1);
  if (config->regression && (!column || labels->shape.dim[0] != (int64_t)store->count))
    return mica__fail(MICA_E_FORMAT,
                      "%s has labels of shape %s; they must have the shape (%lld), one number per sample", store->name,
                      mica_shape_format(labels->shape, text), (long long)store->count);
  if (!column || labels->shape.dim[0] != (int64_t)store->count)
    return mica__fail(MICA_E_FORMAT,
                      "%s holds %lld inputs and labels of shape %s; labels must have the shape (%lld), or (%lld, K) "
                      "for K labels per sample, at most %d",
                      store->name, (long long)store->count, mica_shape_format(labels->shape, text),
                      (long long)store->count, (long long)store->count, MICA__MAX_CLASSES);
  if (!config->regression)
    return mica__store_convert_labels(store, labels->dtype, labels->elements, mica__config_classes(config));
  float *targets = malloc((size_t)store->count * sizeof *targets);
  if (!targets) return mica__fail_nomem("targets");
  MICA_TRY(mica__store_add_targets(store, targets));
  mica__column *added = mica__store_find(store, "label");
  MICA_TRY(take_extents(store, added, labels, 1, (int64_t)store->count, config));
  mica__extents_convert(added->extents, 1, labels->dtype, labels->elements, (int64_t)store->count, targets);
  for (uint64_t i = 0; i < store->count; i++)
    if (!isfinite(targets[i]))
      return mica__fail(MICA_E_FORMAT, "%s: the label of sample %llu is %g, which is not a finite f32 number",
                        store->name, (unsigned long long)i,
                        mica__element_get(labels->dtype, labels->elements, (int64_t)i));
  return MICA_OK;
}

mica_status mica__arrays_join(mica__array inputs, uint8_t *content, const mica__array *labels,
                              const mica_dataset_config *config, mica__store *store) {
  MICA_TRY(take_inputs(store, &inputs, content, config));
  return add_labels(store, labels, config);
}

/* --- files --- */

/* How many bytes at the start of a file are read to find its header: more than the header of either format takes. */
#define HEADER_BYTES (MICA__NPY_BEGIN + 64)

/* Adds inputs that are read from their file sample by sample. */
static mica_status map_inputs(mica__store *store, const char *path, bool npy, const mica_dataset_config *config) {
  uint8_t *begin = malloc(HEADER_BYTES);
  uint64_t size = 0;
  size_t offset = 0;
  mica__array inputs = {0};
  bool big_endian = !npy;
  mica__npy header;
  mica_status status = begin ? mica__file_begin(path, begin, HEADER_BYTES, &size) : mica__fail_nomem(path);
  if (status == MICA_OK && npy) {
    status = mica__npy_parse_begin(path, begin, HEADER_BYTES, size, &header);
    if (status == MICA_OK) inputs.dtype = header.dtype, inputs.shape = header.shape;
    if (status == MICA_OK) offset = header.offset, big_endian = header.big_endian;
  } else if (status == MICA_OK) {
    status = mica__idx_parse_header(path, begin, (size_t)size, &inputs, &offset);
  }
  free(begin);
  mica__column *column = NULL;
  mica_shape shape;
  MICA_TRY(status);
  MICA_TRY(input_shape(store->name, inputs.shape, &shape));
  MICA_TRY(mica__store_set_count(store, (uint64_t)inputs.shape.dim[0]));
  const bool kept = inputs.dtype == MICA_U8 || inputs.dtype == MICA_F32;
  MICA_TRY(mica__store_add_input(store, kept ? inputs.dtype : MICA_F32, shape, &column));
  const size_t stride = column->bytes / mica_dtype_size(column->about.dtype) * mica_dtype_size(inputs.dtype);
  MICA_TRY(mica__store_map(store, column, path, &(mica__file_rows){offset, stride, inputs.dtype, big_endian}));
  mica__extent *extents = NULL;
  const size_t parts = parts_of(shape);
  MICA_TRY(mica__extents_create(store, parts, &extents));
  if (inputs.dtype != MICA_U8) MICA_TRY(mica__store_measure_mapped(store, column, extents, parts));
  MICA_TRY(mica__extents_find_bases(store, column, config, extents, parts, inputs.dtype));
  column->extents = extents;
  column->extent_count = parts;
  column->from = inputs.dtype;
  return MICA_OK;
}

/* Replaces the last `old` in the text by `new`, which has the same length; false if there is none. */
static bool replace_last(char *text, const char *old, const char *new) {
  char *found = NULL;
  for (char *at = text; (at = strstr(at, old)); at++) found = at;
  if (found) memcpy(found, new, strlen(new)); /* NOLINT(bugprone-not-null-terminated-result) */
  return found != NULL;
}

/* The path of the file of labels that belongs to a file of inputs. */
static mica_status labels_of(const char *path, bool npy, char **labels) {
  char *name = mica__strdup(path);
  if (!name) return mica__fail_nomem(path);
  char *slash = strrchr(name, '/'), *base = slash ? slash + 1 : name;
  bool renamed = false;
  if (npy && (base[0] == 'x' || base[0] == 'X')) {
    base[0] = 'y';
    renamed = true;
  } else if (!npy) {
    renamed = replace_last(base, "images", "labels");
    replace_last(base, "idx3", "idx1");
  }
  if (!renamed) {
    free(name);
    return mica__fail(
        MICA_E_FORMAT, "%s holds inputs, but its name does not tell which file holds the labels; name the files %s",
        path, npy ? "x... (inputs) and y... (labels)" : "...images... (inputs) and ...labels... (labels)");
  }
  *labels = name;
  return MICA_OK;
}

static mica_status parse_array(const char *path, uint8_t *content, size_t size, bool npy, mica__array *array) {
  return npy ? mica__npy_parse(path, content, size, array) : mica__idx_parse(path, content, size, array);
}

/* Reads inputs into memory or, if mica__stays_in_file says so, leaves them in their file. */
static mica_status read_inputs(const char *path, bool npy, const mica_dataset_config *config, mica__store *store) {
  uint8_t *content = NULL;
  size_t size = 0;
  mica__array inputs = {0};
  if (mica__stays_in_file(path, config)) return map_inputs(store, path, npy, config);
  MICA_TRY(mica__content_read(path, &content, &size));
  mica_status status = parse_array(path, content, size, npy, &inputs);
  if (status == MICA_OK) return take_inputs(store, &inputs, content, config);
  free(content);
  return status;
}

/* Reads inputs, and labels from the file that goes with them. */
static mica_status open_arrays(const char *path, bool npy, const mica_dataset_config *config, mica__store *store) {
  char *labels_path = NULL;
  uint8_t *content = NULL;
  size_t size = 0;
  mica__array labels = {0};
  MICA_TRY(read_inputs(path, npy, config, store));
  MICA_TRY(labels_of(path, npy, &labels_path));
  mica_status status = mica__content_read(labels_path, &content, &size);
  if (status == MICA_OK) status = parse_array(labels_path, content, size, npy, &labels);
  if (status == MICA_OK) status = add_labels(store, &labels, config);
  free(labels_path);
  free(content);
  return status;
}

mica_status mica__arrays_open_inputs(const char *path, const mica_dataset_config *config, mica_dataset **dataset) {
  mica__store *store = NULL;
  MICA_TRY(mica__store_create(path, &store));
  mica_status status = read_inputs(path, true, config, store);
  if (status == MICA_OK) return mica__dataset_of(store, dataset);
  mica__store_release(store);
  return status;
}

static bool is_idx_part(mica_part part, const char *name, const char *rest) {
  (void)part, (void)name;
  return rest && !strncmp(rest, "-images", 7);
}

static bool is_idx_file(const char *path, const uint8_t *begin, size_t size) {
  return strstr(path, "-idx") || (size >= 4 && !begin[0] && !begin[1] && begin[2] >= 8 && begin[2] <= 14 &&
                                  begin[3] >= 1 && begin[3] <= MICA_MAX_RANK);
}

static mica_status open_idx(const char *const *paths, size_t count, const mica_dataset_config *config,
                            mica__store *store) {
  (void)count;
  return open_arrays(paths[0], false, config, store);
}

static bool is_npy_part(mica_part part, const char *name, const char *rest) {
  (void)rest;
  return (name[0] == 'x' || name[0] == 'X') && name[1] == '_' && mica__part_rest(part, name + 2) &&
         mica__name_ends(name, ".npy");
}

static bool is_npy_file(const char *path, const uint8_t *begin, size_t size) {
  return mica__name_ends(path, ".npy") || (size >= 6 && !memcmp(begin, "\x93NUMPY", 6));
}

static mica_status open_npy(const char *const *paths, size_t count, const mica_dataset_config *config,
                            mica__store *store) {
  (void)count;
  return open_arrays(paths[0], true, config, store);
}

const mica__source mica__source_idx = {.is_part = is_idx_part, .is_file = is_idx_file, .open = open_idx};
const mica__source mica__source_npy = {.is_part = is_npy_part, .is_file = is_npy_file, .open = open_npy};
