/* Datasets of two arrays, inputs and labels, as IDX and npy files hold them. */
#include "base/element.h"
#include "data/dataset.h"

#include <stdlib.h>
#include <string.h>

uint8_t *mica__elements_align(uint8_t *content, size_t header, size_t bytes) {
  if (header % sizeof(double) == 0) return content + header;
  return memmove(content, content + header, bytes);
}

/* The shape of one input: (N, F) rows, (N, H, W) grey pictures, (N, C, H, W) pictures. */
static mica_status input_shape(const char *name, mica_shape all, mica_shape *one) {
  char text[MICA_SHAPE_TEXT];
  switch (all.rank) {
  case 2: *one = MICA_SHAPE(all.dim[1]); return MICA_OK;
  case 3: *one = MICA_SHAPE(1, all.dim[1], all.dim[2]); return MICA_OK;
  case 4: *one = MICA_SHAPE(all.dim[1], all.dim[2], all.dim[3]); return MICA_OK;
  default:
    return mica__fail(MICA_E_FORMAT, "%s: inputs are of shape (N, F), (N, H, W) or (N, C, H, W), not %s", name,
                      mica_shape_format(all, text));
  }
}

/* Stores inputs of u8 and f32 without a copy, others as f32. Takes the content over. */
static mica_status take_inputs(mica__store *store, const mica__array *inputs, uint8_t *content) {
  mica__column *column = NULL;
  mica_shape shape;
  MICA_TRY(mica__store_own(store, content, free));
  MICA_TRY(input_shape(store->name, inputs->shape, &shape));
  const bool kept = inputs->dtype == MICA_U8 || inputs->dtype == MICA_F32;
  MICA_TRY(mica__store_set_count(store, (uint64_t)inputs->shape.dim[0]));
  MICA_TRY(mica__store_add_input(store, kept ? inputs->dtype : MICA_F32, shape, &column));
  column->data = inputs->elements;
  if (kept) return MICA_OK;
  float *converted = malloc((size_t)store->count * column->bytes);
  if (!converted) return mica__fail_nomem(store->name);
  const int64_t count = (int64_t)store->count * (int64_t)(column->bytes / sizeof *converted);
  for (int64_t i = 0; i < count; i++) converted[i] = (float)mica__element_get(inputs->dtype, inputs->elements, i);
  column->data = (const uint8_t *)converted;
  return mica__store_own(store, converted, free);
}

mica_status mica__arrays_join(mica__array inputs, uint8_t *content, const mica__array *labels,
                              const mica_dataset_config *config, mica__store *store) {
  char text[MICA_SHAPE_TEXT];
  MICA_TRY(take_inputs(store, &inputs, content));
  bool column = labels->shape.rank == 1 || (labels->shape.rank == 2 && labels->shape.dim[1] == 1);
  if (!column || labels->shape.dim[0] != inputs.shape.dim[0])
    return mica__fail(MICA_E_FORMAT, "%s holds %lld inputs, its labels are of shape %s", store->name,
                      (long long)inputs.shape.dim[0], mica_shape_format(labels->shape, text));
  if (!config->regression && mica_dtype_kind_of(labels->dtype) == MICA_DTYPE_KIND_FLOAT)
    return mica__fail(MICA_E_FORMAT, "%s: labels of type %s are no classes", store->name,
                      mica_dtype_name(labels->dtype));
  if (!config->regression)
    return mica__store_convert_labels(store, labels->dtype, labels->elements, mica__config_classes(config));
  float *targets = malloc((size_t)store->count * sizeof *targets);
  if (!targets) return mica__fail_nomem("targets");
  for (uint64_t i = 0; i < store->count; i++)
    targets[i] = (float)mica__element_get(labels->dtype, labels->elements, (int64_t)i);
  return mica__store_add_targets(store, targets);
}
