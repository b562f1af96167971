/* text, text_labels and text_numbers: classes, labels or numbers of a text. */
#include "task/head/classes.h"
#include "task/head/labels.h"
#include "task/head/numbers.h"
#include "task/input/tokens.h"

/* These defaults were found by experiments on phone messages (spam or not). */
static const mica_setting defaults[] = {
    {"model", "encoder"},   {"epochs", "5"},          {"batch", "32"},    {"lr", "0.003"},
    {"optimizer", "adamw"}, {"weight-decay", "0.01"}, {"clip-norm", "1"}, {0}};

/* --- text --- */

#define TEXT_SETTINGS(X, S)                                                                                            \
  TOKENS_SETTINGS(X, S)                                                                                                \
  MICA__SMOOTHING_SETTINGS(X, S, "0")                                                                                  \
  MICA__CLASS_WEIGHT_SETTINGS(X, S)
#define TEXT_FACTS(X, S) CLASSES_FACTS(X, S) TOKENS_FACTS(X, S)
MICA__TASK_FIELDS(text, TEXT_SETTINGS, TEXT_FACTS, 0);

static const mica_task_metric text_metrics[] = {CLASSES_F1, CLASSES_ACCURACY, {0}};
static const mica_onnx_text text_docs[] = {TOKENS_DOCS, {"shares", "the probability of each of the \"classes\""}, {0}};

const mica__task_row mica__task_text = {
    .name = "text",
    .text = "the class of a text, of a column of texts in a table",
    MICA__COMPOSED(tokens, classes),
    .metrics = text_metrics,
    MICA__TASK_LISTS(text),
    .defaults = defaults,
    .least_steps = 300,
    .export_docs = text_docs,
};

/* --- text_labels --- */

#define TEXT_LABELS_FACTS(X, S) LABELS_FACTS(X, S) TOKENS_FACTS(X, S)
MICA__TASK_FIELDS(text_labels, TOKENS_SETTINGS, TEXT_LABELS_FACTS, 0);

static const mica_task_metric labels_metrics[] = LABELS_METRICS;
static const char *const labels_stand_for[] = {"text", "classify", NULL};
static const mica_onnx_text labels_docs[] = {
    TOKENS_DOCS, {"shares", "the probability that each of the \"classes\" is there"}, {0}};

const mica__task_row mica__task_text_labels = {
    .name = "text_labels",
    .text = "several labels of a text, each there or not",
    .stands_for = labels_stand_for,
    MICA__COMPOSED(tokens, labels),
    .metrics = labels_metrics,
    MICA__TASK_LISTS(text_labels),
    .defaults = defaults,
    .least_steps = 300,
    .export_docs = labels_docs,
};

/* --- text_numbers --- */

#define TEXT_NUMBERS_SETTINGS(X, S) TOKENS_SETTINGS(X, S) NUMBERS_SETTINGS(X, S)
#define TEXT_NUMBERS_FACTS(X, S) NUMBERS_FACTS(X, S) TOKENS_FACTS(X, S)
MICA__TASK_FIELDS(text_numbers, TEXT_NUMBERS_SETTINGS, TEXT_NUMBERS_FACTS, 0);

static const mica_task_metric numbers_metrics[] = NUMBERS_METRICS;
static const char *const numbers_stand_for[] = {"regress", NULL};
static const mica_onnx_text numbers_docs[] = {
    TOKENS_DOCS, {"value", "the number, or several, in the table's units"}, {0}};

const mica__task_row mica__task_text_numbers = {
    .name = "text_numbers",
    .text = "a number for each text, or several numbers",
    .stands_for = numbers_stand_for,
    MICA__COMPOSED(tokens, numbers),
    .metrics = numbers_metrics,
    MICA__TASK_LISTS(text_numbers),
    .defaults = defaults,
    .least_steps = 300,
    .export_docs = numbers_docs,
};
