#include "ir/graph.h"

#include "base/number.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const mica_value null_value = {0};

mica_status mica_graph_create(mica_graph **out) {
  if (!out) return mica__fail(MICA_E_INVALID, "mica_graph_create: graph is NULL");
  mica_graph *graph = calloc(1, sizeof *graph);
  if (!graph) return mica__fail_nomem("a graph");
  *out = graph;
  return MICA_OK;
}

void mica_graph_destroy(mica_graph *graph) {
  if (!graph) return;
  for (int32_t i = 0; i < graph->count; i++) {
    free(graph->nodes[i].inputs);
    free(graph->nodes[i].attrs);
    free(graph->nodes[i].data);
    free(graph->nodes[i].name);
    free(graph->nodes[i].mark);
  }
  free(graph->nodes);
  mica__name_table_free(&graph->names);
  free(graph->message);
  free(graph);
}

mica_status mica_graph_status(const mica_graph *graph) { return graph ? graph->status : MICA_E_INVALID; }

const char *mica_graph_message(const mica_graph *graph) {
  if (!graph || graph->status == MICA_OK) return "";
  return graph->message ? graph->message : mica_status_text(graph->status);
}

mica_value mica__graph_fail_with(mica_graph *graph, mica_status status) {
  if (graph->status != MICA_OK) return null_value;
  graph->status = status;
  graph->message = mica__strdup(mica_error_message());
  return null_value;
}

mica_value mica__graph_fail(mica_graph *graph, mica_status status, const char *format, ...) {
  char text[1024];
  va_list args;
  va_start(args, format);
  mica__vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return mica__graph_fail_with(graph, mica__fail(status, "%s", text));
}

mica_value mica_graph_fail(mica_graph *graph, mica_status status, const char *sentence) {
  if (status == MICA_OK) status = MICA_E_INVALID;
  status = mica__fail(status, "%s", sentence ? sentence : mica_status_name(status));
  return graph ? mica__graph_fail_with(graph, status) : null_value;
}

mica__node *mica__graph_node(const mica_graph *graph, int32_t id) { return &graph->nodes[id - 1]; }

static mica__type closed(mica__type type) {
  for (int32_t i = 0; i < type.shape.rank; i++)
    if (type.shape.dim[i] == MICA_DYNAMIC) type.shape.dim[i] = 1;
  return type;
}

double mica__graph_single_flops(const mica_graph *graph, int32_t id, const mica__type *types) {
  enum { MOST = 8 };
  mica__node node = *mica__graph_node(graph, id);
  mica__type in[MOST];
  int64_t count = 0;
  const bool works = node.op->kind == MICA__OP_POINTWISE || node.op->kind == MICA__OP_REDUCE;
  node.type = types ? types[id - 1] : closed(node.type);
  for (int32_t k = 0; k < node.input_count && k < MOST; k++)
    in[k] = types ? types[node.inputs[k] - 1] : closed(mica__graph_node(graph, node.inputs[k])->type);
  if (node.op->flops && node.input_count <= MOST) return node.op->flops(&node, in);
  return works && mica_shape_count(node.type.shape, &count) == MICA_OK ? (double)count : 0;
}

double mica__graph_flops(const mica_graph *graph, int32_t id) { return mica__graph_single_flops(graph, id, NULL); }

/* Infers the types of a node's results from the types of its operands. */
static mica_status infer_single(const mica_graph *graph, int32_t id, mica__type *types) {
  const mica__node *node = mica__graph_node(graph, id);
  mica__type *to = &types[id - 1], out[MICA__MAX_RESULTS];
  const int32_t results = mica__node_results(node);
  for (int32_t r = 0; r < results; r++) to[r] = closed(node[r].type);
  if (!node->input_count || !node->op->infer) return MICA_OK;
  mica__type *in = calloc((size_t)node->input_count, sizeof *in);
  void *attrs = NULL;
  for (int32_t k = 0; in && k < node->input_count; k++) in[k] = types[node->inputs[k] - 1];
  mica_status status = in ? mica__attrs_copy(node->op->attrs, node->attrs, &attrs) : mica__fail_nomem("types");
  mica__attempt_begin();
  if (status == MICA_OK && mica__op_infer(node->op, in, node->input_count, attrs, out) == MICA_OK)
    for (int32_t r = 0; r < results; r++) to[r] = closed(out[r]);
  mica__attempt_end();
  free(in);
  free(attrs);
  return status;
}

mica_status mica__graph_single_types(const mica_graph *graph, mica__type *types) {
  for (int32_t id = 1; id <= graph->count; id++)
    if (mica__graph_node(graph, id)->op != &mica__op_result) MICA_TRY(infer_single(graph, id, types));
  return MICA_OK;
}

static bool is_of_its_graph(mica_value value) { return value.graph && value.id >= 1 && value.id <= value.graph->count; }

/* The node of a value given by the caller; NULL if the value is invalid. */
static mica__node *node_of(mica_value value) {
  return is_of_its_graph(value) ? mica__graph_node(value.graph, value.id) : NULL;
}

/* Adds the value's number, name and type, such as "%7 'hidden' f32 (64, 128)". */
static void describe(mica__text *text, mica_value value) {
  const mica__node *node = node_of(value);
  char type[MICA__TYPE_TEXT];
  mica__text_addf(text, "%%%d ", (int)value.id);
  if (node->name) mica__text_addf(text, "'%s' ", node->name);
  mica__text_add(text, mica__type_format(node->type, type));
}

mica_value mica__graph_fail_at(mica_graph *graph, mica_status status, const char *op, const mica_value *inputs,
                               int32_t input_count) {
  mica__text text = {0};
  mica__text_addf(&text, "%s(", op);
  for (int32_t i = 0; i < input_count; i++) {
    mica__text_add(&text, i ? ", " : "");
    describe(&text, inputs[i]);
  }
  mica__text_add(&text, ")");
  status = mica__fail_in(status, text.failed ? op : text.data);
  mica__text_free(&text);
  return mica__graph_fail_with(graph, status);
}

/* *out receives the graph that all inputs belong to. Returns false if all inputs are null. Also returns false, and
 * records an error in the graph of the first input that is not null, if an input is null, belongs to another graph or
 * is not a value of its graph. */
static bool common_graph(const mica__op *op, const mica_value *inputs, int32_t input_count, mica_graph **out) {
  mica_graph *graph = NULL;
  for (int32_t i = 0; i < input_count && !graph; i++) graph = inputs[i].graph;
  if (!graph) return false;
  for (int32_t i = 0; i < input_count; i++) {
    const char *fault = inputs[i].graph == NULL    ? "is the null value"
                        : inputs[i].graph != graph ? "belongs to another graph"
                        : !node_of(inputs[i])      ? "is not a value of its graph"
                                                   : NULL;
    if (!fault) continue;
    mica__graph_fail(graph, MICA_E_INVALID, "%s: operand %d %s", op->name, (int)i, fault);
    return false;
  }
  *out = graph;
  return true;
}

static mica_status grow(mica_graph *graph, int32_t more) {
  if (graph->count + more <= graph->capacity) return MICA_OK;
  if (graph->count > INT32_MAX / 4) return mica__fail(MICA_E_OVERFLOW, "a graph cannot have more than 2^29 values");
  int32_t capacity = graph->capacity ? graph->capacity * 2 : 64;
  mica__node *grown = realloc(graph->nodes, (size_t)capacity * sizeof *grown);
  if (!grown) return mica__fail_nomem("a graph");
  graph->nodes = grown;
  graph->capacity = capacity;
  return MICA_OK;
}

int32_t mica__node_results(const mica__node *node) { return node->op->results ? node->op->results : 1; }

mica_value mica__graph_result(mica_value node, int32_t k) {
  if (node.graph) node.id += k;
  return node;
}

/* Makes an entry with its inputs. False if memory is short. */
static bool make_entry(const mica__op *op, const int32_t *inputs, int32_t input_count, mica__type type,
                       mica__node *entry) {
  *entry = (mica__node){.op = op, .input_count = input_count, .type = type};
  if (input_count == 0) return true;
  entry->inputs = malloc((size_t)input_count * sizeof *entry->inputs);
  if (entry->inputs) memcpy(entry->inputs, inputs, (size_t)input_count * sizeof *entry->inputs);
  return entry->inputs != NULL;
}

int32_t mica__graph_put(mica_graph *graph, const mica__op *op, const int32_t *inputs, int32_t input_count,
                        const void *attrs, const mica__type *types) {
  mica__node entries[MICA__MAX_RESULTS];
  int32_t id = graph->count + 1, count = op->results ? op->results : 1, made = 0;
  mica_status status = grow(graph, count);
  for (int32_t r = 0; status == MICA_OK && r < count; r++) status = mica__type_check(types[r]);
  for (int32_t r = 0; status == MICA_OK && r < count; r++, made++) {
    bool first = r == 0;
    if (!make_entry(first ? op : &mica__op_result, first ? inputs : &id, first ? input_count : 1, types[r],
                    &entries[r]))
      status = mica__fail_nomem("a graph");
    entries[r].result = r;
  }
  if (status == MICA_OK) status = mica__attrs_copy(op->attrs, attrs, &entries[0].attrs);
  if (status != MICA_OK) {
    for (int32_t r = 0; r < made; r++) free(entries[r].inputs);
    mica__graph_fail_with(graph, status);
    return 0;
  }
  memcpy(&graph->nodes[graph->count], entries, (size_t)count * sizeof *entries);
  graph->count += count;
  return id;
}

/* Infers the types of a node with valid inputs, and adds it. */
static mica_value add_inferred(mica_graph *graph, const mica__op *op, const mica_value *inputs, int32_t input_count,
                               const void *given) {
  mica_value value = null_value;
  void *attrs = NULL;
  mica__type *types = calloc((size_t)input_count, sizeof *types), results[MICA__MAX_RESULTS] = {0};
  int32_t *ids = calloc((size_t)input_count, sizeof *ids);
  mica_status status = types && ids ? mica__attrs_copy(op->attrs, given, &attrs) : mica__fail_nomem("a graph");
  for (int32_t i = 0; status == MICA_OK && i < input_count; i++) {
    ids[i] = inputs[i].id;
    types[i] = mica__graph_node(graph, ids[i])->type;
  }
  if (status == MICA_OK) status = mica__op_infer(op, types, input_count, attrs, results);
  int32_t id = status == MICA_OK ? mica__graph_put(graph, op, ids, input_count, attrs, results) : 0;
  if (id) value = (mica_value){.graph = graph, .id = id};
  if (status != MICA_OK) mica__graph_fail_at(graph, status, op->name, inputs, input_count);
  free(types);
  free(ids);
  free(attrs);
  return value;
}

mica_value mica__graph_add(const mica__op *op, const mica_value *inputs, int32_t input_count, const void *attrs) {
  mica_graph *graph = NULL;
  if (!common_graph(op, inputs, input_count, &graph)) return null_value;
  if (input_count < op->min_inputs || input_count > op->max_inputs)
    return mica__graph_fail(graph, MICA_E_INVALID, "%s: the number of operands is %d, but must be %d to %d", op->name,
                            (int)input_count, (int)op->min_inputs, (int)op->max_inputs);
  return add_inferred(graph, op, inputs, input_count, attrs);
}

mica_value mica__graph_add_present(const mica__op *op, const mica_value *operands, int32_t count, void *attrs) {
  mica_value dense[MICA__MAX_PRESENT];
  mica_graph *graph = NULL;
  int64_t present = 0;
  int32_t used = 0;
  for (int32_t k = 0; k < count && !graph; k++) graph = operands[k].graph;
  if (!graph) return null_value;
  const int32_t most = op->max_inputs < MICA__MAX_PRESENT ? op->max_inputs : MICA__MAX_PRESENT;
  if (count > most)
    return mica__graph_fail(graph, MICA_E_INVALID, "%s: the number of operands is %d, but must be at most %d", op->name,
                            (int)count, (int)most);
  for (int32_t k = 0; k < count; k++) {
    if (!operands[k].graph && k >= op->min_inputs) continue;
    dense[used++] = operands[k]; /* a null required operand is reported below */
    present |= (int64_t)1 << k;
  }
  *(int64_t *)attrs = present;
  return mica__graph_add(op, dense, used, attrs);
}

mica_value mica__graph_add_source(mica_graph *graph, const mica__op *op, const void *attrs, mica__type type) {
  int32_t id = graph ? mica__graph_put(graph, op, NULL, 0, attrs, &type) : 0;
  return id ? (mica_value){.graph = graph, .id = id} : null_value;
}

bool mica_value_is_null(mica_value value) { return value.graph == NULL; }

mica_shape mica_value_shape(mica_value value) {
  const mica__node *node = node_of(value);
  return node ? node->type.shape : MICA_SCALAR;
}

mica_dtype mica_value_dtype(mica_value value) {
  const mica__node *node = node_of(value);
  return node ? node->type.dtype : MICA_F32;
}

const char *mica_value_name(mica_value value) {
  const mica__node *node = node_of(value);
  return node && node->name ? node->name : "";
}

mica_value mica_named(mica_value value, const char *name) {
  mica__node *node = node_of(value);
  if (!value.graph) return null_value;
  if (!node || !name)
    return mica__graph_fail(value.graph, MICA_E_INVALID,
                            "mica_named: the value does not belong to its graph, or the name is NULL");
  if (node->op == &mica__op_input || node->op == &mica__op_parameter) return value;
  char *copy = mica__strdup(name);
  if (!copy) return mica__graph_fail_with(value.graph, mica__fail_nomem("a name"));
  free(node->name);
  node->name = copy;
  return value;
}

mica_value mica__graph_mark(mica_value value, const char *name, const mica_value *operands, int32_t count,
                            const double *numbers, int32_t number_count) {
  mica__node *node = node_of(value);
  if (!node || node->result || count > MICA__MARK_INPUTS || number_count > MICA__MARK_NUMBERS) return value;
  mica__mark *mark = calloc(1, sizeof *mark);
  if (!mark) return mica__graph_fail_with(value.graph, mica__fail_nomem("a mark"));
  mark->name = name;
  mark->input_count = count;
  for (int32_t k = 0; k < count; k++) mark->inputs[k] = operands[k].graph == value.graph ? operands[k].id : 0;
  for (int32_t k = 0; numbers && k < number_count; k++) mark->numbers[k] = numbers[k];
  free(node->mark);
  node->mark = mark;
  return value;
}

mica_status mica__mark_copy(const mica__node *node, const int32_t *map, mica__node *copy) {
  if (!node->mark || copy->mark) return MICA_OK;
  for (int32_t k = 0; k < node->mark->input_count; k++)
    if (node->mark->inputs[k] && !map[node->mark->inputs[k] - 1]) return MICA_OK;
  copy->mark = malloc(sizeof *copy->mark);
  if (!copy->mark) return mica__fail_nomem("a mark");
  *copy->mark = *node->mark;
  for (int32_t k = 0; k < node->mark->input_count; k++)
    if (node->mark->inputs[k]) copy->mark->inputs[k] = map[node->mark->inputs[k] - 1];
  return MICA_OK;
}

mica_value mica_checkpoint(mica_value value) {
  mica__node *node = node_of(value);
  if (!value.graph) return null_value;
  if (!node)
    return mica__graph_fail(value.graph, MICA_E_INVALID, "mica_checkpoint: the value does not belong to its graph");
  /* The nodes of all results of an op are marked together. */
  node -= node->result;
  for (int32_t r = 0; r < mica__node_results(node); r++) node[r].checkpoint = true;
  return value;
}

void mica_assign(mica_value parameter, mica_value value) {
  mica_graph *graph = parameter.graph ? parameter.graph : value.graph;
  mica__node *target = node_of(parameter), *source = node_of(value);
  char tt[MICA__TYPE_TEXT], ts[MICA__TYPE_TEXT];
  if (!graph || (graph->status != MICA_OK && (!target || !source))) return;
  if (!target || !source || parameter.graph != value.graph)
    mica__graph_fail(graph, MICA_E_INVALID, "mica_assign: parameter and value must be values of one graph");
  else if (target->op != &mica__op_parameter)
    mica__graph_fail(graph, MICA_E_INVALID, "mica_assign: %%%d '%s' is %s, not a parameter", (int)parameter.id,
                     mica_value_name(parameter), target->op->name);
  else if (target->assigned)
    mica__graph_fail(graph, MICA_E_INVALID, "mica_assign: parameter '%s' is assigned already", target->name);
  else if (target->type.dtype != source->type.dtype)
    mica__graph_fail(graph, MICA_E_DTYPE, "mica_assign: parameter '%s' is %s, but the value %%%d '%s' is %s",
                     target->name, mica__type_format(target->type, tt), (int)value.id, mica_value_name(value),
                     mica__type_format(source->type, ts));
  else if (!mica_shape_equal(target->type.shape, source->type.shape))
    mica__graph_fail(graph, MICA_E_SHAPE, "mica_assign: parameter '%s' is %s, but the value %%%d '%s' is %s",
                     target->name, mica__type_format(target->type, tt), (int)value.id, mica_value_name(value),
                     mica__type_format(source->type, ts));
  else
    target->assigned = value.id;
}
