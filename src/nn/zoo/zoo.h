/* nn/zoo/zoo.h: the table of the zoo, and layers that its networks share. */
#ifndef MICA_NN_ZOO_ZOO_H
#define MICA_NN_ZOO_ZOO_H

#include "nn/nn.h"

#include <mica/model.h>
#include <mica/nodes.h>

/* Name, description, channels and side of the images it was published for. Each is a function mica__zoo_<name>, called
 * with defaults filled in. */
#define MICA__ZOO_LIST(X)                                                                                              \
  X(mlp, "dense 128, dense", 1, 28)                                                                                    \
  X(lenet, "LeNet-5: two convolutions, three dense layers", 1, 28)                                                     \
  X(cnn, "two convolutions with pooling, dense 128", 1, 28)                                                            \
  X(vgg11, "eight 3x3 convolutions with pooling", 3, 224)                                                              \
  X(resnet18, "residual blocks of two convolutions", 3, 224)                                                           \
  X(resnet50, "residual bottlenecks of three convolutions", 3, 224)                                                    \
  X(mobilenetv2, "inverted residuals with depthwise convolutions", 3, 224)                                             \
  X(unet, "logits for every pixel, coarse to fine", 3, 224)

#define MICA__ZOO_DECLARE(name, text, channels, side)                                                                  \
  mica_value mica__zoo_##name(mica_nn *nn, mica_value x, const mica_model_config *config);
MICA__ZOO_LIST(MICA__ZOO_DECLARE)
#undef MICA__ZOO_DECLARE

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
