/* base/clock.h: monotonic time. */
#ifndef MICA_BASE_CLOCK_H
#define MICA_BASE_CLOCK_H

#include <time.h>

/* Seconds since some fixed point. */
static inline double mica__clock(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#endif
