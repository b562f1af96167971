#include "support/source.h"
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"

mica_safetensors_entry source_tensor(const char *name, mica_dtype dtype, mica_shape shape, const void *data) {
  int64_t count = 0;
  ck_ok(mica_shape_count(shape, &count));
  return (mica_safetensors_entry){
      .name = name, .dtype = dtype, .shape = shape, .data = data, .bytes = (size_t)count * mica_dtype_size(dtype)};
}

mica_weights *source_open(const mica_safetensors_entry *entries, size_t count) {
  mica_weights *weights = NULL;
  ck_ok(mica_safetensors_write(files_path("source.safetensors"), entries, count, NULL, 0));
  ck_ok(mica_weights_open(files_path("source.safetensors"), &weights));
  return weights;
}
