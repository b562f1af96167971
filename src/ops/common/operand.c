#include "ops/common/operand.h"

#include "runtime/launch.h"
#include "runtime/tensor.h"

mica_status mica__operand_check_strided(const mica_queue *queue, const char *op, const char *name,
                                        const mica_tensor *tensor) {
  if (!queue) return mica__fail(MICA_E_INVALID, "%s: queue is NULL", op);
  if (!tensor) return mica__fail(MICA_E_INVALID, "%s: %s is NULL", op, name);
  if (mica_tensor_engine(tensor) != mica__queue_engine(queue))
    return mica__fail(MICA_E_INVALID, "%s: %s belongs to another engine than the queue's", op, name);
  return MICA_OK;
}

mica_status mica__operand_check(const mica_queue *queue, const char *op, const char *name, const mica_tensor *tensor) {
  MICA_TRY(mica__operand_check_strided(queue, op, name, tensor));
  if (!mica_tensor_is_contiguous(tensor)) return mica__fail(MICA_E_INVALID, "%s: %s is not contiguous", op, name);
  return MICA_OK;
}

mica_status mica__operand_apart(const char *op, const char *result_name, const mica_tensor *result, const char *name,
                                const mica_tensor *operand) {
  MICA_TRY(mica__tensor_check_writable(result, op, result_name));
  if (!operand || !mica__tensor_overlaps(result, operand)) return MICA_OK;
  return mica__fail(MICA_E_INVALID, "%s: %s overlaps %s", op, result_name, name);
}

mica_status mica__operand_apart_or_same(const char *op, const char *result_name, const mica_tensor *result,
                                        const char *name, const mica_tensor *operand) {
  MICA_TRY(mica__tensor_check_writable(result, op, result_name));
  if (!operand || mica__tensor_is_same(result, operand)) return MICA_OK;
  return mica__operand_apart(op, result_name, result, name, operand);
}

mica_status mica__operand_same_shape(const char *op, const mica_tensor *a, const mica_tensor *b) {
  char ta[MICA_SHAPE_TEXT], tb[MICA_SHAPE_TEXT];
  if (mica_shape_equal(mica_tensor_shape(a), mica_tensor_shape(b))) return MICA_OK;
  return mica__fail(MICA_E_SHAPE, "%s: shapes %s and %s differ, but must be the same", op,
                    mica_shape_format(mica_tensor_shape(a), ta), mica_shape_format(mica_tensor_shape(b), tb));
}

mica_status mica__operand_same_dtype(const char *op, const mica_tensor *a, const mica_tensor *b) {
  if (mica_tensor_dtype(a) == mica_tensor_dtype(b)) return MICA_OK;
  return mica__fail(MICA_E_DTYPE, "%s: types %s and %s differ, but must be the same", op,
                    mica_dtype_name(mica_tensor_dtype(a)), mica_dtype_name(mica_tensor_dtype(b)));
}
