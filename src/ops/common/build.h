/* ops/common/build.h: helpers for the infer functions, gradient rules and builders of ops. */
#ifndef MICA_OPS_COMMON_BUILD_H
#define MICA_OPS_COMMON_BUILD_H

#include "ir/graph.h"

#include <mica/nodes.h>

/* Descriptors of ops that the code of other ops uses directly. */
extern const mica__op mica__op_reshape, mica__op_transpose, mica__op_expand, mica__op_sum, mica__op_cumsum,
    mica__op_cumprod, mica__op_top_k, mica__op_random, mica__op_cast;

#define MICA__TRANSPOSE_ATTRS(X, S) X(S, PER_AXIS, axes, 0, "the operand's axis that becomes this one")
MICA__ATTR_STRUCT(transpose, MICA__TRANSPOSE_ATTRS);

/* Returns the attributes of a value's node, as its op's struct; valid as long as the graph is. */
const void *mica__attrs_of(mica_value value);

/* Sets bit k for each named axis k of x, or all bits if `axes` is empty. Returns false for a null x, and, with the
 * error recorded, if x lacks an axis, if an axis is named twice, or if the count is invalid. */
bool mica__builder_axes(const char *op, mica_value x, mica_axes axes, uint32_t *set);
/* Like mica__builder_axes, but for axes of a tensor of this rank that is made from x. Sets no bits if axes are
 * empty. */
bool mica__builder_named_axes(const char *op, mica_value x, mica_axes axes, int32_t rank, uint32_t *set);
/* Lists the axes whose bits are set. */
mica_axes mica__axes_of(uint32_t set);

/* True if every dimension is known. */
bool mica__shape_is_known(mica_shape shape);

/* Converts *axis from -rank .. rank-1 to 0 .. rank-1. MICA_E_SHAPE, with a message that names the axis and the rank, if
 * it lies outside. */
mica_status mica__axis(int64_t *axis, int32_t rank);
/* Fails because a builder of op cannot take x: records "op(%3 'x' f32 (64, 128)): " and the sentence, and returns the
 * null value. Records nothing for a null x, whose graph already has its error. */
mica_value mica__builder_fail(const char *op, mica_value x, mica_status status, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* mica__axis in a builder: returns false after recording an error in x's graph, and for a null x. */
bool mica__builder_axis(const char *op, mica_value x, int64_t *axis);
/* True if value is one of the `count` values of an enumeration, or lies in [least, most]. Else records an error such as
 * "mode is 9, but must be from 0 to 3". False for a null x too. */
bool mica__builder_choice(const char *op, mica_value x, const char *what, int64_t value, int64_t count);
bool mica__builder_number(const char *op, mica_value x, const char *what, double value, double least, double most);

/* In the shape that is given to reshape, stands for the extent of dimension k of the operand. */
#define MICA__COPY_DIM(k) (-2 - (int64_t)(k))

/* mica__drop_axis removes dimension `axis`, whose extent is 1; mica__insert_axis inserts such a dimension. */
mica_value mica__drop_axis(mica_value value, int32_t axis);
mica_value mica__insert_axis(mica_value value, int32_t axis);

/* Extends x along an axis of known extent (not MICA_DYNAMIC): adds `before` elements in front and `after` elements
 * behind, all equal to `value`. */
mica_value mica__pad_axis(mica_value x, int32_t axis, int64_t before, int64_t after, double value);

/* Returns the number of elements of x along the axes, as a scalar of x's dtype. The shape may be open. */
mica_value mica__count_along(mica_value x, mica_axes axes);

#define MICA__CAST_ATTRS(X, S)                                                                                         \
  X(S, DTYPE, to, MICA_F32, "the result's dtype")                                                                      \
  X(S, DTYPE, from, MICA_F32, "the operand's, set by infer")                                                           \
  X(S, BOOL, stream, false, "norms and further sums read the operand instead (mica__stream)")
MICA__ATTR_STRUCT(cast, MICA__CAST_ATTRS);

/* Returns a scalar in the graph of `like`, of its dtype. */
mica_value mica__number(mica_value like, double number);

/* mica__widen casts f16 and bf16 to f32, so that no intermediate is rounded to 16 bits, and returns values of other
 * dtypes as they are. If mica__stream made the value, and the value is not a checkpoint, mica__widen returns the value
 * before that cast. mica__narrow casts a result back to x's dtype. */
mica_value mica__widen(mica_value x);
mica_value mica__narrow(mica_value value, mica_value x);
/* Casts `value` to x's dtype, like mica__narrow. Only the result may be used afterwards, not `value`. mica__widen of
 * the result returns `value` itself, which was not rounded, unless the result is a checkpoint. Users may differentiate
 * with respect to the result; gradients of `value` count as gradients of the result (mica__op.is_stream). */
mica_value mica__stream(mica_value value, mica_value x);

/* A tensor seen as (outer, n, inner), where n is one of its axes. */
typedef struct mica__rows {
  int64_t outer, n, inner;
} mica__rows;
mica__rows mica__rows_of(mica_shape shape, int64_t axis);

/* Indices on the host. mica__row_major gives the strides of a row-major tensor. mica__next_index steps to the next
 * index of a shape. It returns false, with the index back at the start, after the last one. */
void mica__row_major(mica_shape shape, int64_t stride[MICA_MAX_RANK]);
bool mica__next_index(mica_shape shape, int64_t index[MICA_MAX_RANK]);
/* Returns the offset of the element that an access reaches at an index. */
int64_t mica__access_at(const mica__access *access, mica_shape space, const int64_t *index);

#endif
