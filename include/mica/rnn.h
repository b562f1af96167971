/* mica/rnn.h: recurrent networks over sequences as builders of graphs: Elman's RNN, LSTM and GRU in PyTorch's forms and
 * in those that ONNX adds.
 *
 * Letters: T steps, B sequences, I features of a step, H units, D directions (1 or 2), G gates: 1 of TANH and RELU, 4
 * of LSTM, 3 of GRU. Gates stand in PyTorch's order: i f g o of LSTM, r z n of GRU (ONNX has i o f g and z r n). With
 * x the step's input, h and c the state before it, a gate's sum is
 *
 *   a = w x + b_w + r h + b_r            w, r and b having a row a unit of each gate, b_w being b's first G H numbers
 *
 * and the state after it, f, g and p standing for functions that the config may replace (sigmoid, tanh, tanh):
 *
 *   TANH, RELU   h' = tanh(a), max(a, 0)
 *   LSTM         c' = f(a_f) c + f(a_i) g(a_g),  h' = f(a_o) p(c')
 *   GRU          h' = (1 - z) n + z h  with  r = f(a_r),  z = f(a_z),  n = g(w x + b_w + r (r_n h + b_r))
 *
 * Elman 1990, Hochreiter and Schmidhuber 1997, Gers and Schmidhuber 2000 (peepholes), Cho et al. 2014. The builders
 * are sticky, as mica/nodes.h says, and as safe for threads as the graph. */
#ifndef MICA_RNN_H
#define MICA_RNN_H

#include <mica/graph.h>

MICA_BEGIN_DECLS

typedef enum mica_rnn_kind {
  MICA_RNN_KIND_TANH,
  MICA_RNN_KIND_RELU,
  MICA_RNN_KIND_LSTM,
  MICA_RNN_KIND_GRU
} mica_rnn_kind;

/* REVERSE begins at each sequence's own last step. BOTH: direction 0 is forward, 1 reverse. */
typedef enum mica_rnn_direction {
  MICA_RNN_DIRECTION_FORWARD,
  MICA_RNN_DIRECTION_REVERSE,
  MICA_RNN_DIRECTION_BOTH
} mica_rnn_direction;

/* A gate's function: enumerator, formula, and what alpha and beta are by default (ONNX's defaults). */
#define MICA_RNN_FUNCTION_LIST(X)                                                                                      \
  X(DEFAULT, 0, 0) /* the kind's own */                                                                                \
  X(SIGMOID, 0, 0) /* 1 / (1 + e^-a) */                                                                                \
  X(TANH, 0, 0)                                                                                                        \
  X(RELU, 0, 0)             /* max(a, 0) */                                                                            \
  X(AFFINE, 1, 0)           /* alpha a + beta */                                                                       \
  X(LEAKY_RELU, 0.01, 0)    /* a below 0: alpha a */                                                                   \
  X(THRESHOLDED_RELU, 1, 0) /* a > alpha: a, else 0 */                                                                 \
  X(SCALED_TANH, 1, 1)      /* alpha tanh(beta a) */                                                                   \
  X(HARD_SIGMOID, 0.2, 0.5) /* min(max(alpha a + beta, 0), 1) */                                                       \
  X(ELU, 1, 0)              /* a below 0: alpha (e^a - 1) */                                                           \
  X(SOFTSIGN, 0, 0)         /* a / (1 + |a|) */                                                                        \
  X(SOFTPLUS, 0, 0)         /* log(1 + e^a) */
typedef enum mica_rnn_function {
#define MICA_RNN_FUNCTION_ENUM(name, alpha, beta) MICA_RNN_FUNCTION_##name,
  MICA_RNN_FUNCTION_LIST(MICA_RNN_FUNCTION_ENUM)
#undef MICA_RNN_FUNCTION_ENUM
} mica_rnn_function;

/* alpha and beta: 0 stands for the function's default, MICA_ZERO for 0. */
typedef struct mica_rnn_activation {
  mica_rnn_function function;
  double alpha, beta;
} mica_rnn_activation;

/* Zero is torch.nn.RNN's form: TANH, forward, steps first. Values that are null are absent. */
typedef struct mica_rnn_config {
  mica_rnn_kind kind;
  mica_rnn_direction direction;
  bool batch_first; /* x is (B, T, I) and y (B, T, D, H); the states stay (D, B, H) */
  /* (B), i32 or i64: the steps that count of each sequence, as if it were cut there; what stands in x behind them has
   * no influence. Cut to 0 .. T. Null: T. */
  mica_value lengths;
  mica_value h0, c0;    /* (D, B, H), the states before the first step; null: zeros. c0 of LSTM alone */
  mica_value peepholes; /* of LSTM, (D, 3 H): a_i and a_f gain p_i c and p_f c, a_o p_o c'. Order i f o. Null: none */
  double clip;          /* sums are cut to -clip .. clip before f and g; 0: they are not. What p takes never is */
  /* By direction: f, g and p of the formulas. TANH and RELU have one function, GRU two. */
  mica_rnn_activation activations[2][3];
  bool reset_before; /* of GRU: n = g(w x + b_w + r_n (r h) + b_r), ONNX's linear_before_reset = 0 */
  bool input_forget; /* of LSTM: 1 - f(a_i) in the place of f(a_f) */
} mica_rnn_config;

/* y: h after every step, 0 behind a sequence's length. h and c: the states after the last step that counts; those
 * before the first where none does. c is null but for LSTM. */
typedef struct mica_rnn_results {
  mica_value y; /* (T, B, D, H), or (B, T, D, H) with batch_first */
  mica_value h; /* (D, B, H) */
  mica_value c; /* (D, B, H) */
} mica_rnn_results;

/* x (T, B, I) or (B, T, I); w (D, G H, I); r (D, G H, H); b (D, 2 G H) or null, all of one floating dtype, as states
 * and peepholes are. Sums and states are f32 for 16-bit types while steps follow one another (f64 for f64). T and B may
 * be open, and 0.
 *
 * Differentiable once, with respect to all floating operands: the gradients of a training run are found by one more
 * walk through time (the op rnn_grad) and a product over all steps for each of w, r and x. The gradient of a sum that
 * clip cuts is 0. */
MICA_API mica_rnn_results mica_rnn(mica_value x, mica_value w, mica_value r, mica_value b,
                                   const mica_rnn_config *config);

MICA_END_DECLS

#endif
