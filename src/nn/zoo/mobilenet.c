#include "nn/zoo/zoo.h"

#include <stdio.h>

/* Adds convolution "index.0", norm "index.1" and relu6. */
static mica_value conv_norm_relu(mica_nn *nn, int index, mica_value x, int64_t filters, int64_t size, int64_t stride,
                                 int64_t groups) {
  char conv[16], norm[16];
  snprintf(conv, sizeof conv, "%d.0", index);
  snprintf(norm, sizeof norm, "%d.1", index);
  x = mica_nn_batch_norm(nn, norm, mica__zoo_conv(nn, conv, x, filters, size, stride, groups, false), NULL);
  return mica_clip(x, 0, 6);
}

/* The inverted residual block: expansion, depthwise convolution, linear projection. `channels` is the number of x's
 * channels in the published network; a pruned network has fewer. */
static mica_value inverted_residual(mica_nn *nn, mica_value x, int64_t channels, int64_t expand, int64_t filters,
                                    int64_t stride) {
  int64_t wide = channels * expand;
  char conv[16], norm[16];
  int at = 0;
  mica_value h = x;
  mica_nn_push(nn, "conv");
  if (expand != 1) h = conv_norm_relu(nn, at++, h, wide, 1, 1, 1);
  h = conv_norm_relu(nn, at++, h, wide, 3, stride, wide);
  snprintf(conv, sizeof conv, "%d", at);
  snprintf(norm, sizeof norm, "%d", at + 1);
  h = mica_nn_batch_norm(nn, norm, mica__zoo_conv(nn, conv, h, filters, 1, 1, 1, false), NULL);
  mica_nn_pop(nn);
  return stride == 1 && channels == filters ? mica_add(x, h) : h;
}

mica_value mica__zoo_mobilenetv2(mica_nn *nn, mica_value x, const mica_model_config *c) {
  static const struct {
    int64_t expand, filters;
    int count;
    int64_t stride;
  } stages[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
  bool small = c->stem == MICA_STEM_SMALL;
  int64_t channels = 32;
  int at = 1;
  mica_nn_push(nn, "features");
  x = conv_norm_relu(nn, 0, x, 32, 3, small ? 1 : 2, 1);
  for (size_t s = 0; s < sizeof stages / sizeof *stages; s++)
    for (int i = 0; i < stages[s].count; i++) {
      char name[16];
      int64_t stride = i > 0 || (small && s == 1) ? 1 : stages[s].stride;
      snprintf(name, sizeof name, "%d", at++);
      mica_nn_push(nn, name);
      x = inverted_residual(nn, x, channels, stages[s].expand, stages[s].filters, stride);
      channels = stages[s].filters;
      mica_nn_pop(nn);
    }
  x = conv_norm_relu(nn, at, x, 1280, 1, 1, 1);
  mica_nn_pop(nn);
  x = mica_nn_dropout(nn, mica__zoo_pool_all(x), c->dropout);
  return mica__zoo_classifier(nn, "classifier.1", x, c->classes);
}
