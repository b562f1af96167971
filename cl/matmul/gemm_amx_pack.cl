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
 * Groups of one work-item, which takes a panel (ROWS 1: ceil(outer / 32), batches), or LENGTH words of SHARE adjacent
 * panels (ROWS 0: ceil(steps / LENGTH), ceil(panels / SHARE), batches) and so reads long pieces of rows of X. */
#include "common/group.clh"

#ifndef PER
#define PER 2
#endif
#ifndef ROWS
#define ROWS 0
#endif
#define WIDTH 32
#define SHARE 8
#define LENGTH 32

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

CPU_KERNEL gemm_amx_pack(const int outer, const int K, const int steps, const int words, __global const ELEMENT *X,
                         const long X_at, const long X_batch, const long X_outer, const long X_k, __global uint *P,
                         const long P_at) {
  const int panels = (outer + WIDTH - 1) / WIDTH;
#if ROWS
  const int panel = get_global_id(0), count = min(WIDTH, outer - panel * WIDTH);
  const long z = get_global_id(1);
  X += X_at + z * X_batch + (long)panel * WIDTH * X_outer;
  P += P_at + (z * panels + panel) * steps * WIDTH;
  for (int c = 0; c < steps; c += words)
    for (int i = 0; i < WIDTH; i++, P += words)
      for (int w = 0; w < words; w++) {
        const int k = (c + w) * PER;
        __global const ELEMENT *x = X + i * X_outer + k * X_k;
        uint word = 0;
        if (i < count && X_k == 1 && k + PER <= K)
          word = WORD(x);
        else if (i < count)
          for (int d = 0; d < PER && k + d < K; d++) word |= (uint)x[d * X_k] << d * BITS;
        P[w] = word;
      }
#else
  const int first = get_global_id(0) * LENGTH, panel = get_global_id(1) * SHARE;
  const int count = min(SHARE * WIDTH, outer - panel * WIDTH), width = min(SHARE, panels - panel) * WIDTH;
  const long z = get_global_id(2);
  X += X_at + z * X_batch + (long)panel * WIDTH * X_outer;
  P += P_at + (z * panels + panel) * steps * WIDTH;
  for (int step = first; step < min(first + LENGTH, steps); step++) {
    const int deep = clamp(K - step * PER, 0, PER);
    __global const ELEMENT *x = X + step * PER * X_k;
    for (int v = 0; v < width; v += 16) {
      __global uint *to = P + ((long)(v / WIDTH) * steps + step) * WIDTH + v % WIDTH;
      if (X_outer == 1 && v + 16 <= count && deep == PER) {
        uint16 word = ELEMENTS16(x + v);
        for (int d = 1; d < PER; d++) word |= ELEMENTS16(x + d * X_k + v) << (uint16)(d * BITS);
        vstore16(word, 0, to);
      } else
        for (int i = v; i < v + 16; i++) {
          uint word = 0;
          for (int d = 0; i < count && d < deep; d++) word |= (uint)x[i * X_outer + d * X_k] << d * BITS;
          to[i - v] = word;
        }
    }
  }
#endif
}
