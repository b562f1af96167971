/* matmul/cpu/amx_pack.cl: packs an operand of matmul/cpu/amx.cl. Element (o, k) of matrix z is
 * X[X_at + z * X_batch + o * X_outer + k * X_k]; P[z] has the order that matmul/cpu/amx_pack.clh gives. X and P do not
 * overlap.
 *
 *   PER      elements per word. 2: bf16; 4: bytes
 *   ROWS     1: packs rows of A; 0: packs columns of B
 *   ACROSS   1: X_batch is 1, and each vector is read across 16 matrices
 *
 * A work-item packs LENGTH words (with ROWS rounded to whole chunks) of SHARE adjacent panels, so that it reads long
 * pieces of X. Groups of one work-item. NDRange: ceil(steps / words packed), ceil(panels / SHARE), batches (ACROSS:
 * ceil(batches / 16); there must be at least 16 batches). */
#include "common/group.clh"

#include "matmul/cpu/amx_pack.clh"
#define SHARE 8
#define LENGTH 32

#if ACROSS
/* The words that begin at x, x + 1, ... x + 15: one for each of 16 matrices whose elements alternate in X. Elements of
 * a word from `deep` on do not exist and become 0. */
static inline float16 words_of(__global const ELEMENT *x, const long X_k, const int deep) {
  if (deep >= PER) return as_float16(words_across(x, X_k));
  uint16 word = (uint16)(0);
  for (int d = 0; d < deep; d++) word |= convert_uint16(vload16(0, x + d * X_k)) << (uint16)(d * BITS);
  return as_float16(word);
}

static inline void pack_across(__global const ELEMENT *X, const long X_outer, const long X_k, const int outer,
                               const int K, const int steps, const int words, const int first, const int last,
                               const int from, const int to, __global uint *P) {
  const int panels = (outer + WIDTH - 1) / WIDTH, length = ROWS ? words : 16;
  const long matrix = (long)panels * steps * WIDTH;
  for (int step = first; step < last; step += length)
    for (int o = from; o < to; o += 16) {
      const int count = min(length, last - step), there = outer - o, deep = K - step * PER;
      __global const ELEMENT *x = X + o * X_outer + step * PER * X_k;
      __global uint *p = P + ((long)(o / WIDTH) * steps + step) * WIDTH + o % WIDTH * (ROWS ? words : 1);
      float16 block[16];
#if ROWS
      for (int i = 0; i < 16; i++, p += words) {
        UNROLL for (int w = 0; w < 16; w++) block[w] =
            w < count && i < there ? words_of(x + i * X_outer + w * PER * X_k, X_k, deep - w * PER) : (float16)(0);
        mica_transpose16(block);
        UNROLL for (int b = 0; b < 16; b++) store_words(block[b], words, p + b * matrix);
      }
#else
      for (int w = 0; w < count; w++, p += WIDTH) {
        UNROLL for (int i = 0; i < 16; i++) block[i] =
            i < there ? words_of(x + i * X_outer + w * PER * X_k, X_k, deep - w * PER) : (float16)(0);
        mica_transpose16(block);
        UNROLL for (int b = 0; b < 16; b++) vstore16(as_uint16(block[b]), 0, p + b * matrix);
      }
#endif
    }
}
#define PACK pack_across
#else
#define PACK pack_panels
#endif

CPU_KERNEL gemm_amx_pack(const int batches, const int outer, const int K, const int steps, const int words,
                         __global const ELEMENT *X, const long X_at, const long X_batch, const long X_outer,
                         const long X_k, __global uint *P, const long P_at) {
  const int panels = (outer + WIDTH - 1) / WIDTH, taken = ROWS ? LENGTH / words * words : LENGTH;
  const int first = get_global_id(0) * taken, last = min(first + taken, steps);
  const int from = get_global_id(1) * SHARE * WIDTH, to = min(from + SHARE * WIDTH, panels * WIDTH);
  const long z = ACROSS ? min((int)get_global_id(2) * 16, batches - 16) : get_global_id(2);
  PACK(X + X_at + z * X_batch, X_outer, X_k, outer, K, steps, words, first, last, from, to,
       P + P_at + z * panels * steps * WIDTH);
}
