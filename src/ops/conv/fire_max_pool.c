/* A fire module and the max pooling of its result as one launch on CPUs (ops/conv/fire_module.h).
 *
 *   fire_max_pool (x, w1, b1, w2, b2, w3, b3)
 *
 * Its results are max_pool's. In graphs it replaces a module's concatenation and max_pool where that pays, if nothing
 * uses the positions of the maxima (mica__op.match_launches). */
#include "base/error.h"
#include "ops/conv/fire_module.h"
#include "ops/pool/max_pool.h"
#include "ops/select/launch_check.h"
#include "ops/select/registry.h"
#include "runtime/workspace.h"

#include <math.h>
#include <stdlib.h>

#define FIRE_MAX_POOL_ATTRS(X, S)                                                                                      \
  MICA__MAX_POOL_ATTRS(X, S)                                                                                           \
  X(S, REAL, low, 0, "no result of the three convolutions is below")                                                   \
  X(S, REAL, high, (double)INFINITY, "and none above")
MICA__ATTR_STRUCT(fire_max_pool, FIRE_MAX_POOL_ATTRS);
static MICA__ATTR_TABLE(fire_max_pool, FIRE_MAX_POOL_ATTRS);

#define OPERANDS MICA__FIRE_OPERANDS

/* Describes the module with its pooling. results receives the types of max_pool's results. */
static mica_status fire_of(const mica__fire_max_pool_attrs *attrs, const mica__type *types, int32_t count,
                           mica__fire *fire, mica__type *results) {
  MICA_TRY(mica__fire_of(types, count, attrs->low, attrs->high, fire));
  const mica__type between = mica__fire_type(fire, types[MICA__FIRE_X].dtype);
  fire->pools = true;
  MICA__MAX_POOL_COPY(&fire->window, attrs);
  MICA_TRY(mica__op_infer(&mica__op_max_pool, &between, 1, &fire->window, results));
  for (int i = 0; i < 2; i++) fire->pooled[i] = results->shape.dim[2 + i];
  return MICA_OK;
}

static mica_status infer(const mica__type *inputs, int32_t input_count, void *attrs, mica__type *out) {
  mica__fire fire;
  return fire_of(attrs, inputs, input_count, &fire, out);
}

static mica_status evaluate(const mica__eval *eval) {
  mica__type results[MICA__POOL_RESULTS] = {0};
  mica__fire fire;
  int64_t count = 0;
  MICA_TRY(fire_of(eval->attrs, eval->types, eval->input_count, &fire, results));
  const mica__type between = mica__fire_type(&fire, eval->types[MICA__FIRE_X].dtype);
  MICA_TRY(mica_shape_count(between.shape, &count));
  double *y = malloc(((size_t)count + 1) * sizeof *y);
  if (!y) return mica__fail_nomem("a reference");
  mica_status status = mica__fire_evaluate(eval, &fire, y);
  const double *const inputs[] = {y};
  mica__eval pooling = *eval;
  pooling.attrs = &fire.window;
  pooling.inputs = inputs;
  pooling.types = &between;
  pooling.input_count = 1;
  if (status == MICA_OK) status = mica__op_max_pool.evaluate(&pooling);
  free(y);
  return status;
}

/* Launches the convolutions and the pooling one by one, if the kernel cannot compute them or if the positions of the
 * maxima are wanted. */
static mica_status launch_apart(const mica__exec *exec, const mica__fire *fire) {
  const mica__type type = mica__fire_type(fire, mica_tensor_dtype(exec->output));
  mica_tensor *y = NULL;
  MICA_TRY(mica__workspace_tensor(exec->queue, type.dtype, type.shape, &y));
  mica_status status = mica__fire_launch_apart(exec, fire, y);
  const mica_tensor *const inputs[] = {y};
  mica__exec pooling = *exec;
  pooling.attrs = &fire->window;
  pooling.inputs = inputs;
  pooling.input_count = 1;
  pooling.constant = pooling.held = pooling.lends = 0;
  pooling.prologue = NULL;
  if (status == MICA_OK) status = mica__op_max_pool.launch(&pooling);
  mica_tensor_destroy(y);
  return status;
}

static mica_status launch(const mica__exec *exec) {
  mica__type types[OPERANDS], results[MICA__POOL_RESULTS] = {0};
  mica__fire fire;
  bool done = false;
  for (int i = 0; i < OPERANDS; i++)
    types[i] = (mica__type){mica_tensor_dtype(exec->inputs[i]), mica_tensor_shape(exec->inputs[i])};
  MICA_TRY(fire_of(exec->attrs, types, OPERANDS, &fire, results));
  if (mica_tensor_count(exec->output) == 0) return MICA_OK;
  if (!exec->outputs || !exec->outputs[MICA__POOL_INDICES]) MICA_TRY(mica__fire_launch(exec, &fire, &done));
  return done ? MICA_OK : launch_apart(exec, &fire);
}

static bool match(const mica__match *match, mica_engine *engine, int32_t root, int32_t *inputs, int32_t *count,
                  void *given) {
  const mica__node *pool = mica__graph_node(match->graph, root);
  mica__fire_max_pool_attrs *attrs = given;
  mica__type types[OPERANDS], results[MICA__POOL_RESULTS] = {0};
  mica__fire fire;
  if (pool->op != &mica__op_max_pool || pool->type.shape.rank != 4) return false;
  if (!mica__fire_find(match->graph, pool->inputs[0], inputs, &attrs->low, &attrs->high)) return false;
  *count = OPERANDS;
  MICA__MAX_POOL_COPY(attrs, (const mica__max_pool_attrs *)pool->attrs);
  for (int32_t i = 0; i < OPERANDS; i++) types[i] = mica__graph_node(match->graph, inputs[i])->type;
  return fire_of(attrs, types, OPERANDS, &fire, results) == MICA_OK && mica__fire_pays(&fire, engine);
}

/* --- the descriptor --- */

static double flops(const mica__node *node, const mica__type *inputs) {
  mica__type results[MICA__POOL_RESULTS] = {0};
  mica__fire fire;
  return fire_of(node->attrs, inputs, OPERANDS, &fire, results) == MICA_OK ? mica__fire_flops(&fire) : 0;
}

#define LARGER(a, b) ((a) > (b) ? (a) : (b))
/* Images; channels, rows and columns of x; squeezed channels; filters of the two expansions and their sides. */
#define CASE(how, type, n, c, h, w, k, m2, r2, m3, r3)                                                                 \
  {                                                                                                                    \
    .attrs = &(how), .inputs = {{type, {4, {n, c, h, w}}}, {type, {4, {k, c, 1, 1}}},                                  \
                                {type, {1, {k}}},          {type, {4, {m2, k, r2, r2}}},                               \
                                {type, {1, {m2}}},         {type, {4, {m3, k, r3, r3}}},                               \
                                {type, {1, {m3}}}},                                                                    \
    .input_count = OPERANDS, .terms = (c) + (k)*LARGER(r2, r3) * LARGER(r2, r3), .unwanted = 1u << MICA__POOL_INDICES, \
    .whole = EXACT(type)                                                                                               \
  }
/* The operands that are whole numbers in cases of 16 bits. If the kernel does not take such a case, the squeezed
 * channels are stored in 16 bits, which is exact for whole numbers below 256. */
#define EXACT(type) ((type) == MICA_F32 ? 0 : 1u << MICA__FIRE_X | 1u << MICA__FIRE_W1 | 1u << MICA__FIRE_B1)

/* The cases cover windows that overlap, that touch, that leave rows out and that reach beyond the image; panels that
 * are not full; and all dtypes of the kernel. The kernel does not take the last case, whose rows are shorter than a
 * segment. */
static mica_status check(mica__check *check) {
#define HOW(side, every, before, ceil)                                                                                 \
  {                                                                                                                    \
    .size = {side, side}, .stride = {every, every}, .pad = {before, before}, .pad_end = {before, before},              \
    .dilation = {1, 1, 1}, .ceil_mode = {ceil, ceil}, .low = 0, .high = (double)INFINITY                               \
  }
  static const mica__fire_max_pool_attrs squeeze = HOW(3, 2, 0, 1), touch = HOW(2, 2, 0, 0), apart = HOW(2, 3, 1, 0),
                                         dense = HOW(3, 1, 1, 0);
  const mica__launch_case list[] = {
      CASE(squeeze, MICA_F32, 1, 6, 27, 27, 16, 32, 1, 33, 3), CASE(touch, MICA_F32, 2, 5, 9, 11, 7, 3, 3, 47, 1),
      CASE(apart, MICA_F32, 1, 3, 20, 22, 17, 33, 1, 2, 5),    CASE(dense, MICA_F32, 1, 4, 5, 7, 20, 40, 1, 18, 3),
      CASE(squeeze, MICA_F16, 1, 6, 14, 40, 24, 40, 1, 32, 3), CASE(dense, MICA_BF16, 1, 6, 7, 8, 24, 33, 1, 32, 3),
      CASE(touch, MICA_F32, 1, 3, 2, 2, 4, 5, 1, 6, 3),
  };
  return mica__check_launches(check, &mica__op_fire_max_pool, "fire modules and max pooling", list,
                              sizeof list / sizeof *list);
}

static const mica__kernel_desc *const kernels[] = {&mica__fire_module_kernel, NULL};
const mica__op mica__op_fire_max_pool = {.name = "fire_max_pool",
                                         .kernels = kernels,
                                         .check = check,
                                         .kind = MICA__OP_LAUNCH,
                                         .min_inputs = OPERANDS,
                                         .max_inputs = OPERANDS,
                                         .results = MICA__POOL_RESULTS,
                                         .attrs = &mica__fire_max_pool_attr_list,
                                         .dtypes = "f000000>0s",
                                         .infer = infer,
                                         .evaluate = evaluate,
                                         .launch = launch,
                                         .match_launches = match,
                                         .flops = flops};
