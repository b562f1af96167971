/* tests/bench/bench.h: mica-bench, which measures against peers and limits of the same machine in the same run.
 *
 *   mica-bench NAME [--json]
 *
 * Every benchmark is one function in bench_<name>.c and one line here. */
#ifndef MICA_TESTS_BENCH_BENCH_H
#define MICA_TESTS_BENCH_BENCH_H

#include <mica/mica.h>
#include <stdbool.h>

#define BENCH_LIST(X) X(fused, "generated kernels, against a copy of the same bytes")

typedef struct bench {
  mica_engine *engine;
  mica_queue *queue;
  bool json; /* one JSON object a line instead of a table */
} bench;

#define BENCH_DECLARE(name, text) int bench_##name(const bench *b);
BENCH_LIST(BENCH_DECLARE)
#undef BENCH_DECLARE

/* Ends the program with status 1 and the library's sentence unless the call returns MICA_OK. */
void bench_ok(mica_status status);

/* Seconds since some moment. */
double bench_now(void);

#endif
