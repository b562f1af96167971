/* run/state/kept.h: what a training keeps in its folder. Private to run/keep.c. */
#ifndef MICA_RUN_STATE_KEPT_H
#define MICA_RUN_STATE_KEPT_H

#include <stdbool.h>
#include <stdint.h>

typedef struct mica__run_kept {
  int network_file;      /* the folder's network.onnx, open and locked, or -1 */
  bool begun;            /* the first files of the run are written */
  bool has_best;         /* best.safetensors is in the folder */
  bool ended_early;      /* the number of epochs was lowered to the number that are done */
  int64_t weights_epoch; /* epoch of model.safetensors, from 1; 0 before the first ended; -1 if not known */
  char *left;            /* the folder that training had to leave because another run is there, or NULL */
} mica__run_kept;

#endif
