/* quant/cpu/winograd.cl: convolutions of bytes by filters of 3 x 3 with stride 1, as Winograd's F(2 x 2, 3 x 3), for
 * CPUs with AVX2. A tile of 2 x 2 results takes 16 products per channel instead of 36, and vpmaddwd makes as many
 * products per instruction, two per lane, as vpmaddubsw and vpmaddwd together, which make four products of bytes.
 *
 *   4 y = A' [U V] A, where A' has the rows (1 1 1 0), (0 1 -1 -1), and U V are products of elements, summed over
 *         channels. All is done in whole numbers, so y is exact as long as 4 y fits an int
 *
 *   y, and bytes added to it with OTHER      as quant/cpu/product.cl computes them
 *   A    filters, transformed in panels of MR (quant/cpu/winograd_filters.cl)
 *   B    images, transformed (quant/cpu/winograd_image.cl)
 *
 *   MICA_HAS_VPMADDWD    1: the instruction, on vectors of 32 bytes. 0: an emulation, for checks
 *   MR, NR               filters of a panel; pixels of a group's tiles: two lines of 32
 *   tiles, across        tiles of an image, and of one of its lines
 *   p, q                 lines of a result, and their pixels
 *   columns_are_offset   B's zero point is not known to be 0; row_sums are then the sums of filters
 *
 * Groups of one work-item: ceil(tiles / 16) x blocks of panels x batches. `block` is a multiple of PANELS. */
#define ALIKE 1
#define UNROLL _Pragma("unroll")
#include "quant/cpu/panels.clh"
#include "quant/product.clh"
#include "quant/cpu/tile.clh"

#define TILES 16 /* tiles of a group, the lanes of its sums */
#define LANES 8

/* sum += products of a filter's pair of channels with those of LANES tiles. */
#if MICA_HAS_VPMADDWD
#define ADD_PAIRS(sum, filter, tiles)                                                                                  \
  {                                                                                                                    \
    int8 mica_pairs;                                                                                                   \
    __asm__("vpmaddwd %2, %1, %0" : "=x"(mica_pairs) : "x"(tiles), "x"((int8)(int)(filter)));                          \
    sum += mica_pairs;                                                                                                 \
  }
#else
#define ADD_PAIRS(sum, filter, tiles)                                                                                  \
  {                                                                                                                    \
    const int16 mica_products = convert_int16(as_short16((int8)(int)(filter))) * convert_int16(as_short16(tiles));     \
    sum += mica_products.even + mica_products.odd;                                                                     \
  }
#endif

/* sums = products of a panel of filters and the group's tiles, for one position of U and V. */
static inline void multiply(__global const uint *a, __global const uint *b, const int steps,
                            __private int (*sums)[TILES]) {
  int8 sum[MR][2];
  UNROLL for (int i = 0; i < MR; i++) UNROLL for (int v = 0; v < 2; v++) sum[i][v] = 0;
  for (int c = 0; c < steps; c++, a += MR, b += TILES) {
    int8 tiles[2];
    UNROLL for (int v = 0; v < 2; v++) tiles[v] = as_int8(vload8(v, b));
    UNROLL for (int i = 0; i < MR; i++) UNROLL for (int v = 0; v < 2; v++) ADD_PAIRS(sum[i][v], a[i], tiles[v]);
  }
  UNROLL for (int i = 0; i < MR; i++) UNROLL for (int v = 0; v < 2; v++)
      *(__private int8 *)(sums[i] + LANES * v) = sum[i][v];
}

/* Lanes of `even` and `odd` in turn. */
#define PUT_IN_TURN(to, even, odd)                                                                                     \
  {                                                                                                                    \
    vstore16((int16)(even.s0, odd.s0, even.s1, odd.s1, even.s2, odd.s2, even.s3, odd.s3, even.s4, odd.s4, even.s5,     \
                     odd.s5, even.s6, odd.s6, even.s7, odd.s7),                                                        \
             0, to);                                                                                                   \
    vstore16((int16)(even.s8, odd.s8, even.s9, odd.s9, even.sa, odd.sa, even.sb, odd.sb, even.sc, odd.sc, even.sd,     \
                     odd.sd, even.se, odd.se, even.sf, odd.sf),                                                        \
             1, to);                                                                                                   \
  }

/* sums = the results of a filter for the group's tiles: a line of 32 pixels, then the line below. `products` are those
 * of a panel's filters, for each position. */
static inline void finish_tiles(__private const int (*products)[MR][TILES], const int filter, __private int *sums) {
  int16 upper[4], lower[4];
  UNROLL for (int s = 0; s < 4; s++) {
    const int16 a = *(__private const int16 *)products[s][filter];
    const int16 b = *(__private const int16 *)products[4 + s][filter];
    const int16 c = *(__private const int16 *)products[8 + s][filter];
    const int16 d = *(__private const int16 *)products[12 + s][filter];
    upper[s] = a + b + c;
    lower[s] = b - c - d;
  }
  const int16 y00 = (upper[0] + upper[1] + upper[2]) >> 2, y01 = (upper[1] - upper[2] - upper[3]) >> 2;
  const int16 y10 = (lower[0] + lower[1] + lower[2]) >> 2, y11 = (lower[1] - lower[2] - lower[3]) >> 2;
  PUT_IN_TURN(sums, y00, y01);
  PUT_IN_TURN(sums + 2 * TILES, y10, y11);
}

/* Where the pixels of tiles first .. last - 1 lie in a plane of results. */
static inline int find_tiles(__private run_of_pixels *runs, const int first, const int last, const int across,
                             const int p, const int q) {
  int found = 0;
  for (int tile = first, end; tile < last; tile = end) {
    const int ty = tile / across, tx = tile - ty * across;
    end = min(last, (ty + 1) * across);
    for (int line = 0; line < 2 && 2 * ty + line < p; line++) {
      runs[found].lane = 2 * TILES * line + 2 * (tile - first);
      runs[found].at = (2 * ty + line) * q + 2 * tx;
      runs[found++].count = min(2 * (end - tile), q - 2 * tx);
    }
  }
  return found;
}

#define FIELDS(X) PRODUCT_OPERANDS(X) FINISH_FIELDS(X) WINOGRAD_SIZES(X) OTHER_FIELDS(X)
DEFINE_PACKED_FIELDS(FIELDS);

CPU_KERNEL int8_winograd(__global const uint *A, __global const uint *B, __global const int *row_sums,
                         FINISH_BUFFERS OTHER_BUFFERS, const mica_packed packed) {
  UNPACK_FIELDS(FIELDS);
  FINISH_NUMBERS;
  const int first_tile = get_global_id(0) * TILES, batch = get_global_id(2), panels = (m + MR - 1) / MR;
  const int a_batch = batch % a_count, depth = 0, rows_are_offset = 0;
  const long pixels = (long)p * q;
  OTHER_NUMBERS;
  __private const int *const col_sums = 0;
  run_of_pixels runs[2 * TILES];
  const int run_count = find_tiles(runs, first_tile, min(first_tile + TILES, tiles), across, p, q);
  READ_COLUMNS;
  UNPACK_QUICK;
  B += ((long)batch * get_num_groups(0) + get_group_id(0)) * 16l * position;
  row_sums += (long)a_batch * m;
  y += (long)batch * m * pixels;
  const int first = get_global_id(1) * block, end = min(first + block, panels);
  int products[PANELS][16][MR][TILES] __attribute__((aligned(64)));
  for (int panel = first; panel < end; panel++) {
    const int first_row = panel * MR, rows = min(MR, m - first_row);
    int sums[MR][NR] __attribute__((aligned(64)));
    if (panel % PANELS == 0) {
      __global const uint *a = A + ((long)a_batch * panels + panel) * 16 * steps * MR;
      for (int i = 0; i < 16; i++)
        for (int k = 0; k < min(PANELS, panels - panel); k++, a += (long)steps * MR)
          multiply(a, B + (long)i * position, steps, products[k][i]);
    }
    for (int i = 0; i < rows; i++) finish_tiles(products[panel % PANELS], i, sums[i]);
    KEPT done[MR][NR] __attribute__((aligned(64)));
    uint16 doubt = 0;
    float unsure = 0; /* becomes NaN if a factor or an addend is not finite */
    for (int i = 0; i < rows; i++) {
      const int of_all = a_batch * row_batch + first_row + i;
      unsure = fma(fma(ROW_SCALE(of_all) * scales_size, 0.0f, fabs(ROW_BIAS(of_all)) + biases_size), 0.0f, unsure);
    }
    const bool never = !CAN_BE_QUICK || unsure != 0;
    if (!never) FINISH_ROWS(QUICK(convert_float16(t), factors, adds, &doubt));
    if (never || mica_any(doubt)) FINISH_ROWS(FINISHED(16, t, factors, adds));
    ADD_OTHERS(first_row);
    for (int i = 0; i < rows; i++) put_kept(y + (first_row + i) * pixels, SUMS_OF(done)[i], runs, run_count);
  }
}
