#include "nn/zoo/zoo.h"

#include <stdio.h>

#define GROWTH 32

/* Weights as published: He's initialisation with fan-in. */
static mica_value conv(mica_nn *nn, const char *name, mica_value x, int64_t filters, int64_t size, int64_t stride) {
  const int64_t pad = size / 2;
  return mica_nn_conv(
      nn, name, x, filters, size,
      &(mica_nn_conv_config){.how = {.stride = {stride, stride}, .pad = {pad, pad}},
                             .no_bias = true,
                             .weight = {.kind = MICA_INIT_KAIMING_NORMAL, .value = 1.4142135623730951}});
}

static mica_value norm_relu(mica_nn *nn, const char *name, mica_value x) {
  return mica_relu(mica_nn_batch_norm(nn, name, x, NULL));
}

/* A layer of a dense block: makes GROWTH channels, which the block appends to the channels of x. */
static mica_value layer(mica_nn *nn, mica_value x, const void *config) {
  (void)config;
  x = conv(nn, "conv1", norm_relu(nn, "norm1", x), 4 * GROWTH, 1, 1);
  return conv(nn, "conv2", norm_relu(nn, "norm2", x), GROWTH, 3, 1);
}

static mica_value dense_block(mica_nn *nn, mica_value x, const void *config) {
  const int layers = *(const int *)config;
  for (int i = 0; i < layers; i++) {
    char name[24];
    snprintf(name, sizeof name, "denselayer%d", i + 1);
    x = mica_concat((mica_value[]){x, mica_nn_apply(nn, name, x, layer, NULL)}, 2, 1);
  }
  return x;
}

/* Halves channels and sides. */
static mica_value transition(mica_nn *nn, mica_value x, const void *config) {
  (void)config;
  x = norm_relu(nn, "norm", x);
  x = conv(nn, "conv", x, mica_value_shape(x).dim[1] / 2, 1, 1);
  return mica_average_pool(x, &(mica_pool_config){.size = {2, 2}, .stride = {2, 2}});
}

mica_value mica__zoo_densenet121(mica_nn *nn, mica_value x, const mica_model_config *c) {
  static const int blocks[4] = {6, 12, 24, 16};
  static const mica_dense_config last = {.weight = {.kind = MICA_INIT_KAIMING_UNIFORM, .value = 0.5773502691896258}};
  const bool small = c->stem == MICA_STEM_SMALL;
  mica_nn_push(nn, "features");
  x = norm_relu(nn, "norm0", conv(nn, "conv0", x, 2 * GROWTH, small ? 3 : 7, small ? 1 : 2));
  if (!small) x = mica__zoo_max_pool(x, 3, 2, 1);
  for (int i = 0; i < 4; i++) {
    char name[24];
    snprintf(name, sizeof name, "denseblock%d", i + 1);
    x = mica_nn_apply(nn, name, x, dense_block, &blocks[i]);
    snprintf(name, sizeof name, "transition%d", i + 1);
    if (i < 3) x = mica_nn_apply(nn, name, x, transition, NULL);
  }
  x = norm_relu(nn, "norm5", x);
  mica_nn_pop(nn);
  return mica_nn_dense(nn, "classifier", mica_nn_dropout(nn, mica__zoo_pool_all(x), c->dropout), c->classes, &last);
}
