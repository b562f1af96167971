/* conv/mma/wgrad.cl: a convolution's weight gradient as a matrix product on a GPU's matrix units (common/mma/tile.clh).
 * Work-groups divide its depth. GPU class.
 *
 *   rows      KG filters of a group
 *   columns   taps, and for each tap CG channels, rounded up to whole pieces of 16 bytes
 *   depth     pixels of y, of all images: STEPS steps of TILE_K for each of SPLITS work-groups
 *
 *   PLAIN 0   Y and X have their channels last (conv/gpu/channels_last.cl), so the tiles of both are lying
 *             (common/mma/tile.clh). A piece is adjacent channels of one pixel; it is zero if the tap reads padding. A
 *             work-item copies pieces of one tap and the same channels for several pixels. After a step the pixels
 *             advance by TILE_K. To avoid divisions, their coordinates are added with carry: ADVANCE_N, ADVANCE0 ..
 *             ADVANCE2 are TILE_K in image, depth, height and width
 *   PLAIN 1   for filters of one element with stride 1 and no padding. Y and X keep their layout, channels first, and
 *             the tiles are upright. A piece is adjacent pixels of one channel, and an image is a whole number of
 *             pieces
 *   D_T       f32, f16 or bf16. f32 operands are rounded to tf32, so the host uses it only if the caller allows it
 *   DIMS      2: taps move in height and width; 3: in depth too
 *
 * P[SPLITS][G KG][taps][CG rounded up] gets float sums, which conv/mma/wgrad_add.cl adds. NDRange: THREADS * tiles of
 * rows * tiles of columns * G * SPLITS; work-group (THREADS). */
#define MMA_T D_T
#define A_LIES (!PLAIN)
#define B_LIES (!PLAIN)

#include "common/mma/tile.clh"

#include "conv/problem.clh"

#define UNROLL _Pragma("unroll")
#define PIECES_A (TILE_M * 4 / THREADS) /* pieces of A, and of B, that a work-item copies in a step */
#define PIECES_B (TILE_N * 4 / THREADS)
#define DEEP(x) (DIMS == 3 ? (x) : 0)

#if PLAIN
/* Begins to copy one piece (16 bytes of pixels) for each of PIECES_A filters and PIECES_B channels. Then it advances to
 * the next step, which is four pieces further. */
#define FILL(to_a, to_b, step)                                                                                         \
  {                                                                                                                    \
    UNROLL for (int r = 0; r < PIECES_A; r++) {                                                                        \
      const int row = item / 4 + r * (THREADS / 4);                                                                    \
      const bool inside = n < N && row0 + row < KG;                                                                    \
      MMA_COPY(SLOT_A + r, (to_a) + UPRIGHT(row, item % 4), Y + (inside ? (n * G * KG + row0 + row) * WIDTH + q : 0),  \
               inside);                                                                                                \
    }                                                                                                                  \
    UNROLL for (int r = 0; r < PIECES_B; r++) {                                                                        \
      const int row = item / 4 + r * (THREADS / 4);                                                                    \
      const bool inside = n < N && col0 + row < CG;                                                                    \
      MMA_COPY(SLOT_B + r, (to_b) + UPRIGHT(row, item % 4), X + (inside ? (n * G * CG + col0 + row) * WIDTH + q : 0),  \
               inside);                                                                                                \
    }                                                                                                                  \
    for (q += 4; q >= WIDTH; q -= WIDTH) n++;                                                                          \
  }
#else
#define FILL(to_a, to_b, step)                                                                                         \
  {                                                                                                                    \
    UNROLL for (int r = 0; r < PIECES_A; r++) {                                                                        \
      const int k = item / ACROSS(A) + r * (THREADS / ACROSS(A));                                                      \
      const bool inside = has_row && pixel + k < pixels;                                                               \
      MMA_COPY(SLOT_A + r, (to_a) + LYING(A, k, item % ACROSS(A)), Y + (inside ? (pixel + k) * ROWS + row : 0),        \
               inside);                                                                                                \
    }                                                                                                                  \
    UNROLL for (int r = 0; r < PIECES_B; r++) {                                                                        \
      const int k = item / ACROSS(B) + r * (THREADS / ACROSS(B));                                                      \
      const bool inside = has_tap && n[r] < N && (uint)i1[r] < (uint)I1 && (uint)i2[r] < (uint)I2 &&                   \
                          (DIMS == 2 || (uint)i0[r] < (uint)I0);                                                       \
      const int from = (((n[r] * I0 + DEEP(i0[r])) * I1 + i1[r]) * I2 + i2[r]) * CHANNELS + channel;                   \
      MMA_COPY(SLOT_B + r, (to_b) + LYING(B, k, item % ACROSS(B)), X + (inside ? from : 0), inside);                   \
      i2[r] += ADVANCE2 * ST2;                                                                                         \
      i1[r] += ADVANCE1 * ST1;                                                                                         \
      n[r] += ADVANCE_N;                                                                                               \
      if (i2[r] >= O2 * ST2 + d2) i2[r] -= O2 * ST2, i1[r] += ST1;                                                     \
      if (DIMS == 3) {                                                                                                 \
        i0[r] += ADVANCE0 * ST0;                                                                                       \
        if (i1[r] >= O1 * ST1 + d1) i1[r] -= O1 * ST1, i0[r] += ST0;                                                   \
        if (i0[r] >= O0 * ST0 + d0) i0[r] -= O0 * ST0, n[r]++;                                                         \
      } else if (i1[r] >= O1 * ST1 + d1) {                                                                             \
        i1[r] -= O1 * ST1, n[r]++;                                                                                     \
      }                                                                                                                \
    }                                                                                                                  \
    pixel += TILE_K;                                                                                                   \
  }
#endif

__kernel MMA_SUBGROUP __attribute__((reqd_work_group_size(THREADS, 1, 1))) void conv_gpu_wgrad_mma(
    CONV_PARAMS, const int8 size, __global const uint4 *restrict Y, const long Y_at, __global const uint4 *restrict X,
    const long X_at, __global float *restrict P, const long P_at) {
  MMA_TILE_VARIABLES
  CONV_UNPACK
  UNPACK_INTS(GPU_WGRAD_SPLIT, size)
  const int ROWS = (KG + PIECE - 1) / PIECE, CHANNELS = (CG + PIECE - 1) / PIECE, taps = R0 * R1 * R2;
  const int columns = taps * CHANNELS * PIECE, pixels = N * O0 * O1 * O2;
  const int tiles_m = (KG + TILE_M - 1) / TILE_M, tiles_n = (columns + TILE_N - 1) / TILE_N;
  const int group = (int)get_group_id(0), plane = group / tiles_m / tiles_n, own = plane % G, split = plane / G;
  const int row0 = group % tiles_m * TILE_M, col0 = group / tiles_m % tiles_n * TILE_N;
  const int first = split * STEPS, steps = min(STEPS, (pixels + TILE_K - 1) / TILE_K - first);

#if PLAIN
  const int WIDTH = O0 * O1 * O2 / PIECE; /* pieces of an image */
  int n = (first * 4 + item % 4) / WIDTH, q = (first * 4 + item % 4) % WIDTH;
  Y += Y_at / PIECE + (long)own * KG * WIDTH;
  X += X_at / PIECE + (long)own * CG * WIDTH;
#else
  const int row = row0 / PIECE + item % ACROSS(A), column = col0 / PIECE + item % ACROSS(B);
  const int tap = column / CHANNELS, channel = column - tap * CHANNELS;
  const int d0 = DEEP(tap / R2 / R1 * DI0 - PA0), d1 = tap / R2 % R1 * DI1 - PA1, d2 = tap % R2 * DI2 - PA2;
  const bool has_row = row < ROWS, has_tap = tap < taps;
  int n[PIECES_B], i0[PIECES_B], i1[PIECES_B], i2[PIECES_B], pixel = first * TILE_K;
  Y += Y_at + (long)own * pixels * ROWS;
  X += X_at + (long)own * N * I0 * I1 * I2 * CHANNELS;
  UNROLL for (int r = 0; r < PIECES_B; r++) {
    const int at = pixel + item / ACROSS(B) + r * (THREADS / ACROSS(B));
    i2[r] = at % O2 * ST2 + d2;
    i1[r] = at / O2 % O1 * ST1 + d1;
    i0[r] = DEEP(at / O2 / O1 % O0 * ST0 + d0);
    n[r] = at / O2 / O1 / O0;
  }
#endif

  MMA_TILE_LOOP(steps, FILL)

  P += P_at + ((long)split * G + own) * KG * columns;
#define TO_SUM(row, col) (P + (long)(row0 + (row)) * columns + (col0 + (col)))
  MMA_TILE_WRITE(KG - row0, columns - col0, TO_SUM)
}
