/* The pointwise ops, generated from the table elementwise.def: types, references, gradients, descriptors, builders. */
#include "ops/elementwise/elementwise.h"
#include "ops/common/build.h"
#include "ops/elementwise/written_out.h"
#include "ops/layout/views.h"

#include <math.h>
#include <mica/nodes.h>

#define UNUSED __attribute__((unused))
#define NONE ((mica_value){0})

#define LN_2 0.69314718055994530942
#define LN_10 2.30258509299404568402
#define TWO_OVER_SQRT_PI 1.12837916709551257390
#define SQRT_HALF 0.70710678118654752440
#define SQRT_2_OVER_PI 0.79788456080286535588
#define ONE_OVER_SQRT_2_PI 0.39894228040143267794
#define SELU_SCALE 1.0507009873554804934
#define SELU_ALPHA 1.6732632423543772848

/* The classes of elementwise.def, as mica__op.dtypes. */
#define DTYPES_FLOAT "f0>0"
#define DTYPES_NUMBER "n0>0"
#define DTYPES_INTEGER "i0>0"
#define DTYPES_LOGIC "b0>0"
#define DTYPES_TEST "f0>b"
#define DTYPES_COMPARISON "n0>b"
#define DTYPES_EQUALITY "*0>b"
#define DTYPES_SELECT "b*1>1"

static mica_status infer_broadcast(const mica__type *inputs, int32_t input_count, void *attrs, mica__type *out) {
  (void)attrs;
  *out = inputs[0];
  for (int32_t i = 1; i < input_count; i++) MICA_TRY(mica__shape_broadcast(out->shape, inputs[i].shape, &out->shape));
  return MICA_OK;
}

static double floor_mod(double a, double b) {
  double r = fmod(a, b);
  if (r == 0) return copysign(r, b);
  return (r < 0) != (b < 0) ? r + b : r;
}

/* d/da of a sigmoid(a), whose value is y */
static mica_value silu_slope(mica_value a, mica_value y) {
  mica_value s = mica_sigmoid(a);
  return mica_add(s, mica_mul(y, mica_affine(s, -1, 1)));
}

/* d/da of a sigmoid(1.702 a), whose value is y */
static mica_value quick_gelu_slope(mica_value a, mica_value y) {
  mica_value s = mica_sigmoid(mica_affine(a, 1.702, 0));
  return mica_add(s, mica_mul(y, mica_affine(s, -1.702, 1.702)));
}

static mica_value gelu_slope(mica_value a) {
  mica_value distribution = mica_affine(mica_erf(mica_affine(a, SQRT_HALF, 0)), 0.5, 0.5);
  mica_value density = mica_affine(mica_exp(mica_affine(mica_square(a), -0.5, 0)), ONE_OVER_SQRT_2_PI, 0);
  return mica_add(distribution, mica_mul(a, density));
}

static mica_value gelu_tanh_slope(mica_value a) {
  mica_value squared = mica_square(a);
  mica_value inner = mica_mul(a, mica_affine(squared, 0.044715 * SQRT_2_OVER_PI, SQRT_2_OVER_PI));
  mica_value t = mica_tanh(inner);
  mica_value inner_slope = mica_affine(squared, 3 * 0.044715 * SQRT_2_OVER_PI, SQRT_2_OVER_PI);
  mica_value t_slope = mica_mul(mica_affine(mica_square(t), -1, 1), inner_slope);
  return mica_add(mica_affine(t, 0.5, 0.5), mica_affine(mica_mul(a, t_slope), 0.5, 0));
}

static mica_value mish_slope(mica_value a) {
  mica_value t = mica_tanh(mica_softplus(a));
  return mica_add(t, mica_mul(mica_mul(a, mica_sigmoid(a)), mica_affine(mica_square(t), -1, 1)));
}

/* Initialises a variable p with the attribute p. */
#define ATTR_VALUE(name, attrs, p) p = ((const mica__##name##_attrs *)(attrs))->p

/* References. */
#define SCALAR(name, value, ...)                                                                                       \
  static double name##_scalar(const double *inputs, const void *attrs) {                                               \
    UNUSED const double __VA_ARGS__;                                                                                   \
    (void)attrs;                                                                                                       \
    return value;                                                                                                      \
  }
#define UNARY(name, class, expr, int_expr, value, da, ...) SCALAR(name, value, a = inputs[0])
#define UNARY1(name, class, p, p_default, p_doc, expr, int_expr, value, da, ...)                                       \
  SCALAR(name, value, a = inputs[0], ATTR_VALUE(name, attrs, p))
#define UNARY2(name, class, p, p_default, p_doc, q, q_default, q_doc, expr, int_expr, value, da, ...)                  \
  SCALAR(name, value, a = inputs[0], ATTR_VALUE(name, attrs, p), ATTR_VALUE(name, attrs, q))
#define BINARY(name, class, expr, int_expr, value, da, db, ...) SCALAR(name, value, a = inputs[0], b = inputs[1])
#define TERNARY(name, class, expr, int_expr, value, da, db, dc, ...)                                                   \
  SCALAR(name, value, a = inputs[0], b = inputs[1], c = inputs[2])
#include "ops/elementwise/elementwise.def"

/* Gradients. */
#define K(x) mica_scalar(y.graph, mica_value_dtype(y), x)
#define GRADIENT(name, ...)                                                                                            \
  static mica_status name##_grad(const mica__grad *grad) {                                                             \
    UNUSED const mica_value y = grad->y, dy = grad->dy;                                                                \
    __VA_ARGS__                                                                                                        \
    return MICA_OK;                                                                                                    \
  }
#define INPUT(letter, k) UNUSED const mica_value letter = grad->inputs[k];
#define TO(k, value) grad->dinputs[k] = mica__sum_to(value, grad->inputs[k]);
#define ATTR(name, p) UNUSED const double ATTR_VALUE(name, mica__attrs_of(y), p);
#define UNARY(name, class, expr, int_expr, value, da, ...) GRADIENT(name, INPUT(a, 0) grad->dinputs[0] = da;)
#define UNARY1(name, class, p, p_default, p_doc, expr, int_expr, value, da, ...)                                       \
  GRADIENT(name, INPUT(a, 0) ATTR(name, p) grad->dinputs[0] = da;)
#define UNARY2(name, class, p, p_default, p_doc, q, q_default, q_doc, expr, int_expr, value, da, ...)                  \
  GRADIENT(name, INPUT(a, 0) ATTR(name, p) ATTR(name, q) grad->dinputs[0] = da;)
#define BINARY(name, class, expr, int_expr, value, da, db, ...)                                                        \
  GRADIENT(name, INPUT(a, 0) INPUT(b, 1) TO(0, da) TO(1, db))
#define TERNARY(name, class, expr, int_expr, value, da, db, dc, ...)                                                   \
  GRADIENT(name, INPUT(a, 0) INPUT(b, 1) INPUT(c, 2) TO(0, da) TO(1, db) TO(2, dc))
#include "ops/elementwise/elementwise.def"

/* Descriptors and builders. */
#define DESCRIPTOR(label, class, arity, expr, int_expr, ...)                                                           \
  const mica__op mica__op_##label = {.name = #label,                                                                   \
                                     .kind = MICA__OP_POINTWISE,                                                       \
                                     .min_inputs = arity,                                                              \
                                     .max_inputs = arity,                                                              \
                                     .dtypes = DTYPES_##class,                                                         \
                                     .infer = infer_broadcast,                                                         \
                                     .grad = label##_grad,                                                             \
                                     .expression = expr,                                                               \
                                     .integer_expression = int_expr,                                                   \
                                     .scalar = label##_scalar,                                                         \
                                     .may_alias = (1u << (arity)) - 1,                                                 \
                                     __VA_ARGS__};
#define ATTRS(name, ...)                                                                                               \
  static const mica__attr_list name##_attrs = {.rows = (const mica__attr[]){__VA_ARGS__},                              \
                                               .count = sizeof(mica__##name##_attrs) / sizeof(double),                 \
                                               .bytes = sizeof(mica__##name##_attrs)};
#define ROW(name, p, p_default, p_doc)                                                                                 \
  { #p, MICA__ATTR_REAL, offsetof(mica__##name##_attrs, p), p_default, p_doc, NULL }
#define OPERANDS(...) ((mica_value[]){__VA_ARGS__})

/* True if an op's attributes are meaningful; else records an error in x's graph. */
static bool has_meaning(const mica__op *op, mica_value x, double p, double q);
#define UNARY(name, class, expr, int_expr, value, da, ...)                                                             \
  DESCRIPTOR(name, class, 1, expr, int_expr, __VA_ARGS__)                                                              \
  mica_value mica_##name(mica_value a) { return mica__graph_add(&mica__op_##name, &a, 1, NULL); }
#define UNARY1(name, class, p, p_default, p_doc, expr, int_expr, value, da, ...)                                       \
  ATTRS(name, ROW(name, p, p_default, p_doc))                                                                          \
  DESCRIPTOR(name, class, 1, expr, int_expr, .attrs = &name##_attrs, __VA_ARGS__)                                      \
  mica_value mica_##name(mica_value a, double p) {                                                                     \
    if (!has_meaning(&mica__op_##name, a, p, 0)) return NONE;                                                          \
    return mica__graph_add(&mica__op_##name, &a, 1, &(mica__##name##_attrs){p});                                       \
  }
#define UNARY2(name, class, p, p_default, p_doc, q, q_default, q_doc, expr, int_expr, value, da, ...)                  \
  ATTRS(name, ROW(name, p, p_default, p_doc), ROW(name, q, q_default, q_doc))                                          \
  DESCRIPTOR(name, class, 1, expr, int_expr, .attrs = &name##_attrs, __VA_ARGS__)                                      \
  mica_value mica_##name(mica_value a, double p, double q) {                                                           \
    if (!has_meaning(&mica__op_##name, a, p, q)) return NONE;                                                          \
    return mica__graph_add(&mica__op_##name, &a, 1, &(mica__##name##_attrs){p, q});                                    \
  }
#define BINARY(name, class, expr, int_expr, value, da, db, ...)                                                        \
  DESCRIPTOR(name, class, 2, expr, int_expr, __VA_ARGS__)                                                              \
  mica_value mica_##name(mica_value a, mica_value b) {                                                                 \
    return mica__graph_add(&mica__op_##name, OPERANDS(a, b), 2, NULL);                                                 \
  }
#define TERNARY(name, class, expr, int_expr, value, da, db, dc, ...)                                                   \
  DESCRIPTOR(name, class, 3, expr, int_expr, __VA_ARGS__)                                                              \
  mica_value mica_##name(mica_value a, mica_value b, mica_value c) {                                                   \
    return mica__graph_add(&mica__op_##name, OPERANDS(a, b, c), 3, NULL);                                              \
  }
#include "ops/elementwise/elementwise.def"

/* affine takes any numbers, since constants of a graph become its factors and offsets. */
static bool has_meaning(const mica__op *op, mica_value x, double p, double q) {
  if (!x.graph || op == &mica__op_affine) return true;
  if (op == &mica__op_clip && !(p <= q))
    mica__builder_fail(op->name, x, MICA_E_INVALID, "low is %g and high is %g, but low must be at most high", p, q);
  else if (op == &mica__op_celu && p == 0)
    mica__builder_fail(op->name, x, MICA_E_INVALID, "alpha must not be 0, because x is divided by alpha");
  else if (isnan(p) || isnan(q))
    mica__builder_fail(op->name, x, MICA_E_INVALID, "%s is NaN, but must be a number",
                       op->attrs->rows[isnan(p) ? 0 : 1].name);
  else
    return true;
  return false;
}
