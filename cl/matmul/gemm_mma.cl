/* matmul/gemm_mma.cl: D = act(alpha op(A) op(B) + beta C + bias) on NVIDIA's tensor cores (common/mma.clh). GPU class.
 *
 * A work-group of WARPS_M x WARPS_N warps owns a tile of D; a warp owns WARP_M x WARP_N of it as tiles of 16 x 8. Both
 * operands lie in local memory with k running fastest, packed into words as the instruction wants them, so that every
 * register of a fragment is one read; 4 words of padding a row keep the 32 reads of a warp in 32 banks. As in
 * gemm_gpu.cl the next step's words are on their way into registers while this step's are multiplied.
 *
 * A_T and B_T are one of f32 (products rounded to tf32, 10 bits of mantissa: only where the caller allows it), f16,
 * bf16 and i8. Prologues are not possible here, since words are copied as they are.
 * NDRange: one dimension, THREADS * tiles of D * batches; work-group (THREADS). */
#ifndef WARPS_M /* warps along the rows of a tile */
#define WARPS_M 2
#endif
#ifndef WARPS_N /* warps along its columns */
#define WARPS_N 4
#endif
#ifndef WARP_M /* rows a warp computes, a multiple of 16 */
#define WARP_M 64
#endif
#ifndef WARP_N /* columns a warp computes, a multiple of 8 */
#define WARP_N 32
#endif
#ifndef WORDS /* depth of a tile in words of 4 bytes, a multiple of 8 */
#define WORDS 16
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
#define TILE_K (WORDS * MMA_PER_WORD)
#define PITCH (WORDS + 4)
#define FETCHES_A (TILE_M * WORDS / (THREADS * 4))
#define FETCHES_B (TILE_N * WORDS / (THREADS * 4))

#if HAS_PROLOGUE_A || HAS_PROLOGUE_B
#error "gemm_mma takes no prologues"
#endif
#if WARP_M % 16 || WARP_N % 8 || WORDS % 8
#error "a warp's part must be whole tiles of 16 x 8 and 8 words"
#endif
#if FETCHES_A * THREADS * 4 != TILE_M * WORDS || FETCHES_B * THREADS * 4 != TILE_N * WORDS
#error "a tile must be a whole number of four words for each work-item"
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

/* Where word j of this work-item's i-th four words stands in the tile. Where k is adjacent in memory the four follow
 * each other; elsewhere neighbouring work-items take neighbouring rows or columns, eight of them by four words, which
 * reads whole sectors of memory and writes to 32 banks. */
#define FOUR(i) (item + (i)*THREADS)
#define BLOCK(i, j) ((item + ((i)*4 + (j)) * THREADS) / 32)
#define WORD_OUTER(X, i, j) (X##_LAYOUT == 1 ? FOUR(i) / (WORDS / 4) : BLOCK(i, j) / (WORDS / 4) * 8 + item % 8)
#define WORD_DEPTH(X, i, j)                                                                                            \
  (X##_LAYOUT == 1 ? FOUR(i) % (WORDS / 4) * 4 + (j) : BLOCK(i, j) % (WORDS / 4) * 4 + item % 32 / 8)

/* Reads this work-item's share of the tile of X at (outer0, k0), zero outside the matrix X_matrix. */
#define FETCH(X, share, outer0, outer_end, outer_stride, k_stride)                                                     \
  _Pragma("unroll") for (int i = 0; i < FETCHES_##X; i++) {                                                            \
    const int outer = (outer0) + WORD_OUTER(X, i, 0), k = k0 + WORD_DEPTH(X, i, 0) * MMA_PER_WORD;                     \
    if (X##_LAYOUT == 1 && X##_ALIGNED && outer < (outer_end) && k + 4 * MMA_PER_WORD <= K) {                          \
      share[i] = *(__global const uint4 *)(X##_matrix + outer * (outer_stride) + k);                                   \
    } else {                                                                                                           \
      uint words[4];                                                                                                   \
      _Pragma("unroll") for (int j = 0; j < 4; j++) {                                                                  \
        const int o = (outer0) + WORD_OUTER(X, i, j), d0 = k0 + WORD_DEPTH(X, i, j) * MMA_PER_WORD;                    \
        words[j] = 0;                                                                                                  \
        _Pragma("unroll") for (int e = 0; e < MMA_PER_WORD; e++) if (o < (outer_end) && d0 + e < K) words[j] |=        \
            BITS(X##_matrix, o * (outer_stride) + (d0 + e) * (k_stride)) << (32 / MMA_PER_WORD * e % 32);              \
      }                                                                                                                \
      share[i] = vload4(0, words);                                                                                     \
    }                                                                                                                  \
  }

/* Puts the share into the local tile. */
#define DEPOSIT(X, share, tile)                                                                                        \
  _Pragma("unroll") for (int i = 0; i < FETCHES_##X; i++) {                                                            \
    uint words[4];                                                                                                     \
    vstore4(share[i], 0, words);                                                                                       \
    _Pragma("unroll") for (int j = 0; j < 4; j++) words[j] = ROUND(words[j]);                                          \
    if (X##_LAYOUT == 1) {                                                                                             \
      tile[(WORD_OUTER(X, i, 0) * PITCH + WORD_DEPTH(X, i, 0)) / 4] = vload4(0, words);                                \
    } else {                                                                                                           \
      _Pragma("unroll") for (int j = 0; j < 4; j++)((__local uint *)(tile))[WORD_OUTER(X, i, j) * PITCH +              \
                                                                           WORD_DEPTH(X, i, j)] = words[j];            \
    }                                                                                                                  \
  }

__kernel __attribute__((reqd_work_group_size(THREADS, 1, 1))) void gemm_mma(const int batches, OPERAND_PARAMS,
                                                                            EPILOGUE_PARAMS) {
  __local uint4 a_tiles[2][TILE_M * PITCH / 4], b_tiles[2][TILE_N * PITCH / 4];
  MMA_STORAGE
  const int item = (int)get_local_id(0), warp = item / 32, g = item % 32 / 4, t = item % 4;
  const int row_warp = warp / WARPS_N * WARP_M, col_warp = warp % WARPS_N * WARP_N;
  const int tiles_m = (M + TILE_M - 1) / TILE_M, tiles_n = (N + TILE_N - 1) / TILE_N, steps = (K + TILE_K - 1) / TILE_K;
  const long group = (long)get_group_id(0), batch = group / tiles_n / tiles_m;
  const int row0 = (int)(group % tiles_m) * TILE_M, col0 = (int)(group / tiles_m % tiles_n) * TILE_N;

  __global const STORAGE(A_T) *A_matrix = A + A_at + batch * A_batch;
  __global const STORAGE(B_T) *B_matrix = B + B_at + batch * B_batch;
  uint4 a_share[FETCHES_A], b_share[FETCHES_B];
  mma_sum_t sums[WARP_M / 16][WARP_N / 8][4];
#pragma unroll
  for (int i = 0; i < WARP_M / 16; i++) {
#pragma unroll
    for (int j = 0; j < WARP_N / 8; j++) {
#pragma unroll
      for (int e = 0; e < 4; e++) sums[i][j][e] = 0;
    }
  }

  for (int step = 0; step <= steps; step++) {
    const int k0 = step * TILE_K;
    if (step < steps) {
      FETCH(A, a_share, row0, M, A_row, A_col)
      FETCH(B, b_share, col0, N, B_col, B_row)
    }
    if (step > 0) {
      __local const uint *a_tile = (__local const uint *)a_tiles[(step - 1) % 2] + (row_warp + g) * PITCH + t;
      __local const uint *b_tile = (__local const uint *)b_tiles[(step - 1) % 2] + (col_warp + g) * PITCH + t;
#pragma unroll
      for (int word = 0; word < WORDS; word += 8) {
        uint a[WARP_M / 16][4], b[WARP_N / 8][2];
#pragma unroll
        for (int i = 0; i < WARP_M / 16; i++) {
#pragma unroll
          for (int e = 0; e < 4; e++) a[i][e] = a_tile[(i * 16 + e % 2 * 8) * PITCH + word + e / 2 * 4];
        }
#pragma unroll
        for (int j = 0; j < WARP_N / 8; j++) {
#pragma unroll
          for (int e = 0; e < 2; e++) b[j][e] = b_tile[j * 8 * PITCH + word + e * 4];
        }
#pragma unroll
        for (int i = 0; i < WARP_M / 16; i++) {
#pragma unroll
          for (int j = 0; j < WARP_N / 8; j++) MMA(sums[i][j], a[i], b[j]);
        }
      }
    }
    if (step < steps) {
      DEPOSIT(A, a_share, a_tiles[step % 2])
      DEPOSIT(B, b_share, b_tiles[step % 2])
    }
    barrier(CLK_LOCAL_MEM_FENCE);
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
