/* safetensors_copy FROM TO: the file FROM, read and written by Mica. */
#include <mica/safetensors.h>
#include <stdio.h>
#include <stdlib.h>

static mica_status copy(const mica_safetensors *from, const char *to) {
  size_t count = mica_safetensors_count(from), pairs = mica_safetensors_metadata_count(from);
  mica_safetensors_entry *entries = calloc(count + 1, sizeof *entries);
  mica_safetensors_pair *metadata = calloc(pairs + 1, sizeof *metadata);
  mica_status status = entries && metadata ? MICA_OK : MICA_E_NOMEM;
  for (size_t i = 0; status == MICA_OK && i < count; i++) entries[i] = *mica_safetensors_at(from, i);
  for (size_t i = 0; status == MICA_OK && i < pairs; i++) metadata[i] = mica_safetensors_metadata_at(from, i);
  if (status == MICA_OK) status = mica_safetensors_write(to, entries, count, metadata, pairs);
  free(entries);
  free(metadata);
  return status;
}

int main(int argc, char **argv) {
#if !MICA_WITH_CJSON
  return printf("SKIP: no cJSON\n") > 0 ? 77 : 1;
#endif
  mica_safetensors *from = NULL;
  if (argc != 3) return 2;
  mica_status status = mica_safetensors_open(argv[1], &from);
  if (status == MICA_OK) status = copy(from, argv[2]);
  mica_safetensors_close(from);
  if (status != MICA_OK) fprintf(stderr, "%s\n", mica_error_message());
  return status != MICA_OK;
}
