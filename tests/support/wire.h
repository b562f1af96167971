/* tests/support/wire.h: writing protocol buffers by hand, for models that no exporter would write. */
#ifndef MICA_TESTS_SUPPORT_WIRE_H
#define MICA_TESTS_SUPPORT_WIRE_H

#include "base/text.h"

#include <stdint.h>

/* Each adds a field to a message. */
void wire_int(mica__text *message, int field, int64_t value);
void wire_float(mica__text *message, int field, float value);
void wire_bytes(mica__text *message, int field, const void *data, size_t size);
void wire_text(mica__text *message, int field, const char *text);
/* A message inside, which is freed. */
void wire_inside(mica__text *message, int field, mica__text *inside);

/* A tensor of dimensions that end in -1: type as ONNX numbers it, elements of the host as raw bytes (NULL: none). */
mica__text wire_tensor(const char *name, int type, const int64_t *dims, const void *data, size_t size);
/* An input or output; a dimension below 0 ends the list, MICA_DYNAMIC - 1 is open. */
mica__text wire_port(const char *name, int type, const int64_t *dims);
/* "Add a b > c": an operator, its operands, its results. "com.example:Add a b > c": one of another domain. */
mica__text wire_node(const char *text);
/* A graph of the nodes, a list that NULL ends. */
mica__text wire_graph(const char *const *nodes);
/* Such a graph as an attribute, a body: its inputs and outputs, lists of names that NULL ends, are declared as f32 (2).
 */
mica__text wire_body(const char *name, const char *const *in, const char *const *out, const char *const *nodes);
/* A model of IR version 8 and operator set 17 around a graph, which is freed. */
mica__text wire_model(mica__text *graph);
/* Such a model of another version of the operator set. */
mica__text wire_model_of(mica__text *graph, int64_t version);

/* Fields of messages, by their numbers in ONNX. */
enum {
  WIRE_GRAPH_NODE = 1,
  WIRE_GRAPH_INITIALIZER = 5,
  WIRE_GRAPH_INPUT = 11,
  WIRE_GRAPH_OUTPUT = 12,
  WIRE_GRAPH_SPARSE = 15,
  WIRE_NODE_ATTRIBUTE = 5,
  WIRE_ATTRIBUTE_GRAPH = 6,
  WIRE_MODEL_GRAPH = 7,
  WIRE_MODEL_FUNCTION = 25,
  WIRE_OPEN = -2,
};

#endif
