/* mica/rnn.h: recurrent networks as builders of graphs: Elman RNN, LSTM and GRU in PyTorch's forms and ONNX's variants.
 *
 * Letters: T steps, B sequences, I features per step, H units, D directions (1 or 2), G gates (TANH, RELU: 1; LSTM: 4;
 * GRU: 3). Gates are in PyTorch's order: LSTM i f g o, GRU r z n. (ONNX has i o f g and z r n.) If x is the input of a
 * step, and h and c are the state before the step, the weighted sum of a gate is
 *
 *   a = w x + b_w + r h + b_r            w, r and b have one row per gate and unit; b holds G H numbers b_w, then b_r
 *
 * h' and c' are the state after the step. The config may replace f, g and p (default sigmoid, tanh, tanh):
 *
 *   TANH, RELU   h' = tanh(a), max(a, 0)
 *   LSTM         c' = f(a_f) c + f(a_i) g(a_g),  h' = f(a_o) p(c')
 *   GRU          h' = (1 - z) n + z h  with  r = f(a_r),  z = f(a_z),  n = g(w x + b_w + r (r_n h + b_r))
 *
 * Papers: Elman 1990, Hochreiter and Schmidhuber 1997, Gers and Schmidhuber 2000 (peepholes), Cho et al. 2014.
 *
 * Sticky errors as in mica/nodes.h. Threads: as in mica/graph.h. */
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

/* REVERSE starts at each sequence's own last step. BOTH: direction 0 is forward, 1 reverse. */
typedef enum mica_rnn_direction {
  MICA_RNN_DIRECTION_FORWARD,
  MICA_RNN_DIRECTION_REVERSE,
  MICA_RNN_DIRECTION_BOTH
} mica_rnn_direction;

/* Function of a gate: enumerator, default alpha, default beta (as in ONNX). */
#define MICA_RNN_FUNCTION_LIST(X)                                                                                      \
  X(DEFAULT, 0, 0) /* the function that the cell kind uses; see the top of this file */                                \
  X(SIGMOID, 0, 0) /* 1 / (1 + e^-a) */                                                                                \
  X(TANH, 0, 0)                                                                                                        \
  X(RELU, 0, 0)             /* max(a, 0) */                                                                            \
  X(AFFINE, 1, 0)           /* alpha a + beta */                                                                       \
  X(LEAKY_RELU, 0.01, 0)    /* a if a >= 0, else alpha a */                                                            \
  X(THRESHOLDED_RELU, 1, 0) /* a if a > alpha, else 0 */                                                               \
  X(SCALED_TANH, 1, 1)      /* alpha tanh(beta a) */                                                                   \
  X(HARD_SIGMOID, 0.2, 0.5) /* min(max(alpha a + beta, 0), 1) */                                                       \
  X(ELU, 1, 0)              /* a if a >= 0, else alpha (e^a - 1) */                                                    \
  X(SOFTSIGN, 0, 0)         /* a / (1 + |a|) */                                                                        \
  X(SOFTPLUS, 0, 0)         /* log(1 + e^a) */
typedef enum mica_rnn_function {
#define MICA_RNN_FUNCTION_ENUM(name, alpha, beta) MICA_RNN_FUNCTION_##name,
  MICA_RNN_FUNCTION_LIST(MICA_RNN_FUNCTION_ENUM)
#undef MICA_RNN_FUNCTION_ENUM
} mica_rnn_function;

/* alpha, beta: 0 means the function's default, MICA_ZERO means 0. */
typedef struct mica_rnn_activation {
  mica_rnn_function function;
  double alpha, beta;
} mica_rnn_activation;

/* A config of zeros means the defaults of torch.nn.RNN: TANH, forward, steps as the first axis of x. A null value means
 * that the operand is absent. */
typedef struct mica_rnn_config {
  mica_rnn_kind kind;
  mica_rnn_direction direction;
  bool batch_first; /* x is (B, T, I) and y (B, T, D, H); states stay (D, B, H) */
  /* (B), i32 or i64: length of each sequence, clamped to 0 to T. Later elements of x are ignored. Null: T. */
  mica_value lengths;
  mica_value h0, c0; /* (D, B, H): states before the first step; null: zeros. c0: LSTM only */
  /* LSTM, (D, 3 H) in order i f o: adds p_i c to a_i, p_f c to a_f, and p_o c' to a_o. Null: none */
  mica_value peepholes;
  double clip; /* clamps sums to -clip .. clip before f and g, but not the argument of p; 0: off */
  /* activations[d] has f, g and p of direction d. GRU uses only f and g; TANH and RELU use only f. */
  mica_rnn_activation activations[2][3];
  bool reset_before; /* GRU: n = g(w x + b_w + r_n (r h) + b_r), ONNX's linear_before_reset = 0 */
  bool input_forget; /* LSTM: 1 - f(a_i) instead of f(a_f) */
  /* LSTM without a gradient: r is multiplied by h rounded to 8 bits. In each step a sequence has the scale
   * s = (max - min) / 255 and the zero point z = round(-min / s), with min = min(h, 0) and max = max(h, 0). h becomes
   * (clamp(round(h / s) + z, 0, 255) - z) s. */
  bool byte_state;
} mica_rnn_config;

/* y: h after each step, 0 after a sequence's end. h and c: states after each sequence's last step, or the initial
 * states if its length is 0. c is null except for LSTM. */
typedef struct mica_rnn_results {
  mica_value y; /* (T, B, D, H), or (B, T, D, H) with batch_first */
  mica_value h; /* (D, B, H) */
  mica_value c; /* (D, B, H) */
} mica_rnn_results;

/* x (T, B, I) or (B, T, I); w (D, G H, I); r (D, G H, H); b (D, 2 G H) or null. These, states and peepholes have one
 * float dtype. config may be NULL: all zeros. For 16-bit types, sums and states are f32 between steps (f64 for f64). T
 * and B may be dynamic, and 0.
 *
 * Differentiable once, with respect to all float operands, unless byte_state is set. The backward pass goes back
 * through the steps once (op rnn_grad). It then computes one matrix product over all steps for each of dw, dr and dx.
 * If clip limits a gate's sum, the gradient of that sum is 0. */
MICA_API mica_rnn_results mica_rnn(mica_value x, mica_value w, mica_value r, mica_value b,
                                   const mica_rnn_config *config);

MICA_END_DECLS

#endif
