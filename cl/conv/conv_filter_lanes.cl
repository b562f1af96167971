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
#include "conv/filter.clh"

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

#define X_ROWS(rows) (((rows)-1) * STEP + FR)

/* Elements i .. i + 15 of a row of `count`, zero from there on; `readable` elements belong to the tensor. */
static inline float16 read_part(__global const STORAGE(D_T) * row, const int i, const int count, const long readable) {
  const int16 lanes = (int16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  if (i + VW <= count) return READ(VW, row, i);
  if (i + VW <= readable) return select((float16)(0.0f), READ(VW, row, i), lanes < count - i);
  float part[VW];
  UNROLL for (int j = 0; j < VW; j++) part[j] = i + j < count ? READ(1, row, i + j) : 0.0f;
  return MICA_VLOAD(VW, part, 0);
}

/* Copies rows of `count` elements, one after another in memory, to to[0 .. count - 1], to[step ...] and so on; up to 15
 * zeros follow each. What is `ahead` elements further will be copied next. */
static inline void copy_rows(__global const STORAGE(D_T) * from, const int rows, const int count, const long readable,
                             const long ahead, const int step, __local float *to) {
  const int8 lanes = (int8)(0, 1, 2, 3, 4, 5, 6, 7);
  if (count <= 8 && (rows - 1) * (long)count + 8 <= readable) {
    for (int j = 0; j < rows; j++) {
      PREFETCH_READ(from + j * (long)count + ahead);
      STOREV(f32, 8, select((float8)(0.0f), READ(8, from, j * (long)count), lanes < count), to, j *step);
    }
    return;
  }
  for (int j = 0; j < rows; j++, from += count, to += step)
    for (int i = 0; i < count; i += VW) {
      PREFETCH_READ(from + i + ahead);
      STOREV(f32, VW, read_part(from, i, count, readable - j * (long)count), to, i);
    }
}

/* Copies a row whose elements are parted: element i, with `pad` before the first, to residue (i + pad) % stride. */
static inline void part_row(__global const STORAGE(D_T) * row, const int count, const long readable, const int pad,
                            const int stride, const long residue, __local float *to) {
  if (stride != 2) {
    for (int i = 0; i < count; i++) to[(i + pad) % stride * residue + (i + pad) / stride] = READ(1, row, i);
    return;
  }
  __local float *even = to + pad % 2 * residue + pad / 2, *odd = to + (pad + 1) % 2 * residue + (pad + 1) / 2;
  for (int i = 0; i < count; i += VW) {
    const float16 x = read_part(row, i, count, readable);
    STOREV(f32, 8, x.even, even, i / 2);
    STOREV(f32, 8, x.odd, odd, i / 2);
  }
}

static inline void clear(__local float *to, const int count) {
  for (int i = 0; i < count; i += VW) STOREV(f32, VW, (float16)(0.0f), to, i);
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
      STOREV(f32, VW, sum[r][s], sums, (r * FS + s) * VW);
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
      /* Rows of x and dy from here on meet; those outside the planes are zero, and stay so where planes are whole. */
      const int first = o1 * STEP - PA1, begin = clamp(first, 0, I1), end = clamp(first + X_ROWS(rows), begin, I1);
      const int y_rows = min(rows, O1 - o1);
      const bool whole = end - first == X_ROWS(rows) && begin == first && y_rows == rows;
      if ((O1 > rows && !whole) || n + images > N) clear(scratch, (int)(ST2 * residue) + rows * row);
      for (int image = 0; image < min(images, N - n); image++) {
        const long x_first = ((n + image) * (long)G + filter / KG) * x_plane + (long)begin * I2;
        const long y_first = ((n + image) * (long)G * KG + filter) * y_plane + (long)o1 * O2;
        __local float *to = scratch + (begin - first) * row + image * pitch;
        /* The next rows of these planes, else the next images, else the next filter's planes of these. */
        const long planes = n + images < N ? images * (long)G : 1;
        const long x_ahead = o1 + rows < O1 ? (long)rows * STEP * I2 : planes * x_plane;
        const long y_ahead = o1 + rows < O1 ? (long)rows * O2 : planes * (n + images < N ? KG : 1) * y_plane;
        if (ST2 == 1)
          copy_rows(x + x_first, end - begin, I2, x_end - x_first, x_ahead, row, to + pad);
        else
          for (int i = 0; i < end - begin; i++) {
            for (int j = 0; j < I2; j += VW) PREFETCH_READ(x + x_first + (long)i * I2 + j + x_ahead);
            part_row(x + x_first + (long)i * I2, I2, x_end - x_first - (long)i * I2, pad, ST2, residue, to + i * row);
          }
        copy_rows(y + y_first, y_rows, O2, y_end - y_first, y_ahead, row, ys + image * pitch);
      }
      add_products(scratch, ys, row, rows, images * pitch, at, sums);
    }
  for (int i = 0; i < FR * FS; i++)
    STORE(D_T, sum_lanes(MICA_VLOAD(VW, sums, i *VW)), D, D_at + (long)filter * FR * FS + i);
}
