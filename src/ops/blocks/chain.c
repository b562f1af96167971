/* The second half of a layer of few rows in one launch: the product that ends its attention (optional), a gated layer
 * and its second product. All weights are in blocks of one type (cl/blocks/cpu/chain.cl). */
#include "base/arith.h"
#include "base/error.h"
#include "ir/pattern.h"
#include "ops/blocks/blocks.h"
#include "ops/common/activation.h"
#include "ops/common/build.h"
#include "ops/elementwise/elementwise.h"
#include "runtime/buffer.h"
#include "runtime/drivers.h"
#include "runtime/launch.h"
#include "runtime/workspace.h"

#include <stdlib.h>
#include <string.h>

/* block_chain (x, gate, up, down): (act(n(h) gate^T) * (n(h) up^T)) down^T + bias + h, where n is a norm or nothing,
 * and h = x or, with `out`, h = x out^T + out_bias + out_addend. h is added at the end only with `residual`. */
enum { X, GATE, UP, DOWN, OPERANDS };

#define BLOCK_CHAIN_ATTRS(X, S)                                                                                        \
  MICA__BLOCK_FEED_ATTRS(X, S)                                                                                         \
  X(S, INT, out, 0, "operand of the first product; 0: none")                                                           \
  X(S, INT, out_bias, 0, "operand of its bias; 0: none")                                                               \
  X(S, INT, out_addend, 0, "operand of what is added to it; 0: nothing")                                               \
  X(S, INT, bias, 0, "operand of the last product's bias; 0: none")                                                    \
  X(S, BOOL, residual, false, "h is added")                                                                            \
  X(S, SHAPE, shape, 0, "the result's, of as many elements")
MICA__ATTR_STRUCT(block_chain, BLOCK_CHAIN_ATTRS);
static MICA__ATTR_TABLE(block_chain, BLOCK_CHAIN_ATTRS);

/* m: rows; k: columns of x; width: columns of h and of the result; hidden: columns of the gated layer. */
typedef struct sizes {
  int64_t m, k, width, hidden;
} sizes;

static sizes sizes_of(mica_shape x, mica_shape gate, mica_shape down) {
  sizes s = {.m = 1, .k = x.dim[x.rank - 1], .width = down.dim[0], .hidden = gate.dim[0]};
  for (int32_t i = 0; i + 1 < x.rank; i++) s.m *= x.dim[i];
  return s;
}

static mica_status check_matrix(const char *name, const mica__type *w, mica_block type, int64_t rows, int64_t columns) {
  char text[MICA_SHAPE_TEXT];
  if (w->shape.rank != 2 || w->shape.dim[0] != rows)
    return mica__fail(MICA_E_SHAPE, "%s is %s, but must be a matrix of %lld rows", name,
                      mica_shape_format(w->shape, text), (long long)rows);
  return mica__unblock_check(&(mica__unblock_attrs){type, columns, MICA_F32}, w);
}

/* Checks an optional operand of `count` f32 elements. */
static mica_status check_addend(const char *name, const mica__type *inputs, int32_t input_count, int64_t at,
                                int64_t count) {
  int64_t own = 0;
  char text[MICA__TYPE_TEXT];
  if (at == 0) return MICA_OK;
  if (at < OPERANDS || at >= input_count)
    return mica__fail(MICA_E_INVALID, "%s is operand %d, but the op has no such operand for it", name, (int)at);
  MICA_TRY(mica_shape_count(inputs[at].shape, &own));
  return inputs[at].dtype == MICA_F32 && own == count
             ? MICA_OK
             : mica__fail(MICA_E_SHAPE, "%s is %s, but must be f32 with %lld elements", name,
                          mica__type_format(inputs[at], text), (long long)count);
}

static mica_status infer_chain(const mica__type *inputs, int32_t input_count, void *attributes, mica__type *out) {
  const mica__block_chain_attrs *attrs = attributes;
  const mica_block type = (mica_block)attrs->block;
  const mica_shape x = inputs[X].shape;
  int64_t count = 0;
  char text[3][MICA_SHAPE_TEXT];
  if (inputs[X].dtype != MICA_F32)
    return mica__fail(MICA_E_DTYPE, "x is %s, but must be f32", mica_dtype_name(inputs[X].dtype));
  if (x.rank < 2 || !mica__shape_is_known(x) || inputs[GATE].shape.rank != 2 || inputs[DOWN].shape.rank != 2)
    return mica__fail(
        MICA_E_SHAPE,
        "x is %s, gate %s and down %s, but x must have known rows, and gate and down must be matrices of blocks",
        mica_shape_format(x, text[0]), mica_shape_format(inputs[GATE].shape, text[1]),
        mica_shape_format(inputs[DOWN].shape, text[2]));
  if (!mica_block_bytes(type)) return mica__fail(MICA_E_INVALID, "%d is not a block type", (int)type);
  if (!mica__activation_op((mica_activation)attrs->activation))
    return mica__fail(MICA_E_INVALID, "%d is not an activation", (int)attrs->activation);
  const sizes s = sizes_of(x, inputs[GATE].shape, inputs[DOWN].shape);
  if (s.m > MICA__BLOCK_MOST_ROWS)
    return mica__fail(MICA_E_SHAPE, "x has %lld rows, but must have at most %d", (long long)s.m, MICA__BLOCK_MOST_ROWS);
  MICA_TRY(check_matrix("gate", &inputs[GATE], type, s.hidden, s.width));
  MICA_TRY(check_matrix("up", &inputs[UP], type, s.hidden, s.width));
  MICA_TRY(check_matrix("down", &inputs[DOWN], type, s.width, s.hidden));
  if (attrs->out < 0 || attrs->out >= input_count)
    return mica__fail(MICA_E_INVALID, "out is operand %d, but the op has only %d operands", (int)attrs->out,
                      (int)input_count);
  if (attrs->out)
    MICA_TRY(check_matrix("out", &inputs[attrs->out], type, s.width, s.k));
  else if (s.k != s.width)
    return mica__fail(MICA_E_SHAPE, "rows of x have %lld elements, but must have %lld, the number of rows of down",
                      (long long)s.k, (long long)s.width);
  MICA_TRY(check_addend("out_bias", inputs, input_count, attrs->out_bias, s.width));
  MICA_TRY(check_addend("out_addend", inputs, input_count, attrs->out_addend, s.m * s.width));
  MICA_TRY(check_addend("bias", inputs, input_count, attrs->bias, s.width));
  MICA_TRY(mica__block_norm_check(inputs, input_count, attributes, s.width));
  MICA_TRY(mica_shape_count(attrs->shape, &count));
  if (count != s.m * s.width)
    return mica__fail(MICA_E_SHAPE, "the attribute shape has %lld elements, but the result has %lld", (long long)count,
                      (long long)(s.m * s.width));
  *out = (mica__type){MICA_F32, attrs->shape};
  return MICA_OK;
}

/* --- the reference --- */

/* y (m, n) = x (m, k) w^T + bias + addend; bias and addend may be NULL. */
static void multiply(mica_block type, const sizes *s, const double *x, int64_t k, const double *w, int64_t n,
                     const double *bias, const double *addend, double *y) {
  const int64_t bytes = k / mica_block_elements(type) * (int64_t)mica_block_bytes(type);
  for (int64_t i = 0; i < s->m; i++)
    for (int64_t j = 0; j < n; j++)
      y[i * n + j] =
          mica__block_dot(type, w + j * bytes, x + i * k, k) + (bias ? bias[j] : 0) + (addend ? addend[i * n + j] : 0);
}

static const double *given(const mica__eval *eval, int64_t at) { return at ? eval->inputs[at] : NULL; }

/* Evaluates the gated layer of h and its second product. */
static mica_status evaluate_gated(const mica__eval *eval, const sizes *s, const double *h, double *f, double *g) {
  const mica__block_chain_attrs *attrs = eval->attrs;
  const mica_block type = (mica_block)attrs->block;
  const mica__op *activation = mica__activation_op((mica_activation)attrs->activation);
  mica__eval of_h = *eval;
  const double *inputs[MICA__MATCH_INPUTS], *rows = NULL;
  double *own = NULL;
  memcpy(inputs, eval->inputs, (size_t)eval->input_count * sizeof *inputs);
  inputs[X] = h;
  of_h.inputs = inputs;
  MICA_TRY(mica__block_norm_rows(&of_h, s->m, s->width, &own, &rows));
  multiply(type, s, rows, s->width, eval->inputs[GATE], s->hidden, NULL, NULL, f);
  multiply(type, s, rows, s->width, eval->inputs[UP], s->hidden, NULL, NULL, g);
  for (int64_t i = 0; i < s->m * s->hidden; i++) f[i] = activation->scalar(&f[i], NULL) * g[i];
  multiply(type, s, f, s->hidden, eval->inputs[DOWN], s->width, given(eval, attrs->bias), attrs->residual ? h : NULL,
           eval->output);
  free(own);
  return MICA_OK;
}

static mica_status evaluate_chain(const mica__eval *eval) {
  const mica__block_chain_attrs *attrs = eval->attrs;
  const sizes s = sizes_of(eval->types[X].shape, eval->types[GATE].shape, eval->types[DOWN].shape);
  double *h = calloc((size_t)(s.m * s.width) + 1, sizeof *h);
  double *f = calloc((size_t)(s.m * s.hidden) + 1, sizeof *f), *g = calloc((size_t)(s.m * s.hidden) + 1, sizeof *g);
  mica_status status = h && f && g ? MICA_OK : mica__fail_nomem("a reference");
  if (status == MICA_OK && attrs->out)
    multiply((mica_block)attrs->block, &s, eval->inputs[X], s.k, eval->inputs[attrs->out], s.width,
             given(eval, attrs->out_bias), given(eval, attrs->out_addend), h);
  else if (status == MICA_OK)
    memcpy(h, eval->inputs[X], (size_t)(s.m * s.width) * sizeof *h);
  if (status == MICA_OK) status = evaluate_gated(eval, &s, h, f, g);
  free(h);
  free(f);
  free(g);
  return status;
}

/* --- the launch --- */

static const mica__kernel_param params[] = {
    MICA__CASE("BLOCK", "block type", MICA__BLOCK_TYPES),
    MICA__CASE("NORM", "1: of an RMS norm of h, 2: of a layer norm", 1, 0, 2),
    MICA__CASE("OUT", "1: h is a product", 1, 0),
    MICA__CASE("XR", "rows of x of a walk over the weights", 1, 2, 4, 8),
    MICA__CASE("WR", "rows of w that are read at once", 4, 1, 2),
};
static const mica__variant variants[] = {MICA__VARIANT("cpu", MICA__ON_CPU, MICA_BLOCK_Q4_0, 1, 1, 1, 4)};
static const mica__kernel_desc kernel_desc = {MICA__KERNEL("block_chain_cpu", "blocks/cpu/chain.cl", params, variants)};

static size_t local_bytes(const sizes *s, int64_t of_x) {
  return (size_t)(of_x * mica__max(s->k, mica__max(s->width, s->hidden))) * sizeof(float);
}

static bool fits(const mica_device_info *device, const sizes *s) {
  int64_t of_x = 1, of_w = 1;
  mica__block_choose_rows(device, true, s->m, &of_x, &of_w);
  return local_bytes(s, of_x) <= device->local_bytes;
}

/* Operand `at` of a launch; NULL if it is absent. */
static const mica_tensor *operand(const mica__exec *exec, int64_t at) { return at ? exec->inputs[at] : NULL; }

/* Launches the products one after the other. work[0] receives h if a product computes it, and work[1] the result of the
 * gated layer. */
static mica_status launch_apart(const mica__exec *exec, const sizes *s, mica_tensor *const work[2]) {
  static const mica__block_norm_attrs no_norm;
  const mica__block_chain_attrs *attrs = exec->attrs;
  const mica_block type = (mica_block)attrs->block;
  const mica_tensor *h = attrs->out ? work[0] : exec->inputs[X];
  mica__exec plain = *exec;
  plain.attrs = &no_norm;
  const mica__block_rows out = {.block = type,
                                .m = s->m,
                                .k = s->k,
                                .x = exec->inputs[X],
                                .part = {{operand(exec, attrs->out), work[0], s->width}},
                                .parts = 1,
                                .bias = operand(exec, attrs->out_bias),
                                .addend = operand(exec, attrs->out_addend)};
  const mica__block_rows feed = {.block = type,
                                 .m = s->m,
                                 .k = s->width,
                                 .x = h,
                                 .part = {{exec->inputs[GATE], work[1], s->hidden}},
                                 .parts = 1,
                                 .up = exec->inputs[UP],
                                 .activation = (mica_activation)attrs->activation};
  const mica__block_rows down = {.block = type,
                                 .m = s->m,
                                 .k = s->hidden,
                                 .x = work[1],
                                 .part = {{exec->inputs[DOWN], exec->output, s->width}},
                                 .parts = 1,
                                 .bias = operand(exec, attrs->bias),
                                 .addend = attrs->residual ? h : NULL};
  if (attrs->out) MICA_TRY(mica__block_rows_launch(&plain, &out));
  MICA_TRY(mica__block_rows_launch(exec, &feed));
  return mica__block_rows_launch(&plain, &down);
}

/* Pushes the kernel's arguments. The bits of `has` are as in cl/blocks/cpu/chain.cl. */
static void push(mica__launch *launch, const mica__exec *exec, const sizes *s, const int64_t spans[2],
                 const mica_tensor *work, mica_buffer *counters) {
  const mica__block_chain_attrs *attrs = exec->attrs;
  const int32_t has =
      (attrs->out_bias != 0) | (attrs->out_addend != 0) << 1 | (attrs->bias != 0) << 2 | attrs->residual << 3;
  for (int32_t k = X; k <= DOWN; k++) mica__launch_tensor(launch, exec->inputs[k]);
  mica__launch_tensor(launch, exec->output);
  mica__launch_optional(launch, operand(exec, attrs->bias));
  mica__launch_tensor(launch, work);
  mica__launch_buffer(launch, counters, 0);
  const int64_t numbers[] = {s->m, s->width, s->hidden, spans[0], spans[1], has};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) mica__launch_size(launch, numbers[i]);
  mica__launch_float(launch, mica__activation_argument((mica_activation)attrs->activation, 0));
  if (attrs->out) {
    mica__launch_tensor(launch, exec->inputs[attrs->out]);
    mica__launch_optional(launch, operand(exec, attrs->out_bias));
    mica__launch_optional(launch, operand(exec, attrs->out_addend));
    mica__launch_size(launch, s->k / mica_block_elements((mica_block)attrs->block));
  }
  if (!attrs->norm_scale) return;
  mica__launch_tensor(launch, exec->inputs[attrs->norm_scale]);
  mica__launch_optional(launch, operand(exec, attrs->norm_shift));
  mica__launch_float(launch, (float)attrs->epsilon);
}

static mica_status launch_whole(const mica__exec *exec, const sizes *s, const mica_tensor *work,
                                mica_buffer *counters) {
  const mica__block_chain_attrs *attrs = exec->attrs;
  const mica_device_info *device = mica_engine_device(mica__queue_engine(exec->queue));
  int32_t values[MICA__MAX_PARAMS];
  mica__kernel *kernel = NULL;
  int64_t of_x = 1, of_w = 1;
  mica__block_choose_rows(device, true, s->m, &of_x, &of_w);
  const int64_t walks = mica__ceil_div(s->m, of_x);
  const int64_t spans[2] = {mica__block_span(device, s->width, walks), mica__block_span(device, s->hidden, walks)};
  MICA_TRY(mica__exec_values(exec, &kernel_desc, values));
  mica__kernel_set(&kernel_desc, values, "BLOCK", attrs->block);
  mica__kernel_set(&kernel_desc, values, "NORM", !attrs->norm_scale ? 0 : attrs->norm_shift ? 2 : 1);
  mica__kernel_set(&kernel_desc, values, "OUT", attrs->out != 0);
  mica__kernel_set(&kernel_desc, values, "XR", (int32_t)of_x);
  mica__kernel_set(&kernel_desc, values, "WR", (int32_t)of_w);
  const char *prelude = mica__activation_prelude((mica_activation)attrs->activation, MICA_F32);
  MICA_TRY(mica__kernel_get(mica__queue_engine(exec->queue), &kernel_desc, values, prelude, &kernel));
  mica__launch launch = mica__launch_of(kernel);
  push(&launch, exec, s, spans, work, counters);
  mica__launch_local(&launch, local_bytes(s, of_x));
  const int64_t wide = mica__ceil_div(s->width, spans[0]), tall = mica__ceil_div(s->hidden, spans[1]);
  mica__launch_range3(&launch, (int64_t[]){walks * (wide * (attrs->out ? 2 : 1) + tall), 1, 1}, (size_t[]){1, 1, 1});
  mica__launch_whole(&launch);
  const double weights = 3 * (double)s->hidden * (double)s->width + (attrs->out ? (double)(s->k * s->width) : 0);
  mica__launch_cost(&launch, 2 * (double)s->m * weights,
                    weights / (double)mica_block_elements((mica_block)attrs->block) *
                        (double)mica_block_bytes((mica_block)attrs->block));
  return mica__queue_submit(exec->queue, &launch);
}

static mica_status launch_chain(const mica__exec *exec) {
  const mica__block_chain_attrs *attrs = exec->attrs;
  const mica_device_info *device = mica_engine_device(mica__queue_engine(exec->queue));
  const sizes s = sizes_of(mica_tensor_shape(exec->inputs[X]), mica_tensor_shape(exec->inputs[GATE]),
                           mica_tensor_shape(exec->inputs[DOWN]));
  const int64_t of_h = attrs->out ? s.m * s.width : 0, of_f = s.m * s.hidden;
  mica_tensor *work = NULL, *parts[2] = {NULL};
  mica_buffer *counters = NULL;
  if (mica_tensor_count(exec->output) == 0) return MICA_OK;
  const bool whole = mica__exec_takes(exec, &kernel_desc) && fits(device, &s) && s.hidden > 0;
  mica_status status = mica__workspace_tensor(exec->queue, MICA_F32, MICA_SHAPE(of_h + of_f), &work);
  if (status == MICA_OK && whole) status = mica__workspace_counters(exec->queue, &counters);
  if (status == MICA_OK && counters) {
    status = launch_whole(exec, &s, work, counters);
  } else if (status == MICA_OK) {
    status = mica_tensor_view(work, MICA_SHAPE(s.m, attrs->out ? s.width : 0), NULL, 0, &parts[0]);
    if (status == MICA_OK) status = mica_tensor_view(work, MICA_SHAPE(s.m, s.hidden), NULL, of_h, &parts[1]);
    if (status == MICA_OK) status = launch_apart(exec, &s, parts);
  }
  for (int i = 0; i < 2; i++) mica_tensor_destroy(parts[i]);
  mica_tensor_destroy(work);
  mica_buffer_destroy(counters);
  return status;
}

/* --- the check --- */

static void fill_weights(mica__check *check, const mica__launch_case *c, int32_t input, double *values, int64_t count) {
  (void)input;
  mica__block_fill(check, (mica_block)((const mica__block_chain_attrs *)c->attrs)->block, values, count);
}

static int32_t add_input(mica__launch_case *c, mica_dtype dtype, mica_shape shape) {
  c->bound[c->input_count] = 1;
  c->inputs[c->input_count] = (mica__type){dtype, shape};
  return c->input_count++;
}

static mica_status check_chain(mica__check *check) {
  static const struct {
    mica_block type;
    int64_t m, k, width, hidden; /* k, width and hidden are counted in blocks */
    bool out, bias, residual;
    int norm;
  } cases[] = {
      {MICA_BLOCK_Q4_1, 1, 18, 18, 25, true, false, true, 1}, {MICA_BLOCK_Q8_0, 3, 5, 7, 11, true, true, true, 2},
      {MICA_BLOCK_Q4_K, 2, 1, 1, 3, false, true, false, 0},   {MICA_BLOCK_Q6_K, 16, 1, 1, 2, true, false, false, 1},
      {MICA_BLOCK_Q5_0, 5, 9, 9, 4, false, false, true, 1},   {MICA_BLOCK_MXFP4, 8, 2, 3, 1, true, true, true, 0}};
  enum { CASES = sizeof cases / sizeof *cases };
  mica__block_chain_attrs attrs[CASES];
  mica__launch_case list[CASES] = {{0}};
  for (size_t n = 0; n < CASES; n++) {
    mica__launch_case *c = &list[n];
    mica__block_chain_attrs *a = &attrs[n];
    const int64_t elements = mica_block_elements(cases[n].type), bytes = (int64_t)mica_block_bytes(cases[n].type);
    const int64_t width = cases[n].width * elements, hidden = cases[n].hidden * elements;
    *a = (mica__block_chain_attrs){.block = cases[n].type,
                                   .activation = MICA_ACTIVATION_SILU,
                                   .residual = cases[n].residual,
                                   .shape = MICA_SHAPE(cases[n].m, width)};
    *c = (mica__launch_case){.attrs = a, .terms = (double)(width + hidden), .normwise = true, .fill = fill_weights};
    add_input(c, MICA_F32, MICA_SHAPE(cases[n].m, cases[n].k * elements));
    add_input(c, MICA_U8, MICA_SHAPE(hidden, cases[n].width * bytes));
    add_input(c, MICA_U8, MICA_SHAPE(hidden, cases[n].width * bytes));
    add_input(c, MICA_U8, MICA_SHAPE(width, cases[n].hidden * bytes));
    c->filled = 1u << GATE | 1u << UP | 1u << DOWN;
    if (cases[n].out) a->out = add_input(c, MICA_U8, MICA_SHAPE(width, cases[n].k * bytes));
    if (cases[n].out) c->filled |= 1u << a->out;
    if (cases[n].out) a->out_addend = add_input(c, MICA_F32, MICA_SHAPE(cases[n].m, width));
    if (cases[n].out && cases[n].bias) a->out_bias = add_input(c, MICA_F32, MICA_SHAPE(width));
    if (cases[n].bias) a->bias = add_input(c, MICA_F32, MICA_SHAPE(width));
    if (cases[n].norm) mica__block_norm_case(c, a, width, cases[n].norm == 2);
  }
  return mica__check_launches(check, &mica__op_block_chain, "block_chain", list, CASES);
}

/* --- in graphs --- */

static int64_t add_operand(const mica__node *node, int64_t at, int32_t *inputs, int32_t *count) {
  if (at == 0) return 0;
  inputs[*count] = node->inputs[at];
  return (*count)++;
}

/* Fuses the product that computes h, if its blocks are of the same type. Else h itself is operand X. */
static void take_out(const mica_graph *graph, int32_t h, int32_t *inputs, int32_t *count,
                     mica__block_chain_attrs *attrs) {
  const mica__block_product_attrs *product = mica__block_plain_product(graph, h);
  const mica__node *node = mica__graph_node(graph, h);
  inputs[X] = h;
  if (!product || product->block != attrs->block) return;
  inputs[X] = node->inputs[0];
  attrs->out = add_operand(node, 1, inputs, count);
  attrs->out_bias = add_operand(node, product->bias, inputs, count);
  attrs->out_addend = add_operand(node, product->addend, inputs, count);
}

/* Work-groups of the launch wait for each other, so every thread of the device needs a core to itself. */
static bool runs_together(const mica_device_info *device) {
  return (mica__kernel_class(device) & MICA__ON_CPU) && mica__usable_cores() >= device->compute_units;
}

/* Finds out if the last product adds h; with one row h may appear as its bias, and *bias then becomes 0. Returns false
 * if the product adds anything besides h and a bias. */
static bool take_residual(const mica_graph *graph, const mica__node *down, const mica__block_product_attrs *product,
                          int32_t h, int64_t *bias, bool *residual) {
  const bool as_bias = *bias && mica__block_before_shapes(graph, down->inputs[*bias]) == h;
  *residual = as_bias || product->addend != 0;
  if (as_bias) *bias = 0;
  if (!product->addend) return true;
  return !as_bias && mica__block_before_shapes(graph, down->inputs[product->addend]) == h;
}

static bool match_chain(const mica__match *match, mica_engine *engine, int32_t root, int32_t *inputs, int32_t *count,
                        void *attributes) {
  mica__block_chain_attrs *attrs = attributes;
  const mica_graph *graph = match->graph;
  const mica_device_info *device = mica_engine_device(engine);
  const mica__node *down = mica__graph_node(graph, root);
  const mica__block_product_attrs *product = mica__block_plain_product(graph, root);
  if (!product || !runs_together(device)) return false;
  const int32_t fed = mica__block_before_shapes(graph, down->inputs[0]);
  const mica__node *feed = mica__graph_node(graph, fed);
  if (feed->op != &mica__op_block_feed) return false;
  mica__block_feed_attrs gated = *(const mica__block_feed_attrs *)feed->attrs;
  int32_t of_feed[MICA__MATCH_INPUTS] = {0}, feed_count = feed->input_count;
  if (gated.block != product->block) return false;
  memcpy(of_feed, feed->inputs, (size_t)feed_count * sizeof *of_feed);
  mica__block_fuse_norm(match, engine, fed, of_feed, &feed_count, &gated);
  const int32_t h = mica__block_before_shapes(graph, of_feed[0]);
  int64_t bias = product->bias;
  if (!take_residual(graph, down, product, h, &bias, &attrs->residual)) return false;
  attrs->shape = down->type.shape;
  attrs->block = gated.block;
  attrs->activation = gated.activation;
  attrs->epsilon = gated.epsilon;
  inputs[GATE] = of_feed[1];
  inputs[UP] = of_feed[2];
  inputs[DOWN] = down->inputs[1];
  *count = OPERANDS;
  take_out(graph, h, inputs, count, attrs);
  attrs->bias = add_operand(down, bias, inputs, count);
  if (gated.norm_scale) inputs[attrs->norm_scale = (*count)++] = of_feed[gated.norm_scale];
  if (gated.norm_shift) inputs[attrs->norm_shift = (*count)++] = of_feed[gated.norm_shift];
  const sizes s =
      sizes_of(mica__graph_node(graph, inputs[X])->type.shape, mica__graph_node(graph, inputs[GATE])->type.shape,
               mica__graph_node(graph, inputs[DOWN])->type.shape);
  return fits(device, &s);
}

static double flops(const mica__node *node, const mica__type *inputs) {
  const mica__block_chain_attrs *attrs = node->attrs;
  const sizes s = sizes_of(inputs[X].shape, inputs[GATE].shape, inputs[DOWN].shape);
  return 2 * (double)s.m * (double)s.width * (3 * (double)s.hidden + (attrs->out ? (double)s.k : 0));
}

static const mica__kernel_desc *const kernels[] = {&kernel_desc, NULL};
const mica__op mica__op_block_chain = {.name = "block_chain",
                                       .kernels = kernels,
                                       .check = check_chain,
                                       .kind = MICA__OP_LAUNCH,
                                       .min_inputs = OPERANDS,
                                       .max_inputs = OPERANDS + 6,
                                       .attrs = &mica__block_chain_attr_list,
                                       .infer = infer_chain,
                                       .evaluate = evaluate_chain,
                                       .launch = launch_chain,
                                       .match_launches = match_chain,
                                       .flops = flops};
