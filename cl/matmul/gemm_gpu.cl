/* matmul/gemm_gpu.cl: D = act(alpha op(A) op(B) + beta C + bias) by tiles through local memory. GPU class.
 *
 * A work-group of WG_M x WG_N work-items owns a tile of D, TILE_M = WG_M * MICRO_M rows by TILE_N = WG_N * MICRO_N
 * columns. It walks over k in steps of TILE_K: while the tiles of op(A) and op(B) for one step lie in local memory and
 * are multiplied, those of the next step are on their way into registers. A work-item's MICRO_M x MICRO_N elements are
 * strips of VEC rows and VEC columns, WG_M * VEC and WG_N * VEC apart, so that neighbours read neighbouring banks and
 * write neighbouring columns. Tiles lie in local memory as [k][row or column], however the operand lies in its own.
 *
 * Groups are numbered in one dimension: NDRange THREADS * tiles of D * batches (* splits), work-group (THREADS), where
 * SWIZZLE rows of tiles are walked together so that groups that run at the same time share operands in the cache.
 *
 * With SPLIT_K the sum over k is divided among `splits` groups, each of which writes what it has to P, an array
 * [splits][batches][M][N] of ACC_T; gemm_splitk.cl adds them in order. */
#include "matmul/operands.clh"

#ifndef WG_M /* work-items along the rows of a tile */
#define WG_M 16
#endif
#ifndef WG_N /* work-items along its columns */
#define WG_N 16
#endif
#ifndef MICRO_M /* rows a work-item computes */
#define MICRO_M 4
#endif
#ifndef MICRO_N /* columns a work-item computes */
#define MICRO_N 4
#endif
#ifndef TILE_K /* depth of a tile */
#define TILE_K 16
#endif
#ifndef VEC /* elements read and written together */
#define VEC 4
#endif
#ifndef PAD /* elements added to a row of a local tile against bank conflicts */
#define PAD 4
#endif
#ifndef BUFFERS /* local tiles an operand: 2 needs one barrier a step, 1 half the local memory */
#define BUFFERS 2
#endif
#ifndef SWIZZLE /* rows of tiles that are walked together */
#define SWIZZLE 8
#endif
#ifndef REQD_SUBGROUP /* work-items of an Intel thread, 0 the compiler's choice: few leave registers for each */
#define REQD_SUBGROUP 0
#endif
#ifndef SPLIT_K /* 1: write partial sums to P */
#define SPLIT_K 0
#endif

#define THREADS (WG_M * WG_N)
#define TILE_M (WG_M * MICRO_M)
#define TILE_N (WG_N * MICRO_N)
#define PITCH_A (TILE_M + PAD)
#define PITCH_B (TILE_N + PAD)
#define FETCHES_A (TILE_M * TILE_K / (THREADS * VEC))
#define FETCHES_B (TILE_N * TILE_K / (THREADS * VEC))

#if MICRO_M % VEC || MICRO_N % VEC || TILE_K % VEC || PAD % VEC
#error "MICRO_M, MICRO_N, TILE_K and PAD must be multiples of VEC"
#endif
#if FETCHES_A * THREADS * VEC != TILE_M * TILE_K || FETCHES_B * THREADS * VEC != TILE_N * TILE_K
#error "a tile must be a whole number of vectors for each work-item"
#endif

typedef COMPUTEV(ACC_T, VEC) vec_t;

#define PROLOGUE_OUTER_A(v, batch, outer, k) MICA_PROLOGUE_A(v, batch, outer, k)
#define PROLOGUE_OUTER_B(v, batch, outer, k) MICA_PROLOGUE_B(v, batch, k, outer)

/* A vector of a tile has lanes along k or along the outer index (row of A, column of B). Vector `index` starts at: */
#define ALONG_K(X) (X##_LAYOUT == 1)
#define TILE_OUTER(X, index) (ALONG_K(X) ? (index) / (TILE_K / VEC) : (index) % (TILE_##X / VEC) * VEC)
#define TILE_DEPTH(X, index) (ALONG_K(X) ? (index) % (TILE_K / VEC) * VEC : (index) / (TILE_##X / VEC))
#define TILE_A TILE_M
#define TILE_B TILE_N

/* Reads this work-item's share of the tile of X at (outer0, k0) into registers, zero outside the matrix X_matrix.
 * Vectors that lie inside and adjacent in memory are read whole. A macro, so that prologues see the kernel's names. */
#define FETCH(X, share, outer0, outer_end, outer_stride, k_stride)                                                     \
  _Pragma("unroll") for (int i = 0; i < FETCHES_##X; i++) {                                                            \
    const int index = item + i * THREADS, outer = (outer0) + TILE_OUTER(X, index), k = k0 + TILE_DEPTH(X, index);      \
    const int du = ALONG_K(X) ? 0 : 1, dk = ALONG_K(X) ? 1 : 0;                                                        \
    const bool whole = ((outer0) + TILE_##X <= (outer_end) && k0 + TILE_K <= k_end) ||                                 \
                       (outer + du * (VEC - 1) < (outer_end) && k + dk * (VEC - 1) < k_end);                           \
    acc_t lanes[VEC];                                                                                                  \
    if (X##_LAYOUT != 0 && whole) {                                                                                    \
      const vec_t vector = READ_VECTOR(X, VEC, X##_matrix, outer * (outer_stride) + k * (k_stride));                   \
      MICA_VSTORE(VEC, vector, lanes, 0);                                                                       \
      _Pragma("unroll") for (int j = 0; j < VEC; j++)                                                                  \
        lanes[j] = (acc_t)PROLOGUE_OUTER_##X(lanes[j], batch, outer + j * du, k + j * dk);                             \
    } else {                                                                                                           \
      _Pragma("unroll") for (int j = 0; j < VEC; j++) {                                                                \
        const int u = outer + j * du, d = k + j * dk;                                                                  \
        lanes[j] = 0;                                                                                                  \
        if (u < (outer_end) && d < k_end)                                                                              \
          lanes[j] = (acc_t)PROLOGUE_OUTER_##X(LOAD(X##_T, X##_matrix, u * (outer_stride) + d * (k_stride)), batch, u, \
                                               d);                                                                     \
      }                                                                                                                \
    }                                                                                                                  \
    share[i] = MICA_VLOAD(VEC, lanes, 0);                                                                       \
  }

/* Puts the share into the local tile. */
#define DEPOSIT(X, share, vectors)                                                                                     \
  _Pragma("unroll") for (int i = 0; i < FETCHES_##X; i++) {                                                            \
    const int index = item + i * THREADS, at = TILE_DEPTH(X, index) * PITCH_##X + TILE_OUTER(X, index);                \
    if (ALONG_K(X)) {                                                                                                  \
      acc_t lanes[VEC];                                                                                                \
      MICA_VSTORE(VEC, share[i], lanes, 0);                                                                     \
      _Pragma("unroll") for (int j = 0; j < VEC; j++)((__local acc_t *)(vectors))[at + j * PITCH_##X] = lanes[j];      \
    } else {                                                                                                           \
      (vectors)[at / VEC] = share[i];                                                                                  \
    }                                                                                                                  \
  }

/* sums += the product of two local tiles, for this work-item's strips. */
static inline void multiply_tiles(vec_t sums[MICRO_M][MICRO_N / VEC], __local const vec_t *a_tile,
                                  __local const vec_t *b_tile, const int m_item, const int n_item) {
#pragma unroll
  for (int k = 0; k < TILE_K; k++) {
    acc_t a[MICRO_M];
    vec_t b[MICRO_N / VEC];
#pragma unroll
    for (int i = 0; i < MICRO_M / VEC; i++)
      MICA_VSTORE(VEC, a_tile[k * (PITCH_A / VEC) + i * WG_M + m_item], a, i * VEC);
#pragma unroll
    for (int j = 0; j < MICRO_N / VEC; j++) b[j] = b_tile[k * (PITCH_B / VEC) + j * WG_N + n_item];
#pragma unroll
    for (int i = 0; i < MICRO_M; i++) {
#pragma unroll
      for (int j = 0; j < MICRO_N / VEC; j++) sums[i][j] = MAC((vec_t)(a[i]), b[j], sums[i][j]);
    }
  }
}

#if SPLIT_K
#define WRITE(n, sum, row, col) \
  MICA_VSTORE(n, sum, P, P_at + ((split * batches + batch) * M + (row)) * N + (col))
#else
#define WRITE(n, sum, row, col) FINISH(n, sum, batch, row, col)
#endif

#if REQD_SUBGROUP
__attribute__((intel_reqd_sub_group_size(REQD_SUBGROUP)))
#endif
__kernel __attribute__((reqd_work_group_size(THREADS, 1, 1))) void gemm_gpu(
    const int batches, OPERAND_PARAMS,
#if SPLIT_K
    const int splits, __global acc_t *restrict P, const long P_at MICA_FUSED_PARAMS
#else
    EPILOGUE_PARAMS
#endif
) {
  __local vec_t a_tiles[BUFFERS][TILE_K * PITCH_A / VEC], b_tiles[BUFFERS][TILE_K * PITCH_B / VEC];
  const int item = (int)get_local_id(0), n_item = item % WG_N, m_item = item / WG_N;

  const int tiles_m = (M + TILE_M - 1) / TILE_M, tiles_n = (N + TILE_N - 1) / TILE_N;
  const long tiles = (long)tiles_m * tiles_n, group = (long)get_group_id(0);
  const int tile = (int)(group % tiles), panel = tile / (SWIZZLE * tiles_n) * SWIZZLE;
  const int within = tile - panel * tiles_n, height = min(SWIZZLE, tiles_m - panel);
  const int row0 = (panel + within % height) * TILE_M, col0 = within / height * TILE_N;

#if SPLIT_K
  const long batch = group / tiles % batches, split = group / tiles / batches;
  const int steps_all = (K + TILE_K - 1) / TILE_K, share = (steps_all + splits - 1) / splits;
  const int k_begin = min((int)split * share, steps_all) * TILE_K, k_end = min(K, k_begin + share * TILE_K);
#else
  const long batch = group / tiles;
  const int k_begin = 0, k_end = K;
#endif
  const int steps = (k_end - k_begin + TILE_K - 1) / TILE_K;

  __global const STORAGE(A_T) *A_matrix = A + A_at + batch * A_batch;
  __global const STORAGE(B_T) *B_matrix = B + B_at + batch * B_batch;
  vec_t a_share[FETCHES_A], b_share[FETCHES_B], sums[MICRO_M][MICRO_N / VEC];
#pragma unroll
  for (int i = 0; i < MICRO_M; i++) {
#pragma unroll
    for (int j = 0; j < MICRO_N / VEC; j++) sums[i][j] = (vec_t)(0);
  }

  for (int step = 0; step <= steps; step++) {
    const int k0 = k_begin + step * TILE_K;
    if (step < steps) {
      FETCH(A, a_share, row0, M, A_row, A_col)
      FETCH(B, b_share, col0, N, B_col, B_row)
    }
    if (step > 0) {
      const int full = (step - 1) % BUFFERS;
      multiply_tiles(sums, a_tiles[full], b_tiles[full], m_item, n_item);
    }
#if BUFFERS == 1
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
    if (step < steps) {
      DEPOSIT(A, a_share, a_tiles[step % BUFFERS])
      DEPOSIT(B, b_share, b_tiles[step % BUFFERS])
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }

#pragma unroll
  for (int i = 0; i < MICRO_M; i++) {
    const long row = row0 + i / VEC * (WG_M * VEC) + m_item * VEC + i % VEC;
#pragma unroll
    for (int j = 0; j < MICRO_N / VEC; j++) {
      const long col = col0 + j * (WG_N * VEC) + n_item * VEC;
      if (row < M && col + VEC <= N) {
        WRITE(VEC, sums[i][j], row, col);
      } else if (row < M) {
        acc_t lanes[VEC];
        MICA_VSTORE(VEC, sums[i][j], lanes, 0);
#pragma unroll
        for (int l = 0; l < VEC; l++)
          if (col + l < N) WRITE(1, lanes[l], row, col + l);
      }
    }
  }
}
