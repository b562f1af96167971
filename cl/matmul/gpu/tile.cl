/* matmul/gpu/tile.cl: D = act(alpha op(A) op(B) + beta C + bias) by tiles through local memory. GPU class.
 *
 * A work-group computes a tile of D (common/gpu/local_tile.clh). It loops over k in steps of TILE_K as a software
 * pipeline:
 *
 *   prologue   copies the tiles of op(A) and op(B) of the first step to local memory, element by element and with
 *              checks of bounds: the first step is the one that may have fewer than TILE_K values of k
 *   loop       loads the tiles of the next step into registers, multiplies the tiles of this step, and writes the
 *              loaded tiles to local memory; one barrier
 *   epilogue   multiplies the tiles of the last step
 *
 * The loop has no branches: pointers advance, and rows and columns outside the matrix read the last one inside; their
 * sums are not written. (If there were branches, LLVM for AMD would wait for the loads before it multiplies.)
 *
 *   SWIZZLE         rows of tiles that are processed together: work-groups are numbered down SWIZZLE tiles before the
 *                   next column of tiles, so that groups that run at the same time share operands in the cache
 *   SPLIT_K         1: the sum over k is divided among `splits` groups, which write their sums to P, an array
 *                   [splits][batches][M][N] of ACC_T; matmul/gpu/splitk.cl adds them in order
 *   REQD_SUBGROUP   the sub-group size on Intel GPUs; 0: the compiler chooses
 *
 * NDRange: one dimension, THREADS * tiles of D * batches (* splits); work-group (THREADS). */
#include "matmul/operands.clh"

#include "common/gpu/local_tile.clh"

#define FETCHES_A (TILE_M * TILE_K / (THREADS * VEC))
#define FETCHES_B (TILE_N * TILE_K / (THREADS * VEC))

/* The variable `name` that belongs to operand X. */
#define OF(X, name) MICA_PASTE(X, _##name)

#define PROLOGUE_OUTER_A(v, batch, outer, k) MICA_PROLOGUE_A(v, batch, outer, k)
#define PROLOGUE_OUTER_B(v, batch, outer, k) MICA_PROLOGUE_B(v, batch, k, outer)

/* The lanes of a vector of a tile are along k (ALONG_K) or along the outer index (row of A, column of B). Work-item
 * `item` reads FETCHES_X vectors. The first one is at (TILE_OUTER, TILE_DEPTH) of the tile; each further one is
 * OUTER_STEP and DEPTH_STEP further. */
#define ALONG_K(X) (X##_LAYOUT == 1)
#define OUTERS_A TILE_M
#define OUTERS_B TILE_N
#define ACROSS(X) (ALONG_K(X) ? TILE_K / VEC : OUTERS_##X / VEC)
#define TILE_OUTER(X) (ALONG_K(X) ? item / ACROSS(X) : item % ACROSS(X) * VEC)
#define TILE_DEPTH(X) (ALONG_K(X) ? item % ACROSS(X) * VEC : item / ACROSS(X))
#define OUTER_STEP(X) (ALONG_K(X) ? THREADS / ACROSS(X) : 0)
#define DEPTH_STEP(X) (ALONG_K(X) ? 0 : THREADS / ACROSS(X))
#if FETCHES_A * THREADS * VEC != TILE_M * TILE_K || FETCHES_B * THREADS * VEC != TILE_N * TILE_K ||                    \
    THREADS % ACROSS(A) || THREADS % ACROSS(B)
#error "a tile must be a whole number of vectors for each work-item, and a step of them whole rows"
#endif

/* True if the loop reads vectors of X as a whole and not lane by lane: always if they are along k; along the outer
 * index only if the matrix is aligned and its outer size is a multiple of VEC. */
#define WHOLE(X) (ALONG_K(X) || (X##_LAYOUT == 2 && X##_ALIGNED))

/* Declares a work-item's share of a tile of X: for each of its vectors, a pointer to its first element (from), the
 * outer index of this element (outer), and the largest lane along the outer index that is inside the matrix (last). */
#define SHARE(X, outer0, outer_end, outer_stride, k_stride)                                                            \
  __global const STORAGE(X##_T) * OF(X, from)[FETCHES_##X];                                                            \
  int OF(X, outer)[FETCHES_##X], OF(X, last)[FETCHES_##X];                                                             \
  vec_t OF(X, share)[FETCHES_##X];                                                                                     \
  UNROLL for (int i = 0; i < FETCHES_##X; i++) {                                                                       \
    const int outer = (outer0) + TILE_OUTER(X) + i * OUTER_STEP(X);                                                    \
    OF(X, outer)[i] = min(outer, (outer_end) - (WHOLE(X) && !ALONG_K(X) ? VEC : 1));                                   \
    OF(X, last)[i] = min((outer_end)-1 - OF(X, outer)[i], VEC - 1);                                                    \
    OF(X, from)                                                                                                        \
    [i] = &(X)[OF(X, at) + batch * OF(X, batch) + OF(X, outer)[i] * (outer_stride) +                                   \
               (k_begin + TILE_DEPTH(X) + i * DEPTH_STEP(X)) * (k_stride)];                                            \
  }

/* Reads this work-item's share of the step at k0, whose k are all inside the matrix, and advances to the next step. It
 * is a macro and not a function, so that prologues can use the kernel's variables. */
#define FETCH(X, outer_stride, k_stride)                                                                               \
  UNROLL for (int i = 0; i < FETCHES_##X; i++) {                                                                       \
    if (WHOLE(X)) {                                                                                                    \
      OF(X, share)[i] = READ_VECTOR(X, VEC, OF(X, from)[i], 0);                                                        \
    } else {                                                                                                           \
      acc_t lanes[VEC];                                                                                                \
      UNROLL for (int j = 0; j < VEC; j++) lanes[j] =                                                                  \
          (acc_t)LOAD(X##_T, OF(X, from)[i], min(j, OF(X, last)[i]) * (outer_stride));                                 \
      OF(X, share)[i] = MICA_VLOAD(VEC, lanes, 0);                                                                     \
    }                                                                                                                  \
    if (HAS_PROLOGUE_##X) {                                                                                            \
      const int k = k0 + TILE_DEPTH(X) + i * DEPTH_STEP(X);                                                            \
      acc_t lanes[VEC];                                                                                                \
      MICA_VSTORE(VEC, OF(X, share)[i], lanes, 0);                                                                     \
      UNROLL for (int j = 0; j < VEC; j++) lanes[j] = (acc_t)PROLOGUE_OUTER_##X(                                       \
          lanes[j], batch, OF(X, outer)[i] + (ALONG_K(X) ? 0 : min(j, OF(X, last)[i])), k + (ALONG_K(X) ? j : 0));     \
      OF(X, share)[i] = MICA_VLOAD(VEC, lanes, 0);                                                                     \
    }                                                                                                                  \
    OF(X, from)[i] += TILE_K * (k_stride);                                                                             \
  }

/* Reads this work-item's share of the first step, which has `first` <= TILE_K values of k; elements after them are
 * 0. */
#define FETCH_FIRST(X, outer_stride, k_stride)                                                                         \
  UNROLL for (int i = 0; i < FETCHES_##X; i++) {                                                                       \
    const int k = TILE_DEPTH(X) + i * DEPTH_STEP(X);                                                                   \
    acc_t lanes[VEC];                                                                                                  \
    UNROLL for (int j = 0; j < VEC; j++) {                                                                             \
      const int u = ALONG_K(X) ? 0 : min(j, OF(X, last)[i]), d = ALONG_K(X) ? j : 0;                                   \
      lanes[j] = 0;                                                                                                    \
      if (k + d < first)                                                                                               \
        lanes[j] = (acc_t)PROLOGUE_OUTER_##X(LOAD(X##_T, OF(X, from)[i], u * (outer_stride) + d * (k_stride)), batch,  \
                                             OF(X, outer)[i] + u, k_begin + k + d);                                    \
    }                                                                                                                  \
    OF(X, share)[i] = MICA_VLOAD(VEC, lanes, 0);                                                                       \
    OF(X, from)[i] += first * (k_stride);                                                                              \
  }

/* Writes this work-item's share to the tile in local memory; vectors along k are transposed. */
#define DEPOSIT(X, tile)                                                                                               \
  UNROLL for (int i = 0; i < FETCHES_##X; i++) {                                                                       \
    const int at = TILE_OUTER(X) + TILE_DEPTH(X) * PITCH_##X + i * (OUTER_STEP(X) + DEPTH_STEP(X) * PITCH_##X);        \
    if (ALONG_K(X)) {                                                                                                  \
      acc_t lanes[VEC];                                                                                                \
      MICA_VSTORE(VEC, OF(X, share)[i], lanes, 0);                                                                     \
      UNROLL for (int j = 0; j < VEC; j++)((__local acc_t *)(tile))[at + j * PITCH_##X] = lanes[j];                    \
    } else {                                                                                                           \
      (tile)[at / VEC] = OF(X, share)[i];                                                                              \
    }                                                                                                                  \
  }

#define FETCH_TILES(which)                                                                                             \
  FETCH(A, A_row, A_col)                                                                                               \
  FETCH(B, B_col, B_row)
#define DEPOSIT_TILES(which)                                                                                           \
  DEPOSIT(A, a_tiles[which])                                                                                           \
  DEPOSIT(B, b_tiles[which])                                                                                           \
  barrier(CLK_LOCAL_MEM_FENCE);

#if SPLIT_K
#define WRITE(n, sum, row, col) MICA_VSTORE(n, sum, P, P_at + ((split * batches + batch) * M + (row)) * N + (col))
#else
#define WRITE(n, sum, row, col) FINISH(n, sum, batch, row, col)
#endif

#if REQD_SUBGROUP
__attribute__((intel_reqd_sub_group_size(REQD_SUBGROUP)))
#endif
__kernel __attribute__((reqd_work_group_size(THREADS, 1, 1))) void
gemm_gpu(const int batches, OPERAND_PARAMS,
#if SPLIT_K
         const int splits, __global acc_t *restrict P, const long P_at MICA_FUSED_PARAMS
#else
         EPILOGUE_PARAMS
#endif
) {
  __local vec_t a_tiles[2][TILE_K * PITCH_A / VEC], b_tiles[2][TILE_K * PITCH_B / VEC];
  const int item = (int)get_local_id(0), m_item = M_ITEM(item), n_item = N_ITEM(item);

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
  const int depth = k_end - k_begin, steps = (depth + TILE_K - 1) / TILE_K;
  const int first = steps > 0 ? depth - (steps - 1) * TILE_K : 0;

  SHARE(A, row0, M, A_row, A_col)
  SHARE(B, col0, N, B_col, B_row)
  FETCH_FIRST(A, A_row, A_col)
  FETCH_FIRST(B, B_col, B_row)
  DEPOSIT_TILES(0)
  vec_t sums[MICRO_M][MICRO_N / VEC];
  TILE_PIPELINE(k_begin + first, k_end, depth > 0, FETCH_TILES, DEPOSIT_TILES)

  UNROLL for (int i = 0; i < MICRO_M; i++) {
    const long row = row0 + TILE_ROW(i);
    UNROLL for (int j = 0; j < MICRO_N / VEC; j++) {
      const long col = col0 + TILE_COLUMNS(j);
      if (row < M && col + VEC <= N) {
        WRITE(VEC, sums[i][j], row, col);
      } else if (row < M) {
        acc_t lanes[VEC];
        MICA_VSTORE(VEC, sums[i][j], lanes, 0);
        UNROLL for (int l = 0; l < VEC; l++) if (col + l < N) WRITE(1, lanes[l], row, col + l);
      }
    }
  }
}
