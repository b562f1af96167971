/* compile/access.h: strided accesses and their composition.
 *
 * An access maps the points of an index space (a shape) to element numbers of a row-major value: point i has the
 * element offset + sum over k of i[k] stride[k]. */
#ifndef MICA_COMPILE_ACCESS_H
#define MICA_COMPILE_ACCESS_H

#include "ir/graph.h"

/* The access that visits every element in row-major order. */
mica__access mica__access_row_major(mica_shape shape);
/* The access by which a value of shape `from` is read as if broadcast to `to`. */
mica__access mica__access_broadcast(mica_shape from, mica_shape to);
/* True if the access walks `space` in row-major order from element 0. Strides of dimensions of extent 1 do not
 * matter. */
bool mica__access_is_row_major(mica_shape space, const mica__access *access);
/* True if both reach the same element at every index of `space`. */
bool mica__access_equal(mica_shape space, const mica__access *a, const mica__access *b);
/* Composes two accesses: `outer` maps `space` to elements of a value of shape `shape`, and `inner` maps the elements of
 * that value to elements of another one. *out maps `space` directly to the latter. False if no single access does that,
 * for instance if a row of `space` crosses rows of a transposed value. */
bool mica__access_compose(mica_shape space, const mica__access *outer, mica_shape shape, const mica__access *inner,
                          mica__access *out);

#endif
