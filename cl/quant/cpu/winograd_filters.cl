/* quant/cpu/winograd_filters.cl: transforms filters of 3 x 3 bytes for quant/cpu/winograd.cl.
 *
 *   w        [batch][filter][channel][3][3], i8
 *   U        4 G g G' of a filter's channel g, where 2 G has the rows (2 0 0), (1 1 1), (1 -1 1), (0 0 2). The factor 4
 *            keeps all values whole; none exceeds 9 * 128 = 1152
 *   packed   [batch][four panels][position of U, 16][panel][step][lane], in the order in which they are read: lane i of
 *            a panel is its filter i, and the last panels may be fewer than four. An element is a pair of shorts, for
 *            channels 2 step and 2 step + 1. Filters and channels that do not exist are 0
 *   sums     if has_sums: the sum of each filter's values
 *
 * One dimension of batches * panels * width * steps work-items, one per filter and pair of channels. */
#include "common/group.clh"
#include "quant/cpu/panels.clh"

/* out = 2 G (a, b, c)', with elements of `out` `step` apart. */
static inline void transform(const int a, const int b, const int c, __private int *out, const int step) {
  out[0] = 2 * a;
  out[step] = a + b + c;
  out[2 * step] = a - b + c;
  out[3 * step] = 2 * c;
}

RANGE_KERNEL int8_winograd_filters(__global const char *w, const long w_at, __global uint *packed, const long packed_at,
                                   __global int *sums, const long sums_at, const int batches, const int m,
                                   const int depth, const int steps, const int width, const int has_sums) {
  const long item = get_global_id(0);
  const int panels = (m + width - 1) / width, lane = (int)(item % width), step = (int)(item / width % steps);
  const long panel_of_all = item / width / steps;
  const int batch = (int)(panel_of_all / panels), filter = (int)(panel_of_all % panels) * width + lane;
  if (batch >= batches) return;
  w += w_at + ((long)batch * m + filter) * depth * 9;
  uint element[16];
  for (int i = 0; i < 16; i++) element[i] = 0;
  for (int d = 0; d < 2; d++) {
    const int channel = 2 * step + d;
    if (filter >= m || channel >= depth) continue;
    int between[4][3], done[4][4];
    for (int s = 0; s < 3; s++)
      transform(w[channel * 9 + s], w[channel * 9 + 3 + s], w[channel * 9 + 6 + s], &between[0][s], 3);
    for (int r = 0; r < 4; r++) transform(between[r][0], between[r][1], between[r][2], done[r], 1);
    for (int i = 0; i < 16; i++) element[i] |= (uint)(ushort)done[i / 4][i % 4] << 16 * d;
  }
  const int panel = (int)(panel_of_all % panels);
  packed += packed_at + (long)batch * panels * 16 * steps * width + step * width + lane;
  for (int i = 0; i < 16; i++) packed[panel_at(panel, i, panels) * steps * width] = element[i];
  if (!has_sums || step > 0 || filter >= m) return;
  int sum = 0;
  for (long i = 0; i < 9l * depth; i++) sum += w[i];
  sums[sums_at + (long)batch * m + filter] = sum;
}
