/* The index of safetensors files: its files lie in its folder, and each tensor is in one of them. */
#include "fuzz/fuzz.h"
#include "io/shards.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  mica__shards *shards = NULL;
  uint64_t total = 0;
  if (mica__shards_parse("fuzz", (const char *)data, size, &shards) != MICA_OK) return 0;
  for (size_t i = 0; i < mica__shards_file_count(shards); i++)
    if (strpbrk(mica__shards_file(shards, i), "/\\") || !*mica__shards_file(shards, i)) abort();
  for (size_t i = 0; i < mica__shards_count(shards); i++) {
    const char *file = mica__shards_file_of(shards, mica__shards_name(shards, i));
    size_t at = 0;
    while (at < mica__shards_file_count(shards) && file && strcmp(mica__shards_file(shards, at), file) != 0) at++;
    if (!file || at == mica__shards_file_count(shards)) abort();
  }
  if (mica__shards_file_count(shards) > mica__shards_count(shards)) abort();
  (void)mica__shards_total(shards, &total);
  mica__shards_free(shards);
  return 0;
}

bool fuzz_seed(size_t index, mica__text *seed) {
  static const char *const seeds[] = {
      "{\"weight_map\": {\"a\": \"m.safetensors\"}}",
      "{\"metadata\": {\"total_size\": 12, \"total_parameters\": 3},\n \"weight_map\": {\"model.a.weight\": "
      "\"model-00001-of-00002.safetensors\", \"model.b\": \"model-00002-of-00002.safetensors\", \"gr\\u00fc\": "
      "\"model-00001-of-00002.safetensors\"}}",
  };
  if (index >= sizeof seeds / sizeof *seeds) return false;
  mica__text_add(seed, seeds[index]);
  return true;
}
