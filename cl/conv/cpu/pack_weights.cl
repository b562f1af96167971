/* conv/cpu/pack_weights.cl: copies the weights of a phase (conv/problem.clh) in the order in which register tiles read
 * them.
 *
 * Channels are divided into blocks of CB; the last block may be smaller. For c in a block of B channels from c0 on:
 *
 *   P[((g tiles CG + tiles c0 + (k / MR) B + c - c0) taps + t) MR + k % MR] =
 *       W[first + g w_group + k w_k + c w_c + t0 w_tap0 + t1 w_tap1 + t2 w_tap2]
 *
 * with tiles = ceil(KG / MR). Rows beyond KG are 0. P is float. W has `count` elements from `first` on. PART rows of a
 * tile are packed at a time. PART is 8 for all tiles of 8 and more rows, so that they share a program.
 *
 * If adjacent elements of a row of W are also needed one after another in P, vectors are read along the rows of a part
 * and transposed.
 *
 * NDRange: blocks * tiles, groups of the convolution, 1; work-group (1, 1, 1). */
#include "common/fields.clh"
#include "common/simd.clh"
#include "common/transpose.clh"
#include "conv/fields.clh"

#define AHEAD 8                /* prefetch distance in channels; in a backward pass they are often pages apart */
#define AHEAD_ROW (4 * VW)     /* prefetch distance in elements of a row */
#define TR (PART <= 4 ? 4 : 8) /* rows that are transposed together */

/* The rows of a part: `left` elements can be read from W on, rows are `row` elements apart, and `rows` of them
 * exist. */
#define ROWS_PARAMS source W, const long left, const long row, const int rows
#define ROWS W, left, row, rows

DEFINE_INTERLEAVE(float16)

/* P[j * MR + i] = element at + offset[j] + i * row of W, for j < length and i < stored; 0 for i >= rows. Offsets are
 * below VW. */
APART void pack_near(ROWS_PARAMS, const long at, const int length, __private const int offset[VW], const int stored,
                     const int MR, __global float *P) {
  float16 x[TR];
  float columns[VW][TR];
  if (at + (rows - 1) * row + VW <= left) {
    UNROLL for (int i = 0; i < TR; i++) x[i] = i < rows ? READ(16, W, at + i * row) : (float16)(0.0f);
  } else {
    float lanes[TR][VW];
    for (int i = 0; i < TR; i++)
      for (int j = 0; j < VW; j++)
        lanes[i][j] = i < rows && at + i * row + j < left ? READ(1, W, at + i * row + j) : 0.0f;
    UNROLL for (int i = 0; i < TR; i++) x[i] = vload16(0, lanes[i]);
  }
  INTERLEAVE(float16, x, TR)
  UNROLL for (int i = 0; i < TR; i++) STOREV(f32, 16, x[i], &columns[0][0], i * VW);
  if (stored == PART)
    for (int j = 0; j < length; j++, P += MR) UNROLL for (int i = 0; i < PART; i++) P[i] = columns[offset[j]][i];
  else
    for (int j = 0; j < length; j++, P += MR)
      for (int i = 0; i < stored; i++) P[i] = columns[offset[j]][i];
}

/* P[i] = element at + i * row of W, for i < stored; 0 for i >= rows. */
static inline void pack_one(ROWS_PARAMS, const long at, const int stored, __global float *P) {
  if (rows == PART && row == 1)
    UNROLL for (int i = 0; i < PART; i++) P[i] = READ(1, W, at + i);
  else if (stored == PART)
    UNROLL for (int i = 0; i < PART; i++) P[i] = i < rows ? READ(1, W, at + i * row) : 0.0f;
  else
    for (int i = 0; i < stored; i++) P[i] = i < rows ? READ(1, W, at + i * row) : 0.0f;
}

/* The number of elements of W from the first tap to tap t. */
static inline long offset_of(const int t, const int8 size, const long8 stride) {
  UNPACK_INTS(PACK_WEIGHTS_SIZE, size)
  UNPACK_LONGS(WEIGHTS_STRIDES, stride)
  const int row = t / TAPS2;
  return row / TAPS1 * w_tap0 + row % TAPS1 * w_tap1 + t % TAPS2 * w_tap2;
}

/* Packs one tile of rows and one block of channels for group g of the convolution. `block` is tile + tiles * index of
 * the block of channels. */
APART void pack_block(source W, const int8 size, const long8 stride, const int block, const long g, __global float *P) {
  UNPACK_INTS(PACK_WEIGHTS_SIZE, size)
  UNPACK_LONGS(WEIGHTS_STRIDES, stride)
  const int tiles = (KG + MR - 1) / MR, tile = block % tiles, c0 = block / tiles * CB;
  const int c_end = min(CG, c0 + CB), rows = min(MR, KG - tile * MR), taps = TAPS0 * TAPS1 * TAPS2;
  const long row = w_k, skipped = g * w_group + (long)tile * MR * row;
  const long left = count - skipped;
  W += skipped;
  P += (g * tiles * CG + (long)tiles * c0 + (long)tile * (c_end - c0)) * taps * MR;
  /* `together` is the number of elements of W that are read with one vector. If a row of W has no gaps, it is the
   * length of a vector. Otherwise it is all taps of a channel if a vector contains them, else the taps of one filter
   * row if a vector contains those, else 1. */
  const long reach2 = (TAPS2 - 1) * w_tap2, reach = (TAPS0 - 1) * w_tap0 + (TAPS1 - 1) * w_tap1 + reach2;
  const bool dense = taps > 0 && reach == taps - 1 && w_c == taps;
  const int together = dense ? VW : reach < VW ? taps : reach2 < VW ? TAPS2 : 1;
  int offset[VW];
  for (int j = 0; j < min(together, VW); j++) offset[j] = dense ? j : (int)offset_of(j, size, stride);
  const int end = dense ? (c_end - c0) * taps : taps;
  for (int c = c0; c < (dense ? c0 + 1 : c_end); c++) {
    for (int i = 0; i < MR; i++) PREFETCH_READ(W + (c + AHEAD) * w_c + i * row);
    for (int t = 0; t < end; t += together) {
      const int length = min(together, end - t);
      const long at = c * w_c + (dense ? t : t > 0 ? offset_of(t, size, stride) : 0);
      for (int i = 0; dense && i < MR; i++) PREFETCH_READ(W + at + i * row + AHEAD_ROW);
      for (int i = 0; i < MR; i += PART) {
        const int exist = clamp(rows - i, 0, PART), stored = min(PART, MR - i);
        if (together > 1)
          pack_near(W, left, row, exist, at + i * row, length, offset, stored, MR, P + i);
        else
          pack_one(W, left, row, exist, at + i * row, stored, P + i);
      }
      P += length * MR;
    }
  }
}

CPU_KERNEL conv_cpu_pack_weights(source W, const long W_at, const long first, const int8 size, const long8 stride,
                                 __global float *restrict P, const long P_at) {
  pack_block(W + W_at + first, size, stride, (int)get_group_id(0), (long)get_group_id(1), P + P_at);
}
