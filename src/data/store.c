/* Stores, of which datasets are views: samples, labels, names of classes. */
#include "base/checked.h"
#include "base/element.h"
#include "base/text.h"
#include "data/dataset.h"

#include <stdio.h>
#include <stdlib.h>

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

void mica__store_release(mica__store *store) {
  if (!store || atomic_fetch_sub(&store->references, 1) != 1) return;
  for (uint64_t i = 0; store->files && i < store->count; i++) free(store->files[i]);
  for (int32_t i = 0; store->class_names && i < store->classes; i++) free(store->class_names[i]);
  free(store->files);
  free(store->class_names);
  free(store->labels);
  free(store->targets);
  free(store->content);
  free(store->name);
  free(store);
}

mica_status mica__store_set_shape(mica__store *store, uint64_t count, mica_dtype dtype, mica_shape shape) {
  char text[MICA_SHAPE_TEXT];
  int64_t elements = 0;
  size_t bytes = 0, total = 0;
  if (!mica_shape_is_valid(shape) || (shape.rank != 1 && shape.rank != 3) ||
      mica_shape_count(shape, &elements) != MICA_OK || elements == 0 ||
      !mica__mul_size((size_t)elements, mica_dtype_size(dtype), &bytes) || count > SIZE_MAX ||
      !mica__mul_size(bytes, (size_t)count, &total) || elements > INT32_MAX)
    return mica__fail(MICA_E_FORMAT, "%s: inputs of shape %s cannot be", store->name, mica_shape_format(shape, text));
  if (count == 0 || count > UINT32_MAX)
    return mica__fail(MICA_E_FORMAT, "%s holds %s samples", store->name, count ? "too many" : "no");
  store->count = count;
  store->dtype = dtype;
  store->shape = shape;
  store->input_bytes = store->stride = bytes;
  return MICA_OK;
}

mica_status mica__store_set_labels(mica__store *store, int32_t *labels, int32_t classes) {
  store->labels = labels;
  int32_t limit = classes > 0 ? classes : MICA__MAX_CLASSES, most = -1;
  for (uint64_t i = 0; i < store->count; i++) {
    if (labels[i] < 0 || labels[i] >= limit)
      return mica__fail(MICA_E_FORMAT, "%s: the label %d of sample %llu is out of range, 0 to %d", store->name,
                        labels[i], (unsigned long long)i, limit - 1);
    if (labels[i] > most) most = labels[i];
  }
  store->classes = classes > 0 ? classes : most + 1;
  return MICA_OK;
}

mica_status mica__store_convert_labels(mica__store *store, mica_dtype dtype, const void *labels, int32_t classes) {
  int32_t *converted = malloc((size_t)store->count * sizeof *converted);
  if (!converted) return mica__fail_nomem("labels");
  for (uint64_t i = 0; i < store->count; i++) {
    double value = mica__element_get(dtype, labels, (int64_t)i);
    converted[i] = value >= 0 && value <= MICA__MAX_CLASSES ? (int32_t)value : value > 0 ? INT32_MAX : -1;
  }
  return mica__store_set_labels(store, converted, classes);
}

mica_status mica__store_name_classes(mica__store *store, const char *const *names, int32_t count) {
  if (count != store->classes) return MICA_OK;
  store->class_names = calloc((size_t)count + 1, sizeof *store->class_names);
  bool named = store->class_names != NULL;
  for (int32_t i = 0; named && i < count; i++) named = (store->class_names[i] = mica__strdup(names[i])) != NULL;
  return named ? MICA_OK : mica__fail_nomem("names of classes");
}

mica_status mica__store_number_classes(mica__store *store) {
  if (store->class_names || store->classes == 0) return MICA_OK;
  store->class_names = calloc((size_t)store->classes, sizeof *store->class_names);
  bool named = store->class_names != NULL;
  for (int32_t i = 0; named && i < store->classes; i++) {
    char name[16];
    snprintf(name, sizeof name, "%d", i);
    named = (store->class_names[i] = mica__strdup(name)) != NULL;
  }
  return named ? MICA_OK : mica__fail_nomem("names of classes");
}
