/* experts/order.cl: which rows each expert computes.
 *
 * ids are `pairs` indices of experts. order has
 *
 *   starts   experts + 2 ints: the rows of expert e are list[starts[e]] to list[starts[e + 1] - 1]; expert number
 *            `experts` stands for ids outside
 *   list     the indices of ids by expert, each expert's in rising order
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
