/* IDX, the format of MNIST. A file consists of the bytes 0 0 TYPE RANK, then RANK dimensions of four bytes, big-endian,
 * and then the elements. */
#include "base/byte_order.h"
#include "base/checked.h"
#include "data/dataset.h"

static bool dtype_of(uint8_t code, mica_dtype *dtype) {
  switch (code) {
  case 0x08: *dtype = MICA_U8; return true;
  case 0x09: *dtype = MICA_I8; return true;
  case 0x0b: *dtype = MICA_I16; return true;
  case 0x0c: *dtype = MICA_I32; return true;
  case 0x0d: *dtype = MICA_F32; return true;
  case 0x0e: *dtype = MICA_F64; return true;
  default: return false;
  }
}

mica_status mica__idx_parse_header(const char *name, const uint8_t *content, size_t size, mica__array *array,
                                   size_t *offset) {
  mica__array found = {0};
  if (size < 4) return mica__fail(MICA_E_FORMAT, "%s is truncated: %zu bytes", name, size);
  if (content[0] || content[1] || !dtype_of(content[2], &found.dtype))
    return mica__fail(MICA_E_FORMAT, "%s is not an IDX file: it begins with %02x %02x %02x %02x", name, content[0],
                      content[1], content[2], content[3]);
  if (content[3] < 1 || content[3] > MICA_MAX_RANK)
    return mica__fail(MICA_E_FORMAT, "%s has %d dimensions, but 1 to 8 can be read", name, content[3]);
  size_t header = 4 + 4 * (size_t)content[3], width = mica_dtype_size(found.dtype), count = 1, bytes = 0;
  if (size < header) return mica__fail(MICA_E_FORMAT, "%s is truncated in its header: %zu bytes", name, size);
  found.shape.rank = content[3];
  bool fits = true;
  for (int32_t i = 0; i < found.shape.rank; i++) {
    const uint8_t *at = content + 4 + 4 * i;
    uint32_t dim = (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
    found.shape.dim[i] = dim;
    fits = fits && mica__mul_size(count, dim, &count);
  }
  if (!fits || !mica__mul_size(count, width, &bytes) || bytes > size - header) {
    char text[MICA_SHAPE_TEXT];
    return mica__fail(MICA_E_FORMAT, "%s is truncated: %zu bytes of data are too few for %s of shape %s", name,
                      size - header, mica_dtype_name(found.dtype), mica_shape_format(found.shape, text));
  }
  if (bytes < size - header)
    return mica__fail(MICA_E_FORMAT, "%s has %zu bytes after the last element", name, size - header - bytes);
  *offset = header;
  *array = found;
  return MICA_OK;
}

mica_status mica__idx_parse(const char *name, uint8_t *content, size_t size, mica__array *array) {
  mica__array found = {0};
  size_t header = 0;
  MICA_TRY(mica__idx_parse_header(name, content, size, &found, &header));
  const size_t width = mica_dtype_size(found.dtype), bytes = size - header;
  found.elements = mica__elements_align(content, header, bytes);
  mica__bytes_from_file(true, found.elements, bytes / width, width);
  *array = found;
  return MICA_OK;
}
