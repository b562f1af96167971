/* task/input/graph.h: samples that are graphs or parts of one. A column of the table says which:
 *
 *   smiles           a molecule per sample
 *   node             a node per sample; the graph is edges.csv and nodes.csv in the folder of the table
 *   node, other      two nodes per sample
 *   graph            one of the graphs in edges.csv and nodes.csv per sample */
#ifndef MICA_TASK_INPUT_GRAPH_H
#define MICA_TASK_INPUT_GRAPH_H

#include "run/composed.h"
#include "run/fact_fields.h"
#include "run/setting_fields.h"

#define GRAPH_SETTINGS(X, S)                                                                                           \
  X(S, INT, layers, "layers", "2", "N", "message-passing layers", .low = 1, .high = 100, .fixed = true,                \
    .structure = true)                                                                                                 \
  X(S, INT, width, "width", "64", "N", "features per vertex", .low = 1, .high = 1 << 16, .fixed = true,                \
    .structure = true)                                                                                                 \
  X(S, INT, heads, "heads", "4", "N", "gat: attention heads", .low = 1, .high = 1024, .of = "model=gat",               \
    .fixed = true, .structure = true)                                                                                  \
  X(S, FLAG, directed, "directed", "false", "", "send messages along edges from source to target only", .fixed = true) \
  X(S, REAL, dropout, "dropout", "0.1", "P", "dropout after layers", .low = 0, .high = 0.95, .fixed = true)
MICA__SETTINGS_STRUCT(graph, GRAPH_SETTINGS);

#define GRAPH_FACTS(X, S)                                                                                              \
  X(S, TEXT, sample_column, .needed = true)                                                                            \
  X(S, TEXT, label_column, .needed = true)                                                                             \
  X(S, NUMBER, features, .needed = true, .most = MICA__LARGEST_ROW)
MICA__FACTS_STRUCT(graph, GRAPH_FACTS);

extern const mica__input mica__input_graph;
mica__graph_settings mica__graph_settings_of(const mica_run *run);
mica__graph_facts mica__graph_facts_of(const mica_run *run);

/* mica__task_row.closes: frees the graph of nodes. */
void mica__graph_close(mica_run *run);
/* mica__input.views.derive (task/input/graph_columns.c). */
mica_status mica__graph_derive(mica_run *run, mica_part part, const mica_dataset *data, const mica_dataset **out);
/* Functions that mica__input_graph points to (in graph_show.c). */
mica_status mica__graph_visit(mica_run *run, const mica_run_input *given, mica__sample_fn *fn, void *user);
mica_status mica__graph_look(mica_run *run, const mica_dataset *data, mica__sample_fn *fn, void *user);
mica_status mica__graph_show(mica_run *run, mica_report *report, const mica_dataset *data, uint64_t sample,
                             const char *caption);

#endif
