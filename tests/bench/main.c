#include "bench/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void bench_ok(mica_status status) {
  if (status == MICA_OK) return;
  fprintf(stderr, "%s\n", mica_error_message());
  exit(1);
}

double bench_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv) {
  static const struct {
    const char *name, *text;
    int (*run)(const bench *b);
  } table[] = {
#define BENCH_ROW(name, text) {#name, text, bench_##name},
      BENCH_LIST(BENCH_ROW)};
  bench b = {.json = argc > 2 && !strcmp(argv[2], "--json")};
  for (size_t i = 0; argc > 1 && i < sizeof table / sizeof *table; i++) {
    if (strcmp(argv[1], table[i].name) != 0) continue;
    bench_ok(mica_engine_create(NULL, &b.engine));
    b.queue = mica_engine_queue(b.engine);
    int status = table[i].run(&b);
    mica_engine_destroy(b.engine);
    return status;
  }
  fprintf(stderr, "usage: mica-bench NAME [--json]\n");
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    fprintf(stderr, "  %-10s %s\n", table[i].name, table[i].text);
  return 2;
}
