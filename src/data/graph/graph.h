/* data/graph/graph.h: graphs as entries of sparse matrices (mica/sparse.h): from edges, from tables of nodes and edges,
 * and from SMILES strings. */
#ifndef MICA_DATA_GRAPH_GRAPH_H
#define MICA_DATA_GRAPH_GRAPH_H

#include "base/error.h"
#include "base/name_table.h"
#include "base/shared.h"
#include "data/table/table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Weights of the messages from a vertex's neighbours. */
typedef enum mica__edge_weights {
  MICA__EDGES_EQUAL,      /* 1 */
  MICA__EDGES_NORMALISED, /* 1 / sqrt(d_i d_j), where d_i is the number of entries in row i (Kipf and Welling 2017) */
} mica__edge_weights;

/* Messages of a graph: entry k goes from vertex entries[2 k + 1] to vertex entries[2 k]. Each vertex also has an entry
 * to itself. Arrays are as in mica_pattern. */
typedef struct mica__adjacency {
  int32_t vertices, count;
  int32_t *rows, *entries, *columns, *order; /* 2 per vertex, 2 per entry, 2 per vertex, 1 per entry */
  float *weights;
} mica__adjacency;

/* Makes the messages of edges (from, to) between vertices; repeated edges and loops count once. `both`: an edge carries
 * messages both ways. Vertices must be in range. */
mica_status mica__adjacency_make(int32_t vertices, const int32_t (*edges)[2], size_t count, bool both,
                                 mica__edge_weights weights, mica__adjacency *out);
void mica__adjacency_free(mica__adjacency *adjacency);

typedef struct mica__node_graph_config {
  bool both;    /* an edge carries messages both ways */
  bool grouped; /* many graphs: the second column of nodes is `graph` */
  mica__edge_weights weights;
} mica__node_graph_config;

/* A graph with the names and features of its nodes; or many graphs, whose nodes follow one another. */
typedef struct mica__node_graph {
  char **names;
  int32_t count;
  mica__name_table numbers; /* node numbers by name */
  int64_t features;
  float *x; /* (count, features) */
  mica__adjacency messages;
  char **groups;   /* names of many graphs */
  int32_t *starts; /* group_count + 1: the first node of each graph, then count */
  int32_t group_count;
  mica__name_table group_numbers;
} mica__node_graph;

/* Reads edges (source, target) and nodes (node, features...). nodes may be NULL: then the edges name the nodes. Nodes
 * without features get these: in one graph, node i has the one-hot vector of i; in many graphs, a node has the number
 * of its messages. Features with other values than 0 and 1 are standardised over the nodes. MICA_E_FORMAT names table,
 * line and reason. The graph must be freed, also after an error. */
mica_status mica__node_graph_parse(mica__records *nodes, mica__records *edges, const mica__node_graph_config *config,
                                   mica__node_graph *graph);
/* Reads edges.csv and, if it exists, nodes.csv in a folder. */
mica_status mica__node_graph_read(const char *folder, const mica__node_graph_config *config, mica__node_graph *graph);
void mica__node_graph_free(mica__node_graph *graph);

/* Adds columns for batches to `data`.
 * - If samples name nodes of one graph: "vertex", the number of each sample's node and, if `column` is "other",
 *   "partner", the number of its second node.
 * - If samples are graphs: the features of their nodes, and their messages as entries of sparse matrices. `column`
 *   holds SMILES strings if `graph` is NULL, otherwise the names of graphs in `graph`. */
mica_status mica__graph_columns(const mica__node_graph *graph, const char *column, mica__edge_weights weights,
                                const mica_dataset *data, mica_dataset **out);

#endif
