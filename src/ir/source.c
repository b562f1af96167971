/* Source ops: the values that a graph begins with. Also full_like, and the ops `result` and `stop_gradient`, which pass
 * a value on; see graph.h. */
#include "base/checked.h"
#include "base/element.h"
#include "base/text.h"
#include "ir/graph.h"

#include <stdlib.h>
#include <string.h>

static const mica_value null_value = {0};

static mica_status infer_same(const mica__type *inputs, int32_t input_count, void *attrs, mica__type *out) {
  (void)input_count, (void)attrs;
  *out = inputs[0];
  return MICA_OK;
}

static double scalar_same(const double *inputs, const void *attrs) {
  (void)attrs;
  return inputs[0];
}

static double scalar_full(const double *inputs, const void *attrs) {
  (void)inputs;
  return ((const mica__full_attrs *)attrs)->value;
}

static mica_status grad_none(const mica__grad *grad) {
  grad->dinputs[0] = null_value;
  return MICA_OK;
}

const mica__op mica__op_input = {.name = "input", .kind = MICA__OP_SOURCE};
static MICA__ATTR_TABLE(parameter, MICA__PARAMETER_ATTRS);
const mica__op mica__op_parameter = {.name = "parameter", .kind = MICA__OP_SOURCE, .attrs = &mica__parameter_attr_list};
const mica__op mica__op_constant = {.name = "constant", .kind = MICA__OP_SOURCE};
static MICA__ATTR_TABLE(full, MICA__FULL_ATTRS);
const mica__op mica__op_full = {.name = "full", .kind = MICA__OP_SOURCE, .attrs = &mica__full_attr_list};
const mica__op mica__op_result = {.name = "result", .kind = MICA__OP_RESULT};
const mica__op mica__op_full_like = {.name = "full_like",
                                     .kind = MICA__OP_POINTWISE,
                                     .min_inputs = 1,
                                     .max_inputs = 1,
                                     .infer = infer_same,
                                     .grad = grad_none,
                                     .attrs = &mica__full_attr_list,
                                     .expression = "value",
                                     .scalar = scalar_full,
                                     .shape_only = 1};
const mica__op mica__op_stop_gradient = {.name = "stop_gradient",
                                         .kind = MICA__OP_POINTWISE,
                                         .min_inputs = 1,
                                         .max_inputs = 1,
                                         .infer = infer_same,
                                         .grad = grad_none,
                                         .expression = "a",
                                         .scalar = scalar_same,
                                         .identity = true};

double mica__full_value(const mica__node *node) { return ((const mica__full_attrs *)node->attrs)->value; }

void mica__graph_hold(mica_value parameter) {
  if (!parameter.graph) return;
  ((mica__parameter_attrs *)mica__graph_node(parameter.graph, parameter.id)->attrs)->held = true;
}

bool mica__is_held(const mica__node *node) {
  return node->op == &mica__op_parameter && ((const mica__parameter_attrs *)node->attrs)->held;
}

/* True if a source may have this type; otherwise records the error. */
static bool check_type(mica_graph *graph, const char *what, const char *name, mica__type type, bool may_be_open) {
  char text[MICA_SHAPE_TEXT];
  if (!mica_dtype_is_valid(type.dtype)) {
    mica__graph_fail(graph, MICA_E_DTYPE, "%s '%s': %d is not a dtype", what, name, (int)type.dtype);
    return false;
  }
  if (mica__type_check(type) == MICA_OK && (may_be_open || !mica__shape_is_open(type.shape))) return true;
  mica__graph_fail(graph, MICA_E_SHAPE, "%s '%s': the shape %s is invalid or too large%s", what, name,
                   mica_shape_format(type.shape, text), may_be_open ? "" : ", or has an open dimension");
  return false;
}

/* Adds an input or a parameter. Returns the null value after a failure, which the graph records: the name is missing or
 * taken, the type is not allowed, or memory is short. */
static mica_value add_named(mica_graph *graph, const mica__op *op, const char *name, mica__type type,
                            bool may_be_open) {
  if (!graph) return null_value;
  if (!name || !*name)
    return mica__graph_fail(graph, MICA_E_INVALID, "%s: the name must not be NULL or empty", op->name);
  if (!check_type(graph, op->name, name, type, may_be_open)) return null_value;
  int32_t taken = mica__name_table_find(&graph->names, name);
  if (taken > 0)
    return mica__graph_fail(graph, MICA_E_INVALID, "%s '%s': the name is already used by %%%d (%s)", op->name, name,
                            (int)taken, mica__graph_node(graph, taken)->op->name);
  char *copy = mica__strdup(name);
  if (!copy) return mica__graph_fail_with(graph, mica__fail_nomem("a name"));
  mica_value value = mica__graph_add_source(graph, op, NULL, type);
  if (!value.graph) {
    free(copy);
    return value;
  }
  mica__graph_node(graph, value.id)->name = copy;
  mica_status status = mica__name_table_add(&graph->names, copy, value.id);
  return status == MICA_OK ? value : mica__graph_fail_with(graph, status);
}

mica_value mica_input(mica_graph *graph, const char *name, mica_dtype dtype, mica_shape shape) {
  return add_named(graph, &mica__op_input, name, (mica__type){dtype, shape}, true);
}

mica_value mica_parameter(mica_graph *graph, const char *name, mica_dtype dtype, mica_shape shape) {
  return add_named(graph, &mica__op_parameter, name, (mica__type){dtype, shape}, false);
}

mica_value mica_constant(mica_graph *graph, mica_dtype dtype, mica_shape shape, const void *data) {
  mica__type type = {dtype, shape};
  int64_t count = 0;
  size_t bytes = 0;
  if (!graph || !check_type(graph, "constant", "", type, false)) return null_value;
  if (mica_shape_count(shape, &count) != MICA_OK || !mica__mul_size((uint64_t)count, mica_dtype_size(dtype), &bytes))
    return mica__graph_fail(graph, MICA_E_OVERFLOW, "a constant of %lld elements is too large", (long long)count);
  if (!data && bytes > 0) return mica__graph_fail(graph, MICA_E_INVALID, "a constant needs data, but data is NULL");
  void *copy = malloc(bytes ? bytes : 1);
  if (!copy) return mica__graph_fail_with(graph, mica__fail_nomem("a constant"));
  if (bytes) memcpy(copy, data, bytes);
  if (dtype == MICA_BOOL) mica__bools_from(copy, bytes);
  mica_value value = mica__graph_add_source(graph, &mica__op_constant, NULL, type);
  if (value.graph)
    mica__graph_node(graph, value.id)->data = copy;
  else
    free(copy);
  return value;
}

/* The value that an element of the dtype has after it is set to `value`. */
static double as_element(mica_dtype dtype, double value) {
  unsigned char element[8] = {0};
  mica__element_set(dtype, element, 0, value);
  return mica__element_get(dtype, element, 0);
}

mica_value mica_full(mica_graph *graph, mica_dtype dtype, mica_shape shape, double value) {
  mica__type type = {dtype, shape};
  if (!graph || !check_type(graph, "full", "", type, false)) return null_value;
  return mica__graph_add_source(graph, &mica__op_full, &(mica__full_attrs){as_element(dtype, value)}, type);
}

mica_value mica_scalar(mica_graph *graph, mica_dtype dtype, double value) {
  return mica_full(graph, dtype, MICA_SCALAR, value);
}

mica_value mica_full_like(mica_value like, double value) {
  const mica__full_attrs attrs = {as_element(mica_value_dtype(like), value)};
  return mica__graph_add(&mica__op_full_like, &like, 1, &attrs);
}

mica_value mica_stop_gradient(mica_value value) { return mica__graph_add(&mica__op_stop_gradient, &value, 1, NULL); }
