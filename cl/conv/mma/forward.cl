/* conv/mma/forward.cl: phases of a convolution (conv/problem.clh), forward or backward to the data, each as a matrix
 * product on a GPU's matrix units (common/mma/tile.clh) whose right operand is gathered. GPU class.
 *
 *   rows      KG channels of the result in a group
 *   columns   pixels of the result in this phase, of all images
 *   depth     taps, and for each tap the channels of the source, in pieces of 16 bytes
 *   A         the packed weights P (conv/mma/weights.cl), or the filters themselves if they have one tap. P_at counts
 *             elements
 *   B         L, the source with its channels last (conv/gpu/channels_last.cl), copied piece by piece; a piece is zero
 *             if the tap reads padding
 *
 * In each step a work-item copies one piece along the depth, for several rows and columns, so it computes the tap and
 * the channels of a step only once. Offsets are in pieces, relative to the tile's first image.
 *
 *   D_T            f32, f16 or bf16. f32 operands are rounded to tf32, so the host uses it only if the caller allows it
 *   RESULT_LAST    1: the result, too, has its channels last, in whole pieces. For the epilogue it is a matrix with one
 *                  row per pixel and one column per channel
 *   FLAT           1: there is one phase, and its pixels are all pixels of the result in the same order
 *   SPLIT_K        1: the depth of the one, FLAT phase is divided among SPLITS work-groups per tile, whose sums are
 *                  written to partial[split][result]; matmul/gpu/splitk.cl adds them. Without it, SPLITS is 1
 *   phase_begins   the first work-group of each phase, and the first piece of its weights
 *   DIMS           2: taps move in height and width; 3: in depth too
 *   PHASES         1: the launch has one phase; 4: it has up to four
 *
 * NDRange: THREADS * (sum over phases of tiles of rows * tiles of columns * G) * SPLITS; work-group (THREADS). */
#define MMA_T D_T
#define A_LIES 0
#define B_LIES 0

#include "common/mma/tile.clh"

#if RESULT_LAST
#undef BIAS
#define BIAS 1 /* channels are columns */
#endif
#include "common/epilogue.clh"
#include "conv/problem.clh"

#define ROWS_A (TILE_M * 4 / THREADS) /* pieces of A, and of B, that a work-item copies in a step */
#define ROWS_B (TILE_N * 4 / THREADS)
#define UNROLL _Pragma("unroll")
#define OUTSIDE (1 << 30) /* a coordinate outside of every source; a tap's offset can be added without overflow */
#define DEEP(x) (DIMS == 3 ? (x) : 0)

/* Begins to copy this work-item's pieces of one step. Then it advances to the tap and channels of the next step. */
#define FILL(to_a, to_b, step)                                                                                         \
  {                                                                                                                    \
    const bool deep = at < DEPTH;                                                                                      \
    UNROLL for (int r = 0; r < ROWS_A; r++) {                                                                          \
      const bool inside = deep && row0 + mine + r * (THREADS / 4) < KG;                                                \
      MMA_COPY(SLOT_A + r, (to_a) + UPRIGHT(mine + r * (THREADS / 4), item % 4),                                       \
               MMA_COPIES || inside ? weights + (inside ? r * (THREADS / 4) * DEPTH + at : 0) : P, inside);            \
    }                                                                                                                  \
    UNROLL for (int r = 0; r < ROWS_B; r++) {                                                                          \
      const bool inside = deep && (uint)(i1[r] + t1 * DELTA1) < (uint)IN1 &&                                           \
                          (uint)(i2[r] + t2 * DELTA2) < (uint)IN2 &&                                                   \
                          (DIMS == 2 || (uint)(i0[r] + t0 * DELTA0) < (uint)IN0);                                      \
      MMA_COPY(SLOT_B + r, (to_b) + UPRIGHT(mine + r * (THREADS / 4), item % 4),                                       \
               source + (inside ? from[r] + reach : 0), inside);                                                       \
    }                                                                                                                  \
    at += 4;                                                                                                           \
    channel += 4;                                                                                                      \
    while (channel >= CHANNELS) {                                                                                      \
      channel -= CHANNELS;                                                                                             \
      t2++;                                                                                                            \
      if (t2 == TAPS2) t2 = 0, t1++;                                                                                   \
      if (DIMS == 3 && t1 == TAPS1) t1 = 0, t0++;                                                                      \
    }                                                                                                                  \
    reach = ((DEEP(t0 * DELTA0) * IN1 + t1 * DELTA1) * IN2 + t2 * DELTA2) * CHANNELS + channel;                        \
  }

/* Finishes eight rows of a warp's sums. It stores n columns at a time, which must be adjacent pixels of one image. */
#define FINISH_TOGETHER(n, store, read)                                                                                \
  {                                                                                                                    \
    const int across = WARP_N / n, down = MMA_LANES > across ? MMA_LANES / across : 1;                                 \
    _Pragma("unroll 1") for (int q = lane % across; q < across; q += MMA_LANES) {                                      \
      const int c = q * n, col = col0 + col_warp + c, image = col / pixels;                                            \
      _Pragma("unroll 1") for (int r = lane / across; r < 8; r += down) {                                              \
        if (first + r < KG && col < columns)                                                                           \
          FINISH_BY(store, n, read(r, c), image, own_group *KG + first + r, col - image * pixels);                     \
      }                                                                                                                \
    }                                                                                                                  \
  }
#define SUMS_2(r, c) (*SUMS(2, r, c))
/* Finishes columns one by one. Neighbouring work-items have neighbouring columns. */
#define FINISH_ALONE                                                                                                   \
  for (int c = lane; c < WARP_N; c += MMA_LANES) {                                                                     \
    const int col = col0 + col_warp + c, image = col / pixels, pixel = col - image * pixels;                           \
    const int p0 = AT0 + pixel / OUT2 / OUT1 * OUT_STRIDE0, p1 = AT1 + pixel / OUT2 % OUT1 * OUT_STRIDE1;              \
    const int to = FLAT ? pixel : (p0 * FULL1 + p1) * FULL2 + AT2 + pixel % OUT2 * OUT_STRIDE2;                        \
    _Pragma("unroll 1") for (int r = 0; col < columns && r < 8 && first + r < KG; r++)                                 \
        FINISH(1, *SUMS(1, r, c), image, own_group *KG + first + r, to);                                               \
  }
/* With RESULT_LAST: finishes eight rows of a warp's sums, column by column. A column is eight adjacent channels of one
 * pixel. */
#define COLUMN_4(r, c)                                                                                                 \
  (COMPUTEV(ACC_T, 4))(*SUMS(1, r, c), *SUMS(1, (r) + 1, c), *SUMS(1, (r) + 2, c), *SUMS(1, (r) + 3, c))
#define COLUMN_8(r, c) (COMPUTEV(ACC_T, 8))(COLUMN_4(r, c), COLUMN_4((r) + 4, c))
#define FINISH_CHANNELS                                                                                                \
  for (int c = lane; c < WARP_N; c += MMA_LANES) {                                                                     \
    const int col = col0 + col_warp + c, image = col / pixels, pixel = col - image * pixels;                           \
    const int p0 = AT0 + pixel / OUT2 / OUT1 * OUT_STRIDE0, p1 = AT1 + pixel / OUT2 % OUT1 * OUT_STRIDE1;              \
    const int to = FLAT ? pixel : (p0 * FULL1 + p1) * FULL2 + AT2 + pixel % OUT2 * OUT_STRIDE2;                        \
    UNROLL for (int r = 0; r < 8; r += WIDE) {                                                                         \
      if (col < columns && first + r < KG)                                                                             \
        FINISH_BY(STORE_PIECE, WIDE, MICA_PASTE(COLUMN_, WIDE)(r, c), image, to, own_group *KG + first + r);           \
    }                                                                                                                  \
  }
#if RESULT_LAST
#define PUT_PARTS                                                                                                      \
  for (int c = lane; c < WARP_N; c += MMA_LANES) {                                                                     \
    const int col = col0 + col_warp + c;                                                                               \
    const long at = ((long)split * columns + col) * G * KG + own_group * KG + first;                                   \
    UNROLL for (int r = 0; r < 8; r += 4) {                                                                            \
      if (col < columns && first + r < KG) vstore4(COLUMN_4(r, c), 0, partial + partial_at + at + r);                  \
    }                                                                                                                  \
  }
#else
#define PUT_PARTS                                                                                                      \
  for (int c = lane; c < WARP_N; c += MMA_LANES) {                                                                     \
    const int col = col0 + col_warp + c, image = col / pixels, pixel = col - image * pixels;                           \
    const long row = ((long)split * N + image) * G * KG + own_group * KG + first;                                      \
    _Pragma("unroll 1") for (int r = 0; col < columns && r < 8 && first + r < KG; r++)                                 \
        partial[partial_at + (row + r) * pixels + pixel] = *SUMS(1, r, c);                                             \
  }
#endif
#if SPLIT_K
#define RESULT_PARAMS __global float *restrict partial, const long partial_at
#else
#define RESULT_PARAMS EPILOGUE_PARAMS
#endif

__kernel MMA_SUBGROUP __attribute__((reqd_work_group_size(THREADS, 1, 1))) void conv_gpu_mma(
    PHASES_PARAMS, const int8 size, __global const uint4 *restrict L, const long L_at, __global const uint4 *restrict P,
    const long P_at, RESULT_PARAMS) {
  MMA_TILE_VARIABLES
  PHASES_UNPACK(PHASE_AT((int)get_group_id(0)))
  UNPACK_INTS(GPU_MMA_SIZE, size)
  const int CHANNELS = (CG + PIECE - 1) / PIECE, DEPTH = TAPS0 * TAPS1 * TAPS2 * CHANNELS, steps = (DEPTH + 3) / 4;
  const int pixels = OUT0 * OUT1 * OUT2, columns = N * pixels, mine = item / 4;
  const int tiles_m = (KG + TILE_M - 1) / TILE_M, tiles_n = (columns + TILE_N - 1) / TILE_N;
  const int group = (int)get_group_id(0) - phase_begin, tile = group / tiles_m, part = tile / tiles_n;
  const int own_group = SPLIT_K ? part % G : part, split = SPLIT_K ? part / G : 0;
  const int row0 = group % tiles_m * TILE_M, col0 = tile % tiles_n * TILE_N, image0 = col0 / pixels;
  __global const uint4 *weights = P + P_at / PIECE + phase_number + (long)(own_group * KG + row0 + mine) * DEPTH;
  __global const uint4 *source = L + L_at + ((long)own_group * N + image0) * IN0 * IN1 * IN2 * CHANNELS;

  /* The source pixels of the work-item's columns, before a tap is added. */
  int i0[ROWS_B], i1[ROWS_B], i2[ROWS_B], from[ROWS_B];
  UNROLL for (int r = 0; r < ROWS_B; r++) {
    const int column = col0 + mine + r * (THREADS / 4), image = column / pixels, pixel = column - image * pixels;
    i0[r] = DEEP(pixel / OUT2 / OUT1 * STEP0 + FIRST0);
    i1[r] = column < columns ? pixel / OUT2 % OUT1 * STEP1 + FIRST1 : OUTSIDE;
    i2[r] = pixel % OUT2 * STEP2 + FIRST2;
    from[r] = column < columns ? (((image - image0) * IN0 + i0[r]) * IN1 + i1[r]) * IN2 + i2[r] : 0;
    from[r] *= CHANNELS;
  }
#if SPLIT_K
  const int share = (steps + SPLITS - 1) / SPLITS, begin = min(split * share, steps), own = min(share, steps - begin);
  int at = begin * 4 + item % 4, tap = at / CHANNELS, channel = at - tap * CHANNELS, t2 = tap % TAPS2, reach;
  int t1 = DIMS == 3 ? tap / TAPS2 % TAPS1 : tap / TAPS2, t0 = DEEP(tap / TAPS2 / TAPS1);
#else
  const int own = steps;
  int at = item % 4, channel = at, t0 = 0, t1 = 0, t2 = 0, reach;
#endif
  while (channel >= CHANNELS) {
    channel -= CHANNELS;
    t2++;
    if (t2 == TAPS2) t2 = 0, t1++;
    if (DIMS == 3 && t1 == TAPS1) t1 = 0, t0++;
  }
  reach = ((DEEP(t0 * DELTA0) * IN1 + t1 * DELTA1) * IN2 + t2 * DELTA2) * CHANNELS + channel;

  MMA_TILE_LOOP(own, FILL)

#if SPLIT_K
  UNROLL_EIGHTS for (int i = 0; i < WARP_M / 8; i++) {
    const int first = row0 + row_warp + i * 8;
    MMA_TILE_PUT(i)
    PUT_PARTS
  }
#elif RESULT_LAST
  UNROLL_EIGHTS for (int i = 0; i < WARP_M / 8; i++) {
    const int first = row0 + row_warp + i * 8;
    MMA_TILE_PUT(i)
    FINISH_CHANNELS
  }
#else
  const long apart = D_at | D_row | D_batch;
  const bool wide = FLAT && pixels % WIDE == 0 && apart % WIDE == 0 && (ulong)D % 16 == 0;
  const bool even = FLAT && pixels % 2 == 0 && apart % 2 == 0 && (ulong)D % 8 == 0;
  UNROLL_EIGHTS for (int i = 0; i < WARP_M / 8; i++) {
    const int first = row0 + row_warp + i * 8;
    MMA_TILE_PUT(i)
    if (wide) {
      FINISH_TOGETHER(WIDE, STORE_PIECE, MICA_PASTE(SUMS_, WIDE))
    } else if (even) {
      FINISH_TOGETHER(2, STOREVA, SUMS_2)
    } else {
      FINISH_ALONE
    }
  }
#endif
}
