/* Losses of regions: quotients of sums over all elements of a batch. */
#include "base/arith.h"
#include "ops/collective/channels.h"
#include "ops/collective/collective.h"
#include "ops/common/build.h"

#include <mica/dist.h>
#include <mica/loss.h>
#include <mica/metric.h>

/* Returns the sums, of shape (C), over all axes except axis 1, the classes. */
static mica_value sum_classes(mica_value x) {
  const int32_t rank = mica_value_shape(x).rank;
  mica_axes axes = MICA_AXES(0);
  for (int32_t i = 2; i < rank; i++) axes.axis[axes.count++] = i;
  return mica_sum(x, axes, false);
}

/* Adds two sums per class over all ranks, if the config has ranks. */
static void join_ranks(const mica_dice_config *config, mica_value *both, mica_value *all) {
  const int64_t classes = mica_value_shape(*both).dim[0];
  if (!config->ranks || !both->graph || !all->graph) return;
  mica_value sums = mica_concat((mica_value[]){*both, *all}, 2, 0);
  mica__all_reduce(&sums, 1, config->ranks, config->channel, MICA_COMPRESSION_NONE, &sums);
  *both = mica_slice(sums, 0, 0, classes, 1);
  *all = mica_slice(sums, 0, classes, 2 * classes, 1);
}

/* Reshapes (C) to (C, 1, ...), which broadcasts along axis 1 of a tensor of this rank. */
static mica_value along_classes(mica_value values, int32_t rank) {
  for (int32_t i = 2; i < rank; i++) values = mica__insert_axis(values, 1);
  return values;
}

/* Returns the target as probabilities, which a floating target already is. With class indices, if the config ignores
 * one, its elements get zeros, and *used, (N, 1, ...), is 0 for them and 1 for all others. Otherwise *used is null. */
static mica_value shares_of(mica_value p, mica_value target, const mica_dice_config *config, mica_value *used) {
  const mica_dtype dtype = mica_value_dtype(target);
  const mica_shape shape = mica_value_shape(p);
  *used = (mica_value){0};
  if (mica_dtype_kind_of(dtype) == MICA_DTYPE_KIND_FLOAT) return mica__widen(target);
  mica_value classes = along_classes(mica_range(p.graph, dtype, shape.dim[1]), shape.rank);
  mica_value column = mica__insert_axis(target, 1);
  mica_value chosen = mica_cast(mica_equal(column, classes), mica_value_dtype(p));
  if (!config->ignore) return chosen;
  mica_value ignored = mica_scalar(p.graph, dtype, (double)config->ignored);
  *used = mica_cast(mica_not_equal(column, ignored), mica_value_dtype(p));
  return mica_mul(chosen, *used);
}

mica_value mica_dice(mica_value logits, mica_value target, const mica_dice_config *given) {
  static const mica_dice_config defaults = {0};
  const mica_dice_config *config = given ? given : &defaults;
  const double smooth = mica__or_default(config->smooth, 1);
  const mica_shape shape = mica_value_shape(logits);
  char text[MICA_SHAPE_TEXT];
  mica_value used;
  if (!logits.graph || !target.graph) return (mica_value){0};
  if (shape.rank < 2 || shape.dim[1] < 0)
    return mica__builder_fail("dice", logits, MICA_E_SHAPE,
                              "logits are %s, but must have a known number of classes along axis 1",
                              mica_shape_format(shape, text));
  if (config->ranks && config->channel != MICA__CHANNEL_DICE && /* the channel that tasks use */
      mica__channel_refused("dice", logits, config->ranks, config->channel, 1))
    return (mica_value){0};
  if (!(smooth >= 0))
    return mica__builder_fail("dice", logits, MICA_E_INVALID, "smooth is %g, but must be 0 or more", smooth);
  mica_value p = mica_softmax(mica__widen(logits), 1), t = shares_of(p, target, config, &used);
  if (used.graph) p = mica_mul(p, used);
  mica_value both = sum_classes(mica_mul(p, t)), all = mica_add(sum_classes(p), sum_classes(t));
  join_ranks(config, &both, &all);
  mica_value losses = mica_affine(mica_div(mica_affine(both, 2, smooth), mica_affine(all, 1, smooth)), -1, 1);
  if (!config->weights.graph) return mica__narrow(mica_mean(losses, MICA_ALL_AXES, false), logits);
  mica_value weights = mica__widen(config->weights);
  mica_value sum = mica_sum(mica_mul(losses, weights), MICA_ALL_AXES, false);
  return mica__narrow(mica_div(sum, mica_sum(weights, MICA_ALL_AXES, false)), logits);
}

/* Returns f32 (N, K, ...): 1 if the index is the class, else 0. */
static mica_value is_class(mica_value index, mica_value like) {
  const mica_shape shape = mica_value_shape(like);
  mica_value classes = along_classes(mica_range(like.graph, mica_value_dtype(index), shape.dim[1]), shape.rank);
  return mica_cast(mica_equal(mica__insert_axis(index, 1), classes), MICA_F32);
}

/* Counts elements for each class, as (C). *both: elements that have the class in both target and prediction. *all:
 * elements that have it in the target plus elements that have it in the prediction. Elements whose target is not a
 * class do not count. False if an operand is null, or if the logits have no axis 1, no classes or an unknown number of
 * them. */
static bool count_regions(mica_value logits, mica_value target, mica_value *both, mica_value *all) {
  if (!logits.graph || !target.graph || mica_value_shape(logits).rank < 2 || mica_value_shape(logits).dim[1] < 1)
    return false;
  mica_value meant = is_class(target, logits);
  mica_value counted = mica_sum(meant, MICA_AXES(1), true);
  mica_value said = mica_mul(is_class(mica_argmax(logits, 1, false), logits), counted);
  *both = sum_classes(mica_mul(said, meant));
  *all = mica_add(sum_classes(said), sum_classes(meant));
  return true;
}

mica_metric mica_metric_dice(const char *name, mica_value logits, mica_value target, const char *const *parts) {
  mica_metric metric = {.name = name, .parts = parts};
  mica_value both;
  if (!count_regions(logits, target, &both, &metric.weight)) return metric;
  metric.sum = mica_affine(both, 2, 0);
  return metric;
}

mica_metric mica_metric_iou(const char *name, mica_value logits, mica_value target, const char *const *parts) {
  mica_metric metric = {.name = name, .parts = parts};
  mica_value all;
  if (count_regions(logits, target, &metric.sum, &all)) metric.weight = mica_sub(all, metric.sum);
  return metric;
}
