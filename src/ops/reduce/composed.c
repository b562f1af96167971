/* Reductions that are composed of others. */
#include "ops/common/build.h"

mica_value mica_l1(mica_value x, mica_axes axes, bool keep) { return mica_sum(mica_abs(x), axes, keep); }

mica_value mica_sum_square(mica_value x, mica_axes axes, bool keep) { return mica_sum(mica_square(x), axes, keep); }

mica_value mica_l2(mica_value x, mica_axes axes, bool keep) {
  return mica__narrow(mica_sqrt(mica_sum_square(mica__widen(x), axes, keep)), x);
}

mica_value mica_logsum(mica_value x, mica_axes axes, bool keep) {
  return mica__narrow(mica_log(mica_sum(mica__widen(x), axes, keep)), x);
}
