/* What shares of pixels say. */
#include "task/head/pixels.h"

int64_t mica__pixels_classes(const mica_run *run) {
  size_t count = 0;
  mica_run_fact(run, "classes", &count);
  return (int64_t)count;
}

void mica__pixels_decide(const float *shares, int64_t classes, size_t pixels, uint8_t *decided) {
  for (size_t at = 0; at < pixels; at++) {
    int64_t best = 0;
    for (int64_t c = 1; c < classes; c++)
      if (shares[(size_t)c * pixels + at] > shares[(size_t)best * pixels + at]) best = c;
    decided[at] = (uint8_t)best;
  }
}
