#include "support/random_network.h"

#include <fnmatch.h>
#include <stdio.h>

#define TAPS 24
#define CLASSES 5

uint32_t random_next(uint64_t *state) {
  uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  return (uint32_t)((z ^ z >> 31) >> 32);
}

/* A network that is being built: the value now, and values from before it. */
typedef struct building {
  const random_network *network;
  mica_nn *nn;
  mica_value x, taps[TAPS];
  int32_t tap_count;
  const uint32_t *draw;
  char name[16];
  char shared[24]; /* a convolution that may be used once more; "" for none */
  random_built *built;
} building;

static mica_shape shape_of(mica_value x) { return mica_value_shape(x); }
static int32_t rank_of(const building *b) { return shape_of(b->x).rank; }
static bool is_image(const building *b) { return b->network->spatial > 0 && rank_of(b) == 2 + b->network->spatial; }
/* (B, T, C): not an image of one axis, whose rank it has. */
static bool is_sequence(const building *b) { return b->network->spatial != 1 && rank_of(b) == 3 && !is_image(b); }
static bool is_vector(const building *b) { return rank_of(b) == 2; }

/* Elements of a sample. */
static int64_t elements_of(mica_value x) {
  int64_t n = 1;
  for (int32_t i = 1; i < shape_of(x).rank; i++) n *= shape_of(x).dim[i];
  return n;
}

static int64_t axis(const building *b, int32_t k) { return shape_of(b->x).dim[k]; }
static int64_t smallest_axis(const building *b) {
  int64_t least = INT64_MAX;
  for (int32_t k = 2; k < rank_of(b); k++) least = axis(b, k) < least ? axis(b, k) : least;
  return least;
}
static int64_t positions_of(const building *b) { return elements_of(b->x) / axis(b, 1); }

static int64_t width_from(uint32_t draw) {
  static const int64_t widths[] = {1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 24, 32, 33, 48, 64};
  return widths[draw % 15];
}

/* A width that keeps the value within the network's elements. */
static int64_t channels_from(const building *b, uint32_t draw, int64_t positions) {
  int64_t width = width_from(draw);
  while (width > 1 && width * positions > b->network->elements) width = (width + 1) / 2;
  return width;
}

static mica_value input(building *b, const char *name, mica_dtype dtype, mica_shape shape, int64_t below) {
  if (b->built->feed_count == RANDOM_FEEDS)
    return mica_graph_fail(mica_nn_graph(b->nn), MICA_E_INVALID, "a random network has too many inputs");
  random_feed *feed = &b->built->feeds[b->built->feed_count++];
  snprintf(feed->name, sizeof feed->name, "%s%d", name, (int)b->built->feed_count);
  feed->below = below;
  return mica_input(mica_nn_graph(b->nn), feed->name, dtype, shape);
}

/* --- layers --- */

static void conv(building *b) {
  if (!is_image(b)) return;
  const uint32_t *d = b->draw;
  int64_t size = 1 + 2 * (int64_t)(d[1] % 7 < 4 ? 1 : d[1] % 3), channels = axis(b, 1), groups = 1;
  mica_nn_conv_config c = {.no_bias = d[2] % 3 == 0};
  for (int k = 0; k < b->network->spatial; k++) {
    c.how.stride[k] = d[2] / 3 % 4 == 0 && smallest_axis(b) > 2 ? 2 : 1;
    c.how.dilation[k] = d[2] / 12 % 6 == 0 ? 2 : 1;
    c.how.pad[k] = d[2] / 72 % 5 == 0 && smallest_axis(b) > 2 * (size - 1) ? 0 : (size - 1) / 2 * c.how.dilation[k];
  }
  int64_t filters = channels_from(b, d[0], positions_of(b));
  for (int64_t g = 2 + d[3] % 3; d[3] / 3 % 4 == 0 && g > 1 && groups == 1; g--)
    if (channels % g == 0 && filters % g == 0) groups = g;
  c.how.groups = groups;
  b->x = mica_nn_conv(b->nn, b->name, b->x, filters, size, &c);
  if (groups == 1 && filters == channels && c.how.stride[0] == 1 && c.how.pad[0] == (size - 1) / 2 * c.how.dilation[0])
    snprintf(b->shared, sizeof b->shared, "%s.weight", b->name);
}

static void depthwise(building *b) {
  if (!is_image(b)) return;
  mica_nn_conv_config c = {.no_bias = b->draw[1] % 2, .how.groups = axis(b, 1)};
  int64_t size = b->draw[0] % 3 ? 3 : 5, times = b->draw[3] % 5 ? 1 : 2;
  if (elements_of(b->x) * times > b->network->elements) times = 1;
  for (int k = 0; k < b->network->spatial; k++) {
    c.how.pad[k] = (size - 1) / 2;
    c.how.stride[k] = b->draw[2] % 4 == 0 ? 2 : 1;
  }
  b->x = mica_nn_conv(b->nn, b->name, b->x, axis(b, 1) * times, size, &c);
}

static void transposed(building *b) {
  int64_t size = 2 + b->draw[1] % 2, room = 1;
  for (int k = 0; k < b->network->spatial; k++) room *= 2;
  if (!is_image(b) || room * positions_of(b) > b->network->elements) return;
  mica_nn_conv_config c = {.no_bias = b->draw[2] % 2};
  for (int k = 0; k < b->network->spatial; k++) c.how.stride[k] = 2, c.how.pad[k] = size - 2;
  b->x = mica_nn_conv_transpose(b->nn, b->name, b->x, channels_from(b, b->draw[0], room * positions_of(b)), size, &c);
}

static void pool(building *b) {
  if (!is_image(b) || smallest_axis(b) < 3) return;
  mica_pool_config c = {.ceil_mode = b->draw[1] % 3 == 0, .count_include_pad = b->draw[1] / 3 % 2};
  for (int k = 0; k < b->network->spatial; k++) {
    c.size[k] = 2 + b->draw[2] % 2;
    c.stride[k] = b->draw[2] / 2 % 3 == 0 ? 1 : 2;
    c.pad[k] = c.size[k] == 3 ? 1 : 0;
  }
  bool largest = b->draw[0] % 2;
  b->built->kinks = b->built->kinks || largest;
  b->x = largest ? mica_max_pool(b->x, &c) : mica_average_pool(b->x, &c);
}

static void batch_norm(building *b) {
  if (!is_image(b) && !is_vector(b)) return;
  mica_norm_config c = {.no_bias = b->draw[0] % 5 == 0, .no_scale = b->draw[0] / 5 % 5 == 0, .epsilon = 1e-2};
  b->x = mica_nn_batch_norm(b->nn, b->name, b->x, &c);
}

static void group_norm(building *b) {
  if (!is_image(b)) return;
  int64_t groups = 1 + b->draw[0] % 4;
  while (axis(b, 1) % groups) groups--;
  b->x = mica_nn_group_norm(b->nn, b->name, b->x, groups, &(mica_norm_config){.epsilon = 1e-2});
}

static void last_norm(building *b) {
  mica_norm_config c = {.epsilon = 1e-2};
  b->x = b->draw[0] % 3 ? mica_nn_layer_norm(b->nn, b->name, b->x, &c) : mica_nn_rms_norm(b->nn, b->name, b->x, &c);
}

static mica_value activated(building *b, mica_value x, uint32_t draw) {
  bool kinks = draw % 10 < 3;
  b->built->kinks = b->built->kinks || kinks;
  switch (draw % 10) {
  case 0:
  case 1: return mica_relu(x);
  case 2: return mica_leaky_relu(x, 0.1);
  case 3: return mica_silu(x);
  case 4: return mica_gelu(x);
  case 5: return mica_tanh(x);
  case 6: return mica_sigmoid(x);
  case 7: return mica_softplus(x);
  case 8: return mica_elu(x, 1);
  default: return mica_mish(x);
  }
}

static void activation(building *b) { b->x = activated(b, b->x, b->draw[0]); }
static void dropout(building *b) { b->x = mica_nn_dropout(b->nn, b->x, 0.1 + 0.1 * (b->draw[0] % 5)); }

/* An earlier value that agrees with the one now but for axis 1 where `wider`; null for none. */
static mica_value tap_like(const building *b, bool wider) {
  for (int32_t i = 0; i < b->tap_count; i++) {
    mica_value tap = b->taps[(i + (int32_t)(b->draw[0] % 64)) % b->tap_count];
    bool fits = shape_of(tap).rank == rank_of(b) && tap.id != b->x.id;
    for (int32_t k = 1; fits && k < rank_of(b); k++) fits = (wider && k == 1) || shape_of(tap).dim[k] == axis(b, k);
    if (fits) return tap;
  }
  return (mica_value){0};
}

static void residual(building *b) {
  mica_value tap = tap_like(b, false);
  if (mica_value_is_null(tap)) return;
  b->x = b->draw[1] % 4 ? mica_add(b->x, tap) : mica_mul(b->x, mica_tanh(tap));
}

static void concat(building *b) {
  mica_value tap = is_image(b) ? tap_like(b, true) : (mica_value){0};
  if (mica_value_is_null(tap) || elements_of(tap) + elements_of(b->x) > 2 * b->network->elements) return;
  b->x = mica_concat(b->draw[1] % 2 ? (mica_value[]){b->x, tap} : (mica_value[]){tap, b->x}, 2, 1);
}

static void upsample(building *b) {
  mica_resize_config c = {.mode = b->draw[0] % 3 ? MICA_RESIZE_MODE_NEAREST : MICA_RESIZE_MODE_LINEAR,
                          .coordinates = MICA_RESIZE_COORDINATES_ASYMMETRIC,
                          .nearest = MICA_RESIZE_NEAREST_FLOOR};
  int64_t room = elements_of(b->x);
  if (c.mode == MICA_RESIZE_MODE_LINEAR) c.coordinates = MICA_RESIZE_COORDINATES_HALF_PIXEL;
  for (int32_t k = 2; k < rank_of(b); k++) c.scale[k] = 2, room *= 2;
  if (!is_image(b) || room > b->network->elements) return;
  b->x = mica_resize(b->x, &c);
}

/* Squeeze and excitation. */
static void gate(building *b) {
  if (!is_image(b)) return;
  mica_shape open = {.rank = rank_of(b)};
  mica_value g = mica_flatten(mica_global_average_pool(b->x), 1);
  mica_nn_push(b->nn, b->name);
  g = activated(b, mica_nn_dense(b->nn, "down", g, 1 + axis(b, 1) / 2, NULL), b->draw[0]);
  g = mica_sigmoid(mica_nn_dense(b->nn, "up", g, axis(b, 1), NULL));
  mica_nn_pop(b->nn);
  for (int32_t k = 0; k < open.rank; k++) open.dim[k] = k == 0 ? MICA_DYNAMIC : k == 1 ? axis(b, 1) : 1;
  b->x = mica_mul(b->x, mica_reshape(g, open));
}

/* A convolution's weight once more. */
static void shared(building *b) {
  if (!is_image(b) || !b->shared[0]) return;
  mica_value w = mica_nn_weight_of(b->nn, b->shared);
  mica_conv_config c = {.groups = 1};
  if (shape_of(w).dim[1] != axis(b, 1)) return;
  for (int k = 0; k < b->network->spatial; k++) c.pad[k] = (shape_of(w).dim[2 + k] - 1) / 2;
  b->x = mica_conv(b->x, w, (mica_value){0}, &c);
}

static void dense(building *b) {
  if (!is_vector(b) && !is_sequence(b)) return;
  mica_dense_config c = {.no_bias = b->draw[1] % 3 == 0};
  int64_t rows = is_sequence(b) ? axis(b, 1) : 1;
  b->x = mica_nn_dense(b->nn, b->name, b->x, channels_from(b, b->draw[0], rows), &c);
}

/* (N, C, ...) to (N, T, C). */
static void sequence(building *b) {
  if (!is_image(b) || b->network->spatial == 1 || positions_of(b) > 256) return;
  mica_value flat = mica_reshape(b->x, MICA_SHAPE(MICA_DYNAMIC, axis(b, 1), positions_of(b)));
  b->x = mica_transpose(flat, MICA_AXES(0, 2, 1));
}

static void attention(building *b) {
  if (!is_sequence(b) || axis(b, 1) > 128) return;
  mica_nn_attention_config c = {.heads = axis(b, 2) % 2 ? 1 : 2, .causal = b->draw[0] % 2, .no_bias = true};
  c.dropout = b->draw[1] % 4 == 0 ? 0.2 : 0;
  if (c.causal && b->draw[2] % 3 == 0) c.window = 1 + b->draw[2] / 3 % 5;
  b->x = mica_nn_attention(b->nn, b->name, b->x, (mica_value){0}, &c);
}

static void transformer(building *b) {
  if (!is_sequence(b) || axis(b, 1) > 128) return;
  mica_transformer_config c = {.self = {.heads = axis(b, 2) % 2 ? 1 : 2, .causal = b->draw[0] % 2, .no_bias = true},
                               .hidden = channels_from(b, b->draw[1], axis(b, 1)),
                               .feed_forward = (mica_feed_forward)(b->draw[2] % 9),
                               .post_norm = b->draw[3] % 2,
                               .rms_norm = b->draw[3] / 2 % 2,
                               .epsilon = 1e-2,
                               .dropout = b->draw[4] % 3 ? 0 : 0.1};
  b->built->kinks = b->built->kinks || c.feed_forward == MICA_FEED_FORWARD_RELU;
  b->x = mica_nn_transformer(b->nn, b->name, b->x, (mica_value){0}, &c);
}

static void recurrent(building *b) {
  if (!is_sequence(b) || axis(b, 1) > 48) return;
  mica_nn_rnn_config c = {.kind = (mica_rnn_kind)(b->draw[0] % 4),
                          .direction = (mica_rnn_direction)(b->draw[1] % 3),
                          .layers = 1 + b->draw[2] % 2,
                          .dropout = b->draw[3] % 3 ? 0 : 0.2};
  b->built->kinks = b->built->kinks || c.kind == MICA_RNN_KIND_RELU;
  b->x = mica_nn_rnn(b->nn, b->name, b->x, 1 + b->draw[4] % 20, &c).y;
  if (rank_of(b) == 4) b->x = mica_reshape(b->x, MICA_SHAPE(MICA_DYNAMIC, axis(b, 1), axis(b, 2) * axis(b, 3)));
}

/* To a vector. */
static void join(building *b) {
  if (is_vector(b) || b->draw[0] % 3) return;
  if (is_sequence(b))
    b->x = b->draw[1] % 2 ? mica_mean_rows(b->x, (mica_value){0}) : mica_last_rows(b->x, (mica_value){0});
  else if (b->draw[1] % 2 || elements_of(b->x) > 4096)
    b->x = mica_flatten(b->draw[1] / 2 % 3 ? mica_global_average_pool(b->x) : mica_global_max_pool(b->x), 1);
  else
    b->x = mica_flatten(b->x, 1);
  b->built->kinks = true;
}

/* Two halves of the channels, one of them changed, in the other order. */
static void shuffle(building *b) {
  int64_t half = axis(b, 1) / 2;
  if (!is_image(b) || half == 0) return;
  mica_value low = mica_slice(b->x, 1, 0, half, 1), high = mica_slice(b->x, 1, half, MICA_END, 1);
  if (b->draw[0] % 2) low = activated(b, low, b->draw[1]);
  if (b->draw[0] / 2 % 3 == 0) high = mica_flip(high, MICA_AXES(2));
  b->x = mica_concat((mica_value[]){high, low}, 2, 1);
}

/* A number a channel, or a feature, that is learnt. */
static void parameter(building *b) {
  int32_t at = is_image(b) ? 1 : rank_of(b) - 1;
  mica_shape shape = {.rank = rank_of(b) - at};
  for (int32_t k = 0; k < shape.rank; k++) shape.dim[k] = k == 0 ? axis(b, at) : 1;
  mica_value p = mica_nn_parameter(b->nn, b->name, shape, &(mica_init_config){MICA_INIT_UNIFORM, .value = 0.5});
  b->x = b->draw[0] % 2 ? mica_add(b->x, p) : mica_mul(b->x, mica_affine(p, 1, 1));
}

static void checkpoint(building *b) { b->x = mica_checkpoint(b->x); }

/* The loss of what there is, by a target of its own. */
static mica_value loss_of(building *b, uint32_t draw) {
  mica_value x = mica_cast(b->x, MICA_F32);
  mica_shape shape = shape_of(x), targets = shape;
  int32_t classes = is_sequence(b) ? 2 : 1;
  if (is_sequence(b)) x = mica_transpose(x, MICA_AXES(0, 2, 1));
  for (int32_t k = classes; k + 1 < targets.rank; k++) targets.dim[k] = targets.dim[k + 1];
  targets.rank--;
  switch (draw % 8) {
  case 0: return mica_mse(mica_cast(b->x, MICA_F32), input(b, "t", MICA_F32, shape, 0), MICA_LOSS_REDUCTION_MEAN);
  case 1: {
    mica_value t = mica_sigmoid(input(b, "t", MICA_F32, shape, 0));
    return mica_bce_with_logits(mica_cast(b->x, MICA_F32), t, 2, MICA_LOSS_REDUCTION_MEAN);
  }
  case 2:
    b->built->kinks = true;
    return mica_huber(mica_cast(b->x, MICA_F32), input(b, "t", MICA_F32, shape, 0), 0.5, MICA_LOSS_REDUCTION_MEAN);
  case 3: return mica_focal(x, input(b, "c", MICA_I32, targets, shape.dim[classes]), NULL);
  case 4: return mica_dice(x, input(b, "c", MICA_I32, targets, shape.dim[classes]), NULL);
  default: {
    mica_cross_entropy_config c = {.label_smoothing = draw / 8 % 3 == 0 ? 0.1 : 0, .ignore = draw / 24 % 4 == 0};
    return mica_cross_entropy(x, input(b, "c", MICA_I32, targets, shape.dim[classes]), &c);
  }
  }
}

static void loss(building *b) {
  if (b->built->feed_count > 3) return;
  mica_value more = mica_affine(loss_of(b, b->draw[0]), 0.3, 0);
  b->built->loss = mica_value_is_null(b->built->loss) ? more : mica_add(b->built->loss, more);
}

/* --- the whole --- */

static void (*const functions[])(building *) = {
#define RANDOM_LAYER_FUNCTION(name, function) function,
    RANDOM_LAYER_LIST(RANDOM_LAYER_FUNCTION)
#undef RANDOM_LAYER_FUNCTION
};

static void begin(building *b, int64_t batch) {
  const random_network *n = b->network;
  mica_shape shape = {.rank = n->spatial + 2, .dim = {batch}};
  for (int32_t k = 0; k <= n->spatial; k++) shape.dim[1 + k] = n->dims[k];
  if (n->spatial >= 0) {
    b->x = mica_cast(input(b, "x", MICA_F32, shape, 0), n->dtype);
    return;
  }
  mica_value tokens = input(b, "x", MICA_I32, MICA_SHAPE(batch, n->dims[2]), n->dims[0]);
  b->x = mica_nn_embedding(b->nn, "embedding", tokens, n->dims[0], n->dims[1], NULL);
}

/* A layer that has CLASSES of them, and its loss. */
static void end(building *b) {
  mica_nn_conv_config c = {0};
  if (is_image(b))
    b->x = mica_nn_conv(b->nn, "head", b->x, CLASSES, 1, &c);
  else
    b->x = mica_nn_dense(b->nn, "head", b->x, CLASSES, NULL);
  b->built->y = mica_cast(b->x, MICA_F32);
  mica_value last = loss_of(b, b->network->head);
  b->built->loss = mica_value_is_null(b->built->loss) ? last : mica_add(b->built->loss, last);
  if (b->network->fault) b->built->loss = mica_mul(b->built->loss, input(b, RANDOM_FACTOR, MICA_F32, MICA_SCALAR, 0));
}

/* Patterns may match nothing. */
static void set_weights(const random_network *n, mica_nn *nn) {
  for (size_t i = 0; i < mica_nn_parameter_count(nn); i++) {
    const mica_nn_parameter_info *info = mica_nn_parameter_at(nn, i);
    mica_status status = MICA_OK;
    if (n->frozen && !fnmatch(n->frozen, info->name, 0)) status = mica_nn_freeze(nn, info->name, true, NULL);
    if (status == MICA_OK && n->decay && !fnmatch(n->decay, info->name, 0))
      status = mica_nn_set_decay(nn, info->name, !info->decay, NULL);
    if (status != MICA_OK) mica_graph_fail(mica_nn_graph(nn), status, mica_error_message());
  }
}

/* A gradient that is 0 but for rounding must not become a step of its sign, nor one that this makes 0: losses have
 * slopes of tenths. */
static void push(const random_network *n, mica_nn *nn, mica_value *loss) {
  for (size_t i = 0; n->how.optimizer == MICA_OPTIMIZER_LION && i < mica_nn_parameter_count(nn); i++) {
    const mica_nn_parameter_info *info = mica_nn_parameter_at(nn, i);
    if (info->role != MICA_NN_ROLE_WEIGHT || (n->how.rows && !fnmatch(n->how.rows, info->name, 0))) continue;
    *loss = mica_add(*loss, mica_affine(mica_sum(info->value, MICA_ALL_AXES, false), 0.0731, 0));
  }
}

random_built random_network_build(const random_network *network, mica_nn *nn, int64_t batch) {
  random_built built = {0};
  building b = {.network = network, .nn = nn, .built = &built};
  begin(&b, batch);
  for (int32_t i = 0; i < network->layer_count; i++) {
    snprintf(b.name, sizeof b.name, "l%d", (int)i);
    b.draw = network->layers[i].draw;
    functions[network->layers[i].kind](&b);
    if (b.tap_count < TAPS) b.taps[b.tap_count++] = b.x;
  }
  end(&b);
  push(network, nn, &built.loss);
  set_weights(network, nn);
  built.kinks = built.kinks || network->how.optimizer == MICA_OPTIMIZER_LION;
  return built;
}

/* --- drawing --- */

static void draw_dims(random_network *n, uint64_t *s, bool small) {
  static const int64_t sides[3][8] = {
      {1, 5, 16, 33, 64, 100, 257, 2048}, {1, 3, 7, 8, 14, 28, 33, 96}, {2, 3, 4, 5, 6, 8, 9, 20}};
  n->spatial = (int32_t)(random_next(s) % 10);
  n->spatial = n->spatial < 6 ? 2 : n->spatial == 6 ? 1 : n->spatial == 7 ? 3 : n->spatial == 8 ? 0 : -1;
  bool large = random_next(s) % 8 == 0 && !small;
  n->elements = large ? 60000 : small ? 300 : 6000;
  n->dims[0] = n->spatial >= 0 ? width_from(random_next(s)) : 11 + random_next(s) % 90;
  for (int32_t k = 1; k <= n->spatial; k++)
    n->dims[k] = sides[n->spatial - 1][large ? 7 : random_next(s) % (small ? 4 : 7)];
  for (int32_t k = 1; k <= n->spatial; k++)
    while (n->dims[0] > 1 && n->dims[0] * n->dims[1] * (n->spatial > 1 ? n->dims[2] : 1) > n->elements) n->dims[0] /= 2;
  if (n->spatial < 0) n->dims[1] = 2 * width_from(random_next(s)), n->dims[2] = 1 + random_next(s) % 40;
}

static void draw_layers(random_network *n, uint64_t *s) {
  /* Layers that most networks are made of come more often. */
  static const random_layer_kind often[] = {RANDOM_CONV,       RANDOM_CONV,       RANDOM_BATCH_NORM, RANDOM_BATCH_NORM,
                                            RANDOM_ACTIVATION, RANDOM_ACTIVATION, RANDOM_RESIDUAL,   RANDOM_DENSE};
  n->layer_count = 1 + (int32_t)(random_next(s) % 12);
  for (int32_t i = 0; i < n->layer_count; i++) {
    random_layer *layer = &n->layers[i];
    uint32_t kind = random_next(s) % (RANDOM_LAYER_KINDS + 12);
    layer->kind = kind < RANDOM_LAYER_KINDS ? (random_layer_kind)kind : often[random_next(s) % 8];
    for (int k = 0; k < RANDOM_DRAWS; k++) layer->draw[k] = random_next(s);
  }
}

/* Epsilons are large: what is 0 but for rounding must not become a step of its sign. */
static void draw_optimizer(random_network *n, uint64_t *s) {
  static const mica_optimizer kinds[] = {MICA_OPTIMIZER_SGD,   MICA_OPTIMIZER_SGD,     MICA_OPTIMIZER_ADAM,
                                         MICA_OPTIMIZER_ADAMW, MICA_OPTIMIZER_RMSPROP, MICA_OPTIMIZER_ADAGRAD};
  uint32_t d = random_next(s), e = random_next(s);
  n->how = mica_optimizer_config_default(kinds[random_next(s) % 6]);
  n->how.epsilon = n->how.optimizer == MICA_OPTIMIZER_SGD ? 0 : 0.1;
  n->how.momentum = d % 2 ? 0.9 : 0;
  n->how.nesterov = n->how.momentum > 0 && n->how.optimizer == MICA_OPTIMIZER_SGD && d / 2 % 3 == 0;
  n->how.weight_decay = d / 6 % 3 == 0 ? 0.01 : 0;
  n->how.clip_norm = d / 18 % 4 == 0 ? 0.5 : 0;
  n->how.clip_value = d / 72 % 6 == 0 ? 0.05 : 0;
  n->how.accumulate = e % 5 == 0 ? 2 : 0;
  n->how.ema = e / 5 % 4 == 0 ? 0.9 : 0;
  n->how.loss_scale = n->dtype != MICA_F32 && e / 20 % 2 ? 128 : 0;
  n->how.rows = n->spatial < 0 && !n->how.accumulate && n->how.ema == 0 && e / 40 % 2 ? "embedding*" : NULL;
}

/* What a training step has beside layers and formula. */
static void draw_training(random_network *n, uint64_t *s) {
  static const char *const patterns[] = {"l0.*", "*.bias", "*.weight", "l[1-3].*", "head.*"};
  uint32_t d = random_next(s), e = random_next(s);
  if (d % 6 == 0) {
    n->how.optimizer = MICA_OPTIMIZER_LION;
    n->how.beta1 = d / 6 % 2 ? 0.5 : 0.9, n->how.beta2 = 0.99;
    n->how.momentum = 0, n->how.nesterov = false;
  }
  if (d / 12 % 4 == 0) n->how.accumulate = n->how.accumulate ? 3 : 0;
  if (d / 48 % 4 == 0) n->how.loss_scale = 64;
  if (n->how.loss_scale > 0 && d / 192 % 3) n->fault = 1 + (int32_t)(d / 576 % (uint32_t)n->steps);
  n->averages = n->how.ema != 0 && e % 3;
  n->how.decay_all = e / 3 % 3 == 0;
  if (n->how.weight_decay != 0 && e / 9 % 2) n->decay = patterns[e / 18 % 5];
  if (e / 90 % 6 == 0) n->frozen = patterns[e / 540 % 4];
}

random_network random_network_of(uint32_t seed, bool small) {
  random_network n = {.seed = seed};
  uint64_t s = seed;
  draw_dims(&n, &s, small);
  n.steps = 2 + (int32_t)(random_next(&s) % (RANDOM_STEPS - 1));
  int64_t most = 1 + random_next(&s) % 7;
  for (int32_t i = 0; i < RANDOM_STEPS; i++)
    n.batch[i] = i > 0 && random_next(&s) % 3 == 0 ? 1 + random_next(&s) % 7 : most;
  n.open = random_next(&s) % 2;
  n.gradients = random_next(&s) % 3 == 0;
  uint32_t type = random_next(&s) % 8;
  n.dtype = type == 0 ? MICA_F16 : type == 1 ? MICA_BF16 : MICA_F32;
  n.head = random_next(&s);
  draw_layers(&n, &s);
  draw_optimizer(&n, &s);
  draw_training(&n, &s);
  return n;
}

void random_network_print(const random_network *n) {
  static const char *const names[] = {
#define RANDOM_LAYER_NAME(name, function) #function,
      RANDOM_LAYER_LIST(RANDOM_LAYER_NAME)
#undef RANDOM_LAYER_NAME
  };
  printf("seed %u: %s, spatial %d, dims", n->seed, mica_dtype_name(n->dtype), (int)n->spatial);
  for (int k = 0; k < 4; k++) printf(" %lld", (long long)n->dims[k]);
  printf(", at most %lld elements, %s batch", (long long)n->elements, n->open ? "open" : "fixed");
  for (int k = 0; k < n->steps; k++) printf(" %lld", (long long)n->batch[k]);
  printf("%s\n ", n->gradients ? ", gradients" : "");
  for (int32_t i = 0; i < n->layer_count; i++) printf(" %s", names[n->layers[i].kind]);
  const mica_optimizer_config *how = &n->how;
  printf(", head %u\n  %s momentum %g%s decay %g%s but %s clip %g %g accumulate %d ema %g%s loss_scale %g", n->head % 8,
         mica_optimizer_name(how->optimizer), how->momentum, how->nesterov ? " nesterov" : "", how->weight_decay,
         how->decay_all ? " all" : "", n->decay ? n->decay : "none", how->clip_norm, how->clip_value,
         (int)how->accumulate, how->ema, n->averages ? " predicts" : "", how->loss_scale);
  printf(", fault %d frozen %s%s\n", (int)n->fault, n->frozen ? n->frozen : "none", how->rows ? " rows" : "");
}
