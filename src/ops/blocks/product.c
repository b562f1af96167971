/* Products of x with weights that are stored in quantised blocks: by cl/blocks/row.clh if x has few rows and blocks run
 * along k, else by ops/blocks/matrix.c. */
#include "base/error.h"
#include "ir/pattern.h"
#include "ops/blocks/blocks.h"
#include "ops/common/build.h"
#include "ops/matmul/gemm.h"
#include "ops/matmul/linear.h"
#include "ops/select/registry.h"

#include <stdlib.h>

/* block_product (x, blocks): x (.., m, k) f32, blocks (n, bytes of k) U8 -> (.., m, n); by_k: blocks (k, bytes of n). A
 * bias and an addend, as in ops/matmul/linear.h, and the operands of a norm may follow. */
enum { X, W, OPERANDS };

static MICA__ATTR_TABLE(block_product, MICA__BLOCK_PRODUCT_ATTRS);

/* A product of m rows of k elements, with n columns in the result. */
typedef struct sizes {
  int64_t m, n, k;
} sizes;

static sizes sizes_of(const mica__block_product_attrs *attrs, mica_shape x, mica_shape w) {
  const mica_block type = (mica_block)attrs->block;
  sizes s = {.m = 1, .n = w.dim[0], .k = x.dim[x.rank - 1]};
  if (attrs->by_k) s.n = w.dim[1] / (int64_t)mica_block_bytes(type) * mica_block_elements(type);
  for (int32_t i = 0; i + 1 < x.rank; i++) s.m *= x.dim[i];
  return s;
}

static mica_status infer_product(const mica__type *inputs, int32_t input_count, void *attributes, mica__type *out) {
  const mica__block_product_attrs *attrs = attributes;
  const mica_shape x = inputs[X].shape, w = inputs[W].shape;
  char text[2][MICA_SHAPE_TEXT];
  if (inputs[X].dtype != MICA_F32)
    return mica__fail(MICA_E_DTYPE, "x is %s, but must be f32", mica_dtype_name(inputs[X].dtype));
  if (x.rank < 2 || w.rank != 2 || !mica__shape_is_known(x) || !mica__shape_is_known(w))
    return mica__fail(MICA_E_SHAPE,
                      "x is %s and w is %s, but x must have known rows, and w must be a matrix of blocks of known size",
                      mica_shape_format(x, text[0]), mica_shape_format(w, text[1]));
  if (!mica_block_bytes((mica_block)attrs->block))
    return mica__fail(MICA_E_INVALID, "%d is not a block type", (int)attrs->block);
  const sizes s = sizes_of(attrs, x, w);
  MICA_TRY(mica__unblock_check(&(mica__unblock_attrs){attrs->block, attrs->by_k ? s.n : s.k, MICA_F32}, &inputs[W]));
  if (attrs->by_k && w.dim[0] != s.k)
    return mica__fail(MICA_E_SHAPE, "w has %lld rows of blocks, but must have %lld, the elements of a row of x",
                      (long long)w.dim[0], (long long)s.k);
  MICA_TRY(mica__block_norm_check(inputs, input_count, attributes, s.k));
  *out = inputs[X];
  out->shape.dim[x.rank - 1] = s.n;
  return MICA_OK;
}

/* Evaluates the product, with its norm. Bias, addend and activation are not evaluated: fusion adds them later. */
static mica_status evaluate_product(const mica__eval *eval) {
  const mica__block_product_attrs *attrs = eval->attrs;
  const mica_block type = (mica_block)attrs->block;
  const mica__block_layout *layout = mica__block_layout_of(type);
  const sizes s = sizes_of(attrs, eval->types[X].shape, eval->types[W].shape);
  const int64_t rows = attrs->by_k ? s.k : s.n, columns = attrs->by_k ? s.n : s.k;
  const double *w = eval->inputs[W], *x = NULL;
  double *own = NULL;
  MICA_TRY(mica__block_norm_rows(eval, s.m, s.k, &own, &x));
  for (int64_t i = 0; i < s.m * s.n; i++) eval->output[i] = 0;
  for (int64_t r = 0; r < rows; r++)
    for (int64_t c = 0; c < columns; c += layout->elements, w += layout->bytes) {
      uint8_t block[MICA__BLOCK_MOST];
      float values[MICA__BLOCK_MOST];
      for (int32_t b = 0; b < layout->bytes; b++) block[b] = (uint8_t)w[b];
      mica__block_values(type, block, values);
      for (int64_t i = 0; i < s.m; i++)
        for (int32_t e = 0; e < layout->elements; e++) {
          const int64_t k = attrs->by_k ? r : c + e, j = attrs->by_k ? c + e : r;
          eval->output[i * s.n + j] += x[i * s.k + k] * values[e];
        }
    }
  free(own);
  return MICA_OK;
}

/* --- the launch --- */

/* Makes *tensor a view of operand `at` in another shape. If `at` is 0, there is no operand, and *tensor stays NULL. */
static mica_status operand(const mica__exec *exec, int64_t at, mica_shape shape, mica_tensor **tensor) {
  return at ? mica_tensor_view(exec->inputs[at], shape, NULL, 0, tensor) : MICA_OK;
}

static mica_status launch_matrix(const mica__exec *exec, const sizes *s) {
  const mica__block_product_attrs *attrs = exec->attrs;
  mica_tensor *x = NULL, *bias = NULL, *c = NULL, *d = NULL;
  mica_gemm_config config = mica_gemm_config_default();
  config.activation = (mica_activation)attrs->activation;
  config.activation_arg = (float)attrs->activation_argument;
  config.beta = attrs->addend ? 1 : 0;
  mica_status status = mica_tensor_view(exec->inputs[X], MICA_SHAPE(s->m, s->k), NULL, 0, &x);
  if (status == MICA_OK) status = operand(exec, attrs->bias, MICA_SHAPE(s->n), &bias);
  if (status == MICA_OK) status = operand(exec, attrs->addend, MICA_SHAPE(s->m, s->n), &c);
  if (status == MICA_OK) status = mica_tensor_view(exec->output, MICA_SHAPE(s->m, s->n), NULL, 0, &d);
  if (status == MICA_OK)
    status =
        mica__gemm_run_blocks(exec, &config, x, exec->inputs[W], (mica_block)attrs->block, attrs->by_k, c, bias, d);
  mica_tensor_destroy(x);
  mica_tensor_destroy(bias);
  mica_tensor_destroy(c);
  mica_tensor_destroy(d);
  return status;
}

static mica_status launch_rows(const mica__exec *exec, const sizes *s) {
  const mica__block_product_attrs *attrs = exec->attrs;
  const mica__block_rows rows = {.block = (mica_block)attrs->block,
                                 .m = s->m,
                                 .k = s->k,
                                 .x = exec->inputs[X],
                                 .part = {{exec->inputs[W], exec->output, s->n}},
                                 .parts = 1,
                                 .bias = attrs->bias ? exec->inputs[attrs->bias] : NULL,
                                 .addend = attrs->addend ? exec->inputs[attrs->addend] : NULL,
                                 .activation = (mica_activation)attrs->activation,
                                 .argument = (float)attrs->activation_argument};
  return mica__block_rows_launch(exec, &rows);
}

static mica_status launch_product(const mica__exec *exec) {
  const mica__block_product_attrs *attrs = exec->attrs;
  const sizes s = sizes_of(attrs, mica_tensor_shape(exec->inputs[X]), mica_tensor_shape(exec->inputs[W]));
  if (mica_tensor_count(exec->output) == 0) return MICA_OK;
  return attrs->by_k || s.m > MICA__BLOCK_MOST_ROWS ? launch_matrix(exec, &s) : launch_rows(exec, &s);
}

/* --- the check --- */

static void fill_weights(mica__check *check, const mica__launch_case *c, int32_t input, double *values, int64_t count) {
  (void)input;
  mica__block_fill(check, (mica_block)((const mica__block_product_attrs *)c->attrs)->block, values, count);
}

/* For each type: few rows, many rows, and weights with by_k. */
#define CHECKS (3 * MICA_BLOCK_COUNT)

static mica_status check_product(mica__check *check) {
  static const int64_t rows[] = {1, 2, 3, 4, 5, 8, 7, 16, 1}, columns[] = {35, 16, 17, 1, 48, 33, 7, 130, 0};
  mica__block_product_attrs attrs[CHECKS];
  mica__launch_case list[CHECKS] = {{0}};
  size_t count = 0;
  for (int form = 0; form < 3; form++)
    for (int type = MICA_BLOCK_NONE + 1; type < MICA_BLOCK_COUNT; type++, count++) {
      const size_t at = (size_t)type - 1;
      const int64_t elements = mica_block_elements((mica_block)type),
                    bytes = (int64_t)mica_block_bytes((mica_block)type);
      const int64_t blocks = elements == 32 ? 18 : 3, m = form == 1 ? 17 + 9 * rows[at] : rows[at];
      const int64_t k = form == 2 ? 1 + 37 * (int64_t)at : blocks * elements;
      mica__attrs_set_defaults(&mica__block_product_attr_list, &attrs[count]);
      attrs[count].block = type;
      attrs[count].by_k = form == 2;
      list[count] = (mica__launch_case){
          .attrs = &attrs[count],
          .inputs = {{MICA_F32, MICA_SHAPE(m, k)}, {MICA_U8, MICA_SHAPE(form == 2 ? k : columns[at], blocks * bytes)}},
          .input_count = 2,
          .bound = {1},
          .terms = (double)k,
          .normwise = true,
          .filled = 1u << W,
          .fill = fill_weights};
      if (form == 0 && type % 2) mica__block_norm_case(&list[count], &attrs[count], k, type % 4 == 3);
    }
  return mica__check_launches(check, &mica__op_block_product, "block_product", list, count);
}

/* --- in graphs --- */

static bool is_swap(const mica_graph *graph, int32_t id) {
  const mica__transpose_attrs *axes = mica__graph_node(graph, id)->attrs;
  return axes->axes[0] == 1 && axes->axes[1] == 0;
}

/* Finds out if node `id` is an f32 matmul of *x with the matrix in blocks *w of type *type. Sets *by_k if the matrix is
 * not transposed. */
static bool find_product(const mica_graph *graph, int32_t id, bool *by_k, int32_t *x, int32_t *w, int32_t *type) {
  int32_t in[4], of[4], blocks[4];
  if (!mica__pattern_op(graph, id, &mica__op_matmul, in)) return false;
  *by_k = !mica__pattern_op(graph, in[1], &mica__op_transpose, of);
  if (*by_k) of[0] = in[1];
  if (!mica__pattern_op(graph, of[0], &mica__op_unblock, blocks)) return false;
  const mica__node *numbers = mica__graph_node(graph, of[0]);
  const mica_shape shape = mica__graph_node(graph, in[0])->type.shape;
  if (shape.rank < 2 || numbers->type.shape.rank != 2 || numbers->type.dtype != MICA_F32) return false;
  if (shape.dim[shape.rank - 1] < 1) return false;
  if (!*by_k && !is_swap(graph, mica__pattern_behind(graph, in[1]))) return false;
  *type = (int32_t)((const mica__unblock_attrs *)numbers->attrs)->block;
  *x = in[0];
  *w = blocks[0];
  return true;
}

bool mica__block_product_of(const mica_graph *graph, int32_t id, int32_t *x, int32_t *blocks, int32_t *type) {
  bool by_k = false;
  return find_product(graph, id, &by_k, x, blocks, type) && !by_k;
}

const mica__block_product_attrs *mica__block_plain_product(const mica_graph *graph, int32_t id) {
  const mica__node *node = mica__graph_node(graph, id);
  if (node->op != &mica__op_block_product) return NULL;
  const mica__block_product_attrs *attrs = node->attrs;
  const mica_shape x = mica__graph_node(graph, node->inputs[X])->type.shape;
  int64_t rows = 1;
  for (int32_t i = 0; i + 1 < x.rank; i++) rows *= x.dim[i];
  const bool plain = !attrs->by_k && !attrs->norm_scale && attrs->scale == 1 &&
                     attrs->activation == MICA_ACTIVATION_NONE && rows <= MICA__BLOCK_MOST_ROWS;
  return plain ? attrs : NULL;
}

static bool match_product(const mica__match *match, int32_t root, int32_t *inputs, int32_t *count, void *attributes) {
  mica__block_product_attrs *attrs = attributes;
  int32_t type = 0;
  bool by_k = false;
  if (!find_product(match->graph, root, &by_k, &inputs[X], &inputs[W], &type)) return false;
  if (!mica__shape_is_known(mica__graph_node(match->graph, inputs[X])->type.shape)) return false;
  attrs->block = type;
  attrs->by_k = by_k;
  *count = OPERANDS;
  return true;
}

/* Products with by_k do not use the kernels for few rows, the only ones that can include a norm. */
static bool fuse_norm(const mica__match *match, mica_engine *engine, int32_t root, int32_t *inputs, int32_t *count,
                      void *attributes) {
  const mica__block_product_attrs *attrs = attributes;
  return !attrs->by_k && mica__block_fuse_norm(match, engine, root, inputs, count, attributes);
}

#define TAKE(S, kind, field, ...) to.field = from->field;
#define GIVE(S, kind, field, ...) given->field = to.field;
static bool fuse_product(mica__epilogue_fusion *fusion) {
  const mica__block_product_attrs *from = fusion->node->attrs;
  mica__block_product_attrs *given = fusion->attrs;
  mica__linear_attrs to;
  MICA__LINEAR_ATTRS(TAKE, )
  if (!mica__linear_takes(fusion, &to)) return false;
  *given = *from;
  MICA__LINEAR_ATTRS(GIVE, )
  fusion->op = &mica__op_block_product;
  return true;
}
#undef TAKE
#undef GIVE

static double flops(const mica__node *node, const mica__type *inputs) {
  const sizes s = sizes_of(node->attrs, inputs[X].shape, inputs[W].shape);
  return 2 * (double)s.m * (double)s.n * (double)s.k;
}

const mica__op mica__op_block_product = {.name = "block_product",
                                         .kernels = mica__block_rows_kernels,
                                         .check = check_product,
                                         .kind = MICA__OP_LAUNCH,
                                         .min_inputs = OPERANDS,
                                         .max_inputs = OPERANDS + 4,
                                         .attrs = &mica__block_product_attr_list,
                                         .infer = infer_product,
                                         .evaluate = evaluate_product,
                                         .launch = launch_product,
                                         .fuse_epilogue = fuse_product,
                                         .match = match_product,
                                         .fuse_operands = fuse_norm,
                                         .flops = flops};
