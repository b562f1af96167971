/* Scopes: the names that a graph, body or function defines, and their values during the lowering. */
#include "onnx/lowering.h"

#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Floating initialisers of at most this many elements are constants, which are known on the host. If the lowering's
 * small_weights is set, this holds only for values of rank 0. For other types the limit is 65536 elements. */
#define SMALL 32

mica_status mica__scope_open(mica__lowering *l, bool sees_outer, mica__lower_scope *scope) {
  *scope = (mica__lower_scope){.outer = sees_outer ? l->scope : NULL, .caller = l->scope};
  l->scope = scope;
  return MICA_OK;
}

void mica__scope_close(mica__lowering *l, mica__lower_scope *scope) {
  (void)l;
  mica__name_table_free(&scope->names);
  free(scope->values);
  *scope = (mica__lower_scope){0};
}

mica_status mica__scope_put(mica__lowering *l, const char *name, mica__lower_value value) {
  mica__lower_scope *scope = l->scope;
  if (!*name) return MICA_OK;
  if (mica__name_table_find(&scope->names, name) >= 0)
    return mica__fail(MICA_E_FORMAT, "%s: two values have the name '%.80s'", l->model->name, name);
  if (scope->count == scope->capacity) {
    int32_t capacity = scope->capacity ? 2 * scope->capacity : 64;
    mica__lower_value *values = realloc(scope->values, (size_t)capacity * sizeof *values);
    if (!values) return mica__fail_nomem("building a model's graph");
    scope->values = values;
    scope->capacity = capacity;
  }
  scope->values[scope->count] = value;
  MICA_TRY(mica__name_table_add(&scope->names, name, scope->count));
  scope->count++;
  return MICA_OK;
}

mica__lower_value *mica__scope_find(const mica__lowering *l, const char *name) {
  for (const mica__lower_scope *scope = l->scope; scope; scope = scope->outer) {
    int32_t at = mica__name_table_find(&scope->names, name);
    if (at >= 0) return &scope->values[at];
  }
  return NULL;
}

mica_status mica__scope_put_initials(mica__lowering *l, const Onnx__GraphProto *graph) {
  for (size_t i = 0; i < graph->n_initializer; i++)
    MICA_TRY(mica__scope_put(l, mica__onnx_text(graph->initializer[i]->name),
                             (mica__lower_value){.tensor = graph->initializer[i]}));
  for (size_t i = 0; i < graph->n_sparse_initializer; i++) {
    const Onnx__SparseTensorProto *sparse = graph->sparse_initializer[i];
    if (sparse->values)
      MICA_TRY(mica__scope_put(l, mica__onnx_text(sparse->values->name), (mica__lower_value){.sparse = sparse}));
  }
  return MICA_OK;
}

/* --- initialisers --- */

static bool has_to_be_known(const mica__lowering *l, const Onnx__TensorProto *tensor) {
  for (size_t i = 0; i < l->known_count; i++)
    if (l->known[i] == tensor) return true;
  return false;
}

/* Makes a unique name for a parameter of the graph. */
static const char *parameter_name(mica__lowering *l, const char *name) {
  size_t room = strlen(name) + 32;
  char *own = mica__lower_room(l, room, 1);
  if (own) snprintf(own, room, "%s%sw%zu", name, *name ? "#" : "", l->weight_count);
  return own;
}

static mica_value add_weight(mica__lowering *l, const Onnx__TensorProto *tensor, const char *file_name,
                             mica_dtype dtype, mica_shape shape) {
  if (l->weight_count == l->weight_capacity) {
    size_t capacity = l->weight_capacity ? 2 * l->weight_capacity : 64;
    mica__lower_weight *weights = realloc(l->weights, capacity * sizeof *weights);
    if (!weights) {
      l->status = mica__fail_nomem("building a model's graph");
      return (mica_value){0};
    }
    l->weights = weights;
    l->weight_capacity = capacity;
  }
  const char *name = parameter_name(l, file_name);
  if (!name) return (mica_value){0};
  mica_value value = l->make_parameter ? l->make_parameter(l->parameter_user, l->graph, name, dtype, shape)
                                       : mica_parameter(l->graph, name, dtype, shape);
  l->weights[l->weight_count++] = (mica__lower_weight){tensor, name, file_name, value};
  return value;
}

/* True if mica_onnx_load finds the tensor by this name. */
static bool has_name(const mica__lowering *l, const Onnx__TensorProto *proto, const char *name) {
  if (!*name) return false;
  const int32_t at = mica__name_table_find(&l->model->initials, name);
  const Onnx__GraphProto *graph = l->model->proto->graph;
  if (at >= 0) return (size_t)at < graph->n_initializer && graph->initializer[at] == proto;
  return !l->scope->caller && l->root == &l->model->graph;
}

/* Lowers a tensor of texts to a constant of the indices 0, 1, ... into its list of texts. */
static mica_value lower_texts(mica__lowering *l, const Onnx__TensorProto *proto, const mica__onnx_texts *texts) {
  mica_shape shape = {.rank = (int32_t)proto->n_dims};
  int64_t count = -1;
  for (size_t i = 0; i < proto->n_dims && i < MICA_MAX_RANK; i++) shape.dim[i] = proto->dims[i];
  if (proto->n_dims > MICA_MAX_RANK) {
    l->status = mica__fail(MICA_E_FORMAT, "tensor '%.80s' has %zu dimensions, but at most %d are supported",
                           mica__onnx_tensor_title(proto), proto->n_dims, MICA_MAX_RANK);
    return (mica_value){0};
  }
  if (mica_shape_count(shape, &count) != MICA_OK || count != (int64_t)texts->count) {
    char text[MICA_SHAPE_TEXT];
    l->status =
        mica__fail(MICA_E_FORMAT, "tensor '%.80s' has the shape %s, which does not match its number of texts, %zu",
                   mica__onnx_tensor_title(proto), mica_shape_format(shape, text), texts->count);
    return (mica_value){0};
  }
  int64_t *indices = mica__lower_room(l, texts->count + 1, sizeof *indices);
  for (int64_t i = 0; indices && i < count; i++) indices[i] = i;
  return indices ? mica_constant(l->graph, MICA_I64, shape, indices) : (mica_value){0};
}

mica_value mica__lower_tensor(mica__lowering *l, const Onnx__TensorProto *proto, const char *name) {
  mica_dtype dtype;
  mica_shape shape;
  int64_t count = 0;
  mica__onnx_texts texts;
  for (size_t i = 0; i < l->weight_count; i++)
    if (l->weights[i].tensor == proto) return l->weights[i].value;
  if (mica__onnx_texts_in(proto, &texts)) return lower_texts(l, proto, &texts);
  l->status = mica__onnx_tensor_type(proto, &dtype, &shape);
  if (l->status == MICA_OK) l->status = mica_shape_count(shape, &count);
  if (l->status != MICA_OK) return (mica_value){0};
  if (l->widens) dtype = mica__onnx_widened(dtype);
  bool floating = mica_dtype_kind_of(dtype) == MICA_DTYPE_KIND_FLOAT;
  const bool many = floating && (count > SMALL || (l->small_weights && shape.rank > 0));
  if (many || count > 65536)
    if (!has_to_be_known(l, proto) && (!l->by_name || has_name(l, proto, name)))
      return add_weight(l, proto, name, dtype, shape);
  mica__onnx_tensor tensor = {0};
  l->status = mica__onnx_tensor_read(l->external, proto, &tensor);
  if (l->status == MICA_OK && l->widens) l->status = mica__onnx_tensor_widen(&tensor);
  mica_value value = {0};
  if (l->status == MICA_OK) value = mica_constant(l->graph, tensor.dtype, tensor.shape, tensor.data);
  mica__onnx_tensor_free(&tensor);
  return value;
}

mica_value mica__lower_sparse(mica__lowering *l, const Onnx__SparseTensorProto *proto) {
  mica__onnx_tensor tensor = {0};
  mica_value value = {0};
  l->status = mica__onnx_sparse_read(l->external, proto, &tensor);
  if (l->status == MICA_OK && l->widens) l->status = mica__onnx_tensor_widen(&tensor);
  if (l->status == MICA_OK) value = mica_constant(l->graph, tensor.dtype, tensor.shape, tensor.data);
  mica__onnx_tensor_free(&tensor);
  return value;
}

mica_value mica__scope_value(mica__lowering *l, const mica__onnx_node *node, const char *name) {
  mica__lower_value *found = mica__scope_find(l, name);
  if (!found) {
    mica__lower_fail(l, node, MICA_E_FORMAT, "no input, initialiser or node gives the value '%.80s'", name);
    return (mica_value){0};
  }
  if (found->value.graph) return found->value;
  if (found->tensor || found->sparse) {
    found->value = found->tensor ? mica__lower_tensor(l, found->tensor, name) : mica__lower_sparse(l, found->sparse);
    if (found->value.graph && found->tensor) mica__onnx_texts_in(found->tensor, &found->texts);
    if (found->value.graph) return found->value;
    mica__lower_fail(l, node, l->status == MICA_OK ? mica_graph_status(l->graph) : l->status, "%s",
                     l->status == MICA_OK ? mica_graph_message(l->graph) : mica_error_message());
    return found->value;
  }
  if (found->list)
    mica__lower_fail(l, node, MICA_E_UNSUPPORTED, "'%.80s' is a sequence, but is used as a tensor", name);
  else
    mica__lower_fail(l, node, MICA_E_FORMAT, "the value '%.80s' is needed here, but was not given", name);
  return (mica_value){0};
}
