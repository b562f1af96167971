/* conv/cpu/wgrad_implicit_gemm.cl: the weight gradient as sums of outer products, for the CPU class.
 *
 *   dW[k][c][r] = sum over images and output pixels o of dY[k][o] X[c][o stride - pad + r dilation]
 *
 * A work-group, which has one work-item, computes PANELS panels of NR = NV * VW channels of one operand by BLOCK tiles
 * of MR rows of the other operand, for one part of the pixels. For each chunk of pixels and each panel, it
 *   1. packs the panel's operand as [pixel][NR], so that lanes are channels
 *   2. lists, for each tap, the pixels for which the tap reads inside of X, so that padding costs nothing
 *   3. adds, for each tile and each pixel of the list, a broadcast element of each row times a vector of the panel
 *
 * PANEL says which operand is packed:
 *   PANEL_X (1)        X is packed. Rows are filters, read from dY where it is. For a single tap with a stride, only
 *                      the elements of X that it reads are packed
 *   PANEL_Y (2)        dY is packed. Rows are input channels, read from X where it is, at any stride
 *   PANEL_Y_TAPS (3)   dY is packed, for few input channels. Rows are (channel, tap) pairs, read from a padded copy of
 *                      X's rows, so that one list serves all taps. Only for planes of depth 1
 *
 * A chunk is `slices` whole slices, or `rows` rows of one slice, or, with PANEL_Y and one row, `columns` columns of
 * this row. A slice is a plane (n, o0) of one image; the depth taps are an outer loop. In `scratch` the copy of X
 * begins at copy_at and the lists at lists_at. T holds float sums [PARTS][groups * panels][tiles][taps][MR][NR], which
 * conv_wgrad_reduce adds up. Rows and lanes beyond the operands are undefined.
 *
 * NDRange: groups * ceil(panels / PANELS), ceil(tiles / BLOCK), PARTS; work-group (1, 1, 1). */
#include "common/cpu/register_tile.clh"
#include "common/transpose.clh"
#include "conv/problem.clh"

#define PANEL_X 1
#define PANEL_Y 2
#define PANEL_Y_TAPS 3
#define NR (NV * VW)
DEFINE_INTERLEAVE(float16)
DEFINE_INTERLEAVE(float8)

#define PACK_AHEAD (4 * VW)

/* to[i][c] = element i of plane c, for i < count and c < NR. Lanes from `channels` on repeat the last plane. */
static inline void pack_panel(source from, const long plane, const int channels, const int count, __local float *to) {
  if (count < VW) {
    for (int i = 0; i < count; i++)
      for (int c = 0; c < NR; c++) to[i * NR + c] = READ(1, from, min(c, channels - 1) * plane + i);
    return;
  }
  for (int c = 0; c < NR; c += VW)
    for (int i = 0; i < count; i += VW) {
      const int at = min(i, count - VW), ahead = i + PACK_AHEAD < count ? PACK_AHEAD : PACK_AHEAD - count;
      const int further = ahead > 0 ? 0 : VW;
      float16 x[VW];
      UNROLL for (int j = 0; j < VW; j++) PREFETCH_READ(from + (c + j + further) * plane + i + ahead);
      UNROLL for (int j = 0; j < VW; j++) x[j] = READ(VW, from, min(c + j, channels - 1) * plane + at);
      INTERLEAVE(float16, x, VW)
      UNROLL for (int j = 0; j < VW; j++) STOREV(f32, VW, x[j], to, (at + j) * NR + c);
    }
}

/* Does the same as pack_panel for elements that are `step` apart. `readable` elements exist from `from` on. If count is
 * below 8, it may write 8 rows of the panel. */
static inline void pack_strided(source from, const long plane, const int channels, const int step, const int count,
                                const long readable, __local float *to) {
  if (step != 2 || (channels - 1) * plane + 2 * max(count, 8) > readable) {
    for (int i = 0; i < count; i++)
      for (int c = 0; c < NR; c++) to[i * NR + c] = READ(1, from, min(c, channels - 1) * plane + (long)i * step);
    return;
  }
  for (int i = 0; i < count; i += 8) {
    const int at = max(0, min(i, count - 8));
    for (int c = 0; c < NR; c += VW) {
      float8 x[VW];
      UNROLL for (int j = 0; j < VW; j++) {
        PREFETCH_READ(from + (c + j + VW) * plane + 2 * at);
        x[j] = READ(VW, from, min(c + j, channels - 1) * plane + 2 * at).even;
      }
      INTERLEAVE(float8, x, VW)
      UNROLL for (int j = 0; j < VW; j++) STOREV(f32, 8, x[j], to, (at + j / 2) * NR + c + j % 2 * 8);
    }
  }
}

/* The smallest o >= from with o * stride + offset >= bound. */
static inline int first_at(const int bound, const int offset, const int stride, const int from) {
  return max(from, bound > offset ? (bound - offset + stride - 1) / stride : 0);
}

/* The pixels of a chunk: slices s_begin .. s_end - 1 (numbered n * O0 + o0), rows o_begin .. o_end - 1 and columns
 * c_begin .. c_end - 1 of each slice. They read rows i_begin .. i_end - 1 of x. */
typedef struct chunk {
  int s_begin, s_end, o_begin, o_end, c_begin, c_end, i_begin, i_end;
} chunk;

static inline chunk chunk_at(CONV_PARAMS, const int slices, const int rows, const int columns, const int number) {
  CONV_UNPACK
  const int row_chunks = (O1 + rows - 1) / rows, column_chunks = (O2 + columns - 1) / columns;
  const int index = number / column_chunks;
  chunk c;
  c.c_begin = number % column_chunks * columns;
  c.c_end = min(c.c_begin + columns, O2);
  c.s_begin = index / row_chunks * slices;
  c.s_end = min(c.s_begin + slices, N * O0);
  c.o_begin = index % row_chunks * rows;
  c.o_end = min(c.o_begin + rows, O1);
  c.i_begin = clamp(c.o_begin * ST1 - PA1, 0, I1);
  c.i_end = clamp((c.o_end - 1) * ST1 - PA1 + (R1 - 1) * DI1 + 1, c.i_begin, I1);
  return c;
}

/* The plane of x that depth tap r0 of slice s reads; it may be outside of x. */
#define DEPTH_AT(s, r0) ((s) % O0 * ST0 - PA0 + (r0)*DI0)
#define INSIDE(i, extent) ((i) >= 0 && (i) < (extent))

/* COMPACT 1: only the pixels of x that the single tap reads are packed. STRIDED 1: whole rows of x are packed, and
 * reads of the packed rows skip pixels. */
#define COMPACT (PANEL == PANEL_X && R1 * R2 == 1 && ST1 * ST2 > 1)
#define STRIDED (PANEL == PANEL_X && !COMPACT)

/* Packs the panel of NR channels from `channel` of group g on, for a chunk and the depth tap r0. `from` points to the
 * first element of the group. */
static inline void pack_chunk(CONV_PARAMS, const chunk at, const int r0, const int g, const int channel, source from,
                              __local float *to) {
  CONV_UNPACK
  const long x_plane = (long)I0 * I1 * I2, y_plane = (long)O0 * O1 * O2;
  for (int s = at.s_begin; s < at.s_end; s++) {
#if PANEL == PANEL_X
    const int i0 = DEPTH_AT(s, r0), from2 = first_at(0, -PA2, ST2, 0), to2 = min(O2, first_at(I2, -PA2, ST2, 0));
    const long end = ((long)N * G - g) * CG * x_plane;
    const int run = COMPACT ? (at.o_end - at.o_begin) * O2 : (at.i_end - at.i_begin) * I2;
    source slice = from + ((long)(s / O0) * G * CG + channel) * x_plane + (long)i0 * I1 * I2;
    if (INSIDE(i0, I0) && !COMPACT) pack_panel(slice + (long)at.i_begin * I2, x_plane, CG - channel, run, to);
    for (int o1 = at.o_begin; COMPACT && INSIDE(i0, I0) && o1 < at.o_end; o1++)
      if (INSIDE(o1 * ST1 - PA1, I1) && from2 < to2) {
        const long first = (long)(o1 * ST1 - PA1) * I2 + from2 * ST2 - PA2;
        pack_strided(slice + first, x_plane, CG - channel, ST2, to2 - from2, end - (slice + first - from),
                     to + ((o1 - at.o_begin) * O2 + from2) * NR);
      }
#else
    const int run = (at.o_end - at.o_begin) * (at.c_end - at.c_begin);
    source slice = from + ((long)(s / O0) * G * KG + channel) * y_plane + ((long)(s % O0) * O1 + at.o_begin) * O2;
    pack_panel(slice + at.c_begin, y_plane, KG - channel, run, to);
#endif
    to += run * NR;
  }
}

#if PANEL == PANEL_Y_TAPS
/* Copies the rows of x that the chunk reads, with their padding, to to[slice][c][row][column]. */
static void copy_rows(CONV_PARAMS, const chunk at, source x, const int high, const int wide, __local float *to) {
  CONV_UNPACK
  for (int s = at.s_begin; s < at.s_end; s++)
    for (int c = 0; c < CG; c++)
      for (int i = 0; i < high; i++, to += wide) {
        const int row = at.o_begin * ST1 - PA1 + i, begin = min(PA2, wide), end = clamp(I2 + PA2, begin, wide);
        for (int j = 0; j < wide; j++)
          if (!INSIDE(row, I1) || j < begin || j >= end) to[j] = 0.0f;
        if (!INSIDE(row, I1)) continue;
        source from = x + (((long)s * G * CG + c) * I1 + row) * I2 - PA2;
        for (int j = begin; j < end; j++) to[j] = READ(1, from, j);
      }
}
#endif

/* Lists the pixels for which tap (r0, r1, r2) reads inside of x, and returns their number. For each pixel, a_list gets
 * the index of the element in the operand of the rows, counted from the chunk's first image; b_list gets the offset in
 * the packed operand. */
static inline int list_pixels(CONV_PARAMS, const chunk at, const int r0, const int r1, const int r2,
                              __local int *a_list, __local int *b_list) {
  CONV_UNPACK
  const int off1 = r1 * DI1 - PA1, off2 = r2 * DI2 - PA2;
  const int from1 = first_at(0, off1, ST1, at.o_begin), to1 = min(at.o_end, first_at(I1, off1, ST1, 0));
  const int from2 = first_at(0, off2, ST2, at.c_begin), to2 = min(at.c_end, first_at(I2, off2, ST2, 0));
  const int in_rows = at.i_end - at.i_begin, out_rows = at.o_end - at.o_begin, n_begin = at.s_begin / O0;
  const long x_plane = (long)I1 * I2, y_plane = (long)O1 * O2;
  int count = 0;
  for (int s = at.s_begin; s < at.s_end && from2 < to2; s++) {
    const int n = s / O0 - n_begin, slice = s - at.s_begin, i0 = DEPTH_AT(s, r0);
    if (!INSIDE(i0, I0)) continue;
    for (int o1 = from1; o1 < to1; o1++) {
      const int i1 = o1 * ST1 + off1, i2 = from2 * ST2 + off2;
      const int x_at = (int)((n * (long)G * CG * I0 + i0) * x_plane) + i1 * I2 + i2;
      const int y_at = (int)((n * (long)G * KG * O0 + s % O0) * y_plane) + o1 * O2 + from2;
      const int x_packed = (slice * in_rows + i1 - at.i_begin) * I2 + i2;
      const int y_packed = (slice * out_rows + o1 - at.o_begin) * (at.c_end - at.c_begin) + from2 - at.c_begin;
      const int a = PANEL == PANEL_X ? y_at : x_at, a_step = PANEL == PANEL_X ? 1 : ST2;
      const int b = STRIDED ? x_packed : y_packed, b_step = STRIDED ? ST2 : 1;
      for (int o2 = 0; o2 < to2 - from2; o2 += VW) {
        MICA_VSTORE(VW, a + (o2 + LANE_NUMBERS(16)) * a_step, a_list, count + o2);
        MICA_VSTORE(VW, (b + (o2 + LANE_NUMBERS(16)) * b_step) * NR, b_list, count + o2);
      }
      count += to2 - from2;
    }
  }
  return count;
}

#if PANEL == PANEL_Y_TAPS
typedef __local const float *row_t;
#define A_ELEMENT(i, at) a[i][at]
#define A_AHEAD(i, at)
#else
typedef source row_t;
#define A_ELEMENT(i, at) READ(1, a[i], at)
/* Prefetches the element at `at` of row i of the next tile, whose rows are MR planes further. */
#define A_AHEAD(i, at) PREFETCH_READ(a[i] + (at) + ahead)
#endif
#define AHEAD_STEP 16

/* sums[i][v] += A[i][pixel] B[pixel][v] over all listed pixels, in registers. With `first` the sums begin at 0. */
static inline void add_products(__private const row_t *a, const long ahead, __local const float *panel,
                                __local const int *a_list, __local const int *b_list, const int count, const bool first,
                                __global float *sums) {
  vec sum[MR][NV];
  TILE_CLEAR(sum, MR, NV);
  TILE_EACH(MR, NV) PREFETCH_WRITE(sums + i * NR + j * VW);
  for (int begin = 0; begin < count; begin += AHEAD_STEP) {
    const int end = min(begin + AHEAD_STEP, count);
    UNROLL for (int i = 0; i < MR; i++) A_AHEAD(i, a_list[begin]);
    for (int pixel = begin; pixel < end; pixel++) {
      const int at = a_list[pixel];
      vec bv[NV];
      TILE_READ(bv, NV, panel + b_list[pixel]);
      TILE_MULTIPLY_ADD(sum, MR, NV, A_ELEMENT(i, at), bv)
    }
  }
  if (!first) TILE_EACH(MR, NV) sum[i][j] += MICA_VLOAD(VW, sums, i * NR + j * VW);
  TILE_STORE(sum, MR, NV, sums, NR);
}

#if PANEL == PANEL_Y_TAPS
/* Makes one list of pixels for all taps: a_list gets the offset of the first tap in the padded copy of x, b_list the
 * offset in the panel. Returns the number of pixels. */
static int list_copied(CONV_PARAMS, const chunk at, const int high, const int wide, __local int *a_list,
                       __local int *b_list) {
  CONV_UNPACK
  int count = 0;
  for (int s = 0; s < at.s_end - at.s_begin; s++)
    for (int o1 = 0; o1 < at.o_end - at.o_begin; o1++)
      for (int o2 = 0; o2 < O2; o2++, count++) {
        a_list[count] = (s * CG * high + o1 * ST1) * wide + o2 * ST2;
        b_list[count] = count * NR;
      }
  return count;
}
#endif

CPU_KERNEL conv_cpu_wgrad_implicit_gemm(CONV_PARAMS, const int8 blocking, source x, const long x_at, source y,
                                        const long y_at, __global float *restrict T, const long T_at,
                                        __local float *scratch) {
  CONV_UNPACK
  UNPACK_INTS(WGRAD_BLOCKING, blocking)
  const int lane_count = PANEL == PANEL_X ? CG : KG;
  const int row_count = PANEL == PANEL_X ? KG : PANEL == PANEL_Y ? CG : CG * R1 * R2;
  const int panels = (lane_count + NR - 1) / NR, tiles = (row_count + MR - 1) / MR;
  const int taps = PANEL == PANEL_Y_TAPS ? 1 : R1 * R2, depth_taps = PANEL == PANEL_Y_TAPS ? 1 : R0;
  const int shares = (panels + PANELS - 1) / PANELS, g = (int)get_group_id(0) / shares;
  const int panel_begin = (int)get_group_id(0) % shares * PANELS, panel_end = min(panel_begin + PANELS, panels);
  const int tile_begin = (int)get_group_id(1) * BLOCK, tile_end = min(tile_begin + BLOCK, tiles);
  const int part = (int)get_group_id(2);
  const int chunks = (N * O0 + slices - 1) / slices * ((O1 + rows - 1) / rows) * ((O2 + columns - 1) / columns);
  const int chunk_begin = (int)((long)part * chunks / PARTS), chunk_end = (int)((long)(part + 1) * chunks / PARTS);
  const long x_plane = (long)I0 * I1 * I2, y_plane = (long)O0 * O1 * O2;
  const int high = (rows - 1) * ST1 + (R1 - 1) * DI1 + 1, wide = (O2 - 1) * ST2 + (R2 - 1) * DI2 + 1;
  __local float *copied = scratch + copy_at;
  __local int *a_list = (__local int *)(scratch + lists_at), *b_list = a_list + slices * rows * columns + VW;
  T += T_at + ((long)part * G + g) * panels * tiles * depth_taps * taps * MR * NR;
  x += x_at + (long)g * CG * x_plane;
  y += y_at + (long)g * KG * y_plane;
  for (int index = chunk_begin; index < chunk_end; index++) {
    const chunk at = chunk_at(CONV, slices, rows, columns, index);
    const int n_begin = at.s_begin / O0;
#if PANEL == PANEL_Y_TAPS
    copy_rows(CONV, at, x, high, wide, copied);
#endif
    for (int panel = panel_begin; panel < panel_end; panel++)
      for (int r = 0; r < depth_taps * taps; r++) {
        const int r0 = r / taps, tap = r % taps;
        if (tap == 0) pack_chunk(CONV, at, r0, g, panel * NR, PANEL == PANEL_X ? x : y, scratch);
#if PANEL == PANEL_Y_TAPS
        const int count = list_copied(CONV, at, high, wide, a_list, b_list);
#else
        const int count = list_pixels(CONV, at, r0, tap / R2, tap % R2, a_list, b_list);
#endif
        for (int tile = tile_begin; tile < tile_end; tile++) {
          row_t a[MR];
          UNROLL for (int i = 0; i < MR; i++) {
            const int row = min(tile * MR + i, row_count - 1);
#if PANEL == PANEL_X
            a[i] = y + ((long)n_begin * G * KG + row) * y_plane;
#elif PANEL == PANEL_Y
            a[i] = x + ((long)n_begin * G * CG + row) * x_plane;
#else
            const int c = row / (R1 * R2), r1 = row / R2 % R1, r2 = row % R2;
            a[i] = copied + (c * high + r1 * DI1) * wide + r2 * DI2;
#endif
          }
          add_products(a, MR * (PANEL == PANEL_X ? y_plane : x_plane), scratch, a_list, b_list, count,
                       index == chunk_begin, T + (((long)panel * tiles + tile) * depth_taps * taps + r) * MR * NR);
        }
      }
  }
}
