/* Launches of products with experts (cl/experts). */
#include "runtime/launch.h"
#include "base/arith.h"
#include "base/error.h"
#include "ops/experts/experts.h"
#include "runtime/workspace.h"

enum { X = MICA__EXPERT_X, W = MICA__EXPERT_W, IDS = MICA__EXPERT_IDS };

/* The most rows of ids for which each row reads the weights of its own experts. With more rows, and always with
 * matrices (k, n), the rows of an expert share one pass over its weights. */
#define MOST_FEW MICA__BLOCK_MOST_ROWS
#define GROUPS_A_CORE 4

mica__expert_sizes mica__expert_sizes_of(const mica__expert_attrs *attrs, mica_shape x, mica_shape w, mica_shape ids) {
  const int64_t columns = attrs->block == MICA_BLOCK_NONE ? w.dim[2] : attrs->columns;
  mica__expert_sizes s = {.rows = 1,
                          .chosen = ids.dim[ids.rank - 1],
                          .experts = w.dim[0],
                          .n = attrs->by_k ? columns : w.dim[1],
                          .k = attrs->by_k ? w.dim[1] : columns};
  for (int32_t i = 0; i + 1 < ids.rank; i++) s.rows *= ids.dim[i];
  s.share = x.dim[x.rank - 2] == 1 ? s.chosen : 1;
  return s;
}

#define WEIGHT_PARAMS                                                                                                  \
  MICA__CASE("BLOCK", "block type; 0: numbers", MICA_BLOCK_NONE, MICA__BLOCK_TYPES),                                   \
      MICA__DTYPE("W_T", "type of weights that are numbers", MICA_F32, MICA_F16, MICA_BF16),                           \
      MICA__DTYPE("I_T", "type of the ids", MICA_I64, MICA_I32)

static const mica__kernel_param order_params[] = {MICA__DTYPE("I_T", "type of the ids", MICA_I64, MICA_I32)};
static const mica__variant order_variants[] = {MICA__VARIANT("any", MICA__ON_ANY, MICA_I64)};
static const mica__kernel_desc order_kernel = {
    MICA__KERNEL("expert_order", "experts/order.cl", order_params, order_variants)};

static const mica__kernel_param cpu_row_params[] = {WEIGHT_PARAMS, MICA__CASE("WR", "rows of w at once", 4, 1, 2)};
static const mica__variant cpu_row_variants[] = {MICA__VARIANT("cpu", MICA__ON_CPU, 0, MICA_F32, MICA_I64, 4)};
static const mica__kernel_desc cpu_row = {
    MICA__KERNEL("expert_row_cpu", "experts/cpu/row.cl", cpu_row_params, cpu_row_variants)};

static const mica__kernel_param gpu_row_params[] = {WEIGHT_PARAMS, MICA__INT("LANES", "work-items of a row", 16, 8, 32),
                                                    MICA__INT("ROWS", "rows of w of a group", 4, 2, 8)};
static const mica__variant gpu_row_variants[] = {MICA__VARIANT("gpu", MICA__ON_GPU, 0, MICA_F32, MICA_I64, 16, 4)};
static const mica__kernel_desc gpu_row = {
    MICA__KERNEL("expert_row_gpu", "experts/gpu/row.cl", gpu_row_params, gpu_row_variants)};

static const mica__kernel_param cpu_tile_params[] = {
    WEIGHT_PARAMS,
    MICA__INT("TM", "rows of x of a tile", 64, 16, 32),
    MICA__INT("NB", "rows of w of a tile", 24, 12, 48),
    MICA__INT("KC", "columns made floats at once", 256, 128, 512),
    MICA__CASE("VL", "lanes of a sum", 8, 16),
};
static const mica__variant cpu_tile_variants[] = {
    MICA__VARIANT("cpu", MICA__ON_CPU, 0, MICA_F32, MICA_I64, 64, 24, 256, 8)};
static const mica__kernel_desc cpu_tile = {
    MICA__KERNEL("expert_tile_cpu", "experts/cpu/tile.cl", cpu_tile_params, cpu_tile_variants)};

static const mica__kernel_param weight_params[] = {WEIGHT_PARAMS};
static const mica__variant gpu_variants[] = {MICA__VARIANT("gpu", MICA__ON_GPU, 0, MICA_F32, MICA_I64)};
static const mica__kernel_desc gpu_tile = {
    MICA__KERNEL("expert_tile_gpu", "experts/gpu/tile.cl", weight_params, gpu_variants)};
/* The rows and columns that a group of experts/gpu/tile.cl computes, and its work-items. */
enum { GPU_ROWS = 32, GPU_COLUMNS = 64, GPU_ITEMS = 128 };

static const mica__variant any_variants[] = {MICA__VARIANT("any", MICA__ON_ANY, 0, MICA_F32, MICA_I64)};
static const mica__kernel_desc by_k_kernel = {
    MICA__KERNEL("expert_by_k", "experts/by_k.cl", weight_params, any_variants)};
enum { BY_K_ROWS = 8, BY_K_COLUMNS = 16 };

static const mica__kernel_param grad_params[] = {MICA__INT("VK", "columns of a work-item", 16, 8, 4)};
static const mica__variant grad_variants[] = {MICA__VARIANT("cpu", MICA__ON_CPU, 16),
                                              MICA__VARIANT("gpu", MICA__ON_GPU, 4)};
static const mica__kernel_desc grad_kernel = {
    MICA__KERNEL("expert_weights_grad", "experts/weights_grad.cl", grad_params, grad_variants)};

/* --- rows by expert --- */

/* Makes the list of experts/order.cl in a workspace; the caller destroys *order. */
static mica_status make_order(const mica__exec *exec, const mica__expert_sizes *s, mica_buffer **order) {
  const mica_tensor *ids = exec->inputs[IDS];
  const int64_t pairs = s->rows * s->chosen;
  int32_t values[MICA__MAX_PARAMS];
  mica__kernel *kernel = NULL;
  MICA_TRY(mica__exec_values(exec, &order_kernel, values));
  mica__kernel_set(&order_kernel, values, "I_T", (int32_t)mica_tensor_dtype(ids));
  MICA_TRY(mica__kernel_get(mica__queue_engine(exec->queue), &order_kernel, values, NULL, &kernel));
  MICA_TRY(mica__workspace_create(exec->queue, (size_t)(pairs + s->experts + 2) * sizeof(int32_t), order));
  mica__launch launch = mica__launch_of(kernel);
  mica__launch_tensor(&launch, ids);
  mica__launch_buffer(&launch, *order, 0);
  mica__launch_size(&launch, pairs);
  mica__launch_size(&launch, s->experts);
  mica__launch_range1(&launch, s->experts + 1, MICA__RANGE_GROUP);
  mica__launch_cost(&launch, 0, (double)(s->experts + 1) * (double)mica_tensor_bytes(ids));
  const mica_status status = mica__queue_submit(exec->queue, &launch);
  if (status == MICA_OK) return MICA_OK;
  mica_buffer_destroy(*order);
  *order = NULL;
  return status;
}

/* Returns an upper bound on the number of tiles if rows are grouped by expert and a tile has at most `most` rows of one
 * group. Rows without a valid expert are one more group. */
static int64_t tiles_of(const mica__expert_sizes *s, int64_t most) {
  const int64_t pairs = s->rows * s->chosen;
  return pairs / most + mica__min(pairs, s->experts + 1);
}

/* --- products --- */

/* Sets a kernel's values for the weights of this launch. */
static mica_status weight_values(const mica__exec *exec, const mica__kernel_desc *desc, int32_t *values) {
  const mica__expert_attrs *attrs = exec->attrs;
  MICA_TRY(mica__exec_values(exec, desc, values));
  mica__kernel_set(desc, values, "BLOCK", attrs->block);
  if (attrs->block == MICA_BLOCK_NONE)
    mica__kernel_set(desc, values, "W_T", (int32_t)mica_tensor_dtype(exec->inputs[W]));
  mica__kernel_set(desc, values, "I_T", (int32_t)mica_tensor_dtype(exec->inputs[IDS]));
  return MICA_OK;
}

/* Begins a launch with EXPERT_ARGUMENTS of cl/experts/weights.clh. */
static mica_status begin(const mica__exec *exec, const mica__expert_sizes *s, const mica__kernel_desc *desc,
                         const int32_t *values, mica__launch *launch) {
  mica__kernel *kernel = NULL;
  MICA_TRY(mica__kernel_get(mica__queue_engine(exec->queue), desc, values, NULL, &kernel));
  *launch = mica__launch_of(kernel);
  mica__launch_tensor(launch, exec->inputs[X]);
  mica__launch_tensor(launch, exec->inputs[W]);
  mica__launch_tensor(launch, exec->output);
  const int64_t numbers[] = {s->experts, s->n, s->k, s->share};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) mica__launch_size(launch, numbers[i]);
  const double pairs = (double)(s->rows * s->chosen), per_expert = (double)mica_tensor_bytes(exec->inputs[W]);
  mica__launch_cost(launch, 2 * pairs * (double)s->n * (double)s->k,
                    per_expert * (pairs < (double)s->experts ? pairs / (double)s->experts : 1));
  return MICA_OK;
}

static mica_status launch_few(const mica__exec *exec, const mica__expert_sizes *s) {
  const bool cpu = mica__exec_takes(exec, &cpu_row);
  const mica__kernel_desc *desc = cpu ? &cpu_row : &gpu_row;
  const int64_t pairs = s->rows * s->chosen;
  int32_t values[MICA__MAX_PARAMS];
  mica__launch launch;
  MICA_TRY(weight_values(exec, desc, values));
  MICA_TRY(begin(exec, s, desc, values, &launch));
  mica__launch_tensor(&launch, exec->inputs[IDS]);
  if (cpu) {
    const int64_t units = mica_engine_device(mica__queue_engine(exec->queue))->compute_units;
    const int64_t at_once = mica__kernel_value(desc, values, "WR");
    const int64_t groups = mica__max(1, mica__ceil_div(GROUPS_A_CORE * units, pairs));
    const int64_t span = mica__ceil_div(mica__ceil_div(s->n, at_once), groups) * at_once;
    mica__launch_size(&launch, span);
    mica__launch_range3(&launch, (int64_t[]){mica__ceil_div(s->n, span), pairs, 1}, (size_t[]){1, 1, 1});
  } else {
    const int64_t lanes = mica__kernel_value(desc, values, "LANES"), rows = mica__kernel_value(desc, values, "ROWS");
    mica__launch_range3(&launch, (int64_t[]){mica__ceil_div(s->n, rows) * lanes, pairs * rows, 1},
                        (size_t[]){(size_t)lanes, (size_t)rows, 1});
  }
  return mica__queue_submit(exec->queue, &launch);
}

/* Sets the lanes of a sum by the device's vectors. Halves the rows of a tile, down to 16, until local memory holds the
 * tile: a panel of weights and the sums. */
static void fit_tile(const mica_device_info *device, int32_t *values) {
  const int64_t lanes = device->vector_bytes >= MICA__LONG_VECTOR ? 16 : mica__kernel_value(&cpu_tile, values, "VL");
  const int64_t w_rows = mica__kernel_value(&cpu_tile, values, "NB");
  const int64_t panel = w_rows * mica__kernel_value(&cpu_tile, values, "KC");
  int32_t rows = mica__kernel_value(&cpu_tile, values, "TM");
  while (rows > 16 && (uint64_t)(panel + (rows * lanes + 4) * w_rows) * sizeof(float) > device->local_bytes) rows /= 2;
  mica__kernel_set(&cpu_tile, values, "VL", (int32_t)lanes);
  mica__kernel_set(&cpu_tile, values, "TM", rows);
}

/* Launches a kernel that takes the list of rows by expert. */
static mica_status launch_many(const mica__exec *exec, const mica__expert_sizes *s, mica_buffer *order) {
  const mica__expert_attrs *attrs = exec->attrs;
  const bool cpu = !attrs->by_k && mica__exec_takes(exec, &cpu_tile);
  const mica__kernel_desc *desc = attrs->by_k ? &by_k_kernel : cpu ? &cpu_tile : &gpu_tile;
  int32_t values[MICA__MAX_PARAMS];
  mica__launch launch;
  MICA_TRY(weight_values(exec, desc, values));
  if (cpu) fit_tile(mica_engine_device(mica__queue_engine(exec->queue)), values);
  MICA_TRY(begin(exec, s, desc, values, &launch));
  mica__launch_buffer(&launch, order, 0);
  if (attrs->by_k)
    mica__launch_range1(&launch, mica__ceil_div(s->n, BY_K_COLUMNS) * tiles_of(s, BY_K_ROWS), MICA__RANGE_GROUP);
  else if (cpu)
    mica__launch_range3(&launch,
                        (int64_t[]){mica__ceil_div(s->n, mica__kernel_value(desc, values, "NB")),
                                    tiles_of(s, mica__kernel_value(desc, values, "TM")), 1},
                        (size_t[]){1, 1, 1});
  else
    mica__launch_range3(&launch, (int64_t[]){mica__ceil_div(s->n, GPU_COLUMNS) * GPU_ITEMS, tiles_of(s, GPU_ROWS), 1},
                        (size_t[]){GPU_ITEMS, 1, 1});
  return mica__queue_submit(exec->queue, &launch);
}

mica_status mica__expert_launch(const mica__exec *exec) {
  const mica__expert_attrs *attrs = exec->attrs;
  const mica__expert_sizes s =
      mica__expert_sizes_of(attrs, mica_tensor_shape(exec->inputs[X]), mica_tensor_shape(exec->inputs[W]),
                            mica_tensor_shape(exec->inputs[IDS]));
  mica_buffer *order = NULL;
  if (mica_tensor_count(exec->output) == 0) return MICA_OK;
  if (!attrs->by_k && s.rows <= MOST_FEW) return launch_few(exec, &s);
  MICA_TRY(make_order(exec, &s, &order));
  const mica_status status = launch_many(exec, &s, order);
  mica_buffer_destroy(order);
  return status;
}

/* --- the gradient by weights --- */

mica_status mica__expert_launch_grad(const mica__exec *exec) {
  const mica__expert_attrs *attrs = exec->attrs;
  const mica_shape w = mica_tensor_shape(exec->output), x = mica_tensor_shape(exec->inputs[X]);
  const mica__expert_sizes s = mica__expert_sizes_of(attrs, x, w, mica_tensor_shape(exec->inputs[IDS]));
  int32_t values[MICA__MAX_PARAMS];
  mica__kernel *kernel = NULL;
  mica_buffer *order = NULL;
  if (mica_tensor_count(exec->output) == 0) return MICA_OK;
  MICA_TRY(mica__exec_values(exec, &grad_kernel, values));
  MICA_TRY(mica__kernel_get(mica__queue_engine(exec->queue), &grad_kernel, values, NULL, &kernel));
  MICA_TRY(make_order(exec, &s, &order));
  mica__launch launch = mica__launch_of(kernel);
  mica__launch_tensor(&launch, exec->inputs[X]);
  mica__launch_tensor(&launch, exec->inputs[W]);
  mica__launch_buffer(&launch, order, 0);
  mica__launch_tensor(&launch, exec->output);
  const int64_t numbers[] = {s.experts, s.n, s.k, s.share};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) mica__launch_size(&launch, numbers[i]);
  mica__launch_range1(&launch, s.experts * s.n * mica__ceil_div(s.k, mica__kernel_value(&grad_kernel, values, "VK")),
                      MICA__RANGE_GROUP);
  mica__launch_cost(&launch, 2 * (double)(s.rows * s.chosen) * (double)s.n * (double)s.k,
                    (double)mica_tensor_bytes(exec->output));
  const mica_status status = mica__queue_submit(exec->queue, &launch);
  mica_buffer_destroy(order);
  return status;
}

const mica__kernel_desc *const mica__expert_kernels[] = {&order_kernel, &cpu_row,     &gpu_row, &cpu_tile,
                                                         &gpu_tile,     &by_k_kernel, NULL};
const mica__kernel_desc *const mica__expert_grad_kernels[] = {&order_kernel, &grad_kernel, NULL};
