/* compress/calibration.h: what a calibration knows of a network's layers and their inputs. */
#ifndef MICA_COMPRESS_CALIBRATION_H
#define MICA_COMPRESS_CALIBRATION_H

#include "base/error.h"
#include "base/shared.h"

#include <mica/compress.h>

/* Bins of a histogram; half of them are below zero. If half the range is used, each of 256 steps has at least 8
 * bins. */
#define MICA__BINS 4096

/* Counts of values in bins of equal width between -limit and limit. The limit is doubled until no value lies
 * outside. */
typedef struct mica__histogram {
  double counts[MICA__BINS];
  double total, zeros; /* zeros are counted separately, because they are exact at any scale */
  float limit, low, high;
  bool finite;
} mica__histogram;

/* A value that is the input of layers; several layers may share it. */
typedef struct mica__calibration_source {
  mica_value value; /* as the layer receives it */
  mica__histogram *histogram;
  double *sums; /* per channel */
  int64_t channels;
  double samples; /* elements per channel */
  int32_t axis;   /* axis of channels, counted from the last one */
} mica__calibration_source;

typedef enum mica__layer_kind {
  MICA__LAYER_DENSE,
  MICA__LAYER_CONV,
  MICA__LAYER_TRANSPOSED, /* a transposed convolution */
  MICA__LAYER_TABLE,      /* an embedding */
  MICA__LAYER_NORM,       /* has no weight to quantise, so mica__calibration_layer skips it */
} mica__layer_kind;

typedef struct mica__layer {
  mica_calibration_layer shown;
  char *name, *norm;
  mica__layer_kind kind;
  bool tied;              /* the weight has further uses */
  bool plain;             /* the layer cannot take a bias */
  const char *stays;      /* reason to keep it in f32; NULL: none */
  int32_t weight, result; /* ids */
  int32_t source;         /* index of the source of its input; -1: none */
  int32_t next;   /* index of the layer whose input is this one's result after its norm and a ReLU, if any; -1: none */
  double epsilon; /* of the norm */
} mica__layer;

struct mica_calibration {
  const mica_nn *nn;
  mica_graph *graph;
  mica__layer *layers;
  size_t layer_count, layer_capacity;
  mica__calibration_source *sources;
  size_t source_count, source_capacity;
  mica_value *values;
  bool finished;
};

/* Adds numbers to a histogram. */
void mica__histogram_add(mica__histogram *histogram, const float *x, size_t count);
/* mica_calibration_range for a histogram. */
mica_status mica__histogram_range(const mica__histogram *histogram, mica_calibration_method method, double percentile,
                                  int32_t bits, double *low, double *high, double *decibel);

/* Creates a calibration from a list of layers, without a hook. On success it takes over the list with its names and
 * norms. Each layer's `source` must be -1 or below `sources`; the values of sources stay null. */
MICA__SHARED mica_status mica__calibration_of(mica__layer *layers, size_t count, size_t sources,
                                              mica_calibration **calibration);
/* Adds an f32 tensor to a source's measurements. The channels are its last axis or, if convolutions read the source,
 * the axis that follows from the rank of their weights. */
MICA__SHARED mica_status mica__calibration_add(mica_calibration *calibration, size_t source, const mica_tensor *tensor);

/* Layer `index` of the layers that are not norms, in the order of the network; NULL after the last one. */
const mica__layer *mica__calibration_layer(const mica_calibration *calibration, size_t index);

#endif
