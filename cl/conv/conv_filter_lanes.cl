/* conv/conv_filter_lanes.cl: the gradient of filters that see one channel each, for the CPU class: depthwise
 * convolutions, and images of one channel.
 *
 *   dW[k][r][s] = sum over images and output places (p, q) of
 *                 dY[k][p][q] X[k / KG][p STEP - pad + r][q stride - pad + s dilation]
 *
 * One work-item is one work-group and owns one filter. Lanes are places of an output row, of several images side by
 * side where planes are small; each tap has a vector of sums, whose lanes are added at the end. For that the rows are
 * copied into local memory: X with its padding and its columns parted by their residue of the stride, so that what a
 * tap meets is adjacent; dY with zeros where X has padding between two images. A vector of an X row is read once for
 * the ROWS rows of dY that meet it.
 *
 * The filter is FR x FS, its rows adjacent (dilation 1) and STEP apart from one output row to the next.
 * cut: images side by side, elements from one to the next, rows of dY a chunk (a multiple of ROWS), elements of a
 * copied row, columns of zeros before those of the padding. NDRange: G * KG; work-group (1, 1, 1).
 * scratch: ((stride * x rows + dY rows) * row + FR * FS * VW) floats
 * with (dY rows - 1) * STEP + FR rows of X. */
#include "common/transpose.clh"
#include "conv/problem.clh"

#ifndef D_T
#define D_T f32
#endif
#ifndef FR
#define FR 3
#endif
#ifndef FS
#define FS 3
#endif
#ifndef STEP
#define STEP 1
#endif
#ifndef ROWS /* rows of dY that are held in registers */
#define ROWS 4
#endif

#define VW 16
#define UNROLL _Pragma("unroll")
#define READ(n, p, i) MICA_AS(float, n, LOADV(D_T, n, p, i))
#define X_ROWS(rows) (((rows)-1) * STEP + FR)
#define INSIDE(i, extent) ((i) >= 0 && (i) < (extent))

/* Elements i .. i + 15 of a row of `count`, zero from there on; `readable` elements belong to the tensor. */
static inline float16 read_part(__global const STORAGE(D_T) * row, const int i, const int count, const long readable) {
  const int16 lanes = (int16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  if (i + VW <= readable) return select((float16)(0.0f), READ(VW, row, i), lanes < count - i);
  float part[VW];
  UNROLL for (int j = 0; j < VW; j++) part[j] = i + j < count ? READ(1, row, i + j) : 0.0f;
  return MICA_VLOAD(VW, part, 0);
}

/* Copies a row to to[0 .. count - 1]; up to 15 zeros follow. */
static inline void copy_row(__global const STORAGE(D_T) * row, const int count, const long readable,
                            __local float *to) {
  if (count <= 8 && readable >= 8) {
    MICA_VSTORE(8, read_part(row, 0, count, max(readable, (long)VW)).lo, to, 0);
    return;
  }
  for (int i = 0; i < count; i += VW) MICA_VSTORE(VW, read_part(row, i, count, readable), to, i);
}

/* The same for elements that are parted: element i, with `pad` before the first, to residue (i + pad) % stride. */
static inline void part_row(__global const STORAGE(D_T) * row, const int count, const long readable, const int pad,
                            const int stride, const long residue, __local float *to) {
  if (stride != 2) {
    for (int i = 0; i < count; i++) to[(i + pad) % stride * residue + (i + pad) / stride] = READ(1, row, i);
    return;
  }
  __local float *even = to + pad % 2 * residue + pad / 2, *odd = to + (pad + 1) % 2 * residue + (pad + 1) / 2;
  for (int i = 0; i < count; i += VW) {
    const float16 x = read_part(row, i, count, readable);
    MICA_VSTORE(8, x.even, even, i / 2);
    MICA_VSTORE(8, x.odd, odd, i / 2);
  }
}

static inline void clear(__local float *to, const int count) {
  for (int i = 0; i < count; i += VW) MICA_VSTORE(VW, (float16)(0.0f), to, i);
}

/* sums[r][s] += the products of `rows` rows of y and what they meet of x, over `lanes` lanes; at[s] is where in a row
 * of x the tap s begins. */
static inline void add_products(__local const float *x, __local const float *y, const int row, const int rows,
                                const int lanes, const int *at, __local float *sums) {
  float16 sum[FR][FS];
  UNROLL for (int r = 0; r < FR; r++) UNROLL for (int s = 0; s < FS; s++) sum[r][s] =
      MICA_VLOAD(VW, sums, (r * FS + s) * VW);
  for (int o = 0; o < rows; o += ROWS)
    for (int lane = 0; lane < lanes; lane += VW) {
      float16 yv[ROWS];
      UNROLL for (int i = 0; i < ROWS; i++) yv[i] = MICA_VLOAD(VW, y, (o + i) * row + lane);
      UNROLL for (int j = 0; j < X_ROWS(ROWS); j++) {
        UNROLL for (int s = 0; s < FS; s++) {
          const float16 xv = MICA_VLOAD(VW, x, (o * STEP + j) * row + lane + at[s]);
          UNROLL for (int r = 0; r < FR; r++) {
            const int i = (j - r) / STEP;
            if (j >= r && (j - r) % STEP == 0 && i < ROWS) sum[r][s] = xv * yv[i] + sum[r][s];
          }
        }
      }
    }
  UNROLL for (int r = 0; r < FR; r++) UNROLL for (int s = 0; s < FS; s++)
      MICA_VSTORE(VW, sum[r][s], sums, (r * FS + s) * VW);
}

static inline float sum_lanes(const float16 v) {
  const float8 a = v.lo + v.hi;
  const float4 b = a.lo + a.hi;
  const float2 c = b.lo + b.hi;
  return c.x + c.y;
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
conv_filter_lanes(CONV_PARAMS, const int8 cut, __global const STORAGE(D_T) * x, const long x_at,
                  __global const STORAGE(D_T) * y, const long y_at, __global STORAGE(D_T) * D, const long D_at,
                  __local float *scratch) {
  CONV_UNPACK
  const int images = cut.s0, pitch = cut.s1, rows = cut.s2, row = cut.s3, pad = PA2 + cut.s4;
  const int filter = (int)get_group_id(0);
  const long x_plane = (long)I1 * I2, y_plane = (long)O1 * O2, residue = (long)X_ROWS(rows) * row;
  const long x_end = N * (long)G * x_plane, y_end = N * (long)G * KG * y_plane;
  __local float *ys = scratch + ST2 * residue, *sums = ys + rows * row;
  int at[FS];
  for (int s = 0; s < FS; s++) at[s] = (int)(s * DI2 % ST2 * residue) + (cut.s4 + s * DI2) / ST2;
  clear(scratch, (int)(ST2 * residue) + rows * row + FR * FS * VW);
  x += x_at;
  y += y_at;
  for (int n = 0; n < N; n += images)
    for (int o1 = 0; o1 < O1; o1 += rows) {
      /* Where planes are not cut, the same rows are zero each time, and stay so. Else the first image clears them. */
      const bool cut_rows = O1 > rows;
      if (n + images > N) clear(ys, rows * row);
      for (int image = 0; image < min(images, N - n); image++) {
        for (int j = 0; j < X_ROWS(rows); j++) {
          const int i1 = o1 * STEP - PA1 + j;
          __local float *to = scratch + j * row + image * pitch;
          if (INSIDE(i1, I1)) {
            const long first = ((n + image) * (long)G + filter / KG) * x_plane + (long)i1 * I2;
            PREFETCH_READ(x + first + x_plane);
            if (ST2 == 1)
              copy_row(x + first, I2, x_end - first, to + pad);
            else
              part_row(x + first, I2, x_end - first, pad, ST2, residue, to);
          } else if (cut_rows && image == 0) {
            for (int i = 0; i < ST2; i++) clear(to + i * residue, row);
          }
        }
        for (int j = 0; j < rows; j++) {
          __local float *to = ys + j * row + image * pitch;
          if (o1 + j < O1) {
            const long first = ((n + image) * (long)G * KG + filter) * y_plane + (long)(o1 + j) * O2;
            PREFETCH_READ(y + first + y_plane);
            copy_row(y + first, O2, y_end - first, to);
          } else if (cut_rows && image == 0) {
            clear(to, row);
          }
        }
      }
      add_products(scratch, ys, row, rows, images * pitch, at, sums);
    }
  for (int i = 0; i < FR * FS; i++)
    STORE(D_T, sum_lanes(MICA_VLOAD(VW, sums, i *VW)), D, D_at + (long)filter * FR * FS + i);
}
