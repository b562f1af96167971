/* Describes a model: its inputs, outputs and operators, and its metadata. */
#include "onnx/model.h"
#include "onnx/tensor.h"

#include <stdlib.h>
#include <string.h>

static mica_onnx_port tensor_port(const Onnx__TypeProto__Tensor *type, mica_onnx_port port) {
  port.kind = MICA_ONNX_KIND_TENSOR;
  port.type = mica__onnx_type_name(type->elem_type);
  port.has_dtype = mica__onnx_dtype(type->elem_type, &port.dtype);
  const Onnx__TensorShapeProto *shape = type->shape;
  port.has_shape = shape && shape->n_dim <= MICA_MAX_RANK;
  for (size_t i = 0; port.has_shape && i < shape->n_dim; i++) {
    const Onnx__TensorShapeProto__Dimension *dim = shape->dim[i];
    bool known = dim->has_dim_value && dim->dim_value >= 0;
    port.shape.dim[port.shape.rank] = known ? dim->dim_value : MICA_DYNAMIC;
    port.dim_name[port.shape.rank++] = known ? "" : mica__onnx_text(dim->dim_param);
  }
  return port;
}

static mica_onnx_port port_of(const Onnx__ValueInfoProto *value) {
  mica_onnx_port port = {
      .name = value->name, .kind = MICA_ONNX_KIND_OTHER, .type = "", .doc = mica__onnx_text(value->doc_string)};
  const Onnx__TypeProto *type = value->type;
  if (type && type->sequence_type) port.kind = MICA_ONNX_KIND_SEQUENCE;
  if (type && type->optional_type) port.kind = MICA_ONNX_KIND_OPTIONAL;
  return type && type->tensor_type ? tensor_port(type->tensor_type, port) : port;
}

size_t mica_onnx_input_count(const mica_onnx *model) { return model->input_count; }

mica_onnx_port mica_onnx_input(const mica_onnx *model, size_t index) {
  if (index >= model->input_count) return (mica_onnx_port){0};
  return port_of(model->proto->graph->input[model->inputs[index]]);
}

size_t mica_onnx_output_count(const mica_onnx *model) { return model->proto->graph->n_output; }

mica_onnx_port mica_onnx_output_port(const mica_onnx *model, size_t index) {
  const Onnx__GraphProto *graph = model->proto->graph;
  return index < graph->n_output ? port_of(graph->output[index]) : (mica_onnx_port){0};
}

size_t mica_onnx_operator_count(const mica_onnx *model) { return model->operator_count; }

mica_onnx_operator mica_onnx_operator_at(const mica_onnx *model, size_t index) {
  return index < model->operator_count ? model->operators[index] : (mica_onnx_operator){0};
}

/* Returns the number of nodes on the longest path through the graph. A node with bodies counts as one node, and so does
 * a call of a function. */
static size_t depth_of(const mica__onnx_graph *graph) {
  mica__name_table makers = {0};
  size_t *depths = calloc((size_t)graph->count + 1, sizeof *depths), deepest = 0;
  for (int32_t i = 0; depths && i < graph->count; i++) {
    const mica__onnx_node *node = &graph->nodes[i];
    for (int32_t k = 0; k < node->input_count; k++) {
      int32_t maker = mica__name_table_find(&makers, node->inputs[k]);
      if (maker >= 0 && depths[maker] > depths[i]) depths[i] = depths[maker];
    }
    depths[i]++;
    if (depths[i] > deepest) deepest = depths[i];
    for (int32_t k = 0; k < node->output_count; k++)
      if (*node->outputs[k] && mica__name_table_add(&makers, node->outputs[k], i) != MICA_OK) break;
  }
  mica__name_table_free(&makers);
  free(depths);
  return deepest;
}

/* Counts the weights of a node of ai.onnx.ml. They are attributes: lists of floats, or floating tensors. */
static void count_attributes(const Onnx__NodeProto *node, mica_onnx_info *info) {
  if (strcmp(mica__onnx_text(node->domain), "ai.onnx.ml") != 0) return;
  for (size_t i = 0; i < node->n_attribute; i++) {
    const Onnx__AttributeProto *a = node->attribute[i];
    mica_dtype dtype = MICA_F32;
    mica_shape shape;
    int64_t count = (int64_t)a->n_floats;
    if (a->t && (mica__onnx_tensor_type(a->t, &dtype, &shape) != MICA_OK ||
                 mica_dtype_kind_of(dtype) != MICA_DTYPE_KIND_FLOAT || mica_shape_count(shape, &count) != MICA_OK))
      continue;
    if (!count) continue;
    info->weights++;
    info->weight_elements += (uint64_t)count;
    info->weight_bytes += (uint64_t)count * mica_dtype_size(dtype);
  }
}

mica_onnx_info mica_onnx_describe(const mica_onnx *model) {
  const Onnx__ModelProto *proto = model->proto;
  mica_onnx_info info = {.producer = mica__onnx_text(proto->producer_name),
                         .producer_version = mica__onnx_text(proto->producer_version),
                         .ir_version = proto->ir_version,
                         .opset = mica__onnx_version(proto->opset_import, proto->n_opset_import, ""),
                         .nodes = proto->graph->n_node,
                         .depth = depth_of(&model->graph),
                         .weights = proto->graph->n_initializer,
                         .functions = proto->n_functions};
  mica__attempt_begin();
  for (size_t i = 0; i < proto->graph->n_initializer; i++) {
    mica_dtype dtype;
    mica_shape shape;
    int64_t count = 0;
    if (mica__onnx_tensor_type(proto->graph->initializer[i], &dtype, &shape) != MICA_OK) continue;
    if (mica_shape_count(shape, &count) != MICA_OK) continue;
    info.weight_elements += (uint64_t)count;
    info.weight_bytes += (uint64_t)count * mica_dtype_size(dtype);
  }
  for (size_t i = 0; i < proto->graph->n_node; i++) count_attributes(proto->graph->node[i], &info);
  mica__attempt_end();
  return info;
}

mica_onnx_text mica_onnx_metadata_at(const mica_onnx *model, size_t index) {
  if (index >= model->proto->n_metadata_props) return (mica_onnx_text){0};
  return (mica_onnx_text){mica__onnx_text(model->proto->metadata_props[index]->key),
                          mica__onnx_text(model->proto->metadata_props[index]->value)};
}

const char *mica_onnx_metadata(const mica_onnx *model, const char *key) {
  for (size_t i = 0; i < model->proto->n_metadata_props; i++)
    if (!strcmp(mica__onnx_text(model->proto->metadata_props[i]->key), key))
      return mica__onnx_text(model->proto->metadata_props[i]->value);
  return NULL;
}
