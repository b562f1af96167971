/* quant/pack.cl: packs a matrix of bytes in panels. A lane of a panel is one row, or one column, of the matrix. Element
 * (step, lane) holds PER values that are adjacent along the depth. Values beyond the matrix are 0.
 *
 *   run 1   packed [batch][panel][tap * steps + step][lane] = values step PER .. step PER + PER - 1 of tap `tap`
 *   run > 1 packed [batch][panel][(tap * steps + step) / run][lane][step % run]; `steps` is a multiple of `run`
 *
 * x has `outer` rows (or columns), each of taps * depth values. Value (o, tap, d) of a batch is at o outer_step + d
 * depth_step + tap. steps >= ceil(depth / PER).
 *
 *   mask      128 if the sign of values must be changed (i8 is packed as u8 or u8 as i8), else 0
 *   width     lanes of a panel
 *   signs     1: packed values are signed; used for `sums`
 *   sums      if has_sums: sums[batch][o] = the sum of the packed values of row o, modulo 2^32; `chunks` must then be 1
 *   PER       values per element. 4: bytes in a uint. 2: shorts in a uint (WIDE 1), or bytes in a ushort (WIDE 0)
 *
 * One dimension of batches * panels * width * chunks work-items. A work-item packs `chunk` of the taps * steps steps of
 * a row. */
#include "common/dtype.clh"
#include "common/group.clh"

#if PER == 4
#define ELEMENT uint
#define PUT(sum, value, d) sum |= (uint)(value) << 8 * (d)
#elif WIDE
#define ELEMENT uint
#define PUT(sum, value, d) sum |= (uint)(value) << 16 * (d)
#else
#define ELEMENT ushort
#define PUT(sum, value, d) sum |= (ushort)((value) << 8 * (d))
#endif

RANGE_KERNEL int8_pack(__global const uchar *x, const long x_at, __global ELEMENT *packed, const long packed_at,
                       __global int *sums, const long sums_at, const int batches, const int outer, const int taps,
                       const int depth, const int steps, const int run, const long batch_step, const long outer_step,
                       const long depth_step, const int chunk, const int chunks, const int width, const int mask,
                       const int signs, const int has_sums) {
  const long item = get_global_id(0);
  const int panels = (outer + width - 1) / width;
  const int lane = (int)(item % width);
  long rest = item / width;
  const int part = (int)(rest % chunks);
  rest /= chunks;
  const int panel = (int)(rest % panels);
  const int batch = (int)(rest / panels);
  if (batch >= batches) return;
  const int o = panel * width + lane;
  x += x_at + batch * batch_step + o * outer_step;
  packed += packed_at + ((long)batch * panels + panel) * taps * steps * width + lane * run;
  int sum = 0;
  const int first = part * chunk, end = min(first + chunk, taps * steps);
  for (int at = first, tap = first / steps, d0 = (first - tap * steps) * PER; at < end; at++, d0 += PER) {
    ELEMENT element = 0;
    if (d0 >= steps * PER) d0 = 0, tap++;
#if PER == 4
    const bool at_once = depth_step == 1 && d0 + PER <= depth && !has_sums && o < outer;
    if (at_once) element = as_uint(vload4(0, x + d0 + tap) ^ (uchar4)((uchar)mask));
#else
    const bool at_once = false;
#endif
    if (o < outer && !at_once)
      for (int d = 0; d < PER; d++)
        if (d0 + d < depth) {
          const uchar value = x[(d0 + d) * depth_step + tap] ^ mask;
          PUT(element, value, d);
          sum += signs ? (int)as_char(value) : (int)value;
        }
    packed[(long)(at / run) * run * width + at % run] = element;
  }
  if (has_sums && o < outer) sums[sums_at + (long)batch * outer + o] = sum;
}
