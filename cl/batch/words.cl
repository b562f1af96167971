/* batch/words.cl: gathers the small columns of a batch without pictures. If there are pictures, batch/augment.cl does
 * it.
 *
 * `records` holds one record of `width` words per sample. Sample s of the batch, 0 <= s < N, has record order(first +
 * s). words.clh says where each word goes. With TARGETS 1 the label of sample s is mixed with the label of sample N - 1
 * - s.
 *
 *   ORDERED   1: order(p) is order[p]; 0: a permutation     TARGETS   as in words.clh
 *
 * One dimension of N width work-items. */
#define AUGMENT 0

#include "common/group.clh"
#include "batch/draw.clh"
#include "batch/words.clh"

RANGE_KERNEL words(__global const int *records, const long records_at, __global const int *table, const long table_at,
                   __global const int *order, const long order_at, __global int *out, const long out_at,
                   __global float *mixed, const long mixed_at, const int8 keys, const int N, const int width,
                   const int classes, const int n, const int bits, const int first, const float share) {
  const long item = get_global_id(0);
  const int s = (int)(item / width), w = (int)(item % width);
  if (s >= N) return;
  const uint i = SAMPLE_AT(first + s);
  __global const int *mine = records + records_at + (long)i * width;
#if TARGETS == 1
  if (w == 0) {
    const uint k = SAMPLE_AT(first + N - 1 - s);
    write_probabilities(mixed + mixed_at + (long)s * classes, classes, mine[0], records[records_at + (long)k * width],
                        share);
    return;
  }
#endif
  word_copy(mine, table + table_at, out + out_at, s, w);
}
