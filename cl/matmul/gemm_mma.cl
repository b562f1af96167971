/* matmul/gemm_mma.cl: D = act(alpha op(A) op(B) + beta C + bias) on NVIDIA's tensor cores (common/mma.clh). GPU class.
 *
 * A work-group of WARPS_M x WARPS_N warps owns a tile of D; a warp owns WARP_M x WARP_N of it as tiles of 16 x 8. The
 * operands' tiles, 64 bytes deep, are copied into local memory in the background, STAGES - 1 steps ahead, as they lie
 * in global memory, 16 bytes at a time:
 *   upright   rows of k: [TILE][4] pieces of 16 bytes, for operands that are adjacent along k, and for those of i8 or
 *             of any strides, which are read element by element
 *   lying     rows of the outer index: [64 bytes of k][TILE / elements of 16 bytes] pieces, for those adjacent along it
 * The number of a piece within its row is changed by bits of the row's, so that what a warp reads at once, eight pieces
 * of neighbouring rows, lies in all 32 banks; what it reads is one instruction for four 8 x 8 matrices. tf32 that lies
 * is read word by word: the instruction transposes 16 bits alone.
 *
 * A_T and B_T are one of f32 (products rounded to tf32, 10 bits of mantissa: only where the caller allows it), f16,
 * bf16 and i8. Prologues are not possible here, since words are copied as they are.
 * NDRange: one dimension, THREADS * tiles of D * batches; work-group (THREADS). */
#ifndef WARPS_M /* warps along the rows of a tile */
#define WARPS_M 2
#endif
#ifndef WARPS_N /* warps along its columns */
#define WARPS_N 2
#endif
#ifndef WARP_M /* rows a warp computes, a multiple of 16 */
#define WARP_M 64
#endif
#ifndef WARP_N /* columns a warp computes, a multiple of 16 */
#define WARP_N 64
#endif
#ifndef STAGES /* tiles of an operand in local memory: 2, 3 or 4 */
#define STAGES 3
#endif

#ifndef A_T
#define A_T f16
#endif
#define MMA_T A_T
#define MMA_WARPS (WARPS_M * WARPS_N)

#include "common/mma.clh"
#include "matmul/operands.clh"

#define THREADS (WARPS_M * WARPS_N * 32)
#define TILE_M (WARPS_M * WARP_M)
#define TILE_N (WARPS_N * WARP_N)
#define PIECE (4 * MMA_PER_WORD) /* elements of 16 bytes */
#define TILE_K (4 * PIECE)
#define SLICES 2 /* a tile's depth in instructions of 8 words */
/* Slices in registers: the next one's words are read while one's are multiplied, where that spills none. */
#ifndef BUFFERS
#define BUFFERS (MMA_PER_WORD == 2 ? 2 : 1)
#endif
#if MMA_PER_WORD == 1
#define UNROLL_SLICES _Pragma("unroll 1")
#else
#define UNROLL_SLICES _Pragma("unroll")
#endif

#if HAS_PROLOGUE_A || HAS_PROLOGUE_B
#error "gemm_mma takes no prologues"
#endif
#if WARP_M % 16 || WARP_N % 16
#error "a warp's part must be whole tiles of 16 x 16"
#endif
#if TILE_M * 4 % THREADS || TILE_N * 4 % THREADS
#error "a tile must be a whole number of pieces for each work-item"
#endif

/* An element's bits. */
#define mica_bits_f32(p, i) as_uint((p)[i])
#define mica_bits_f16(p, i) ((uint)((__global const ushort *)(p))[i])
#define mica_bits_bf16(p, i) ((uint)(p)[i])
#define mica_bits_i8(p, i) ((uint)(uchar)(p)[i])
#define BITS(p, i) MICA_PASTE(mica_bits_, MMA_T)(p, i)

#define mica_round_f32(word) MMA_ROUND(as_float(word))
#define mica_round_f16(word) (word)
#define mica_round_bf16(word) (word)
#define mica_round_i8(word) (word)
#define ROUND(word) MICA_PASTE(mica_round_, MMA_T)(word)

#define LIES(X) (X##_LAYOUT == 2 && MMA_PER_WORD <= 2)
#define TILE_A TILE_M
#define TILE_B TILE_N
#define ACROSS(X) (TILE_##X / PIECE) /* pieces of a row that lies */

/* An operand's pieces are copied whole, or gathered element by element, which is not unrolled: that takes so many
 * registers that some are spilled. */
#define WHOLE(X) (X##_ALIGNED && (X##_LAYOUT == 1 || LIES(X)))
#if WHOLE(A)
#define UNROLL_A _Pragma("unroll")
#else
#define UNROLL_A _Pragma("unroll 1")
#endif
#if WHOLE(B)
#define UNROLL_B _Pragma("unroll")
#else
#define UNROLL_B _Pragma("unroll 1")
#endif

/* Where piece c of row r is. */
#define UPRIGHT(r, c) ((r)*4 + ((c) ^ (r) / 2 % 4))
#define LYING(X, r, c) ((r)*ACROSS(X) + ((c) ^ LYING_BITS(r) % (ACROSS(X) < 8 ? ACROSS(X) : 8)))
#define LYING_BITS(r) (MMA_PER_WORD == 1 ? (r) % 4 * 2 : (r) % 8)

/* Copies the tile of X at (outer0, k0), zero outside X_matrix, which is X's of the batch. */
#define COPY(X, tile, outer0, outer_end, outer_stride, k_stride)                                                       \
  UNROLL_##X for (int i = 0; i < TILE_##X * 4 / THREADS; i++) {                                                        \
    const int n = item + i * THREADS;                                                                                  \
    if (LIES(X)) {                                                                                                     \
      const int k = k0 + n / ACROSS(X), outer = (outer0) + n % ACROSS(X) * PIECE;                                      \
      PUT(X, (tile) + LYING(X, n / ACROSS(X), n % ACROSS(X)), outer, k, outer_end, outer_stride, k_stride, 1, 0)       \
    } else {                                                                                                           \
      const int k = k0 + n % 4 * PIECE, outer = (outer0) + n / 4;                                                      \
      PUT(X, (tile) + UPRIGHT(n / 4, n % 4), outer, k, outer_end, outer_stride, k_stride, 0, 1)                        \
    }                                                                                                                  \
  }

/* One piece, whose elements follow each other along the outer index (o_step 1) or along k (k_step 1). */
#define PUT(X, to, outer, k, outer_end, outer_stride, k_stride, o_step, k_step)                                        \
  if (WHOLE(X)) {                                                                                                      \
    const bool inside = outer < (outer_end) && k < K;                                                                  \
    MMA_COPY(to, X##_matrix + (inside ? outer * (outer_stride) + k * (k_stride) : 0), inside);                         \
  } else {                                                                                                             \
    uint words[4];                                                                                                     \
    _Pragma("unroll") for (int j = 0; j < 4; j++) {                                                                    \
      words[j] = 0;                                                                                                    \
      _Pragma("unroll") for (int e = 0; e < MMA_PER_WORD; e++) {                                                       \
        const int at = j * MMA_PER_WORD + e, o = outer + at * (o_step), d = k + at * (k_step);                         \
        if (o < (outer_end) && d < K)                                                                                  \
          words[j] |= BITS(X##_matrix, o * (outer_stride) + d * (k_stride)) << (32 / MMA_PER_WORD * e % 32);           \
      }                                                                                                                \
    }                                                                                                                  \
    *(to) = vload4(0, words);                                                                                          \
  }

/* The addresses that MMA_READ asks for, of 16 x 16 elements of 16 bits from (outer, part) on: of A its two blocks of
 * eight rows, of B's its two of k first. */
#define A_UPRIGHT(l) (a_tile + UPRIGHT(outer + (l) % 16, part * 2 + (l) / 16))
#define A_LYING(l) (a_tile + LYING(A, part * 16 + (l) / 16 * 8 + (l) % 8, outer / PIECE + (l) / 8 % 2))
#define B_UPRIGHT(l) (b_tile + UPRIGHT(outer + (l) / 16 * 8 + (l) % 8, part * 2 + (l) / 8 % 2))
#define B_LYING(l) (b_tile + LYING(B, part * 16 + (l) % 16, outer / PIECE + (l) / 16))
/* A word of an operand of 32 bits that lies. */
#define WORD(X, tile, outer, k) (((__local const uint *)((tile) + LYING(X, k, (outer) / 4)))[(outer) % 4])

/* A's fragments of 16 rows from `outer` on, and B's of 16 columns: d[0..1] of the first eight, d[2..3] of the rest. */
#define READ_A(d)                                                                                                      \
  if (!LIES(A)) {                                                                                                      \
    MMA_READ(d, A_UPRIGHT);                                                                                            \
  } else if (MMA_PER_WORD == 2) {                                                                                      \
    MMA_READ_T(d, A_LYING);                                                                                            \
  } else {                                                                                                             \
    _Pragma("unroll") for (int e = 0; e < 4; e++)(d)[e] =                                                              \
        WORD(A, a_tile, outer + e % 2 * 8 + g, part * 8 + e / 2 * 4 + t);                                              \
  }
#define READ_B(d)                                                                                                      \
  if (!LIES(B)) {                                                                                                      \
    MMA_READ(d, B_UPRIGHT);                                                                                            \
  } else if (MMA_PER_WORD == 2) {                                                                                      \
    MMA_READ_T(d, B_LYING);                                                                                            \
  } else {                                                                                                             \
    _Pragma("unroll") for (int e = 0; e < 4; e++)(d)[e] =                                                              \
        WORD(B, b_tile, outer + e / 2 * 8 + g, part * 8 + e % 2 * 4 + t);                                              \
  }

/* Both operands' fragments of a slice. */
#define READ_SLICE(at)                                                                                                 \
  {                                                                                                                    \
    const int part = (at);                                                                                             \
    _Pragma("unroll") for (int i = 0; i < WARP_M / 16; i++) {                                                          \
      const int outer = row_warp + i * 16;                                                                             \
      READ_A(a[(at) % BUFFERS][i])                                                                                     \
      _Pragma("unroll") for (int e = 0; e < 4; e++) a[(at) % BUFFERS][i][e] = ROUND(a[(at) % BUFFERS][i][e]);          \
    }                                                                                                                  \
    _Pragma("unroll") for (int j = 0; j < WARP_N / 16; j++) {                                                          \
      const int outer = col_warp + j * 16;                                                                             \
      READ_B(b[(at) % BUFFERS][j])                                                                                     \
      _Pragma("unroll") for (int e = 0; e < 4; e++) b[(at) % BUFFERS][j][e] = ROUND(b[(at) % BUFFERS][j][e]);          \
    }                                                                                                                  \
  }

#if STAGES == 2
#define WAIT MMA_WAIT(0)
#elif STAGES == 3
#define WAIT MMA_WAIT(1)
#else
#define WAIT MMA_WAIT(2)
#endif

__kernel __attribute__((reqd_work_group_size(THREADS, 1, 1))) void gemm_mma(const int batches, OPERAND_PARAMS,
                                                                            EPILOGUE_PARAMS) {
  __local uint4 a_tiles[STAGES][TILE_M * 4], b_tiles[STAGES][TILE_N * 4];
  MMA_STORAGE
  const int item = (int)get_local_id(0), warp = item / 32, lane = item % 32, g = lane / 4, t = lane % 4;
  const int row_warp = warp / WARPS_N * WARP_M, col_warp = warp % WARPS_N * WARP_N;
  const int tiles_m = (M + TILE_M - 1) / TILE_M, tiles_n = (N + TILE_N - 1) / TILE_N, steps = (K + TILE_K - 1) / TILE_K;
  const long group = (long)get_group_id(0), batch = group / tiles_n / tiles_m;
  const int row0 = (int)(group % tiles_m) * TILE_M, col0 = (int)(group / tiles_m % tiles_n) * TILE_N;

  __global const STORAGE(A_T) *A_matrix = A + A_at + batch * A_batch;
  __global const STORAGE(B_T) *B_matrix = B + B_at + batch * B_batch;
  uint a[BUFFERS][WARP_M / 16][4], b[BUFFERS][WARP_N / 16][4];
  mma_sum_t sums[WARP_M / 16][WARP_N / 8][4];
#pragma unroll
  for (int i = 0; i < WARP_M / 16; i++) {
#pragma unroll
    for (int j = 0; j < WARP_N / 8; j++) {
#pragma unroll
      for (int e = 0; e < 4; e++) sums[i][j][e] = 0;
    }
  }

#pragma unroll
  for (int stage = 0; stage < STAGES - 1; stage++) {
    const int k0 = stage * TILE_K;
    if (stage < steps) {
      COPY(A, a_tiles[stage], row0, M, A_row, A_col)
      COPY(B, b_tiles[stage], col0, N, B_col, B_row)
    }
    MMA_COMMIT;
  }
  int stage = 0, ahead = STAGES - 1;
  for (int step = 0; step < steps; step++) {
    WAIT;
    barrier(CLK_LOCAL_MEM_FENCE);
    const int k0 = (step + STAGES - 1) * TILE_K;
    if (step + STAGES - 1 < steps) {
      COPY(A, a_tiles[ahead], row0, M, A_row, A_col)
      COPY(B, b_tiles[ahead], col0, N, B_col, B_row)
    }
    MMA_COMMIT;
    __local const uint4 *a_tile = a_tiles[stage], *b_tile = b_tiles[stage];
    if (BUFFERS == 2) READ_SLICE(0)
    UNROLL_SLICES
    for (int slice = 0; slice < SLICES; slice++) {
      if (BUFFERS == 1) READ_SLICE(slice)
      if (BUFFERS == 2 && slice + 1 < SLICES) READ_SLICE(slice + 1)
#pragma unroll
      for (int i = 0; i < WARP_M / 16; i++) {
#pragma unroll
        for (int j = 0; j < WARP_N / 8; j++)
          MMA(sums[i][j], a[slice % BUFFERS][i], (b[slice % BUFFERS][j / 2] + j % 2 * 2));
      }
    }
    stage = stage + 1 == STAGES ? 0 : stage + 1;
    ahead = ahead + 1 == STAGES ? 0 : ahead + 1;
  }

#pragma unroll
  for (int i = 0; i < WARP_M / 16; i++) {
#pragma unroll
    for (int j = 0; j < WARP_N / 8; j++) {
#pragma unroll
      for (int e = 0; e < 4; e++) {
        const long row = row0 + row_warp + i * 16 + e / 2 * 8 + g, col = col0 + col_warp + j * 8 + t * 2 + e % 2;
        if (row < M && col < N) FINISH(1, sums[i][j][e], batch, row, col);
      }
    }
  }
}
