/* onnx/lower.h: lowering: a model and the shapes of a run become a graph, node by node. What operators see of it.
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
 * If an operator has several rows, the one with the highest version that is no higher than the node's is taken. Shapes
 * are known throughout: no dimension is open. A value is known on the host when it is a constant; results of operators
 * on known operands are computed at once, so that arithmetic on shapes needs no code of its own. */
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

/* True if operand k is given. */
bool mica__lower_has(const mica__lowering *l, const mica__onnx_node *node, int32_t k);
/* The value of operand k; null if it is absent, and where an error is recorded, which ends the lowering once the
 * operator returns. Builders pass the null value on. */
mica_value mica__lower_operand(mica__lowering *l, const mica__onnx_node *node, int32_t k);
/* operand k as an f32 for operators that Mica computes in floating point alone; f64 where the operand is. */
mica_value mica__lower_floating(mica__lowering *l, const mica__onnx_node *node, int32_t k);
/* The element type of operand k and of result k as ONNX numbers it: of an initial value, or as the graph declares it; 0
 * if neither says one. */
int32_t mica__lower_file_type(const mica__lowering *l, const mica__onnx_node *node, int32_t k);
int32_t mica__lower_result_type(const mica__lowering *l, const mica__onnx_node *node, int32_t k);
/* The texts in which elements of operand k are indices; NULL if it holds none. Operators that do not know texts are
 * refused such operands. */
const mica__onnx_texts *mica__lower_texts(const mica__lowering *l, const mica__onnx_node *node, int32_t k);
/* The dtype that an element type's number in ONNX stands for in this lowering; false for those that Mica has not, and
 * for 4 bits, which an operator has to cut to by itself. */
bool mica__lower_dtype(const mica__lowering *l, int64_t type, mica_dtype *dtype);
/* The step of the run, i64, for numbers at random: another in each run and in each trip of a loop. Null, with an error
 * recorded, if the model is built into a graph instead of being run. */
mica_value mica__lower_step(mica__lowering *l, const mica__onnx_node *node);
/* The runner's seed. */
uint64_t mica__lower_seed(const mica__lowering *l);
/* A scalar constant of a value's dtype. */
mica_value mica__lower_number(mica_value like, double number);
/* The range of x, with 0 in it, in 255 steps: the scale, and the zero point as u8. Where all of x is 0 the scale is
 * 1. */
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

/* The elements of operand k, an integer or bool tensor, exactly; of an absent one none. false: they are not known, or
 * the operand is none. Then either they are demanded, and the lowering begins again with more bound, or an error is
 * recorded: the operator returns MICA_OK in both cases. */
bool mica__lower_integers(mica__lowering *l, const mica__onnx_node *node, int32_t k, mica__integers *out);
/* The elements of operand k, of any dtype, as doubles; likewise. */
bool mica__lower_reals(mica__lowering *l, const mica__onnx_node *node, int32_t k, mica__reals *out);
/* The one element of operand k if that is known; false, without a demand, where it is not. */
bool mica__lower_known_number(mica__lowering *l, const mica__onnx_node *node, int32_t k, double *number);

/* One integer that is made of operands alone, read from the host or computed by a cut; `what` is for sentences. false:
 * as mica__lower_integers. Only operands outlive the call: other values are to be made after it. */
bool mica__lower_integer_value(mica__lowering *l, const mica__onnx_node *node, mica_value value, const char *what,
                               int64_t *number);

/* --- attributes --- */

/* NULL for none. */
const Onnx__AttributeProto *mica__onnx_attr(const mica__onnx_node *node, const char *name);
int64_t mica__onnx_int(const mica__onnx_node *node, const char *name, int64_t standard);
/* An integer is taken as the same number. */
double mica__onnx_real(const mica__onnx_node *node, const char *name, double standard);
/* True if the attribute is that text. */
bool mica__onnx_is(const mica__onnx_node *node, const char *name, const char *text);
/* False if there is no such list, and out is empty. */
bool mica__onnx_ints(const mica__onnx_node *node, const char *name, mica__integers *out);
/* A text's place in a list "a b c" of words; `standard` where the attribute is absent. A word that is not in the list
 * is an error, and gives 0. */
int32_t mica__lower_choice(mica__lowering *l, const mica__onnx_node *node, const char *name, const char *words,
                           int32_t standard);

/* --- results --- */

/* True if result k is wanted: it has a name. */
bool mica__lower_wants(const mica__onnx_node *node, int32_t k);
/* Gives result k; computes it at once where it is known. A null value is an error: the graph's. */
void mica__lower_result(mica__lowering *l, const mica__onnx_node *node, int32_t k, mica_value value);
/* Gives result k, texts: i64 indices in a list that lives as long as the model. */
void mica__lower_text_result(mica__lowering *l, const mica__onnx_node *node, int32_t k, mica_value indices,
                             mica__onnx_texts texts);
/* Records an error: "model.onnx: node 'conv1' (Conv): " and the sentence. Returns the status. */
mica_status mica__lower_fail(mica__lowering *l, const mica__onnx_node *node, mica_status status, const char *format,
                             ...) __attribute__((format(printf, 4, 5)));

/* --- what operators share --- */

/* Sizes that a file gives are multiplied by this alone: *out = a b; false, with the error recorded, where a factor is
 * negative or the product is above `most`. */
bool mica__lower_product(mica__lowering *l, const mica__onnx_node *node, int64_t a, int64_t b, int64_t most,
                         int64_t *out);
/* True if `count` positions may be constants of the graph: from 0 to MICA__LOWER_POSITIONS; else with the error
 * recorded. Asked before mica_range and mica_one_hot, whose counts a file decides. */
#define MICA__LOWER_POSITIONS (1 << 24)
bool mica__lower_positions(mica__lowering *l, const mica__onnx_node *node, int64_t count);
/* *axis from -rank .. rank - 1 to 0 .. rank - 1; false when the error is recorded. */
bool mica__lower_axis(mica__lowering *l, const mica__onnx_node *node, int32_t rank, int64_t *axis);
/* A list of axes as Mica's, each once and in range. */
bool mica__lower_axes(mica__lowering *l, const mica__onnx_node *node, const mica__integers *list, int32_t rank,
                      mica_axes *axes);
/* A constant tensor of integers of the dtype i64 along one axis, or of rank 0 if rank is 0. */
mica_value mica__lower_integer_constant(mica__lowering *l, const int64_t *values, int64_t count, int32_t rank);
/* A tensor of the file as a value: known where it is small or of integers, else a weight. `name` is its value's. */
mica_value mica__lower_tensor(mica__lowering *l, const Onnx__TensorProto *proto, const char *name);
mica_value mica__lower_sparse(mica__lowering *l, const Onnx__SparseTensorProto *proto);
/* Memory of the lowering's own, zeroed; NULL with an error recorded. */
void *mica__lower_room(mica__lowering *l, size_t count, size_t size);

#endif
