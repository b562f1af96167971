/* The parts that all launches of attention share: operands, parameters, arguments. Also the launches of two small
 * kernels: the sums of dy y, and the gradient of scores for a mask. */
#include "cl/attention/fields.clh"
#include "ops/attention/attention.h"
#include "runtime/fields.h"
#include "runtime/tuning.h"
#include "runtime/workspace.h"

#include <math.h>
#include <stdio.h>

MICA__ATTR_TABLE(attention, MICA__ATTENTION_ATTRS);

int32_t mica__attention_input(const mica__attention_attrs *attrs, bool of_gradient, mica__attention_operand operand) {
  int32_t at = (int32_t)operand, own = MICA__ATTENTION_OF_MASK - MICA__ATTENTION_OF_DY;
  bool is_own = operand >= MICA__ATTENTION_OF_DY && operand < MICA__ATTENTION_OF_MASK; /* only gradients have it */
  if (!of_gradient && is_own) return -1;
  if (!of_gradient && operand >= MICA__ATTENTION_OF_MASK) at -= own;
  return mica__present_index(attrs->present, at);
}

mica__attention_sizes mica__attention_sizes_of(const mica__type *inputs) {
  const int64_t *q = inputs[0].shape.dim, *k = inputs[1].shape.dim, *v = inputs[2].shape.dim;
  return (mica__attention_sizes){.b = q[0], .h = q[1], .g = k[1], .tq = q[2], .tk = k[2], .d = q[3], .e = v[3]};
}

double mica__attention_scale(const mica__attention_attrs *attrs, int64_t d) {
  return attrs->scale != 0 ? attrs->scale : d > 0 ? 1 / sqrt((double)d) : 1;
}

mica__attention_range mica__attention_range_of(const mica__attention_attrs *attrs) {
  int64_t window = attrs->window > 0 && attrs->window <= MICA__ATTENTION_FAR ? attrs->window - 1 : MICA__ATTENTION_FAR;
  return (mica__attention_range){.before = window, .after = attrs->causal ? 0 : window};
}

double mica__attention_flops(const mica__attention_attrs *attrs, mica__attention_sizes s, double over_d,
                             double over_e) {
  double keys = (double)s.tk;
  if (attrs->window > 0) keys = fmin(keys, (double)attrs->window * (attrs->causal ? 1 : 2) - !attrs->causal);
  double pairs = (double)s.b * (double)s.h * (double)s.tq * keys * (attrs->causal && !attrs->window ? 0.5 : 1);
  return 2 * pairs * (over_d * (double)s.d + over_e * (double)s.e);
}

double mica__attention_cost(const mica__attention *a, double over_d, double over_e) {
  return mica__attention_flops(a->attrs, a->size, over_d, over_e);
}

const char *mica__attention_declines(const mica__task *task, unsigned class, const char *line) {
  const mica__attention *a = task->problem;
  const unsigned checked = a->exec->classes, own = checked ? checked : mica__kernel_class(task->device);
  char name[MICA__TUNING_TEXT];
  if (own != class) return class == MICA__ON_CPU ? "it runs on CPUs only" : "it runs on GPUs only";
  snprintf(name, sizeof name, "attention%s.%s", a->of_gradient ? "_grad" : "", line);
  return !checked && task->engine && mica__tuning_is_bad(task->engine, name) ? "its results are wrong on this device"
                                                                             : NULL;
}

/* --- launches --- */

mica__attention mica__attention_of(const mica__exec *exec, bool of_gradient) {
  mica__attention a = {.exec = exec, .attrs = exec->attrs, .of_gradient = of_gradient};
  for (int32_t k = 0; k < MICA__ATTENTION_OPERANDS; k++) {
    int32_t input = mica__attention_input(a.attrs, of_gradient, (mica__attention_operand)k);
    a.in[k] = input >= 0 ? exec->inputs[input] : NULL;
  }
  const mica__type types[] = {{MICA_F32, mica_tensor_shape(a.in[0])},
                              {MICA_F32, mica_tensor_shape(a.in[1])},
                              {MICA_F32, mica_tensor_shape(a.in[2])}};
  a.size = mica__attention_sizes_of(types);
  a.dtype = mica_tensor_dtype(a.in[0]);
  a.wide = a.dtype == MICA_F64 ? MICA_F64 : MICA_F32;
  return a;
}

void mica__attention_set(const mica__kernel_desc *desc, int32_t *values, const mica__attention *a) {
  const mica_tensor *mask = a->in[MICA__ATTENTION_OF_MASK], *step = a->in[MICA__ATTENTION_OF_STEP];
  bool drops = a->attrs->dropout > 0;
  mica__kernel_set(desc, values, "Q_T", (int32_t)a->dtype);
  mica__kernel_set(desc, values, "MASK", !mask ? 0 : mica_tensor_dtype(mask) == MICA_BOOL ? 1 : 2);
  mica__kernel_set(desc, values, "M_T", mask ? (int32_t)mica_tensor_dtype(mask) : MICA_F32);
  mica__kernel_set(desc, values, "SOFT_CAP", a->attrs->soft_cap > 0);
  mica__kernel_set(desc, values, "DROPOUT", drops);
  mica__kernel_set(desc, values, "S_T", drops ? (int32_t)mica_tensor_dtype(step) : MICA_I32);
  mica__kernel_set(desc, values, "STARTS", a->in[MICA__ATTENTION_OF_STARTS] != NULL);
}

static int64_t stride_of(const mica_tensor *tensor, int32_t axis) {
  return tensor ? mica_tensor_strides(tensor)[axis] : 0;
}
/* The stride of an axis; 0 if its extent is 1, which broadcasts a mask. */
static int64_t step_of(const mica_tensor *tensor, int32_t axis) {
  return tensor && mica_tensor_shape(tensor).dim[axis] > 1 ? stride_of(tensor, axis) : 0;
}
/* Sets the fields of a struct that TENSOR_FIELDS declares for x: the tensor and its strides. */
#define TENSOR(x, tensor)                                                                                              \
  .x = tensor, .x##_b = step_of(tensor, 0), .x##_h = step_of(tensor, 1), .x##_t = step_of(tensor, 2),                  \
  .x##_c = step_of(tensor, 3)

/* The stride between the numbers of two sequences; 0: one number for all. */
static int64_t step_of_each(const mica_tensor *tensor) {
  const bool each = tensor && mica_tensor_shape(tensor).rank == 1 && mica_tensor_count(tensor) > 1;
  return each ? stride_of(tensor, 0) : 0;
}

MICA__PACKED(attention_fields, ATTENTION_FIELDS);
MICA__PACKED(forward_fields, FORWARD_OPERANDS);
MICA__PACKED(grad_fields, GRAD_OPERANDS);

mica_status mica__attention_begin(const mica__attention *a, const mica__kernel_desc *desc, const int32_t *values,
                                  mica__launch *launch) {
  const mica__attention_attrs *attrs = a->attrs;
  const mica__attention_range range = mica__attention_range_of(attrs);
  const double log2_e = 1.4426950408889634, scale = mica__attention_scale(attrs, a->size.d), cap = attrs->soft_cap;
  const mica_tensor *lengths = a->in[MICA__ATTENTION_OF_LENGTHS], *offsets = a->in[MICA__ATTENTION_OF_OFFSET];
  const mica_tensor *starts = a->in[MICA__ATTENTION_OF_STARTS], *sinks = a->in[MICA__ATTENTION_OF_SINKS];
  mica__kernel *kernel = NULL;
  MICA_TRY(mica__kernel_get(mica__queue_engine(a->exec->queue), desc, values, NULL, &kernel));
  const attention_fields f = {TENSOR(M, a->in[MICA__ATTENTION_OF_MASK]),
                              .lengths = lengths,
                              .lengths_step = step_of_each(lengths),
                              .offsets = offsets,
                              .offsets_step = step_of_each(offsets),
                              .steps = a->in[MICA__ATTENTION_OF_STEP],
                              .starts = starts,
                              .starts_b = stride_of(starts, 0),
                              .starts_t = stride_of(starts, 1),
                              .sinks = sinks,
                              .sinks_h = stride_of(sinks, 0),
                              .H = a->size.h,
                              .G = a->size.g,
                              .Tq = a->size.tq,
                              .Tk = a->size.tk,
                              .D = a->size.d,
                              .E = a->size.e,
                              .before = range.before,
                              .after = range.after,
                              .key_low = (uint32_t)attrs->key,
                              .key_high = (uint32_t)((uint64_t)attrs->key >> 32),
                              .keep = (float)(1 - attrs->dropout),
                              .keep_scale = {a->wide, 1 / (1 - attrs->dropout)},
                              .product_scale = {a->wide, cap > 0 ? scale / cap : scale * log2_e},
                              .cap = {a->wide, cap * log2_e},
                              .slope = {a->wide, scale}};
  *launch = mica__launch_of(kernel);
  mica__launch_pack(launch);
  attention_fields_push(launch, &f);
  return MICA_OK;
}

void mica__attention_push_forward(const mica__attention *a, mica__launch *launch) {
  const forward_fields f = {TENSOR(Q, a->in[MICA__ATTENTION_OF_Q]), TENSOR(K, a->in[MICA__ATTENTION_OF_K]),
                            TENSOR(V, a->in[MICA__ATTENTION_OF_V]), .Y = a->exec->outputs[MICA__ATTENTION_Y],
                            .L = a->exec->outputs[MICA__ATTENTION_LOGSUM]};
  forward_fields_push(launch, &f);
}

void mica__attention_push_grad(const mica__attention *a, const mica_tensor *delta, mica__launch *launch) {
  const grad_fields f = {TENSOR(Q, a->in[MICA__ATTENTION_OF_Q]), TENSOR(K, a->in[MICA__ATTENTION_OF_K]),
                         TENSOR(V, a->in[MICA__ATTENTION_OF_V]), TENSOR(DY, a->in[MICA__ATTENTION_OF_DY]),
                         .L = a->in[MICA__ATTENTION_OF_LOGSUM],  .Delta = delta};
  grad_fields_push(launch, &f);
}

/* --- sums of dy y; a mask's gradient --- */

static const mica__kernel_param params[] = {MICA__ATTENTION_PARAMS};
static const mica__variant variants[] = {MICA__VARIANT("any", MICA__ON_ANY, MICA__ATTENTION_VALUES)};
const mica__kernel_desc mica__attention_delta_kernel = {
    MICA__KERNEL("attention_delta", "attention/delta.cl", params, variants)};
const mica__kernel_desc mica__attention_mask_grad_kernel = {
    MICA__KERNEL("attention_mask_grad", "attention/mask_grad.cl", params, variants)};

MICA__PACKED(delta_fields, DELTA_OPERANDS);
MICA__PACKED(mask_grad_fields, MASK_GRAD_RESULTS);

mica_status mica__attention_delta(const mica__attention *a, mica_tensor **delta) {
  int32_t values[MICA__MAX_PARAMS];
  mica__launch launch;
  const mica__attention_sizes s = a->size;
  int64_t rows = s.b * s.h * s.tq;
  MICA_TRY(mica__exec_values(a->exec, &mica__attention_delta_kernel, values));
  mica__kernel_set(&mica__attention_delta_kernel, values, "Q_T", (int32_t)a->dtype);
  MICA_TRY(mica__workspace_tensor(a->exec->queue, a->wide, MICA_SHAPE(s.b, s.h, s.tq), delta));
  mica_status status = mica__attention_begin(a, &mica__attention_delta_kernel, values, &launch);
  if (status == MICA_OK) {
    const delta_fields f = {TENSOR(DY, a->in[MICA__ATTENTION_OF_DY]), .Y = a->in[MICA__ATTENTION_OF_Y], .Delta = *delta,
                            .count = rows};
    delta_fields_push(&launch, &f);
    mica__launch_range1(&launch, rows, MICA__RANGE_GROUP);
    mica__launch_cost(&launch, 2.0 * (double)rows * (double)s.e, 0);
    status = mica__queue_submit(a->exec->queue, &launch);
  }
  if (status == MICA_OK) return MICA_OK;
  mica_tensor_destroy(*delta);
  *delta = NULL;
  return status;
}

static mica_status launch_mask_grad(const mica__attention *a, const mica_tensor *delta) {
  int32_t values[MICA__MAX_PARAMS];
  mica__launch launch;
  int64_t count = mica_tensor_count(a->exec->output);
  MICA_TRY(mica__exec_values(a->exec, &mica__attention_mask_grad_kernel, values));
  mica__attention_set(&mica__attention_mask_grad_kernel, values, a);
  MICA_TRY(mica__attention_begin(a, &mica__attention_mask_grad_kernel, values, &launch));
  mica__attention_push_grad(a, delta, &launch);
  mask_grad_fields_push(&launch, &(mask_grad_fields){.DS = a->exec->output, .count = count});
  mica__launch_range1(&launch, count, MICA__RANGE_GROUP);
  mica__launch_cost(&launch, 2.0 * (double)count * (double)(a->size.d + a->size.e), 0);
  return mica__queue_submit(a->exec->queue, &launch);
}

mica_status mica__attention_mask_grad_launch(const mica__exec *exec) {
  const mica__attention a = mica__attention_of(exec, true);
  mica_tensor *delta = NULL;
  if (mica_tensor_count(exec->output) == 0) return MICA_OK;
  MICA_TRY(mica__attention_delta(&a, &delta));
  mica_status status = launch_mask_grad(&a, delta);
  mica_tensor_destroy(delta);
  return status;
}
