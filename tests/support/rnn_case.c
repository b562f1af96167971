#include "support/op_case_helpers.h"

#include <mica/nodes.h>
#include <mica/rnn.h>
#include <string.h>

/* A layer as its row says it. */
typedef struct layer {
  mica_rnn_config config;
  mica_value x, w, r, b;
  int64_t T, B, H, gates;
} layer;

static layer layer_of(const mica_value *x, const char *text) {
  mica_rnn_config config = {0};
  layer l = {.x = x[0], .w = x[1], .r = x[2]};
  int32_t used = 3;
  if (strstr(text, "lstm")) config.kind = MICA_RNN_KIND_LSTM;
  if (strstr(text, "gru")) config.kind = MICA_RNN_KIND_GRU;
  if (strstr(text, "relu")) config.kind = MICA_RNN_KIND_RELU;
  if (strstr(text, "reverse")) config.direction = MICA_RNN_DIRECTION_REVERSE;
  if (strstr(text, "both")) config.direction = MICA_RNN_DIRECTION_BOTH;
  if (strstr(text, "clip")) config.clip = 0.5;
  if (strstr(text, "elu_gates")) {
    config.activations[0][0].function = MICA_RNN_FUNCTION_ELU;
    config.activations[1][0] = (mica_rnn_activation){MICA_RNN_FUNCTION_AFFINE, 0.5, 0.25};
  }
  config.batch_first = strstr(text, "batch_first");
  config.reset_before = strstr(text, "reset_before");
  config.input_forget = strstr(text, "input_forget");
  if (strstr(text, "bias")) l.b = x[used++];
  if (strstr(text, "lengths")) config.lengths = x[used++];
  if (strstr(text, "h0")) config.h0 = x[used++];
  if (strstr(text, "c0")) config.c0 = x[used++];
  if (strstr(text, "peepholes")) config.peepholes = x[used++];
  mica_shape shape = mica_value_shape(l.x), r = mica_value_shape(l.r);
  l.T = shape.dim[config.batch_first];
  l.B = shape.dim[!config.batch_first];
  l.H = r.dim[2];
  l.gates = r.rank == 3 && r.dim[2] > 0 ? r.dim[1] / r.dim[2] : 1; /* null where memory is made to fail */
  l.config = config;
  return l;
}

/* Element `at` along axis 0, without that axis; null stays null. */
static mica_value pick(mica_value v, int64_t at) {
  mica_shape shape = mica_value_shape(v), rest = {.rank = shape.rank - 1};
  if (!v.graph) return v;
  for (int32_t i = 0; i < rest.rank; i++) rest.dim[i] = shape.dim[i + 1];
  return mica_reshape(mica_slice(v, 0, at, at + 1, 1), rest);
}
/* Columns of part k of (..., parts H). */
static mica_value part(const layer *l, mica_value v, int64_t k) {
  return mica_slice(v, mica_value_shape(v).rank - 1, k * l->H, (k + 1) * l->H, 1);
}

static mica_value cut(const layer *l, mica_value a) {
  return l->config.clip > 0 ? mica_clip(a, -l->config.clip, l->config.clip) : a;
}
static mica_value gate(const layer *l, int64_t d, mica_value a) {
  mica_rnn_activation f = l->config.activations[d][0];
  a = cut(l, a);
  if (f.function == MICA_RNN_FUNCTION_ELU) return mica_elu(a, 1);
  if (f.function == MICA_RNN_FUNCTION_AFFINE) return mica_affine(a, f.alpha, f.beta);
  return mica_sigmoid(a);
}

/* One direction's w or r on v (B, n), with its half of the bias: (B, gates H). */
static mica_value product(const layer *l, mica_value matrices, int64_t d, mica_value v, int64_t half) {
  mica_value y = mica_matmul(v, mica_transpose(pick(matrices, d), MICA_AXES(1, 0)));
  if (!l->b.graph) return y;
  int64_t n = l->gates * l->H;
  return mica_add(y, mica_slice(pick(l->b, d), 0, half * n, (half + 1) * n, 1));
}

static mica_value lstm(const layer *l, int64_t d, mica_value sums, mica_value *c) {
  mica_value a[4], p[3];
  for (int64_t k = 0; k < 4; k++) a[k] = part(l, sums, k);
  bool peepholes = l->config.peepholes.graph;
  for (int64_t k = 0; k < 3; k++)
    if (peepholes) p[k] = part(l, pick(l->config.peepholes, d), k);
  if (peepholes) a[0] = mica_add(a[0], mica_mul(p[0], *c));
  if (peepholes) a[1] = mica_add(a[1], mica_mul(p[1], *c));
  mica_value i = gate(l, d, a[0]), f = l->config.input_forget ? mica_affine(i, -1, 1) : gate(l, d, a[1]);
  *c = mica_add(mica_mul(f, *c), mica_mul(i, mica_tanh(cut(l, a[2]))));
  if (peepholes) a[3] = mica_add(a[3], mica_mul(p[2], *c));
  return mica_mul(gate(l, d, a[3]), mica_tanh(*c));
}

static mica_value gru(const layer *l, int64_t d, mica_value x, mica_value h) {
  mica_value input = product(l, l->w, d, x, 0), hidden = product(l, l->r, d, h, 1);
  mica_value r = gate(l, d, mica_add(part(l, input, 0), part(l, hidden, 0)));
  mica_value z = gate(l, d, mica_add(part(l, input, 1), part(l, hidden, 1)));
  mica_value of_n =
      l->config.reset_before ? part(l, product(l, l->r, d, mica_mul(r, h), 1), 2) : mica_mul(r, part(l, hidden, 2));
  mica_value n = mica_tanh(cut(l, mica_add(part(l, input, 2), of_n)));
  return mica_add(mica_mul(mica_affine(z, -1, 1), n), mica_mul(z, h));
}

static mica_value plain(const layer *l, int64_t d, mica_value x, mica_value h) {
  mica_value a = cut(l, mica_add(product(l, l->w, d, x, 0), product(l, l->r, d, h, 1)));
  return l->config.kind == MICA_RNN_KIND_RELU ? mica_relu(a) : mica_tanh(a);
}

/* A direction: y[t] (B, H) for all steps, and the last states. A sequence that a step is behind keeps its state, which
 * lets the reverse direction begin at each one's last step. */
static void walk(const layer *l, int64_t d, mica_value *y, mica_value *h, mica_value *c) {
  bool reverse = l->config.direction == MICA_RNN_DIRECTION_REVERSE || d == 1,
       lstm_ = l->config.kind == MICA_RNN_KIND_LSTM;
  mica_graph *graph = l->x.graph;
  mica_value zeros = mica_full(graph, mica_value_dtype(l->x), MICA_SHAPE(l->B, l->H), 0);
  *h = l->config.h0.graph ? pick(l->config.h0, d) : zeros;
  *c = l->config.c0.graph ? pick(l->config.c0, d) : zeros;
  for (int64_t s = 0; s < l->T; s++) {
    int64_t t = reverse ? l->T - 1 - s : s;
    mica_value x = pick(l->config.batch_first ? mica_transpose(l->x, MICA_AXES(1, 0, 2)) : l->x, t), cell = *c, next;
    if (lstm_)
      next = lstm(l, d, mica_add(product(l, l->w, d, x, 0), product(l, l->r, d, *h, 1)), &cell);
    else
      next = l->config.kind == MICA_RNN_KIND_GRU ? gru(l, d, x, *h) : plain(l, d, x, *h);
    if (l->config.lengths.graph) {
      mica_value number = mica_full(graph, mica_value_dtype(l->config.lengths), MICA_SHAPE(1), (double)t);
      mica_value counts = mica_reshape(mica_less(number, l->config.lengths), MICA_SHAPE(l->B, 1));
      y[t] = mica_where(counts, next, zeros);
      *h = mica_where(counts, next, *h);
      *c = mica_where(counts, cell, *c);
    } else {
      y[t] = *h = next;
      *c = cell;
    }
  }
}

static mica_value in_a_row(mica_value v) { return mica_reshape(v, MICA_SHAPE(MICA_DYNAMIC)); }

enum { MOST_STEPS = 8 };

static mica_value written_out(const layer *l) {
  mica_value y[2][MOST_STEPS], h[2], c[2], steps[2 * MOST_STEPS], all[3];
  int64_t directions = mica_value_shape(l->w).dim[0];
  size_t count = 0;
  for (int64_t d = 0; d < directions; d++) walk(l, d, y[d], &h[d], &c[d]);
  for (int64_t t = 0; t < l->T; t++) {
    mica_value both[2];
    for (int64_t d = 0; d < directions; d++) both[d] = mica_reshape(y[d][t], MICA_SHAPE(1, l->B, l->H));
    steps[count++] = directions == 2 ? mica_concat(both, 2, 2) : both[0];
  }
  mica_value whole = mica_concat(steps, count, 0);
  if (l->config.batch_first) whole = mica_transpose(whole, MICA_AXES(1, 0, 2));
  all[0] = in_a_row(whole);
  all[1] = in_a_row(directions == 2 ? mica_concat(h, 2, 0) : h[0]);
  all[2] = in_a_row(directions == 2 ? mica_concat(c, 2, 0) : c[0]);
  return mica_concat(all, l->config.kind == MICA_RNN_KIND_LSTM ? 3 : 2, 0);
}

mica_value test_rnn(const mica_value *x, const char *text, bool written) {
  const layer l = layer_of(x, text);
  if (written) return written_out(&l);
  mica_rnn_results results = mica_rnn(l.x, l.w, l.r, l.b, &l.config);
  mica_value all[] = {in_a_row(results.y), in_a_row(results.h), results.c};
  if (results.c.graph) all[2] = in_a_row(results.c);
  return mica_concat(all, results.c.graph ? 3 : 2, 0);
}
