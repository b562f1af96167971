/* The tuner's database; a fact that is accepted is found again. */
#include "fuzz/fuzz.h"
#include "runtime/tuning.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  mica__tuning tuning;
  if (mica__tuning_init(&tuning) != MICA_OK) return 0;
  if (mica__tuning_parse(&tuning, (const char *)data, size) == MICA_OK)
    for (size_t i = 0; i < tuning.count; i++) {
      const mica__tuning_fact *fact = &tuning.facts[i];
      if (!memchr(fact->subject, '\0', MICA__TUNING_TEXT) || !memchr(fact->text, '\0', MICA__TUNING_TEXT)) abort();
      if (!fact->bad && !(fact->seconds > 0)) abort();
    }
  mica__tuning_destroy(&tuning);
  return 0;
}

bool fuzz_seed(size_t index, mica__text *seed) {
  static const char *const seeds[] = {
      "best\tgemm f32 m1024 n1024 k1024 nn b1\tgemm_tile MR=8 NV=2 KC=256\t0.0061\n",
      "# what Mica measured\nbad\tgemm_gpu.nvidia\telement 3 is 0\nbest\tp\tx\t1e-3\nbest\tp\ty\t2\n"};
  if (index >= sizeof seeds / sizeof *seeds) return false;
  mica__text_add(seed, seeds[index]);
  return true;
}
