/* matmul/cpu/amx.cl: products of bf16 and of bytes on the matrix unit of Intel CPUs (common/cpu/tiles.clh).
 *
 *   D = act(alpha op(A) op(B) + beta C + bias)       see common/epilogue.clh
 *
 * B is packed in panels of 32 columns (matmul/cpu/amx_pack.clh). A column has `steps` words of 4 bytes. A tile takes a
 * chunk, `words` of them. Matrix z of the batch begins at word B_at + z * B_batch. A is packed in the same way, or is
 * read where it is. Word w of chunk c of row i of panel p of A is this many words after element A_at (an element has
 * A_size bytes):
 *
 *   z * A_batch + p * A_panel + c * A_chunk + i * A_row + w
 *
 * All 32 rows of every panel must be readable. Chunks are added in order. Within a chunk of bf16 the unit decides the
 * order and treats subnormal elements as zeros.
 *
 *   A_T, B_T       both bf16, or each i8 or u8
 *   MICA_HAS_AMX   1: uses the instructions; 0: emulates them
 *   PACK           1: a work-group itself packs the columns of B that it uses, so that no core waits for lines that
 *                  another core has written. Element (z, k, j) of B is X[X_at + z * X_batch + j * X_outer + k * X_k],
 *                  for k < K
 *
 * A work-group computes `columns` panels of B by `height` panels of A. It processes `rows` panels of A at a time, so
 * that their words stay in its caches. NDRange: groups of one work-item, ceil(panels of A / height), ceil(panels of B /
 * columns), batches. With PACK, height is the number of all panels of A. */
#include "common/epilogue.clh"
#include "common/group.clh"
#include "common/cpu/tiles.clh"

#define mica_amx_per_bf16 2
#define mica_amx_per_i8 4
#define mica_amx_per_u8 4
#if PACK
#define PER MICA_PASTE(mica_amx_per_, B_T)
#define ROWS 0
#include "matmul/cpu/amx_pack.clh"
#define B_PARAMS                                                                                                       \
  const int K, __global const ELEMENT *X, const long X_at, const long X_batch, const long X_outer, const long X_k,     \
      __global uint *B
#else
#define B_PARAMS __global const uint *restrict B
#endif

#define mica_amx_bf16 b
#define mica_amx_i8 s
#define mica_amx_u8 u
#define mica_amx_of_bb bf
#define mica_amx_of_ss ss
#define mica_amx_of_su su
#define mica_amx_of_us us
#define mica_amx_of_uu uu
#define LETTERS MICA_PASTE(MICA_PASTE(mica_amx_, A_T), MICA_PASTE(mica_amx_, B_T))
#define KIND MICA_PASTE(mica_amx_of_, LETTERS)
#define SIDE 32

CPU_KERNEL gemm_amx(const int M, const int N, const int steps, const int words, const int rows, const int height,
                    const int columns, __global const uchar *restrict A, const long A_at, const int A_size,
                    const long A_batch, const long A_panel, const long A_chunk, const long A_row, B_PARAMS,
                    const long B_at, const long B_batch, EPILOGUE_PARAMS) {
  const long z = get_global_id(2), panel = (long)steps * SIDE, row_bytes = 4 * A_row;
  const int a0 = get_global_id(0) * height, b0 = get_global_id(1) * columns;
  const int a1 = min(a0 + height, (M + SIDE - 1) / SIDE), b1 = min(b0 + columns, (N + SIDE - 1) / SIDE);
  COMPUTE(ACC_T) sums[SIDE][SIDE];
  __private uint *to = (__private uint *)&sums[0][0];
#if PACK
  pack_panels(X + X_at + z * X_batch, X_outer, X_k, N, K, steps, words, 0, steps, b0 * SIDE, b1 * SIDE,
              B + B_at + z * B_batch);
#endif
  TILES_STORAGE;
  TILES_BEGIN(words);
  for (int block = a0; block < a1; block += rows)
    for (int pb = b0; pb < b1; pb++)
      for (int pa = block; pa < min(block + rows, a1); pa++) {
        __global const uint *a = (__global const uint *)(A + A_at * A_size) + z * A_batch + pa * A_panel;
        __global const uint *b = B + B_at + z * B_batch + pb * panel;
        BLOCK_ZERO;
        for (int s = 0; s < steps; s += words, a += A_chunk, b += SIDE * words) {
          BLOCK_DOT(KIND, a, 16 * A_row, row_bytes, b, 4 * SIDE);
        }
        BLOCK_STORE(to, SIDE);
        const int first = pa * SIDE, count = min(SIDE, M - first), col0 = pb * SIDE, width = min(SIDE, N - col0);
        for (int i = 0; i < count; i++)
          for (int v = 0; v < width; v += 16)
            if (v + 16 <= width) {
              FINISH(16, vload16(0, &sums[i][v]), z, first + i, col0 + v);
            } else {
              for (int j = v; j < width; j++) FINISH(1, sums[i][j], z, first + i, col0 + j);
            }
      }
  TILES_END;
}
