/* ops/index/index.h: the attributes of gather and scatter, and how their operands are seen as three axes. */
#ifndef MICA_OPS_INDEX_INDEX_H
#define MICA_OPS_INDEX_INDEX_H

#include "ops/common/build.h"

#include <mica/index.h>

#define MICA__INDEX_ATTRS(X, S)                                                                                        \
  X(S, INT, axis, 0, "what is indexed")                                                                                \
  X(S, BOOL, elements, false, "an index for every element, not for every row")                                         \
  X(S, ENUM, join, MICA_SCATTER_SET, "of a scatter: what becomes of the old element", mica__scatter_joins)             \
  X(S, BOOL, base, false, "of a scatter: from its first operand on, not from zeros")                                   \
  X(S, BOOL, unique, false, "of a scatter: no element is named twice")
MICA__ATTR_STRUCT(index, MICA__INDEX_ATTRS);
extern const mica__attr_list mica__index_attr_list;
/* The names of mica_scatter. */
extern const char *const mica__scatter_joins[];

/* The indexed tensor is (outer, n, inner); the tensor gathered from it or scattered into it is (outer, m, inner). */
typedef struct mica__index_view {
  int64_t outer, n, m, inner;
} mica__index_view;

mica__index_view mica__index_view_of(const mica__index_attrs *attrs, mica_shape indexed, mica_shape indices);

/* Sets *taken to the shape of the gathered tensor, and makes the axis 0 or more. MICA_E_SHAPE if the axis or the
 * shapes do not fit. */
mica_status mica__index_infer(mica__index_attrs *attrs, const mica__type *indexed, const mica__type *indices,
                              mica_shape *taken);

/* Converts an index, which counts from the end if negative, to 0 .. n - 1; -1 if it is out of range. */
int64_t mica__index_resolve(double index, int64_t n);

/* Returns an index outside an axis of this extent. If the extent is open, the result is INT32_MAX, which is outside of
 * every axis that kernels can take. */
static inline double mica__index_outside(int64_t extent) { return (double)(extent < 0 ? INT32_MAX : extent); }

mica_value mica__scatter(mica_value x, mica_value indices, mica_value updates, int32_t axis, bool elements,
                         mica_scatter how);

/* Adds updates to zeros of x's shape, with one index per element. unique: the caller promises that no element of the
 * result is named twice. */
mica_value mica__scatter_sum(mica_value x, mica_value indices, mica_value updates, int32_t axis, bool unique);

extern const mica__op mica__op_gather, mica__op_gather_elements, mica__op_scatter, mica__op_scatter_into_zeros;

#endif
