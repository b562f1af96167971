/* bench/peak.h: the limit of a device's f32 multiply-adds, measured between other samples where a clock drifts. */
#ifndef MICA_BENCH_PEAK_H
#define MICA_BENCH_PEAK_H

#include "runtime/launch.h"

/* A kernel that multiplies and adds and does nothing else, and what it is launched with. */
typedef struct peak {
  mica_queue *queue;
  mica__kernel *kernel;
  mica_tensor *x;
  int64_t items;
  size_t group;
  int32_t steps;
  double flops; /* of a launch */
} peak;

/* Compiles it; also after a failure, p is to be given to peak_free. */
mica_status peak_create(mica_engine *engine, peak *p);
void peak_free(peak *p);

/* A sample: *rate is operations a second over several launches, between a finished queue and a finished queue. */
mica_status peak_sample(const peak *p, double *rate);

#endif
