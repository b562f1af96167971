/* conv/cpu/direct_kw.cl: direct convolution vectorised over the filters, for results of many pixels, any phase of one
 * or two dimensions whose pixels are adjacent in D (conv/problem.clh), for the CPU class.
 *
 * Each lane of a vector computes one filter. Weights are packed in vectors (conv/cpu/pack_weights.cl, tiles of 16, in
 * one block). A register tile is two segments of SEG adjacent pixels of a row by NV vectors of filters. The two
 * segments need not be adjacent. Each step reads NV vectors of weights and broadcasts 2 SEG pixels. With SEG 7, rows of
 * 7, 14, 28, 56 and 112 pixels fill all tiles. If a row is not a multiple of SEG, its last segment overlaps the one
 * before.
 *
 * A work-group, which has one work-item, computes a strip of an image for PANELS panels of NV vectors of filters. The
 * strip's pixels are adjacent in D: ROWS whole rows, or SEGMENTS segments if the phase has only one row.
 *
 * The elements of the source that the strip reads are packed to local memory, with zeros outside of the source:
 *   PHASES2 > 1   per row of the source, PHASES2 rows of PITCH elements: one per column modulo the stride
 *   PHASES2 1     per row of the source, one row of PITCH elements: the columns that are read
 *   PHASES2 0     for a filter of one tap that reads no padding: the pixels of each tile, channel after channel
 * The sums of a panel are transposed to local memory, as rows of the strip's pixels, and finished from there.
 *
 *   ROW_STEP    packed rows from the rows that one row of D reads to those of the next row of D
 *   ROW_DELTA   packed rows from the row that one tap reads to that of the tap below it
 *   CHANNEL     packed floats per channel
 *
 * NDRange: strips, ceil(ceil(KG / 16) / (NV PANELS)), images times groups of the convolution; work-group (1, 1, 1).
 * scratch: the packed elements of CG channels and 16 floats; then 16 NV rows, each with the strip's pixels and 8 - SEG
 * floats, rounded up to whole vectors. At most 64 taps. */
#include "common/cpu/register_tile.clh"
#include "common/finish.clh"
#include "common/transpose.clh"
#include "conv/input_tile.clh"

#define PANEL (NV * VW) /* filters of a panel */
#define MOST_TAPS 64
#define SUMMED 144 /* products per partial sum: 16 channels of 3 x 3 taps */
#define AHEAD 16   /* weights are prefetched this many steps ahead, from a second or third level cache */

typedef __local const float *pixels;

DEFINE_INTERLEAVE(float16)

/* The packed elements that a tile reads: pointers to the first pixel of its two segments in channel 0, the floats from
 * one channel to the next, and the offset of each tap. */
typedef struct tile_source {
  pixels segment[2];
  long channel;
  __private const int *offset;
  int channels, taps;
} tile_source;

/* sums[segments SEG][vectors] = the sum over channels c and taps t of w[vector][c][t] x[c][t]; 0 if there are no
 * channels or taps. It adds partial sums of about SUMMED products. A single long sum of K products would have about
 * sqrt(K / SUMMED) times the rounding error; for K = 2304, 10 units of the last place instead of 2.8.
 *
 * The function for whole tiles is inlined if NV is above 1, because a call makes filters of 1 x 1 a tenth slower. The
 * other functions are not inlined. */
#define DEFINE_MULTIPLY(linkage, segments, vectors)                                                                    \
  linkage void multiply_##segments##_##vectors(__global const float *w, tile_source from, __private vec *sums) {       \
    const long next = (long)from.channels * from.taps * VW;                                                            \
    const int block = max(1, SUMMED / max(1, from.taps));                                                              \
    pixels x = from.segment[0], y = from.segment[1];                                                                   \
    for (int begin = 0; begin == 0 || begin < from.channels; begin += block) {                                         \
      vec sum[(segments)*SEG][vectors];                                                                                \
      TILE_CLEAR(sum, (segments)*SEG, vectors);                                                                        \
      for (int c = min(block, from.channels - begin); c > 0; c--, x += from.channel, y += from.channel)                \
        for (int t = 0; t < from.taps; t++, w += VW) {                                                                 \
          vec filters[vectors];                                                                                        \
          pixels first = x + from.offset[t], second = y + from.offset[t];                                              \
          UNROLL for (int j = 0; j < vectors; j++) PREFETCH_READ(w + j * next + AHEAD * VW);                           \
          UNROLL for (int j = 0; j < vectors; j++) filters[j] = MICA_VLOAD(VW, w, j * next);                           \
          TILE_MULTIPLY_ADD(sum, (segments)*SEG, vectors, i < SEG ? first[i] : second[i - SEG], filters)               \
        }                                                                                                              \
      if (begin)                                                                                                       \
        TILE_EACH((segments)*SEG, vectors) sums[i * NV + j] += sum[i][j];                                              \
      else                                                                                                             \
        TILE_EACH((segments)*SEG, vectors) sums[i * NV + j] = sum[i][j];                                               \
    }                                                                                                                  \
  }
DEFINE_MULTIPLY(APART, 1, 1)
DEFINE_MULTIPLY(APART, 2, 1)
#if NV > 1
#define DEFINE_WIDE(vectors) DEFINE_MULTIPLY(APART, 1, vectors) DEFINE_MULTIPLY(INLINE, 2, vectors)
DEFINE_WIDE(NV)
#endif
#define MULTIPLY(segments, vectors) MICA_PASTE(MICA_PASTE(multiply_##segments, _), vectors)

/* rows[k][i] = lane k of sums[i], for SEG pixels i. Also writes up to 8 - SEG elements after these, which later
 * segments overwrite. */
static inline void store_segment(__private const vec *sums, const int pitch, __local float *rows) {
  float16 x[8];
  UNROLL for (int i = 0; i < 8; i++) x[i] = i < SEG ? sums[i * NV] : (float16)(0.0f);
  INTERLEAVE(float16, x, 8)
  UNROLL for (int i = 0; i < 8; i++) {
    STOREV(f32, 8, x[i].lo, rows, 2 * i * pitch);
    STOREV(f32, 8, x[i].hi, rows, (2 * i + 1) * pitch);
  }
}

/* With PHASES2 0: packed floats from a channel of a tile to the next. */
#define TILE_PITCH (SEG > 4 ? 16 : 8)
/* The number of segments that are packed for one channel before the next channel, so that reads stay close together. */
#define PACKED_TOGETHER 32

/* Packs two segments whose 2 SEG pixels are adjacent in the source, with two vector loads that may overlap. */
#if SEG > 4
#define PACK_BOTH(S, at, to) mica_pack_both(8, S, at, to)
#else
#define PACK_BOTH(S, at, to) mica_pack_both(4, S, at, to)
#endif
#define mica_pack_both(n, S, at, to)                                                                                   \
  do {                                                                                                                 \
    const MICA_PASTE(float, n) low_ = READ(n, S, at), high_ = READ(n, S, (at) + 2 * SEG - n);                          \
    STOREV(f32, n, low_, to, 0);                                                                                       \
    STOREV(f32, n, high_, to, 2 * SEG - n);                                                                            \
  } while (0)

/* Packs the strip's segments as x[tile][c][TILE_PITCH]. The strip begins at segment `first` of row row0; a row has
 * a_row segments. */
APART void pack_tiles(PHASE_PARAMS, const int a_row, const int row0, const int first, const int segments, source S,
                      const long image, __local float *x) {
  PHASE_UNPACK
  for (int begin = 0; begin < segments; begin += PACKED_TOGETHER) {
    const int count = min(PACKED_TOGETHER, segments - begin);
    int reads[PACKED_TOGETHER];
    for (int s = 0; s < count; s++) {
      const int segment = first + begin + s, row = row0 + segment / a_row;
      reads[s] = (row * STEP1 + FIRST1) * IN2 + min(segment % a_row * SEG, OUT2 - SEG) * STEP2 + FIRST2;
    }
    for (int c = 0; c < CG; c++) {
      const long channel = image + (long)c * IN1 * IN2;
      __local float *to = x + (begin / 2 * CG + c) * TILE_PITCH;
      for (int s = 0; s < count; s += 2, to += CG * TILE_PITCH)
        if (STEP2 == 1 && s + 1 < count && reads[s + 1] == reads[s] + SEG) {
          PACK_BOTH(S, channel + reads[s], to);
        } else {
          for (int h = 0; h < min(2, count - s); h++) pack_row(S, channel + reads[s + h], STEP2, SEG, to + h * SEG);
        }
    }
  }
}

/* Packs rows of the source as x[c][row][phase][PITCH], from row `top` on. */
APART void pack_rows(PHASE_PARAMS, const int8 blocking, source S, const long image, const int top, const int rows,
                     __local float *x) {
  PHASE_UNPACK
  UNPACK_INTS(DIRECT_KW_BLOCKING, blocking)
  const int step = PHASES2 > 1 ? STEP2 : 1, every = STEP2 / step, row_every = TAPS1 > 1 ? 1 : STEP1;
  const int pad = max(0, -FIRST2), begin = max(0, FIRST2), width = PHASES2 * PITCH - pad;
  const int count = min(every > 1 ? (IN2 - begin + every - 1) / every : IN2 - begin, width);
  for (int i = 0; i < CG * CHANNEL; i += VW) STOREV(f32, VW, (float16)(0.0f), x, i);
  for (int c = 0; c < CG; c++)
    for (int r = 0; r < rows; r++) {
      const int i1 = top + r * row_every;
      const long at = image + ((long)c * IN1 + i1) * IN2 + begin;
      __local float *row = x + c * CHANNEL + r * PHASES2 * PITCH;
      if (i1 < 0 || i1 >= IN1 || count <= 0) continue;
      if (PHASES2 > 1)
        pack_phases(S, at, count, pad, step, PITCH, row);
      else
        pack_row(S, at, every, count, row + pad);
    }
}

/* Computes the strip and the panels of work-group (x, y, z). */
APART void convolve_group(PHASE_PARAMS, const int8 blocking, source S, const long S_at, __global const float *P,
                          const long P_at, __local float *scratch, const int4 group, EPILOGUE_PARAMS) {
  PHASE_UNPACK
  UNPACK_INTS(DIRECT_KW_BLOCKING, blocking)
  const int g = group.z % G, n = group.z / G, vectors = (KG + VW - 1) / VW;
  const int begin = group.y * PANELS * NV, end = min(vectors, begin + PANELS * NV);
  const int strip = group.x, taps = TAPS1 * TAPS2, depth = CG * taps;
  const int row0 = OUT1 > 1 ? strip * ROWS : 0, height = min(ROWS, OUT1 - row0), a_row = (OUT2 + SEG - 1) / SEG;
  const int first = OUT1 > 1 ? 0 : strip * SEGMENTS, segments = min(SEGMENTS, height * a_row - first);
  const int column0 = first * SEG, at = row0 * OUT2 + column0;
  const int count = OUT1 > 1 ? height * OUT2 : min(OUT2 - column0, segments * SEG);
  const long image = ((long)n * G + g) * CG * IN1 * IN2;
  const int line = PHASES2 * PITCH, rows = (height - 1) * ROW_STEP + (TAPS1 - 1) * ROW_DELTA + 1;
  __local float *x = scratch, *sums = scratch + CG * CHANNEL + VW;
  const bool one_tap = PHASES2 == 0;
  tile_source from;
  int offset[MOST_TAPS] = {0};
  for (int t = 0; t < (one_tap ? 0 : taps); t++) {
    const int column = t % TAPS2 * DELTA2, phase = PHASES2 > 1 ? column % STEP2 : 0;
    offset[t] = t / TAPS2 * ROW_DELTA * line + phase * PITCH + (PHASES2 > 1 ? column / STEP2 : column);
  }
  if (one_tap)
    pack_tiles(PHASE, a_row, row0, first, segments, S + S_at, image, x);
  else
    pack_rows(PHASE, blocking, S + S_at, image, row0 * STEP1 + FIRST1, rows, x);
  from.channel = one_tap ? TILE_PITCH : CHANNEL;
  from.offset = offset;
  from.channels = CG;
  from.taps = taps;
  /* A row has 8 - SEG floats more than the strip has pixels, because store_segment writes 8 floats per segment. */
  const int pitch = (count + 8 - SEG + VW - 1) / VW * VW;
  P += P_at + (long)g * vectors * depth * VW;
  for (int v = begin; v < end; v += NV) {
    __global const float *w = P + (long)v * depth * VW;
    const bool whole = v + NV <= end;
    for (int s = 0; s < segments; s += 2) {
      vec tile[2 * SEG * NV];
      int pixel[2];
      const bool both = s + 1 < segments;
      for (int h = 0; h < 2; h++) {
        const int segment = first + min(s + h, segments - 1), row = segment / a_row;
        const int column = min(segment % a_row * SEG, OUT2 - SEG);
        from.segment[h] = one_tap ? x + s / 2 * CG * TILE_PITCH + h * SEG : x + row * ROW_STEP * line + column;
        pixel[h] = row * OUT2 + column - column0;
      }
      if (whole && both)
        MULTIPLY(2, NV)(w, from, tile);
      else if (whole)
        MULTIPLY(1, NV)(w, from, tile);
      else
        for (int j = 0; j < end - v; j++)
          if (both)
            MULTIPLY(2, 1)(w + (long)j * depth * VW, from, tile + j);
          else
            MULTIPLY(1, 1)(w + (long)j * depth * VW, from, tile + j);
      for (int h = 0; h < 1 + both; h++)
        for (int j = 0; j < min(NV, end - v); j++)
          store_segment(tile + h * SEG * NV + j, pitch, sums + j * VW * pitch + pixel[h]);
    }
    for (int k = 0; k < min(PANEL, KG - v * VW); k++) {
      __local const float *row = sums + k * pitch;
      const long channel = (long)g * KG + v * VW + k;
      int i = 0;
      FINISH_WHILE(16, row, i, count, n, channel, at)
      if (beta == 0) FINISH_LAST(16, row, i, count, n, channel, at)
      FINISH_WHILE(4, row, i, count, n, channel, at)
      if (beta == 0) FINISH_LAST(4, row, i, count, n, channel, at)
      FINISH_WHILE(1, row, i, count, n, channel, at)
    }
  }
}

CPU_KERNEL conv_cpu_direct_kw(PHASE_PARAMS, const int8 blocking, source S, const long S_at, __global const float *P,
                              const long P_at, __local float *scratch, EPILOGUE_PARAMS) {
  const int4 group = (int4)(get_group_id(0), get_group_id(1), get_group_id(2), 0);
  convolve_group(PHASE, blocking, S, S_at, P, P_at, scratch, group, alpha, beta, D, D_at, D_row, D_batch, C, C_at,
                 C_row, C_batch, bias, bias_at, act_arg);
}
