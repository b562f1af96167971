/* Graphs of nodes. The first byte chooses how to read; the first empty line ends nodes.csv, and edges.csv follows.
 * Without one, there is no nodes.csv. */
#include "data/graph/graph.h"
#include "fuzz/fuzz.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Entries are in range, in order, and once each; every node has one of its own; both lists hold all of them. */
static void check(const mica__node_graph *g) {
  const mica__adjacency *a = &g->messages;
  int32_t by_row = 0, by_column = 0, loops = 0;
  if (a->vertices != g->count || g->features < (g->count ? 1 : 0)) abort();
  for (int32_t i = 0; i < g->count; i++) {
    if (!*g->names[i] || mica__name_table_find(&g->numbers, g->names[i]) != i) abort();
    if (a->rows[2 * i] != by_row || a->columns[2 * i] != by_column) abort();
    by_row = a->rows[2 * i + 1], by_column = a->columns[2 * i + 1];
  }
  if (by_row != a->count || by_column != a->count) abort();
  for (int32_t k = 0; k < a->count; k++) {
    const int32_t *e = a->entries + 2 * k, i = e[0], j = e[1];
    if (i < 0 || i >= g->count || j < 0 || j >= g->count || k < a->rows[2 * i] || k >= a->rows[2 * i + 1]) abort();
    if (k && (e[-2] > i || (e[-2] == i && e[-1] >= j))) abort();
    if (a->order[k] < 0 || a->order[k] >= a->count || !(a->weights[k] > 0 && a->weights[k] <= 1)) abort();
    loops += i == j;
  }
  if (loops != g->count) abort();
  for (int32_t j = 0; j < g->count; j++)
    for (int32_t k = a->columns[2 * j]; k < a->columns[2 * j + 1]; k++)
      if (a->entries[2 * a->order[k] + 1] != j) abort();
  for (int64_t f = 0; f < g->features * g->count; f++)
    if (!isfinite(g->x[f])) abort();
}

/* Graphs cover the nodes; messages stay within them. */
static void check_groups(const mica__node_graph *g) {
  if (g->group_count < 1 || g->starts[0] != 0 || g->starts[g->group_count] != g->count) abort();
  for (int32_t n = 0; n < g->group_count; n++) {
    if (g->starts[n] >= g->starts[n + 1] || mica__name_table_find(&g->group_numbers, g->groups[n]) != n) abort();
    if (g->messages.columns[2 * g->starts[n]] != g->messages.rows[2 * g->starts[n]]) abort();
    for (int32_t i = g->starts[n]; i < g->starts[n + 1]; i++)
      for (int32_t k = g->messages.rows[2 * i]; k < g->messages.rows[2 * i + 1]; k++)
        if (g->messages.entries[2 * k + 1] < g->starts[n] || g->messages.entries[2 * k + 1] >= g->starts[n + 1])
          abort();
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) return 0;
  char *content = malloc(size);
  if (!content) abort();
  memcpy(content, data + 1, size - 1);
  content[size - 1] = '\0';
  const char *gap = strstr(content, "\n\n");
  const size_t split = gap ? (size_t)(gap - content) + 1 : 0, skipped = gap ? split + 1 : 0;
  char *first = malloc(split + 1), *second = malloc(size - skipped); /* end where the tables do, for sanitizers */
  if (!first || !second) abort();
  memcpy(first, content, split);
  memcpy(second, content + skipped, size - 1 - skipped);
  mica__records nodes = mica__records_in("nodes", first, split);
  mica__records edges = mica__records_in("edges", second, size - 1 - skipped);
  mica__node_graph graph = {0};
  const mica__node_graph_config config = {data[0] & 1, data[0] & 4,
                                          data[0] & 2 ? MICA__EDGES_NORMALISED : MICA__EDGES_EQUAL};
  mica_status status = mica__node_graph_parse(gap ? &nodes : NULL, &edges, &config, &graph);
  if (status == MICA_OK) check(&graph);
  if (status == MICA_OK && config.grouped) check_groups(&graph);
  if (status != MICA_OK && status != MICA_E_FORMAT) abort();
  mica__node_graph_free(&graph);
  mica__records_free(&nodes);
  mica__records_free(&edges);
  free(first);
  free(second);
  free(content);
  return 0;
}

bool fuzz_seed(size_t index, mica__text *seed) {
  static const char *const seeds[] = {
      "0source,target\nann,bob\nbob,ann\ncid,cid\nann,dan\n",
      "3source;target;since\n1;2;1999\n2;3;\n",
      "1node,age,height\nann,31,1.7\nbob,-2e3,0\n\"c \"\"d\",5,1\n\nsource,target\nann,bob\n\"c \"\"d\",ann\n",
      "2node\tkind\r\na\t1\r\nb\t0\r\n\n\nsource\ttarget\r\na\tb\r\n",
      "0node\nb\na\n\nsource,target\na,b\n",
      "5node,graph\n1,a\n2,a\n3,a\n4,b\n5,b\n6,c\n\nsource,target\n1,2\n3,1\n5,4\n",
      "6node,graph,size\n1,a,3\n2,a,4\n3,b,1\n\nsource,target\n1,2\n"};
  if (index >= sizeof seeds / sizeof *seeds) return false;
  mica__text_add(seed, seeds[index]);
  return !seed->failed;
}
