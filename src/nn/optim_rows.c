#include "nn/optim_rows.h"

#include "ir/graph.h"
#include "ops/index/index.h"
#include "ops/select/registry.h"

#include <mica/index.h>
#include <mica/nodes.h>

/* Maximum number of gathers of a table; with more, its gradient is dense. */
#define MOST_TERMS 16

/* Gradients of gathers; their sum is the table's gradient. */
typedef struct terms {
  mica_value indices[MOST_TERMS], updates[MOST_TERMS];
  size_t count;
} terms;

/* True for zeros, which add nothing to a gradient. */
static bool is_zero(const mica__node *node) {
  return (node->op == &mica__op_full || node->op == &mica__op_full_like) && mica__full_value(node) == 0;
}

static bool find_terms(mica_value gradient, terms *t) {
  const mica__node *node = mica__graph_node(gradient.graph, gradient.id);
  if (is_zero(node)) return true;
  if (node->op == &mica__op_add) {
    const mica_value a = {gradient.graph, node->inputs[0]}, b = {gradient.graph, node->inputs[1]};
    return find_terms(a, t) && find_terms(b, t);
  }
  if (node->op != &mica__op_scatter_into_zeros || t->count == MOST_TERMS) return false;
  const mica__index_attrs *how = node->attrs;
  if (how->axis != 0 || how->elements || how->join != MICA_SCATTER_ADD) return false;
  t->indices[t->count] = (mica_value){gradient.graph, node->inputs[1]};
  t->updates[t->count++] = (mica_value){gradient.graph, node->inputs[2]};
  return true;
}

/* Concatenates all terms: indices (M), not negative, and updates (M, ...). */
static void join_terms(mica_value table, terms *t, mica_value *indices, mica_value *updates) {
  mica_shape flat = mica_value_shape(table);
  const int64_t rows = flat.dim[0];
  flat.dim[0] = MICA_DYNAMIC;
  for (size_t i = 0; i < t->count; i++) {
    t->indices[i] = mica_reshape(mica_cast(t->indices[i], MICA_I64), MICA_SHAPE(MICA_DYNAMIC));
    t->updates[i] = mica_reshape(t->updates[i], flat);
  }
  mica_value joined = t->count > 1 ? mica_concat(t->indices, t->count, 0) : t->indices[0];
  mica_value all = mica_scalar(table.graph, MICA_I64, (double)rows), none = mica_neg(all);
  mica_value zero = mica_scalar(table.graph, MICA_I64, 0), from_end = mica_add(joined, all);
  from_end = mica_where(mica_less(joined, none), all, from_end);
  *indices = mica_where(mica_less(joined, zero), from_end, joined);
  *updates = t->count > 1 ? mica_concat(t->updates, t->count, 0) : t->updates[0];
}

bool mica__table_gradient(mica_value table, mica_value gradient, mica__table_rows *out) {
  terms t = {.count = 0};
  mica_value indices, updates;
  const mica_shape shape = mica_value_shape(table);
  if (mica_value_is_null(gradient) || shape.rank < 1 || !find_terms(gradient, &t) || !t.count) return false;
  join_terms(table, &t, &indices, &updates);
  const mica_unique_results found = mica_unique(indices, (double)shape.dim[0]);
  const mica__index_attrs sum = {.join = MICA_SCATTER_ADD};
  /* Indices outside the table have no gradient. */
  mica_value outside = mica_greater_equal(indices, mica_scalar(table.graph, MICA_I64, (double)shape.dim[0]));
  mica_value slots = mica_where(outside, mica_full_like(found.inverse, INT32_MAX), found.inverse);
  out->rows = found.values;
  out->gradient = mica__graph_add(&mica__op_scatter_into_zeros, (mica_value[]){updates, slots, updates}, 3, &sum);
  return true;
}

void mica__table_assign(mica_value table, mica_value rows, mica_value next) {
  mica_assign(table, mica_scatter_rows_unique(table, rows, next, 0, MICA_SCATTER_SET));
}
