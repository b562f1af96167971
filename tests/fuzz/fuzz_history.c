/* The reader of a run's history. */
#include "fuzz/fuzz.h"
#include "io/history.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  mica_history_row *rows = NULL;
  size_t count = 0;
  char *text = malloc(size + 1);
  if (!text) return 0;
  memcpy(text, data, size);
  text[size] = '\0';
  if (mica__history_parse("fuzz", text, &rows, &count) == MICA_OK) {
    if (count > size) abort();
    free(rows);
  }
  free(text);
  return 0;
}

bool fuzz_seed(size_t index, mica__text *seed) {
  static const char *const seeds[] = {"epoch,step,loss\n1,938,0.5\n2,1876,\n", "loss,colour\n1e-3,red\n"};
  if (index >= sizeof seeds / sizeof *seeds) return false;
  mica__text_add(seed, seeds[index]);
  return true;
}
