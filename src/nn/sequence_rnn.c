/* Stacked recurrent layers. */
#include "nn/sequence.h"

#include <math.h>
#include <stdio.h>

static const mica_value null_value = {0};

static int64_t gates_of(mica_rnn_kind kind) {
  return kind == MICA_RNN_KIND_LSTM ? 4 : kind == MICA_RNN_KIND_GRU ? 3 : 1;
}

/* The weights of a layer for all directions, concatenated along a new axis 0. */
typedef struct weights {
  mica_value w, r, b;
} weights;

static mica_value weight(mica_nn *nn, const char *what, int64_t layer, bool reverse, mica_shape shape,
                         const mica_init_config *init) {
  char name[64];
  snprintf(name, sizeof name, "%s_l%lld%s", what, (long long)layer, reverse ? "_reverse" : "");
  return mica_nn_parameter(nn, name, shape, init);
}

static weights weights_of(mica_nn *nn, int64_t layer, int directions, bool reverse, int64_t inputs, int64_t hidden,
                          const mica_nn_rnn_config *c) {
  const int64_t rows = gates_of(c->kind) * hidden;
  const mica_init_config usual = {.kind = MICA_INIT_UNIFORM, .value = 1 / sqrt((double)hidden)};
  const mica_init_config w = mica__init_or(c->weight, usual), b = mica__init_or(c->bias, usual);
  mica_value parts[3][2];
  for (int d = 0; d < directions; d++) {
    const bool back = reverse || d == 1;
    mica_value both[2] = {null_value, null_value};
    parts[0][d] = mica_unsqueeze(weight(nn, "weight_ih", layer, back, MICA_SHAPE(rows, inputs), &w), MICA_AXES(0));
    parts[1][d] = mica_unsqueeze(weight(nn, "weight_hh", layer, back, MICA_SHAPE(rows, hidden), &w), MICA_AXES(0));
    if (c->no_bias) continue;
    both[0] = weight(nn, "bias_ih", layer, back, MICA_SHAPE(rows), &b);
    both[1] = weight(nn, "bias_hh", layer, back, MICA_SHAPE(rows), &b);
    parts[2][d] = mica_unsqueeze(mica_concat(both, 2, 0), MICA_AXES(0));
  }
  mica_value joined[3];
  for (int i = 0; i < 3; i++)
    joined[i] = i == 2 && c->no_bias ? null_value : directions == 1 ? parts[i][0] : mica_concat(parts[i], 2, 0);
  return (weights){joined[0], joined[1], joined[2]};
}

/* The layer's number of units: as requested or, in a pruned network, as in the file. */
static int64_t units_of(mica_nn *nn, int64_t layer, mica_rnn_direction direction, int64_t hidden) {
  char name[64];
  mica_shape like;
  snprintf(name, sizeof name, "weight_hh_l%lld%s", (long long)layer,
           direction == MICA_RNN_DIRECTION_REVERSE ? "_reverse" : "");
  return mica__nn_like_named(nn, name, &like) && like.dim[1] > 0 ? like.dim[1] : hidden;
}

mica_rnn_results mica_nn_rnn(mica_nn *nn, const char *name, mica_value x, int64_t hidden,
                             const mica_nn_rnn_config *config) {
  mica_nn_rnn_config c = config ? *config : (mica_nn_rnn_config){0};
  const int directions = c.direction == MICA_RNN_DIRECTION_BOTH ? 2 : 1;
  mica_rnn_results last = {0};
  mica_shape shape = mica_value_shape(x);
  if (mica__nn_missing(nn, "rnn", x) || mica_value_is_null(x)) return last;
  if (c.layers == 0) c.layers = 1;
  if (shape.rank != 3 || shape.dim[2] < 1 || hidden < 1 || c.layers < 1) {
    char text[MICA_SHAPE_TEXT];
    mica__builder_fail("rnn", x, MICA_E_SHAPE,
                       "layers (%lld) and hidden (%lld) must be at least 1, and x (%s) must be (B, T, C), with C known",
                       (long long)c.layers, (long long)hidden, mica_shape_format(shape, text));
    return last;
  }
  x = mica__nn_narrow(nn, x);
  mica_nn_push(nn, name);
  for (int64_t layer = 0; layer < c.layers; layer++) {
    const int64_t inputs = mica_value_shape(x).dim[2], units = units_of(nn, layer, c.direction, hidden);
    char row[24];
    snprintf(row, sizeof row, "l%lld", (long long)layer);
    if (layer > 0) x = mica_nn_dropout(nn, x, c.dropout);
    mica__nn_record(nn, row, "recurrent");
    weights all = weights_of(nn, layer, directions, c.direction == MICA_RNN_DIRECTION_REVERSE, inputs, units, &c);
    const mica_rnn_config how = {.kind = c.kind,
                                 .direction = c.direction,
                                 .batch_first = true,
                                 .lengths = c.lengths,
                                 .h0 = c.h0 ? c.h0[layer] : null_value,
                                 .c0 = c.c0 ? c.c0[layer] : null_value};
    last = mica_rnn(x, all.w, all.r, all.b, &how);
    last.y = x = mica__nn_recorded(nn, mica__join_heads(last.y, directions * units));
  }
  mica_nn_pop(nn);
  return last;
}
