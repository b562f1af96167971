/* Reads values on the host. If a value is not known, it is demanded: the lowering restarts with the inputs and weights
 * that the value depends on as constants, or the value is computed by a cut. */
#include "onnx/flow/cut.h"

#include "base/element.h"
#include "compile/template.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Binding turns an input into a constant. Only inputs of at most SIZES elements can be bound; floating ones need at
 * most REALS elements and rank 0 or 1. Such inputs may be sizes or other settings, while longer inputs are data. */
#define SIZES 64
#define REALS 8
#define MOST_ELEMENTS (1 << 22)

/* True if node `id` is an input or a weight that can become a constant. If `demands`, it is also demanded as a
 * constant; the lowering then restarts. */
static bool bind_source(mica__lowering *l, int32_t id, bool demands) {
  const mica__node *node = mica__graph_node(l->graph, id);
  int64_t count = mica__node_count(node);
  bool real = mica_dtype_kind_of(node->type.dtype) == MICA_DTYPE_KIND_FLOAT;
  for (size_t i = 0; node->op == &mica__op_input && i < l->input_count; i++) {
    if (l->input_values[i].id != id || !l->may_bind || l->free[i]) continue;
    if (count > SIZES || (real && (count > REALS || node->type.shape.rank > 1))) return false;
    if (demands) l->demanded[i] = true;
    return true;
  }
  for (size_t i = 0; node->op == &mica__op_parameter && i < l->weight_count; i++) {
    if (l->weights[i].value.id != id || count > 65536) continue;
    if (demands) l->demanded_tensor = l->weights[i].tensor;
    return true;
  }
  return false;
}

bool mica__lower_can_bind(mica__lowering *l, mica_value value, bool demands) {
  bool *below = calloc((size_t)value.id + 1, sizeof *below), can = true, some = false;
  if (!below) {
    l->status = mica__fail_nomem("building a model's graph");
    return false;
  }
  below[value.id] = true;
  for (int32_t at = value.id; can && at >= 1; at--) {
    const mica__node *node = mica__graph_node(l->graph, at);
    if (!below[at]) continue;
    for (int32_t k = 0; k < node->input_count; k++) below[node->inputs[k]] = true;
    if (node->op != &mica__op_input && node->op != &mica__op_parameter) continue;
    can = bind_source(l, at, false);
    some = true;
  }
  for (int32_t at = value.id; can && some && demands && at >= 1; at--)
    if (below[at] && (mica__graph_node(l->graph, at)->op == &mica__op_input ||
                      mica__graph_node(l->graph, at)->op == &mica__op_parameter))
      bind_source(l, at, true);
  free(below);
  if (can && some && demands) l->demands = true;
  return can && some;
}

mica_status mica__lower_demand(mica__lowering *l, const mica__onnx_node *node, mica_value value, const char *what,
                               const void **data) {
  *data = NULL;
  if (l->status != MICA_OK || l->demands || mica__lower_can_bind(l, value, true)) return l->status;
  if (l->status != MICA_OK) return l->status;
  if (!l->trace)
    return mica__lower_fail(l, node, MICA_E_UNSUPPORTED,
                            "%s is computed from data, but must be known before the graph is built", what);
  if (mica__node_count(mica__graph_node(l->graph, value.id)) > MOST_ELEMENTS)
    return mica__lower_fail(l, node, MICA_E_UNSUPPORTED, "%s has more than %d elements, too many to read on the host",
                            what, MOST_ELEMENTS);
  return mica__cut_value(l, node, value, what, data);
}

bool mica__lower_truth(const mica__lowering *l, mica_value value, bool *on) {
  if (!value.graph || !mica__lower_is_known(l->graph, value.id)) return false;
  const mica__node *at = mica__graph_node(l->graph, value.id);
  if (mica__node_count(at) != 1) return false;
  *on = (at->op == &mica__op_full ? mica__full_value(at) : mica__element_get(at->type.dtype, at->data, 0)) != 0;
  return true;
}

mica_status mica__lower_condition(mica__lowering *l, const mica__onnx_node *node, mica_value value, const char *what,
                                  bool *on) {
  if (mica__lower_truth(l, value, on)) return MICA_OK;
  const void *data = NULL;
  const mica__node *at = mica__graph_node(l->graph, value.id);
  mica_dtype dtype = at->type.dtype;
  if (mica__node_count(at) != 1) return mica__lower_fail(l, node, MICA_E_SHAPE, "%s must have one element", what);
  MICA_TRY(mica__lower_demand(l, node, value, what, &data));
  *on = data && mica__element_get(dtype, data, 0) != 0;
  return MICA_OK;
}

/* Reads operand k, which is not known yet, and makes it a constant. False on an error, or if the lowering must restart
 * first. */
static bool demand(mica__lowering *l, const mica__onnx_node *node, int32_t k, mica_value value, mica__type *type,
                   const void **data) {
  char what[128];
  snprintf(what, sizeof what, "operand %d, '%.80s',", (int)k, node->inputs[k]);
  *type = mica__graph_node(l->graph, value.id)->type;
  if (mica__lower_demand(l, node, value, what, data) != MICA_OK || !*data) return false;
  mica_value constant = mica_constant(l->graph, type->dtype, type->shape, *data);
  mica__lower_value *found = mica__scope_find(l, node->inputs[k]);
  if (found && constant.graph) found->value = constant;
  return constant.graph != NULL;
}

/* Reads the elements of operand k: from an initialiser or a constant, or by a demand. False on an error, or if the
 * lowering must restart first. */
static bool read_operand(mica__lowering *l, const mica__onnx_node *node, int32_t k, mica__type *type,
                         const void **data) {
  const mica__lower_value *found = mica__lower_has(l, node, k) ? mica__scope_find(l, node->inputs[k]) : NULL;
  if (found && found->tensor && !found->value.graph) {
    mica__onnx_tensor tensor = {0};
    mica_status status = mica__onnx_tensor_read(l->external, found->tensor, &tensor);
    size_t bytes = (size_t)tensor.count * mica_dtype_size(tensor.dtype);
    void *own = status == MICA_OK ? mica__lower_room(l, bytes + 1, 1) : NULL;
    if (own) memcpy(own, tensor.data, bytes);
    *type = (mica__type){tensor.dtype, tensor.shape};
    *data = own;
    mica__onnx_tensor_free(&tensor);
    if (status != MICA_OK) mica__lower_fail(l, node, status, "%s", mica_error_message());
    return own != NULL;
  }
  mica_value value = mica__lower_operand(l, node, k);
  if (!value.graph) return false;
  const mica__node *at = mica__graph_node(l->graph, value.id);
  int64_t count = mica__node_count(at);
  if (!mica__lower_is_known(l->graph, value.id) || count > MOST_ELEMENTS) return demand(l, node, k, value, type, data);
  *type = at->type;
  *data = at->data;
  if (at->op != &mica__op_full) return true;
  unsigned char *own = mica__lower_room(l, (size_t)count * mica_dtype_size(type->dtype) + 1, 1);
  for (int64_t i = 0; own && i < count; i++) mica__element_set(type->dtype, own, i, mica__full_value(at));
  *data = own;
  return own != NULL;
}

static int64_t integer_at(mica_dtype dtype, const void *data, int64_t i) {
  if (dtype == MICA_I64) return ((const int64_t *)data)[i];
  if (dtype == MICA_U64) {
    uint64_t value = ((const uint64_t *)data)[i];
    return value > INT64_MAX ? INT64_MAX : (int64_t)value;
  }
  double value = mica__element_get(dtype, data, i);
  return value >= 0x1p62 ? INT64_MAX : value <= -0x1p62 ? INT64_MIN : value != value ? 0 : (int64_t)value;
}

bool mica__lower_integers(mica__lowering *l, const mica__onnx_node *node, int32_t k, mica__integers *out) {
  mica__type type;
  const void *data = NULL;
  int64_t count = 0;
  *out = (mica__integers){0};
  if (!mica__lower_has(l, node, k)) return true;
  if (!read_operand(l, node, k, &type, &data) || mica_shape_count(type.shape, &count) != MICA_OK) return false;
  int64_t *values = mica__lower_room(l, (size_t)count, sizeof *values);
  for (int64_t i = 0; values && i < count; i++) values[i] = integer_at(type.dtype, data, i);
  *out = (mica__integers){values, count, type.shape};
  return values != NULL;
}

bool mica__lower_reals(mica__lowering *l, const mica__onnx_node *node, int32_t k, mica__reals *out) {
  mica__type type;
  const void *data = NULL;
  int64_t count = 0;
  *out = (mica__reals){0};
  if (!mica__lower_has(l, node, k)) return true;
  if (!read_operand(l, node, k, &type, &data) || mica_shape_count(type.shape, &count) != MICA_OK) return false;
  double *values = mica__lower_room(l, (size_t)count, sizeof *values);
  for (int64_t i = 0; values && i < count; i++) values[i] = mica__element_get(type.dtype, data, i);
  *out = (mica__reals){values, count, type.shape};
  return values != NULL;
}

bool mica__lower_known_number(mica__lowering *l, const mica__onnx_node *node, int32_t k, double *number) {
  mica_value value = mica__lower_has(l, node, k) ? mica__lower_operand(l, node, k) : (mica_value){0};
  if (!value.graph || !mica__lower_is_known(l->graph, value.id)) return false;
  const mica__node *at = mica__graph_node(l->graph, value.id);
  if (mica__node_count(at) != 1) return false;
  *number = at->op == &mica__op_full ? mica__full_value(at) : mica__element_get(at->type.dtype, at->data, 0);
  return true;
}

bool mica__lower_integer_value(mica__lowering *l, const mica__onnx_node *node, mica_value value, const char *what,
                               int64_t *number) {
  const void *data = NULL;
  mica__lower_pass_graph_error(l, node);
  if (l->status != MICA_OK || l->demands || !value.graph) return false;
  value = mica__lower_fold(l, mica_reshape(mica_cast(value, MICA_I64), MICA_SCALAR));
  if (l->status != MICA_OK || !value.graph) return false;
  if (mica__lower_is_known(l->graph, value.id)) {
    const mica__node *at = mica__graph_node(l->graph, value.id);
    *number = (int64_t)(at->op == &mica__op_full ? mica__full_value(at) : mica__element_get(MICA_I64, at->data, 0));
    return true;
  }
  if (mica__lower_demand(l, node, value, what, &data) != MICA_OK || !data) return false;
  memcpy(number, data, sizeof *number);
  return true;
}

mica_value mica__lower_integer_constant(mica__lowering *l, const int64_t *values, int64_t count, int32_t rank) {
  return mica_constant(l->graph, MICA_I64, rank ? MICA_SHAPE(count) : MICA_SCALAR, values);
}

mica_value mica__lower_number(mica_value like, double number) {
  return like.graph ? mica_scalar(like.graph, mica_value_dtype(like), number) : like;
}

mica_value mica__lower_byte_range(mica_value x, mica_value *zero) {
  mica_value none = mica__lower_number(x, 0), least = mica_minimum(mica_min(x, MICA_ALL_AXES, false), none);
  mica_value most = mica_maximum(mica_max(x, MICA_ALL_AXES, false), none);
  mica_value scale = mica_div(mica_sub(most, least), mica__lower_number(x, 255));
  scale = mica_where(mica_equal(scale, none), mica__lower_number(x, 1), scale);
  *zero = mica_cast(mica_round(mica_div(mica_neg(least), scale)), MICA_U8);
  return scale;
}
