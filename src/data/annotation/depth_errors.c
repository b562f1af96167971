/* Sums up the errors of predicted depths. */
#include "data/annotation/depth_errors.h"

#include <math.h>

void mica__depth_errors_add(mica__depth_errors *e, const float *depths, const float *truth, size_t pixels) {
  for (size_t i = 0; i < pixels; i++) {
    const double is = (double)depths[i], meant = (double)truth[i];
    if (!(meant > 0)) continue;
    e->relative += fabs(is - meant) / meant;
    e->squares += (is - meant) * (is - meant);
    e->close += fmax(is / meant, meant / is) < MICA__DEPTH_CLOSE;
    e->pixels++;
  }
}

void mica__depth_errors_score(const mica__depth_errors *e, double scores[3]) {
  scores[0] = e->pixels > 0 ? e->relative / e->pixels : (double)NAN;
  scores[1] = e->pixels > 0 ? sqrt(e->squares / e->pixels) : (double)NAN;
  scores[2] = e->pixels > 0 ? e->close / e->pixels : (double)NAN;
}
