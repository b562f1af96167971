/* Products of few rows with weights in blocks, followed by a norm and an addition, in one launch on CPUs
 * (cl/blocks/cpu/after.cl). Gemma's layers do this: they normalise the result of a product before they add it. */
#include "base/arith.h"
#include "base/error.h"
#include "ir/pattern.h"
#include "ops/blocks/blocks.h"
#include "ops/common/activation.h"
#include "ops/common/build.h"
#include "ops/elementwise/elementwise.h"
#include "ops/select/registry.h"
#include "runtime/buffer.h"
#include "runtime/launch.h"
#include "runtime/workspace.h"

#include <math.h>
#include <stdlib.h>

/* block_after (x, w, scale, addend): x (.., m, k) f32, w (n, bytes of k) U8, scale (n) -> norm(x w^T + bias) + addend,
 * where norm is an RMS norm. */
enum { X, W, SCALE, ADDEND, OPERANDS };

#define BLOCK_AFTER_ATTRS(X, S)                                                                                        \
  X(S, ENUM, block, MICA_BLOCK_NONE, "block type", mica__block_names)                                                  \
  X(S, REAL, epsilon, 0, "of the norm")                                                                                \
  X(S, INT, bias, 0, "operand of the product's bias; 0: none")                                                         \
  X(S, SHAPE, shape, 0, "the result's, of as many elements")
MICA__ATTR_STRUCT(block_after, BLOCK_AFTER_ATTRS);
static MICA__ATTR_TABLE(block_after, BLOCK_AFTER_ATTRS);

typedef struct sizes {
  int64_t m, n, k;
} sizes;

static sizes sizes_of(mica_shape x, mica_shape w) {
  sizes s = {.m = 1, .n = w.dim[0], .k = x.dim[x.rank - 1]};
  for (int32_t i = 0; i + 1 < x.rank; i++) s.m *= x.dim[i];
  return s;
}

static mica_status check_count(const char *name, const mica__type *type, int64_t count) {
  int64_t own = 0;
  char text[MICA__TYPE_TEXT];
  MICA_TRY(mica_shape_count(type->shape, &own));
  return type->dtype == MICA_F32 && own == count
             ? MICA_OK
             : mica__fail(MICA_E_SHAPE, "the %s is %s, but must be f32 with %lld elements", name,
                          mica__type_format(*type, text), (long long)count);
}

static mica_status infer_after(const mica__type *inputs, int32_t input_count, void *attributes, mica__type *out) {
  const mica__block_after_attrs *attrs = attributes;
  const mica_shape x = inputs[X].shape;
  int64_t count = 0;
  char text[2][MICA_SHAPE_TEXT];
  if (inputs[X].dtype != MICA_F32)
    return mica__fail(MICA_E_DTYPE, "x is %s, but must be f32", mica_dtype_name(inputs[X].dtype));
  if (x.rank < 2 || !mica__shape_is_known(x) || inputs[W].shape.rank != 2)
    return mica__fail(MICA_E_SHAPE, "x is %s and w is %s, but x must have known rows, and w must be a matrix of blocks",
                      mica_shape_format(x, text[0]), mica_shape_format(inputs[W].shape, text[1]));
  if (!mica_block_bytes((mica_block)attrs->block))
    return mica__fail(MICA_E_INVALID, "%d is not a block type", (int)attrs->block);
  MICA_TRY(mica__unblock_check(&(mica__unblock_attrs){attrs->block, x.dim[x.rank - 1], MICA_F32}, &inputs[W]));
  const sizes s = sizes_of(x, inputs[W].shape);
  if (s.m > MICA__BLOCK_MOST_ROWS || s.n % MICA__BLOCK_STRIP != 0)
    return mica__fail(
        MICA_E_SHAPE,
        "the result has %lld rows of %lld elements, but must have at most %d rows, and their length must be a multiple "
        "of %d",
        (long long)s.m, (long long)s.n, MICA__BLOCK_MOST_ROWS, MICA__BLOCK_STRIP);
  MICA_TRY(check_count("scale", &inputs[SCALE], s.n));
  MICA_TRY(check_count("addend", &inputs[ADDEND], s.m * s.n));
  if (attrs->bias && (attrs->bias < OPERANDS || attrs->bias >= input_count))
    return mica__fail(MICA_E_INVALID, "the bias is operand %d, but the op has no such operand for a bias",
                      (int)attrs->bias);
  if (attrs->bias) MICA_TRY(check_count("bias", &inputs[attrs->bias], s.n));
  MICA_TRY(mica_shape_count(attrs->shape, &count));
  if (count != s.m * s.n)
    return mica__fail(MICA_E_SHAPE, "the attribute shape has %lld elements, but the result has %lld", (long long)count,
                      (long long)(s.m * s.n));
  *out = (mica__type){MICA_F32, attrs->shape};
  return MICA_OK;
}

static mica_status evaluate_after(const mica__eval *eval) {
  const mica__block_after_attrs *attrs = eval->attrs;
  const sizes s = sizes_of(eval->types[X].shape, eval->types[W].shape);
  const int64_t bytes = eval->types[W].shape.dim[1];
  for (int64_t i = 0; i < s.m; i++) {
    double *row = eval->output + i * s.n, squares = 0;
    for (int64_t j = 0; j < s.n; j++) {
      row[j] = mica__block_dot((mica_block)attrs->block, eval->inputs[W] + j * bytes, eval->inputs[X] + i * s.k, s.k);
      if (attrs->bias) row[j] += eval->inputs[attrs->bias][j];
      squares += row[j] * row[j];
    }
    const double factor = 1 / sqrt(squares / (double)s.n + attrs->epsilon);
    for (int64_t j = 0; j < s.n; j++)
      row[j] = row[j] * factor * eval->inputs[SCALE][j] + eval->inputs[ADDEND][i * s.n + j];
  }
  return MICA_OK;
}

/* --- the launch --- */

static const mica__kernel_param params[] = {
    MICA__CASE("BLOCK", "block type", MICA__BLOCK_TYPES),
    MICA__CASE("XR", "rows of x of a walk over the weights", 1, 2, 4, 8),
    MICA__CASE("WR", "rows of w that are read at once", 4, 1, 2),
};
static const mica__variant variants[] = {MICA__VARIANT("cpu", MICA__ON_CPU, MICA_BLOCK_Q4_0, 1, 4)};
static const mica__kernel_desc kernel_desc = {MICA__KERNEL("block_after_cpu", "blocks/cpu/after.cl", params, variants)};

static const mica__kernel_param row_params[] = {MICA__CASE("VW", "elements that are read at once", 4)};
static const mica__variant row_variants[] = {MICA__VARIANT("gpu", MICA__ON_GPU, 4)};
static const mica__kernel_desc rows_desc = {
    MICA__KERNEL("block_after_rows", "blocks/after_rows.cl", row_params, row_variants)};

static const mica_tensor *bias_of(const mica__exec *exec) {
  const mica__block_after_attrs *attrs = exec->attrs;
  return attrs->bias ? exec->inputs[attrs->bias] : NULL;
}

/* Launches the product, and then the norm and the addition. */
static mica_status launch_apart(const mica__exec *exec, const sizes *s, mica_tensor *work) {
  static const mica__block_norm_attrs no_norm;
  const mica__block_after_attrs *attrs = exec->attrs;
  mica__exec plain = *exec;
  int32_t values[MICA__MAX_PARAMS];
  mica__kernel *kernel = NULL;
  plain.attrs = &no_norm;
  const mica__block_rows rows = {.block = (mica_block)attrs->block,
                                 .m = s->m,
                                 .k = s->k,
                                 .x = exec->inputs[X],
                                 .part = {{exec->inputs[W], work, s->n}},
                                 .parts = 1,
                                 .bias = bias_of(exec)};
  MICA_TRY(mica__block_rows_launch(&plain, &rows));
  MICA_TRY(mica__exec_values(exec, &rows_desc, values));
  MICA_TRY(mica__kernel_get(mica__queue_engine(exec->queue), &rows_desc, values, NULL, &kernel));
  mica__launch launch = mica__launch_of(kernel);
  mica__launch_tensor(&launch, work);
  mica__launch_tensor(&launch, exec->inputs[SCALE]);
  mica__launch_tensor(&launch, exec->inputs[ADDEND]);
  mica__launch_tensor(&launch, exec->output);
  mica__launch_size(&launch, s->m);
  mica__launch_size(&launch, s->n);
  mica__launch_float(&launch, (float)attrs->epsilon);
  mica__launch_range1(&launch, s->m, MICA__RANGE_GROUP);
  return mica__queue_submit(exec->queue, &launch);
}

/* Computes product, norm and addition in one launch. If counters is NULL (a recording can get none), one work-group
 * computes all columns of its rows. */
static mica_status launch_whole(const mica__exec *exec, const sizes *s, const mica_tensor *work,
                                mica_buffer *counters) {
  const mica__block_after_attrs *attrs = exec->attrs;
  const mica_device_info *device = mica_engine_device(mica__queue_engine(exec->queue));
  int32_t values[MICA__MAX_PARAMS];
  mica__kernel *kernel = NULL;
  int64_t of_x = 1, of_w = 1;
  mica__block_choose_rows(device, true, s->m, &of_x, &of_w);
  const int64_t walks = mica__ceil_div(s->m, of_x), span = counters ? mica__block_span(device, s->n, walks) : s->n;
  MICA_TRY(mica__exec_values(exec, &kernel_desc, values));
  mica__kernel_set(&kernel_desc, values, "BLOCK", attrs->block);
  mica__kernel_set(&kernel_desc, values, "XR", (int32_t)of_x);
  mica__kernel_set(&kernel_desc, values, "WR", (int32_t)of_w);
  const char *prelude = mica__activation_prelude(MICA_ACTIVATION_NONE, MICA_F32);
  MICA_TRY(mica__kernel_get(mica__queue_engine(exec->queue), &kernel_desc, values, prelude, &kernel));
  mica__launch launch = mica__launch_of(kernel);
  mica__launch_tensor(&launch, exec->inputs[X]);
  mica__launch_tensor(&launch, exec->inputs[W]);
  mica__launch_tensor(&launch, exec->output);
  mica__launch_tensor(&launch, exec->inputs[ADDEND]);
  mica__launch_tensor(&launch, work);
  if (counters)
    mica__launch_buffer(&launch, counters, 0);
  else
    mica__launch_optional(&launch, NULL);
  const int64_t numbers[] = {s->m, s->n, s->k / mica_block_elements((mica_block)attrs->block), span};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) mica__launch_size(&launch, numbers[i]);
  mica__launch_optional(&launch, bias_of(exec));
  mica__launch_int(&launch, attrs->bias != 0);
  mica__launch_tensor(&launch, exec->inputs[SCALE]);
  mica__launch_float(&launch, (float)attrs->epsilon);
  mica__launch_range3(&launch, (int64_t[]){mica__ceil_div(s->n, span), walks, 1}, (size_t[]){1, 1, 1});
  mica__launch_whole(&launch);
  mica__launch_cost(&launch, 2 * (double)s->m * (double)s->n * (double)s->k,
                    (double)mica_tensor_bytes(exec->inputs[W]));
  return mica__queue_submit(exec->queue, &launch);
}

static mica_status launch_after(const mica__exec *exec) {
  const sizes s = sizes_of(mica_tensor_shape(exec->inputs[X]), mica_tensor_shape(exec->inputs[W]));
  mica_tensor *work = NULL;
  mica_buffer *counters = NULL;
  if (mica_tensor_count(exec->output) == 0) return MICA_OK;
  const bool whole = mica__exec_takes(exec, &kernel_desc);
  mica_status status = mica__workspace_tensor(exec->queue, MICA_F32, MICA_SHAPE(s.m, s.n), &work);
  if (status == MICA_OK && whole) status = mica__workspace_counters(exec->queue, &counters);
  if (status == MICA_OK) status = whole ? launch_whole(exec, &s, work, counters) : launch_apart(exec, &s, work);
  mica_tensor_destroy(work);
  mica_buffer_destroy(counters);
  return status;
}

/* --- the check --- */

static void fill_weights(mica__check *check, const mica__launch_case *c, int32_t input, double *values, int64_t count) {
  (void)input;
  mica__block_fill(check, (mica_block)((const mica__block_after_attrs *)c->attrs)->block, values, count);
}

static mica_status check_after(mica__check *check) {
  static const int64_t rows[] = {1, 2, 3, 4, 5, 8, 7, 16, 1}, columns[] = {48, 16, 64, 32, 48, 640, 16, 32, 0};
  mica__block_after_attrs attrs[MICA_BLOCK_COUNT];
  mica__launch_case list[MICA_BLOCK_COUNT] = {{0}};
  size_t count = 0;
  for (int type = MICA_BLOCK_NONE + 1; type < MICA_BLOCK_COUNT; type++, count++) {
    const int64_t elements = mica_block_elements((mica_block)type), blocks = elements == 32 ? 18 : 3;
    const int64_t m = rows[count], n = columns[count];
    mica__launch_case *c = &list[count];
    attrs[count] = (mica__block_after_attrs){
        .block = type, .epsilon = 1e-5, .bias = count % 2 ? OPERANDS : 0, .shape = MICA_SHAPE(m, n)};
    *c = (mica__launch_case){.attrs = &attrs[count],
                             .inputs = {{MICA_F32, MICA_SHAPE(m, blocks * elements)},
                                        {MICA_U8, MICA_SHAPE(n, blocks * (int64_t)mica_block_bytes((mica_block)type))},
                                        {MICA_F32, MICA_SHAPE(n)},
                                        {MICA_F32, MICA_SHAPE(m, n)},
                                        {MICA_F32, MICA_SHAPE(n)}},
                             .input_count = OPERANDS + (count % 2 ? 1 : 0),
                             .bound = {1, 0, 1, 1, 1},
                             .terms = (double)(blocks * elements + n),
                             .normwise = true,
                             .filled = 1u << W,
                             .fill = fill_weights};
  }
  return mica__check_launches(check, &mica__op_block_after, "block_after", list, count);
}

/* --- in graphs --- */

static bool match_after(const mica__match *match, mica_engine *engine, int32_t root, int32_t *inputs, int32_t *count,
                        void *attributes) {
  mica__block_after_attrs *attrs = attributes;
  const mica_graph *graph = match->graph;
  int32_t in[4], t = 0;
  if (!(mica__kernel_class(mica_engine_device(engine)) & MICA__ON_CPU) ||
      !mica__pattern_op(graph, root, &mica__op_add, in))
    return false;
  int k = 0;
  while (k < 2 &&
         !mica__block_rms_norm_of(graph, mica__block_before_shapes(graph, in[k]), &t, &inputs[SCALE], &attrs->epsilon))
    k++;
  if (k == 2) return false;
  const int32_t id = mica__block_before_shapes(graph, t);
  const mica__block_product_attrs *product = mica__block_plain_product(graph, id);
  if (!product || product->addend) return false;
  const mica__node *node = mica__graph_node(graph, id);
  inputs[X] = node->inputs[0];
  inputs[W] = node->inputs[1];
  inputs[ADDEND] = in[1 - k];
  *count = OPERANDS;
  if (product->bias) inputs[attrs->bias = (*count)++] = node->inputs[product->bias];
  attrs->block = product->block;
  attrs->shape = mica__graph_node(graph, root)->type.shape;
  return true;
}

static double flops(const mica__node *node, const mica__type *inputs) {
  const sizes s = sizes_of(inputs[X].shape, inputs[W].shape);
  (void)node;
  return 2 * (double)s.m * (double)s.n * (double)s.k;
}

static const mica__kernel_desc *const kernels[] = {&kernel_desc, &rows_desc, NULL};
const mica__op mica__op_block_after = {.name = "block_after",
                                       .kernels = kernels,
                                       .check = check_after,
                                       .kind = MICA__OP_LAUNCH,
                                       .min_inputs = OPERANDS,
                                       .max_inputs = OPERANDS + 1,
                                       .attrs = &mica__block_after_attr_list,
                                       .infer = infer_after,
                                       .evaluate = evaluate_after,
                                       .launch = launch_after,
                                       .match_launches = match_after,
                                       .flops = flops};
