/* experts/order.cl: sorts pairs by expert. ids[p] is the expert of pair p, for `pairs` pairs. The result, `order`, has
 *
 *   starts   experts + 2 ints. The pairs of expert e are list[starts[e]] .. list[starts[e + 1] - 1]. Pairs whose id is
 *            out of range belong to expert number `experts`
 *   list     `pairs` ints: the pairs sorted by expert; pairs of the same expert are in ascending order
 *
 *   I_T   type of ids
 *
 * One dimension of experts + 1 work-items. */
#include "common/group.clh"
#include "index/index.clh"

RANGE_KERNEL expert_order(__global const STORAGE(I_T) * ids, const long ids_at, __global int *order,
                          const long order_at, const int pairs, const int experts) {
  const int e = get_global_id(0);
  if (e > experts) return;
  int before = 0;
  for (int i = 0; i < pairs; i++) before += INDEX(I_T, ids, ids_at + i, experts) < e;
  order += order_at;
  order[e] = before;
  if (e == experts) order[e + 1] = pairs;
  __global int *list = order + experts + 2;
  for (int i = 0; i < pairs; i++)
    if (INDEX(I_T, ids, ids_at + i, experts) == e) list[before++] = i;
}
