/* conv/cpu/inverted_residual.cl: the block of MobileNetV2 in one launch, for the CPU class:
 *
 *   E[k][i] = clamp(sum over c of W1[k][c] S[n][c][i] + B1[k])                    expanded, k < K
 *   F[k][o] = clamp(sum over taps t of W2[k][t] E[k][o STEP - PAD + t] + B2[k])   each channel alone; E is 0 outside
 *   D[n][m][o] = sum over k of W3[m][k] F[k][o] + B3[m] (+ A[n][m][o])            projected, m < M
 *
 * with clamp(x) = min(max(x, low), high). E and F never leave the caches of a core.
 *
 * A work-group, which has one work-item, computes a strip of ROWS rows of D with all channels. It processes one panel
 * of 16 NV expanded channels at a time:
 *   1. E of the panel, for the rows of S that the strip reads and their halo, in local memory with zeros around it
 *   2. F of the panel
 *   3. the panel's part of the sums of D, which stay in local memory until the last panel
 * The lanes of a vector are channels in all steps. So the next step can broadcast elements from where they are stored,
 * and only D is transposed.
 *
 * P holds the weights in the order of use (inverted_residual_pack), with zeros in lanes beyond K or M (K / 16 and M /
 * 16 are rounded up): W1 [K / 16][C][16], B1 [K / 16][16], W2 [K / 16][taps][16], B2 [K / 16][16], W3 [M / 16][K
 * rounded up to 16][16], B3 [M / 16][16].
 *
 *   SEG     pixels per segment; a register tile has two segments
 *   NV      vectors in a panel
 *   R       rows and columns of the depthwise filter
 *   HAS_A   1: A is added; 0: A is not read
 *   pitch   columns of E in local memory
 *
 * S has IN1 x IN2 pixels and D has OUT1 x OUT2. Rows of S have at least SEG pixels. NDRange: ceil(OUT1 / ROWS), N;
 * work-group (1, 1). scratch: see `scratch` below. */
#include "common/fields.clh"
#include "common/cpu/register_tile.clh"
#include "common/transpose.clh"
#include "conv/fields.clh"

#define PANEL (NV * VW) /* channels of a panel */
#define TILE (2 * SEG)  /* pixels of a register tile */
#define AHEAD 16        /* weights are prefetched this many steps ahead, from a second or third level cache */

typedef __global const float *weights;
typedef __local float *local_floats;

static inline vec clamped(const vec x, const float low, const float high) {
  const vec v = x < low ? (vec)low : x;
  return v > high ? (vec)high : v;
}

/* sums[segments SEG][vectors] = the sum over k < steps of w[vector][k] times each pixel of channel k. The pixels are
 * SEG pixels from x on and, with two segments, SEG pixels from y on. */
#define DEFINE_EXPAND(segments, vectors)                                                                               \
  static inline void expand_##segments##_##vectors(const int steps, const int channel, source x, source y, weights w,  \
                                                   __private vec *sums) {                                              \
    vec sum[(segments)*SEG][vectors];                                                                                  \
    TILE_CLEAR(sum, (segments)*SEG, vectors);                                                                          \
    for (int k = 0; k < steps; k++, x += channel, y += channel, w += VW) {                                             \
      vec filters[vectors];                                                                                            \
      UNROLL for (int j = 0; j < vectors; j++) PREFETCH_READ(w + j * steps * VW + AHEAD * VW);                         \
      UNROLL for (int j = 0; j < vectors; j++) filters[j] = MICA_VLOAD(VW, w, j * steps * VW);                         \
      TILE_MULTIPLY_ADD(sum, (segments)*SEG, vectors, i < SEG ? x[i] : y[i - SEG], filters)                            \
    }                                                                                                                  \
    TILE_EACH((segments)*SEG, vectors) sums[i * NV + j] = sum[i][j];                                                   \
  }
DEFINE_EXPAND(1, 1)
DEFINE_EXPAND(2, 1)

/* d[pixel][M / 16][16] += the sum over the panel's `steps` channels of w[vector][k] f[pixel][k]. The sum of a panel is
 * computed separately and then added, which gives a smaller rounding error than one long sum. */
#define DEFINE_PROJECT(vectors)                                                                                        \
  static inline void project_##vectors(const int steps, const int next, const int pitch, __local const float *f,       \
                                       weights w, local_floats d) {                                                    \
    vec sum[TILE][vectors];                                                                                            \
    TILE_CLEAR(sum, TILE, vectors);                                                                                    \
    for (int k = 0; k < steps; k++) {                                                                                  \
      vec filters[vectors];                                                                                            \
      UNROLL for (int j = 0; j < vectors; j++) filters[j] = MICA_VLOAD(VW, w, j * next + k * VW);                      \
      TILE_MULTIPLY_ADD(sum, TILE, vectors, f[i * PANEL + k], filters)                                                 \
    }                                                                                                                  \
    TILE_EACH(TILE, vectors) sum[i][j] += MICA_VLOAD(VW, d, i * pitch + j * VW);                                       \
    TILE_STORE(sum, TILE, vectors, d, pitch);                                                                          \
  }
DEFINE_PROJECT(1)
#if NV > 1
#define DEFINE_WIDE(vectors) DEFINE_EXPAND(1, vectors) DEFINE_EXPAND(2, vectors) DEFINE_PROJECT(vectors)
DEFINE_WIDE(NV)
#endif
#define EXPAND(segments, vectors) MICA_PASTE(MICA_PASTE(expand_##segments, _), vectors)
#define PROJECT(vectors) MICA_PASTE(project_, vectors)

/* Computes F of `vectors` vectors of a panel, as f[pixel][PANEL]. */
static inline void filter_panel(const int vectors, const int rows, const int columns, const int step, const int pitch,
                                const float low, const float high, __local const float *e, weights w2, weights b2,
                                local_floats f) {
  for (int j = 0; j < vectors; j++) {
    vec w[R * R];
    const vec bias = MICA_VLOAD(VW, b2, j * VW);
    UNROLL for (int t = 0; t < R * R; t++) w[t] = MICA_VLOAD(VW, w2, (j * R * R + t) * VW);
    for (int row = 0; row < rows; row++) {
      __local const float *from = e + row * step * pitch * PANEL + j * VW;
      local_floats to = f + row * columns * PANEL + j * VW;
      for (int column = 0; column < columns; column++, from += step * PANEL, to += PANEL) {
        vec sum[R];
        UNROLL for (int r = 0; r < R; r++) {
          sum[r] = r ? (vec)0.0f : bias;
          UNROLL for (int s = 0; s < R; s++) sum[r] =
              w[r * R + s] * MICA_VLOAD(VW, from, (r * pitch + s) * PANEL) + sum[r];
        }
        UNROLL for (int r = 1; r < R; r++) sum[0] += sum[r];
        STOREV(f32, VW, clamped(sum[0], low, high), to, 0);
      }
    }
  }
}

/* Adds b3 and, if it is not null, A, and writes up to 16 channels of `count` adjacent pixels to D. d points to the sums
 * of the first pixel; the sums of the next pixel follow `pitch` floats later. The last vector may overlap the one
 * before it. */
static inline void finish(__local const float *d, const int pitch, const int count, const int channels, const int plane,
                          weights b3, __global const float *A, __global float *D) {
  for (int i = 0; i < count; i += VW) {
    vec x[VW];
    const int at = count < VW ? i : min(i, count - VW);
    UNROLL for (int p = 0; p < VW; p++) x[p] = MICA_VLOAD(VW, d, (at + p) * pitch);
    mica_transpose16(x);
    if (count >= VW) {
      UNROLL for (int m = 0; m < VW; m++) {
        if (m >= channels) continue;
        vec y = x[m] + b3[m];
        if (A) y += MICA_VLOAD(VW, A, m * plane + at);
        STOREV(f32, VW, y, D, m * plane + at);
      }
    } else {
      float y[VW][VW];
      UNROLL for (int m = 0; m < VW; m++) vstore16(x[m], 0, y[m]);
      for (int m = 0; m < min(channels, VW); m++)
        for (int p = 0; p < count; p++) D[m * plane + p] = y[m][p] + b3[m] + (A ? A[m * plane + p] : 0.0f);
    }
  }
}

CPU_KERNEL inverted_residual(const int8 size, const int8 step, source S, const long S_at, weights P, const long P_at,
                             __local float *scratch, __global const float *A, const long A_at, __global float *D,
                             const long D_at, const float low, const float high) {
  UNPACK_INTS(INVERTED_RESIDUAL_SIZE, size)
  UNPACK_INTS(INVERTED_RESIDUAL_STEP, step)
  const int KV = (K + VW - 1) / VW, MV = (M + VW - 1) / VW, depth = KV * VW, width = MV * VW;
  const int row0 = (int)get_group_id(0) * ROWS, rows = min(ROWS, OUT1 - row0), pixels = rows * OUT2;
  const int top = row0 * STEP - PAD1, first = max(0, -top), last = min((rows - 1) * STEP + R, IN1 - top);
  const int a_row = (IN2 + SEG - 1) / SEG, segments = max(0, last - first) * a_row;
  const long n = (long)get_group_id(1);
  const weights w1 = P + P_at, b1 = w1 + (long)depth * C, w2 = b1 + depth, b2 = w2 + depth * R * R, w3 = b2 + depth,
                b3 = w3 + (long)width * depth;
  const int e_floats = ((ROWS - 1) * STEP + R) * pitch * PANEL, f_pixels = (ROWS * OUT2 + TILE - 1) / TILE * TILE;
  local_floats e = scratch, f = e + e_floats, d = f + f_pixels * PANEL;
  for (int i = 0; i < e_floats + f_pixels * PANEL + (f_pixels + VW) * width; i += VW)
    STOREV(f32, VW, (vec)0.0f, scratch, i);
  S += S_at + n * C * IN1 * IN2 + (long)top * IN2;
  for (int v = 0; v < KV; v += NV) {
    const int vectors = min(NV, KV - v);
    const weights w = w1 + (long)v * C * VW;
    for (int s = 0; s < segments; s += 2) {
      const bool both = s + 1 < segments;
      vec tile[TILE * NV];
      int at[2], to[2];
      for (int h = 0; h < 2; h++) {
        const int segment = min(s + h, segments - 1), row = first + segment / a_row;
        const int column = min(segment % a_row * SEG, IN2 - SEG);
        at[h] = row * IN2 + column;
        to[h] = (row * pitch + column + PAD2) * PANEL;
      }
      if (vectors == NV && both)
        EXPAND(2, NV)(C, IN1 * IN2, S + at[0], S + at[1], w, tile);
      else if (vectors == NV)
        EXPAND(1, NV)(C, IN1 * IN2, S + at[0], S + at[0], w, tile);
      else
        for (int j = 0; j < vectors; j++)
          if (both)
            EXPAND(2, 1)(C, IN1 * IN2, S + at[0], S + at[1], w + (long)j * C * VW, tile + j);
          else
            EXPAND(1, 1)(C, IN1 * IN2, S + at[0], S + at[0], w + (long)j * C * VW, tile + j);
      for (int j = 0; j < vectors; j++) {
        const vec bias = MICA_VLOAD(VW, b1, (v + j) * VW);
        for (int h = 0; h < 1 + both; h++)
          UNROLL for (int i = 0; i < SEG; i++)
              STOREV(f32, VW, clamped(tile[(h * SEG + i) * NV + j] + bias, low, high), e, to[h] + i * PANEL + j * VW);
      }
    }
    filter_panel(vectors, rows, OUT2, STEP, pitch, low, high, e, w2 + v * R * R * VW, b2 + v * VW, f);
    for (int m = 0; m < MV; m += NV)
      for (int p = 0; p < pixels; p += TILE) {
        const weights w_m = w3 + ((long)m * depth + v * VW) * VW;
        if (m + NV <= MV)
          PROJECT(NV)(vectors * VW, depth * VW, width, f + p * PANEL, w_m, d + p * width + m * VW);
        else
          for (int j = 0; j < MV - m; j++) PROJECT(1)
        (vectors * VW, depth * VW, width, f + p * PANEL, w_m + (long)j * depth * VW, d + p * width + (m + j) * VW);
      }
  }
  for (int m = 0; m < MV; m++) {
    const long at = ((n * M + m * VW) * OUT1 + row0) * OUT2;
    finish(d + m * VW, width, pixels, M - m * VW, OUT1 * OUT2, b3 + m * VW, HAS_A ? A + A_at + at : 0, D + D_at + at);
  }
}

/* P[v][c][lane] = W[16 v + lane][c] for c < `padded`, 0 outside W. NDRange: vectors of rows; work-group (1). */
CPU_KERNEL inverted_residual_pack(const int rows, const int columns, const int padded, __global const float *W,
                                  const long W_at, __global float *P, const long P_at) {
  const int v = (int)get_group_id(0);
  __global float *to = P + P_at + (long)v * padded * VW;
  for (int c = 0; c < padded; c++)
    for (int i = 0; i < VW; i++, to++) {
      const int row = v * VW + i;
      *to = row < rows && c < columns ? W[W_at + (long)row * columns + c] : 0.0f;
    }
}
