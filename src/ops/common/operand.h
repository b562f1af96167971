/* ops/common/operand.h: checks of the tensors that functions mica_op_... receive. Each failure has one sentence,
 * which begins with the op's name. */
#ifndef MICA_OPS_COMMON_OPERAND_H
#define MICA_OPS_COMMON_OPERAND_H

#include "base/error.h"

#include <mica/tensor.h>

/* MICA_E_INVALID if the queue or the tensor is NULL, if the tensor belongs to another engine than the queue's, or if it
 * is not contiguous. The message names op and operand. */
mica_status mica__operand_check(const mica_queue *queue, const char *op, const char *name, const mica_tensor *tensor);
/* Does the same as mica__operand_check for a tensor that need not be contiguous. */
mica_status mica__operand_check_strided(const mica_queue *queue, const char *op, const char *name,
                                        const mica_tensor *tensor);
/* Fails with MICA_E_INVALID if a result shares memory with an operand ("gemm: d overlaps a"), or if the result is
 * read-only. If `operand` is NULL, only fails for a read-only result. mica__operand_apart_or_same also accepts a result
 * that is the operand itself, element for element. */
mica_status mica__operand_apart(const char *op, const char *result_name, const mica_tensor *result, const char *name,
                                const mica_tensor *operand);
mica_status mica__operand_apart_or_same(const char *op, const char *result_name, const mica_tensor *result,
                                        const char *name, const mica_tensor *operand);
/* MICA_E_SHAPE, naming both shapes, if they differ. */
mica_status mica__operand_same_shape(const char *op, const mica_tensor *a, const mica_tensor *b);
/* MICA_E_DTYPE, naming both types, if they differ. */
mica_status mica__operand_same_dtype(const char *op, const mica_tensor *a, const mica_tensor *b);

#endif
