/* attention/mask_grad.cl: DS[b, h, i, j], the gradient of the loss with respect to the scores after soft cap and mask.
 * Summed over the axes along which the mask is broadcast, it is the gradient of an added mask. One work-item per
 * element; count = B H Tq Tk. Work-group (64, 1, 1). */
#include "attention/ref/row.clh"

#define MASK_GRAD_FIELDS(X) GRAD_FIELDS(X) MASK_GRAD_RESULTS(X)
DEFINE_PACKED_FIELDS(MASK_GRAD_FIELDS);

RANGE_KERNEL attention_mask_grad(ATTENTION_BUFFERS, elements Q, elements K, elements V, elements DY,
                                 __global const real *L, __global const real *Delta, __global real *DS,
                                 const mica_packed packed) {
  UNPACK_FIELDS(MASK_GRAD_FIELDS);
  DROPOUT_TIME;
  const long n = get_global_id(0);
  if (n >= count) return;
  const long row = n / Tk, b = row / ((long)H * Tq), offset = OFFSET_OF(b);
  const int h = (int)(row / Tq % H), i = (int)(row % Tq), j = (int)(n % Tk), g = (int)((long)h * G / H);
  const int keys = KEYS_OF(b);
  WEIGHT_OF(w, ds, chain, i, j);
  DS[DS_at + n] = ds;
}
