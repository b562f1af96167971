#include "nn/nn.h"

#include "ir/graph.h"

#include <mica/nodes.h>

static const mica_init he = {.kind = MICA_INIT_KAIMING_NORMAL, .value = 1.4142135623730951};

/* The extent of an axis that a layer's parameters depend on. false, with the error in the graph, when it is open; and
 * for a null value. */
static bool find_extent(const char *kind, mica_value x, int32_t axis, int64_t *extent) {
  mica_shape shape = mica_value_shape(x);
  char text[MICA_SHAPE_TEXT];
  if (mica_value_is_null(x)) return false;
  int32_t at = axis < 0 ? axis + shape.rank : axis;
  bool known = at >= 0 && at < shape.rank && shape.dim[at] != MICA_OPEN;
  if (known)
    *extent = shape.dim[at];
  else
    mica__graph_fail(x.graph, MICA_E_SHAPE, "%s: axis %d of a value of shape %s is open or absent", kind, (int)axis,
                     mica_shape_format(shape, text));
  return known;
}

static const mica_value null_value = {0};

mica_value mica_nn_dense(mica_nn *nn, const char *name, mica_value x, int64_t units, const mica_dense_config *config) {
  mica_dense_config c = config ? *config : (mica_dense_config){0};
  int64_t inputs = 0;
  if (!find_extent("dense", x, -1, &inputs)) return null_value;
  mica_init weight = mica__init_or(c.weight, he), bias = c.bias;
  mica__nn_enter(nn, name, "dense");
  mica_value w = mica_nn_parameter(nn, "weight", MICA_SHAPE(units, inputs), &weight);
  mica_value y = mica_matmul(mica__nn_narrow(nn, x), mica_transpose(w, MICA_AXES(1, 0)));
  if (!c.no_bias) y = mica_add(y, mica_nn_parameter(nn, "bias", MICA_SHAPE(units), &bias));
  return mica__nn_leave(nn, y);
}

mica_value mica_nn_embedding(mica_nn *nn, const char *name, mica_value indices, int64_t count, int64_t width,
                             const mica_embedding_config *config) {
  mica_embedding_config c = config ? *config : (mica_embedding_config){0};
  if (mica_value_is_null(indices)) return indices;
  mica_init weight = mica__init_or(c.weight, (mica_init){.kind = MICA_INIT_NORMAL, .value = 1});
  mica__nn_enter(nn, name, "embedding");
  return mica__nn_leave(nn,
                        mica_embedding(mica_nn_parameter(nn, "weight", MICA_SHAPE(count, width), &weight), indices));
}

mica_value mica_nn_dropout(mica_nn *nn, mica_value x, double rate) {
  if (!nn->config.training || mica_value_is_null(x)) return x;
  return mica_dropout(x, mica_nn_step(nn), nn->config.seed + ++nn->draws, rate);
}

typedef struct affine {
  mica_value scale, shift; /* null where the layer has none */
} affine;

static affine norm_parameters(mica_nn *nn, const mica_norm_config *c, int64_t channels) {
  affine a = {0};
  double first = c->scale == 0 ? 1 : c->scale < 0 ? 0 : c->scale;
  mica_init ones = {.kind = MICA_INIT_CONSTANT, .value = first};
  if (!c->no_scale) a.scale = mica_nn_parameter(nn, "weight", MICA_SHAPE(channels), &ones);
  if (!c->no_shift) a.shift = mica_nn_parameter(nn, "bias", MICA_SHAPE(channels), NULL);
  return a;
}

static mica_norm_config norm_config(const mica_norm_config *config) {
  mica_norm_config c = config ? *config : (mica_norm_config){0};
  if (c.epsilon == 0) c.epsilon = 1e-5;
  if (c.momentum == 0) c.momentum = 0.1;
  return c;
}

mica_value mica_nn_layer_norm(mica_nn *nn, const char *name, mica_value x, const mica_norm_config *config) {
  mica_norm_config c = norm_config(config);
  int64_t channels = 0;
  if (!find_extent("layer_norm", x, -1, &channels)) return null_value;
  mica__nn_enter(nn, name, "layer_norm");
  affine a = norm_parameters(nn, &c, channels);
  return mica__nn_leave(nn, mica_layer_norm(mica__nn_narrow(nn, x), -1, a.scale, a.shift, c.epsilon));
}

mica_value mica_nn_rms_norm(mica_nn *nn, const char *name, mica_value x, const mica_norm_config *config) {
  mica_norm_config c = norm_config(config);
  int64_t channels = 0;
  if (!find_extent("rms_norm", x, -1, &channels)) return null_value;
  c.no_shift = true;
  mica__nn_enter(nn, name, "rms_norm");
  affine a = norm_parameters(nn, &c, channels);
  return mica__nn_leave(nn, mica_rms_norm(mica__nn_narrow(nn, x), -1, a.scale, c.epsilon));
}
