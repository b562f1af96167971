/* graph and graph_numbers: the class or number of a molecule, a node, or a pair of nodes. */
#include "task/input/graph.h"
#include "task/head/classes.h"
#include "task/head/numbers.h"

static const mica_setting defaults[] = {{"model", "gcn"},
                                        {"epochs", "60"},
                                        {"batch", "64"},
                                        {"lr", "0.003"},
                                        {"optimizer", "adamw"},
                                        {"weight-decay", "0.01"},
                                        {0}};

/* --- graph --- */

#define CLASS_SETTINGS(X, S)                                                                                           \
  GRAPH_SETTINGS(X, S)                                                                                                 \
  MICA__SMOOTHING_SETTINGS(X, S, "0")                                                                                  \
  MICA__CLASS_WEIGHT_SETTINGS(X, S)
#define CLASS_FACTS(X, S) CLASSES_FACTS(X, S) GRAPH_FACTS(X, S)
MICA__TASK_FIELDS(graph_classes, CLASS_SETTINGS, CLASS_FACTS, 0);

static const mica_task_metric class_metrics[] = {CLASSES_ACCURACY, CLASSES_F1, CLASSES_DETAILS, {0}};

const mica__task_row mica__task_graph = {
    .name = "graph",
    .text = "the class of a molecule, of a graph, of a node in a graph, or of a pair of nodes",
    MICA__COMPOSED(graph, classes),
    .closes = mica__graph_close,
    .classes = true,
    .metrics = class_metrics,
    MICA__TASK_LISTS(graph_classes),
    .defaults = defaults,
    .least_steps = 600,
};

/* --- graph_numbers --- */

#define NUMBER_SETTINGS(X, S) GRAPH_SETTINGS(X, S) NUMBERS_SETTINGS(X, S)
#define NUMBER_FACTS(X, S) NUMBERS_FACTS(X, S) GRAPH_FACTS(X, S)
MICA__TASK_FIELDS(graph_numbers, NUMBER_SETTINGS, NUMBER_FACTS, 0);

static const mica_task_metric number_metrics[] = NUMBERS_METRICS;
static const char *const stands_for[] = {"graph", "regress", NULL};

const mica__task_row mica__task_graph_numbers = {
    .name = "graph_numbers",
    .text = "a number, or several, for each molecule, graph, node or pair of nodes",
    .stands_for = stands_for,
    MICA__COMPOSED(graph, numbers),
    .closes = mica__graph_close,
    .metrics = number_metrics,
    MICA__TASK_LISTS(graph_numbers),
    .defaults = defaults,
    .least_steps = 600,
};
