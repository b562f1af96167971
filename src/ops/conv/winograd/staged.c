/* Winograd's convolution on GPUs (cl/conv/winograd/staged.cl): transforms around a batch of matrix products. */
#include "base/error.h"
#include "ops/conv/winograd/winograd.h"
#include "ops/matmul/gemm.h"
#include "runtime/tensor.h"
#include "runtime/workspace.h"

#define TILE_PARAM MICA__INT("TILE", "results along an edge of a tile", 2, 4)
#define TYPE_PARAM MICA__DTYPE("D_T", "type of x, w and y", MICA__CONV_TYPES)

static const mica__kernel_param filter_params[] = {
    TYPE_PARAM,
    MICA__CASE("STAGE", "the filters' transform", 0),
    MICA__CASE("FLIP", "1: filters are rotated by 180 degrees", 0, 1),
    TILE_PARAM,
};
static const mica__variant filter_variants[] = {
    MICA__VARIANT("any.4x4", MICA__ON_ANY, MICA_F32, 0, 0, 4),
    MICA__VARIANT("any.2x2", MICA__ON_ANY, MICA_F32, 0, 0, 2),
};
const mica__kernel_desc mica__winograd_filters_kernel = {
    MICA__KERNEL("winograd_filters", "conv/winograd/staged.cl", filter_params, filter_variants)};

static const mica__kernel_param input_params[] = {
    TYPE_PARAM,
    MICA__CASE("STAGE", "the tiles' transform", 1),
    TILE_PARAM,
};
static const mica__variant input_variants[] = {
    MICA__VARIANT("gpu.2x2", MICA__ON_GPU, MICA_F32, 1, 2),
    MICA__VARIANT("gpu.4x4", MICA__ON_GPU, MICA_F32, 1, 4),
};
const mica__kernel_desc mica__winograd_inputs_kernel = {
    MICA__KERNEL("winograd_inputs", "conv/winograd/staged.cl", input_params, input_variants)};

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

/* Below, the transforms move more bytes than the products save multiplications. */
#define FEWEST_CHANNELS 32
#define FEWEST_FILTERS 32

/* The problem and its three planes of floats. */
typedef struct planes {
  const mica__conv *conv;
  mica__winograd winograd;
  int32_t edge;
  int64_t points, tiles;
  mica_tensor *u, *v, *m;
} planes;

MICA__TASK_PLAN(planes)

static planes make_plan(const mica__conv *conv, const mica__variant *variant) {
  planes p = {.conv = conv, .winograd = mica__winograd_of(conv)};
  p.edge = variant ? mica__kernel_value(&mica__winograd_inputs_kernel, variant->values, "TILE")
                   : mica__winograd_edge(&p.winograd);
  p.points = (p.edge + 2) * (p.edge + 2);
  p.tiles = mica__winograd_tiles(&p.winograd, p.edge);
  return p;
}

static void plan_task(mica__task *task) { keep_plan(task, make_plan(task->problem, task->variant)); }

static const char *decline(const mica__task *task) {
  const char *reason = mica__needs_gpu(task->device);
  const mica__winograd *winograd = &plan_of(task)->winograd;
  const mica__conv_window *w = &winograd->window;
  if (reason) return reason;
  if (w->c < FEWEST_CHANNELS) return "there are few channels";
  if (w->k < FEWEST_FILTERS) return "there are few filters";
  return mica__winograd_pays(winograd) ? NULL : "there are few tiles for each filter";
}

static mica_status get(mica_queue *queue, const mica__kernel_desc *desc, const planes *p, mica__launch *launch) {
  int32_t values[MICA__MAX_PARAMS];
  mica__kernel *kernel = NULL;
  mica__kernel_values(desc, &desc->variants[0], values);
  mica__kernel_set(desc, values, "D_T", (int32_t)p->conv->dtype);
  mica__kernel_set(desc, values, "TILE", p->edge);
  if (desc == &mica__winograd_filters_kernel) mica__kernel_set(desc, values, "FLIP", p->winograd.flipped);
  MICA_TRY(mica__kernel_get(mica__queue_engine(queue), desc, values, NULL, &kernel));
  *launch = mica__launch_of(kernel);
  return MICA_OK;
}

static void push_size(mica__launch *launch, const mica__conv_window *w) {
  /* They were checked to fit. */
  mica__launch_int8(launch, (int32_t[8]){(int32_t)w->n, (int32_t)w->c, (int32_t)w->in[1], (int32_t)w->in[2],
                                         (int32_t)w->k, (int32_t)w->out[1], (int32_t)w->out[2]});
}

static void range(mica__launch *launch, int64_t x, int64_t y) {
  mica__launch_range3(launch, (int64_t[]){x, y, 1}, (size_t[]){MICA__RANGE_GROUP, 1, 1});
}

static mica_status launch_filters(mica_queue *queue, const planes *p) {
  const mica__conv_window *w = &p->winograd.window;
  mica__launch launch;
  MICA_TRY(get(queue, &mica__winograd_filters_kernel, p, &launch));
  mica__launch_tensor(&launch, p->conv->w);
  mica__launch_long(&launch, w->w_k);
  mica__launch_long(&launch, w->w_c);
  mica__launch_size(&launch, w->c);
  mica__launch_size(&launch, w->k);
  mica__launch_tensor(&launch, p->u);
  range(&launch, w->c, w->k);
  mica__launch_cost(&launch, 0, (double)mica_tensor_bytes(p->conv->w) + (double)mica_tensor_bytes(p->u));
  return mica__queue_submit(queue, &launch);
}

static mica_status launch_inputs(mica_queue *queue, const planes *p) {
  const mica_tensor *source = mica__conv_source(p->conv);
  mica__launch launch;
  MICA_TRY(get(queue, &mica__winograd_inputs_kernel, p, &launch));
  push_size(&launch, &p->winograd.window);
  mica__launch_size(&launch, p->winograd.top);
  mica__launch_size(&launch, p->winograd.left);
  mica__launch_tensor(&launch, source);
  mica__launch_tensor(&launch, p->v);
  range(&launch, p->tiles, p->winograd.window.c);
  mica__launch_cost(&launch, 0, (double)mica_tensor_bytes(source) + (double)mica_tensor_bytes(p->v));
  return mica__queue_submit(queue, &launch);
}

static mica_status launch_products(mica_queue *queue, const planes *p) {
  const mica__conv_window *w = &p->winograd.window;
  char key[MICA__TUNING_TEXT];
  mica__gemm gemm = {.m = w->k, .n = p->tiles, .k = w->c, .batches = p->points};
  gemm.allow_tf32 = p->conv->allow_tf32;
  gemm.a = (mica__matrix){.tensor = p->u, .row = w->c, .col = 1, .batch = w->k * w->c};
  gemm.b = (mica__matrix){.tensor = p->v, .row = p->tiles, .col = 1, .batch = w->c * p->tiles};
  mica__matrix products = {.tensor = p->m, .row = p->tiles, .col = 1, .batch = w->k * p->tiles};
  gemm.epilogue = (mica__epilogue){.c = products, .d = products, .acc = MICA_F32, .alpha = 1};
  mica__gemm_key(&gemm, key);
  return mica__choose_and_launch(queue, mica__gemm_impls, &gemm, key);
}

static mica_status launch_outputs(mica_queue *queue, const planes *p) {
  int32_t values[MICA__MAX_PARAMS];
  mica__launch launch;
  mica__kernel_values(&mica__winograd_outputs_kernel, &output_variants[0], values);
  mica__kernel_set(&mica__winograd_outputs_kernel, values, "TILE", p->edge);
  bool whole =
      p->winograd.window.out[2] % p->edge == 0 && mica__tensor_first(p->conv->epilogue.d.tensor) % p->edge == 0;
  mica__kernel_set(&mica__winograd_outputs_kernel, values, "WHOLE", whole);
  MICA_TRY(mica__epilogue_begin(queue, &mica__winograd_outputs_kernel, values, &p->conv->epilogue, &launch));
  push_size(&launch, &p->winograd.window);
  mica__launch_tensor(&launch, p->m);
  range(&launch, p->tiles, p->winograd.window.k);
  mica__epilogue_push(&launch, &p->conv->epilogue);
  /* The multiplications are the products'. */
  const mica__epilogue *e = &p->conv->epilogue;
  mica__launch_cost(&launch, 0,
                    (double)mica_tensor_bytes(p->m) + (e->beta == 0 ? 1 : 2) * (double)mica_tensor_bytes(e->d.tensor));
  return mica__queue_submit(queue, &launch);
}

static mica_status launch_all(mica_queue *queue, planes *p) {
  const mica__conv_window *w = &p->winograd.window;
  MICA_TRY(mica__workspace_tensor(queue, MICA_F32, MICA_SHAPE(p->points, w->k, w->c), &p->u));
  MICA_TRY(mica__workspace_tensor(queue, MICA_F32, MICA_SHAPE(p->points, w->c, p->tiles), &p->v));
  MICA_TRY(mica__workspace_tensor(queue, MICA_F32, MICA_SHAPE(p->points, w->k, p->tiles), &p->m));
  MICA_TRY(launch_filters(queue, p));
  MICA_TRY(launch_inputs(queue, p));
  MICA_TRY(launch_products(queue, p));
  return launch_outputs(queue, p);
}

static mica_status launch_planes(mica_queue *queue, const mica__task *task) {
  planes p = *plan_of(task);
  mica_status status = launch_all(queue, &p);
  mica_tensor_destroy(p.u);
  mica_tensor_destroy(p.v);
  mica_tensor_destroy(p.m);
  return status;
}

static void magnitude(const void *problem, const mica__variant *variant, const double *a, const double *b,
                      const int64_t *at, int64_t count, double *out) {
  mica__winograd winograd = mica__winograd_of(problem);
  int32_t edge = variant ? mica__kernel_value(&mica__winograd_inputs_kernel, variant->values, "TILE")
                         : mica__winograd_edge(&winograd);
  mica__winograd_magnitude(problem, edge, a, b, at, count, out);
}

const mica__impl mica__winograd_staged = {.name = "winograd_staged",
                                          .kernel = &mica__winograd_inputs_kernel,
                                          .unable = mica__winograd_unable,
                                          .decline = decline,
                                          .plan = plan_task,
                                          .launch = launch_planes,
                                          .magnitude = magnitude};
