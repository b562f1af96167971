/* bench/peer_conv.h: convolutions by oneDNN, in the formats it likes best. Without oneDNN there is no run. */
#ifndef MICA_BENCH_PEER_CONV_H
#define MICA_BENCH_PEER_CONV_H

#include <stdbool.h>

typedef enum peer_conv_pass {
  PEER_CONV_FWD,
  PEER_CONV_BWD_DATA,
  PEER_CONV_BWD_FILTER,
  PEER_CONV_PASSES
} peer_conv_pass;

/* Square images and filters: x (n, c, h, h), w (k, c / groups, r, r), y (n, k, p, p). */
typedef struct peer_conv {
  int n, c, h, k, r, stride, pad, groups, dilation, p;
  const float *x, *w, *y; /* host memory, NCHW */
} peer_conv;

typedef struct peer_conv_run peer_conv_run;

/* The version of the oneDNN that runs, such as "3.2.0"; NULL where there is none. */
const char *peer_conv_version(void);
/* Prepares a pass: chooses formats, brings the operands into them. NULL when the library is absent or fails. */
peer_conv_run *peer_conv_create(const peer_conv *conv, peer_conv_pass pass);
/* Starts it once; false when it fails. */
bool peer_conv_execute(peer_conv_run *run);
/* Waits for what was started. */
bool peer_conv_wait(peer_conv_run *run);
/* Computes it once more and brings the result back to NCHW; the caller's to free. NULL when it fails. */
float *peer_conv_result(peer_conv_run *run);
void peer_conv_destroy(peer_conv_run *run);

/* Seconds until its threads have stopped spinning. */
#define PEER_CONV_REST 0.005

#endif
