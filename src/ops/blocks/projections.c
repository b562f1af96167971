/* Three products of the same rows with weights in blocks, such as queries, keys and values. Few rows take one launch
 * for all products of one block type (cl/blocks/row.clh). */
#include "base/error.h"
#include "ir/pattern.h"
#include "ops/blocks/blocks.h"
#include "ops/common/build.h"
#include "ops/elementwise/elementwise.h"
#include "ops/matmul/gemm.h"
#include "ops/select/registry.h"

#include <stdlib.h>

/* block_projections (x, w0, w1, w2): x (m, k) f32, w_i (n_i, bytes of k) U8 -> x w_i^T (m, n_i). The operands of a norm
 * may follow; x is then (.., k) with m rows. */
enum { X, W, COUNT = MICA__BLOCK_PARTS, OPERANDS = W + COUNT };

#define BLOCK_PROJECTIONS_ATTRS(X, S)                                                                                  \
  MICA__BLOCK_NORM_ATTRS(X, S)                                                                                         \
  X(S, ENUM, block0, MICA_BLOCK_NONE, "block type of w0", mica__block_names)                                           \
  X(S, ENUM, block1, MICA_BLOCK_NONE, "of w1", mica__block_names)                                                      \
  X(S, ENUM, block2, MICA_BLOCK_NONE, "of w2", mica__block_names)
MICA__ATTR_STRUCT(block_projections, BLOCK_PROJECTIONS_ATTRS);
static MICA__ATTR_TABLE(block_projections, BLOCK_PROJECTIONS_ATTRS);

static mica_block type_of(const void *attributes, int32_t part) {
  const mica__block_projections_attrs *attrs = attributes;
  return (mica_block)(part == 0 ? attrs->block0 : part == 1 ? attrs->block1 : attrs->block2);
}

static mica_status infer_projections(const mica__type *inputs, int32_t input_count, void *attrs, mica__type *out) {
  const mica_shape x = inputs[X].shape;
  if (inputs[X].dtype != MICA_F32)
    return mica__fail(MICA_E_DTYPE, "x is %s, but must be f32", mica_dtype_name(inputs[X].dtype));
  char text[MICA_SHAPE_TEXT];
  if (x.rank != 2 || x.dim[1] < 1)
    return mica__fail(MICA_E_SHAPE, "x is %s, but must be (m, k) with a known k of at least 1",
                      mica_shape_format(x, text));
  for (int32_t i = 0; i < COUNT; i++) {
    const mica_shape w = inputs[W + i].shape;
    MICA_TRY(mica__unblock_check(&(mica__unblock_attrs){type_of(attrs, i), x.dim[1], MICA_F32}, &inputs[W + i]));
    if (w.rank != 2) return mica__fail(MICA_E_SHAPE, "weights have %d dimensions, but must have 2", (int)w.rank);
    out[i] = (mica__type){MICA_F32, MICA_SHAPE(x.dim[0], w.dim[0])};
  }
  return mica__block_norm_check(inputs, input_count, attrs, x.dim[1]);
}

static mica_status evaluate_projections(const mica__eval *eval) {
  const int64_t m = eval->types[X].shape.dim[0], k = eval->types[X].shape.dim[1];
  double *own = NULL;
  const double *rows = NULL;
  MICA_TRY(mica__block_norm_rows(eval, m, k, &own, &rows));
  for (int32_t part = 0; part < COUNT; part++) {
    const mica_shape w = eval->types[W + part].shape;
    for (int64_t i = 0; i < m; i++)
      for (int64_t j = 0; j < w.dim[0]; j++)
        eval->outputs[part][i * w.dim[0] + j] =
            mica__block_dot(type_of(eval->attrs, part), eval->inputs[W + part] + j * w.dim[1], rows + i * k, k);
  }
  free(own);
  return MICA_OK;
}

/* --- the launch --- */

static mica_status launch_matrix(const mica__exec *exec, int32_t part) {
  const mica_gemm_config config = mica_gemm_config_default();
  const mica_block type = type_of(exec->attrs, part);
  return mica__gemm_run_blocks(exec, &config, exec->inputs[X], exec->inputs[W + part], type, false, NULL, NULL,
                               exec->outputs[part]);
}

static int64_t rows_of(mica_shape x) {
  int64_t m = 1;
  for (int32_t i = 0; i + 1 < x.rank; i++) m *= x.dim[i];
  return m;
}

/* Computes, in one launch, all wanted products whose blocks have the type of part `first`, from that part on, and
 * sets their bits in *done. */
static mica_status launch_type(const mica__exec *exec, int32_t first, uint32_t *done) {
  const mica_shape x = mica_tensor_shape(exec->inputs[X]);
  mica__block_rows rows = {
      .block = type_of(exec->attrs, first), .m = rows_of(x), .k = x.dim[x.rank - 1], .x = exec->inputs[X], .parts = 0};
  for (int32_t i = first; i < COUNT; i++) {
    const mica_tensor *y = exec->outputs[i];
    if (type_of(exec->attrs, i) != rows.block || !y) continue;
    *done |= 1u << i;
    if (mica_tensor_count(y) == 0) continue;
    rows.part[rows.parts++] = (mica__block_part){exec->inputs[W + i], y, mica_tensor_shape(y).dim[1]};
  }
  return rows.parts > 0 ? mica__block_rows_launch(exec, &rows) : MICA_OK;
}

static mica_status launch_projections(const mica__exec *exec) {
  const bool few = rows_of(mica_tensor_shape(exec->inputs[X])) <= MICA__BLOCK_MOST_ROWS;
  uint32_t done = 0;
  for (int32_t i = 0; i < COUNT; i++) {
    if (!exec->outputs[i] || done >> i & 1) continue;
    if (few)
      MICA_TRY(launch_type(exec, i, &done));
    else if (mica_tensor_count(exec->outputs[i]) > 0)
      MICA_TRY(launch_matrix(exec, i));
  }
  return MICA_OK;
}

/* --- the check --- */

static void fill_weights(mica__check *check, const mica__launch_case *c, int32_t input, double *values, int64_t count) {
  mica__block_fill(check, type_of(c->attrs, input - W), values, count);
}

static mica_status check_projections(mica__check *check) {
  static const struct {
    int64_t m, n[COUNT];
    mica_block type[COUNT];
    uint32_t unwanted;
  } cases[] = {
      {1, {35, 16, 17}, {MICA_BLOCK_Q4_1, MICA_BLOCK_Q4_1, MICA_BLOCK_Q4_1}, 0},
      {3, {1, 48, 33}, {MICA_BLOCK_Q4_K, MICA_BLOCK_Q4_K, MICA_BLOCK_Q6_K}, 0},
      {16, {16, 7, 20}, {MICA_BLOCK_Q8_0, MICA_BLOCK_Q5_0, MICA_BLOCK_Q8_0}, 0},
      {4, {16, 7, 0}, {MICA_BLOCK_Q5_1, MICA_BLOCK_Q5_1, MICA_BLOCK_Q5_1}, 1},
      {21, {16, 7, 50}, {MICA_BLOCK_Q4_0, MICA_BLOCK_Q4_0, MICA_BLOCK_Q5_K}, 0},
  };
  enum { CASES = sizeof cases / sizeof *cases };
  mica__block_projections_attrs attrs[CASES];
  mica__launch_case list[CASES] = {{0}};
  for (size_t c = 0; c < CASES; c++) {
    const int64_t k = 768;
    attrs[c] = (mica__block_projections_attrs){
        .block0 = cases[c].type[0], .block1 = cases[c].type[1], .block2 = cases[c].type[2]};
    list[c] = (mica__launch_case){.attrs = &attrs[c],
                                  .inputs = {{MICA_F32, MICA_SHAPE(cases[c].m, k)}},
                                  .input_count = OPERANDS,
                                  .bound = {1},
                                  .terms = (double)k,
                                  .normwise = true,
                                  .unwanted = cases[c].unwanted,
                                  .filled = 7u << W,
                                  .fill = fill_weights};
    for (int32_t i = 0; i < COUNT; i++) {
      const mica_block type = cases[c].type[i];
      const int64_t bytes = k / mica_block_elements(type) * (int64_t)mica_block_bytes(type);
      list[c].inputs[W + i] = (mica__type){MICA_U8, MICA_SHAPE(cases[c].n[i], bytes)};
    }
    if (c == 1 || c == 2) mica__block_norm_case(&list[c], &attrs[c], k, c == 2);
  }
  return mica__check_launches(check, &mica__op_block_projections, "block_projections", list, CASES);
}

/* --- in graphs --- */

/* dx is the sum of dy_i w_i; blocks have no gradient. */
static mica_status grad_projections(const mica__grad *grad) {
  const int64_t columns = mica_value_shape(grad->inputs[X]).dim[1];
  for (int32_t i = 0; i < COUNT; i++) {
    const mica_value dy = grad->dresults[i];
    if (!dy.graph) continue;
    const mica_block type = type_of(mica__attrs_of(grad->y), i);
    mica_value dx = mica_matmul(dy, mica_unblock(grad->inputs[W + i], type, columns, MICA_F32));
    grad->dinputs[X] = grad->dinputs[X].graph ? mica_add(grad->dinputs[X], dx) : dx;
  }
  return MICA_OK;
}

static double flops(const mica__node *node, const mica__type *inputs) {
  double columns = 0;
  (void)node;
  for (int32_t i = 0; i < COUNT; i++) columns += (double)inputs[W + i].shape.dim[0];
  return 2 * (double)rows_of(inputs[X].shape) * (double)inputs[X].shape.dim[inputs[X].shape.rank - 1] * columns;
}

const mica__op mica__op_block_projections = {.name = "block_projections",
                                             .kernels = mica__block_rows_kernels,
                                             .check = check_projections,
                                             .kind = MICA__OP_LAUNCH,
                                             .min_inputs = OPERANDS,
                                             .max_inputs = OPERANDS + 2,
                                             .results = COUNT,
                                             .attrs = &mica__block_projections_attr_list,
                                             .infer = infer_projections,
                                             .grad = grad_projections,
                                             .evaluate = evaluate_projections,
                                             .launch = launch_projections,
                                             .fuse_operands = mica__block_fuse_norm,
                                             .flops = flops};

/* The steps from a product to a value: reshapes and additions of a bias. */
#define MOST_STEPS 8
typedef struct steps {
  int32_t id[MOST_STEPS], count, product;
} steps;

static bool find_steps(const mica_graph *graph, int32_t id, steps *found) {
  for (found->count = 0; found->count < MOST_STEPS; found->count++) {
    const mica__node *node = mica__graph_node(graph, id);
    found->product = id;
    if (node->op != &mica__op_reshape && node->op != &mica__op_add) return node->op == &mica__op_matmul;
    found->id[found->count] = id;
    id = node->inputs[0];
  }
  return false;
}

static mica_value take_steps(mica_value y, const steps *taken) {
  for (int32_t s = taken->count - 1; y.graph && s >= 0; s--) {
    const mica__node *node = mica__graph_node(y.graph, taken->id[s]);
    if (node->op == &mica__op_reshape)
      y = mica__graph_add(&mica__op_reshape, &y, 1, node->attrs);
    else
      y = mica_add(y, (mica_value){y.graph, node->inputs[1]});
  }
  return y;
}

/* If x, the operand of a product, is a reshape, returns the operand of the reshape; else x. Layers flatten rows by
 * reshapes of their own, so products of the same rows may have different nodes as operands. */
static int32_t source_of(const mica_graph *graph, int32_t x) {
  const mica__node *node = mica__graph_node(graph, x);
  return node->op == &mica__op_reshape ? node->inputs[0] : x;
}

void mica__block_join(mica_value *const values[MICA__BLOCK_PARTS]) {
  mica_value operands[OPERANDS];
  int32_t types[COUNT] = {0};
  steps each[COUNT];
  const mica_graph *graph = values[0]->graph;
  for (int32_t i = 0; i < COUNT; i++) {
    int32_t x = 0, w = 0;
    if (!graph || values[i]->graph != graph || !find_steps(graph, values[i]->id, &each[i])) return;
    if (!mica__block_product_of(graph, each[i].product, &x, &w, &types[i])) return;
    if (mica_value_shape((mica_value){values[i]->graph, x}).rank != 2) return;
    if (i == 0) operands[X] = (mica_value){values[i]->graph, x};
    if (source_of(graph, x) != source_of(graph, operands[X].id)) return;
    operands[W + i] = (mica_value){values[i]->graph, w};
  }
  const mica__block_projections_attrs attrs = {.block0 = types[0], .block1 = types[1], .block2 = types[2]};
  mica_value first = mica__graph_add(&mica__op_block_projections, operands, OPERANDS, &attrs);
  if (!first.graph) return;
  for (int32_t i = 0; i < COUNT; i++) *values[i] = take_steps(mica__graph_result(first, i), &each[i]);
}
