/* conv/gpu/implicit_gemm.cl: a convolution's three passes as products of implicit matrices, by tiles through local
 * memory. GPU class.
 *
 *   PASS            0 forward                      1 backward data               2 backward filter
 *   rows M          filters of a group             channels of a group           filters of a group
 *   columns         output pixels of all images    input pixels of all images    channels and taps of a filter
 *   depth           channels and taps              filters and taps              output pixels of all images
 *   A[row][depth]   w                              w                             y
 *   B[depth][col]   x that the tap reads           y that reads it by the tap    x that the tap reads
 *
 * A work-group of WG_M x WG_N work-items owns TILE_M = WG_M * MICRO rows by TILE_N = WG_N * MICRO columns and walks
 * over the depth in steps of TILE_K: while one step's tiles lie in local memory and are multiplied, the next step's
 * elements are on their way into registers. A work-item reads elements of one row of A or column of B alone, so that
 * the position of that column is computed once.
 *
 * NDRange: WG_M WG_N * tiles of rows * tiles of columns, groups of the convolution, 1; work-group (WG_M WG_N, 1, 1). */
#include "common/epilogue.clh"
#include "conv/problem.clh"

#ifndef PASS
#define PASS 0
#endif
#ifndef TAPS /* taps in height and width, depth 1: 1 or 3, so that divisions by them cost little; 0 any filter */
#define TAPS 0
#endif
#ifndef WG_M /* work-items along the rows of a tile */
#define WG_M 16
#endif
#ifndef WG_N /* work-items along its columns */
#define WG_N 16
#endif
#ifndef MICRO /* rows and columns that a work-item computes, in steps of WG_M and WG_N */
#define MICRO 4
#endif
#ifndef TILE_K /* depth of a tile */
#define TILE_K 16
#endif

#ifndef REQD_SUBGROUP /* work-items of an Intel thread, 0 the compiler's choice: few leave registers for each */
#define REQD_SUBGROUP 0
#endif

#define THREADS (WG_M * WG_N)
#define TILE_M (WG_M * MICRO)
#define TILE_N (WG_N * MICRO)
#define FETCHES_A (TILE_M * TILE_K / THREADS)
#define FETCHES_B (TILE_N * TILE_K / THREADS)
#define UNROLL _Pragma("unroll")

typedef COMPUTE(ACC_T) acc_t;

/* CONV_UNPACK, with what TAPS says known to the compiler. */
#if TAPS
#define UNPACK                                                                                                         \
  CONV_UNPACK                                                                                                          \
  const int T0 = 1, T1 = TAPS, T2 = TAPS;
#else
#define UNPACK                                                                                                         \
  CONV_UNPACK                                                                                                          \
  const int T0 = R0, T1 = R1, T2 = R2;
#endif
#define PROBLEM conv_size, conv_extent, conv_step

/* A position in a tensor: its image or filter, its depth, height and width. */
typedef struct position {
  int n, p0, p1, p2;
} position;

static inline position position_of(const int index, const int e0, const int e1, const int e2) {
  position p;
  const int row = index / e2, plane = row / e1;
  p.p2 = index - row * e2;
  p.p1 = row - plane * e1;
  p.n = plane / e0;
  p.p0 = plane - p.n * e0;
  return p;
}

/* The output coordinate that reads input coordinate `at` - PA + r DI by tap r; -1 for none. */
static inline int output_of(const int at, const int stride, const int extent) {
  const int o = at / stride;
  return at >= 0 && o * stride == at && o < extent ? o : -1;
}

/* x_at: the x that output o reads by tap t of channel t.n; y_at: the y that reads input i by tap t of filter t.n; 0 for
 * none. */
static inline acc_t x_at(CONV_PARAMS, __global const STORAGE(D_T) * X, const long g, const position o,
                         const position t) {
  UNPACK
  const int i0 = o.p0 * ST0 - PA0 + t.p0 * DI0, i1 = o.p1 * ST1 - PA1 + t.p1 * DI1, i2 = o.p2 * ST2 - PA2 + t.p2 * DI2;
  if (i0 < 0 || i0 >= I0 || i1 < 0 || i1 >= I1 || i2 < 0 || i2 >= I2) return 0;
  return (acc_t)LOAD(D_T, X, ((((long)o.n * G + g) * CG + t.n) * I0 + i0) * I1 * I2 + (long)i1 * I2 + i2);
}
static inline acc_t y_at(CONV_PARAMS, __global const STORAGE(D_T) * Y, const long g, const position i,
                         const position t) {
  UNPACK
  const int o0 = output_of(i.p0 + PA0 - t.p0 * DI0, ST0, O0), o1 = output_of(i.p1 + PA1 - t.p1 * DI1, ST1, O1);
  const int o2 = output_of(i.p2 + PA2 - t.p2 * DI2, ST2, O2);
  if (o0 < 0 || o1 < 0 || o2 < 0) return 0;
  return (acc_t)LOAD(D_T, Y, ((((long)i.n * G + g) * KG + t.n) * O0 + o0) * O1 * O2 + (long)o1 * O2 + o2);
}

/* A[row][k], inside the matrix. */
static inline acc_t a_at(CONV_PARAMS, __global const STORAGE(D_T) * A, const long g, const int row, const int k) {
  UNPACK
  const int taps = T0 * T1 * T2;
#if PASS == 0
  return (acc_t)LOAD(D_T, A, (g * KG + row) * CG * taps + k);
#elif PASS == 1
  const int filter = k / taps;
  return (acc_t)LOAD(D_T, A, ((g * KG + filter) * CG + row) * taps + k - filter * taps);
#else
  const int pixels = O0 * O1 * O2, n = k / pixels;
  return (acc_t)LOAD(D_T, A, (((long)n * G + g) * KG + row) * pixels + k - n * pixels);
#endif
}

/* B[k][column], the column given as a position. */
static inline acc_t b_at(CONV_PARAMS, __global const STORAGE(D_T) * B, const long g, const int k,
                         const position column) {
  UNPACK
#if PASS == 0
  return x_at(PROBLEM, B, g, column, position_of(k, T0, T1, T2));
#elif PASS == 1
  return y_at(PROBLEM, B, g, column, position_of(k, T0, T1, T2));
#else
  return x_at(PROBLEM, B, g, position_of(k, O0, O1, O2), column);
#endif
}

#if REQD_SUBGROUP
__attribute__((intel_reqd_sub_group_size(REQD_SUBGROUP)))
#endif
__kernel __attribute__((reqd_work_group_size(THREADS, 1, 1))) void
conv_gpu_implicit_gemm(CONV_PARAMS, __global const STORAGE(D_T) *restrict A, const long A_at,
                       __global const STORAGE(D_T) *restrict B, const long B_at, EPILOGUE_PARAMS) {
  UNPACK
  __local acc_t a_tile[TILE_K][TILE_M + 1], b_tile[TILE_K][TILE_N];
  const int item = (int)get_local_id(0), m_item = item / WG_N, n_item = item % WG_N;
  const int taps = T0 * T1 * T2, outputs = O0 * O1 * O2, inputs = I0 * I1 * I2;
  const int M = PASS == 1 ? CG : KG, columns = PASS == 0 ? N * outputs : PASS == 1 ? N * inputs : CG * taps;
  const int depth = PASS == 0 ? CG * taps : PASS == 1 ? KG * taps : N * outputs;
  const int tiles_n = (columns + TILE_N - 1) / TILE_N;
  const int row0 = (int)get_group_id(0) / tiles_n * TILE_M, col0 = (int)get_group_id(0) % tiles_n * TILE_N;
  const long g = (long)get_group_id(1);
  A += A_at;
  B += B_at;

  /* This work-item's share of a step: of A one k and every THREADS / TILE_K-th row, of B one column. */
  const int a_k = item % TILE_K, a_row = item / TILE_K, b_col = item % TILE_N, b_k = item / TILE_N;
#if PASS == 0
  const position column = position_of(col0 + b_col, O0, O1, O2);
#elif PASS == 1
  const position column = position_of(col0 + b_col, I0, I1, I2);
#else
  const position column = position_of(col0 + b_col, T0, T1, T2);
#endif
  acc_t a_share[FETCHES_A], b_share[FETCHES_B], sums[MICRO][MICRO];
  UNROLL for (int i = 0; i < MICRO; i++) UNROLL for (int j = 0; j < MICRO; j++) sums[i][j] = 0;

  for (int k0 = 0; k0 < depth + TILE_K; k0 += TILE_K) {
    UNROLL for (int f = 0; f < FETCHES_A; f++) {
      const int row = row0 + a_row + f * (THREADS / TILE_K), k = k0 + a_k;
      a_share[f] = row < M && k < depth ? a_at(PROBLEM, A, g, row, k) : (acc_t)0;
    }
    UNROLL for (int f = 0; f < FETCHES_B; f++) {
      const int k = k0 + b_k + f * (THREADS / TILE_N);
      b_share[f] = col0 + b_col < columns && k < depth ? b_at(PROBLEM, B, g, k, column) : (acc_t)0;
    }
    if (k0 > 0)
      for (int k = 0; k < TILE_K; k++) {
        acc_t a[MICRO], b[MICRO];
        UNROLL for (int i = 0; i < MICRO; i++) a[i] = a_tile[k][m_item + i * WG_M];
        UNROLL for (int j = 0; j < MICRO; j++) b[j] = b_tile[k][n_item + j * WG_N];
        UNROLL for (int i = 0; i < MICRO; i++) UNROLL for (int j = 0; j < MICRO; j++) sums[i][j] += a[i] * b[j];
      }
    barrier(CLK_LOCAL_MEM_FENCE);
    UNROLL for (int f = 0; f < FETCHES_A; f++) a_tile[a_k][a_row + f * (THREADS / TILE_K)] = a_share[f];
    UNROLL for (int f = 0; f < FETCHES_B; f++) b_tile[b_k + f * (THREADS / TILE_N)][b_col] = b_share[f];
    barrier(CLK_LOCAL_MEM_FENCE);
  }

  const int plane = PASS == 0 ? outputs : PASS == 1 ? inputs : columns;
  UNROLL for (int j = 0; j < MICRO; j++) {
    const int col = col0 + n_item + j * WG_N, batch = col / plane;
    UNROLL for (int i = 0; i < MICRO; i++) {
      const int row = row0 + m_item + i * WG_M;
      if (row < M && col < columns) FINISH(1, sums[i][j], batch, g * M + row, col - batch * plane);
    }
  }
}
