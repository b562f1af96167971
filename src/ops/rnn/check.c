/* Checks the recurrent ops against their references: every kind, direction and option, sizes on both sides of tiles,
 * lengths from none to all steps. */
#include "ops/rnn/rnn.h"

enum {
  BIAS = 1,
  LENGTHS = 2,
  STATES = 4,
  PEEPHOLES = 8,
  BATCH_FIRST = 16,
  INPUT_FORGET = 32,
  CLIP = 64,
  LONG = 128,
  BYTES = 256
};

typedef struct layer_case {
  int32_t kind;
  mica_rnn_direction direction;
  int64_t T, B, I, H;
  int32_t options;
  mica_dtype dtype;
  mica_rnn_function f, g, p; /* 0 for the kind's default */
  uint32_t unwanted;         /* bits of the results that the forward pass does not write */
} layer_case;

#define KEPT (1u << MICA__RNN_SUMS | 1u << MICA__RNN_BEFORE | 1u << MICA__RNN_CELLS)
#define FUNCTION(name) MICA_RNN_FUNCTION_##name
#define FORWARD MICA_RNN_DIRECTION_FORWARD
#define REVERSE MICA_RNN_DIRECTION_REVERSE
#define BOTH MICA_RNN_DIRECTION_BOTH
/* The first QUICK cases run at every level: with few programs they cover each kind in each device class. */
static const layer_case layers[] = {
    {MICA__RNN_LSTM, FORWARD, 3, 5, 7, 17, BIAS, MICA_F32, 0, 0, 0, 0},
    {MICA__RNN_LSTM, BOTH, 5, 9, 3, 33, BIAS | LENGTHS | STATES, MICA_F32, 0, 0, 0, 0},
    {MICA__RNN_LSTM, FORWARD, 3, 6, 18, 66, BIAS | LENGTHS | BATCH_FIRST, MICA_F32, 0, 0, 0, KEPT},
    {MICA__RNN_LSTM, BOTH, 0, 3, 2, 5, STATES, MICA_F32, 0, 0, 0, 0},
    {MICA__RNN_GRU, FORWARD, 3, 5, 7, 17, BIAS, MICA_F32, 0, 0, 0, 0},
    {MICA__RNN_GRU, BOTH, 5, 9, 3, 33, BIAS | LENGTHS | STATES | BATCH_FIRST, MICA_F32, 0, 0, 0, 0},
    {MICA__RNN_GRU, REVERSE, 3, 2, 4, 65, LENGTHS | STATES, MICA_F32, 0, 0, 0, KEPT},
    {MICA__RNN_GRU, FORWARD, 2, 0, 2, 5, BIAS, MICA_F32, 0, 0, 0, 0},
    {MICA__RNN_GRU_BEFORE, FORWARD, 3, 5, 7, 17, BIAS, MICA_F32, 0, 0, 0, 0},
    {MICA__RNN_GRU_BEFORE, BOTH, 5, 9, 3, 33, BIAS | LENGTHS | STATES, MICA_F32, 0, 0, 0, 0},
    {MICA__RNN_GRU_BEFORE, REVERSE, 3, 2, 4, 65, LENGTHS | STATES | BATCH_FIRST, MICA_F32, 0, 0, 0, KEPT},
    {MICA__RNN_PLAIN, FORWARD, 4, 5, 7, 17, BIAS, MICA_F32, 0, 0, 0, 0},
    {MICA__RNN_PLAIN, BOTH, 5, 9, 3, 67, BIAS | LENGTHS | STATES, MICA_F32, 0, 0, 0, KEPT},
    {MICA__RNN_LSTM, BOTH, 4, 5, 6, 20, BIAS | LENGTHS | STATES | PEEPHOLES, MICA_F16, 0, 0, 0, 0},
    /* With BYTES the state h is rounded to bytes. The reference in double may round an h near the middle between two
     * bytes the other way; few steps and units make that unlikely. */
    {MICA__RNN_LSTM, BOTH, 2, 2, 3, 17, BIAS | STATES | BYTES, MICA_F32, 0, 0, 0, KEPT},
    {MICA__RNN_LSTM, FORWARD, 1, 5, 3, 65, BIAS | STATES | BYTES, MICA_F32, 0, 0, 0, KEPT},
    /* Only full checks run the cases from here on. */
    {MICA__RNN_LSTM, REVERSE, 4, 1, 1, 1, STATES | LENGTHS | LONG, MICA_F32, 0, 0, 0, KEPT},
    {MICA__RNN_LSTM, FORWARD, 3, 2, 5, 6, BIAS | PEEPHOLES | INPUT_FORGET | CLIP, MICA_F32, FUNCTION(HARD_SIGMOID),
     FUNCTION(SOFTSIGN), FUNCTION(ELU), 0},
    {MICA__RNN_GRU, REVERSE, 4, 5, 6, 20, BIAS | LENGTHS | STATES | CLIP, MICA_BF16, FUNCTION(AFFINE),
     FUNCTION(LEAKY_RELU), 0, 0},
    {MICA__RNN_GRU_BEFORE, FORWARD, 3, 3, 3, 5, BIAS | STATES, MICA_F32, FUNCTION(SOFTPLUS), FUNCTION(SCALED_TANH), 0,
     0},
    {MICA__RNN_PLAIN, FORWARD, 3, 3, 3, 5, BIAS | CLIP, MICA_F32, FUNCTION(THRESHOLDED_RELU), 0, 0, 0},
    {MICA__RNN_PLAIN, BOTH, 5, 9, 3, 67, BIAS | LENGTHS | STATES, MICA_F32, FUNCTION(RELU), 0, 0, 0},
    {MICA__RNN_LSTM, BOTH, 4, 5, 6, 20, BIAS | LENGTHS | STATES | PEEPHOLES, MICA_F64, 0, 0, 0, 0},
};
enum { LAYERS = sizeof layers / sizeof *layers, QUICK = 16 };

static void set_functions(const layer_case *c, mica__rnn_attrs *attrs) {
  bool plain = c->kind == MICA__RNN_PLAIN;
  attrs->f0 = attrs->f1 = c->f ? (int32_t)c->f : plain ? MICA_RNN_FUNCTION_TANH : MICA_RNN_FUNCTION_SIGMOID;
  attrs->g0 = attrs->g1 = c->g ? (int32_t)c->g : MICA_RNN_FUNCTION_TANH;
  attrs->p0 = attrs->p1 = c->p ? (int32_t)c->p : MICA_RNN_FUNCTION_TANH;
  attrs->f0_alpha = attrs->f1_alpha = attrs->g0_alpha = attrs->g1_alpha = attrs->p0_alpha = attrs->p1_alpha = 0.3;
  attrs->f0_beta = attrs->f1_beta = attrs->g0_beta = attrs->g1_beta = attrs->p0_beta = attrs->p1_beta = 0.4;
}

static mica__rnn_attrs attrs_of(const layer_case *c) {
  mica__rnn_attrs attrs;
  mica__attrs_set_defaults(&mica__rnn_attr_list, &attrs);
  attrs.kind = c->kind;
  attrs.direction = (int32_t)c->direction;
  attrs.batch_first = c->options & BATCH_FIRST;
  attrs.input_forget = c->options & INPUT_FORGET;
  attrs.clip = c->options & CLIP ? 0.75 : 0;
  attrs.byte_state = c->options & BYTES;
  set_functions(c, &attrs);
  return attrs;
}

/* Adds operand k as the next input of a case. */
static void add(mica__launch_case *to, int64_t *present, int32_t k, mica_dtype dtype, mica_shape shape, double bound) {
  *present |= (int64_t)1 << k;
  to->inputs[to->input_count] = (mica__type){dtype, shape};
  to->bound[to->input_count++] = bound;
}

/* Returns the number of terms for a case's tolerance, which grows with the square root of that number.
 *
 * The absolute values in a row of w, and in a row of r, add up to at most 1, so an error of the state does not grow
 * from step to step. After T steps it is at most T times the error of one step, whose sums have `terms` terms. */
static double terms_of(const layer_case *c, int64_t terms) {
  double steps = (double)(c->T > 0 ? c->T : 1);
  return (double)terms * steps * steps;
}

static void forward_case(const layer_case *c, mica__rnn_attrs *attrs, mica__launch_case *to) {
  int64_t d = mica__rnn_directions((int32_t)c->direction), rows = mica__rnn_gates(c->kind) * c->H, present = 0;
  bool batch_first = c->options & BATCH_FIRST, lstm = c->kind == MICA__RNN_LSTM;
  *attrs = attrs_of(c);
  *to =
      (mica__launch_case){.attrs = attrs, .terms = terms_of(c, c->I + c->H), .normwise = true, .unwanted = c->unwanted};
  add(to, &present, MICA__RNN_X, c->dtype, batch_first ? MICA_SHAPE(c->B, c->T, c->I) : MICA_SHAPE(c->T, c->B, c->I),
      2);
  add(to, &present, MICA__RNN_W, c->dtype, MICA_SHAPE(d, rows, c->I), 1 / (double)c->I);
  add(to, &present, MICA__RNN_R, c->dtype, MICA_SHAPE(d, rows, c->H), 1 / (double)c->H);
  if (c->options & BIAS) add(to, &present, MICA__RNN_B, c->dtype, MICA_SHAPE(d, 2 * rows), 0.5);
  if (c->options & LENGTHS)
    add(to, &present, MICA__RNN_LENGTHS, c->options & LONG ? MICA_I64 : MICA_I32, MICA_SHAPE(c->B), (double)c->T + 2);
  if (c->options & STATES) add(to, &present, MICA__RNN_H0, c->dtype, MICA_SHAPE(d, c->B, c->H), 1);
  if (c->options & STATES && lstm) add(to, &present, MICA__RNN_C0, c->dtype, MICA_SHAPE(d, c->B, c->H), 1);
  if (c->options & PEEPHOLES) add(to, &present, MICA__RNN_PEEPHOLES, c->dtype, MICA_SHAPE(d, 3 * c->H), 0.5);
  attrs->present = present;
}

static void backward_case(const layer_case *c, mica__rnn_attrs *attrs, mica__launch_case *to) {
  int64_t d = mica__rnn_directions((int32_t)c->direction), H = c->H, rows = mica__rnn_gates(c->kind) * H, present = 0;
  bool batch_first = c->options & BATCH_FIRST, lstm = c->kind == MICA__RNN_LSTM;
  int64_t outer = batch_first ? c->B : c->T, inner = batch_first ? c->T : c->B;
  *attrs = attrs_of(c);
  *to = (mica__launch_case){.attrs = attrs, .terms = terms_of(c, rows), .normwise = true};
  add(to, &present, MICA__RNN_OF_R, c->dtype, MICA_SHAPE(d, rows, H), 1 / (double)rows);
  add(to, &present, MICA__RNN_OF_SUMS, c->dtype, MICA_SHAPE(outer, inner, d, mica__rnn_sums(c->kind) * H), 2);
  add(to, &present, MICA__RNN_OF_BEFORE, c->dtype, MICA_SHAPE(outer, inner, d, H), 1);
  if (c->options & LENGTHS)
    add(to, &present, MICA__RNN_OF_LENGTHS, c->options & LONG ? MICA_I64 : MICA_I32, MICA_SHAPE(c->B),
        (double)c->T + 2);
  if (lstm) add(to, &present, MICA__RNN_OF_CELLS, c->dtype, MICA_SHAPE(outer, inner, d, H), 1);
  if (c->options & PEEPHOLES) add(to, &present, MICA__RNN_OF_PEEPHOLES, c->dtype, MICA_SHAPE(d, 3 * H), 0.5);
  /* The gradients of y, h and c may be absent, but not all three. */
  if (!(c->options & CLIP)) add(to, &present, MICA__RNN_OF_DY, c->dtype, MICA_SHAPE(outer, inner, d, H), 1);
  if (c->options & (STATES | CLIP)) add(to, &present, MICA__RNN_OF_DH, c->dtype, MICA_SHAPE(d, c->B, H), 1);
  if (c->options & STATES && lstm) add(to, &present, MICA__RNN_OF_DC, c->dtype, MICA_SHAPE(d, c->B, H), 1);
  attrs->present = present;
}

/* Shrinks a case, because simulators are slow. Some sizes are still below those of tiles, and some above. */
static layer_case shrunk(layer_case c) {
  if (c.T > 2) c.T = 2;
  if (c.B > 5) c.B = 5;
  if (c.H > 17) c.H = c.H > 64 ? 65 : 17;
  return c;
}

mica_status mica__rnn_check_layers(mica__check *check, const mica__op *op, bool backward) {
  mica__rnn_attrs attrs[LAYERS];
  mica__launch_case list[LAYERS];
  bool imitated = check->level == MICA__CHECK_OWN || check->level == MICA__CHECK_SMALL;
  for (size_t i = 0; i < LAYERS; i++) {
    const layer_case c = imitated ? shrunk(layers[i]) : layers[i];
    (backward ? backward_case : forward_case)(&c, &attrs[i], &list[i]);
  }
  return mica__check_launches(check, op, op->name, list, check->level == MICA__CHECK_FULL ? LAYERS : QUICK);
}
