/* conv/cpu/fire_module.cl: the fire module of SqueezeNet in one launch, and the max pooling of its result, for the CPU
 * class:
 *
 *   E[k][i] = clamp(sum over c of W1[k][c] S[n][c][i] + B1[k])                     squeezed, k < K
 *   Y[n][m][i] = clamp(sum over k, taps t of W2[m][k][t] E[k][i + t] + B2[m])      m < M2, filters of R2 x R2
 *   Y[n][M2 + m][i] = clamp(sum over k, taps t of W3[m][k][t] E[k][i + t] + B3[m]) m < M3, filters of R3 x R3
 *   D[n][m][p] = the largest of Y[n][m][p EVERY - BEFORE + i], 0 <= i < SIDE, inside Y; a NaN counts as the largest
 *
 * with clamp(x) = min(max(x, low), high). R2 and R3 are odd, and t is counted from the middle of a filter. E is 0
 * outside the image, so Y has as many pixels as S: IN1 x IN2. D has POOL1 x POOL2 pixels. Each window contains elements
 * of Y. Rows of S have at least SEG pixels. E and the sums of Y never leave the caches of a core. POOLS 0: no pooling;
 * D is Y, SIDE and EVERY are 1 and BEFORE is 0.
 *
 * A work-group, which has one work-item, computes a strip of ROWS rows of D for every PARTS-th panel of NV vectors of
 * filters. It first computes E for the strip and its halo, in local memory with zeros around it, as e[K /
 * 16][row][column][16]. Each lane computes one filter. A register tile is two segments of SEG adjacent pixels of a row
 * by NV vectors. The sums of a panel over BLOCK rows are transposed and finished together. With POOLS, BLOCK is 1: rows
 * of sums are kept in a ring buffer of SIDE1 rows and are pooled before they are transposed, because a maximum needs no
 * shuffles while lanes are filters.
 *
 *   P       the weights W1, W2 and W3, one after another, packed by conv/cpu/pack_weights.cl in tiles of 16
 *   halo    rows and columns of zeros on each side of e
 *   SEG     pixels per segment
 *   NV      vectors of filters in a register tile
 *
 * NDRange: ceil(POOL1 / ROWS), PARTS, N; work-group (1, 1, 1). scratch, in floats: e; a tile of S (16 per channel); K /
 * 16 vectors; POOL2 + 16 pixels of a panel; max(BLOCK, SIDE1) rows of Y and 16 pixels of a panel. */
#include "common/fields.clh"
#include "conv/cpu/fields.clh"
#include "conv/cpu/filter_lanes.clh"

#define MOST_TAPS 49
#define SUMMED 144 /* products per partial sum of the filters W1 */
#if SEG > 4
#define HALF 4 /* pixels per load; two loads, which may overlap, read a segment */
#else
#define HALF 2
#endif

DEFINE_MULTIPLY(APART, squeeze, 1, VW, SUMMED, 1)
DEFINE_MULTIPLY(APART, expand, VW, 1, VW, 1)
#if NV > 1
#define DEFINE_WIDE(vectors)                                                                                           \
  DEFINE_MULTIPLY(APART, squeeze, 1, VW, SUMMED, vectors) DEFINE_MULTIPLY(APART, expand, VW, 1, VW, vectors)
DEFINE_WIDE(NV)
#endif

/* x[c][16] = the pixels of two segments of S, at elements `first` and `second`, for each of C channels. */
APART void pack_tile(source S, const long first, const long second, const int C, const long plane, local_floats x) {
  for (int c = 0; c < C; c++, x += VW) {
    STOREV(f32, HALF, READ(HALF, S, first + c * plane), x, 0);
    STOREV(f32, HALF, READ(HALF, S, first + SEG - HALF + c * plane), x, SEG - HALF);
    STOREV(f32, HALF, READ(HALF, S, second + c * plane), x, SEG);
    STOREV(f32, HALF, READ(HALF, S, second + SEG - HALF + c * plane), x, 2 * SEG - HALF);
  }
}

/* The rows and columns of an image, and those of the strip of e in local memory with its halo. */
typedef struct extent {
  int in1, in2, rows, pitch, halo, segments; /* pitch: columns of e; segments: segments per row */
} extent;

/* The first column of segment s. The last segment of a row overlaps the one before if the row is not a multiple of
 * SEG. */
static inline int column_of(const extent a, const int s) { return min(s % a.segments * SEG, a.in2 - SEG); }

/* Computes e of a strip. Its first row, counted with the halo, is row `top` of the image. */
APART void squeeze_strip(const extent a, const int C, const int K, const int top, source S, const long S_at, weights w,
                         const float low, const float high, local_floats e, local_floats x, local_floats b,
                         local_floats tile) {
  const int KV = (K + VW - 1) / VW, plane = a.rows * a.pitch * VW, zero[1] = {0};
  const int first = max(0, -top), last = min(a.rows, a.in1 - top), segments = max(0, last - first) * a.segments;
  for (int i = 0; i < KV * plane; i += VW) STOREV(f32, VW, (vec)0.0f, e, i);
  for (int s = 0; s < segments; s += 2) {
    long at[2];
    int to[2];
    for (int h = 0; h < 2; h++) {
      const int segment = min(s + h, segments - 1), row = first + segment / a.segments, column = column_of(a, segment);
      at[h] = S_at + (long)(top + row) * a.in2 + column;
      to[h] = (row * a.pitch + column + a.halo) * VW;
    }
    pack_tile(S, at[0], at[1], C, (long)a.in1 * a.in2, x);
    for (int v = 0; v < KV; v += NV) {
      const int vectors = min(NV, KV - v);
      const weights w_v = w + (long)v * C * VW;
      if (vectors == NV)
        MULTIPLY(squeeze, NV)(w_v, C, 1, zero, x, x + SEG, SUMMED * VW, tile, tile + SEG * PANEL);
      else
        for (int j = 0; j < vectors; j++) MULTIPLY(squeeze, 1)
      (w_v + (long)j * C * VW, C, 1, zero, x, x + SEG, SUMMED * VW, tile + j * VW, tile + SEG * PANEL + j * VW);
      for (int j = 0; j < vectors; j++) {
        const vec bias = MICA_VLOAD(VW, b, (v + j) * VW);
        for (int i = 0; i < TILE; i++)
          STOREV(f32, VW, clamped(MICA_VLOAD(VW, tile, i * PANEL + j * VW) + bias, low, high), e,
                 (v + j) * plane + (i < SEG ? to[0] + i * VW : to[1] + (i - SEG) * VW));
      }
    }
  }
}

/* Computes the sums of `vectors` vectors of filters over `rows` rows of the strip, from row `row0` on, as
 * d[pixel][PANEL]. */
APART void expand_block(const extent a, const int K, const int R, const int vectors, const int row0, const int rows,
                        weights w, pixels e, local_floats d) {
  const int taps = R * R, segments = rows * a.segments, plane = a.rows * a.pitch * VW;
  int offset[MOST_TAPS];
  for (int t = 0; t < taps; t++) offset[t] = ((t / R - R / 2) * a.pitch + t % R - R / 2) * VW;
  e += ((row0 + a.halo) * a.pitch + a.halo) * VW;
  for (int s = 0; s < segments; s += 2) {
    int from[2], to[2];
    for (int h = 0; h < 2; h++) {
      const int segment = min(s + h, segments - 1), row = segment / a.segments, column = column_of(a, segment);
      from[h] = (row * a.pitch + column) * VW;
      to[h] = (row * a.in2 + column) * PANEL;
    }
    if (vectors == NV)
      MULTIPLY(expand, NV)(w, K, taps, offset, e + from[0], e + from[1], plane, d + to[0], d + to[1]);
    else
      for (int j = 0; j < vectors; j++) MULTIPLY(expand, 1)
    (w + (long)j * K * taps * VW, K, taps, offset, e + from[0], e + from[1], plane, d + to[0] + j * VW,
     d + to[1] + j * VW);
  }
}

CPU_KERNEL fire_module(const int8 size, const int8 cut, const int8 window, source S, const long S_at, weights P,
                       const long P_at, source B1, const long B1_at, source B2, const long B2_at, source B3,
                       const long B3_at, __local float *scratch, result D, const long D_at, const float low,
                       const float high) {
  UNPACK_INTS(FIRE_MODULE_SIZE, size)
  UNPACK_INTS(FIRE_MODULE_CUT, cut)
  UNPACK_INTS(FIRE_MODULE_WINDOW, window)
  const int KV = (K + VW - 1) / VW, row0 = (int)get_group_id(0) * ROWS, last = min(POOL1, row0 + ROWS);
  const int begin = max(0, row0 * EVERY1 - BEFORE1), end = min(IN1, (last - 1) * EVERY1 - BEFORE1 + SIDE1);
  const int part = (int)get_group_id(1);
  const long n = (long)get_group_id(2), plane = (long)IN1 * IN2, pooled = (long)POOL1 * POOL2;
  const extent a = {IN1, IN2, end - begin + 2 * halo, IN2 + 2 * halo, halo, (IN2 + SEG - 1) / SEG};
  const row_windows windows = {IN2, POOL2, SIDE1, SIDE2, EVERY2, BEFORE2};
  local_floats e = scratch, x = e + KV * a.rows * a.pitch * VW, b = x + C * VW, d = b + KV * VW;
  local_floats y = d + (POOL2 + VW) * PANEL;
  weights w = P + P_at;
  for (int k = 0; k < KV * VW; k++) b[k] = k < K ? READ(1, B1, B1_at + k) : 0.0f;
  squeeze_strip(a, C, K, begin - halo, S, S_at + n * C * plane, w, low, high, e, x, b, y);
  w += (long)KV * VW * C;
  for (int branch = 0; branch < 2; branch++) {
    const int M = branch ? M3 : M2, R = branch ? R3 : R2, MV = (M + VW - 1) / VW, depth = K * R * R;
    const long channel = n * (M2 + M3) + (branch ? M2 : 0);
    for (int v = part * NV; v < MV; v += PARTS * NV) {
      const int vectors = min(NV, MV - v);
      const weights w_v = w + (long)v * depth * VW;
      int done = begin;
      for (int row = row0; row < last; row += BLOCK) {
        const int height = min(BLOCK, last - row);
        local_floats sums = y;
        if (POOLS) {
          const int from = max(0, row * EVERY1 - BEFORE1), to = min(IN1, row * EVERY1 - BEFORE1 + SIDE1);
          for (done = max(done, from); done < to; done++)
            expand_block(a, K, R, vectors, done - begin, 1, w_v, e, y + done % SIDE1 * IN2 * PANEL);
          pool_row(windows, from, to, vectors, y, d);
          sums = d;
        } else {
          expand_block(a, K, R, vectors, row - row0, height, w_v, e, y);
        }
        for (int j = 0; j < vectors; j++) {
          const int m = (v + j) * VW;
          const long at = D_at + (channel + m) * pooled + (long)row * POOL2;
          if (branch)
            finish(sums + j * VW, height * POOL2, M - m, pooled, B3, B3_at + m, D, at, low, high);
          else
            finish(sums + j * VW, height * POOL2, M - m, pooled, B2, B2_at + m, D, at, low, high);
        }
      }
    }
    w += (long)MV * VW * depth;
  }
}
