/* Lowers RNN, LSTM and GRU to mica_rnn. The gates and axes of weights and states are rearranged from ONNX's order to
 * the order of mica_rnn. */
#include "onnx/ops/family.h"

#include <mica/quant.h>
#include <mica/rnn.h>
#include <string.h>
#include <strings.h>

#define MOST_GATES 4
#define MOST_FUNCTIONS 3

/* gates[k] is the index of Mica's gate k in ONNX's order of gates. peephole_order[k] is the same for the peepholes of
 * LSTM, whose order in ONNX is i, o, f. */
typedef struct form {
  const char *op;
  mica_rnn_kind kind;
  int32_t gate_count, functions;
  int32_t gates[MOST_GATES];
} form;
static const form forms[] = {{"RNN", MICA_RNN_KIND_TANH, 1, 1, {0}},
                             {"LSTM", MICA_RNN_KIND_LSTM, 4, 3, {0, 2, 3, 1}},
                             {"GRU", MICA_RNN_KIND_GRU, 3, 2, {1, 0, 2}}};
static const int32_t peephole_order[] = {0, 2, 1};

/* Reorders parts of axis 1. The axis consists of `blocks` blocks, each of `count` parts of equal size. In each block
 * the new part k is the old part order[k]. */
static mica_value reorder(mica_value x, int32_t blocks, int32_t count, const int32_t *order) {
  mica_value parts[2 * MOST_GATES];
  if (!x.graph || count == 1) return x;
  int64_t size = mica_value_shape(x).dim[1] / (blocks * count);
  for (int32_t b = 0; b < blocks; b++)
    for (int32_t k = 0; k < count; k++) {
      int64_t from = (b * count + order[k]) * size;
      parts[b * count + k] = mica_slice(x, 1, from, from + size, 1);
    }
  return mica_concat(parts, (size_t)(blocks * count), 1);
}

static const struct {
  const char *name;
  mica_rnn_function function;
  bool alpha, beta;
} functions[] = {{"Relu", MICA_RNN_FUNCTION_RELU, false, false},
                 {"Tanh", MICA_RNN_FUNCTION_TANH, false, false},
                 {"Sigmoid", MICA_RNN_FUNCTION_SIGMOID, false, false},
                 {"Affine", MICA_RNN_FUNCTION_AFFINE, true, true},
                 {"LeakyRelu", MICA_RNN_FUNCTION_LEAKY_RELU, true, false},
                 {"ThresholdedRelu", MICA_RNN_FUNCTION_THRESHOLDED_RELU, true, false},
                 {"ScaledTanh", MICA_RNN_FUNCTION_SCALED_TANH, true, true},
                 {"HardSigmoid", MICA_RNN_FUNCTION_HARD_SIGMOID, true, true},
                 {"Elu", MICA_RNN_FUNCTION_ELU, true, false},
                 {"Softsign", MICA_RNN_FUNCTION_SOFTSIGN, false, false},
                 {"Softplus", MICA_RNN_FUNCTION_SOFTPLUS, false, false}};
#define FUNCTIONS (sizeof functions / sizeof *functions)

/* Returns the next number of a list, or 0, which means the function's default, if there is none. A 0 in the list
 * becomes MICA_ZERO. */
static double next(const Onnx__AttributeProto *list, size_t *at) {
  if (!list || *at >= list->n_floats) return 0;
  double value = (double)list->floats[(*at)++];
  return value == 0 ? MICA_ZERO : value;
}

/* Reads the functions of each direction, in order; the lists of numbers only have entries for functions with
 * parameters. */
static bool take_activations(mica__lowering *l, const mica__onnx_node *node, const form *f, mica_rnn_config *config) {
  const Onnx__AttributeProto *names = mica__onnx_attr(node, "activations");
  const Onnx__AttributeProto *alphas = mica__onnx_attr(node, "activation_alpha");
  const Onnx__AttributeProto *betas = mica__onnx_attr(node, "activation_beta");
  size_t alpha = 0, beta = 0, directions = config->direction == MICA_RNN_DIRECTION_BOTH ? 2 : 1;
  for (size_t i = 0; names && i < names->n_strings && i < directions * (size_t)f->functions; i++) {
    size_t at = 0;
    const ProtobufCBinaryData *name = &names->strings[i];
    while (at < FUNCTIONS && (name->len != strlen(functions[at].name) ||
                              strncasecmp((const char *)name->data, functions[at].name, name->len) != 0))
      at++;
    if (at == FUNCTIONS) {
      mica__lower_fail(
          l, node, MICA_E_UNSUPPORTED,
          "the activation '%.*s' is unknown; choose from Relu, Tanh, Sigmoid, Affine, LeakyRelu, ThresholdedRelu, "
          "ScaledTanh, HardSigmoid, Elu, Softsign and Softplus",
          (int)(name->len < 40 ? name->len : 40), name->len ? (const char *)name->data : "");
      return false;
    }
    mica_rnn_activation *a = &config->activations[i / (size_t)f->functions][i % (size_t)f->functions];
    a->function = functions[at].function;
    if (functions[at].alpha) a->alpha = next(alphas, &alpha);
    if (functions[at].beta) a->beta = next(betas, &beta);
  }
  return true;
}

/* Swaps the axes of a state between (B, D, H) and (D, B, H) if batches come first. */
static mica_value state(mica_value x, bool batch_first) {
  return x.graph && batch_first ? mica_transpose(x, MICA_AXES(1, 0, 2)) : x;
}

/* Rounds x to 255 steps of its range, extended to include 0. */
static mica_value in_bytes(mica_value x) {
  const mica_quantize_config config = {.dtype = MICA_U8};
  mica_value zero, scale = mica__lower_byte_range(x, &zero);
  return mica_dequantize(mica_quantize(x, scale, zero, &config), scale, zero, &config);
}

static mica_value optional(mica__lowering *l, const mica__onnx_node *node, int32_t k) {
  return mica__lower_has(l, node, k) ? mica__lower_operand(l, node, k) : (mica_value){0};
}

/* Lowers an operator of this form and stores its results. w (directions, gates * hidden, inputs) and r (directions,
 * gates * hidden, hidden) are weights with the gates in ONNX's order. If `bytes` is set, x and the state h are rounded
 * to 8 bits before products. */
static mica_status lower_form(mica__lowering *l, const mica__onnx_node *node, const form *f, mica_value w, mica_value r,
                              bool bytes) {
  static const mica_rnn_direction directions[] = {MICA_RNN_DIRECTION_FORWARD, MICA_RNN_DIRECTION_REVERSE,
                                                  MICA_RNN_DIRECTION_BOTH};
  bool first = mica__onnx_int(node, "layout", 0);
  mica_rnn_config config = {
      .kind = f->kind,
      .direction = directions[mica__lower_choice(l, node, "direction", "forward reverse bidirectional", 0)],
      .batch_first = first,
      .clip = mica__onnx_real(node, "clip", 0),
      .reset_before = !mica__onnx_int(node, "linear_before_reset", 0),
      .input_forget = mica__onnx_int(node, "input_forget", 0),
      .byte_state = bytes};
  if (f->kind != MICA_RNN_KIND_GRU) config.reset_before = false;
  if (f->kind != MICA_RNN_KIND_LSTM) config.input_forget = false;
  mica_value x = x_of(l, node), b = optional(l, node, 3);
  config.lengths = optional(l, node, 4);
  config.h0 = state(optional(l, node, 5), first);
  if (f->kind == MICA_RNN_KIND_LSTM) {
    config.c0 = state(optional(l, node, 6), first);
    config.peepholes = reorder(optional(l, node, 7), 1, 3, peephole_order);
  }
  if (!x.graph || !w.graph || !r.graph || !take_activations(l, node, f, &config)) return MICA_OK;
  if (mica_value_shape(w).rank != 3 || mica_value_shape(r).rank != 3)
    return mica__lower_fail(l, node, MICA_E_SHAPE, "W has rank %d and R has rank %d, but both must have rank 3",
                            (int)mica_value_shape(w).rank, (int)mica_value_shape(r).rank);
  if (b.graph && mica_value_shape(b).rank != 2)
    return mica__lower_fail(l, node, MICA_E_SHAPE, "B has rank %d, but must have rank 2",
                            (int)mica_value_shape(b).rank);
  if (bytes) x = in_bytes(x);
  mica_rnn_results y = mica_rnn(x, reorder(w, 1, f->gate_count, f->gates), reorder(r, 1, f->gate_count, f->gates),
                                reorder(b, 2, f->gate_count, f->gates), &config);
  mica__lower_result(l, node, 0, first ? y.y : mica_transpose(y.y, MICA_AXES(0, 2, 1, 3)));
  mica__lower_result(l, node, 1, state(y.h, first));
  if (f->kind == MICA_RNN_KIND_LSTM) mica__lower_result(l, node, 2, state(y.c, first));
  return MICA_OK;
}

MICA__LOWER(recurrent) {
  const form *f = forms;
  while (strcmp(f->op, node->op)) f++;
  mica_value w = mica__lower_operand(l, node, 1), r = mica__lower_operand(l, node, 2);
  return lower_form(l, node, f, w, r, false);
}

/* Dequantises operand k, integers (directions, inputs, gates * hidden), to weights for lower_form. Operand k_scale is
 * the scale, and k_scale + 1 the zero point (absent: 0). Both are (directions) or (directions, gates * hidden). */
static mica_value real_weights(mica__lowering *l, const mica__onnx_node *node, int32_t k, int32_t k_scale) {
  mica_value w = mica__lower_operand(l, node, k),
             parts[] = {mica__lower_operand(l, node, k_scale), optional(l, node, k_scale + 1)};
  mica_shape shape = mica_value_shape(w);
  if (!w.graph || !parts[0].graph) return (mica_value){0};
  for (int i = 0; i < 2 && parts[i].graph; i++) {
    mica_shape own = mica_value_shape(parts[i]);
    const bool columns = own.rank == 2 && own.dim[0] == shape.dim[0] && own.dim[1] == shape.dim[2];
    if (shape.rank != 3 || (!columns && (own.rank != 1 || own.dim[0] != shape.dim[0]))) {
      char is[MICA_SHAPE_TEXT], part[MICA_SHAPE_TEXT];
      const char *const name = k == 1 ? "W" : "R";
      mica__lower_fail(
          l, node, MICA_E_SHAPE,
          "%s is %s, but must be (directions, inputs, columns), and %s_%s is %s, but must be (directions) or "
          "(directions, columns)",
          name, mica_shape_format(shape, is), name, i ? "zero_point" : "scale", mica_shape_format(own, part));
      return (mica_value){0};
    }
    parts[i] = mica_reshape(mica_cast(parts[i], MICA_F32), MICA_SHAPE(own.dim[0], 1, columns ? own.dim[1] : 1));
  }
  mica_value steps = mica_cast(w, MICA_F32);
  if (parts[1].graph) steps = mica_sub(steps, parts[1]);
  return mica_transpose(mica_mul(steps, parts[0]), MICA_AXES(0, 2, 1));
}

/* LSTM with integer weights. x is rounded to bytes by its range, and h in each step by the range of each sequence.
 * onnxruntime does the same if every sequence has its own thread. With fewer threads, onnxruntime uses the range of all
 * sequences of a thread. */
MICA__LOWER(dynamic_quantize_lstm) {
  mica_value w = real_weights(l, node, 1, 8), r = real_weights(l, node, 2, 10);
  return w.graph && r.graph ? lower_form(l, node, &forms[1], w, r, true) : MICA_OK;
}
