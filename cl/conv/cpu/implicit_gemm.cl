/* conv/cpu/implicit_gemm.cl: convolution as a matrix product, for the CPU class and any phase (conv/problem.clh). The
 * right operand of the product (im2col) is never stored as a whole: it is built one panel at a time.
 *
 * The columns of the product are the pixels of the phase. Pixels of all images are numbered one after another, so small
 * planes fill vectors too. A work-group, which has one work-item, computes PANELS panels of NR = NV * 16 columns, one
 * after another, for KB of the KG channels of D. For CB channels at a time, it packs the source elements that a panel
 * reads to local memory as [c][tap][NR], with zeros outside of the source, and multiplies them by packed weights
 * (conv/cpu/pack_weights.cl) in register tiles of MR rows by NV vectors. The sums stay in local memory until all
 * channels are added. If one block has all channels and PHASES is 1, local memory holds only the sums of one register
 * tile.
 *
 * With PHASES 2, two phases are computed together, which differ only in TAPS2, FIRST2 and W. The PHASE_OWN of the
 * second is `second`, and its weights follow those of the first. The phases compute alternate columns of D (AT2 0 and
 * 1, OUT_STRIDE2 2), so that whole rows can be stored. Pixels beyond FULL2 are not stored.
 *
 *   CB          channels per block; conv/cpu/pack_weights.cl must have used the same number
 *   KB          channels of D per work-group, a multiple of MR
 *   FLAT        1: the pixels of the phase are adjacent in D (AT 0, OUT_STRIDE 1), so a channel is stored as one row
 *   STREAM      1: whole cache lines of D are written with non-temporal stores
 *   ZERO_ROWS   1: below each row of the phase, D has a row without taps; it is stored too, as zeros
 *
 * NDRange: ceil(columns / (NR PANELS)), ceil(KG / KB), groups of the convolution; work-group (1, 1, 1). scratch: (CB
 * taps + PHASES KB + 2) NR floats, and 2 MR NR more with PHASES 2; `taps` is the larger number of the two phases. */
#include "common/cpu/register_tile.clh"
#include "common/cpu/stream.clh"
#include "common/epilogue.clh"
#include "conv/input_tile.clh"

#define NR (NV * VW)
#define AHEAD 8 /* S is prefetched this many channels ahead */

static inline int taps2_of(const int8 own) {
  UNPACK_INTS(PHASE_OWN, own)
  return TAPS2;
}

/* Adjacent columns of a panel that are in one row of the phase: `count` columns from column `lane` of the panel on. The
 * first is pixel (o0, o1, o2) of image n. */
typedef struct columns_of_row {
  int lane, count, n, o0, o1, o2;
} columns_of_row;
/* Adjacent columns for which a tap reads inside of the source: `count` columns from `lane` on. The first reads element
 * `at`. */
typedef struct read_segment {
  int lane, count;
  long at;
} read_segment;

/* Splits columns begin .. end - 1 at the ends of rows. Writes the parts to `list` and returns their number. */
static int cut_columns(const long begin, const long end, const int OUT0, const int OUT1, const int OUT2,
                       __private columns_of_row *list) {
  int count = 0;
  for (long column = begin; column < end; count++) {
    columns_of_row s;
    long row = column / OUT2;
    s.lane = (int)(column - begin);
    s.o2 = (int)(column % OUT2);
    s.o1 = (int)(row % OUT1);
    s.o0 = (int)(row / OUT1 % OUT0);
    s.n = (int)(row / OUT1 / OUT0);
    s.count = (int)min((long)(OUT2 - s.o2), end - column);
    list[count] = s;
    column += s.count;
  }
  return count;
}

#define DIVIDE_UP(a, b) (((a) + (b)-1) / (b))

/* Finds the segments in which tap (t0, t1, t2) reads inside of the source, in channel `channel`. Returns their number
 * and sets *lanes to the number of their columns. */
static inline int find_segments(PHASE_PARAMS, __private const columns_of_row *list, const int rows, const int t0,
                                const int t1, const int t2, const long channel, __private read_segment *segments,
                                __private int *lanes) {
  PHASE_UNPACK
  int found = 0;
  *lanes = 0;
  for (int s = 0; s < rows; s++) {
    const int i0 = list[s].o0 * STEP0 + FIRST0 + t0 * DELTA0, i1 = list[s].o1 * STEP1 + FIRST1 + t1 * DELTA1;
    const int i2 = list[s].o2 * STEP2 + FIRST2 + t2 * DELTA2;
    if (i0 < 0 || i0 >= IN0 || i1 < 0 || i1 >= IN1) continue;
    const int skip = i2 < 0 ? DIVIDE_UP(-i2, STEP2) : 0;
    const int stop = i2 < IN2 ? min(list[s].count, DIVIDE_UP(IN2 - i2, STEP2)) : 0;
    if (skip >= stop) continue;
    const long row = ((list[s].n * (long)G * CG + channel) * IN0 + i0) * IN1 + i1;
    segments[found].lane = list[s].lane + skip;
    segments[found].count = stop - skip;
    segments[found].at = row * IN2 + i2 + skip * STEP2;
    *lanes += stop - skip;
    found++;
  }
  return found;
}

/* A segment of a row of sums: sums lane .. lane + count - 1. Sum lane + i is stored to element at + i step of a channel
 * of image n. rows: 2 if the next row of D is stored too, as zeros (ZERO_ROWS). */
typedef struct store_segment {
  int lane, count, step, n, rows;
  long at;
} store_segment;

/* Writes the segments of columns begin .. end - 1 to `stores`; returns their number. `list` is scratch memory. */
static int find_stores(PHASE_PARAMS, const int FLAT, const int ZERO_ROWS, const long begin, const long end,
                       __private columns_of_row *list, __private store_segment *stores) {
  PHASE_UNPACK
  const int count =
      FLAT ? cut_columns(begin, end, 1, 1, OUT0 * OUT1 * OUT2, list) : cut_columns(begin, end, OUT0, OUT1, OUT2, list);
  for (int s = 0; s < count; s++) {
    const columns_of_row from = list[s];
    const long row = (long)(AT0 + from.o0 * OUT_STRIDE0) * FULL1 + AT1 + from.o1 * OUT_STRIDE1;
    stores[s].at = row * FULL2 + AT2 + from.o2 * OUT_STRIDE2;
    stores[s].lane = from.lane * PHASES;
    stores[s].count = PHASES > 1 ? min(2 * from.count, FULL2 - 2 * from.o2) : from.count;
    stores[s].step = PHASES > 1 ? 1 : OUT_STRIDE2;
    stores[s].n = from.n;
    stores[s].rows = ZERO_ROWS && AT1 + from.o1 * OUT_STRIDE1 + 1 < FULL1 ? 2 : 1;
  }
  return count;
}

/* Fills panel[c][tap][NR] with the elements that the taps read for the listed columns, and zeros outside of the source.
 * It packs cb channels from `channel` on. */
static void fill_panel(PHASE_PARAMS, __private const columns_of_row *list, const int rows, const long channel,
                       const int cb, source S, __local float *panel) {
  PHASE_UNPACK
  const long plane = (long)IN0 * IN1 * IN2;
  const int taps = TAPS0 * TAPS1 * TAPS2;
  for (int t = 0; t < taps; t++) {
    read_segment segments[NR];
    int lanes;
    const int found =
        find_segments(PHASE, list, rows, t / (TAPS1 * TAPS2), t / TAPS2 % TAPS1, t % TAPS2, channel, segments, &lanes);
    for (int c = 0; c < cb; c++) {
      __local float *row = panel + (c * taps + t) * NR;
      if (lanes < NR) UNROLL for (int v = 0; v < NV; v++) STOREV(f32, VW, (float16)(0.0f), row, v * VW);
      for (int p = 0; p < found; p++) {
        const long at = segments[p].at + c * plane, next = at + AHEAD * plane;
        if (t == 0) {
          PREFETCH_READ(S + next);
          PREFETCH_READ(S + next + (segments[p].count - 1) * STEP2);
        }
        pack_row(S, at, STEP2, segments[p].count, row + segments[p].lane);
      }
    }
  }
}

/* Prefetches the elements that the next block of channels, or the next panel, will read: `share` channels during each
 * register tile. It is used for phases of a single tap, which read each element once. */
typedef struct prefetcher {
  read_segment segments[NR];
  int found, next, end, share;
} prefetcher;

/* Prepares to prefetch cb channels from `channel` on, divided among the tiles. */
static void plan_prefetch(PHASE_PARAMS, __private const columns_of_row *list, const int rows, const long channel,
                          const int cb, const int tiles, __private prefetcher *c) {
  int lanes;
  c->found = find_segments(PHASE, list, rows, 0, 0, 0, channel, c->segments, &lanes);
  c->next = 0;
  c->end = cb;
  c->share = DIVIDE_UP(cb, tiles);
}

static inline void prefetch_share(__private prefetcher *c, const long plane, const int step, source S) {
  for (const int end = min(c->end, c->next + c->share); c->next < end; c->next++)
    for (int p = 0; p < c->found; p++) {
      const long at = c->segments[p].at + c->next * plane;
      const int reach = (c->segments[p].count - 1) * step;
      for (int j = 0; j < reach; j += VW) PREFETCH_FAR(S + at + j);
      PREFETCH_FAR(S + at + reach);
    }
}

/* sums[MR][NR] += a[depth][MR] b[depth][NR], in registers. With `first` the sums begin at 0. */
static inline void multiply(__global const float *a, __local const float *b, const int depth, const bool first,
                            __local float *sums) {
  vec sum[MR][NV];
  if (first)
    TILE_CLEAR(sum, MR, NV);
  else
    TILE_LOAD(sum, MR, NV, sums, NR);
  for (int l = 0; l < depth; l++, a += MR, b += NR) {
    vec bv[NV];
    TILE_READ(bv, NV, b);
    TILE_MULTIPLY_ADD(sum, MR, NV, a[i], bv)
  }
  TILE_STORE(sum, MR, NV, sums, NR);
}

/* row[2 NR] = even[0], odd[0], even[1], odd[1], ... */
static inline void interleave(__local const float *even, __local const float *odd, __local float *row) {
  UNROLL for (int v = 0; v < NV; v++) {
    const float16 x = MICA_VLOAD(VW, even, v * VW), y = MICA_VLOAD(VW, odd, v * VW);
    float16 low, high;
    low.even = x.lo;
    low.odd = y.lo;
    high.even = x.hi;
    high.odd = y.hi;
    STOREV(f32, VW, low, row, 2 * v * VW);
    STOREV(f32, VW, high, row, (2 * v + 1) * VW);
  }
}

/* STORE_BY finishes W adjacent sums of a row, from `lane` on, and stores them to D: sum `first` of the segment goes to
 * element `at` of channel `channel + i`. If step is 1, STORE_WHILE repeats this while at least W sums are left. With
 * `overlap` the last vector may overlap the one before it. That is not allowed if C is read, which may be D, or with
 * non-temporal stores. */
#define STORE_BY(store, W) FINISH_BY(store, W, MICA_VLOAD(W, row, lane), n, channel + i, at + (lane - first) * step)
#define STORE_WHILE(W)                                                                                                 \
  for (; step == 1 && lane < stop && (lane + W <= stop || (overlap && count >= W)); lane += W) {                       \
    lane = min(lane, stop - W);                                                                                        \
    if (W == VW && stream && (at + lane - first) % VW == 0)                                                            \
      STORE_BY(STREAMV, 16);                                                                                           \
    else                                                                                                               \
      STORE_BY(STOREV, W);                                                                                             \
  }

/* Computes the columns and the filters of work-group (x, y, z). */
APART void convolve_group(PHASE_PARAMS, const int8 second, const int8 blocking, source S, const long S_at,
                          __global const float *P, const long P_at, __local float *scratch, const int4 group,
                          EPILOGUE_PARAMS) {
  PHASE_UNPACK
  UNPACK_INTS(IMPLICIT_GEMM_BLOCKING, blocking)
  const int g = group.z;
  const bool stream = STREAM && D_row % VW == 0 && (size_t)(D + D_at) % 64 == 0, overlap = beta == 0 && !stream;
  const int plane_taps = TAPS0 * TAPS1, most_taps = plane_taps * (PHASES > 1 ? max(TAPS2, taps2_of(second)) : TAPS2);
  const int tiles = DIVIDE_UP(KG, MR), k_begin = group.y * KB, k_end = min(KG, k_begin + KB);
  const long columns = (long)N * OUT0 * OUT1 * OUT2, first_column = (long)group.x * PANELS * NR;
  /* Only phases of one tap are prefetched. If a plane is smaller than a vector, its cache line also belongs to another
   * plane and would be fetched twice, so such planes are not prefetched. */
  const bool single = plane_taps * TAPS2 == 1 && IN0 * IN1 * IN2 >= VW;
  const int k_tiles = DIVIDE_UP(k_end - k_begin, MR);
  __local float *panel = scratch, *sums_all = scratch + CB * most_taps * NR, *interleaved = sums_all + PHASES * KB * NR;
  __local float *nothing = interleaved + (PHASES > 1 ? 2 * MR * NR : 0);
  for (int i = 0; i < 2 * NR; i += VW) STOREV(f32, VW, (float16)(0.0f), nothing, i);
  P += P_at;
  for (long begin = first_column; begin < min(columns, first_column + PANELS * NR); begin += NR) {
    const long end = min(columns, begin + NR);
    columns_of_row list[NR];
    store_segment stores[NR];
    prefetcher soon;
    const int store_count = find_stores(PHASE, FLAT, ZERO_ROWS, begin, end, list, stores);
    const int rows_cut = cut_columns(begin, end, OUT0, OUT1, OUT2, list);
    int c0 = 0, part = 0;
    while (part < PHASES) {
      const int8 own = part ? second : phase_own;
      const int cb = min(CB, CG - c0), taps = plane_taps * taps2_of(own), depth = cb * taps;
      fill_panel(phase_size, own, phase_step, phase_full, list, rows_cut, (long)g * CG + c0, cb, S + S_at, panel);
      __global const float *a = P + (part ? (long)G * tiles * CG * plane_taps * TAPS2 * MR : 0) +
                                ((long)(g * CG + c0) * tiles * taps + (long)k_begin / MR * depth) * MR;
      const int last = taps == 0 || c0 + CB >= CG;
      soon.next = soon.end = soon.share = 0;
      if (single && !last) {
        plan_prefetch(PHASE, list, rows_cut, (long)g * CG + c0 + CB, min(CB, CG - c0 - CB), k_tiles, &soon);
      } else if (single && part == 0 && end < columns) {
        columns_of_row next[NR];
        const int count = cut_columns(end, min(columns, end + NR), OUT0, OUT1, OUT2, next);
        plan_prefetch(PHASE, next, count, (long)g * CG, min(CB, CG), k_tiles, &soon);
      }
      for (int m = k_begin; m < k_end; m += MR, a += depth * MR) {
        __local float *sums = sums_all + (CB < CG || PHASES > 1 ? part * KB + m - k_begin : 0) * NR;
        const int rows = last && part == PHASES - 1 ? min(MR, k_end - m) : 0;
        const long channel = (long)g * KG + m;
        for (int s = 0; s < (rows && !stream ? store_count : 0); s++) {
          __global STORAGE(D_T) *to = D + D_at + stores[s].n * D_batch + channel * D_row + stores[s].at;
          const int reach = (stores[s].rows - 1) * FULL2 + (stores[s].count - 1) * stores[s].step;
          for (int i = 0; i < rows; i++, to += D_row) {
            for (int j = 0; j < reach; j += VW) PREFETCH_WRITE(to + j);
            PREFETCH_WRITE(to + reach);
          }
        }
        prefetch_share(&soon, (long)IN0 * IN1 * IN2, STEP2, S + S_at);
        multiply(a, panel, depth, c0 == 0, sums);
        __local const float *found = PHASES > 1 ? interleaved : sums;
        for (int i = 0; PHASES > 1 && i < rows; i++)
          interleave(sums + (i - KB) * NR, sums + i * NR, interleaved + 2 * i * NR);
        for (int s = 0; s < store_count; s++) {
          const int first = stores[s].lane, count = stores[s].count, step = stores[s].step, n = stores[s].n;
          const int stop = first + count;
          for (int i = 0; i < rows; i++)
            for (int below = 0; below < stores[s].rows; below++) {
              __local const float *row = below ? nothing : found + i * PHASES * NR;
              const long at = stores[s].at + below * FULL2;
              int lane = first;
              STORE_WHILE(VW)
              STORE_WHILE(4)
              for (; lane < stop; lane++) STORE_BY(STOREV, 1);
            }
        }
      }
      c0 = last ? 0 : c0 + CB;
      part += last;
    }
  }
}

CPU_KERNEL conv_cpu_implicit_gemm(PHASE_PARAMS, const int8 second, const int8 blocking, source S, const long S_at,
                                  __global const float *P, const long P_at, __local float *scratch, EPILOGUE_PARAMS) {
  const int4 group = (int4)(get_group_id(0), get_group_id(1), get_group_id(2), 0);
  convolve_group(PHASE, second, blocking, S, S_at, P, P_at, scratch, group, alpha, beta, D, D_at, D_row, D_batch, C,
                 C_at, C_row, C_batch, bias, bias_at, act_arg);
}
