/* Naive references of rnn and rnn_grad, in double, for every kernel. */
#include "ops/rnn/rnn.h"

#include <math.h>
#include <stdlib.h>

/* apply returns the value of a gate's function at a, slope returns its derivative. */
static double apply(mica_rnn_activation f, double a) {
  switch (f.function) {
  case MICA_RNN_FUNCTION_SIGMOID: return 1 / (1 + exp(-a));
  case MICA_RNN_FUNCTION_DEFAULT:
  case MICA_RNN_FUNCTION_TANH: return tanh(a);
  case MICA_RNN_FUNCTION_RELU: return a > 0 || isnan(a) ? a : 0;
  case MICA_RNN_FUNCTION_AFFINE: return f.alpha * a + f.beta;
  case MICA_RNN_FUNCTION_LEAKY_RELU: return a < 0 ? f.alpha * a : a;
  case MICA_RNN_FUNCTION_THRESHOLDED_RELU: return a <= f.alpha ? 0 : a;
  case MICA_RNN_FUNCTION_SCALED_TANH: return f.alpha * tanh(f.beta * a);
  case MICA_RNN_FUNCTION_HARD_SIGMOID: return fmin(fmax(f.alpha * a + f.beta, 0), 1);
  case MICA_RNN_FUNCTION_ELU: return a < 0 ? f.alpha * expm1(a) : a;
  case MICA_RNN_FUNCTION_SOFTSIGN: return a / (1 + fabs(a));
  case MICA_RNN_FUNCTION_SOFTPLUS: return fmax(a, 0) + log1p(exp(-fabs(a)));
  }
  return NAN;
}
static double slope(mica_rnn_activation f, double a) {
  double y = apply(f, a), t = tanh(f.beta * a);
  switch (f.function) {
  case MICA_RNN_FUNCTION_SIGMOID: return y * (1 - y);
  case MICA_RNN_FUNCTION_DEFAULT:
  case MICA_RNN_FUNCTION_TANH: return 1 - y * y;
  case MICA_RNN_FUNCTION_RELU: return a > 0;
  case MICA_RNN_FUNCTION_AFFINE: return f.alpha;
  case MICA_RNN_FUNCTION_LEAKY_RELU: return a < 0 ? f.alpha : 1;
  case MICA_RNN_FUNCTION_THRESHOLDED_RELU: return a > f.alpha;
  case MICA_RNN_FUNCTION_SCALED_TANH: return f.alpha * f.beta * (1 - t * t);
  case MICA_RNN_FUNCTION_HARD_SIGMOID: return y > 0 && y < 1 ? f.alpha : 0;
  case MICA_RNN_FUNCTION_ELU: return a < 0 ? f.alpha * exp(a) : 1;
  case MICA_RNN_FUNCTION_SOFTSIGN: return 1 / ((1 + fabs(a)) * (1 + fabs(a)));
  case MICA_RNN_FUNCTION_SOFTPLUS: return 1 / (1 + exp(-a));
  }
  return NAN;
}

/* Direction d of sequence b, which has `length` steps. x has I features. */
typedef struct walk {
  const mica__rnn_layer *layer;
  const mica__eval *eval;
  int64_t d, b, I, length;
} walk;

/* Returns operand k; NULL if it is absent. */
static const double *operand(const mica__eval *eval, int32_t k) {
  int32_t at = mica__present_index(((const mica__rnn_attrs *)eval->attrs)->present, k);
  return at < 0 ? NULL : eval->inputs[at];
}

static double cut(const walk *w, double a) {
  return a > w->layer->clip ? w->layer->clip : a < -w->layer->clip ? -w->layer->clip : a;
}
static double gate(const walk *w, int32_t which, double a) {
  return apply(w->layer->functions[w->d][which], cut(w, a));
}
static double gate_slope(const walk *w, int32_t which, double a) {
  return fabs(a) > w->layer->clip ? 0 : slope(w->layer->functions[w->d][which], a);
}

static walk walk_of(const mica__rnn_layer *layer, const mica__eval *eval, int64_t d, int64_t b, int32_t lengths) {
  const double *given = operand(eval, lengths);
  double length = given ? fmin(fmax(given[b], 0), (double)layer->T) : (double)layer->T;
  return (walk){.layer = layer, .eval = eval, .d = d, .b = b, .length = (int64_t)length};
}
/* Returns the row of step s among the T B D rows of a sequence tensor. Steps are counted in the order in which they are
 * computed, so a reversed direction begins at the last step of the sequence. */
static int64_t row_of(const walk *w, int64_t s) {
  const mica__rnn_layer *l = w->layer;
  int64_t t = l->reverse >> w->d & 1 ? w->length - 1 - s : s;
  return (t * l->time_stride + w->b * l->batch_stride) * l->D + w->d;
}
/* Returns the index of element `unit` in part `part` of a direction's row of `parts` parts. */
static int64_t of_direction(const walk *w, int64_t parts, int64_t part, int64_t unit) {
  return (w->d * parts + part) * w->layer->H + unit;
}
static int64_t of_state(const walk *w, int64_t unit) { return (w->d * w->layer->B + w->b) * w->layer->H + unit; }

/* Compute w x + b_w (input_sum) and r h + b_r (hidden_sum) for unit u of gate g. */
static double input_sum(const walk *w, const double *x, int64_t g, int64_t u) {
  const double *weights = w->eval->inputs[MICA__RNN_W], *b = operand(w->eval, MICA__RNN_B);
  int64_t at = of_direction(w, w->layer->gates, g, u);
  double sum = b ? b[of_direction(w, 2 * w->layer->gates, g, u)] : 0;
  for (int64_t k = 0; k < w->I; k++) sum += weights[at * w->I + k] * x[k];
  return sum;
}
static double hidden_sum(const walk *w, const double *h, int64_t g, int64_t u) {
  const double *r = w->eval->inputs[MICA__RNN_R], *b = operand(w->eval, MICA__RNN_B);
  int64_t at = of_direction(w, w->layer->gates, g, u), H = w->layer->H;
  double sum = b ? b[of_direction(w, 2 * w->layer->gates, w->layer->gates + g, u)] : 0;
  for (int64_t k = 0; k < H; k++) sum += r[at * H + k] * h[k];
  return sum;
}

/* Quantizes h[H] to bytes and back: 255 equal steps over a range that contains all values and 0. */
static void round_to_bytes(const double *h, int64_t H, double *rounded) {
  double low = 0, high = 0;
  for (int64_t u = 0; u < H; u++) {
    low = fmin(low, h[u]);
    high = fmax(high, h[u]);
  }
  double step = high > low ? (high - low) / 255 : 1, zero = fmin(rint(-low / step), 255);
  for (int64_t u = 0; u < H; u++) rounded[u] = (fmin(fmax(rint(h[u] / step) + zero, 0), 255) - zero) * step;
}

/* Compute one step from x, h[H] and c[H]. a[sums][H] receives the sums that the step saves, and `next` the next h; the
 * next c replaces c. reset[H] receives the reset gate times h. `rounded` is scratch of [H]. */
static void lstm_step(const walk *w, const double *x, double *a, const double *h, double *c, double *rounded,
                      double *next) {
  const int64_t H = w->layer->H;
  if (w->layer->byte_state) {
    round_to_bytes(h, H, rounded);
    h = rounded;
  }
  const double *p = operand(w->eval, MICA__RNN_PEEPHOLES);
  for (int64_t u = 0; u < H; u++) {
    for (int64_t g = 0; g < 4; g++) a[g * H + u] = input_sum(w, x, g, u) + hidden_sum(w, h, g, u);
    if (p) a[u] += p[of_direction(w, 3, 0, u)] * c[u];
    if (p) a[H + u] += p[of_direction(w, 3, 1, u)] * c[u];
    double i = gate(w, 0, a[u]), f = w->layer->input_forget ? 1 - i : gate(w, 0, a[H + u]);
    c[u] = f * c[u] + i * gate(w, 1, a[2 * H + u]);
    if (p) a[3 * H + u] += p[of_direction(w, 3, 2, u)] * c[u];
    next[u] = gate(w, 0, a[3 * H + u]) * apply(w->layer->functions[w->d][2], c[u]);
  }
}
static void gru_step(const walk *w, const double *x, double *a, const double *h, double *reset, double *next) {
  const int64_t H = w->layer->H;
  bool before = w->layer->kind == MICA__RNN_GRU_BEFORE;
  for (int64_t u = 0; u < H; u++) {
    a[u] = input_sum(w, x, 0, u) + hidden_sum(w, h, 0, u);
    a[H + u] = input_sum(w, x, 1, u) + hidden_sum(w, h, 1, u);
    reset[u] = gate(w, 0, a[u]) * h[u];
  }
  for (int64_t u = 0; u < H; u++) {
    double product = hidden_sum(w, before ? reset : h, 2, u);
    a[2 * H + u] = input_sum(w, x, 2, u) + (before ? product : gate(w, 0, a[u]) * product);
    if (!before) a[3 * H + u] = product;
    double z = gate(w, 0, a[H + u]);
    next[u] = (1 - z) * gate(w, 1, a[2 * H + u]) + z * h[u];
  }
}

static void keep(double *to, int64_t row, int64_t n, const double *from) {
  for (int64_t i = 0; to && i < n; i++) to[row * n + i] = from[i];
}

static void walk_forward(const walk *w, double *scratch) {
  const mica__rnn_layer *l = w->layer;
  const int64_t H = l->H;
  const double *h0 = operand(w->eval, MICA__RNN_H0), *c0 = operand(w->eval, MICA__RNN_C0);
  double *const *out = w->eval->outputs;
  double *h = scratch, *c = h + H, *next = c + H, *kept = next + H, *rounded = kept + H, *a = rounded + H;
  for (int64_t u = 0; u < H; u++) {
    h[u] = h0 ? h0[of_state(w, u)] : 0;
    c[u] = c0 ? c0[of_state(w, u)] : 0;
  }
  for (int64_t s = 0; s < w->length; s++) {
    int64_t row = row_of(w, s);
    const double *x = w->eval->inputs[MICA__RNN_X] + (row - w->d) / l->D * w->I;
    for (int64_t u = 0; u < H; u++) kept[u] = c[u];
    if (l->kind == MICA__RNN_LSTM)
      lstm_step(w, x, a, h, c, rounded, next);
    else if (l->kind != MICA__RNN_PLAIN)
      gru_step(w, x, a, h, kept, next);
    else
      for (int64_t u = 0; u < H; u++) {
        a[u] = input_sum(w, x, 0, u) + hidden_sum(w, h, 0, u);
        next[u] = gate(w, 0, a[u]);
      }
    keep(out[MICA__RNN_Y], row, H, next);
    keep(out[MICA__RNN_SUMS], row, l->sums * H, a);
    keep(out[MICA__RNN_BEFORE], row, H, h);
    if (l->kind == MICA__RNN_LSTM || l->kind == MICA__RNN_GRU_BEFORE) keep(out[MICA__RNN_CELLS], row, H, kept);
    for (int64_t u = 0; u < H; u++) h[u] = next[u];
  }
  keep(out[MICA__RNN_H], w->d * l->B + w->b, H, h);
  if (l->kind == MICA__RNN_LSTM) keep(out[MICA__RNN_C], w->d * l->B + w->b, H, c);
}

static int64_t count_of(mica_shape shape) {
  int64_t count = 1;
  for (int32_t i = 0; i < shape.rank; i++) count *= shape.dim[i];
  return count;
}
static void clear(const mica__eval *eval, int32_t results) {
  for (int32_t k = 0; k < results; k++)
    for (int64_t i = 0; eval->outputs[k] && i < count_of(eval->type[k].shape); i++) eval->outputs[k][i] = 0;
}

mica_status mica__rnn_evaluate(const mica__eval *eval) {
  mica_shape x = eval->types[MICA__RNN_X].shape;
  const mica__rnn_layer layer = mica__rnn_layer_of(eval->attrs, x, eval->types[MICA__RNN_R].shape);
  double *scratch = malloc((size_t)(9 * layer.H) * sizeof *scratch);
  if (!scratch) return mica__fail_nomem("a recurrent layer's reference");
  clear(eval, MICA__RNN_RESULTS);
  for (int64_t d = 0; d < layer.D; d++)
    for (int64_t b = 0; b < layer.B; b++) {
      walk w = walk_of(&layer, eval, d, b, MICA__RNN_LENGTHS);
      w.I = x.dim[2];
      walk_forward(&w, scratch);
    }
  free(scratch);
  return MICA_OK;
}

/* --- backward --- */

/* One step backwards.
 *
 *    a, h, c      inputs: the saved sums [sums][H], and the state before the step
 *    dh, dc       in: the gradients of the state after the step. Out: those of the state before it, without the
 *                 product with r, which multiply_back adds
 *    da, hidden   results: the gradients [gates][H] of w x + b_w and of r h + b_r */
typedef struct step {
  const double *a, *h, *c;
  double *dh, *dc, *da, *hidden;
} step;

static void lstm_back(const walk *w, const step *s, double *dp) {
  const int64_t H = w->layer->H;
  const double *p = operand(w->eval, MICA__RNN_OF_PEEPHOLES);
  mica_rnn_activation out = w->layer->functions[w->d][2];
  for (int64_t u = 0; u < H; u++) {
    const double *a = s->a + u;
    double i = gate(w, 0, a[0]), f = w->layer->input_forget ? 1 - i : gate(w, 0, a[H]), g = gate(w, 1, a[2 * H]);
    double o = gate(w, 0, a[3 * H]), after = f * s->c[u] + i * g, dh = s->dh[u];
    double d_o = dh * apply(out, after) * gate_slope(w, 0, a[3 * H]);
    double dc = s->dc[u] + dh * o * slope(out, after) + (p ? d_o * p[of_direction(w, 3, 2, u)] : 0);
    double d_f = w->layer->input_forget ? 0 : dc * s->c[u] * gate_slope(w, 0, a[H]);
    double d_i = dc * (w->layer->input_forget ? g - s->c[u] : g) * gate_slope(w, 0, a[0]);
    s->da[u] = d_i;
    s->da[H + u] = d_f;
    s->da[2 * H + u] = dc * i * gate_slope(w, 1, a[2 * H]);
    s->da[3 * H + u] = d_o;
    s->dh[u] = 0;
    s->dc[u] = dc * f;
    if (!p) continue;
    s->dc[u] += d_i * p[of_direction(w, 3, 0, u)] + d_f * p[of_direction(w, 3, 1, u)];
    dp[u] += d_i * s->c[u];
    dp[H + u] += d_f * s->c[u];
    dp[2 * H + u] += d_o * after;
  }
}

static void gru_back(const walk *w, const step *s) {
  const int64_t H = w->layer->H;
  const double *weights = w->eval->inputs[MICA__RNN_OF_R];
  bool before = w->layer->kind == MICA__RNN_GRU_BEFORE;
  for (int64_t u = 0; u < H; u++) {
    double z = gate(w, 0, s->a[H + u]), n = gate(w, 1, s->a[2 * H + u]);
    s->da[H + u] = s->dh[u] * (s->h[u] - n) * gate_slope(w, 0, s->a[H + u]);
    s->da[2 * H + u] = s->dh[u] * (1 - z) * gate_slope(w, 1, s->a[2 * H + u]);
    s->dh[u] *= z;
  }
  for (int64_t u = 0; u < H; u++) {
    double r = gate(w, 0, s->a[u]), d = 0; /* d is the gradient of r h */
    for (int64_t k = 0; before && k < H; k++) d += s->da[2 * H + k] * weights[of_direction(w, 3, 2, k) * H + u];
    if (before) s->dh[u] += d * r;
    double dr = before ? d * s->h[u] : s->da[2 * H + u] * s->a[3 * H + u];
    s->da[u] = dr * gate_slope(w, 0, s->a[u]);
  }
}

/* Adds the product of the hidden gradients with r to dh. In GRU_BEFORE gru_back has already added the product of
 * gate n. */
static void multiply_back(const walk *w, const step *s) {
  const int64_t H = w->layer->H, gates = w->layer->kind == MICA__RNN_GRU_BEFORE ? 2 : w->layer->gates;
  const double *r = w->eval->inputs[MICA__RNN_OF_R];
  for (int64_t g = 0; g < gates; g++)
    for (int64_t k = 0; k < H; k++)
      for (int64_t u = 0; u < H; u++)
        s->dh[u] += s->hidden[g * H + k] * r[of_direction(w, w->layer->gates, g, k) * H + u];
}

static void walk_back(const walk *w, double *scratch) {
  const mica__rnn_layer *l = w->layer;
  const int64_t H = l->H, gates = l->gates;
  const double *dy = operand(w->eval, MICA__RNN_OF_DY), *dh = operand(w->eval, MICA__RNN_OF_DH);
  const double *dc = operand(w->eval, MICA__RNN_OF_DC), *c = operand(w->eval, MICA__RNN_OF_CELLS);
  double *const *out = w->eval->outputs;
  double *dp = scratch + 2 * H;
  step s = {.dh = scratch, .dc = scratch + H, .da = dp + 3 * H, .hidden = dp + (3 + gates) * H};
  for (int64_t u = 0; u < H; u++) {
    s.dh[u] = dh ? dh[of_state(w, u)] : 0;
    s.dc[u] = dc ? dc[of_state(w, u)] : 0;
    dp[u] = dp[H + u] = dp[2 * H + u] = 0;
  }
  for (int64_t t = w->length - 1; t >= 0; t--) {
    int64_t row = row_of(w, t);
    s.a = w->eval->inputs[MICA__RNN_OF_SUMS] + row * l->sums * H;
    s.h = w->eval->inputs[MICA__RNN_OF_BEFORE] + row * H;
    s.c = c ? c + row * H : NULL;
    for (int64_t u = 0; dy && u < H; u++) s.dh[u] += dy[row * H + u];
    if (l->kind == MICA__RNN_LSTM)
      lstm_back(w, &s, dp);
    else if (l->kind != MICA__RNN_PLAIN)
      gru_back(w, &s);
    else
      for (int64_t u = 0; u < H; u++) {
        s.da[u] = s.dh[u] * gate_slope(w, 0, s.a[u]);
        s.dh[u] = 0;
      }
    for (int64_t k = 0; k < gates * H; k++) {
      bool reset = l->kind == MICA__RNN_GRU && k >= 2 * H;
      s.hidden[k] = s.da[k] * (reset ? gate(w, 0, s.a[k - 2 * H]) : 1);
    }
    multiply_back(w, &s);
    keep(out[MICA__RNN_DSUMS], row, gates * H, s.da);
    if (l->kind == MICA__RNN_GRU) keep(out[MICA__RNN_DHIDDEN], row, gates * H, s.hidden);
  }
  int64_t state = w->d * l->B + w->b;
  keep(out[MICA__RNN_DH0], state, H, s.dh);
  if (l->kind == MICA__RNN_LSTM) keep(out[MICA__RNN_DC0], state, H, s.dc);
  if (operand(w->eval, MICA__RNN_OF_PEEPHOLES)) keep(out[MICA__RNN_DPEEPHOLES], state, 3 * H, dp);
}

mica_status mica__rnn_grad_evaluate(const mica__eval *eval) {
  const mica__rnn_layer layer =
      mica__rnn_layer_of(eval->attrs, eval->types[MICA__RNN_OF_SUMS].shape, eval->types[MICA__RNN_OF_R].shape);
  double *scratch = malloc((size_t)((5 + 2 * layer.gates) * layer.H) * sizeof *scratch);
  if (!scratch) return mica__fail_nomem("a recurrent layer's reference");
  clear(eval, MICA__RNN_GRAD_RESULTS);
  for (int64_t d = 0; d < layer.D; d++)
    for (int64_t b = 0; b < layer.B; b++) {
      const walk w = walk_of(&layer, eval, d, b, MICA__RNN_OF_LENGTHS);
      walk_back(&w, scratch);
    }
  free(scratch);
  return MICA_OK;
}
