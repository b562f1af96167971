/* bench/bench_sequence.h: the families of rows of mica-bench sequence, each in a file of its own. */
#ifndef MICA_BENCH_BENCH_SEQUENCE_H
#define MICA_BENCH_BENCH_SEQUENCE_H

#include "bench/bench.h"

/* LSTM layers, forward and training, against PyTorch. */
void bench_sequence_rnn(const bench *b);

#endif
