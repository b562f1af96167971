/* ops/norm/norm.h: functions that several normalisations share. */
#ifndef MICA_OPS_NORM_NORM_H
#define MICA_OPS_NORM_NORM_H

#include "ops/common/build.h"

#include <mica/dist.h>

/* Returns (x - mean) / sqrt(variance + epsilon), with statistics over the given axes; x must not have a 16-bit type.
 * *mean and *variance keep the axes with extent 1. */
mica_value mica__standardize(mica_value x, mica_axes axes, double epsilon, mica_value *mean, mica_value *variance);

/* Returns z, which must be x standardised by `factor`. The gradient of the result goes straight to x and bypasses the
 * computation of factor and mean. */
mica_value mica__standardized(mica_value z, mica_value x, mica_value factor, mica_axes axes);

/* mica__op.infer and mica__op.view of an op that returns its first operand. */
mica_status mica__infer_passed(const mica__type *inputs, int32_t input_count, void *attrs, mica__type *out);
bool mica__view_passed(const mica__node *node, mica_shape input, mica__access *access);

/* Returns y scale + bias in x's type. scale and bias may be null, and broadcast. */
mica_value mica__scaled(mica_value y, mica_value x, mica_value scale, mica_value bias);

/* Does the same as mica_batch_norm_ranks, on the communicator's channels `channel` and `channel` + 1. */
mica_value mica__batch_norm_ranks(mica_value x, mica_value scale, mica_value bias, double epsilon,
                                  const mica_communicator *communicator, int32_t channel,
                                  mica_batch_statistics *statistics);

/* True if the epsilon is finite and at least 0; else records the error. */
bool mica__epsilon_is_right(const char *op, mica_value x, double epsilon);

/* True if x has channels and each value is null or has one element per channel. Else records the error, unless x is
 * null. */
bool mica__has_channels(const char *op, mica_value x, const mica_value *values, int32_t count);

/* Reshapes (C) to (C, 1, ...), which broadcasts along x; null stays null. */
mica_value mica__along_channels(mica_value value, mica_value x);

#endif
