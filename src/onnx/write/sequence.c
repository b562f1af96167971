/* Writes attention as basic operators, and recurrent layers. */
#include "onnx/write/writer.h"

#include "ops/attention/attention.h"
#include "ops/rnn/rnn.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *cast(mica__onnx_writer *w, const char *x, mica_dtype from, mica_dtype to) {
  if (from == to) return x;
  const char *name = mica__write_node(w, "Cast", NULL, MICA__OPERANDS(x));
  mica__write_int(w, "to", mica__onnx_type_of(to));
  return name;
}

static const char *transposed(mica__onnx_writer *w, const char *x, const char *own, const int64_t *order,
                              size_t count) {
  const char *name = mica__write_node(w, "Transpose", own, MICA__OPERANDS(x));
  mica__write_ints(w, "perm", order, count);
  return name;
}

static const char *binary(mica__onnx_writer *w, const char *op, const char *a, const char *b) {
  return mica__write_node(w, op, NULL, MICA__OPERANDS(a, b));
}

/* --- attention: q (B, H, Tq, D), k (B, G, Tk, D), v (B, G, Tk, E) --- */

typedef struct attention {
  mica__onnx_writer *w;
  const mica__node *node;
  const mica__attention_attrs *attrs;
  mica__attention_sizes size;
  mica_dtype dtype;
} attention;

/* The id of an operand; 0 if it is absent. */
static int32_t operand_of(const attention *a, mica__attention_operand operand) {
  const int32_t k = mica__attention_input(a->attrs, false, operand);
  return k < 0 ? 0 : a->node->inputs[k];
}

/* Repeats each head of keys or values for all the query heads of its group. */
static const char *repeated(const attention *a, mica__attention_operand operand) {
  mica__onnx_writer *w = a->w;
  const int32_t id = operand_of(a, operand);
  const char *x = mica__write_operand(w, id);
  const int64_t groups = a->size.g, times = groups ? a->size.h / groups : 1, two = 2;
  const int64_t wide[] = {1, 1, times, 1, 1};
  if (times == 1) return x;
  const char *apart = binary(w, "Unsqueeze", x, mica__write_integers(w, &two, 1));
  const char *each = binary(w, "Expand", apart, mica__write_integers(w, wide, 5));
  const int64_t to[] = {0, a->size.h, -1, mica__write_type_of(w, id).shape.dim[3]};
  return binary(w, "Reshape", each, mica__write_integers(w, to, 4));
}

/* 0, 1, ... along axis 2 of an operand, (T) i64. */
static const char *positions(const attention *a, mica__attention_operand operand) {
  mica__onnx_writer *w = a->w;
  const int32_t id = operand_of(a, operand);
  const int64_t extent = mica__write_type_of(w, id).shape.dim[2], axis = 2;
  if (extent != MICA_DYNAMIC) {
    int64_t *numbers = mica__write_room(w, (size_t)extent * sizeof *numbers);
    for (int64_t i = 0; numbers && i < extent; i++) numbers[i] = i;
    return numbers ? mica__write_integers(w, numbers, (size_t)extent) : "";
  }
  const char *count = mica__write_node(w, "Squeeze", NULL, MICA__OPERANDS(mica__write_extents(w, id, &axis, 1)));
  return mica__write_node(
      w, "Range", NULL, MICA__OPERANDS(mica__write_scalar(w, MICA_I64, 0), count, mica__write_scalar(w, MICA_I64, 1)));
}

/* Converts an i32 scalar, or one i32 per sequence, to i64 of the shape (1 or B, 1, 1, 1), which broadcasts with scores
 * (B, H, Tq, Tk). */
static const char *beside_scores(const attention *a, int32_t id) {
  mica__onnx_writer *w = a->w;
  const int64_t to[] = {-1, 1, 1, 1};
  const char *x = cast(w, mica__write_operand(w, id), MICA_I32, MICA_I64);
  return binary(w, "Reshape", x, mica__write_integers(w, to, 4));
}

static const char *both(mica__onnx_writer *w, const char *a, const char *b) { return a ? binary(w, "And", a, b) : b; }

/* Writes a boolean mask: true where causality, window and lengths let a query see a key. Returns NULL if none of the
 * three is set, so that every query sees all keys. */
static const char *visible_of(const attention *a) {
  mica__onnx_writer *w = a->w;
  const int32_t lengths = operand_of(a, MICA__ATTENTION_OF_LENGTHS), offset = operand_of(a, MICA__ATTENTION_OF_OFFSET);
  const int64_t last = 1;
  const char *seen = NULL, *key = NULL;
  if (!a->attrs->causal && !a->attrs->window && !lengths) return NULL;
  key = positions(a, MICA__ATTENTION_OF_K);
  if (a->attrs->causal || a->attrs->window) {
    const char *row = positions(a, MICA__ATTENTION_OF_Q);
    const char *query = binary(w, "Unsqueeze", row, mica__write_integers(w, &last, 1));
    if (offset) query = binary(w, "Add", query, beside_scores(a, offset));
    if (a->attrs->causal) seen = binary(w, "LessOrEqual", key, query);
    if (a->attrs->window) {
      const char *away = mica__write_node(w, "Abs", NULL, MICA__OPERANDS(binary(w, "Sub", query, key)));
      seen = both(w, seen, binary(w, "Less", away, mica__write_scalar(w, MICA_I64, (double)a->attrs->window)));
    }
  }
  return lengths ? both(w, seen, binary(w, "Less", key, beside_scores(a, lengths))) : seen;
}

static const char *scores_of(const attention *a) {
  mica__onnx_writer *w = a->w;
  const double scale = mica__attention_scale(a->attrs, a->size.d), cap = a->attrs->soft_cap;
  const char *keys = transposed(w, repeated(a, MICA__ATTENTION_OF_K), NULL, (const int64_t[]){0, 1, 3, 2}, 4);
  const char *q = mica__write_operand(w, operand_of(a, MICA__ATTENTION_OF_Q));
  const char *scores = binary(w, "Mul", binary(w, "MatMul", q, keys), mica__write_scalar(w, a->dtype, scale));
  if (cap == 0) return scores;
  const char *part = binary(w, "Div", scores, mica__write_scalar(w, a->dtype, cap));
  const char *bent = mica__write_node(w, "Tanh", NULL, MICA__OPERANDS(part));
  return binary(w, "Mul", bent, mica__write_scalar(w, a->dtype, cap));
}

/* Returns the scores plus an added mask, with -infinity for hidden keys. */
static const char *masked(const attention *a, const char *scores) {
  mica__onnx_writer *w = a->w;
  const int32_t mask = operand_of(a, MICA__ATTENTION_OF_MASK);
  const char *seen = visible_of(a), *given = mask ? mica__write_operand(w, mask) : NULL;
  const mica_dtype dtype = mask ? mica__write_type_of(w, mask).dtype : MICA_BOOL;
  if (given && dtype == MICA_BOOL) seen = both(w, seen, given);
  if (given && dtype != MICA_BOOL) scores = binary(w, "Add", scores, cast(w, given, dtype, a->dtype));
  if (!seen) return scores;
  return mica__write_node(w, "Where", NULL, MICA__OPERANDS(seen, scores, mica__write_scalar(w, a->dtype, -INFINITY)));
}

MICA__WRITE(attention) {
  mica__type types[3];
  for (int i = 0; i < 3; i++) types[i] = mica__write_type_of(w, node->inputs[i]);
  const attention a = {w, node, node->attrs, mica__attention_sizes_of(types), types[0].dtype};
  if (w->needed[id]) mica__write_fail(w, id, "the logarithm of the sum of the scores cannot be expressed in ONNX");
  if (a.attrs->dropout > 0)
    mica__write_fail(w, id, "dropout cannot be expressed in ONNX; export the network for inference");
  const char *shares = mica__write_node(w, "Softmax", NULL, MICA__OPERANDS(masked(&a, scores_of(&a))));
  mica__write_int(w, "axis", -1);
  /* A query that sees no key gives 0, not 0 / 0. */
  const bool blind = operand_of(&a, MICA__ATTENTION_OF_MASK) || operand_of(&a, MICA__ATTENTION_OF_LENGTHS) ||
                     operand_of(&a, MICA__ATTENTION_OF_OFFSET) || a.attrs->window > 0;
  if (blind) {
    const char *none = mica__write_node(w, "IsNaN", NULL, MICA__OPERANDS(shares));
    const char *zero = mica__write_scalar(w, a.dtype, 0);
    shares = mica__write_node(w, "Where", NULL, MICA__OPERANDS(none, zero, shares));
  }
  const char *y = binary(w, "MatMul", shares, repeated(&a, MICA__ATTENTION_OF_V));
  transposed(w, y, mica__write_own(w, id), (const int64_t[]){0, 2, 1, 3}, 4);
}

/* --- recurrent layers --- */

/* order[k]: the index of Mica's gate that is ONNX's gate k. */
typedef struct form {
  const char *op;
  int32_t gates, functions;
  int32_t order[4];
} form;
static const form forms[] = {[MICA__RNN_PLAIN] = {"RNN", 1, 1, {0}},
                             [MICA__RNN_LSTM] = {"LSTM", 4, 3, {0, 3, 1, 2}},
                             [MICA__RNN_GRU] = {"GRU", 3, 2, {1, 0, 2}},
                             [MICA__RNN_GRU_BEFORE] = {"GRU", 3, 2, {1, 0, 2}}};
static const int32_t peephole_order[] = {0, 2, 1};

/* The id of operand k; 0 if it is absent. */
static int32_t rnn_operand(const mica__node *node, int32_t k) {
  const int32_t at = mica__present_index(((const mica__rnn_attrs *)node->attrs)->present, k);
  return at < 0 ? 0 : node->inputs[at];
}

/* Returns operand k with its gates in ONNX's order; NULL if it is absent. Axis 1 consists of `blocks` times `gates`
 * equal parts. If the elements are known, a reordered copy is written; else a Gather reorders them at run time. */
static const char *ordered(mica__onnx_writer *w, const mica__node *node, int32_t k, int32_t blocks, int32_t gates,
                           const int32_t *order) {
  static const char *const names[] = {"x", "W", "R", "B", "lengths", "h0", "c0", "P"};
  const int32_t id = rnn_operand(node, k);
  if (!id) return NULL;
  const mica__type type = mica__write_type_of(w, id);
  const int64_t rows = type.shape.dim[1], part = rows / (blocks * gates);
  int64_t count = 0, *from = mica__write_room(w, (size_t)rows * sizeof *from);
  if (!from || mica_shape_count(type.shape, &count) != MICA_OK) return "";
  for (int64_t r = 0; r < rows; r++) {
    const int64_t block = r / (gates * part), gate = r / part % gates;
    from[r] = (block * gates + order[gate]) * part + r % part;
  }
  const char *data = mica__write_known(w, id);
  if (!data) {
    const char *x = mica__write_operand(w, id);
    const char *name = binary(w, "Gather", x, mica__write_integers(w, from, (size_t)rows));
    mica__write_int(w, "axis", 1);
    return name;
  }
  const size_t bytes = rows ? (size_t)(count / (type.shape.dim[0] * rows)) * mica_dtype_size(type.dtype) : 0;
  char *to = mica__write_room(w, (size_t)count * mica_dtype_size(type.dtype)), text[192];
  for (int64_t d = 0; to && d < type.shape.dim[0]; d++)
    for (int64_t r = 0; r < rows; r++)
      memcpy(to + (size_t)(d * rows + r) * bytes, data + (size_t)(d * rows + from[r]) * bytes, bytes);
  snprintf(text, sizeof text, "%.160s.%s", mica__write_own(w, (int32_t)(node - w->graph->nodes) + 1), names[k]);
  return mica__write_tensor(w, text, type.dtype, type.shape, to);
}

static const struct {
  const char *name;
  bool alpha, beta;
} functions[] = {[MICA_RNN_FUNCTION_DEFAULT] = {"Tanh", false, false},
                 [MICA_RNN_FUNCTION_SIGMOID] = {"Sigmoid", false, false},
                 [MICA_RNN_FUNCTION_TANH] = {"Tanh", false, false},
                 [MICA_RNN_FUNCTION_RELU] = {"Relu", false, false},
                 [MICA_RNN_FUNCTION_AFFINE] = {"Affine", true, true},
                 [MICA_RNN_FUNCTION_LEAKY_RELU] = {"LeakyRelu", true, false},
                 [MICA_RNN_FUNCTION_THRESHOLDED_RELU] = {"ThresholdedRelu", true, false},
                 [MICA_RNN_FUNCTION_SCALED_TANH] = {"ScaledTanh", true, true},
                 [MICA_RNN_FUNCTION_HARD_SIGMOID] = {"HardSigmoid", true, true},
                 [MICA_RNN_FUNCTION_ELU] = {"Elu", true, false},
                 [MICA_RNN_FUNCTION_SOFTSIGN] = {"Softsign", false, false},
                 [MICA_RNN_FUNCTION_SOFTPLUS] = {"Softplus", false, false}};

static void write_functions(mica__onnx_writer *w, const mica__node *node, int32_t directions, int32_t each) {
  static const char *const fields[2][3] = {{"f0", "g0", "p0"}, {"f1", "g1", "p1"}};
  const char *names[6];
  double alphas[6], betas[6];
  size_t n = 0, alpha = 0, beta = 0;
  for (int32_t d = 0; d < directions; d++)
    for (int32_t k = 0; k < each; k++) {
      char field[16];
      const int64_t which = mica__node_int(node, fields[d][k]);
      names[n++] = functions[which].name;
      snprintf(field, sizeof field, "%s_alpha", fields[d][k]);
      if (functions[which].alpha) alphas[alpha++] = mica__node_real(node, field);
      snprintf(field, sizeof field, "%s_beta", fields[d][k]);
      if (functions[which].beta) betas[beta++] = mica__node_real(node, field);
    }
  mica__write_texts(w, "activations", names, n);
  if (alpha) mica__write_reals(w, "activation_alpha", alphas, alpha);
  if (beta) mica__write_reals(w, "activation_beta", betas, beta);
}

static const char *lengths_of(mica__onnx_writer *w, const mica__node *node) {
  const int32_t id = rnn_operand(node, MICA__RNN_LENGTHS);
  return id ? cast(w, mica__write_operand(w, id), mica__write_type_of(w, id).dtype, MICA_I32) : NULL;
}

static const char *state_of(mica__onnx_writer *w, const mica__node *node, int32_t k) {
  const int32_t id = rnn_operand(node, k);
  return id ? mica__write_operand(w, id) : NULL;
}

MICA__WRITE(rnn) {
  static const char *const directions[] = {"forward", "reverse", "bidirectional"};
  const mica__rnn_attrs *attrs = node->attrs;
  const form *f = &forms[attrs->kind];
  const bool first = attrs->batch_first, lstm = attrs->kind == MICA__RNN_LSTM;
  for (int32_t k = MICA__RNN_SUMS; k < MICA__RNN_RESULTS; k++)
    if (w->needed[id - 1 + k])
      mica__write_fail(w, id, "results for training cannot be expressed in ONNX; export the network for inference");
  const char *x = mica__write_operand(w, node->inputs[MICA__RNN_X]);
  if (first) x = transposed(w, x, NULL, (const int64_t[]){1, 0, 2}, 3);
  const char *inputs[] = {x,
                          ordered(w, node, MICA__RNN_W, 1, f->gates, f->order),
                          ordered(w, node, MICA__RNN_R, 1, f->gates, f->order),
                          ordered(w, node, MICA__RNN_B, 2, f->gates, f->order),
                          lengths_of(w, node),
                          state_of(w, node, MICA__RNN_H0),
                          state_of(w, node, MICA__RNN_C0),
                          ordered(w, node, MICA__RNN_PEEPHOLES, 1, 3, peephole_order)};
  /* In ONNX the directions come before the sequences: (T, D, B, H). */
  const char *y = mica__write_node(w, f->op, NULL, inputs, lstm ? 8 : 6);
  mica__write_result(w, w->needed[id - 1 + MICA__RNN_H] ? mica__write_own(w, id + MICA__RNN_H) : NULL);
  if (lstm) mica__write_result(w, w->needed[id - 1 + MICA__RNN_C] ? mica__write_own(w, id + MICA__RNN_C) : NULL);
  mica__write_int(w, "hidden_size", mica__write_type_of(w, node->inputs[MICA__RNN_R]).shape.dim[2]);
  mica__write_text(w, "direction", directions[attrs->direction]);
  write_functions(w, node, attrs->direction == MICA_RNN_DIRECTION_BOTH ? 2 : 1, f->functions);
  if (attrs->clip > 0) mica__write_real(w, "clip", attrs->clip);
  if (lstm && attrs->input_forget) mica__write_int(w, "input_forget", 1);
  if (!strcmp(f->op, "GRU")) mica__write_int(w, "linear_before_reset", attrs->kind == MICA__RNN_GRU);
  if (first)
    transposed(w, y, mica__write_own(w, id), (const int64_t[]){2, 0, 1, 3}, 4);
  else
    transposed(w, y, mica__write_own(w, id), (const int64_t[]){0, 2, 1, 3}, 4);
}
