/* quant/mma/product.cl: products of 8-bit matrices, and convolutions, on a GPU's matrix units (common/mma/tile.clh).
 * The operands are packed in the layout that quant/cpu/product.cl describes, with two differences: panels of A are
 * TILE_M wide and panels of the columns of matrices TILE_N, and both operands are i8, four values per word. GPU class.
 *
 * A step is 16 words of k of both operands. Their tiles are lying (common/mma/tile.clh): a row has the words of one k,
 * in pieces of four. It works only on units that read lying operands word by word (MMA_UNIT 0 and 1).
 *
 *   ALIGNED 1   there is one tap, and groups of four columns begin at multiples of 16 bytes, so they are copied as one
 *               piece
 *
 * NDRange (THREADS * tiles of columns, panels, batches), work-group (THREADS, 1, 1). */
#define MMA_T i8
#define A_LIES 1
#define B_LIES 1
#define COPIED_B ALIGNED
#define LYING(X, r, c) ((r) * (TILE_##X / 4) + ((c) ^ (r) % 4 * 2)) /* a piece is four words */
#define ACC_T i32
#include "common/mma/tile.clh"
#include "quant/product.clh"

typedef int acc_t;

DEFINE_PACKED_FIELDS(PRODUCT_FIELDS);

/* Declares from_, a pointer to word k of column 0. Words are counted through all taps: k is step k % steps of tap k /
 * steps. With ALIGNED there is only one tap. */
#if ALIGNED
#define WORD_OF(k) __global const uint *from_ = B + (long)(k)*step_step
#else
#define WORD_OF(k)                                                                                                     \
  const int tap_ = (k) / steps, r_ = tap_ / S, s_ = tap_ - r_ * S;                                                     \
  __global const uint *from_ =                                                                                         \
      B + ((long)((k)-tap_ * steps) * step_step + ((long)(r_ * dh % sh) * sw + s_ * dw % sw) * plane +                 \
           (long)(r_ * dh / sh) * wq + s_ * dw / sw)
#endif
#define FILL(to_a, to_b, step)                                                                                         \
  {                                                                                                                    \
    _Pragma("unroll") for (int i = 0; i < TILE_M * 4 / THREADS; i++) {                                                 \
      const int n = item + i * THREADS, r = n / (TILE_M / 4), c = n % (TILE_M / 4), k = (step)*16 + r;                 \
      MMA_COPY(SLOT_A + i, (to_a) + LYING(A, r, c), A + (k < all ? (long)k * TILE_M + c * 4 : 0), k < all);            \
    }                                                                                                                  \
    _Pragma("unroll") for (int i = 0; i < TILE_N * 4 / THREADS; i++) {                                                 \
      const int n = item + i * THREADS, r = n / (TILE_N / 4), c = n % (TILE_N / 4), k = (step)*16 + r;                 \
      WORD_OF(min(k, all - 1)) + c * 4;                                                                                \
      FETCH_COLUMNS(SLOT_B + i, (to_b) + LYING(B, r, c), from_, k < all)                                               \
    }                                                                                                                  \
  }
#if ALIGNED
#define FETCH_COLUMNS(slot, to, from, inside) MMA_COPY(slot, to, from, inside);
#else
#define FETCH_COLUMNS(slot, to, from, inside)                                                                          \
  *(to) = (inside) ? (uint4)((from)[0], (from)[1], (from)[2], (from)[3]) : (uint4)0;
#endif

/* If rows_are_offset, sums each column of the tile over all words k, in sums_of; otherwise these sums are 0. THREADS /
 * TILE_N work-items share the words of a column. */
#define BYTE_AT(v, shift) ((int)((v) << (24 - (shift))) >> 24)
#define SUM_COLUMNS                                                                                                    \
  if (item < TILE_N) sums_of[item] = 0;                                                                                \
  barrier(CLK_LOCAL_MEM_FENCE);                                                                                        \
  if (rows_are_offset) {                                                                                               \
    int own = 0;                                                                                                       \
    for (int k = item / TILE_N; k < all; k += THREADS / TILE_N) {                                                      \
      WORD_OF(k);                                                                                                      \
      const uint v = from_[item % TILE_N];                                                                             \
      own += BYTE_AT(v, 0) + BYTE_AT(v, 8) + BYTE_AT(v, 16) + BYTE_AT(v, 24);                                          \
    }                                                                                                                  \
    atomic_add(&sums_of[item % TILE_N], own);                                                                          \
  }                                                                                                                    \
  barrier(CLK_LOCAL_MEM_FENCE);

__kernel MMA_SUBGROUP __attribute__((reqd_work_group_size(THREADS, 1, 1))) void int8_mma(__global const uint *A,
                                                                                         __global const uint *B,
                                                                                         __global const int *row_sums,
                                                                                         FINISH_BUFFERS,
                                                                                         const mica_packed packed) {
  UNPACK_FIELDS(PRODUCT_FIELDS);
  FINISH_NUMBERS;
  MMA_TILE_VARIABLES
  __local int sums_of[TILE_N];
  const int j0 = get_group_id(0) * TILE_N, panel = get_group_id(1), batch = get_group_id(2), a_batch = batch % a_count;
  const int all = R * S * steps, panels = (m + TILE_M - 1) / TILE_M;
  A += ((long)a_batch * panels + panel) * all * TILE_M;
  B += batch * b_batch + get_group_id(0) * tile_step;
  row_sums += (long)a_batch * m;
  y += (long)batch * m * pixels;
  SUM_COLUMNS
  MMA_TILE_LOOP((all + 15) / 16, FILL)

  UNROLL_EIGHTS for (int i = 0; i < WARP_M / 8; i++) {
    MMA_TILE_PUT(i)
#pragma unroll 1
    for (int n = lane; n < 8 * WARP_N; n += MMA_LANES) {
      const int at_column = col_warp + n % WARP_N, column = j0 + at_column, p = column / wq, at = column - p * wq;
      const int row = panel * TILE_M + row_warp + i * 8 + n / WARP_N, of_all = a_batch * row_batch + row;
      if (row >= m || column >= columns || at >= q) continue;
      const int zero = ROW_ZERO(of_all), rest = columns_are_offset ? row_sums[row] - depth * zero : 0;
      const int t = *SUMS(1, n / WARP_N, n % WARP_N) - zero * sums_of[at_column] - rest * COL_ZERO(column);
      STORE(Y_T, FINISHED(1, t, ROW_SCALE(of_all) * COL_SCALE(column), ROW_BIAS(of_all) + COL_BIAS(column)), y,
            row * pixels + (long)p * q + at);
    }
  }
}
