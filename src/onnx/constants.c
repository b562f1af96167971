/* Turns the nodes Constant of a graph that hold a tensor into initialisers, so that code that lists, trains or
 * quantises weights has to look only at initialisers. PaddlePaddle's exporter writes all weights as nodes
 * Constant. */
#include "onnx/model.h"
#include "onnx/ops/table.h"
#include "onnx/tensor.h"

#include <stdlib.h>
#include <string.h>

/* The tensor of a node Constant; NULL for other nodes, for Constants that hold something else, and if Mica lacks the
 * tensor's dtype. */
static Onnx__TensorProto *weight_of(const Onnx__NodeProto *node) {
  if (strcmp(mica__onnx_text(node->op_type), "Constant") || *mica__onnx_text(node->domain)) return NULL;
  if (node->n_attribute != 1 || node->n_output != 1 || !*mica__onnx_text(node->output[0])) return NULL;
  const Onnx__AttributeProto *value = node->attribute[0];
  mica_dtype dtype = MICA_I64;
  if (strcmp(mica__onnx_text(value->name), "value") || !value->t) return NULL;
  if (value->has_type && value->type != MICA__ONNX_TENSOR) return NULL;
  return mica__onnx_dtype(value->t->data_type, &dtype) ? value->t : NULL;
}

static mica_status note_names(const Onnx__GraphProto *graph, mica__name_table *names) {
  for (size_t i = 0; i < graph->n_initializer + graph->n_input; i++) {
    const char *name = mica__onnx_text(i < graph->n_initializer ? graph->initializer[i]->name
                                                                : graph->input[i - graph->n_initializer]->name);
    if (mica__name_table_find(names, name) < 0) MICA_TRY(mica__name_table_add(names, name, 0));
  }
  return MICA_OK;
}

/* Moves the tensor of a node Constant to the graph's initialisers and frees the node. The array of initialisers
 * must have room for it. */
static void lift(Onnx__GraphProto *graph, Onnx__NodeProto *node, Onnx__TensorProto *tensor) {
  free(tensor->name);
  tensor->name = node->output[0];
  node->n_output = 0;
  node->attribute[0]->t = NULL;
  graph->initializer[graph->n_initializer++] = tensor;
  onnx__node_proto__free_unpacked(node, NULL);
}

static mica_status lift_all(Onnx__GraphProto *graph, mica__name_table *names) {
  size_t count = 0, kept = 0;
  for (size_t i = 0; i < graph->n_node; i++) count += weight_of(graph->node[i]) != NULL;
  if (!count) return MICA_OK;
  Onnx__TensorProto **initials = realloc(graph->initializer, (graph->n_initializer + count) * sizeof *initials);
  if (!initials) return mica__fail_nomem("a model");
  graph->initializer = initials;
  MICA_TRY(note_names(graph, names));
  mica_status status = MICA_OK;
  for (size_t i = 0; i < graph->n_node; i++) {
    Onnx__NodeProto *node = graph->node[i];
    Onnx__TensorProto *tensor = status == MICA_OK ? weight_of(node) : NULL;
    /* If the name is already used, keep the node: the code that reads the graph later reports the duplicate name. */
    if (tensor && mica__name_table_find(names, node->output[0]) >= 0) tensor = NULL;
    if (tensor) status = mica__name_table_add(names, node->output[0], 0);
    if (tensor && status == MICA_OK)
      lift(graph, node, tensor);
    else
      graph->node[kept++] = node;
  }
  graph->n_node = kept;
  return status;
}

mica_status mica__onnx_lift_constants(Onnx__GraphProto *graph) {
  mica__name_table names = {0};
  const mica_status status = lift_all(graph, &names);
  mica__name_table_free(&names);
  return status;
}
