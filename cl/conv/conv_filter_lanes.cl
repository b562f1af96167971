/* conv/conv_filter_lanes.cl: the gradient of filters that see one channel each, with stride 1 or 2, for the CPU class:
 * depthwise convolutions, and images of one channel.
 *
 *   dW[k][r][s] = sum over images and output places (p, q) of
 *                 dY[k][p][q] X[k / KG][p STRIDE - pad + r dilation][q STRIDE - pad + s dilation]
 *
 * STAGE 0: one work-item is one work-group and owns a block of filters and a part of the images, whose planes it takes
 * in the order of memory. Lanes are places of an output row (conv/lines.clh). Planes are read where they lie, since
 * copies would cost more than the products: lanes beyond a row and those whose tap meets padding are made zero. A
 * vector of X is read once for the rows of dY that meet it, which are in registers, like a vector of sums of each tap;
 * rows of padding are passed over. Planes so close to an end of their tensor that vectors would leave it are copied
 * into E first. Sums leave as T[PARTS][blocks][FR FS][16], or as dW where PARTS is 1.
 *
 * The filter is FR x FS. cut: filters of a block, at most 16; elements before and behind a plane in E. E has room for
 * a plane of X and one of dY with these for each work-group. NDRange: blocks = ceil(G KG / filters), PARTS; work-group
 * (1, 1, 1). scratch: FR FS 16 16 floats.
 *
 * STAGE 1, conv_filter_lanes_join: dW is the sum of the PARTS, in their order. NDRange: blocks; work-group (1, 1, 1).
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

/* Sums of a tap of `filters` filters. */
static inline void leave(const float16 sum, const int filters, __global STORAGE(D_T) * D, const long at) {
  float lanes[VW];
  STOREV(f32, VW, sum, lanes, 0);
  for (int k = 0; k < filters; k++) STORE(D_T, lanes[k], D, at + k * FILTER);
}

#if STAGE == 0
/* Of one dimension each: extents of X and dY, padding before, dilation. */
typedef struct dimension {
  int in, out, pad, dilation;
} dimension;

/* The plane of `count` elements at `at` of a tensor of `all`: where it lies, or in E among zeros if not all that
 * surrounds it belongs to the tensor. */
static inline operand surrounded(operand from, const long at, const long count, const long all, const int before,
                                 const int behind, __global STORAGE(D_T) * E) {
  if (at >= before && at + count + behind <= all) return from + at;
  for (int i = 0; i < before; i++) STORE(D_T, 0.0f, E, i);
  for (long i = 0; i < count; i++) STORE(D_T, READ(1, from, at + i), E, before + i);
  for (int i = 0; i < behind; i++) STORE(D_T, 0.0f, E, before + count + i);
  return E + before;
}

/* A plane of short rows whose size is known is walked without a loop, and without rows that dY does not have; with
 * more to keep than fits the registers, two rows at a time. */
#if SIDE && LANES == 8 && STRIDE == 1
#define FOR_PLACES UNROLL for
#define IN_Y(p) ((p) >= 0 && (p) < OUT)
#else
#define FOR_PLACES _Pragma("unroll 2") for
#define IN_Y(p) true
#endif

/* Of a vector of X or of dY that begins `at` in the plane. */
#define READ_X(at) READ(LANES, x, at)
#define READ_Y(at) READ(LANES, y, at)

/* sum[r][s] += the products of a plane of dY with what they meet of one of X. Masks are made of `width` and `places`,
 * which are columns.in and columns.out: one that the compiler knows makes it read in pieces. */
static inline void add_plane(operand x, operand y, const dimension rows, const dimension columns, const int width,
                             const int places, line sum[FR][FS]) {
  const int end = min((rows.in + rows.pad + STRIDE - 1) / STRIDE, rows.out + (OPEN - 1) * rows.dilation);
  for (int q = 0; q < columns.out; q += VECTORS * LANES) {
    const int left = q * STRIDE - columns.pad;
    line_mask taken[VECTORS], inside[VECTORS][MASKS];
    EACH_VECTOR(i) {
      taken[i] = LANE_ < places - q - i * LANES;
      FIND_COLUMNS(inside[i], width, left + i * LANES * STRIDE);
    }
    for (int residue = 0; residue < rows.dilation; residue++) {
      line met[VECTORS][OPEN];
      EACH_VECTOR(i) UNROLL for (int j = 0; j < OPEN; j++) met[i][j] = (line)(0.0f);
      FOR_PLACES(int p = residue; p < end; p += rows.dilation) {
        EACH_VECTOR(i) {
          UNROLL for (int j = OPEN - 1; j > 0; j--) met[i][j] = met[i][j - 1];
          met[i][0] = (line)(0.0f);
          if (p < rows.out) met[i][0] = WHERE(taken[i], READ_Y((long)p * columns.out + q + i * LANES));
        }
        UNROLL for (int t = 0; t < min(STRIDE, FR); t++) {
          const int row = p * STRIDE + t - rows.pad;
          if (row < 0 || row >= rows.in) continue;
          EACH_VECTOR(i) {
            line v[FS];
            READ_LINE(v, READ_X, row, columns.in, left + i * LANES * STRIDE, inside[i]);
            UNROLL for (int j = 0; j < OPEN; j++) if (t + j * STRIDE < FR && IN_Y(p - j))
                UNROLL for (int s = 0; s < FS; s++) sum[t + j * STRIDE][s] = v[s] * met[i][j] + sum[t + j * STRIDE][s];
          }
        }
      }
    }
  }
}

#define SUM(r, s, k) ((((r)*FS + (s)) * VW + (k)) * LANES)

/* The products of `filters` filters from the first on and of images n_begin .. n_end - 1, in the order of memory. A
 * function by itself, or PoCL keeps little in registers. */
static __attribute__((noinline)) void add_products(CONV_PARAMS, const int8 cut, operand X, operand Y, const int first,
                                                   const int filters, const int n_begin, const int n_end,
                                                   __global STORAGE(D_T) * E, __local float *sums) {
  CONV_UNPACK
  const int before = cut.s1, behind = cut.s2;
  const long x_plane = (long)I1 * I2, y_plane = (long)O1 * O2, x_step = G * x_plane, y_step = (long)G * KG * y_plane;
#if SIDE
  const dimension rows = {SIDE, OUT, PAD, 1}, columns = rows;
#else
  const dimension rows = {I1, O1, PA1, DI1}, columns = {I2, O2, PA2, DI2};
#endif
  for (int n = n_begin; n < n_end; n++) {
    long x_at = n * x_step + first / KG * x_plane, y_at = n * y_step + first * y_plane;
    int of_channel = first % KG;
    for (int k = 0; k < filters; k++) {
      operand x = surrounded(X, x_at, x_plane, N * x_step, before, behind, E);
      operand y = surrounded(Y, y_at, y_plane, N * y_step, before, behind, E + before + x_plane + behind);
      line sum[FR][FS];
      UNROLL for (int r = 0; r < FR; r++) UNROLL for (int s = 0; s < FS; s++) sum[r][s] =
          MICA_VLOAD(LANES, sums, SUM(r, s, k));
      add_plane(x, y, rows, columns, I2, O2, sum);
      UNROLL for (int r = 0; r < FR; r++) UNROLL for (int s = 0; s < FS; s++)
          STOREV(f32, LANES, sum[r][s], sums, SUM(r, s, k));
      y_at += y_plane;
      if (++of_channel == KG) of_channel = 0, x_at += x_plane;
    }
  }
}

/* The sums of 16 vectors' lanes: neighbours are added, until there is one of each. */
static inline float16 add_lanes(__local const float *sums) {
  float16 v[LANES];
  UNROLL for (int i = 0; i < LANES; i++) v[i] = MICA_VLOAD(VW, sums, VW * i);
  UNROLL for (int count = LANES / 2; count > 0; count /= 2) UNROLL for (int i = 0; i < count; i++) v[i] =
      (float16)(v[2 * i].even, v[2 * i + 1].even) + (float16)(v[2 * i].odd, v[2 * i + 1].odd);
  return v[0];
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
conv_filter_lanes(CONV_PARAMS, const int8 cut, __global const STORAGE(D_T) * X, const long X_at,
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
  for (int t = 0; t < FILTER; t++) {
    const float16 sum = add_lanes(scratch + t * VW * LANES);
    if (parts == 1)
      leave(sum, filters, D, D_at + (long)first * FILTER + t);
    else
      STOREV(f32, VW, sum, T, T_at + (group * FILTER + t) * VW);
  }
}
#endif

#if STAGE == 1
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
conv_filter_lanes_join(const int all, const int filters, const int PARTS, __global const float *T, const long T_at,
                       __global STORAGE(D_T) * D, const long D_at) {
  const int first = (int)get_group_id(0) * filters;
  const long step = FILTER * VW * (long)get_num_groups(0);
  T += T_at + (long)get_group_id(0) * FILTER * VW;
  for (int t = 0; t < FILTER; t++) {
    float16 sum = MICA_VLOAD(VW, T, t * VW);
    for (int p = 1; p < PARTS; p++) sum += MICA_VLOAD(VW, T, p * step + t * VW);
    leave(sum, min(filters, all - first), D, D_at + (long)first * FILTER + t);
  }
}
#endif
