/* quant/cpu/split.cl: makes packed rows of i8 (quant/pack.cl, four bytes per word) safe for vpmaddubsw. This
 * instruction adds two products of a u8 and an i8 and saturates at 16 bits. A pair of i8 is safe if the sum of its
 * positive numbers is at most 128 and the sum of its negative numbers is at least -128, because 255 * 128 = 32640 fits.
 *
 * A word with an unsafe pair is split into two words that add up to it, each about half of it. The first half replaces
 * the word; the second half is appended to the list of the row. Halves are within -64 .. 64, so they are safe.
 *
 *   packed  [batch][panel][words][lane], then one list per row of all batches. A list is a count, and room for `words`
 *           pairs: the offset of the word's columns in a batch of B (quant/cpu/product.cl), modulo 2^32, and the second
 *           half. `count` pairs are written
 *   words   R * S * steps
 *
 * One dimension of batches * m work-items, one per row. */
#define RAW 0
#include "common/group.clh"
#include "quant/cpu/walk.clh"

static inline bool is_safe(const int a, const int b) {
  return max(a, 0) + max(b, 0) <= 128 && min(a, 0) + min(b, 0) >= -128;
}

RANGE_KERNEL int8_split(__global uint *packed, const long packed_at, const int batches, const int m, const int width,
                        const int R, const int S, const int dh, const int dw, const int sh, const int sw, const int wq,
                        const int steps, const long step_step, const long plane) {
  const walk w = {R, S, dh, dw, sh, sw, wq, steps, step_step, plane};
  const int words = R * S * steps;
  const long row = get_global_id(0);
  if (row >= (long)batches * m) return;
  const int panels = (m + width - 1) / width, in_batch = (int)(row % m);
  const long panel = row / m * panels + in_batch / width;
  packed += packed_at;
  __global uint *list = packed + (long)batches * panels * words * width + row * (1 + 2l * words);
  int count = 0;
  for (int at = 0; at < words; at++) {
    __global uint *word = packed + (panel * words + at) * width + in_batch % width;
    const char4 v = as_char4(*word), lower = v >> (char4)(1);
    if (is_safe(v.x, v.y) && is_safe(v.z, v.w)) continue;
    *word = as_uint(lower);
    const int tap = at / steps;
    list[1 + 2l * count] = (uint)(find_tap(&w, tap / S, tap % S) + (at - tap * steps) * step_step);
    list[2 + 2l * count] = as_uint(v - lower);
    count++;
  }
  list[0] = count;
}
