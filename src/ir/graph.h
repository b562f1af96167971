/* ir/graph.h: the graph as data. Knows shapes and attributes, no kernels and no device. */
#ifndef MICA_IR_GRAPH_H
#define MICA_IR_GRAPH_H

#include "base/error.h"
#include "base/name_table.h"
#include "ir/op.h"

#include <mica/graph.h>

/* dtype and shape of a value; dimensions may be MICA_DYNAMIC. */
typedef struct mica__type {
  mica_dtype dtype;
  mica_shape shape;
} mica__type;

/* "f32 (64, ?)", in a text that always fits. */
#define MICA__TYPE_TEXT (MICA_SHAPE_TEXT + 8)
const char *mica__type_format(mica__type type, char text[MICA__TYPE_TEXT]);

/* MICA_E_OVERFLOW for a type of which a value would have 2^63 elements or bytes, MICA_E_INVALID for a shape that is
 * none. Dimensions that are open or 0 count as 1, so that the product of any dimensions of a checked type fits int64_t.
 */
mica_status mica__type_check(mica__type type);

bool mica__shape_is_open(mica_shape shape);
/* True if a shape without open dimensions may stand where `declared` does. */
bool mica__shape_fits(mica_shape shape, mica_shape declared);
/* mica_shape_broadcast where dimensions may be open: an open one against 1 or open stays open; against any other it
 * must become that one. */
mica_status mica__shape_broadcast(mica_shape a, mica_shape b, mica_shape *out);

/* What a composed builder made: "layer_norm" of these values. Copied with the node; its operands are no inputs, so they
 * keep nothing alive, and a copy that lacks one has no mark. */
#define MICA__MARK_INPUTS 6
#define MICA__MARK_NUMBERS 6
typedef struct mica__mark {
  const char *name;                               /* of the operation; lives as long as the program */
  int32_t input_count, inputs[MICA__MARK_INPUTS]; /* ids; 0 for an operand that is absent */
  double numbers[MICA__MARK_NUMBERS];             /* its configuration, in an order that belongs to the name */
} mica__mark;

/* Marks of layers: a reshape of columns (B, T, n size) to heads (B, T, n, size), and a slice that is one of the parts
 * of a layer's columns. A network with fewer columns (mica_nn_config.like) has other numbers in their place. */
#define MICA__MARK_HEADS "heads"
#define MICA__MARK_SECTION "section"

/* A node, and its result 0. A value is (node, result), and every value has an id of its own: a node with n results
 * takes n ids in a row. The node itself stands under the first; each of the others is an entry of the op `result` whose
 * one input is the node, so that a sweep from values to what they are made of finds it. Nodes are only ever added with
 * all of their results, so that result k of node id is id + k in every graph. */
typedef struct mica__node {
  const mica__op *op;
  int32_t *inputs; /* ids */
  int32_t input_count;
  void *attrs; /* op->attrs says which; owned; NULL where the op has none */
  mica__type type;
  int32_t result;   /* of an entry of the op `result`: which one, from 1 */
  void *data;       /* a constant's elements; NULL otherwise */
  char *name;       /* may be NULL */
  int32_t assigned; /* of a parameter: the id of the value it takes; 0 for none */
  bool checkpoint;  /* intermediates up to here are computed again for the backward pass */
  int32_t pass;     /* from 1: computed again by that call of mica_gradients; never merged with the first computation */
  mica__mark *mark; /* owned; NULL for most */
} mica__node;

struct mica_graph {
  mica__node *nodes; /* nodes[id - 1]; inputs come before their users */
  int32_t count, capacity;
  mica__name_table names; /* ids of inputs and parameters by their names; empty in a session's copies */
  mica_status status;
  char *message;
};

/* The entry of a value that is not null. Valid until a node is added. */
mica__node *mica__graph_node(const mica_graph *graph, int32_t id);
/* The operations that the value's op states, or one an element if it states none and computes; open dimensions are 1.
 */
double mica__graph_flops(const mica_graph *graph, int32_t id);
/* Types of all values by id - 1, for one sample, and one step where steps are open too: rows that are flattened keep
 * their number. What an op cannot infer has ones for what is open. */
mica_status mica__graph_single_types(const mica_graph *graph, mica__type *types);
/* mica__graph_flops with such types. */
double mica__graph_single_flops(const mica_graph *graph, int32_t id, const mica__type *types);
/* The number of results of the node; 1 for an entry of another's result. */
int32_t mica__node_results(const mica__node *node);
/* Result k of the node behind its result 0; null stays null. */
mica_value mica__graph_result(mica_value node, int32_t k);

/* The types of all results: checks the inputs' dtypes as op->dtypes says, with "operand 1 is i64; it takes ...", then
 * asks op->infer, and checks what it says by mica__type_check. */
mica_status mica__op_infer(const mica__op *op, const mica__type *inputs, int32_t input_count, void *attrs,
                           mica__type *out);
/* Tells whether a letter of op->dtypes that is no digit takes the dtype; *text (may be NULL) is what it takes. */
bool mica__dtype_in(mica_dtype dtype, char letter, const char **text);

/* Marks a value as what the operation `name` makes of the operands, of which some may be null; returns it. A value that
 * is no node's result 0 stays as it is. numbers may be NULL. */
mica_value mica__graph_mark(mica_value value, const char *name, const mica_value *operands, int32_t count,
                            const double *numbers, int32_t number_count);
/* Gives the copy of a node the node's mark; map is from the ids of its graph to those of the copy's, 0 for none. */
mica_status mica__mark_copy(const mica__node *node, const int32_t *map, mica__node *copy);

/* Adds a node: checks that no input is null and all belong to the graph, infers its types by mica__op_infer, copies the
 * attributes (NULL for the defaults). The value is result 0. The one way that builders and gradient rules make values.
 * Sticky. */
mica_value mica__graph_add(const mica__op *op, const mica_value *inputs, int32_t input_count, const void *attrs);
/* mica__graph_add for an op of which some operands may be absent: null values among them are left out, so that a node's
 * inputs are always dense, and the attribute INT `present`, which must be the first one of the op, gets bit k where
 * operand k is there. The first op->min_inputs of them must be. Whatever looks at the inputs of such a node (infer,
 * evaluate, launch, takes_strides and the like) counts inputs, not operands; only op->dtypes counts operands. */
mica_value mica__graph_add_present(const mica__op *op, const mica_value *operands, int32_t count, void *attrs);
/* Which input of the node operand k is; -1: it is absent. */
int32_t mica__present_index(int64_t present, int32_t k);
/* The most operands of an op some of which may be absent. */
#define MICA__MAX_PRESENT 32
/* mica__graph_add for known types of all results: nothing is inferred. 0, with the error recorded, for a type that
 * mica__type_check refuses, and when memory is short. */
int32_t mica__graph_put(mica_graph *graph, const mica__op *op, const int32_t *inputs, int32_t input_count,
                        const void *attrs, const mica__type *types);
/* For ops without inputs. */
mica_value mica__graph_add_source(mica_graph *graph, const mica__op *op, const void *attrs, mica__type type);

/* The attributes of full and full_like. */
#define MICA__FULL_ATTRS(X, S) X(S, REAL, value, 0, "what every element is")
MICA__ATTR_STRUCT(full, MICA__FULL_ATTRS);

/* The attributes of a parameter. */
#define MICA__PARAMETER_ATTRS(X, S)                                                                                    \
  X(S, BOOL, held, false, "it is a weight as a file has it: nothing of its size that is made of it stays in memory")
MICA__ATTR_STRUCT(parameter, MICA__PARAMETER_ATTRS);

/* Makes a parameter a held one; the null value stays. */
void mica__graph_hold(mica_value parameter);
/* True if the node is a parameter that is held. */
bool mica__is_held(const mica__node *node);

/* The sources, which the compiler knows by address. full is a constant of one value everywhere: it takes no memory.
 * full_like is the same in its input's shape, which may be open. stop_gradient passes its input on. result is a further
 * result of its input. */
extern const mica__op mica__op_input, mica__op_parameter, mica__op_constant, mica__op_full, mica__op_full_like,
    mica__op_stop_gradient, mica__op_result;

/* The value of a full node. */
double mica__full_value(const mica__node *node);

/* Records an error (the first one stays) and returns the null value. */
mica_value mica__graph_fail(mica_graph *graph, mica_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* mica__graph_fail with this thread's sentence, for a call that failed on behalf of the graph. */
mica_value mica__graph_fail_with(mica_graph *graph, mica_status status);
/* mica__graph_fail_with and "add(%3 'h' f32 (64, 128), %4 f32 (3)): " before it; the inputs are values of the graph. */
mica_value mica__graph_fail_at(mica_graph *graph, mica_status status, const char *op, const mica_value *inputs,
                               int32_t input_count);

#endif
