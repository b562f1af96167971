/* Sums a bucket of f32 tensors over all ranks, and (at the end) sums single values for layers that are divided among
 * ranks. The result for a bucket is one row of numbers, in which each operand begins at a multiple of 64 bytes. The
 * operands lie in the host's memory at the same distances, so a bucket is sent without first being copied together. */
#include "base/error.h"
#include "ops/collective/channels.h"
#include "ops/collective/collective.h"
#include "ops/common/build.h"

#include <mica/parallel.h>
#include <stdio.h>

#define ALIGNMENT 16 /* elements */

#define ALL_REDUCE_ATTRS(X, S)                                                                                         \
  X(S, POINTER, communicator, 0, "between the ranks")                                                                  \
  X(S, INT, channel, 0, "of the communicator")                                                                         \
  X(S, ENUM, compression, 0, "how sums travel", mica__compression_texts)
static const char *const mica__compression_texts[] = {
#define COMPRESSION_TEXT(name, text) text,
    MICA_COMPRESSION_LIST(COMPRESSION_TEXT)};
MICA__ATTR_STRUCT(all_reduce, ALL_REDUCE_ATTRS);
static MICA__ATTR_TABLE(all_reduce, ALL_REDUCE_ATTRS);

mica_status mica__collective_room(mica_shape shape, int64_t *room) {
  int64_t count = 0;
  char text[MICA_SHAPE_TEXT];
  if (mica__shape_is_open(shape))
    return mica__fail(MICA_E_SHAPE, "the shape %s has an open dimension, but must be known",
                      mica_shape_format(shape, text));
  MICA_TRY(mica_shape_count(shape, &count));
  if (count > INT64_MAX - (ALIGNMENT - 1))
    return mica__fail(MICA_E_OVERFLOW, "a tensor %s is too large to send", mica_shape_format(shape, text));
  *room = (count + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  return MICA_OK;
}

mica_status mica__collective_row(const mica__type *inputs, int32_t input_count, int64_t *count) {
  int64_t all = 0;
  for (int32_t k = 0; k < input_count; k++) {
    int64_t room = 0;
    if (inputs[k].dtype != MICA_F32)
      return mica__fail(MICA_E_DTYPE, "operand %d is %s, but must be f32", (int)k, mica_dtype_name(inputs[k].dtype));
    MICA_TRY(mica__collective_room(inputs[k].shape, &room));
    if (room > INT64_MAX / (int64_t)sizeof(float) - all)
      return mica__fail(MICA_E_OVERFLOW, "the operands together have 2^63 bytes or more");
    all += room;
  }
  *count = all;
  return MICA_OK;
}

void mica__collective_split(mica_value row, const mica_value *x, int32_t count, mica_value *values) {
  int64_t at = 0;
  for (int32_t k = 0; k < count; k++) {
    const mica_shape shape = mica_value_shape(x[k]);
    int64_t elements = 0, room = 0;
    const bool known =
        row.graph && mica_shape_count(shape, &elements) == MICA_OK && mica__collective_room(shape, &room) == MICA_OK;
    values[k] = known ? mica_reshape(mica_slice(row, 0, at, at + elements, 1), shape) : row;
    at += room;
  }
}

void mica__collective_ends(const mica_communicator *c, mica_status failed) {
  char sentence[512];
  if (failed == MICA_OK || !c->calls->abort) return;
  const int32_t rank = c->whole ? c->whole->rank : c->rank;
  snprintf(sentence, sizeof sentence, "rank %d: %s", (int)rank, mica_error_message());
  c->calls->abort(c->user, rank, sentence);
}

static mica_status infer_all_reduce(const mica__type *inputs, int32_t input_count, void *attrs, mica__type *out) {
  const mica__all_reduce_attrs *how = attrs;
  int64_t count = 0;
  if (!how->communicator) return mica__fail(MICA_E_INVALID, "the communicator is NULL");
  MICA_TRY(mica__collective_row(inputs, input_count, &count));
  *out = (mica__type){MICA_F32, MICA_SHAPE(count)};
  return MICA_OK;
}

static mica_status begin_all_reduce(const mica__host *host, mica_event *ready, void **pending) {
  const mica__all_reduce_attrs *how = host->attrs;
  const mica_communicator *c = how->communicator;
  const mica_transfer transfer = {.kind = MICA_COLLECTIVE_ALL_REDUCE,
                                  .channel = (int32_t)how->channel,
                                  .dtype = MICA_F32,
                                  .data = host->output,
                                  .count = host->type->shape.dim[0],
                                  .source = host->inputs[0],
                                  .compression = (mica_compression)how->compression,
                                  .feedback = true,
                                  .after = ready};
  return c->calls->begin(c->user, &transfer, pending);
}

static mica_status end_all_reduce(const mica__host *host, void *pending, mica_status failed) {
  const mica_communicator *c = ((const mica__all_reduce_attrs *)host->attrs)->communicator;
  mica__collective_ends(c, failed);
  return c->calls->wait(c->user, pending);
}

static mica_status grad_all_reduce(const mica__grad *grad) {
  const mica__all_reduce_attrs *how = mica__attrs_of(grad->y);
  mica_value dy = grad->dy;
  mica__all_reduce(&grad->dy, 1, how->communicator, (int32_t)how->channel + MICA__CHANNEL_OF_GRADIENTS,
                   MICA_COMPRESSION_NONE, &dy);
  mica__collective_split(dy, grad->inputs, grad->input_count, grad->dinputs);
  return MICA_OK;
}

/* Not listed for the doctor, because it needs several ranks. */
static const mica__op op_all_reduce = {.name = "all_reduce",
                                       .kind = MICA__OP_LAUNCH,
                                       .min_inputs = 1,
                                       .max_inputs = INT32_MAX,
                                       .attrs = &mica__all_reduce_attr_list,
                                       .infer = infer_all_reduce,
                                       .grad = grad_all_reduce,
                                       .begin = begin_all_reduce,
                                       .end = end_all_reduce,
                                       .order = MICA__ORDER_SOON};

void mica__all_reduce(const mica_value *x, int32_t count, const mica_communicator *communicator, int32_t channel,
                      mica_compression compression, mica_value *sums) {
  const mica__all_reduce_attrs how = {communicator, channel, (int32_t)compression};
  mica__collective_split(mica__graph_add(&op_all_reduce, x, count, &how), x, count, sums);
}

bool mica__channel_refused(const char *op, mica_value x, const mica_communicator *communicator, int32_t channel,
                           int32_t count) {
  if (!x.graph || (communicator && channel >= 0 && channel <= MICA__CHANNEL_NORMS - count)) return false;
  if (!communicator)
    mica__builder_fail(op, x, MICA_E_INVALID, "the communicator is NULL");
  else
    mica__builder_fail(op, x, MICA_E_INVALID, "channel is %d, but must be from 0 to %d", (int)channel,
                       (int)(MICA__CHANNEL_NORMS - count));
  return true;
}

mica_value mica_all_reduce(mica_value x, mica_communicator *communicator, int32_t channel) {
  mica_value sum = {0};
  if (mica__channel_refused("all_reduce", x, communicator, channel, 1)) return sum;
  mica__all_reduce(&x, 1, communicator, channel, MICA_COMPRESSION_NONE, &sum);
  return sum;
}

/* --- layers that are divided among ranks --- */

/* Infers the type of the sum of one value, whose extents may be open. This op is for activations and their gradients.
 * The gradients of weights, whose extents are known, are summed by all_reduce. */
static mica_status infer_sum(const mica__type *inputs, int32_t input_count, void *attrs, mica__type *out) {
  (void)input_count;
  const mica__all_reduce_attrs *how = attrs;
  if (!how->communicator) return mica__fail(MICA_E_INVALID, "the communicator is NULL");
  if (inputs[0].dtype != MICA_F32)
    return mica__fail(MICA_E_DTYPE, "the operand is %s, but must be f32", mica_dtype_name(inputs[0].dtype));
  *out = inputs[0];
  return MICA_OK;
}

static mica_status begin_sum(const mica__host *host, mica_event *ready, void **pending) {
  const mica__all_reduce_attrs *how = host->attrs;
  const mica_communicator *c = how->communicator;
  mica_transfer transfer = {.kind = MICA_COLLECTIVE_ALL_REDUCE,
                            .channel = (int32_t)how->channel,
                            .dtype = MICA_F32,
                            .data = host->output,
                            .source = host->inputs[0],
                            .after = ready};
  MICA_TRY(mica_shape_count(host->type->shape, &transfer.count));
  return c->calls->begin(c->user, &transfer, pending);
}

static mica_status grad_sum(const mica__grad *grad) {
  grad->dinputs[0] = grad->dy;
  return MICA_OK;
}

static const mica__op op_sum = {.name = "parallel_sum",
                                .kind = MICA__OP_LAUNCH,
                                .min_inputs = 1,
                                .max_inputs = 1,
                                .attrs = &mica__all_reduce_attr_list,
                                .infer = infer_sum,
                                .grad = grad_sum,
                                .begin = begin_sum,
                                .end = end_all_reduce,
                                .order = MICA__ORDER_SOON};

mica_value mica_parallel_leave(mica_value x, mica_communicator *communicator, int32_t channel) {
  if (mica__channel_refused("parallel_leave", x, communicator, channel, 1)) return (mica_value){0};
  return mica__graph_add(&op_sum, &x, 1, &(mica__all_reduce_attrs){communicator, channel, 0});
}

static mica_status infer_enter(const mica__type *inputs, int32_t input_count, void *attrs, mica__type *out) {
  (void)input_count;
  const mica__all_reduce_attrs *how = attrs;
  if (!how->communicator) return mica__fail(MICA_E_INVALID, "the communicator is NULL");
  *out = inputs[0];
  return MICA_OK;
}

static mica_status grad_enter(const mica__grad *grad) {
  const mica__all_reduce_attrs *how = mica__attrs_of(grad->y);
  const mica__all_reduce_attrs back = {how->communicator, how->channel + MICA__CHANNEL_OF_GRADIENTS, 0};
  grad->dinputs[0] = mica__graph_add(&op_sum, &grad->dy, 1, &back);
  return MICA_OK;
}

static double scalar_enter(const double *x, const void *attrs) {
  (void)attrs;
  return x[0];
}

static const mica__op op_enter = {.name = "parallel_enter",
                                  .kind = MICA__OP_POINTWISE,
                                  .min_inputs = 1,
                                  .max_inputs = 1,
                                  .attrs = &mica__all_reduce_attr_list,
                                  .infer = infer_enter,
                                  .grad = grad_enter,
                                  .expression = "a",
                                  .scalar = scalar_enter,
                                  .identity = true};

mica_value mica_parallel_enter(mica_value x, mica_communicator *communicator, int32_t channel) {
  if (mica__channel_refused("parallel_enter", x, communicator, channel, 1)) return (mica_value){0};
  return mica__graph_add(&op_enter, &x, 1, &(mica__all_reduce_attrs){communicator, channel, 0});
}
