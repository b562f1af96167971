#include "ops/elementwise/written_out.h"

#include "ir/pattern.h"
#include "ops/elementwise/elementwise.h"
#include "ops/select/registry.h"

#include <math.h>

#define SQRT_HALF 0.70710678118654752440
#define SQRT_2_OVER_PI 0.79788456080286535588
#define CUBE 0.044715

/* A value as number * factors / divisor, as in x / (1 + e^-x). */
#define MOST_FACTORS 4
typedef struct product {
  double number;
  int32_t factors[MOST_FACTORS], count;
  int32_t divisor; /* 0: none */
  bool fits;
} product;

/* A value as scale * term + offset. */
typedef struct line {
  double scale, offset;
  int32_t term;
} line;

static bool near(double a, double b) { return fabs(a - b) <= 1e-4 * fabs(b); }

static void multiply(const mica_graph *graph, int32_t id, int32_t depth, product *p);

static void multiply_power(const mica_graph *graph, int32_t id, double exponent, int32_t depth, product *p) {
  p->fits = p->fits && (exponent == 1 || exponent == 2 || exponent == 3);
  for (int i = 0; p->fits && i < (int)exponent; i++) multiply(graph, id, depth, p);
}

/* Multiplies p by in[0] / in[1]. in[1] may be a number other than 0 or, once, a value, which becomes the divisor.
 * Otherwise p->fits becomes false. */
static void divide(const mica_graph *graph, const int32_t in[4], int32_t depth, product *p) {
  double n = 0;
  bool number = mica__pattern_number(graph, in[1], &n);
  p->fits = p->fits && (number ? n != 0 : !p->divisor);
  if (number)
    p->number /= n;
  else
    p->divisor = in[1];
  multiply(graph, in[0], depth, p);
}

static void multiply(const mica_graph *graph, int32_t id, int32_t depth, product *p) {
  int32_t in[4];
  double n = 0;
  p->fits = p->fits && depth > -8;
  if (!p->fits) return;
  id = mica__pattern_behind(graph, id);
  const mica__affine_attrs *affine = mica__graph_node(graph, id)->attrs;
  if (mica__pattern_number(graph, id, &n)) {
    p->number *= n;
  } else if (depth > 0 && mica__pattern_op(graph, id, &mica__op_mul, in)) {
    multiply(graph, in[0], depth - 1, p);
    multiply(graph, in[1], depth - 1, p);
  } else if (depth > 0 && mica__pattern_op(graph, id, &mica__op_div, in)) {
    divide(graph, in, depth - 1, p);
  } else if (mica__pattern_op(graph, id, &mica__op_affine, in) && affine->offset == 0) {
    p->number *= affine->scale;
    multiply(graph, in[0], depth - 1, p);
  } else if (mica__pattern_op(graph, id, &mica__op_square, in)) {
    multiply_power(graph, in[0], 2, depth - 1, p);
  } else if (mica__pattern_op(graph, id, &mica__op_pow, in) && mica__pattern_number(graph, in[1], &n)) {
    multiply_power(graph, in[0], n, depth - 1, p);
  } else {
    p->fits = p->count < MOST_FACTORS;
    if (p->fits) p->factors[p->count++] = id;
  }
}

static product product_of(const mica_graph *graph, int32_t id) {
  product p = {.number = 1, .fits = true};
  multiply(graph, id, 6, &p);
  return p;
}

/* True if the node is an affine function of one value: affine, neg, or a sum, difference, product or quotient of a
 * value and a number, but not a number divided by a value. *l then includes its numbers, and *id becomes the value. */
static bool peel(const mica_graph *graph, int32_t *id, line *l) {
  int32_t in[4];
  double n = 0;
  const mica__node *node = mica__graph_node(graph, *id);
  if (mica__pattern_op(graph, *id, &mica__op_affine, in)) {
    const mica__affine_attrs *attrs = node->attrs;
    *l = (line){l->scale * attrs->scale, l->offset + l->scale * attrs->offset, in[0]};
  } else if (mica__pattern_op(graph, *id, &mica__op_neg, in)) {
    l->scale = -l->scale;
    l->term = in[0];
  } else if (mica__pattern_op(graph, *id, &mica__op_sub, in)) {
    if (mica__pattern_number(graph, in[1], &n))
      *l = (line){l->scale, l->offset - l->scale * n, in[0]};
    else if (mica__pattern_number(graph, in[0], &n))
      *l = (line){-l->scale, l->offset + l->scale * n, in[1]};
    else
      return false;
  } else if (mica__pattern_op(graph, *id, &mica__op_div, in) && mica__pattern_number(graph, in[1], &n) && n != 0) {
    *l = (line){l->scale / n, l->offset, in[0]};
  } else {
    bool sum = mica__pattern_op(graph, *id, &mica__op_add, in);
    if (!sum && !mica__pattern_op(graph, *id, &mica__op_mul, in)) return false;
    int32_t at = mica__pattern_number(graph, in[1], &n) ? 0 : 1;
    if (at == 1 && !mica__pattern_number(graph, in[0], &n)) return false;
    *l = sum ? (line){l->scale, l->offset + l->scale * n, in[at]} : (line){l->scale * n, l->offset, in[at]};
  }
  *id = l->term;
  return true;
}

static line line_of(const mica_graph *graph, int32_t id) {
  id = mica__pattern_behind(graph, id);
  line l = {.scale = 1, .term = id};
  for (int i = 0; i < 4 && peel(graph, &id, &l); i++) {}
  return l;
}

/* Matches the root as number * x * gate, where x is either factor and `is` accepts the gate and the number. */
typedef bool gate_is(const mica_graph *graph, int32_t x, int32_t gate, double number);
static bool match_gate(const mica__match *match, int32_t root, gate_is *is, int32_t *inputs, int32_t *count) {
  product p = product_of(match->graph, root);
  if (!p.fits || p.count != 2 || p.divisor) return false;
  for (int k = 0; k < 2; k++) {
    int32_t x = p.factors[k], gate = p.factors[1 - k];
    if (!mica__pattern_same_type(match->graph, x, root) || !is(match->graph, x, gate, p.number)) continue;
    inputs[0] = x;
    *count = 1;
    return true;
  }
  return false;
}

/* True if the node is 1 + e^-x. */
static bool is_logistic_divisor(const mica_graph *graph, int32_t x, int32_t id) {
  int32_t in[4];
  line sum = line_of(graph, id);
  if (!near(sum.scale, 1) || !near(sum.offset, 1) || !mica__pattern_op(graph, sum.term, &mica__op_exp, in))
    return false;
  line power = line_of(graph, in[0]);
  return near(power.scale, -1) && power.offset == 0 && power.term == x;
}

static bool is_sigmoid(const mica_graph *graph, int32_t x, int32_t gate, double number) {
  int32_t in[4];
  if (!near(number, 1)) return false;
  if (mica__pattern_op(graph, gate, &mica__op_sigmoid, in)) return in[0] == x;
  return mica__pattern_op(graph, gate, &mica__op_reciprocal, in) && is_logistic_divisor(graph, x, in[0]);
}

/* x sigmoid(x), x / (1 + e^-x), x (1 / (1 + e^-x)) */
MICA__WRITTEN_OUT(silu) {
  (void)attrs;
  product p = product_of(match->graph, root);
  bool quotient = p.fits && p.divisor && p.count == 1 && near(p.number, 1);
  if (!quotient) return match_gate(match, root, is_sigmoid, inputs, count);
  inputs[0] = p.factors[0];
  *count = 1;
  return mica__pattern_same_type(match->graph, inputs[0], root) &&
         is_logistic_divisor(match->graph, inputs[0], p.divisor);
}

/* True if number * gate has the form (1 + f(u)) / 2; *u receives u. */
static bool is_half_of(const mica_graph *graph, int32_t gate, double number, const mica__op *f, int32_t *u) {
  int32_t in[4];
  line sum = line_of(graph, gate);
  if (!near(number * sum.scale, 0.5) || !near(number * sum.offset, 0.5)) return false;
  if (!mica__pattern_op(graph, sum.term, f, in)) return false;
  *u = in[0];
  return true;
}

static bool is_normal_distribution(const mica_graph *graph, int32_t x, int32_t gate, double number) {
  int32_t u = 0;
  if (!is_half_of(graph, gate, number, &mica__op_erf, &u)) return false;
  line l = line_of(graph, u);
  return near(l.scale, SQRT_HALF) && l.offset == 0 && l.term == x;
}

/* x (1 + erf(x / sqrt 2)) / 2, the factors in any order */
MICA__WRITTEN_OUT(gelu) {
  (void)attrs;
  return match_gate(match, root, is_normal_distribution, inputs, count);
}

static bool is_power(const product *p, int32_t x, int32_t exponent) {
  bool is = p->fits && !p->divisor && p->count == exponent;
  for (int32_t i = 0; is && i < exponent; i++) is = p->factors[i] == x;
  return is;
}

/* x + 0.044715 x^3 */
static bool is_cubic(const mica_graph *graph, int32_t x, int32_t id) {
  int32_t in[4];
  if (!mica__pattern_op(graph, id, &mica__op_add, in)) return false;
  for (int k = 0; k < 2; k++) {
    product cube = product_of(graph, in[1 - k]);
    if (in[k] == x && is_power(&cube, x, 3) && near(cube.number, CUBE)) return true;
  }
  return false;
}

static bool is_tanh_distribution(const mica_graph *graph, int32_t x, int32_t gate, double number) {
  int32_t u = 0;
  if (!is_half_of(graph, gate, number, &mica__op_tanh, &u)) return false;
  product p = product_of(graph, u);
  if (!p.fits || p.divisor) return false;
  if (p.count == 1) return near(p.number, SQRT_2_OVER_PI) && is_cubic(graph, x, p.factors[0]);
  if (p.count != 2 || (p.factors[0] != x && p.factors[1] != x)) return false;
  /* x (1 + 0.044715 x^2), the number outside or inside */
  line l = line_of(graph, p.factors[0] == x ? p.factors[1] : p.factors[0]);
  product square = product_of(graph, l.term);
  return is_power(&square, x, 2) && near(p.number * l.offset, SQRT_2_OVER_PI) &&
         near(p.number * l.scale * square.number, SQRT_2_OVER_PI * CUBE);
}

/* x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2, also with x (1 + 0.044715 x^2) inside */
MICA__WRITTEN_OUT(gelu_tanh) {
  (void)attrs;
  return match_gate(match, root, is_tanh_distribution, inputs, count);
}

static bool is_tanh_of_softplus(const mica_graph *graph, int32_t x, int32_t gate, double number) {
  int32_t in[4], inner[4];
  return near(number, 1) && mica__pattern_op(graph, gate, &mica__op_tanh, in) &&
         mica__pattern_op(graph, in[0], &mica__op_softplus, inner) && inner[0] == x;
}

/* x tanh(softplus(x)) */
MICA__WRITTEN_OUT(mish) {
  (void)attrs;
  return match_gate(match, root, is_tanh_of_softplus, inputs, count);
}

static bool is_hard_sigmoid(const mica_graph *graph, int32_t x, int32_t gate, double number) {
  int32_t in[4];
  const mica__node *node = mica__graph_node(graph, gate);
  if (mica__pattern_op(graph, gate, &mica__op_hard_sigmoid, in)) {
    const mica__hard_sigmoid_attrs *attrs = node->attrs;
    return near(number, 1) && near(attrs->scale, 1.0 / 6) && near(attrs->offset, 0.5) && in[0] == x;
  }
  if (!near(number, 1.0 / 6) || !mica__pattern_op(graph, gate, &mica__op_clip, in)) return false;
  const mica__clip_attrs *clip = node->attrs;
  line l = line_of(graph, in[0]);
  return clip->low == 0 && clip->high == 6 && near(l.scale, 1) && near(l.offset, 3) && l.term == x;
}

/* x min(max(x + 3, 0), 6) / 6, and x hard_sigmoid(x) with a slope of 1/6 */
MICA__WRITTEN_OUT(hard_swish) {
  (void)attrs;
  return match_gate(match, root, is_hard_sigmoid, inputs, count);
}
