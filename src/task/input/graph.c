/* Graphs: the column that names samples, the graph of nodes, the network. */
#include "task/input/graph.h"
#include "base/text.h"
#include "data/graph/graph.h"
#include "data/graph/smiles.h"
#include "data/source.h"
#include "nn/message.h"
#include "run/columns/columns.h"
#include "run/common_facts.h"
#include "run/common_fields.h"
#include "run/facts.h"
#include "run/fields.h"
#include "run/network.h"
#include "run/run.h"
#include "run/settings.h"
#include "run/state/parts.h"

#include <mica/nodes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

MICA__FIELDS(graph, GRAPH_SETTINGS, GRAPH_FACTS);

static const char *const networks[] = {
#define NAME(name, text) text,
    MICA__MESSAGE_LIST(NAME)
#undef NAME
        NULL};

/* The column that tells what the samples are: "other" for pairs of nodes, else the column that names them. NULL if the
 * data have no such column. */
static const char *column_of(const mica_dataset *data) {
  static const char *const names[] = {"smiles", "SMILES", "other", "node", "graph"};
  for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
    const mica_column *column = mica_dataset_column(data, mica_dataset_column_index(data, names[k]));
    if (column && column->kind == MICA_COLUMN_KIND_TEXT) return names[k];
  }
  return NULL;
}

static bool is_molecule(const mica_run *run) { return !strcasecmp(mica__graph_facts_of(run).sample_column, "smiles"); }

/* True if samples are whole graphs. */
static bool is_whole(const mica_run *run) {
  return is_molecule(run) || !strcmp(mica__graph_facts_of(run).sample_column, "graph");
}

static int32_t suits(const mica_dataset *data) {
  const char *column = column_of(data);
  return !column ? 0 : !strcasecmp(column, "smiles") ? 30 : 1;
}

/* --- preparation --- */

static mica_status check_network(const mica_run *run) {
  const mica__graph_settings s = mica__graph_settings_of(run);
  MICA_TRY(mica__task_check_network(run));
  return strcmp(mica__common_settings_of(run).model, "gat") ? MICA_OK : mica__task_share_width(s.width, s.heads, false);
}

/* Reads edges.csv and nodes.csv in the folder of the run's table, and keeps the graph in run->task_state. */
static mica_status read_graph(mica_run *run) {
  const bool normalised = !strcmp(mica__common_settings_of(run).model, "gcn");
  const char *slash = strrchr(run->data, '/');
  const bool file = !mica__is_folder(run->data);
  mica__text folder = {0};
  mica__node_graph *graph = calloc(1, sizeof *graph);
  if (!graph) return mica__fail_nomem("a graph");
  mica__graph_close(run);
  run->task_state = graph;
  mica__text_add_bytes(&folder,
                       !file   ? run->data
                       : slash ? run->data
                               : ".",
                       !file   ? strlen(run->data)
                       : slash ? (size_t)(slash - run->data) + (slash == run->data)
                               : 1);
  MICA_TRY(mica__text_status(&folder));
  const mica__node_graph_config config = {!mica__graph_settings_of(run).directed, is_whole(run),
                                          normalised ? MICA__EDGES_NORMALISED : MICA__EDGES_EQUAL};
  mica_status status = mica__node_graph_read(folder.data, &config, graph);
  mica__text_free(&folder);
  MICA_TRY(status);
  const double known = mica__graph_facts_of(run).features;
  if (known == 0 || known == (double)graph->features) return MICA_OK;
  return mica__fail(MICA_E_FORMAT, "%s: the number of features per node is %lld, but the network was trained on %g",
                    run->data, (long long)graph->features, known);
}

void mica__graph_close(mica_run *run) {
  if (run->task_state) mica__node_graph_free(run->task_state);
  free(run->task_state);
  run->task_state = NULL;
}

static mica_status prepare(mica_run *run) {
  MICA_TRY(mica__run_set_defaults(run));
  MICA_TRY(check_network(run));
  if (run->parts->whole) {
    const char *column = column_of(run->parts->whole);
    if (!column)
      return mica__fail(MICA_E_FORMAT, "%s has no column smiles, node or graph, by which the task %s finds each sample",
                        run->data, run->task->name);
    MICA_TRY(mica__run_note_text(run, "sample_column", column));
  }
  if (!is_molecule(run)) MICA_TRY(read_graph(run));
  const mica__node_graph *graph = run->task_state;
  const double features = graph ? (double)graph->features : MICA__ATOM_FEATURES;
  return mica__run_note_numbers(run, "features", &features, 1);
}

static mica_status complete(mica_run *run, const mica_column *label) { return mica__run_note_answer_name(run, label); }

static mica_status fits(const mica_run *run, const mica_dataset *data) {
  const char *name = mica__graph_facts_of(run).sample_column, *found = column_of(data);
  if (found && !strcmp(found, name)) return MICA_OK;
  return mica__fail(MICA_E_FORMAT, "%s has no column '%s', but the network was trained on it", mica_dataset_name(data),
                    name);
}

static void opens(const mica_run *run, mica_dataset_config *config) {
  const char *label = mica__common_facts_of(run).label_name;
  if (*label) config->label_column = label;
}

/* --- the network --- */

/* The inputs of layers, for a batch of graphs. */
typedef struct operands {
  mica_value x, weights;
  mica_pattern pattern;
} operands;

static operands take_batch(const mica_batch_values *batch) {
  return (operands){.x = mica_batch_value(batch, "features"),
                    .weights = mica_batch_value(batch, "weights"),
                    .pattern = {.rows = mica_batch_value(batch, "rows"),
                                .entries = mica_batch_value(batch, "entries"),
                                .columns = mica_batch_value(batch, "columns"),
                                .order = mica_batch_value(batch, "order")}};
}

/* The graph of all nodes as constants, since it is the same in each step. */
static operands take_graph(mica_graph *g, const mica__node_graph *from) {
  const mica__adjacency *a = &from->messages;
  return (operands){.x = mica_constant(g, MICA_F32, MICA_SHAPE(1, from->count, from->features), from->x),
                    .weights = mica_constant(g, MICA_F32, MICA_SHAPE(1, a->count, 1), a->weights),
                    .pattern = {.rows = mica_constant(g, MICA_I32, MICA_SHAPE(1, a->vertices, 2), a->rows),
                                .entries = mica_constant(g, MICA_I32, MICA_SHAPE(1, a->count, 2), a->entries),
                                .columns = mica_constant(g, MICA_I32, MICA_SHAPE(1, a->vertices, 2), a->columns),
                                .order = mica_constant(g, MICA_I32, MICA_SHAPE(1, a->count), a->order)}};
}

static mica__message_kind kind_of(const mica_run *run) {
  int k = 0;
  while (networks[k + 1] && strcmp(networks[k], mica__common_settings_of(run).model) != 0) k++;
  return (mica__message_kind)k;
}

/* One vector per sample: the vector of its graph or of its node or, for a pair of nodes, the product of both nodes'
 * vectors. */
static mica_value choose(const mica_run *run, const mica_batch_values *batch, mica_value h, const operands *o,
                         const mica__message_config *c) {
  if (is_whole(run)) return mica__nn_pool_vertices(h, &o->pattern, c->kind == MICA__MESSAGE_GIN);
  const mica__node_graph *graph = run->task_state;
  h = mica_reshape(h, MICA_SHAPE(graph->count, c->width));
  mica_value vertex = mica_batch_value(batch, "vertex");
  if (!strcmp(mica__graph_facts_of(run).sample_column, "node")) return mica_gather(h, vertex, 0);
  return mica_mul(mica_gather(h, vertex, 0), mica_gather(h, mica_batch_value(batch, "partner"), 0));
}

static mica_value network(mica_nn *nn, const mica_run *run, const mica_batch_values *batch, int64_t outputs) {
  const mica__graph_settings s = mica__graph_settings_of(run);
  const mica__message_config config = {kind_of(run), s.layers, s.width, s.heads, s.dropout};
  const operands o = is_whole(run) ? take_batch(batch) : take_graph(mica_nn_graph(nn), run->task_state);
  mica_value h = mica__nn_messages(nn, o.x, o.weights, &o.pattern, &config);
  h = choose(run, batch, h, &o, &config);
  return mica__run_answers(run, mica__nn_message_answers(nn, h, outputs), outputs);
}

const mica__input mica__input_graph = {
    .name = "graph",
    .traits.kinds = "smiles=text,SMILES=text,node=text,other=text,graph=text",
    .traits.own_input = true,
    .suits = suits,
    .opens = opens,
    .prepare = prepare,
    .complete = complete,
    .fits = fits,
    .views.derive = mica__graph_derive,
    .networks = networks,
    .network = network,
    .samples.visit = mica__graph_visit,
    .samples.look = mica__graph_look,
    .samples.show = mica__graph_show,
};
