/* mica_onnx_build: adds the nodes of a model to a graph that the caller made. */
#include "compile/template.h"
#include "onnx/attributes.h"
#include "onnx/lowering.h"
#include "onnx/training.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The state of mica_onnx_build. `known` lists the initialisers that must become constants, because lowering needs
 * their elements. */
typedef struct building {
  /* A trial graph, in which SOME_EXTENT replaces open dimensions; NULL if no dimension is open. */
  mica_graph *tried;
  bool open;
  const mica_onnx *model;
  mica__external external;
  const mica_onnx_build_config *config;
  mica__lower_input *inputs;
  const Onnx__TensorProto **known;
  size_t known_count;
} building;

static mica__lowering lowering_of(building *b, mica_graph *graph, mica_value *values) {
  return (mica__lowering){.model = (mica_onnx *)b->model,
                          .external = &b->external,
                          .graph = graph,
                          .root = &b->model->graph,
                          .small_weights = b->config->small_weights,
                          .by_name = true,
                          .widens = b->config->widen,
                          .stop_at = b->config->stop_at,
                          .inputs = b->inputs,
                          .input_values = values,
                          .input_count = b->model->input_count,
                          .known = b->known,
                          .known_count = b->known_count};
}

/* The extent that replaces open dimensions in the trial. A model is unlikely to contain this number, so a node that
 * depends on the extent differs between the trial and the graph with open dimensions. */
#define SOME_EXTENT 7919
static mica_shape with_extents(mica_shape shape) {
  for (int32_t k = 0; k < shape.rank; k++)
    if (shape.dim[k] == MICA_DYNAMIC) shape.dim[k] = SOME_EXTENT;
  return shape;
}

/* Makes the inputs of a temporary graph: like the given inputs, but with SOME_EXTENT for open dimensions. Inputs that
 * are constants stay constants. */
static mica_status copy_inputs(const building *b, const mica_value *inputs, mica_graph *graph, mica_value *copies) {
  for (size_t i = 0; i < b->model->input_count; i++) {
    mica__node *node = mica__graph_node(inputs[i].graph, inputs[i].id);
    char name[32];
    snprintf(name, sizeof name, "input #%zu", i);
    if (node->op == &mica__op_constant)
      copies[i] = mica_constant(graph, node->type.dtype, node->type.shape, node->data);
    else if (node->op == &mica__op_full)
      copies[i] = mica_full(graph, node->type.dtype, node->type.shape, mica__full_value(node));
    else
      copies[i] = mica_input(graph, name, node->type.dtype, with_extents(node->type.shape));
    if (!copies[i].graph) return mica__fail(mica_graph_status(graph), "%s", mica_graph_message(graph));
  }
  return MICA_OK;
}

/* Finds the initialisers that must be constants. Lowers the model into a temporary graph again and again, each time
 * with one further value as a constant, until lowering demands no other one. If dimensions are open, b->tried keeps the
 * last graph. */
static mica_status find_known(building *b, const mica_value *inputs, mica_value *outputs, mica_value *copies) {
  for (bool again = true; again;) {
    mica_graph *graph = NULL;
    MICA_TRY(mica_graph_create(&graph));
    mica__lowering l = lowering_of(b, graph, copies);
    mica_status status = copy_inputs(b, inputs, graph, copies);
    if (status == MICA_OK) status = mica__lower_model(&l, outputs);
    again = status == MICA_OK && l.demands;
    const Onnx__TensorProto **known = again ? realloc(b->known, (b->known_count + 1) * sizeof *known) : NULL;
    if (known) {
      b->known = known;
      known[b->known_count++] = l.demanded_tensor;
    } else if (again) {
      status = mica__fail_nomem("building a model's graph");
    }
    mica__lower_free(&l);
    if (status == MICA_OK && !again && b->open)
      b->tried = graph;
    else
      mica_graph_destroy(graph);
    MICA_TRY(status);
  }
  return MICA_OK;
}

/* --- open dimensions --- */

/* True if the types have the same dtype and rank, and the same extent in every dimension that is not open in `open`. */
static bool same_type(mica__type known, mica__type open) {
  bool same = known.dtype == open.dtype && known.shape.rank == open.shape.rank;
  for (int32_t k = 0; same && k < open.shape.rank; k++)
    same = open.shape.dim[k] == MICA_DYNAMIC || open.shape.dim[k] == known.shape.dim[k];
  return same;
}

/* Compares the attributes of two nodes of the same op. Skips attributes that are shapes, because the types of the nodes
 * already show them. */
static bool same_attrs(const mica__node *known, const mica__node *open) {
  static const size_t sizes[] = {[MICA__ATTR_INT] = sizeof(int64_t),
                                 [MICA__ATTR_BOOL] = sizeof(bool),
                                 [MICA__ATTR_REAL] = sizeof(double),
                                 [MICA__ATTR_ENUM] = sizeof(int32_t),
                                 [MICA__ATTR_DTYPE] = sizeof(mica_dtype),
                                 [MICA__ATTR_AXES] = sizeof(uint32_t),
                                 [MICA__ATTR_PER_AXIS] = MICA_MAX_RANK * sizeof(int64_t),
                                 [MICA__ATTR_SPATIAL] = MICA__MAX_SPATIAL * sizeof(int64_t),
                                 [MICA__ATTR_SHAPE] = 0,
                                 [MICA__ATTR_POINTER] = sizeof(void *)};
  const mica__attr_list *list = known->op->attrs;
  bool same = true;
  for (int32_t i = 0; list && same && i < list->count; i++) {
    const mica__attr *row = &list->rows[i];
    same = !memcmp((const char *)known->attrs + row->offset, (const char *)open->attrs + row->offset, sizes[row->kind]);
  }
  return same;
}

static bool same_node(const mica__node *known, const mica__node *open) {
  if (known->op != open->op || !same_type(known->type, open->type) || !same_attrs(known, open)) return false;
  return known->op != &mica__op_constant || !memcmp(known->data, open->data, mica__node_bytes(known));
}

/* Compares the nodes that the model added to the graph, which come after node `first`, with the nodes of the trial.
 * Nodes that no output depends on are skipped. MICA_E_UNSUPPORTED: a node differs, so it depends on the extent of an
 * open dimension. */
static mica_status compare(const building *b, const mica_graph *graph, int32_t first, const mica_value *outputs,
                           size_t output_count) {
  const int32_t before = (int32_t)b->model->input_count;
  bool *needed = calloc((size_t)graph->count + 1, sizeof *needed), same = true;
  if (!needed) return mica__fail_nomem("building a model's graph");
  for (size_t i = 0; i < output_count; i++) needed[outputs[i].id - 1] = true;
  same = graph->count - first == b->tried->count - before;
  for (int32_t id = graph->count; same && id > first; id--) {
    const mica__node *node = mica__graph_node(graph, id);
    if (!needed[id - 1]) continue;
    same = same_node(mica__graph_node(b->tried, id - first + before), node);
    for (int32_t k = 0; k < node->input_count; k++) needed[node->inputs[k] - 1] = true;
  }
  free(needed);
  if (same) return MICA_OK;
  return mica__fail(
      MICA_E_UNSUPPORTED,
      "%s: the model's graph depends on an extent of its inputs that is not known; give inputs of fixed shapes",
      b->model->name);
}

static mica_status list_parameters(const mica__lowering *l, mica_onnx_parameter **parameters, size_t *count) {
  *parameters = calloc(l->weight_count + 1, sizeof **parameters);
  if (!*parameters) return mica__fail_nomem("a model's weights");
  *count = l->weight_count;
  for (size_t i = 0; i < l->weight_count; i++) {
    mica_onnx_parameter *p = &(*parameters)[i];
    snprintf(p->name, sizeof p->name, "%s", l->weights[i].parameter);
    p->file_name = l->weights[i].file_name;
    p->value = l->weights[i].value;
  }
  return MICA_OK;
}

static mica_status build(building *b, mica_graph *graph, const mica_value *inputs, mica_value *outputs,
                         mica_onnx_parameter **parameters, size_t *parameter_count) {
  size_t count = b->model->input_count;
  mica_value *values = calloc(count + 1, sizeof *values);
  if (!values) return mica__fail_nomem("building a model's graph");
  mica_status status = find_known(b, inputs, outputs, values);
  mica__lowering l = lowering_of(b, graph, values);
  l.make_parameter = b->config->parameter;
  l.parameter_user = b->config->user;
  if (count) memcpy(values, inputs, count * sizeof *values);
  const int32_t first = graph->count;
  if (status == MICA_OK) status = mica__lower_model(&l, outputs);
  if (status == MICA_OK && b->open)
    status = compare(b, graph, first, outputs, b->config->stop_at ? 1 : mica_onnx_output_count(b->model));
  if (status == MICA_OK) status = list_parameters(&l, parameters, parameter_count);
  mica__lower_free(&l);
  free(values);
  return status;
}

static mica_status check_inputs(const mica_onnx *model, const mica_graph *graph, const mica_value *inputs, size_t count,
                                bool widens) {
  if (count != model->input_count)
    return mica__fail(MICA_E_INVALID, "mica_onnx_build: %s has %zu inputs, but %zu values were given", model->name,
                      model->input_count, count);
  for (size_t i = 0; i < count; i++) {
    mica_onnx_port port = mica_onnx_input(model, i);
    if (inputs[i].graph != graph)
      return mica__fail(MICA_E_INVALID, "mica_onnx_build: the value for input '%s' must be of the graph that is given",
                        port.name);
    const mica_dtype dtype = widens ? mica__onnx_widened(port.dtype) : port.dtype;
    if (port.has_dtype && dtype != mica_value_dtype(inputs[i]))
      return mica__fail(MICA_E_DTYPE, "%s: input '%s' is %s, but its value is %s", model->name, port.name,
                        mica_dtype_name(dtype), mica_dtype_name(mica_value_dtype(inputs[i])));
  }
  return MICA_OK;
}

mica_status mica_onnx_build(const mica_onnx *model, mica_graph *graph, const mica_value *inputs, size_t input_count,
                            mica_value *outputs, size_t output_count, const mica_onnx_build_config *config,
                            mica_onnx_parameter **parameters, size_t *parameter_count) {
  static const mica_onnx_build_config standard = {0};
  if (!model || !graph || (input_count && !inputs) || !outputs || !parameters || !parameter_count)
    return mica__fail(MICA_E_INVALID,
                      "mica_onnx_build: model, graph, inputs, outputs, parameters or parameter_count is NULL");
  building b = {.model = model, .external = {.folder = model->external.folder}, .config = config ? config : &standard};
  size_t needed = b.config->stop_at ? 1 : mica_onnx_output_count(model);
  if (output_count < needed)
    return mica__fail(MICA_E_INVALID, "mica_onnx_build: there is room for %zu outputs, but %zu are needed",
                      output_count, needed);
  MICA_TRY(check_inputs(model, graph, inputs, input_count, b.config->widen));
  MICA_TRY(mica__onnx_check_attributes(model));
  b.inputs = calloc(input_count + 1, sizeof *b.inputs);
  if (!b.inputs) return mica__fail_nomem("building a model's graph");
  for (size_t i = 0; i < input_count; i++) {
    b.open = b.open || mica__shape_is_open(mica_value_shape(inputs[i]));
    b.inputs[i] = (mica__lower_input){.name = mica_onnx_input(model, i).name, .given = true};
    b.inputs[i].dtype = mica_value_dtype(inputs[i]);
    b.inputs[i].shape = mica_value_shape(inputs[i]);
  }
  mica_status status = build(&b, graph, inputs, outputs, parameters, parameter_count);
  b.external.folder = NULL;
  mica__external_close(&b.external);
  free(b.inputs);
  free(b.known);
  mica_graph_destroy(b.tried);
  return status;
}

const char *mica_onnx_value_at(const mica_onnx *model, size_t index) {
  if (!model) return NULL;
  for (int32_t i = 0; i < model->graph.count; i++) {
    const mica__onnx_node *node = &model->graph.nodes[i];
    if (index < (size_t)node->output_count) return node->outputs[index];
    index -= (size_t)node->output_count;
  }
  return NULL;
}

bool mica__onnx_is_statistic(const mica_onnx *model, const char *name) {
  for (int32_t i = 0; i < model->graph.count; i++) {
    const mica__onnx_node *node = &model->graph.nodes[i];
    if (strcmp(node->op, "BatchNormalization") != 0 || *node->domain) continue;
    for (int32_t k = 3; k < node->input_count && k < 5; k++)
      if (!strcmp(node->inputs[k], name)) return true;
  }
  return false;
}

/* Finds the initialiser called `name`, or else the node Constant of the model's graph whose result has this name.
 * Returns its tensor; NULL if there is neither. */
static const Onnx__TensorProto *find_weight(const mica_onnx *model, const char *name) {
  const int32_t at = mica__name_table_find(&model->initials, name);
  if (at >= 0) return (size_t)at < model->proto->graph->n_initializer ? model->proto->graph->initializer[at] : NULL;
  for (int32_t i = 0; i < model->graph.count; i++) {
    const mica__onnx_node *node = &model->graph.nodes[i];
    if (strcmp(node->op, "Constant") || *node->domain || node->output_count != 1 || strcmp(node->outputs[0], name))
      continue;
    const Onnx__AttributeProto *value = mica__onnx_attr(node, "value");
    return value ? value->t : NULL;
  }
  return NULL;
}

/* --- the end of a model --- */

/* Returns the node of the model's graph that computes the value. NULL if no node does, or if its operator is not ONNX's
 * own, has no operands or has several results. */
static const mica__onnx_node *find_maker(const mica_onnx *model, const char *value) {
  for (int32_t i = 0; i < model->graph.count; i++) {
    const mica__onnx_node *node = &model->graph.nodes[i];
    if (!*node->domain && node->output_count == 1 && node->input_count && !strcmp(node->outputs[0], value)) return node;
  }
  return NULL;
}

static bool is_softmax(const mica__onnx_node *node) {
  return node && (!strcmp(node->op, "Softmax") || !strcmp(node->op, "LogSoftmax"));
}

const char *mica__onnx_before_softmax(const mica_onnx *model) {
  const mica__onnx_node *last = find_maker(model, mica_onnx_output_port(model, 0).name);
  return is_softmax(last) ? last->inputs[0] : NULL;
}

/* Returns the node that computes the first output, before any Identity and Cast. NULL if find_maker finds no such
 * node. */
static const mica__onnx_node *find_last(const mica_onnx *model) {
  const mica__onnx_node *last = find_maker(model, mica_onnx_output_port(model, 0).name);
  while (last && (!strcmp(last->op, "Identity") || !strcmp(last->op, "Cast")))
    last = find_maker(model, last->inputs[0]);
  return last;
}

bool mica__onnx_ends_in_softmax(const mica_onnx *model) { return is_softmax(find_last(model)); }

const char *mica__onnx_before_shares(const mica_onnx *model) {
  const mica__onnx_node *last = find_last(model);
  return is_softmax(last) || (last && !strcmp(last->op, "Sigmoid")) ? last->inputs[0] : NULL;
}

/* If a node computes `value` as OP(x, c) or OP(c, x), and c is a constant that equals `number` in f32, returns the name
 * of x; else NULL. */
static const char *operand_beside(const mica_onnx *model, const char *value, const char *op, double number) {
  const mica__onnx_node *node = find_maker(model, value);
  if (!node || node->input_count != 2 || strcmp(node->op, op) != 0) return NULL;
  for (int i = 0; i < 2; i++) {
    const Onnx__TensorProto *weight = find_weight(model, node->inputs[i]);
    mica_dtype dtype;
    double is;
    mica__attempt_begin();
    const bool read = weight && mica__onnx_tensor_number(weight, &dtype, &is) == MICA_OK;
    mica__attempt_end();
    if (read && (float)is == (float)number) return node->inputs[1 - i];
  }
  return NULL;
}

const char *mica__onnx_before_affine(const mica_onnx *model, double scale, double shift) {
  const char *y = mica_onnx_output_port(model, 0).name, *sum = operand_beside(model, y, "Add", shift);
  /* Exporters omit the addition of 0 and the multiplication by 1. */
  if (!sum && (float)shift != 0) return NULL;
  if (sum) y = sum;
  const char *product = operand_beside(model, y, "Mul", scale);
  if (!product && (float)scale != 1) return NULL;
  return product ? product : sum;
}

bool mica__onnx_is_quantized(const mica_onnx *model) {
  for (int32_t i = 0; i < model->graph.count; i++)
    if (strstr(model->graph.nodes[i].op, "QuantizeLinear") || !strcmp(model->graph.nodes[i].op, "DequantizeLinear"))
      return true;
  return false;
}

/* --- weights --- */

static mica_status upload(const mica_onnx *model, mica_queue *queue, const char *name, mica__onnx_tensor *read,
                          mica_tensor *tensor) {
  char is[MICA_SHAPE_TEXT], should[MICA_SHAPE_TEXT];
  if (mica_tensor_dtype(tensor) == MICA_F32) MICA_TRY(mica__onnx_tensor_widen(read));
  if (read->dtype != mica_tensor_dtype(tensor))
    return mica__fail(MICA_E_DTYPE, "%s: '%.80s' is %s, but the tensor is %s", model->name, name,
                      mica_dtype_name(read->dtype), mica_dtype_name(mica_tensor_dtype(tensor)));
  if (!mica_shape_equal(read->shape, mica_tensor_shape(tensor)))
    return mica__fail(MICA_E_SHAPE, "%s: '%.80s' has the shape %s, but the tensor has %s", model->name, name,
                      mica_shape_format(read->shape, is), mica_shape_format(mica_tensor_shape(tensor), should));
  return read->count ? mica_tensor_upload(queue, tensor, read->data, mica_tensor_bytes(tensor)) : MICA_OK;
}

mica_status mica_onnx_load(const mica_onnx *model, mica_queue *queue, const char *file_name, mica_tensor *tensor) {
  if (!model || !queue || !file_name || !tensor)
    return mica__fail(MICA_E_INVALID, "mica_onnx_load: model, queue, file_name or tensor is NULL");
  const Onnx__TensorProto *proto = find_weight(model, file_name);
  if (!proto) return mica__fail(MICA_E_NOT_FOUND, "%s has no weight '%.80s'", model->name, file_name);
  mica__external external = {.folder = model->external.folder};
  mica__onnx_tensor read = {0};
  mica_status status = mica__onnx_tensor_read(&external, proto, &read);
  if (status != MICA_OK) status = mica__fail_in(status, model->name);
  if (status == MICA_OK) status = upload(model, queue, file_name, &read, tensor);
  mica__onnx_tensor_free(&read);
  external.folder = NULL;
  mica__external_close(&external);
  return status;
}

mica_status mica_onnx_initial_read(const mica_onnx *model, size_t index, const char **name, mica_dtype *dtype,
                                   mica_shape *shape, void **data) {
  if (!model || !name || !dtype || !shape || !data)
    return mica__fail(MICA_E_INVALID, "mica_onnx_initial_read: model, name, dtype, shape or data is NULL");
  const Onnx__GraphProto *graph = model->proto->graph;
  *name = NULL;
  if (index >= graph->n_initializer) return MICA_OK;
  mica__external external = {.folder = model->external.folder};
  mica__onnx_tensor read = {0};
  mica_status status = mica__onnx_tensor_read(&external, graph->initializer[index], &read);
  if (status != MICA_OK) status = mica__fail_in(status, model->name);
  const size_t bytes = (size_t)read.count * mica_dtype_size(read.dtype);
  *data = status == MICA_OK ? malloc(bytes + 1) : NULL;
  if (status == MICA_OK && !*data) status = mica__fail_nomem("a model's weights");
  if (status == MICA_OK) {
    if (bytes) memcpy(*data, read.data, bytes);
    *name = mica__onnx_text(graph->initializer[index]->name);
    *dtype = read.dtype;
    *shape = read.shape;
  }
  mica__onnx_tensor_free(&read);
  external.folder = NULL;
  mica__external_close(&external);
  return status;
}
