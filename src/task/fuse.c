/* fuse, fuse_labels and fuse_numbers: answers from several inputs of one sample. */
#include "task/input/fuse.h"
#include "task/head/classes.h"
#include "task/head/labels.h"
#include "task/head/numbers.h"

static const mica_setting defaults[] = {
    {"model", "encoder"},   {"epochs", "20"},         {"batch", "32"},    {"lr", "0.002"},
    {"optimizer", "adamw"}, {"weight-decay", "0.01"}, {"clip-norm", "1"}, {0}};

#define READS                                                                                                          \
  {"x", "numbers in the order of \"columns\": (number - \"row_mean\") / \"row_deviation\"; if the model has "          \
        "\"bases\", subtract the column's from the number first; a missing number is that of \"fills\""},              \
      {"image", "a picture: (u8 / 255 - \"picture_mean\") / \"picture_deviation\" of the channel"},                    \
      {"series", "numbers of the series, no more than \"series_length\"; any behind series.length"},                   \
      {"series.length", "how many of them count, from the left"},                                                      \
      {"sound", "a recording, numbers from -1 to 1 at \"rate\" samples a second: its middle is heard"}, TOKENS_DOCS

/* --- fuse --- */

#define CLASS_SETTINGS(X, S)                                                                                           \
  FUSE_SETTINGS(X, S)                                                                                                  \
  MICA__SMOOTHING_SETTINGS(X, S, "0")                                                                                  \
  MICA__CLASS_WEIGHT_SETTINGS(X, S)
#define CLASS_FACTS(X, S) CLASSES_FACTS(X, S) FUSE_FACTS(X, S)
MICA__TASK_FIELDS(fuse_classes, CLASS_SETTINGS, CLASS_FACTS, 0);

static const mica_task_metric class_metrics[] = {CLASSES_ACCURACY, CLASSES_F1, CLASSES_DETAILS, {0}};
static const mica_onnx_text class_docs[] = {READS, {"shares", "the probability of each of the \"classes\""}, {0}};

const mica__task_row mica__task_fuse = {
    .name = "fuse",
    .text = "the class of a row of a table that has numbers, a text, a picture or a recording",
    MICA__COMPOSED(fuse, classes),
    .checks = mica__fuse_checks,
    .classes = true,
    .metrics = class_metrics,
    MICA__TASK_LISTS(fuse_classes),
    .defaults = defaults,
    .least_steps = 600,
    .export_docs = class_docs,
};

/* --- fuse_labels --- */

#define LABEL_FACTS(X, S) LABELS_FACTS(X, S) FUSE_FACTS(X, S)
MICA__TASK_FIELDS(fuse_labels, FUSE_SETTINGS, LABEL_FACTS, 0);

static const mica_task_metric labels_metrics[] = LABELS_METRICS;
static const char *const labels_stand_for[] = {"fuse", NULL};
static const mica_onnx_text labels_docs[] = {
    READS, {"shares", "the probability that each of the \"classes\" is there"}, {0}};

const mica__task_row mica__task_fuse_labels = {
    .name = "fuse_labels",
    .text = "several labels of such a row, each there or not",
    .stands_for = labels_stand_for,
    MICA__COMPOSED(fuse, labels),
    .checks = mica__fuse_checks,
    .metrics = labels_metrics,
    MICA__TASK_LISTS(fuse_labels),
    .defaults = defaults,
    .least_steps = 600,
    .export_docs = labels_docs,
};

/* --- fuse_numbers --- */

#define NUMBER_SETTINGS(X, S) FUSE_SETTINGS(X, S) NUMBERS_SETTINGS(X, S)
#define NUMBER_FACTS(X, S) NUMBERS_FACTS(X, S) FUSE_FACTS(X, S)
MICA__TASK_FIELDS(fuse_numbers, NUMBER_SETTINGS, NUMBER_FACTS, 0);

static const mica_task_metric numbers_metrics[] = NUMBERS_METRICS;
static const char *const numbers_stand_for[] = {"fuse", NULL};
static const mica_onnx_text numbers_docs[] = {READS, {"value", "the number, or several, in the table's units"}, {0}};

const mica__task_row mica__task_fuse_numbers = {
    .name = "fuse_numbers",
    .text = "a number for each such row, or several numbers",
    .stands_for = numbers_stand_for,
    MICA__COMPOSED(fuse, numbers),
    .checks = mica__fuse_checks,
    .metrics = numbers_metrics,
    MICA__TASK_LISTS(fuse_numbers),
    .defaults = defaults,
    .least_steps = 600,
    .export_docs = numbers_docs,
};
