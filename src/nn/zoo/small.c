/* Networks for small pictures: mlp, lenet, cnn. */
#include "nn/divided.h"
#include "nn/zoo/zoo.h"

mica_value mica__zoo_mlp(mica_nn *nn, mica_value x, const mica_model_config *c) {
  const int64_t width = c->width ? c->width : 128;
  x = mica__nn_fan_out(nn, mica_flatten(x, 1));
  mica_value h = mica_relu(mica__nn_columns(nn, "fc1", x, (int64_t[MICA__DIVISION_SECTIONS]){width}, NULL));
  return mica__nn_rows(nn, "fc2", mica__nn_dropout_own(nn, h, c->dropout), width, c->classes, NULL);
}

/* Convolution, pooling by two, relu. Relu comes after pooling: the result is the same, on a quarter of the elements. */
static mica_value conv_pool(mica_nn *nn, const char *name, mica_value x, int64_t filters, int64_t size, int64_t pad) {
  x = mica_nn_conv(nn, name, x, filters, size, &(mica_nn_conv_config){.how = {.pad = {pad, pad}}});
  return mica_relu(mica__zoo_max_pool(x, 2, 2, 0));
}

/* Pictures of fewer than 32 pixels are padded by 2 at each edge, so that 28 pixels become LeNet's 32. */
mica_value mica__zoo_lenet(mica_nn *nn, mica_value x, const mica_model_config *c) {
  mica_value h = conv_pool(nn, "conv1", x, 6, 5, mica_value_shape(x).dim[2] < 32 ? 2 : 0);
  h = mica_flatten(conv_pool(nn, "conv2", h, 16, 5, 0), 1);
  h = mica_relu(mica_nn_dense(nn, "fc1", h, 120, NULL));
  h = mica_relu(mica_nn_dense(nn, "fc2", h, 84, NULL));
  return mica_nn_dense(nn, "fc3", mica_nn_dropout(nn, h, c->dropout), c->classes, NULL);
}

mica_value mica__zoo_cnn(mica_nn *nn, mica_value x, const mica_model_config *c) {
  const int64_t width = c->width ? c->width : 32;
  mica_value h = conv_pool(nn, "conv1", x, width, 3, 1);
  h = mica_flatten(conv_pool(nn, "conv2", h, 2 * width, 3, 1), 1);
  h = mica_relu(mica_nn_dense(nn, "fc1", h, 4 * width, NULL));
  return mica_nn_dense(nn, "fc2", mica_nn_dropout(nn, h, c->dropout), c->classes, NULL);
}
