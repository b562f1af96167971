/* conv/cpu/tiles.cl: forward convolution of bf16 in two dimensions, without groups, on the matrix unit of Intel's CPUs
 * (common/cpu/tiles.clh).
 *
 * A work-group of one work-item computes `rows` rows of a result by `panels` panels of 32 filters. It packs the
 * elements of S that these rows read to local memory, in words of two channels of a pixel:
 *
 *   words[w][phase][i][j]    channels 2 w and 2 w + 1 of pixel ((row0 + i) ST1 + phase / phases2 - PA1,
 *                                                               j ST2 + phase % phases2 - PA2)
 *
 * with zeros outside of S. A phase is the pixels with one value of row % ST1 and column % ST2. So the pixels that a tap
 * reads for adjacent results are adjacent in `words`, and they are the columns of B: a row of a tile of B is the word w
 * of 16 adjacent pixels, and the next row is `plane` words further. Column j of the product is pixel (j / pitch, j %
 * pitch) of the result; columns with j % pitch >= O2 are computed but not stored. Sums run over the taps and, for each
 * tap, over chunks of `words` words, as in matmul/cpu/amx.cl.
 *
 * P holds the filters, packed by matmul/cpu/amx_pack.cl as one matrix per tap: P[tap][panel][chunk][32][words].
 *
 *   steps              words along the channels of S
 *   height, pitch      rows and columns of a phase
 *   plane              words of all phases, or more
 *   phases1, phases2   the number of phases along the height and along the width
 *   MICA_HAS_AMX       1: uses the instructions; 0: emulates them
 *
 * scratch: steps * plane + 64 words. NDRange: groups of one work-item, ceil(O1 / rows) by ceil(all panels / panels) by
 * N. */
#include "common/finish.clh"
#include "common/group.clh"
#include "common/cpu/prefetch.clh"
#include "common/cpu/tiles.clh"
#include "conv/problem.clh"

#define SIDE 32

/* pack_words: to[j] = element j * step of two channels as one word, for j < count. `kept` is the mask of the second
 * channel's bits, 0 if there is no second channel. MICA_WORDS does it for n words from j on, with step 1. */
#define MICA_WORDS(n, j)                                                                                               \
  MICA_PASTE(vstore, n)                                                                                                \
  (MICA_AS(uint, n, MICA_PASTE(vload, n)(0, even + (j))) |                                                             \
       (MICA_AS(uint, n, MICA_PASTE(vload, n)(0, odd + (j))) << 16 & kept),                                            \
   0, to + (j))
static inline void pack_words(__global const ushort *even, __global const ushort *odd, const uint kept, const int step,
                              const int count, __local uint *to) {
  int j = 0;
  if (step == 1 && count >= 16) {
    for (; j + 16 < count; j += 16) MICA_WORDS(16, j);
    MICA_WORDS(16, count - 16);
  } else if (step == 1 && count >= 4) {
    for (; j + 4 < count; j += 4) MICA_WORDS(4, j);
    MICA_WORDS(4, count - 4);
  } else if (step == 2 && count >= 8) {
    for (;; j = min(j + 8, count - 8)) {
      /* Eight pixels at step 2 need 15 elements. Two overlapping loads of 8 read exactly these; one load of 16 could
       * read beyond the last pixel. */
      const ushort8 e0 = vload8(0, even + 2 * j), e1 = vload8(0, even + 2 * j + 7);
      const ushort8 o0 = vload8(0, odd + 2 * j), o1 = vload8(0, odd + 2 * j + 7);
      vstore8(convert_uint8((ushort8)(e0.even, e1.odd)) | (convert_uint8((ushort8)(o0.even, o1.odd)) << 16 & kept), 0,
              to + j);
      if (j == count - 8) break;
    }
  } else {
    for (; j < count; j++) to[j] = even[(long)j * step] | ((uint)odd[(long)j * step] << 16 & kept);
  }
}

static inline void clear(const int begin, const int end, __local uint *to) {
  for (int j = begin; j < end; j++) to[j] = 0;
}

#define DIVIDE_UP(a, b) (((a) + (b)-1) / (b))

static void pack_image(CONV_PARAMS, const int8 shape, const int phases2, const int row0, __global const ushort *S,
                       __local uint *to) {
  CONV_UNPACK
  UNPACK_INTS(TILES_SHAPE, shape)
  const bool whole = R1 * R2 == 1 && ST1 * ST2 == 1 && PA1 == 0 && PA2 == 0 && pitch == I2;
  for (int w = 0; w < steps; w++, to += plane) {
    const int c = 2 * w;
    const uint kept = c + 1 < CG ? 0xffff0000u : 0;
    __global const ushort *even = S + (long)c * I1 * I2, *odd = kept ? even + (long)I1 * I2 : even;
    if (c >= CG) {
      clear(0, plane, to);
    } else if (whole) {
      const long at = (long)row0 * I2;
      pack_words(even + at, odd + at, kept, 1, min(height, I1 - row0) * I2, to);
    } else {
      for (int phase = 0; phase < phases1 * phases2; phase++) {
        const int shift = PA2 - phase % phases2;
        const int first = shift > 0 ? DIVIDE_UP(shift, ST2) : 0, stop = min(pitch, DIVIDE_UP(I2 + shift, ST2));
        for (int i = 0; i < height; i++) {
          const int h = (row0 + i) * ST1 + phase / phases2 - PA1;
          __local uint *row = to + (phase * height + i) * pitch;
          const int end = h < 0 || h >= I1 ? 0 : stop;
          const long at = (long)h * I2 + (long)first * ST2 - shift;
          if (first < end) pack_words(even + at, odd + at, kept, ST2, end - first, row + first);
          clear(0, first < end ? first : pitch, row);
          clear(first < end ? end : pitch, pitch, row);
        }
      }
    }
  }
}

/* Adjacent columns of a tile that are stored: `count` columns from `lane` on. They are the stored columns number `to`
 * and following of the tile. */
typedef struct kept_columns {
  int lane, count, to;
} kept_columns;

/* Lists the runs of stored columns (j % pitch < width) among columns begin .. end - 1. Returns the number of runs, and
 * sets *all to the number of columns in them. */
static int find_kept(const int begin, const int end, const int pitch, const int width, __private kept_columns *list,
                     __private int *all) {
  int found = 0;
  *all = 0;
  for (int j = begin, next; j < end; j = next) {
    const int at = j % pitch, stop = min(end, j - at + min(width, pitch));
    next = pitch == width ? end : min(end, j - at + pitch);
    const int count = pitch == width ? end - j : stop - j;
    if (count <= 0) continue;
    list[found].lane = j - begin;
    list[found].count = count;
    list[found].to = *all;
    *all += count;
    found++;
  }
  return found;
}

CPU_KERNEL conv_cpu_tiles(CONV_PARAMS, const int8 shape, const int phases2, __global const ushort *restrict S,
                          const long S_at, __global const uint *restrict P, const long P_at, __local uint *scratch,
                          EPILOGUE_PARAMS) {
  CONV_UNPACK
  UNPACK_INTS(TILES_SHAPE, shape)
  const int row0 = (int)get_group_id(0) * rows, n = (int)get_group_id(2), all_panels = DIVIDE_UP(KG, SIDE);
  const int first_panel = (int)get_group_id(1) * panels, last_panel = min(all_panels, first_panel + panels);
  const int columns = (min(rows, O1 - row0) - 1) * pitch + O2;
  const bool overlap = beta == 0 || C + C_at != D + D_at;
  float sums[SIDE + 1][SIDE], line[SIDE + 16];
  __private uint *to = (__private uint *)&sums[0][0];
  pack_image(CONV, shape, phases2, row0, S + S_at + (long)n * CG * I1 * I2, scratch);
  TILES_STORAGE;
  TILES_BEGIN(words);
  for (int panel = first_panel; panel < last_panel; panel++)
    for (int j0 = 0; j0 < columns; j0 += SIDE) {
      BLOCK_ZERO;
      for (int t = 0; t < R1 * R2; t++) {
        const int r1 = t / R2 * DI1, r2 = t % R2 * DI2;
        __global const uint *a = P + P_at + ((long)t * all_panels + panel) * steps * SIDE;
        __local const uint *b = scratch + ((r1 % ST1 * phases2 + r2 % ST2) * height + r1 / ST1) * pitch + r2 / ST2 + j0;
        for (int s = 0; s < steps; s += words, a += SIDE * words, b += words * plane) {
          BLOCK_DOT(bf, a, 16 * words, 4l * words, b, 4l * plane);
        }
      }
      BLOCK_STORE(to, SIDE);
      kept_columns list[SIDE];
      int kept;
      const int found = find_kept(j0, min(j0 + SIDE, columns), pitch, O2, list, &kept);
      const int pixel = (row0 + j0 / pitch) * O2 + min(j0 % pitch, O2);
      const int last = j0 + SIDE < columns ? panel : panel + 1, ahead = last == panel ? pixel + kept : row0 * O2;
      for (int i = 0; i < min(SIDE, KG - panel * SIDE); i++) {
        const int k = panel * SIDE + i, next = min(last * SIDE + i, KG - 1);
        __private const float *from = sums[i] + (found == 1 ? list[0].lane : 0);
        PREFETCH_WRITE(D + D_at + n * D_batch + next * D_row + ahead);
        if (beta != 0) PREFETCH_READ(C + C_at + n * C_batch + next * C_row + ahead);
        if (found > 1) {
          from = line;
          for (int f = 0; f < found; f++)
            for (int v = 0; v < list[f].count; v += 16)
              vstore16(vload16(0, &sums[i][list[f].lane + v]), 0, line + list[f].to + v);
        }
        int lane = 0;
        FINISH_WHILE(16, from, lane, kept, n, k, pixel)
        if (overlap) FINISH_LAST(16, from, lane, kept, n, k, pixel)
        FINISH_WHILE(4, from, lane, kept, n, k, pixel)
        FINISH_WHILE(1, from, lane, kept, n, k, pixel)
      }
    }
  TILES_END;
}
