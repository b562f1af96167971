/* run/state/networks.h: networks of a run besides its trainer's. */
#ifndef MICA_RUN_STATE_NETWORKS_H
#define MICA_RUN_STATE_NETWORKS_H

#include "run/verbs/distil.h"

#include <mica/compress.h>
#include <mica/foundation.h>
#include <mica/onnx.h>
#include <mica/safetensors.h>

typedef struct mica__run_networks {
  mica_onnx *network;         /* of a run that began with a model in ONNX; NULL: of others */
  mica_foundation *published; /* of a run that began with a published model; NULL: of others */
  mica_run *origin;           /* facts of the run that `network` was exported from; NULL: not asked for */
  mica_onnx *model;           /* a model that was opened in place of a folder, to predict with; NULL: none */
  mica_onnx_runner *runner;   /* of `model` */
  mica_safetensors *like;     /* of a pruned run: the file that layers take their widths from; NULL: none */
  mica_quantizer *quantizer;  /* of a quantised run, or one that trains with rounded weights; NULL: layers are float */
  mica__teacher teacher;      /* of a run that is trained; zeros: none */
} mica__run_networks;

#endif
