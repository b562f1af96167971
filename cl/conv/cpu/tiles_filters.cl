/* conv/cpu/tiles_filters.cl: packs filters W[k][c][tap] of bf16 for conv/cpu/tiles_n.cl, as one matrix per tap. It
 * packs the taps1 by taps2 taps from (first1, first2) on. The order is that of matmul/cpu/amx_pack.cl, which would have
 * to read the elements of a tap one by one:
 *
 *   BACK 0   columns are filters, sums run over channels   P[tap][panel of 32 filters][word][32]
 *   BACK 1   rows are channels, sums run over filters      P[tap][panel of 32 channels][chunk][32][words]
 *
 * Sums have `steps` words, with zeros after the last channel (BACK 1: filter). With BACK 1, rows after the last channel
 * are not written. buffer: 16 * taps * 32 elements. NDRange: groups of one work-item, ceil(channels / 16), ceil(filters
 * / 32), 1. */
#include "common/fields.clh"
#include "common/group.clh"
#include "common/transpose.clh"
#include "conv/fields.clh"

#define SIDE 32
#define UNROLL _Pragma("unroll")

/* to[j * SIDE + i] = element j of filter i, for i < 16 and j < length; 0 for filters that do not exist (i >= there). */
static inline void transpose_filters(__global const ushort *W, const long row, const int there, const int length,
                                     __local ushort *to) {
  if (there < 16 || length < 16) {
    for (int j = 0; j < length; j++)
      for (int i = 0; i < 16; i++) to[j * SIDE + i] = i < there ? W[i * row + j] : 0;
    return;
  }
  for (int begin = 0; begin < length; begin += 16) {
    const int at = min(begin, length - 16);
    float16 x[16];
    UNROLL for (int i = 0; i < 16; i++) x[i] = as_float16(convert_uint16(vload16(0, W + i * row + at)));
    mica_transpose16(x);
    UNROLL for (int j = 0; j < 16; j++) vstore16(convert_ushort16(as_uint16(x[j])), 0, to + (at + j) * SIDE);
  }
}

CPU_KERNEL conv_cpu_tiles_filters(const int8 size, const int8 used, __global const ushort *restrict W, const long W_at,
                                  __global uint *restrict P, const long P_at, __local ushort *buffer) {
  UNPACK_INTS(TILES_FILTERS_SIZE, size)
  UNPACK_INTS(TILES_FILTERS_USED, used)
  const int c0 = (int)get_group_id(0) * 16, k0 = (int)get_group_id(1) * SIDE, channels = min(16, CG - c0),
            all = taps1 * taps2;
  const long row = (long)CG * taps, matrix = (long)steps * SIDE;
  W += W_at + k0 * row + (long)c0 * taps;
  for (int half_ = 0; half_ < SIDE; half_ += 16)
    transpose_filters(W + half_ * row, row, KG - k0 - half_, channels * taps, buffer + half_);
#if BACK
  P += P_at + c0 / SIDE * matrix;
  for (int u = 0; u < all; u++, P += (CG + SIDE - 1) / SIDE * matrix) {
    const int t = (first1 + u / taps2) * R2 + first2 + u % taps2;
    for (int c = 0; c < channels; c++) {
      __local const uint *from = (__local const uint *)(buffer + (c * taps + t) * SIDE);
      if (words == 16)
        vstore16(vload16(0, from), 0, P + k0 / 2 * SIDE + (c0 + c) % SIDE * 16);
      else
        for (int w = 0, q = k0 / 2; w < 16 && q < steps; w++, q++)
          P[q / words * SIDE * words + (c0 + c) % SIDE * words + q % words] = from[w];
    }
  }
#else
  P += P_at + get_group_id(1) * matrix + c0 / 2 * SIDE;
  const int last = c0 + 16 >= CG ? steps - c0 / 2 : 8;
  for (int u = 0; u < all; u++, P += (KG + SIDE - 1) / SIDE * matrix) {
    const int t = (first1 + u / taps2) * R2 + first2 + u % taps2;
    for (int w = 0; w < last; w++)
      for (int i = 0; i < SIDE; i += 16) {
        __local const ushort *even = buffer + (2 * w * taps + t) * SIDE + i, *odd = even + taps * SIDE;
        uint16 word = (uint16)(0);
        if (2 * w < channels) word = convert_uint16(vload16(0, even));
        if (2 * w + 1 < channels) word |= convert_uint16(vload16(0, odd)) << (uint16)(16);
        vstore16(word, 0, P + w * SIDE + i);
      }
  }
#endif
}
