/* bench/network.h: training steps of networks, as sessions to be planned or run. */
#ifndef MICA_TESTS_BENCH_NETWORK_H
#define MICA_TESTS_BENCH_NETWORK_H

#include <mica/mica.h>
#include <stdbool.h>

typedef struct bench_network {
  const char *name;
  int batch, side, channels; /* pictures; or texts of `side` tokens, of no channels */
  int classes;               /* 0: 10 */
  mica_dtype dtype;          /* f16 and bf16: mixed precision */
  bool tf32;                 /* of convolutions */
} bench_network;

/* Ids of tokens. */
#define BENCH_VOCABULARY 256

extern const bench_network bench_networks[];
extern const size_t bench_network_count;

/* The network of a name; NULL for none, which is said on stderr. */
const bench_network *bench_network_find(const char *name);

/* The inputs of a batch: pictures, or tokens. */
mica_shape bench_network_shape(const bench_network *n);

/* A training step of one rank of several, or (communicator NULL) of one process, with initial values. Its inputs are x,
 * y (i32, one a sample) and the learning rate. */
mica_session *bench_network_step(mica_engine *engine, const bench_network *n, mica_communicator *communicator);

#endif
