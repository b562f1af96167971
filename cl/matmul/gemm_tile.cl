/* matmul/gemm_tile.cl: D[M,N] = act(alpha op(A) op(B) + beta C + bias) for the CPU class.
 *
 * One work-item is one work-group. It owns MB rows by NB columns of D, which it computes in register tiles of MR rows
 * by NV vectors of VW columns: at each k, NV vectors of B and MR broadcast elements of A give MR * NV multiply-adds.
 * K is cut twice: into KA, so that MB x KA elements of A stay in the second level cache, and into KC, so that KC x NR
 * of B stay in the first. Between blocks of K the sums wait in P.
 *
 * A_FORM and B_FORM say how an operand reaches the registers:
 *   1 ROWS       read in place; for A adjacent along k (A_col is 1), for B adjacent along columns (B_col is 1, N >= VW)
 *   2 COLS       A only: read in place, adjacent along rows (A_row is 1, M >= MR)
 *   3 PACK       copied into local memory by the work-group, in the order of use; any strides, any type
 *   4 PREPACKED  packed before, in the order in which PACK would, as float; X_at is the place in that buffer. For
 *                weights that do not change; no launch makes such a buffer yet
 * In place pays where the operand is small or used few times; prologues need PACK.
 *
 * Sums are float. For i8 and u8 the products are added exactly in float, of which 1024 fit (KC <= 1024; u8: 258), and
 * blocks of K are added as integers (ACC_T i32).
 *
 * Every argument costs PoCL an allocation in one thread and a release in another, so what can travel together does:
 *   size    M N K MB NB KC splits KA
 *   stride  A_row A_col A_batch B_row B_col B_batch P_row P_batch
 * With PLAIN 1, D is written as it is: alpha 1, beta 0, no bias, no activation; P is D.
 * With splits > 1 each part of K gets its own work-groups and P is [splits][batches][M][N], to be added by gemm_splitk.
 * P may be D where D has P's type and C is not D.
 *
 * NDRange: ceil(M / MB), ceil(N / NB), batches * splits; work-group (1, 1, 1). scratch: MB rounded up to MR, times KA
 * elements of A (MR counts as MRP) if that is packed, and KC * NR of B likewise; one float at least. */
#include "common/epilogue.clh"

#ifndef MR /* rows of a register tile */
#define MR 8
#endif
#ifndef NV /* vectors in a row of a register tile */
#define NV 2
#endif
#ifndef VW /* elements of a vector */
#define VW 16
#endif
#ifndef A_FORM
#define A_FORM 3
#endif
#ifndef B_FORM
#define B_FORM 3
#endif
#ifndef PLAIN /* 1: D is the bare product */
#define PLAIN 0
#endif
#ifndef A_T
#define A_T f32
#endif
#ifndef B_T
#define B_T f32
#endif

#define ROWS 1
#define COLS 2
#define PACK 3
#define PREPACKED 4

#if (HAS_PROLOGUE_A && A_FORM != PACK) || (HAS_PROLOGUE_B && B_FORM != PACK)
#error "a prologue needs PACK"
#endif

#define NR (NV * VW)
#if MR > 8 /* rows of a packed panel: MR, padded to a power of two */
#define MRP 16
#elif MR > 4
#define MRP 8
#elif MR > 2
#define MRP 4
#else
#define MRP MR
#endif

#define UNROLL _Pragma("unroll")
#define V COMPUTEV(f32, VW)
#define READ_A(n, p, i) MICA_AS(float, n, LOADV(A_T, n, p, i))
#define READ_B(n, p, i) MICA_AS(float, n, LOADV(B_T, n, p, i))

/* Hints to fetch a line that will be read, or written, soon; nothing where the compiler has none. */
#if defined(__has_builtin)
#if __has_builtin(__builtin_prefetch)
#define PREFETCH_READ(p) __builtin_prefetch((const __global void *)(p), 0, 3)
#define PREFETCH_WRITE(p) __builtin_prefetch((const __global void *)(p), 1, 3)
#endif
#endif
#ifndef PREFETCH_READ
#define PREFETCH_READ(p)
#define PREFETCH_WRITE(p)
#endif

/* What A_FORM and B_FORM mean inside a tile: the operand's type, its element i or vector v at k, the step to k + 1. */
#if A_FORM == ROWS
#define A_PANEL __global const STORAGE(A_T) *const *
#define A_ELEMENT(i) READ_A(1, a[i], k)
#define A_STEP
#elif A_FORM == COLS
#define A_PANEL __global const STORAGE(A_T) *
#define A_ELEMENT(i) READ_A(1, a, i)
#define A_STEP a += a_step
#elif A_FORM == PACK
#define A_PANEL __local const float *
#define A_ELEMENT(i) a[i]
#define A_STEP a += MRP
#else
#define A_PANEL __global const float *
#define A_ELEMENT(i) a[i]
#define A_STEP a += MRP
#endif
#if B_FORM == ROWS
#define B_PANEL __global const STORAGE(B_T) *
#define B_VECTOR(v) READ_B(VW, b, (v)*VW)
#define B_STEP                                                                                                         \
  PREFETCH_READ(b + NR);                                                                                               \
  b += b_step
#elif B_FORM == PACK
#define B_PANEL __local const float *
#define B_VECTOR(v) MICA_VLOAD(VW, b, (v)*VW)
#define B_STEP b += NR
#else
#define B_PANEL __global const float *
#define B_VECTOR(v) MICA_VLOAD(VW, b, (v)*VW)
#define B_STEP b += NR
#endif

/* sums[i][v] = sum of A[i][k] B[k][v] over kc steps, in registers. */
#define DEFINE_TILE(nv)                                                                                                \
  static inline __attribute__((always_inline)) void tile_sum_##nv(V sums[MR][nv], A_PANEL a, long a_step, B_PANEL b,   \
                                                                  long b_step, int kc) {                               \
    UNROLL for (int i = 0; i < MR; i++) UNROLL for (int v = 0; v < nv; v++) sums[i][v] = (V)(0.0f);                    \
    for (int k = 0; k < kc; k++) {                                                                                     \
      V bv[nv];                                                                                                        \
      UNROLL for (int v = 0; v < nv; v++) bv[v] = B_VECTOR(v);                                                         \
      UNROLL for (int i = 0; i < MR; i++) {                                                                            \
        const V av = (V)(A_ELEMENT(i));                                                                                \
        UNROLL for (int v = 0; v < nv; v++) sums[i][v] = av * bv[v] + sums[i][v];                                      \
      }                                                                                                                \
      A_STEP;                                                                                                          \
      B_STEP;                                                                                                          \
    }                                                                                                                  \
  }
DEFINE_TILE(1)
#if NV > 1
#define DEFINE_TILE_OF(nv) DEFINE_TILE(nv)
DEFINE_TILE_OF(NV)
#endif

/* W adjacent columns leave: to P while blocks of K are to come, then to D. */
#define LEAVE(W, x, row, col)                                                                                          \
  do {                                                                                                                 \
    COMPUTEV(ACC_T, W) s_ = MICA_AS(COMPUTE(ACC_T), W, x);                                                             \
    const long p_ = P_at + get_group_id(2) * P_batch + (row)*P_row + (col);                                            \
    if (!(phase & FIRST)) s_ += MICA_VLOAD(W, P, p_);                                                                  \
    if (phase & LAST)                                                                                                  \
      FINISH(W, s_, z, (long)(row), col);                                                                              \
    else                                                                                                               \
      MICA_VSTORE(W, s_, P, p_);                                                                                       \
  } while (0)
#define FIRST 1
#define LAST 2

/* Sums NV vectors at column n and writes them: a bare product from the registers; with an epilogue by way of an array,
 * so that the epilogue is compiled once and not MR * NV times. */
#if PLAIN
#define LEAVE_ALL(sums, n)                                                                                             \
  UNROLL for (int i = 0; i < MR; i++) if (i >= row_begin && i < row_end) UNROLL for (int v = 0; v < NV; v++)           \
      LEAVE(VW, sums[i][v], m_tile + i, (n) + v * VW)
#else
#define LEAVE_ALL(sums, n)                                                                                             \
  float whole[MR][NR];                                                                                                 \
  UNROLL for (int i = 0; i < MR; i++) UNROLL for (int v = 0; v < NV; v++)                                              \
      MICA_VSTORE(VW, sums[i][v], whole[i], v *VW);                                                                    \
  for (int i = row_begin; i < row_end; i++)                                                                            \
    for (int j = 0; j < NR; j += VW) LEAVE(VW, MICA_VLOAD(VW, whole[i], j), m_tile + i, (n) + j)
#endif
#define FULL_TILE(b, n)                                                                                                \
  do {                                                                                                                 \
    V sums[MR][NV];                                                                                                    \
    UNROLL for (int i = 0; i < MR; i++) UNROLL for (int v = 0; v < NV; v++)                                            \
        PREFETCH_WRITE(D + D_at + z * D_batch + min(m_tile + i, M - 1) * D_row + (n) + v * VW);                        \
    MICA_PASTE(tile_sum_, NV)(sums, a, A_col, b, B_row, kc);                                                           \
    LEAVE_ALL(sums, n);                                                                                                \
  } while (0)

/* Sums one vector at column n and writes `count` lanes of it from lane `skip` on, in pieces that are powers of two. */
#define EDGE_TILE(b, n, skip, count)                                                                                   \
  do {                                                                                                                 \
    V sums[MR][1];                                                                                                     \
    float edge[MR][VW];                                                                                                \
    tile_sum_1(sums, a, A_col, b, B_row, kc);                                                                          \
    UNROLL for (int i = 0; i < MR; i++) MICA_VSTORE(VW, sums[i][0], edge[i], 0);                                       \
    for (int i = row_begin; i < row_end; i++) {                                                                        \
      int j = skip;                                                                                                    \
      EDGE_PIECE(VW, n, count)                                                                                         \
      EDGE_PIECE(8, n, count)                                                                                          \
      EDGE_PIECE(4, n, count)                                                                                          \
      EDGE_PIECE(2, n, count)                                                                                          \
      EDGE_PIECE(1, n, count)                                                                                          \
    }                                                                                                                  \
  } while (0)
#define EDGE_PIECE(W, n, count)                                                                                        \
  if (count - (j - skip) >= W) {                                                                                       \
    LEAVE(W, MICA_VLOAD(W, edge[i], j), m_tile + i, (n) + j);                                                          \
    j += W;                                                                                                            \
  }

#if A_FORM == PACK || B_FORM == PACK
/* x and y interleaved, x0 y0 x1 y1 ...: the lower and the upper half. */
static inline V zip_lower(V x, V y) {
  V r;
  r.even = x.lo;
  r.odd = y.lo;
  return r;
}
static inline V zip_upper(V x, V y) {
  V r;
  r.even = x.hi;
  r.odd = y.hi;
  return r;
}

/* Interleaves R vectors, R a power of two: element k of vector i moves to place k * R + i of the sequence. With R = VW
 * that is a transpose. */
#define INTERLEAVE(x, R)                                                                                               \
  UNROLL for (int s_ = 1; s_ < R; s_ *= 2) {                                                                           \
    V y_[R];                                                                                                           \
    UNROLL for (int i_ = 0; i_ < R / 2; i_++) {                                                                        \
      y_[2 * i_] = zip_lower(x[i_], x[i_ + R / 2]);                                                                    \
      y_[2 * i_ + 1] = zip_upper(x[i_], x[i_ + R / 2]);                                                                \
    }                                                                                                                  \
    UNROLL for (int i_ = 0; i_ < R; i_++) x[i_] = y_[i_];                                                              \
  }
#endif

#if A_FORM == PACK
/* Packs `rows` rows (in place of those past the end the last is repeated: they are never written) by kc columns into
 * to[k][MRP]. */
static void pack_a(__global const STORAGE(A_T) *a, long row, long col, int rows, int kc, __local float *to) {
#if MRP > 1
  if (col == 1 && kc >= VW) {
    __global const STORAGE(A_T) *ar[MRP];
    UNROLL for (int i = 0; i < MRP; i++) ar[i] = a + min(i, rows - 1) * row;
    for (int k = 0; k < kc; k += VW) {
      const int at = min(k, kc - VW);
      V x[MRP];
      UNROLL for (int i = 0; i < MRP; i++) x[i] = READ_A(VW, ar[i], at);
      INTERLEAVE(x, MRP)
      UNROLL for (int i = 0; i < MRP; i++) MICA_VSTORE(VW, x[i], to, at * MRP + i * VW);
    }
    return;
  }
#endif
  if (row == 1 && rows >= MRP)
    for (int k = 0; k < kc; k++) MICA_VSTORE(MRP, READ_A(MRP, a, k * col), to, k * MRP);
  else
    for (int k = 0; k < kc; k++)
      for (int i = 0; i < MRP; i++) to[k * MRP + i] = READ_A(1, a, min(i, rows - 1) * row + k * col);
}
#endif

#if B_FORM == PACK
#define AHEAD 16 /* rows of B that are fetched before they are needed */

/* Packs kc rows by `cols` columns into to[k][NR]; what lies beyond cols is never written to D. `readable` is how many
 * elements, from b on, belong to the matrix: within them a vector may be read past the last column. */
static void pack_b(__global const STORAGE(B_T) *b, long row, long col, int cols, int kc, long readable,
                   __local float *to) {
  if (col == 1) {
    int k = 0;
    for (; cols == NR && k < kc; k++) {
      UNROLL for (int v = 0; v < NV; v++) {
        PREFETCH_READ(b + (k + AHEAD) * row + v * VW);
        MICA_VSTORE(VW, READ_B(VW, b, k * row + v * VW), to, k * NR + v * VW);
      }
    }
    for (; k < kc; k++)
      for (int v = 0; v < cols; v += VW) {
        if (k * row + v + VW <= readable)
          MICA_VSTORE(VW, READ_B(VW, b, k * row + v), to, k * NR + v);
        else
          for (int j = v; j < min(cols, v + VW); j++) to[k * NR + j] = READ_B(1, b, k * row + j);
      }
  } else if (row == 1 && kc >= VW) {
    for (int v = 0; v < cols; v += VW) {
      __global const STORAGE(B_T) *br[VW];
      UNROLL for (int j = 0; j < VW; j++) br[j] = b + min(v + j, cols - 1) * col;
      for (int k = 0; k < kc; k += VW) {
        const int at = min(k, kc - VW);
        V x[VW];
        UNROLL for (int j = 0; j < VW; j++) x[j] = READ_B(VW, br[j], at);
        INTERLEAVE(x, VW)
        UNROLL for (int j = 0; j < VW; j++) MICA_VSTORE(VW, x[j], to, (at + j) * NR + v);
      }
    }
  } else {
    for (int k = 0; k < kc; k++)
      for (int j = 0; j < cols; j++) to[k * NR + j] = READ_B(1, b, k * row + j * col);
  }
}
#endif

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
gemm_tile(__global const STORAGE(A_T) *A, const long A_at, __global const STORAGE(B_T) *B, const long B_at,
          const int8 size, const long8 stride, __local float *scratch,
#if PLAIN
          __global float *D, const long D_at) {
  const float alpha = 1, beta = 0, act_arg = 0;
  const long D_row = stride.s6, D_batch = stride.s7, C_row = 0, C_batch = 0, C_at = 0, bias_at = 0;
  __global float *P = D, *C = D, *bias = D;
  const long P_at = D_at;
#else
          __global COMPUTE(ACC_T) * P, const long P_at, EPILOGUE_PARAMS) {
#endif
  const int M = size.s0, N = size.s1, K = size.s2, MB = size.s3, NB = size.s4, KC = size.s5, splits = size.s6,
            KA = size.s7;
  const long A_row = stride.s0, A_col = stride.s1, A_batch = stride.s2, B_row = stride.s3, B_col = stride.s4,
             B_batch = stride.s5, P_row = stride.s6, P_batch = stride.s7;
  const int batches = get_num_groups(2) / splits, z = get_group_id(2) % batches, split = get_group_id(2) / batches;
  const int per_split = K / splits + (K % splits != 0);
  const int k_begin = min((long)K, (long)split * per_split), k_end = min((long)K, (long)k_begin + per_split);
  const int m_begin = get_group_id(0) * MB, m_end = min(M, m_begin + MB);
  const int n_begin = get_group_id(1) * NB, n_end = min(N, n_begin + NB);
  A += A_at + z * A_batch;
  B += B_at + z * B_batch;
#if A_FORM == PACK
  __local float *a_packed = scratch;
  scratch += (MB + MR - 1) / MR * MRP * KA;
#endif
  int ka = k_begin;
  do {
    const int ka_end = min(ka + KA, k_end);
#if A_FORM == PACK
    for (int m = m_begin; m < m_end; m += MR) {
      __local float *to = a_packed + (m - m_begin) / MR * MRP * KA;
      pack_a(A + m * A_row + ka * A_col, A_row, A_col, min(MR, m_end - m), ka_end - ka, to);
#if HAS_PROLOGUE_A
      for (int k = ka; k < ka_end; k++)
        for (int i = 0; i < min(MR, m_end - m); i++)
          to[(k - ka) * MRP + i] = MICA_PROLOGUE_A(to[(k - ka) * MRP + i], z, m + i, k);
#endif
    }
#endif
    for (int n = n_begin; n < n_end; n += NR) {
      int k0 = ka;
      do {
        const int kc = min(KC, ka_end - k0);
        const int phase = (k0 == k_begin ? FIRST : 0) | (splits == 1 && k0 + kc >= k_end ? LAST : 0);
#if B_FORM == PREPACKED
        __global const float *b = B + (long)n * K + (long)k0 * NR;
#elif B_FORM == ROWS
        __global const STORAGE(B_T) *b = B + k0 * B_row + n;
#else
        __local const float *b = scratch;
        pack_b(B + k0 * B_row + n * B_col, B_row, B_col, min(NR, n_end - n), kc, (K - 1 - k0) * B_row + N - n, scratch);
#if HAS_PROLOGUE_B
        for (int k = 0; k < kc; k++)
          for (int j = 0; j < min(NR, n_end - n); j++)
            scratch[k * NR + j] = MICA_PROLOGUE_B(scratch[k * NR + j], z, k0 + k, n + j);
#endif
#endif
        for (int m = m_begin; m < m_end; m += MR) {
          int m_tile = m, row_begin = 0, row_end = min(MR, m_end - m);
#if A_FORM == PACK
          __local const float *a = a_packed + (m - m_begin) / MR * MRP * KA + (k0 - ka) * MRP;
#elif A_FORM == PREPACKED
          __global const float *a = A + (long)(m / MR) * MRP * K + (long)k0 * MRP;
#elif A_FORM == ROWS
          __global const STORAGE(A_T) * a[MR];
          UNROLL for (int i = 0; i < MR; i++) a[i] = A + min(m + i, M - 1) * A_row + k0;
#else
          /* A last tile that would reach past the matrix is moved back, and its first rows not written. */
          row_begin = max(0, m + MR - M);
          row_end += row_begin;
          m_tile -= row_begin;
          __global const STORAGE(A_T) *a = A + m_tile + k0 * A_col;
#endif
          if (n + NR <= n_end)
            FULL_TILE(b, n);
          else
            for (int v = n; v < n_end; v += VW) {
#if B_FORM == ROWS
              /* Likewise a last vector. */
              const int skip = max(0, v + VW - N), count = VW - skip;
#else
              const int skip = 0, count = min(VW, n_end - v);
#endif
              EDGE_TILE(b + (v - n) - skip, v - skip, skip, count);
            }
        }
        k0 += KC;
      } while (k0 < ka_end);
    }
    ka += KA;
  } while (ka < k_end);
}
