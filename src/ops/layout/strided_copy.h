/* ops/layout/strided_copy.h: moving elements between strided windows of two tensors. */
#ifndef MICA_OPS_LAYOUT_STRIDED_COPY_H
#define MICA_OPS_LAYOUT_STRIDED_COPY_H

#include "ir/op.h"
#include "runtime/launch.h"

/* Copies x's window to y's: for every index of `space` the element of x at from.offset + index . from.stride goes to
 * the element of y at to.offset + index . to.stride, both counted from the tensors' first elements, whatever their own
 * shapes and strides. Types are equal. Windows lie inside their tensors' buffers and do not overlap; y's names no
 * element twice. variant NULL: the device's own. */
mica_status mica__strided_copy(mica_queue *queue, const struct mica__variant *variant, mica_shape space,
                               const mica_tensor *x, const mica__access *from, mica_tensor *y, const mica__access *to);

#endif
