/* Constants computed on the host, in double, by the ops' own references. */
#include "base/element.h"
#include "compile/template.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Maximum number of elements of a folded constant. Folding a larger one costs more memory and host time than its kernel
 * costs device time. */
#define MOST_ELEMENTS 65536
/* Maximum number of entries of a table that only the host can compute (ops of kind SHAPE), for example the elements of
 * an axis times the taps of each. */
#define MOST_OF_TABLE (1 << 25)

/* The product cannot overflow: every type of a graph has passed mica__type_check. */
static int64_t count_of(mica_shape shape) {
  int64_t count = 1;
  for (int32_t i = 0; i < shape.rank; i++) count *= shape.dim[i];
  return count;
}

int64_t mica__node_count(const mica__node *node) { return count_of(node->type.shape); }

size_t mica__node_bytes(const mica__node *node) {
  return (size_t)mica__node_count(node) * mica_dtype_size(node->type.dtype);
}

mica_status mica__template_values(const mica__node *node, double **out) {
  int64_t count = mica__node_count(node);
  *out = NULL;
  if (count > MOST_ELEMENTS || (node->op != &mica__op_constant && node->op != &mica__op_full)) return MICA_OK;
  double *values = calloc((size_t)count + 1, sizeof *values);
  if (!values) return mica__fail_nomem("a constant");
  bool exact = true;
  for (int64_t i = 0; i < count; i++) {
    values[i] =
        node->op == &mica__op_full ? mica__full_value(node) : mica__element_get(node->type.dtype, node->data, i);
    exact = exact && mica__element_is_exact(node->type.dtype, values[i]);
  }
  if (exact)
    *out = values;
  else
    free(values);
  return MICA_OK;
}

/* True if storing the value in this type gives the same element as on the device. Floats are rounded alike on both.
 * Integers must be in range, and so small that a double holds them exactly. */
static bool holds(mica_dtype dtype, double value) {
  unsigned char element[8] = {0};
  if (mica_dtype_kind_of(dtype) == MICA_DTYPE_KIND_FLOAT) return true;
  mica__element_set(dtype, element, 0, value);
  return mica__element_is_exact(dtype, value) && mica__element_get(dtype, element, 0) == value;
}

static void step(mica_shape shape, int64_t index[MICA_MAX_RANK]) {
  for (int32_t i = shape.rank - 1; i >= 0; i--) {
    if (++index[i] < shape.dim[i]) return;
    index[i] = 0;
  }
}

static int64_t reach(const mica__access *access, mica_shape shape, const int64_t *index) {
  int64_t at = access->offset;
  for (int32_t i = 0; i < shape.rank; i++) at += access->stride[i] * index[i];
  return at;
}

static void fold_pointwise(const mica_graph *graph, const mica__node *node, double *const *inputs, double *out) {
  mica__access access[4];
  int64_t index[MICA_MAX_RANK] = {0}, count = mica__node_count(node);
  for (int32_t k = 0; k < node->input_count; k++)
    access[k] = mica__access_broadcast(mica__graph_node(graph, node->inputs[k])->type.shape, node->type.shape);
  for (int64_t i = 0; i < count; i++, step(node->type.shape, index)) {
    double operands[4] = {0};
    for (int32_t k = 0; k < node->input_count; k++)
      if (inputs[k]) operands[k] = inputs[k][reach(&access[k], node->type.shape, index)];
    out[i] = node->op->scalar(operands, node->attrs);
  }
}

static bool fold_view(const mica_graph *graph, const mica__node *node, const double *input, double *out) {
  mica__access access = {0};
  int64_t index[MICA_MAX_RANK] = {0}, count = mica__node_count(node);
  if (!node->op->view(node, mica__graph_node(graph, node->inputs[0])->type.shape, &access)) return false;
  for (int64_t i = 0; i < count; i++, step(node->type.shape, index))
    out[i] = input[reach(&access, node->type.shape, index)];
  return true;
}

/* True if a double holds every partial sum of integers over the inputs' elements exactly. */
static bool sums_are_exact(const mica_graph *graph, const mica__node *node, double *const *inputs) {
  for (int32_t k = 0; k < node->input_count; k++) {
    const mica__type type = mica__graph_node(graph, node->inputs[k])->type;
    double sum = 0;
    for (int64_t i = 0; inputs[k] && i < count_of(type.shape); i++) sum += fabs(inputs[k][i]);
    if (!mica__element_is_exact(type.dtype, sum)) return false;
  }
  return true;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): what out points to is written by the op. */
static mica_status fold_whole(const mica_graph *graph, const mica__node *node, const mica__type *results,
                              double *const *inputs, double *const *out) {
  mica__type *types = calloc((size_t)node->input_count + 1, sizeof *types);
  if (!types) return mica__fail_nomem("a constant");
  for (int32_t k = 0; k < node->input_count; k++) types[k] = mica__graph_node(graph, node->inputs[k])->type;
  mica__eval eval = {.attrs = node->attrs,
                     .inputs = (const double *const *)inputs,
                     .types = types,
                     .input_count = node->input_count,
                     .type = results,
                     .output = out[0],
                     .outputs = out};
  mica_status status = node->op->evaluate(&eval);
  free(types);
  return status;
}

static bool can_fold(const mica__node *node, const mica__type *types) {
  const mica__op *op = node->op;
  if (op->kind == MICA__OP_SHAPE) return op->evaluate != NULL && count_of(types[0].shape) <= MOST_OF_TABLE;
  for (int32_t r = 0; r < mica__node_results(node); r++)
    if (count_of(types[r].shape) > MOST_ELEMENTS) return false;
  if (op->kind == MICA__OP_SOURCE || op->kept) return false;
  if (op->kind == MICA__OP_POINTWISE) return op->scalar != NULL && node->input_count <= 4;
  return op->kind == MICA__OP_VIEW || op->evaluate != NULL;
}

/* Gets the inputs' values; *known becomes false if an input whose elements matter is not a constant. */
static mica_status input_values(const mica_graph *graph, const mica__node *node, double **inputs, bool *known) {
  *known = true;
  for (int32_t k = 0; *known && k < node->input_count; k++) {
    if (node->op->kind == MICA__OP_SHAPE || (k < 32 && node->op->shape_only >> k & 1)) continue;
    MICA_TRY(mica__template_values(mica__graph_node(graph, node->inputs[k]), &inputs[k]));
    *known = inputs[k] != NULL;
  }
  return MICA_OK;
}

/* References of pointwise ops leave it to the caller to truncate integer results towards zero: 3 / 2 is 1. */
static void cut_integers(mica__type type, double *values) {
  if (mica_dtype_kind_of(type.dtype) == MICA_DTYPE_KIND_FLOAT) return;
  for (int64_t i = 0; i < count_of(type.shape); i++) values[i] = trunc(values[i]);
}

/* Computes the results of a node whose inputs are known; *known becomes false if a result's type cannot hold a
 * value. */
static mica_status fold(const mica_graph *graph, const mica__node *node, const mica__type *types, double *const *inputs,
                        double *const *values, bool *known) {
  if (node->op->kind == MICA__OP_POINTWISE)
    fold_pointwise(graph, node, inputs, values[0]);
  else if (node->op->kind == MICA__OP_VIEW)
    *known = fold_view(graph, node, inputs[0], values[0]);
  else if ((*known = sums_are_exact(graph, node, inputs)))
    MICA_TRY(fold_whole(graph, node, types, inputs, values));
  if (node->op->kind == MICA__OP_POINTWISE) cut_integers(types[0], values[0]);
  for (int32_t r = 0; r < mica__node_results(node); r++)
    for (int64_t i = 0; *known && i < count_of(types[r].shape); i++) *known = holds(types[r].dtype, values[r][i]);
  return MICA_OK;
}

mica_status mica__template_fold(const mica_graph *graph, const mica__node *node, const mica__type *types,
                                double *values[MICA__MAX_RESULTS]) {
  int32_t results = mica__node_results(node);
  memset(values, 0, MICA__MAX_RESULTS * sizeof *values);
  if (!can_fold(node, types)) return MICA_OK;
  double **inputs = calloc((size_t)node->input_count + 1, sizeof *inputs);
  bool known = false, room = inputs != NULL;
  for (int32_t r = 0; room && r < results; r++) {
    values[r] = calloc((size_t)count_of(types[r].shape) + 1, sizeof **values);
    room = values[r] != NULL;
  }
  mica_status status = room ? input_values(graph, node, inputs, &known) : mica__fail_nomem("a constant");
  if (status == MICA_OK && known) status = fold(graph, node, types, inputs, values, &known);
  for (int32_t k = 0; inputs && k < node->input_count; k++) free(inputs[k]);
  free(inputs);
  for (int32_t r = 0; (status != MICA_OK || !known) && r < results; r++) {
    free(values[r]);
    values[r] = NULL;
  }
  return status;
}
