/* matmul/gemm_amx_pack.cl: an operand of gemm_amx.cl in words of 32 bits, in panels of WIDTH along its outer index
 * (rows of A, columns of B); a word holds PER elements that follow each other along k, zeros beyond K:
 *
 *   ROWS 1   P[z][panel][chunk][i][w]    word chunk * words + w of row panel * WIDTH + i
 *   ROWS 0   P[z][panel][word][i]        column panel * WIDTH + i; steps words in all
 *
 * with `steps` words a row, a multiple of `words`; rows and columns past the last are 0. Element (z, o, k) of the
 * operand is X[X_at + z * X_batch + o * X_outer + k * X_k]. X and P do not overlap.
 *
 *   PER      2: bf16, 4: bytes
 *
 * One dimension, a work-item a row of a chunk (ROWS 1: batches * panels * chunks * WIDTH) or a word of a panel (ROWS 0:
 * batches * panels * steps). */
#include "common/group.clh"

#ifndef PER
#define PER 2
#endif
#ifndef ROWS
#define ROWS 0
#endif
#define WIDTH 32

#if PER == 2
#define ELEMENT ushort
#define ELEMENTS16(p) convert_uint16(vload16(0, p))
#define BITS 16
#define WORD(p) as_uint(vload2(0, p))
#else
#define ELEMENT uchar
#define ELEMENTS16(p) convert_uint16(vload16(0, p))
#define BITS 8
#define WORD(p) as_uint(vload4(0, p))
#endif

RANGE_KERNEL gemm_amx_pack(const int batches, const int outer, const int K, const int steps, const int words,
                           __global const ELEMENT *X, const long X_at, const long X_batch, const long X_outer,
                           const long X_k, __global uint *P, const long P_at) {
  const long index = get_global_id(0);
  const int panels = (outer + WIDTH - 1) / WIDTH;
#if ROWS
  const int i = (int)(index % WIDTH), chunks = steps / words, chunk = (int)(index / WIDTH % chunks);
  const long panel = index / WIDTH / chunks, z = panel / panels;
  if (z >= batches) return;
  const int o = (int)(panel % panels) * WIDTH + i, k0 = chunk * words * PER;
  X += X_at + z * X_batch + o * X_outer + k0 * X_k;
  P += P_at + index * words;
  for (int w = 0; w < words; w++, X += PER * X_k) {
    uint word = 0;
    if (o < outer) {
      if (X_k == 1 && k0 + (w + 1) * PER <= K)
        word = WORD(X);
      else
        for (int d = 0; d < PER && k0 + w * PER + d < K; d++) word |= (uint)X[d * X_k] << d * BITS;
    }
    P[w] = word;
  }
#else
  const int step = (int)(index % steps), k0 = step * PER;
  const long panel = index / steps, z = panel / panels;
  if (z >= batches) return;
  const int first = (int)(panel % panels) * WIDTH, count = min(WIDTH, outer - first), deep = clamp(K - k0, 0, PER);
  X += X_at + z * X_batch + first * X_outer + k0 * X_k;
  P += P_at + index * WIDTH;
  for (int v = 0; v < WIDTH; v += 16)
    if (X_outer == 1 && v + 16 <= count) {
      uint16 word = 0;
      for (int d = 0; d < deep; d++) word |= ELEMENTS16(X + d * X_k + v) << (uint16)(d * BITS);
      vstore16(word, 0, P + v);
    } else
      for (int i = v; i < v + 16; i++) {
        uint word = 0;
        for (int d = 0; i < count && d < deep; d++) word |= (uint)X[i * X_outer + d * X_k] << d * BITS;
        P[i] = word;
      }
#endif
}
