/* conv/cpu/conv_max_pool.cl: a convolution and the max pooling of its result in one launch, for the CPU class:
 *
 *   Y[n][m][o] = clamp(sum over c, taps t of W[m][c][t] S[n][c][o STEP - PAD + t] + B[m])      m < M
 *   D[n][m][p] = the largest of Y[n][m][p EVERY - BEFORE + i], 0 <= i < SIDE, inside Y; a NaN counts as the largest
 *
 * with clamp(x) = min(max(x, low), high). S has C channels of IN1 x IN2 pixels, Y has OUT1 x OUT2 pixels, D has POOL1 x
 * POOL2. Requirements: every window contains elements of Y, filters have at most 49 taps, C is at most 16, and rows of
 * Y have at least SEG pixels.
 *
 * Y is never written to global memory; its sums stay in a core's caches. The bias and the clamp are applied after the
 * maximum. This changes a result only if a sum is -infinity and its bias is +infinity: then the result comes from the
 * larger sums of the window and is not NaN.
 *
 * A work-group, which has one work-item, computes a strip of ROWS rows of D for every PARTS-th panel of NV vectors of
 * filters. It packs the rows of S that the strip reads as x[c][row][phase of STEP2][pitch], with zeros outside S;
 * `channel` is the number of floats per channel. For each panel it computes Y row by row into a ring buffer of SIDE1
 * rows, y[row % SIDE1][column][PANEL], and computes a row of D as soon as the last row of Y for it is complete. The
 * lanes of a vector are filters, so a maximum needs no shuffles.
 *
 * P holds the weights as conv/cpu/pack_weights.cl packs them, in tiles of 16. NDRange: ceil(POOL1 / ROWS), PARTS, N;
 * work-group (1, 1, 1). scratch, in floats: x and 16 more, the ring buffer, and POOL2 + 16 pixels of a panel.
 *
 *   SEG   pixels per segment; a register tile has two segments
 *   NV    vectors of filters in a register tile */
#include "common/fields.clh"
#include "conv/cpu/fields.clh"
#include "conv/cpu/filter_lanes.clh"
#include "conv/input_tile.clh"

#define MOST_TAPS 49
#define MOST_CHANNELS 16

DEFINE_MULTIPLY(APART, filter, 1, next, MOST_CHANNELS, 1)
#if NV > 1
#define DEFINE_WIDE(vectors) DEFINE_MULTIPLY(APART, filter, 1, next, MOST_CHANNELS, vectors)
DEFINE_WIDE(NV)
#endif

/* Packs `rows` rows of the image at S_at, from row `top` on, to x[c][row][phase][pitch]. Rows and columns outside of
 * the image become zeros. */
APART void pack_strip(const int8 size, const int8 kernel_size, source S, const long S_at, const int top, const int rows,
                      local_floats x) {
  UNPACK_INTS(CONV_MAX_POOL_SIZE, size)
  UNPACK_INTS(CONV_MAX_POOL_FILTER, kernel_size)
  const int line = STEP2 * pitch, count = min(IN2, line - PAD2);
  for (int i = 0; i < C * channel; i += VW) STOREV(f32, VW, (vec)0.0f, x, i);
  for (int c = 0; c < C; c++)
    for (int r = max(0, -top); r < min(rows, IN1 - top); r++)
      pack_phases(S, S_at + ((long)c * IN1 + top + r) * IN2, count, PAD2, STEP2, pitch, x + c * channel + r * line);
}

/* y[column][PANEL] = the sums of a row of Y, for `vectors` vectors of filters. x points to the packed element that the
 * first tap of the row's first pixel reads. */
APART void filter_row(const int columns, const int C, const int taps, __private const int *offset, const int channel,
                      const int vectors, weights w, pixels x, local_floats y) {
  const int segments = (columns + SEG - 1) / SEG;
  for (int s = 0; s < segments; s += 2) {
    const int first = min(s * SEG, columns - SEG), second = min((s + 1) * SEG, columns - SEG);
    if (vectors == NV)
      MULTIPLY(filter, NV)(w, C, taps, offset, x + first, x + second, channel, y + first * PANEL, y + second * PANEL);
    else
      for (int j = 0; j < vectors; j++) MULTIPLY(filter, 1)
    (w + (long)j * C * taps * VW, C, taps, offset, x + first, x + second, channel, y + first * PANEL + j * VW,
     y + second * PANEL + j * VW);
  }
}

CPU_KERNEL conv_max_pool(const int8 size, const int8 kernel_size, const int8 window, source S, const long S_at,
                         weights P, const long P_at, source B, const long B_at, __local float *scratch, result D,
                         const long D_at, const float low, const float high) {
  UNPACK_INTS(CONV_MAX_POOL_SIZE, size)
  UNPACK_INTS(CONV_MAX_POOL_FILTER, kernel_size)
  UNPACK_INTS(CONV_MAX_POOL_WINDOW, window)
  const int taps = R1 * R2, line = STEP2 * pitch, MV = (M + VW - 1) / VW, row0 = (int)get_group_id(0) * ROWS;
  const int last = min(POOL1, row0 + ROWS), part = (int)get_group_id(1);
  const int begin = max(0, row0 * EVERY1 - BEFORE1), end = min(OUT1, (last - 1) * EVERY1 - BEFORE1 + SIDE1);
  const long n = (long)get_group_id(2);
  local_floats x = scratch, y = x + C * channel + VW, d = y + SIDE1 * OUT2 * PANEL;
  const row_windows windows = {OUT2, POOL2, SIDE1, SIDE2, EVERY2, BEFORE2};
  int offset[MOST_TAPS];
  for (int t = 0; t < taps; t++) offset[t] = t / R2 * line + t % R2 % STEP2 * pitch + t % R2 / STEP2;
  pack_strip(size, kernel_size, S, S_at + n * C * IN1 * IN2, begin * STEP1 - PAD1, (end - begin - 1) * STEP1 + R1, x);
  for (int v = part * NV; v < MV; v += PARTS * NV) {
    const int vectors = min(NV, MV - v);
    int done = begin;
    for (int row = row0; row < last; row++) {
      const int from = max(0, row * EVERY1 - BEFORE1), to = min(OUT1, row * EVERY1 - BEFORE1 + SIDE1);
      for (done = max(done, from); done < to; done++)
        filter_row(OUT2, C, taps, offset, channel, vectors, P + P_at + (long)v * C * taps * VW,
                   x + (done - begin) * STEP1 * line, y + done % SIDE1 * OUT2 * PANEL);
      pool_row(windows, from, to, vectors, y, d);
      for (int j = 0; j < vectors; j++) {
        const int m = (v + j) * VW;
        finish(d + j * VW, POOL2, M - m, (long)POOL1 * POOL2, B, B_at + m, D,
               D_at + ((n * M + m) * POOL1 + row) * POOL2, low, high);
      }
    }
  }
}
