/* nn/zoo/zoo.h: the table of the zoo's networks, and layers that they share. */
#ifndef MICA_NN_ZOO_ZOO_H
#define MICA_NN_ZOO_ZOO_H

#include "nn/nn.h"

#include <mica/model.h>
#include <mica/nodes.h>

/* Rows of nn/zoo/zoo.def: ZOO(name, family, description, channels, side). family is the end of a mica_model_family.
 * channels and side: of the images it was published for; with TOKENS, 0 and the sequence length (0: any). Each row has
 * a function mica__zoo_<name>, which is called with the defaults of `classes` and `stem` filled in. */
#define ZOO(name, family, text, channels, side)                                                                        \
  mica_value mica__zoo_##name(mica_nn *nn, mica_value x, const mica_model_config *config);
#include "nn/zoo/zoo.def"
#undef ZOO

/* A square convolution, padded by size / 2 at each edge, without bias unless `bias`. Weights use fan_out, as published
 * for deep networks. */
mica_value mica__zoo_conv(mica_nn *nn, const char *name, mica_value x, int64_t filters, int64_t size, int64_t stride,
                          int64_t groups, bool bias);
/* Max pooling with a window of size x size; stride 0 means size. */
mica_value mica__zoo_max_pool(mica_value x, int64_t size, int64_t stride, int64_t pad);
/* The mean of each channel: (N, C). */
mica_value mica__zoo_pool_all(mica_value x);
/* A final dense layer with weights N(0, 0.01). */
mica_value mica__zoo_classifier(mica_nn *nn, const char *name, mica_value x, int64_t units);

#endif
