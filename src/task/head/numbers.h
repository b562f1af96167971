/* task/head/numbers.h: one number per sample, or several. Targets are standardised internally; errors are in the user's
 * units. */
#ifndef MICA_TASK_HEAD_NUMBERS_H
#define MICA_TASK_HEAD_NUMBERS_H

#include "run/composed.h"
#include "run/fact_fields.h"
#include "run/setting_fields.h"

#include <math.h>

/* Name i of the setting "loss"; NULL after the last. */
const char *mica__numbers_loss_at(size_t i);

#define NUMBERS_SETTINGS(X, S)                                                                                         \
  X(S, CHOICE, loss, "loss", "mse", "NAME",                                                                            \
    "loss of the standardised targets to minimise; cosine needs several targets", .names = mica__numbers_loss_at,      \
    .fixed = true)                                                                                                     \
  X(S, REAL, delta, "delta", "1", "D",                                                                                 \
    "huber: error above which the loss is linear, in standard deviations of the target", .low = 1e-6, .high = 1e6,     \
    .fixed = true, .of = "loss=huber")                                                                                 \
  X(S, REAL, quantile, "quantile", "0.5", "Q",                                                                         \
    "quantile: share of targets that should lie below the prediction, as in 0.9", .low = 0.001, .high = 0.999,         \
    .fixed = true, .of = "loss=quantile")

/* Mean and standard deviation of each number in the training data, and the numbers' names if there are several. */
#define NUMBERS_FACTS(X, S)                                                                                            \
  X(S, NUMBERS, target_mean, .needed = true, MICA__ANY_SIGN)                                                           \
  X(S, NUMBERS, target_deviation, .needed = true, .of = "target_mean")                                                 \
  X(S, TEXTS, answers, .of = "target_mean")

/* The metrics of a task with this head: an initialiser for the member of its mica__task_row. */
#define NUMBERS_METRICS                                                                                                \
  {                                                                                                                    \
    {"rmse", true, "root of the mean squared error, in the units of the answers", false},                              \
        {"mae", true, "mean absolute error, in the units of the answers", false},                                      \
        {"r2", false, "share of the variance that is explained; 1 is best, 0 is the mean's", false}, {                 \
      0                                                                                                                \
    }                                                                                                                  \
  }

extern const mica__head mica__head_numbers;

#endif
