#include "base/arith.h"
#include "nn/zoo/zoo.h"

#include <math.h>
#include <stdio.h>

/* Number of blocks. In block i of them, counted from 0, the drop rate is LEFT_OUT i / BLOCKS. */
#define BLOCKS 16
#define LEFT_OUT 0.2

/* A block, as published: the channels of its input, the factor by which it widens them, the size and stride of its
 * depthwise filter, its output channels, and its number among all blocks. */
typedef struct block {
  int64_t channels, expand, size, stride, filters;
  int number;
} block;

/* Convolution NAME.0, norm NAME.1, and silu if `active`. */
static mica_value conv_norm(mica_nn *nn, const char *name, mica_value x, int64_t filters, int64_t size, int64_t stride,
                            int64_t groups, bool active) {
  mica_nn_push(nn, name);
  x = mica_nn_batch_norm(nn, "1", mica__zoo_conv(nn, "0", x, filters, size, stride, groups, false), NULL);
  mica_nn_pop(nn);
  return active ? mica_silu(x) : x;
}

/* Squeeze and excitation (Hu et al. 2018): scales each channel by a function of all channels' means. */
static mica_value excite(mica_nn *nn, const char *name, mica_value x, int64_t squeezed) {
  const int64_t channels = mica_value_shape(x).dim[1];
  mica_nn_push(nn, name);
  mica_value s = mica_mean(x, MICA_AXES(2, 3), true);
  s = mica_silu(mica__zoo_conv(nn, "fc1", s, squeezed, 1, 1, 1, true));
  s = mica_sigmoid(mica__zoo_conv(nn, "fc2", s, channels, 1, 1, 1, true));
  mica_nn_pop(nn);
  return mica_mul(x, s);
}

/* Stochastic depth (Huang et al. 2016): in training, a sample's branch becomes 0 with probability `rate`; otherwise
 * it is scaled up to keep the mean. */
static mica_value leave_out(mica_nn *nn, mica_value x, double rate) {
  if (!mica_nn_is_training(nn) || rate == 0) return x;
  mica_value one = mica_full_like(mica_mean(x, MICA_AXES(1, 2, 3), true), 1);
  return mica_mul(x, mica_nn_dropout(nn, one, rate));
}

/* The inverted residual block. Its layers have the numbers that torchvision uses as names. */
static mica_value inverted_residual(mica_nn *nn, mica_value x, const block *b) {
  const int64_t channels = b->channels, wide = channels * b->expand;
  const int64_t squeezed = channels / 4 > 1 ? channels / 4 : 1;
  static const char *const names[] = {"0", "1", "2", "3"};
  int at = 0;
  mica_value h = x;
  mica_nn_push(nn, "block");
  if (b->expand != 1) h = conv_norm(nn, names[at++], h, wide, 1, 1, 1, true);
  h = conv_norm(nn, names[at++], h, wide, b->size, b->stride, wide, true);
  h = excite(nn, names[at++], h, squeezed);
  h = conv_norm(nn, names[at], h, b->filters, 1, 1, 1, false);
  mica_nn_pop(nn);
  if (b->stride != 1 || channels != b->filters) return h;
  return mica_add(x, leave_out(nn, h, LEFT_OUT * b->number / BLOCKS));
}

mica_value mica__zoo_efficientnetb0(mica_nn *nn, mica_value x, const mica_model_config *c) {
  static const struct {
    int64_t expand, size, stride, filters;
    int count;
  } stages[] = {{1, 3, 1, 16, 1},  {6, 3, 2, 24, 2},  {6, 5, 2, 40, 2}, {6, 3, 2, 80, 3},
                {6, 5, 1, 112, 3}, {6, 5, 2, 192, 4}, {6, 3, 1, 320, 1}};
  const bool small = c->stem == MICA_STEM_SMALL;
  int64_t channels = 32;
  int number = 0;
  mica_nn_push(nn, "features");
  x = conv_norm(nn, "0", x, 32, 3, small ? 1 : 2, 1, true);
  for (size_t s = 0; s < sizeof stages / sizeof *stages; s++)
    for (int i = 0; i < stages[s].count; i++) {
      char name[24];
      const block b = {channels,          stages[s].expand,
                       stages[s].size,    i > 0 || (small && s == 1) ? 1 : stages[s].stride,
                       stages[s].filters, number++};
      snprintf(name, sizeof name, "%d.%d", (int)s + 1, i);
      mica_nn_push(nn, name);
      x = inverted_residual(nn, x, &b);
      channels = stages[s].filters;
      mica_nn_pop(nn);
    }
  x = conv_norm(nn, "8", x, 1280, 1, 1, 1, true);
  mica_nn_pop(nn);
  x = mica_nn_dropout(nn, mica__zoo_pool_all(x), mica__or_default(c->dropout, 0.2));
  const mica_init_config weight = {.kind = MICA_INIT_UNIFORM, .value = 1 / sqrt((double)c->classes)};
  return mica_nn_dense(nn, "classifier.1", x, c->classes, &(mica_dense_config){.weight = weight});
}
