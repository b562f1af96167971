/* ops/rnn/rnn.h: recurrent layers. The op `rnn` computes a layer and, if its gradient is wanted, saves what `rnn_grad`
 * needs. rnn_grad computes the gradients of the gates' sums, of the initial states and, per sequence, of the peepholes.
 * Ordinary products and sums compute all other gradients from these. */
#ifndef MICA_OPS_RNN_RNN_H
#define MICA_OPS_RNN_RNN_H

#include "ir/graph.h"
#include "ops/select/launch_check.h"
#include "runtime/launch.h"

#include <mica/rnn.h>

/* Values of the kernels' macro KIND. TANH and RELU of mica_rnn_kind are PLAIN; GRU_BEFORE is a GRU that resets the
 * state before its product with r. */
enum { MICA__RNN_PLAIN, MICA__RNN_LSTM, MICA__RNN_GRU, MICA__RNN_GRU_BEFORE };

/* Operands of rnn: x, w and r, which are required, then the optional ones. */
enum {
  MICA__RNN_X,
  MICA__RNN_W,
  MICA__RNN_R,
  MICA__RNN_B,
  MICA__RNN_LENGTHS,
  MICA__RNN_H0,
  MICA__RNN_C0,
  MICA__RNN_PEEPHOLES,
  MICA__RNN_OPERANDS
};
/* Results of rnn. The gradient reads the last three:
 *
 *    SUMS     (T, B, D, sums H) or, with batch_first, (B, T, D, sums H): for each step the values of cl/rnn/cell.clh
 *    BEFORE   h before every step
 *    CELLS    for LSTM c before every step, for GRU_BEFORE the reset gate times h, empty for other kinds
 *
 * Y, SUMS, BEFORE and CELLS are 0 after a sequence's end. */
enum { MICA__RNN_Y, MICA__RNN_H, MICA__RNN_C, MICA__RNN_SUMS, MICA__RNN_BEFORE, MICA__RNN_CELLS, MICA__RNN_RESULTS };
enum {
  MICA__RNN_OF_R,
  MICA__RNN_OF_SUMS,
  MICA__RNN_OF_BEFORE,
  MICA__RNN_OF_LENGTHS,
  MICA__RNN_OF_CELLS,
  MICA__RNN_OF_PEEPHOLES,
  MICA__RNN_OF_DY,
  MICA__RNN_OF_DH,
  MICA__RNN_OF_DC,
  MICA__RNN_GRAD_OPERANDS
};
/* Results of rnn_grad:
 *
 *    DSUMS        (T, B, D, G H) or, with batch_first, (B, T, D, G H): the gradient of w x + b_w
 *    DHIDDEN      for GRU the gradient of r h + b_r, in the same shape; empty for other kinds
 *    DPEEPHOLES   (D, B, 3 H), not yet summed over B; empty without peepholes */
enum { MICA__RNN_DSUMS, MICA__RNN_DHIDDEN, MICA__RNN_DH0, MICA__RNN_DC0, MICA__RNN_DPEEPHOLES, MICA__RNN_GRAD_RESULTS };

#define MICA__RNN_FUNCTION_ATTRS(X, S, label)                                                                          \
  X(S, ENUM, label, 0, "a gate's function", mica__rnn_function_names)                                                  \
  X(S, REAL, label##_alpha, 0, "its alpha")                                                                            \
  X(S, REAL, label##_beta, 0, "its beta")
/* f0, g0 and p0 are the functions f, g and p of direction 0; f1, g1 and p1 are those of direction 1. Default functions,
 * alphas and betas are already filled in. */
#define MICA__RNN_ATTRS(X, S)                                                                                          \
  X(S, INT, present, 0, "operands that are there")                                                                     \
  X(S, ENUM, kind, 0, "of the cell", mica__rnn_kind_names)                                                             \
  X(S, ENUM, direction, 0, "of the walk", mica__rnn_direction_names)                                                   \
  X(S, BOOL, batch_first, false, "sequences are (B, T, ...)")                                                          \
  X(S, BOOL, input_forget, false, "the forget gate is 1 - the input gate")                                             \
  X(S, REAL, clip, 0, "of sums; 0: none")                                                                              \
  X(S, BOOL, byte_state, false, "h is rounded to 8 bits before its product")                                           \
  MICA__RNN_FUNCTION_ATTRS(X, S, f0)                                                                                   \
  MICA__RNN_FUNCTION_ATTRS(X, S, g0)                                                                                   \
  MICA__RNN_FUNCTION_ATTRS(X, S, p0)                                                                                   \
  MICA__RNN_FUNCTION_ATTRS(X, S, f1)                                                                                   \
  MICA__RNN_FUNCTION_ATTRS(X, S, g1)                                                                                   \
  MICA__RNN_FUNCTION_ATTRS(X, S, p1)
MICA__ATTR_STRUCT(rnn, MICA__RNN_ATTRS);
extern const char *const mica__rnn_function_names[], *const mica__rnn_kind_names[], *const mica__rnn_direction_names[];
extern const mica__attr_list mica__rnn_attr_list;
extern const mica__op mica__op_rnn, mica__op_rnn_grad;

/* A layer's sizes and cell: T steps, B sequences, H units, D directions. Step t of sequence b is row t time_stride + b
 * batch_stride of x; other sequence tensors have D rows for it, one per direction. */
typedef struct mica__rnn_layer {
  int32_t kind;
  int64_t gates, sums; /* gates is the rows of w and r per unit, sums the numbers that a step saves per unit */
  int64_t T, B, H, D;
  int64_t time_stride, batch_stride;
  uint32_t reverse; /* bit d: direction d runs backwards */
  bool input_forget, byte_state;
  double clip; /* infinite if nothing is clipped */
  mica_rnn_activation functions[2][3];
} mica__rnn_layer;

int64_t mica__rnn_gates(int32_t kind);
int64_t mica__rnn_sums(int32_t kind);
int64_t mica__rnn_directions(int32_t direction);
/* Describes a layer. `sequence` is the shape of a tensor whose first axes are steps and sequences (x or SUMS), `r` the
 * shape of r. Both must be known. */
mica__rnn_layer mica__rnn_layer_of(const mica__rnn_attrs *attrs, mica_shape sequence, mica_shape r);

/* Checks that the shape is `want`. An open dimension of either matches any extent. If not, MICA_E_SHAPE with a message
 * that has the operand's name. */
mica_status mica__rnn_expect(const char *name, mica_shape shape, mica_shape want);

/* mica__op.evaluate of both ops: references in double. */
mica_status mica__rnn_evaluate(const mica__eval *eval);
mica_status mica__rnn_grad_evaluate(const mica__eval *eval);
/* mica__op.grad of rnn. */
mica_status mica__rnn_gradient(const mica__grad *grad);
/* Checks rnn, or rnn_grad if `backward`. */
mica_status mica__rnn_check_layers(struct mica__check *check, const mica__op *op, bool backward);

/* --- launches --- */

/* Returns operand k of a launch; NULL if it is absent. */
const mica_tensor *mica__rnn_operand(const mica__exec *exec, int32_t k);
/* Copies operand `from` to result `to`, or zeros if the operand is absent; does nothing if the result is empty or not
 * wanted. */
mica_status mica__rnn_copy_state(const mica__exec *exec, int32_t from, int32_t to);
/* Chooses rnn_cpu or rnn_gpu for a pass and queues it (route.c). The backward pass reads what the forward pass saved,
 * so both must make the same choice. Therefore rnn_cpu declines a pass if the kernel of either pass does not suit. */
mica_status mica__rnn_run(const mica__exec *exec, const mica__rnn_layer *layer, bool backward);

/* Rows of a kernel's parameter table that select the cell, and their values in shipped variants. */
#define MICA__RNN_CELL_PARAMS                                                                                          \
  MICA__DTYPE("X_T", "type of operands", MICA__FLOATS), MICA__DTYPE("LEN_T", "type of lengths", MICA_I32, MICA_I64),   \
      MICA__CASE("KIND", "0 one gate, 1 LSTM, 2 GRU, 3 GRU that resets before", 0, 1, 2, 3),                           \
      MICA__CASE("ACT_F", "f, as mica_rnn_function", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11),                               \
      MICA__CASE("ACT_G", "g", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11),                                                     \
      MICA__CASE("ACT_P", "p", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11), MICA__CASE("CLIP", "1: sums are clipped", 0, 1),    \
      MICA__CASE("INPUT_FORGET", "1: LSTM's forget gate is 1 - its input gate", 0, 1),                                 \
      MICA__CASE("PEEPHOLES", "1: LSTM has peepholes", 0, 1),                                                          \
      MICA__CASE("BYTE_STATE", "1: LSTM rounds h to 8 bits before its product", 0, 1)
#define MICA__RNN_CELL_VALUES MICA_F32, MICA_I32, MICA__RNN_LSTM, 1, 2, 2, 0, 0, 0, 0

/* Returns the number of directions that one launch computes: 2 if the direction after `first` has the same functions,
 * otherwise 1. */
int64_t mica__rnn_alike(const mica__rnn_layer *layer, int64_t first);
/* Sets the parameters of MICA__RNN_CELL_PARAMS for directions with functions[first]. lengths and peepholes may be
 * NULL. */
void mica__rnn_set_cell(const mica__kernel_desc *desc, int32_t *values, const mica__rnn_layer *layer, int64_t first,
                        mica_dtype dtype, const mica_tensor *lengths, const mica_tensor *peepholes);
/* Adds the arguments of FUNCTION_PARAMS (cl/rnn/cell.clh). */
void mica__rnn_add_functions(mica__launch *launch, const mica__rnn_layer *layer, int64_t first, mica_dtype dtype);
/* Returns the dtype in which values of `dtype` are computed: f64 for f64, f32 for all others. */
mica_dtype mica__rnn_compute(mica_dtype dtype);
/* Records a launch's cost: `share` of the layer's 2 T B D G H (H + inputs) operations, and of its bytes. G is the
 * number of gates. */
void mica__rnn_add_cost(mica__launch *launch, const mica__rnn_layer *layer, int64_t inputs, double share);

/* In cpu.c and gpu.c. */
mica_status mica__rnn_forward_on_cpu(const mica__exec *exec, const mica__rnn_layer *layer);
mica_status mica__rnn_forward_on_gpu(const mica__exec *exec, const mica__rnn_layer *layer);
mica_status mica__rnn_backward_on_cpu(const mica__exec *exec, const mica__rnn_layer *layer);
mica_status mica__rnn_backward_on_gpu(const mica__exec *exec, const mica__rnn_layer *layer);
extern const mica__kernel_desc mica__rnn_pack_forward_kernel, mica__rnn_pack_backward_kernel,
    mica__rnn_forward_cpu_kernel, mica__rnn_backward_cpu_kernel, mica__rnn_forward_gpu_kernel,
    mica__rnn_backward_gpu_kernel;

#endif
