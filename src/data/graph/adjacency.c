/* Edges as entries of a sparse matrix, by row and by column. */
#include "data/graph/graph.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b) {
  const int32_t *p = a, *q = b;
  if (p[0] != q[0]) return p[0] < q[0] ? -1 : 1;
  return p[1] < q[1] ? -1 : p[1] > q[1];
}

static mica_status allocate(mica__adjacency *a, size_t most) {
  const size_t v = (size_t)a->vertices + 1;
  if (most > INT32_MAX / 2)
    return mica__fail(MICA_E_OVERFLOW,
                      "the graph has %d nodes and %zu edges, which is too many: the number of nodes plus twice the "
                      "number of edges may be at most %d",
                      (int)a->vertices, (most - (size_t)a->vertices) / 2, INT32_MAX / 2);
  a->rows = calloc(2 * v, sizeof *a->rows);
  a->columns = calloc(2 * v, sizeof *a->columns);
  a->entries = calloc(2 * (most + 1), sizeof *a->entries);
  a->order = calloc(most + 1, sizeof *a->order);
  a->weights = calloc(most + 1, sizeof *a->weights);
  const bool made = a->rows && a->columns && a->entries && a->order && a->weights;
  return made ? MICA_OK : mica__fail_nomem("a graph");
}

/* Sorts the first `filled` entries by row and column and removes repeated ones. */
static void sort(mica__adjacency *a, size_t filled) {
  int32_t *e = a->entries;
  qsort(e, filled, 2 * sizeof *e, compare);
  for (size_t i = 0; i < filled; i++)
    if (!a->count || compare(e + 2 * i, e + 2 * (a->count - 1)) != 0)
      memmove(e + 2 * a->count++, e + 2 * i, 2 * sizeof *e);
}

/* Finds where the entries of each vertex begin if entries are sorted by the vertex on this axis. On return ranges[2 i]
 * and ranges[2 i + 1] are both the first entry of vertex i; the caller increments the second for each entry. */
static void count_ranges(const mica__adjacency *a, int axis, int32_t *ranges) {
  int32_t at = 0;
  for (int32_t k = 0; k < a->count; k++) ranges[2 * a->entries[2 * k + axis] + 1]++;
  for (int32_t i = 0; i < a->vertices; i++) {
    const int32_t here = ranges[2 * i + 1];
    ranges[2 * i] = ranges[2 * i + 1] = at;
    at += here;
  }
}

mica_status mica__adjacency_make(int32_t vertices, const int32_t (*edges)[2], size_t count, bool both,
                                 mica__edge_weights weights, mica__adjacency *out) {
  mica__adjacency a = {.vertices = vertices};
  size_t filled = 0;
  mica_status status = allocate(&a, 2 * count + (size_t)vertices);
  if (status != MICA_OK) {
    mica__adjacency_free(&a);
    return status;
  }
  for (int32_t i = 0; i < vertices; i++, filled++) a.entries[2 * filled] = a.entries[2 * filled + 1] = i;
  for (size_t k = 0; k < count; k++)
    for (int way = 0; way <= both; way++, filled++) {
      a.entries[2 * filled] = edges[k][!way];
      a.entries[2 * filled + 1] = edges[k][way];
    }
  sort(&a, filled);
  count_ranges(&a, 0, a.rows);
  count_ranges(&a, 1, a.columns);
  for (int32_t k = 0; k < a.count; k++) {
    const int32_t i = a.entries[2 * k], j = a.entries[2 * k + 1];
    a.rows[2 * i + 1]++;
    a.order[a.columns[2 * j + 1]++] = k;
  }
  for (int32_t k = 0; k < a.count; k++) {
    const int32_t *i = a.rows + 2 * a.entries[2 * k], *j = a.rows + 2 * a.entries[2 * k + 1];
    const double product = (double)(i[1] - i[0]) * (double)(j[1] - j[0]);
    a.weights[k] = weights == MICA__EDGES_NORMALISED ? (float)(1 / sqrt(product)) : 1;
  }
  *out = a;
  return MICA_OK;
}

void mica__adjacency_free(mica__adjacency *a) {
  free(a->rows);
  free(a->entries);
  free(a->columns);
  free(a->order);
  free(a->weights);
  *a = (mica__adjacency){0};
}
