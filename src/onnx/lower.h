/* onnx/lower.h: the interface for operators. Lowering goes through a model node by node and makes a graph for the
 * shapes of a run.
 *
 * An operator is a function mica__onnx_<name>. Rows of onnx/ops/<family>.def name it:
 *
 *   ONNX_OP("", "Relu", 1, relu)                                  domain, operator, first version, function;
 *     ONNX_ATTR("consumed_inputs", INTS, 1, 5)                    below it, its attributes (ops/table.h)
 *
 *   MICA__LOWER(relu) {                                           in onnx/ops/<family>.c
 *     mica__lower_result(l, node, 0, mica_relu(mica__lower_operand(l, node, 0)));
 *     return MICA_OK;
 *   }
 *
 * If an operator has several rows, the row with the highest version up to the node's version is used. During a run all
 * shapes are known; only mica_onnx_build may lower inputs with open dimensions. A value is known on the host if it is a
 * constant. Operators on known operands are computed during lowering, so that arithmetic on shapes needs no special
 * code. */
#ifndef MICA_ONNX_LOWER_H
#define MICA_ONNX_LOWER_H

#include "onnx/tensor.h"
#include "onnx/texts.h"

#include <mica/nodes.h>

typedef struct mica__lowering mica__lowering;
typedef mica_status mica__lower_fn(mica__lowering *l, const mica__onnx_node *node);
#define MICA__LOWER(name) mica_status mica__onnx_##name(mica__lowering *l, const mica__onnx_node *node)

mica_graph *mica__lower_graph(mica__lowering *l);

/* --- operands --- */

/* True if operand k is present. */
bool mica__lower_has(const mica__lowering *l, const mica__onnx_node *node, int32_t k);
/* Returns the value of operand k. If the operand is absent or cannot be made, an error is recorded and the result is
 * null; so first ask mica__lower_has about an optional operand. If the lowering must restart, the result is null
 * without an error. The operator may pass null to graph builders, which then return null; the lowering fails when the
 * operator returns, or restarts. */
mica_value mica__lower_operand(mica__lowering *l, const mica__onnx_node *node, int32_t k);
/* Returns operand k in a floating type, for operators that Mica computes only in floating point: other types become
 * f32. */
mica_value mica__lower_floating(mica__lowering *l, const mica__onnx_node *node, int32_t k);
/* Return the element type of operand k, and of result k, as a number of ONNX's enum TensorProto.DataType. The number
 * comes from an initialiser or from the graph's declarations; 0 if neither has it. */
int32_t mica__lower_file_type(const mica__lowering *l, const mica__onnx_node *node, int32_t k);
int32_t mica__lower_result_type(const mica__lowering *l, const mica__onnx_node *node, int32_t k);
/* If operand k holds texts, its elements are indices into a list of texts: returns the list. NULL if it does not hold
 * texts. Operators that do not support texts never see such operands. */
const mica__onnx_texts *mica__lower_texts(const mica__lowering *l, const mica__onnx_node *node, int32_t k);
/* Converts a number of ONNX's enum TensorProto.DataType to the dtype used in this lowering. False for types that Mica
 * lacks and for 4-bit types: Mica keeps these in wider dtypes, and the operator must limit the values itself. */
bool mica__lower_dtype(const mica__lowering *l, int64_t type, mica_dtype *dtype);
/* Returns the step of the run, i64, for random numbers: it differs in each run, and in each trip of a loop whose trips
 * the host counts. Null, with an error recorded, if the model is built into a graph instead of being run. */
mica_value mica__lower_step(mica__lowering *l, const mica__onnx_node *node);
/* The runner's seed. */
uint64_t mica__lower_seed(const mica__lowering *l);
/* Makes a scalar constant of the same dtype as `like`. */
mica_value mica__lower_number(mica_value like, double number);
/* Computes a u8 quantisation of x. The range from the smallest to the largest element, extended to include 0, is
 * divided into 255 steps. Returns the size of a step; 1 if x is all 0. *zero receives the u8 number that means 0. */
mica_value mica__lower_byte_range(mica_value x, mica_value *zero);

/* Numbers on the host, valid as long as the lowering. */
typedef struct mica__integers {
  const int64_t *values;
  int64_t count;
  mica_shape shape; /* of the operand */
} mica__integers;
typedef struct mica__reals {
  const double *values;
  int64_t count;
  mica_shape shape;
} mica__reals;

/* Reads the elements of operand k, an integer or bool tensor, exactly, except that numbers above 2^63 - 1 become 2^63 -
 * 1. If the operand is absent, count is 0. Returns false in two cases, and the operator must then return MICA_OK:
 * - the elements are not known yet: the lowering restarts with more values as constants
 * - an error is recorded */
bool mica__lower_integers(mica__lowering *l, const mica__onnx_node *node, int32_t k, mica__integers *out);
/* Reads the elements of operand k, of any dtype, as doubles; count and result are as for mica__lower_integers. */
bool mica__lower_reals(mica__lowering *l, const mica__onnx_node *node, int32_t k, mica__reals *out);
/* Reads the single element of operand k if it is known. Else returns false; it never makes the lowering restart. */
bool mica__lower_known_number(mica__lowering *l, const mica__onnx_node *node, int32_t k, double *number);

/* Reads an integer that an operator has computed from its operands only, such as a sum. If it is not known, the
 * lowering restarts, or a cut computes it. `what` is its name in messages. False: as for mica__lower_integers.
 * Afterwards only the operands are still valid, so call this before making other values. */
bool mica__lower_integer_value(mica__lowering *l, const mica__onnx_node *node, mica_value value, const char *what,
                               int64_t *number);

/* --- attributes --- */

/* Finds an attribute; NULL if the node does not have it. */
const Onnx__AttributeProto *mica__onnx_attr(const mica__onnx_node *node, const char *name);
int64_t mica__onnx_int(const mica__onnx_node *node, const char *name, int64_t standard);
/* Reads a number; an integer attribute is converted. */
double mica__onnx_real(const mica__onnx_node *node, const char *name, double standard);
/* True if the attribute has that text. */
bool mica__onnx_is(const mica__onnx_node *node, const char *name, const char *text);
/* Reads a list of integers. False, and *out is an empty list, if the node lacks the attribute. */
bool mica__onnx_ints(const mica__onnx_node *node, const char *name, mica__integers *out);
/* Returns the index of the attribute's word in a list "a b c"; `standard` if the attribute is absent. A word that is
 * not in the list is an error and returns 0. */
int32_t mica__lower_choice(mica__lowering *l, const mica__onnx_node *node, const char *name, const char *words,
                           int32_t standard);

/* --- results --- */

/* True if result k is used, which means that it has a name. */
bool mica__lower_wants(const mica__onnx_node *node, int32_t k);
/* Stores `value` as result k. If it is computed from known values only, it is computed now and becomes a constant. If
 * it is null, an error is recorded: the graph's error or, if it has none, that the node lacks an input. */
void mica__lower_result(mica__lowering *l, const mica__onnx_node *node, int32_t k, mica_value value);
/* Stores result k as texts: i64 indices into a list that lives as long as the model. */
void mica__lower_text_result(mica__lowering *l, const mica__onnx_node *node, int32_t k, mica_value indices,
                             mica__onnx_texts texts);
/* Records an error, prefixed with "model.onnx: node 'conv1' (Conv): ". Returns the status. */
mica_status mica__lower_fail(mica__lowering *l, const mica__onnx_node *node, mica_status status, const char *format,
                             ...) __attribute__((format(printf, 4, 5)));

/* --- helpers --- */

/* Computes *out = a * b without overflow. False, with an error recorded, if a factor is negative or the product exceeds
 * `most`. Use it for all sizes that come from a file. */
bool mica__lower_product(mica__lowering *l, const mica__onnx_node *node, int64_t a, int64_t b, int64_t most,
                         int64_t *out);
#define MICA__LOWER_POSITIONS (1 << 24)
/* True if the graph may hold constants of `count` elements, 0 to MICA__LOWER_POSITIONS; else records an error. Call it
 * before mica_range and mica_one_hot if the count comes from a file. */
bool mica__lower_positions(mica__lowering *l, const mica__onnx_node *node, int64_t count);
/* Converts *axis from -rank .. rank - 1 to 0 .. rank - 1; false, with an error recorded, if it is out of range. */
bool mica__lower_axis(mica__lowering *l, const mica__onnx_node *node, int32_t rank, int64_t *axis);
/* Converts a list of axes; each must be in range and occur once. */
bool mica__lower_axes(mica__lowering *l, const mica__onnx_node *node, const mica__integers *list, int32_t rank,
                      mica_axes *axes);
/* Makes an i64 constant with one axis, or of rank 0 if rank is 0. */
mica_value mica__lower_integer_constant(mica__lowering *l, const int64_t *values, int64_t count, int32_t rank);
/* Make a value of a tensor in the file. `name` is the value's name. The tensor becomes a weight if it has many elements
 * (more than 32 floating ones, or more than 65536 integers); else, and if its elements were demanded or it is sparse, a
 * known constant. small_weights and by_name (lowering.h) change which tensors become weights. */
mica_value mica__lower_tensor(mica__lowering *l, const Onnx__TensorProto *proto, const char *name);
mica_value mica__lower_sparse(mica__lowering *l, const Onnx__SparseTensorProto *proto);
/* Allocates zeroed memory that the lowering frees; NULL, with an error recorded, on failure. */
void *mica__lower_room(mica__lowering *l, size_t count, size_t size);

#endif
