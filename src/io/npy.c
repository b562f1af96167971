#include "base/npy.h"
#include "base/byte_order.h"
#include "base/checked.h"
#include "base/file.h"

#include <mica/io.h>
#include <stdlib.h>
#include <string.h>

mica_status mica_npy_read(const char *path, mica_dtype *dtype, mica_shape *shape, void **data) {
  if (!path || !dtype || !shape || !data)
    return mica__fail(MICA_E_INVALID, "mica_npy_read: path, dtype, shape or data is NULL");
  unsigned char *content = NULL;
  size_t size = 0;
  mica__npy npy;
  MICA_TRY(mica__file_read(path, &content, &size));
  mica_status status = mica__npy_parse_header(path, content, size, &npy);
  if (status != MICA_OK) {
    free(content);
    return status;
  }
  memmove(content, content + npy.offset, npy.bytes);
  const size_t width = mica_dtype_size(npy.dtype);
  mica__bytes_from_file(npy.big_endian, content, npy.bytes / width, width);
  *dtype = npy.dtype;
  *shape = npy.shape;
  *data = content;
  return MICA_OK;
}

mica_status mica_npy_write(const char *path, mica_dtype dtype, mica_shape shape, const void *data) {
  char header[MICA__NPY_HEADER];
  size_t header_bytes = 0, bytes = 0;
  int64_t count = 0;
  if (!path || !data) return mica__fail(MICA_E_INVALID, "mica_npy_write: path or data is NULL");
  if (!mica_dtype_is_valid(dtype)) return mica__fail(MICA_E_DTYPE, "mica_npy_write: %d is not a dtype", (int)dtype);
  MICA_TRY(mica_shape_count(shape, &count));
  if (!mica__mul_size((uint64_t)count, mica_dtype_size(dtype), &bytes))
    return mica__fail(MICA_E_OVERFLOW, "mica_npy_write: %s has more bytes than a size can count", path);
  MICA_TRY(mica__npy_format_header(dtype, shape, header, &header_bytes));
  mica__file_sweep(path);
  return mica__file_replace(path, (const mica__bytes[]){{header, header_bytes}, {data, bytes}}, 2);
}
