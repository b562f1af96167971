/* Helpers of the writer: memory, names, nodes and their attributes. */
#include "onnx/write/writer.h"

#include "base/number.h"
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Attribute types, as ONNX numbers them. */
enum { TYPE_REAL = 1, TYPE_INT = 2, TYPE_TEXT = 3, TYPE_REALS = 6, TYPE_INTS = 7, TYPE_TEXTS = 8 };

static void fail_memory(mica__onnx_writer *w) {
  if (w->status == MICA_OK) w->status = mica__fail_nomem("a model that is written");
}

void *mica__write_room(mica__onnx_writer *w, size_t bytes) {
  if (w->status != MICA_OK) return NULL;
  if (w->room_count == w->room_capacity) {
    const size_t capacity = w->room_capacity ? 2 * w->room_capacity : 256;
    void **grown = realloc(w->rooms, capacity * sizeof *grown);
    if (grown) w->rooms = grown, w->room_capacity = capacity;
  }
  void *room = w->room_count < w->room_capacity ? calloc(1, bytes + 1) : NULL;
  if (room)
    w->rooms[w->room_count++] = room;
  else
    fail_memory(w);
  return room;
}

void mica__onnx_writer_free(mica__onnx_writer *w) {
  for (size_t i = 0; i < w->room_count; i++) free(w->rooms[i]);
  free(w->rooms);
  free(w->needed);
  free(w->names);
  free(w->nodes);
  free(w->visits);
  free(w->initials);
  mica__name_table_free(&w->taken);
  *w = (mica__onnx_writer){0};
}

void mica__write_fail(mica__onnx_writer *w, int32_t id, const char *format, ...) {
  char sentence[320];
  va_list arguments;
  if (w->status != MICA_OK) return;
  va_start(arguments, format);
  mica__vsnprintf(sentence, sizeof sentence, format, arguments);
  va_end(arguments);
  const mica__node *node = mica__graph_node(w->graph, id);
  const char *name = node->name ? node->name : "";
  if (*name)
    w->status = mica__fail(MICA_E_UNSUPPORTED, "%s '%.80s': %s", node->op->name, name, sentence);
  else
    w->status = mica__fail(MICA_E_UNSUPPORTED, "%s (value %d of the graph): %s", node->op->name, (int)id, sentence);
}

/* Copies a text; "", with the error recorded, if memory is short. */
static char *copy_text(mica__onnx_writer *w, const char *text) {
  static char none[1];
  const size_t n = strlen(text);
  char *copy = mica__write_room(w, n + 1);
  if (!copy) return none;
  memcpy(copy, text, n);
  return copy;
}

/* --- names --- */

const char *mica__write_name(mica__onnx_writer *w, const char *text) {
  char numbered[192];
  snprintf(numbered, sizeof numbered, "%.160s", text);
  const bool free_name = mica__name_table_find(&w->taken, text) < 0 && *text;
  while (!free_name && (!*numbered || mica__name_table_find(&w->taken, numbered) >= 0))
    snprintf(numbered, sizeof numbered, "%.160s_%zu", *text ? text : "value", ++w->serial);
  const char *name = copy_text(w, free_name ? text : numbered);
  if (w->status == MICA_OK) w->status = mica__name_table_add(&w->taken, name, 0);
  return name;
}

mica__type mica__write_type_of(const mica__onnx_writer *w, int32_t id) { return mica__graph_node(w->graph, id)->type; }

bool mica__write_is_open(mica_shape shape) {
  for (int32_t k = 0; k < shape.rank; k++)
    if (shape.dim[k] == MICA_DYNAMIC) return true;
  return false;
}

/* The index of the operand that a node passes on unchanged; -1 if there is none. */
static int32_t passes(const mica_graph *graph, const mica__node *node) {
  const char *const first[] = {"stop_gradient", "standardize", "rescale"};
  if (!node->input_count || node->mark) return -1;
  for (size_t i = 0; i < sizeof first / sizeof *first; i++)
    if (!strcmp(node->op->name, first[i])) return 0;
  const mica__type from = mica__graph_node(graph, node->inputs[0])->type;
  if (!strcmp(node->op->name, "cast")) return from.dtype == node->type.dtype ? 0 : -1;
  const bool view = !strcmp(node->op->name, "reshape") || !strcmp(node->op->name, "expand");
  return view && mica_shape_equal(from.shape, node->type.shape) && !mica__write_is_open(from.shape) ? 0 : -1;
}

int32_t mica__write_passed(const mica_graph *graph, int32_t id) {
  for (;;) {
    const mica__node *node = mica__graph_node(graph, id);
    const int32_t input = passes(graph, node);
    if (input < 0) return id;
    id = node->inputs[input];
  }
}

const char *mica__write_own(mica__onnx_writer *w, int32_t id) {
  if (w->names[id - 1]) return w->names[id - 1];
  const mica__node *node = mica__graph_node(w->graph, id);
  const mica__node *maker = node - node->result;
  char text[192];
  snprintf(text, sizeof text, "%.64s_%d", maker->mark ? maker->mark->name : maker->op->name, (int)id);
  w->names[id - 1] = mica__write_name(w, node->name && *node->name ? node->name : text);
  return w->names[id - 1];
}

const char *mica__write_operand(mica__onnx_writer *w, int32_t id) {
  if (w->status != MICA_OK) return "";
  id = mica__write_passed(w->graph, id);
  w->needed[id - 1] = true;
  return mica__write_own(w, id);
}

/* --- nodes --- */

static Onnx__NodeProto *last_node(mica__onnx_writer *w) {
  static Onnx__NodeProto none; /* returned after an error; callers fill it in, but nothing reads it */
  if (w->status == MICA_OK && w->count) return w->nodes[w->count - 1];
  none = (Onnx__NodeProto)ONNX__NODE_PROTO__INIT;
  return &none;
}

static char **grow_texts(mica__onnx_writer *w, char **texts, size_t count, const char *text) {
  char **grown = mica__write_room(w, (count + 1) * sizeof *grown);
  if (!grown) return texts;
  if (count) memcpy(grown, texts, count * sizeof *grown);
  grown[count] = (char *)(uintptr_t)(text ? text : "");
  return grown;
}

void mica__write_result(mica__onnx_writer *w, const char *name) {
  Onnx__NodeProto *node = last_node(w);
  char **grown = grow_texts(w, node->output, node->n_output, name);
  if (w->status == MICA_OK) node->output = grown, node->n_output++;
}

const char *mica__write_node(mica__onnx_writer *w, const char *op, const char *own, const char *const *inputs,
                             size_t count) {
  if (w->status != MICA_OK) return "";
  if (w->count == w->capacity) {
    const size_t capacity = w->capacity ? 2 * w->capacity : 256;
    Onnx__NodeProto **grown = realloc(w->nodes, capacity * sizeof *grown);
    if (!grown) {
      fail_memory(w);
      return "";
    }
    w->nodes = grown;
    w->capacity = capacity;
  }
  Onnx__NodeProto *node = mica__write_room(w, sizeof *node);
  char **operands = mica__write_room(w, (count + 1) * sizeof *operands);
  if (!own) own = mica__write_name(w, "");
  if (!node || !operands) return "";
  onnx__node_proto__init(node);
  while (count && !inputs[count - 1]) count--;
  for (size_t i = 0; i < count; i++) operands[i] = (char *)(uintptr_t)(inputs[i] ? inputs[i] : "");
  node->input = operands;
  node->n_input = count;
  node->op_type = copy_text(w, op);
  node->name = copy_text(w, own);
  w->nodes[w->count++] = node;
  mica__write_result(w, own);
  return own;
}

/* --- attributes of ONNX's nodes --- */

static Onnx__AttributeProto *add_attr(mica__onnx_writer *w, const char *name, int32_t type) {
  static Onnx__AttributeProto none;
  Onnx__NodeProto *node = last_node(w);
  Onnx__AttributeProto *attr = mica__write_room(w, sizeof *attr);
  Onnx__AttributeProto **grown = mica__write_room(w, (node->n_attribute + 1) * sizeof(Onnx__AttributeProto *));
  if (!attr || !grown) return &none;
  onnx__attribute_proto__init(attr);
  attr->name = copy_text(w, name);
  attr->type = type;
  attr->has_type = true;
  if (node->n_attribute) memcpy(grown, node->attribute, node->n_attribute * sizeof(Onnx__AttributeProto *));
  grown[node->n_attribute++] = attr;
  node->attribute = grown;
  return attr;
}

void mica__write_int(mica__onnx_writer *w, const char *name, int64_t value) {
  Onnx__AttributeProto *attr = add_attr(w, name, TYPE_INT);
  attr->i = value;
  attr->has_i = true;
}

void mica__write_real(mica__onnx_writer *w, const char *name, double value) {
  Onnx__AttributeProto *attr = add_attr(w, name, TYPE_REAL);
  attr->f = (float)value;
  attr->has_f = true;
}

void mica__write_ints(mica__onnx_writer *w, const char *name, const int64_t *values, size_t count) {
  int64_t *copy = mica__write_room(w, count * sizeof *copy);
  if (!copy) return;
  memcpy(copy, values, count * sizeof *copy);
  Onnx__AttributeProto *attr = add_attr(w, name, TYPE_INTS);
  attr->ints = copy;
  attr->n_ints = count;
}

void mica__write_reals(mica__onnx_writer *w, const char *name, const double *values, size_t count) {
  float *copy = mica__write_room(w, count * sizeof *copy);
  if (!copy) return;
  for (size_t i = 0; i < count; i++) copy[i] = (float)values[i];
  Onnx__AttributeProto *attr = add_attr(w, name, TYPE_REALS);
  attr->floats = copy;
  attr->n_floats = count;
}

static ProtobufCBinaryData bytes_of(mica__onnx_writer *w, const char *text) {
  return (ProtobufCBinaryData){.len = strlen(text), .data = (uint8_t *)copy_text(w, text)};
}

void mica__write_text(mica__onnx_writer *w, const char *name, const char *text) {
  Onnx__AttributeProto *attr = add_attr(w, name, TYPE_TEXT);
  attr->s = bytes_of(w, text);
  attr->has_s = true;
}

void mica__write_texts(mica__onnx_writer *w, const char *name, const char *const *texts, size_t count) {
  ProtobufCBinaryData *copy = mica__write_room(w, count * sizeof *copy);
  if (!copy) return;
  for (size_t i = 0; i < count; i++) copy[i] = bytes_of(w, texts[i]);
  Onnx__AttributeProto *attr = add_attr(w, name, TYPE_TEXTS);
  attr->strings = copy;
  attr->n_strings = count;
}

/* --- attributes of Mica's nodes --- */

/* Returns a pointer to the field that holds the node's attribute. Callers only name attributes that the op has; for any
 * other name the result points to zeros. */
static const void *field_of(const mica__node *node, const char *name) {
  static const mica_shape none;
  const mica__attr *attr = mica__attr_find(node->op->attrs, name, strlen(name));
  return attr ? (const char *)node->attrs + attr->offset : (const void *)&none;
}

int64_t mica__node_int(const mica__node *node, const char *name) {
  const mica__attr *attr = mica__attr_find(node->op->attrs, name, strlen(name));
  return attr ? (int64_t)mica__attr_number(attr, node->attrs) : 0;
}

double mica__node_real(const mica__node *node, const char *name) {
  const mica__attr *attr = mica__attr_find(node->op->attrs, name, strlen(name));
  return attr ? mica__attr_number(attr, node->attrs) : 0;
}

const int64_t *mica__node_list(const mica__node *node, const char *name) { return field_of(node, name); }
mica_shape mica__node_shape(const mica__node *node, const char *name) {
  return *(const mica_shape *)field_of(node, name);
}

size_t mica__node_axes(const mica__node *node, const char *name, int64_t axes[MICA_MAX_RANK]) {
  const uint32_t set = *(const uint32_t *)field_of(node, name);
  size_t count = 0;
  for (int32_t k = 0; k < MICA_MAX_RANK; k++)
    if (set >> k & 1) axes[count++] = k;
  return count;
}
