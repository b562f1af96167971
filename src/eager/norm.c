/* Softmax and normalisations of tensors. */
#include "eager/eager.h"
#include "ops/common/build.h"

#include <mica/norm.h>

/* Arguments of softmaxes and normalisations. An op leaves arguments that it does not use at 0. */
#define NORM_ATTRS(X, S)                                                                                               \
  X(S, INT, axis, 0, "the first one that statistics are taken over, or the one of a softmax")                          \
  X(S, INT, groups, 0, "of channels")                                                                                  \
  X(S, REAL, epsilon, 0, "added to a variance")
MICA__ATTR_STRUCT(norm_call, NORM_ATTRS);
static MICA__ATTR_TABLE(norm_call, NORM_ATTRS);

static int32_t axis_of(const mica__eager_call *call) {
  return (int32_t)((const mica__norm_call_attrs *)call->attrs)->axis;
}
static double epsilon_of(const mica__eager_call *call) { return ((const mica__norm_call_attrs *)call->attrs)->epsilon; }

/* --- softmax --- */

static void build_softmax(const mica__eager_call *call, const mica_value *in, mica_value *out) {
  out[0] = mica_softmax(in[0], axis_of(call));
}

static void build_log_softmax(const mica__eager_call *call, const mica_value *in, mica_value *out) {
  out[0] = mica_log_softmax(in[0], axis_of(call));
}

/* dx = y (dy - sum of y dy) */
static void build_softmax_bwd(const mica__eager_call *call, const mica_value *in, mica_value *out) {
  mica_value y = mica__widen(in[0]), dy = mica__widen(in[1]);
  mica_value sum = mica_sum(mica_mul(y, dy), MICA_AXES(axis_of(call)), true);
  out[0] = mica__narrow(mica_mul(y, mica_sub(dy, sum)), in[0]);
}

/* dx = dy - e^y sum of dy */
static void build_log_softmax_bwd(const mica__eager_call *call, const mica_value *in, mica_value *out) {
  mica_value y = mica__widen(in[0]), dy = mica__widen(in[1]);
  mica_value sum = mica_sum(dy, MICA_AXES(axis_of(call)), true);
  out[0] = mica__narrow(mica_sub(dy, mica_mul(mica_exp(y), sum)), in[0]);
}

static mica_status forward(mica_queue *queue, const char *op, mica__eager_build *build, int32_t axis,
                           const mica_tensor *x, mica_tensor *y) {
  return mica__eager_run(queue, &(mica__eager_call){.op = op,
                                                    .build = build,
                                                    .attr_list = &mica__norm_call_attr_list,
                                                    .attrs = &(mica__norm_call_attrs){.axis = axis},
                                                    .in = {MICA__TENSOR(x)},
                                                    .out = {MICA__TENSOR(y)}});
}

static mica_status backward(mica_queue *queue, const char *op, mica__eager_build *build, int32_t axis,
                            const mica_tensor *y, const mica_tensor *dy, mica_tensor *dx) {
  return mica__eager_run(queue, &(mica__eager_call){.op = op,
                                                    .build = build,
                                                    .attr_list = &mica__norm_call_attr_list,
                                                    .attrs = &(mica__norm_call_attrs){.axis = axis},
                                                    .in = {MICA__TENSOR(y), MICA__TENSOR(dy)},
                                                    .out = {MICA__TENSOR(dx)}});
}

mica_status mica_op_softmax_fwd(mica_queue *queue, int32_t axis, const mica_tensor *x, mica_tensor *y) {
  return forward(queue, "softmax_fwd", build_softmax, axis, x, y);
}

mica_status mica_op_softmax_bwd(mica_queue *queue, int32_t axis, const mica_tensor *y, const mica_tensor *dy,
                                mica_tensor *dx) {
  return backward(queue, "softmax_bwd", build_softmax_bwd, axis, y, dy, dx);
}

mica_status mica_op_log_softmax_fwd(mica_queue *queue, int32_t axis, const mica_tensor *x, mica_tensor *y) {
  return forward(queue, "log_softmax_fwd", build_log_softmax, axis, x, y);
}

mica_status mica_op_log_softmax_bwd(mica_queue *queue, int32_t axis, const mica_tensor *y, const mica_tensor *dy,
                                    mica_tensor *dx) {
  return backward(queue, "log_softmax_bwd", build_log_softmax_bwd, axis, y, dy, dx);
}

/* --- normalisations: operands x, scale, bias, and given statistics --- */

static void build_layer_norm(const mica__eager_call *call, const mica_value *in, mica_value *out) {
  out[0] = mica_layer_norm(in[0], axis_of(call), in[1], in[2], epsilon_of(call));
}

static void build_rms_norm(const mica__eager_call *call, const mica_value *in, mica_value *out) {
  out[0] = mica_rms_norm(in[0], axis_of(call), in[1], epsilon_of(call));
}

static void build_group_norm(const mica__eager_call *call, const mica_value *in, mica_value *out) {
  out[0] = mica_group_norm(in[0], in[1], in[2], ((const mica__norm_call_attrs *)call->attrs)->groups, epsilon_of(call));
}

static void build_batch_norm(const mica__eager_call *call, const mica_value *in, mica_value *out) {
  out[0] = mica_batch_norm(in[0], in[1], in[2], in[3], in[4], epsilon_of(call));
}

static void build_batch_norm_train(const mica__eager_call *call, const mica_value *in, mica_value *out) {
  out[0] = mica_batch_norm_train(in[0], in[1], in[2], epsilon_of(call), &out[1], &out[2]);
}

/* The tensors of one normalisation. Pointers that the op does not use are NULL. */
typedef struct tensors {
  const mica_tensor *x, *scale, *bias, *mean, *variance, *dy;
  mica_tensor *y, *dx, *dscale, *dbias;
} tensors;

static mica_status norm_fwd(mica_queue *queue, const char *op, mica__eager_build *build,
                            const mica__norm_call_attrs *attrs, const tensors *t) {
  const mica_tensor *x = t->x, *scale = t->scale, *bias = t->bias, *y = t->y;
  mica__eager_call call = {.op = op,
                           .build = build,
                           .attr_list = &mica__norm_call_attr_list,
                           .attrs = attrs,
                           .in = {MICA__TENSOR(x), MICA__OPTIONAL(scale), MICA__OPTIONAL(bias)},
                           .out = {MICA__TENSOR(y)}};
  return mica__eager_run(queue, &call);
}

static mica_status norm_bwd(mica_queue *queue, const char *op, mica__eager_build *build,
                            const mica__norm_call_attrs *attrs, const tensors *t) {
  const mica_tensor *x = t->x, *scale = t->scale, *dy = t->dy, *dx = t->dx, *dscale = t->dscale, *dbias = t->dbias;
  mica__eager_call call = {
      .op = op,
      .build = build,
      .backward = true,
      .attr_list = &mica__norm_call_attr_list,
      .attrs = attrs,
      .in = {MICA__TENSOR(x), MICA__OPTIONAL(scale), {.name = "bias", .optional = true}, MICA__TENSOR(dy)},
      .out = {MICA__OPTIONAL(dx), MICA__OPTIONAL(dscale), MICA__OPTIONAL(dbias)}};
  return mica__eager_run(queue, &call);
}

mica_status mica_op_layer_norm_fwd(mica_queue *queue, int32_t axis, double epsilon, const mica_tensor *x,
                                   const mica_tensor *scale, const mica_tensor *bias, mica_tensor *y) {
  return norm_fwd(queue, "layer_norm_fwd", build_layer_norm, &(mica__norm_call_attrs){.axis = axis, .epsilon = epsilon},
                  &(tensors){.x = x, .scale = scale, .bias = bias, .y = y});
}

mica_status mica_op_layer_norm_bwd(mica_queue *queue, int32_t axis, double epsilon, const mica_tensor *x,
                                   const mica_tensor *scale, const mica_tensor *dy, mica_tensor *dx,
                                   mica_tensor *dscale, mica_tensor *dbias) {
  return norm_bwd(queue, "layer_norm_bwd", build_layer_norm, &(mica__norm_call_attrs){.axis = axis, .epsilon = epsilon},
                  &(tensors){.x = x, .scale = scale, .dy = dy, .dx = dx, .dscale = dscale, .dbias = dbias});
}

mica_status mica_op_rms_norm_fwd(mica_queue *queue, int32_t axis, double epsilon, const mica_tensor *x,
                                 const mica_tensor *scale, mica_tensor *y) {
  return norm_fwd(queue, "rms_norm_fwd", build_rms_norm, &(mica__norm_call_attrs){.axis = axis, .epsilon = epsilon},
                  &(tensors){.x = x, .scale = scale, .y = y});
}

mica_status mica_op_rms_norm_bwd(mica_queue *queue, int32_t axis, double epsilon, const mica_tensor *x,
                                 const mica_tensor *scale, const mica_tensor *dy, mica_tensor *dx,
                                 mica_tensor *dscale) {
  return norm_bwd(queue, "rms_norm_bwd", build_rms_norm, &(mica__norm_call_attrs){.axis = axis, .epsilon = epsilon},
                  &(tensors){.x = x, .scale = scale, .dy = dy, .dx = dx, .dscale = dscale});
}

mica_status mica_op_group_norm_fwd(mica_queue *queue, int64_t groups, double epsilon, const mica_tensor *x,
                                   const mica_tensor *scale, const mica_tensor *bias, mica_tensor *y) {
  return norm_fwd(queue, "group_norm_fwd", build_group_norm,
                  &(mica__norm_call_attrs){.groups = groups, .epsilon = epsilon},
                  &(tensors){.x = x, .scale = scale, .bias = bias, .y = y});
}

mica_status mica_op_group_norm_bwd(mica_queue *queue, int64_t groups, double epsilon, const mica_tensor *x,
                                   const mica_tensor *scale, const mica_tensor *dy, mica_tensor *dx,
                                   mica_tensor *dscale, mica_tensor *dbias) {
  return norm_bwd(queue, "group_norm_bwd", build_group_norm,
                  &(mica__norm_call_attrs){.groups = groups, .epsilon = epsilon},
                  &(tensors){.x = x, .scale = scale, .dy = dy, .dx = dx, .dscale = dscale, .dbias = dbias});
}

mica_status mica_op_batch_norm_fwd(mica_queue *queue, double epsilon, const mica_tensor *x, const mica_tensor *scale,
                                   const mica_tensor *bias, const mica_tensor *mean, const mica_tensor *variance,
                                   mica_tensor *y) {
  mica__eager_call call = {
      .op = "batch_norm_fwd",
      .build = build_batch_norm,
      .attr_list = &mica__norm_call_attr_list,
      .attrs = &(mica__norm_call_attrs){.epsilon = epsilon},
      .in = {MICA__TENSOR(x), MICA__OPTIONAL(scale), MICA__OPTIONAL(bias), MICA__TENSOR(mean), MICA__TENSOR(variance)},
      .out = {MICA__TENSOR(y)}};
  return mica__eager_run(queue, &call);
}

mica_status mica_op_batch_norm_bwd(mica_queue *queue, double epsilon, const mica_tensor *x, const mica_tensor *scale,
                                   const mica_tensor *mean, const mica_tensor *variance, const mica_tensor *dy,
                                   mica_tensor *dx, mica_tensor *dscale, mica_tensor *dbias) {
  mica__eager_call call = {.op = "batch_norm_bwd",
                           .build = build_batch_norm,
                           .backward = true,
                           .attr_list = &mica__norm_call_attr_list,
                           .attrs = &(mica__norm_call_attrs){.epsilon = epsilon},
                           .in = {MICA__TENSOR(x),
                                  MICA__OPTIONAL(scale),
                                  {.name = "bias", .optional = true},
                                  MICA__TENSOR(mean),
                                  MICA__TENSOR(variance),
                                  MICA__TENSOR(dy)},
                           .out = {MICA__OPTIONAL(dx), MICA__OPTIONAL(dscale), MICA__OPTIONAL(dbias)}};
  return mica__eager_run(queue, &call);
}

mica_status mica_op_batch_norm_train_fwd(mica_queue *queue, double epsilon, const mica_tensor *x,
                                         const mica_tensor *scale, const mica_tensor *bias, mica_tensor *y,
                                         mica_tensor *mean, mica_tensor *variance) {
  mica__eager_call call = {.op = "batch_norm_train_fwd",
                           .build = build_batch_norm_train,
                           .attr_list = &mica__norm_call_attr_list,
                           .attrs = &(mica__norm_call_attrs){.epsilon = epsilon},
                           .in = {MICA__TENSOR(x), MICA__OPTIONAL(scale), MICA__OPTIONAL(bias)},
                           .out = {MICA__TENSOR(y), MICA__OPTIONAL(mean), MICA__OPTIONAL(variance)}};
  return mica__eager_run(queue, &call);
}

mica_status mica_op_batch_norm_train_bwd(mica_queue *queue, double epsilon, const mica_tensor *x,
                                         const mica_tensor *scale, const mica_tensor *dy, mica_tensor *dx,
                                         mica_tensor *dscale, mica_tensor *dbias) {
  return norm_bwd(queue, "batch_norm_train_bwd", build_batch_norm_train, &(mica__norm_call_attrs){.epsilon = epsilon},
                  &(tensors){.x = x, .scale = scale, .dy = dy, .dx = dx, .dscale = dscale, .dbias = dbias});
}
