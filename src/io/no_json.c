/* safetensors in a build without cJSON: no file can be opened, so the accessors are never called. */
#include "io/safetensors.h"

#if !MICA_WITH_CJSON

static mica_status unsupported(void) { return mica__fail_lacks("safetensors", "cJSON"); }

mica_status mica_safetensors_open(const char *path, mica_safetensors **file) {
  (void)path, (void)file;
  return unsupported();
}
mica_status mica_safetensors_open_memory(const char *name, const void *data, size_t bytes, mica_safetensors **file) {
  (void)name, (void)data, (void)bytes, (void)file;
  return unsupported();
}
mica_status mica_safetensors_write(const char *path, const mica_safetensors_entry *entries, size_t count,
                                   const mica_safetensors_pair *metadata, size_t metadata_count) {
  (void)path, (void)entries, (void)count, (void)metadata, (void)metadata_count;
  return unsupported();
}
const void *mica__safetensors_data(const mica_safetensors *file, size_t *bytes) { return (void)file, *bytes = 0, NULL; }
void mica_safetensors_close(mica_safetensors *file) { (void)file; }
size_t mica_safetensors_count(const mica_safetensors *file) { return (void)file, 0; }
const mica_safetensors_entry *mica_safetensors_at(const mica_safetensors *file, size_t index) {
  return (void)file, (void)index, NULL;
}
const mica_safetensors_entry *mica_safetensors_find(const mica_safetensors *file, const char *name) {
  return (void)file, (void)name, NULL;
}
size_t mica_safetensors_metadata_count(const mica_safetensors *file) { return (void)file, 0; }
mica_safetensors_pair mica_safetensors_metadata_at(const mica_safetensors *file, size_t index) {
  return (void)file, (void)index, (mica_safetensors_pair){NULL, NULL};
}
const char *mica_safetensors_metadata(const mica_safetensors *file, const char *key) {
  return (void)file, (void)key, NULL;
}

#endif
