/* task/head/classes.h: one class per sample. The head computes the metrics that the task's row lists. If f1 is the
 * first metric in that list, the F1 of each class is added unless there are many; if f1 comes later, mean precision and
 * mean recall are added. top_5 needs more than five classes. */
#ifndef MICA_TASK_HEAD_CLASSES_H
#define MICA_TASK_HEAD_CLASSES_H

#include "run/common_settings.h"
#include "run/composed.h"
#include "run/fact_fields.h"

/* Name i of the setting "loss"; NULL after the last. */
const char *mica__class_loss_at(size_t i);

#define CLASS_LOSS_SETTINGS(X, S)                                                                                      \
  X(S, CHOICE, loss, "loss", "cross_entropy", "NAME",                                                                  \
    "loss to minimise, unless samples have several labels (then binary cross entropy)", .names = mica__class_loss_at,  \
    .fixed = true)                                                                                                     \
  X(S, REAL, gamma, "gamma", "2", "G",                                                                                 \
    "focal: exponent that reduces the loss of easy samples; 0: as with cross_entropy", .low = 0, .high = 100,          \
    .fixed = true, .of = "loss=focal")

#define CLASSES_FACTS(X, S)                                                                                            \
  X(S, TEXTS, classes, .needed = true)                                                                                 \
  X(S, NUMBERS, class_weights, .of = "classes", MICA__OR_ZERO)

/* Metrics for the table in a task's row. CLASSES_DETAILS are measured in tests only. */
#define CLASSES_ACCURACY                                                                                               \
  { "accuracy", false, "share of right answers", false }
#define CLASSES_F1                                                                                                     \
  { "f1", false, "harmonic mean of precision and recall, mean over classes; 1 is best", false }
#define CLASSES_DETAILS                                                                                                \
  {"precision", false, "of the samples predicted as a class, the share that is right; mean over classes", true}, {     \
    "recall", false, "of the samples of a class, the share that is found; mean over classes", true                     \
  }

extern const mica__head mica__head_classes;

#endif
