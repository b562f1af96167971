#include "train/distance.h"

#include <mica/loss.h>
#include <mica/nodes.h>

/* The least divisor, so that a batch whose weights are all 0 has distance 0. */
#define LEAST_COUNT 1e-6

static mica_value over(mica_value x, double temperature) { return mica_affine(x, 1 / temperature, 0); }

static mica_value distance_of_classes(mica_value q, mica_value p, double temperature) {
  mica_value log_q = mica_log_softmax(over(q, temperature), 1), share = mica_softmax(over(p, temperature), 1);
  return mica_sum(mica_kl_divergence(log_q, share, MICA_LOSS_REDUCTION_NONE), MICA_AXES(1), false);
}

static mica_value cross_entropy(mica_value logits, mica_value share) {
  return mica_bce_with_logits(logits, share, 1, MICA_LOSS_REDUCTION_NONE);
}

/* KL divergence of labels, which are independent yes/no answers: the cross entropy minus the entropy of p. If `rare`,
 * each label is weighted by the square of the difference of its probabilities. */
static mica_value distance_of_labels(mica_value q, mica_value p, double temperature, bool rare) {
  mica_value z = over(q, temperature), y = over(p, temperature), share = mica_sigmoid(y);
  mica_value each = mica_sub(cross_entropy(z, share), cross_entropy(y, share));
  return rare ? mica_mul(each, mica_square(mica_sub(mica_sigmoid(z), share))) : each;
}

/* The distance d of each element, without the factor T^2. */
static mica_value each_distance(mica_answer_kind kind, mica_value q, mica_value p, double temperature) {
  switch (kind) {
  case MICA_ANSWER_KIND_CLASSES: return distance_of_classes(q, p, temperature);
  case MICA_ANSWER_KIND_LABELS: return distance_of_labels(q, p, temperature, false);
  case MICA_ANSWER_KIND_RARE_LABELS: return distance_of_labels(q, p, temperature, true);
  case MICA_ANSWER_KIND_BOXES: return mica_affine(mica_giou(q, p), -1, 1);
  default: return mica_square(mica_sub(q, p));
  }
}

static mica_value total(mica_value x) { return mica_sum(x, MICA_ALL_AXES, false); }

mica_value mica__answer_distance(const mica_answer *student, const mica_answer *teacher, double temperature) {
  const double factor = mica__answer_is_softened(student->kind) ? temperature * temperature : 1;
  const mica_value weight = teacher->weight.graph ? teacher->weight : student->weight;
  mica_value count = teacher->count.graph ? teacher->count : student->count;
  mica_value each = each_distance(student->kind, student->value, teacher->value, temperature);
  if (!weight.graph && !count.graph) return mica_affine(mica_mean(each, MICA_ALL_AXES, false), factor, 0);
  if (!count.graph) count = total(weight);
  mica_value sum = total(weight.graph ? mica_mul(each, weight) : each);
  return mica_affine(mica_div(sum, mica_maximum(count, mica_full_like(count, LEAST_COUNT))), factor, 0);
}
