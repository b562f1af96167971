/* Winograd's convolution on GPUs (cl/conv/winograd/staged.cl): transforms before and after a batch of matrix
 * products. */
#include "ops/conv/winograd/staged.h"
#include "base/arith.h"
#include "base/error.h"
#include "runtime/loans.h"
#include "runtime/tensor.h"
#include "runtime/workspace.h"

#define TILE_PARAM MICA__INT("TILE", "results along an edge of a tile", 2, 4)
#define TYPE_PARAM MICA__DTYPE("D_T", "type of x, w and y", MICA__CONV_TYPES)

static const mica__kernel_param operand_params[] = {
    TYPE_PARAM,
    MICA__CASE("STAGE", "the transforms of tiles and filters", 0),
    MICA__CASE("FLIP", "1: filters are rotated by 180 degrees", 0, 1),
    TILE_PARAM,
};
static const mica__variant operand_variants[] = {
    MICA__VARIANT("gpu.2x2", MICA__ON_GPU, MICA_F32, 0, 0, 2),
    MICA__VARIANT("gpu.4x4", MICA__ON_GPU, MICA_F32, 0, 0, 4),
};
const mica__kernel_desc mica__winograd_operands_kernel = {
    MICA__KERNEL("winograd_operands", "conv/winograd/staged.cl", operand_params, operand_variants)};

static const mica__kernel_param output_params[] = {
    MICA__CONV_PARAMS(MICA__CONV_TYPES),
    MICA__CASE("STAGE", "the products' transform", 2),
    TILE_PARAM,
    MICA__CASE("WHOLE", "1: rows of the result are whole, aligned tiles", 0, 1),
};
static const mica__variant output_variants[] = {
    MICA__VARIANT("any.4x4", MICA__ON_ANY, MICA__CONV_VALUES, 2, 4, 0),
    MICA__VARIANT("any.2x2", MICA__ON_ANY, MICA__CONV_VALUES, 2, 2, 0),
};
const mica__kernel_desc mica__winograd_outputs_kernel = {
    MICA__KERNEL("winograd_outputs", "conv/winograd/staged.cl", output_params, output_variants)};

/* With fewer channels or filters the transforms cost more than the products save. */
#define FEWEST_CHANNELS 32
#define FEWEST_FILTERS 32

/* The elements of a vector in the products' kernels. */
#define ALIGNMENT 4

typedef mica__winograd_planes planes;
MICA__TASK_PLAN(planes)

planes mica__winograd_planes_of(const mica__conv *conv, int32_t edge) {
  planes p = {.conv = conv, .winograd = mica__winograd_of(conv), .edge = edge};
  p.points = (edge + 2) * (edge + 2);
  p.tiles = mica__winograd_tiles(&p.winograd, edge);
  p.pitch = mica__ceil_div(p.tiles, ALIGNMENT) * ALIGNMENT;
  return p;
}

void mica__winograd_planes_clear(planes *p) {
  mica_tensor_destroy(p->u);
  mica_tensor_destroy(p->v);
  mica_tensor_destroy(p->m);
}

int64_t mica__winograd_groups(int64_t rows, int64_t across) { return rows * mica__ceil_div(across, MICA__RANGE_GROUP); }

const char *mica__winograd_staged_unable(const void *problem) {
  const char *reason = mica__winograd_unable(problem);
  if (reason) return reason;
  const planes p = mica__winograd_planes_of(problem, 2);
  const mica__conv_phase *w = &p.winograd.phase;
  double groups = (double)(w->c + w->k) * ((double)mica__max(p.pitch, w->c) / MICA__RANGE_GROUP + 1);
  return groups > INT32_MAX ? "there are too many tiles" : NULL;
}

static void plan_task(mica__task *task) {
  const mica__winograd winograd = mica__winograd_of(task->problem);
  int32_t edge = task->variant ? mica__kernel_value(&mica__winograd_operands_kernel, task->variant->values, "TILE")
                               : mica__winograd_edge(&winograd);
  keep_plan(task, mica__winograd_planes_of(task->problem, edge));
}

static const char *decline(const mica__task *task) {
  const char *reason = mica__needs_gpu(task->device);
  const mica__winograd *winograd = &plan_of(task)->winograd;
  const mica__conv_phase *w = &winograd->phase;
  if (reason) return reason;
  if (w->c < FEWEST_CHANNELS) return "there are too few channels";
  if (w->k < FEWEST_FILTERS) return "there are too few filters";
  return mica__winograd_pays(winograd) ? NULL : "there are too few tiles for each filter";
}

MICA__FIELDS(cut_fields, WINOGRAD_CUT);
mica__launch mica__winograd_operands(mica__kernel *kernel, const planes *p, const mica_tensor *source, int64_t v_groups,
                                     const mica_tensor *left, int64_t u_groups) {
  mica__launch launch = mica__launch_of(kernel);
  double bytes = 0;
  const mica__winograd *w = &p->winograd;
  const cut_fields c = {.TOP = w->top, .LEFT = w->left, .PITCH = p->pitch, .V_GROUPS = v_groups};
  mica__winograd_push_size(&launch, w);
  mica__launch_sizes(&launch, c.values);
  mica__launch_tensor(&launch, source);
  /* V is passed only to a launch that makes it. V is a workspace of the runs. If a launch of the prologue named it, no
   * later launch could reuse its memory. */
  mica__launch_optional(&launch, v_groups ? p->v : NULL);
  mica__launch_tensor(&launch, left);
  mica__launch_tensor(&launch, p->u);
  mica__launch_range1(&launch, (v_groups + u_groups) * MICA__RANGE_GROUP, MICA__RANGE_GROUP);
  if (v_groups) bytes += (double)mica_tensor_bytes(source) + (double)mica_tensor_bytes(p->v);
  if (u_groups) bytes += (double)mica_tensor_bytes(left) + (double)mica_tensor_bytes(p->u);
  mica__launch_cost(&launch, 0, bytes);
  return launch;
}

/* A hash of all that V depends on besides the source: launches with equal hashes and the same source can share V. */
static mica__hash tiles_of(const planes *p) {
  const mica__winograd *w = &p->winograd;
  const int64_t values[] = {p->edge, p->pitch, w->top, w->left, w->phase.out[1], w->phase.out[2]};
  return mica__hash_bytes(mica__hash_text((mica__hash){0}, "winograd tiles"), values, sizeof values);
}

mica_status mica__winograd_take_tiles(mica_queue *queue, planes *p, int64_t *groups) {
  const int64_t channels = p->winograd.phase.c;
  *groups = 0;
  MICA_TRY(mica__loan_take(queue, mica__conv_source(p->conv), tiles_of(p), &p->v));
  if (p->v) return MICA_OK;
  *groups = mica__winograd_groups(channels, p->pitch);
  return mica__workspace_tensor(queue, MICA_F32, MICA_SHAPE(p->points, channels, p->pitch), &p->v);
}

mica_status mica__winograd_lend_tiles(mica_queue *queue, const planes *p) {
  if (!p->conv->lends) return MICA_OK;
  return mica__loan_offer(queue, mica__conv_source(p->conv), tiles_of(p), p->v);
}

static mica_status launch_operands(mica_queue *queue, const planes *p, int64_t v_groups, int64_t u_groups) {
  const mica__kernel_desc *desc = &mica__winograd_operands_kernel;
  int32_t values[MICA__MAX_PARAMS];
  mica__kernel *kernel = NULL;
  mica__kernel_values(desc, &operand_variants[0], values);
  mica__kernel_set(desc, values, "D_T", (int32_t)p->conv->dtype);
  mica__kernel_set(desc, values, "FLIP", p->winograd.flipped);
  mica__kernel_set(desc, values, "TILE", p->edge);
  MICA_TRY(mica__kernel_get(mica__queue_engine(queue), desc, values, NULL, &kernel));
  const mica_tensor *source = mica__conv_source(p->conv);
  mica__launch launch = mica__winograd_operands(kernel, p, source, v_groups, p->conv->w, u_groups);
  mica__launch_long(&launch, p->winograd.phase.w_k);
  mica__launch_long(&launch, p->winograd.phase.w_c);
  return mica__queue_submit(queue, &launch);
}

mica__gemm mica__winograd_gemm(const planes *p, int64_t m, int64_t n, int64_t k) {
  const mica__matrix products = {.tensor = p->m, .row = n, .col = 1, .batch = m * n};
  return (mica__gemm){.m = m,
                      .n = n,
                      .k = k,
                      .batches = p->points,
                      .allow_tf32 = p->conv->allow_tf32,
                      .epilogue = {.c = products, .d = products, .acc = MICA_F32, .alpha = 1}};
}

mica_status mica__winograd_products(mica_queue *queue, const mica__gemm *gemm) {
  char key[MICA__TUNING_TEXT];
  mica__gemm_key(gemm, key);
  return mica__choose_and_launch(queue, mica__gemm_impls, gemm, key);
}

static mica_status launch_outputs(mica_queue *queue, const planes *p) {
  int32_t values[MICA__MAX_PARAMS];
  mica__launch launch;
  mica__kernel_values(&mica__winograd_outputs_kernel, &output_variants[0], values);
  mica__kernel_set(&mica__winograd_outputs_kernel, values, "TILE", p->edge);
  bool whole = p->winograd.phase.out[2] % p->edge == 0 && mica__tensor_first(p->conv->epilogue.d.tensor) % p->edge == 0;
  mica__kernel_set(&mica__winograd_outputs_kernel, values, "WHOLE", whole);
  MICA_TRY(mica__epilogue_begin(queue, &mica__winograd_outputs_kernel, values, &p->conv->epilogue, &launch));
  mica__winograd_push_size(&launch, &p->winograd);
  mica__launch_size(&launch, p->pitch);
  mica__launch_tensor(&launch, p->m);
  mica__launch_range3(&launch, (int64_t[]){p->tiles, p->winograd.phase.k, 1}, (size_t[]){MICA__RANGE_GROUP, 1, 1});
  mica__epilogue_push(&launch, &p->conv->epilogue);
  /* No multiplications are counted here, because the products count all of them. */
  const mica__epilogue *e = &p->conv->epilogue;
  mica__launch_cost(&launch, 0,
                    (double)mica_tensor_bytes(p->m) + (e->beta == 0 ? 1 : 2) * (double)mica_tensor_bytes(e->d.tensor));
  return mica__queue_submit(queue, &launch);
}

/* Transforms the tiles and filters, multiplies them and transforms the products. Constant filters are transformed
 * once, before all runs. */
static mica_status launch_all(mica_queue *queue, planes *p) {
  const mica__conv_phase *w = &p->winograd.phase;
  const int64_t u_groups = mica__winograd_groups(w->k, w->c), own_groups = p->conv->prologue ? 0 : u_groups;
  int64_t v_groups = 0;
  mica_queue *packer = mica__conv_packer(p->conv, queue);
  MICA_TRY(mica__workspace_tensor(packer, MICA_F32, MICA_SHAPE(p->points, w->k, w->c), &p->u));
  MICA_TRY(mica__winograd_take_tiles(queue, p, &v_groups));
  MICA_TRY(mica__workspace_tensor(queue, MICA_F32, MICA_SHAPE(p->points, w->k, p->pitch), &p->m));
  if (p->conv->prologue) MICA_TRY(launch_operands(packer, p, 0, u_groups));
  if (v_groups + own_groups > 0) MICA_TRY(launch_operands(queue, p, v_groups, own_groups));
  if (v_groups > 0) MICA_TRY(mica__winograd_lend_tiles(queue, p));
  mica__gemm gemm = mica__winograd_gemm(p, w->k, p->pitch, w->c);
  gemm.a = (mica__matrix){.tensor = p->u, .row = w->c, .col = 1, .batch = w->k * w->c};
  gemm.b = (mica__matrix){.tensor = p->v, .row = p->pitch, .col = 1, .batch = w->c * p->pitch};
  MICA_TRY(mica__winograd_products(queue, &gemm));
  return launch_outputs(queue, p);
}

static mica_status launch_planes(mica_queue *queue, const mica__task *task) {
  planes p = *plan_of(task);
  mica_status status = launch_all(queue, &p);
  mica__winograd_planes_clear(&p);
  return status;
}

static void magnitude(const void *problem, const mica__variant *variant, const double *a, const double *b,
                      const int64_t *at, int64_t count, double *out) {
  mica__winograd winograd = mica__winograd_of(problem);
  int32_t edge = variant ? mica__kernel_value(&mica__winograd_operands_kernel, variant->values, "TILE")
                         : mica__winograd_edge(&winograd);
  mica__winograd_magnitude(problem, edge, a, b, at, count, out);
}

const mica__impl mica__winograd_staged = {.name = "winograd_staged",
                                          .kernel = &mica__winograd_operands_kernel,
                                          .helper = &mica__winograd_outputs_kernel,
                                          .unable = mica__winograd_staged_unable,
                                          .decline = decline,
                                          .plan = plan_task,
                                          .launch = launch_planes,
                                          .magnitude = magnitude};
