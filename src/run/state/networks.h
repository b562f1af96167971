/* run/state/networks.h: networks of a run other than its trainer's. */
#ifndef MICA_RUN_STATE_NETWORKS_H
#define MICA_RUN_STATE_NETWORKS_H

#include "run/verbs/distil.h"

#include <mica/compress.h>
#include <mica/foundation.h>
#include <mica/onnx.h>
#include <mica/safetensors.h>

typedef struct mica__run_networks {
  mica_onnx *network;         /* the ONNX model that the run began with; NULL: none */
  mica_foundation *published; /* the published model that the run began with; NULL: none */
  mica_run *origin;           /* facts of the run that `network` was exported from; NULL: not read */
  mica_onnx *model;           /* a model opened instead of a folder, to predict with; NULL: none */
  mica_onnx_runner *runner;   /* of `model` */
  mica_safetensors *like;     /* of a pruned run: the file that gives the widths of layers; NULL: none */
  mica_quantizer *quantizer;  /* set if the run is quantised or trains with rounded weights; NULL: float weights */
  mica__teacher teacher;      /* the teacher of a run in training; zeros: none */
} mica__run_networks;

#endif
