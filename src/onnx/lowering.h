/* onnx/lowering.h: the internals of lowering, for operators with bodies and for the code that lowers a model; other
 * operators see only lower.h.
 *
 * An input is bound if its elements are part of the lowered graph, as a constant. An operator that needs elements that
 * are not known demands them: the inputs and weights that they depend on are noted, and the model is lowered again with
 * these as constants. */
#ifndef MICA_ONNX_LOWERING_H
#define MICA_ONNX_LOWERING_H

#include "ir/graph.h"
#include "onnx/indices.h"
#include "onnx/texts.h"

/* The deepest nesting of functions and bodies. */
#define MICA__LOWER_DEPTH 64

/* A sequence. */
typedef struct mica__lower_list {
  mica_value *values;
  int64_t count;
} mica__lower_list;

/* The meaning of a name. */
typedef struct mica__lower_value {
  mica_value value;                /* null: not made yet, or absent */
  const Onnx__TensorProto *tensor; /* an initialiser, made at its first use */
  const Onnx__SparseTensorProto *sparse;
  const mica__lower_list *list; /* a sequence, which has no value */
  mica__onnx_texts texts;       /* of a tensor of texts; value has indices into them */
} mica__lower_value;

/* The names of a graph or function that is being lowered. A body also sees the names around it; a function does not. */
typedef struct mica__lower_scope {
  struct mica__lower_scope *outer;  /* its names are visible too; NULL for none */
  struct mica__lower_scope *caller; /* the scope that continues after this one; NULL for the outermost */
  const mica__onnx_graph *graph;    /* the graph that is being lowered, and the current node */
  int32_t at;
  mica__name_table names;
  mica__lower_value *values;
  int32_t count, capacity;
} mica__lower_scope;

/* An initialiser that became a parameter of the graph. */
typedef struct mica__lower_weight {
  const Onnx__TensorProto *tensor;
  const char *parameter; /* its name in the graph */
  const char *file_name;
  mica_value value;
} mica__lower_weight;

/* An input of the model or of a body: its type, and its elements if it is bound. */
typedef struct mica__lower_input {
  const char *name;
  mica_dtype dtype;
  mica_shape shape;
  const void *data; /* NULL: not bound */
  bool given;       /* false for an optional input that is omitted */
  /* For inputs of bodies only.
   *
   * - tensor, sparse: the input is this initialiser from outside
   * - sliced: in trip t the input is slice t of an operand along `axis`, counted from the end if `back`; input 0 is
   *   then the trip's number */
  const Onnx__TensorProto *tensor;
  const Onnx__SparseTensorProto *sparse;
  bool sliced, back;
  int32_t axis;
} mica__lower_input;

/* Values that an operator holds while it lowers its body, so that a cut inside the body keeps them. */
typedef struct mica__lower_held {
  const struct mica__lower_held *before;
  const mica__lower_value *values;
  size_t count;
} mica__lower_held;

struct mica__lowering {
  mica_onnx *model;
  mica__external *external;
  mica_graph *graph;
  mica__lower_scope *scope;
  const mica__onnx_graph *root; /* what is lowered: the model's graph, or a body alone */
  bool is_body;
  bool counts;               /* input 0 is the trip's number, and the last output is the next trip's number */
  struct mica__trace *trace; /* runs the graph so far when a value is needed (flow/runner.h); NULL in mica_onnx_build */
  const mica__lower_held *held;
  uint32_t most_unrolled; /* the limit on nodes of unrolled loops; 0: the default */
  /* Small floating initialisers of rank 1 or more are weights, not constants. */
  bool small_weights;
  /* The caller finds weights by their names in the file, so tensors without a name become constants. */
  bool by_name;
  bool widens; /* f16 and bf16 values become f32 */
  /* The name of the value after which the lowering stops; NULL: it does not stop early. */
  const char *stop_at;
  const mica__lower_input *inputs;
  mica_value *input_values;
  size_t input_count;
  bool may_bind;
  const bool *free; /* by input: must not be bound */
  mica_value step;  /* null until an operator draws random numbers */
  uint64_t seed;
  /* By input: an operator needs its elements. demands: the lowering must restart. */
  bool *demanded;
  bool demands;
  const Onnx__TensorProto *const *known; /* initialisers that must become constants */
  size_t known_count;
  const Onnx__TensorProto *demanded_tensor;
  /* Makes the parameter for a weight; NULL: mica_parameter. */
  mica_value (*make_parameter)(void *user, mica_graph *graph, const char *name, mica_dtype dtype, mica_shape shape);
  void *parameter_user;
  mica__lower_weight *weights;
  size_t weight_count, weight_capacity;
  mica__lower_indices *indices; /* inputs that are indices */
  size_t index_count;
  /* Lowers the nodes of a body in the current scope; set by mica__lower_model. */
  mica_status (*lower_nodes)(mica__lowering *l, const mica__onnx_graph *graph);
  int32_t before; /* the graph's node count before the current operator */
  int32_t depth;  /* nesting of functions and bodies */
  /* Nodes lowered so far; the nodes of bodies and functions count each time that they are lowered. */
  uint64_t nodes;
  mica_status status;
  char message[1024]; /* of the first error; later errors do not replace it; "" for none */
  void **rooms;
  size_t room_count, room_capacity;
};

/* Lowers l->root. *outputs receives a value for each output of the root, and one more if l->counts. If l->demands is
 * set afterwards, nothing else is usable. Before the call, the caller sets model, external, graph, root, inputs,
 * input_count, demanded, known and known_count, and input_values if the graph already has the inputs. It may also set
 * the fields from is_body to stop_at (except held), and may_bind, free, seed, make_parameter and parameter_user. All
 * other fields of l must be zero. */
mica_status mica__lower_model(mica__lowering *l, mica_value *outputs);
void mica__lower_free(mica__lowering *l);

/* True if the value is a constant of one element; *on is then true if the element is not 0. */
bool mica__lower_truth(const mica__lowering *l, mica_value value, bool *on);
/* Reads the elements of a value that the host does not know. `what` is its name in messages. If the value depends only
 * on inputs and weights that can be constants, they are demanded: the lowering restarts, and *data stays NULL. Else a
 * cut computes the value, and *data is valid as long as the lowering. Fails instead of a cut in mica_onnx_build. */
mica_status mica__lower_demand(mica__lowering *l, const mica__onnx_node *node, mica_value value, const char *what,
                               const void **data);
/* Reads a condition into *on, as mica__lower_demand does. *on is false if the lowering must restart first. */
mica_status mica__lower_condition(mica__lowering *l, const mica__onnx_node *node, mica_value value, const char *what,
                                  bool *on);
/* True if a value depends only on small inputs and initialisers that can become constants. If `demands`, they are
 * also demanded. */
bool mica__lower_can_bind(mica__lowering *l, mica_value value, bool demands);

/* Lowers a node by the caller's callback (define.c). */
mica_status mica__lower_defined(mica__lowering *l, const mica__onnx_node *node, const mica__onnx_defined *defined);

mica_status mica__scope_open(mica__lowering *l, bool sees_outer, mica__lower_scope *scope);
void mica__scope_close(mica__lowering *l, mica__lower_scope *scope);
/* Adds a value to the current scope under a name. The name is not copied and must outlive the scope. */
mica_status mica__scope_put(mica__lowering *l, const char *name, mica__lower_value value);
/* Finds a name in the visible scopes; NULL if it is unknown. The pointer is valid until the next name is added. */
mica__lower_value *mica__scope_find(const mica__lowering *l, const char *name);
/* Adds the initialisers of a graph to the scope. */
mica_status mica__scope_put_initials(mica__lowering *l, const Onnx__GraphProto *graph);
/* Returns the value of a name and makes it if necessary; null, with an error recorded, if the name is unknown. */
mica_value mica__scope_value(mica__lowering *l, const mica__onnx_node *node, const char *name);

/* Returns l->status with the message of the first error, even if builders recorded others after it. */
mica_status mica__lower_failed(const mica__lowering *l);
/* Records an error of the graph as an error of the node. */
void mica__lower_pass_graph_error(mica__lowering *l, const mica__onnx_node *node);
/* True if the node is a constant. */
bool mica__lower_is_known(const mica_graph *graph, int32_t id);
/* Replaces a value by a constant if the nodes that compute it, made since l->before, depend only on known values
 * (fold.c). Else returns the value unchanged. */
mica_value mica__lower_fold(mica__lowering *l, mica_value value);

#endif
