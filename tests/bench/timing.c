#include "bench/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

double bench_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double bench_cpu_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int compare(const void *x, const void *y) {
  double a = *(const double *)x, b = *(const double *)y;
  return (a > b) - (a < b);
}

double bench_median(double *values, size_t count) {
  qsort(values, count, sizeof *values, compare);
  return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

void bench_rest(double seconds) {
  struct timespec t = {.tv_sec = (time_t)seconds, .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
  nanosleep(&t, NULL);
}

/* Ticks that all processors together have spent working; 0 where the system does not say. */
static long busy_ticks(void) {
  long user = 0, nice = 0, system = 0;
  FILE *file = fopen("/proc/stat", "r");
  if (!file) return 0;
  if (fscanf(file, "cpu %ld %ld %ld", &user, &nice, &system) != 3) user = nice = system = 0;
  fclose(file);
  return user + nice + system;
}

void bench_wait_for_quiet(void) {
  for (int i = 0; i < 40; i++) {
    long before = busy_ticks();
    bench_rest(0.05);
    if (busy_ticks() - before <= 1) return;
  }
}
