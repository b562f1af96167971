/* Elementwise operators: arithmetic, comparisons, logic, bits, activations, bounds and casts; also Where and
 * Dropout. */
#include "onnx/ops/family.h"

#include <math.h>
#include <string.h>

/* --- one operand --- */

static const struct {
  const char *op;
  mica_value (*build)(mica_value x);
} unaries[] = {{"Abs", mica_abs},
               {"Neg", mica_neg},
               {"Sign", mica_sign},
               {"Relu", mica_relu},
               {"Reciprocal", mica_reciprocal},
               {"Sqrt", mica_sqrt},
               {"Exp", mica_exp},
               {"Log", mica_log},
               {"Erf", mica_erf},
               {"Sin", mica_sin},
               {"Cos", mica_cos},
               {"Tan", mica_tan},
               {"Asin", mica_asin},
               {"Acos", mica_acos},
               {"Atan", mica_atan},
               {"Sinh", mica_sinh},
               {"Cosh", mica_cosh},
               {"Tanh", mica_tanh},
               {"Asinh", mica_asinh},
               {"Acosh", mica_acosh},
               {"Atanh", mica_atanh},
               {"Floor", mica_floor},
               {"Ceil", mica_ceil},
               {"Round", mica_round},
               {"IsNaN", mica_isnan},
               {"Not", mica_logical_not},
               {"BitwiseNot", mica_bit_not},
               {"Sigmoid", mica_sigmoid},
               {"Mish", mica_mish},
               {"Softplus", mica_softplus},
               {"Softsign", mica_softsign},
               {"HardSwish", mica_hard_swish}};

MICA__LOWER(unary) {
  for (size_t i = 0; i < sizeof unaries / sizeof *unaries; i++)
    if (!strcmp(unaries[i].op, node->op)) return give(l, node, unaries[i].build(x_of(l, node)));
  return mica__lower_fail(l, node, MICA_E_UNSUPPORTED, "the operator is not supported");
}

MICA__LOWER(identity) { return give(l, node, x_of(l, node)); }

/* Result 0 is x, as in inference. Result 1, the mask, is all true; it is bool, but before version 10 it has x's
 * dtype. */
MICA__LOWER(dropout) {
  mica_value x = x_of(l, node);
  if (mica__lower_has(l, node, 2)) {
    mica__integers training;
    double ratio = 0.5;
    mica__reals given;
    if (!mica__lower_integers(l, node, 2, &training) || !mica__lower_reals(l, node, 1, &given)) return MICA_OK;
    if (given.count) ratio = given.values[0];
    if (training.count && training.values[0] && ratio != 0)
      return mica__lower_fail(l, node, MICA_E_UNSUPPORTED,
                              "dropout in training mode is not supported; export the model for inference");
  }
  mica__lower_result(l, node, 0, x);
  if (mica__lower_wants(node, 1) && x.graph) {
    /* The mask has x's shape, whose batch size may be unknown until the run, so it is computed from x: 0 x + 1 is 1, or
     * NaN if x is infinite or NaN, and both become true. */
    mica_value mask = mica_cast(mica_affine(x, 0, 1), MICA_BOOL);
    mica__lower_result(l, node, 1, node->version < 10 ? mica_cast(mask, mica_value_dtype(x)) : mask);
  }
  return MICA_OK;
}

MICA__LOWER(elu) { return give(l, node, mica_elu(x_of(l, node), mica__onnx_real(node, "alpha", 1))); }
MICA__LOWER(celu) { return give(l, node, mica_celu(x_of(l, node), mica__onnx_real(node, "alpha", 1))); }

MICA__LOWER(selu) {
  const double alpha = 1.67326319217681884765625, gamma = 1.05070102214813232421875;
  double a = mica__onnx_real(node, "alpha", node->version < 6 ? 1.6732 : alpha);
  double g = mica__onnx_real(node, "gamma", node->version < 6 ? 1.0507 : gamma);
  mica_value x = x_of(l, node);
  return give(l, node, a == alpha && g == gamma ? mica_selu(x) : mica_affine(mica_elu(x, a), g, 0));
}

MICA__LOWER(leaky_relu) { return give(l, node, mica_leaky_relu(x_of(l, node), mica__onnx_real(node, "alpha", 0.01))); }

MICA__LOWER(thresholded_relu) {
  return give(l, node, mica_thresholded_relu(x_of(l, node), mica__onnx_real(node, "alpha", 1)));
}

MICA__LOWER(hard_sigmoid) {
  double alpha = mica__onnx_real(node, "alpha", 0.2), beta = mica__onnx_real(node, "beta", 0.5);
  return give(l, node, mica_hard_sigmoid(x_of(l, node), alpha, beta));
}

MICA__LOWER(shrink) {
  mica_value x = mica__lower_floating(l, node, 0);
  mica_value y = mica_shrink(x, mica__onnx_real(node, "lambd", 0.5), mica__onnx_real(node, "bias", 0));
  return give(l, node, mica_cast(y, mica_value_dtype(x_of(l, node))));
}

MICA__LOWER(gelu) {
  int32_t how = mica__lower_choice(l, node, "approximate", "none tanh", 0);
  return give(l, node, how ? mica_gelu_tanh(x_of(l, node)) : mica_gelu(x_of(l, node)));
}

static mica_value swish(const mica__onnx_node *node, mica_value x) {
  double alpha = mica__onnx_real(node, "alpha", 1);
  return alpha == 1 ? mica_silu(x) : mica_mul(x, mica_sigmoid(mica_affine(x, alpha, 0)));
}

MICA__LOWER(swish) { return give(l, node, swish(node, x_of(l, node))); }

/* The operands must have equal shapes; they do not broadcast. */
MICA__LOWER(swiglu) {
  mica_value gate = x_of(l, node), x = mica__lower_operand(l, node, 1);
  if (!gate.graph || !x.graph) return MICA_OK;
  char a[MICA_SHAPE_TEXT], b[MICA_SHAPE_TEXT];
  if (!mica_shape_equal(mica_value_shape(gate), mica_value_shape(x)))
    return mica__lower_fail(l, node, MICA_E_SHAPE, "the operands must have the same shape, but have %s and %s",
                            mica_shape_format(mica_value_shape(gate), a), mica_shape_format(mica_value_shape(x), b));
  return give(l, node, mica_mul(swish(node, gate), x));
}

MICA__LOWER(is_inf) {
  bool below = mica__onnx_int(node, "detect_negative", 1), above = mica__onnx_int(node, "detect_positive", 1);
  mica_value x = x_of(l, node);
  if (below && above) return give(l, node, mica_isinf(x));
  if (!x.graph) return MICA_OK;
  if (!below && !above) return give(l, node, mica_full(mica__lower_graph(l), MICA_BOOL, mica_value_shape(x), 0));
  return give(l, node, mica_equal(x, mica__lower_number(x, above ? (double)INFINITY : -(double)INFINITY)));
}

/* --- two operands --- */

static const struct {
  const char *op;
  mica_value (*build)(mica_value a, mica_value b);
} binaries[] = {{"Add", mica_add},
                {"Sub", mica_sub},
                {"Mul", mica_mul},
                {"Div", mica_div},
                {"And", mica_logical_and},
                {"Or", mica_logical_or},
                {"Xor", mica_logical_xor},
                {"Equal", mica_equal},
                {"Less", mica_less},
                {"LessOrEqual", mica_less_equal},
                {"Greater", mica_greater},
                {"GreaterOrEqual", mica_greater_equal},
                {"BitwiseAnd", mica_bit_and},
                {"BitwiseOr", mica_bit_or},
                {"BitwiseXor", mica_bit_xor}};

/* Returns operand 1, reshaped if needed to broadcast with operand 0.
 *
 * - From version 7 on, or without the attribute `broadcast`, it is returned as it is.
 * - Before version 7 with `broadcast`, its axes match the axes of operand 0 from `axis` on. Without `axis` they match
 *   the last axes, as in NumPy. */
static mica_value beside(mica__lowering *l, const mica__onnx_node *node, mica_value a) {
  mica_value b = mica__lower_operand(l, node, 1);
  if (node->version >= 7 || !a.graph || !b.graph || !mica__onnx_int(node, "broadcast", 0)) return b;
  mica_shape whole = mica_value_shape(a), own = mica_value_shape(b);
  int64_t axis = mica__onnx_int(node, "axis", whole.rank - own.rank);
  if (axis < 0) axis += whole.rank;
  if (axis < 0 || axis + own.rank > whole.rank) return b;
  while (axis + own.rank < whole.rank) own.dim[own.rank++] = 1;
  return mica_reshape(b, own);
}

MICA__LOWER(binary) {
  mica_value a = x_of(l, node), b = beside(l, node, a);
  for (size_t i = 0; i < sizeof binaries / sizeof *binaries; i++)
    if (!strcmp(binaries[i].op, node->op)) return give(l, node, binaries[i].build(a, b));
  return mica__lower_fail(l, node, MICA_E_UNSUPPORTED, "the operator is not supported");
}

MICA__LOWER(variadic) {
  mica_value y = x_of(l, node);
  bool most = !strcmp(node->op, "Max"), least = !strcmp(node->op, "Min");
  for (int32_t k = 1; k < node->input_count; k++) {
    mica_value x = mica__lower_operand(l, node, k);
    y = most ? mica_maximum(y, x) : least ? mica_minimum(y, x) : mica_add(y, x);
  }
  if (!strcmp(node->op, "Mean") && node->input_count > 1) y = mica_affine(y, 1.0 / node->input_count, 0);
  return give(l, node, y);
}

/* x to the power of `exponent` by a simpler operation than mica_pow; null if there is none. */
static mica_value simple_power(mica_value x, double exponent) {
  if (exponent == 1) return x;
  if (exponent == 2) return mica_square(x);
  if (exponent == 3) return mica_mul(mica_square(x), x);
  if (exponent == 0.5) return mica_sqrt(x);
  if (exponent == -1) return mica_reciprocal(x);
  if (exponent == -0.5) return mica_rsqrt(x);
  return (mica_value){0};
}

MICA__LOWER(pow) {
  mica_value x = x_of(l, node), e = beside(l, node, x);
  double exponent = 0;
  if (!x.graph || !e.graph) return MICA_OK;
  mica_dtype dtype = mica_value_dtype(x);
  bool floating = is_floating(x),
       whole = mica__lower_known_number(l, node, 1, &exponent) && mica_value_shape(e).rank <= mica_value_shape(x).rank;
  mica_value simple = whole && (floating || (exponent >= 1 && exponent <= 3 && rint(exponent) == exponent))
                          ? simple_power(x, exponent)
                          : (mica_value){0};
  if (simple.graph) return give(l, node, simple);
  mica_dtype wide = floating ? dtype : MICA_F64;
  mica_value y = mica_pow(mica_cast(x, wide), mica_cast(e, wide));
  if (!floating && !is_floating(e)) y = mica_round(y);
  return give(l, node, mica_cast(y, dtype));
}

MICA__LOWER(mod) {
  mica_value a = x_of(l, node), b = mica__lower_operand(l, node, 1);
  return give(l, node, mica__onnx_int(node, "fmod", 0) ? mica_fmod(a, b) : mica_mod(a, b));
}

MICA__LOWER(bit_shift) {
  mica_value a = x_of(l, node), b = mica__lower_operand(l, node, 1);
  int32_t left = mica__lower_choice(l, node, "direction", "RIGHT LEFT", 0);
  return give(l, node, left ? mica_shift_left(a, b) : mica_shift_right(a, b));
}

/* Before version 7 the slope is one number, or one per channel. */
MICA__LOWER(prelu) {
  mica_value x = x_of(l, node), slope = mica__lower_operand(l, node, 1);
  if (!x.graph || !slope.graph) return MICA_OK;
  mica_shape own = mica_value_shape(slope);
  if (node->version < 7 && own.rank == 1 && mica_value_shape(x).rank > 2) {
    while (own.rank < mica_value_shape(x).rank - 1) own.dim[own.rank++] = 1;
    slope = mica_reshape(slope, own);
  }
  if (is_floating(x)) return give(l, node, mica_prelu(x, slope));
  return give(l, node, mica_where(mica_less(x, mica__lower_number(x, 0)), mica_mul(x, slope), x));
}

MICA__LOWER(where) {
  mica_value a = mica__lower_operand(l, node, 1), b = mica__lower_operand(l, node, 2);
  return give(l, node, mica_where(x_of(l, node), a, b));
}

/* --- bounds --- */

/* Returns a bound: before version 11 the attribute `name`, later operand k; `standard` if it is absent. Sets *known to
 * false if the operand is computed on the device and so is not known yet. */
static double bound(mica__lowering *l, const mica__onnx_node *node, int32_t k, const char *name, double standard,
                    bool *known) {
  double number = standard;
  if (node->version < 11) return mica__onnx_real(node, name, standard);
  if (mica__lower_has(l, node, k) && !mica__lower_known_number(l, node, k, &number)) *known = false;
  return number;
}

MICA__LOWER(clip) {
  bool known = true;
  double low = bound(l, node, 1, "min", -(double)INFINITY, &known);
  double high = bound(l, node, 2, "max", (double)INFINITY, &known);
  mica_value x = x_of(l, node);
  if (known && low <= high) return give(l, node, mica_clip(x, low, high));
  if (known) return give(l, node, mica_full_like(x, high));
  if (mica__lower_has(l, node, 1)) x = mica_maximum(x, mica__lower_operand(l, node, 1));
  if (mica__lower_has(l, node, 2)) x = mica_minimum(x, mica__lower_operand(l, node, 2));
  return give(l, node, x);
}

/* --- types --- */

/* Returns the attribute `to` as a number of ONNX's TensorProto.DataType; before version 6 it is the name of a type.
 * Returns 0 if it is absent or outside 1 to 2^31 - 1. */
static int32_t target_type(mica__lowering *l, const mica__onnx_node *node) {
  const Onnx__AttributeProto *to = mica__onnx_attr(node, "to");
  if (to && to->has_s)
    return 1 + mica__lower_choice(l, node, "to",
                                  "FLOAT UINT8 INT8 UINT16 INT16 INT32 INT64 STRING BOOL FLOAT16 DOUBLE UINT32 UINT64",
                                  0);
  return to && to->has_i && to->i > 0 && to->i <= INT32_MAX ? (int32_t)to->i : 0;
}

static bool target(mica__lowering *l, const mica__onnx_node *node, mica_dtype *dtype) {
  const int32_t type = target_type(l, node);
  if (mica__lower_dtype(l, type, dtype)) return true;
  const Onnx__AttributeProto *to = mica__onnx_attr(node, "to");
  const long long given = to && to->has_i ? (long long)to->i : type;
  mica__lower_fail(l, node, MICA_E_UNSUPPORTED, "a cast to elements of type %s (%lld) is not supported",
                   mica__onnx_type_name(given), given);
  return false;
}

/* Converts numbers to integers of 4 bits: only the low 4 bits stay, sign-extended if the type is signed. */
static mica_value as_nibbles(mica_value x, int32_t type) {
  mica_dtype dtype = MICA_I8;
  if (!x.graph || !mica__onnx_dtype(type, &dtype)) return (mica_value){0};
  x = mica_cast(x, MICA_I32);
  const mica_value below = mica__lower_number(x, dtype == MICA_I8 ? 8 : 0);
  return mica_cast(mica_sub(mica_mod(mica_add(x, below), mica__lower_number(x, 16)), below), dtype);
}

MICA__LOWER(cast) {
  mica_dtype dtype;
  const int32_t type = target_type(l, node);
  if (mica__lower_texts(l, node, 0) && type == 8) return give(l, node, x_of(l, node));
  if (mica__lower_texts(l, node, 0))
    return mica__lower_fail(l, node, MICA_E_UNSUPPORTED, "texts cannot be cast to numbers");
  if (mica__onnx_is_nibble(type)) return give(l, node, as_nibbles(x_of(l, node), type));
  return target(l, node, &dtype) ? give(l, node, mica_cast(x_of(l, node), dtype)) : MICA_OK;
}

MICA__LOWER(cast_like) {
  const int32_t type = mica__lower_file_type(l, node, 1);
  if (mica__onnx_is_nibble(type)) return give(l, node, as_nibbles(x_of(l, node), type));
  return give(l, node, mica_cast(x_of(l, node), mica_value_dtype(mica__lower_operand(l, node, 1))));
}

MICA__LOWER(bit_cast) {
  mica_dtype dtype;
  return target(l, node, &dtype) ? give(l, node, mica_bitcast(x_of(l, node), dtype)) : MICA_OK;
}
