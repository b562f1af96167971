/* Stores, the owners of samples: datasets are views of them. */
#include "base/checked.h"
#include "base/element.h"
#include "base/number.h"
#include "base/text.h"
#include "data/annotation/masks.h"
#include "data/dataset.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

mica_status mica__store_create(const char *name, mica__store **out) {
  mica__store *store = calloc(1, sizeof *store);
  if (store) store->name = mica__strdup(name);
  if (!store || !store->name) {
    free(store);
    return mica__fail_nomem("a dataset");
  }
  atomic_init(&store->references, 1);
  *out = store;
  return MICA_OK;
}

static void free_names(char **names, int32_t count) {
  for (int32_t i = 0; names && i < count; i++) free(names[i]);
  free(names);
}

void mica__store_release(mica__store *store) {
  if (!store || atomic_fetch_sub(&store->references, 1) != 1) return;
  for (size_t k = 0; k < store->column_count; k++) {
    free((void *)(uintptr_t)store->columns[k].about.name);
    free_names(store->columns[k].class_names, store->columns[k].about.classes);
  }
  for (size_t k = store->owned_count; k-- > 0;) store->owned[k].release(store->owned[k].object);
  free(store->columns);
  free(store->owned);
  free(store->summary);
  free(store->mask_values);
  free(store->name);
  free(store);
}

mica_status mica__store_add_summary(mica__store *store, const char *sentence) {
  mica__text text = {0};
  if (store->summary && *store->summary) mica__text_addf(&text, "%s; ", store->summary);
  mica__text_add(&text, sentence);
  MICA_TRY(mica__text_status(&text));
  free(store->summary);
  store->summary = text.data;
  return MICA_OK;
}

mica_status mica__store_own(mica__store *store, void *object, void (*release)(void *object)) {
  if (!object) return MICA_OK;
  mica__owned *grown = realloc(store->owned, (store->owned_count + 1) * sizeof *grown);
  if (!grown) {
    release(object);
    return mica__fail_nomem(store->name);
  }
  store->owned = grown;
  store->owned[store->owned_count++] = (mica__owned){object, release};
  return MICA_OK;
}

mica_status mica__store_set_count(mica__store *store, uint64_t count) {
  if (count == 0 || count > UINT32_MAX)
    return mica__fail(MICA_E_FORMAT, "%s holds %s samples", store->name, count ? "more than 2^32 - 1" : "no");
  store->count = count;
  return MICA_OK;
}

/* The allowed forms of each kind of column: its dtypes and its ranks, which count the dimension that differs between
 * samples. ragged: 1 if the column must have such a dimension, -1 if it must not, 0 if it may. */
typedef struct kind_rule {
  mica_dtype dtypes[2];
  int32_t least_rank, most_rank, ragged;
} kind_rule;
static const kind_rule rules[] = {
    [MICA_COLUMN_KIND_NUMBER] = {{MICA_F32, MICA_U8}, 0, MICA_MAX_RANK - 1, 0},
    [MICA_COLUMN_KIND_CLASS] = {{MICA_I32, MICA_I32}, 0, MICA_MAX_RANK - 1, 0},
    [MICA_COLUMN_KIND_CLASSES] = {{MICA_U8, MICA_U8}, 1, 1, -1},
    [MICA_COLUMN_KIND_IMAGE] = {{MICA_U8, MICA_F32}, 3, 3, -1},
    [MICA_COLUMN_KIND_MASK] = {{MICA_U8, MICA_U8}, 2, 2, -1},
    [MICA_COLUMN_KIND_BOXES] = {{MICA_F32, MICA_F32}, 2, 2, 1},
    [MICA_COLUMN_KIND_TEXT] = {{MICA_U8, MICA_U8}, 1, 1, 1},
    [MICA_COLUMN_KIND_TOKENS] = {{MICA_I32, MICA_I32}, 1, MICA_MAX_RANK - 1, 0},
    [MICA_COLUMN_KIND_SOUND] = {{MICA_F32, MICA_I16}, 1, 2, 0},
    [MICA_COLUMN_KIND_ID] = {{MICA_I32, MICA_I64}, 0, MICA_MAX_RANK - 1, 0},
    [MICA_COLUMN_KIND_TIME] = {{MICA_I64, MICA_I64}, 0, 0, -1},
    [MICA_COLUMN_KIND_MAP] = {{MICA_F32, MICA_F32}, 2, 2, -1},
};

static mica_status check_column(const mica__store *store, const mica_column *about) {
  char text[MICA_SHAPE_TEXT];
  if (!about->name || !*about->name) return mica__fail(MICA_E_FORMAT, "%s: a column has no name", store->name);
  if ((size_t)about->kind >= sizeof rules / sizeof *rules)
    return mica__fail(MICA_E_FORMAT, "%s: the kind of column \"%s\" is %d, which is not a mica_column_kind",
                      store->name, about->name, (int)about->kind);
  if (mica__store_find(store, about->name))
    return mica__fail(MICA_E_FORMAT, "%s has two columns with the name \"%s\"", store->name, about->name);
  const kind_rule *rule = &rules[about->kind];
  const mica_shape shape = about->shape;
  if (about->dtype != rule->dtypes[0] && about->dtype != rule->dtypes[1])
    return mica__fail(MICA_E_FORMAT, "%s: column \"%s\" of kind %s must be of type %s%s%s, not %s", store->name,
                      about->name, mica_column_kind_name(about->kind), mica_dtype_name(rule->dtypes[0]),
                      rule->dtypes[1] == rule->dtypes[0] ? "" : " or ",
                      rule->dtypes[1] == rule->dtypes[0] ? "" : mica_dtype_name(rule->dtypes[1]),
                      mica_dtype_name(about->dtype));
  bool fits = shape.rank >= rule->least_rank && shape.rank <= rule->most_rank;
  const bool ragged = fits && shape.rank > 0 && shape.dim[0] == MICA_DYNAMIC;
  for (int32_t i = ragged; fits && i < shape.rank; i++) fits = shape.dim[i] > 0 && shape.dim[i] <= INT32_MAX;
  if ((rule->ragged > 0 && !ragged) || (rule->ragged < 0 && ragged)) fits = false;
  if (about->kind == MICA_COLUMN_KIND_BOXES && fits) fits = shape.dim[1] == 4;
  if (about->kind == MICA_COLUMN_KIND_CLASSES && fits) fits = shape.dim[0] == about->classes;
  if (!fits)
    return mica__fail(
        MICA_E_FORMAT,
        "%s: column \"%s\" of kind %s cannot be of shape %s; it needs %d to %d dimensions of at least 1%s", store->name,
        about->name, mica_column_kind_name(about->kind), mica_shape_format(shape, text), rule->least_rank,
        rule->most_rank,
        about->kind == MICA_COLUMN_KIND_BOXES     ? ", the first MICA_DYNAMIC and the second 4"
        : about->kind == MICA_COLUMN_KIND_CLASSES ? ", the number of classes"
        : rule->ragged > 0                        ? ", the first MICA_DYNAMIC"
        : rule->ragged < 0                        ? ", none of them MICA_DYNAMIC"
                                                  : "; the first may be MICA_DYNAMIC");
  if (about->classes < 0 || about->classes > MICA__MAX_CLASSES)
    return mica__fail(MICA_E_FORMAT, "%s: column \"%s\" has %d classes, but must have 0 to %d", store->name,
                      about->name, about->classes, MICA__MAX_CLASSES);
  if (about->kind == MICA_COLUMN_KIND_MASK && about->classes > MICA__MASK_CLASSES)
    return mica__fail(MICA_E_FORMAT,
                      "%s: column \"%s\" has %d classes, but masks can have at most %d, because 255 means that a pixel "
                      "is not labelled",
                      store->name, about->name, about->classes, MICA__MASK_CLASSES);
  return MICA_OK;
}

mica_status mica__store_add(mica__store *store, const mica_column *about, mica__column **column) {
  char text[MICA_SHAPE_TEXT];
  MICA_TRY(check_column(store, about));
  mica__column made = {.about = *about, .bytes = mica_dtype_size(about->dtype)};
  size_t total = 0;
  bool fits = true;
  for (int32_t i = mica__column_is_ragged(&made); i < about->shape.rank; i++)
    fits = fits && mica__mul_size(made.bytes, (uint64_t)about->shape.dim[i], &made.bytes);
  if (!fits || store->count > SIZE_MAX || !mica__mul_size(made.bytes, (uint64_t)store->count, &total) ||
      made.bytes > INT32_MAX)
    return mica__fail(MICA_E_FORMAT,
                      "%s: %" PRIu64
                      " samples of shape %s in column \"%s\" are too large; a sample may have at most 2^31 - 1 bytes",
                      store->name, store->count, mica_shape_format(about->shape, text), about->name);
  made.stride = made.bytes;
  made.about.name = mica__strdup(about->name);
  mica__column *grown = realloc(store->columns, (store->column_count + 1) * sizeof *grown);
  if (grown) store->columns = grown;
  if (!grown || !made.about.name) {
    free((void *)(uintptr_t)made.about.name);
    return mica__fail_nomem(store->name);
  }
  *column = &store->columns[store->column_count++];
  **column = made;
  return MICA_OK;
}

mica__column *mica__store_find(const mica__store *store, const char *name) {
  for (size_t k = 0; k < store->column_count; k++)
    if (!strcmp(store->columns[k].about.name, name)) return &store->columns[k];
  return NULL;
}

mica_status mica__store_add_input(mica__store *store, mica_dtype dtype, mica_shape shape, mica__column **column) {
  const bool picture = shape.rank == 3;
  return mica__store_add(store,
                         &(mica_column){.name = picture ? "image" : "x",
                                        .kind = picture ? MICA_COLUMN_KIND_IMAGE : MICA_COLUMN_KIND_NUMBER,
                                        .dtype = dtype,
                                        .shape = shape},
                         column);
}

/* Up to this number, classes are accepted however few samples there are. */
#define FEW_CLASSES 1000
/* A column with more classes than this per sample is assumed not to hold classes. */
#define CLASSES_PER_SAMPLE 10

mica_status mica__store_add_labels(mica__store *store, int32_t *labels, int32_t classes) {
  const int32_t limit = classes > 0 ? classes : MICA__MAX_CLASSES;
  int32_t most = -1;
  MICA_TRY(mica__store_own(store, labels, free));
  for (uint64_t i = 0; i < store->count; i++) {
    if (labels[i] < 0 || labels[i] >= limit)
      return mica__fail(MICA_E_FORMAT, "%s: the label %d of sample %llu is out of range, 0 to %d", store->name,
                        labels[i], (unsigned long long)i, limit - 1);
    if (labels[i] > most) most = labels[i];
  }
  if (classes == 0 && most >= FEW_CLASSES && (uint64_t)most / CLASSES_PER_SAMPLE > store->count)
    return mica__fail(MICA_E_FORMAT,
                      "%s: the label %d would make %d classes for only %llu samples; the task regress"
                      " predicts numbers",
                      store->name, most, most + 1, (unsigned long long)store->count);
  mica__column *column = NULL;
  const mica_column about = {
      .name = "label", .kind = MICA_COLUMN_KIND_CLASS, .dtype = MICA_I32, .classes = classes > 0 ? classes : most + 1};
  MICA_TRY(mica__store_add(store, &about, &column));
  column->data = (const uint8_t *)labels;
  return MICA_OK;
}

/* Fails because of a label, which the message shows as it is in the file: a double or 32 bits may be too small for
 * it. */
static mica_status fail_label(const mica__store *store, mica_dtype dtype, const void *labels, uint64_t i,
                              int32_t limit) {
  char text[32];
  if (dtype == MICA_U64)
    snprintf(text, sizeof text, "%" PRIu64, ((const uint64_t *)labels)[i]);
  else if (dtype == MICA_I64)
    snprintf(text, sizeof text, "%" PRId64, ((const int64_t *)labels)[i]);
  else
    mica__snprintf(text, sizeof text, "%.15g", mica__element_get(dtype, labels, (int64_t)i));
  return mica__fail(MICA_E_FORMAT, "%s: the label %s of sample %" PRIu64 " is out of range, 0 to %d", store->name, text,
                    i, (int)limit - 1);
}

mica_status mica__store_convert_labels(mica__store *store, mica_dtype dtype, const void *labels, int32_t classes) {
  const int32_t limit = classes > 0 ? classes : MICA__MAX_CLASSES;
  int32_t *converted = malloc((size_t)store->count * sizeof *converted);
  if (!converted) return mica__fail_nomem("labels");
  for (uint64_t i = 0; i < store->count; i++) {
    double value = mica__element_get(dtype, labels, (int64_t)i);
    if (!(value >= 0 && value < limit)) {
      free(converted);
      return fail_label(store, dtype, labels, i, limit);
    }
    if (value != floor(value)) {
      free(converted);
      return mica__fail(MICA_E_FORMAT,
                        "%s: the label %.15g of sample %" PRIu64
                        " is not a whole number, so it is not a class; the task regress predicts numbers",
                        store->name, value, i);
    }
    converted[i] = (int32_t)value;
  }
  return mica__store_add_labels(store, converted, classes);
}

/* Writes the position of an element for a message: "column 1" in a row, "element 0, 5, 1" in a picture. */
static void format_index(mica_shape shape, int64_t element, char *text, size_t bytes) {
  int64_t index[MICA_MAX_RANK] = {0};
  for (int32_t d = shape.rank - 1; d >= 0; d--) index[d] = element % shape.dim[d], element /= shape.dim[d];
  int used = snprintf(text, bytes, "%s", shape.rank == 1 ? "column" : "element");
  for (int32_t d = 0; d < shape.rank && used > 0 && (size_t)used < bytes; d++)
    used += snprintf(text + used, bytes - (size_t)used, d ? ", %lld" : " %lld", (long long)index[d]);
}

mica_status mica__check_finite(const char *name, mica_dtype dtype, const void *elements, mica_shape shape,
                               uint64_t first, uint64_t samples) {
  int64_t each = 0;
  char where[160];
  if (mica_dtype_kind_of(dtype) != MICA_DTYPE_KIND_FLOAT) return MICA_OK;
  MICA_TRY(mica_shape_count(shape, &each));
  const int64_t count = (int64_t)samples * each;
  for (int64_t i = 0; i < count; i++) {
    const double value = mica__element_get(dtype, elements, i);
    if (isfinite((float)value)) continue;
    format_index(shape, i % each, where, sizeof where);
    return mica__fail(MICA_E_FORMAT, "%s: %s of sample %llu is %g, which is not a finite f32 number", name, where,
                      (unsigned long long)first + (unsigned long long)(i / each), value);
  }
  return MICA_OK;
}

mica_status mica__store_add_targets(mica__store *store, float *targets) {
  mica__column *column = NULL;
  MICA_TRY(mica__store_own(store, targets, free));
  MICA_TRY(mica__store_add(store, &(mica_column){.name = "label", .kind = MICA_COLUMN_KIND_NUMBER, .dtype = MICA_F32},
                           &column));
  column->data = (const uint8_t *)targets;
  return MICA_OK;
}

mica_status mica__column_name_classes(mica__column *column, const char *const *names, int32_t count) {
  if (count != column->about.classes || count == 0) return MICA_OK;
  free_names(column->class_names, count);
  column->class_names = calloc((size_t)count, sizeof *column->class_names);
  bool named = column->class_names != NULL;
  for (int32_t i = 0; named && i < count; i++) named = (column->class_names[i] = mica__strdup(names[i])) != NULL;
  return named ? MICA_OK : mica__fail_nomem("names of classes");
}

/* Names classes that have none by their numbers. */
static mica_status number_classes(mica__column *column) {
  if (column->class_names || column->about.classes == 0 || column->about.kind == MICA_COLUMN_KIND_TOKENS)
    return MICA_OK;
  column->class_names = calloc((size_t)column->about.classes, sizeof *column->class_names);
  bool named = column->class_names != NULL;
  for (int32_t i = 0; named && i < column->about.classes; i++) {
    char name[16];
    snprintf(name, sizeof name, "%d", i);
    named = (column->class_names[i] = mica__strdup(name)) != NULL;
  }
  return named ? MICA_OK : mica__fail_nomem("names of classes");
}

/* Inputs are the first picture, else the row of numbers "x", else the first row of numbers. Labels are the column
 * "label", if it has one class or number per sample. */
static void find_roles(mica__store *store) {
  const size_t none = store->column_count;
  size_t picture = none, x = none, row = none;
  store->label = none;
  for (size_t k = none; k-- > 0;) {
    const mica_column *about = &store->columns[k].about;
    const bool label = !strcmp(about->name, "label");
    if (label && about->shape.rank == 0 &&
        (about->kind == MICA_COLUMN_KIND_CLASS || about->kind == MICA_COLUMN_KIND_NUMBER))
      store->label = k;
    if (label || mica__column_is_ragged(&store->columns[k])) continue;
    if (about->kind == MICA_COLUMN_KIND_IMAGE) picture = k;
    if (about->kind != MICA_COLUMN_KIND_NUMBER || about->shape.rank != 1) continue;
    if (!strcmp(about->name, "x")) x = k;
    row = k;
  }
  store->input = picture < none ? picture : x < none ? x : row;
}

mica_status mica__dataset_of(mica__store *store, mica_dataset **out) {
  mica_status status = MICA_OK;
  find_roles(store);
  for (size_t k = 0; status == MICA_OK && k < store->column_count; k++) status = number_classes(&store->columns[k]);
  mica_dataset *dataset = status == MICA_OK ? calloc(1, sizeof *dataset) : NULL;
  if (status == MICA_OK && !dataset) status = mica__fail_nomem("a dataset");
  if (status != MICA_OK) {
    mica__store_release(store);
    return status;
  }
  *dataset = (mica_dataset){.store = store, .count = store->count};
  *out = dataset;
  return MICA_OK;
}
