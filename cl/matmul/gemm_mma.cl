/* matmul/gemm_mma.cl: D = act(alpha op(A) op(B) + beta C + bias) on NVIDIA's tensor cores, by the tiles of
 * common/mma_tile.clh. GPU class.
 *
 * Operands that are adjacent along k lie upright in local memory, as do those of i8 or of any strides, which are read
 * element by element; those adjacent along the outer index lie as they are.
 *
 * A_T and B_T are one of f32 (products rounded to tf32, 10 bits of mantissa: only where the caller allows it), f16,
 * bf16 and i8. Prologues are not possible here, since words are copied as they are.
 * NDRange: one dimension, THREADS * tiles of D * batches; work-group (THREADS). */
#ifndef A_T
#define A_T f16
#endif
#define MMA_T A_T
#define A_LIES (A_LAYOUT == 2 && MMA_PER_WORD <= 2)
#define B_LIES (B_LAYOUT == 2 && MMA_PER_WORD <= 2)

#include "common/mma_tile.clh"
#include "matmul/operands.clh"

#if HAS_PROLOGUE_A || HAS_PROLOGUE_B
#error "gemm_mma takes no prologues"
#endif

/* An element's bits. */
#define mica_bits_f32(p, i) as_uint((p)[i])
#define mica_bits_f16(p, i) ((uint)((__global const ushort *)(p))[i])
#define mica_bits_bf16(p, i) ((uint)(p)[i])
#define mica_bits_i8(p, i) ((uint)(uchar)(p)[i])
#define BITS(p, i) MICA_PASTE(mica_bits_, MMA_T)(p, i)

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

/* A step of both operands. */
#define FILL(to_a, to_b, step)                                                                                         \
  {                                                                                                                    \
    const int k0 = (step)*TILE_K;                                                                                      \
    COPY(A, to_a, row0, M, A_row, A_col)                                                                               \
    COPY(B, to_b, col0, N, B_col, B_row)                                                                               \
  }

__kernel __attribute__((reqd_work_group_size(THREADS, 1, 1))) void gemm_mma(const int batches, OPERAND_PARAMS,
                                                                            EPILOGUE_PARAMS) {
  MMA_TILE_VARIABLES
  const int tiles_m = (M + TILE_M - 1) / TILE_M, tiles_n = (N + TILE_N - 1) / TILE_N, steps = (K + TILE_K - 1) / TILE_K;
  const long group = (long)get_group_id(0), batch = group / tiles_n / tiles_m;
  const int row0 = (int)(group % tiles_m) * TILE_M, col0 = (int)(group / tiles_m % tiles_n) * TILE_N;
  __global const STORAGE(A_T) *A_matrix = A + A_at + batch * A_batch;
  __global const STORAGE(B_T) *B_matrix = B + B_at + batch * B_batch;

  MMA_TILE_LOOP(steps, FILL)

#pragma unroll
  for (int i = 0; i < WARP_M / 16; i++) {
#pragma unroll
    for (int j = 0; j < WARP_N / 8; j++) {
#pragma unroll
      for (int e = 0; e < 4; e++) {
        const long row = row0 + MMA_TILE_ROW(i, e), col = col0 + MMA_TILE_COL(j, e);
        if (row < M && col < N) FINISH(1, sums[i][j][e], batch, row, col);
      }
    }
  }
}
