/* Batch norm by the statistics of all ranks' samples: means are sums over ranks divided by counts over ranks. A second
 * sum, of squares about the common mean, follows the first, because a difference of sums of squares would cancel. */
#include "ops/collective/collective.h"
#include "ops/common/build.h"
#include "ops/layout/views.h"
#include "ops/norm/norm.h"

#include <mica/nodes.h>

/* Returns the sums of x over all axes but 1 and over all ranks, (C). If `count` is not null, its sum over ranks follows
 * as a last element: (C + 1). */
static mica_value sum_of_all(mica_value x, mica_axes axes, mica_value count, const mica_communicator *communicator,
                             int32_t channel) {
  mica_value own = mica_sum(x, axes, false);
  if (count.graph) own = mica_concat((mica_value[]){own, mica_reshape(count, MICA_SHAPE(1))}, 2, 0);
  mica__all_reduce(&own, 1, communicator, channel, MICA_COMPRESSION_NONE, &own);
  return own;
}

mica_value mica__batch_norm_ranks(mica_value x, mica_value scale, mica_value bias, double epsilon,
                                  const mica_communicator *communicator, int32_t channel,
                                  mica_batch_statistics *statistics) {
  mica_value wide = mica__widen(x);
  const mica_shape shape = mica_value_shape(x);
  if (statistics) *statistics = (mica_batch_statistics){.count = {0}};
  if (!mica__epsilon_is_right("batch_norm", x, epsilon)) return (mica_value){0};
  if (!mica__has_channels("batch_norm", x, (mica_value[]){scale, bias}, 2)) return (mica_value){0};
  if (shape.dim[1] == MICA_DYNAMIC)
    return mica__builder_fail("batch_norm", x, MICA_E_SHAPE,
                              "axis 1 is open, but with several ranks the number of channels must be known");
  mica_axes axes = {.count = shape.rank - 1};
  for (int32_t k = 1; k < axes.count; k++) axes.axis[k] = k + 1;
  mica_value sums = sum_of_all(wide, axes, mica__count_along(wide, axes), communicator, channel);
  mica_value count = mica_slice(sums, 0, shape.dim[1], shape.dim[1] + 1, 1);
  mica_value mean = mica_div(mica_slice(sums, 0, 0, shape.dim[1], 1), count);
  mica_value centred = mica_sub(wide, mica__along_channels(mean, x));
  mica_value variance =
      mica_div(sum_of_all(mica_square(centred), axes, (mica_value){0}, communicator, channel + 1), count);
  mica_value factor = mica_rsqrt(mica_affine(variance, 1, epsilon));
  if (statistics) *statistics = (mica_batch_statistics){mean, variance, mica_reshape(count, MICA_SCALAR)};
  mica_value y = mica_mul(centred, mica__along_channels(factor, x));
  return mica__scaled(y, x, mica__along_channels(scale, x), mica__along_channels(bias, x));
}

mica_value mica_batch_norm_ranks(mica_value x, mica_value scale, mica_value bias, double epsilon,
                                 mica_communicator *communicator, int32_t channel, mica_batch_statistics *statistics) {
  if (statistics) *statistics = (mica_batch_statistics){.count = {0}};
  if (mica__channel_refused("batch_norm", x, communicator, channel, 2)) return (mica_value){0};
  return mica__batch_norm_ranks(x, scale, bias, epsilon, communicator, channel, statistics);
}
