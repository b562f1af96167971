/* The reader of kernel texts, which resolves #include lines and removes comments; MICA_KERNEL_DIR may hold anything. */
#include "fuzz/fuzz.h"
#include "runtime/kernel_code.h"
#include "runtime/kernel_source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  mica__text out = {0};
  mica_status status = mica__kernel_source_expand_text("fuzz.cl", (const char *)data, size, &out);
  if (status == MICA_OK) (void)mica__code_hash(out.data);
  mica__text_free(&out);
  return 0;
}

/* Every eighth file: the reader knows only #include lines, comments and literals, which are alike in all files. */
bool fuzz_seed(size_t index, mica__text *seed) {
  if (index >= mica__kernel_source_count / 8) return false;
  const mica__kernel_source *source = &mica__kernel_sources[8 * index];
  for (size_t i = 0; i < source->line_count; i++) {
    mica__text_add(seed, source->lines[i]);
    mica__text_add(seed, "\n");
  }
  return true;
}
