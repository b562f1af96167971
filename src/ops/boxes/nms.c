/* Non-maximum suppression. Operands: boxes (.., n, 4), scores (.., n) and perhaps classes (.., n). Results: KEPT, the
 * indices of kept boxes from the highest score to the lowest, then -1; and COUNT, the number of kept boxes. */
#include "base/arith.h"
#include "base/error.h"
#include "ops/common/build.h"
#include "ops/select/launch_check.h"
#include "ops/sort/order.h"
#include "runtime/kernel.h"
#include "runtime/launch.h"
#include "runtime/workspace.h"

#include <math.h>
#include <mica/ops.h>
#include <mica/vision.h>
#include <stdlib.h>

enum { KEPT, COUNT, RESULTS };

#define NMS_ATTRS(X, S)                                                                                                \
  X(S, REAL, threshold, 0.5, "a box falls where it overlaps a kept one by more")                                       \
  X(S, REAL, least, -INFINITY, "boxes of scores above it take part")                                                   \
  X(S, INT, most, 0, "boxes that are kept, at most; 0: all")                                                           \
  X(S, BOOL, centers, false, "boxes are centre and size, not two corners")
MICA__ATTR_STRUCT(nms, NMS_ATTRS);
static MICA__ATTR_TABLE(nms, NMS_ATTRS);

static bool same_rows(mica_shape a, mica_shape b) {
  bool same = a.rank == b.rank;
  for (int32_t i = 0; same && i < a.rank; i++)
    same = a.dim[i] == b.dim[i] || a.dim[i] == MICA_DYNAMIC || b.dim[i] == MICA_DYNAMIC;
  return same;
}

static mica_status infer_nms(const mica__type *inputs, int32_t input_count, void *attrs, mica__type *out) {
  const mica__nms_attrs *how = attrs;
  mica_shape rows = inputs[0].shape, scores = inputs[1].shape;
  char tb[MICA_SHAPE_TEXT], ts[MICA_SHAPE_TEXT];
  bool fits = rows.rank >= 2 && rows.dim[rows.rank - 1] == 4;
  rows.rank -= fits;
  if (!fits || !same_rows(rows, scores) || (input_count > 2 && !same_rows(rows, inputs[2].shape)))
    return mica__fail(MICA_E_SHAPE,
                      "boxes are %s and scores %s, but boxes must be (..., n, 4), and scores and classes (..., n)",
                      mica_shape_format(inputs[0].shape, tb), mica_shape_format(scores, ts));
  if (how->most < 0)
    return mica__fail(MICA_E_SHAPE, "the number of boxes to keep is %lld, but must not be negative",
                      (long long)how->most);
  out[KEPT].shape = rows;
  if (how->most) out[KEPT].shape.dim[rows.rank - 1] = how->most;
  out[COUNT].shape = rows;
  out[COUNT].shape.rank--;
  return MICA_OK;
}

/* --- the reference --- */

static void corners(const double *b, bool centers, double to[4]) {
  for (int k = 0; k < 2; k++) {
    double half = fabs(b[k + 2]) / 2;
    to[k] = centers ? b[k] - half : fmin(b[k], b[k + 2]);
    to[k + 2] = centers ? b[k] + half : fmax(b[k], b[k + 2]);
  }
}

static bool overlap(const double *first, const double *second, const mica__nms_attrs *how) {
  double a[4], b[4];
  corners(first, how->centers, a);
  corners(second, how->centers, b);
  double width = fmin(a[2], b[2]) - fmax(a[0], b[0]), height = fmin(a[3], b[3]) - fmax(a[1], b[1]);
  double both = width > 0 && height > 0 ? width * height : 0;
  double either = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - both;
  return both > how->threshold * either;
}

/* Returns the box with the highest score that has not been visited; -1 if no such box has a score above `least`. */
static int64_t next_box(const double *scores, const bool *seen, int64_t n, double least) {
  int64_t best = -1;
  for (int64_t i = 0; i < n; i++)
    if (!seen[i] && scores[i] > least && (best < 0 || scores[i] > scores[best])) best = i;
  return best;
}

static mica_status evaluate_nms(const mica__eval *eval) {
  const mica__nms_attrs *how = eval->attrs;
  mica_shape shape = eval->types[1].shape;
  int64_t n = shape.dim[shape.rank - 1], rows = 0, most = eval->type[KEPT].shape.dim[shape.rank - 1];
  MICA_TRY(mica_shape_count(eval->type[COUNT].shape, &rows));
  bool *seen = calloc((size_t)n + 1, sizeof *seen);
  if (!seen) return mica__fail_nomem("a reference");
  for (int64_t r = 0; r < rows; r++) {
    const double *boxes = eval->inputs[0] + r * n * 4, *scores = eval->inputs[1] + r * n;
    const double *classes = eval->input_count > 2 ? eval->inputs[2] + r * n : NULL;
    double *kept = eval->outputs[KEPT] + r * most;
    int64_t found = 0;
    for (int64_t i = 0; i < n; i++) seen[i] = false;
    for (int64_t i; found < most && (i = next_box(scores, seen, n, how->least)) >= 0;) {
      bool stays = true;
      seen[i] = true;
      for (int64_t k = 0; k < found && stays; k++) {
        int64_t j = (int64_t)kept[k];
        stays = (classes && classes[i] != classes[j]) || !overlap(boxes + 4 * j, boxes + 4 * i, how);
      }
      if (stays) kept[found++] = (double)i;
    }
    for (int64_t k = found; k < most; k++) kept[k] = -1;
    eval->outputs[COUNT][r] = (double)found;
  }
  free(seen);
  return MICA_OK;
}

/* --- launches --- */

static const mica__kernel_param params[] = {
    MICA__DTYPE("B_T", "type of the boxes", MICA__FLOATS),
    MICA__DTYPE("S_T", "type of the scores", MICA__FLOATS),
    MICA__DTYPE("C_T", "type of the classes", MICA_I64, MICA_I32),
    MICA__CASE("CLASSES", "1: there are classes", 0, 1),
    MICA__CASE("CENTERS", "1: boxes are centre and size", 0, 1),
    MICA__CASE("COUNT", "1: the count is written", 1, 0),
};
static const mica__variant variants[] = {MICA__VARIANT("any", MICA__ON_ANY, MICA_F32, MICA_F32, MICA_I64, 0, 0, 1)};
static const mica__kernel_desc nms_serial = {MICA__KERNEL("nms_serial", "boxes/nms.cl", params, variants)};

static const mica__kernel_param pair_params[] = {
    MICA__DTYPE("B_T", "type of the boxes", MICA__FLOATS),
    MICA__DTYPE("C_T", "type of the classes", MICA_I64, MICA_I32),
    MICA__CASE("CLASSES", "1: there are classes", 0, 1),
    MICA__CASE("CENTERS", "1: boxes are centre and size", 0, 1),
};
static const mica__variant pair_variants[] = {MICA__VARIANT("gpu", MICA__ON_GPU, MICA_F32, MICA_I64, 0, 0)};
static const mica__kernel_desc nms_pairs = {MICA__KERNEL("nms_pairs", "boxes/nms.cl", pair_params, pair_variants)};

static const mica__kernel_param collect_params[] = {
    MICA__DTYPE("S_T", "type of the scores", MICA__FLOATS),
    MICA__CASE("KEPT", "1: the kept boxes are written", 1, 0),
    MICA__CASE("COUNT", "1: the count is written", 1, 0),
    MICA__INT("GROUP", "work-items of a group", 32, 64),
};
static const mica__variant collect_variants[] = {
    MICA__VARIANT("gpu", MICA__ON_GPU, MICA_F32, 1, 1, 64),
};
static const mica__kernel_desc nms_collect = {
    MICA__KERNEL("nms_collect", "boxes/nms.cl", collect_params, collect_variants)};

/* The most words of pair bits that a GPU stores: 256 MiB, enough for 46,000 boxes in one row. If there are more,
 * one work-item per row compares its boxes one after the other. */
#define MOST_PAIR_WORDS ((int64_t)1 << 26)

typedef struct problem {
  const mica__exec *exec;
  const mica__nms_attrs *how;
  const mica_tensor *boxes, *scores, *classes; /* classes may be NULL */
  int64_t rows, n, most, words;
  const mica_tensor *order;
  mica_tensor *kept, *count; /* NULL: not wanted */
} problem;

static void set_types(const problem *p, const mica__kernel_desc *desc, int32_t *values) {
  mica__kernel_set(desc, values, "B_T", (int32_t)mica_tensor_dtype(p->boxes));
  if (p->classes) mica__kernel_set(desc, values, "C_T", (int32_t)mica_tensor_dtype(p->classes));
  mica__kernel_set(desc, values, "CLASSES", p->classes != NULL);
  mica__kernel_set(desc, values, "CENTERS", p->how->centers);
}

static mica_status get(const problem *p, const mica__kernel_desc *desc, const int32_t *values, mica__launch *launch) {
  mica__kernel *kernel = NULL;
  MICA_TRY(mica__kernel_get(mica__queue_engine(p->exec->queue), desc, values, NULL, &kernel));
  *launch = mica__launch_of(kernel);
  return MICA_OK;
}

/* `kept` is also scratch memory: each work-item reads back the boxes that it has kept so far. */
static mica_status launch_serial(const problem *p, const mica_tensor *kept) {
  int32_t values[MICA__MAX_PARAMS];
  mica__launch launch;
  MICA_TRY(mica__exec_values(p->exec, &nms_serial, values));
  set_types(p, &nms_serial, values);
  mica__kernel_set(&nms_serial, values, "S_T", (int32_t)mica_tensor_dtype(p->scores));
  mica__kernel_set(&nms_serial, values, "COUNT", p->count != NULL);
  MICA_TRY(get(p, &nms_serial, values, &launch));
  mica__launch_tensor(&launch, p->boxes);
  mica__launch_tensor(&launch, p->scores);
  mica__launch_optional(&launch, p->classes);
  mica__launch_tensor(&launch, p->order);
  mica__launch_tensor(&launch, kept);
  mica__launch_optional(&launch, p->count);
  mica__launch_size(&launch, p->n);
  mica__launch_size(&launch, p->most);
  mica__launch_scalar(&launch, mica_tensor_dtype(p->boxes), p->how->threshold);
  mica__launch_scalar(&launch, mica_tensor_dtype(p->scores), p->how->least);
  mica__launch_range1(&launch, p->rows, 1);
  mica__launch_cost(&launch, 0, (double)mica_tensor_bytes(p->boxes) + (double)mica_tensor_bytes(p->scores));
  return mica__queue_submit(p->exec->queue, &launch);
}

static mica_status launch_pairs(const problem *p, const mica_tensor *removes) {
  int32_t values[MICA__MAX_PARAMS];
  mica__launch launch;
  MICA_TRY(mica__exec_values(p->exec, &nms_pairs, values));
  set_types(p, &nms_pairs, values);
  MICA_TRY(get(p, &nms_pairs, values, &launch));
  mica__launch_tensor(&launch, p->boxes);
  mica__launch_optional(&launch, p->classes);
  mica__launch_tensor(&launch, p->order);
  mica__launch_tensor(&launch, removes);
  mica__launch_size(&launch, p->rows);
  mica__launch_size(&launch, p->n);
  mica__launch_size(&launch, p->words);
  mica__launch_scalar(&launch, mica_tensor_dtype(p->boxes), p->how->threshold);
  mica__launch_range1(&launch, p->rows * p->n * p->words, MICA__RANGE_GROUP);
  mica__launch_cost(&launch, 8 * (double)p->rows * (double)p->n * (double)p->n, (double)mica_tensor_bytes(removes));
  return mica__queue_submit(p->exec->queue, &launch);
}

static mica_status launch_collect(const problem *p, const mica_tensor *removes, const mica_tensor *gone) {
  int32_t values[MICA__MAX_PARAMS];
  mica__launch launch;
  MICA_TRY(mica__exec_values(p->exec, &nms_collect, values));
  mica__kernel_set(&nms_collect, values, "S_T", (int32_t)mica_tensor_dtype(p->scores));
  mica__kernel_set(&nms_collect, values, "KEPT", p->kept != NULL);
  mica__kernel_set(&nms_collect, values, "COUNT", p->count != NULL);
  MICA_TRY(get(p, &nms_collect, values, &launch));
  int64_t group = mica__kernel_value(&nms_collect, values, "GROUP");
  mica__launch_tensor(&launch, p->scores);
  mica__launch_tensor(&launch, p->order);
  mica__launch_tensor(&launch, removes);
  mica__launch_tensor(&launch, gone);
  mica__launch_optional(&launch, p->kept);
  mica__launch_optional(&launch, p->count);
  mica__launch_size(&launch, p->n);
  mica__launch_size(&launch, p->words);
  mica__launch_size(&launch, p->most);
  mica__launch_scalar(&launch, mica_tensor_dtype(p->scores), p->how->least);
  mica__launch_range1(&launch, p->rows * group, (size_t)group);
  mica__launch_cost(&launch, 0, (double)mica_tensor_bytes(removes));
  return mica__queue_submit(p->exec->queue, &launch);
}

static const char *decline_pairs(const mica__task *task) {
  const problem *p = task->problem;
  const char *reason = mica__exec_declines(p->exec, task, &nms_pairs);
  if (reason) return reason;
  return p->rows * p->n > MOST_PAIR_WORDS / p->words ? "there are too many pairs of boxes" : NULL;
}

static mica_status compare_pairs(mica_queue *queue, const mica__task *task) {
  const problem *p = task->problem;
  mica_tensor *removes = NULL, *gone = NULL;
  mica_status status = mica__workspace_tensor(queue, MICA_U32, MICA_SHAPE(p->rows, p->n, p->words), &removes);
  if (status == MICA_OK) status = mica__workspace_tensor(queue, MICA_U32, MICA_SHAPE(p->rows, p->words), &gone);
  if (status == MICA_OK) status = launch_pairs(p, removes);
  if (status == MICA_OK) status = launch_collect(p, removes, gone);
  mica_tensor_destroy(removes);
  mica_tensor_destroy(gone);
  return status;
}

static mica_status walk_rows(mica_queue *queue, const mica__task *task) {
  const problem *p = task->problem;
  mica_tensor *kept = NULL;
  mica_status status = MICA_OK;
  if (!p->kept) status = mica__workspace_tensor(queue, MICA_I32, MICA_SHAPE(p->rows, p->most), &kept);
  if (status == MICA_OK) status = launch_serial(p, p->kept ? p->kept : kept);
  mica_tensor_destroy(kept);
  return status;
}

static const mica__impl impl_pairs = {
    .name = "nms_pairs", .kernel = &nms_pairs, .decline = decline_pairs, .launch = compare_pairs};
static const mica__impl impl_rows = {.name = "nms_rows", .kernel = &nms_serial, .launch = walk_rows};
static const mica__impl *const impls[] = {&impl_pairs, &impl_rows, NULL};

static mica_status launch_nms(const mica__exec *exec) {
  mica_shape shape = mica_tensor_shape(exec->inputs[1]);
  mica_tensor *order = NULL;
  problem p = {.exec = exec,
               .how = exec->attrs,
               .boxes = exec->inputs[0],
               .scores = exec->inputs[1],
               .classes = exec->input_count > 2 ? exec->inputs[2] : NULL,
               .n = shape.dim[shape.rank - 1],
               .rows = 1,
               .kept = exec->outputs[KEPT],
               .count = exec->outputs[COUNT]};
  for (int32_t i = 0; i + 1 < shape.rank; i++) p.rows *= shape.dim[i];
  p.most = p.how->most ? p.how->most : p.n;
  p.words = (p.n + 31) / 32;
  if (p.rows == 0) return MICA_OK;
  if (p.n == 0) {
    if (p.kept && p.most) MICA_TRY(mica_op_fill(exec->queue, -1, p.kept));
    return p.count ? mica_op_fill(exec->queue, 0, p.count) : MICA_OK;
  }
  const mica__rows rows = {p.rows, p.n, 1};
  MICA_TRY(mica__sort_order(exec, p.scores, rows, MICA__ORDER_FALLING, 0, &order));
  p.order = order;
  mica_status status = mica__exec_choose(exec, impls, &p, "nms");
  mica_tensor_destroy(order);
  return status;
}

extern const mica__op mica__op_nms;

static mica_status check_nms(mica__check *check) {
  static const mica__nms_attrs half = {.threshold = 0.5, .least = -INFINITY},
                               few = {.threshold = 0.1, .least = 0, .most = 5},
                               centers = {.threshold = 0.3, .least = -INFINITY, .centers = true},
                               nearly_all = {.threshold = 0, .least = -1, .most = 400};
  const mica__launch_case list[] = {
      {.attrs = &half, .inputs = {{MICA_F32, {2, {1, 4}}}, {MICA_F32, {1, {1}}}}, .input_count = 2},
      {.attrs = &half, .inputs = {{MICA_F32, {2, {70, 4}}}, {MICA_F32, {1, {70}}}}, .input_count = 2},
      {.attrs = &few, .inputs = {{MICA_F32, {3, {3, 33, 4}}}, {MICA_F16, {2, {3, 33}}}}, .input_count = 2},
      {.attrs = &centers,
       .inputs = {{MICA_F32, {4, {2, 2, 65, 4}}}, {MICA_F32, {3, {2, 2, 65}}}, {MICA_I32, {3, {2, 2, 65}}}},
       .input_count = 3,
       .bound = {2, 2, 3}},
      {.attrs = &half,
       .inputs = {{MICA_F64, {2, {300, 4}}}, {MICA_BF16, {1, {300}}}, {MICA_I64, {1, {300}}}},
       .input_count = 3,
       .bound = {2, 1, 2},
       .unwanted = 1u << KEPT},
      {.attrs = &nearly_all,
       .inputs = {{MICA_F32, {2, {300, 4}}}, {MICA_F32, {1, {300}}}},
       .input_count = 2,
       .bound = {2, 1},
       .unwanted = 1u << COUNT},
      {.attrs = &half, .inputs = {{MICA_F32, {2, {0, 4}}}, {MICA_F32, {1, {0}}}}, .input_count = 2},
  };
  return mica__check_launches(check, &mica__op_nms, "nms", list, sizeof list / sizeof *list);
}

static const mica__kernel_desc *const kernels[] = {&nms_serial, &nms_pairs, &nms_collect, MICA__SORT_KERNELS, NULL};
const mica__op mica__op_nms = {.name = "nms",
                               .kernels = kernels,
                               .check = check_nms,
                               .kind = MICA__OP_LAUNCH,
                               .min_inputs = 2,
                               .max_inputs = 3,
                               .results = RESULTS,
                               .attrs = &mica__nms_attr_list,
                               .dtypes = "ffx>ss",
                               .infer = infer_nms,
                               .evaluate = evaluate_nms,
                               .launch = launch_nms};

mica_nms_results mica_nms(mica_value boxes, mica_value scores, const mica_nms_config *config) {
  mica_nms_config c = config ? *config : (mica_nms_config){0};
  const mica__nms_attrs attrs = {.threshold = mica__or_default(c.threshold, 0.5),
                                 .least = mica__or_default(c.least, -INFINITY),
                                 .most = c.most,
                                 .centers = c.centers};
  if (!mica_value_is_null(boxes) && !mica__builder_number("nms", boxes, "the threshold", attrs.threshold, 0, 1))
    return (mica_nms_results){.kept = {0}};
  if (!mica_value_is_null(boxes) && isnan(attrs.least))
    return (mica_nms_results){
        mica__builder_fail("nms", boxes, MICA_E_INVALID, "the least score is NaN, but must be a number"), {0}};
  int32_t count = mica_value_is_null(c.classes) ? 2 : 3;
  mica_value kept = mica__graph_add(&mica__op_nms, (mica_value[]){boxes, scores, c.classes}, count, &attrs);
  return (mica_nms_results){kept, mica__graph_result(kept, COUNT)};
}
