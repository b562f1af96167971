/* conv/winograd/wgrad.cl: the weight gradient of 3 x 3 filters of stride 1 by Winograd's method
 * (conv/winograd/winograd.clh), for the CPU class.
 *
 *   dW[k][c] = G' (sum over tiles of (A dY A') * (B' X B)) G
 *
 * The tiles of dY, TILE x TILE, are numbered row by row and image by image. A unit of work is KB filters by CB
 * channels, for one part of the tiles. A work-group, which has one work-item, computes one unit after another. All
 * intermediate values of TB tiles stay in the caches of its core:
 *
 *   V[point][tile][CB]              the transformed tiles of X; lanes of vectors are channels
 *   M[point][tile][KB]              the transformed tiles of dY
 *   S[panel][row][point][MR][NR]    sums over tiles of M V. A register tile is MR filters by NR = 16 NV channels
 *   buffer                          pixels (conv/winograd/rows.clh)
 *
 * MR NV vectors of 16 sums fill the registers: 8 by 2 with AVX-512, 6 by 1 with AVX2, where a vector takes two
 * registers. KB is a multiple of MR and of 16.
 *
 * T holds float sums [PARTS][ceil(CG / NR)][ceil(KG / MR)][9][MR][NR], which conv_wgrad_reduce adds up. Rows and lanes
 * beyond the operands are undefined. (TOP, LEFT) is the pixel of X that the first tap reads for the first pixel of dY.
 * scratch: for each work-group POINTS (TB (CB + KB) + 32 + KB CB) + EDGE (RUN TILE + 18) 16 floats. NDRange: walkers,
 * 1, 1; work-group (1, 1, 1). */
#include "conv/winograd/rows.clh"

#define NV (MR == 8 ? 2 : 1)
#define NR (NV * 16)
#define CB 64
#define KB (MR == 8 ? 64 : 96)
#define V_POINT (TB * CB + 16) /* floats of V per point; the 16 more keep the points in different cache sets */
#define M_POINT (TB * KB + 16)

/* Computes V for tiles tile .. end - 1 and the 16 channels from c on. */
VECTOR_APART void transform_x(source x, __private const int8 *size, __private const int8 *blocking, const int c,
                              const int tile, const int end, __global float *buffer, __global float *V) {
  UNPACK_INTS(WINOGRAD_SIZE, *size)
  UNPACK_INTS(WINOGRAD_BLOCKING, *blocking)
  for (int t = tile; t < end;) {
    const run at = run_at(t, end, OUT1, OUT2);
    read_pixels(x, N, CG, IN1, IN2, at.image, c, at.y + TOP, at.x + LEFT, EDGE, at.count * TILE + 2, buffer);
    transform_columns(at.count * TILE + 2, buffer);
    for (int r = 0; r < EDGE; r++)
      for (int i = 0; i < at.count; i++) {
        float16 v[EDGE];
        transform_row(buffer, i, r, v);
        UNROLL for (int s = 0; s < EDGE; s++) STOREV(f32, 16, v[s], V, (r * EDGE + s) * V_POINT + (t - tile + i) * CB);
      }
    t += at.count;
  }
}

/* Computes M for tiles tile .. end - 1 and the 16 filters from k on. */
VECTOR_APART void transform_y(source y, __private const int8 *size, const int k, const int TB, const int tile,
                              const int end, __global float *buffer, __global float *M) {
  UNPACK_INTS(WINOGRAD_SIZE, *size)
  for (int t = tile; t < end;) {
    const run at = run_at(t, end, OUT1, OUT2);
    read_pixels(y, N, KG, OUT1, OUT2, at.image, k, at.y, at.x, TILE, at.count * TILE, buffer);
    for (int i = 0; i < at.count; i++) {
      float16 rows[EDGE][TILE];
      UNROLL for (int s = 0; s < TILE; s++) {
        float16 d[TILE], m[EDGE];
        UNROLL for (int r = 0; r < TILE; r++) d[r] = vload16(i * TILE + s, buffer + r * BUFFER_ROW);
        WINOGRAD_OUTPUT_BACK(float16, d, m);
        UNROLL for (int r = 0; r < EDGE; r++) rows[r][s] = m[r];
      }
      UNROLL for (int r = 0; r < EDGE; r++) {
        float16 m[EDGE];
        WINOGRAD_OUTPUT_BACK(float16, rows[r], m);
        UNROLL for (int s = 0; s < EDGE; s++) STOREV(f32, 16, m[s], M, (r * EDGE + s) * M_POINT + (t - tile + i) * KB);
      }
    }
    t += at.count;
  }
}

/* Sets M to 0 for 16 filters that do not exist. */
VECTOR_APART void clear_filters(const int TB, __global float *M) {
  for (int point = 0; point < POINTS; point++)
    for (int t = 0; t < TB; t++) STOREV(f32, 16, (float16)(0.0f), M, point * M_POINT + t * KB);
}

/* S += M V over `count` tiles. With `first` the sums begin at 0. */
VECTOR_FUNCTION inline void multiply(__global const float *m, __global const float *v, const int count,
                                     const bool first, __global float *S) {
  vec sums[MR][NV];
  if (first)
    TILE_CLEAR(sums, MR, NV);
  else
    TILE_LOAD(sums, MR, NV, S, NR);
  for (int t = 0; t < count; t++, m += KB, v += CB) {
    vec x[NV];
    TILE_READ(x, NV, v);
    TILE_MULTIPLY_ADD(sums, MR, NV, m[i], x)
  }
  TILE_STORE(sums, MR, NV, S, NR);
}

/* T[9][MR][NR] = G' S G. */
VECTOR_APART void transform_sums(__global const float *S, __global float *T) {
  for (int i = 0; i < MR * NR; i += 16) {
    float16 columns[3][EDGE];
    UNROLL for (int s = 0; s < EDGE; s++) {
      float16 u[EDGE], g[3];
      UNROLL for (int r = 0; r < EDGE; r++) u[r] = vload16(0, S + (r * EDGE + s) * MR * NR + i);
      WINOGRAD_FILTER_BACK(float16, u, g);
      UNROLL for (int r = 0; r < 3; r++) columns[r][s] = g[r];
    }
    UNROLL for (int r = 0; r < 3; r++) {
      float16 g[3];
      WINOGRAD_FILTER_BACK(float16, columns[r], g);
      UNROLL for (int s = 0; s < 3; s++) STOREV(f32, 16, g[s], T, (r * 3 + s) * MR * NR + i);
    }
  }
}

CPU_KERNEL winograd_wgrad(const int8 size, const int8 blocking, source x, const long x_at, source y, const long y_at,
                          __global float *T, const long T_at, __global float *scratch, const long scratch_at) {
  UNPACK_INTS(WINOGRAD_SIZE, size)
  UNPACK_INTS(WINOGRAD_BLOCKING, blocking)
  const int tiles = N * ((OUT1 + TILE - 1) / TILE) * ((OUT2 + TILE - 1) / TILE), blocks = (tiles + TB - 1) / TB;
  const int c_blocks = (CG + CB - 1) / CB, k_blocks = (KG + KB - 1) / KB;
  const int panels = (CG + NR - 1) / NR, rows = (KG + MR - 1) / MR;
  __global float *V = scratch + scratch_at, *M, *S, *buffer;
  V += get_group_id(0) * ((long)POINTS * (V_POINT + M_POINT + KB * CB) + EDGE * BUFFER_ROW);
  M = V + POINTS * V_POINT;
  S = M + POINTS * M_POINT;
  buffer = S + POINTS * KB * CB;
  x += x_at;
  y += y_at;
  T += T_at;
  for (int unit = (int)get_group_id(0); unit < c_blocks * k_blocks * PARTS; unit += (int)get_num_groups(0)) {
    const int c0 = unit % c_blocks * CB, k0 = unit / c_blocks % k_blocks * KB, part = unit / c_blocks / k_blocks;
    const int first = (int)((long)part * blocks / PARTS), last = (int)((long)(part + 1) * blocks / PARTS);
    const int panel_end = (min(CB, CG - c0) + NR - 1) / NR, row_end = (min(KB, KG - k0) + MR - 1) / MR;
    const int filters = (min(KB, KG - k0) + 15) / 16 * 16;
    if (16 % MR && filters < row_end * MR) clear_filters(TB, M + filters);
    for (int block = first; block < last; block++) {
      const int begin = block * TB, end = min(begin + TB, tiles);
      for (int c = 0; c < panel_end * NR; c += 16) transform_x(x, &size, &blocking, c0 + c, begin, end, buffer, V + c);
      for (int k = 0; k < filters; k += 16) transform_y(y, &size, k0 + k, TB, begin, end, buffer, M + k);
      for (int point = 0; point < POINTS; point++)
        for (int panel = 0; panel < panel_end; panel++)
          for (int row = 0; row < row_end; row++)
            multiply(M + point * M_POINT + row * MR, V + point * V_POINT + panel * NR, end - begin, block == first,
                     S + ((panel * (KB / MR) + row) * POINTS + point) * MR * NR);
    }
    for (int panel = 0; panel < panel_end; panel++)
      for (int row = 0; row < row_end; row++)
        transform_sums(S + (panel * (KB / MR) + row) * POINTS * MR * NR,
                       T + (((long)part * panels + c0 / NR + panel) * rows + k0 / MR + row) * 9 * MR * NR);
  }
}
