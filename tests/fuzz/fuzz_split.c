/* The reader of lists of samples. */
#include "data/dataset.h"
#include "fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 100 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  uint8_t chosen[SAMPLES + 1] = {0};
  char *content = malloc(size + 1);
  if (!content) return 0;
  memcpy(content, data, size);
  content[size] = '\0';
  const mica_status status = mica__split_parse("fuzz", content, size, SAMPLES, chosen);
  if (status != MICA_OK && status != MICA_E_FORMAT) abort();
  for (int i = 0; i <= SAMPLES; i++)
    if (chosen[i] > (i < SAMPLES)) abort();
  free(content);
  return 0;
}

bool fuzz_seed(size_t index, mica__text *seed) {
  static const char *const seeds[] = {"3\n17\n99\n", "# held out\n 4 \r\n\n5"};
  if (index >= sizeof seeds / sizeof *seeds) return false;
  mica__text_add(seed, seeds[index]);
  return true;
}
