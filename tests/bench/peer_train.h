/* bench/peer_train.h: PyTorch in a process of its own, which trains when it is told to. */
#ifndef MICA_BENCH_PEER_TRAIN_H
#define MICA_BENCH_PEER_TRAIN_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

typedef struct peer_train {
  FILE *to, *from;
  pid_t process;
  char version[32]; /* PyTorch's */
} peer_train;

/* The Python that is asked for PyTorch: the environment's MICA_BENCH_PYTHON, else the one of the build. */
const char *peer_train_python(void);

/* false where there is no Python with PyTorch; it has said why on stderr. */
bool peer_train_start(peer_train *peer, const char *model, int batch, int side, const char *dtype);
/* Starts another script of bench/peers, which speaks as torch_train.py does; arguments, 8 at most, end in NULL,
 * and the number of threads follows them. */
bool peer_train_start_script(peer_train *peer, const char *script, const char *const *arguments);
/* Seconds for so many steps; negative when the peer is gone. */
double peer_train_steps(peer_train *peer, int steps);
/* How many numbers torch_train.py's network trains; negative when the peer is gone. */
double peer_train_weights(peer_train *peer);
/* Ends the process; the peak of its resident memory in bytes. */
double peer_train_end(peer_train *peer);

#endif
