/* Finds the values that a body takes from outside, so that it can be lowered as a function with these values as
 * inputs. */
#include "onnx/flow/cut.h"

#include "base/element.h"
#include "compile/template.h"

#include <stdlib.h>
#include <string.h>

/* The names that a body reads from outside, in order of first use and without duplicates. own: the names that the body
 * defines; seen: the names already in the list. */
typedef struct reading {
  mica__name_table own, seen;
  const char **names;
  size_t count, capacity;
} reading;

static mica_status read_name(reading *r, const char *name) {
  if (!*name || mica__name_table_find(&r->own, name) >= 0 || mica__name_table_find(&r->seen, name) >= 0) return MICA_OK;
  if (r->count == r->capacity) {
    size_t capacity = r->capacity ? 2 * r->capacity : 32;
    const char **names = realloc(r->names, capacity * sizeof *names);
    if (!names) return mica__fail_nomem("a body");
    r->names = names;
    r->capacity = capacity;
  }
  r->names[r->count++] = name;
  return mica__name_table_add(&r->seen, name, 0);
}

static mica_status own_name(reading *r, const char *name) {
  if (!*name || mica__name_table_find(&r->own, name) >= 0) return MICA_OK;
  return mica__name_table_add(&r->own, name, 0);
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as bodies are nested, which the guard limits. */
static mica_status read_graph(reading *r, const mica__onnx_graph *graph) {
  for (int32_t i = 0; i < graph->count; i++) {
    const mica__onnx_node *node = &graph->nodes[i];
    for (int32_t k = 0; k < node->input_count; k++) MICA_TRY(read_name(r, node->inputs[k]));
    for (int32_t k = 0; k < node->body_count; k++) MICA_TRY(read_graph(r, &node->bodies[k]));
  }
  for (size_t i = 0; i < graph->proto->n_output; i++)
    MICA_TRY(read_name(r, mica__onnx_text(graph->proto->output[i]->name)));
  return MICA_OK;
}

static mica_status read_body(reading *r, const mica__onnx_graph *body) {
  const Onnx__GraphProto *proto = body->proto;
  for (size_t i = 0; i < proto->n_input; i++) MICA_TRY(own_name(r, mica__onnx_text(proto->input[i]->name)));
  for (size_t i = 0; i < proto->n_initializer; i++) MICA_TRY(own_name(r, mica__onnx_text(proto->initializer[i]->name)));
  for (size_t i = 0; i < proto->n_sparse_initializer; i++)
    if (proto->sparse_initializer[i]->values)
      MICA_TRY(own_name(r, mica__onnx_text(proto->sparse_initializer[i]->values->name)));
  for (int32_t i = 0; i < body->count; i++)
    for (int32_t k = 0; k < body->nodes[i].output_count; k++) MICA_TRY(own_name(r, body->nodes[i].outputs[k]));
  return read_graph(r, body);
}

static void free_reading(reading *r) {
  mica__name_table_free(&r->own);
  mica__name_table_free(&r->seen);
  free(r->names);
}

/* Returns a copy of the elements of a known value, which the caller frees; NULL if memory is short. */
static const void *elements(const mica__node *node) {
  int64_t count = mica__node_count(node);
  size_t bytes = (size_t)count * mica_dtype_size(node->type.dtype);
  void *data = malloc(bytes + 1);
  if (data && node->op == &mica__op_full)
    for (int64_t i = 0; i < count; i++) mica__element_set(node->type.dtype, data, i, mica__full_value(node));
  else if (data)
    memcpy(data, node->data, bytes);
  return data;
}

static const Onnx__TensorProto *weight_of(const mica__lowering *l, int32_t id) {
  for (size_t i = 0; i < l->weight_count; i++)
    if (l->weights[i].value.id == id) return l->weights[i].tensor;
  return NULL;
}

/* Describes a value from outside the body as an input of the function. *live becomes true if each run must pass the
 * value, because it is neither known nor a weight. */
static mica_status capture(const mica__lowering *l, const mica__lower_value *found, mica__lower_input *input,
                           bool *live) {
  *live = false;
  input->given = found->value.graph || found->tensor || found->sparse;
  if (!found->value.graph) {
    input->tensor = found->tensor;
    input->sparse = found->sparse;
    return MICA_OK;
  }
  const mica__node *node = mica__graph_node(l->graph, found->value.id);
  input->dtype = node->type.dtype;
  input->shape = node->type.shape;
  if (mica__lower_is_known(l->graph, found->value.id)) {
    input->data = elements(node);
    return input->data ? MICA_OK : mica__fail_nomem("a body");
  }
  input->tensor = weight_of(l, found->value.id);
  *live = !input->tensor;
  return MICA_OK;
}

/* Adds an input to the function for each name that the body reads from outside. operands receives the value to pass for
 * each input, null if runs need not pass it. *list becomes true if one of the values is a sequence. */
static mica_status capture_all(mica__lowering *l, const reading *r, mica__function *f, mica_value *operands,
                               bool *list) {
  for (size_t i = 0; i < r->count; i++) {
    const mica__lower_value *found = mica__scope_find(l, r->names[i]);
    bool live = false;
    /* An inner body defines the name. If none does, lowering the body reports that the name is unknown. */
    if (!found) continue;
    if (found->list) *list = true;
    mica__lower_input *input = &f->inputs[f->input_count++];
    *input = (mica__lower_input){.name = r->names[i]};
    MICA_TRY(capture(l, found, input, &live));
    operands[f->input_count - 1] = live ? found->value : (mica_value){0};
  }
  return MICA_OK;
}

mica_status mica__function_capture(mica__lowering *l, const mica__onnx_node *node, const mica__onnx_graph *body,
                                   const char *const *formals, size_t formal_count, bool counts,
                                   mica__function **function, mica_value **operands) {
  reading r = {0};
  bool list = false;
  *function = NULL;
  mica_status status = read_body(&r, body);
  mica__function *f = NULL;
  *operands = mica__lower_room(l, formal_count + r.count, sizeof **operands);
  if (status == MICA_OK && *operands)
    f = mica__function_create(l->trace->program->function->runner, body, formal_count + r.count, counts);
  if (status == MICA_OK && (!f || !*operands)) status = mica__fail_nomem("a body");
  if (status == MICA_OK) {
    f->input_count = formal_count;
    for (size_t i = 0; i < formal_count; i++) f->inputs[i] = (mica__lower_input){.name = formals[i], .given = true};
    status = capture_all(l, &r, f, *operands, &list);
  }
  free_reading(&r);
  if (status == MICA_OK && !list)
    *function = f;
  else
    mica__function_destroy(f);
  return status == MICA_OK ? MICA_OK : mica__lower_fail(l, node, status, "%s", mica_error_message());
}
