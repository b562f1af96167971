/* support/onnx_node.h: runs a model of one node, or a graph that a test made, with operands of the test's. */
#ifndef MICA_TEST_ONNX_NODE_H
#define MICA_TEST_ONNX_NODE_H

#include "support/wire.h"

/* An operand: its name, its type as ONNX numbers it, its dimensions (ended by -1), its elements. */
typedef struct operand {
  const char *name;
  int type;
  int64_t dims[6];
  const void *data;
} operand;

typedef struct attribute {
  const char *name;
  int64_t number;
  const char *text; /* NULL: the number */
  int64_t list[9];  /* ended by INT64_MIN; the first is 0 and no list for the number */
  double real;
  bool is_real;
} attribute;
#define NUMBER(name, number)                                                                                           \
  { name, number, NULL, {INT64_MIN}, 0, false }
#define REAL(name, real)                                                                                               \
  { name, 0, NULL, {INT64_MIN}, real, true }
#define TEXT(name, text)                                                                                               \
  { name, 0, text, {INT64_MIN}, 0, false }
#define LIST(name, ...)                                                                                                \
  { name, 0, NULL, {__VA_ARGS__, INT64_MIN}, 0, false }

#define FLOAT 1
#define UINT8 2
#define INT8 3
#define INT32 6
#define INT64 7
#define BOOL 9
#define UINT4 21
#define INT4 22

/* The node of a text as wire_node takes it, with attributes (ended by one without a name; NULL for none). */
mica__text node_with(const char *text, const attribute *attributes);
/* Runs the graph and downloads its first output, 'y', which must have `count` elements of `size` bytes. */
void run_graph(mica__text *graph, int version, const operand *operands, int64_t count, size_t size, void *out);
/* Runs a graph of one node likewise. */
void run_node(const char *text, int version, const attribute *attributes, const operand *operands, int64_t count,
              size_t size, void *out);
/* Runs a graph of one node of another domain. */
void run_node_of(const char *domain, const char *text, int version, const attribute *attributes,
                 const operand *operands, int64_t count, size_t size, void *out);
/* A number from -1.5 to 1.5 that i decides. */
float noise(int i);

#endif
