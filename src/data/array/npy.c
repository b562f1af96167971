#include "base/npy.h"
#include "base/byte_order.h"
#include "data/dataset.h"

mica_status mica__npy_parse(const char *name, uint8_t *content, size_t size, mica__array *array) {
  mica__npy npy;
  MICA_TRY(mica__npy_parse_header(name, content, size, &npy));
  *array = (mica__array){npy.dtype, npy.shape, mica__elements_align(content, npy.offset, npy.bytes)};
  const size_t width = mica_dtype_size(npy.dtype);
  mica__bytes_from_file(npy.big_endian, array->elements, npy.bytes / width, width);
  return MICA_OK;
}
