#include "io/safetensors.h"

#include "base/byte_order.h"
#include "base/checked.h"

#include <stdbool.h>
#include <string.h>

static const mica__safetensors_type types[] = {
#define TYPE_ROW(name, size, dtype) {#name, size, dtype},
    MICA__SAFETENSORS_TYPE_LIST(TYPE_ROW)
#undef TYPE_ROW
};

const mica__safetensors_type *mica__safetensors_type_named(const char *name) {
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (!strcmp(types[i].name, name)) return &types[i];
  return NULL;
}

const mica__safetensors_type *mica__safetensors_type_of(mica_dtype dtype) {
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (types[i].dtype == dtype && mica_dtype_is_valid(dtype)) return &types[i];
  return NULL;
}

bool mica__safetensors_bytes(const mica__safetensors_type *type, mica_shape shape, size_t *bytes) {
  /* Overflow is an error even if a later dimension is 0, because the format multiplies the dimensions in order. */
  size_t n = type->size;
  for (int32_t i = 0; i < shape.rank; i++)
    if (!mica__mul_size(n, (uint64_t)shape.dim[i], &n)) return false;
  *bytes = n;
  return true;
}

void mica__safetensors_order(const mica__safetensors_type *type, void *elements, size_t bytes) {
  /* A complex number is two numbers of half its width. */
  const size_t width = type->name[0] == 'C' ? type->size / 2 : type->size;
  mica__bytes_from_file(false, elements, bytes / width, width);
}
