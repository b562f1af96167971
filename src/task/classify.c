/* classify: the class of a sample, or several labels. */
#include "task/head/choices.h"
#include "task/input/sample.h"

#define CLASSIFY_SETTINGS(X, S)                                                                                        \
  CLASS_LOSS_SETTINGS(X, S)                                                                                            \
  MICA__SMOOTHING_SETTINGS(X, S, "0")                                                                                  \
  X(S, INT, width, "width", "0", "N",                                                                                  \
    "units per layer of mlp, or filters of the first layer of cnn and convnet; 0: 128 for mlp, else 32", .low = 0,     \
    .high = 4096, .fixed = true, .of = "model=mlp|cnn|convnet", .structure = true)                                     \
  X(S, TEXT, size, "size", "", "PIXELS",                                                                               \
    "scale and crop pictures in folders to N x N or H x W pixels, as in 64 or 48x64 (default: the size of most "       \
    "pictures, else the median size)",                                                                                 \
    .fixed = true)                                                                                                     \
  SAMPLE_SETTINGS(X, S)                                                                                                \
  MICA__CLASS_WEIGHT_SETTINGS(X, S)
MICA__TASK_FIELDS(classify, CLASSIFY_SETTINGS, CHOICES_FACTS, 0);

static const mica_task_metric metrics[] = {
    CLASSES_ACCURACY,
    CLASSES_F1,
    {"top_5", false, "share of samples whose class is among the five likeliest", false},
    CLASSES_DETAILS,
    {0}};

const mica__task_row mica__task_classify = {
    .name = "classify",
    .classes = true,
    .text = "the class of a picture or a row of a table, or several classes of it",
    MICA__COMPOSED(sample, choices),
    .metrics = metrics,
    MICA__TASK_LISTS(classify),
    .least_steps = 300,
};
