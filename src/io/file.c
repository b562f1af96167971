#include "base/file.h"

#include <mica/io.h>

mica_status mica_file_write(const char *path, const void *data, size_t bytes) {
  if (!path || (!data && bytes)) return mica__fail(MICA_E_INVALID, "mica_file_write: path or data is NULL");
  mica__file_sweep(path);
  return mica__file_replace(path, &(mica__bytes){data, bytes}, 1);
}
