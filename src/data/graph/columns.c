/* Columns of batches: vertices by number, or graphs as entries of sparse matrices. */
#include "base/text.h"
#include "data/dataset.h"
#include "data/graph/graph.h"
#include "data/graph/smiles.h"
#include "data/text/texts.h"

#include <stdlib.h>
#include <string.h>

/* Makes a name of sample i for messages: "FILE line 7" if the data are a table, else "FILE: sample 6". */
static mica_status name_sample(const mica_dataset *data, uint64_t i, mica__text *name) {
  const unsigned long long line = mica_dataset_line(data, i);
  mica__text_addf(name, line ? "%s line %llu" : "%s: sample %llu", mica_dataset_name(data),
                  line ? line : (unsigned long long)i + 1);
  return mica__text_status(name);
}

/* --- nodes --- */

static mica_status refuse(const mica_dataset *data, uint64_t i, const char *what, const char *sample) {
  mica__text name = {0};
  mica_status status = name_sample(data, i, &name);
  if (status == MICA_OK) status = mica__fail(MICA_E_FORMAT, "%s: %s '%s'", name.data, what, sample);
  mica__text_free(&name);
  return status;
}

/* Finds the node number of each sample. Column `name` holds the names of the nodes. The caller frees *out. */
static mica_status find_vertices(const mica__node_graph *graph, const mica_dataset *data, const char *name,
                                 int32_t **out) {
  const uint64_t count = mica_dataset_count(data);
  mica__texts walk = {.data = data, .column = mica_dataset_column_index(data, name)};
  int32_t *list = malloc(((size_t)count + 1) * sizeof *list);
  mica_status status = list ? MICA_OK : mica__fail_nomem("nodes");
  if (!mica_dataset_column(data, walk.column))
    status = mica__fail(MICA_E_FORMAT, "%s has no column '%s' of nodes", mica_dataset_name(data), name);
  for (uint64_t i = 0; status == MICA_OK && i < count; i++) {
    status = mica__texts_read(&walk);
    if (status == MICA_OK) list[i] = mica__name_table_find(&graph->numbers, walk.text);
    if (status == MICA_OK && list[i] < 0) status = refuse(data, i, "the graph has no node", walk.text);
  }
  mica__texts_free(&walk);
  *out = status == MICA_OK ? list : NULL;
  if (!*out) free(list);
  return status;
}

/* Refuses a node to which two samples give different classes. */
static mica_status check_classes(const mica__node_graph *graph, const mica_dataset *data, const int32_t *vertex) {
  const uint64_t count = mica_dataset_count(data);
  uint64_t *first = calloc((size_t)graph->count + 1, sizeof *first); /* the first sample of a node, counted from 1 */
  mica_status status = first ? MICA_OK : mica__fail_nomem("nodes");
  for (uint64_t i = 0; status == MICA_OK && i < count; i++) {
    uint64_t *of_node = &first[vertex[i]];
    if (*of_node && mica_dataset_label(data, i) != mica_dataset_label(data, *of_node - 1))
      status = refuse(data, i, "an earlier line gives another class to node", graph->names[vertex[i]]);
    if (!*of_node) *of_node = i + 1;
  }
  free(first);
  return status;
}

/* Makes the dataset `made` own the lists; if it is NULL, frees them. Destroys the dataset if `status` is a failure or
 * this fails. */
static mica_status own(mica_dataset *made, void *const *lists, size_t count, mica_status status) {
  for (size_t k = 0; k < count; k++) {
    if (!made) free(lists[k]);
    const mica_status one = made ? mica__store_own(made->store, lists[k], free) : MICA_OK;
    if (status == MICA_OK) status = one;
  }
  if (status != MICA_OK) mica_dataset_destroy(made);
  return status;
}

static mica_status derive_nodes(const mica__node_graph *graph, bool pairs, const mica_dataset *data,
                                mica_dataset **out) {
  int32_t *vertex = NULL, *other = NULL;
  mica_dataset *made = NULL;
  mica_status status = find_vertices(graph, data, "node", &vertex);
  if (status == MICA_OK && pairs) status = find_vertices(graph, data, "other", &other);
  if (status == MICA_OK && !pairs) status = check_classes(graph, data, vertex);
  const mica_column_data columns[] = {{.column = {"vertex", MICA_COLUMN_KIND_ID, MICA_I32, {0}, 0}, .data = vertex},
                                      {.column = {"partner", MICA_COLUMN_KIND_ID, MICA_I32, {0}, 0}, .data = other}};
  if (status == MICA_OK) status = mica_dataset_derive(data, columns, 1 + pairs, &made);
  MICA_TRY(own(made, (void *[]){vertex, other}, 2, status));
  *out = made;
  return MICA_OK;
}

/* --- molecules, and graphs of tables --- */

enum { FEATURES, ROWS, ENTRIES, COLUMNS, ORDER, WEIGHTS, LISTS, VERTEX_ENDS = LISTS, ENTRY_ENDS, MEMORY };

/* Lists of all samples, one after another. All elements have 4 bytes. */
typedef struct lists {
  void *data[MEMORY];
  size_t widths[LISTS];
  size_t vertices, entries, vertex_room, entry_room;
} lists;

static bool is_of_vertices(int k) { return k == FEATURES || k == ROWS || k == COLUMNS; }

static mica_status make_room(lists *l, size_t vertices, size_t entries) {
  const bool more[2] = {l->entries + entries > l->entry_room, l->vertices + vertices > l->vertex_room};
  if (more[0]) l->entry_room = 2 * (l->entries + entries) + 1024;
  if (more[1]) l->vertex_room = 2 * (l->vertices + vertices) + 1024;
  for (int k = 0; k < LISTS; k++) {
    if (!more[is_of_vertices(k)]) continue;
    const size_t room = is_of_vertices(k) ? l->vertex_room : l->entry_room;
    const bool fits = room <= SIZE_MAX / sizeof(float) / l->widths[k];
    void *grown = fits ? realloc(l->data[k], room * l->widths[k] * sizeof(float)) : NULL;
    if (!grown) return mica__fail_nomem("molecules");
    l->data[k] = grown;
  }
  return MICA_OK;
}

static void append(lists *l, int k, const void *from, size_t count) {
  const size_t at = (is_of_vertices(k) ? l->vertices : l->entries) * l->widths[k];
  memcpy((float *)l->data[k] + at, from, count * l->widths[k] * sizeof(float));
}

static void end_sample(lists *l, size_t vertices, size_t entries, uint64_t sample) {
  l->vertices += vertices, l->entries += entries;
  ((int64_t *)l->data[VERTEX_ENDS])[sample + 1] = (int64_t)l->vertices;
  ((int64_t *)l->data[ENTRY_ENDS])[sample + 1] = (int64_t)l->entries;
}

static void subtract(lists *l, int k, size_t count, int32_t base) {
  int32_t *list = (int32_t *)l->data[k] + (is_of_vertices(k) ? l->vertices : l->entries) * l->widths[k];
  for (size_t i = 0; i < count * l->widths[k]; i++) list[i] -= base;
}

/* Adds a graph as a sample. g holds the nodes and entries of all graphs one after another, so the first node and the
 * first entry of this graph are subtracted from the numbers in the copy. */
static mica_status add_group(lists *l, const mica__node_graph *g, int32_t group, uint64_t sample) {
  const mica__adjacency *a = &g->messages;
  const int32_t node = g->starts[group], after = g->starts[group + 1], entry = a->rows[2 * node];
  const size_t nodes = (size_t)(after - node), entries = (size_t)(a->rows[2 * after - 1] - entry);
  const void *const from[LISTS] = {g->x + node * g->features, a->rows + 2 * node, a->entries + 2 * entry,
                                   a->columns + 2 * node,     a->order + entry,   a->weights + entry};
  MICA_TRY(make_room(l, nodes, entries));
  for (int k = 0; k < LISTS; k++) append(l, k, from[k], is_of_vertices(k) ? nodes : entries);
  subtract(l, ROWS, nodes, entry);
  subtract(l, ENTRIES, entries, node);
  subtract(l, COLUMNS, nodes, entry);
  subtract(l, ORDER, entries, entry);
  end_sample(l, nodes, entries, sample);
  return MICA_OK;
}

static mica_status add_groups(const mica__node_graph *graph, const mica_dataset *data, lists *l) {
  mica__texts walk = {.data = data, .column = mica_dataset_column_index(data, "graph")};
  mica_status status = MICA_OK;
  for (uint64_t i = 0; status == MICA_OK && i < mica_dataset_count(data); i++) {
    status = mica__texts_read(&walk);
    const int32_t group = status == MICA_OK ? mica__name_table_find(&graph->group_numbers, walk.text) : -1;
    if (status == MICA_OK)
      status = group < 0 ? refuse(data, i, "nodes.csv has no graph", walk.text) : add_group(l, graph, group, i);
  }
  mica__texts_free(&walk);
  return status;
}

static mica_status add_molecule(lists *l, const mica__molecule *m, mica__edge_weights weights, uint64_t sample) {
  int32_t(*edges)[2] = malloc(((size_t)m->bond_count + 1) * sizeof *edges);
  mica__adjacency a = {0};
  if (!edges) return mica__fail_nomem("molecules");
  for (int32_t k = 0; k < m->bond_count; k++) edges[k][0] = m->bonds[k].from, edges[k][1] = m->bonds[k].to;
  mica_status status =
      mica__adjacency_make(m->atom_count, (const int32_t(*)[2])edges, (size_t)m->bond_count, true, weights, &a);
  free(edges);
  if (status == MICA_OK) status = make_room(l, (size_t)a.vertices, (size_t)a.count);
  if (status == MICA_OK) {
    const void *const from[LISTS] = {NULL, a.rows, a.entries, a.columns, a.order, a.weights};
    for (int k = ROWS; k < LISTS; k++) append(l, k, from[k], (size_t)(is_of_vertices(k) ? a.vertices : a.count));
    for (int32_t i = 0; i < a.vertices; i++)
      mica__molecule_features(m, i, (float *)l->data[FEATURES] + (l->vertices + (size_t)i) * MICA__ATOM_FEATURES);
    end_sample(l, (size_t)a.vertices, (size_t)a.count, sample);
  }
  mica__adjacency_free(&a);
  return status;
}

static mica_status add_molecules(const char *column, mica__edge_weights weights, const mica_dataset *data, lists *l) {
  mica__texts walk = {.data = data, .column = mica_dataset_column_index(data, column)};
  mica_status status = MICA_OK;
  for (uint64_t i = 0; status == MICA_OK && i < mica_dataset_count(data); i++) {
    mica__text name = {0};
    mica__molecule molecule = {0};
    status = mica__texts_read(&walk);
    if (status == MICA_OK) status = name_sample(data, i, &name);
    if (status == MICA_OK) status = mica__smiles_parse(name.data, walk.text, walk.bytes, &molecule);
    if (status == MICA_OK) status = add_molecule(l, &molecule, weights, i);
    mica__molecule_free(&molecule);
    mica__text_free(&name);
  }
  mica__texts_free(&walk);
  return status;
}

static mica_status derive_graphs(const mica__node_graph *graph, const char *column, mica__edge_weights weights,
                                 const mica_dataset *data, mica_dataset **out) {
  static const char *const names[LISTS] = {"features", "rows", "entries", "columns", "order", "weights"};
  const size_t ends = ((size_t)mica_dataset_count(data) + 1) * sizeof(int64_t);
  mica_column_data columns[LISTS];
  mica_dataset *made = NULL;
  lists l = {.data = {[VERTEX_ENDS] = calloc(1, ends), [ENTRY_ENDS] = calloc(1, ends)},
             .widths = {graph ? (size_t)graph->features : MICA__ATOM_FEATURES, 2, 2, 2, 1, 1}};
  mica_status status = !l.data[VERTEX_ENDS] || !l.data[ENTRY_ENDS] ? mica__fail_nomem("graphs")
                       : graph                                     ? add_groups(graph, data, &l)
                                                                   : add_molecules(column, weights, data, &l);
  for (int k = 0; k < LISTS; k++) {
    const bool floats = k == FEATURES || k == WEIGHTS;
    const mica_shape pairs = {2, {MICA_DYNAMIC, (int64_t)l.widths[k]}}, single = {1, {MICA_DYNAMIC}};
    columns[k] = (mica_column_data){.column = {names[k], floats ? MICA_COLUMN_KIND_NUMBER : MICA_COLUMN_KIND_ID,
                                               floats ? MICA_F32 : MICA_I32, k == ORDER ? single : pairs, 0},
                                    .data = l.data[k],
                                    .offsets = l.data[is_of_vertices(k) ? VERTEX_ENDS : ENTRY_ENDS]};
  }
  if (status == MICA_OK) status = mica_dataset_derive(data, columns, LISTS, &made);
  MICA_TRY(own(made, l.data, MEMORY, status));
  *out = made;
  return MICA_OK;
}

mica_status mica__graph_columns(const mica__node_graph *graph, const char *column, mica__edge_weights weights,
                                const mica_dataset *data, mica_dataset **out) {
  if (graph && !graph->groups) return derive_nodes(graph, !strcmp(column, "other"), data, out);
  return derive_graphs(graph, column, weights, data, out);
}
