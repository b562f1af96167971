/* The first half of gated layers of few rows in one launch: act(x W) * (x V), with weights in blocks
 * (cl/blocks/row.clh). */
#include "base/error.h"
#include "ir/pattern.h"
#include "ops/blocks/blocks.h"
#include "ops/common/activation.h"
#include "ops/common/build.h"
#include "ops/select/registry.h"

#include <stdlib.h>

/* block_feed (x, gate, up): x (.., m, k) f32, gate and up (n, bytes of k) U8 -> (.., m, n). The operands of a norm may
 * follow. */
enum { X, GATE, UP, OPERANDS };

static MICA__ATTR_TABLE(block_feed, MICA__BLOCK_FEED_ATTRS);

static int64_t rows_of(mica_shape x) {
  int64_t m = 1;
  for (int32_t i = 0; i + 1 < x.rank; i++) m *= x.dim[i];
  return m;
}

static mica_status infer_feed(const mica__type *inputs, int32_t input_count, void *attributes, mica__type *out) {
  const mica__block_feed_attrs *attrs = attributes;
  const mica_shape x = inputs[X].shape;
  char text[2][MICA__TYPE_TEXT];
  if (inputs[X].dtype != MICA_F32)
    return mica__fail(MICA_E_DTYPE, "x is %s, but must be f32", mica_dtype_name(inputs[X].dtype));
  if (x.rank < 2 || !mica__shape_is_known(x) || rows_of(x) > MICA__BLOCK_MOST_ROWS)
    return mica__fail(MICA_E_SHAPE, "x is %s, but must have known rows, at most %d of them",
                      mica_shape_format(x, text[0]), MICA__BLOCK_MOST_ROWS);
  if (inputs[GATE].shape.rank != 2 || inputs[UP].dtype != MICA_U8 ||
      !mica_shape_equal(inputs[GATE].shape, inputs[UP].shape))
    return mica__fail(MICA_E_SHAPE, "gate is %s and up is %s, but both must be u8 matrices of blocks of the same shape",
                      mica__type_format(inputs[GATE], text[0]), mica__type_format(inputs[UP], text[1]));
  if (!mica__activation_op((mica_activation)attrs->activation))
    return mica__fail(MICA_E_INVALID, "%d is not an activation", (int)attrs->activation);
  MICA_TRY(mica__unblock_check(&(mica__unblock_attrs){attrs->block, x.dim[x.rank - 1], MICA_F32}, &inputs[GATE]));
  MICA_TRY(mica__block_norm_check(inputs, input_count, attributes, x.dim[x.rank - 1]));
  *out = inputs[X];
  out->shape.dim[x.rank - 1] = inputs[GATE].shape.dim[0];
  return MICA_OK;
}

static mica_status evaluate_feed(const mica__eval *eval) {
  const mica__block_feed_attrs *attrs = eval->attrs;
  const mica_block type = (mica_block)attrs->block;
  const mica__op *activation = mica__activation_op((mica_activation)attrs->activation);
  const mica_shape x = eval->types[X].shape, w = eval->types[GATE].shape;
  const int64_t k = x.dim[x.rank - 1], n = w.dim[0];
  double *own = NULL;
  const double *rows = NULL;
  MICA_TRY(mica__block_norm_rows(eval, rows_of(x), k, &own, &rows));
  for (int64_t i = 0; i < rows_of(x); i++)
    for (int64_t j = 0; j < n; j++) {
      const double *row = rows + i * k;
      const double gate = mica__block_dot(type, eval->inputs[GATE] + j * w.dim[1], row, k);
      const double up = mica__block_dot(type, eval->inputs[UP] + j * w.dim[1], row, k);
      eval->output[i * n + j] = activation->scalar(&gate, NULL) * up;
    }
  free(own);
  return MICA_OK;
}

static mica_status launch_feed(const mica__exec *exec) {
  const mica__block_feed_attrs *attrs = exec->attrs;
  const mica_shape x = mica_tensor_shape(exec->inputs[X]);
  const int64_t n = mica_tensor_shape(exec->inputs[GATE]).dim[0];
  if (mica_tensor_count(exec->output) == 0) return MICA_OK;
  const mica__block_rows rows = {.block = (mica_block)attrs->block,
                                 .m = rows_of(x),
                                 .k = x.dim[x.rank - 1],
                                 .x = exec->inputs[X],
                                 .part = {{exec->inputs[GATE], exec->output, n}},
                                 .parts = 1,
                                 .up = exec->inputs[UP],
                                 .activation = (mica_activation)attrs->activation};
  return mica__block_rows_launch(exec, &rows);
}

/* --- the check --- */

static void fill_weights(mica__check *check, const mica__launch_case *c, int32_t input, double *values, int64_t count) {
  (void)input;
  mica__block_fill(check, (mica_block)((const mica__block_feed_attrs *)c->attrs)->block, values, count);
}

static mica_status check_feed(mica__check *check) {
  static const int64_t rows[] = {1, 2, 3, 4, 5, 8, 7, 16, 1}, columns[] = {35, 16, 17, 1, 48, 33, 7, 50, 0};
  static const mica_activation activations[] = {MICA_ACTIVATION_SILU, MICA_ACTIVATION_GELU, MICA_ACTIVATION_GELU_TANH};
  mica__block_feed_attrs attrs[MICA_BLOCK_COUNT];
  mica__launch_case list[MICA_BLOCK_COUNT] = {{0}};
  size_t count = 0;
  for (int type = MICA_BLOCK_NONE + 1; type < MICA_BLOCK_COUNT; type++, count++) {
    const int64_t elements = mica_block_elements((mica_block)type), blocks = elements == 32 ? 18 : 3;
    const mica_shape weights = MICA_SHAPE(columns[count], blocks * (int64_t)mica_block_bytes((mica_block)type));
    attrs[count] = (mica__block_feed_attrs){.block = type, .activation = (int32_t)activations[count % 3]};
    list[count] = (mica__launch_case){
        .attrs = &attrs[count],
        .inputs = {{MICA_F32, MICA_SHAPE(rows[count], blocks * elements)}, {MICA_U8, weights}, {MICA_U8, weights}},
        .input_count = OPERANDS,
        .bound = {1},
        .terms = 2 * (double)(blocks * elements),
        .normwise = true,
        .filled = 1u << GATE | 1u << UP,
        .fill = fill_weights};
    if (count % 2) mica__block_norm_case(&list[count], &attrs[count], blocks * elements, count % 4 == 3);
  }
  return mica__check_launches(check, &mica__op_block_feed, "block_feed", list, count);
}

/* --- in graphs --- */

/* True if the shapes differ at most in their last dimension. */
static bool same_rows(mica_shape a, mica_shape b) {
  if (a.rank != b.rank || a.rank < 2) return false;
  a.dim[a.rank - 1] = b.dim[b.rank - 1];
  return mica_shape_equal(a, b);
}

static bool find_feed(const mica_graph *graph, int32_t gate, int32_t up, int32_t *inputs,
                      mica__block_feed_attrs *attrs) {
  int32_t types[2] = {0}, x[2];
  mica_activation activation = MICA_ACTIVATION_NONE;
  double argument = 0;
  const mica__node *node = mica__graph_node(graph, mica__block_before_shapes(graph, gate));
  if (!mica__activation_of(node, &activation, &argument) || !mica__activation_op(activation)) return false;
  const int32_t sum = mica__block_before_shapes(graph, node->inputs[0]), factor = mica__block_before_shapes(graph, up);
  if (!mica__block_product_of(graph, sum, &x[0], &inputs[GATE], &types[0])) return false;
  if (!mica__block_product_of(graph, factor, &x[1], &inputs[UP], &types[1])) return false;
  if (mica__block_before_shapes(graph, x[0]) != mica__block_before_shapes(graph, x[1]) || types[0] != types[1])
    return false;
  inputs[X] = mica__block_before_shapes(graph, x[0]);
  if (!mica__shape_is_known(mica__graph_node(graph, x[0])->type.shape)) return false;
  attrs->block = types[0];
  attrs->activation = (int32_t)activation;
  return true;
}

static bool match_feed(const mica__match *match, int32_t root, int32_t *inputs, int32_t *count, void *attributes) {
  const mica_graph *graph = match->graph;
  int32_t in[4];
  if (!mica__pattern_op(graph, root, &mica__op_mul, in)) return false;
  if (!find_feed(graph, in[0], in[1], inputs, attributes) && !find_feed(graph, in[1], in[0], inputs, attributes))
    return false;
  *count = OPERANDS;
  return same_rows(mica__graph_node(graph, inputs[X])->type.shape, mica__graph_node(graph, root)->type.shape);
}

static double flops(const mica__node *node, const mica__type *inputs) {
  const mica_shape x = inputs[X].shape;
  (void)node;
  return 4 * (double)rows_of(x) * (double)x.dim[x.rank - 1] * (double)inputs[GATE].shape.dim[0];
}

const mica__op mica__op_block_feed = {.name = "block_feed",
                                      .kernels = mica__block_rows_kernels,
                                      .check = check_feed,
                                      .kind = MICA__OP_LAUNCH,
                                      .min_inputs = OPERANDS,
                                      .max_inputs = OPERANDS + 2,
                                      .attrs = &mica__block_feed_attr_list,
                                      .infer = infer_feed,
                                      .evaluate = evaluate_feed,
                                      .launch = launch_feed,
                                      .match = match_feed,
                                      .fuse_operands = mica__block_fuse_norm,
                                      .flops = flops};
