#include "base/arith.h"
#include "nn/zoo/zoo.h"

#include <stdio.h>

/* The filters of each convolution; 0 means pooling. */
static const int64_t layers[] = {64, 0, 128, 0, 256, 256, 0, 512, 512, 0, 512, 512, 0};

mica_value mica__zoo_vgg11(mica_nn *nn, mica_value x, const mica_model_config *c) {
  double rate = mica__or_default(c->dropout, 0.5);
  mica_nn_push(nn, "features");
  /* torchvision numbers relu and pooling as layers too. */
  for (size_t i = 0, at = 0; i < sizeof layers / sizeof *layers; i++, at += layers[i - 1] ? 2 : 1) {
    char name[24];
    snprintf(name, sizeof name, "%zu", at);
    x = layers[i] ? mica_relu(mica__zoo_conv(nn, name, x, layers[i], 3, 1, 1, true)) : mica__zoo_max_pool(x, 2, 2, 0);
  }
  mica_nn_pop(nn);
  if (c->stem == MICA_STEM_SMALL) return mica__zoo_classifier(nn, "classifier", mica_flatten(x, 1), c->classes);
  x = mica_flatten(mica_adaptive_average_pool(x, (int64_t[]){7, 7}), 1);
  mica_nn_push(nn, "classifier");
  x = mica_nn_dropout(nn, mica_relu(mica__zoo_classifier(nn, "0", x, 4096)), rate);
  x = mica_nn_dropout(nn, mica_relu(mica__zoo_classifier(nn, "3", x, 4096)), rate);
  x = mica__zoo_classifier(nn, "6", x, c->classes);
  mica_nn_pop(nn);
  return x;
}
