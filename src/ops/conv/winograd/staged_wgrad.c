/* Winograd's gradient of filters on GPUs (cl/conv/winograd/staged.cl): transforms around a batch of matrix products
 * whose sums, over tiles, are divided into parts. */
#include "base/arith.h"
#include "base/error.h"
#include "ops/conv/winograd/staged.h"
#include "ops/select/tile.h"
#include "runtime/workspace.h"

#define EDGE 4
/* Parts begin at vectors of the products' operands. */
#define ALIGNMENT 4

static const mica__kernel_param operand_params[] = {
    MICA__DTYPE("D_T", "type of x, w and y", MICA__CONV_TYPES),
    MICA__CASE("STAGE", "the transforms of tiles and gradients", 1),
};
static const mica__variant operand_variants[] = {MICA__VARIANT("gpu", MICA__ON_GPU, MICA_F32, 1)};
const mica__kernel_desc mica__winograd_wgrad_operands_kernel = {
    MICA__KERNEL("winograd_wgrad_operands", "conv/winograd/staged.cl", operand_params, operand_variants)};

static const mica__kernel_param sum_params[] = {
    MICA__DTYPE("D_T", "type of x, w and y", MICA__CONV_TYPES),
    MICA__CASE("STAGE", "the sums' transform", 3),
};
static const mica__variant sum_variants[] = {MICA__VARIANT("gpu", MICA__ON_GPU, MICA_F32, 3)};
const mica__kernel_desc mica__winograd_wgrad_sums_kernel = {
    MICA__KERNEL("winograd_wgrad_sums", "conv/winograd/staged.cl", sum_params, sum_variants)};

typedef mica__winograd_planes plan;
MICA__TASK_PLAN(plan)

/* Multiply-adds of a unit in the time of an element of U or V: its transform reads an element and writes it, the
 * product reads it again, 10 bytes in 80 cycles of 64 (A100: 10 bytes a cycle and unit, of which 80 % are reached; an
 * H100 has twice the multiply-adds and 13 bytes). The same of an element of M, which is written and read; and of the
 * beginning of a launch, as ops/select/tile.c has them. */
#define OPERAND 90.0
#define PRODUCT 50.0
#define LAUNCH 180e3

static mica__tile_plan choose(const mica__tile_kernel *kernel, const mica__task *task, const void *problem,
                              mica__tiled product, int64_t most) {
  const mica__task any = {.problem = problem, .device = task->device, .engine = task->engine};
  return mica__tile_choose(kernel, &any, &product, most);
}

static mica__tile_plan products_of(const mica__task *task, const plan *p) {
  const mica__conv_phase *w = &p->winograd.phase;
  return choose(&mica__gemm_gpu_tiles, task, p->conv, (mica__tiled){w->k, w->c, p->tiles, p->points},
                MICA__WINOGRAD_PARTS);
}

static void plan_task(mica__task *task) {
  plan p = mica__winograd_planes_of(task->problem, EDGE);
  const int64_t parts = products_of(task, &p).splits;
  p.share = mica__ceil_div(mica__ceil_div(p.tiles, parts), ALIGNMENT) * ALIGNMENT;
  p.parts = mica__ceil_div(p.tiles, p.share);
  keep_plan(task, p);
}

/* The plain sum by tiles in local memory costs no more. */
static bool loses(const mica__task *task) {
  const plan *p = plan_of(task);
  const mica__conv_phase *w = &p->winograd.phase;
  const mica__conv_dims *d = &p->conv->dims;
  const mica__tile_plan products = products_of(task, p);
  const mica__tile_plan plain =
      choose(&mica__conv_gpu_wgrad_implicit_gemm_tiles, task, p->conv,
             (mica__tiled){d->k, d->c * mica__product3(d->filter), d->n * mica__product3(d->out), d->groups}, 512);
  const double units = (double)mica__max(1, (int64_t)task->device->compute_units);
  double cost = products.cost + LAUNCH;
  cost += OPERAND * (double)(p->points * p->parts * p->share * (w->c + w->k)) / units;
  if (products.splits == 1) cost += PRODUCT * (double)(p->points * w->c * w->k) / units;
  return plain.variant && plain.cost <= cost;
}

static const char *decline(const mica__task *task) {
  const char *reason = mica__needs_gpu(task->device);
  if (reason) return reason;
  return loses(task) ? "the transforms take longer than they save" : NULL;
}

static mica_status get(mica_queue *queue, const mica__kernel_desc *desc, const plan *p, mica__kernel **kernel) {
  int32_t values[MICA__MAX_PARAMS];
  mica__kernel_values(desc, &desc->variants[0], values);
  mica__kernel_set(desc, values, "D_T", (int32_t)p->conv->dtype);
  return mica__kernel_get(mica__queue_engine(queue), desc, values, NULL, kernel);
}

static mica_status launch_operands(mica_queue *queue, const plan *p) {
  const mica__conv_phase *w = &p->winograd.phase;
  const int64_t tiles = p->parts * p->share;
  mica__kernel *kernel = NULL;
  MICA_TRY(get(queue, &mica__winograd_wgrad_operands_kernel, p, &kernel));
  mica__launch launch = mica__winograd_operands(kernel, p, p->conv->x, mica__winograd_groups(w->c, tiles), p->conv->y,
                                                mica__winograd_groups(w->k, tiles));
  return mica__queue_submit(queue, &launch);
}

static mica_status launch_sums(mica_queue *queue, const plan *p) {
  const mica__conv_phase *w = &p->winograd.phase;
  mica__kernel *kernel = NULL;
  MICA_TRY(get(queue, &mica__winograd_wgrad_sums_kernel, p, &kernel));
  mica__launch launch = mica__launch_of(kernel);
  mica__winograd_push_size(&launch, &p->winograd);
  mica__launch_size(&launch, p->parts);
  mica__launch_tensor(&launch, p->m);
  mica__launch_tensor(&launch, p->conv->w);
  mica__launch_range3(&launch, (int64_t[]){w->c, w->k, 1}, (size_t[]){MICA__RANGE_GROUP, 1, 1});
  mica__launch_cost(&launch, 0, (double)mica_tensor_bytes(p->m) + (double)mica_tensor_bytes(p->conv->w));
  return mica__queue_submit(queue, &launch);
}

static mica_status launch_all(mica_queue *queue, plan *p) {
  const mica__conv_phase *w = &p->winograd.phase;
  const int64_t matrices = p->parts * p->points;
  MICA_TRY(mica__workspace_tensor(queue, MICA_F32, MICA_SHAPE(matrices, w->k, p->share), &p->u));
  MICA_TRY(mica__workspace_tensor(queue, MICA_F32, MICA_SHAPE(matrices, w->c, p->share), &p->v));
  MICA_TRY(mica__workspace_tensor(queue, MICA_F32, MICA_SHAPE(matrices, w->k, w->c), &p->m));
  MICA_TRY(launch_operands(queue, p));
  MICA_TRY(mica__winograd_products(
      queue, p, (mica__gemm){.m = w->k, .n = w->c, .k = p->share, .b = {.row = 1, .col = p->share}}));
  return launch_sums(queue, p);
}

static mica_status launch_filter(mica_queue *queue, const mica__task *task) {
  plan p = *plan_of(task);
  mica_status status = launch_all(queue, &p);
  mica__winograd_planes_clear(&p);
  return status;
}

static const char *unable(const void *problem) {
  const mica__conv *conv = problem;
  if (conv->dims.n * mica__product3(conv->dims.out) == 0) return "there are no pixels";
  return mica__winograd_staged_unable(problem);
}

static void magnitude(const void *problem, const mica__variant *variant, const double *a, const double *b,
                      const int64_t *at, int64_t count, double *out) {
  (void)variant;
  mica__winograd_filter_magnitude(problem, a, b, at, count, out);
}

const mica__impl mica__winograd_staged_wgrad = {.name = "winograd_staged_wgrad",
                                                .kernel = &mica__winograd_wgrad_operands_kernel,
                                                .unable = unable,
                                                .decline = decline,
                                                .plan = plan_task,
                                                .launch = launch_filter,
                                                .magnitude = magnitude};
