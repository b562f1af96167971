/* Max pooling in windows of 2 x 2 with stride 2 and without padding, and its gradient, on CPUs. */
#include "cl/pool/fields.clh"
#include "ops/pool/max_pool.h"
#include "runtime/fields.h"
#include "runtime/launch.h"
#include "runtime/tensor.h"

/* The elements of x that make a work-item worthwhile. */
#define UNIT 16384

#define PARAMS(of)                                                                                                     \
  MICA__DTYPE("X_T", of, MICA_F32, MICA_F16, MICA_BF16),                                                               \
      MICA__INT("VW", "outputs that are taken as one vector", 1, 2, 4, 8, 16)
static const mica__kernel_param params[] = {PARAMS("type of x"),
                                            MICA__CASE("VALUES", "1: the values are written", 1, 0),
                                            MICA__CASE("INDICES", "1: the indices are written", 0, 1)};
static const mica__kernel_param grad_params[] = {PARAMS("type of dx and dy")};
static const mica__variant variants[] = {MICA__VARIANT("cpu", MICA__ON_CPU, MICA_F32, 8, 1, 0)};
static const mica__variant grad_variants[] = {MICA__VARIANT("cpu", MICA__ON_CPU, MICA_F32, 8)};
const mica__kernel_desc mica__kernel_max_pool_2x2 = {
    MICA__KERNEL("max_pool_2x2", "pool/max_pool_2x2.cl", params, variants)};
const mica__kernel_desc mica__kernel_max_pool_2x2_grad = {
    MICA__KERNEL("max_pool_2x2_grad", "pool/max_pool_2x2.cl", grad_params, grad_variants)};

MICA__FIELDS(plane_fields, POOL_2X2);

static bool is_halving(const mica__pool_planes *p, int k) {
  const mica__resample_window *w = &p->windows[k];
  return w->size == 2 && w->stride == 2 && w->pad == 0 && w->dilation == 1 && !w->outputs && p->m[k] == p->n[k] / 2;
}

static const char *decline(const mica__task *task, const mica__kernel_desc *desc, mica_dtype dtype) {
  const mica__pool_problem *of = task->problem;
  const mica__pool_planes *p = &of->p;
  if (!is_halving(p, 1) || !is_halving(p, 2)) return "the windows are not 2 x 2 with stride 2, or reach into padding";
  if (p->n[0] != 1 || p->m[0] != 1 || p->windows[0].pad || p->windows[0].outputs)
    return "the windows have three dimensions";
  if (mica__kernel_choice(desc, "X_T", (int32_t)dtype) < 0) return "the type is not f32, f16 or bf16";
  return p->m[1] * p->m[2] == 0 ? "there are no windows" : mica__exec_declines(of->exec, task, desc);
}

/* begin: begins a launch, without arguments. add_planes: adds the arguments after the tensors, and the range. */
static mica_status begin(const mica__pool_problem *of, const mica__kernel_desc *desc, int32_t *values,
                         mica__launch *launch) {
  const mica__pool_planes *p = &of->p;
  mica_engine *engine = mica__queue_engine(of->exec->queue);
  mica__kernel *kernel = NULL;
  int32_t lanes = mica_engine_device(engine)->vector_bytes >= MICA__LONG_VECTOR ? 16 : 8;
  while (lanes > p->m[2]) lanes /= 2;
  mica__kernel_set(desc, values, "VW", lanes);
  MICA_TRY(mica__kernel_get(engine, desc, values, NULL, &kernel));
  *launch = mica__launch_of(kernel);
  return MICA_OK;
}

static void add_planes(mica__launch *launch, const mica__pool_planes *p) {
  const int64_t rows = p->count * p->m[1], whole = UNIT / (2 * p->n[2]), per = whole > 1 ? whole : 1;
  mica__launch_long(launch, rows);
  mica__launch_sizes(
      launch,
      (plane_fields){.height = p->n[1], .width = p->n[2], .p_count = p->m[1], .q_count = p->m[2], .per = per}.values);
  mica__launch_range1(launch, (rows + per - 1) / per, 1);
}

static double bytes_of(const mica_tensor *tensor) { return tensor ? (double)mica_tensor_bytes(tensor) : 0; }

static const char *decline_pool(const mica__task *task) {
  const mica__pool_problem *of = task->problem;
  return decline(task, &mica__kernel_max_pool_2x2, mica_tensor_dtype(of->exec->inputs[0]));
}

static mica_status launch_pool(mica_queue *queue, const mica__task *task) {
  const mica__pool_problem *of = task->problem;
  const mica__exec *exec = of->exec;
  const mica_tensor *x = exec->inputs[0], *y = exec->outputs[MICA__POOL_VALUES],
                    *indices = exec->outputs[MICA__POOL_INDICES];
  int32_t values[MICA__MAX_PARAMS];
  mica__launch launch;
  MICA_TRY(mica__exec_values(exec, &mica__kernel_max_pool_2x2, values));
  mica__kernel_set(&mica__kernel_max_pool_2x2, values, "X_T", (int32_t)mica_tensor_dtype(x));
  mica__kernel_set(&mica__kernel_max_pool_2x2, values, "VALUES", y != NULL);
  mica__kernel_set(&mica__kernel_max_pool_2x2, values, "INDICES", indices != NULL);
  MICA_TRY(begin(of, &mica__kernel_max_pool_2x2, values, &launch));
  mica__launch_tensor(&launch, x);
  mica__launch_optional(&launch, y);
  mica__launch_optional(&launch, indices);
  add_planes(&launch, &of->p);
  mica__launch_cost(&launch, 0, bytes_of(x) + bytes_of(y) + bytes_of(indices));
  return mica__queue_submit(queue, &launch);
}

static const char *decline_grad(const mica__task *task) {
  const mica__pool_problem *of = task->problem;
  return decline(task, &mica__kernel_max_pool_2x2_grad, mica_tensor_dtype(of->exec->output));
}

static mica_status launch_grad(mica_queue *queue, const mica__task *task) {
  const mica__pool_problem *of = task->problem;
  const mica__exec *exec = of->exec;
  const mica_tensor *dy = exec->inputs[1], *positions = exec->inputs[2], *dx = exec->output;
  int32_t values[MICA__MAX_PARAMS];
  mica__launch launch;
  MICA_TRY(mica__exec_values(exec, &mica__kernel_max_pool_2x2_grad, values));
  mica__kernel_set(&mica__kernel_max_pool_2x2_grad, values, "X_T", (int32_t)mica_tensor_dtype(dx));
  MICA_TRY(begin(of, &mica__kernel_max_pool_2x2_grad, values, &launch));
  mica__launch_tensor(&launch, dy);
  mica__launch_tensor(&launch, positions);
  mica__launch_tensor(&launch, dx);
  add_planes(&launch, &of->p);
  mica__launch_cost(&launch, (double)mica_tensor_count(dy), bytes_of(dy) + bytes_of(positions) + bytes_of(dx));
  return mica__queue_submit(queue, &launch);
}

const mica__impl mica__max_pool_2x2 = {
    .name = "max_pool_2x2", .kernel = &mica__kernel_max_pool_2x2, .decline = decline_pool, .launch = launch_pool};
const mica__impl mica__max_pool_2x2_grad = {.name = "max_pool_2x2_grad",
                                            .kernel = &mica__kernel_max_pool_2x2_grad,
                                            .decline = decline_grad,
                                            .launch = launch_grad};
