#include "support/wire.h"

#include "base/byte_order.h"

#include <string.h>

static void add_varint(mica__text *message, uint64_t value) {
  while (value >= 128) {
    mica__text_add_bytes(message, &(char){(char)(value | 128)}, 1);
    value >>= 7;
  }
  mica__text_add_bytes(message, &(char){(char)value}, 1);
}

void wire_int(mica__text *message, int field, int64_t value) {
  add_varint(message, (uint64_t)field << 3);
  add_varint(message, (uint64_t)value);
}

void wire_float(mica__text *message, int field, float value) {
  add_varint(message, (uint64_t)field << 3 | 5);
  mica__bytes_from_file(false, (uint8_t *)&value, 1, sizeof value);
  mica__text_add_bytes(message, (const char *)&value, sizeof value);
}

void wire_bytes(mica__text *message, int field, const void *data, size_t size) {
  add_varint(message, (uint64_t)field << 3 | 2);
  add_varint(message, size);
  if (size) mica__text_add_bytes(message, data, size);
}

void wire_text(mica__text *message, int field, const char *text) { wire_bytes(message, field, text, strlen(text)); }

void wire_inside(mica__text *message, int field, mica__text *inside) {
  wire_bytes(message, field, inside->data, inside->length);
  mica__text_free(inside);
  *inside = (mica__text){0};
}

mica__text wire_tensor(const char *name, int type, const int64_t *dims, const void *data, size_t size) {
  mica__text tensor = {0};
  size_t count = 1;
  for (; *dims >= 0; dims++) {
    wire_int(&tensor, 1, *dims);
    count *= (size_t)*dims;
  }
  wire_int(&tensor, 2, type);
  wire_text(&tensor, 8, name);
  const size_t width = count ? size / count : 0;
  if (data) wire_bytes(&tensor, 9, data, size);
  if (data && width > 1 && tensor.data)
    mica__bytes_from_file(false, (uint8_t *)tensor.data + tensor.length - size, count, width);
  return tensor;
}

mica__text wire_port(const char *name, int type, const int64_t *dims) {
  mica__text port = {0}, kind = {0}, tensor = {0}, shape = {0};
  for (; *dims >= 0 || *dims == WIRE_OPEN; dims++) {
    mica__text dim = {0};
    if (*dims >= 0)
      wire_int(&dim, 1, *dims);
    else
      wire_text(&dim, 2, "n");
    wire_inside(&shape, 1, &dim);
  }
  wire_int(&tensor, 1, type);
  wire_inside(&tensor, 2, &shape);
  wire_inside(&kind, 1, &tensor);
  wire_text(&port, 1, name);
  wire_inside(&port, 2, &kind);
  return port;
}

mica__text wire_node(const char *text) {
  mica__text node = {0};
  int field = 4; /* the operator, then operands, behind '>' results */
  const size_t domain = strcspn(text, ": ");
  if (text[domain] == ':') {
    wire_bytes(&node, 7, text, domain);
    text += domain + 1;
  }
  while (*text) {
    size_t n = strcspn(text, " ");
    if (n == 1 && *text == '>')
      field = 2;
    else if (n == 1 && *text == '-')
      wire_bytes(&node, field, "", 0);
    else
      wire_bytes(&node, field, text, n);
    if (field == 4) field = 1;
    text += n;
    text += *text == ' ';
  }
  return node;
}

mica__text wire_graph(const char *const *nodes) {
  mica__text graph = {0};
  for (; *nodes; nodes++) {
    mica__text node = wire_node(*nodes);
    wire_inside(&graph, WIRE_GRAPH_NODE, &node);
  }
  return graph;
}

mica__text wire_body(const char *name, const char *const *in, const char *const *out, const char *const *nodes) {
  static const int64_t two[] = {2, -1};
  mica__text body = wire_graph(nodes), attribute = {0};
  for (; *in; in++) {
    mica__text port = wire_port(*in, 1, two);
    wire_inside(&body, WIRE_GRAPH_INPUT, &port);
  }
  for (; *out; out++) {
    mica__text port = wire_port(*out, 1, two);
    wire_inside(&body, WIRE_GRAPH_OUTPUT, &port);
  }
  wire_text(&attribute, 1, name);
  wire_inside(&attribute, WIRE_ATTRIBUTE_GRAPH, &body);
  return attribute;
}

mica__text wire_model(mica__text *graph) { return wire_model_of(graph, 17); }

mica__text wire_model_of(mica__text *graph, int64_t version) {
  mica__text model = {0}, set = {0};
  wire_int(&model, 1, 8);
  wire_int(&set, 2, version);
  wire_inside(&model, 8, &set);
  wire_inside(&model, WIRE_MODEL_GRAPH, graph);
  return model;
}
