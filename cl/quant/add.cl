/* quant/add.cl: y[i] = the sum of two quantized numbers, quantized again (quant/product.clh). The sum is
 *
 *   (x[i] - x_zero) x_scale + (other[i] - other_zero) other_scale
 *
 * It is clamped to least_sum .. most_sum, divided by the scale of y and rounded, and the zero point of y is added.
 *
 *   VW   elements per work-item
 *
 * One dimension of ceil(count / VW) work-items. */
#define Y_T u8
#include "quant/product.clh"

#define FIELDS(X) ADD_FIELDS(X) SUM_FIELDS(X)
DEFINE_PACKED_FIELDS(FIELDS);

RANGE_KERNEL int8_add(__global const uchar *x, __global const float *x_scale, __global const float *x_zero,
                      __global uchar *y, SUM_BUFFERS, const mica_packed packed) {
  UNPACK_FIELDS(FIELDS);
  const long i = (long)get_global_id(0) * VW;
  SUM_NUMBERS;
  const float ys = has_scale ? x_scale[0] : 1, yz = has_zero ? x_zero[0] : 0;
  if (i >= count) return;
#if VW == 16
  if (i + VW <= count) {
    const int16 value = BYTES_AS_INTS(16, vload16(0, x + i), is_signed);
    mica_store_uchar16(convert_uchar16(SUMMED(16, value, vload16(0, other + i))), y + i);
    return;
  }
#endif
  for (long k = i; k < min(i + VW, count); k++) {
    const int value = BYTES_AS_INTS(1, x[k], is_signed);
    y[k] = convert_uchar(SUMMED(1, value, other[k]));
  }
}
