/* blocks/after_rows.cl: RMS norm of each row and an addition:
 *
 *   y = t / sqrt(mean of t^2 + epsilon) * scale + addend
 *
 * blocks/cpu/after.cl fuses this with the product that gives t. This kernel does it in a launch of its own, for devices
 * on which a work-group may not see what other groups of the same launch have written.
 *
 * t, addend and y are (m, n), scale is (n); n is a multiple of VW.
 *
 *   VW   elements that a work-item reads at a time
 *
 * One dimension of m work-items, one per row. */
#define ACC_T f32
#include "common/dtype.clh"
#include "common/group.clh"
#include "common/mac.clh"

typedef MICA_PASTE(float, VW) floats;

RANGE_KERNEL block_after_rows(__global const float *t, const long t_at, __global const float *scale,
                              const long scale_at, __global const float *addend, const long addend_at,
                              __global float *y, const long y_at, const int m, const int n, const float epsilon) {
  const int row = get_global_id(0);
  if (row >= m) return;
  t += t_at + (long)row * n;
  addend += addend_at + (long)row * n;
  y += y_at + (long)row * n;
  scale += scale_at;
  floats sums = 0;
  float each[VW], squares = 0;
  for (int c = 0; c < n; c += VW) {
    const floats v = MICA_VLOAD(VW, t + c, 0);
    sums = MAC(v, v, sums);
  }
  MICA_VSTORE(VW, sums, each, 0);
  for (int l = 0; l < VW; l++) squares += each[l];
  const float factor = 1.0f / sqrt(squares / n + epsilon);
  for (int c = 0; c < n; c += VW) {
    const floats v = MICA_VLOAD(VW, t + c, 0) * factor * MICA_VLOAD(VW, scale + c, 0);
    MICA_VSTORE(VW, v + MICA_VLOAD(VW, addend + c, 0), y + c, 0);
  }
}
