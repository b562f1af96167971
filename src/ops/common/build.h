/* ops/common/build.h: what infer functions, gradient rules and builders of ops have in common. */
#ifndef MICA_OPS_COMMON_BUILD_H
#define MICA_OPS_COMMON_BUILD_H

#include "ir/graph.h"

#include <mica/nodes.h>

/* Descriptors that other ops build on directly. */
extern const mica__op mica__op_reshape, mica__op_transpose, mica__op_expand, mica__op_sum, mica__op_cumsum,
    mica__op_cumprod, mica__op_top_k, mica__op_random, mica__op_cast;

#define MICA__TRANSPOSE_ATTRS(X, S) X(S, PER_AXIS, axes, 0, "the operand's axis that becomes this one")
MICA__ATTR_STRUCT(transpose, MICA__TRANSPOSE_ATTRS);

/* The attributes of the node behind a value, its op's struct; valid as long as the graph is. */
const void *mica__attrs_of(mica_value value);

/* Bit k for each axis k of x that is named, all of them where axes are none; false when the error was recorded: an axis
 * that x has not, one that is named twice, a count that is none. */
bool mica__builder_axes(const char *op, mica_value x, mica_axes axes, uint32_t *set);
/* mica__builder_axes of a tensor of that rank made from x; no bit where axes are none. */
bool mica__builder_named_axes(const char *op, mica_value x, mica_axes axes, int32_t rank, uint32_t *set);
/* And back. */
mica_axes mica__axes_of(uint32_t set);

/* True if every dimension is known. */
bool mica__shape_is_known(mica_shape shape);

/* *axis from -rank .. rank-1 to 0 .. rank-1; MICA_E_SHAPE names both. */
mica_status mica__axis(int64_t *axis, int32_t rank);
/* A builder of op cannot take x: records "op(%3 'x' f32 (64, 128)): " and the sentence, and returns the null value.
 * Nothing of a null x, whose graph knows its error already. */
mica_value mica__builder_fail(const char *op, mica_value x, mica_status status, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* mica__axis in a builder: false when the error was recorded in x's graph. */
bool mica__builder_axis(const char *op, mica_value x, int64_t *axis);
/* False, and the error is recorded, unless value is one of the `count` of an enumeration: "mode 9 is not from 0 to 3";
 * or unless it lies in [least, most]: "a probability of 2 is not in [0, 1]". False for a null x too. */
bool mica__builder_choice(const char *op, mica_value x, const char *what, int64_t value, int64_t count);
bool mica__builder_number(const char *op, mica_value x, const char *what, double value, double least, double most);

/* In a shape that reshape is given: as large as dimension k of the operand. */
#define MICA__COPY_DIM(k) (-2 - (int64_t)(k))

/* value without dimension `axis`, which is 1; and with a dimension of 1 put there. */
mica_value mica__drop_axis(mica_value value, int32_t axis);
mica_value mica__insert_axis(mica_value value, int32_t axis);

/* x with `before` and `after` elements of `value` more along an axis, which is not open. */
mica_value mica__pad_axis(mica_value x, int32_t axis, int64_t before, int64_t after, double value);

/* How many elements x has along the axes, as a scalar of x's dtype; a constant as soon as the shape is known. */
mica_value mica__count_along(mica_value x, mica_axes axes);

#define MICA__CAST_ATTRS(X, S)                                                                                         \
  X(S, DTYPE, to, MICA_F32, "the result's dtype")                                                                      \
  X(S, DTYPE, from, MICA_F32, "the operand's, set by infer")                                                           \
  X(S, BOOL, stream, false, "norms and further sums read the operand instead (mica__stream)")
MICA__ATTR_STRUCT(cast, MICA__CAST_ATTRS);

/* A scalar of a value's graph and dtype. */
mica_value mica__number(mica_value like, double number);

/* f16 and bf16 as f32, so that no intermediate is rounded to 16 bits, of a stream as it was before its cast; and a
 * result back in x's type. */
mica_value mica__widen(mica_value x);
mica_value mica__narrow(mica_value value, mica_value x);
/* mica__narrow of what nobody else reads: this cast is looked through by mica__widen, and no other is. Gradients that
 * arrive at the value are those of the cast (mica__op.is_stream), with respect to which users may differentiate. */
mica_value mica__stream(mica_value value, mica_value x);

/* An axis of a tensor, which is seen as (outer, n, inner). */
typedef struct mica__rows {
  int64_t outer, n, inner;
} mica__rows;
mica__rows mica__rows_of(mica_shape shape, int64_t axis);

/* On the host: row-major strides; and the step to the next index of a shape, false after the last one. */
void mica__row_major(mica_shape shape, int64_t stride[MICA_MAX_RANK]);
bool mica__next_index(mica_shape shape, int64_t index[MICA_MAX_RANK]);
/* The element that an access reaches at an index. */
int64_t mica__access_at(const mica__access *access, mica_shape space, const int64_t *index);

#endif
