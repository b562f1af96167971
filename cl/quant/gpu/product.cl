/* quant/gpu/product.cl: products of 8-bit matrices, and convolutions, for GPUs. The operands are packed in the layout
 * that quant/cpu/product.cl describes, with two differences: panels of A, and of the columns of matrices, are TILE
 * wide, and both operands are i8, four values per uint.
 *
 *   MICA_HAS_DP4A   1: uses dp4a by inline PTX (compute capability 6.1). 0: uses AMD's v_dot4 if the target has it,
 *                   otherwise cl_khr_integer_dot_product if the device has it, otherwise OpenCL C
 *
 * A group of 8 x 8 work-items computes a tile of TILE x TILE sums; each work-item computes MICRO x MICRO of them. DEPTH
 * steps of both operands at a time are copied to local memory. ceil(columns / TILE) x ceil(m / TILE) x batches
 * groups. */
#include "quant/product.clh"

#define SIDE 8
#define MICRO 8
#define TILE (SIDE * MICRO)
#define DEPTH 8
#define PASS 4 /* rows per work-item that are finished together, through local memory, so that writes are adjacent */
#define UNROLL _Pragma("unroll")

/* The AMD targets that have the instructions v_dot4_i32_iu8 (sudot4) or v_dot4_i32_i8 (sdot4). */
#if defined __gfx1100__ || defined __gfx1101__ || defined __gfx1102__ || defined __gfx1103__
#define MICA_HAS_AMDGCN_SUDOT4
#elif defined __gfx906__ || defined __gfx908__ || defined __gfx90a__ || defined __gfx940__ || defined __gfx1011__ ||   \
    defined __gfx1012__ || defined __gfx1030__ || defined __gfx1031__ || defined __gfx1032__ || defined __gfx1034__ || \
    defined __gfx1035__
#define MICA_HAS_AMDGCN_SDOT4
#endif

#if MICA_HAS_DP4A
#define ADD_DOT(sum, a, b) __asm__("dp4a.s32.s32 %0, %1, %2, %0;" : "+r"(sum) : "r"(a), "r"(b))
#elif defined MICA_HAS_AMDGCN_SUDOT4
#define ADD_DOT(sum, a, b) sum = __builtin_amdgcn_sudot4(true, (int)(a), true, (int)(b), sum, false)
#elif defined MICA_HAS_AMDGCN_SDOT4
#define ADD_DOT(sum, a, b) sum = __builtin_amdgcn_sdot4((int)(a), (int)(b), sum, false)
#elif defined cl_khr_integer_dot_product && defined __opencl_c_integer_dot_product_input_4x8bit_packed
#define ADD_DOT(sum, a, b) sum += dot_4x8packed_ss_int(a, b)
#else
/* The signed byte of v at bit `shift`. It uses shifts, because rusticl (22.3) would compile char4 to vectors that crash
 * its translator. */
#define BYTE_AT(v, shift) ((int)((v) << (24 - (shift))) >> 24)
#define ADD_DOT(sum, a, b)                                                                                             \
  sum += BYTE_AT(a, 0) * BYTE_AT(b, 0) + BYTE_AT(a, 8) * BYTE_AT(b, 8) + BYTE_AT(a, 16) * BYTE_AT(b, 16) +             \
         BYTE_AT(a, 24) * BYTE_AT(b, 24)
#endif

DEFINE_PACKED_FIELDS(PRODUCT_FIELDS);

__kernel __attribute__((reqd_work_group_size(SIDE, SIDE, 1))) void
int8_gpu(__global const uint *A, __global const uint *B, __global const int *row_sums, FINISH_BUFFERS,
         const mica_packed packed) {
  UNPACK_FIELDS(PRODUCT_FIELDS);
  FINISH_NUMBERS;
  __local uint tile_a[DEPTH][TILE], tile_b[DEPTH][TILE];
  __local int stage[SIDE * PASS][TILE], sums_of[TILE];
  const int tx = get_local_id(0), ty = get_local_id(1), me = ty * SIDE + tx;
  const int j0 = get_group_id(0) * TILE, panel = get_group_id(1), batch = get_group_id(2), a_batch = batch % a_count;
  const int all = R * S * steps, panels = (m + TILE - 1) / TILE;
  A += ((long)a_batch * panels + panel) * all * TILE + me;
  B += batch * b_batch + get_group_id(0) * tile_step + me;
  row_sums += (long)a_batch * m;
  y += (long)batch * m * pixels;

  int sum[MICRO][MICRO], col_sums[MICRO];
  UNROLL for (int j = 0; j < MICRO; j++) {
    col_sums[j] = 0;
    UNROLL for (int i = 0; i < MICRO; i++) sum[i][j] = 0;
  }
  for (int k0 = 0; k0 < all; k0 += DEPTH) {
#pragma unroll 1
    for (int k = 0; k < DEPTH; k++) {
      const int at = k0 + k, tap = at / steps, r = tap / S, s = tap - r * S;
      const long from = (long)(at - tap * steps) * step_step + ((long)(r * dh % sh) * sw + s * dw % sw) * plane +
                        (long)(r * dh / sh) * wq + s * dw / sw;
      tile_a[k][me] = at < all ? A[(long)at * TILE] : 0;
      tile_b[k][me] = at < all ? B[from] : 0;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll 1
    for (int k = 0; k < DEPTH; k++) {
      uint a[MICRO], b[MICRO];
      UNROLL for (int i = 0; i < MICRO; i++) a[i] = tile_a[k][ty * MICRO + i];
      UNROLL for (int j = 0; j < MICRO; j++) b[j] = tile_b[k][j * SIDE + tx];
      UNROLL for (int j = 0; j < MICRO; j++) {
        UNROLL for (int i = 0; i < MICRO; i++) ADD_DOT(sum[i][j], a[i], b[j]);
        ADD_DOT(col_sums[j], 0x01010101u, b[j]);
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }

  if (ty == 0) UNROLL for (int j = 0; j < MICRO; j++) sums_of[j * SIDE + tx] = col_sums[j];
  UNROLL for (int half_at = 0; half_at < MICRO; half_at += PASS) {
    UNROLL for (int i = 0; i < PASS; i++)
        UNROLL for (int j = 0; j < MICRO; j++) stage[ty * PASS + i][j * SIDE + tx] = sum[half_at + i][j];
    barrier(CLK_LOCAL_MEM_FENCE);
    const int column = j0 + me, p = column / wq, at = column - p * wq;
    if (column < columns && at < q)
      for (int i = 0; i < SIDE * PASS; i++) {
        const int row = panel * TILE + i / PASS * MICRO + half_at + i % PASS, of_all = a_batch * row_batch + row;
        if (row >= m) continue;
        const int zero = ROW_ZERO(of_all), rest = columns_are_offset ? row_sums[row] - depth * zero : 0;
        const int t = stage[i][me] - zero * sums_of[me] - rest * COL_ZERO(column);
        STORE(Y_T, FINISHED(1, t, ROW_SCALE(of_all) * COL_SCALE(column), ROW_BIAS(of_all) + COL_BIAS(column)), y,
              row * pixels + (long)p * q + at);
      }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}
