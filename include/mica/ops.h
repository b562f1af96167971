/* mica/ops.h: stateless operations on device tensors.
 *
 * mica_op_<op>_<pass>(queue, ...) checks its operands, queues its kernels and returns; it does not wait. All operands
 * belong to the queue's engine. Results are written in place: the output tensor is the caller's and has the right dtype
 * and shape. Unless an op says otherwise, its output may not overlap an input. Errors: MICA_E_INVALID (NULL, another
 * engine, strides an op cannot take), MICA_E_DTYPE, MICA_E_SHAPE, MICA_E_DEVICE_MEMORY (workspace), MICA_E_BUILD. */
#ifndef MICA_OPS_H
#define MICA_OPS_H

#include <mica/tensor.h>

MICA_BEGIN_DECLS

MICA_END_DECLS

#endif
