#include "nn/zoo/zoo.h"

#include "ir/graph.h"
#include "nn/nn.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Levels of the pyramid: strides 8, 16 and 32. */
#define LEVELS 3
#define FIRST_STRIDE 8
/* Convolutions of the head before each output. */
#define DEPTH 2
#define GROUPS 8
/* An untrained network's probability of a class; most points contain no object (Lin et al. 2017). */
#define PRIOR 0.01

static mica_value conv_norm(mica_nn *nn, const char *conv, const char *norm, mica_value x, int64_t filters,
                            int64_t size, int64_t stride) {
  return mica_nn_batch_norm(nn, norm, mica__zoo_conv(nn, conv, x, filters, size, stride, 1, false), NULL);
}

/* A residual block of two 3x3 convolutions. inputs: channels of x in the unpruned network. */
static mica_value block(mica_nn *nn, const char *name, mica_value x, int64_t inputs, int64_t filters, int64_t stride) {
  mica_nn_push(nn, name);
  mica_value h = mica_relu(conv_norm(nn, "conv1", "bn1", x, filters, 3, stride)), same = x;
  h = conv_norm(nn, "conv2", "bn2", h, filters, 3, 1);
  if (stride != 1 || inputs != filters) same = conv_norm(nn, "downsample.0", "downsample.1", x, filters, 1, stride);
  mica_nn_pop(nn);
  return mica_relu(mica_add(h, same));
}

/* Features at strides 8, 16 and 32, with 2, 4 and 4 times `width` channels. */
static void backbone(mica_nn *nn, mica_value x, int64_t width, mica_value features[LEVELS]) {
  mica_nn_push(nn, "backbone");
  x = mica_relu(conv_norm(nn, "conv1", "bn1", x, width / 2, 3, 2));
  x = mica_relu(conv_norm(nn, "conv2", "bn2", x, width, 3, 2));
  x = block(nn, "layer1.0", x, width, width, 1);
  for (int k = 0, inputs = 1; k < LEVELS; k++)
    for (int i = 0; i < 2; i++) {
      char name[24];
      const int filters = k ? 4 : 2;
      snprintf(name, sizeof name, "layer%d.%d", k + 2, i);
      x = features[k] = block(nn, name, x, inputs * width, filters * width, i ? 1 : 2);
      inputs = filters;
    }
  mica_nn_pop(nn);
}

/* Adds coarse features to finer ones (Lin et al. 2017, feature pyramid networks). */
static void pyramid(mica_nn *nn, mica_value features[LEVELS], int64_t width) {
  mica_value above = {0};
  mica_nn_push(nn, "pyramid");
  for (int k = LEVELS - 1; k >= 0; k--) {
    char name[24];
    snprintf(name, sizeof name, "lateral%d", k);
    mica_value own = mica__zoo_conv(nn, name, features[k], width, 1, 1, 1, true);
    if (above.graph)
      own = mica_add(own, mica_resize(above, &(mica_resize_config){.coordinates = MICA_RESIZE_COORDINATES_ASYMMETRIC,
                                                                   .nearest = MICA_RESIZE_NEAREST_FLOOR,
                                                                   .scale = {0, 0, 2, 2}}));
    above = own;
    snprintf(name, sizeof name, "output%d", k);
    features[k] = mica__zoo_conv(nn, name, own, width, 3, 1, 1, true);
  }
  mica_nn_pop(nn);
}

/* --- the head, whose weights all levels share --- */

/* The parameter `part` of a layer that the first level made; all levels share it. */
static mica_value again(mica_nn *nn, const char *layer, const char *part) {
  char name[64];
  snprintf(name, sizeof name, "%s.%s", layer, part);
  char *whole = mica__nn_name(nn, name);
  mica_value value = whole ? mica_nn_weight_of(nn, whole) : (mica_value){0};
  free(whole);
  return value;
}

static mica_value shared_conv(mica_nn *nn, const char *name, mica_value x, int64_t filters, double bias, bool first) {
  const mica_nn_conv_config c = {.how = {.pad = {1, 1}},
                                 .weight = {.kind = MICA_INIT_NORMAL, .value = 0.01},
                                 .bias = {.kind = MICA_INIT_CONSTANT, .value = bias}};
  if (first) return mica_nn_conv(nn, name, x, filters, 3, &c);
  return mica_conv(mica__nn_narrow(nn, x), again(nn, name, "weight"), again(nn, name, "bias"), &c.how);
}

/* Convolution, group norm and relu. Not batch norm: batches are small, and each level has its own statistics. */
static mica_value shared_block(mica_nn *nn, const char *name, mica_value x, int64_t filters, bool first) {
  char conv[32], norm[32];
  const mica_nn_conv_config c = {.how = {.pad = {1, 1}}, .no_bias = true};
  snprintf(conv, sizeof conv, "%s.conv", name);
  snprintf(norm, sizeof norm, "%s.norm", name);
  x = first ? mica_nn_conv(nn, conv, x, filters, 3, &c)
            : mica_conv(mica__nn_narrow(nn, x), again(nn, conv, "weight"), (mica_value){0}, &c.how);
  x = first ? mica_nn_group_norm(nn, norm, x, GROUPS, NULL)
            : mica_group_norm(x, again(nn, norm, "weight"), again(nn, norm, "bias"), GROUPS, 1e-5);
  return mica_relu(x);
}

static mica_value tower(mica_nn *nn, const char *name, mica_value x, int64_t width, bool first) {
  for (int i = 0; i < DEPTH; i++) {
    char layer[24];
    snprintf(layer, sizeof layer, "%s%d", name, i);
    x = shared_block(nn, layer, x, width, first);
  }
  return x;
}

/* Reshapes (N, C, h, w) to (N, h w, C), f32. */
static mica_value as_rows(mica_value x) {
  const mica_shape s = mica_value_shape(x);
  if (s.rank != 4) return x;
  x = mica_reshape(mica_transpose(x, MICA_AXES(0, 2, 3, 1)), MICA_SHAPE(MICA_DYNAMIC, s.dim[2] * s.dim[3], s.dim[1]));
  return mica_value_dtype(x) == MICA_F32 ? x : mica_cast(x, MICA_F32);
}

/* The outputs of level k, (N, points of the level, classes + 5). */
static mica_value answers(mica_nn *nn, mica_value x, int k, int64_t classes, int64_t width) {
  const bool first = k == 0;
  char name[24];
  const mica_init_config one = {.kind = MICA_INIT_CONSTANT, .value = 1};
  mica_value kinds = tower(nn, "class", x, width, first), sides = tower(nn, "box", x, width, first);
  mica_value logits = as_rows(shared_conv(nn, "logits", kinds, classes, -log((1 - PRIOR) / PRIOR), first));
  mica_value centre = as_rows(shared_conv(nn, "centre", sides, 1, 0, first));
  mica_value distances = as_rows(shared_conv(nn, "distances", sides, 4, 1, first));
  snprintf(name, sizeof name, "scale%d", k);
  mica_value scale = mica_nn_parameter(nn, name, MICA_SHAPE(1), &one);
  if (mica_value_dtype(scale) != MICA_F32) scale = mica_cast(scale, MICA_F32);
  distances = mica_affine(mica_softplus(mica_mul(distances, scale)), FIRST_STRIDE << k, 0);
  return mica_concat((mica_value[]){logits, centre, distances}, 3, 2);
}

mica_value mica__zoo_detector(mica_nn *nn, mica_value x, const mica_model_config *c) {
  mica_value features[LEVELS], levels[LEVELS];
  const mica_shape shape = mica_value_shape(x);
  const int64_t width = c->width ? c->width : 32;
  if (shape.dim[2] % MICA_DETECTOR_MULTIPLE != 0 || shape.dim[3] % MICA_DETECTOR_MULTIPLE != 0)
    return mica__graph_fail(x.graph, MICA_E_SHAPE,
                            "detector: pictures have %lld x %lld pixels; the sides must be multiples of %d",
                            (long long)shape.dim[3], (long long)shape.dim[2], MICA_DETECTOR_MULTIPLE);
  if (width % GROUPS != 0)
    return mica__graph_fail(x.graph, MICA_E_INVALID, "detector: the width is %lld, but must be a multiple of %d",
                            (long long)width, GROUPS);
  backbone(nn, x, width, features);
  pyramid(nn, features, 2 * width);
  mica_nn_push(nn, "head");
  for (int k = 0; k < LEVELS; k++) levels[k] = answers(nn, features[k], k, c->classes, 2 * width);
  mica_nn_pop(nn);
  return mica_concat(levels, LEVELS, 1);
}

int64_t mica_detector_points(int64_t height, int64_t width, float *points) {
  int64_t count = 0;
  for (int k = 0; k < LEVELS; k++) {
    const int64_t stride = FIRST_STRIDE << k, rows = height / stride, columns = width / stride;
    for (int64_t i = 0; points && i < rows * columns; i++) {
      float *point = points + 3 * (count + i);
      point[0] = ((float)(i % columns) + 0.5f) * (float)stride;
      point[1] = ((float)(i / columns) + 0.5f) * (float)stride;
      point[2] = (float)stride;
    }
    count += rows * columns;
  }
  return count;
}
