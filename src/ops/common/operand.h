/* ops/common/operand.h: the checks that ops make of their operands, each one line with one sentence. */
#ifndef MICA_OPS_COMMON_OPERAND_H
#define MICA_OPS_COMMON_OPERAND_H

#include "base/error.h"

#include <mica/tensor.h>

/* MICA_E_INVALID unless tensor exists, belongs to the queue's engine and is contiguous; names op and operand. */
mica_status mica__operand_check(const mica_queue *queue, const char *op, const char *name, const mica_tensor *tensor);
/* mica__operand_check for operands that need not be contiguous. */
mica_status mica__operand_check_strided(const mica_queue *queue, const char *op, const char *name,
                                        const mica_tensor *tensor);
/* MICA_E_INVALID, naming both, if a result shares memory with an operand, which may be NULL: "gemm: d overlaps a"; also
 * if nothing may write to the result. mica__operand_apart_or_same allows a result that is the operand itself, element
 * for element. */
mica_status mica__operand_apart(const char *op, const char *result_name, const mica_tensor *result, const char *name,
                                const mica_tensor *operand);
mica_status mica__operand_apart_or_same(const char *op, const char *result_name, const mica_tensor *result,
                                        const char *name, const mica_tensor *operand);
/* MICA_E_SHAPE, naming both shapes. */
mica_status mica__operand_same_shape(const char *op, const mica_tensor *a, const mica_tensor *b);
/* MICA_E_DTYPE, naming both types. */
mica_status mica__operand_same_dtype(const char *op, const mica_tensor *a, const mica_tensor *b);

#endif
