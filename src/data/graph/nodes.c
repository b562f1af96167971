/* One graph in tables: edges.csv and nodes.csv. */
#include "base/text.h"
#include "data/graph/graph.h"
#include "data/source.h"
#include "data/table/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Without features, a node's feature is its own number in one-hot form; data with more nodes than this are then
 * refused. */
#define MOST_NUMBERED 4096

typedef struct reading {
  const mica__node_graph_config *config;
  mica__node_graph *graph;
  bool named; /* nodes.csv has named all nodes */
  int32_t capacity;
  int32_t (*edges)[2];
  size_t count, edge_capacity;
  int32_t group_capacity;
} reading;

static mica_status fail_at(const mica__records *r, const char *what, mica__cell cell) {
  return mica__fail(MICA_E_FORMAT, "%s line %zu: %s '%.*s'", r->name, r->line, what, mica__cell_shown(cell), cell.text);
}

/* The number of the node that a cell names; -1: there is none. The caller frees *name. */
static mica_status find(const mica__node_graph *g, mica__cell cell, char **name, int32_t *number) {
  *name = calloc(1, cell.length + 1);
  if (!*name) return mica__fail_nomem("nodes");
  mica__cell_unquote(cell, *name);
  *number = mica__name_table_find(&g->numbers, *name);
  return MICA_OK;
}

/* Adds a node and takes over its name, also on failure. *number receives the node's number. */
static mica_status add_node(reading *to, char *name, int32_t *number) {
  mica__node_graph *g = to->graph;
  if (g->count == to->capacity) {
    const int32_t capacity = to->capacity < INT32_MAX / 4 ? 2 * to->capacity + 64 : INT32_MAX / 2;
    char **names = g->count < capacity ? realloc(g->names, (size_t)capacity * sizeof *names) : NULL;
    if (!names) {
      free(name);
      return mica__fail_nomem("nodes");
    }
    g->names = names;
    to->capacity = capacity;
  }
  *number = g->count;
  g->names[g->count++] = name;
  return mica__name_table_add(&g->numbers, name, *number);
}

/* --- nodes.csv --- */

static mica_status make_room_for_groups(reading *to) {
  mica__node_graph *g = to->graph;
  if (g->group_count + 1 < to->group_capacity) return MICA_OK;
  const size_t capacity = 2 * (size_t)g->group_count + 64;
  char **groups = realloc(g->groups, capacity * sizeof *groups);
  if (groups) g->groups = groups;
  int32_t *starts = groups ? realloc(g->starts, capacity * sizeof *starts) : NULL;
  if (!starts) return mica__fail_nomem("graphs");
  g->starts = starts;
  to->group_capacity = (int32_t)capacity;
  return MICA_OK;
}

/* Adds the last node to the graph that the second column names. */
static mica_status add_to_group(reading *to, const mica__records *r) {
  mica__node_graph *g = to->graph;
  const mica__cell cell = r->cells[1];
  MICA_TRY(make_room_for_groups(to));
  char *name = calloc(1, cell.length + 1);
  if (!name) return mica__fail_nomem("graphs");
  mica__cell_unquote(cell, name);
  const int32_t last = g->group_count - 1, found = mica__name_table_find(&g->group_numbers, name);
  mica_status status = MICA_OK;
  if (!*name)
    status = fail_at(r, "a graph has no name:", cell);
  else if (found >= 0 && found != last)
    status = fail_at(r, "the rows of a graph must follow each other, but other graphs come between the rows of", cell);
  if (status != MICA_OK || found >= 0) {
    free(name);
  } else {
    g->starts[g->group_count] = g->count - 1;
    g->groups[g->group_count++] = name;
    status = mica__name_table_add(&g->group_numbers, name, g->group_count - 1);
  }
  if (status == MICA_OK) g->starts[g->group_count] = g->count;
  return status;
}

/* Reads the features of the last node from the cells of the record, beginning at cell number `column`. */
static mica_status add_features(mica__node_graph *g, const mica__records *r, size_t column, size_t *capacity) {
  const size_t width = (size_t)g->features;
  if ((size_t)g->count > *capacity) {
    *capacity = 2 * (size_t)g->count + 64;
    float *x =
        width && *capacity > SIZE_MAX / sizeof *x / width ? NULL : realloc(g->x, *capacity * width * sizeof *x + 1);
    if (!x) return mica__fail_nomem("nodes");
    g->x = x;
  }
  for (size_t f = 0; f < width; f++) {
    double value = 0;
    if (!mica__cell_number(r->cells[f + column], &value))
      return fail_at(r, "a feature must be a number from -3.4e38 to 3.4e38, not", r->cells[f + column]);
    g->x[(size_t)(g->count - 1) * width + f] = (float)value;
  }
  return MICA_OK;
}

static mica_status read_nodes(mica__records *r, void *user) {
  reading *to = user;
  const size_t columns = r->count, first = to->config->grouped ? 2 : 1;
  size_t capacity = 0;
  bool found = false;
  if (!mica__cell_is(r->cells[0], "node", true))
    return fail_at(r, "the first column must be called node, not", r->cells[0]);
  if (to->config->grouped && (columns < 2 || !mica__cell_is(r->cells[1], "graph", true)))
    return mica__fail(MICA_E_FORMAT, "%s: the second column must be called graph; it names the graph of each node",
                      r->name);
  to->graph->features = (int64_t)(columns - first);
  to->named = true;
  MICA_TRY(mica__records_next(r, &found));
  while (found) {
    char *name = NULL;
    int32_t number = -1;
    if (r->count != columns)
      return mica__fail(MICA_E_FORMAT, "%s line %zu has %zu columns, but the first row has %zu", r->name, r->line,
                        r->count, columns);
    MICA_TRY(find(to->graph, r->cells[0], &name, &number));
    if (number >= 0 || !*name) {
      free(name);
      return fail_at(r, number >= 0 ? "there are two nodes" : "a node has no name:", r->cells[0]);
    }
    MICA_TRY(add_node(to, name, &number));
    if (to->config->grouped) MICA_TRY(add_to_group(to, r));
    MICA_TRY(add_features(to->graph, r, first, &capacity));
    MICA_TRY(mica__records_next(r, &found));
  }
  return to->graph->count ? MICA_OK : mica__fail(MICA_E_FORMAT, "%s has no nodes", r->name);
}

/* Subtracts the mean of each feature and divides by its deviation, unless all its values are 0 or 1. */
static void standardise(mica__node_graph *g) {
  for (int64_t f = 0; f < g->features; f++) {
    double mean = 0, squares = 0;
    bool flags = true;
    for (int32_t i = 0; i < g->count; i++) {
      const double v = (double)g->x[i * g->features + f], before = v - mean;
      flags = flags && (v == 0 || v == 1);
      mean += before / (i + 1);
      squares += before * (v - mean);
    }
    const double deviation = sqrt(squares / g->count);
    for (int32_t i = 0; !flags && i < g->count; i++) {
      float *v = &g->x[i * g->features + f];
      *v = (float)(((double)*v - mean) / (deviation > 0 ? deviation : 1));
    }
  }
}

static mica_status number_nodes(mica__node_graph *g, const char *name) {
  if (g->count > MOST_NUMBERED)
    return mica__fail(MICA_E_FORMAT,
                      "%s has %d nodes without features, but at most %d may have none; give them features in nodes.csv",
                      name, (int)g->count, MOST_NUMBERED);
  g->features = g->count;
  free(g->x);
  g->x = calloc((size_t)g->count * (size_t)g->count + 1, sizeof *g->x);
  if (!g->x) return mica__fail_nomem("nodes");
  for (int32_t i = 0; i < g->count; i++) g->x[(size_t)i * (size_t)g->count + (size_t)i] = 1;
  return MICA_OK;
}

/* --- edges.csv --- */

static mica_status find_end(reading *to, const mica__records *r, size_t column, int32_t *number) {
  char *name = NULL;
  MICA_TRY(find(to->graph, r->cells[column], &name, number));
  if (*number < 0 && *name && !to->named) return add_node(to, name, number);
  free(name);
  if (*number >= 0) return MICA_OK;
  if (!to->named) return fail_at(r, "an edge needs the names of two nodes, but one is", r->cells[column]);
  return fail_at(r, "nodes.csv has no node", r->cells[column]);
}

/* The number of the graph that contains a node. */
static int32_t group_of(const mica__node_graph *g, int32_t node) {
  int32_t low = 0, high = g->group_count;
  while (high - low > 1) {
    const int32_t middle = low + (high - low) / 2;
    *(g->starts[middle] <= node ? &low : &high) = middle;
  }
  return low;
}

static mica_status read_edges(mica__records *r, void *user) {
  reading *to = user;
  const size_t columns = r->count;
  bool found = false;
  if (columns < 2) return mica__fail(MICA_E_FORMAT, "%s has one column; an edge is two nodes: source,target", r->name);
  if (!mica__cell_is(r->cells[0], "source", true))
    return fail_at(r, "the first two columns must be called source and target; the first is", r->cells[0]);
  if (!mica__cell_is(r->cells[1], "target", true))
    return fail_at(r, "the first two columns must be called source and target; the second is", r->cells[1]);
  MICA_TRY(mica__records_next(r, &found));
  while (found) {
    if (r->count != columns)
      return mica__fail(MICA_E_FORMAT, "%s line %zu has %zu columns, but the first row has %zu", r->name, r->line,
                        r->count, columns);
    if (to->count == to->edge_capacity) {
      if (to->count > SIZE_MAX / 64) return mica__fail_nomem("edges");
      to->edge_capacity = 2 * to->count + 256;
      int32_t(*edges)[2] = realloc(to->edges, to->edge_capacity * sizeof *edges);
      if (!edges) return mica__fail_nomem("edges");
      to->edges = edges;
    }
    MICA_TRY(find_end(to, r, 0, &to->edges[to->count][0]));
    MICA_TRY(find_end(to, r, 1, &to->edges[to->count][1]));
    const int32_t *ends = to->edges[to->count++];
    if (to->config->grouped && group_of(to->graph, ends[0]) != group_of(to->graph, ends[1]))
      return fail_at(r, "an edge joins nodes of two graphs; its second node is", r->cells[1]);
    MICA_TRY(mica__records_next(r, &found));
  }
  return MICA_OK;
}

/* --- both --- */

/* Sets the only feature of each node to the number of its messages. */
static mica_status count_messages(mica__node_graph *g) {
  free(g->x);
  g->x = calloc((size_t)g->count + 1, sizeof *g->x);
  if (!g->x) return mica__fail_nomem("nodes");
  g->features = 1;
  for (int32_t i = 0; i < g->count; i++) g->x[i] = (float)(g->messages.rows[2 * i + 1] - g->messages.rows[2 * i]);
  return MICA_OK;
}

/* Reads the first line of a table, and calls `parse`, which finds this line as the current record and reads the
 * rest. */
static mica_status read_table(mica__records *r, mica_status (*parse)(mica__records *r, void *user), void *user) {
  bool found = false;
  MICA_TRY(mica__records_find_delimiter(r));
  MICA_TRY(mica__records_next(r, &found));
  return found ? parse(r, user)
               : mica__fail(MICA_E_FORMAT, "%s is empty, or has only blank lines and comments (#)", r->name);
}

static mica_status read_both(mica__records *nodes, mica__records *edges, reading *to) {
  mica__node_graph *g = to->graph;
  if (nodes) MICA_TRY(read_table(nodes, read_nodes, to));
  MICA_TRY(read_table(edges, read_edges, to));
  if (!g->count) return mica__fail(MICA_E_FORMAT, "%s has no edges", edges->name);
  MICA_TRY(mica__adjacency_make(g->count, (const int32_t(*)[2])to->edges, to->count, to->config->both,
                                to->config->weights, &g->messages));
  if (!g->features && !to->config->grouped) return number_nodes(g, edges->name);
  if (!g->features) MICA_TRY(count_messages(g));
  standardise(g);
  return MICA_OK;
}

mica_status mica__node_graph_parse(mica__records *nodes, mica__records *edges, const mica__node_graph_config *config,
                                   mica__node_graph *graph) {
  reading to = {.config = config, .graph = graph};
  mica_status status =
      !nodes && config->grouped
          ? mica__fail(MICA_E_FORMAT, "%s: graphs need nodes.csv with the columns node and graph", edges->name)
          : read_both(nodes, edges, &to);
  free(to.edges);
  return status;
}

typedef struct table {
  char *path;
  uint8_t *content; /* NULL: there is no such file */
  size_t size;
} table;

static mica_status load(const char *folder, const char *name, table *t) {
  MICA_TRY(mica__path_join(folder, name, &t->path));
  return mica__is_file(t->path) ? mica__content_read(t->path, &t->content, &t->size) : MICA_OK;
}

mica_status mica__node_graph_read(const char *folder, const mica__node_graph_config *config, mica__node_graph *graph) {
  table nodes = {0}, edges = {0};
  mica_status status = load(folder, "nodes.csv", &nodes);
  if (status == MICA_OK) status = load(folder, "edges.csv", &edges);
  if (status == MICA_OK && !edges.content)
    status = mica__fail(MICA_E_NOT_FOUND, "%s has no edges.csv: a graph is a table of edges, source,target", folder);
  if (status == MICA_OK) {
    mica__records n = mica__records_in(nodes.path, (char *)nodes.content, nodes.size);
    mica__records e = mica__records_in(edges.path, (char *)edges.content, edges.size);
    status = mica__node_graph_parse(nodes.content ? &n : NULL, &e, config, graph);
    mica__records_free(&n);
    mica__records_free(&e);
  }
  free(nodes.content);
  free(nodes.path);
  free(edges.content);
  free(edges.path);
  return status;
}

void mica__node_graph_free(mica__node_graph *g) {
  for (int32_t i = 0; i < g->count; i++) free(g->names[i]);
  free(g->names);
  mica__name_table_free(&g->numbers);
  free(g->x);
  mica__adjacency_free(&g->messages);
  for (int32_t i = 0; i < g->group_count; i++) free(g->groups[i]);
  free(g->groups);
  free(g->starts);
  mica__name_table_free(&g->group_numbers);
  *g = (mica__node_graph){0};
}
