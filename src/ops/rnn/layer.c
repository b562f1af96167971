/* Attributes of the recurrent ops, and the layer that they describe. */
#include "ops/rnn/rnn.h"

#include <math.h>

#define FUNCTION_NAME(label, alpha, beta) #label,
const char *const mica__rnn_function_names[] = {MICA_RNN_FUNCTION_LIST(FUNCTION_NAME)};
const char *const mica__rnn_kind_names[] = {"plain", "lstm", "gru", "gru_before"};
const char *const mica__rnn_direction_names[] = {"forward", "reverse", "both"};
MICA__ATTR_TABLE(rnn, MICA__RNN_ATTRS);

int64_t mica__rnn_gates(int32_t kind) { return (const int64_t[]){1, 4, 3, 3}[kind]; }
int64_t mica__rnn_sums(int32_t kind) { return (const int64_t[]){1, 4, 4, 3}[kind]; }
int64_t mica__rnn_directions(int32_t direction) { return direction == MICA_RNN_DIRECTION_BOTH ? 2 : 1; }

mica__rnn_layer mica__rnn_layer_of(const mica__rnn_attrs *attrs, mica_shape sequence, mica_shape r) {
  int64_t T = sequence.dim[attrs->batch_first], B = sequence.dim[!attrs->batch_first];
  return (mica__rnn_layer){.kind = attrs->kind,
                           .gates = mica__rnn_gates(attrs->kind),
                           .sums = mica__rnn_sums(attrs->kind),
                           .T = T,
                           .B = B,
                           .H = r.dim[2],
                           .D = r.dim[0],
                           .time_stride = attrs->batch_first ? 1 : B,
                           .batch_stride = attrs->batch_first ? T : 1,
                           .reverse = (const uint32_t[]){0, 1, 2}[attrs->direction],
                           .input_forget = attrs->input_forget,
                           .byte_state = attrs->byte_state,
                           .clip = attrs->clip > 0 ? attrs->clip : INFINITY,
                           .functions = {{{(mica_rnn_function)attrs->f0, attrs->f0_alpha, attrs->f0_beta},
                                          {(mica_rnn_function)attrs->g0, attrs->g0_alpha, attrs->g0_beta},
                                          {(mica_rnn_function)attrs->p0, attrs->p0_alpha, attrs->p0_beta}},
                                         {{(mica_rnn_function)attrs->f1, attrs->f1_alpha, attrs->f1_beta},
                                          {(mica_rnn_function)attrs->g1, attrs->g1_alpha, attrs->g1_beta},
                                          {(mica_rnn_function)attrs->p1, attrs->p1_alpha, attrs->p1_beta}}}};
}

mica_status mica__rnn_expect(const char *name, mica_shape shape, mica_shape want) {
  char is[MICA_SHAPE_TEXT], must[MICA_SHAPE_TEXT];
  bool right = shape.rank == want.rank;
  for (int32_t i = 0; right && i < shape.rank; i++)
    right = shape.dim[i] == want.dim[i] || shape.dim[i] == MICA_DYNAMIC || want.dim[i] == MICA_DYNAMIC;
  if (right) return MICA_OK;
  return mica__fail(MICA_E_SHAPE, "%s is %s, but must be %s", name, mica_shape_format(shape, is),
                    mica_shape_format(want, must));
}
