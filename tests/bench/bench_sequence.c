/* Layers over sequences, against PyTorch. */
#include "bench/bench_sequence.h"

int bench_sequence(const bench *b) {
  bench_sequence_rnn(b);
  return 0;
}
