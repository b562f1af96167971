/* experts/weights_grad.cl: the gradient of experts/cpu/row.cl with respect to the weights:
 *
 *   dw[e][j][i] = sum over p with ids[p] = e of dy[p][j] x[p / share][i], in the order of p
 *
 * x is (rows, k) f32, dy (pairs, n) f32, dw (experts, n, k) f32. dw is 0 for experts that are not in ids. `order` is
 * the result of experts/order.cl.
 *
 *   VK   columns per work-item
 *
 * One dimension of experts n ceil(k / VK) work-items. */
#include "common/dtype.clh"
#include "common/group.clh"

RANGE_KERNEL expert_weights_grad(__global const float *x, const long x_at, __global const float *dy, const long dy_at,
                                 __global const int *order, const long order_at, __global float *dw, const long dw_at,
                                 const int experts, const int n, const int k, const int share) {
  const int strips = (k + VK - 1) / VK, i = get_global_id(0) % strips * VK, lanes = min(VK, k - i);
  const long row = get_global_id(0) / strips;
  const int e = row / n, j = row % n;
  if (e >= experts) return;
  order += order_at;
  __global const int *list = order + experts + 2;
  float each[VK] = {0};
  for (int at = order[e]; at < order[e + 1]; at++) {
    const int pair = list[at];
    const float factor = dy[dy_at + (long)pair * n + j];
    __global const float *from = x + (x_at + (long)(pair / share) * k + i);
    for (int l = 0; l < lanes; l++) each[l] += factor * from[l];
  }
  for (int l = 0; l < lanes; l++) dw[dw_at + row * k + i + l] = each[l];
}
