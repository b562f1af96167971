/* train/distance.h: how far a network's answers are from another one's. */
#ifndef MICA_TRAIN_DISTANCE_H
#define MICA_TRAIN_DISTANCE_H

#include <mica/train.h>

/* The distance of the kind's comment in mica/train.h, a scalar: sum(weight d) / count. Weight and count are the
 * teacher's where it gives one, else the student's; shapes and kinds of both are the same. temperature T > 0. */
mica_value mica__answer_distance(const mica_answer *student, const mica_answer *teacher, double temperature);
/* Answers by logits are divided by the temperature, others are compared as they are. */
bool mica__answer_is_softened(mica_answer_kind kind);

#endif
