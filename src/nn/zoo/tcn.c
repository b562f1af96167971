/* tcn: dilated causal convolutions along time; one answer per position, or one from the last position. */
#include "nn/zoo/sequence.h"

#include <stdio.h>

/* A dilated convolution, then relu. Position t of the result depends on the positions t - k dilation of x, for k from 0
 * to kernel - 1. x is (B, C, T). */
static mica_value causal(mica_nn *nn, const char *name, mica_value x, int64_t channels, int64_t kernel,
                         int64_t dilation) {
  const int64_t before = (kernel - 1) * dilation;
  const mica_nn_conv_config config = {.how = {.pad = {before}, .pad_more = {-before}, .dilation = {dilation}}};
  return mica_relu(mica_nn_conv(nn, name, x, channels, kernel, &config));
}

/* relu of x plus two convolutions. If x is the network's input and has another number of channels than c->width, a
 * 1-wide convolution converts it first. Other x are never converted: in a pruned network both x and the sum have
 * fewer channels than c->width. */
static mica_value block(mica_nn *nn, mica_value x, int64_t dilation, bool input, const mica_model_config *c) {
  const int64_t kernel = c->sequence.kernel ? c->sequence.kernel : 3;
  mica_value y = causal(nn, "conv1", x, c->width, kernel, dilation);
  y = causal(nn, "conv2", mica_nn_dropout(nn, y, c->dropout), c->width, kernel, dilation);
  if (input && !mica_value_is_null(x) && mica_value_shape(x).dim[1] != c->width)
    x = mica_nn_conv(nn, "downsample", x, c->width, 1, NULL);
  return mica_relu(mica_add(x, mica_nn_dropout(nn, y, c->dropout)));
}

mica_value mica__zoo_tcn(mica_nn *nn, mica_value x, const mica_model_config *config) {
  const mica_model_config c = mica__sequence_config(config, (mica__sequence_defaults){64, 0, 4, 1});
  const bool given = mica_dtype_kind_of(mica_value_dtype(x)) == MICA_DTYPE_KIND_FLOAT;
  int64_t dilation = 1;
  if (!given) x = mica__sequence_embed(nn, x, &c, 1);
  x = mica_transpose(x, MICA_AXES(0, 2, 1));
  for (int64_t i = 0; i < c.sequence.layers && i < 30; i++, dilation *= 2) {
    char name[32];
    snprintf(name, sizeof name, "network.%lld", (long long)i);
    mica_nn_push(nn, name);
    x = block(nn, x, dilation, given && i == 0, &c);
    mica_nn_pop(nn);
  }
  x = mica_transpose(x, MICA_AXES(0, 2, 1));
  if (c.sequence.pooled) x = mica_last_rows(x, c.sequence.lengths);
  return mica_nn_dense(nn, "head", x, c.classes, NULL);
}
