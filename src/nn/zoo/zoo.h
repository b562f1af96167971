/* nn/zoo/zoo.h: the table of the zoo, and layers that its networks share. */
#ifndef MICA_NN_ZOO_ZOO_H
#define MICA_NN_ZOO_ZOO_H

#include "nn/nn.h"

#include <mica/model.h>
#include <mica/nodes.h>

/* Rows of nn/zoo/zoo.def: ZOO(name, family, description, channels and side of the images it was published for), where
 * the family is the end of a mica_model_family; of TOKENS 0 and the length of a sequence, 0: any. Each is a function
 * mica__zoo_<name>, called with defaults filled in. */
#define ZOO(name, family, text, channels, side)                                                                        \
  mica_value mica__zoo_##name(mica_nn *nn, mica_value x, const mica_model_config *config);
#include "nn/zoo/zoo.def"
#undef ZOO

/* A square convolution, without bias unless asked; weights by fan_out, as deep networks are published. */
mica_value mica__zoo_conv(mica_nn *nn, const char *name, mica_value x, int64_t filters, int64_t size, int64_t stride,
                          int64_t groups, bool bias);
/* Max pooling over size x size; stride 0 means size. */
mica_value mica__zoo_max_pool(mica_value x, int64_t size, int64_t stride, int64_t pad);
/* The mean of every channel: (N, C). */
mica_value mica__zoo_pool_all(mica_value x);
/* A last layer: dense, with weights of N(0, 0.01). */
mica_value mica__zoo_classifier(mica_nn *nn, const char *name, mica_value x, int64_t units);

#endif
