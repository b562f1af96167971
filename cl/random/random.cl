/* random/random.cl: y[i] = a random number, 0 <= i < n, that depends only on i, the key and the step.
 *
 *   KIND   0: uniform, a + (b - a) u with u in [0, 1). 1: normal, a + b z (Box and Muller 1958). 2: 1 with probability
 *          a, else 0, as b8
 *   Y_T    type of y
 *   S_T    type of the step, i32 or i64
 *
 * Elements 4 k .. 4 k + 3 use the four words of Philox with the counter (k, step). u has as many random bits as the
 * significand of Y_T, at most 24. One dimension of ceil(n / 4) work-items. */
#include "common/dtype.clh"
#include "common/group.clh"
#include "random/philox.clh"

#define mica_bits_f32 24
#define mica_bits_f64 24
#define mica_bits_f16 11
#define mica_bits_bf16 8
#define mica_bits_b8 24
#define BITS MICA_PASTE(mica_bits_, Y_T)

#if KIND == 2
#define REAL float
#else
#define REAL COMPUTE(Y_T)
#endif

/* Returns a number in [0, 1), a multiple of 2^-bits. */
static inline REAL unit(const uint word, const int bits) { return (REAL)(word >> (32 - bits)) / (REAL)(1 << bits); }

/* Sets z[0] to cos(pi x) and z[1] to sin(pi x), for 0 <= x < 2. For doubles it reduces the angle to at most pi / 4
 * first: if a driver computes cospi by multiplying by pi (Oclgrind 21.10), a result near 0 would have few correct
 * bits. */
static inline void circle(const REAL x, __private REAL *z) {
  const int quarters = sizeof(REAL) == 8 ? convert_int_rte(2 * x) : 0;
  const REAL rest = x - (REAL)0.5 * quarters, c = cospi(rest), s = sinpi(rest);
  const REAL across = quarters & 1 ? s : c, up = quarters & 1 ? c : s;
  z[0] = (quarters + 1) & 2 ? -across : across;
  z[1] = quarters & 2 ? -up : up;
}

/* Sets z[0] and z[1] to two normal random numbers. word0 becomes a uniform number in (0, 1], so that its logarithm is
 * finite. */
static inline void normal(const uint word0, const uint word1, __private REAL *z) {
  const REAL radius = sqrt(-2 * log(unit(word0, 24) + (REAL)1 / (1 << 24)));
  circle(2 * unit(word1, 24), z);
  z[0] *= radius;
  z[1] *= radius;
}

RANGE_KERNEL random(__global STORAGE(Y_T) * y, const long y_at, __global const STORAGE(S_T) * step, const long step_at,
                    const long n, const int key_low, const int key_high, const REAL a, const REAL b) {
  const long block = get_global_id(0);
  const long begin = block * 4;
  const ulong time = (ulong)(long)LOAD(S_T, step, step_at);
  const uint4 words = mica_philox((uint4)((uint)block, (uint)((ulong)block >> 32), (uint)time, (uint)(time >> 32)),
                                  (uint2)((uint)key_low, (uint)key_high));
  const uint word[4] = {words.x, words.y, words.z, words.w};
  REAL number[4];
  if (begin >= n) return;
#if KIND == 1
  normal(word[0], word[1], number);
  normal(word[2], word[3], number + 2);
#endif
  for (int k = 0; k < 4 && begin + k < n; k++) {
#if KIND == 0
    STORE(Y_T, a + (b - a) * unit(word[k], BITS), y, y_at + begin + k);
#elif KIND == 1
    STORE(Y_T, a + b * number[k], y, y_at + begin + k);
#else
    STORE(Y_T, unit(word[k], BITS) < a ? 1 : 0, y, y_at + begin + k);
#endif
  }
}
