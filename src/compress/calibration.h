/* compress/calibration.h: what a calibration knows of a network's layers and of what they are given. */
#ifndef MICA_COMPRESS_CALIBRATION_H
#define MICA_COMPRESS_CALIBRATION_H

#include "base/error.h"

#include <mica/compress.h>

/* Bins of a histogram, of which half are below zero: 8 or more for each of 256 steps of a range that is half used. */
#define MICA__BINS 4096

/* Counts of values by size in bins of equal width from -limit to limit. A value beyond doubles the limit. */
typedef struct mica__histogram {
  double counts[MICA__BINS];
  double total, zeros; /* zeros are exact whatever the scale, and counted beside the bins */
  float limit, low, high;
  bool finite;
} mica__histogram;

/* A value that layers are given; several layers may be given the same. */
typedef struct mica__calibration_source {
  mica_value value; /* as the layer has it */
  mica__histogram *histogram;
  double *sums; /* of each channel; */
  int64_t channels;
  double samples; /* elements of a channel */
  int32_t axis;   /* of channels, counted from the last */
} mica__calibration_source;

typedef enum mica__layer_kind {
  MICA__LAYER_DENSE,
  MICA__LAYER_CONV,
  MICA__LAYER_TRANSPOSED, /* a transposed convolution */
  MICA__LAYER_TABLE,      /* an embedding's */
  MICA__LAYER_NORM,       /* without a weight of its own; not shown */
} mica__layer_kind;

typedef struct mica__layer {
  mica_calibration_layer shown;
  char *name, *norm;
  mica__layer_kind kind;
  bool tied;              /* its weight is used elsewhere too */
  bool plain;             /* it takes no bias */
  const char *stays;      /* it stays float: the reason; NULL: it need not */
  int32_t weight, result; /* ids */
  int32_t source;         /* -1: none */
  int32_t next;           /* the layer that is given its rectified result, alone; -1: none */
  double epsilon;         /* of the norm */
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
/* What mica_calibration_range says, of a histogram. */
mica_status mica__histogram_range(const mica__histogram *histogram, mica_calibration_method method, double percentile,
                                  int32_t bits, double *low, double *high, double *decibel);

/* A calibration of layers that no hook told of, which are taken over with their names and norms. Each layer's `source`
 * is one of so many; a source's value stays null. */
mica_status mica__calibration_of(mica__layer *layers, size_t count, size_t sources, mica_calibration **calibration);
/* Adds a tensor of f32 to what a source was seen to give. Layers' rank tells where its channels are. */
mica_status mica__calibration_add(mica_calibration *calibration, size_t source, const mica_tensor *tensor);

/* Layers without the norms, in order; NULL behind the last. */
const mica__layer *mica__calibration_layer(const mica_calibration *calibration, size_t index);

#endif
