/* keyword, sound_labels and sound_numbers: classes, labels or numbers of a recording. */
#include "task/head/classes.h"
#include "task/head/labels.h"
#include "task/head/numbers.h"
#include "task/input/sound.h"

/* These defaults were found by experiments on spoken digits. Training with them took 3 minutes on two shared cores
 * (2026-11-25). */
static const mica_setting defaults[] = {{"model", "dscnn"}, {"epochs", "20"},       {"batch", "32"},
                                        {"lr", "0.004"},    {"optimizer", "adamw"}, {"weight-decay", "0.02"},
                                        {"warm-up", "100"}, {"schedule", "cosine"}, {0}};

static const char heard[] =
    "a recording, numbers from -1 to 1 at \"rate\" samples a second, of any length: its middle is heard";

/* --- keyword --- */

#define KEYWORD_SETTINGS(X, S) SOUND_SETTINGS(X, S) MICA__SMOOTHING_SETTINGS(X, S, "0.05")
#define KEYWORD_FACTS(X, S) CLASSES_FACTS(X, S) SOUND_FACTS(X, S)
MICA__TASK_FIELDS(keyword, KEYWORD_SETTINGS, KEYWORD_FACTS, 2);

static const mica_task_metric keyword_metrics[] = {CLASSES_ACCURACY, {0}};
static const mica_onnx_text keyword_docs[] = {
    {"sound", heard}, {"shares", "the probability of each of the \"classes\""}, {0}};

const mica__task_row mica__task_keyword = {
    .name = "keyword",
    .text = "which word a short recording says",
    MICA__COMPOSED(sound, classes),
    .metrics = keyword_metrics,
    MICA__TASK_LISTS(keyword),
    .defaults = defaults,
    .least_steps = 1200,
    .export_docs = keyword_docs,
};

/* --- sound_labels --- */

#define SOUND_LABELS_FACTS(X, S) LABELS_FACTS(X, S) SOUND_FACTS(X, S)
MICA__TASK_FIELDS(sound_labels, SOUND_SETTINGS, SOUND_LABELS_FACTS, 2);

static const mica_task_metric labels_metrics[] = LABELS_METRICS;
static const char *const labels_stand_for[] = {"keyword", "classify", NULL};
static const mica_onnx_text labels_docs[] = {
    {"sound", heard}, {"shares", "the probability that each of the \"classes\" is there"}, {0}};

const mica__task_row mica__task_sound_labels = {
    .name = "sound_labels",
    .text = "several labels of a recording, each there or not",
    .stands_for = labels_stand_for,
    MICA__COMPOSED(sound, labels),
    .metrics = labels_metrics,
    MICA__TASK_LISTS(sound_labels),
    .defaults = defaults,
    .least_steps = 1200,
    .export_docs = labels_docs,
};

/* --- sound_numbers --- */

#define SOUND_NUMBERS_SETTINGS(X, S) SOUND_SETTINGS(X, S) NUMBERS_SETTINGS(X, S)
#define SOUND_NUMBERS_FACTS(X, S) NUMBERS_FACTS(X, S) SOUND_FACTS(X, S)
MICA__TASK_FIELDS(sound_numbers, SOUND_NUMBERS_SETTINGS, SOUND_NUMBERS_FACTS, 2);

static const mica_task_metric numbers_metrics[] = NUMBERS_METRICS;
static const char *const numbers_stand_for[] = {"regress", NULL};
static const mica_onnx_text numbers_docs[] = {
    {"sound", heard}, {"value", "the number, or several, in the table's units"}, {0}};

const mica__task_row mica__task_sound_numbers = {
    .name = "sound_numbers",
    .text = "a number for each recording, or several numbers",
    .stands_for = numbers_stand_for,
    MICA__COMPOSED(sound, numbers),
    .metrics = numbers_metrics,
    MICA__TASK_LISTS(sound_numbers),
    .defaults = defaults,
    .least_steps = 1200,
    .export_docs = numbers_docs,
};
