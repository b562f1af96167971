/* Winograd's gradient of filters on GPUs (cl/conv/winograd/staged.cl): transforms before and after a batch of matrix
 * products. The products sum over tiles, and these sums are divided into parts. The gradient of the results is
 * transformed as in backward data, so that the pass that runs first can lend it to the other pass. */
#include "base/arith.h"
#include "base/error.h"
#include "ops/conv/winograd/staged.h"
#include "runtime/workspace.h"

#define EDGE 4
#define POINTS 36
/* The pairs of channel and filter of a work-group of winograd_wgrad_sums, and the most parts that it adds. */
#define LANES 32
#define MOST_PARTS 64

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

typedef mica__winograd_wgrad_plan plan;
MICA__TASK_PLAN(plan)

/* Costs in multiply-adds of a compute unit.
 *
 *   OPERAND   an element of U or V. Its transform reads 2 bytes (in 16 bits) and writes 4, and the product reads 4. On
 *             an A100 a compute unit does 64 multiply-adds per cycle and gets about 8 bytes per cycle from memory (10
 *             in theory), so these 10 bytes take the time of 80 multiply-adds. A unit of an H100 does twice as many
 *             multiply-adds and gets 13 bytes in theory.
 *   PRODUCT   an element of M, which is written and read
 *   LAUNCH    the start of a launch, as in ops/select/tile.c */
#define OPERAND 90.0
#define PRODUCT 50.0
#define LAUNCH 180e3

static mica__tile_plan choose(const mica__tile_kernel *kernel, const mica__task *task, const void *problem,
                              mica__tiled product, int64_t most) {
  const mica__task any = {.problem = problem, .device = task->device, .engine = task->engine};
  return mica__tile_choose(kernel, &any, &product, most);
}

/* The problem with backward data as its pass, because both passes use the same tiles. */
static mica__conv as_data(const mica__conv *conv) {
  mica__conv data = *conv;
  data.pass = MICA__CONV_BWD_DATA;
  return data;
}

static void plan_task(mica__task *task) {
  const mica__conv data = as_data(task->problem);
  plan p = {.planes = mica__winograd_planes_of(&data, EDGE)};
  const mica__conv_phase *w = &p.planes.winograd.phase;
  p.planes.conv = task->problem;
  p.products =
      choose(&mica__gemm_gpu_tiles, task, task->problem, (mica__tiled){w->c, w->k, p.planes.pitch, POINTS}, MOST_PARTS);
  keep_plan(task, p);
}

/* True if the plain sum by tiles in local memory (mica__conv_gpu_wgrad_implicit_gemm) costs no more. */
static bool loses(const mica__task *task) {
  const mica__winograd_planes *p = &plan_of(task)->planes;
  const mica__tile_plan *products = &plan_of(task)->products;
  const mica__conv_phase *w = &p->winograd.phase;
  const mica__conv_dims *d = &p->conv->dims;
  const mica__tile_plan plain =
      choose(&mica__conv_gpu_wgrad_implicit_gemm_tiles, task, p->conv,
             (mica__tiled){d->k, d->c * mica__product3(d->filter), d->n * mica__product3(d->out), d->groups}, 512);
  const double units = (double)mica__max(1, (int64_t)task->device->compute_units);
  double cost = products->cost + LAUNCH;
  cost += OPERAND * (double)(p->points * p->pitch * (w->c + w->k)) / units;
  if (products->splits == 1) cost += PRODUCT * (double)(p->points * w->c * w->k) / units;
  return plain.variant && plain.cost <= cost;
}

static const char *decline(const mica__task *task) {
  const char *reason = mica__needs_gpu(task->device);
  if (reason) return reason;
  return loses(task) ? "the transforms take more time than they save" : NULL;
}

static mica_status get(mica_queue *queue, const mica__kernel_desc *desc, const mica__conv *conv,
                       mica__kernel **kernel) {
  int32_t values[MICA__MAX_PARAMS];
  mica__kernel_values(desc, &desc->variants[0], values);
  mica__kernel_set(desc, values, "D_T", (int32_t)conv->dtype);
  return mica__kernel_get(mica__queue_engine(queue), desc, values, NULL, kernel);
}

static mica_status launch_operands(mica_queue *queue, const mica__winograd_planes *p, int64_t v_groups) {
  const mica__conv_phase *w = &p->winograd.phase;
  mica__kernel *kernel = NULL;
  MICA_TRY(get(queue, &mica__winograd_wgrad_operands_kernel, p->conv, &kernel));
  mica__launch launch =
      mica__winograd_operands(kernel, p, p->conv->y, v_groups, p->conv->x, mica__winograd_groups(w->k, p->pitch));
  return mica__queue_submit(queue, &launch);
}

static mica_status launch_sums(mica_queue *queue, const mica__winograd_planes *p, int64_t parts) {
  const mica__conv_phase *w = &p->winograd.phase;
  mica__kernel *kernel = NULL;
  MICA_TRY(get(queue, &mica__winograd_wgrad_sums_kernel, p->conv, &kernel));
  mica__launch launch = mica__launch_of(kernel);
  mica__winograd_push_size(&launch, &p->winograd);
  mica__launch_size(&launch, parts);
  mica__launch_tensor(&launch, p->m);
  mica__launch_tensor(&launch, p->conv->w);
  const int64_t range[] = {mica__ceil_div(w->c * w->k, LANES) * LANES, EDGE + 2, 1};
  mica__launch_range3(&launch, range, (size_t[]){LANES, EDGE + 2, 1});
  mica__launch_cost(&launch, 0, (double)mica_tensor_bytes(p->m) + (double)mica_tensor_bytes(p->conv->w));
  return mica__queue_submit(queue, &launch);
}

/* Launches the products. If the plan divides their depth into parts, M receives the sums of each part. */
static mica_status launch_products(mica_queue *queue, const plan *whole) {
  const mica__winograd_planes *p = &whole->planes;
  const mica__conv_phase *w = &p->winograd.phase;
  mica__gemm gemm = mica__winograd_gemm(p, w->c, w->k, p->pitch);
  gemm.a = (mica__matrix){.tensor = p->v, .row = p->pitch, .col = 1, .batch = w->c * p->pitch};
  gemm.b = (mica__matrix){.tensor = p->u, .row = 1, .col = p->pitch, .batch = w->k * p->pitch};
  if (whole->products.splits == 1) return mica__winograd_products(queue, &gemm);
  return mica__gemm_gpu_parts(queue, &gemm, &whole->products, p->m);
}

static mica_status launch_all(mica_queue *queue, plan *whole) {
  mica__winograd_planes *p = &whole->planes;
  const mica__conv_phase *w = &p->winograd.phase;
  const int64_t parts = whole->products.splits;
  int64_t v_groups = 0;
  MICA_TRY(mica__workspace_tensor(queue, MICA_F32, MICA_SHAPE(POINTS, w->k, p->pitch), &p->u));
  MICA_TRY(mica__winograd_take_tiles(queue, p, &v_groups));
  MICA_TRY(mica__workspace_tensor(queue, MICA_F32, MICA_SHAPE(parts * POINTS, w->c, w->k), &p->m));
  MICA_TRY(launch_operands(queue, p, v_groups));
  if (v_groups > 0) MICA_TRY(mica__winograd_lend_tiles(queue, p));
  MICA_TRY(launch_products(queue, whole));
  return launch_sums(queue, p, parts);
}

static mica_status launch_filter(mica_queue *queue, const mica__task *task) {
  plan p = *plan_of(task);
  mica_status status = launch_all(queue, &p);
  mica__winograd_planes_clear(&p.planes);
  return status;
}

static const char *unable(const void *problem) {
  const mica__conv data = as_data(problem);
  if (data.dims.n * mica__product3(data.dims.out) * mica__product3(data.dims.in) == 0) return "there are no pixels";
  return mica__winograd_staged_unable(&data);
}

static void magnitude(const void *problem, const mica__variant *variant, const double *a, const double *b,
                      const int64_t *at, int64_t count, double *out) {
  const mica__conv data = as_data(problem);
  (void)variant;
  mica__winograd_filter_magnitude(&data, a, b, at, count, out);
}

const mica__impl mica__winograd_staged_wgrad = {.name = "winograd_staged_wgrad",
                                                .kernel = &mica__winograd_wgrad_operands_kernel,
                                                .helper = &mica__winograd_wgrad_sums_kernel,
                                                .unable = unable,
                                                .decline = decline,
                                                .plan = plan_task,
                                                .launch = launch_filter,
                                                .magnitude = magnitude};
