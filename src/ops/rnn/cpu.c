/* Recurrent layers on CPUs: weights are packed once, then one launch computes all steps (cl/rnn/cpu/forward.cl). */
#include "base/arith.h"
#include "ops/rnn/rnn.h"
#include "runtime/workspace.h"

#define VECTOR_PARAMS MICA__INT("VW", "elements of a vector", 4, 8, 16), MICA__INT("MR", "sequences of a tile", 1, 2, 4)
static const mica__kernel_param walk_params[] = {MICA__RNN_CELL_PARAMS, VECTOR_PARAMS};
static const mica__variant walk_variants[] = {MICA__VARIANT("cpu", MICA__ON_CPU, MICA__RNN_CELL_VALUES, 16, 4)};
static const mica__kernel_param pack_params[] = {
    MICA__DTYPE("X_T", "type of weights", MICA__FLOATS),
    MICA__CASE("KIND", "0 one gate, 1 LSTM, 2 GRU, 3 GRU that resets before", 0, 1, 2, 3),
    MICA__INT("VW", "elements of a vector", 4, 8, 16),
};
static const mica__variant pack_variants[] = {MICA__VARIANT("cpu", MICA__ON_CPU, MICA_F32, MICA__RNN_LSTM, 16)};
const mica__kernel_desc mica__rnn_pack_forward_kernel = {
    MICA__KERNEL("rnn_pack_forward", "rnn/cpu/pack.cl", pack_params, pack_variants)};
const mica__kernel_desc mica__rnn_pack_backward_kernel = {
    MICA__KERNEL("rnn_pack_backward", "rnn/cpu/pack.cl", pack_params, pack_variants)};
const mica__kernel_desc mica__rnn_forward_cpu_kernel = {
    MICA__KERNEL("rnn_forward_cpu", "rnn/cpu/forward.cl", walk_params, walk_variants)};
const mica__kernel_desc mica__rnn_backward_cpu_kernel = {
    MICA__KERNEL("rnn_backward_cpu", "rnn/cpu/backward.cl", walk_params, walk_variants)};

/* The most sequences per work-item. The state of 32 sequences stays in a core's caches; fewer would need more passes
 * over the weights. Blocks of 8, 16 and 32 ran at 98 to 99 % of a whole batch's speed (LSTM, 256 and 512 units, Zen
 * 4). */
#define MOST_ROWS 32

/* The division of a layer among work-items, and the parameter values of its kernel. */
typedef struct cut {
  int32_t values[MICA__MAX_PARAMS];
  int64_t vw, mr;
  int64_t rows, blocks; /* sequences per work-item, a multiple of mr; work-items per direction */
  int64_t slices, pitch;
  int64_t planes; /* of rows x pitch numbers, in the state of a work-item */
} cut;

/* Divides a layer among work-items and sets the values of its kernel. `units` is the number of vectors of units in a
 * slice, `planes` the number of planes of a work-item's state. */
static mica_status make_cut(const mica__exec *exec, const mica__kernel_desc *desc, const mica__rnn_layer *layer,
                            mica_dtype dtype, int64_t units, int64_t planes, cut *c) {
  const mica_device_info *device = mica_engine_device(mica__queue_engine(exec->queue));
  *c = (cut){.planes = planes};
  MICA_TRY(mica__exec_values(exec, desc, c->values));
  /* Doubles and short registers each halve the elements of a vector. Processors with short registers also have fewer of
   * them, so a tile has half the sequences: its 8 sums then fit. */
  bool is_short = device->vector_bytes < MICA__LONG_VECTOR;
  c->vw = mica__kernel_value(desc, c->values, "VW") / (dtype == MICA_F64 ? 2 : 1) / (is_short ? 2 : 1);
  c->mr = layer->B == 1 ? 1 : mica__kernel_value(desc, c->values, "MR") / (is_short ? 2 : 1);
  int64_t cores = mica__max(device->compute_units, 1), items = mica__max(cores / layer->D, 1);
  c->rows = mica__min(mica__ceil_div(layer->B, items), MOST_ROWS);
  c->rows = mica__ceil_div(c->rows, c->mr) * c->mr;
  c->blocks = mica__ceil_div(layer->B, c->rows);
  c->slices = mica__ceil_div(layer->H, units * c->vw);
  c->pitch = c->slices * units * c->vw;
  return MICA_OK;
}

static mica_status kernel_of(const mica__exec *exec, const mica__kernel_desc *desc, const mica__rnn_layer *layer,
                             cut *c, int64_t first, mica_dtype dtype, const mica_tensor *lengths,
                             const mica_tensor *peepholes, mica__kernel **kernel) {
  mica__rnn_set_cell(desc, c->values, layer, first, dtype, lengths, peepholes);
  mica__kernel_set(desc, c->values, "VW", (int32_t)c->vw);
  mica__kernel_set(desc, c->values, "MR", (int32_t)c->mr);
  return mica__kernel_get(mica__queue_engine(exec->queue), desc, c->values, NULL, kernel);
}

static mica_status begin_pack(const mica__exec *exec, const mica__kernel_desc *desc, const mica__rnn_layer *layer,
                              const cut *c, mica_dtype dtype, mica__launch *launch) {
  mica__kernel *kernel = NULL;
  int32_t values[MICA__MAX_PARAMS];
  MICA_TRY(mica__exec_values(exec, desc, values));
  mica__kernel_set(desc, values, "X_T", (int32_t)dtype);
  mica__kernel_set(desc, values, "KIND", layer->kind);
  mica__kernel_set(desc, values, "VW", (int32_t)c->vw);
  MICA_TRY(mica__kernel_get(mica__queue_engine(exec->queue), desc, values, NULL, &kernel));
  *launch = mica__launch_of(kernel);
  return MICA_OK;
}

static mica_status submit_pack(mica_queue *queue, mica__launch *launch, const mica__rnn_layer *layer, const cut *c,
                               double bytes) {
  mica__launch_range3(launch, (int64_t[]){c->slices, layer->D, 1}, (size_t[]){1, 1, 1});
  mica__launch_cost(launch, 0, bytes);
  return mica__queue_submit(queue, launch);
}

/* Allocates packed weights or biases: [D][slice][k] of `columns` numbers. */
static mica_status packed_tensor(mica_queue *queue, const mica__rnn_layer *layer, const cut *c, int64_t k,
                                 int64_t columns, mica_dtype dtype, mica_tensor **packed) {
  return mica__workspace_tensor(queue, mica__rnn_compute(dtype), MICA_SHAPE(layer->D, c->slices, k, columns), packed);
}

/* Returns the prologue's queue, whose work runs once before the first run, if there is one and all operands of the bit
 * set are constant. Otherwise returns the launch's queue. */
static mica_queue *packing_queue(const mica__exec *exec, uint32_t operands) {
  return exec->prologue && (exec->constant & operands) == operands ? exec->prologue : exec->queue;
}

/* Allocates the state: for each work-item c->planes planes of c->rows x c->pitch numbers. */
static mica_status state_tensor(mica_queue *queue, const mica__rnn_layer *layer, const cut *c, mica_dtype dtype,
                                mica_tensor **state) {
  return mica__workspace_tensor(queue, mica__rnn_compute(dtype),
                                MICA_SHAPE(layer->D * c->blocks, c->planes, c->rows, c->pitch), state);
}

static void add_sizes(mica__launch *launch, const mica__rnn_layer *layer, const cut *c, int64_t inputs, int64_t first,
                      mica_dtype dtype) {
  mica__launch_size(launch, layer->T);
  mica__launch_size(launch, layer->B);
  if (inputs) mica__launch_size(launch, inputs);
  mica__launch_size(launch, layer->H);
  mica__launch_size(launch, layer->D);
  mica__launch_size(launch, layer->time_stride);
  mica__launch_size(launch, layer->batch_stride);
  mica__launch_size(launch, first);
  mica__launch_int(launch, (int32_t)layer->reverse);
  mica__launch_size(launch, c->rows);
  mica__rnn_add_functions(launch, layer, first, dtype);
}

static mica_status pack_forward(const mica__exec *exec, const mica__rnn_layer *layer, const cut *c, mica_queue *queue,
                                mica_tensor *weights, mica_tensor *biases) {
  const mica_tensor *w = exec->inputs[MICA__RNN_W], *b = mica__rnn_operand(exec, MICA__RNN_B);
  mica__launch launch;
  MICA_TRY(begin_pack(exec, &mica__rnn_pack_forward_kernel, layer, c, mica_tensor_dtype(w), &launch));
  mica__launch_tensor(&launch, w);
  mica__launch_tensor(&launch, exec->inputs[MICA__RNN_R]);
  mica__launch_optional(&launch, b);
  mica__launch_tensor(&launch, weights);
  mica__launch_tensor(&launch, biases);
  mica__launch_size(&launch, mica_tensor_shape(w).dim[2]);
  mica__launch_size(&launch, layer->H);
  return submit_pack(queue, &launch, layer, c, 2 * (double)mica_tensor_bytes(weights));
}

static mica_status walk_forward(const mica__exec *exec, const mica__rnn_layer *layer, cut *c, int64_t first,
                                const mica_tensor *weights, const mica_tensor *biases, const mica_tensor *state) {
  const mica_tensor *x = exec->inputs[MICA__RNN_X], *lengths = mica__rnn_operand(exec, MICA__RNN_LENGTHS);
  const mica_tensor *peepholes = mica__rnn_operand(exec, MICA__RNN_PEEPHOLES);
  mica_dtype dtype = mica_tensor_dtype(x);
  int64_t count = mica__rnn_alike(layer, first), inputs = mica_tensor_shape(x).dim[2];
  mica__kernel *kernel = NULL;
  MICA_TRY(kernel_of(exec, &mica__rnn_forward_cpu_kernel, layer, c, first, dtype, lengths, peepholes, &kernel));
  mica__launch launch = mica__launch_of(kernel);
  mica__launch_tensor(&launch, x);
  mica__launch_tensor(&launch, weights);
  mica__launch_tensor(&launch, biases);
  mica__launch_optional(&launch, lengths);
  mica__launch_optional(&launch, mica__rnn_operand(exec, MICA__RNN_H0));
  mica__launch_optional(&launch, mica__rnn_operand(exec, MICA__RNN_C0));
  mica__launch_optional(&launch, peepholes);
  mica__launch_tensor(&launch, state);
  for (int32_t k = 0; k < MICA__RNN_RESULTS; k++) mica__launch_optional(&launch, exec->outputs[k]);
  add_sizes(&launch, layer, c, inputs, first, dtype);
  mica__launch_range3(&launch, (int64_t[]){c->blocks, count, 1}, (size_t[]){1, 1, 1});
  mica__rnn_add_cost(&launch, layer, inputs, (double)count / (double)layer->D);
  return mica__queue_submit(exec->queue, &launch);
}

mica_status mica__rnn_forward_on_cpu(const mica__exec *exec, const mica__rnn_layer *layer) {
  int64_t per_gate = layer->kind == MICA__RNN_PLAIN ? 4 : 1, k = mica_tensor_shape(exec->inputs[MICA__RNN_X]).dim[2];
  int64_t planes = layer->kind == MICA__RNN_LSTM ? 3 + layer->byte_state : layer->kind == MICA__RNN_GRU_BEFORE ? 4 : 2;
  mica_dtype dtype = mica_tensor_dtype(exec->inputs[MICA__RNN_X]);
  cut c;
  MICA_TRY(make_cut(exec, &mica__rnn_forward_cpu_kernel, layer, dtype, per_gate, planes, &c));
  bool bias = mica__rnn_operand(exec, MICA__RNN_B) != NULL;
  mica_queue *packing = packing_queue(exec, 1u << MICA__RNN_W | 1u << MICA__RNN_R | (bias ? 1u << MICA__RNN_B : 0));
  mica_tensor *weights = NULL, *biases = NULL, *state = NULL;
  mica_status status = packed_tensor(packing, layer, &c, k + layer->H, layer->gates * per_gate * c.vw, dtype, &weights);
  if (status == MICA_OK) status = packed_tensor(packing, layer, &c, layer->sums, per_gate * c.vw, dtype, &biases);
  if (status == MICA_OK) status = state_tensor(exec->queue, layer, &c, dtype, &state);
  if (status == MICA_OK) status = pack_forward(exec, layer, &c, packing, weights, biases);
  for (int64_t d = 0; status == MICA_OK && d < layer->D; d += mica__rnn_alike(layer, d))
    status = walk_forward(exec, layer, &c, d, weights, biases, state);
  mica_tensor_destroy(weights);
  mica_tensor_destroy(biases);
  mica_tensor_destroy(state);
  return status;
}

/* --- backward --- */

/* The vectors of units in a tile of the product with r (cl/rnn/cpu/steps.clh). */
#define BACK_VECTORS 4
/* The number of the state's planes before the gates' planes (cl/rnn/cpu/backward.cl). */
#define FIRST_GATE 5

static mica_status pack_backward(const mica__exec *exec, const mica__rnn_layer *layer, const cut *c, mica_queue *queue,
                                 mica_tensor *weights) {
  const mica_tensor *r = exec->inputs[MICA__RNN_OF_R];
  mica__launch launch;
  MICA_TRY(begin_pack(exec, &mica__rnn_pack_backward_kernel, layer, c, mica_tensor_dtype(r), &launch));
  mica__launch_tensor(&launch, r);
  mica__launch_tensor(&launch, weights);
  mica__launch_size(&launch, layer->H);
  return submit_pack(queue, &launch, layer, c, 2 * (double)mica_tensor_bytes(weights));
}

static mica_status walk_backward(const mica__exec *exec, const mica__rnn_layer *layer, cut *c, int64_t first,
                                 const mica_tensor *weights, const mica_tensor *state) {
  static const int32_t operands[] = {MICA__RNN_OF_LENGTHS,   MICA__RNN_OF_SUMS, MICA__RNN_OF_BEFORE, MICA__RNN_OF_CELLS,
                                     MICA__RNN_OF_PEEPHOLES, MICA__RNN_OF_DY,   MICA__RNN_OF_DH,     MICA__RNN_OF_DC};
  mica_dtype dtype = mica_tensor_dtype(exec->inputs[MICA__RNN_OF_R]);
  int64_t count = mica__rnn_alike(layer, first);
  mica__kernel *kernel = NULL;
  MICA_TRY(kernel_of(exec, &mica__rnn_backward_cpu_kernel, layer, c, first, dtype,
                     mica__rnn_operand(exec, MICA__RNN_OF_LENGTHS), mica__rnn_operand(exec, MICA__RNN_OF_PEEPHOLES),
                     &kernel));
  mica__launch launch = mica__launch_of(kernel);
  mica__launch_tensor(&launch, weights);
  for (size_t k = 0; k < sizeof operands / sizeof *operands; k++)
    mica__launch_optional(&launch, mica__rnn_operand(exec, operands[k]));
  mica__launch_tensor(&launch, state);
  for (int32_t k = 0; k < MICA__RNN_GRAD_RESULTS; k++) mica__launch_optional(&launch, exec->outputs[k]);
  add_sizes(&launch, layer, c, 0, first, dtype);
  mica__launch_range3(&launch, (int64_t[]){c->blocks, count, 1}, (size_t[]){1, 1, 1});
  mica__rnn_add_cost(&launch, layer, 0, (double)count / (double)layer->D);
  return mica__queue_submit(exec->queue, &launch);
}

mica_status mica__rnn_backward_on_cpu(const mica__exec *exec, const mica__rnn_layer *layer) {
  mica_dtype dtype = mica_tensor_dtype(exec->inputs[MICA__RNN_OF_R]);
  cut c;
  MICA_TRY(make_cut(exec, &mica__rnn_backward_cpu_kernel, layer, dtype, BACK_VECTORS, FIRST_GATE + layer->gates, &c));
  mica_queue *packing = packing_queue(exec, 1u << MICA__RNN_OF_R);
  mica_tensor *weights = NULL, *state = NULL;
  mica_status status = packed_tensor(packing, layer, &c, layer->gates * layer->H, BACK_VECTORS * c.vw, dtype, &weights);
  if (status == MICA_OK) status = state_tensor(exec->queue, layer, &c, dtype, &state);
  if (status == MICA_OK) status = pack_backward(exec, layer, &c, packing, weights);
  for (int64_t d = 0; status == MICA_OK && d < layer->D; d += mica__rnn_alike(layer, d))
    status = walk_backward(exec, layer, &c, d, weights, state);
  mica_tensor_destroy(weights);
  mica_tensor_destroy(state);
  return status;
}
