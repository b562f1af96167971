/* task/head/classes.h: one class per sample. A task that names the metric f1 gets the precision, recall and F1 of its
 * classes too. */
#ifndef MICA_TASK_HEAD_CLASSES_H
#define MICA_TASK_HEAD_CLASSES_H

#include "run/common_settings.h"
#include "run/composed.h"
#include "run/fact_fields.h"

#define CLASSES_FACTS(X, S)                                                                                            \
  X(S, TEXTS, classes, .needed = true)                                                                                 \
  X(S, NUMBERS, class_weights, .of = "classes", .above = -0x1p-149)

extern const mica__head mica__head_classes;

#endif
