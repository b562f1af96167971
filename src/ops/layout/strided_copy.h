/* ops/layout/strided_copy.h: copies elements between strided windows of two tensors. */
#ifndef MICA_OPS_LAYOUT_STRIDED_COPY_H
#define MICA_OPS_LAYOUT_STRIDED_COPY_H

#include "ir/op.h"
#include "runtime/launch.h"

/* Copies x's window to y's: for every index of `space`, the element of x at from.offset + index . from.stride goes to
 * the element of y at to.offset + index . to.stride. Offsets count from the first element of the tensor; the tensor's
 * shape and strides are ignored. Types must be equal. Windows must lie inside their tensors' buffers and must not
 * overlap; y's must not name an element twice. variant NULL: the device's own. */
mica_status mica__strided_copy(mica_queue *queue, const struct mica__variant *variant, mica_shape space,
                               const mica_tensor *x, const mica__access *from, mica_tensor *y, const mica__access *to);

#endif
