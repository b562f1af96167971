/* The reader of rows to predict from. */
#include "fuzz/fuzz.h"
#include "run/facts.h"
#include "run/predict/samples.h"
#include "run/run.h"
#include "task/tasks.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const double three = 3;
  mica_run *run = mica__run_new();
  char *text = malloc(size + 1);
  if (!run || !text) {
    mica_run_destroy(run);
    free(text);
    return 0;
  }
  run->task = &mica__task_regress; /* rows may have answers, which the task looks at */
  mica__samples samples = {0};
  memcpy(text, data, size);
  text[size] = '\0';
  if (mica__run_note_numbers(run, "input", &three, 1) == MICA_OK) {
    const mica_status status = mica__samples_read(run, &(mica_run_input){.text = text}, &samples);
    if (status == MICA_OK && (samples.count < 1 || samples.count > (int64_t)size || samples.size != 3)) abort();
    for (int64_t i = 0; status == MICA_OK && i < samples.count; i++)
      if (!samples.names[i]) abort();
  }
  mica__samples_free(&samples);
  mica_run_destroy(run);
  free(text);
  return 0;
}

bool fuzz_seed(size_t index, mica__text *seed) {
  static const char *const seeds[] = {"a,b,c\n1,2,3\n4,5,6\n", "1;2;3\r\n\r\n-1e3;nan;0x1p3\r\n", "1\t2\t3"};
  if (index >= sizeof seeds / sizeof *seeds) return false;
  mica__text_add(seed, seeds[index]);
  return true;
}
