/* conv/depthwise/wgrad_w.cl: the gradient of filters that see one channel each, with stride 1 or 2, for the CPU class:
 * depthwise convolutions, and images of one channel.
 *
 *   dW[k][r][s] = sum over images and output places (p, q) of
 *                 dY[k][p][q] X[k / KG][p STRIDE - pad + r dilation][q STRIDE - pad + s dilation]
 *
 * STAGE 0: one work-item is one work-group and owns a block of filters and a part of the images, whose planes it takes
 * in the order of memory. Lanes are places of an output row (conv/lines.clh). Planes are read where they lie, since
 * copies would cost more than the products: lanes beyond a row and those whose tap meets padding are made zero. A
 * vector of X is read once for the rows of dY that meet it, which are in registers, like a vector of sums of each tap;
 * rows of padding are passed over. Where vectors would leave a tensor, since planes lie close to an end, those of the
 * image are copied into E first. Sums leave as T[PARTS][blocks][FR FS][16], or as dW where PARTS is 1.
 *
 * The filter is FR x FS. cut: filters of a block, at most 16; elements before and behind a plane in E. E has room for
 * a plane of X and one of dY with these for each work-group. NDRange: blocks = ceil(G KG / filters), PARTS; work-group
 * (1, 1, 1). scratch: FR FS 16 16 floats.
 *
 * STAGE 1, conv_depthwise_wgrad_w_join: dW is the sum of the PARTS, in their order. NDRange: blocks; work-group (1, 1,
 * 1).
 */
#include "conv/filter.clh"

#ifndef STAGE
#define STAGE 0
#endif
#ifndef FR
#define FR 3
#endif
#ifndef FS
#define FS 3
#endif
#ifndef STRIDE
#define STRIDE 1
#endif
#ifndef SIDE /* 0, or I1 and I2, with PA1 and PA2 PAD: then O1 and O2 are OUT */
#define SIDE 0
#endif
#ifndef PAD
#define PAD 0
#endif
#define LINE_TAPS FS
#define DILATION columns.dilation
#include "conv/lines.clh"

#define FILTER (FR * FS)
#define OUT ((SIDE + 2 * PAD - FS) / STRIDE + 1)
#define OPEN ((FR + STRIDE - 1) / STRIDE) /* vectors of dY that a row of X meets */

/* The taps of `filters` filters, which are adjacent in D; sums[tap][VW] has a lane for each filter. */
static inline void leave(const float *sums, const int filters, __global STORAGE(D_T) * D, const long at) {
  for (int k = 0; k < filters; k++)
    UNROLL for (int t = 0; t < FILTER; t++) STORE(D_T, sums[t * VW + k], D, at + k * FILTER + t);
}

#if STAGE == 0
/* Of one dimension each: extents of X and dY, padding before, dilation. */
typedef struct dimension {
  int in, out, pad, dilation;
} dimension;

/* Of a plane whose size is known: from WHOLE to WHOLE_END no row of dY or X that is met is missing. A loop over these
 * has no conditions, and those before and behind are written out; so are all of a small plane. Of a larger one clang
 * would move them about until sums leave the registers. */
#if LANES == 8
#define UNROLL_WHOLE UNROLL
#else
#define UNROLL_WHOLE _Pragma("unroll 2")
#endif
#define WHOLE max((PAD + STRIDE - 1) / STRIDE, OPEN - 1)
#define WHOLE_END max(WHOLE, min((SIDE + PAD) / STRIDE, OUT))
#define LACKS_ROW(p) (SIDE && ((p) < 0 || (p) >= OUT))

/* Of a vector of X or of dY that begins `at` in the plane. */
#define READ_X(at) READ(LANES, x, at)
#define READ_Y(at) READ(LANES, y, at)

/* Where the vectors of a row that are walked together begin in dY and X, and which lanes find something there. */
typedef struct walk {
  int q, left;
  line_mask taken[VECTORS], inside[VECTORS][MASKS];
} walk;

/* sum[r][s] += the products of the STRIDE rows of X that begin to meet row p of dY with that and the OPEN - 1 before
 * it, which are `met` afterwards. whole: none of these rows is missing. Inlined, or sums are not in registers. */
static inline __attribute__((always_inline)) void add_rows(operand x, operand y, const dimension rows,
                                                           const dimension columns, const int p, const bool whole,
                                                           const walk *at, line met[VECTORS][OPEN], line sum[FR][FS]) {
  EACH_VECTOR(i) {
    UNROLL for (int j = OPEN - 1; j > 0; j--) met[i][j] = met[i][j - 1];
    met[i][0] = (line)(0.0f);
    if (whole || p < rows.out) {
      const line row = WHERE(at->taken[i], READ_Y((long)p * columns.out + at->q + i * LANES));
      met[i][0] = IN_LINE(row);
    }
  }
  UNROLL for (int t = 0; t < min(STRIDE, FR); t++) {
    const int row = p * STRIDE + t - rows.pad;
    if (!whole && (row < 0 || row >= rows.in)) continue;
    EACH_VECTOR(i) {
      line v[FS];
      READ_LINE(v, READ_X, row, columns.in, at->left + i * LANES * STRIDE, at->inside[i]);
      UNROLL for (int j = 0; j < OPEN; j++) if (t + j * STRIDE < FR && (whole || !LACKS_ROW(p - j)))
          UNROLL for (int s = 0; s < FS; s++) sum[t + j * STRIDE][s] = v[s] * met[i][j] + sum[t + j * STRIDE][s];
    }
  }
}

/* sum[r][s] += the products of a plane of dY with what they meet of one of X. Masks are made of `width` and `places`,
 * which are columns.in and columns.out: one that the compiler knows makes it read in pieces. */
static inline void add_plane(operand x, operand y, const dimension rows, const dimension columns, const int width,
                             const int places, line sum[FR][FS]) {
  const int end = min((rows.in + rows.pad + STRIDE - 1) / STRIDE, rows.out + (OPEN - 1) * rows.dilation);
  for (int q = 0; q < columns.out; q += VECTORS * LANES) {
    walk at = {.q = q, .left = q * STRIDE - columns.pad};
    EACH_VECTOR(i) {
      at.taken[i] = LANE_ < places - q - i * LANES;
      FIND_COLUMNS(at.inside[i], width, at.left + i * LANES * STRIDE);
    }
    for (int residue = 0; residue < rows.dilation; residue++) {
      line met[VECTORS][OPEN];
      EACH_VECTOR(i) UNROLL for (int j = 0; j < OPEN; j++) met[i][j] = (line)(0.0f);
#if SIDE
      UNROLL for (int p = 0; p < WHOLE; p++) add_rows(x, y, rows, columns, p, false, &at, met, sum);
      UNROLL_WHOLE for (int p = WHOLE; p < WHOLE_END; p++) add_rows(x, y, rows, columns, p, true, &at, met, sum);
      UNROLL for (int p = WHOLE_END; p < end; p++) add_rows(x, y, rows, columns, p, false, &at, met, sum);
#else
      for (int p = residue; p < end; p += rows.dilation) add_rows(x, y, rows, columns, p, false, &at, met, sum);
#endif
    }
  }
}

#define EACH_TAP(r, s) UNROLL for (int r = 0; r < FR; r++) UNROLL for (int s = 0; s < FS; s++)
#define SUM(r, s) (((r)*FS + (s)) * VW * LANES)

/* The products of `planes` planes of dY that follow one another, in each of some images, with the planes of X that they
 * see. x and y are the first ones; `turn` planes of dY before y saw x. A function by itself, or PoCL keeps little in
 * registers. */
static __attribute__((noinline)) void add_images(CONV_PARAMS, operand x, operand y, const int turn, const int planes,
                                                 const int images, __local float *sums) {
  CONV_UNPACK
#if SIDE
  const dimension rows = {SIDE, OUT, PAD, 1}, columns = rows;
#else
  const dimension rows = {I1, O1, PA1, DI1}, columns = {I2, O2, PA2, DI2};
#endif
  const int x_plane = rows.in * columns.in, y_plane = rows.out * columns.out;
  for (int n = 0; n < images; n++, x += (long)G * x_plane, y += (long)G * KG * y_plane) {
    operand x_at = x, y_at = y;
    __local float *sums_at = sums;
    for (int k = 0, seen = turn; k < planes; k++) {
      line sum[FR][FS];
      EACH_TAP(r, s) sum[r][s] = MICA_VLOAD(LANES, sums_at, SUM(r, s));
      add_plane(x_at, y_at, rows, columns, I2, O2, sum);
      EACH_TAP(r, s) STOREV(f32, LANES, sum[r][s], sums_at, SUM(r, s));
      y_at += y_plane, sums_at += LANES;
      if (++seen == KG) seen = 0, x_at += x_plane;
    }
  }
}

/* E = `before` zeros, `count` elements of a tensor, `behind` zeros; returns where the elements are. */
static operand surround(operand from, const long count, const int before, const int behind,
                        __global STORAGE(D_T) * E) {
  for (int i = 0; i < before; i++) STORE(D_T, 0.0f, E, i);
  for (long i = 0; i < count; i++) STORE(D_T, READ(1, from, i), E, before + i);
  for (int i = 0; i < behind; i++) STORE(D_T, 0.0f, E, before + count + i);
  return E + before;
}

/* The products of `filters` filters from the first on and of images n_begin .. n_end - 1, in the order of memory. */
static void add_products(CONV_PARAMS, const int8 cut, operand X, operand Y, const int first, const int filters,
                         const int n_begin, const int n_end, __global STORAGE(D_T) * E, __local float *sums) {
  CONV_UNPACK
  const int before = cut.s1, behind = cut.s2;
  const long x_plane = (long)I1 * I2, y_plane = (long)O1 * O2, x_step = G * x_plane, y_step = (long)G * KG * y_plane;
  const long x_first = first / KG * x_plane, y_first = first * y_plane;
  const long x_end = ((first + filters - 1) / KG + 1) * x_plane, y_end = (first + filters) * y_plane;
  int begin = n_begin, end = n_end;
  while (begin < end && begin * x_step + x_first < before) begin++;
  while (end > begin && ((end - 1) * x_step + x_end + behind > N * x_step ||
                         (end - 1) * y_step + y_end + behind > N * y_step)) end--;
  for (int n = n_begin, images; n < n_end; n += images) {
    const bool inside = n >= begin && n < end;
    images = inside ? end - n : 1;
    operand x = X + n * x_step + x_first, y = Y + n * y_step + y_first;
    if (inside) add_images(conv_size, conv_extent, conv_step, x, y, first % KG, filters, images, sums);
    for (int k = 0; !inside && k < filters; k++) {
      const int seen = (first + k) / KG - first / KG;
      operand x_in_E = surround(x + seen * x_plane, x_plane, before, behind, E);
      operand y_in_E = surround(y + k * y_plane, y_plane, 0, behind, E + before + x_plane + behind);
      add_images(conv_size, conv_extent, conv_step, x_in_E, y_in_E, 0, 1, 1, sums + k * LANES);
    }
  }
}

/* The sums of 16 vectors' lanes: neighbours are added, until there is one of each. */
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

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
conv_depthwise_wgrad_w(CONV_PARAMS, const int8 cut, __global const STORAGE(D_T) * X, const long X_at,
                  __global const STORAGE(D_T) * Y, const long Y_at, __global float *T, const long T_at,
                  __global STORAGE(D_T) * E, const long E_at, __global STORAGE(D_T) * D, const long D_at,
                  __local float *scratch) {
  CONV_UNPACK
  const int first = (int)get_group_id(0) * cut.s0, filters = min(cut.s0, G * KG - first);
  const int parts = (int)get_num_groups(1), part = (int)get_group_id(1);
  const int n_begin = (int)((long)part * N / parts), n_end = (int)((long)(part + 1) * N / parts);
  const long group = (long)part * (long)get_num_groups(0) + (long)get_group_id(0);
  const long room = 2 * (cut.s1 + cut.s2) + (long)I1 * I2 + (long)O1 * O2;
  for (int i = 0; i < FILTER * LANES; i++) STOREV(f32, VW, (float16)(0.0f), scratch, i *VW);
  add_products(conv_size, conv_extent, conv_step, cut, X + X_at, Y + Y_at, first, filters, n_begin, n_end,
               E + E_at + group * room, scratch);
  float taps[FILTER * VW];
  for (int t = 0; t < FILTER; t++) STOREV(f32, VW, add_lanes(scratch + t * VW * LANES), taps, t *VW);
  if (parts == 1)
    leave(taps, filters, D, D_at + (long)first * FILTER);
  else
    for (int t = 0; t < FILTER * VW; t++) T[T_at + group * FILTER * VW + t] = taps[t];
}
#endif

#if STAGE == 1
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
conv_depthwise_wgrad_w_join(const int all, const int filters, const int PARTS, __global const float *T, const long T_at,
                       __global STORAGE(D_T) * D, const long D_at) {
  const int first = (int)get_group_id(0) * filters;
  const long step = FILTER * VW * (long)get_num_groups(0);
  float taps[FILTER * VW];
  T += T_at + (long)get_group_id(0) * FILTER * VW;
  for (int t = 0; t < FILTER; t++) {
    float16 sum = MICA_VLOAD(VW, T, t * VW);
    for (int p = 1; p < PARTS; p++) sum += MICA_VLOAD(VW, T, p * step + t * VW);
    STOREV(f32, VW, sum, taps, t *VW);
  }
  leave(taps, min(filters, all - first), D, D_at + (long)first * FILTER);
}
#endif
