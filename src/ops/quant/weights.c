/* Products of few rows with weights stored as bytes or nibbles (cl/quant/weights.cl). */
#include "base/arith.h"
#include "base/error.h"
#include "ir/pattern.h"
#include "ops/matmul/linear.h"
#include "ops/quant/int8.h"
#include "ops/select/registry.h"
#include "runtime/workspace.h"

#include <math.h>

/* weights (x, q, scale, zero): the product of x (.., m, k), in f32, and dequantized weights.
 *
 *    q      bytes (n, k) or (k, n), or nibbles (n, k / 2)
 *    scale  f32: one number, one per column, or one per column and group of k, in the order of q
 *    zero   like scale, or absent
 *
 * The operands of the fused steps after the product follow, as in ops/matmul/linear.h. */
enum { X, Q, SCALE, ZERO, OPERANDS = ZERO + 3 };

#define WEIGHTS_ATTRS(X, S)                                                                                            \
  X(S, INT, present, 0, "bit k: operand k is there")                                                                   \
  X(S, INT, bits, 8, "of a weight")                                                                                    \
  X(S, BOOL, is_signed, false, "nibbles are signed")                                                                   \
  X(S, BOOL, by_k, false, "q is (k, n)")                                                                               \
  X(S, INT, group, 0, "values along k that share a scale; 0: all")                                                     \
  MICA__LINEAR_ATTRS(X, S)
MICA__ATTR_STRUCT(weights, WEIGHTS_ATTRS);
static MICA__ATTR_TABLE(weights, WEIGHTS_ATTRS);

static const mica__kernel_param params[] = {
    MICA__CASE("BITS", "of a weight", 8, 4),
    MICA__INT("ROWS", "rows that a walk over the weights serves", 1, 2, 4),
    MICA__INT("VW", "columns a work-item makes", 16, 1),
};
static const mica__variant cpu_variants[] = {MICA__VARIANT("cpu", MICA__ON_CPU, 8, 1, 16)};
static const mica__variant gpu_variants[] = {MICA__VARIANT("gpu", MICA__ON_GPU, 8, 1, 1)};
static bool has_room(const int32_t *values, const mica_device_info *device) {
  (void)values;
  return device->max_group >= 256;
}
static const mica__kernel_desc weights_cpu = {MICA__KERNEL("weights", "quant/weights.cl", params, cpu_variants)};
static const mica__kernel_desc weights_gpu = {MICA__KERNEL("weights", "quant/weights.cl", params, gpu_variants),
                                              .has_room = has_room};

static const mica__kernel_desc scales_kernel = {.name = "weights_scales",
                                                .file = "quant/weights_scales.cl",
                                                .variants =
                                                    (const mica__variant[]){{.name = "any", .classes = MICA__ON_ANY}},
                                                .variant_count = 1};

static int64_t count_of(mica_shape shape) {
  int64_t count = 1;
  for (int32_t i = 0; i < shape.rank; i++) count *= shape.dim[i];
  return count;
}

/* x is (m, k), where m counts the rows of all batches, and the dequantized weights are (k, n). Each column of weights
 * has `groups` groups, each with a scale. */
typedef struct sizes {
  int64_t m, n, k, groups;
} sizes;

static sizes sizes_of(const mica__weights_attrs *attrs, mica_shape x, mica_shape q) {
  sizes s = {.k = x.dim[x.rank - 1], .n = q.dim[attrs->by_k ? 1 : 0]};
  s.m = s.k > 0 ? count_of(x) / s.k : 0;
  s.groups = attrs->group > 0 && s.k % attrs->group == 0 ? s.k / attrs->group : 1;
  return s;
}

static mica_status infer_weights(const mica__type *inputs, int32_t input_count, void *attributes, mica__type *out) {
  const mica__weights_attrs *attrs = attributes;
  mica_shape x = inputs[X].shape, q = inputs[Q].shape;
  bool nibbles = attrs->bits == 4,
       known = x.rank >= 2 && q.rank == 2 && !mica__shape_is_open(x) && !mica__shape_is_open(q);
  int64_t per = nibbles ? 8 : 4, stored = known ? q.dim[attrs->by_k ? 0 : 1] * (nibbles ? 2 : 1) : 0;
  char tx[MICA_SHAPE_TEXT], tq[MICA_SHAPE_TEXT];
  if (!known)
    return mica__fail(MICA_E_SHAPE,
                      "x is %s and the weights %s, but x must have rank 2 or more and the weights rank 2, without open "
                      "dimensions",
                      mica_shape_format(x, tx), mica_shape_format(q, tq));
  if (nibbles && attrs->by_k)
    return mica__fail(MICA_E_SHAPE, "by_k is set, but is not supported for weights of 4 bits");
  if (nibbles && inputs[Q].dtype != MICA_U8)
    return mica__fail(MICA_E_SHAPE, "weights of 4 bits are %s, but must be u8", mica_dtype_name(inputs[Q].dtype));
  if (stored != x.dim[x.rank - 1] || stored < 1)
    return mica__fail(MICA_E_SHAPE,
                      "rows of x %s and of the weights %s must have the same number of elements, at least 1; a byte of "
                      "the weights has %d",
                      mica_shape_format(x, tx), mica_shape_format(q, tq), nibbles ? 2 : 1);
  if (stored % per != 0)
    return mica__fail(MICA_E_SHAPE, "rows have %lld elements, but must have a multiple of %d", (long long)stored,
                      (int)per);
  if (attrs->group < 0 || attrs->group % per != 0 || (attrs->group && stored % attrs->group != 0))
    return mica__fail(
        MICA_E_SHAPE,
        "group is %lld, but must be 0 (the whole row), or a multiple of %d that divides the %lld elements of a row",
        (long long)attrs->group, (int)per, (long long)stored);
  if (inputs[Q].dtype != MICA_U8 && inputs[Q].dtype != MICA_I8)
    return mica__fail(MICA_E_DTYPE, "weights are %s, but must be i8 or u8", mica_dtype_name(inputs[Q].dtype));
  sizes s = sizes_of(attrs, x, q);
  (void)input_count;
  for (int32_t i = SCALE; i <= (attrs->present >> ZERO & 1 ? ZERO : SCALE); i++) {
    int64_t has = count_of(inputs[i].shape);
    if (inputs[i].dtype != MICA_F32 || (has != 1 && has != s.n * s.groups))
      return mica__fail(MICA_E_SHAPE,
                        "the %s are %s %s, but must be f32, and one number or %lld: one per group and column",
                        i == SCALE ? "scales" : "zeros", mica_dtype_name(inputs[i].dtype),
                        mica_shape_format(inputs[i].shape, tx), (long long)(s.n * s.groups));
  }
  if (inputs[X].dtype != MICA_F32)
    return mica__fail(MICA_E_DTYPE, "x is %s, but must be f32", mica_dtype_name(inputs[X].dtype));
  *out = inputs[X];
  out->shape.dim[x.rank - 1] = s.n;
  return MICA_OK;
}

static double weight_of(const mica__eval *eval, const mica__weights_attrs *attrs, const sizes *s, int64_t j,
                        int64_t k) {
  if (attrs->bits == 8) return eval->inputs[Q][attrs->by_k ? k * s->n + j : j * s->k + k];
  int value = (int)eval->inputs[Q][(j * s->k + k) / 2] >> 4 * (k % 2) & 15;
  return attrs->is_signed ? (value ^ 8) - 8 : value;
}

static double part_of(const mica__eval *eval, const mica__weights_attrs *attrs, const sizes *s, int32_t operand,
                      int64_t j, int64_t g) {
  if (count_of(eval->types[operand].shape) == 1) return eval->inputs[operand][0];
  return eval->inputs[operand][attrs->by_k ? g * s->n + j : j * s->groups + g];
}

static mica_status evaluate_weights(const mica__eval *eval) {
  const mica__weights_attrs *attrs = eval->attrs;
  sizes s = sizes_of(attrs, eval->types[X].shape, eval->types[Q].shape);
  int64_t group = s.k / s.groups;
  double *y = eval->output;
  for (int64_t i = 0; i < s.m; i++)
    for (int64_t j = 0; j < s.n; j++) {
      double sum = 0;
      for (int64_t k = 0; k < s.k; k++) {
        double zero = attrs->present >> ZERO & 1 ? part_of(eval, attrs, &s, ZERO, j, k / group) : 0;
        sum += eval->inputs[X][i * s.k + k] * part_of(eval, attrs, &s, SCALE, j, k / group) *
               (weight_of(eval, attrs, &s, j, k) - zero);
      }
      *y++ = sum;
    }
  return MICA_OK;
}

/* --- the launch --- */

#define WIDTH 16
#define SLICES 16

static mica_status pack(const mica__exec *exec, const mica__weights_attrs *attrs, const sizes *s,
                        mica_tensor **packed) {
  bool nibbles = attrs->bits == 4;
  mica_queue *queue = exec->prologue && exec->constant >> Q & 1 ? exec->prologue : exec->queue;
  int64_t depth = nibbles ? s->k / 2 : s->k;
  const mica__int8_matrix m = {.x = exec->inputs[Q],
                               .to = MICA_U8,
                               .per = 4,
                               .batches = 1,
                               .outer = s->n,
                               .taps = 1,
                               .depth = depth,
                               .outer_step = attrs->by_k ? 1 : depth,
                               .depth_step = attrs->by_k ? s->n : 1,
                               .width = WIDTH};
  int64_t count = mica__ceil_div(s->n, WIDTH) * WIDTH * mica__ceil_div(depth, 4);
  MICA_TRY(mica__workspace_tensor(queue, MICA_U32, MICA_SHAPE(count), packed));
  return mica__int8_pack_matrix(exec, queue, &m, *packed, NULL);
}

/* Packs scales or zero points into panels and adds `lift` to each number. If the operand is absent, *panels stays
 * NULL. */
static mica_status pack_part(const mica__exec *exec, const mica__weights_attrs *attrs, const sizes *s, int32_t operand,
                             float lift, mica_tensor **panels) {
  if (!(attrs->present >> operand & 1)) return MICA_OK;
  const mica_tensor *part = exec->inputs[operand];
  const bool one = mica_tensor_count(part) == 1;
  mica_queue *queue = exec->prologue && exec->constant >> operand & 1 ? exec->prologue : exec->queue;
  mica__kernel *kernel = NULL;
  int32_t values[MICA__MAX_PARAMS];
  const int64_t count = mica__ceil_div(s->n, WIDTH) * WIDTH * s->groups;
  MICA_TRY(mica__exec_values(exec, &scales_kernel, values));
  MICA_TRY(mica__kernel_get(mica__queue_engine(queue), &scales_kernel, values, NULL, &kernel));
  MICA_TRY(mica__workspace_tensor(queue, MICA_F32, MICA_SHAPE(count), panels));
  mica__launch launch = mica__launch_of(kernel);
  mica__launch_tensor(&launch, part);
  mica__launch_tensor(&launch, *panels);
  const int64_t numbers[] = {s->n, s->groups, one ? 0 : attrs->by_k ? 1 : s->groups, one ? 0 : attrs->by_k ? s->n : 1};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) mica__launch_size(&launch, numbers[i]);
  mica__launch_float(&launch, lift);
  mica__launch_range1(&launch, count, MICA__RANGE_GROUP);
  mica__launch_cost(&launch, 0, 8 * (double)count);
  return mica__queue_submit(queue, &launch);
}

static void push_epilogue(const mica__exec *exec, const mica__weights_attrs *attrs, mica__launch *launch) {
  const int64_t at[] = {attrs->bias, attrs->addend};
  for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
    mica__launch_optional(launch, at[i] ? exec->inputs[at[i]] : NULL);
    mica__launch_int(launch, at[i] != 0);
  }
  const float argument = (float)attrs->activation_argument;
  mica__launch_float(launch, mica__activation_argument((mica_activation)attrs->activation, argument));
}

/* All operands except x, in panels. */
typedef struct panels {
  mica_tensor *weights, *scales, *zeros;
  float lift; /* added to signed weights to make them unsigned, and to zero points */
} panels;

typedef struct problem {
  const mica__exec *exec;
  const mica__weights_attrs *attrs;
  sizes s;
  panels panels;
} problem;

static mica_status launch_packed(const problem *of, const mica__kernel_desc *desc) {
  const mica__exec *exec = of->exec;
  const mica__weights_attrs *attrs = of->attrs;
  const sizes *s = &of->s;
  const panels *p = &of->panels;
  int32_t values[MICA__MAX_PARAMS];
  mica__kernel *kernel = NULL;
  MICA_TRY(mica__exec_values(exec, desc, values));
  int32_t rows = s->m == 1 ? 1 : s->m == 2 ? 2 : 4;
  bool cpu = mica__kernel_value(desc, values, "VW") > 1;
  mica__kernel_set(desc, values, "BITS", (int32_t)attrs->bits);
  mica__kernel_set(desc, values, "ROWS", rows);
  const char *prelude = mica__activation_prelude((mica_activation)attrs->activation, MICA_F32);
  MICA_TRY(mica__kernel_get(mica__queue_engine(exec->queue), desc, values, prelude, &kernel));
  int64_t steps = s->k / (32 / attrs->bits), group = steps / s->groups;
  int64_t segment = s->groups > 1 || cpu ? group : mica__ceil_div(steps, SLICES);
  mica__launch launch = mica__launch_of(kernel);
  mica__launch_tensor(&launch, exec->inputs[X]);
  mica__launch_tensor(&launch, p->weights);
  mica__launch_tensor(&launch, p->scales);
  mica__launch_optional(&launch, p->zeros);
  mica__launch_tensor(&launch, exec->output);
  const int64_t numbers[] = {s->m, s->n, s->k, segment, group};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) mica__launch_size(&launch, numbers[i]);
  mica__launch_int(&launch, p->zeros != NULL);
  mica__launch_float(&launch, p->lift);
  mica__launch_int(&launch, attrs->bits == 4 && attrs->is_signed ? (int32_t)0x88888888u : 0);
  push_epilogue(exec, attrs, &launch);
  const int64_t range[] = {mica__ceil_div(s->n, WIDTH) * (cpu ? 1 : WIDTH),
                           mica__ceil_div(s->m, rows) * (cpu ? 1 : SLICES), 1};
  mica__launch_range3(&launch, range, cpu ? (size_t[]){1, 1, 1} : (size_t[]){WIDTH, SLICES, 1});
  mica__launch_cost(&launch, 2 * (double)s->m * (double)s->n * (double)s->k,
                    (double)mica_tensor_bytes(exec->inputs[Q]));
  return mica__queue_submit(exec->queue, &launch);
}

static const char *decline_gpu(const mica__task *task) {
  return mica__exec_declines(((const problem *)task->problem)->exec, task, &weights_gpu);
}
static mica_status launch_gpu(mica_queue *queue, const mica__task *task) {
  (void)queue;
  return launch_packed(task->problem, &weights_gpu);
}
static mica_status launch_cpu(mica_queue *queue, const mica__task *task) {
  (void)queue;
  return launch_packed(task->problem, &weights_cpu);
}
static const mica__impl impl_gpu = {
    .name = "weights_gpu", .kernel = &weights_gpu, .decline = decline_gpu, .launch = launch_gpu};
static const mica__impl impl_cpu = {.name = "weights_cpu", .kernel = &weights_cpu, .launch = launch_cpu};
static const mica__impl *const impls[] = {&impl_gpu, &impl_cpu, NULL};

static mica_status launch_weights(const mica__exec *exec) {
  const mica__weights_attrs *attrs = exec->attrs;
  problem p = {.exec = exec,
               .attrs = attrs,
               .s = sizes_of(attrs, mica_tensor_shape(exec->inputs[X]), mica_tensor_shape(exec->inputs[Q]))};
  const bool is_signed = attrs->bits == 4 ? attrs->is_signed : mica_tensor_dtype(exec->inputs[Q]) == MICA_I8;
  p.panels.lift = !is_signed ? 0 : attrs->bits == 4 ? 8 : 128;
  if (mica_tensor_count(exec->output) == 0) return MICA_OK;
  mica_status status = pack(exec, attrs, &p.s, &p.panels.weights);
  if (status == MICA_OK) status = pack_part(exec, attrs, &p.s, SCALE, 0, &p.panels.scales);
  if (status == MICA_OK) status = pack_part(exec, attrs, &p.s, ZERO, p.panels.lift, &p.panels.zeros);
  if (status == MICA_OK) status = mica__exec_choose(exec, impls, &p, "weights");
  mica_tensor_destroy(p.panels.weights);
  mica_tensor_destroy(p.panels.scales);
  mica_tensor_destroy(p.panels.zeros);
  return status;
}

static mica_status check_weights(mica__check *check) {
  static const struct {
    mica__weights_attrs attrs;
    mica_dtype dtype;
    int64_t m, n, k, scales;
  } list[] = {
      {{.present = 7, .bits = 8}, MICA_I8, 1, 35, 64, 35},
      {{.present = 15, .bits = 8, .group = 32}, MICA_U8, 3, 17, 96, 3},
      {{.present = 15, .bits = 8, .by_k = true, .group = 64}, MICA_I8, 5, 16, 128, 2},
      {{.present = 7, .bits = 4, .is_signed = true, .group = 32}, MICA_U8, 1, 33, 128, 4},
      {{.present = 15, .bits = 4}, MICA_U8, 2, 5, 40, 1},
      {{.present = 15, .bits = 4, .is_signed = true, .group = 128}, MICA_U8, 16, 48, 256, 2},
  };
  mica__launch_case cases[sizeof list / sizeof *list];
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    int64_t stored = list[i].attrs.bits == 4 ? list[i].k / 2 : list[i].k;
    mica_shape q = list[i].attrs.by_k ? MICA_SHAPE(stored, list[i].n) : MICA_SHAPE(list[i].n, stored);
    bool one = list[i].scales == list[i].n || list[i].attrs.group == 0;
    mica_shape part = one ? MICA_SHAPE(list[i].n) : MICA_SHAPE(list[i].n * list[i].scales);
    cases[i] = (mica__launch_case){.attrs = &list[i].attrs,
                                   .inputs = {{MICA_F32, MICA_SHAPE(list[i].m, list[i].k)},
                                              {list[i].dtype, q},
                                              {MICA_F32, part},
                                              {MICA_F32, part}},
                                   .input_count = list[i].attrs.present == 15 ? 4 : 3,
                                   .bound = {1, list[i].dtype == MICA_I8 ? 127 : 255, 0.1, 7},
                                   .terms = (double)list[i].k,
                                   .whole = 8,
                                   .normwise = true};
  }
  return mica__check_launches(check, &mica__op_weights, "weights", cases, sizeof list / sizeof *list);
}

/* --- in graphs --- */

static int32_t behind_shapes(const mica_graph *graph, int32_t id) {
  for (;;) {
    id = mica__pattern_behind(graph, id);
    if (mica__graph_node(graph, id)->op != &mica__op_reshape) return id;
    id = mica__graph_node(graph, id)->inputs[0];
  }
}

/* Returns true if `part` (the scales or the zero points) has one number, one per column, or one per column and group of
 * k. Sets *group to the number of values along k per group, or to 0 if there are no groups. `whole` is the shape of the
 * dequantized weights, whose axis k may be divided into groups (rank 3). */
static bool find_group(const mica_graph *graph, int32_t part, mica_shape whole, bool by_k, int64_t *group) {
  mica_shape own = mica__graph_node(graph, part)->type.shape, want = whole;
  int32_t inner = by_k ? whole.rank - 2 : whole.rank - 1;
  *group = whole.rank == 3 ? whole.dim[inner] : 0;
  if (count_of(own) == 1) return true;
  want.dim[inner] = 1;
  while (own.rank < want.rank) {
    for (int32_t i = own.rank; i > 0; i--) own.dim[i] = own.dim[i - 1];
    own.dim[0] = 1;
    own.rank++;
  }
  return mica_shape_equal(own, want);
}

/* Finds the stored bytes behind the operand of dequantize and sets attrs->bits and, for nibbles, attrs->is_signed. With
 * 4 bits a byte holds two weights. Returns 0 if the weights are neither bytes nor nibbles. */
static int32_t stored_behind(const mica_graph *graph, int32_t id, mica__weights_attrs *attrs) {
  id = behind_shapes(graph, id);
  const mica__node *node = mica__graph_node(graph, id);
  attrs->bits = 8;
  if (node->op != &mica__op_nibble) return node->type.dtype == MICA_I8 || node->type.dtype == MICA_U8 ? id : 0;
  attrs->bits = 4;
  attrs->is_signed = ((const mica__nibble_attrs *)node->attrs)->sign != 0;
  return behind_shapes(graph, node->inputs[0]);
}

/* One pass over the weights computes 4 rows. Two passes with bytes, or three with nibbles, are no faster than f32 (4096
 * x 4096 on two cores of a Zen 4, 2026-11-25). */
static int64_t most_rows(int64_t bits) { return bits == 8 ? 4 : MICA_QUANT_ROWS / 2; }

static bool match_weights(const mica__match *match, int32_t root, int32_t *inputs, int32_t *count, void *attributes) {
  const mica_graph *graph = match->graph;
  mica__weights_attrs *attrs = attributes;
  int32_t in[4], parts[4];
  double zero = 1;
  if (!mica__pattern_op(graph, root, &mica__op_matmul, in)) return false;
  const mica__node *weight = mica__graph_node(graph, in[1]);
  attrs->by_k = weight->op != &mica__op_transpose;
  int32_t id = attrs->by_k ? in[1] : mica__pattern_behind(graph, weight->inputs[0]);
  mica_shape shape = mica__graph_node(graph, id)->type.shape, x = mica__graph_node(graph, in[0])->type.shape;
  if (shape.rank != 2 || x.rank < 2 || x.dim[x.rank - 1] < 1) return false;
  int32_t steps = behind_shapes(graph, id);
  mica_shape whole = mica__graph_node(graph, steps)->type.shape;
  if (!mica__pattern_op(graph, steps, &mica__op_dequantize, parts)) return false;
  int32_t stored = stored_behind(graph, parts[0], attrs);
  if (count_of(x) / x.dim[x.rank - 1] > most_rows(attrs->bits)) return false;
  int64_t group = 0, zero_group = 0;
  bool divided = whole.rank == 3 && (attrs->by_k ? whole.dim[2] == shape.dim[1] : whole.dim[0] == shape.dim[0]);
  if (!stored || mica__graph_node(graph, stored)->type.shape.rank != 2) return false;
  if (!divided && !mica_shape_equal(whole, shape)) return false;
  if (!find_group(graph, parts[1], whole, attrs->by_k, &group)) return false;
  if (mica__pattern_number(graph, parts[2], &zero) && zero == 0) parts[2] = 0;
  if (parts[2] && !find_group(graph, parts[2], whole, attrs->by_k, &zero_group)) return false;
  attrs->group = group;
  attrs->present = parts[2] ? 15 : 7;
  const int32_t found[] = {in[0], stored, parts[1], parts[2]};
  for (*count = 0; *count < 3 + (parts[2] != 0); (*count)++) inputs[*count] = found[*count];
  return true;
}

#define TAKE(S, kind, field, ...) to.field = from->field;
#define GIVE(S, kind, field, ...) given->field = to.field;
static bool fuse_weights(mica__epilogue_fusion *fusion) {
  const mica__weights_attrs *from = fusion->node->attrs;
  mica__weights_attrs *given = fusion->attrs;
  mica__linear_attrs to;
  MICA__LINEAR_ATTRS(TAKE, )
  if (!mica__linear_takes(fusion, &to)) return false;
  *given = *from;
  MICA__LINEAR_ATTRS(GIVE, )
  fusion->op = &mica__op_weights;
  return true;
}
#undef TAKE
#undef GIVE

static const mica__kernel_desc *const kernels[] = {&weights_cpu, &weights_gpu, &scales_kernel, NULL};
const mica__op mica__op_weights = {.name = "weights",
                                   .kernels = kernels,
                                   .check = check_weights,
                                   .kind = MICA__OP_LAUNCH,
                                   .min_inputs = ZERO,
                                   .max_inputs = OPERANDS,
                                   .attrs = &mica__weights_attr_list,
                                   .infer = infer_weights,
                                   .evaluate = evaluate_weights,
                                   .launch = launch_weights,
                                   .fuse_epilogue = fuse_weights,
                                   .match = match_weights};
