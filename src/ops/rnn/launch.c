/* The common part of recurrent layers' launches. */
#include "ops/rnn/rnn.h"

#include <math.h>
#include <mica/ops.h>

const mica_tensor *mica__rnn_operand(const mica__exec *exec, int32_t k) {
  int32_t at = mica__present_index(((const mica__rnn_attrs *)exec->attrs)->present, k);
  return at < 0 ? NULL : exec->inputs[at];
}

mica_status mica__rnn_copy_state(const mica__exec *exec, int32_t from, int32_t to) {
  const mica_tensor *state = mica__rnn_operand(exec, from);
  mica_tensor *result = exec->outputs[to];
  if (!result || mica_tensor_count(result) == 0) return MICA_OK;
  return state ? mica_op_copy(exec->queue, state, result) : mica_op_fill(exec->queue, 0, result);
}

mica_dtype mica__rnn_compute(mica_dtype dtype) { return dtype == MICA_F64 ? MICA_F64 : MICA_F32; }

/* Returns how many of the functions f, g and p a kind has: PLAIN has f, GRU and GRU_BEFORE have f and g, LSTM has all
 * three. */
static int32_t functions_of(int32_t kind) { return kind == MICA__RNN_PLAIN ? 1 : kind == MICA__RNN_LSTM ? 3 : 2; }

int64_t mica__rnn_alike(const mica__rnn_layer *layer, int64_t first) {
  if (first + 1 >= layer->D) return 1;
  for (int32_t k = 0; k < functions_of(layer->kind); k++) {
    mica_rnn_activation a = layer->functions[first][k], b = layer->functions[first + 1][k];
    if (a.function != b.function || a.alpha != b.alpha || a.beta != b.beta) return 1;
  }
  return 2;
}

void mica__rnn_set_cell(const mica__kernel_desc *desc, int32_t *values, const mica__rnn_layer *layer, int64_t first,
                        mica_dtype dtype, const mica_tensor *lengths, const mica_tensor *peepholes) {
  static const char *const names[] = {"ACT_F", "ACT_G", "ACT_P"};
  bool lstm = layer->kind == MICA__RNN_LSTM;
  mica__kernel_set(desc, values, "X_T", (int32_t)dtype);
  mica__kernel_set(desc, values, "LEN_T", (int32_t)(lengths ? mica_tensor_dtype(lengths) : MICA_I32));
  mica__kernel_set(desc, values, "KIND", layer->kind);
  for (int32_t k = 0; k < functions_of(layer->kind); k++)
    mica__kernel_set(desc, values, names[k], (int32_t)layer->functions[first][k].function);
  mica__kernel_set(desc, values, "CLIP", layer->clip < INFINITY);
  mica__kernel_set(desc, values, "INPUT_FORGET", lstm && layer->input_forget);
  mica__kernel_set(desc, values, "PEEPHOLES", peepholes != NULL);
  mica__kernel_set(desc, values, "BYTE_STATE", lstm && layer->byte_state);
}

void mica__rnn_add_functions(mica__launch *launch, const mica__rnn_layer *layer, int64_t first, mica_dtype dtype) {
  for (int32_t k = 0; k < 3; k++) {
    mica__launch_scalar(launch, dtype, layer->functions[first][k].alpha);
    mica__launch_scalar(launch, dtype, layer->functions[first][k].beta);
  }
  mica__launch_scalar(launch, dtype, layer->clip);
}

void mica__rnn_add_cost(mica__launch *launch, const mica__rnn_layer *layer, int64_t inputs, double share) {
  double rows = (double)layer->T * (double)layer->B * (double)layer->D, width = (double)(layer->gates * layer->H);
  double weights = (double)layer->D * width * (double)(layer->H + inputs);
  mica__launch_cost(launch, share * 2 * rows * width * (double)(layer->H + inputs),
                    share * 4 * (rows * (width + (double)inputs) + weights));
}
