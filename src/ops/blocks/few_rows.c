/* Launches of products of few rows with weights in blocks (cl/blocks/row.clh). */
#include "base/arith.h"
#include "base/error.h"
#include "ops/blocks/blocks.h"
#include "ops/common/activation.h"
#include "runtime/launch.h"

#define GROUPS_A_CORE 4

static const mica__kernel_param cpu_params[] = {
    MICA__CASE("BLOCK", "block type", MICA__BLOCK_TYPES),
    MICA__CASE("GATED", "1: times sums of other weights", 0, 1),
    MICA__CASE("PARTS", "products with the same x", 1, 2, 3),
    MICA__CASE("NORM", "1: of an RMS norm of x, 2: of a layer norm", 0, 1, 2),
    MICA__CASE("XR", "rows of x of a walk over the weights", 1, 2, 4, 8),
    MICA__CASE("WR", "rows of w that are read at once", 4, 1, 2),
};
static const mica__variant cpu_variants[] = {MICA__VARIANT("cpu", MICA__ON_CPU, MICA_BLOCK_Q4_0, 0, 1, 0, 1, 4)};
static const mica__kernel_desc cpu_kernel = {
    MICA__KERNEL("block_row_cpu", "blocks/cpu/row.cl", cpu_params, cpu_variants)};

static const mica__kernel_param gpu_params[] = {
    MICA__CASE("BLOCK", "block type", MICA__BLOCK_TYPES),
    MICA__CASE("GATED", "1: times sums of other weights", 0, 1),
    MICA__CASE("PARTS", "products with the same x", 1, 2, 3),
    MICA__CASE("NORM", "1: of an RMS norm of x, 2: of a layer norm", 0, 1, 2),
    MICA__CASE("XR", "rows of x of a walk over the weights", 1, 2, 4),
    MICA__INT("LANES", "work-items of a row", 16, 8, 32),
    MICA__INT("ROWS", "rows of w of a group", 4, 2, 8),
};
static const mica__variant gpu_variants[] = {MICA__VARIANT("gpu", MICA__ON_GPU, MICA_BLOCK_Q4_0, 0, 1, 0, 1, 16, 4)};
static const mica__kernel_desc gpu_kernel = {
    MICA__KERNEL("block_row_gpu", "blocks/gpu/row.cl", gpu_params, gpu_variants)};

/* Columns of a work-item: each core gets a few work-items, so that none waits long for the last. */
int64_t mica__block_span(const mica_device_info *device, int64_t n, int64_t walks) {
  const int64_t wanted = mica__max(1, GROUPS_A_CORE * (int64_t)device->compute_units / walks);
  return mica__ceil_div(mica__ceil_div(n, MICA__BLOCK_STRIP), wanted) * MICA__BLOCK_STRIP;
}

/* Chooses the rows of x per pass, and the rows of w read at once. Their sums, of 16 lanes each, take at most half of
 * the registers (8 of AVX2's 16, 16 of AVX-512's 32). On Intel's GPUs 8 rows of x leave no registers. Measured on
 * 8192 x 4096 on a Zen 4, 2026-11-28. */
void mica__block_choose_rows(const mica_device_info *device, bool cpu, int64_t m, int64_t *of_x, int64_t *of_w) {
  const bool many = device->vector_bytes >= MICA__LONG_VECTOR && cpu;
  *of_x = m <= 2 ? m : m <= 4 || !many ? 4 : 8;
  *of_w = many ? (m <= 2 ? 4 : 2) : 4 / *of_x;
}

/* The local memory that a CPU's work-item takes for the rows that it normalises. */
static size_t norm_bytes(int64_t rows, int64_t k) { return (size_t)(rows * k) * sizeof(float); }

bool mica__block_rows_take_norm(mica_engine *engine, int64_t m, int64_t k) {
  const mica_device_info *device = mica_engine_device(engine);
  const bool cpu = (mica__kernel_class(device) & MICA__ON_CPU) != 0;
  int64_t of_x = 1, of_w = 1;
  mica__block_choose_rows(device, cpu, m, &of_x, &of_w);
  return m <= MICA__BLOCK_MOST_ROWS && (!cpu || norm_bytes(of_x, k) <= device->local_bytes);
}

/* Pushes the first arguments of the kernels. The caller then pushes those of further parts and of the norm. */
static void push_rows(mica__launch *launch, const mica__block_rows *r, int64_t span) {
  mica__launch_tensor(launch, r->x);
  mica__launch_tensor(launch, r->part[0].w);
  mica__launch_tensor(launch, r->part[0].y);
  const int64_t numbers[] = {r->m, r->part[0].n, r->k / mica_block_elements(r->block), span};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) mica__launch_size(launch, numbers[i]);
  mica__launch_optional(launch, r->bias);
  mica__launch_int(launch, r->bias != NULL);
  mica__launch_optional(launch, r->addend);
  mica__launch_int(launch, r->addend != NULL);
  mica__launch_float(launch, mica__activation_argument(r->activation, r->argument));
  if (r->up) mica__launch_tensor(launch, r->up);
}

/* The columns of all parts, each rounded up to whole strips. */
static int64_t columns_of(const mica__block_rows *r, int64_t strip) {
  int64_t columns = 0;
  for (int32_t i = 0; i < r->parts; i++) columns += mica__ceil_div(r->part[i].n, strip) * strip;
  return columns;
}

mica_status mica__block_rows_launch(const mica__exec *exec, const mica__block_rows *r) {
  const bool cpu = mica__exec_takes(exec, &cpu_kernel);
  const mica__kernel_desc *desc = cpu ? &cpu_kernel : &gpu_kernel;
  int32_t values[MICA__MAX_PARAMS];
  const mica__block_norm_attrs *norm = exec->attrs;
  mica__kernel *kernel = NULL;
  int64_t of_x = 1, of_w = 1;
  mica__block_choose_rows(mica_engine_device(mica__queue_engine(exec->queue)), cpu, r->m, &of_x, &of_w);
  const int64_t walks = mica__ceil_div(r->m, of_x);
  MICA_TRY(mica__exec_values(exec, desc, values));
  mica__kernel_set(desc, values, "BLOCK", r->block);
  mica__kernel_set(desc, values, "GATED", r->up != NULL);
  mica__kernel_set(desc, values, "PARTS", r->parts);
  mica__kernel_set(desc, values, "NORM", !norm->norm_scale ? 0 : norm->norm_shift ? 2 : 1);
  mica__kernel_set(desc, values, "XR", (int32_t)of_x);
  if (cpu) mica__kernel_set(desc, values, "WR", (int32_t)of_w);
  const char *prelude = mica__activation_prelude(r->activation, MICA_F32);
  MICA_TRY(mica__kernel_get(mica__queue_engine(exec->queue), desc, values, prelude, &kernel));
  const int64_t lanes = cpu ? 1 : mica__kernel_value(desc, values, "LANES");
  const int64_t high = cpu ? MICA__BLOCK_STRIP : mica__kernel_value(desc, values, "ROWS"),
                columns = columns_of(r, high);
  const int64_t span = mica__block_span(mica_engine_device(mica__queue_engine(exec->queue)), columns, walks);
  double bytes = r->up ? (double)mica_tensor_bytes(r->up) : 0, width = r->up ? (double)r->part[0].n : 0;
  mica__launch launch = mica__launch_of(kernel);
  push_rows(&launch, r, span);
  for (int32_t i = 0; i < r->parts; i++) {
    bytes += (double)mica_tensor_bytes(r->part[i].w);
    width += (double)r->part[i].n;
    if (i == 0) continue;
    mica__launch_tensor(&launch, r->part[i].w);
    mica__launch_tensor(&launch, r->part[i].y);
    mica__launch_size(&launch, r->part[i].n);
  }
  if (norm->norm_scale) {
    mica__launch_tensor(&launch, exec->inputs[norm->norm_scale]);
    mica__launch_optional(&launch, norm->norm_shift ? exec->inputs[norm->norm_shift] : NULL);
    mica__launch_float(&launch, (float)norm->epsilon);
    if (cpu) mica__launch_local(&launch, norm_bytes(of_x, r->k));
  }
  if (cpu)
    mica__launch_range3(&launch, (int64_t[]){mica__ceil_div(columns, span), walks, 1}, (size_t[]){1, 1, 1});
  else
    mica__launch_range3(&launch, (int64_t[]){columns / high * lanes, walks * high, 1},
                        (size_t[]){(size_t)lanes, (size_t)high, 1});
  mica__launch_cost(&launch, 2 * (double)r->m * width * (double)r->k, bytes);
  return mica__queue_submit(exec->queue, &launch);
}

const mica__kernel_desc *const mica__block_rows_kernels[] = {&cpu_kernel, &gpu_kernel, NULL};
