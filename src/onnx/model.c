#include "onnx/model.h"

#include "base/signature.h"
#include "base/text.h"
#include "onnx/guard.h"
#include "onnx/ops/table.h"
#include "onnx/tensor.h"
#include "onnx/texts.h"

#include <stdlib.h>
#include <string.h>

#define MOST_FUNCTIONS 4096

/* --- functions --- */

static mica_status follow_calls(const mica_onnx *model, const mica__onnx_graph *graph);

/* NOLINTNEXTLINE(misc-no-recursion): at most as deep as the number of functions. */
static mica_status follow_call(const mica_onnx *model, mica__onnx_function *function) {
  if (function->done) return MICA_OK;
  if (function->open)
    return mica__fail(MICA_E_FORMAT, "%s: the function '%.80s' calls itself", model->name,
                      mica__onnx_text(function->proto->name));
  function->open = true;
  MICA_TRY(follow_calls(model, &function->body));
  function->done = true;
  return MICA_OK;
}

/* NOLINTNEXTLINE(misc-no-recursion): see follow_call. */
static mica_status follow_calls(const mica_onnx *model, const mica__onnx_graph *graph) {
  for (int32_t i = 0; i < graph->count; i++) {
    const mica__onnx_node *node = &graph->nodes[i];
    if (node->function) MICA_TRY(follow_call(model, &model->functions[node->function - model->functions]));
    for (int32_t k = 0; k < node->body_count; k++) MICA_TRY(follow_calls(model, &node->bodies[k]));
  }
  return MICA_OK;
}

static mica_status make_functions(mica_onnx *model) {
  Onnx__ModelProto *proto = model->proto;
  if (proto->n_functions > MOST_FUNCTIONS)
    return mica__fail(MICA_E_FORMAT, "%s has %zu functions; Mica reads at most %d", model->name, proto->n_functions,
                      MOST_FUNCTIONS);
  model->functions = calloc(proto->n_functions + 1, sizeof *model->functions);
  if (!model->functions) return mica__fail_nomem(model->name);
  for (size_t i = 0; i < proto->n_functions; i++) model->functions[i].proto = proto->functions[i];
  model->function_count = (int32_t)proto->n_functions;
  for (int32_t i = 0; i < model->function_count; i++) {
    const Onnx__FunctionProto *f = model->functions[i].proto;
    MICA_TRY(mica__onnx_graph_make(model, f->node, f->n_node, f->opset_import, f->n_opset_import,
                                   &model->functions[i].body));
  }
  for (int32_t i = 0; i < model->function_count; i++) MICA_TRY(follow_call(model, &model->functions[i]));
  return MICA_OK;
}

/* --- external data --- */

/* Checks external data when the model is opened. A fault is then reported at once, and not in the first run that needs
 * the data. */
/* NOLINTNEXTLINE(misc-no-recursion): as deep as bodies are nested, which the guard limits. */
static mica_status check_external(mica_onnx *model, const mica__onnx_graph *graph) {
  const Onnx__GraphProto *proto = graph->proto;
  for (size_t i = 0; proto && i < proto->n_initializer; i++)
    MICA_TRY(mica__onnx_tensor_check_external(&model->external, proto->initializer[i]));
  for (size_t i = 0; proto && i < proto->n_sparse_initializer; i++) {
    MICA_TRY(mica__onnx_tensor_check_external(&model->external, proto->sparse_initializer[i]->values));
    MICA_TRY(mica__onnx_tensor_check_external(&model->external, proto->sparse_initializer[i]->indices));
  }
  for (int32_t i = 0; i < graph->count; i++) {
    const mica__onnx_node *node = &graph->nodes[i];
    for (int32_t k = 0; k < node->attr_count; k++)
      MICA_TRY(mica__onnx_tensor_check_external(&model->external, node->attrs[k]->t));
    for (int32_t k = 0; k < node->body_count; k++) MICA_TRY(check_external(model, &node->bodies[k]));
  }
  return MICA_OK;
}

/* --- opening --- */

static mica_status check_texts(const mica_onnx *model) {
  const Onnx__GraphProto *graph = model->proto->graph;
  if (!graph) return mica__fail(MICA_E_FORMAT, "%s is not an ONNX model: it has no graph", model->name);
  for (size_t i = 0; i < graph->n_input; i++)
    if (!graph->input[i]->name) return mica__fail(MICA_E_FORMAT, "%s: input %zu has no name", model->name, i);
  for (size_t i = 0; i < graph->n_output; i++)
    if (!graph->output[i]->name) return mica__fail(MICA_E_FORMAT, "%s: output %zu has no name", model->name, i);
  return MICA_OK;
}

/* Adds the initialisers to the table model->initials, and lists in model->inputs the inputs that have no
 * initialiser. */
static mica_status list_inputs(mica_onnx *model) {
  const Onnx__GraphProto *graph = model->proto->graph;
  size_t initials = graph->n_initializer + graph->n_sparse_initializer;
  for (size_t i = 0; i < initials; i++) {
    const Onnx__TensorProto *tensor =
        i < graph->n_initializer ? graph->initializer[i] : graph->sparse_initializer[i - graph->n_initializer]->values;
    const char *name = tensor ? mica__onnx_text(tensor->name) : "";
    if (mica__name_table_find(&model->initials, name) >= 0)
      return mica__fail(MICA_E_FORMAT, "%s: two initial values have the name '%.80s'", model->name, name);
    MICA_TRY(mica__name_table_add(&model->initials, name, (int32_t)i));
  }
  model->inputs = calloc(graph->n_input + 1, sizeof *model->inputs);
  if (!model->inputs) return mica__fail_nomem(model->name);
  for (size_t i = 0; i < graph->n_input; i++)
    if (mica__name_table_find(&model->initials, graph->input[i]->name) < 0)
      model->inputs[model->input_count++] = (int32_t)i;
  return MICA_OK;
}

static mica_status open_bytes(mica_onnx *model, const void *data, size_t bytes) {
  MICA_TRY(mica__onnx_guard(model->name, &onnx__model_proto__descriptor, data, bytes));
  model->proto = onnx__model_proto__unpack(NULL, bytes, data);
  if (!model->proto)
    return mica__fail(MICA_E_FORMAT, "%s is not an ONNX model: protobuf-c cannot unpack it", model->name);
  MICA_TRY(check_texts(model));
  Onnx__ModelProto *proto = model->proto;
  MICA_TRY(mica__onnx_lift_constants(proto->graph));
  MICA_TRY(list_inputs(model));
  MICA_TRY(make_functions(model));
  model->graph.proto = proto->graph;
  MICA_TRY(mica__onnx_graph_make(model, proto->graph->node, proto->graph->n_node, proto->opset_import,
                                 proto->n_opset_import, &model->graph));
  MICA_TRY(follow_calls(model, &model->graph));
  MICA_TRY(mica__onnx_texts_open(model));
  for (size_t i = 0; i < model->operator_count; i++) {
    mica_onnx_operator *used = &model->operators[i];
    used->supported = used->version <= mica__onnx_newest(used->domain) &&
                      mica__onnx_op_find(used->domain, used->name, used->version) != NULL;
  }
  return MICA_OK;
}

/* folder: the folder of external data, NULL if the model is in memory. The model owns it; it is freed also after a
 * failure. */
static mica_status open_named(const char *name, char *folder, const void *data, size_t bytes, mica_onnx **out) {
  mica_onnx *model = calloc(1, sizeof *model);
  if (!model) {
    free(folder);
    return mica__fail_nomem("a model");
  }
  model->external.folder = folder;
  model->name = mica__strdup(name);
  mica_status status = model->name ? open_bytes(model, data, bytes) : mica__fail_nomem("a model");
  if (status == MICA_OK && folder) {
    status = check_external(model, &model->graph);
    if (status != MICA_OK) status = mica__fail(status, "%s: %s", model->name, mica_error_message());
  }
  if (status == MICA_OK)
    *out = model;
  else
    mica_onnx_close(model);
  return status;
}

mica_status mica_onnx_open(const char *path, mica_onnx **model) {
  if (!path || !model) return mica__fail(MICA_E_INVALID, "mica_onnx_open: path or model is NULL");
  const unsigned char *data = NULL;
  size_t bytes = 0;
  MICA_TRY(mica__file_map_signed(path, &data, &bytes));
  char *folder = mica__strdup(path), *slash = folder ? strrchr(folder, '/') : NULL;
  if (slash && slash > folder)
    *slash = '\0';
  else if (folder && !slash)
    memcpy(folder, ".", *folder ? 2 : 1);
  else if (slash)
    slash[1] = '\0';
  mica_status status = folder ? open_named(path, folder, data, bytes, model) : mica__fail_nomem("a model");
  mica__file_unmap(data, bytes);
  return status;
}

mica_status mica_onnx_open_memory(const char *name, const void *data, size_t bytes, mica_onnx **model) {
  if (!name || (!data && bytes) || !model)
    return mica__fail(MICA_E_INVALID, "mica_onnx_open_memory: name, data or model is NULL");
  return open_named(name, NULL, bytes ? data : "", bytes, model);
}

void mica_onnx_close(mica_onnx *model) {
  if (!model) return;
  mica__onnx_graph_free(&model->graph);
  for (int32_t i = 0; i < model->function_count; i++) mica__onnx_graph_free(&model->functions[i].body);
  free(model->functions);
  for (size_t i = 0; i < model->defined_count; i++) {
    free(model->defined[i].domain);
    free(model->defined[i].op);
  }
  free(model->defined);
  mica__onnx_texts_close(model);
  free(model->operators);
  free(model->inputs);
  mica__name_table_free(&model->initials);
  if (model->proto) onnx__model_proto__free_unpacked(model->proto, NULL);
  mica__external_close(&model->external);
  free(model->name);
  free(model);
}
