/* onnx/lower.h: lowering turns a model and the shapes of a run into a graph, node by node; the interface for operators.
 *
 * An operator is a function mica__onnx_<name>, named by rows of onnx/ops/<family>.def:
 *
 *   ONNX_OP("", "Relu", 1, relu)                                  domain, operator, first version, function;
 *     ONNX_ATTR("consumed_inputs", INTS, 1, 5)                    below it, its attributes (ops/table.h)
 *
 *   MICA__LOWER(relu) {                                           in onnx/ops/<family>.c
 *     mica__lower_result(l, node, 0, mica_relu(mica__lower_operand(l, node, 0)));
 *     return MICA_OK;
 *   }
 *
 * If an operator has several rows, the row with the highest version up to the node's is used. All shapes are known: no
 * dimension is open. A value is known on the host if it is a constant. Results of operators on known operands are
 * computed at once, so that arithmetic on shapes needs no special code. */
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
/* Returns the value of operand k. If it is absent, or cannot be made, the result is null and an error is recorded,
 * which ends the lowering when the operator returns; so ask mica__lower_has about optional operands. Graph builders
 * accept null and return null. */
mica_value mica__lower_operand(mica__lowering *l, const mica__onnx_node *node, int32_t k);
/* Returns operand k in a floating type, for operators that Mica computes only in floating point: other types become
 * f32. */
mica_value mica__lower_floating(mica__lowering *l, const mica__onnx_node *node, int32_t k);
/* Return ONNX's number of the element type of operand k and of result k, from an initial value or the graph's
 * declarations; 0 if unknown. */
int32_t mica__lower_file_type(const mica__lowering *l, const mica__onnx_node *node, int32_t k);
int32_t mica__lower_result_type(const mica__lowering *l, const mica__onnx_node *node, int32_t k);
/* Returns the texts that the elements of operand k index; NULL if it does not hold texts. Operators that do not support
 * texts never see such operands. */
const mica__onnx_texts *mica__lower_texts(const mica__lowering *l, const mica__onnx_node *node, int32_t k);
/* Converts ONNX's number of an element type to the dtype used in this lowering; false for types that Mica lacks and for
 * 4-bit types, which an operator must narrow to by itself. */
bool mica__lower_dtype(const mica__lowering *l, int64_t type, mica_dtype *dtype);
/* Returns the step of the run, i64, for random numbers: it differs in each run and in each trip of a loop. Null, with
 * an error recorded, if the model is built into a graph instead of being run. */
mica_value mica__lower_step(mica__lowering *l, const mica__onnx_node *node);
/* The runner's seed. */
uint64_t mica__lower_seed(const mica__lowering *l);
/* Makes a scalar constant of the same dtype as `like`. */
mica_value mica__lower_number(mica_value like, double number);
/* Divides the range of x, extended to include 0, into 255 steps: returns the scale, and the zero point as u8. If x is
 * all 0, the scale is 1. */
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

/* Reads the elements of operand k, an integer or bool tensor, exactly; count is 0 if the operand is absent. Returns
 * false if they are not known or the operand is missing. Then either they were demanded, and the lowering restarts with
 * more values bound, or an error is recorded; in both cases the operator returns MICA_OK. */
bool mica__lower_integers(mica__lowering *l, const mica__onnx_node *node, int32_t k, mica__integers *out);
/* Reads the elements of operand k, of any dtype, as doubles; count and result are as for mica__lower_integers. */
bool mica__lower_reals(mica__lowering *l, const mica__onnx_node *node, int32_t k, mica__reals *out);
/* Reads the single element of operand k if it is known; false, without a demand, if not. */
bool mica__lower_known_number(mica__lowering *l, const mica__onnx_node *node, int32_t k, double *number);

/* Reads one integer computed from operands only, on the host or by a cut; `what` is for messages. false: see
 * mica__lower_integers. Only operands stay valid after the call; make other values after it. */
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
/* False, with out empty, if the node has no such list. */
bool mica__onnx_ints(const mica__onnx_node *node, const char *name, mica__integers *out);
/* Returns the index of the attribute's word in a list "a b c"; `standard` if the attribute is absent. A word that is
 * not in the list is an error and returns 0. */
int32_t mica__lower_choice(mica__lowering *l, const mica__onnx_node *node, const char *name, const char *words,
                           int32_t standard);

/* --- results --- */

/* True if result k is used, which means that it has a name. */
bool mica__lower_wants(const mica__onnx_node *node, int32_t k);
/* Stores result k, and computes it at once if it is known. A null value records the graph's error. */
void mica__lower_result(mica__lowering *l, const mica__onnx_node *node, int32_t k, mica_value value);
/* Stores result k as texts: i64 indices into a list that lives as long as the model. */
void mica__lower_text_result(mica__lowering *l, const mica__onnx_node *node, int32_t k, mica_value indices,
                             mica__onnx_texts texts);
/* Records an error, prefixed with "model.onnx: node 'conv1' (Conv): ". Returns the status. */
mica_status mica__lower_fail(mica__lowering *l, const mica__onnx_node *node, mica_status status, const char *format,
                             ...) __attribute__((format(printf, 4, 5)));

/* --- what operators share --- */

/* Computes *out = a b. Use this for all sizes that come from a file: false, with an error recorded, if a factor is
 * negative or the product exceeds `most`. */
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
/* Make a value of a tensor in the file: a known constant if it is small, of integers or sparse, else a weight. `name`
 * is the value's name. */
mica_value mica__lower_tensor(mica__lowering *l, const Onnx__TensorProto *proto, const char *name);
mica_value mica__lower_sparse(mica__lowering *l, const Onnx__SparseTensorProto *proto);
/* Allocates zeroed memory that the lowering frees; NULL, with an error recorded, on failure. */
void *mica__lower_room(mica__lowering *l, size_t count, size_t size);

#endif
