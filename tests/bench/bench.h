/* tests/bench/bench.h: mica-bench, which measures against peers and limits of the same machine in the same run.
 *
 *   mica-bench NAME [--json] [--rounds N] [--shapes LIST]
 *
 * Every benchmark is one function in bench_<name>.c and a row of benches.def. */
#ifndef MICA_TESTS_BENCH_BENCH_H
#define MICA_TESTS_BENCH_BENCH_H

#include "base/error.h"

#include <mica/mica.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct bench {
  mica_engine *engine;
  mica_queue *queue;
  bool json;                /* one JSON object a line instead of a table */
  int rounds;               /* samples that a median is taken of */
  const char *shapes;       /* NULL for the benchmark's own */
  const char *cases;        /* likewise */
  const char *pass;         /* NULL for all */
  const char *leave_out[8]; /* implementations; NULL after the last */
  const char *model;        /* likewise */
  int batch, steps, side;   /* 0 for the benchmark's own; side: of the pictures that train takes */
  const char *dtype;        /* of conv, gemm, infer, sequence and train: NULL for f32 */
  bool cold;                /* first answers too */
  bool cpu_time;            /* of infer: processor time instead of time that passes; for machines that are busy */
  bool profile;             /* the kernels that take the time, to standard error */
  const char *device, *net; /* of scale: NULL for its own */
  const char *as;           /* of plan: a device that is not there */
  const char *sources;      /* likewise: a file for its generated kernels */
  int ranks;                /* likewise, at most; 0 for its own */
} bench;

#define BENCH(name, text) int bench_##name(const bench *b);
#include "bench/benches.def"
#undef BENCH

/* Ends the program with status 1 and the library's sentence unless the call returns MICA_OK. */
void bench_ok(mica_status status);

/* What --dtype names, f32 by default. *tf32 says whether it is "tf32"; that and i8 are refused where tf32 is NULL. Ends
 * the program where it is none of these. */
mica_dtype bench_dtype(const bench *b, bool *tf32);

/* Says on stderr, in a line, that a peer is not there; once, until another reason is given. */
void bench_peer_missing(const char *name, const char *why);
/* Why a library is missing that mica-bench would have been linked with. */
#define BENCH_NOT_LINKED "mica-bench was built without it; see tests/bench/CMakeLists.txt"

/* Seconds since some moment. */
double bench_now(void);
/* The processor time of this process, of all its threads, in seconds. */
double bench_cpu_now(void);
/* Sorts the values. */
double bench_median(double *values, size_t count);
/* Sleeps; long enough, it lets another library's threads stop spinning. */
void bench_rest(double seconds);
/* Sleeps until other processes leave this machine's processors alone, for two seconds at most: a benchmark that shares
 * its cores with a compiler measures the compiler. */
void bench_wait_for_quiet(void);

#endif
