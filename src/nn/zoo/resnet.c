#include "nn/zoo/zoo.h"

#include <stdio.h>

/* A residual block. `projects` is true if its shortcut is a projection. That is decided by the widths of the published
 * network, so that a pruned network has the same projections. */
typedef struct block {
  int64_t filters, stride;
  bool projects;
} block;

static mica_value conv_norm(mica_nn *nn, const char *conv, const char *norm, mica_value x, int64_t filters,
                            int64_t size, int64_t stride) {
  return mica_nn_batch_norm(nn, norm, mica__zoo_conv(nn, conv, x, filters, size, stride, 1, false), NULL);
}

/* x itself, or its projection to the block's output shape. */
static mica_value shortcut(mica_nn *nn, mica_value x, int64_t filters, const block *b) {
  return b->projects ? conv_norm(nn, "downsample.0", "downsample.1", x, filters, 1, b->stride) : x;
}

static mica_value basic(mica_nn *nn, mica_value x, const void *config) {
  const block *b = config;
  mica_value h = mica_relu(conv_norm(nn, "conv1", "bn1", x, b->filters, 3, b->stride));
  h = conv_norm(nn, "conv2", "bn2", h, b->filters, 3, 1);
  return mica_relu(mica_add(h, shortcut(nn, x, b->filters, b)));
}

/* The stride is in the 3x3 convolution, as in torchvision. */
static mica_value bottleneck(mica_nn *nn, mica_value x, const void *config) {
  const block *b = config;
  mica_value h = mica_relu(conv_norm(nn, "conv1", "bn1", x, b->filters, 1, 1));
  h = mica_relu(conv_norm(nn, "conv2", "bn2", h, b->filters, 3, b->stride));
  h = conv_norm(nn, "conv3", "bn3", h, 4 * b->filters, 1, 1);
  return mica_relu(mica_add(h, shortcut(nn, x, 4 * b->filters, b)));
}

static mica_value resnet(mica_nn *nn, mica_value x, const mica_model_config *c, mica_nn_block *kind,
                         const int counts[4]) {
  static const mica_dense_config last = {.weight = {.kind = MICA_INIT_KAIMING_UNIFORM, .value = 0.5773502691896258}};
  bool small = c->stem == MICA_STEM_SMALL;
  x = mica_relu(conv_norm(nn, "conv1", "bn1", x, 64, small ? 3 : 7, small ? 1 : 2));
  if (!small) x = mica__zoo_max_pool(x, 3, 2, 1);
  for (int s = 0; s < 4; s++)
    for (int i = 0; i < counts[s]; i++) {
      char name[24];
      block b = {.filters = (int64_t)64 << s, .stride = s > 0 && i == 0 ? 2 : 1};
      b.projects = i == 0 && (s > 0 || kind == bottleneck);
      snprintf(name, sizeof name, "layer%d.%d", s + 1, i);
      x = mica_nn_apply(nn, name, x, kind, &b);
    }
  return mica_nn_dense(nn, "fc", mica__zoo_pool_all(x), c->classes, &last);
}

mica_value mica__zoo_resnet18(mica_nn *nn, mica_value x, const mica_model_config *c) {
  return resnet(nn, x, c, basic, (const int[]){2, 2, 2, 2});
}

mica_value mica__zoo_resnet50(mica_nn *nn, mica_value x, const mica_model_config *c) {
  return resnet(nn, x, c, bottleneck, (const int[]){3, 4, 6, 3});
}
