/* conv/depthwise/wgrad_w.cl: the weight gradient of filters that read one channel each, as in depthwise convolutions
 * and for images of one channel. Stride 1 or 2, vectorised over the width, for the CPU class.
 *
 *   dW[k][r][s] = sum over images and output pixels (p, q) of
 *                 dY[k][p][q] X[k / KG][p STRIDE - pad + r dilation][q STRIDE - pad + s dilation]
 *
 * The filter is FR x FS. A work-group, which has one work-item, computes `block` filters, at most 16, for a part of the
 * images, and processes their planes in the order of memory. The lanes of a vector are pixels of an output row
 * (conv/depthwise/rows.clh); lanes beyond the row, and lanes whose tap reads padding, are set to zero. A vector of X is
 * read once for all rows of dY that use it. These rows and one vector of sums per tap are in registers.
 *
 * If there is one part, the sums are written to dW. Otherwise they are written to T in the layout of
 * conv/wgrad_reduce.cl for one group of G KG filters with PANEL 3, MR 9 and NV 1. NDRange: ceil(G KG / block), parts;
 * work-group (1, 1, 1). scratch: FR FS 16 16 floats. */
#define ROW_TAPS FS
#include "conv/depthwise/rows.clh"
#include "conv/problem.clh"

#define FILTER (FR * FS)
#define T_ROWS ((FILTER + 8) / 9 * 9)
#define OPEN ((FR + STRIDE - 1) / STRIDE) /* the number of rows of dY that use one row of X */

/* One dimension: in and out are the extents of X and dY, pad is the padding before X. */
typedef struct dimension {
  int in, out, pad, dilation;
} dimension;

/* For planes of known size (SIDE): for rows WHOLE .. WHOLE_END - 1 of dY, all rows of dY and X that are needed exist,
 * so the loop over them has no bounds checks. The loops over the other rows are unrolled. In a small plane (LANES 8)
 * the loop over the whole rows is unrolled too. In a larger plane it is not, because clang would reorder the unrolled
 * rows so much that the sums would not stay in registers. */
#if LANES == 8
#define UNROLL_WHOLE UNROLL
#else
#define UNROLL_WHOLE _Pragma("unroll 2")
#endif
#define WHOLE max((PAD + STRIDE - 1) / STRIDE, OPEN - 1)
#define WHOLE_END max(WHOLE, min((SIDE + PAD) / STRIDE, OUT))
#define LACKS_ROW(p) (SIDE && ((p) < 0 || (p) >= OUT))

/* The vectors of a row that are processed together: they begin at column q of dY and column `left` of X. `used` are the
 * lanes inside of dY, `inside` the lanes whose taps read inside of X. */
typedef struct cursor {
  int q, left;
  mask used[VECTORS], inside[VECTORS][MASKS];
} cursor;

/* With d = rows.dilation, open[i][j] is row p - (1 + j) d of dY before the call, and row p - j d afterwards: the rows
 * move by one index, and row p is read into open[i][0]. Then the products of all these rows with the first STRIDE rows
 * of X that row p reads are added to sum[r][s]. `whole` means that all these rows exist. */
INLINE void add_rows(const plane x, const plane y, const dimension rows, const dimension columns, const int p,
                     const bool whole, __private const cursor *at, __private row open[VECTORS][OPEN],
                     __private row sum[FR][FS]) {
  EACH_VECTOR(i) {
    UNROLL for (int j = OPEN - 1; j > 0; j--) open[i][j] = open[i][j - 1];
    open[i][0] = (row)(0.0f);
    if (whole || p < rows.out) {
      const row v = KEEP(at->used[i], read_row(y, (long)p * columns.out + at->q + i * LANES));
      open[i][0] = TO_PHASES(v);
    }
  }
  UNROLL for (int t = 0; t < min(STRIDE, FR); t++) {
    const int in = p * STRIDE + t - rows.pad;
    if (!whole && (in < 0 || in >= rows.in)) continue;
    EACH_VECTOR(i) {
      row v[FS];
      read_taps(v, x, in, columns.in, at->left + i * LANES * STRIDE, columns.dilation, at->inside[i]);
      UNROLL for (int j = 0; j < OPEN; j++) if (t + j * STRIDE < FR && (whole || !LACKS_ROW(p - j)))
          UNROLL for (int s = 0; s < FS; s++) sum[t + j * STRIDE][s] = v[s] * open[i][j] + sum[t + j * STRIDE][s];
    }
  }
}

/* sum[r][s] += the products of the pixels of a plane of dY with the pixels of X that tap (r, s) reads for them. in2 and
 * out2 are equal to columns.in and columns.out. They are passed as variables, because the compiler would split masked
 * loads if it knew them as constants. */
INLINE void add_plane(const plane x, const plane y, const dimension rows, const dimension columns, const int in2,
                      const int out2, __private row sum[FR][FS]) {
  const int end = min((rows.in + rows.pad + STRIDE - 1) / STRIDE, rows.out + (OPEN - 1) * rows.dilation);
  for (int q = 0; q < columns.out; q += VECTORS * LANES) {
    cursor at = {.q = q, .left = q * STRIDE - columns.pad};
    EACH_VECTOR(i) {
      at.used[i] = LANE_NUMBERS(LANES) < out2 - q - i * LANES;
      column_masks(at.inside[i], in2, at.left + i * LANES * STRIDE, columns.dilation);
    }
    for (int phase = 0; phase < rows.dilation; phase++) {
      row open[VECTORS][OPEN];
      EACH_VECTOR(i) UNROLL for (int j = 0; j < OPEN; j++) open[i][j] = (row)(0.0f);
#if SIDE
      UNROLL for (int p = 0; p < WHOLE; p++) add_rows(x, y, rows, columns, p, false, &at, open, sum);
      UNROLL_WHOLE for (int p = WHOLE; p < WHOLE_END; p++) add_rows(x, y, rows, columns, p, true, &at, open, sum);
      UNROLL for (int p = WHOLE_END; p < end; p++) add_rows(x, y, rows, columns, p, false, &at, open, sum);
#else
      for (int p = phase; p < end; p += rows.dilation) add_rows(x, y, rows, columns, p, false, &at, open, sum);
#endif
    }
  }
}

#define EACH_TAP(r, s) UNROLL for (int r = 0; r < FR; r++) UNROLL for (int s = 0; s < FS; s++)
#define SUM(r, s) (((r)*FS + (s)) * VW * LANES)

/* Defines a function that adds, for image n, the products of `filters` consecutive planes of dY, from `first` on, with
 * the planes of X that their filters read. The functions are not inlined, because PoCL would otherwise keep few
 * variables in registers. There are two, so that `inside` is a constant in each. */
#define DEFINE_ADD_IMAGE(name, inside)                                                                                 \
  VECTOR_APART void name(CONV_POINTERS, source X, source Y, const int n, const int first, const int filters,           \
                         __local float *sums) {                                                                        \
    CONV_READ                                                                                                          \
    CONV_UNPACK                                                                                                        \
    const dimension rows = {SIDE ? SIDE : I1, SIDE ? OUT : O1, SIDE ? PAD : PA1, SIDE ? 1 : DI1};                      \
    const dimension columns = {SIDE ? SIDE : I2, SIDE ? OUT : O2, SIDE ? PAD : PA2, SIDE ? 1 : DI2};                   \
    const long x_plane = (long)rows.in * columns.in, y_plane = (long)rows.out * columns.out;                           \
    for (int k = 0; k < filters; k++, sums += LANES) {                                                                 \
      const long x_at = (n * (long)G + (first + k) / KG) * x_plane, y_at = (n * (long)G * KG + first + k) * y_plane;   \
      const plane x = {X + x_at, -x_at, N * (long)G * x_plane - x_at, inside};                                         \
      const plane y = {Y + y_at, -y_at, N * (long)G * KG * y_plane - y_at, inside};                                    \
      row sum[FR][FS];                                                                                                 \
      EACH_TAP(r, s) sum[r][s] = MICA_VLOAD(LANES, sums, SUM(r, s));                                                   \
      add_plane(x, y, rows, columns, I2, O2, sum);                                                                     \
      EACH_TAP(r, s) STOREV(f32, LANES, sum[r][s], sums, SUM(r, s));                                                   \
    }                                                                                                                  \
  }
DEFINE_ADD_IMAGE(add_image, true)
DEFINE_ADD_IMAGE(add_edge_image, false)

/* True if no vector of these planes reaches beyond X or dY. */
static inline bool is_inside(CONV_PARAMS, const int n, const int first, const int filters) {
  CONV_UNPACK
  const long x_plane = (long)I1 * I2, y_plane = (long)O1 * O2, before = max(0, PA1) * (long)I2 + max(0, PA2);
  const long behind = STRIDE * (O2 + VECTORS * LANES) + VW + (FS - 1) * DI2, last = first + filters - 1;
  return (n * (long)G + first / KG) * x_plane >= before &&
         (n * (long)G + last / KG + 1) * x_plane + behind <= N * (long)G * x_plane &&
         (n * (long)G * KG + last + 1) * y_plane + behind <= N * (long)G * KG * y_plane;
}

/* add_lanes returns, in lane i, the sum of the LANES lanes of vector i of 16. It adds neighbouring lanes pairwise until
 * one sum per vector is left. */
#define ADD_NEIGHBOURS(count)                                                                                          \
  UNROLL for (int i = 0; i < count; i++) v[i] =                                                                        \
      (float16)(v[2 * i].even, v[2 * i + 1].even) + (float16)(v[2 * i].odd, v[2 * i + 1].odd);
static inline float16 add_lanes(__local const float *sums) {
  float16 v[LANES];
  UNROLL for (int i = 0; i < LANES; i++) v[i] = MICA_VLOAD(VW, sums, VW * i);
#if LANES == 16
  ADD_NEIGHBOURS(8)
#endif
  ADD_NEIGHBOURS(4)
  ADD_NEIGHBOURS(2)
  ADD_NEIGHBOURS(1)
  return v[0];
}

CPU_KERNEL conv_depthwise_wgrad_w(CONV_PARAMS, const int block, source X, const long X_at, source Y, const long Y_at,
                                  __global float *T, const long T_at, __global STORAGE(D_T) * D, const long D_at,
                                  __local float *scratch) {
  CONV_UNPACK
  const int first = (int)get_group_id(0) * block, filters = min(block, G * KG - first);
  const int parts = (int)get_num_groups(1), part = (int)get_group_id(1);
  const int n_end = (int)((long)(part + 1) * N / parts);
  for (int i = 0; i < FILTER * LANES; i++) STOREV(f32, VW, (float16)(0.0f), scratch, i * VW);
  for (int n = (int)((long)part * N / parts); n < n_end; n++)
    if (is_inside(conv_size, conv_extent, conv_step, n, first, filters))
      add_image(CONV_AT, X + X_at, Y + Y_at, n, first, filters, scratch);
    else
      add_edge_image(CONV_AT, X + X_at, Y + Y_at, n, first, filters, scratch);
  T += T_at + (long)part * ((G * KG + VW - 1) / VW) * T_ROWS * VW;
  for (int t = 0; t < FILTER; t++) {
    float sums[VW];
    STOREV(f32, VW, add_lanes(scratch + t * VW * LANES), sums, 0);
    for (int k = first; k < first + filters; k++) {
      if (parts == 1)
        STORE(D_T, sums[k - first], D, D_at + (long)k * FILTER + t);
      else
        T[(long)(k / VW * T_ROWS + t) * VW + k % VW] = sums[k - first];
    }
  }
}
