/* Finds 8-bit products in graphs: quantize(activation(matmul(dequantize, dequantize) + bias)) and parts of it, the same
 * for convolutions, products of integers that are cast to i32 before their zero points are subtracted, max pooling
 * between equal scales, and the addition of other bytes to a convolution's result. */
#include "base/element.h"
#include "ir/pattern.h"
#include "ops/elementwise/elementwise.h"
#include "ops/pool/max_pool.h"
#include "ops/pool/pool.h"
#include "ops/quant/int8.h"
#include "ops/select/registry.h"

#include <math.h>
#include <string.h>

extern const mica__op mica__op_matmul_integer;

static const mica__node *node_of(const mica_graph *graph, int32_t id) { return mica__graph_node(graph, id); }
static mica_shape shape_of(const mica_graph *graph, int32_t id) { return node_of(graph, id)->type.shape; }
static mica_dtype dtype_of(const mica_graph *graph, int32_t id) { return node_of(graph, id)->type.dtype; }

/* Returns the value before any reshapes. */
static int32_t behind_shapes(const mica_graph *graph, int32_t id) {
  for (;;) {
    id = mica__pattern_behind(graph, id);
    if (node_of(graph, id)->op != &mica__op_reshape) return id;
    id = node_of(graph, id)->inputs[0];
  }
}

/* --- operands --- */

/* An integer operand and its numbers, as ids of values; 0: absent. */
typedef struct operand {
  int32_t q, scale, zero;
  bool reshaped; /* it is used in another shape than q's */
} operand;

static bool is_byte(mica_dtype dtype) { return dtype == MICA_I8 || dtype == MICA_U8; }

/* True if the type certainly holds every value of the zero point: it is cast from this type, or its values are known
 * and fit. */
static bool fits_in(const mica_graph *graph, int32_t zero, mica_dtype dtype) {
  double low = dtype == MICA_I8 ? -128 : 0, high = dtype == MICA_I8 ? 127 : 255, number = 0;
  for (;;) {
    const mica__node *node = node_of(graph, zero);
    if (node->type.dtype == dtype) return true;
    if (mica__pattern_number(graph, zero, &number)) return number >= low && number <= high && rint(number) == number;
    if (node->op == &mica__op_constant) {
      int64_t count = 0;
      bool fits = mica_shape_count(node->type.shape, &count) == MICA_OK;
      for (int64_t i = 0; fits && i < count; i++) {
        number = mica__element_get(node->type.dtype, node->data, i);
        fits = number >= low && number <= high && rint(number) == number;
      }
      return fits;
    }
    if (node->op != &mica__op_cast && node->op->kind != MICA__OP_VIEW) return false;
    zero = node->inputs[0];
  }
}

/* True if the zero point is known to be all 0: exporters write one per filter, mostly zeros. */
static bool is_zero(const mica_graph *graph, int32_t zero) {
  double number = 0;
  int64_t count = 0;
  if (mica__pattern_number(graph, zero, &number)) return number == 0;
  const mica__node *node = node_of(graph, zero);
  while (node->op == &mica__op_cast || (node->op && node->op->kind == MICA__OP_VIEW))
    node = node_of(graph, node->inputs[0]);
  bool all = node->op == &mica__op_constant && mica_shape_count(node->type.shape, &count) == MICA_OK;
  for (int64_t i = 0; all && i < count; i++) all = mica__element_get(node->type.dtype, node->data, i) == 0;
  return all;
}

static void drop_zero(const mica_graph *graph, operand *o) {
  if (o->zero && is_zero(graph, o->zero)) o->zero = 0;
}

/* Matches dequantize (q, scale, zero) of bytes. */
static bool dequantized(const mica_graph *graph, int32_t id, operand *o) {
  int32_t inner = behind_shapes(graph, id), in[4];
  if (!mica__pattern_op(graph, inner, &mica__op_dequantize, in)) return false;
  if (!is_byte(dtype_of(graph, in[0])) || dtype_of(graph, inner) != MICA_F32) return false;
  *o = (operand){in[0], in[1], in[2], !mica_shape_equal(shape_of(graph, id), shape_of(graph, in[0]))};
  drop_zero(graph, o);
  return !o->zero || fits_in(graph, o->zero, dtype_of(graph, o->q));
}

/* Matches cast (q, i32) - zero of bytes. */
static bool centred(const mica_graph *graph, int32_t id, operand *o) {
  int32_t inner = behind_shapes(graph, id), in[4], cast[4];
  bool offset = mica__pattern_op(graph, inner, &mica__op_sub, in);
  if (!mica__pattern_op(graph, offset ? in[0] : inner, &mica__op_cast, cast)) return false;
  if (!is_byte(dtype_of(graph, cast[0])) || dtype_of(graph, inner) != MICA_I32) return false;
  *o = (operand){cast[0], 0, offset ? in[1] : 0, !mica_shape_equal(shape_of(graph, id), shape_of(graph, cast[0]))};
  if (!mica_shape_equal(shape_of(graph, inner), shape_of(graph, cast[0]))) return false;
  drop_zero(graph, o);
  return !o->zero || fits_in(graph, o->zero, dtype_of(graph, o->q));
}

/* True if `part` is absent, one number, or one number per index of q's axis `from_last`, counted from the last. */
static bool lies_along(const mica_graph *graph, int32_t part, int32_t q, int32_t from_last) {
  if (!part) return true;
  mica_shape shape = shape_of(graph, part), whole = shape_of(graph, q);
  for (int32_t i = 0; i < shape.rank; i++) {
    int32_t at = shape.rank - 1 - i;
    if (shape.dim[i] == 1) continue;
    if (at != from_last || at >= whole.rank || shape.dim[i] != whole.dim[whole.rank - 1 - at]) return false;
  }
  return true;
}

static bool is_one_number(const mica_graph *graph, int32_t part) {
  int64_t count = 0;
  return !part || (mica_shape_count(shape_of(graph, part), &count) == MICA_OK && count == 1);
}

/* --- what follows a product --- */

typedef bool match_fn(const mica__match *match, int32_t root, int32_t *inputs, int32_t *count, void *attrs);

/* What follows a product in the graph, found from the last node back. product: the next node to look at, in the end
 * the product. */
typedef struct above {
  mica__int8_attrs *attrs;
  int32_t product, bias, y_scale, y_zero;
} above;

static bool peel_quantize(const mica_graph *graph, above *t) {
  int32_t in[4];
  const mica__node *node = node_of(graph, t->product);
  if (!mica__pattern_op(graph, t->product, &mica__op_quantize, in)) return false;
  const mica__quantize_attrs *attrs = node->attrs;
  bool whole = (attrs->to == MICA_I8 && attrs->low == -128 && attrs->high == 127) ||
               (attrs->to == MICA_U8 && attrs->low == 0 && attrs->high == 255);
  if (!whole || attrs->wide || !is_one_number(graph, in[1]) || !is_one_number(graph, in[2])) return false;
  if (dtype_of(graph, in[1]) != MICA_F32 || !fits_in(graph, in[2], attrs->to)) return false;
  double number = 0;
  t->attrs->to = attrs->to;
  t->y_scale = in[1];
  t->y_zero = mica__pattern_number(graph, in[2], &number) && number == 0 ? 0 : in[2];
  t->product = behind_shapes(graph, in[0]);
  return true;
}

static void peel_activation(const mica_graph *graph, above *t) {
  int32_t in[4];
  const mica__node *node = node_of(graph, t->product);
  if (node->type.dtype != MICA_F32) return; /* sums of integers have no activation */
  if (mica__pattern_op(graph, t->product, &mica__op_relu, in)) {
    t->attrs->low = 0;
  } else if (mica__pattern_op(graph, t->product, &mica__op_clip, in)) {
    const mica__clip_attrs *clip = node->attrs;
    if (isnan(clip->low) || isnan(clip->high)) return;
    t->attrs->low = clip->low;
    t->attrs->high = clip->high;
  } else {
    return;
  }
  t->product = behind_shapes(graph, in[0]);
}

/* True if two shapes of a convolution's result have the same images and channels. */
static bool same_channels(const mica_graph *graph, int32_t a, int32_t b) {
  mica_shape x = shape_of(graph, a), y = shape_of(graph, b);
  return x.rank > 1 && y.rank > 1 && x.dim[0] == y.dim[0] && x.dim[1] == y.dim[1];
}

/* op: the float product; found: the matcher of the integer op that may have replaced it already. axis: the axis of the
 * result's columns (0) or filters, counted from the last; count: their number. */
static void peel_bias(const mica_graph *graph, above *t, const mica__op *op, match_fn *found, int32_t axis,
                      int64_t count) {
  int32_t in[4];
  if (!mica__pattern_op(graph, t->product, &mica__op_add, in)) return;
  for (int k = 0; k < 2; k++) {
    int64_t has = 0;
    int32_t product = behind_shapes(graph, in[k]), bias = in[1 - k];
    if ((node_of(graph, product)->op != op && node_of(graph, product)->op->match != found) ||
        dtype_of(graph, bias) != MICA_F32)
      continue;
    if (mica_shape_count(shape_of(graph, bias), &has) != MICA_OK || has != count) continue;
    if (!lies_along(graph, bias, t->product, axis)) continue;
    if (axis > 0 && !same_channels(graph, product, t->product)) continue;
    t->bias = bias;
    t->product = product;
    return;
  }
}

/* Matches a cast of real numbers to i32. If they are a product whose scales are all 1, which the caller checks, it
 * gives the sums. */
static bool peel_cast(const mica_graph *graph, above *t) {
  int32_t in[4];
  if (!mica__pattern_op(graph, t->product, &mica__op_cast, in)) return false;
  if (dtype_of(graph, t->product) != MICA_I32 || dtype_of(graph, in[0]) != MICA_F32) return false;
  t->product = behind_shapes(graph, in[0]);
  t->attrs->to = MICA_I32;
  return true;
}

static bool is_one(const mica_graph *graph, int32_t scale) {
  double number = 0;
  return mica__pattern_number(graph, scale, &number) && number == 1;
}

/* Stores operands as the node's inputs; 0: absent. */
static void give_ids(const int32_t ids[MICA__INT8_OPERANDS], mica__int8_attrs *attrs, int32_t *inputs, int32_t *count) {
  *count = 0;
  attrs->present = 0;
  for (int32_t i = 0; i < MICA__INT8_OPERANDS; i++) {
    if (!ids[i]) continue;
    attrs->present |= INT64_C(1) << i;
    inputs[(*count)++] = ids[i];
  }
}

static void give(const operand *first, const operand *second, const above *t, int32_t *inputs, int32_t *count) {
  bool scaled = t->attrs->to != MICA_I32;
  const int32_t ids[MICA__INT8_OPERANDS] = {first->q,
                                            second->q,
                                            scaled ? first->scale : 0,
                                            first->zero,
                                            scaled ? second->scale : 0,
                                            second->zero,
                                            t->bias,
                                            t->y_scale,
                                            t->y_zero,
                                            0,
                                            0,
                                            0,
                                            0,
                                            0};
  give_ids(ids, t->attrs, inputs, count);
}

/* Extends an integer product that gives real numbers by bias, activation and quantization: while a model is imported,
 * products are matched node by node, before the nodes after them exist. */
static bool continued(const mica__match *match, match_fn *found, const above *t, int32_t *inputs, int32_t *count) {
  const mica__node *node = node_of(match->graph, t->product);
  if (!match->users || node->op->match != found) return false;
  const mica__int8_attrs *had = node->attrs;
  const bool bounded = had->low > -INFINITY || had->high < INFINITY;
  const bool more = t->attrs->low > -INFINITY || t->attrs->high < INFINITY;
  const bool quantized = mica__int8_input(had, MICA__INT8_Y_SCALE) >= 0,
             biased = mica__int8_input(had, MICA__INT8_BIAS) >= 0;
  if (had->to != MICA_F32 || quantized || (bounded && (more || t->bias)) || (biased && t->bias)) return false;
  if (!more && !t->bias && !t->y_scale) return false;
  int32_t ids[MICA__INT8_OPERANDS] = {0};
  for (int32_t i = 0; i < MICA__INT8_OPERANDS; i++) {
    const int32_t at = mica__int8_input(had, (mica__int8_operand)i);
    if (at >= 0) ids[i] = node->inputs[at];
  }
  if (t->bias) ids[MICA__INT8_BIAS] = t->bias;
  ids[MICA__INT8_Y_SCALE] = t->y_scale;
  ids[MICA__INT8_Y_ZERO] = t->y_zero;
  mica__int8_attrs attrs = *had;
  attrs.to = t->attrs->to;
  attrs.low = more ? t->attrs->low : had->low;
  attrs.high = more ? t->attrs->high : had->high;
  *t->attrs = attrs;
  give_ids(ids, t->attrs, inputs, count);
  return true;
}

/* --- products of matrices --- */

/* True if the node swaps the last two axes of *of. */
static bool swaps_last(const mica_graph *graph, int32_t id, int32_t *of) {
  const mica__node *node = node_of(graph, id);
  int32_t rank = node->type.shape.rank;
  if (node->op != &mica__op_transpose || rank < 2) return false;
  const mica__transpose_attrs *attrs = node->attrs;
  for (int32_t i = 0; i < rank; i++)
    if (attrs->axes[i] != (i == rank - 1 ? rank - 2 : i == rank - 2 ? rank - 1 : i)) return false;
  *of = node->inputs[0];
  return true;
}

typedef bool operand_is(const mica_graph *graph, int32_t id, operand *o);

static bool matrices(const mica_graph *graph, int32_t product, operand_is *is, operand *a, operand *b,
                     bool *transposed) {
  int32_t in[4], of = 0;
  if (!mica__pattern_op(graph, product, node_of(graph, product)->op, in)) return false;
  *transposed = swaps_last(graph, in[1], &of);
  if (!is(graph, in[0], a) || !is(graph, *transposed ? of : in[1], b) || b->reshaped) return false;
  /* If a is used in another shape, its rows are not an axis of q. */
  bool by_rows = !a->reshaped && shape_of(graph, a->q).rank == 2;
  if (!by_rows && (!is_one_number(graph, a->scale) || !is_one_number(graph, a->zero))) return false;
  return lies_along(graph, a->scale, a->q, 1) && lies_along(graph, a->zero, a->q, 1) &&
         lies_along(graph, b->scale, b->q, *transposed) && lies_along(graph, b->zero, b->q, *transposed);
}

bool mica__int8_match_matmul(const mica__match *match, int32_t root, int32_t *inputs, int32_t *count,
                             void *attributes) {
  const mica_graph *graph = match->graph;
  mica__int8_attrs *attrs = attributes;
  above t = {.attrs = attrs, .product = mica__pattern_behind(graph, root)};
  operand a, b;
  attrs->to = MICA_F32;
  bool sums = peel_cast(graph, &t);
  if (!sums) {
    peel_quantize(graph, &t);
    t.product = behind_shapes(graph, t.product);
    peel_activation(graph, &t);
    mica_shape shape = shape_of(graph, t.product);
    if (shape.rank > 0) peel_bias(graph, &t, &mica__op_matmul, mica__int8_match_matmul, 0, shape.dim[shape.rank - 1]);
  }
  if (!sums && continued(match, mica__int8_match_matmul, &t, inputs, count)) return true;
  const mica__op *op = node_of(graph, t.product)->op;
  bool integers = op == &mica__op_matmul_integer && dtype_of(graph, t.product) == MICA_I32;
  if (integers ? t.y_scale || t.bias || sums : op != &mica__op_matmul) return false;
  if (!matrices(graph, t.product, integers ? centred : dequantized, &a, &b, &attrs->transposed)) return false;
  if (sums && (!is_one(graph, a.scale) || !is_one(graph, b.scale))) return false;
  if (integers) attrs->to = MICA_I32;
  give(&a, &b, &t, inputs, count);
  return true;
}

/* --- convolutions --- */

static bool copy_spatial(const mica__node *node, const char *name, int64_t *to) {
  const mica__attr *attr = mica__attr_find(node->op->attrs, name, strlen(name));
  if (!attr || attr->kind != MICA__ATTR_SPATIAL) return false;
  memcpy(to, (const char *)node->attrs + attr->offset, MICA__MAX_SPATIAL * sizeof *to);
  return true;
}

static bool copy_window(const mica__node *node, mica__int8_attrs *attrs) {
  const mica__attr *groups = mica__attr_find(node->op->attrs, "groups", 6);
  if (!groups) return false;
  attrs->groups = (int64_t)mica__attr_number(groups, node->attrs);
  return copy_spatial(node, "stride", attrs->stride) && copy_spatial(node, "pad", attrs->pad) &&
         copy_spatial(node, "pad_more", attrs->pad_more) && copy_spatial(node, "dilation", attrs->dilation);
}

static bool match_plain(const mica__match *match, int32_t root, int32_t *inputs, int32_t *count,
                        mica__int8_attrs *attrs) {
  const mica_graph *graph = match->graph;
  above t = {.attrs = attrs, .product = mica__pattern_behind(graph, root)};
  operand x, w;
  int32_t in[4];
  attrs->to = MICA_F32;
  bool sums = peel_cast(graph, &t);
  if (!sums) {
    peel_quantize(graph, &t);
    peel_activation(graph, &t);
    mica_shape shape = shape_of(graph, t.product);
    if (shape.rank >= 3) peel_bias(graph, &t, &mica__op_conv, mica__int8_match_conv, shape.rank - 2, shape.dim[1]);
  }
  if (!sums && continued(match, mica__int8_match_conv, &t, inputs, count)) return true;
  const mica__node *node = node_of(graph, t.product);
  if (node->op != &mica__op_conv || node->input_count != 2 || node->type.shape.rank > 4) return false;
  if (!mica__pattern_op(graph, t.product, &mica__op_conv, in) || !copy_window(node, attrs)) return false;
  if (!dequantized(graph, in[0], &x) || !dequantized(graph, in[1], &w) || x.reshaped || w.reshaped) return false;
  int32_t filters = shape_of(graph, w.q).rank - 1;
  if (!is_one_number(graph, x.scale) || !is_one_number(graph, x.zero)) return false;
  if (!lies_along(graph, w.scale, w.q, filters) || !lies_along(graph, w.zero, w.q, filters)) return false;
  if (sums && (!is_one(graph, x.scale) || !is_one(graph, w.scale))) return false;
  give(&x, &w, &t, inputs, count);
  return true;
}

/* True if only operand k of the node needs `id`, which it reads through a dequantization. */
static bool alone_needs(const mica__match *match, int32_t node, int32_t k, int32_t id) {
  for (int32_t at = node_of(match->graph, node)->inputs[k];; at = node_of(match->graph, at)->inputs[0]) {
    if (match->users[at - 1] != 1) return false;
    if (at == id) return true;
    if (node_of(match->graph, at)->input_count == 0) return false;
  }
}

/* True if both are the same value or the same number; an absent one counts as 0. */
static bool same_number(const mica_graph *graph, int32_t a, int32_t b) {
  double x = 0, y = 0;
  return a == b || ((!a || mica__pattern_number(graph, a, &x)) && (!b || mica__pattern_number(graph, b, &y)) && x == y);
}

/* True if a convolution gives these bytes, and adds no other bytes yet. Sets its operands (0: absent) and
 * attributes. */
static bool conv_of_bytes(const mica__match *match, int32_t bytes, int32_t ids[MICA__INT8_OPERANDS],
                          mica__int8_attrs *attrs) {
  const mica__node *node = node_of(match->graph, bytes);
  int32_t found[MICA__INT8_OPERANDS], count = 0;
  const int32_t *inputs = found;
  if (node->op->match == mica__int8_match_conv) {
    *attrs = *(const mica__int8_attrs *)node->attrs;
    inputs = node->inputs;
  } else if (!match_plain(match, bytes, found, &count, attrs)) {
    return false;
  }
  for (int32_t i = 0; i < MICA__INT8_OPERANDS; i++) {
    const int32_t at = mica__int8_input(attrs, (mica__int8_operand)i);
    ids[i] = at >= 0 ? inputs[at] : 0;
  }
  return is_byte(attrs->to) && ids[MICA__INT8_Y_SCALE] && !ids[MICA__INT8_OTHER];
}

/* Matches a residual connection of integers: a convolution's bytes, which nothing else needs, and other bytes are
 * dequantized, added and quantized again. */
static bool match_sum(const mica__match *match, int32_t root, int32_t *inputs, int32_t *count,
                      mica__int8_attrs *attrs) {
  const mica_graph *graph = match->graph;
  mica__int8_attrs outer = *attrs;
  above t = {.attrs = &outer, .product = mica__pattern_behind(graph, root)};
  int32_t in[4];
  operand own, other;
  if (!match->users || !peel_quantize(graph, &t)) return false;
  peel_activation(graph, &t);
  if (!mica__pattern_op(graph, t.product, &mica__op_add, in)) return false;
  for (int32_t k = 0; k < 2; k++) {
    int32_t ids[MICA__INT8_OPERANDS];
    if (!dequantized(graph, in[k], &own) || !dequantized(graph, in[1 - k], &other)) return false;
    const int32_t bytes = mica__pattern_behind(graph, own.q);
    if (own.reshaped || other.reshaped || !mica_shape_equal(shape_of(graph, own.q), shape_of(graph, other.q)) ||
        !mica_shape_equal(shape_of(graph, own.q), shape_of(graph, root)) || !is_one_number(graph, other.scale) ||
        !is_one_number(graph, other.zero) || !alone_needs(match, t.product, k, bytes))
      continue;
    mica__int8_attrs inner = *attrs;
    if (!conv_of_bytes(match, bytes, ids, &inner)) continue;
    if (!same_number(graph, own.scale, ids[MICA__INT8_Y_SCALE]) ||
        !same_number(graph, own.zero, ids[MICA__INT8_Y_ZERO]))
      continue;
    *attrs = inner;
    attrs->sum_to = outer.to;
    attrs->sum_low = outer.low;
    attrs->sum_high = outer.high;
    ids[MICA__INT8_OTHER] = other.q;
    ids[MICA__INT8_OTHER_SCALE] = other.scale;
    ids[MICA__INT8_OTHER_ZERO] = other.zero;
    ids[MICA__INT8_SUM_SCALE] = t.y_scale;
    ids[MICA__INT8_SUM_ZERO] = t.y_zero;
    give_ids(ids, attrs, inputs, count);
    return true;
  }
  return false;
}

bool mica__int8_match_conv(const mica__match *match, int32_t root, int32_t *inputs, int32_t *count, void *attributes) {
  return match_sum(match, root, inputs, count, attributes) || match_plain(match, root, inputs, count, attributes);
}

/* --- pooling --- */

/* True if a number that is multiplied by the scale and then divided by it stays the same, but for rounding. */
static bool is_ordinary(const mica_graph *graph, int32_t scale) {
  double number = 1;
  return !scale || (mica__pattern_number(graph, scale, &number) && number > 1e-30 && number < 1e30);
}

bool mica__int8_match_max_pool(const mica__match *match, int32_t root, int32_t *inputs, int32_t *count,
                               void *attributes) {
  const mica_graph *graph = match->graph;
  mica__int8_attrs quantized = {0};
  above t = {.attrs = &quantized, .product = mica__pattern_behind(graph, root)};
  int32_t in[4];
  operand x;
  if (!match->users || !peel_quantize(graph, &t) || !mica__pattern_op(graph, t.product, &mica__op_max_pool, in) ||
      !mica_shape_equal(shape_of(graph, t.product), shape_of(graph, root)))
    return false;
  if (!dequantized(graph, in[0], &x) || x.reshaped || dtype_of(graph, x.q) != quantized.to) return false;
  if (!is_one_number(graph, x.scale) || !is_one_number(graph, x.zero) || !is_ordinary(graph, x.scale)) return false;
  if (!same_number(graph, x.scale, t.y_scale) || !same_number(graph, x.zero, t.y_zero)) return false;
  *(mica__max_pool_attrs *)attributes = *(const mica__max_pool_attrs *)node_of(graph, t.product)->attrs;
  inputs[0] = x.q;
  *count = 1;
  return true;
}
