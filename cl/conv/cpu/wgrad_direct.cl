/* conv/cpu/wgrad_direct.cl: the weight gradient of filters that see few channels, for the CPU class.
 *
 *   dW[g][k][c][r][s] = sum over n, p, q of
 *                       dY[n][g KG + k][p][q] X[n][g CG + c][p ST1 - PA1 + r DI1][q ST2 - PA2 + s DI2]
 *
 * A work-item, which is a work-group, takes a part of the strips, `rows` output rows of an image each, `slots` at a
 * time. It packs the rows of X that they read into local memory (conv/input_tile.clh), with padding, columns split by
 * their phase of ST2, so that adjacent output pixels read adjacent elements. Lanes are pixels of an output row; a
 * register tile is PAIRS pairs of channel and tap by FILTERS rows of dY, which are read in place; lanes are added in
 * the end. Neither dY nor taps are packed.
 *
 * Output rows have at least VW pixels. tile: rows; strips of an image; slots; rows and pitch of the input tile of a
 * channel. T is what conv/wgrad_reduce.cl takes with PANEL 3, MR PAIRS, NV 1. NDRange: parts, G, 1; work-group
 * (1, 1, 1). scratch: slots CG tile_rows ST2 pitch floats, and an int for each pair of padded tiles. tile_rows:
 * (rows - 1) ST1 + (R1 - 1) DI1 + 1; pitch: O2 and the halo. */
#include "common/register_tile.clh"
#include "conv/input_tile.clh"

#ifndef FILTERS
#define FILTERS 2
#endif
#ifndef PAIRS
#define PAIRS 9
#endif

static inline float sum_lanes(const float16 v) {
  const float8 a = v.lo + v.hi;
  const float4 b = a.lo + a.hi;
  const float2 c = b.lo + b.hi;
  return c.x + c.y;
}

/* sum[i][f] += the products of pixels of dY's rows, the first of which are at y, with the input that pair i reads from
 * them in an input tile u. What is `ahead` elements further will be read next. */
static inline void multiply(const source y[FILTERS], const long ahead, __local const float *u, const long *at,
                            const int height, const int width, const int down, vec sum[PAIRS][FILTERS]) {
  for (int p = 0; p < height; p++, u += down)
    for (int q = 0; q < width; q += VW) {
      /* The last vector of a row overlaps the one before, whose pixels are not added twice. */
      const int x = min(q, width - VW);
      const int16 used = LANE_NUMBERS(16) >= q - x;
      vec row[FILTERS];
      UNROLL for (int f = 0; f < FILTERS; f++) {
        row[f] = select((float16)(0.0f), READ(VW, y[f], p * width + x), used);
        PREFETCH_READ(y[f] + p * width + x + ahead);
      }
      TILE_MULTIPLY_ADD(sum, PAIRS, FILTERS, MICA_VLOAD(VW, u + x, at[i]), row)
    }
}

CPU_KERNEL conv_cpu_wgrad_direct(CONV_PARAMS, const int8 tile_shape, source X, const long X_at, source Y,
                                 const long Y_at, __global float *T, const long T_at, __local float *scratch) {
  CONV_UNPACK
  const int rows = tile_shape.s0, strips = tile_shape.s1, slots = tile_shape.s2, tile_rows = tile_shape.s3;
  const int pitch = tile_shape.s4, taps = R1 * R2;
  const int input = CG * tile_rows * ST2 * pitch, pairs = CG * taps, tiles = (pairs + PAIRS - 1) / PAIRS;
  const int panels = (KG + VW - 1) / VW, columns = min(I2, (O2 - 1) * ST2 + (R2 - 1) * DI2 + 1 - PA2);
  const int parts = (int)get_num_groups(0), part = (int)get_group_id(0), g = (int)get_group_id(1);
  const int begin = (int)((long)part * N * strips / parts), end = (int)((long)(part + 1) * N * strips / parts);
  __local int *at = (__local int *)(scratch + slots * input);
  const long y_plane = (long)O1 * O2;
  T += T_at + ((long)part * G + g) * panels * tiles * PAIRS * VW;
  for (int i = 0; i < panels * tiles * PAIRS; i++) STOREV(f32, VW, (float16)(0.0f), T, i * VW);
  for (int i = 0; i < tiles * PAIRS; i++) {
    const int pair = min(i, pairs - 1), y = pair % taps / R2 * DI1, x = pair % R2 * DI2;
    at[i] = ((pair / taps * tile_rows + y) * ST2 + x % ST2) * pitch + x / ST2;
  }
  for (int first = begin; first < end; first += slots) {
    const int count = min(slots, end - first);
    for (int i = 0; i < count * input; i++) scratch[i] = 0.0f;
    for (int slot = 0; slot < count; slot++) {
      const int n = (first + slot) / strips, top = (first + slot) % strips * rows * ST1 - PA1;
      for (int c = 0; c < CG; c++)
        for (int y = max(0, -top); y < min(tile_rows, I1 - top); y++)
          pack_phases(X, X_at + ((((long)n * G + g) * CG + c) * I1 + top + y) * I2, columns, PA2, ST2, pitch,
                      scratch + slot * input + (c * tile_rows + y) * ST2 * pitch);
    }
    for (int k = 0; k < KG; k += FILTERS)
      for (int tile = 0; tile < tiles; tile++) {
        vec sum[PAIRS][FILTERS];
        long from[PAIRS];
        UNROLL for (int i = 0; i < PAIRS; i++) from[i] = at[tile * PAIRS + i];
        TILE_CLEAR(sum, PAIRS, FILTERS);
        for (int slot = 0; slot < count; slot++) {
          const int n = (first + slot) / strips, o = (first + slot) % strips * rows;
          source y[FILTERS];
          UNROLL for (int f = 0; f < FILTERS; f++) y[f] =
              Y + Y_at + (((long)n * G + g) * KG + min(k + f, KG - 1)) * y_plane + (long)o * O2;
          multiply(y, FILTERS * y_plane, scratch + slot * input, from, min(rows, O1 - o), O2, ST1 * ST2 * pitch, sum);
        }
        UNROLL for (int f = 0; f < FILTERS; f++) {
          const long to = ((long)((k + f) / VW) * tiles + tile) * PAIRS * VW + (k + f) % VW;
          if (k + f < KG) UNROLL for (int i = 0; i < PAIRS; i++) T[to + i * VW] += sum_lanes(sum[i][f]);
        }
      }
  }
}
