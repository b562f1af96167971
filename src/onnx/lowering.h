/* onnx/lowering.h: the internals of lowering: scopes of names, bound inputs, demands. For run.c and for operators that
 * have bodies; other operators see only lower.h. */
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
  const Onnx__TensorProto *tensor; /* an initial value, made at its first use */
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

/* An initial value that became a parameter of the graph. */
typedef struct mica__lower_weight {
  const Onnx__TensorProto *tensor;
  const char *parameter; /* its name in the graph */
  const char *file_name;
  mica_value value;
} mica__lower_weight;

/* An input of the model: its type, and its elements if it is bound. */
typedef struct mica__lower_input {
  const char *name;
  mica_dtype dtype;
  mica_shape shape;
  const void *data; /* NULL: not bound */
  bool given;       /* false for an optional input that is omitted */
  /* For bodies only. tensor or sparse: the initial value from outside that the input stands for. sliced: the input
   * is this trip's slice of an operand along `axis`, counted from the end if `back`; input 0 is the trip's number. */
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
  bool counts;               /* input 0 is the trip's number; the next number is the last output */
  struct mica__trace *trace; /* runs the graph so far when a value is needed; NULL: cannot run (flow/runner.h) */
  const mica__lower_held *held;
  uint32_t most_unrolled; /* nodes; 0 for the default */
  bool small_weights;     /* small floating initial values are weights too, unless of rank 0 */
  bool by_name;           /* weights are found by their names in the file: unnamed tensors become constants */
  bool widens;            /* f16 and bf16 values become f32 */
  const char *stop_at;    /* the name of a value: the lowering ends once it is made; NULL: at the end */
  const mica__lower_input *inputs;
  mica_value *input_values;
  size_t input_count;
  bool may_bind;
  const bool *free; /* by input: must not be bound */
  mica_value step;  /* null until an operator draws random numbers */
  uint64_t seed;
  bool *demanded; /* by input: must be bound; the lowering then restarts */
  bool demands;
  const Onnx__TensorProto *const *known; /* initial values that must become constants */
  size_t known_count;
  const Onnx__TensorProto *demanded_tensor;
  /* Makes the parameter for a weight; NULL: mica_parameter. */
  mica_value (*make_parameter)(void *user, mica_graph *graph, const char *name, mica_dtype dtype, mica_shape shape);
  void *parameter_user;
  mica__lower_weight *weights;
  size_t weight_count, weight_capacity;
  mica__lower_indices *indices; /* inputs that are indices */
  size_t index_count;
  mica_status (*lower_nodes)(mica__lowering *l, const mica__onnx_graph *graph); /* for bodies: in the current scope */
  int32_t before; /* the graph's node count before the current operator */
  int32_t depth;  /* nesting of functions and bodies */
  uint64_t nodes; /* nodes lowered so far; bodies and functions count each time */
  mica_status status;
  char message[1024]; /* of the first error; later errors do not replace it; "" for none */
  void **rooms;
  size_t room_count, room_capacity;
};

/* Lowers l->root. *outputs receives a value for each of its outputs, and one more if l->counts. If l->demands is set
 * afterwards, nothing else is usable. Before the call, all fields of l must be zero except model, external, graph, root
 * and the settings after it, inputs, input_count, demanded, known and known_count, and input_values if the graph
 * already has them. */
mica_status mica__lower_model(mica__lowering *l, mica_value *outputs);
void mica__lower_free(mica__lowering *l);

/* True if the value is a constant of one element; *on is then true if the element is not 0. */
bool mica__lower_truth(const mica__lowering *l, mica_value value, bool *on);
/* Reads a value that is not known to the host into *data, valid as long as the lowering: a cut computes it. If its
 * sources can be bound instead, they are demanded, the lowering restarts, and *data stays NULL. `what` is for
 * messages. */
mica_status mica__lower_demand(mica__lowering *l, const mica__onnx_node *node, mica_value value, const char *what,
                               const void **data);
/* Reads a condition into *on, as mica__lower_demand does; *on is false if the condition was only demanded. */
mica_status mica__lower_condition(mica__lowering *l, const mica__onnx_node *node, mica_value value, const char *what,
                                  bool *on);
/* True if a value depends only on small inputs and initial values, which can be bound; if `demands`, also demands
 * them. */
bool mica__lower_can_bind(mica__lowering *l, mica_value value, bool demands);

/* Lowers a node by the caller's callback (define.c). */
mica_status mica__lower_defined(mica__lowering *l, const mica__onnx_node *node, const mica__onnx_defined *defined);

mica_status mica__scope_open(mica__lowering *l, bool sees_outer, mica__lower_scope *scope);
void mica__scope_close(mica__lowering *l, mica__lower_scope *scope);
/* Adds a value to the current scope under a name, which is borrowed. */
mica_status mica__scope_put(mica__lowering *l, const char *name, mica__lower_value value);
/* Finds a name in the visible scopes; NULL if it is unknown. Valid until the next name is added. */
mica__lower_value *mica__scope_find(const mica__lowering *l, const char *name);
/* Adds the initial values of a graph to the scope. */
mica_status mica__scope_put_initials(mica__lowering *l, const Onnx__GraphProto *graph);
/* Returns the value of a name and makes it if necessary; null, with an error recorded, if the name is unknown. */
mica_value mica__scope_value(mica__lowering *l, const mica__onnx_node *node, const char *name);

/* Returns l->status with the message of the first error, even if builders recorded others after it. */
mica_status mica__lower_failed(const mica__lowering *l);
/* Records an error of the graph as an error of the node. */
void mica__lower_pass_graph_error(mica__lowering *l, const mica__onnx_node *node);
/* True if the node is a constant. */
bool mica__lower_is_known(const mica_graph *graph, int32_t id);
/* Computes a value on the host if everything it depends on since l->before is known; else returns it unchanged
 * (fold.c). */
mica_value mica__lower_fold(mica__lowering *l, mica_value value);

#endif
