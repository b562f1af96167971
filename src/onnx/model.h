/* onnx/model.h: a file of ONNX, open and checked: graphs in topological order, functions, tensors.
 *
 * Names and attributes stay in protobuf-c's messages, which live as long as the model. */
#ifndef MICA_ONNX_MODEL_H
#define MICA_ONNX_MODEL_H

#include "base/name_table.h"
#include "onnx/external.h"

#include <mica/dtype.h>
#include <mica/onnx.h>
#include <onnx.pb-c.h>

struct mica__onnx_graph;
struct mica__onnx_function;

typedef struct mica__onnx_node {
  const char *op, *domain, *name;       /* never NULL; the domain of ONNX's own operators is "" */
  int64_t version;                      /* of the domain's operator set, as the model or the function imports it */
  char *const *inputs, *const *outputs; /* names; "" stands for an operand that is absent */
  int32_t input_count, output_count;
  Onnx__AttributeProto *const *attrs;
  int32_t attr_count;
  struct mica__onnx_graph *bodies; /* of the attributes that are a graph, in their order */
  int32_t body_count;
  const struct mica__onnx_function *function; /* NULL for an operator */
} mica__onnx_node;

/* The graph of a model, a body of an operator or a function. */
typedef struct mica__onnx_graph {
  const Onnx__GraphProto *proto; /* inputs, outputs, initialisers; NULL in a function */
  mica__onnx_node *nodes;        /* each after those that make its operands */
  int32_t count;
} mica__onnx_graph;

typedef struct mica__onnx_function {
  const Onnx__FunctionProto *proto;
  mica__onnx_graph body;
  bool open, done; /* while calls are followed: on the way here, looked through */
} mica__onnx_function;

/* An operator that the caller defines. */
typedef struct mica__onnx_defined {
  char *domain, *op;
  mica_onnx_define_fn *define;
  void *user;
} mica__onnx_defined;

struct mica_onnx {
  char *name; /* the path, for sentences */
  Onnx__ModelProto *proto;
  mica__onnx_graph graph;
  mica__onnx_function *functions;
  int32_t function_count;
  mica__external external;
  mica__name_table initials; /* of the graph: an initial value's place, sparse ones after the others */
  int32_t *inputs;           /* the graph's inputs that have no initial value */
  size_t input_count;
  mica_onnx_operator *operators; /* what is used, each once */
  size_t operator_count, operator_capacity;
  mica__onnx_defined *defined;
  size_t defined_count;
};

/* The name of a node in messages: its own, else that of its first result. */
static inline const char *mica__onnx_node_title(const mica__onnx_node *node) {
  return *node->name ? node->name : node->output_count ? node->outputs[0] : "";
}

/* "" for NULL. */
static inline const char *mica__onnx_text(const char *text) { return text ? text : ""; }

/* The version of a domain's operator set in a list of imports; 1 if it is not imported. */
int64_t mica__onnx_version(Onnx__OperatorSetIdProto *const *imports, size_t count, const char *domain);

/* Makes initial values of the graph's nodes Constant that hold a tensor (constants.c). */
mica_status mica__onnx_lift_constants(Onnx__GraphProto *graph);

/* Makes the nodes of a graph or function, and their bodies; see graph.c. MICA_E_FORMAT: a value made twice, a cycle. */
mica_status mica__onnx_graph_make(mica_onnx *model, Onnx__NodeProto *const *nodes, size_t count,
                                  Onnx__OperatorSetIdProto *const *imports, size_t import_count,
                                  mica__onnx_graph *graph);
void mica__onnx_graph_free(mica__onnx_graph *graph);

/* The operator as the caller defines it; NULL for none. */
const mica__onnx_defined *mica__onnx_defined_find(const mica_onnx *model, const char *domain, const char *op);

/* The function that a node names; NULL for an operator. */
const mica__onnx_function *mica__onnx_function_find(const mica_onnx *model, const char *domain, const char *name,
                                                    const char *overload);

#endif
