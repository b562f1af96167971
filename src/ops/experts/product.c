/* Mixtures of experts in graphs: routes, products with experts, and sums of their results. */
#include "base/error.h"
#include "ops/common/build.h"
#include "ops/experts/experts.h"
#include "ops/index/index.h"

#include <mica/index.h>
#include <mica/nodes.h>

enum { X = MICA__EXPERT_X, W = MICA__EXPERT_W, IDS = MICA__EXPERT_IDS, OPERANDS = MICA__EXPERT_OPERANDS };

static const mica_value null_value = {0};
static MICA__ATTR_TABLE(expert, MICA__EXPERT_ATTRS);

/* --- types --- */

static bool agree(int64_t a, int64_t b) { return a == b || a == MICA_DYNAMIC || b == MICA_DYNAMIC; }

/* MICA_E_SHAPE unless rows are (.., S, k) or (.., 1, k), and ids are (.., S) with S known. */
static mica_status check_rows(mica_shape x, mica_shape ids) {
  char text[2][MICA_SHAPE_TEXT];
  bool fits = ids.rank >= 1 && x.rank == ids.rank + 1;
  for (int32_t i = 0; fits && i + 1 < ids.rank; i++) fits = agree(x.dim[i], ids.dim[i]);
  const int64_t given = fits ? x.dim[x.rank - 2] : 0, chosen = fits ? ids.dim[ids.rank - 1] : 0;
  if (fits && given != MICA_DYNAMIC && chosen != MICA_DYNAMIC && (given == 1 || given == chosen)) return MICA_OK;
  return mica__fail(MICA_E_SHAPE,
                    "rows are %s and ids %s, but rows must be (.., S, k) or (.., 1, k), and ids (.., S) with a known S",
                    mica_shape_format(x, text[0]), mica_shape_format(ids, text[1]));
}

static mica_status check_weights(const mica__expert_attrs *attrs, const mica__type *w) {
  char text[MICA_SHAPE_TEXT];
  if (w->shape.rank != 3 || !mica__shape_is_known(w->shape))
    return mica__fail(MICA_E_SHAPE, "weights are %s, but must be (experts, n, k), all known",
                      mica_shape_format(w->shape, text));
  if (w->shape.dim[0] >= INT32_MAX)
    return mica__fail(MICA_E_OVERFLOW, "the weights have %lld experts, but at most 2^31 - 2 are supported",
                      (long long)w->shape.dim[0]);
  if (w->shape.dim[1] < 1 || w->shape.dim[2] < 1)
    return mica__fail(MICA_E_SHAPE, "weights are %s, but their rows and columns must be at least 1",
                      mica_shape_format(w->shape, text));
  if (attrs->block != MICA_BLOCK_NONE)
    return mica__unblock_check(&(mica__unblock_attrs){attrs->block, attrs->columns, MICA_F32}, w);
  if (w->dtype == MICA_F32 || w->dtype == MICA_F16 || w->dtype == MICA_BF16) return MICA_OK;
  return mica__fail(MICA_E_DTYPE, "weights are %s, but must be f32, f16, bf16 or blocks", mica_dtype_name(w->dtype));
}

static mica_status infer_product(const mica__type *inputs, int32_t input_count, void *attributes, mica__type *out) {
  const mica__expert_attrs *attrs = attributes;
  const mica_shape x = inputs[X].shape, ids = inputs[IDS].shape;
  char text[MICA_SHAPE_TEXT];
  (void)input_count;
  if (inputs[X].dtype != MICA_F32)
    return mica__fail(MICA_E_DTYPE, "rows are %s, but must be f32", mica_dtype_name(inputs[X].dtype));
  MICA_TRY(check_rows(x, ids));
  MICA_TRY(check_weights(attrs, &inputs[W]));
  const mica__expert_sizes s = mica__expert_sizes_of(attrs, x, inputs[W].shape, ids);
  if (x.dim[x.rank - 1] != s.k)
    return mica__fail(MICA_E_SHAPE, "rows are %s, but their last dimension must be %lld to fit the weights",
                      mica_shape_format(x, text), (long long)s.k);
  *out = (mica__type){MICA_F32, ids};
  for (int32_t i = 0; i + 1 < ids.rank; i++)
    if (ids.dim[i] == MICA_DYNAMIC) out->shape.dim[i] = x.dim[i];
  out->shape.dim[out->shape.rank++] = s.n;
  return MICA_OK;
}

static mica_status infer_grad(const mica__type *inputs, int32_t input_count, void *attributes, mica__type *out) {
  const mica__expert_attrs *attrs = attributes;
  const mica_shape x = inputs[X].shape, dy = inputs[W].shape, ids = inputs[IDS].shape;
  (void)input_count;
  if (inputs[X].dtype != MICA_F32 || inputs[W].dtype != MICA_F32)
    return mica__fail(MICA_E_DTYPE, "x and dy are %s and %s, but must be f32", mica_dtype_name(inputs[X].dtype),
                      mica_dtype_name(inputs[W].dtype));
  MICA_TRY(check_rows(x, ids));
  MICA_TRY(check_rows(dy, ids));
  if (attrs->experts < 0)
    return mica__fail(MICA_E_SHAPE, "the number of experts is %lld, but must not be negative",
                      (long long)attrs->experts);
  if (dy.dim[dy.rank - 2] != ids.dim[ids.rank - 1])
    return mica__fail(MICA_E_SHAPE, "dy has %lld rows per row of ids, but must have %lld, one per id",
                      (long long)dy.dim[dy.rank - 2], (long long)ids.dim[ids.rank - 1]);
  *out = (mica__type){MICA_F32, MICA_SHAPE(attrs->experts, dy.dim[dy.rank - 1], x.dim[x.rank - 1])};
  return MICA_OK;
}

/* --- the references --- */

/* Returns element (j, i) of an expert's matrix. */
static double weight_at(const mica__expert_attrs *attrs, const mica__expert_sizes *s, const double *w, int64_t expert,
                        int64_t j, int64_t i) {
  const int64_t row = attrs->by_k ? expert * s->k + i : expert * s->n + j, column = attrs->by_k ? j : i;
  const int64_t columns = attrs->by_k ? s->n : s->k;
  if (attrs->block == MICA_BLOCK_NONE) return w[row * columns + column];
  const mica__block_layout *layout = mica__block_layout_of((mica_block)attrs->block);
  uint8_t block[MICA__BLOCK_MOST];
  float values[MICA__BLOCK_MOST];
  const double *at = w + (row * (columns / layout->elements) + column / layout->elements) * layout->bytes;
  for (int32_t b = 0; b < layout->bytes; b++) block[b] = (uint8_t)at[b];
  mica__block_values((mica_block)attrs->block, block, values);
  return values[column % layout->elements];
}

static mica_status evaluate_product(const mica__eval *eval) {
  const mica__expert_attrs *attrs = eval->attrs;
  const mica__expert_sizes s =
      mica__expert_sizes_of(attrs, eval->types[X].shape, eval->types[W].shape, eval->types[IDS].shape);
  for (int64_t p = 0; p < s.rows * s.chosen; p++) {
    const int64_t expert = mica__index_resolve(eval->inputs[IDS][p], s.experts);
    const double *x = eval->inputs[X] + p / s.share * s.k;
    for (int64_t j = 0; j < s.n; j++) {
      double sum = 0;
      for (int64_t i = 0; expert >= 0 && i < s.k; i++)
        sum += x[i] * weight_at(attrs, &s, eval->inputs[W], expert, j, i);
      eval->output[p * s.n + j] = sum;
    }
  }
  return MICA_OK;
}

static mica_status evaluate_grad(const mica__eval *eval) {
  const mica__expert_attrs *attrs = eval->attrs;
  const mica_shape x = eval->types[X].shape, w = eval->type->shape;
  const mica__expert_sizes s = mica__expert_sizes_of(attrs, x, w, eval->types[IDS].shape);
  for (int64_t i = 0; i < s.experts * s.n * s.k; i++) eval->output[i] = 0;
  for (int64_t p = 0; p < s.rows * s.chosen; p++) {
    const int64_t expert = mica__index_resolve(eval->inputs[IDS][p], s.experts);
    const double *row = eval->inputs[X] + p / s.share * s.k, *dy = eval->inputs[W] + p * s.n;
    for (int64_t j = 0; expert >= 0 && j < s.n; j++)
      for (int64_t i = 0; i < s.k; i++) eval->output[(expert * s.n + j) * s.k + i] += dy[j] * row[i];
  }
  return MICA_OK;
}

/* --- gradients --- */

static mica_value product(mica_value x, mica_value w, mica_value ids, const mica__expert_attrs *attrs) {
  return mica__graph_add(&mica__op_expert_product, (mica_value[]){x, w, ids}, OPERANDS, attrs);
}

static bool is_shared(mica_value x, mica_value ids) {
  const mica_shape rows = mica_value_shape(x), which = mica_value_shape(ids);
  return rows.dim[rows.rank - 2] == 1 && which.dim[which.rank - 1] != 1;
}

/* A row of x that several experts share gets the sum of their gradients. */
static mica_value for_rows(mica_value dx, mica_value x, mica_value ids) {
  return is_shared(x, ids) ? mica_sum(dx, MICA_AXES(-2), true) : dx;
}

/* Returns x (.., 1, k), repeated once for each of the S ids of a row, as (.., S, k). Returns x itself if it already has
 * a row for each id. */
static mica_value for_ids(mica_value x, mica_value ids) {
  const mica_shape which = mica_value_shape(ids);
  mica_shape all = mica_value_shape(x);
  if (!is_shared(x, ids)) return x;
  for (int32_t i = 0; i + 2 < all.rank; i++) all.dim[i] = MICA_DYNAMIC;
  all.dim[all.rank - 2] = which.dim[which.rank - 1];
  return mica_expand(x, all);
}

/* dx = W^T dy. expert_weights_grad computes dW; with (k, n) matrices it takes dy as x and x as dy. */
static mica_status grad_product(const mica__grad *grad) {
  const mica__expert_attrs *attrs = mica__attrs_of(grad->y);
  mica_value x = grad->inputs[X], w = grad->inputs[W], ids = grad->inputs[IDS];
  mica__expert_attrs transposed = *attrs;
  transposed.by_k = !attrs->by_k;
  grad->dinputs[X] = for_rows(product(grad->dy, w, ids, &transposed), x, ids);
  if (attrs->block != MICA_BLOCK_NONE) return MICA_OK;
  mica_value rows[] = {x, grad->dy, ids};
  if (attrs->by_k) {
    rows[0] = grad->dy;
    rows[1] = for_ids(x, ids);
  }
  const mica__expert_attrs how = {.experts = mica_value_shape(w).dim[0]};
  mica_value dw = mica__graph_add(&mica__op_expert_weights_grad, rows, OPERANDS, &how);
  grad->dinputs[W] = mica_value_dtype(w) == MICA_F32 ? dw : mica_cast(dw, mica_value_dtype(w));
  return MICA_OK;
}

/* expert_weights_grad is linear in x and in dy. */
static mica_status grad_grad(const mica__grad *grad) {
  mica_value x = grad->inputs[X], dy = grad->inputs[W], ids = grad->inputs[IDS];
  grad->dinputs[X] = for_rows(product(dy, grad->dy, ids, &(mica__expert_attrs){.by_k = true}), x, ids);
  grad->dinputs[W] = product(x, grad->dy, ids, &(mica__expert_attrs){.by_k = false});
  return MICA_OK;
}

/* --- the checks --- */

/* Fills the weights with blocks that have finite scales. */
static void fill_blocks(mica__check *check, const mica__launch_case *c, int32_t input, double *values, int64_t count) {
  (void)input;
  mica__block_fill(check, (mica_block)((const mica__expert_attrs *)c->attrs)->block, values, count);
}

/* Makes a case: a product of rows x chosen ids with `experts` matrices. shared: all chosen experts of a row take the
 * same row of x. Ids range from -experts - 1 to experts + 1, so that some are invalid. */
static mica__launch_case make_case(mica__expert_attrs *attrs, int64_t rows, int64_t chosen, int64_t experts, int64_t n,
                                   int64_t k, mica_dtype dtype, bool shared) {
  const mica_block block = (mica_block)attrs->block;
  int64_t high = attrs->by_k ? k : n, wide = attrs->by_k ? n : k;
  if (block != MICA_BLOCK_NONE) {
    attrs->columns = wide;
    wide = wide / mica_block_elements(block) * (int64_t)mica_block_bytes(block);
  }
  return (mica__launch_case){.attrs = attrs,
                             .inputs = {[X] = {MICA_F32, MICA_SHAPE(rows, shared ? 1 : chosen, k)},
                                        [W] = {block ? MICA_U8 : dtype, MICA_SHAPE(experts, high, wide)},
                                        [IDS] = {rows % 2 ? MICA_I32 : MICA_I64, MICA_SHAPE(rows, chosen)}},
                             .input_count = OPERANDS,
                             .bound = {[X] = 1, [IDS] = (double)experts + 1.5},
                             .terms = (double)k,
                             .normwise = true,
                             .filled = block ? 1u << W : 0,
                             .fill = fill_blocks};
}

/* Each form (few rows, many rows, matrices (k, n)) is checked with each type (three of numbers, and every block
 * type). */
#define FORMS 3
#define TYPES (MICA_BLOCK_COUNT + 2)

static mica_status check_product(mica__check *check) {
  static const mica_dtype dtypes[] = {MICA_F32, MICA_F16, MICA_BF16};
  static const int64_t rows[] = {1, 3, 2, 16, 1, 4, 1, 5, 1, 2, 1, 1}, columns[] = {35, 16, 17, 1, 48, 33, 7, 65, 3};
  mica__expert_attrs attrs[FORMS * TYPES];
  mica__launch_case list[FORMS * TYPES];
  size_t count = 0;
  for (int form = 0; form < FORMS; form++)
    for (int type = 0; type < TYPES; type++, count++) {
      const mica_block block = type < 3 ? MICA_BLOCK_NONE : (mica_block)(type - 2);
      const int64_t elements = mica_block_elements(block), whole = elements == 256 ? 512 : 288;
      const int64_t odd = columns[type % 9], m = form == 1 ? 17 + 11 * rows[type] : rows[type];
      attrs[count] = (mica__expert_attrs){.block = (int32_t)block, .by_k = form == 2};
      list[count] = make_case(&attrs[count], m, 1 + type % 3, 3 + type % 4, form == 2 && block ? whole : odd,
                              form == 2 ? 29
                              : block   ? whole
                                        : 67 + 200 * form,
                              dtypes[type % 3], type % 2 == 0);
    }
  return mica__check_launches(check, &mica__op_expert_product, "expert_product", list, count);
}

static mica_status check_grad(mica__check *check) {
  static const int64_t sizes[][5] = {{1, 1, 1, 1, 1}, {7, 2, 3, 5, 33}, {40, 3, 6, 17, 16}, {9, 4, 20, 2, 3}};
  enum { CASES = sizeof sizes / sizeof *sizes };
  mica__expert_attrs attrs[CASES];
  mica__launch_case list[CASES];
  for (int c = 0; c < CASES; c++) {
    const int64_t *s = sizes[c], r = s[0], chosen = s[1], experts = s[2], n = s[3], k = s[4];
    attrs[c] = (mica__expert_attrs){.experts = experts};
    list[c] = make_case(&attrs[c], r, chosen, experts, n, k, MICA_F32, c % 2 == 1);
    list[c].inputs[W] = (mica__type){MICA_F32, MICA_SHAPE(r, chosen, n)};
    list[c].terms = (double)(r * chosen);
  }
  return mica__check_launches(check, &mica__op_expert_weights_grad, "expert_weights_grad", list, CASES);
}

/* --- the ops --- */

static double flops(const mica__node *node, const mica__type *inputs) {
  const mica__expert_sizes s = mica__expert_sizes_of(node->attrs, inputs[X].shape, inputs[W].shape, inputs[IDS].shape);
  return 2 * (double)(s.rows * s.chosen) * (double)s.n * (double)s.k;
}

const mica__op mica__op_expert_product = {.name = "expert_product",
                                          .kernels = mica__expert_kernels,
                                          .check = check_product,
                                          .kind = MICA__OP_LAUNCH,
                                          .min_inputs = OPERANDS,
                                          .max_inputs = OPERANDS,
                                          .attrs = &mica__expert_attr_list,
                                          .dtypes = "f*x>0",
                                          .infer = infer_product,
                                          .grad = grad_product,
                                          .evaluate = evaluate_product,
                                          .launch = mica__expert_launch,
                                          .flops = flops};
const mica__op mica__op_expert_weights_grad = {.name = "expert_weights_grad",
                                               .kernels = mica__expert_grad_kernels,
                                               .check = check_grad,
                                               .kind = MICA__OP_LAUNCH,
                                               .min_inputs = OPERANDS,
                                               .max_inputs = OPERANDS,
                                               .attrs = &mica__expert_attr_list,
                                               .dtypes = "ffx>0",
                                               .infer = infer_grad,
                                               .grad = grad_grad,
                                               .evaluate = evaluate_grad,
                                               .launch = mica__expert_launch_grad};

mica_value mica_expert_product(mica_value x, mica_value weights, mica_value ids, const mica_expert_config *config) {
  const mica_expert_config c = config ? *config : (mica_expert_config){0};
  if (mica_value_is_null(x) || mica_value_is_null(weights) || mica_value_is_null(ids)) return null_value;
  const mica__expert_attrs attrs = {.block = (int32_t)c.block, .columns = c.columns, .by_k = c.by_k};
  return mica__graph_add(&mica__op_expert_product, (mica_value[]){x, weights, ids}, OPERANDS, &attrs);
}

mica_value mica_expert_sum(mica_value x, mica_value weights) {
  if (mica_value_is_null(x) || mica_value_is_null(weights)) return null_value;
  return mica_sum(mica_mul(x, mica_unsqueeze(weights, MICA_AXES(-1))), MICA_AXES(-2), false);
}

mica_routes mica_route(mica_value logits, const mica_route_config *config) {
  const int64_t k = config && config->k ? config->k : 1;
  if (mica_value_is_null(logits)) return (mica_routes){null_value, null_value};
  if (mica_value_shape(logits).rank < 1)
    return (mica_routes){
        mica__builder_fail("route", logits, MICA_E_SHAPE, "logits have no dimension, but must be (.., experts)"),
        null_value};
  const mica_top_k_results top = mica_top_k(mica_softmax(mica_cast(logits, MICA_F32), -1), k, -1, false);
  mica_value weights = top.values;
  if (config && config->normalise) weights = mica_div(weights, mica_sum(weights, MICA_AXES(-1), true));
  return (mica_routes){weights, top.indices};
}
