/* conv/conv_filter_lanes.cl: the gradient of filters that see one channel each, with stride 1 or 2, for the CPU class:
 * depthwise convolutions, and images of one channel.
 *
 *   dW[k][r][s] = sum over images and output places (p, q) of
 *                 dY[k][p][q] X[k / KG][p STRIDE - pad + r dilation][q STRIDE - pad + s dilation]
 *
 * STAGE 0: one work-item is one work-group and owns a block of filters, one after another, and a part of the images.
 * Lanes are places of an output row, or of two (conv/lines.clh). Planes are read where they lie, since copies would
 * cost more than the products: lanes beyond a row and those whose tap meets padding are made zero. A vector of X is
 * read once for the rows of dY that meet it, which are in registers, like a vector of sums of each tap; rows of padding
 * are passed over. Planes so close to an end of their tensor that vectors would leave it are copied into E first. Sums
 * leave as T[PARTS][blocks][FR FS][16], or as dW where PARTS is 1.
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
#ifndef SIDE /* 0, or I1 and I2, with PA1 and PA2 PAD */
#define SIDE 0
#endif
#ifndef PAD
#define PAD 0
#endif
#define TAPS FS
#define DILATION columns.dilation
#include "conv/lines.clh"

#define FILTER (FR * FS)
#define OPEN ((FR + STEP - 1) / STEP) /* vectors of dY that a row of X meets */

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

#define READ_X(i) READ(VW, x, i)
#define READ_Y(i) READ(VW, y, i)

/* sum[r][s] += the products of a plane of dY with what they meet of one of X; those `x_ahead` and `y_ahead` elements
 * further will be next. */
static inline void add_products(operand x, operand y, const long x_ahead, const long y_ahead, const dimension rows,
                                const dimension columns, float16 sum[FR][FS]) {
  const int end = min((rows.in + rows.pad + STEP - 1) / STEP,
                      (rows.out + LINES - 1) / LINES + (OPEN - 1) * rows.dilation);
  for (int q = 0; q < columns.out; q += VW) {
    const int left = q * STRIDE - columns.pad;
    int16 inside[FS];
    FIND_COLUMNS(inside, columns.in, left)
    for (int residue = 0; residue < rows.dilation; residue++) {
      float16 met[OPEN];
      UNROLL for (int j = 0; j < OPEN; j++) met[j] = (float16)(0.0f);
      FOR_VECTORS(int p = residue; p < end; p += rows.dilation) {
        const int place = p * LINES;
        UNROLL for (int j = OPEN - 1; j > 0; j--) met[j] = met[j - 1];
        PREFETCH_READ(y + y_ahead + (long)place * columns.out + q);
        READ_PLACES(met[0], READ_Y, place, rows.out, columns.out, q);
        UNROLL for (int t = 0; t < min(STEP, FR); t++) {
          const int row = p * STEP + t - rows.pad;
          float16 v[FS];
          if (row + (LINES - 1) * STRIDE < 0 || row >= rows.in) continue;
          PREFETCH_READ(x + x_ahead + (long)row * columns.in + left);
          READ_LINES(v, READ_X, row, columns.in, left, inside);
          UNROLL for (int s = 0; s < FS; s++) UNROLL for (int j = 0; j < OPEN; j++) if (t + j * STEP < FR)
              sum[t + j * STEP][s] = v[s] * met[j] + sum[t + j * STEP][s];
        }
      }
    }
  }
}

/* The sums of lanes of 16 vectors. */
static inline float16 add_lanes(__local const float *sums) {
  float16 v[VW];
  UNROLL for (int i = 0; i < VW; i++) v[i] = MICA_VLOAD(VW, sums, VW * i);
  UNROLL for (int count = VW / 2; count > 0; count /= 2) UNROLL for (int i = 0; i < count; i++) v[i] =
      (float16)(v[2 * i].even, v[2 * i + 1].even) + (float16)(v[2 * i].odd, v[2 * i + 1].odd);
  return v[0];
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
conv_filter_lanes(CONV_PARAMS, const int8 cut, __global const STORAGE(D_T) * X, const long X_at,
                  __global const STORAGE(D_T) * Y, const long Y_at, __global float *T, const long T_at,
                  __global STORAGE(D_T) * E, const long E_at, __global STORAGE(D_T) * D, const long D_at,
                  __local float *scratch) {
  CONV_UNPACK
  const int first = (int)get_group_id(0) * cut.s0, filters = min(cut.s0, G * KG - first), before = cut.s1;
  const int parts = (int)get_num_groups(1), part = (int)get_group_id(1), behind = cut.s2;
  const int n_begin = (int)((long)part * N / parts), n_end = (int)((long)(part + 1) * N / parts);
  const long group = (long)part * (long)get_num_groups(0) + (long)get_group_id(0);
  const long x_plane = (long)I1 * I2, y_plane = (long)O1 * O2, x_room = before + x_plane + behind;
  const long x_step = G * x_plane, y_step = (long)G * KG * y_plane;
#if SIDE
  const dimension rows = {SIDE, OUT, PAD, 1}, columns = rows;
#else
  const dimension rows = {I1, O1, PA1, DI1}, columns = {I2, O2, PA2, DI2};
#endif
  E += E_at + group * (x_room + before + y_plane + behind);
  for (int i = 0; i < FILTER * VW * VW; i++) scratch[i] = 0.0f;
  for (int k = 0; k < filters; k++) {
    float16 sum[FR][FS];
    UNROLL for (int r = 0; r < FR; r++) UNROLL for (int s = 0; s < FS; s++) sum[r][s] = (float16)(0.0f);
    for (int n = n_begin; n < n_end; n++) {
      const long x_at = n * x_step + (first + k) / KG * x_plane, y_at = n * y_step + (first + k) * y_plane;
      operand x = surrounded(X + X_at, x_at, x_plane, N * x_step, before, behind, E);
      operand y = surrounded(Y + Y_at, y_at, y_plane, N * y_step, before, behind, E + x_room);
      add_products(x, y, x_step, y_step, rows, columns, sum);
    }
    UNROLL for (int r = 0; r < FR; r++) UNROLL for (int s = 0; s < FS; s++)
        STOREV(f32, VW, sum[r][s], scratch, ((r * FS + s) * VW + k) * VW);
  }
  for (int t = 0; t < FILTER; t++) {
    const float16 sum = add_lanes(scratch + t * VW * VW);
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
