/* conv/gpu/implicit_gemm.cl: phases of a convolution (conv/problem.clh), forward or backward to the data, each as a
 * matrix product whose right operand is gathered, by tiles through local memory. GPU class.
 *
 *   rows      KG channels of the result in a group, padded to ROWS
 *   columns   pixels of the result in this phase, of all images
 *   depth     CG channels of the source times taps, padded to DEPTH, a multiple of TILE_K (T has entries for 2 TILE_K
 *             more)
 *   A         the packed weights P
 *   B         [k][column]: the source element at the offset T[k] (conv/gpu/pack_weights.cl)
 *
 * A work-group computes a tile of the result (common/gpu/local_tile.clh). The loop over the depth has no branches: a
 * read of padding reads the zero after the end of P instead, and columns beyond the last one read the same as the last.
 *
 *   phase_begins    the first work-group of each phase, and its DEPTH
 *   FLAT            1: there is one phase, and its pixels are all pixels of the result in the same order
 *   ALONE           1: only the phase that begins at the first pixel has taps. It then also finishes the pixels of the
 *                   other phases, whose sums are 0
 *   DIMS            2: taps move in height and width; 3: in depth too
 *   PHASES          1: the launch has one phase; 4: it has up to four
 *   REQD_SUBGROUP   the sub-group size on Intel GPUs; 0: the compiler chooses
 *
 * NDRange: THREADS * (sum over phases of tiles of rows * tiles of columns * G); work-group (THREADS). */
#include "conv/problem.clh"

#include "common/gpu/local_tile.clh"

#define FETCHES_A (TILE_M * TILE_K / (THREADS * VEC))
#define FETCHES_B (TILE_N * TILE_K / THREADS)
#define STEP_A (THREADS / (TILE_M / VEC)) /* rows of A's tile that the work-group reads at a time */
#define STEP_B (THREADS / TILE_N)
#if STEP_A * FETCHES_A != TILE_K || STEP_B * FETCHES_B != TILE_K
#error "the work-group must read whole rows of both tiles, and all of them"
#endif

/* Reads this work-item's share of a step into registers; the offsets of the step are in entries[which]. First it stores
 * the offsets of the next step, and begins to load the offsets of the step after that. So a gathered element waits for
 * one load from global memory, not for two. */
#define FETCH(which)                                                                                                   \
  if (item < TILE_K) entries[which ^ 1][item] = entry_share;                                                           \
  entry_share = *t_from;                                                                                               \
  UNROLL for (int f = 0; f < FETCHES_A; f++) a_share[f] =                                                              \
      MICA_AS(COMPUTE(ACC_T), VEC, LOADVA(D_T, VEC, a_from, (long)f * STEP_A * ROWS));                                 \
  UNROLL for (int f = 0; f < FETCHES_B; f++) {                                                                         \
    const int4 entry = entries[which][item / TILE_N + f * STEP_B];                                                     \
    UNPACK_INTS(GPU_OFFSETS, entry)                                                                                    \
    const bool inside =                                                                                                \
        (uint)(i1 + by1) < (uint)IN1 && (uint)(i2 + by2) < (uint)IN2 && (DIMS == 2 || (uint)(i0 + by0) < (uint)IN0);   \
    b_share[f] = (acc_t)LOAD(D_T, inside ? S + (offset + by) : zero, 0);                                               \
  }                                                                                                                    \
  a_from += (long)TILE_K * ROWS;                                                                                       \
  t_from += TILE_K;

#define DEPOSIT(which)                                                                                                 \
  UNROLL for (int f = 0; f < FETCHES_A; f++) a_tiles[which][a_at + f * STEP_A * (PITCH_A / VEC)] = a_share[f];         \
  UNROLL for (int f = 0; f < FETCHES_B; f++)((__local acc_t *)b_tiles[which])[b_at + f * STEP_B * PITCH_B] =           \
      b_share[f];                                                                                                      \
  barrier(CLK_LOCAL_MEM_FENCE);

#if REQD_SUBGROUP
__attribute__((intel_reqd_sub_group_size(REQD_SUBGROUP)))
#endif
__kernel __attribute__((reqd_work_group_size(THREADS, 1, 1))) void
conv_gpu_implicit_gemm(PHASES_PARAMS, const int8 size, __global const STORAGE(D_T) *restrict S, const long S_at,
                       __global const STORAGE(D_T) *restrict P, const long P_at, __global const int4 *restrict T,
                       const long T_at, EPILOGUE_PARAMS) {
  PHASES_UNPACK(PHASE_AT((int)get_group_id(0)))
  UNPACK_INTS(GPU_GEMM_SIZE, size)
  __local vec_t a_tiles[2][TILE_K * PITCH_A / VEC], b_tiles[2][TILE_K * PITCH_B / VEC];
  __local int4 entries[2][TILE_K];
  const int DEPTH = phase_number, item = (int)get_local_id(0), m_item = M_ITEM(item), n_item = N_ITEM(item);
  const int pixels = OUT0 * OUT1 * OUT2, columns = N * pixels;
  const int tiles_m = ROWS / TILE_M, tiles_n = (columns + TILE_N - 1) / TILE_N;
  const int group = (int)get_group_id(0) - phase_begin, tile = group / tiles_m, g = tile / tiles_n;
  const int row0 = group % tiles_m * TILE_M, col0 = tile % tiles_n * TILE_N;

  /* This work-item reads one column of B. `offset` is relative to the image of the tile's first column. */
  const int column = min(col0 + item % TILE_N, columns - 1), image0 = col0 / pixels, image = column / pixels;
  const int pixel = column - image * pixels, o2 = pixel % OUT2, o1 = pixel / OUT2 % OUT1, o0 = pixel / OUT2 / OUT1;
  const int i0 = o0 * STEP0 + FIRST0, i1 = o1 * STEP1 + FIRST1, i2 = o2 * STEP2 + FIRST2;
  const int offset = (image - image0) * G * CG * IN0 * IN1 * IN2 + (i0 * IN1 + i1) * IN2 + i2;
  const int before = PHASES_BEFORE(phase), all = PHASES_BEFORE(4); /* in elements of depth */
  S += S_at + ((long)image0 * G + g) * CG * IN0 * IN1 * IN2;
  __global const int4 *t_from = T + T_at + before + phase * 2 * TILE_K + min(item, TILE_K - 1);
  __global const STORAGE(D_T) *a_from = P + P_at + ((long)G * before + (long)g * DEPTH + item / (TILE_M / VEC)) * ROWS +
                                        row0 + item % (TILE_M / VEC) * VEC;
  __global const STORAGE(D_T) *zero = P + P_at + (long)G * all * ROWS;
  const int a_at = item / (TILE_M / VEC) * (PITCH_A / VEC) + item % (TILE_M / VEC);
  const int b_at = item / TILE_N * PITCH_B + item % TILE_N;

  vec_t a_share[FETCHES_A], sums[MICRO_M][MICRO_N / VEC];
  acc_t b_share[FETCHES_B];
  int4 entry_share = t_from[TILE_K];
  if (item < TILE_K) entries[0][item] = t_from[0];
  t_from += 2 * TILE_K;
  barrier(CLK_LOCAL_MEM_FENCE);
  FETCH(0)
  DEPOSIT(0)
  TILE_PIPELINE(TILE_K, DEPTH, DEPTH > 0, FETCH, DEPOSIT)

  UNROLL for (int j = 0; j < MICRO_N / VEC; j++) {
    const int col = col0 + TILE_COLUMNS(j), batch = col / pixels, first = col - batch * pixels;
    const bool whole = FLAT && col + VEC <= columns && first + VEC <= pixels;
    UNROLL for (int i = 0; i < MICRO_M; i++) {
      const int row = row0 + TILE_ROW(i);
      if (row < KG && whole) FINISH(VEC, sums[i][j], batch, g * KG + row, first);
    }
    if (whole) continue;
    UNROLL for (int l = 0; l < VEC; l++) {
      const int own = (col + l) / pixels, at = col + l - own * pixels;
      const int p0 = AT0 + at / OUT2 / OUT1 * OUT_STRIDE0, p1 = AT1 + at / OUT2 % OUT1 * OUT_STRIDE1;
      const int to = (p0 * FULL1 + p1) * FULL2 + AT2 + at % OUT2 * OUT_STRIDE2;
      UNROLL for (int i = 0; i < MICRO_M; i++) {
        const int row = row0 + TILE_ROW(i);
        if (row < KG && col + l < columns) FINISH(1, LANE(sums[i][j], l), own, g * KG + row, to);
      }
    }
  }
  if (!ALONE) return;
  /* Neighbouring work-items write adjacent pixels of a row. */
  const int width = min(TILE_N, columns - col0), strides = OUT_STRIDE0 * OUT_STRIDE1 * OUT_STRIDE2;
  for (int i = item; i < width * strides; i += THREADS) {
    const int d2 = i % OUT_STRIDE2, col = col0 + i / OUT_STRIDE2 % width, d = i / OUT_STRIDE2 / width;
    const int own = col / pixels, at = col - own * pixels;
    const int p0 = at / OUT2 / OUT1 * OUT_STRIDE0 + d / OUT_STRIDE1, p2 = at % OUT2 * OUT_STRIDE2 + d2;
    const int p1 = at / OUT2 % OUT1 * OUT_STRIDE1 + d % OUT_STRIDE1;
    if (d + d2 == 0 || p0 >= FULL0 || p1 >= FULL1 || p2 >= FULL2) continue;
    for (int row = row0; row < min(row0 + TILE_M, KG); row++)
      FINISH(1, (acc_t)0, own, g * KG + row, (p0 * FULL1 + p1) * FULL2 + p2);
  }
}
