/* Max pooling, with results VALUES and INDICES (positions of the maxima), and its gradient, which goes to these
 * positions. */
#include "ops/pool/max_pool.h"
#include "base/checked.h"
#include "base/element.h"
#include "base/error.h"
#include "cl/pool/fields.clh"
#include "ops/layout/views.h"
#include "ops/pool/pool.h"
#include "runtime/fields.h"
#include "runtime/launch.h"
#include "runtime/tensor.h"

#include <math.h>
#include <stdlib.h>

enum { VALUES = MICA__POOL_VALUES, INDICES = MICA__POOL_INDICES, RESULTS = MICA__POOL_RESULTS };
typedef mica__pool_planes planes;
typedef mica__pool_problem problem;

/* LINES_UNIT: the elements that make a work-item worthwhile. LINES_LOCAL: the most bytes of local memory that it
 * takes. */
#define LINES_UNIT 8192
#define LINES_LOCAL (64 << 10)

/* --- windows as attributes --- */

MICA__ATTR_TABLE(max_pool, MICA__MAX_POOL_ATTRS);

static mica__max_pool_attrs attrs_of(int32_t spatial, const mica__resample_window *windows) {
  mica__max_pool_attrs attrs = {0};
  for (int32_t k = 0; k < spatial; k++) {
    attrs.size[k] = windows[k].size;
    attrs.stride[k] = windows[k].stride;
    attrs.pad[k] = windows[k].pad;
    attrs.pad_end[k] = windows[k].pad_end;
    attrs.dilation[k] = windows[k].dilation;
    attrs.ceil_mode[k] = windows[k].ceil_mode;
    attrs.outputs[k] = windows[k].outputs;
  }
  return attrs;
}

static mica_status planes_of(const mica__max_pool_attrs *attrs, mica_shape x, planes *out) {
  int32_t spatial = x.rank - 2;
  *out = (planes){.count = 1};
  for (int32_t i = 0; i < x.rank - spatial; i++) out->count *= x.dim[i];
  for (int32_t k = 0; k < 3; k++) {
    out->n[k] = out->m[k] = 1;
    out->windows[k] = (mica__resample_window){.size = 1, .stride = 1, .dilation = 1};
    if (k < 3 - spatial) continue;
    int32_t i = k + spatial - 3;
    out->windows[k] =
        (mica__resample_window){attrs->size[i],     attrs->stride[i],    attrs->pad[i],    attrs->pad_end[i],
                                attrs->dilation[i], attrs->ceil_mode[i], attrs->outputs[i]};
    out->n[k] = x.dim[x.rank - 3 + k];
    out->m[k] = MICA_DYNAMIC;
    if (out->n[k] != MICA_DYNAMIC || attrs->outputs[i])
      MICA_TRY(mica__resample_window_outputs(&out->windows[k], out->n[k], &out->m[k]));
  }
  return MICA_OK;
}

static mica_status infer_max_pool(const mica__type *inputs, int32_t input_count, void *attrs, mica__type *out) {
  (void)input_count;
  planes p;
  out[VALUES] = inputs[0];
  mica_shape *shape = &out[VALUES].shape;
  MICA_TRY(planes_of(attrs, *shape, &p));
  for (int32_t k = 5 - shape->rank; k < 3; k++) shape->dim[shape->rank - 3 + k] = p.m[k];
  out[INDICES].shape = *shape;
  return MICA_OK;
}

/* Operands: x (only its shape matters), dy, positions. */
static mica_status infer_max_pool_grad(const mica__type *inputs, int32_t input_count, void *attrs, mica__type *out) {
  (void)input_count, (void)attrs;
  out->shape = inputs[0].shape;
  return MICA_OK;
}

/* --- references --- */

/* -infinity, or the smallest value of an integer type. */
static double lowest_of(mica_dtype dtype) {
  mica_dtype_kind kind = mica_dtype_kind_of(dtype);
  if (kind == MICA_DTYPE_KIND_FLOAT) return (double)-INFINITY;
  return kind == MICA_DTYPE_KIND_SIGNED ? -exp2(8 * (double)mica_dtype_size(dtype) - 1) : 0;
}

/* Returns the position in the plane x of an output's largest element, of which NaN is the largest; -1 if its window
 * lies in padding. */
static int64_t largest(const planes *p, const double *x, const int64_t o[3]) {
  mica__resample_window_taps t[3];
  int64_t best = -1;
  for (int k = 0; k < 3; k++) t[k] = mica__resample_window_at(&p->windows[k], p->n[k], p->m[k], o[k]);
  for (int64_t d = 0; d < t[0].count; d++)
    for (int64_t h = 0; h < t[1].count; h++)
      for (int64_t w = 0; w < t[2].count; w++) {
        int64_t row = (t[0].first + d * t[0].step) * p->n[1] + t[1].first + h * t[1].step;
        int64_t at = row * p->n[2] + t[2].first + w * t[2].step;
        if (best < 0 || x[at] > x[best] || (isnan(x[at]) && !isnan(x[best]))) best = at;
      }
  return best;
}

static mica_status evaluate_max_pool(const mica__eval *eval) {
  planes p;
  MICA_TRY(planes_of(eval->attrs, eval->types[0].shape, &p));
  int64_t plane = p.n[0] * p.n[1] * p.n[2], at = 0;
  for (int64_t c = 0; c < p.count; c++)
    for (int64_t d = 0; d < p.m[0]; d++)
      for (int64_t h = 0; h < p.m[1]; h++)
        for (int64_t w = 0; w < p.m[2]; w++, at++) {
          const double *x = eval->inputs[0] + c * plane;
          int64_t best = largest(&p, x, (int64_t[]){d, h, w});
          eval->outputs[VALUES][at] = best < 0 ? lowest_of(eval->types[0].dtype) : x[best];
          eval->outputs[INDICES][at] = (double)(best < 0 ? plane : best);
        }
  return MICA_OK;
}

static mica_status evaluate_max_pool_grad(const mica__eval *eval) {
  planes p;
  MICA_TRY(planes_of(eval->attrs, eval->types[0].shape, &p));
  int64_t plane = p.n[0] * p.n[1] * p.n[2], outputs = p.m[0] * p.m[1] * p.m[2];
  for (int64_t i = 0; i < p.count * plane; i++) eval->output[i] = 0;
  for (int64_t i = 0; i < p.count * outputs; i++) {
    double position = eval->inputs[2][i];
    if (position >= 0 && position < (double)plane)
      eval->output[i / outputs * plane + (int64_t)position] += eval->inputs[1][i];
  }
  return MICA_OK;
}

/* --- launches --- */

#define TYPES MICA__DTYPE("X_T", "type of x", MICA__NUMBERS)
#define FLOATS MICA__DTYPE("X_T", "type of dx and dy", MICA__FLOATS)
#define WANTED                                                                                                         \
  MICA__CASE("VALUES", "1: the values are written", 1, 0), MICA__CASE("INDICES", "1: the indices are written", 0, 1)
#define LINES                                                                                                          \
  MICA__CASE("STRIDE", "stride along W; 0: any", 1, 2, 0),                                                             \
      MICA__INT("VW", "elements that are taken as one vector", 1, 2, 4, 8, 16)
#define LARGE MICA__CASE("LARGE", "1: work-items are counted in 64 bits", 0, 1)
static const mica__kernel_param each_params[] = {TYPES, WANTED, LARGE};
static const mica__kernel_param lines_params[] = {TYPES, WANTED, LINES};
static const mica__kernel_param grad_each_params[] = {
    FLOATS, LARGE, MICA__CASE("WHOLE", "1: rows are whole, aligned vectors of WIDE", 0, 1),
    MICA__INT("WIDE", "elements of a work-item", 1, 4)};
static const mica__kernel_param grad_strips_params[] = {
    FLOATS, MICA__CASE("STRIDE", "stride along W", 1, 2),
    MICA__INT("VW", "elements that are taken as one vector", 1, 2, 4, 8, 16)};
static const mica__variant each_variants[] = {MICA__VARIANT("any", MICA__ON_ANY, MICA_F32, 1, 0, 0)};
static const mica__variant lines_variants[] = {MICA__VARIANT("cpu", MICA__ON_CPU, MICA_F32, 1, 0, 2, 16)};
static const mica__variant grad_each_variants[] = {MICA__VARIANT("gpu", MICA__ON_GPU, MICA_F32, 0, 0, 4),
                                                   MICA__VARIANT("cpu", MICA__ON_CPU, MICA_F32, 0, 0, 1)};
static const mica__variant grad_strips_variants[] = {MICA__VARIANT("cpu", MICA__ON_CPU, MICA_F32, 2, 16)};
static const mica__kernel_desc max_pool_each = {
    MICA__KERNEL("max_pool_each", "pool/max_pool.cl", each_params, each_variants), .options = "-DEACH"};
static const mica__kernel_desc max_pool_lines = {
    MICA__KERNEL("max_pool_lines", "pool/max_pool.cl", lines_params, lines_variants)};
static const mica__kernel_desc max_pool_grad_each = {
    MICA__KERNEL("max_pool_grad_each", "pool/max_pool_grad.cl", grad_each_params, grad_each_variants),
    .options = "-DEACH"};
static const mica__kernel_desc max_pool_grad_strips = {
    MICA__KERNEL("max_pool_grad_strips", "pool/max_pool_grad.cl", grad_strips_params, grad_strips_variants)};

/* How a work-item of max_pool_lines or max_pool_grad_strips walks over lines. per: the lines of a work-item; 0 if the
 * kernel cannot run. */
typedef struct walk {
  int64_t per, width;
  int64_t length;              /* of a line with its padding */
  int64_t room, margin, pitch; /* of the copy of dy: lines; vectors of a line's margin; vectors of a line */
  size_t elements;             /* in local memory, of each of two arrays */
} walk;

static bool walks(const mica__exec *exec, const mica__kernel_desc *desc, const planes *p) {
  return mica__exec_takes(exec, desc) && !(p->windows[0].outputs | p->windows[1].outputs | p->windows[2].outputs);
}

static bool fits_local(const mica__exec *exec, int64_t elements, mica_dtype dtype) {
  const mica_device_info *device = mica_engine_device(mica__queue_engine(exec->queue));
  size_t bytes = 2 * (size_t)elements * (mica_dtype_size(dtype) == 8 ? 8 : 4);
  return elements < LINES_LOCAL / 4 && bytes <= LINES_LOCAL && bytes <= device->local_bytes;
}

static walk walk_of_lines(const mica__exec *exec, const planes *p, mica_dtype dtype) {
  const mica__resample_window *w = &p->windows[2];
  walk made = {.width = 16};
  if (!walks(exec, &max_pool_lines, p)) return made;
  made.length = (p->m[2] - 1) * w->stride + (w->size - 1) * w->dilation + 1;
  int64_t least = p->n[2] < made.length - w->pad ? p->n[2] : made.length - w->pad;
  if (p->m[2] < least) least = p->m[2];
  if (least < 1) return made;
  while (made.width > least) made.width /= 2;
  made.elements = (size_t)(made.length + 2 * made.width);
  if (!fits_local(exec, (int64_t)made.elements, dtype)) return made;
  int64_t lines = p->count * p->m[0] * p->m[1];
  made.per = 1;
  while (made.per < lines && 2 * made.per * p->n[2] < LINES_UNIT) made.per *= 2;
  return made;
}

/* Returns the most outputs whose windows touch one of `lines` adjacent lines. */
static int64_t covers(const mica__resample_window *w, int64_t lines, int64_t outputs) {
  int64_t most = ((w->size - 1) * w->dilation + lines - 1) / w->stride + 1;
  return most < outputs ? most : outputs;
}

static walk walk_of_strips(const mica__exec *exec, const planes *p, mica_dtype dtype) {
  const mica__resample_window *w = &p->windows[2];
  walk made = {.width = 16};
  if (!walks(exec, &max_pool_grad_strips, p) || w->stride > 2 || p->n[2] < w->stride) return made;
  int64_t least = p->n[2] / w->stride < p->m[2] ? p->n[2] / w->stride : p->m[2];
  while (made.width > least) made.width /= 2;
  int64_t before = (w->size - 1) * w->dilation / w->stride + 1, span = (p->n[2] + w->pad) / w->stride + made.width;
  made.margin = (before + made.width - 1) / made.width;
  made.pitch = made.margin + ((span > p->m[2] ? span : p->m[2]) + made.width - 1) / made.width + 1;
  for (int64_t per = 1; per <= p->n[1]; per *= 2) {
    int64_t room = covers(&p->windows[0], 1, p->m[0]) * covers(&p->windows[1], per, p->m[1]);
    if (!fits_local(exec, room * made.pitch * made.width, dtype) || (made.per && per * p->n[2] > LINES_UNIT)) break;
    made.per = per;
    made.room = room;
    made.elements = (size_t)(room * made.pitch * made.width);
  }
  return made;
}

MICA__FIELDS(window_fields, POOL_WINDOW);
static void add_axes(mica__launch *launch, const planes *p) {
  mica__launch_size(launch, p->count);
  for (int k = 0; k < 3; k++) {
    const mica__resample_window *w = &p->windows[k];
    const window_fields f = {.elements = p->n[k],
                             .outputs = p->m[k],
                             .size = w->outputs ? 0 : w->size,
                             .stride = w->stride,
                             .pad = w->pad,
                             .dilation = w->outputs ? 1 : w->dilation};
    mica__launch_sizes(launch, f.values);
  }
}

/* MICA_E_OVERFLOW unless an int counts the elements of a plane with its padding and a further window: positions are
 * ints. */
static mica_status fits(const planes *p) {
  int64_t plane = 1, sum;
  for (int k = 0; k < 3; k++) {
    const mica__resample_window *w = &p->windows[k];
    sum = p->n[k] + w->pad + w->pad_end + w->stride + w->size * w->dilation;
    if (!mica__mul_i64(plane, sum, &plane) || plane > INT32_MAX)
      return mica__fail(MICA_E_OVERFLOW, "max_pool: a plane with its padding and windows has 2^31 elements or more");
  }
  return MICA_OK;
}

/* True if an int cannot count all elements of the input or of a result, or the product of an axis's extent and its
 * adaptive outputs. */
static bool is_large(const planes *p) {
  double elements = (double)p->count, outputs = elements;
  for (int k = 0; k < 3; k++) {
    elements *= (double)p->n[k];
    outputs *= (double)p->m[k];
    if (p->windows[k].outputs && (double)(p->n[k] + 1) * (double)(p->m[k] + 1) > INT32_MAX) return true;
  }
  return elements > INT32_MAX - MICA__RANGE_GROUP || outputs > INT32_MAX - MICA__RANGE_GROUP;
}

/* Sets the parameter values of the kernel that walks as `how` says, or, if how->per is 0, of the one with a
 * work-item per element. */
static mica_status choose(const mica__exec *exec, const mica__kernel_desc *desc, mica_dtype dtype, const walk *how,
                          const planes *p, int32_t *values) {
  int64_t stride = p->windows[2].stride;
  MICA_TRY(mica__exec_values(exec, desc, values));
  mica__kernel_set(desc, values, "X_T", (int32_t)dtype);
  if (mica__kernel_param_index(desc, "INDICES") >= 0) {
    mica__kernel_set(desc, values, "VALUES", exec->outputs[VALUES] != NULL);
    mica__kernel_set(desc, values, "INDICES", exec->outputs[INDICES] != NULL);
  }
  if (!how->per) mica__kernel_set(desc, values, "LARGE", is_large(p));
  if (how->per) {
    mica__kernel_set(desc, values, "VW", (int32_t)how->width);
    mica__kernel_set(desc, values, "STRIDE",
                     mica__kernel_choice(desc, "STRIDE", (int32_t)stride) >= 0 ? (int32_t)stride : 0);
  }
  return MICA_OK;
}

/* Begins a launch of `items` work-items, without arguments. */
static mica_status begin(const mica__exec *exec, const mica__kernel_desc *desc, const int32_t *values, int64_t items,
                         size_t group, mica__launch *launch) {
  mica__kernel *kernel = NULL;
  MICA_TRY(mica__kernel_get(mica__queue_engine(exec->queue), desc, values, NULL, &kernel));
  *launch = mica__launch_of(kernel);
  mica__launch_range1(launch, items, group);
  return MICA_OK;
}

MICA__TASK_PLAN(walk)

static void plan_lines(mica__task *task) {
  const problem *of = task->problem;
  keep_plan(task, walk_of_lines(of->exec, &of->p, mica_tensor_dtype(of->exec->inputs[0])));
}

static void plan_strips(mica__task *task) {
  const problem *of = task->problem;
  keep_plan(task, walk_of_strips(of->exec, &of->p, mica_tensor_dtype(of->exec->output)));
}

static const char *decline_walk(const mica__task *task) {
  return plan_of(task)->per ? NULL : "it does not support these windows";
}

static mica_status run_max_pool(const problem *of, const mica__kernel_desc *desc, walk how) {
  const mica__exec *exec = of->exec;
  const mica_tensor *x = exec->inputs[0], *values = exec->outputs[VALUES], *indices = exec->outputs[INDICES];
  const mica_dtype dtype = mica_tensor_dtype(x);
  const planes p = of->p;
  const int64_t lines = p.count * p.m[0] * p.m[1];
  int32_t macros[MICA__MAX_PARAMS];
  mica__launch launch;
  MICA_TRY(choose(exec, desc, dtype, &how, &p, macros));
  MICA_TRY(begin(exec, desc, macros, how.per ? (lines + how.per - 1) / how.per : lines * p.m[2],
                 how.per ? 1 : MICA__RANGE_GROUP, &launch));
  mica__launch_tensor(&launch, x);
  mica__launch_optional(&launch, values);
  mica__launch_optional(&launch, indices);
  add_axes(&launch, &p);
  mica__launch_scalar(&launch, dtype, lowest_of(dtype));
  if (how.per) {
    mica__launch_size(&launch, how.per);
    mica__launch_size(&launch, how.length);
    mica__launch_local(&launch, how.elements * (mica_dtype_size(dtype) == 8 ? 8 : 4));
    mica__launch_local(&launch, how.elements * 4);
  }
  double bytes = (double)mica_tensor_bytes(x);
  if (values) bytes += (double)mica_tensor_bytes(values);
  if (indices) bytes += (double)mica_tensor_bytes(indices);
  mica__launch_cost(&launch, 0, bytes);
  return mica__queue_submit(exec->queue, &launch);
}

static mica_status run_max_pool_grad(const problem *of, const mica__kernel_desc *desc, walk how) {
  const mica__exec *exec = of->exec;
  const mica_tensor *dy = exec->inputs[1], *dx = exec->output;
  const mica_dtype dtype = mica_tensor_dtype(dx);
  const planes p = of->p;
  int32_t macros[MICA__MAX_PARAMS];
  mica__launch launch;
  MICA_TRY(choose(exec, desc, dtype, &how, &p, macros));
  int64_t items = how.per ? p.count * p.n[0] * ((p.n[1] + how.per - 1) / how.per) : 0;
  if (!how.per) {
    const int32_t wide = is_large(&p) ? 1 : mica__kernel_value(desc, macros, "WIDE");
    mica__kernel_set(desc, macros, "WHOLE", wide > 1 && p.n[2] % wide == 0 && mica__tensor_first(dx) % wide == 0);
    items = p.count * p.n[0] * p.n[1] * ((p.n[2] + wide - 1) / wide);
  }
  MICA_TRY(begin(exec, desc, macros, items, how.per ? 1 : MICA__RANGE_GROUP, &launch));
  mica__launch_tensor(&launch, dy);
  mica__launch_tensor(&launch, exec->inputs[2]);
  mica__launch_tensor(&launch, dx);
  add_axes(&launch, &p);
  if (how.per) {
    mica__launch_size(&launch, how.per);
    mica__launch_size(&launch, how.room);
    mica__launch_size(&launch, how.margin);
    mica__launch_size(&launch, how.pitch);
    mica__launch_local(&launch, how.elements * (dtype == MICA_F64 ? 8 : 4));
    mica__launch_local(&launch, how.elements * 4);
  }
  mica__launch_cost(&launch, (double)mica_tensor_count(dy),
                    (double)mica_tensor_bytes(dy) + (double)mica_tensor_bytes(exec->inputs[2]) +
                        (double)mica_tensor_bytes(dx));
  return mica__queue_submit(exec->queue, &launch);
}

#define IMPL(name_, kernel_, run, how_, plan_, declines_)                                                              \
  static mica_status launch_##name_(mica_queue *queue, const mica__task *task) {                                       \
    const problem *of = task->problem;                                                                                 \
    (void)queue;                                                                                                       \
    return run(of, &kernel_, how_);                                                                                    \
  }                                                                                                                    \
  static const mica__impl impl_##name_ = {                                                                             \
      .name = #kernel_, .kernel = &kernel_, .plan = plan_, .decline = declines_, .launch = launch_##name_}
IMPL(lines, max_pool_lines, run_max_pool, *plan_of(task), plan_lines, decline_walk);
IMPL(each, max_pool_each, run_max_pool, (walk){0}, NULL, NULL);
IMPL(grad_strips, max_pool_grad_strips, run_max_pool_grad, *plan_of(task), plan_strips, decline_walk);
IMPL(grad_each, max_pool_grad_each, run_max_pool_grad, (walk){0}, NULL, NULL);
static const mica__impl *const impls[] = {&mica__max_pool_2x2, &mica__max_pool_rows, &impl_lines, &impl_each, NULL};
static const mica__impl *const grad_impls[] = {&mica__max_pool_2x2_grad, &impl_grad_strips, &impl_grad_each, NULL};

static mica_status launch_max_pool(const mica__exec *exec) {
  const mica_tensor *x = exec->inputs[0];
  problem of = {.exec = exec};
  MICA_TRY(planes_of(exec->attrs, mica_tensor_shape(x), &of.p));
  MICA_TRY(fits(&of.p));
  if (of.p.count * of.p.m[0] * of.p.m[1] * of.p.m[2] == 0) return MICA_OK;
  return mica__exec_choose(exec, impls, &of, "max_pool");
}

static mica_status launch_max_pool_grad(const mica__exec *exec) {
  problem of = {.exec = exec};
  if (mica_tensor_count(exec->output) == 0) return MICA_OK;
  MICA_TRY(planes_of(exec->attrs, mica_tensor_shape(exec->output), &of.p));
  MICA_TRY(fits(&of.p));
  return mica__exec_choose(exec, grad_impls, &of, "max_pool_grad");
}

/* --- gradients --- */

static mica_status grad_max_pool(const mica__grad *grad) {
  if (!grad->dy.graph) return MICA_OK;
  mica_value operands[] = {grad->inputs[0], grad->dy, grad->results[INDICES]};
  grad->dinputs[0] = mica__graph_add(&mica__op_max_pool_grad, operands, 3, mica__attrs_of(grad->y));
  return MICA_OK;
}

/* Reshapes (N, C, spatial...) to (N, C, product of the spatial axes). */
static mica_value flat_planes(mica_value x) {
  mica_shape shape = mica_value_shape(x), flat = {.rank = 3};
  for (int32_t k = 0; k < flat.rank - 1; k++) flat.dim[k] = MICA__COPY_DIM(k);
  int64_t *plane = &flat.dim[flat.rank - 1];
  *plane = 1;
  for (int32_t k = flat.rank - 1; k < shape.rank; k++)
    *plane = *plane == MICA_DYNAMIC || shape.dim[k] == MICA_DYNAMIC ? MICA_DYNAMIC : *plane * shape.dim[k];
  return mica_reshape(x, flat);
}

/* The gradient of max_pool_grad with respect to dy: each output gets the element at its position. */
static mica_status grad_max_pool_grad(const mica__grad *grad) {
  mica_value positions = flat_planes(grad->inputs[2]), flat = flat_planes(grad->dy);
  grad->dinputs[1] = mica__reshape_like(mica_gather_elements(flat, positions, -1), grad->inputs[1]);
  return MICA_OK;
}

/* --- checks --- */

static const mica__launch_case cases[] = {
#include "ops/pool/max_pool_cases.def"
};
#define CASE_COUNT (sizeof cases / sizeof *cases)

static const mica_dtype integers[] = {MICA_I8, MICA_U8, MICA_I32, MICA_I64, MICA_U16, MICA_U32, MICA_U64};
#define INTEGER_COUNT (sizeof integers / sizeof *integers)

/* Appends the cases of floating types and, if `more`, also the cases of integers and one for each type in `integers`.
 * No case asks for the results in `unwanted`. Returns the new number of cases. */
static size_t add_cases(mica__launch_case *list, size_t count, bool more, uint32_t unwanted) {
  const size_t begin = count;
  for (size_t i = 0; i < CASE_COUNT; i++)
    if (more || mica_dtype_kind_of(cases[i].inputs[0].dtype) == MICA_DTYPE_KIND_FLOAT) list[count++] = cases[i];
  /* Few different values, so that ties occur. */
  for (size_t i = 0; more && i < INTEGER_COUNT; i++) {
    list[count] = cases[1];
    list[count].bound[0] = 4;
    list[count++].inputs[0].dtype = integers[i];
  }
  for (size_t i = begin; i < count; i++) {
    list[i].input_count = 1;
    list[i].unwanted = unwanted;
  }
  return count;
}

static mica_status check_max_pool(mica__check *check) {
  mica__launch_case list[3 * CASE_COUNT + 2 * INTEGER_COUNT];
  size_t count = add_cases(list, 0, true, 0);
  count = add_cases(list, count, true, 1u << INDICES);
  count = add_cases(list, count, false, 1u << VALUES);
  return mica__check_launches(check, &mica__op_max_pool, "max_pool", list, count);
}

/* The gradient needs positions inside their windows: here the positions of x's maxima. Elements of dy are small
 * integers, so that sums are exact. */
static double slope_at(int64_t i) { return (double)(i % 7 + 1); }

static mica_status infer_largest(const mica__type *inputs, int32_t input_count, void *attrs, mica__type *out) {
  (void)input_count, (void)attrs;
  *out = inputs[0];
  return MICA_OK;
}

static mica_status evaluate_largest(const mica__eval *eval) {
  planes p;
  MICA_TRY(planes_of(eval->attrs, eval->types[0].shape, &p));
  int64_t plane = p.n[0] * p.n[1] * p.n[2], at = 0;
  for (int64_t i = 0; i < p.count * plane; i++) eval->output[i] = 0;
  for (int64_t c = 0; c < p.count; c++)
    for (int64_t d = 0; d < p.m[0]; d++)
      for (int64_t h = 0; h < p.m[1]; h++)
        for (int64_t w = 0; w < p.m[2]; w++, at++) {
          int64_t best = largest(&p, eval->inputs[0] + c * plane, (int64_t[]){d, h, w});
          if (best >= 0) eval->output[c * plane + best] += slope_at(at);
        }
  return MICA_OK;
}

static mica_status make_slopes(const mica__exec *exec, mica__type type, mica_tensor **dy) {
  int64_t count = 0;
  MICA_TRY(mica_shape_count(type.shape, &count));
  void *data = calloc((size_t)count + 1, mica_dtype_size(type.dtype));
  if (!data) return mica__fail_nomem("a check");
  for (int64_t i = 0; i < count; i++) mica__element_set(type.dtype, data, i, slope_at(i));
  mica_status status = mica_tensor_create_from(mica__queue_engine(exec->queue), type.dtype, type.shape, data, dy);
  free(data);
  return status;
}

static mica_status launch_largest(const mica__exec *exec) {
  mica_engine *engine = mica__queue_engine(exec->queue);
  mica__type type = {mica_tensor_dtype(exec->inputs[0]), mica_tensor_shape(exec->inputs[0])}, pooled[RESULTS];
  mica__max_pool_attrs attrs = *(const mica__max_pool_attrs *)exec->attrs;
  mica_tensor *dy = NULL, *positions = NULL;
  mica__exec step = *exec;
  MICA_TRY(infer_max_pool(&type, 1, &attrs, pooled));
  mica_status status = make_slopes(exec, pooled[VALUES], &dy);
  if (status == MICA_OK) status = mica_tensor_create(engine, MICA_I32, pooled[INDICES].shape, &positions);
  step.outputs = (mica_tensor *const[RESULTS]){NULL, positions};
  if (status == MICA_OK) status = launch_max_pool(&step);
  step.inputs = (const mica_tensor *const[]){exec->inputs[0], dy, positions};
  step.output = exec->output;
  if (status == MICA_OK) status = launch_max_pool_grad(&step);
  mica_tensor_destroy(dy);
  mica_tensor_destroy(positions);
  return status;
}

static mica_status check_max_pool_grad(mica__check *check) {
  static const mica__op op = {.name = "max_pool_grad",
                              .attrs = &mica__max_pool_attr_list,
                              .infer = infer_largest,
                              .evaluate = evaluate_largest,
                              .launch = launch_largest};
  mica__launch_case list[CASE_COUNT];
  return mica__check_launches(check, &op, op.name, list, add_cases(list, 0, false, 0));
}

static const mica__kernel_desc *const kernels[] = {&max_pool_each, &max_pool_lines, &mica__kernel_max_pool_2x2,
                                                   &mica__kernel_max_pool_rows, NULL};
static const mica__kernel_desc *const grad_kernels[] = {&max_pool_grad_each, &max_pool_grad_strips,
                                                        &mica__kernel_max_pool_2x2_grad, NULL};

#define POOL(label, own_kernels, inputs, takes, shape_rule, ...)                                                       \
  const mica__op mica__op_##label = {.name = #label,                                                                   \
                                     .kernels = own_kernels,                                                           \
                                     .check = check_##label,                                                           \
                                     .kind = MICA__OP_LAUNCH,                                                          \
                                     .min_inputs = inputs,                                                             \
                                     .max_inputs = inputs,                                                             \
                                     .attrs = &mica__max_pool_attr_list,                                               \
                                     .dtypes = takes,                                                                  \
                                     .infer = shape_rule,                                                              \
                                     .grad = grad_##label,                                                             \
                                     .evaluate = evaluate_##label,                                                     \
                                     .launch = launch_##label,                                                         \
                                     __VA_ARGS__}
POOL(max_pool, kernels, 1, "n>0s", infer_max_pool, .results = RESULTS, .narrows = MICA__NARROWS_LATER);
POOL(max_pool_grad, grad_kernels, 3, "*f*>1", infer_max_pool_grad, .shape_only = 1);

/* --- builders --- */

mica_value mica_max_pool(mica_value x, const mica_pool_config *config) {
  mica__resample_window windows[3];
  if (!mica__pool_windows("max_pool", x, config, windows)) return (mica_value){0};
  const mica__max_pool_attrs attrs = attrs_of(mica_value_shape(x).rank - 2, windows);
  return mica__graph_add(&mica__op_max_pool, &x, 1, &attrs);
}

mica_value mica_max_pool_indices(mica_value x, const mica_pool_config *config) {
  mica__resample_window windows[3];
  if (!mica__pool_windows("max_pool_indices", x, config, windows)) return (mica_value){0};
  const mica__max_pool_attrs attrs = attrs_of(mica_value_shape(x).rank - 2, windows);
  const mica_value values = mica__graph_add(&mica__op_max_pool, &x, 1, &attrs);
  return mica_cast(mica__graph_result(values, INDICES), MICA_I64);
}

mica_value mica_adaptive_max_pool(mica_value x, const int64_t *sizes) {
  mica__resample_window windows[3];
  if (!mica__pool_adaptive_windows("adaptive_max_pool", x, sizes, windows)) return (mica_value){0};
  const mica__max_pool_attrs attrs = attrs_of(mica_value_shape(x).rank - 2, windows);
  return mica__graph_add(&mica__op_max_pool, &x, 1, &attrs);
}
