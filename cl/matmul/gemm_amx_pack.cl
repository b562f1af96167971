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
 *   ACROSS   1: X_batch is 1, and vectors are read along 16 matrices
 *
 * Groups of one work-item, which takes LENGTH words of SHARE adjacent panels (whole chunks of them, of rows) and so
 * reads long pieces of X: ceil(steps / words taken), ceil(panels / SHARE), batches (ACROSS: ceil(batches / 16), of at
 * least 16). Blocks of 16 words by 16 rows or columns pass through registers, where they are transposed if X's inner
 * index is not the one that P wants. */
#include "common/group.clh"
#include "common/transpose.clh"

#ifndef PER
#define PER 2
#endif
#ifndef ROWS
#define ROWS 0
#endif
#ifndef ACROSS
#define ACROSS 0
#endif
#define WIDTH 32
#define SHARE 8
#define LENGTH 32
#define UNROLL _Pragma("unroll")

#if PER == 2
#define ELEMENT ushort
#define BITS 16
static inline uint16 words_at(__global const ushort *x) {
  return (uint16)(as_uint8(vload16(0, x)), as_uint8(vload16(0, x + 16)));
}
#else
#define ELEMENT uchar
#define BITS 8
static inline uint16 words_at(__global const uchar *x) {
  return (uint16)(as_uint4(vload16(0, x)), as_uint4(vload16(0, x + 16)), as_uint4(vload16(0, x + 32)),
                  as_uint4(vload16(0, x + 48)));
}
#endif

/* Word w of 16 outer indices. */
static inline uint16 words_across(__global const ELEMENT *x, const long X_k) {
  uint16 word = convert_uint16(vload16(0, x));
  UNROLL for (int d = 1; d < PER; d++) word |= convert_uint16(vload16(0, x + d * X_k)) << (uint16)(d * BITS);
  return word;
}

/* `count` words of an index: from[w] for w < count. */
static inline void store_words(const float16 from, const int count, __global uint *to) {
  uint lanes[16];
  if (count == 16) {
    vstore16(as_uint16(from), 0, to);
  } else {
    vstore16(as_uint16(from), 0, lanes);
    for (int w = 0; w < count; w++) to[w] = lanes[w];
  }
}

#if ACROSS
/* Word w of 16 matrices, of whose elements `deep` are there. */
static inline float16 words_of(__global const ELEMENT *x, const long X_k, const int deep) {
  if (deep >= PER) return as_float16(words_across(x, X_k));
  uint16 word = (uint16)(0);
  for (int d = 0; d < deep; d++) word |= convert_uint16(vload16(0, x + d * X_k)) << (uint16)(d * BITS);
  return as_float16(word);
}
#else
/* block[i] = the words of outer index i, element by element; zeros beyond `outer` indices and `deep` elements. */
static inline void gather(__global const ELEMENT *x, const long X_outer, const long X_k, const int outer,
                          const int deep, float16 block[16]) {
  uint words[16][16];
  for (int i = 0; i < 16; i++)
    for (int w = 0; w < 16; w++) {
      uint word = 0;
      for (int d = 0; i < outer && d < min(PER, deep - w * PER); d++)
        word |= (uint)x[i * X_outer + (w * PER + d) * X_k] << d * BITS;
      words[i][w] = word;
    }
  for (int i = 0; i < 16; i++) block[i] = as_float16(vload16(0, words[i]));
}

#endif

CPU_KERNEL gemm_amx_pack(const int batches, const int outer, const int K, const int steps, const int words,
                         __global const ELEMENT *X, const long X_at, const long X_batch, const long X_outer,
                         const long X_k, __global uint *P, const long P_at) {
  const int panels = (outer + WIDTH - 1) / WIDTH, length = ROWS ? words : 16;
  const int taken = ROWS ? LENGTH / words * words : LENGTH;
  const int first = get_global_id(0) * taken, last = min(first + taken, steps);
  const int from = get_global_id(1) * SHARE * WIDTH, to = min(from + SHARE * WIDTH, panels * WIDTH);
#if ACROSS
  const long z = min((int)get_global_id(2) * 16, batches - 16);
#else
  const long z = get_global_id(2);
#endif
  X += X_at + z * X_batch;
  P += P_at + z * panels * steps * WIDTH;
  for (int step = first; step < last; step += length)
    for (int o = from; o < to; o += 16) {
      const int count = min(length, last - step), there = outer - o, deep = K - step * PER;
      __global const ELEMENT *x = X + o * X_outer + step * PER * X_k;
      __global uint *p = P + ((long)(o / WIDTH) * steps + step) * WIDTH + o % WIDTH * (ROWS ? words : 1);
      float16 block[16];
#if ACROSS
      const long matrix = (long)panels * steps * WIDTH;
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
#else
      bool across = false;
      if (X_outer == 1 && there >= 16 && deep >= count * PER) {
        UNROLL for (int w = 0; w < 16; w++) block[w] =
            w < count ? as_float16(words_across(x + w * PER * X_k, X_k)) : (float16)(0);
        across = true;
      } else if (X_k == 1 && there >= 16 && deep >= 16 * PER) {
        UNROLL for (int i = 0; i < 16; i++) block[i] = as_float16(words_at(x + i * X_outer));
      } else {
        gather(x, X_outer, X_k, there, deep, block);
      }
      if (across == ROWS) mica_transpose16(block);
#if ROWS
      UNROLL for (int i = 0; i < 16; i++) store_words(block[i], words, p + i * words);
#else
      UNROLL for (int w = 0; w < 16; w++) if (w < count) vstore16(as_uint16(block[w]), 2 * w, p);
#endif
#endif
    }
}
