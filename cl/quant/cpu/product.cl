/* quant/cpu/product.cl: products of 8-bit matrices, and convolutions, for CPUs; product.clh defines the sums and how
 * they are finished.
 *
 * A holds the rows in panels of MR (quant/pack.cl: four bytes, or two shorts, per word), with taps in the order of
 * filters. B holds the columns. Adjacent columns have adjacent elements: the elements of step c of the tap (r, s) for
 * columns j, j + 1, ... j + NR - 1 begin at
 *
 *   batch * b_batch + j / NR * tile_step + c * step_step + offset of the tap
 *   offset = ((r dh % sh) sw + s dw % sw) * plane + r dh / sh * wq + s dw / sw
 *
 * For matrices these are panels of NR columns with one tap; for convolutions they are the pixels that quant/image.cl
 * packs. Column j is pixel (j / wq, j % wq) of a result that is q pixels wide. Columns with j % wq >= q are computed
 * but not stored.
 *
 * The instruction set is chosen by one of these macros, which also decides the types of packed bytes:
 *   TILES       1: the matrix unit (common/cpu/tiles.clh). A panel holds its rows in chunks of `words` steps,
 *               packed[chunk][row][step of the chunk], and `steps` is a multiple of `words`. Rows are i8, or u8 with
 *               ROWS_U; columns are i8, or u8 with COLUMNS_U
 *   MICA_HAS_VPDPBUSD   1: the instruction vpdpbusd, which multiplies four bytes per lane. The platform must accept
 *               inline assembly. Packed rows are u8 and columns i8, or with COLUMNS_U rows are i8 and columns u8
 *   MICA_HAS_VPMADDUBSW   1: the instruction vpmaddubsw. Packed rows are i8, split so that no sum of two products
 *               saturates (quant/cpu/split.cl); columns are u8
 *   none        pairs of shorts in OpenCL C. All values are u8, so that no product is negative. Two sums of 32 bits are
 *               added as one number of 64 bits, because otherwise LLVM 15 does not generate vpmaddwd. The lower sum has
 *               room for 32768 pairs; then both are added to ints in memory and start again at 0
 *
 *   RAW         1: B is the images themselves, and columns are pixels (filters of one pixel). A work-group packs its
 *               own columns, of at most MOST_DEPTH channels, to private memory
 *   ALIKE       1: all columns have the same scale and zero point, and no bias
 *   OTHER       1: other bytes are added to the results, and the sums are quantized again (quant/add.cl)
 *   mask        with RAW: 128 if the sign of the bytes of images must be changed when they are packed, else 0
 *   NR, MR      columns and rows of a tile; with TILES, NR is 32 and MR is 16 or 32
 *   rows_are_offset      1: zero points of rows may differ from 0
 *   columns_are_offset   1: zero points of columns may differ from 0; row_sums must then be the sums of packed rows
 *
 * Groups of one work-item: ceil(columns / NR) x blocks of panels x batches. */
#include "quant/product.clh"

#define MOST_DEPTH 1024
#if RAW
#define COLUMN_SPACE __private
#else
#define COLUMN_SPACE __global
#endif
#define UNROLL _Pragma("unroll")

#include "quant/cpu/dot.clh"

#include "quant/cpu/walk.clh"

#if TILES
#if ROWS_U && COLUMNS_U
#define DOT(c, a, b) TILE_DOT(uu, c, a, b)
#elif ROWS_U
#define DOT(c, a, b) TILE_DOT(us, c, a, b)
#elif COLUMNS_U
#define DOT(c, a, b) TILE_DOT(su, c, a, b)
#else
#define DOT(c, a, b) TILE_DOT(ss, c, a, b)
#endif
#if COLUMNS_U
#define COLUMN_SHIFT(x) ((x) >> 24)
#define WORDS uint16
#else
#define COLUMN_SHIFT(x) (as_int16(x) >> 24)
#define WORDS int16
#endif

/* col_sums += the sums of packed columns. */
static inline void add_columns(COLUMN_SPACE const uint *B, __private const walk *w, __private int *col_sums) {
  WORDS sum[NR / 16];
  UNROLL for (int v = 0; v < NR / 16; v++) sum[v] = 0;
  for (int r = 0; r < w->R; r++)
    for (int s = 0; s < w->S; s++) {
      COLUMN_SPACE const uint *b = B + tap_at(w, r, s);
      for (int c = 0; c < w->steps; c++, b += w->step_step) UNROLL for (int v = 0; v < NR / 16; v++) {
          const uint16 x = vload16(v, b);
          sum[v] += COLUMN_SHIFT(x << 24) + COLUMN_SHIFT(x << 16) + COLUMN_SHIFT(x << 8) + COLUMN_SHIFT(x);
        }
    }
  UNROLL for (int v = 0; v < NR / 16; v++) vstore16(vload16(v, col_sums) + as_int16(sum[v]), v, col_sums);
}

/* sums = products of a panel of rows and a tile of columns. */
static inline void multiply(__global const uint *a, COLUMN_SPACE const uint *B, __private const walk *w,
                            const int words, __private int (*sums)[NR] TILES_PARAM) {
  const long row = 4l * words, column = 4l * w->step_step;
  BLOCK_ZERO;
  for (int r = 0; r < w->R; r++)
    for (int s = 0; s < w->S; s++) {
      COLUMN_SPACE const uint *b = B + tap_at(w, r, s);
      for (int c = 0; c < w->steps; c += words, a += MR * words, b += words * w->step_step) {
        TILE_LOAD(6, b, column);
        TILE_LOAD(4, a, row);
        DOT(0, 4, 6);
        TILE_LOAD(7, b + 16, column);
        DOT(1, 4, 7);
#if MR > 16
        TILE_LOAD(5, a + 16 * words, row);
        DOT(2, 5, 6);
        DOT(3, 5, 7);
#endif
      }
    }
  /* A pointer to int and not to rows: otherwise rusticl (22.3) loses stores after the end of the first row. */
  __private int *const to = (__private int *)sums;
  TILE_STORE(0, to, 4 * NR);
  TILE_STORE(1, to + 16, 4 * NR);
#if MR > 16
  TILE_STORE(2, to + 16 * NR, 4 * NR);
  TILE_STORE(3, to + 16 * NR + 16, 4 * NR);
#endif
}

#else
#define TILES_STORAGE
#define TILES_BEGIN(words)
#define TILES_END
#define TILES_ARGUMENT
#define NV (NR / LANES)
#define VSTORE_SUMS MICA_PASTE(vstore, LANES)
#define VLOAD_SUMS MICA_PASTE(vload, LANES)
#define PUT_ASIDE(sum, v, to)                                                                                          \
  {                                                                                                                    \
    VSTORE_SUMS(VLOAD_SUMS(v, to) + AS_INTS(sum), v, to);                                                              \
    sum = 0;                                                                                                           \
  }
/* PUT_LAST stores a sum at the end. If sums cannot overflow, it is the whole sum, and one instruction stores it.
 * Otherwise it is added to the parts that PUT_ASIDE stored. */
#if MOST_STEPS == INT_MAX
#define PUT_LAST(sum, v, to) *(__private SUM *)((to) + LANES * (v)) = sum
#else
#define PUT_LAST(sum, v, to) PUT_ASIDE(sum, v, to)
#endif

/* col_sums += the sums of packed columns. */
static inline void add_columns(COLUMN_SPACE const B_TYPE *B, __private const walk *w, __private int *col_sums) {
  SUM sum[NV];
  CONSTANTS;
  int run = 0;
  UNROLL for (int v = 0; v < NV; v++) sum[v] = 0;
  for (int r = 0; r < w->R; r++)
    for (int s = 0; s < w->S; s++) {
      COLUMN_SPACE const B_TYPE *b = B + tap_at(w, r, s);
      for (int c = 0; c < w->steps; c++, b += w->step_step) {
        UNROLL for (int v = 0; v < NV; v++) ADD_DOT(sum[v], ONES, LOAD_COLUMNS(b, v));
        IF_FULL(++run == MOST_STEPS, UNROLL for (int v = 0; v < NV; v++) PUT_ASIDE(sum[v], v, col_sums));
      }
    }
  UNROLL for (int v = 0; v < NV; v++) PUT_ASIDE(sum[v], v, col_sums);
}

/* sums = products of a panel of rows and a tile of columns. */
static inline void multiply(__global const uint *a, COLUMN_SPACE const B_TYPE *B, __private const walk *w,
                            const int words, __private int (*sums)[NR]) {
  SUM sum[MR][NV];
  CONSTANTS;
  int run = 0;
  UNROLL for (int i = 0; i < MR; i++) UNROLL for (int v = 0; v < NV; v++) sum[i][v] = 0;
#if MOST_STEPS != INT_MAX
  for (int i = 0; i < MR; i++)
    for (int l = 0; l < NR; l++) sums[i][l] = 0;
#endif
  for (int r = 0; r < w->R; r++)
    for (int s = 0; s < w->S; s++) {
      COLUMN_SPACE const B_TYPE *b = B + tap_at(w, r, s);
      for (int c0 = 0, c1; c0 < w->steps; c0 = c1) {
        c1 = c0 + min(w->steps - c0, MOST_STEPS);
        IF_FULL(run > MOST_STEPS - (c1 - c0), UNROLL for (int i = 0; i < MR; i++) UNROLL for (int v = 0; v < NV; v++)
                                                  PUT_ASIDE(sum[i][v], v, sums[i]));
        run += c1 - c0;
        for (int c = c0; c < c1; c++, a += MR, b += w->step_step) {
          COLUMNS bv[NV];
          UNROLL for (int v = 0; v < NV; v++) bv[v] = LOAD_COLUMNS(b, v);
          UNROLL for (int i = 0; i < MR; i++) UNROLL for (int v = 0; v < NV; v++) ADD_DOT(sum[i][v], a[i], bv[v]);
        }
      }
    }
  UNROLL for (int i = 0; i < MR; i++) UNROLL for (int v = 0; v < NV; v++) PUT_LAST(sum[i][v], v, sums[i]);
}
#endif

#if MICA_HAS_VPMADDUBSW
/* Adds what multiply leaves out. quant/cpu/split.cl split some words of the row in two words that add up to the word:
 * multiply takes the first of them, and `list` holds the second ones, each with the place of its columns. */
static inline void add_halves(__global const uint *list, COLUMN_SPACE const B_TYPE *B, __private int *sums) {
  const int count = list[0];
  SUM sum[NV];
  CONSTANTS;
  if (count == 0) return;
  UNROLL for (int v = 0; v < NV; v++) sum[v] = *(__private SUM *)(sums + LANES * v);
  for (__global const uint *e = list + 1, *end = e + 2 * count; e < end; e += 2) {
    COLUMN_SPACE const B_TYPE *from = B + e[0];
    UNROLL for (int v = 0; v < NV; v++) ADD_DOT(sum[v], e[1], LOAD_COLUMNS(from, v));
  }
  UNROLL for (int v = 0; v < NV; v++) *(__private SUM *)(sums + LANES * v) = sum[v];
}
#endif

#if RAW
#define B_PARAM uchar
typedef MICA_PASTE(B_TYPE, 16) columns16;
#define WIDENED(bytes) MICA_AS(B_TYPE, 16, (bytes) ^ (uchar16)(mask))

/* to[step][lane] = channels step PER .. step PER + PER - 1 of column `lane` from x on; channels from `channels` on are
 * 0. Lanes from `lanes` on are not columns and may have any values. It reads at most `left` bytes from x on. */
static inline void pack_columns(__private B_TYPE *to, __global const uchar *x, const long left, const int lanes,
                                const int channels, const int steps, const long plane, const uchar mask) {
  for (int c = 0; c < steps; c++, to += NR) {
    const int there = min(PER, channels - c * PER);
    const long at = (long)c * PER * plane;
    if (there == PER && at + (PER - 1) * plane + NR <= left) {
      UNROLL for (int v = 0; v < NR / 16; v++) {
        columns16 both = 0;
        UNROLL for (int d = 0; d < PER; d++) both |= WIDENED(vload16(v, x + at + d * plane)) << (columns16)(8 * d);
        *(__private columns16 *)(to + 16 * v) = both;
      }
      continue;
    }
    for (int l = 0; l < NR; l++) {
      B_TYPE element = 0;
      for (int d = 0; d < there && l < lanes; d++) element |= (B_TYPE)((uint)(x[at + d * plane + l] ^ mask) << 8 * d);
      to[l] = element;
    }
  }
}
#else
#define B_PARAM B_TYPE
#endif

#include "quant/cpu/tile.clh"

#define FIELDS(X) PRODUCT_FIELDS(X) PRODUCT_MASK(X) OTHER_FIELDS(X)
DEFINE_PACKED_FIELDS(FIELDS);

CPU_KERNEL int8_cpu(__global const uint *A, __global const B_PARAM *B, __global const int *row_sums,
                    FINISH_BUFFERS OTHER_BUFFERS, const mica_packed packed) {
  UNPACK_FIELDS(FIELDS);
  FINISH_NUMBERS;
  OTHER_NUMBERS;
  const int j0 = get_global_id(0) * NR, batch = get_global_id(2), panels = (m + MR - 1) / MR;
  const int lanes = min(NR, columns - j0), a_batch = batch % a_count;
#if RAW
  B_TYPE mine[MOST_DEPTH / PER * NR] __attribute__((aligned(64)));
  const long from = batch * b_batch + j0;
  pack_columns(mine, B + from, get_num_groups(2) * b_batch - from, lanes, depth, steps, pixels, (uchar)mask);
  __private const B_TYPE *tile = mine;
#else
  __global const B_TYPE *tile = B + batch * b_batch + get_global_id(0) * tile_step;
#endif
  row_sums += (long)a_batch * m;
  y += (long)batch * m * pixels;
  int col_sums[NR];
  for (int l = 0; l < NR; l++) col_sums[l] = 0;
  READ_COLUMNS;
  walk w = {R, S, dh, dw, sh, sw, wq, steps, step_step, plane};
  FIND_TAPS(w);
  if (rows_are_offset) add_columns(tile, &w, col_sums);
  run_of_pixels runs[NR];
  const int run_count = find_runs(runs, j0, lanes, wq, q);
  UNPACK_QUICK;
  TILES_STORAGE;
  TILES_BEGIN(words);
  const int first = get_global_id(1) * block, end = min(first + block, panels);
  for (int panel = first; panel < end; panel++) {
    const int first_row = panel * MR, rows = min(MR, m - first_row);
    int sums[MR][NR] __attribute__((aligned(64)));
    const long of_row = (long)R * S * steps;
    multiply(A + ((long)a_batch * panels + panel) * of_row * MR, tile, &w, words, sums TILES_ARGUMENT);
#if MICA_HAS_VPMADDUBSW
    __global const uint *halves = A + (long)a_count * panels * of_row * MR;
    for (int i = 0; i < rows; i++)
      add_halves(halves + ((long)a_batch * m + first_row + i) * (1 + 2 * of_row), tile, sums[i]);
#endif
    KEPT done[MR][NR] __attribute__((aligned(64)));
    uint16 doubt = 0;
    float unsure = 0; /* becomes NaN if a factor or an addend is not finite; QUICK is then not used */
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
  TILES_END;
}
