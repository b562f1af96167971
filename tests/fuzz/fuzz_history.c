/* The reader of a run's history. */
#include "fuzz/fuzz.h"
#include "io/history.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  mica_history *history = NULL;
  char *text = malloc(size + 1);
  if (!text) return 0;
  memcpy(text, data, size);
  text[size] = '\0';
  if (mica__history_parse("fuzz", text, &history) == MICA_OK) {
    if (mica_history_rows(history) > size || mica_history_columns(history) > 256) abort();
    for (size_t c = 0; c < mica_history_columns(history); c++)
      if (mica_history_rows(history)) (void)mica_history_get(history, 0, mica_history_column(history, c));
    mica_history_destroy(history);
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
