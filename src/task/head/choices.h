/* task/head/choices.h: one class per sample, or several labels if the data have several (the stored value
 * "several"). */
#ifndef MICA_TASK_HEAD_CHOICES_H
#define MICA_TASK_HEAD_CHOICES_H

#include "task/head/classes.h"

#define CHOICES_FACTS(X, S)                                                                                            \
  CLASSES_FACTS(X, S)                                                                                                  \
  X(S, NUMBER, several, MICA__OR_ZERO, .most = 1)

extern const mica__head mica__head_choices;

#endif
