/* The shape of a product of matrices, of floats or integers. */
#include "base/error.h"
#include "ops/layout/views.h"
#include "ops/matmul/linear.h"

mica_shape mica__matmul_lead(mica_shape shape) {
  shape.rank -= 2;
  shape.dim[shape.rank] = shape.dim[shape.rank + 1] = 0;
  return shape;
}

mica_status mica__matmul_infer(const mica__type *inputs, int32_t input_count, void *attrs, mica__type *out) {
  (void)input_count, (void)attrs;
  char ta[MICA_SHAPE_TEXT], tb[MICA_SHAPE_TEXT];
  mica_shape a = inputs[0].shape, b = inputs[1].shape;
  if (a.rank < 2 || b.rank < 2)
    return mica__fail(MICA_E_SHAPE, "%s times %s is not a product: both operands must have a rank of at least 2",
                      mica_shape_format(a, ta), mica_shape_format(b, tb));
  int64_t k = a.dim[a.rank - 1], l = b.dim[b.rank - 2];
  if (k != l && k != MICA_DYNAMIC && l != MICA_DYNAMIC)
    return mica__fail(MICA_E_SHAPE,
                      "%s times %s: the first has %lld columns, but the second has %lld rows; they must be equal",
                      mica_shape_format(a, ta), mica_shape_format(b, tb), (long long)k, (long long)l);
  MICA_TRY(mica__shape_broadcast(mica__matmul_lead(a), mica__matmul_lead(b), &out->shape));
  out->shape.dim[out->shape.rank++] = a.dim[a.rank - 2];
  out->shape.dim[out->shape.rank++] = b.dim[b.rank - 1];
  return MICA_OK;
}
