/* matmul/cpu/tile.cl: D[M,N] = act(alpha op(A) op(B) + beta C + bias) for the CPU class.
 *
 * A work-group, which has one work-item, computes MC rows by NC columns of D, in register tiles of MR rows by NV
 * vectors of VW columns. At each k, NV vectors of B and MR broadcast elements of A give MR * NV multiply-adds. K is
 * divided twice: into blocks of KA, so that MC x KA elements of A stay in the second level cache, and these into blocks
 * of KC, so that KC x NR elements of B stay in the first level cache. Between blocks of K the sums are stored in P, or
 * in D (EPILOGUE 1 and 2).
 *
 * A_FORM and B_FORM say how an operand gets to the registers:
 *   1 ROWS       read where it is. A must be adjacent along k (A_col is 1), B along columns (B_col is 1, N >= VW)
 *   2 COLS       only for A: read where it is, adjacent along rows (A_row is 1, M >= MR)
 *   3 PACK       the work-group copies it to local memory in the order of use; any strides and any type
 *   4 PREPACKED  gemm_pack packed it before, as floats in the order of PACK. Only the stride X_batch is used. It is for
 *                weights that do not change, and for a B that many work-groups would otherwise each pack
 * ROWS and COLS are faster if the operand is small or used few times. Prologues need PACK.
 *
 * BLOCK > 0, with PACK: B consists of quantized blocks of that type (blocks/block.clh), whose elements are adjacent
 * along k (B_row is 1) or along columns (B_col is 1), in rows of whole blocks. Blocks of K begin where blocks of B
 * begin. B_at and B_batch count bytes.
 *
 * Sums are float. For i8 and u8 they are exact up to 2^24, the sum of 1024 products of i8 or 258 products of u8; KC
 * must not be larger. The sums of blocks of K are then added as integers (ACC_T i32).
 *
 * PREFETCH 1: while tiles are multiplied, the next panel of B and the cache lines of D are prefetched. It is for a B
 * that is not in a near cache, in panels of more than one vector.
 *
 * EPILOGUE says what is computed besides the product, and so which arguments the kernel has:
 *   0   everything; the arguments are P, D, C and bias
 *   1   nothing; D is the product
 *   2   alpha is 1, beta is 0, and D itself holds the sums between blocks of K
 *
 * With splits > 1 each part of K has its own work-groups, and P is [splits][batches][M][N], which gemm_splitk adds up.
 * P may be D if K is a single block (P is then not used), or if D has the type of P and C is not D.
 *
 * NDRange: ceil(M / MC), ceil(N / NC), batches * splits; work-group (1, 1, 1). scratch, in floats: ceil(MC / MR) * MRP
 * * KA if A is packed, plus KC * NR if B is packed; at least one.
 *
 * A_T, B_T, D_T: types of A, B and D. */
#include "common/cpu/prefetch.clh"
#include "common/epilogue.clh"
#include "common/packed.clh"

#if EPILOGUE == 1
#define RESULT float
#else
#define RESULT STORAGE(D_T)
#endif
#define ROWS 1
#define COLS 2
#define PACK 3
#define PREPACKED 4

#if (HAS_PROLOGUE_A && A_FORM != PACK) || (HAS_PROLOGUE_B && B_FORM != PACK)
#error "a prologue needs PACK"
#endif
#if BLOCK && (B_FORM != PACK || PREFETCH || HAS_PROLOGUE_B)
#error "blocks are packed, and nothing else"
#endif
#if PREFETCH && (B_FORM == ROWS || NV == 1)
#error "panels are prefetched where there are some"
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

#define V vec
#define READ_A(n, p, i) MICA_AS(float, n, LOADV(A_T, n, p, i))
#define READ_B(n, p, i) MICA_AS(float, n, LOADV(B_T, n, p, i))

#include "matmul/cpu/micro.clh"

/* Stores W adjacent columns. Before the last block of K the sums are written to P; after the last block they are
 * finished with the epilogue and written to D. With EPILOGUE 1 all sums are written to D. */
#if EPILOGUE == 1
#define STORE_SUMS(W, x, row, col)                                                                                     \
  do {                                                                                                                 \
    COMPUTEV(f32, W) s_ = x;                                                                                           \
    const long p_ = D_at + group_z * D_batch + (row)*D_row + (col);                                                    \
    if (!(phase & FIRST)) s_ += LOADV(f32, W, D, p_);                                                                  \
    STOREV(f32, W, s_, D, p_);                                                                                         \
  } while (0)
#else
#define STORE_SUMS(W, x, row, col)                                                                                     \
  do {                                                                                                                 \
    COMPUTEV(ACC_T, W) s_ = MICA_AS(COMPUTE(ACC_T), W, x);                                                             \
    const long p_ = P_at + group_z * P_batch + (row)*P_row + (col);                                                    \
    if (!(phase & FIRST)) s_ += LOADV(ACC_T, W, P, p_);                                                                \
    if (phase & LAST)                                                                                                  \
      FINISH(W, s_, z, (long)(row), col);                                                                              \
    else                                                                                                               \
      STOREV(ACC_T, W, s_, P, p_);                                                                                     \
  } while (0)
#endif
#define FIRST 1
#define LAST 2

/* FULL_TILE computes and stores NV vectors of columns from column n on. Without an epilogue they are stored from
 * registers. With an epilogue they are copied to an array first, so that a loop can store them and the epilogue is
 * compiled once and not MR * NV times. */
#if EPILOGUE == 1
#define STORE_TILE(sums, n)                                                                                            \
  UNROLL for (int i = 0; i < MR; i++) if (i >= row_begin && i < row_end) UNROLL for (int v = 0; v < NV; v++)           \
      STORE_SUMS(VW, sums[i][v], m_tile + i, (n) + v * VW)
#else
#define STORE_TILE(sums, n)                                                                                            \
  V whole[MR][NV];                                                                                                     \
  TILE_EACH(MR, NV) whole[i][j] = sums[i][j];                                                                          \
  for (int i = row_begin; i < row_end; i++)                                                                            \
    for (int v = 0; v < NV; v++) STORE_SUMS(VW, whole[i][v], m_tile + i, (n) + v * VW)
#endif
#if PREFETCH
#define SUM_FULL(sums, b, n)                                                                                           \
  const int done = min((m - m_begin) / MR * PARTS, runs - 1);                                                          \
  const panel_prefetch ahead = {                                                                                       \
      next + done * stride, stride, runs - 1 - done, step, D + D_at + z * D_batch + m_tile * D_row + (n), D_row,       \
      M - 1 - m_tile};                                                                                                 \
  tile_sum_prefetching(sums, a, A_col, b, B_row, kc, ahead)
#else
#define SUM_FULL(sums, b, n)                                                                                           \
  UNROLL for (int i = 0; i < MR; i++) UNROLL for (int v = 0; v < NV; v++)                                              \
      PREFETCH_WRITE(D + D_at + z * D_batch + min(m_tile + i, M - 1) * D_row + (n) + v * VW);                          \
  MICA_PASTE(tile_sum_, NV)(sums, a, A_col, b, B_row, kc, far)
#endif
#define FULL_TILE(b, n)                                                                                                \
  do {                                                                                                                 \
    V sums[MR][NV];                                                                                                    \
    SUM_FULL(sums, b, n);                                                                                              \
    STORE_TILE(sums, n);                                                                                               \
  } while (0)

/* Computes one vector of columns from column n on, and stores `count` of its lanes, from lane `skip` on, in pieces
 * whose sizes are powers of two. */
#define EDGE_TILE(b, n, skip, count)                                                                                   \
  do {                                                                                                                 \
    V sums[MR][1], edge[MR];                                                                                           \
    int lane = skip;                                                                                                   \
    tile_sum_1(sums, a, A_col, b, B_row, kc, far);                                                                     \
    UNROLL for (int i = 0; i < MR; i++) edge[i] = sums[i][0];                                                          \
    STORE_LANES(VW, n, count)                                                                                          \
    STORE_LANES(8, n, count)                                                                                           \
    STORE_LANES(4, n, count)                                                                                           \
    STORE_LANES(2, n, count)                                                                                           \
    STORE_LANES(1, n, count)                                                                                           \
  } while (0)
#define STORE_LANES(W, n, count)                                                                                       \
  if (W == VW ? count == VW : W < VW && (count & W)) {                                                                 \
    for (int i = row_begin; i < row_end; i++)                                                                          \
      STORE_SUMS(W, MICA_VLOAD(W, (__private const float *)&edge[i], lane), m_tile + i, (n) + lane);                   \
    lane += W;                                                                                                         \
  }

#include "matmul/cpu/pack.clh"
#include "matmul/fields.clh"
#if BLOCK
#include "matmul/cpu/blocks.clh"
#define PACK_PANEL                                                                                                     \
  (B_row == 1 ? pack_blocks_along(B, n, min(NR, n_end - n), k0, kc, K, scratch)                                        \
              : pack_blocks_across(B, n, min(NR, n_end - n), k0, kc, N, scratch))
#else
#define PACK_PANEL                                                                                                     \
  pack_b(B + k0 * B_row + n * B_col, B_row, B_col, min(NR, n_end - n), kc, (K - 1 - k0) * B_row + N - n, scratch)
#endif

/* The buffers and values that EPILOGUE needs. */
#if EPILOGUE == 0
#define RESULTS                                                                                                        \
  __global COMPUTE(ACC_T) * P, __global RESULT *D, __global const STORAGE(D_T) * C,                                    \
      __global const STORAGE(BIAS_T) * bias
#define RESULT_NAMES P, D, C, bias
#define RESULT_FIELDS TILE_RESULTS
#define MICA_UNPACK_SCALAR_FIELD(name) const COMPUTE(EPI_T) name = UNPACK(EPI_T);
#define RESULT_NUMBERS
#elif EPILOGUE == 1
#define RESULTS __global RESULT *D
#define RESULT_NAMES D
#define RESULT_FIELDS TILE_RESULTS_PLAIN
#define RESULT_NUMBERS const long D_row = P_row, D_batch = P_batch
#else
#define RESULTS __global RESULT *D, __global const STORAGE(BIAS_T) * bias
#define RESULT_NAMES D, bias
#define RESULT_FIELDS TILE_RESULTS_BIASED
#define RESULT_NUMBERS                                                                                                 \
  const long D_row = P_row, D_batch = P_batch;                                                                         \
  const COMPUTE(EPI_T) alpha = 1, beta = 0;                                                                            \
  const long P_at = D_at, C_at = D_at, C_row = D_row, C_batch = D_batch;                                               \
  __global COMPUTE(ACC_T) *P = D;                                                                                      \
  __global const STORAGE(D_T) *C = D
#endif
#define FIELDS(X) TILE_OPERANDS(X) TILE_SIZES(X) RESULT_FIELDS(X)
DEFINE_PACKED_FIELDS(FIELDS);

#if A_FORM == PACK && HAS_PROLOGUE_A
static inline void apply_prologue_a(const int z, const int m_begin, const int m_end, const int k_begin, const int k_end,
                                    const int pitch, __local float *to) {
  for (int m = m_begin; m < m_end; m += MR, to += pitch)
    for (int k = k_begin; k < k_end; k++)
      for (int i = 0; i < min(MR, m_end - m); i++)
        to[(k - k_begin) * MRP + i] = MICA_PROLOGUE_A(to[(k - k_begin) * MRP + i], z, m + i, k);
}
#else
#define apply_prologue_a(z, m_begin, m_end, k_begin, k_end, pitch, to)
#endif
#if B_FORM == PACK && HAS_PROLOGUE_B
static inline void apply_prologue_b(const int z, const int k_begin, const int kc, const int n, const int columns,
                                    __local float *to) {
  for (int k = 0; k < kc; k++)
    for (int j = 0; j < columns; j++) to[k * NR + j] = MICA_PROLOGUE_B(to[k * NR + j], z, k_begin + k, n + j);
}
#else
#define apply_prologue_b(z, k_begin, kc, n, columns, to)
#endif

/* A_TILE declares a pointer to the tile's rows of A, and the rows row_begin .. row_end - 1 of the tile that are
 * stored. */
#define TILE_ROWS int m_tile = m, row_begin = 0, row_end = min(MR, m_end - m)
#if A_FORM == PACK
#define A_TILE                                                                                                         \
  TILE_ROWS;                                                                                                           \
  __local const float *a = a_packed + (m - m_begin) / MR * MRP * KA + (k0 - ka) * MRP
#elif A_FORM == PREPACKED
#define A_TILE                                                                                                         \
  TILE_ROWS;                                                                                                           \
  __global const float *a = A + (long)(m / MR) * MRP * K + (long)k0 * MRP
#elif A_FORM == ROWS
#define A_TILE                                                                                                         \
  TILE_ROWS;                                                                                                           \
  __global const STORAGE(A_T) * a[MR];                                                                                 \
  UNROLL for (int i = 0; i < MR; i++) a[i] = A + min(m + i, M - 1) * A_row + k0
#else
/* If the last tile would reach beyond the matrix, it is moved back, and its first rows, which were stored before, are
 * not stored again. */
#define A_TILE                                                                                                         \
  TILE_ROWS;                                                                                                           \
  row_begin = max(0, m + MR - M);                                                                                      \
  row_end += row_begin;                                                                                                \
  m_tile -= row_begin;                                                                                                 \
  __global const STORAGE(A_T) *a = A + m_tile + k0 * A_col
#endif

/* Computes the part of work-group (group_x, group_y, group_z); group_w is the number of work-groups along z. It is not
 * part of the kernel's body, because PoCL compiles the body of a kernel several times. Four numbers give faster code
 * than one int4. */
APART void multiply_group(__global const STORAGE(A_T) * A, __global const STORAGE(B_T) * B, __local float *scratch,
                          RESULTS, const mica_packed packed, const size_t group_x, const size_t group_y,
                          const size_t group_z, const size_t group_w) {
  UNPACK_FIELDS(FIELDS);
  RESULT_NUMBERS;
  const int batches = group_w / splits, z = group_z % batches, split = group_z / batches;
  const int per_split = K / splits + (K % splits != 0);
  const int k_begin = min((long)K, (long)split * per_split), k_end = min((long)K, (long)k_begin + per_split);
  const int m_begin = group_x * MC, m_end = min(M, m_begin + MC);
  const int n_begin = group_y * NC, n_end = min(N, n_begin + NC);
  A += A_at + z * A_batch;
  B += B_at + z * B_batch;
#if A_FORM == PACK
  __local float *a_packed = scratch;
  scratch += (MC + MR - 1) / MR * MRP * KA;
#endif
  int ka = k_begin;
  do {
    const int ka_end = min(ka + KA, k_end);
#if A_FORM == PACK
    pack_a(A + m_begin * A_row + ka * A_col, A_row, A_col, m_end - m_begin, M - m_begin, ka_end - ka, MRP * KA,
           a_packed);
    apply_prologue_a(z, m_begin, m_end, ka, ka_end, MRP * KA, a_packed);
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
        PACK_PANEL;
        apply_prologue_b(z, k0, kc, n, min(NR, n_end - n), scratch);
#endif
#if PREFETCH
#if B_FORM == PREPACKED
        B_SOURCE next = b + (long)kc * NR;
        const bool by_rows = true;
        const long stride = NR;
#else
        B_SOURCE next = B + (k0 + KC < ka_end ? (k0 + KC) * B_row + n * B_col : ka * B_row + (n + NR) * B_col);
        const bool by_rows = B_col == 1;
        const long stride = by_rows ? B_row : B_col;
#endif
        const int runs = by_rows ? kc : NR, step = by_rows ? (NR * PARTS + kc - 1) / kc : PARTS;
#endif
        for (int m = m_begin; m < m_end; m += MR) {
          l2_prefetch far = {b, 0, INT_MAX, NC / VW};
          PLAN_L2_PREFETCH
          A_TILE;
          if (n + NR <= n_end)
            FULL_TILE(b, n);
          else
            for (int v = n; v < n_end; v += VW) {
#if B_FORM == ROWS
              /* If the last vector would reach beyond the matrix, it is moved back, and its first lanes are not stored
               * again. */
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

CPU_KERNEL gemm_tile(__global const STORAGE(A_T) * A, __global const STORAGE(B_T) * B, __local float *scratch, RESULTS,
                     const mica_packed packed) {
  multiply_group(A, B, scratch, RESULT_NAMES, packed, get_group_id(0), get_group_id(1), get_group_id(2),
                 get_num_groups(2));
}
