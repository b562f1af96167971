/* Recurrent layers on GPUs. The forward pass first multiplies the inputs of all steps by w; both passes then take one
 * or two stages per step (cl/rnn/gpu/forward.cl, backward.cl). */
#include "base/arith.h"
#include "ops/layout/strided_copy.h"
#include "ops/rnn/rnn.h"
#include "ops/select/tile.h"
#include "runtime/workspace.h"

#include <mica/ops.h>

static const mica__kernel_param params[] = {
    MICA__RNN_CELL_PARAMS,
    MICA__INT("ROWS", "sequences of a group", 1, 2, 4, 8),
    MICA__INT("UNITS", "units of a group at a time", 8, 16, 32),
    MICA__INT("SPLIT", "work-items that share a unit's sum", 1, 2, 4, 8),
    MICA__INT("KT", "terms in local memory at a time", 16, 32, 64),
    MICA__INT("REQD_SUBGROUP", "work-items of an Intel thread, 0 for the compiler's choice", 0, 8, 16, 32),
};
/* Two entries for one variant: they differ only in REQD_SUBGROUP, an option for Intel's compiler, so checking either
 * checks both. */
#define ON(vendors_of) .classes = MICA__ON_GPU, .vendors = vendors_of
static const mica__variant variants[] = {
    {.name = "gpu", ON(~(1u << MICA_VENDOR_INTEL)), .values = {MICA__RNN_CELL_VALUES, 4, 16, 4, 32, 0}},
    {.name = "gpu", ON(1u << MICA_VENDOR_INTEL), .values = {MICA__RNN_CELL_VALUES, 4, 16, 4, 32, 16}},
};
const mica__kernel_desc mica__rnn_forward_gpu_kernel = {
    MICA__KERNEL("rnn_forward_gpu", "rnn/gpu/forward.cl", params, variants)};
const mica__kernel_desc mica__rnn_backward_gpu_kernel = {
    MICA__KERNEL("rnn_backward_gpu", "rnn/gpu/backward.cl", params, variants)};

/* Up to this many units, one launch computes all steps. With more units each stage is a launch: its cost (some
 * microseconds) is then less than the time one group takes to read all of r again.
 *
 * Estimated, not measured: r of 64 units and four gates takes 64 KB, which a group reads from cache in 1 to 2 us. */
#define WALKED_UNITS 64

/* The kernel and geometry of the stages of a layer: one stage per step, or two for MICA__RNN_GRU_BEFORE, and one more
 * at the end of the backward pass. A launch computes `directions` directions from `first` on. */
typedef struct stages {
  mica__kernel *kernel;
  int64_t first, directions, group;
  int64_t blocks_of_units, blocks_of_rows;
  int64_t count, each; /* all stages; stages per launch */
} stages;

/* Sets the smallest values (a group has one sequence and 8 units, with one work-item each) if local memory has no
 * room for the terms, the sums of four gates and the ranges of rounded states. */
static void fit_local_memory(const mica__kernel_desc *desc, mica_dtype dtype, const mica_device_info *device,
                             int32_t *values) {
  static const struct {
    const char *name;
    int32_t value;
  } least[] = {{"ROWS", 1}, {"UNITS", 8}, {"SPLIT", 1}, {"KT", 16}};
  const int64_t rows = mica__kernel_value(desc, values, "ROWS"), units = mica__kernel_value(desc, values, "UNITS"),
                split = mica__kernel_value(desc, values, "SPLIT"), terms = mica__kernel_value(desc, values, "KT");
  const uint64_t elements = (uint64_t)(rows * (terms + split * 4 * units + 2));
  if (elements * (dtype == MICA_F64 ? sizeof(double) : sizeof(float)) <= device->local_bytes) return;
  for (size_t i = 0; i < sizeof least / sizeof *least; i++)
    mica__kernel_set(desc, values, least[i].name, least[i].value);
}

static mica_status stages_of(const mica__exec *exec, const mica__kernel_desc *desc, const mica__rnn_layer *layer,
                             int64_t first, mica_dtype dtype, const mica_tensor *lengths, const mica_tensor *peepholes,
                             int64_t more, stages *s) {
  int32_t values[MICA__MAX_PARAMS];
  MICA_TRY(mica__exec_values(exec, desc, values));
  fit_local_memory(desc, dtype, mica_engine_device(mica__queue_engine(exec->queue)), values);
  mica__tile_set_subgroup(desc, values, mica_engine_device(mica__queue_engine(exec->queue)));
  mica__rnn_set_cell(desc, values, layer, first, dtype, lengths, peepholes);
  int64_t units = mica__kernel_value(desc, values, "UNITS"), rows = mica__kernel_value(desc, values, "ROWS");
  bool walks = layer->H <= WALKED_UNITS;
  *s = (stages){.first = first,
                .directions = mica__rnn_alike(layer, first),
                .group = units * mica__kernel_value(desc, values, "SPLIT"),
                .blocks_of_units = walks ? 1 : mica__ceil_div(layer->H, units),
                .blocks_of_rows = mica__ceil_div(layer->B, rows),
                .count = layer->T * (layer->kind == MICA__RNN_GRU_BEFORE ? 2 : 1) + more};
  s->each = walks ? s->count : 1;
  return mica__kernel_get(mica__queue_engine(exec->queue), desc, values, NULL, &s->kernel);
}

/* Adds the last arguments to a launch and submits it, `each` stages at a time, until all stages are done. */
static mica_status submit(const mica__exec *exec, const mica__launch *begun, const mica__rnn_layer *layer,
                          const stages *s, mica_dtype dtype) {
  for (int64_t stage = 0; stage < s->count; stage += s->each) {
    mica__launch launch = *begun;
    const int64_t sizes[] = {layer->T, layer->B, layer->H, layer->D, layer->time_stride, layer->batch_stride, s->first};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) mica__launch_size(&launch, sizes[i]);
    mica__launch_int(&launch, (int32_t)layer->reverse);
    mica__launch_size(&launch, stage);
    mica__launch_size(&launch, s->each);
    mica__rnn_add_functions(&launch, layer, s->first, dtype);
    mica__launch_range3(&launch, (int64_t[]){s->blocks_of_units * s->group, s->blocks_of_rows, s->directions},
                        (size_t[]){(size_t)s->group, 1, 1});
    mica__launch_whole(&launch);
    mica__rnn_add_cost(&launch, layer, 0, (double)(s->each * s->directions) / (double)(s->count * layer->D));
    MICA_TRY(mica__queue_submit(exec->queue, &launch));
  }
  return MICA_OK;
}

/* Transposes each direction's matrix of r. */
static mica_status transpose(mica_queue *queue, const mica_tensor *r, mica_tensor **transposed) {
  mica_shape shape = mica_tensor_shape(r), space = MICA_SHAPE(shape.dim[0], shape.dim[2], shape.dim[1]);
  int64_t rows = shape.dim[1], columns = shape.dim[2];
  MICA_TRY(mica__workspace_tensor(queue, mica_tensor_dtype(r), space, transposed));
  const mica__access from = {.stride = {rows * columns, 1, columns}}, to = {.stride = {rows * columns, rows, 1}};
  return mica__strided_copy(queue, NULL, space, r, &from, *transposed, &to);
}

/* Computes w x for all steps, directions and gates: (T B, D G H), in the type in which the layer computes. */
static mica_status input_products(const mica__exec *exec, const mica_tensor *x, const mica_tensor *w,
                                  mica_tensor **products) {
  mica_shape s = mica_tensor_shape(x), t = mica_tensor_shape(w);
  int64_t rows = s.dim[0] * s.dim[1], columns = t.dim[0] * t.dim[1], features = t.dim[2];
  mica_tensor *left = NULL, *right = NULL;
  mica_status status =
      mica__workspace_tensor(exec->queue, mica__rnn_compute(mica_tensor_dtype(x)), MICA_SHAPE(rows, columns), products);
  if (status == MICA_OK) status = mica_tensor_view(x, MICA_SHAPE(rows, features), NULL, 0, &left);
  if (status == MICA_OK)
    status = mica_tensor_view(w, MICA_SHAPE(features, columns), (int64_t[]){1, features}, 0, &right);
  if (status == MICA_OK) status = mica_op_gemm(exec->queue, NULL, left, right, NULL, NULL, *products);
  mica_tensor_destroy(left);
  mica_tensor_destroy(right);
  return status;
}

static mica_status forward(const mica__exec *exec, const mica__rnn_layer *layer, int64_t first,
                           const mica_tensor *products, const mica_tensor *transposed, const mica_tensor *state) {
  static const int32_t operands[] = {MICA__RNN_B, MICA__RNN_LENGTHS, MICA__RNN_H0, MICA__RNN_C0, MICA__RNN_PEEPHOLES};
  mica_dtype dtype = mica_tensor_dtype(exec->inputs[MICA__RNN_X]);
  stages s;
  MICA_TRY(stages_of(exec, &mica__rnn_forward_gpu_kernel, layer, first, dtype,
                     mica__rnn_operand(exec, MICA__RNN_LENGTHS), mica__rnn_operand(exec, MICA__RNN_PEEPHOLES), 0, &s));
  mica__launch launch = mica__launch_of(s.kernel);
  mica__launch_tensor(&launch, products);
  mica__launch_tensor(&launch, transposed);
  for (size_t k = 0; k < sizeof operands / sizeof *operands; k++)
    mica__launch_optional(&launch, mica__rnn_operand(exec, operands[k]));
  mica__launch_tensor(&launch, state);
  for (int32_t k = 0; k < MICA__RNN_RESULTS; k++) mica__launch_optional(&launch, exec->outputs[k]);
  return submit(exec, &launch, layer, &s, dtype);
}

mica_status mica__rnn_forward_on_gpu(const mica__exec *exec, const mica__rnn_layer *layer) {
  const mica_tensor *r = exec->inputs[MICA__RNN_R];
  mica_dtype compute = mica__rnn_compute(mica_tensor_dtype(r));
  int64_t planes = layer->kind == MICA__RNN_LSTM ? 3 : layer->kind == MICA__RNN_GRU_BEFORE ? 4 : 2;
  bool constant = exec->prologue && exec->constant >> MICA__RNN_R & 1;
  mica_tensor *products = NULL, *transposed = NULL, *state = NULL;
  mica_status status =
      mica__workspace_tensor(exec->queue, compute, MICA_SHAPE(planes, layer->D, layer->B, layer->H), &state);
  if (status == MICA_OK) status = transpose(constant ? exec->prologue : exec->queue, r, &transposed);
  if (status == MICA_OK) status = input_products(exec, exec->inputs[MICA__RNN_X], exec->inputs[MICA__RNN_W], &products);
  for (int64_t d = 0; status == MICA_OK && d < layer->D; d += mica__rnn_alike(layer, d))
    status = forward(exec, layer, d, products, transposed, state);
  mica_tensor_destroy(products);
  mica_tensor_destroy(transposed);
  mica_tensor_destroy(state);
  return status;
}

static mica_status backward(const mica__exec *exec, const mica__rnn_layer *layer, int64_t first,
                            const mica_tensor *state) {
  static const int32_t operands[] = {MICA__RNN_OF_R,      MICA__RNN_OF_LENGTHS, MICA__RNN_OF_SUMS,
                                     MICA__RNN_OF_BEFORE, MICA__RNN_OF_CELLS,   MICA__RNN_OF_PEEPHOLES,
                                     MICA__RNN_OF_DY,     MICA__RNN_OF_DH,      MICA__RNN_OF_DC};
  mica_dtype dtype = mica_tensor_dtype(exec->inputs[MICA__RNN_OF_R]);
  stages s;
  MICA_TRY(stages_of(exec, &mica__rnn_backward_gpu_kernel, layer, first, dtype,
                     mica__rnn_operand(exec, MICA__RNN_OF_LENGTHS), mica__rnn_operand(exec, MICA__RNN_OF_PEEPHOLES), 1,
                     &s));
  mica__launch launch = mica__launch_of(s.kernel);
  for (size_t k = 0; k < sizeof operands / sizeof *operands; k++)
    mica__launch_optional(&launch, mica__rnn_operand(exec, operands[k]));
  mica__launch_tensor(&launch, state);
  for (int32_t k = 0; k < MICA__RNN_GRAD_RESULTS; k++) mica__launch_optional(&launch, exec->outputs[k]);
  return submit(exec, &launch, layer, &s, dtype);
}

mica_status mica__rnn_backward_on_gpu(const mica__exec *exec, const mica__rnn_layer *layer) {
  mica_dtype compute = mica__rnn_compute(mica_tensor_dtype(exec->inputs[MICA__RNN_OF_R]));
  mica_tensor *state = NULL;
  /* For each direction and sequence, planes of H numbers: the gates at two steps, dh, dc and three gradients of
   * peepholes. */
  MICA_TRY(mica__workspace_tensor(exec->queue, compute, MICA_SHAPE(2 * layer->gates + 5, layer->D, layer->B, layer->H),
                                  &state));
  mica_status status = MICA_OK;
  for (int64_t d = 0; status == MICA_OK && d < layer->D; d += mica__rnn_alike(layer, d))
    status = backward(exec, layer, d, state);
  mica_tensor_destroy(state);
  return status;
}
