/* bench/bench_sequence.h: the families of rows of mica-bench sequence, each in a file of its own. */
#ifndef MICA_BENCH_BENCH_SEQUENCE_H
#define MICA_BENCH_BENCH_SEQUENCE_H

#include "bench/bench.h"

/* What one row measures: runs of a session, and of a script of bench/peers that does the same. */
typedef struct sequence_row {
  const char *name;
  double flops; /* of a run */
  mica_session *session;
  const mica_feed *feeds;
  size_t feed_count;
  void (*step)(void *user); /* in place of a run of the session; it waits for what it queues */
  void *user;
  uint64_t bytes; /* of device memory that session and feeds take; 0: not of interest */
  const char *script, *const *arguments;
} sequence_row;

/* Runs both alternately, and prints medians and their ratio; nothing for a row whose name has not the text of --cases.
 * */
void bench_sequence_measure(const bench *b, const sequence_row *row);
/* Prints what the kernels of a run take, to standard error. */
void bench_sequence_profile(const bench *b, const sequence_row *row);
/* A tensor of random numbers within +-bound. */
mica_tensor *bench_sequence_numbers(const bench *b, mica_shape shape, float bound);

/* LSTM layers, forward and training, against PyTorch. */
void bench_sequence_rnn(const bench *b);
/* Attention, forward and backward, against PyTorch. */
void bench_sequence_attention(const bench *b);
/* A GPT, training and continuing texts, against PyTorch. */
void bench_sequence_gpt(const bench *b);

#endif
