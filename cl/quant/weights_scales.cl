/* quant/weights_scales.cl: copies scales or zero points of weights to the panels that weights.cl reads.
 *
 *   panels [panel][group][lane] = parts[j step_j + group step_g] + lift, j = 16 panel + lane
 *
 * Columns beyond n repeat the last. One dimension of ceil(n / 16) * groups * 16 work-items. */
#include "common/group.clh"

#define WIDTH 16

RANGE_KERNEL weights_scales(__global const float *parts, const long parts_at, __global float *panels,
                            const long panels_at, const int n, const int groups, const int step_j, const int step_g,
                            const float lift) {
  const long item = get_global_id(0);
  const int g = (int)(item / WIDTH % groups);
  const long j = item / WIDTH / groups * WIDTH + item % WIDTH;
  if (j >= (n + WIDTH - 1) / WIDTH * WIDTH) return;
  panels[panels_at + item] = parts[parts_at + min(j, (long)n - 1) * step_j + (long)g * step_g] + lift;
}
