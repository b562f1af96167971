/* conv/winograd/fused.cl: Winograd's convolution (conv/winograd/winograd.clh) of 3 x 3 taps and stride 1, tile by tile
 * in the caches, for the CPU class.
 *
 *   D[n][k][y][x] = sum over c < CG and r, s < 3 of S[n][c][y + TOP + r][x + LEFT + s] g[k][c][r][s]
 *
 * with zeros outside S. U holds the transformed filters (conv/winograd/pack_weights.cl). The tiles of D, TILE x TILE,
 * are numbered row by row and image by image. A work-group, which has one work-item, processes blocks of TB tiles: it
 * takes every walkers-th block, for PANELS panels of 32 filters. All intermediate values of a block stay in the caches
 * of its core:
 *
 *   V[tile / MR][point][tile % MR][CP]  the transformed tiles; lanes of vectors are channels
 *   M[tile][point][32]                  sums over c of U V for one panel. A register tile is MR tiles by 16 NV filters
 *   buffer                              pixels of up to RUN tiles of a row (conv/winograd/rows.clh)
 *
 * MR NV vectors of 16 sums fill the registers: 8 by 2 with AVX-512, 6 by 1 with AVX2, where a vector takes two
 * registers. CP is CG rounded up to 16, and TB is a multiple of MR. scratch: for each work-group TB / MR POINTS (MR CP
 * + 16) + TB POINTS 32 + EDGE (RUN TILE + 18) 16 floats. NDRange: walkers, ceil(KG / 32 / PANELS), 1; work-group (1, 1,
 * 1). */
#include "common/cpu/register_tile.clh"
#include "common/epilogue.clh"
#include "conv/winograd/rows.clh"

#define NR 32
#define NV (MR == 8 ? 2 : 1)
#define PANEL (MR * CP + 16) /* floats of V per point; the 16 more keep the points in different cache sets */

/* Computes V for the `count` tiles of a run and the 16 channels in `buffer`. `first` is the index in the block of the
 * run's first tile. V points to the first of these channels. */
VECTOR_APART void transform_input(__global float *buffer, const int first, const int count, const int CP,
                                  __global float *V) {
  transform_columns(count * TILE + 2, buffer);
  for (int r = 0; r < EDGE; r++)
    for (int i = 0; i < count; i++) {
      const int tile = first + i;
      __global float *to = V + (long)(tile / MR * POINTS + r * EDGE) * PANEL + tile % MR * CP;
      float16 v[EDGE];
      transform_row(buffer, i, r, v);
      UNROLL for (int s = 0; s < EDGE; s++) STOREV(f32, 16, v[s], to, s * PANEL);
    }
}

/* Sets V to 0 for the tiles that do not exist: from tile `first` on, up to a multiple of MR. Their results are not
 * used, but old values in them (denormals, NaN) would make the arithmetic slow. */
VECTOR_APART void clear_tiles(const int first, const int CP, __global float *V) {
  for (int tile = first; tile % MR != 0; tile++)
    for (int point = 0; point < POINTS; point++)
      for (int c = 0; c < CP; c += 16)
        STOREV(f32, 16, (float16)(0.0f), V, (long)(tile / MR * POINTS + point) * PANEL + tile % MR * CP + c);
}

/* Computes M for MR tiles and 16 nv filters at one point, STEPS channels at a time, and prefetches the filters of the
 * next point. More than PART channels are summed in parts, which gives a smaller rounding error. The function is not
 * inlined, because PoCL would otherwise keep the addresses of v in memory. */
#define STEPS (MR == 8 ? 1 : 2)
#define PART 128
#define DEFINE_MULTIPLY(nv)                                                                                            \
  VECTOR_APART void multiply_##nv(__global const float *u, __global const float *v, const int CP, __global float *M) { \
    for (int part = 0; part < CP; part += PART) {                                                                      \
      vec sums[MR][nv];                                                                                                \
      TILE_CLEAR(sums, MR, nv);                                                                                        \
      for (int c = part; c < min(part + PART, CP); c += STEPS, v += STEPS) {                                           \
        UNROLL for (int step = 0; step < STEPS; step++, u += NR) {                                                     \
          vec uv[nv];                                                                                                  \
          UNROLL for (int line = 0; line < nv; line++) PREFETCH_FAR(u + CP * NR + line * 16);                          \
          TILE_READ(uv, nv, u);                                                                                        \
          TILE_MULTIPLY_ADD(sums, MR, nv, v[i * CP + step], uv)                                                        \
        }                                                                                                              \
      }                                                                                                                \
      if (part > 0) TILE_EACH(MR, nv) sums[i][j] += MICA_VLOAD(VW, M, i * POINTS * NR + j * VW);                       \
      TILE_STORE(sums, MR, nv, M, POINTS *NR);                                                                         \
    }                                                                                                                  \
  }
DEFINE_MULTIPLY(1)
#if MR == 8
DEFINE_MULTIPLY(2)
#endif

/* Computes M for `count` tiles and `filters` filters of a panel at one point. */
INLINE void multiply_point(__global const float *u, __global const float *v, const int count, const int filters,
                           const int CP, __global float *M) {
  for (int k = 0; k < filters; k += 16 * NV)
    for (int t = 0; t < count; t += MR) {
      __global const float *panel = v + (long)(t / MR * POINTS) * PANEL;
      __global float *to = M + (long)t * POINTS * NR + k;
#if MR == 8
      if (filters > 16)
        multiply_2(u + k, panel, CP, to);
      else
#endif
        multiply_1(u + k, panel, CP, to);
    }
}

/* Computes the output pixels of the `count` tiles of a run from M: buffer[r][p][16] is row r and column p for 16
 * filters. */
VECTOR_APART void transform_output(__global const float *M, const int count, __global float *buffer) {
  for (int i = 0; i < count; i++, M += POINTS * NR) {
    float16 columns[TILE][EDGE];
    UNROLL for (int s = 0; s < EDGE; s++) {
      float16 m[EDGE], y[TILE];
      UNROLL for (int r = 0; r < EDGE; r++) m[r] = vload16(0, M + (r * EDGE + s) * NR);
      WINOGRAD_OUTPUT(float16, m, y);
      UNROLL for (int r = 0; r < TILE; r++) columns[r][s] = y[r];
    }
    UNROLL for (int r = 0; r < TILE; r++) {
      float16 y[TILE];
      WINOGRAD_OUTPUT(float16, columns[r], y);
      UNROLL for (int s = 0; s < TILE; s++) STOREV(f32, 16, y[s], buffer, r * BUFFER_ROW + (i * TILE + s) * 16);
    }
  }
}

/* pixels[channel][16] = the transpose of buffer[16][channel]. */
static inline void transpose_back(__global const float *buffer, __private float pixels[16][16]) {
#if MR == 8
  float16 v[16];
  UNROLL for (int i = 0; i < 16; i++) v[i] = vload16(i, buffer);
  mica_transpose16(v);
  UNROLL for (int i = 0; i < 16; i++) STOREV(f32, 16, v[i], pixels[i], 0);
#else
  for (int p = 0; p < 16; p += 8)
    for (int k = 0; k < 16; k += 4) {
      __global const float *from = buffer + p * 16 + k;
      float8 v[4];
      UNROLL for (int i = 0; i < 4; i++) v[i] = (float8)(vload4(i * 4, from), vload4((i + 4) * 4, from));
      transpose_halves(v);
      UNROLL for (int i = 0; i < 4; i++) STOREV(f32, 8, v[i], pixels[k + i], p);
    }
#endif
}

/* Writes the next n pixels of channel k0 + i if n are left. It is used instead of FINISH_WHILE, whose loop makes the
 * convolution 5 % slower. */
#define FINISH_PIXELS(n)                                                                                               \
  if (j + n <= left) {                                                                                                 \
    FINISH(n, MICA_VLOAD(n, pixels[i], j), at.image, (long)k0 + i, first + j);                                         \
    j += n;                                                                                                            \
  }

/* Transforms and writes the pixels of a run for up to 16 filters from k0 on. M points to the run's first tile and
 * filter k0. */
APART void finish_run(const run at, const int OUT1, const int OUT2, const int KG, const int k0, __global const float *M,
                      __global float *buffer, EPILOGUE_PARAMS) {
  const int width = min(at.count * TILE, OUT2 - at.x);
  transform_output(M, at.count, buffer);
  for (int r = 0; r < min(TILE, OUT1 - at.y); r++)
    for (int p = 0; p < width; p += 16) {
      const long first = (long)(at.y + r) * OUT2 + at.x + p;
      const int left = min(16, width - p);
      float pixels[16][16];
      transpose_back(buffer + r * BUFFER_ROW + p * 16, pixels);
      for (int i = 0; i < min(16, KG - k0); i++) {
        int j = 0;
        FINISH_PIXELS(16)
        FINISH_PIXELS(8)
        FINISH_PIXELS(4)
        FINISH_PIXELS(2)
        FINISH_PIXELS(1)
      }
    }
}

/* Computes the results of a work-group: every walkers-th block of tiles from block `walker` on, for the panels from
 * part * PANELS on. */
APART void convolve_part(const int walker, const int walkers, const int part, const int8 size, const int8 blocking,
                         source S, const long S_at, __global const float *U, const long U_at, __global float *scratch,
                         const long scratch_at, EPILOGUE_PARAMS) {
  UNPACK_INTS(WINOGRAD_SIZE, size)
  UNPACK_INTS(WINOGRAD_BLOCKING, blocking)
  const int tiles = N * ((OUT1 + TILE - 1) / TILE) * ((OUT2 + TILE - 1) / TILE), panels = (KG + NR - 1) / NR;
  const long slot = (long)TB / MR * POINTS * PANEL + (long)TB * POINTS * NR + EDGE * BUFFER_ROW;
  __global float *V = scratch + scratch_at + ((long)part * walkers + walker) * slot;
  __global float *M = V + (long)TB / MR * POINTS * PANEL, *buffer = M + (long)TB * POINTS * NR;
  S += S_at;
  U += U_at;
  for (int begin = walker * TB; begin < tiles; begin += walkers * TB) {
    const int end = min(tiles, begin + TB);
    for (int c = 0; c < CG; c += 16)
      for (int tile = begin; tile < end;) {
        const run at = run_at(tile, end, OUT1, OUT2);
        read_pixels(S, N, CG, IN1, IN2, at.image, c, at.y + TOP, at.x + LEFT, EDGE, at.count * TILE + 2, buffer);
        transform_input(buffer, tile - begin, at.count, CP, V + c);
        tile += at.count;
      }
    clear_tiles(end - begin, CP, V);
    for (int panel = part * PANELS; panel < min(panels, (part + 1) * PANELS); panel++) {
      for (int point = 0; point < POINTS; point++) {
        __global const float *u = U + ((long)panel * POINTS + point) * CP * NR;
        multiply_point(u, V + (long)point * PANEL, end - begin, min(NR, KG - panel * NR), CP, M + point * NR);
      }
      for (int k0 = panel * NR; k0 < min(KG, (panel + 1) * NR); k0 += 16)
        for (int tile = begin; tile < end;) {
          const run at = run_at(tile, end, OUT1, OUT2);
          finish_run(at, OUT1, OUT2, KG, k0, M + (long)(tile - begin) * POINTS * NR + k0 % NR, buffer, alpha, beta, D,
                     D_at, D_row, D_batch, C, C_at, C_row, C_batch, bias, bias_at, act_arg);
          tile += at.count;
        }
    }
  }
}

CPU_KERNEL winograd_fused(const int8 size, const int8 blocking, source S, const long S_at, __global const float *U,
                          const long U_at, __global float *scratch, const long scratch_at, EPILOGUE_PARAMS) {
  convolve_part((int)get_group_id(0), (int)get_num_groups(0), (int)get_group_id(1), size, blocking, S, S_at, U, U_at,
                scratch, scratch_at, alpha, beta, D, D_at, D_row, D_batch, C, C_at, C_row, C_batch, bias, bias_at,
                act_arg);
}
