/* convnet: 3x3 convolutions, each with batch norm and pooling, and the mean of the last map. */
#include "nn/zoo/zoo.h"

#include <stdio.h>

/* The usual number of stages (fewer if nothing is left to pool), and the maximum. */
#define STAGES 4
#define MOST_STAGES 12
/* After the usual stages, more are added until the longer side has at most this number of points. */
#define LAST_SIDE 4

/* One stage: convolution, batch norm, max pooling by 2 along sides of more than one point, relu. Relu after pooling has
 * the same result as before pooling, but reads fewer elements. */
static mica_value stage(mica_nn *nn, int number, mica_value x, int64_t filters, int64_t stride) {
  char conv[16], norm[16];
  snprintf(conv, sizeof conv, "conv%d", number);
  snprintf(norm, sizeof norm, "bn%d", number);
  mica_value h = mica_nn_batch_norm(nn, norm, mica__zoo_conv(nn, conv, x, filters, 3, stride, 1, false), NULL);
  const mica_shape s = mica_value_shape(h);
  if (s.rank != 4) return h;
  const int64_t high = s.dim[2] > 1 ? 2 : 1, wide = s.dim[3] > 1 ? 2 : 1;
  if (high > 1 || wide > 1) h = mica_max_pool(h, &(mica_pool_config){.size = {high, wide}, .stride = {high, wide}});
  return mica_relu(h);
}

static int64_t longer_side(mica_value x) {
  const mica_shape s = mica_value_shape(x);
  if (s.rank != 4) return 1;
  return s.dim[2] > s.dim[3] ? s.dim[2] : s.dim[3];
}

mica_value mica__zoo_convnet(mica_nn *nn, mica_value x, const mica_model_config *c) {
  const int64_t width = c->width ? c->width : 32;
  int64_t stride = c->stem == MICA_STEM_LARGE ? 2 : 1;
  for (int k = 0; k < MOST_STAGES && (k == 0 || longer_side(x) > (k < STAGES ? 1 : LAST_SIDE)); k++) {
    x = stage(nn, k + 1, x, width << (k < STAGES ? k : STAGES - 1), stride);
    stride = 1;
  }
  return mica__zoo_classifier(nn, "fc", mica_nn_dropout(nn, mica__zoo_pool_all(x), c->dropout), c->classes);
}
