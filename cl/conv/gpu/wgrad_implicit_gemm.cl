/* conv/gpu/wgrad_implicit_gemm.cl: a convolution's weight gradient as a matrix product whose right operand is gathered,
 * by tiles through local memory. GPU class.
 *
 *   rows      KG filters of a group
 *   columns   CG channels and the taps of a filter
 *   depth     pixels of y, of all images, divided among SPLITS work-groups
 *   A         [row][pixel] = y
 *   B         [pixel][column] = the element of x that the tap reads for that pixel; zero for padding
 *
 * A work-group computes a tile (common/gpu/local_tile.clh) for the pixels of one split. It loops over these pixels as a
 * software pipeline, like conv/gpu/implicit_gemm.cl. In a step, a work-item reads one pixel for several rows and
 * columns, so that neighbouring work-items read adjacent elements. After a step its pixel advances by TILE_K. To avoid
 * divisions, the coordinates (image, depth, height, width) are added with carry: ADVANCE_N, ADVANCE0 .. ADVANCE2 are
 * TILE_K in these coordinates.
 *
 *   SPLIT_K         1: the sums are written to P [SPLITS][G KG][CG taps] of ACC_T, which matmul/gpu/splitk.cl adds in
 *                   order
 *   DIMS            2: taps move in height and width; 3: in depth too
 *   REQD_SUBGROUP   the sub-group size on Intel GPUs; 0: the compiler chooses
 *
 * NDRange: THREADS * tiles of rows * tiles of columns * G * SPLITS; work-group (THREADS). */
#include "conv/problem.clh"

#include "common/gpu/local_tile.clh"

#define STEP (THREADS / TILE_K) /* rows, or columns, that the work-group reads at a time */
#define FETCHES_A (TILE_M / STEP)
#define FETCHES_B (TILE_N / STEP)
#if FETCHES_A * STEP != TILE_M || FETCHES_B * STEP != TILE_N
#error "the work-group must read a whole number of rows and columns at once"
#endif

/* The part of an offset that comes from the depth. In two dimensions it is 0, which the compiler does not know. To
 * compute it would take 64-bit registers and, on AMD, a wait for outstanding loads. Without it the multiply-add units
 * are used 10 % more (sm_80, modelled). */
#define DEEP(x) (DIMS == 3 ? (x) : 0)

/* Reads this work-item's share of the next TILE_K pixels into registers. For padding it reads element 0 of x, and
 * DEPOSIT replaces the value by 0. To replace it here, the GPU would have to wait for the load before the
 * multiplications. After the last pixel, x is 0 and y is the filter's first element. If this element is not finite, 0
 * times it is NaN; but then the filter's sums are not finite anyway. */
#define FETCH(which)                                                                                                   \
  {                                                                                                                    \
    const bool there = left > 0;                                                                                       \
    const int i0 = DEEP(o0 * ST0 - PA0), i1 = o1 * ST1 - PA1, i2 = o2 * ST2 - PA2;                                     \
    const long y_from = there ? n * y_image + (DEEP(o0 * O1) + o1) * O2 + o2 : 0;                                      \
    const long x_from = n * x_image + (DEEP(i0 * I1) + i1) * I2 + i2;                                                  \
    inside = 0;                                                                                                        \
    UNROLL for (int f = 0; f < FETCHES_A; f++) a_share[f] = (acc_t)LOAD(D_T, Y, y_from + a_row[f]);                    \
    UNROLL for (int f = 0; f < FETCHES_B; f++) {                                                                       \
      const bool in = there && (uint)(i1 + b_1[f]) < (uint)I1 && (uint)(i2 + b_2[f]) < (uint)I2 &&                     \
                      (DIMS == 2 || (uint)(i0 + b_0[f]) < (uint)I0);                                                   \
      inside |= (uint)in << f;                                                                                         \
      b_share[f] = (acc_t)LOAD(D_T, X, in ? x_from + b_offset[f] : 0);                                                 \
    }                                                                                                                  \
    o2 += ADVANCE2;                                                                                                    \
    o1 += ADVANCE1 + (o2 >= O2), o2 -= o2 >= O2 ? O2 : 0;                                                              \
    const bool past = o1 >= O1;                                                                                        \
    o1 -= past ? O1 : 0;                                                                                               \
    o0 += DEEP(ADVANCE0 + past);                                                                                       \
    n += ADVANCE_N + (DIMS == 3 ? o0 >= O0 : past), o0 -= DEEP(o0 >= O0 ? O0 : 0);                                     \
    left -= TILE_K;                                                                                                    \
  }

/* The element of a tile that fetch f of this work-item is written to. */
#define PUT(tile, pitch, f) ((__local acc_t *)(tile))[item % TILE_K * (pitch) + item / TILE_K + (f)*STEP]
#define DEPOSIT(which)                                                                                                 \
  UNROLL for (int f = 0; f < FETCHES_A; f++) PUT(a_tiles[which], PITCH_A, f) = a_share[f];                             \
  UNROLL for (int f = 0; f < FETCHES_B; f++) PUT(b_tiles[which], PITCH_B, f) = inside >> f & 1 ? b_share[f] : 0;       \
  barrier(CLK_LOCAL_MEM_FENCE);

#if SPLIT_K
#define WRITE(n, sum, row, col) MICA_VSTORE(n, sum, P, P_at + ((long)split * G * KG + (row)) * columns + (col))
#else
#define WRITE(n, sum, row, col) FINISH(n, sum, 0, row, col)
#endif

#if REQD_SUBGROUP
__attribute__((intel_reqd_sub_group_size(REQD_SUBGROUP)))
#endif
__kernel __attribute__((reqd_work_group_size(THREADS, 1, 1))) void
conv_gpu_wgrad_implicit_gemm(CONV_PARAMS, const int8 size, __global const STORAGE(D_T) *restrict Y_all, const long Y_at,
                             __global const STORAGE(D_T) *restrict X_all, const long X_at,
#if SPLIT_K
                             __global acc_t *restrict P, const long P_at MICA_FUSED_PARAMS
#else
                             EPILOGUE_PARAMS
#endif
) {
  CONV_UNPACK
  __local vec_t a_tiles[2][TILE_K * PITCH_A / VEC], b_tiles[2][TILE_K * PITCH_B / VEC];
  UNPACK_INTS(GPU_WGRAD_SPLIT, size)
  const int item = (int)get_local_id(0), m_item = M_ITEM(item), n_item = N_ITEM(item);
  const int taps = R0 * R1 * R2, columns = CG * taps, outputs = O0 * O1 * O2, inputs = I0 * I1 * I2;
  const int tiles_m = (KG + TILE_M - 1) / TILE_M, tiles_n = (columns + TILE_N - 1) / TILE_N;
  const int group = (int)get_group_id(0), tile = group / tiles_m, part = tile / tiles_n;
  const int row0 = group % tiles_m * TILE_M, col0 = tile % tiles_n * TILE_N, g = part % G, split = part / G;

  /* This split has pixels begin .. end - 1; `first` is the first pixel of this work-item. A split has whole steps,
   * except that its last step may be cut by the last pixel of all. */
  const int pixels = N * outputs, steps_all = (pixels + TILE_K - 1) / TILE_K, share = (steps_all + SPLITS - 1) / SPLITS;
  const int begin = min(split * share * TILE_K, pixels), end = min(begin + share * TILE_K, pixels);
  const int first = begin + item % TILE_K;
  int left = end - first, n = first / outputs, o0 = first % outputs / (O1 * O2), o1 = first / O2 % O1, o2 = first % O2;

  const long x_image = (long)G * CG * inputs, y_image = (long)G * KG * outputs;
  __global const STORAGE(D_T) *X = X_all + X_at + (long)g * CG * inputs;
  __global const STORAGE(D_T) *Y = Y_all + Y_at + (long)g * KG * outputs;
  int a_row[FETCHES_A], b_offset[FETCHES_B], b_0[FETCHES_B], b_1[FETCHES_B], b_2[FETCHES_B];
  UNROLL for (int f = 0; f < FETCHES_A; f++) a_row[f] = min(row0 + item / TILE_K + f * STEP, KG - 1) * outputs;
  UNROLL for (int f = 0; f < FETCHES_B; f++) {
    const int column = min(col0 + item / TILE_K + f * STEP, columns - 1), c = column / taps, t = column - c * taps;
    b_0[f] = t / (R1 * R2) * DI0, b_1[f] = t / R2 % R1 * DI1, b_2[f] = t % R2 * DI2;
    b_offset[f] = ((c * I0 + b_0[f]) * I1 + b_1[f]) * I2 + b_2[f];
  }

  acc_t a_share[FETCHES_A], b_share[FETCHES_B];
  uint inside; /* a bit for each fetch of B */
  vec_t sums[MICRO_M][MICRO_N / VEC];
  FETCH(0)
  DEPOSIT(0)
  TILE_PIPELINE(begin + TILE_K, end, end > begin, FETCH, DEPOSIT)

  UNROLL for (int i = 0; i < MICRO_M; i++) {
    const int row = row0 + TILE_ROW(i);
    UNROLL for (int j = 0; j < MICRO_N / VEC; j++) {
      const int col = col0 + TILE_COLUMNS(j);
      if (row < KG && col + VEC <= columns) {
        WRITE(VEC, sums[i][j], g * KG + row, col);
      } else if (row < KG) {
        UNROLL for (int l = 0; l < VEC; l++) if (col + l < columns)
            WRITE(1, LANE(sums[i][j], l), g * KG + row, col + l);
      }
    }
  }
}
