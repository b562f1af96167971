#include "nn/zoo/zoo.h"

#include "ir/graph.h"

#include <stdio.h>

#define USUAL_LEVELS 4
#define MOST_LEVELS 8
#define USUAL_GROUPS 8

/* The number of groups of a norm: the configured one, else the largest up to USUAL_GROUPS that divides the channels. */
static int64_t groups_of(const mica_model_config *c, int64_t channels) {
  int64_t groups = channels < USUAL_GROUPS ? channels : USUAL_GROUPS;
  if (c->groups) return c->groups;
  while (channels % groups) groups--;
  return groups;
}

/* Pictures have two spatial axes, volumes three. */
static int axes_of(mica_value x) { return mica_value_shape(x).rank - 2; }

/* A convolution of 3 elements per axis, without bias. Weights use fan_out, as published for deep networks. */
static mica_value conv3(mica_nn *nn, const char *name, mica_value x, int64_t filters) {
  mica_nn_conv_config c = {.no_bias = true,
                           .weight = {.kind = MICA_INIT_KAIMING_NORMAL, .value = 1.4142135623730951, .fan_out = true}};
  for (int i = 0; i < axes_of(x); i++) c.how.pad[i] = 1;
  return mica_nn_conv(nn, name, x, filters, 3, &c);
}

/* Halves all spatial axes by max pooling. */
static mica_value halve(mica_value x) {
  mica_pool_config c = {.size = {0}};
  for (int i = 0; i < axes_of(x); i++) c.size[i] = 2;
  return mica_max_pool(x, &c);
}

/* Doubles all spatial axes by a transposed convolution. */
static mica_value enlarge(mica_nn *nn, const char *name, mica_value x, int64_t channels) {
  mica_nn_conv_config c = {.no_bias = false};
  for (int i = 0; i < axes_of(x); i++) c.how.stride[i] = 2;
  return mica_nn_conv_transpose(nn, name, x, channels, 2, &c);
}

/* Two 3-wide convolutions, each with norm and relu. */
static mica_value twice(mica_nn *nn, const mica_model_config *c, const char *scope, int level, mica_value x,
                        int64_t filters) {
  char name[24];
  snprintf(name, sizeof name, "%s%d", scope, level);
  mica_nn_push(nn, name);
  for (int i = 0; i < 2; i++) {
    const char *const conv[] = {"conv1", "conv2"}, *const batch[] = {"bn1", "bn2"}, *const group[] = {"gn1", "gn2"};
    x = conv3(nn, conv[i], x, filters);
    x = c->norm == MICA_MODEL_NORM_GROUP ? mica_nn_group_norm(nn, group[i], x, groups_of(c, filters), NULL)
                                         : mica_nn_batch_norm(nn, batch[i], x, NULL);
    x = mica_relu(x);
  }
  mica_nn_pop(nn);
  return x;
}

/* The number of times to halve the sides: c->depth, or if that is 0, as often as they can be halved evenly, at most
 * USUAL_LEVELS times. -1, with an error in the graph, if c->depth is not possible. */
static int levels_of(mica_value x, const mica_model_config *c) {
  const mica_shape shape = mica_value_shape(x);
  int64_t sides = 0;
  int levels = 0;
  for (int i = 2; i < shape.rank; i++) sides |= shape.dim[i];
  while (levels < (c->depth ? MOST_LEVELS : USUAL_LEVELS) && !(sides >> levels & 1)) levels++;
  if (!c->depth) return levels;
  if (c->depth < 0 || c->depth > MOST_LEVELS) {
    mica__graph_fail(x.graph, MICA_E_INVALID, "unet: the depth is %lld, but must be 1 to %d, or 0 for automatic",
                     (long long)c->depth, MOST_LEVELS);
    return -1;
  }
  if (c->depth > levels) {
    char text[MICA_SHAPE_TEXT];
    mica__graph_fail(
        x.graph, MICA_E_SHAPE,
        "unet: sides of %s can be halved evenly at most %d times, not %lld; choose a smaller depth, or 0 for automatic",
        mica_shape_format(shape, text), levels, (long long)c->depth);
    return -1;
  }
  return (int)c->depth;
}

mica_value mica__zoo_unet(mica_nn *nn, mica_value x, const mica_model_config *c) {
  mica_value skip[MOST_LEVELS];
  const int64_t width = c->width ? c->width : 64;
  const int levels = levels_of(x, c);
  if (levels < 0) return (mica_value){0};
  if ((unsigned)c->norm > MICA_MODEL_NORM_GROUP || c->groups < 0 || width < 0)
    return mica__graph_fail(x.graph, MICA_E_INVALID,
                            "unet: norm (%d) must be a mica_model_norm, and groups (%lld) and width (%lld) 0 or above",
                            (int)c->norm, (long long)c->groups, (long long)width);
  for (int i = 0; i < levels; i++) {
    skip[i] = twice(nn, c, "down", i, x, width << i);
    x = halve(skip[i]);
  }
  x = twice(nn, c, "down", levels, x, width << levels);
  for (int i = levels; i-- > 0;) {
    char name[24];
    snprintf(name, sizeof name, "up%d.from", i);
    x = enlarge(nn, name, x, width << i);
    x = twice(nn, c, "up", i, mica_concat((mica_value[]){skip[i], x}, 2, 1), width << i);
  }
  const mica_init_config last = {.kind = MICA_INIT_KAIMING_UNIFORM, .value = 0.5773502691896258};
  return mica_nn_conv(nn, "last", x, c->classes, 1, &(mica_nn_conv_config){.weight = last});
}
