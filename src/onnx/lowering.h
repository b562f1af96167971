/* onnx/lowering.h: the inside of a lowering: scopes of names, what is bound, what is demanded; for run.c and for those
 * operators that have bodies. Operators see lower.h alone. */
#ifndef MICA_ONNX_LOWERING_H
#define MICA_ONNX_LOWERING_H

#include "ir/graph.h"
#include "onnx/indices.h"
#include "onnx/texts.h"

/* Functions and bodies inside each other. */
#define MICA__LOWER_DEPTH 64

/* A sequence. */
typedef struct mica__lower_list {
  mica_value *values;
  int64_t count;
} mica__lower_list;

/* The meaning of a name. */
typedef struct mica__lower_value {
  mica_value value;                /* null: not made yet, or absent */
  const Onnx__TensorProto *tensor; /* an initial value, made when it is first used */
  const Onnx__SparseTensorProto *sparse;
  const mica__lower_list *list; /* of a sequence, which has no value */
  mica__onnx_texts texts;       /* of a tensor of texts, whose value has indices in them */
} mica__lower_value;

/* The names of a graph or function that is being lowered. A body sees the names around it, a function does not. */
typedef struct mica__lower_scope {
  struct mica__lower_scope *outer;  /* whose names it sees; NULL for none */
  struct mica__lower_scope *caller; /* the scope that goes on when this one ends; NULL for the outermost */
  const mica__onnx_graph *graph;    /* whose nodes are being lowered, and which of them; NULL before the first */
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

/* An input of the model: its type, and its elements where it is bound. */
typedef struct mica__lower_input {
  const char *name;
  mica_dtype dtype;
  mica_shape shape;
  const void *data; /* NULL: not bound */
  bool given;       /* false for an optional input that is left out */
  /* A body has more: an initial value from around it; a slice of the operand along the axis, that of the trip (input
   * 0), from the end where `back`. */
  const Onnx__TensorProto *tensor;
  const Onnx__SparseTensorProto *sparse;
  bool sliced, back;
  int32_t axis;
} mica__lower_input;

/* Values that an operator holds while its body is lowered, so that a cut inside keeps them. */
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
  const mica__onnx_graph *root; /* what is lowered: the model's graph, or a body by itself */
  bool is_body;
  bool counts;               /* input 0 is a trip's number; its successor becomes the last output */
  struct mica__trace *trace; /* runs what is lowered where a value is needed; NULL: nothing can run (flow/runner.h) */
  const mica__lower_held *held;
  uint32_t most_unrolled; /* nodes; 0 for the default */
  bool small_weights;     /* floating initial values of few elements are weights, those of rank 0 are not */
  bool by_name;           /* weights are asked for by their names in the file: tensors without one are constants */
  bool widens;            /* values of f16 and bf16 are f32 */
  const char *stop_at;    /* the lowering ends when this value is made; NULL: at the end */
  const mica__lower_input *inputs;
  mica_value *input_values;
  size_t input_count;
  bool may_bind;
  const bool *free; /* by input: not to be bound */
  mica_value step;  /* null until an operator draws at random */
  uint64_t seed;
  bool *demanded; /* by input: to be bound; then the lowering begins again */
  bool demands;
  const Onnx__TensorProto *const *known; /* initial values that have to be constants */
  size_t known_count;
  const Onnx__TensorProto *demanded_tensor;
  /* Makes the parameter of a weight; NULL: mica_parameter. */
  mica_value (*make_parameter)(void *user, mica_graph *graph, const char *name, mica_dtype dtype, mica_shape shape);
  void *parameter_user;
  mica__lower_weight *weights;
  size_t weight_count, weight_capacity;
  mica__lower_indices *indices; /* inputs that are indices */
  size_t index_count;
  mica_status (*lower_nodes)(mica__lowering *l, const mica__onnx_graph *graph); /* in the present scope; for bodies */
  int32_t before; /* how many nodes the graph had before the operator that is being lowered */
  int32_t depth;  /* functions and bodies inside each other */
  uint64_t nodes; /* lowered so far, bodies and functions each time */
  mica_status status;
  char message[1024]; /* of the first error, which those that follow from it do not replace; "" for none */
  void **rooms;
  size_t room_count, room_capacity;
};

/* Lowers l->root: *outputs gets a value for each of its outputs, and one more where l->counts. Where l->demands is set
 * afterwards nothing else is of use. l is zero but for model, external, graph, root and the fields after it that say
 * what is to be done, inputs, input_count, demanded, known and known_count; input_values where the graph has them. */
mica_status mica__lower_model(mica__lowering *l, mica_value *outputs);
void mica__lower_free(mica__lowering *l);

/* True if the value is a constant of one element; then *on is whether that is not 0. */
bool mica__lower_truth(const mica__lowering *l, mica_value value, bool *on);
/* Gives a value that is not known to the host: *data, valid as long as the lowering. It is computed by a cut; or the
 * lowering begins again with what it is made of known: then *data stays NULL. `what` is for sentences. */
mica_status mica__lower_demand(mica__lowering *l, const mica__onnx_node *node, mica_value value, const char *what,
                               const void **data);
/* A condition that is known or demanded: *on is true if it is. l->demands is set where it is not known yet. */
mica_status mica__lower_condition(mica__lowering *l, const mica__onnx_node *node, mica_value value, const char *what,
                                  bool *on);
/* True if a value is made of small inputs and initial values alone, which can be bound; then `demands` demands them. */
bool mica__lower_can_bind(mica__lowering *l, mica_value value, bool demands);

/* Lowers a node by the caller's callback (define.c). */
mica_status mica__lower_defined(mica__lowering *l, const mica__onnx_node *node, const mica__onnx_defined *defined);

mica_status mica__scope_open(mica__lowering *l, bool sees_outer, mica__lower_scope *scope);
void mica__scope_close(mica__lowering *l, mica__lower_scope *scope);
/* Files a value under a name of the present scope, which is borrowed. */
mica_status mica__scope_put(mica__lowering *l, const char *name, mica__lower_value value);
/* NULL where no scope in sight has the name. Valid until the next name is filed. */
mica__lower_value *mica__scope_find(const mica__lowering *l, const char *name);
/* Files the initial values of a graph. */
mica_status mica__scope_put_initials(mica__lowering *l, const Onnx__GraphProto *graph);
/* The value behind a name, made if need be; null with an error recorded for none. */
mica_value mica__scope_value(mica__lowering *l, const mica__onnx_node *node, const char *name);

/* l->status, with the sentence of the first error, whatever builders said after it about its null value. */
mica_status mica__lower_failed(const mica__lowering *l);
/* Makes an error of the graph's the node's. */
void mica__lower_pass_graph_error(mica__lowering *l, const mica__onnx_node *node);
/* True if the node is a constant. */
bool mica__lower_is_known(const mica_graph *graph, int32_t id);
/* The value computed on the host if all that it is made of since l->before is known, else itself (fold.c). */
mica_value mica__lower_fold(mica__lowering *l, mica_value value);

#endif
