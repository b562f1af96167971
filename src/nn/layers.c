#include "nn/held.h"
#include "nn/nn.h"

#include "base/arith.h"
#include "ops/collective/channels.h"
#include "ops/common/build.h"
#include "ops/norm/norm.h"

#include <mica/dist.h>
#include <mica/nodes.h>

static const mica_init_config he = {.kind = MICA_INIT_KAIMING_NORMAL, .value = 1.4142135623730951};

/* Reads the extent of an axis on which a layer's parameters depend. Returns false if x is null. Also returns false, and
 * records an error in the graph, if the extent is dynamic, the axis does not exist, or nn is NULL. */
static bool find_extent(const mica_nn *nn, const char *kind, mica_value x, int32_t axis, int64_t *extent) {
  mica_shape shape = mica_value_shape(x);
  char text[MICA_SHAPE_TEXT];
  if (mica__nn_missing(nn, kind, x) || mica_value_is_null(x)) return false;
  int32_t at = axis < 0 ? axis + shape.rank : axis;
  bool known = at >= 0 && at < shape.rank && shape.dim[at] != MICA_DYNAMIC;
  if (known)
    *extent = shape.dim[at];
  else
    mica__graph_fail(x.graph, MICA_E_SHAPE, "%s: axis %d of an input of shape %s is missing or has no known size", kind,
                     (int)axis, mica_shape_format(shape, text));
  return known;
}

static const mica_value null_value = {0};

/* Passes a layer's result to the hook, and leaves the layer. */
static mica_value leave(mica_nn *nn, mica_value result) {
  return mica__nn_leave(nn, mica__nn_hooked(nn, MICA_NN_POINT_RESULT, result));
}

mica_value mica_nn_dense(mica_nn *nn, const char *name, mica_value x, int64_t units, const mica_dense_config *config) {
  mica_dense_config c = config ? *config : (mica_dense_config){0};
  int64_t inputs = 0;
  if (!find_extent(nn, "dense", x, -1, &inputs)) return null_value;
  mica_init_config weight = mica__init_or(c.weight, he), bias = c.bias;
  mica_shape like;
  mica__nn_enter(nn, name, "dense");
  if (mica__nn_like(nn, 2, 1, &like)) units = like.dim[0];
  x = mica__nn_hooked(nn, MICA_NN_POINT_INPUT, mica__nn_narrow(nn, x));
  mica_value w = mica_nn_parameter(nn, "weight", MICA_SHAPE(units, inputs), &weight);
  w = mica__nn_hooked(nn, MICA_NN_POINT_WEIGHT, w);
  mica_value y = mica_matmul(x, mica_transpose(w, MICA_AXES(1, 0)));
  mica_value b = c.no_bias ? null_value : mica_nn_parameter(nn, "bias", MICA_SHAPE(units), &bias);
  if (!c.no_bias) y = mica_add(y, b);
  return leave(nn, mica__graph_mark(y, "dense", (mica_value[]){x, w, b}, 3, NULL, 0));
}

/* Adds the weight (first, second, window...) of the current layer. */
static mica_value filters_of(mica_nn *nn, const mica_nn_conv_config *c, int64_t first, int64_t second, int64_t size,
                             int32_t spatial, bool transposed) {
  mica_init_config weight = mica__init_or(c->weight, he);
  mica_shape shape = {.rank = spatial + 2, .dim = {first, second}};
  /* The weight of a transposed convolution is (inputs, outputs per group, window...). What mica_init_config calls
   * fan_out, dim[0] times the window, is therefore the number of products that an output sums (with stride 1 and one
   * group), and the deviation is computed from it. */
  if (transposed && c->weight.kind == MICA_INIT_DEFAULT) weight.fan_out = true;
  for (int32_t i = 0; i < spatial; i++) shape.dim[i + 2] = c->window[i] ? c->window[i] : size;
  return mica__nn_hooked(nn, MICA_NN_POINT_WEIGHT, mica_nn_parameter(nn, "weight", shape, &weight));
}

static bool find_channels(const mica_nn *nn, const char *kind, mica_value x, int64_t groups, int64_t *channels) {
  int32_t rank = mica_value_shape(x).rank;
  if (!find_extent(nn, kind, x, 1, channels)) return false;
  if (rank >= 3 && rank <= 5 && groups > 0 && *channels % groups == 0) return true;
  mica__graph_fail(x.graph, MICA_E_SHAPE,
                   "%s: groups (%lld) must divide the channels (%lld), and the rank (%d) must be 3 to 5", kind,
                   (long long)groups, (long long)*channels, (int)rank);
  return false;
}

typedef mica_value conv_builder(mica_value x, mica_value w, mica_value b, const mica_conv_config *config);

/* Number of elements of a window; 0 if the product overflows. */
static int64_t window_of(const mica_nn_conv_config *c, int64_t size, int32_t spatial) {
  int64_t elements = 1;
  for (int32_t i = 0; i < spatial; i++)
    if (__builtin_mul_overflow(elements, c->window[i] ? c->window[i] : size, &elements)) return 0;
  return elements;
}

/* Sets outputs and groups of the current layer from its weight in mica_nn_config.like, if there is one. The weight is
 * (outputs, channels / groups, ...) or, transposed, (channels, outputs / groups, ...). */
static void take_widths(mica_nn *nn, int32_t rank, int64_t window, bool transposed, int64_t channels, int64_t *outputs,
                        int64_t *groups) {
  mica_shape like;
  if (!mica__nn_like(nn, rank, window, &like)) return;
  bool depthwise = *groups > 1 && *groups == *outputs && like.dim[1] == 1;
  if (!transposed && *groups > 1 && like.dim[1] > 0) *groups = channels / like.dim[1];
  if (transposed && depthwise) *groups = channels;
  *outputs = transposed ? like.dim[1] * *groups : like.dim[0];
}

static mica_value add_conv(mica_nn *nn, const char *name, mica_value x, int64_t outputs, int64_t size,
                           const mica_nn_conv_config *config, conv_builder *build) {
  mica_nn_conv_config c = config ? *config : (mica_nn_conv_config){0};
  bool transposed = build == mica_conv_transpose;
  const char *kind = transposed ? "conv_transpose" : "conv";
  int64_t channels = 0;
  if (c.how.groups == 0) c.how.groups = 1;
  if (!find_extent(nn, kind, x, 1, &channels)) return null_value;
  c.how.allow_tf32 |= nn->config.allow_tf32;
  int32_t rank = mica_value_shape(x).rank;
  mica__nn_enter(nn, name, kind);
  take_widths(nn, rank, window_of(&c, size, rank - 2), transposed, channels, &outputs, &c.how.groups);
  if (!find_channels(nn, kind, x, c.how.groups, &channels)) return mica__nn_leave(nn, null_value);
  x = mica__nn_hooked(nn, MICA_NN_POINT_INPUT, mica__nn_narrow(nn, x));
  int64_t first = transposed ? channels : outputs, second = (transposed ? outputs : channels) / c.how.groups;
  mica_value w = filters_of(nn, &c, first, second, size, rank - 2, transposed);
  mica_value b = c.no_bias ? null_value : mica_nn_parameter(nn, "bias", MICA_SHAPE(outputs), &c.bias);
  return leave(nn, build(x, w, b, &c.how));
}

mica_value mica_nn_conv(mica_nn *nn, const char *name, mica_value x, int64_t filters, int64_t size,
                        const mica_nn_conv_config *config) {
  return add_conv(nn, name, x, filters, size, config, mica_conv);
}

mica_value mica_nn_conv_transpose(mica_nn *nn, const char *name, mica_value x, int64_t channels, int64_t size,
                                  const mica_nn_conv_config *config) {
  return add_conv(nn, name, x, channels, size, config, mica_conv_transpose);
}

mica_value mica_nn_embedding(mica_nn *nn, const char *name, mica_value indices, int64_t count, int64_t width,
                             const mica_embedding_config *config) {
  mica_embedding_config c = config ? *config : (mica_embedding_config){0};
  if (mica__nn_missing(nn, "embedding", indices) || mica_value_is_null(indices)) return null_value;
  mica_init_config weight = mica__init_or(c.weight, (mica_init_config){.kind = MICA_INIT_NORMAL, .value = 1});
  mica_shape shape = MICA_SHAPE(count, width);
  mica__nn_enter(nn, name, "embedding");
  mica__nn_like(nn, 2, 1, &shape);
  mica_value table = mica__nn_add_weight(nn, "weight", shape, &weight);
  if (mica_value_is_null(table)) return mica__nn_leave(nn, table);
  mica_nn_held held = nn->parameters[nn->parameter_count - 1].info.held;
  const bool blocks = nn->config.hook && held.block != MICA_BLOCK_NONE;
  /* The hook needs f32 values. If it does not change them, rows are read from the blocks directly, and these values are
   * never computed. */
  const mica_value numbers = blocks ? mica__nn_held_value(&held, table, nn->config.dtype) : table;
  const mica_value hooked = mica__nn_hooked(nn, MICA_NN_POINT_WEIGHT, numbers);
  if (!blocks || hooked.id != numbers.id) table = hooked;
  if (blocks && hooked.id != numbers.id) held = (mica_nn_held){.dtype = nn->config.dtype};
  return leave(nn, mica__nn_narrow(nn, mica__nn_held_rows(&held, table, indices, nn->config.dtype)));
}

mica_value mica_nn_dropout(mica_nn *nn, mica_value x, double rate) {
  if (mica__nn_missing(nn, "dropout", x)) return null_value;
  if (!mica_value_is_null(x) && !(rate >= 0 && rate < 1))
    return mica__graph_fail(x.graph, MICA_E_INVALID, "dropout: the rate is %g, but must be at least 0 and below 1",
                            rate);
  if (!nn->config.training || mica_value_is_null(x)) return x;
  return mica_dropout(x, mica_nn_step(nn), nn->config.seed + ++nn->draws, rate);
}

typedef struct affine {
  mica_value scale, bias; /* null if the layer lacks it */
} affine;

static affine norm_parameters(mica_nn *nn, const mica_norm_config *c, int64_t channels) {
  affine a = {0};
  mica_init_config ones = {.kind = MICA_INIT_CONSTANT, .value = mica__or_default(c->scale, 1)};
  if (!c->no_scale) a.scale = mica_nn_parameter(nn, "weight", MICA_SHAPE(channels), &ones);
  if (!c->no_bias) a.bias = mica_nn_parameter(nn, "bias", MICA_SHAPE(channels), NULL);
  return a;
}

static mica_norm_config norm_config(const mica_norm_config *config) {
  mica_norm_config c = config ? *config : (mica_norm_config){0};
  c.epsilon = mica__or_default(c.epsilon, 1e-5);
  c.momentum = mica__or_default(c.momentum, 0.1);
  return c;
}

mica_value mica_nn_layer_norm(mica_nn *nn, const char *name, mica_value x, const mica_norm_config *config) {
  mica_norm_config c = norm_config(config);
  int64_t channels = 0;
  if (!find_extent(nn, "layer_norm", x, -1, &channels)) return null_value;
  mica__nn_enter(nn, name, "layer_norm");
  affine a = norm_parameters(nn, &c, channels);
  return leave(nn, mica_layer_norm(mica__nn_narrow(nn, x), -1, a.scale, a.bias, c.epsilon));
}

mica_value mica_nn_rms_norm(mica_nn *nn, const char *name, mica_value x, const mica_norm_config *config) {
  mica_norm_config c = norm_config(config);
  int64_t channels = 0;
  if (!find_extent(nn, "rms_norm", x, -1, &channels)) return null_value;
  c.no_bias = true;
  mica__nn_enter(nn, name, "rms_norm");
  affine a = norm_parameters(nn, &c, channels);
  return leave(nn, mica_rms_norm(mica__nn_narrow(nn, x), -1, a.scale, c.epsilon));
}

/* running := (1 - momentum) running + momentum batch */
static void follow(mica_value running, mica_value batch, double momentum) {
  mica_assign(running, mica_add(mica_affine(running, 1 - momentum, 0), mica_affine(batch, momentum, 0)));
}

/* Batch norm with the statistics of the batch, on this rank or over all ranks. */
static mica_value norm_batch(mica_nn *nn, mica_value x, const affine *a, double epsilon, mica_batch_statistics *s) {
  if (nn->config.norm_ranks) {
    const int32_t channel = MICA__CHANNEL_NORMS + 2 * nn->norms++;
    if (channel + 2 <= MICA__CHANNEL_DICE)
      return mica__batch_norm_ranks(x, a->scale, a->bias, epsilon, nn->config.norm_ranks, channel, s);
    *s = (mica_batch_statistics){.count = {0}};
    return mica__graph_fail(x.graph, MICA_E_UNSUPPORTED,
                            "the network has too many batch norms that use the samples of all ranks; it may have %d",
                            (MICA__CHANNEL_DICE - MICA__CHANNEL_NORMS) / 2);
  }
  mica_axes axes = {.count = mica_value_shape(x).rank - 1};
  for (int32_t i = 1; i < axes.count; i++) axes.axis[i] = i + 1;
  mica_value y = mica_batch_norm_train(x, a->scale, a->bias, epsilon, &s->mean, &s->variance);
  s->count = mica__count_along(mica__widen(x), axes);
  return y;
}

/* The unbiased variance, for running statistics. It does not exist for a single value; then the old running variance
 * stays. The check for that is left out if known extents already show that there are several values. */
static mica_value unbiased(mica_value x, const mica_batch_statistics *s, mica_value running) {
  const mica_shape shape = mica_value_shape(x);
  bool several = shape.dim[0] > 1;
  for (int32_t i = 2; i < shape.rank; i++) several = several || shape.dim[i] > 1;
  mica_value variance = mica_mul(s->variance, mica_div(s->count, mica_affine(s->count, 1, -1)));
  return several ? variance : mica_where(mica_greater(s->count, mica_full_like(s->count, 1)), variance, running);
}

mica_value mica_nn_batch_norm(mica_nn *nn, const char *name, mica_value x, const mica_norm_config *config) {
  mica_norm_config c = norm_config(config);
  int64_t channels = 0;
  if (!find_extent(nn, "batch_norm", x, 1, &channels)) return null_value;
  if (!(c.momentum >= 0 && c.momentum <= 1))
    return mica__graph_fail(x.graph, MICA_E_INVALID, "batch_norm '%s': the momentum is %g, but must be 0 to 1",
                            name ? name : "", c.momentum);
  mica__nn_enter(nn, name, "batch_norm");
  affine a = norm_parameters(nn, &c, channels);
  mica_value mean = mica_nn_state(nn, "running_mean", MICA_SHAPE(channels), 0);
  mica_value variance = mica_nn_state(nn, "running_var", MICA_SHAPE(channels), 1);
  x = mica__nn_narrow(nn, x);
  if (!nn->config.training) return leave(nn, mica_batch_norm(x, a.scale, a.bias, mean, variance, c.epsilon));
  mica_batch_statistics s;
  mica_value y = norm_batch(nn, x, &a, c.epsilon, &s);
  follow(mean, s.mean, c.momentum);
  follow(variance, unbiased(x, &s, variance), c.momentum);
  return leave(nn, y);
}

mica_value mica_nn_group_norm(mica_nn *nn, const char *name, mica_value x, int64_t groups,
                              const mica_norm_config *config) {
  mica_norm_config c = norm_config(config);
  int64_t channels = 0;
  if (!find_channels(nn, "group_norm", x, groups, &channels)) return null_value;
  mica__nn_enter(nn, name, "group_norm");
  affine a = norm_parameters(nn, &c, channels);
  return leave(nn, mica_group_norm(mica__nn_narrow(nn, x), a.scale, a.bias, groups, c.epsilon));
}
