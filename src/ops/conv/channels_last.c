/* Copies of operands with their channels last, as matrix units read them (cl/conv/gpu/channels_last.cl), as values of
 * graphs. A convolution on matrix units would otherwise make such a copy in its own launch. The compiler inserts the op
 * channels_last before these convolutions, so that several convolutions share one copy. conv_channels_first computes
 * such a convolution if matrix units cannot take it after all. */
#include "ops/conv/channels_last.h"

#include "base/checked.h"
#include "base/error.h"
#include "ops/common/build.h"
#include "ops/conv/gpu/channels_last.h"
#include "ops/layout/strided_copy.h"
#include "ops/select/registry.h"
#include "runtime/buffer.h"
#include "runtime/tensor.h"
#include "runtime/workspace.h"

#include <string.h>

#define PIECE_BYTES 16

/* Sets *pitch to the number of elements from one pixel to the next, with channels rounded up to pieces of 16 bytes.
 * Returns false if it overflows. */
static bool pitch_of(mica_dtype dtype, int64_t channels, int64_t *pitch) {
  const int64_t piece = PIECE_BYTES / (int64_t)mica_dtype_size(dtype);
  return mica__mul_i64(channels / piece + (channels % piece != 0), piece, pitch);
}

mica_shape mica__conv_first_shape(mica_shape last, int64_t channels) {
  mica_shape shape = last;
  shape.dim[1] = channels;
  for (int32_t i = 2; i < last.rank; i++) shape.dim[i] = last.dim[i - 1];
  return shape;
}

/* The strides by which memory with channels last is read in the order of `shape`, which has its channels first. */
static mica__access access_of(mica_dtype dtype, mica_shape shape) {
  mica__access access = {0};
  int64_t step = 0;
  pitch_of(dtype, shape.dim[1], &step);
  access.stride[1] = 1;
  for (int32_t i = shape.rank - 1; i >= 2; i--) {
    access.stride[i] = step;
    step *= shape.dim[i];
  }
  access.stride[0] = step;
  return access;
}

mica_status mica__conv_view_last(const mica_tensor *last, int64_t channels, mica_tensor **view) {
  const mica_shape shape = mica__conv_first_shape(mica_tensor_shape(last), channels);
  const mica__access access = access_of(mica_tensor_dtype(last), shape);
  return mica_tensor_view(last, shape, access.stride, 0, view);
}

/* --- the op --- */

static mica_status infer_last(const mica__type *inputs, int32_t input_count, void *attrs, mica__type *out) {
  const mica_shape from = inputs[0].shape;
  char text[MICA_SHAPE_TEXT];
  (void)input_count, (void)attrs;
  *out = inputs[0];
  if (from.rank < 3 || from.rank > 5)
    return mica__fail(MICA_E_SHAPE, "x %s must have a rank from 3 to 5", mica_shape_format(from, text));
  for (int32_t i = 2; i < from.rank; i++) out->shape.dim[i - 1] = from.dim[i];
  int64_t *channels = &out->shape.dim[from.rank - 1];
  *channels = from.dim[1];
  if (from.dim[1] == MICA_DYNAMIC || pitch_of(inputs[0].dtype, from.dim[1], channels)) return MICA_OK;
  return mica__fail(MICA_E_OVERFLOW, "x %s has too many channels", mica_shape_format(from, text));
}

static mica_status evaluate_last(const mica__eval *eval) {
  const mica_shape from = eval->types[0].shape;
  const mica__access to = access_of(eval->types[0].dtype, from);
  int64_t count = 0, index[MICA_MAX_RANK] = {0}, i = 0;
  MICA_TRY(mica_shape_count(eval->type->shape, &count));
  memset(eval->output, 0, (size_t)count * sizeof *eval->output);
  if (count == 0) return MICA_OK;
  do eval->output[mica__access_at(&to, from, index)] = eval->inputs[0][i++];
  while (mica__next_index(from, index));
  return MICA_OK;
}

static mica_status launch_last(const mica__exec *exec) {
  const mica_tensor *x = exec->inputs[0];
  const mica_shape shape = mica_tensor_shape(x);
  int64_t pixels = 1;
  for (int32_t i = 2; i < shape.rank; i++) pixels *= shape.dim[i];
  if (mica_tensor_count(exec->output) == 0) return MICA_OK;
  return mica__conv_put_channels_last(exec->queue, x, shape.dim[0], 1, shape.dim[1], pixels,
                                      mica__tensor_buffer(exec->output), mica__conv_first_piece(exec->output));
}

/* Copies (N, C, S..) to (N, S.., C). C is rounded up, so that a pixel takes a multiple of 16 bytes, and the added
 * channels are zeros. */
const mica__op mica__op_channels_last = {.name = "channels_last",
                                         .kind = MICA__OP_LAUNCH,
                                         .min_inputs = 1,
                                         .max_inputs = 1,
                                         .dtypes = "f>0",
                                         .infer = infer_last,
                                         .evaluate = evaluate_last,
                                         .launch = launch_last};

/* --- what a convolution copies, or can take --- */

/* Makes a tensor of this type without memory. If `last`, it is a view of a tensor that has its channels last. */
static mica_status imagine(mica_engine *engine, const mica__type *type, bool last, mica_tensor **tensor) {
  int64_t bytes = 0;
  mica_buffer *buffer = NULL;
  mica_tensor *whole = NULL;
  mica__type own = *type;
  char text[MICA_SHAPE_TEXT];
  if (last) MICA_TRY(mica__op_infer(&mica__op_channels_last, type, 1, NULL, &own));
  MICA_TRY(mica_shape_count(own.shape, &bytes));
  if (!mica__mul_i64(bytes, (int64_t)mica_dtype_size(own.dtype), &bytes))
    return mica__fail(MICA_E_OVERFLOW, "a tensor of %s has 2^63 bytes or more", mica_shape_format(own.shape, text));
  MICA_TRY(mica__placeholder_create(engine, (size_t)bytes, &buffer));
  mica_status status = mica_tensor_wrap(buffer, 0, own.dtype, own.shape, last ? &whole : tensor);
  if (status == MICA_OK && last) status = mica__conv_view_last(whole, type->shape.dim[1], tensor);
  mica_tensor_destroy(whole);
  mica_buffer_destroy(buffer);
  return status;
}

/* Returns the implementation that is chosen for the pass on tensors of these types. The tensors in the bits `last` have
 * their channels last. Also sets *plain to mica__conv_wgrad_is_plain of the problem. Returns NULL and leaves *plain as
 * it is if there are several groups, if the result is empty, and after an error. */
static const mica__impl *chosen_for(mica_engine *engine, mica__conv_pass pass, unsigned last,
                                    const mica_conv_config *config, const mica__type types[3], bool *plain) {
  const bool lasts[] = {last & MICA__CONV_X_LAST, false, last & MICA__CONV_Y_LAST};
  const mica__impl *impl = NULL;
  mica_tensor *tensors[3] = {NULL};
  mica__conv conv;
  char key[MICA__TUNING_TEXT];
  mica__attempt_begin();
  mica_status status = MICA_OK;
  for (int i = 0; status == MICA_OK && i < 3; i++) status = imagine(engine, &types[i], lasts[i], &tensors[i]);
  if (status == MICA_OK)
    status = mica__conv_problem_last(mica_engine_queue(engine), pass, last, config, tensors[0], tensors[1], tensors[2],
                                     NULL, &conv);
  if (status == MICA_OK && conv.dims.groups == 1 && mica_tensor_count(conv.epilogue.d.tensor) > 0) {
    mica__conv_key(&conv, key);
    impl = mica__choose(engine, (last ? mica__conv_last_impls : mica__conv_impls)[pass], &conv, key).impl;
    *plain = mica__conv_wgrad_is_plain(&conv);
  }
  for (int i = 0; i < 3; i++) mica_tensor_destroy(tensors[i]);
  mica__attempt_end();
  return impl;
}

mica__conv_lasts mica__conv_find_last(mica_engine *engine, mica__conv_pass pass, const mica_conv_config *config,
                                      const mica__type types[3]) {
  const bool filter = pass == MICA__CONV_BWD_FILTER, forward = pass == MICA__CONV_FWD;
  const unsigned both = MICA__CONV_X_LAST | MICA__CONV_Y_LAST;
  const unsigned source = filter ? both : forward ? MICA__CONV_X_LAST : MICA__CONV_Y_LAST;
  const mica__impl *units = filter ? &mica__conv_gpu_wgrad_mma : &mica__conv_gpu_mma;
  mica__conv_lasts found = {0};
  bool plain = false;
  if (mica__kernel_class(mica_engine_device(engine)) != MICA__ON_GPU) return found;
  if (chosen_for(engine, pass, 0, config, types, &plain) == units && !(filter && plain)) found.copies = source;
  if (chosen_for(engine, pass, source, config, types, &plain) == units) found.takes = source;
  found.writes = !filter && found.takes && chosen_for(engine, pass, both, config, types, &plain) == units;
  return found;
}

/* --- back to channels first, if matrix units cannot take the problem after all --- */

static const char *decline_none(const mica__task *task) {
  (void)task;
  return NULL;
}

static mica_status put_first(mica_queue *queue, const mica_tensor *last, mica_tensor **first) {
  const mica_shape shape = mica_tensor_shape(last);
  const mica__access from = access_of(mica_tensor_dtype(last), shape);
  mica__access to = {0};
  mica__row_major(shape, to.stride);
  MICA_TRY(mica__workspace_tensor(queue, mica_tensor_dtype(last), shape, first));
  return mica__strided_copy(queue, NULL, shape, last, &from, *first, &to);
}

static mica_status put_back(mica_queue *queue, const mica_tensor *first, mica_tensor *last) {
  const mica_shape shape = mica_tensor_shape(last);
  const mica__access to = access_of(mica_tensor_dtype(last), shape);
  mica__access from = {0};
  mica__row_major(shape, from.stride);
  return mica__strided_copy(queue, NULL, shape, first, &from, last, &to);
}

/* Replaces the problem's result, and its addend if it has one, by tensors with channels first: *result is new,
 * *addend a copy. The caller destroys both, also after an error. */
static mica_status take_result_first(mica_queue *queue, mica__conv *conv, mica_tensor **result, mica_tensor **addend) {
  const mica_tensor *last = conv->epilogue.d.tensor;
  MICA_TRY(mica__workspace_tensor(queue, conv->dtype, mica_tensor_shape(last), result));
  if (conv->epilogue.beta != 0) MICA_TRY(put_first(queue, conv->epilogue.c.tensor, addend));
  if (conv->pass == MICA__CONV_FWD) conv->y = *result;
  if (conv->pass == MICA__CONV_BWD_DATA) conv->x = *result;
  conv->epilogue.d = (mica__matrix){*result, conv->columns, 1, conv->rows * conv->columns};
  conv->epilogue.c = conv->epilogue.d;
  if (*addend) conv->epilogue.c.tensor = *addend;
  return MICA_OK;
}

static mica_status launch_first(mica_queue *queue, const mica__task *task) {
  mica__conv conv = *(const mica__conv *)task->problem;
  const bool result_last = mica__conv_is_result_last(&conv), forward = conv.pass == MICA__CONV_FWD;
  const unsigned read = result_last ? forward ? MICA__CONV_X_LAST : MICA__CONV_Y_LAST : ~0u;
  /* Copies with channels first of x, y, the result and the addend; NULL if none is needed. */
  mica_tensor *made[4] = {NULL}, *last = (mica_tensor *)conv.epilogue.d.tensor;
  mica_status status = MICA_OK;
  char key[MICA__TUNING_TEXT];
  if (conv.last & read & MICA__CONV_X_LAST) status = put_first(queue, conv.x, &made[0]);
  if (status == MICA_OK && conv.last & read & MICA__CONV_Y_LAST) status = put_first(queue, conv.y, &made[1]);
  if (made[0]) conv.x = made[0];
  if (made[1]) conv.y = made[1];
  if (status == MICA_OK && result_last) status = take_result_first(queue, &conv, &made[2], &made[3]);
  conv.last = 0;
  conv.lends = false;
  mica__conv_key(&conv, key);
  if (status == MICA_OK) status = mica__choose_and_launch(queue, mica__conv_impls[conv.pass], &conv, key);
  if (status == MICA_OK && result_last) status = put_back(queue, made[2], last);
  for (int i = 0; i < 4; i++) mica_tensor_destroy(made[i]);
  return status;
}

const mica__impl mica__conv_channels_first = {
    .name = "conv_channels_first", .decline = decline_none, .launch = launch_first};
