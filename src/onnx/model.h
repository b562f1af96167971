/* onnx/model.h: an open and checked ONNX file: graphs in topological order, functions, tensors. Names and attributes
 * stay in protobuf-c's messages, which live as long as the model. */
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
  int64_t version;                      /* of the domain's operator set, imported by the model or the function */
  char *const *inputs, *const *outputs; /* names; "" for an absent operand */
  int32_t input_count, output_count;
  Onnx__AttributeProto *const *attrs;
  int32_t attr_count;
  struct mica__onnx_graph *bodies; /* of the attributes that are graphs, in order */
  int32_t body_count;
  const struct mica__onnx_function *function; /* NULL for an operator */
} mica__onnx_node;

/* The graph of a model, of an operator's body or of a function. */
typedef struct mica__onnx_graph {
  const Onnx__GraphProto *proto; /* inputs, outputs, initialisers; NULL in a function */
  mica__onnx_node *nodes;        /* in topological order */
  int32_t count;
} mica__onnx_graph;

typedef struct mica__onnx_function {
  const Onnx__FunctionProto *proto;
  mica__onnx_graph body;
  bool open, done; /* for finding functions that call themselves: being visited; visited */
} mica__onnx_function;

/* An operator that the caller defines. */
typedef struct mica__onnx_defined {
  char *domain, *op;
  mica_onnx_define_fn *define;
  void *user;
} mica__onnx_defined;

/* A list of texts in the file, followed by the text `more` unless that is NULL; or a list of numbers, for classes that
 * are integers. */
typedef struct mica__onnx_texts {
  const ProtobufCBinaryData *texts;
  const int64_t *numbers;
  size_t count;
  const ProtobufCBinaryData *more;
} mica__onnx_texts;

/* The classes of the output whose class names were read last. They are kept because callers read one name after the
 * other, and following an output back takes time proportional to the graph. */
typedef struct mica__onnx_asked {
  pthread_mutex_t lock;
  size_t output; /* plus 1; 0: none yet */
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
  mica__name_table initials; /* of the graph: the index of each initial value; sparse ones follow the others */
  int32_t *inputs;           /* inputs of the graph without an initial value */
  size_t input_count;
  mica_onnx_operator *operators; /* the operators used, without duplicates */
  size_t operator_count, operator_capacity;
  mica__onnx_defined *defined;
  size_t defined_count;
  const char **class_names; /* the strings of the JSON list "classes" of the metadata, NULL if there is no such list */
  size_t class_name_count;
  mica__onnx_asked *asked;
};

/* Returns the node's name for messages; if it has none, the name of its first result. */
static inline const char *mica__onnx_node_title(const mica__onnx_node *node) {
  return *node->name ? node->name : node->output_count ? node->outputs[0] : "";
}

/* "" for NULL. */
static inline const char *mica__onnx_text(const char *text) { return text ? text : ""; }

/* Returns the version of a domain's operator set in a list of imports; 1 if it is not imported. */
int64_t mica__onnx_version(Onnx__OperatorSetIdProto *const *imports, size_t count, const char *domain);

/* Converts nodes Constant of the graph that hold a tensor to initial values (constants.c). */
mica_status mica__onnx_lift_constants(Onnx__GraphProto *graph);

/* Makes the nodes of a graph or function and their bodies; see graph.c. MICA_E_FORMAT if a value is made twice or there
 * is a cycle. */
mica_status mica__onnx_graph_make(mica_onnx *model, Onnx__NodeProto *const *nodes, size_t count,
                                  Onnx__OperatorSetIdProto *const *imports, size_t import_count,
                                  mica__onnx_graph *graph);
void mica__onnx_graph_free(mica__onnx_graph *graph);

/* Finds an operator that the caller defines; NULL for others. */
const mica__onnx_defined *mica__onnx_defined_find(const mica_onnx *model, const char *domain, const char *op);

/* Finds the function that a node calls; NULL if it is an operator. */
const mica__onnx_function *mica__onnx_function_find(const mica_onnx *model, const char *domain, const char *name,
                                                    const char *overload);

#endif
