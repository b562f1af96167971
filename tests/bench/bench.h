/* tests/bench/bench.h: mica-bench, which measures against peers and limits of the same machine in the same run.
 *
 *   mica-bench NAME [--json] [--rounds N] [--shapes LIST]
 *
 * Every benchmark is one function in bench_<name>.c and one line here. */
#ifndef MICA_TESTS_BENCH_BENCH_H
#define MICA_TESTS_BENCH_BENCH_H

#include "base/error.h"

#include <mica/mica.h>
#include <stdbool.h>
#include <stddef.h>

#define BENCH_LIST(X)                                                                                                  \
  X(conv,                                                                                                              \
    "f32 convolutions, against oneDNN; --cases \"n16 c64 h56 k64 r3 s1 p1;...\" --pass fwd|bwd_data|bwd_filter|all; "  \
    "--leave-out NAME (repeatable; each: the one in use, layer by layer): what implementations are worth")             \
  X(fused, "generated kernels, against a copy of the same bytes")                                                      \
  X(gemm, "f32 matrix products, against OpenBLAS and CLBlast; --shapes \"M,N,K[,nn|nt|tn|tt][,BATCH];...\"")           \
  X(plan, "sessions of deep networks: how long planning and recording take, on no device")                             \
  X(peak, "f32 multiply-adds and nothing else: the device's limit")                                                    \
  X(train, "training steps, against PyTorch; --model mlp|cnn|resnet18|mobilenetv2 --batch N --steps N --profile")

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
  int batch, steps;         /* 0 for the benchmark's own */
  bool profile;             /* the kernels that take the time, to standard error */
} bench;

#define BENCH_DECLARE(name, text) int bench_##name(const bench *b);
BENCH_LIST(BENCH_DECLARE)
#undef BENCH_DECLARE

/* Ends the program with status 1 and the library's sentence unless the call returns MICA_OK. */
void bench_ok(mica_status status);

/* Says on stderr, in a line, that a peer is not there. */
void bench_peer_missing(const char *name, const char *why);
/* Why a library is missing that mica-bench would have been linked with. */
#define BENCH_NOT_LINKED "mica-bench was built without it; see tests/bench/CMakeLists.txt"

/* Seconds since some moment. */
double bench_now(void);
/* Sorts the values. */
double bench_median(double *values, size_t count);
/* Sleeps; long enough, it lets another library's threads stop spinning. */
void bench_rest(double seconds);
/* Sleeps until other processes leave this machine's processors alone, for two seconds at most: a benchmark that shares
 * its cores with a compiler measures the compiler. */
void bench_wait_for_quiet(void);

#endif
