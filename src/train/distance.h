/* train/distance.h: the distance between the network's outputs and a teacher's. */
#ifndef MICA_TRAIN_DISTANCE_H
#define MICA_TRAIN_DISTANCE_H

#include "base/shared.h"

#include <mica/train.h>

/* The distance defined in mica/train.h, a scalar: sum(weight d) / count. weight and count are the teacher's if it
 * has them, else the student's. A missing weight is 1; a missing count is the sum of the weights, or the number of
 * elements. Shapes and kinds must be equal. temperature T > 0. */
MICA__SHARED mica_value mica__answer_distance(const mica_answer *student, const mica_answer *teacher,
                                              double temperature);
/* True for answers that are logits; these are divided by the temperature. */
static inline bool mica__answer_is_softened(mica_answer_kind kind) {
  return kind != MICA_ANSWER_KIND_NUMBERS && kind != MICA_ANSWER_KIND_BOXES;
}

#endif
