/* quant/cpu/filters.cl: convolutions of bytes for CPUs, in which each lane of a vector computes one filter. A tile is
 * PX adjacent pixels of one line by NR filters, so that no work is wasted if the length of lines is a multiple of PX.
 *
 *   y    the results, u8 or i8, as in quant/cpu/product.cl. With OTHER, other bytes are added to them
 *   A    filters in panels of NR, without zero points: [panel][tap][step][filter], four i8 per element (quant/pack.cl)
 *   B    images, u8, packed by quant/image.cl in the layout that quant/cpu/product.cl describes
 *
 *   MICA_HAS_VPDPBUSD    must be 1: the instruction for dot products of bytes (quant/cpu/dot.clh)
 *   NR, PX               filters and pixels of a tile; PX is at most 16
 *   in_line, tiles       tiles per line, and per image
 *   columns_are_offset   1: the zero point of B may differ from 0; row_sums must then be the sums of packed filters
 *
 * Groups of one work-item: ceil(m / NR) x blocks of tiles x batches. */
#define ALIKE 1
#define RAW 0
#define COLUMN_SPACE __global
#define UNROLL _Pragma("unroll")
#include "common/cpu/prefetch.clh"
#include "quant/product.clh"

#define AHEAD 64 /* prefetch distance in steps */

#include "quant/cpu/dot.clh"
#include "quant/cpu/tile.clh"
#include "quant/cpu/walk.clh"

#define NV (NR / LANES)
#define HALVES (NR / 16)

/* sums[pixel][filter] = the sums of products of a tile of pixels and a panel of filters. */
static inline void multiply(__global const uint *a, __global const uint *B, __private const walk *w,
                            __private int (*sums)[NR]) {
  SUM sum[PX][NV];
  UNROLL for (int i = 0; i < PX; i++) UNROLL for (int v = 0; v < NV; v++) sum[i][v] = 0;
  for (int r = 0; r < w->R; r++)
    for (int s = 0; s < w->S; s++) {
      __global const uint *b = B + tap_at(w, r, s);
      for (int c = 0; c < w->steps; c++, a += NR, b += w->step_step) {
        PREFETCH_FAR(a + AHEAD * NR);
        PREFETCH_FAR(a + AHEAD * NR + 16);
        COLUMNS filters[NV];
        UNROLL for (int v = 0; v < NV; v++) filters[v] = LOAD_COLUMNS(a, v);
        UNROLL for (int i = 0; i < PX; i++) UNROLL for (int v = 0; v < NV; v++) ADD_DOT(sum[i][v], b[i], filters[v]);
      }
    }
  UNROLL for (int i = 0; i < PX; i++) UNROLL for (int v = 0; v < NV; v++) *(__private SUM *)(sums[i] + LANES * v) =
      sum[i][v];
}

/* Per filter of a panel: the number `rest` is subtracted from a sum, then the sum is multiplied by `factor`, and `add`
 * is added. */
typedef struct numbers {
  int rest[NR];
  float factor[NR], add[NR];
} numbers;

/* done[filter][pixel] = byte pixel % 4 of lane `filter` of word[pixel / 4], for 16 filters and 16 pixels. */
#define LOW_OF(a, b)                                                                                                   \
  (uint16)(a.s0, b.s0, a.s1, b.s1, a.s2, b.s2, a.s3, b.s3, a.s4, b.s4, a.s5, b.s5, a.s6, b.s6, a.s7, b.s7)
#define HIGH_OF(a, b)                                                                                                  \
  (uint16)(a.s8, b.s8, a.s9, b.s9, a.sa, b.sa, a.sb, b.sb, a.sc, b.sc, a.sd, b.sd, a.se, b.se, a.sf, b.sf)
#define LOW_PAIRS(a, b) (ulong8)(a.s0, b.s0, a.s1, b.s1, a.s2, b.s2, a.s3, b.s3)
#define HIGH_PAIRS(a, b) (ulong8)(a.s4, b.s4, a.s5, b.s5, a.s6, b.s6, a.s7, b.s7)
static inline void transpose(__private const uint16 *word, __private uchar (*done)[16]) {
  const ulong8 a = as_ulong8(LOW_OF(word[0], word[1])), b = as_ulong8(HIGH_OF(word[0], word[1]));
  const ulong8 c = as_ulong8(LOW_OF(word[2], word[3])), d = as_ulong8(HIGH_OF(word[2], word[3]));
  __private ulong8 *to = (__private ulong8 *)done;
  to[0] = LOW_PAIRS(a, c);
  to[1] = HIGH_PAIRS(a, c);
  to[2] = LOW_PAIRS(b, d);
  to[3] = HIGH_PAIRS(b, d);
}

/* Stores the bytes of `count` pixels of a filter; count is at most PX. */
static inline void put_pixels(__private const uchar *v, __global uchar *y, const int count) {
  if (count == PX) {
    COPY_BYTES(__global, y, __private, v, PX);
  } else {
    COPY_BYTES(__global, y, __private, v, count);
  }
}

#define NO_UNROLL _Pragma("nounroll")

/* done[filter][pixel] = the finished sums of a tile. `result` is an expression of t, the sums of 16 filters for one
 * pixel after `rest` was subtracted. */
#define FINISH_TILE(unroll, result)                                                                                    \
  for (int h = 0; h < HALVES; h++) {                                                                                   \
    const int16 rest = vload16(h, n.rest);                                                                             \
    const float16 factor = vload16(h, n.factor), add = vload16(h, n.add);                                              \
    uint16 word[4] = {0, 0, 0, 0};                                                                                     \
    UNROLL for (int k = 0; k < 4; k++) unroll for (int i = 4 * k; i < min(PX, 4 * k + 4); i++) {                       \
      const int16 t = *(__private const int16 *)(sums[i] + 16 * h) - rest;                                             \
      word[k] |= ((result) & (uint16)(255)) << (uint16)(8 * (i % 4));                                                  \
    }                                                                                                                  \
    transpose(word, done + 16 * h);                                                                                    \
  }

/* With OTHER: adds the other bytes to the results of a tile in `done`. */
#if OTHER
#define ADD_TO_PIXELS                                                                                                  \
  {                                                                                                                    \
    uchar bytes[NR][16] __attribute__((aligned(64)));                                                                  \
    for (int i = 0; i < NR; i++) *(__private ulong2 *)bytes[i] = *(__private const ulong2 *)done[i];                   \
    doubt = 0;                                                                                                         \
    if (!never) ADD_TO_FILTERS(QUICK_SUMMED(value, also, &doubt));                                                     \
    if (never || mica_any(doubt)) ADD_TO_FILTERS(SUMMED(16, value, also));                                             \
  }
#define ADD_TO_FILTERS(sum)                                                                                            \
  for (int i = 0; i < rows; i++) {                                                                                     \
    const long at = (long)(panel * NR + i) * pixels + p * q + q0;                                                      \
    const uchar16 also = at + 16 <= last ? vload16(0, other + at) : some_bytes(other + at, count);                     \
    const int16 value = BYTES_AS_INTS(16, *(__private const uchar16 *)bytes[i], is_signed);                            \
    *(__private uchar16 *)done[i] = convert_uchar16(sum);                                                              \
  }
#else
#define ADD_TO_PIXELS
#endif

#define FIELDS(X) FILTERS_OPERANDS(X) FINISH_FIELDS(X) FILTERS_SIZES(X) OTHER_FIELDS(X)
DEFINE_PACKED_FIELDS(FIELDS);

CPU_KERNEL int8_filters(__global const uint *A, __global const uint *B, __global const int *row_sums,
                        FINISH_BUFFERS OTHER_BUFFERS, const mica_packed packed) {
  UNPACK_FIELDS(FIELDS);
  FINISH_NUMBERS;
  OTHER_NUMBERS;
  UNPACK_QUICK;
  const int panel = get_global_id(0), batch = get_global_id(2), panels = (m + NR - 1) / NR, a_batch = batch % a_count;
  const int rows = min(NR, m - panel * NR);
  numbers n;
  float unsure = 0; /* becomes NaN if a factor or an addend is not finite; QUICK is then not used */
  READ_COLUMNS;
  for (int i = 0; i < NR; i++) {
    const int row = panel * NR + min(i, rows - 1), of_all = a_batch * row_batch + row;
    n.rest[i] = columns_are_offset ? row_sums[(long)a_batch * m + row] * zero_of_all : 0;
    n.factor[i] = ROW_SCALE(of_all) * scale_of_all;
    n.add[i] = ROW_BIAS(of_all);
    unsure = fma(fma(ROW_SCALE(of_all) * scales_size, 0.0f, fabs(n.add[i])), 0.0f, unsure);
  }
  walk w = {R, S, dh, dw, sh, sw, wq, steps, step_step, plane};
  FIND_TAPS(w);
  A += ((long)a_batch * panels + panel) * R * S * steps * NR;
  B += batch * b_batch;
  y += ((long)batch * m + panel * NR) * pixels;
#if OTHER
  const long last = ((long)get_num_groups(2) - batch) * m * pixels; /* bytes of `other` from this image on */
#endif
  const bool never = !CAN_BE_QUICK || !SUM_CAN_BE_QUICK || unsure != 0;
  const int first = get_global_id(1) * block, end = min(first + block, tiles);
  for (int tile = first; tile < end; tile++) {
    const int p = tile / in_line, q0 = (tile - p * in_line) * PX, count = min(PX, q - q0);
    int sums[PX][NR] __attribute__((aligned(64)));
    uchar done[NR][16] __attribute__((aligned(64)));
    multiply(A, B + p * wq + q0, &w, sums);
    uint16 doubt = 0;
    if (!never) FINISH_TILE(UNROLL, as_uint16(QUICK(convert_float16(t), factor, add, &doubt)));
    if (never || mica_any(doubt)) FINISH_TILE(NO_UNROLL, as_uint16(FINISHED(16, t, factor, add)));
    ADD_TO_PIXELS;
    for (int i = 0; i < rows; i++) put_pixels(done[i], y + i * pixels + p * q + q0, count);
  }
}
