#include "ir/cut.h"

#include "base/text.h"

#include <math.h>
#include <stdlib.h>

void mica__cut_points_free(mica__cut_points *p) {
  free(p->list);
  free(p->flows);
  *p = (mica__cut_points){0};
}

/* --- values that flow --- */

typedef struct sweep {
  const mica_graph *graph;
  bool *needed, *weighted, *fed; /* by id - 1. needed: one of the values `ends` or an assignment needs the value.
                                  * weighted: the value depends on a weight. fed: the value depends on an input. */
  int32_t *used;                 /* by id - 1: the last flowing node that uses it; 0: none */
} sweep;

static mica_status make_sweep(sweep *s) {
  const size_t n = (size_t)s->graph->count + 1;
  s->needed = calloc(n, sizeof *s->needed);
  s->weighted = calloc(n, sizeof *s->weighted);
  s->fed = calloc(n, sizeof *s->fed);
  s->used = calloc(n, sizeof *s->used);
  return s->needed && s->weighted && s->fed && s->used ? MICA_OK : mica__fail_nomem("a graph's stages");
}

static void free_sweep(sweep *s) {
  free(s->needed);
  free(s->weighted);
  free(s->fed);
  free(s->used);
}

static void find_needed(sweep *s, const mica_value *ends, int32_t count) {
  for (int32_t i = 0; i < count; i++) s->needed[ends[i].id - 1] = true;
  for (int32_t id = s->graph->count; id >= 1; id--) {
    const mica__node *node = mica__graph_node(s->graph, id);
    if (node->assigned) s->needed[node->assigned - 1] = true;
  }
  for (int32_t id = s->graph->count; id >= 1; id--) {
    const mica__node *node = mica__graph_node(s->graph, id);
    for (int32_t k = 0; s->needed[id - 1] && k < node->input_count; k++) s->needed[node->inputs[k] - 1] = true;
  }
}

static void find_flows(sweep *s, const bool *weights, bool *flows) {
  for (int32_t id = 1; id <= s->graph->count; id++) {
    const mica__node *node = mica__graph_node(s->graph, id);
    s->weighted[id - 1] = node->op == &mica__op_parameter && weights[id - 1];
    s->fed[id - 1] = node->op == &mica__op_input;
    for (int32_t k = 0; k < node->input_count; k++) {
      s->weighted[id - 1] = s->weighted[id - 1] || s->weighted[node->inputs[k] - 1];
      s->fed[id - 1] = s->fed[id - 1] || s->fed[node->inputs[k] - 1];
    }
    flows[id - 1] = s->needed[id - 1] && s->weighted[id - 1] && s->fed[id - 1];
    for (int32_t k = 0; flows[id - 1] && k < node->input_count; k++) s->used[node->inputs[k] - 1] = id;
  }
}

static bool can_be_cut(const mica_graph *graph, int32_t id) {
  const mica__node *node = mica__graph_node(graph, id);
  return node->op != &mica__op_result && mica__node_results(node) == 1 &&
         mica_dtype_kind_of(node->type.dtype) == MICA_DTYPE_KIND_FLOAT;
}

/* Finds the cut points. Walks through the ids and keeps in `open` the flowing values so far that a later flowing node
 * uses. A cut point follows the first node after which a single value is open, if can_be_cut accepts that value. */
static mica_status find_points(const sweep *s, mica__cut_points *p) {
  const int32_t all = s->graph->count;
  int32_t *open = calloc((size_t)all + 1, sizeof *open), count = 0;
  p->list = calloc((size_t)all + 1, sizeof *p->list);
  if (!open || !p->list) {
    free(open);
    return mica__fail_nomem("a graph's stages");
  }
  for (int32_t id = 1; id <= all; id++) {
    int32_t kept = 0;
    if (!p->flows[id - 1]) continue;
    p->rest += mica__graph_flops(s->graph, id);
    for (int32_t i = 0; i < count; i++)
      if (s->used[open[i] - 1] > id) open[kept++] = open[i];
    count = kept;
    if (s->used[id - 1] > id) open[count++] = id;
    const bool again = p->count && count == 1 && p->list[p->count - 1].value == open[0];
    if (count != 1 || again || !can_be_cut(s->graph, open[0])) continue;
    p->list[p->count++] = (mica__cut_point){open[0], id, p->rest};
    p->rest = 0;
  }
  free(open);
  return MICA_OK;
}

mica_status mica__graph_cut_points(const mica_graph *graph, const mica_value *ends, int32_t count, const bool *weights,
                                   mica__cut_points *p) {
  sweep s = {.graph = graph};
  p->flows = calloc((size_t)graph->count + 1, sizeof *p->flows);
  mica_status status = p->flows ? make_sweep(&s) : mica__fail_nomem("a graph's stages");
  if (status == MICA_OK) {
    find_needed(&s, ends, count);
    find_flows(&s, weights, p->flows);
    status = find_points(&s, p);
  }
  free_sweep(&s);
  return status;
}

mica_status mica__graph_sources(const mica_graph *graph, const mica__cut_points *p, int32_t first, int32_t last,
                                bool *sources) {
  bool *needed = calloc((size_t)graph->count + 1, sizeof *needed);
  if (!needed) return mica__fail_nomem("a graph's stages");
  for (int32_t id = last; id >= 1; id--) {
    const mica__node *node = mica__graph_node(graph, id);
    const bool own = p->flows[id - 1];
    if (!(own ? id >= first : needed[id - 1])) continue;
    if (node->op->kind == MICA__OP_SOURCE) sources[id - 1] = true;
    for (int32_t k = 0; k < node->input_count; k++) needed[node->inputs[k] - 1] = true;
  }
  free(needed);
  return MICA_OK;
}

mica_status mica__graph_become_input(mica_graph *graph, int32_t id, const char *name) {
  mica__node *node = mica__graph_node(graph, id);
  char *copy = mica__strdup(name);
  if (!copy) return mica__fail_nomem("a graph's stages");
  const mica_status status = mica__name_table_add(&graph->names, copy, id);
  if (status != MICA_OK) {
    free(copy);
    return status;
  }
  free(node->name);
  free(node->inputs);
  free(node->attrs);
  free(node->mark);
  node->op = &mica__op_input;
  node->name = copy;
  node->inputs = NULL;
  node->input_count = 0;
  node->attrs = NULL;
  node->mark = NULL;
  return MICA_OK;
}

/* least[s][n] is the lowest possible cost of the most expensive part when the first n elements are cut into s + 1
 * parts. from[s][n] is the first element of the last of these parts. */
mica_status mica__cut_evenly(const double *costs, int32_t count, int32_t parts, int32_t *cuts) {
  const size_t row = (size_t)count + 1;
  double *least = calloc((size_t)parts * row, sizeof *least);
  int32_t *from = calloc((size_t)parts * row, sizeof *from);
  mica_status status = least && from ? MICA_OK : mica__fail_nomem("cuts");
  for (int32_t s = 0; status == MICA_OK && s < parts; s++)
    for (int32_t n = s + 1; n <= count; n++) {
      double *best = &least[(size_t)s * row + (size_t)n], last = 0;
      *best = INFINITY;
      for (int32_t first = n - 1; first >= s; first--) {
        last += costs[first];
        if (s == 0 && first > 0) continue;
        const double before = s ? least[(size_t)(s - 1) * row + (size_t)first] : 0;
        const double dearest = last > before ? last : before;
        if (dearest >= *best) continue;
        *best = dearest;
        from[(size_t)s * row + (size_t)n] = first;
      }
    }
  if (status == MICA_OK) {
    cuts[parts] = count;
    for (int32_t s = parts - 1; s >= 0; s--) cuts[s] = from[(size_t)s * row + (size_t)cuts[s + 1]];
  }
  free(least);
  free(from);
  return status;
}
