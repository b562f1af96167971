/* onnx/model.h: an ONNX model in memory, after its file was parsed and checked. The nodes of each graph are in
 * topological order. Names and attributes are pointers into protobuf-c's messages, which live as long as the model. */
#ifndef MICA_ONNX_MODEL_H
#define MICA_ONNX_MODEL_H

#include "base/name_table.h"
#include "onnx/external.h"

#include <mica/dtype.h>
#include <mica/onnx.h>
#include <onnx.pb-c.h>
#include <pthread.h>

struct mica__onnx_graph;
struct mica__onnx_function;

typedef struct mica__onnx_node {
  const char *op, *domain, *name;       /* never NULL; the domain of standard ONNX operators is "" */
  int64_t version;                      /* version of the domain's operator set that the model or function imports */
  char *const *inputs, *const *outputs; /* names of values; "" for an absent operand or result */
  int32_t input_count, output_count;
  Onnx__AttributeProto *const *attrs;
  int32_t attr_count;
  struct mica__onnx_graph *bodies; /* one per attribute that holds a graph, in the order of attrs */
  int32_t body_count;
  const struct mica__onnx_function *function; /* the function that the node calls; NULL if it is an operator */
} mica__onnx_node;

/* The nodes of a model, of a function, or of a graph that is an attribute of an operator (such as a loop's body). */
typedef struct mica__onnx_graph {
  /* The message with its inputs, outputs, initialisers; NULL for the graph of a function. */
  const Onnx__GraphProto *proto;
  mica__onnx_node *nodes; /* in topological order */
  int32_t count;
} mica__onnx_graph;

typedef struct mica__onnx_function {
  const Onnx__FunctionProto *proto;
  mica__onnx_graph body;
  bool open, done; /* the search for functions that call themselves has entered this one, has finished it */
} mica__onnx_function;

/* An operator that the caller defines. */
typedef struct mica__onnx_defined {
  char *domain, *op;
  mica_onnx_define_fn *define;
  void *user;
} mica__onnx_defined;

/* A list of strings or of integers in the file, such as the class labels of a classifier.
 *
 * - Strings: `texts` holds `count` strings. If `more` is not NULL, it is one further string after them.
 * - Integers: `numbers` holds `count` integers, and `texts` is NULL. */
typedef struct mica__onnx_texts {
  const ProtobufCBinaryData *texts;
  const int64_t *numbers;
  size_t count;
  const ProtobufCBinaryData *more;
} mica__onnx_texts;

/* Cache of the class labels of one output: the one whose class names were read last. Callers read one name after the
 * other, and each search for the node that makes the labels takes time proportional to the graph. */
typedef struct mica__onnx_asked {
  pthread_mutex_t lock;
  size_t output; /* index of this output plus 1; 0 if no class names were read yet */
  bool has_classes;
  mica__onnx_texts classes;
} mica__onnx_asked;

struct mica_onnx {
  char *name; /* the path, for messages */
  Onnx__ModelProto *proto;
  mica__onnx_graph graph;
  mica__onnx_function *functions;
  int32_t function_count;
  mica__external external;
  mica__name_table initials; /* name -> index of the initialiser; dense initialisers come first, then sparse ones */
  int32_t *inputs;           /* indices of the graph's inputs that have no initialiser */
  size_t input_count;
  mica_onnx_operator *operators; /* the operators used, without duplicates */
  size_t operator_count, operator_capacity;
  mica__onnx_defined *defined;
  size_t defined_count;
  /* Where each string begins in the JSON list "classes" of the metadata; NULL if there is no such list. */
  const char **class_names;
  size_t class_name_count;
  mica__onnx_asked *asked;
};

/* Returns the node's name for messages. If the node has no name, returns the name of its first result, or "" if it has
 * no result either. */
static inline const char *mica__onnx_node_title(const mica__onnx_node *node) {
  return *node->name ? node->name : node->output_count ? node->outputs[0] : "";
}

/* Returns the text, or "" if it is NULL. */
static inline const char *mica__onnx_text(const char *text) { return text ? text : ""; }

/* Returns the version of the domain's operator set according to the list of imports; 1 if the list lacks the domain. */
int64_t mica__onnx_version(Onnx__OperatorSetIdProto *const *imports, size_t count, const char *domain);

/* Converts each Constant node that holds a tensor to an initialiser of the graph (constants.c). */
mica_status mica__onnx_lift_constants(Onnx__GraphProto *graph);

/* Makes the nodes of a graph or of a function, and their bodies; see graph.c. Fails with MICA_E_FORMAT if two nodes
 * make the same value or if the nodes form a cycle. */
mica_status mica__onnx_graph_make(mica_onnx *model, Onnx__NodeProto *const *nodes, size_t count,
                                  Onnx__OperatorSetIdProto *const *imports, size_t import_count,
                                  mica__onnx_graph *graph);
void mica__onnx_graph_free(mica__onnx_graph *graph);

/* Finds the caller's definition of an operator; NULL if the caller did not define it. */
const mica__onnx_defined *mica__onnx_defined_find(const mica_onnx *model, const char *domain, const char *op);

/* Finds the model's function of this name, domain and overload; NULL if there is none, so that the node is an
 * operator. */
const mica__onnx_function *mica__onnx_function_find(const mica_onnx *model, const char *domain, const char *name,
                                                    const char *overload);

#endif
