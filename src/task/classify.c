/* classify: which class a sample belongs to, or which of several. */
#include "task/head/choices.h"
#include "task/input/sample.h"

#define CLASSIFY_SETTINGS(X, S)                                                                                        \
  CLASS_LOSS_SETTINGS(X, S)                                                                                            \
  MICA__SMOOTHING_SETTINGS(X, S, "0")                                                                                  \
  X(S, INT, width, "width", "0", "N", "units of mlp, first filters of cnn and convnet; 0: 128 and 32", .low = 0,       \
    .high = 4096, .fixed = true, .of = "model=mlp|cnn|convnet")                                                        \
  X(S, TEXT, size, "size", "", "PIXELS",                                                                               \
    "N or HxW: scale and crop pictures in folders to this size (default: the size of most, else the median)",          \
    .fixed = true)                                                                                                     \
  MICA__CLASS_WEIGHT_SETTINGS(X, S)
MICA__SETTINGS_STRUCT(classify, CLASSIFY_SETTINGS);
static MICA__SETTINGS_TABLE(classify, CLASSIFY_SETTINGS);
MICA__FACTS_STRUCT(classify, CHOICES_FACTS);
static MICA__FACTS_TABLE(classify, CHOICES_FACTS, 0);

static const mica_task_metric metrics[] = {{"accuracy", false}, {"f1", false}, {"top_5", false}, {NULL, false}};

const mica__task_row mica__task_classify = {
    .name = "classify",
    .classes = true,
    .text = "the class of a picture or a row of a table, or several classes of it",
    MICA__COMPOSED(sample, choices),
    .metrics = metrics,
    .facts = &mica__classify_fact_list,
    .settings = &mica__classify_setting_list,
    .least_steps = 300,
};
