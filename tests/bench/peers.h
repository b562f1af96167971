/* bench/peers.h: the libraries that Mica is measured against. */
#ifndef MICA_BENCH_PEERS_H
#define MICA_BENCH_PEERS_H

#include <mica/tensor.h>
#include <stdbool.h>

/* A product of row-major matrices: C[batch] = op(A) op(B), in host memory and in tensors. */
typedef struct peer_gemm {
  int m, n, k, batches;
  bool a_transposed, b_transposed;
  const float *host_a, *host_b;
  float *host_d;
  const mica_tensor *a, *b, *d;
  mica_queue *queue;
} peer_gemm;

typedef struct peer {
  const char *name;
  const char *(*version)(void);
  /* Computes it `times` times; false when the library failed. Waits for the end. */
  bool (*run)(const peer_gemm *gemm, int times);
  double rest; /* seconds until its threads have stopped spinning */
} peer;

/* The peers that were found, then a row of zeros. */
extern const peer bench_peers[];

/* Sees that each runs at its best on this processor; may start the program anew. */
void bench_peers_prepare(char **argv);

#endif
