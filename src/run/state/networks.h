/* run/state/networks.h: networks of a run other than its trainer's. */
#ifndef MICA_RUN_STATE_NETWORKS_H
#define MICA_RUN_STATE_NETWORKS_H

#include "run/verbs/distil.h"

#include <mica/compress.h>
#include <mica/foundation.h>
#include <mica/onnx.h>
#include <mica/safetensors.h>

typedef struct mica__run_networks {
  mica_onnx *network;         /* the ONNX model that the run began with, or NULL */
  mica_foundation *published; /* the published model that the run began with, or NULL */
  mica_run *origin; /* has the stored values (run/facts.h) of the run that `network` came from; NULL if not read */
  mica_onnx *model; /* a model opened instead of a folder, to predict with, or NULL */
  mica_onnx_runner *runner;  /* of `model` */
  mica_safetensors *like;    /* for a pruned run, the file that gives the widths of layers; may be NULL */
  mica_quantizer *quantizer; /* set if the run is quantised or trains with rounded weights; otherwise NULL */
  mica__teacher teacher;     /* the teacher of a run in training, or zeros */
} mica__run_networks;

#endif
