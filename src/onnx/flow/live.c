/* Finds the values that are needed after a cut: the values whose names later nodes read, and the values that operators
 * hold while they lower their bodies. */
#include "onnx/flow/runner.h"

#include "compile/template.h"

#include <stdlib.h>

/* Collects the names that the nodes from `at` on and their bodies read.
 * NOLINTNEXTLINE(misc-no-recursion): as deep as bodies are nested, which the guard limits. */
static mica_status file_reads(mica__name_table *names, const mica__onnx_graph *graph, int32_t at) {
  for (int32_t i = at; i < graph->count; i++) {
    const mica__onnx_node *node = &graph->nodes[i];
    for (int32_t k = 0; k < node->input_count; k++)
      if (*node->inputs[k] && mica__name_table_find(names, node->inputs[k]) < 0)
        MICA_TRY(mica__name_table_add(names, node->inputs[k], 0));
    for (int32_t k = 0; k < node->body_count; k++) MICA_TRY(file_reads(names, &node->bodies[k], 0));
  }
  for (size_t i = 0; graph->proto && i < graph->proto->n_output; i++) {
    const char *name = mica__onnx_text(graph->proto->output[i]->name);
    if (mica__name_table_find(names, name) < 0) MICA_TRY(mica__name_table_add(names, name, 0));
  }
  return MICA_OK;
}

static bool is_computed(const mica__trace *t, mica_value value) {
  if (!value.graph || mica__lower_is_known(t->l.graph, value.id)) return false;
  const mica__op *op = mica__graph_node(t->l.graph, value.id)->op;
  return op != &mica__op_parameter && mica__trace_source(t, value.id).stage == -2;
}

static mica_status add_live(const mica__trace *t, mica_value value, int32_t **ids, size_t *count) {
  if (!is_computed(t, value)) return MICA_OK;
  int32_t *more = realloc(*ids, (*count + 1) * sizeof *more);
  if (!more) return mica__fail_nomem("a stage");
  *ids = more;
  more[(*count)++] = value.id;
  return MICA_OK;
}

/* Adds a value, or each value of a sequence, to the list of live ids if a run computes it. */
static mica_status add_any(const mica__trace *t, const mica__lower_value *value, int32_t **ids, size_t *count) {
  MICA_TRY(add_live(t, value->value, ids, count));
  for (int64_t i = 0; value->list && i < value->list->count; i++)
    MICA_TRY(add_live(t, value->list->values[i], ids, count));
  return MICA_OK;
}

static mica_status add_scope(const mica__trace *t, const mica__lower_scope *scope, const mica__name_table *reads,
                             int32_t **ids, size_t *count) {
  for (size_t e = 0; e < scope->names.size; e++) {
    const mica__name_entry *entry = &scope->names.entries[e];
    if (!entry->name || mica__name_table_find(reads, entry->name) < 0) continue;
    MICA_TRY(add_any(t, &scope->values[entry->number], ids, count));
  }
  return MICA_OK;
}

/* Adds all names in a function's scope to `reads`. A function's graph has no list of outputs, so each of its names may
 * be needed after the function. */
static mica_status file_all(mica__name_table *reads, const mica__lower_scope *scope) {
  for (size_t e = 0; e < scope->names.size; e++) {
    const char *name = scope->names.entries[e].name;
    if (name && mica__name_table_find(reads, name) < 0) MICA_TRY(mica__name_table_add(reads, name, 0));
  }
  return MICA_OK;
}

mica_status mica__trace_live(mica__trace *t, int32_t **ids, size_t *count) {
  mica__name_table reads = {0};
  mica_status status = MICA_OK;
  *count = 0;
  *ids = malloc(sizeof **ids);
  if (!*ids) return mica__fail_nomem("a stage");
  for (const mica__lower_scope *scope = t->l.scope; status == MICA_OK && scope; scope = scope->caller) {
    if (scope->graph) status = file_reads(&reads, scope->graph, scope->at);
    if (status == MICA_OK && scope->graph && !scope->graph->proto) status = file_all(&reads, scope);
    if (status == MICA_OK) status = add_scope(t, scope, &reads, ids, count);
  }
  for (const mica__lower_held *held = t->l.held; status == MICA_OK && held; held = held->before)
    for (size_t i = 0; status == MICA_OK && i < held->count; i++) status = add_any(t, &held->values[i], ids, count);
  mica__name_table_free(&reads);
  if (status == MICA_OK) return MICA_OK;
  free(*ids);
  *ids = NULL;
  return status;
}
