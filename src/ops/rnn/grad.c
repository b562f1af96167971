/* The gradient of recurrent layers. The op rnn_grad goes through the steps backwards and computes the gradients of the
 * gates' sums, of the initial states and, per sequence, of the peepholes. Matrix products and sums over all steps
 * compute the other gradients from these. */
#include "ops/common/build.h"
#include "ops/layout/views.h"
#include "ops/rnn/rnn.h"

#include <mica/ops.h>

static mica_status infer_rnn_grad(const mica__type *inputs, int32_t input_count, void *attributes, mica__type *out) {
  (void)input_count;
  const mica__rnn_attrs *attrs = attributes;
  mica_shape r = inputs[MICA__RNN_OF_R].shape, s = inputs[MICA__RNN_OF_SUMS].shape;
  bool lstm = attrs->kind == MICA__RNN_LSTM;
  int64_t d = r.dim[0], rows = r.dim[1], units = r.dim[2], batch = s.dim[!attrs->batch_first];
  out[MICA__RNN_DSUMS].shape = MICA_SHAPE(s.dim[0], s.dim[1], d, rows);
  out[MICA__RNN_DHIDDEN].shape = MICA_SHAPE(s.dim[0], s.dim[1], d, attrs->kind == MICA__RNN_GRU ? rows : 0);
  out[MICA__RNN_DH0].shape = MICA_SHAPE(d, batch, units);
  out[MICA__RNN_DC0].shape = MICA_SHAPE(d, batch, lstm ? units : 0);
  bool peepholes = mica__present_index(attrs->present, MICA__RNN_OF_PEEPHOLES) >= 0;
  out[MICA__RNN_DPEEPHOLES].shape = MICA_SHAPE(d, batch, peepholes ? 3 * units : 0);
  return MICA_OK;
}

static mica_status launch_rnn_grad(const mica__exec *exec) {
  const mica__rnn_layer layer = mica__rnn_layer_of(exec->attrs, mica_tensor_shape(exec->inputs[MICA__RNN_OF_SUMS]),
                                                   mica_tensor_shape(exec->inputs[MICA__RNN_OF_R]));
  mica_tensor *dpeepholes = exec->outputs[MICA__RNN_DPEEPHOLES];
  if (layer.B == 0) return MICA_OK;
  if (layer.T > 0) return mica__rnn_run(exec, &layer, true);
  if (dpeepholes && mica_tensor_count(dpeepholes) > 0) MICA_TRY(mica_op_fill(exec->queue, 0, dpeepholes));
  MICA_TRY(mica__rnn_copy_state(exec, MICA__RNN_OF_DH, MICA__RNN_DH0));
  return mica__rnn_copy_state(exec, MICA__RNN_OF_DC, MICA__RNN_DC0);
}

static mica_status check_rnn_grad(mica__check *check) {
  return mica__rnn_check_layers(check, &mica__op_rnn_grad, true);
}

static const mica__kernel_desc *const kernels[] = {&mica__rnn_pack_backward_kernel, &mica__rnn_backward_cpu_kernel,
                                                   &mica__rnn_backward_gpu_kernel, NULL};
const mica__op mica__op_rnn_grad = {.name = "rnn_grad",
                                    .kernels = kernels,
                                    .check = check_rnn_grad,
                                    .kind = MICA__OP_LAUNCH,
                                    .min_inputs = MICA__RNN_OF_LENGTHS,
                                    .max_inputs = MICA__RNN_GRAD_OPERANDS,
                                    .results = MICA__RNN_GRAD_RESULTS,
                                    .attrs = &mica__rnn_attr_list,
                                    .dtypes = "f00x00000>00000",
                                    .infer = infer_rnn_grad,
                                    .evaluate = mica__rnn_grad_evaluate,
                                    .launch = launch_rnn_grad};

/* --- the gradient in graphs --- */

/* Reshapes (T, B, D, n), or (T, B, n), to a matrix (T B, D n). */
static mica_value as_rows(mica_value v) {
  mica_shape s = mica_value_shape(v);
  int64_t count = s.dim[0] == MICA_DYNAMIC || s.dim[1] == MICA_DYNAMIC ? MICA_DYNAMIC : s.dim[0] * s.dim[1], n = 1;
  for (int32_t i = 2; i < s.rank; i++) n *= s.dim[i];
  return mica_reshape(v, MICA_SHAPE(count, n));
}
/* Rearranges (T, B, D, n) to matrices (D, T B, n), or to (D, n, T B) if `across`. */
static mica_value by_direction(mica_value v, bool across) {
  mica_shape s = mica_value_shape(v), rows = mica_value_shape(as_rows(v));
  mica_value flat = mica_reshape(v, MICA_SHAPE(rows.dim[0], s.dim[2], s.dim[3]));
  return mica_transpose(flat, across ? MICA_AXES(1, 2, 0) : MICA_AXES(1, 0, 2));
}

/* Returns x with zeros in place of the steps after each sequence's end, where x may hold anything; x itself if there
 * are no lengths. */
static mica_value within_lengths(mica_value x, mica_value lengths, bool batch_first) {
  if (!lengths.graph) return x;
  mica_value like = mica_cast(mica_slice(x, 2, 0, 1, 1), mica_value_dtype(lengths));
  mica_value ones = mica_full_like(like, 1);
  mica_value step = mica_cumsum(ones, batch_first ? 1 : 0, true, false);
  mica_value length = mica__insert_axis(mica__insert_axis(lengths, 1), batch_first ? 1 : 0);
  return mica_where(mica_less(step, length), x, mica__number(x, 0));
}

/* The gradient of r: for each direction the product of `hidden`, the gradients of r h + b_r, and the vectors that r was
 * multiplied with: h, or the reset h for the last gate of GRU_BEFORE. */
static mica_value gradient_of_r(const mica__grad *grad, mica_value hidden, int32_t kind) {
  mica_value across = by_direction(hidden, true), before = by_direction(grad->results[MICA__RNN_BEFORE], false);
  if (kind != MICA__RNN_GRU_BEFORE) return mica_matmul(across, before);
  int64_t units = mica_value_shape(grad->inputs[MICA__RNN_R]).dim[2];
  mica_value reset = by_direction(grad->results[MICA__RNN_CELLS], false);
  mica_value parts[] = {mica_matmul(mica_slice(across, 1, 0, 2 * units, 1), before),
                        mica_matmul(mica_slice(across, 1, 2 * units, 3 * units, 1), reset)};
  return mica_concat(parts, 2, 1);
}

mica_status mica__rnn_gradient(const mica__grad *grad) {
  const mica__rnn_attrs *of = mica__attrs_of(grad->y);
  mica__rnn_attrs attrs = *of;
  mica_value operand[MICA__RNN_OPERANDS], none = {0};
  int32_t at[MICA__RNN_OPERANDS];
  for (int32_t k = 0; k < MICA__RNN_OPERANDS; k++) {
    at[k] = mica__present_index(attrs.present, k);
    operand[k] = at[k] < 0 ? none : grad->inputs[at[k]];
  }
  const mica_shape weights[] = {mica_value_shape(operand[MICA__RNN_W]), mica_value_shape(operand[MICA__RNN_R])};
  char text[2][MICA_SHAPE_TEXT];
  if (!mica__shape_is_known(weights[0]) || !mica__shape_is_known(weights[1]))
    return mica__fail(MICA_E_SHAPE, "rnn: w is %s and r is %s, but a gradient needs both without open axes",
                      mica_shape_format(weights[0], text[0]), mica_shape_format(weights[1], text[1]));
  if (attrs.byte_state) return mica__fail(MICA_E_UNSUPPORTED, "rnn: there is no gradient through byte_state");
  bool lstm = attrs.kind == MICA__RNN_LSTM;
  const mica_value given[MICA__RNN_GRAD_OPERANDS] = {operand[MICA__RNN_R],
                                                     grad->results[MICA__RNN_SUMS],
                                                     grad->results[MICA__RNN_BEFORE],
                                                     operand[MICA__RNN_LENGTHS],
                                                     lstm ? grad->results[MICA__RNN_CELLS] : none,
                                                     operand[MICA__RNN_PEEPHOLES],
                                                     grad->dresults[MICA__RNN_Y],
                                                     grad->dresults[MICA__RNN_H],
                                                     lstm ? grad->dresults[MICA__RNN_C] : none};
  mica_value dsums = mica__graph_add_present(&mica__op_rnn_grad, given, MICA__RNN_GRAD_OPERANDS, &attrs);
  if (!dsums.graph) return MICA_OK;
  mica_value hidden = attrs.kind == MICA__RNN_GRU ? mica__graph_result(dsums, MICA__RNN_DHIDDEN) : dsums;
  mica_value x = operand[MICA__RNN_X], w = operand[MICA__RNN_W];
  mica_shape size = mica_value_shape(w);
  mica_value rows = as_rows(dsums), flat = mica_reshape(w, MICA_SHAPE(size.dim[0] * size.dim[1], size.dim[2]));
  grad->dinputs[at[MICA__RNN_X]] = mica__reshape_like(mica_matmul(rows, flat), x);
  mica_value features = as_rows(within_lengths(x, operand[MICA__RNN_LENGTHS], attrs.batch_first));
  grad->dinputs[at[MICA__RNN_W]] = mica_reshape(mica_matmul(mica_transpose(rows, MICA_AXES(1, 0)), features), size);
  grad->dinputs[at[MICA__RNN_R]] = gradient_of_r(grad, hidden, attrs.kind);
  if (at[MICA__RNN_B] >= 0) {
    mica_axes steps = MICA_AXES(0, 1);
    mica_value parts[] = {mica_sum(dsums, steps, false), mica_sum(hidden, steps, false)};
    grad->dinputs[at[MICA__RNN_B]] = mica_concat(parts, 2, 1);
  }
  if (at[MICA__RNN_H0] >= 0) grad->dinputs[at[MICA__RNN_H0]] = mica__graph_result(dsums, MICA__RNN_DH0);
  if (at[MICA__RNN_C0] >= 0) grad->dinputs[at[MICA__RNN_C0]] = mica__graph_result(dsums, MICA__RNN_DC0);
  if (at[MICA__RNN_PEEPHOLES] >= 0)
    grad->dinputs[at[MICA__RNN_PEEPHOLES]] =
        mica_sum(mica__graph_result(dsums, MICA__RNN_DPEEPHOLES), MICA_AXES(1), false);
  return MICA_OK;
}
