/* Decides from the shares of pixels. */
#include "run/fields.h"
#include "task/head/pixels.h"

MICA__FACTS(pixels, PIXELS_FACTS, 3);

int64_t mica__pixels_classes(const mica_run *run) { return (int64_t)facts_of(run).classes.count; }

void mica__pixels_decide(const float *shares, int64_t classes, size_t pixels, uint8_t *decided) {
  for (size_t at = 0; at < pixels; at++) {
    int64_t best = 0;
    for (int64_t c = 1; c < classes; c++)
      if (shares[(size_t)c * pixels + at] > shares[(size_t)best * pixels + at]) best = c;
    decided[at] = (uint8_t)best;
  }
}
