/* ir/graph.h: the graph as data. It contains shapes and attributes, but no kernels and no device. */
#ifndef MICA_IR_GRAPH_H
#define MICA_IR_GRAPH_H

#include "base/error.h"
#include "base/name_table.h"
#include "base/shared.h"
#include "ir/op.h"

#include <mica/graph.h>

/* dtype and shape of a value; dimensions may be MICA_DYNAMIC. */
typedef struct mica__type {
  mica_dtype dtype;
  mica_shape shape;
} mica__type;

/* "f32 (64, ?)"; the text always fits. */
#define MICA__TYPE_TEXT (MICA_SHAPE_TEXT + 8)
const char *mica__type_format(mica__type type, char text[MICA__TYPE_TEXT]);

/* MICA_E_OVERFLOW: a value of this type would have 2^63 or more elements or bytes. MICA_E_INVALID: the shape is
 * invalid. Dynamic and zero dimensions count as 1, so any product of dimensions of a checked type fits into int64_t. */
mica_status mica__type_check(mica__type type);

bool mica__shape_is_open(mica_shape shape);
/* True if a shape without dynamic dimensions matches `declared`. */
bool mica__shape_fits(mica_shape shape, mica_shape declared);
/* Like mica_shape_broadcast, but dimensions may be dynamic. A dynamic dimension stays dynamic if the other shape has 1,
 * a dynamic dimension or no dimension there. Otherwise it takes the other shape's extent. */
mica_status mica__shape_broadcast(mica_shape a, mica_shape b, mica_shape *out);

/* A builder such as mica_layer_norm may add several nodes. The mark on its last node keeps the information that the
 * value is the "layer_norm" of these operands.
 *
 * A copy of the node has a copy of the mark. The operands of a mark are not inputs of the node, so a mark does not keep
 * a value from being removed. If a copied graph lacks one of the operands, the copied node gets no mark. */
#define MICA__MARK_INPUTS 6
#define MICA__MARK_NUMBERS 6
typedef struct mica__mark {
  const char *name;                               /* name of the operation; lives as long as the program */
  int32_t input_count, inputs[MICA__MARK_INPUTS]; /* ids; 0 for an absent operand */
  double numbers[MICA__MARK_NUMBERS];             /* its configuration, in an order defined by the name */
} mica__mark;

/* Two kinds of marks describe layers. "heads" is on a reshape of columns (B, T, n size) to heads (B, T, n, size).
 * "section" is on a slice that is one section of a layer's columns. If the network is built again with fewer columns
 * (mica_nn_config.like), these nodes get other extents. */
#define MICA__MARK_HEADS "heads"
#define MICA__MARK_SECTION "section"

/* An entry of a graph: a node together with its result 0, or another result of a node. Every value has its own id, and
 * a node with n results takes n consecutive ids, so result k of the node with the id `id` is the value id + k in every
 * graph.
 *
 * The first of these ids belongs to the node itself. The others are entries of the op `result`, whose only input is the
 * node. Code that follows values to their inputs therefore needs no special case for them. A node is always added with
 * all its results. */
typedef struct mica__node {
  const mica__op *op;
  int32_t *inputs; /* ids */
  int32_t input_count;
  void *attrs; /* type as in op->attrs; owned; NULL if the op has no attributes */
  mica__type type;
  int32_t result;   /* for an entry of the op `result`: which result of the node it is, from 1; else 0 */
  void *data;       /* elements of a constant; else NULL */
  char *name;       /* may be NULL */
  int32_t assigned; /* of a parameter: id of the value assigned to it; 0: none */
  bool checkpoint;  /* set by mica_checkpoint: this value is kept for the backward pass, which recomputes the values
                     * before it */
  /* number (from 1) of the mica_gradients call that recomputes this node for a backward pass; 0 for an original node. A
   * recomputed node is never merged with its original. */
  int32_t pass;
  mica__mark *mark; /* owned; mostly NULL */
} mica__node;

struct mica_graph {
  mica__node *nodes; /* nodes[id - 1]; inputs come before their users */
  int32_t count, capacity;
  mica__name_table names; /* ids of inputs and parameters by name; empty in a session's copies */
  mica_status status;
  char *message;
};

/* Entry of a value that is not null. Valid until a node is added. */
mica__node *mica__graph_node(const mica_graph *graph, int32_t id);
/* Number of arithmetic operations that compute the value, from the op's `flops`. If the op has no `flops`, or the node
 * has more than 8 inputs, the number is one per element of the result for pointwise ops and reductions, and 0 for other
 * ops. Dynamic dimensions count as 1. */
double mica__graph_flops(const mica_graph *graph, int32_t id);
/* Infers the types of all values as if dynamic dimensions were 1, which is one sample, and one step if the number of
 * steps is dynamic. types[id - 1] receives the type of the value `id`. A reshape that joins samples with other axes
 * then has the rows of one sample. If an op cannot infer a type, the value keeps its type, with 1 for each dynamic
 * dimension. */
mica_status mica__graph_single_types(const mica_graph *graph, mica__type *types);
/* mica__graph_flops with the types that mica__graph_single_types infers. */
double mica__graph_single_flops(const mica_graph *graph, int32_t id, const mica__type *types);
/* Number of results of a node; 1 for an entry of the op `result`. */
int32_t mica__node_results(const mica__node *node);
/* Result k of a node, given its result 0; null stays null. */
mica_value mica__graph_result(mica_value node, int32_t k);

/* Infers the types of all results. Checks the inputs' dtypes against op->dtypes ("operand 1 is i64, but must be ..."),
 * calls op->infer, and checks its result with mica__type_check. */
mica_status mica__op_infer(const mica__op *op, const mica__type *inputs, int32_t input_count, void *attrs,
                           mica__type *out);
/* True if the dtype belongs to the set for which a letter of op->dtypes stands, such as 'f' for floating types. The
 * letter must not be a digit. If text is not NULL, *text receives a description of the set. */
bool mica__dtype_in(mica_dtype dtype, char letter, const char **text);

/* Marks a value as the result of the operation `name` on the operands, and returns the value; null if memory is short.
 * Values that are not a node's result 0 stay unmarked, and so does a value with more operands or numbers than a mark
 * can hold. An operand may be null; numbers may be NULL. */
mica_value mica__graph_mark(mica_value value, const char *name, const mica_value *operands, int32_t count,
                            const double *numbers, int32_t number_count);
/* Copies a node's mark to its copy, unless the copy already has one or an operand of the mark has no copy. map gives
 * the copy's id for each id of the original graph, 0 if there is no copy. */
mica_status mica__mark_copy(const mica__node *node, const int32_t *map, mica__node *copy);

/* Adds a node to the graph of its inputs and returns the node's result 0. Checks that the inputs are not null and
 * belong to one graph, infers the types with mica__op_infer, and copies the attributes (NULL: defaults). After an
 * error, returns the null value. The graph keeps the error, unless it has an earlier one; if all inputs are null, there
 * is no graph to keep it. Builders and gradient rules use this function for all values that have inputs, and
 * mica__graph_add_source for the others. */
mica_value mica__graph_add(const mica__op *op, const mica_value *inputs, int32_t input_count, const void *attrs);
/* mica__graph_add for ops with optional operands. Null operands are omitted, so a node's inputs are always dense. Bit k
 * of the attribute INT `present`, which must be the op's first, tells whether operand k exists. The first
 * op->min_inputs operands are required. Functions that look at inputs of such a node (infer, evaluate, launch,
 * takes_strides and the like) count inputs, not operands; only op->dtypes counts operands. */
mica_value mica__graph_add_present(const mica__op *op, const mica_value *operands, int32_t count, void *attrs);
/* Returns the index of the input that is operand k, for a node whose attribute `present` has this value; -1 if the
 * operand is absent. */
int32_t mica__present_index(int64_t present, int32_t k);
/* Maximum number of operands of an op with optional operands. */
#define MICA__MAX_PRESENT 32
/* Adds a node like mica__graph_add, but with given types of all results, so nothing is inferred. Returns the node's id.
 * Returns 0 and records an error if mica__type_check refuses a type, memory is short, or the graph has too many
 * values. */
int32_t mica__graph_put(mica_graph *graph, const mica__op *op, const int32_t *inputs, int32_t input_count,
                        const void *attrs, const mica__type *types);
/* Adds a node of an op without inputs, with a known type. Returns the null value after an error, or if graph is
 * NULL. */
mica_value mica__graph_add_source(mica_graph *graph, const mica__op *op, const void *attrs, mica__type type);

/* The attributes of full and full_like. */
#define MICA__FULL_ATTRS(X, S) X(S, REAL, value, 0, "what every element is")
MICA__ATTR_STRUCT(full, MICA__FULL_ATTRS);

/* The attributes of a parameter. */
#define MICA__PARAMETER_ATTRS(X, S)                                                                                    \
  X(S, BOOL, held, false, "it is a weight as a file has it: nothing of its size that is made of it stays in memory")
MICA__ATTR_STRUCT(parameter, MICA__PARAMETER_ATTRS);

/* Marks a parameter as held (MICA__PARAMETER_ATTRS); does nothing for the null value. */
void mica__graph_hold(mica_value parameter);
/* True if the node is a held parameter. */
bool mica__is_held(const mica__node *node);

/* Ops that the compiler recognises by their addresses. input, parameter, constant and full are sources.
 *
 *   full           a constant with one value everywhere; needs no memory
 *   full_like      full in the shape of its input, which may be dynamic
 *   stop_gradient  returns its input; no gradient passes through it
 *   result         a result of its input's node other than result 0 */
extern const mica__op mica__op_input, mica__op_parameter, mica__op_constant, mica__op_full, mica__op_full_like,
    mica__op_stop_gradient, mica__op_result;

/* Value of a full node. */
double mica__full_value(const mica__node *node);

/* Records an error (the first one stays) and returns the null value. */
MICA__SHARED mica_value mica__graph_fail(mica_graph *graph, mica_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Like mica__graph_fail, with the last error message of this thread. Call it after another function has failed. */
MICA__SHARED mica_value mica__graph_fail_with(mica_graph *graph, mica_status status);
/* Like mica__graph_fail_with, but puts the op and its inputs before the message: "add(%3 'h' f32 (64, 128), %4 f32
 * (3)): ". The inputs must be values of the graph. */
mica_value mica__graph_fail_at(mica_graph *graph, mica_status status, const char *op, const mica_value *inputs,
                               int32_t input_count);

#endif
