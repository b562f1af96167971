#include "nn/zoo/zoo.h"

#include <stdio.h>

#define LEVELS 4

/* Two 3x3 convolutions with norm and relu. */
static mica_value twice(mica_nn *nn, const char *scope, int level, mica_value x, int64_t filters) {
  char name[24];
  snprintf(name, sizeof name, "%s%d", scope, level);
  mica_nn_push(nn, name);
  for (int i = 0; i < 2; i++) {
    const char *const conv[] = {"conv1", "conv2"}, *const norm[] = {"bn1", "bn2"};
    x = mica__zoo_conv(nn, conv[i], x, filters, 3, 1, 1, false);
    x = mica_relu(mica_nn_batch_norm(nn, norm[i], x, NULL));
  }
  mica_nn_pop(nn);
  return x;
}

/* U-Net with as many levels as the sides can be halved. */
mica_value mica__zoo_unet(mica_nn *nn, mica_value x, const mica_model_config *c) {
  mica_value skip[LEVELS];
  int64_t width = c->width ? c->width : 64;
  int levels = 0;
  for (; levels < LEVELS; levels++) {
    mica_shape shape = mica_value_shape(x);
    if (shape.rank != 4 || shape.dim[2] % 2 != 0 || shape.dim[3] % 2 != 0) break;
    skip[levels] = twice(nn, "down", levels, x, width << levels);
    x = mica__zoo_max_pool(skip[levels], 2, 2, 0);
  }
  x = twice(nn, "down", levels, x, width << levels);
  while (levels-- > 0) {
    char name[24];
    snprintf(name, sizeof name, "up%d.from", levels);
    x = mica_nn_conv_transpose(nn, name, x, width << levels, 2, &(mica_nn_conv_config){.how = {.stride = {2, 2}}});
    x = twice(nn, "up", levels, mica_concat((mica_value[]){skip[levels], x}, 2, 1), width << levels);
  }
  return mica__zoo_conv(nn, "last", x, c->classes, 1, 1, 1, true);
}
