/* matmul/mma/tile.cl: D = act(alpha op(A) op(B) + beta C + bias) on a GPU's matrix units, by the tiles of
 * common/mma/tile.clh. GPU class.
 *
 * The tiles in local memory (common/mma/tile.clh) are lying for operands that are adjacent along the outer index,
 * except i8. They are upright for operands that are adjacent along k, for i8, and for operands of other strides, which
 * are read element by element.
 *
 * A_T and B_T are both f32, f16, bf16 or i8. NVIDIA's units round f32 operands to tf32 (10 bits of mantissa), so the
 * host uses f32 only if the caller allows it. Prologues are not possible, because the bits are copied unchanged.
 *
 * NDRange: one dimension, THREADS * tiles of D * batches; work-group (THREADS). */
#define MMA_T A_T
#define A_LIES (A_LAYOUT == 2 && MMA_PER_WORD <= 2)
#define B_LIES (B_LAYOUT == 2 && MMA_PER_WORD <= 2)
#define COPIED_A WHOLE(A)
#define COPIED_B WHOLE(B)

/* With background copies there are enough registers for the fragments of two slices, in two cases: for 16-bit types,
 * and for tf32 unless both tiles are lying and are read word by word. */
#define BUFFERS (MMA_COPIES && (MMA_PER_WORD == 2 || (MMA_PER_WORD == 1 && !(A_LIES && B_LIES))) ? 2 : 1)

#include "common/mma/tile.clh"
#include "matmul/operands.clh"

#if HAS_PROLOGUE_A || HAS_PROLOGUE_B
#error "gemm_mma takes no prologues"
#endif

/* The bits of element i of p, as a uint. */
#define mica_bits_f32(p, i) as_uint((p)[i])
#define mica_bits_f16(p, i) ((uint)((__global const ushort *)(p))[i])
#define mica_bits_bf16(p, i) ((uint)(p)[i])
#define mica_bits_i8(p, i) ((uint)(uchar)(p)[i])
#define BITS(p, i) MICA_PASTE(mica_bits_, MMA_T)(p, i)

/* WHOLE: pieces of X are copied as a whole. Otherwise they are gathered element by element, in a loop that is not
 * unrolled, because the unrolled loop would spill registers. */
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

/* The first piece of a tile that a work-item copies begins at (FIRST_K, FIRST_OUTER). Its other pieces follow at
 * distances of APART, along k if the tile is lying, otherwise along the outer index. SPOT is the index of piece n in
 * the tile. */
#define APART(X) (LIES(X) ? THREADS / ACROSS(X) : THREADS / MMA_DEPTH)
#define FIRST_K(X) (LIES(X) ? item / ACROSS(X) : item % MMA_DEPTH * PIECE)
#define FIRST_OUTER(X) (LIES(X) ? item % ACROSS(X) * PIECE : item / MMA_DEPTH)
#define SPOT(X, n) (LIES(X) ? LYING(X, (n) / ACROSS(X), (n) % ACROSS(X)) : UPRIGHT((n) / MMA_DEPTH, (n) % MMA_DEPTH))

/* Declares, for this work-item and the next tile:
 *   X_k, X_outer   the indices of its first piece
 *   X_from         a pointer to this piece, which may be beyond the end of X
 *   X_apart        the number of elements from one piece to the next
 *   X_ahead        the number of elements from one tile to the next */
#define BEGIN(X, outer0, outer_stride, k_stride)                                                                       \
  int X##_k = FIRST_K(X);                                                                                              \
  const int X##_outer = (outer0) + FIRST_OUTER(X);                                                                     \
  const long X##_apart = APART(X) * (LIES(X) ? (k_stride) : (outer_stride));                                           \
  const long X##_ahead = LIES(X) ? TILE_K * (k_stride) : TILE_K;                                                       \
  __global const STORAGE(X##_T) *X##_from = X##_matrix + X##_outer * (WHOLE(X) && LIES(X) ? 1 : (outer_stride)) +      \
                                            X##_k * (WHOLE(X) && !LIES(X) ? 1 : (k_stride));

/* Begins to copy the next tile of X; pieces outside of X become zeros. `within` promises that the whole tile is inside.
 * Most tiles are, and without bounds checks a copy takes fewer instructions. */
#define COPY(X, tile, within, outer_end, outer_stride, k_stride)                                                       \
  UNROLL_##X for (int i = 0; i < TILE_##X * MMA_DEPTH / THREADS; i++) {                                                \
    const int outer = X##_outer + (LIES(X) ? 0 : i * APART(X)), k = X##_k + (LIES(X) ? i * APART(X) : 0);              \
    __local uint4 *to = (tile) + SPOT(X, (uint)item + i * THREADS);                                                    \
    if (WHOLE(X)) {                                                                                                    \
      const bool inside = within || (outer < (outer_end) && k < K);                                                    \
      MMA_COPY(SLOT_##X + i, to, MMA_COPIES || inside ? X##_from + i * X##_apart : X##_matrix, inside);                \
    } else {                                                                                                           \
      GATHER(X, to, outer, k, outer_end, outer_stride, k_stride)                                                       \
    }                                                                                                                  \
  }                                                                                                                    \
  X##_k += TILE_K;                                                                                                     \
  X##_from += X##_ahead;

/* Reads a piece element by element, along the outer index if the tile is lying, otherwise along k. Elements outside of
 * X become 0. */
#define GATHER(X, to, outer, k, outer_end, outer_stride, k_stride)                                                     \
  {                                                                                                                    \
    uint words[4];                                                                                                     \
    UNROLL_WORDS for (int j = 0; j < 4; j++) {                                                                         \
      uint word = 0;                                                                                                   \
      UNROLL_WORDS for (int e = 0; e < MMA_PER_WORD; e++) {                                                            \
        const int at = j * MMA_PER_WORD + e, o = (outer) + (LIES(X) ? at : 0), d = (k) + (LIES(X) ? 0 : at);           \
        if (o < (outer_end) && d < K)                                                                                  \
          word |= BITS(X##_matrix, o * (outer_stride) + d * (k_stride)) << (32 / MMA_PER_WORD * e % 32);               \
      }                                                                                                                \
      PUT_WORD(X, to, j, word);                                                                                        \
    }                                                                                                                  \
    PUT_WORDS(to);                                                                                                     \
  }
/* Units with few registers write each word as soon as it is read; others write the whole piece at once. */
#ifdef MMA_PUT_WORD
#define UNROLL_WORDS _Pragma("unroll 1")
#define PUT_WORD(X, to, j, word) MMA_PUT_WORD(X, to, j, word)
#define PUT_WORDS(to)
#else
#define UNROLL_WORDS _Pragma("unroll")
#define PUT_WORD(X, to, j, word) words[j] = word
#define PUT_WORDS(to) *(to) = vload4(0, words)
#endif

/* Begins to copy the tiles of a step, for both operands. */
#define FILL(to_a, to_b, step)                                                                                         \
  {                                                                                                                    \
    if (MMA_COPIES && whole && ((step) + 1) * TILE_K <= K) {                                                           \
      COPY(A, to_a, true, M, A_row, A_col)                                                                             \
      COPY(B, to_b, true, N, B_col, B_row)                                                                             \
    } else {                                                                                                           \
      COPY(A, to_a, false, M, A_row, A_col)                                                                            \
      COPY(B, to_b, false, N, B_col, B_row)                                                                            \
    }                                                                                                                  \
  }

__kernel MMA_SUBGROUP __attribute__((reqd_work_group_size(THREADS, 1, 1))) void gemm_mma(const int batches,
                                                                                         OPERAND_PARAMS,
                                                                                         EPILOGUE_PARAMS) {
  MMA_TILE_VARIABLES
  const int tiles_m = (M + TILE_M - 1) / TILE_M, tiles_n = (N + TILE_N - 1) / TILE_N, steps = (K + TILE_K - 1) / TILE_K;
  const long group = (long)get_group_id(0), batch = group / tiles_n / tiles_m;
  const int row0 = (int)(group % tiles_m) * TILE_M, col0 = (int)(group / tiles_m % tiles_n) * TILE_N;
  __global const STORAGE(A_T) *A_matrix = A + A_at + batch * A_batch;
  __global const STORAGE(B_T) *B_matrix = B + B_at + batch * B_batch;
  const bool whole = WHOLE(A) && WHOLE(B) && row0 + TILE_M <= M && col0 + TILE_N <= N;
  BEGIN(A, row0, A_row, A_col)
  BEGIN(B, col0, B_col, B_row)

  MMA_TILE_LOOP(steps, FILL)

  const bool aligned = (D_at | D_row | D_batch) % WIDE == 0 && (ulong)D % 16 == 0;
  UNROLL_EIGHTS for (int i = 0; i < WARP_M / 8; i++) {
    MMA_TILE_PUT(i)
#pragma unroll 1
    for (int n = lane; n < 8 * (WARP_N / WIDE); n += MMA_LANES) {
      const int r = n / (WARP_N / WIDE), c = n % (WARP_N / WIDE) * WIDE;
      const long row = row0 + row_warp + i * 8 + r, col = col0 + col_warp + c;
      if (row >= M) continue;
      if (aligned && col + WIDE <= N) {
        FINISH_BY(STORE_PIECE, WIDE, MICA_PASTE(SUMS_, WIDE)(r, c), batch, row, col);
        continue;
      }
#pragma unroll 1
      for (int e = 0; e < WIDE && col + e < N; e++) FINISH(1, *SUMS(1, r, c + e), batch, row, col + e);
    }
  }
}
