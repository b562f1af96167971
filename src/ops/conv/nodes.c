/* Convolutions of graphs. The three passes are ops of their own, closed under differentiation: each is linear in either
 * operand, and the gradient of one pass consists of the other two.
 *
 *   conv (x, w)                y; a bias is a separate addition, which fusion moves into the launch
 *   conv_data (y, w, like)     the gradient of x, in the shape of `like`; fused with a bias like conv
 *   conv_transpose (y, w)      the same sum as conv_data, in the shape that follows from the attributes
 *   conv_filter (x, y, like)   the gradient of w, in the shape of `like`
 *
 * After fusion a bias and an addend may follow as operands, except in conv_filter; attrs have their indices. On GPUs
 * with matrix units, x and y may then be copies with their channels last (attribute `last`). */
#include "base/checked.h"
#include "base/error.h"
#include "ops/common/activation.h"
#include "ops/common/build.h"
#include "ops/conv/attrs.h"
#include "ops/conv/channels_last.h"
#include "ops/conv/conv.h"
#include "ops/select/registry.h"

#include <string.h>

static MICA__ATTR_TABLE(conv, MICA__CONV_ATTRS);

static mica__conv_attrs attrs_of(const mica_conv_config *config) {
  static const mica_conv_config none;
  mica__conv_attrs attrs = {0};
  if (!config) config = &none;
  for (int i = 0; i < 3; i++) {
    attrs.stride[i] = config->stride[i] ? config->stride[i] : 1;
    attrs.pad[i] = config->pad[i];
    attrs.pad_more[i] = config->pad_more[i];
    attrs.dilation[i] = config->dilation[i] ? config->dilation[i] : 1;
    attrs.output_pad[i] = config->output_pad[i];
  }
  attrs.groups = config->groups ? config->groups : 1;
  attrs.allow_tf32 = config->allow_tf32;
  return attrs;
}

static mica_conv_config config_of(const mica__conv_attrs *attrs) {
  mica_conv_config config = {.groups = attrs->groups, .allow_tf32 = attrs->allow_tf32};
  for (int i = 0; i < 3; i++) {
    config.stride[i] = attrs->stride[i];
    config.pad[i] = attrs->pad[i];
    config.pad_more[i] = attrs->pad_more[i];
    config.dilation[i] = attrs->dilation[i];
    config.output_pad[i] = attrs->output_pad[i];
  }
  return config;
}

static mica_status check_ranks(const mica__type *inputs) {
  char ta[MICA__TYPE_TEXT], tb[MICA__TYPE_TEXT];
  int32_t rank = inputs[0].shape.rank;
  if (rank < 3 || rank > 5 || inputs[1].shape.rank != rank)
    return mica__fail(MICA_E_SHAPE, "x %s and w %s must have the same rank, from 3 to 5",
                      mica__type_format(inputs[0], ta), mica__type_format(inputs[1], tb));
  return MICA_OK;
}

/* Stands for an open extent when shapes are checked; larger than any usual filter. */
#define ANY_EXTENT (1 << 20)

static mica_shape pin_dynamic(mica_shape shape, int64_t channels) {
  for (int32_t i = 0; i < shape.rank; i++)
    if (shape.dim[i] == MICA_DYNAMIC) shape.dim[i] = i == 1 ? channels : ANY_EXTENT;
  return shape;
}

static mica_status infer_conv(const mica__type *inputs, int32_t input_count, void *attrs, mica__type *out) {
  (void)input_count;
  mica__conv_dims dims;
  mica_conv_config config = config_of(attrs);
  MICA_TRY(check_ranks(inputs));
  mica_shape x = inputs[0].shape, w = inputs[1].shape;
  if (mica__shape_is_open(w))
    return mica__fail(MICA_E_SHAPE, "the filters have an open dimension, but must have a known shape");
  int64_t channels = 0;
  if (!mica__mul_i64(w.dim[1], config.groups, &channels))
    return mica__fail(MICA_E_SHAPE, "groups (%lld) times the channels of a filter (%lld) must be below 2^63",
                      (long long)config.groups, (long long)w.dim[1]);
  MICA_TRY(mica__conv_dims_of(&config, pin_dynamic(x, channels), w, NULL, &dims));
  *out = inputs[0];
  out->shape.dim[1] = w.dim[0];
  for (int32_t i = 2; i < x.rank; i++) {
    int64_t extent = dims.out[i + 3 - x.rank];
    char tx[MICA_SHAPE_TEXT], tw[MICA_SHAPE_TEXT];
    if (w.dim[i] == 0)
      return mica__fail(MICA_E_SHAPE, "filters %s must have at least one element along axis %d",
                        mica_shape_format(w, tw), (int)i);
    if (extent == 0)
      return mica__fail(MICA_E_SHAPE, "filters %s are larger than padded images %s", mica_shape_format(w, tw),
                        mica_shape_format(x, tx));
    out->shape.dim[i] = x.dim[i] == MICA_DYNAMIC ? MICA_DYNAMIC : extent;
  }
  return MICA_OK;
}

static mica_status infer_like(const mica__type *inputs, int32_t input_count, void *attrs, mica__type *out) {
  (void)input_count, (void)attrs;
  MICA_TRY(check_ranks(inputs));
  *out = inputs[2];
  return MICA_OK;
}

static mica_status infer_transpose(const mica__type *inputs, int32_t input_count, void *attrs, mica__type *out) {
  (void)input_count;
  char tx[MICA_SHAPE_TEXT], tw[MICA_SHAPE_TEXT];
  const mica__conv_attrs *a = attrs;
  mica_shape x = inputs[0].shape, w = inputs[1].shape;
  mica__conv_dims dims;
  mica_conv_config config = config_of(attrs);
  MICA_TRY(check_ranks(inputs));
  if (mica__shape_is_open(w))
    return mica__fail(MICA_E_SHAPE, "the filters have an open dimension, but must have a known shape");
  *out = inputs[0];
  if (!mica__mul_i64(w.dim[1], a->groups, &out->shape.dim[1]))
    return mica__fail(MICA_E_SHAPE, "groups (%lld) times the channels of a filter (%lld) must be below 2^63",
                      (long long)a->groups, (long long)w.dim[1]);
  for (int32_t i = 2; i < x.rank; i++) {
    int64_t at = i - 2, extent = (x.dim[i] - 1) * a->stride[at] - 2 * a->pad[at] - a->pad_more[at] +
                                 (w.dim[i] - 1) * a->dilation[at] + 1 + a->output_pad[at];
    if (x.dim[i] == MICA_DYNAMIC) continue;
    if (a->output_pad[at] < 0 || a->output_pad[at] >= a->stride[at])
      return mica__fail(MICA_E_SHAPE, "output_pad is %lld, but must be at least 0 and below the stride (%lld)",
                        (long long)a->output_pad[at], (long long)a->stride[at]);
    if (extent < 1)
      return mica__fail(MICA_E_SHAPE,
                        "x %s and filters %s give a result of %lld elements along axis %d, but must give at least 1",
                        mica_shape_format(x, tx), mica_shape_format(w, tw), (long long)extent, (int)i);
    out->shape.dim[i] = extent;
  }
  MICA_TRY(mica__conv_dims_of(&config, pin_dynamic(out->shape, 0), w, NULL, &dims));
  if (x.dim[1] == w.dim[0] || x.dim[1] == MICA_DYNAMIC) return MICA_OK;
  return mica__fail(MICA_E_SHAPE, "x %s must have as many channels as w %s has filters", mica_shape_format(x, tx),
                    mica_shape_format(w, tw));
}

/* --- on the host --- */

static mica_status evaluate_pass(const mica__eval *eval, mica__conv_pass pass, mica_shape x, mica_shape w, mica_shape y,
                                 int first, int second) {
  mica__conv_dims dims;
  mica_conv_config config = config_of(eval->attrs);
  MICA_TRY(mica__conv_dims_of(&config, x, w, &y, &dims));
  mica__conv_reference(&dims, pass, eval->inputs[first], eval->inputs[second], eval->output);
  return MICA_OK;
}

static mica_status evaluate_conv(const mica__eval *e) {
  return evaluate_pass(e, MICA__CONV_FWD, e->types[0].shape, e->types[1].shape, e->type->shape, 0, 1);
}

static mica_status evaluate_data(const mica__eval *e) {
  return evaluate_pass(e, MICA__CONV_BWD_DATA, e->type->shape, e->types[1].shape, e->types[0].shape, 1, 0);
}

static mica_status evaluate_filter(const mica__eval *e) {
  return evaluate_pass(e, MICA__CONV_BWD_FILTER, e->types[0].shape, e->type->shape, e->types[1].shape, 0, 1);
}

/* --- on the device --- */

/* The channels of operand k of a pass (x or y), from the shape w of the filters. */
static int64_t channels_of(mica__conv_pass pass, int32_t k, mica_shape w, const mica__conv_attrs *attrs) {
  const bool is_x = pass == MICA__CONV_FWD || (pass == MICA__CONV_BWD_FILTER && k == 0);
  return is_x ? w.dim[1] * attrs->groups : w.dim[0];
}

/* Sets *operand to operand k, in the shape with channels first. *view: a tensor that the caller destroys; left as it
 * is if the operand itself serves. */
static mica_status take_operand(const mica__exec *exec, mica__conv_pass pass, int32_t k, mica_shape w,
                                mica_tensor **view, const mica_tensor **operand) {
  const mica__conv_attrs *attrs = exec->attrs;
  *operand = exec->inputs[k];
  if (!(attrs->last >> k & 1)) return MICA_OK;
  MICA_TRY(mica__conv_view_last(exec->inputs[k], channels_of(pass, k, w, attrs), view));
  *operand = *view;
  return MICA_OK;
}

/* Makes a view of the result or the addend, in the shape with channels first. */
static mica_status view_result(const mica__exec *exec, const mica_tensor *tensor, mica_tensor **view) {
  const mica__conv_attrs *attrs = exec->attrs;
  const mica_shape shape = mica_tensor_shape(exec->output);
  if (attrs->result_last) return mica__conv_view_last(tensor, shape.dim[shape.rank - 1], view);
  return mica_tensor_view(tensor, shape, NULL, 0, view);
}

static mica_status launch_pass(const mica__exec *exec, mica__conv_pass pass) {
  const mica__conv_attrs *attrs = exec->attrs;
  const bool forward = pass == MICA__CONV_FWD;
  mica_conv_config config = config_of(attrs);
  mica_conv_epilogue epilogue = {.activation = (mica_activation)attrs->activation,
                                 .activation_arg = (float)attrs->activation_argument};
  mica_tensor *bias = NULL, *addend = NULL, *view = NULL, *result = NULL;
  const mica_tensor *source = NULL;
  unsigned last = !attrs->last ? 0 : forward ? MICA__CONV_X_LAST : MICA__CONV_Y_LAST;
  if (attrs->result_last) last |= forward ? MICA__CONV_Y_LAST : MICA__CONV_X_LAST;
  mica_status status = take_operand(exec, pass, 0, mica_tensor_shape(exec->inputs[1]), &view, &source);
  if (status == MICA_OK) status = view_result(exec, exec->output, &result);
  if (status == MICA_OK && attrs->bias)
    status = mica_tensor_view(exec->inputs[attrs->bias], MICA_SHAPE(mica_tensor_shape(result).dim[1]), NULL, 0, &bias);
  if (status == MICA_OK && attrs->addend) status = view_result(exec, exec->inputs[attrs->addend], &addend);
  epilogue.bias = bias;
  epilogue.addend = addend;
  if (status == MICA_OK) status = mica__conv_run(exec, pass, last, &config, source, exec->inputs[1], &epilogue, result);
  mica_tensor_destroy(view);
  mica_tensor_destroy(result);
  mica_tensor_destroy(bias);
  mica_tensor_destroy(addend);
  return status;
}

static mica_status launch_conv(const mica__exec *exec) { return launch_pass(exec, MICA__CONV_FWD); }
static mica_status launch_data(const mica__exec *exec) { return launch_pass(exec, MICA__CONV_BWD_DATA); }

static mica_status launch_filter(const mica__exec *exec) {
  const mica__conv_pass pass = MICA__CONV_BWD_FILTER;
  const mica_shape w = mica_tensor_shape(exec->output);
  const int64_t copies = ((const mica__conv_attrs *)exec->attrs)->last;
  const unsigned last = (copies & 1 ? MICA__CONV_X_LAST : 0u) | (copies & 2 ? MICA__CONV_Y_LAST : 0u);
  const mica_tensor *operands[2] = {NULL};
  mica_tensor *views[2] = {NULL};
  mica_conv_config config = config_of(exec->attrs);
  mica_status status = MICA_OK;
  for (int32_t k = 0; status == MICA_OK && k < 2; k++) status = take_operand(exec, pass, k, w, &views[k], &operands[k]);
  if (status == MICA_OK)
    status = mica__conv_run(exec, pass, last, &config, operands[0], operands[1], NULL, exec->output);
  for (int32_t k = 0; k < 2; k++) mica_tensor_destroy(views[k]);
  return status;
}

/* --- channels last --- */

static void set_last(void *attrs, uint32_t inputs, bool result) {
  mica__conv_attrs *own = attrs;
  own->last = inputs;
  own->result_last = result;
}

/* The bits of a pass's inputs (bit k: input k) for bits of mica__conv_last. */
static uint32_t inputs_of(mica__conv_pass pass, unsigned last) {
  if (pass == MICA__CONV_FWD) return last & MICA__CONV_X_LAST ? 1 : 0;
  if (pass == MICA__CONV_BWD_DATA) return last & MICA__CONV_Y_LAST ? 1 : 0;
  return (last & MICA__CONV_X_LAST ? 1u : 0u) | (last & MICA__CONV_Y_LAST ? 2u : 0u);
}

static void find_layouts(const mica__node *node, mica__conv_pass pass, mica_engine *engine, const mica__type types[3],
                         mica__layouts *layouts) {
  const mica__conv_attrs *attrs = node->attrs;
  const mica_conv_config config = config_of(attrs);
  const mica__conv_lasts lasts = mica__conv_find_last(engine, pass, &config, types);
  *layouts = (mica__layouts){.copies = inputs_of(pass, lasts.copies),
                             .takes = inputs_of(pass, lasts.takes),
                             .writes = lasts.writes,
                             .addend = (int32_t)attrs->addend};
}

static void layouts_conv(const mica__node *node, const mica__type *inputs, mica_engine *engine,
                         mica__layouts *layouts) {
  find_layouts(node, MICA__CONV_FWD, engine, (const mica__type[]){inputs[0], inputs[1], node->type}, layouts);
}

static void layouts_data(const mica__node *node, const mica__type *inputs, mica_engine *engine,
                         mica__layouts *layouts) {
  find_layouts(node, MICA__CONV_BWD_DATA, engine, (const mica__type[]){node->type, inputs[1], inputs[0]}, layouts);
}

static void layouts_filter(const mica__node *node, const mica__type *inputs, mica_engine *engine,
                           mica__layouts *layouts) {
  find_layouts(node, MICA__CONV_BWD_FILTER, engine, (const mica__type[]){inputs[0], node->type, inputs[1]}, layouts);
}

/* True if the other operand of the addition or product has one number per channel: all its strides except that of
 * dimension 1 are 0. */
static bool is_bias(const mica__epilogue_fusion *fusion, mica_shape shape) {
  int64_t count = 0;
  for (int32_t i = 0; i < shape.rank; i++)
    if (i != 1 && shape.dim[i] != 1 && fusion->access.stride[i] != 0) return false;
  return mica_shape_count(fusion->other->shape, &count) == MICA_OK && count == shape.dim[1];
}

static bool take_activation(const mica__node *user, mica__conv_attrs *attrs) {
  mica_activation activation = MICA_ACTIVATION_NONE;
  double argument = 0;
  if (!mica__activation_of(user, &activation, &argument)) return false;
  attrs->activation = (int32_t)activation;
  attrs->activation_argument = argument;
  return true;
}

static bool fuse_conv_epilogue(mica__epilogue_fusion *fusion) {
  const mica__node *node = fusion->node, *user = fusion->user;
  mica_shape shape = node->type.shape;
  mica__conv_attrs *attrs = fusion->attrs;
  fusion->op = node->op;
  *attrs = *(const mica__conv_attrs *)node->attrs;
  if (user->type.dtype != node->type.dtype || !mica_shape_equal(user->type.shape, shape)) return false;
  if (attrs->activation != MICA_ACTIVATION_NONE) return false;
  if (take_activation(user, attrs)) return true;
  if (user->op != &mica__op_add || !fusion->other || fusion->other->dtype != node->type.dtype) return false;
  bool bias = is_bias(fusion, shape);
  int64_t *which = bias ? &attrs->bias : &attrs->addend;
  if (*which != 0 || (!bias && !mica_shape_equal(fusion->other->shape, shape))) return false;
  *which = node->input_count;
  return true;
}

/* Tells fusion how to move a factor per channel of the result into the filters: it multiplies operand *operand, the
 * filters, by the factors in the shape *shape. Returns false if the user of the node is not such a product in f32, or
 * if the node is a transposed convolution with groups. */
static bool scale_filters(const mica__epilogue_fusion *fusion, int32_t *operand, mica_shape *shape) {
  const mica__node *node = fusion->node, *user = fusion->user;
  bool transposed = node->op == &mica__op_conv_transpose;
  if (user->op != &mica__op_mul || node->type.dtype != MICA_F32 || fusion->other->dtype != MICA_F32) return false;
  if (!mica_shape_equal(user->type.shape, node->type.shape) || !is_bias(fusion, node->type.shape)) return false;
  if (transposed && ((const mica__conv_attrs *)node->attrs)->groups != 1) return false;
  *operand = 1;
  *shape = (mica_shape){.rank = node->type.shape.rank};
  for (int32_t i = 0; i < shape->rank; i++) shape->dim[i] = 1;
  shape->dim[transposed] = node->type.shape.dim[1];
  return true;
}

/* --- gradients --- */

/* Adds a pass with the attributes of the node whose gradient is built. The attributes name no fused operands, since
 * gradient rules see only unfused nodes. like: the value whose shape the result takes; not used by conv. */
static mica_value add_pass(const mica__grad *grad, const mica__op *op, mica_value a, mica_value b, mica_value like) {
  return mica__graph_add(op, (mica_value[]){a, b, like}, op == &mica__op_conv ? 2 : 3, mica__attrs_of(grad->y));
}

static mica_status grad_conv(const mica__grad *grad) {
  mica_value x = grad->inputs[0], w = grad->inputs[1];
  grad->dinputs[0] = add_pass(grad, &mica__op_conv_data, grad->dy, w, x);
  grad->dinputs[1] = add_pass(grad, &mica__op_conv_filter, x, grad->dy, w);
  return MICA_OK;
}

static mica_status grad_data(const mica__grad *grad) {
  grad->dinputs[0] = add_pass(grad, &mica__op_conv, grad->dy, grad->inputs[1], grad->inputs[0]);
  grad->dinputs[1] = add_pass(grad, &mica__op_conv_filter, grad->dy, grad->inputs[0], grad->inputs[1]);
  return MICA_OK;
}

static mica_status grad_filter(const mica__grad *grad) {
  grad->dinputs[0] = add_pass(grad, &mica__op_conv_data, grad->inputs[1], grad->dy, grad->inputs[0]);
  grad->dinputs[1] = add_pass(grad, &mica__op_conv, grad->inputs[0], grad->dy, grad->inputs[1]);
  return MICA_OK;
}

/* --- descriptors and builders --- */

static double flops_between(const mica__node *node, mica_shape x, mica_shape w, mica_shape y) {
  mica__conv_dims dims;
  mica_conv_config config = config_of(node->attrs);
  return mica__conv_dims_of(&config, x, w, &y, &dims) == MICA_OK ? mica__conv_flops(&dims) : 0;
}

/* The shape of operand k with channels first. */
static mica_shape shape_of(const mica__node *node, const mica__type *inputs, mica__conv_pass pass, int32_t k,
                           mica_shape w) {
  const mica__conv_attrs *attrs = node->attrs;
  const mica_shape own = inputs[k].shape;
  return attrs->last >> k & 1 ? mica__conv_first_shape(own, channels_of(pass, k, w, attrs)) : own;
}

/* The result's shape with channels first. */
static mica_shape result_shape(const mica__node *node) {
  const mica_shape own = node->type.shape;
  return ((const mica__conv_attrs *)node->attrs)->result_last ? mica__conv_first_shape(own, own.dim[own.rank - 1])
                                                              : own;
}

static double flops_conv(const mica__node *node, const mica__type *inputs) {
  const mica_shape w = inputs[1].shape;
  return flops_between(node, shape_of(node, inputs, MICA__CONV_FWD, 0, w), w, result_shape(node));
}

static double flops_data(const mica__node *node, const mica__type *inputs) {
  const mica_shape w = inputs[1].shape;
  return flops_between(node, result_shape(node), w, shape_of(node, inputs, MICA__CONV_BWD_DATA, 0, w));
}

static double flops_filter(const mica__node *node, const mica__type *inputs) {
  const mica__conv_pass pass = MICA__CONV_BWD_FILTER;
  const mica_shape w = node->type.shape;
  return flops_between(node, shape_of(node, inputs, pass, 0, w), w, shape_of(node, inputs, pass, 1, w));
}

/* True if x and w have the same shape, and there is one group, no padding and nothing fused: each result is then the
 * dot product of an image and a filter. */
static bool conv_is_dot(const mica__node *node, const mica__type *inputs) {
  const mica__conv_attrs *attrs = node->attrs;
  bool plain = attrs->groups == 1 && !attrs->bias && !attrs->addend && attrs->activation == MICA_ACTIVATION_NONE;
  for (int i = 0; i < 3; i++) plain = plain && attrs->pad[i] == 0 && attrs->pad_more[i] == 0;
  return plain && mica_shape_equal(inputs[0].shape, inputs[1].shape);
}

const mica__op mica__op_conv = {.name = "conv",
                                .is_dot = conv_is_dot,
                                .kernels = mica__conv_kernels,
                                .check = mica__conv_check,
                                .tunable = &mica__conv_tunable,
                                .kind = MICA__OP_LAUNCH,
                                .narrows = MICA__NARROWS_FIRST,
                                .min_inputs = 2,
                                .max_inputs = 4,
                                .attrs = &mica__conv_attr_list,
                                .dtypes = "f0*>0",
                                .infer = infer_conv,
                                .grad = grad_conv,
                                .evaluate = evaluate_conv,
                                .launch = launch_conv,
                                .fuse_epilogue = fuse_conv_epilogue,
                                .scale = scale_filters,
                                .layouts = layouts_conv,
                                .set_last = set_last,
                                .flops = flops_conv,
                                .lends = 1};

const mica__op mica__op_conv_data = {.name = "conv_data",
                                     .kind = MICA__OP_LAUNCH,
                                     .min_inputs = 3,
                                     .max_inputs = 5,
                                     .attrs = &mica__conv_attr_list,
                                     .dtypes = "f0*>2",
                                     .infer = infer_like,
                                     .grad = grad_data,
                                     .evaluate = evaluate_data,
                                     .launch = launch_data,
                                     .fuse_epilogue = fuse_conv_epilogue,
                                     .layouts = layouts_data,
                                     .set_last = set_last,
                                     .flops = flops_data,
                                     .lends = 1,
                                     .shape_only = 1u << 2};

const mica__op mica__op_conv_transpose = {.name = "conv_transpose",
                                          .kind = MICA__OP_LAUNCH,
                                          .narrows = MICA__NARROWS_FIRST,
                                          .min_inputs = 2,
                                          .max_inputs = 4,
                                          .attrs = &mica__conv_attr_list,
                                          .dtypes = "f0*>0",
                                          .infer = infer_transpose,
                                          .grad = grad_data,
                                          .evaluate = evaluate_data,
                                          .launch = launch_data,
                                          .fuse_epilogue = fuse_conv_epilogue,
                                          .scale = scale_filters,
                                          .layouts = layouts_data,
                                          .set_last = set_last,
                                          .flops = flops_data,
                                          .lends = 1};

const mica__op mica__op_conv_filter = {.name = "conv_filter",
                                       .kind = MICA__OP_LAUNCH,
                                       .min_inputs = 3,
                                       .max_inputs = 3,
                                       .attrs = &mica__conv_attr_list,
                                       .dtypes = "f0*>2",
                                       .infer = infer_like,
                                       .grad = grad_filter,
                                       .evaluate = evaluate_filter,
                                       .launch = launch_filter,
                                       .layouts = layouts_filter,
                                       .set_last = set_last,
                                       .flops = flops_filter,
                                       .lends = 1u << 1,
                                       .shape_only = 1u << 2};

static mica_value add_bias(mica_value y, mica_value b) {
  if (!b.graph || !y.graph) return y;
  int32_t rank = mica_value_shape(y).rank;
  if (mica_value_shape(b).rank != 1)
    return mica__graph_fail(y.graph, MICA_E_SHAPE, "conv: the bias has a rank of %d, but must have 1",
                            (int)mica_value_shape(b).rank);
  mica_shape shape = {.rank = rank - 1};
  for (int32_t i = 0; i < rank - 1; i++) shape.dim[i] = i == 0 ? MICA__COPY_DIM(0) : 1;
  const char *mark = mica__graph_node(y.graph, y.id)->op->name;
  return mica__graph_mark(mica_add(y, mica_reshape(b, shape)), mark, (mica_value[]){y, b}, 2, NULL, 0);
}

mica_value mica_conv(mica_value x, mica_value w, mica_value b, const mica_conv_config *config) {
  const mica__conv_attrs attrs = attrs_of(config);
  return add_bias(mica__graph_add(&mica__op_conv, (mica_value[]){x, w}, 2, &attrs), b);
}

mica_value mica_conv_transpose(mica_value x, mica_value w, mica_value b, const mica_conv_config *config) {
  const mica__conv_attrs attrs = attrs_of(config);
  return add_bias(mica__graph_add(&mica__op_conv_transpose, (mica_value[]){x, w}, 2, &attrs), b);
}
