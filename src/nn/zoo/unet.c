#include "nn/zoo/zoo.h"

#include "ir/graph.h"

#include <stdio.h>

#define USUAL_LEVELS 4
#define MOST_LEVELS 8
#define USUAL_GROUPS 8

/* The usual number of groups, less where channels are fewer or no multiple of it. */
static int64_t groups_of(const mica_model_config *c, int64_t channels) {
  int64_t groups = channels < USUAL_GROUPS ? channels : USUAL_GROUPS;
  if (c->groups) return c->groups;
  while (channels % groups) groups--;
  return groups;
}

/* Two 3x3 convolutions with norm and relu. */
static mica_value twice(mica_nn *nn, const mica_model_config *c, const char *scope, int level, mica_value x,
                        int64_t filters) {
  char name[24];
  snprintf(name, sizeof name, "%s%d", scope, level);
  mica_nn_push(nn, name);
  for (int i = 0; i < 2; i++) {
    const char *const conv[] = {"conv1", "conv2"}, *const batch[] = {"bn1", "bn2"}, *const group[] = {"gn1", "gn2"};
    x = mica__zoo_conv(nn, conv[i], x, filters, 3, 1, 1, false);
    x = c->norm == MICA_MODEL_NORM_GROUP ? mica_nn_group_norm(nn, group[i], x, groups_of(c, filters), NULL)
                                         : mica_nn_batch_norm(nn, batch[i], x, NULL);
    x = mica_relu(x);
  }
  mica_nn_pop(nn);
  return x;
}

/* The number of times that the sides are halved; -1, with an error in the graph, if they cannot be halved often
 * enough. */
static int levels_of(mica_value x, const mica_model_config *c) {
  const mica_shape shape = mica_value_shape(x);
  const int64_t H = shape.dim[2], W = shape.dim[3];
  int levels = 0;
  while (levels < (c->depth ? MOST_LEVELS : USUAL_LEVELS) && !((H | W) >> levels & 1)) levels++;
  if (!c->depth) return levels;
  if (c->depth < 0 || c->depth > MOST_LEVELS || c->depth > levels) {
    mica__graph_fail(x.graph, MICA_E_SHAPE, "unet: pictures of %lld x %lld cannot be halved %lld times (1 to %d)",
                     (long long)W, (long long)H, (long long)c->depth, MOST_LEVELS);
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
    return mica__graph_fail(x.graph, MICA_E_INVALID, "unet: norm %d, %lld groups or width %lld is out of range",
                            (int)c->norm, (long long)c->groups, (long long)width);
  for (int i = 0; i < levels; i++) {
    skip[i] = twice(nn, c, "down", i, x, width << i);
    x = mica__zoo_max_pool(skip[i], 2, 2, 0);
  }
  x = twice(nn, c, "down", levels, x, width << levels);
  for (int i = levels; i-- > 0;) {
    char name[24];
    snprintf(name, sizeof name, "up%d.from", i);
    x = mica_nn_conv_transpose(nn, name, x, width << i, 2, &(mica_nn_conv_config){.how = {.stride = {2, 2}}});
    x = twice(nn, c, "up", i, mica_concat((mica_value[]){skip[i], x}, 2, 1), width << i);
  }
  const mica_init_config last = {.kind = MICA_INIT_KAIMING_UNIFORM, .value = 0.5773502691896258};
  return mica_nn_conv(nn, "last", x, c->classes, 1, &(mica_nn_conv_config){.weight = last});
}
