/* The op sample, which reads x between its elements, and the ops of its gradients. The operands are x, the grid, dy
 * (only for the gradients) and the images (optional, always last). */
#include "ops/sample/sample.h"

#include "base/arith.h"
#include "base/error.h"
#include "ops/select/launch_check.h"
#include "runtime/kernel.h"
#include "runtime/launch.h"

const char *const mica__sample_modes[] = {"linear", "nearest", "cubic"};
const char *const mica__sample_paddings[] = {"zeros", "border", "reflect"};
MICA__ATTR_TABLE(sample, MICA__SAMPLE_ATTRS);

typedef enum which { SAMPLE, GRAD_X, GRAD_GRID } which;

/* x is (n, c, size[0], size[1], size[2]), and the grid (m, p, dims): p points for each of m results. */
typedef struct extents {
  int64_t n, c, size[3], m, p;
  int32_t dims;
} extents;

static extents extents_of(mica_shape x, mica_shape grid) {
  extents e = {.n = x.dim[0], .c = x.dim[1], .size = {1, 1, 1}, .m = grid.dim[0], .p = 1, .dims = x.rank - 2};
  for (int32_t i = 2; i < x.rank; i++) e.size[3 - x.rank + i] = x.dim[i];
  for (int32_t i = 1; i + 1 < grid.rank; i++) e.p *= grid.dim[i];
  return e;
}

static bool same_extent(int64_t a, int64_t b) { return a == b || a == MICA_DYNAMIC || b == MICA_DYNAMIC; }

/* Checks that x and the grid fit; *y receives the shape of the result. */
static mica_status check_operands(const mica__type *inputs, const mica__type *images, const mica__sample_attrs *how,
                                  mica_shape *y) {
  mica_shape x = inputs[0].shape, grid = inputs[1].shape;
  char tx[MICA_SHAPE_TEXT], tg[MICA_SHAPE_TEXT];
  if (how->mode < MICA_SAMPLE_MODE_LINEAR || how->mode > MICA_SAMPLE_MODE_CUBIC)
    return mica__fail(MICA_E_INVALID, "mode is %d, which is not a value of mica_sample_mode", (int)how->mode);
  if (how->padding < MICA_SAMPLE_PADDING_ZEROS || how->padding > MICA_SAMPLE_PADDING_REFLECT)
    return mica__fail(MICA_E_INVALID, "padding is %d, which is not a value of mica_sample_padding", (int)how->padding);
  bool fits = (x.rank == 4 || x.rank == 5) && grid.rank >= 2 && grid.dim[grid.rank - 1] == x.rank - 2;
  if (!fits)
    return mica__fail(
        MICA_E_SHAPE,
        "x %s must be (N, C, H, W) or (N, C, D, H, W), and the grid %s (N, ..., 2) or (N, ..., 3), with a "
        "number for each spatial axis of x",
        mica_shape_format(x, tx), mica_shape_format(grid, tg));
  if (how->mode == MICA_SAMPLE_MODE_CUBIC && x.rank == 5)
    return mica__fail(MICA_E_UNSUPPORTED, "cubic sampling along three axes is not supported; use linear or nearest");
  if (images && (images->shape.rank != 1 || !same_extent(images->shape.dim[0], grid.dim[0])))
    return mica__fail(MICA_E_SHAPE, "images are %s, but must be one number per entry of axis 0 of the grid %s",
                      mica_shape_format(images->shape, tx), mica_shape_format(grid, tg));
  if (!images && !same_extent(x.dim[0], grid.dim[0]))
    return mica__fail(MICA_E_SHAPE, "x %s and the grid %s must have the same number of images",
                      mica_shape_format(x, tx), mica_shape_format(grid, tg));
  for (int32_t i = 2; i < x.rank; i++)
    if (x.dim[i] == 0) return mica__fail(MICA_E_SHAPE, "x %s has no elements to read", mica_shape_format(x, tx));
  *y = grid;
  for (int32_t i = grid.rank - 1; i >= 2; i--) y->dim[i] = grid.dim[i - 1];
  y->dim[1] = x.dim[1];
  return MICA_OK;
}

static mica_status infer_sample(const mica__type *inputs, int32_t input_count, void *attrs, mica__type *out) {
  const mica__sample_attrs *how = attrs;
  return check_operands(inputs, how->images ? &inputs[input_count - 1] : NULL, how, &out->shape);
}

static mica_status infer_grad(const mica__type *inputs, int32_t input_count, void *attrs, mica_shape result) {
  const mica__sample_attrs *how = attrs;
  mica_shape y;
  char td[MICA_SHAPE_TEXT], ty[MICA_SHAPE_TEXT];
  MICA_TRY(check_operands(inputs, how->images ? &inputs[input_count - 1] : NULL, how, &y));
  bool fits = y.rank == inputs[2].shape.rank;
  for (int32_t i = 0; fits && i < y.rank; i++) fits = same_extent(y.dim[i], inputs[2].shape.dim[i]);
  (void)result;
  return fits ? MICA_OK
              : mica__fail(MICA_E_SHAPE, "dy is %s, but must be %s", mica_shape_format(inputs[2].shape, td),
                           mica_shape_format(y, ty));
}

static mica_status infer_grad_x(const mica__type *inputs, int32_t input_count, void *attrs, mica__type *out) {
  out->shape = inputs[0].shape;
  return infer_grad(inputs, input_count, attrs, out->shape);
}

static mica_status infer_grad_grid(const mica__type *inputs, int32_t input_count, void *attrs, mica__type *out) {
  out->shape = inputs[1].shape;
  return infer_grad(inputs, input_count, attrs, out->shape);
}

/* --- the reference --- */

/* The state of walk_points, which calls `each` for every point of the grid, with the point's image and taps. */
typedef struct walk {
  const mica__eval *eval;
  extents e;
  int64_t image, row, at; /* of the current point: its image, or -1 if x lacks it; its row; its index in the row */
  mica__sample_point point;
} walk;

static void read_point(const walk *w) {
  for (int64_t c = 0; c < w->e.c; c++) {
    int64_t plane = w->e.size[0] * w->e.size[1] * w->e.size[2];
    double sum = 0;
    for (int32_t k = 0; k < w->point.count && w->image >= 0; k++)
      if (w->point.at[k] >= 0)
        sum += w->point.weight[k] * w->eval->inputs[0][(w->image * w->e.c + c) * plane + w->point.at[k]];
    w->eval->output[(w->row * w->e.c + c) * w->e.p + w->at] = sum;
  }
}

static void add_to_x(const walk *w) {
  int64_t plane = w->e.size[0] * w->e.size[1] * w->e.size[2];
  for (int64_t c = 0; c < w->e.c && w->image >= 0; c++)
    for (int32_t k = 0; k < w->point.count; k++)
      if (w->point.at[k] >= 0)
        w->eval->output[(w->image * w->e.c + c) * plane + w->point.at[k]] +=
            w->point.weight[k] * w->eval->inputs[2][(w->row * w->e.c + c) * w->e.p + w->at];
}

static void add_to_grid(const walk *w) {
  int64_t plane = w->e.size[0] * w->e.size[1] * w->e.size[2];
  double *to = w->eval->output + (w->row * w->e.p + w->at) * w->e.dims;
  for (int64_t c = 0; c < w->e.c && w->image >= 0; c++)
    for (int32_t k = 0; k < w->point.count; k++)
      for (int32_t a = 0; a < w->e.dims; a++)
        if (w->point.at[k] >= 0)
          to[a] += w->point.slope[a][k] * w->eval->inputs[2][(w->row * w->e.c + c) * w->e.p + w->at] *
                   w->eval->inputs[0][(w->image * w->e.c + c) * plane + w->point.at[k]];
}

static mica_status walk_points(const mica__eval *eval, void (*each)(const walk *w)) {
  const mica__sample_attrs *how = eval->attrs;
  walk w = {.eval = eval, .e = extents_of(eval->types[0].shape, eval->types[1].shape)};
  int64_t count = 0;
  MICA_TRY(mica_shape_count(eval->type->shape, &count));
  for (int64_t i = 0; i < count; i++) eval->output[i] = 0;
  for (w.row = 0; w.row < w.e.m; w.row++) {
    double image = how->images ? eval->inputs[eval->input_count - 1][w.row] : (double)w.row;
    if (image < 0) image += (double)w.e.n;
    w.image = image >= 0 && image < (double)w.e.n ? (int64_t)image : -1;
    for (w.at = 0; w.at < w.e.p; w.at++) {
      mica__sample_point_of(how, w.e.size, w.e.dims, eval->inputs[1] + (w.row * w.e.p + w.at) * w.e.dims, &w.point);
      each(&w);
    }
  }
  return MICA_OK;
}

static mica_status evaluate_sample(const mica__eval *eval) { return walk_points(eval, read_point); }
static mica_status evaluate_grad_x(const mica__eval *eval) { return walk_points(eval, add_to_x); }
static mica_status evaluate_grad_grid(const mica__eval *eval) { return walk_points(eval, add_to_grid); }

/* --- launches --- */

#define SHARED_PARAMS                                                                                                  \
  MICA__DTYPE("Y_T", "type of the grid and the result", MICA_F32, MICA_F64),                                           \
      MICA__DTYPE("I_T", "type of the images", MICA_I64, MICA_I32), MICA__CASE("IMAGES", "1: there are images", 0, 1), \
      MICA__CASE("DIMS", "axes", 2, 3), MICA__CASE("MODE", "0 linear, 1 nearest, 2 cubic", 0, 1, 2),                   \
      MICA__CASE("PAD", "0 zeros, 1 border, 2 reflect", 0, 1, 2),                                                      \
      MICA__CASE("ALIGN", "1: -1 is the centre of the border", 0, 1),                                                  \
      MICA__CASE("PIXELS", "1: coordinates count elements", 0, 1), MICA__INT("GROUP", "work-items of a group", 1, 64)
static const mica__kernel_param params[] = {
    MICA__DTYPE("X_T", "type of x as it is read", MICA__FLOATS),
    SHARED_PARAMS,
};
static const mica__variant variants[] = {
    MICA__VARIANT("any", MICA__ON_ANY, MICA_F32, MICA_F32, MICA_I64, 0, 2, 0, 0, 0, 0, 64),
};
static const mica__kernel_param grad_params[] = {SHARED_PARAMS};
static const mica__variant grad_variants[] = {
    MICA__VARIANT("cpu", MICA__ON_CPU, MICA_F32, MICA_I64, 0, 2, 0, 0, 0, 0, 1),
    MICA__VARIANT("gpu", MICA__ON_GPU, MICA_F32, MICA_I64, 0, 2, 0, 0, 0, 0, 64),
};
static const mica__kernel_desc sample = {MICA__KERNEL("sample", "sample/sample.cl", params, variants)};
static const mica__kernel_desc sample_grad_x = {
    MICA__KERNEL("sample_grad_x", "sample/sample.cl", grad_params, grad_variants)};
static const mica__kernel_desc sample_grad_grid = {
    MICA__KERNEL("sample_grad_grid", "sample/sample.cl", params, variants)};

static mica_status launch(const mica__exec *exec, const mica__kernel_desc *desc, which what) {
  const mica__sample_attrs *how = exec->attrs;
  const mica_tensor *x = exec->inputs[0], *grid = exec->inputs[1];
  const mica_tensor *images = how->images ? exec->inputs[exec->input_count - 1] : NULL;
  const extents e = extents_of(mica_tensor_shape(what == GRAD_X ? exec->output : x), mica_tensor_shape(grid));
  int32_t values[MICA__MAX_PARAMS];
  mica__kernel *kernel = NULL;
  MICA_TRY(mica__exec_values(exec, desc, values));
  if (what != GRAD_X) mica__kernel_set(desc, values, "X_T", (int32_t)mica_tensor_dtype(x));
  mica__kernel_set(desc, values, "Y_T", (int32_t)mica_tensor_dtype(grid));
  if (images) mica__kernel_set(desc, values, "I_T", (int32_t)mica_tensor_dtype(images));
  mica__kernel_set(desc, values, "IMAGES", images != NULL);
  mica__kernel_set(desc, values, "DIMS", e.dims);
  mica__kernel_set(desc, values, "MODE", how->mode);
  mica__kernel_set(desc, values, "PAD", how->padding);
  mica__kernel_set(desc, values, "ALIGN", how->align);
  mica__kernel_set(desc, values, "PIXELS", how->pixels);
  int64_t group = mica__kernel_value(desc, values, "GROUP");
  MICA_TRY(mica__kernel_get(mica__queue_engine(exec->queue), desc, values, NULL, &kernel));
  mica__launch l = mica__launch_of(kernel);
  if (what != GRAD_X) mica__launch_tensor(&l, x);
  mica__launch_tensor(&l, grid);
  if (what != SAMPLE) mica__launch_tensor(&l, exec->inputs[2]);
  mica__launch_optional(&l, images);
  mica__launch_tensor(&l, exec->output);
  mica__launch_size(&l, e.n);
  mica__launch_size(&l, e.c);
  for (int i = 0; i < 3; i++) mica__launch_size(&l, e.size[i]);
  mica__launch_size(&l, e.m);
  mica__launch_size(&l, e.p);
  /* A work-item for each plane of x, or for each point of the grid. */
  mica__launch_range1(&l, what == GRAD_X ? e.n * e.c : e.m * e.p, (size_t)group);
  double read = (double)e.m * (double)e.p * (double)e.c;
  mica__launch_cost(&l,
                    read * (e.dims == 3                           ? 16
                            : how->mode == MICA_SAMPLE_MODE_CUBIC ? 32
                                                                  : 8),
                    4 * (2 * read + (double)mica_tensor_count(grid)));
  if ((double)e.size[0] * (double)e.size[1] * (double)e.size[2] > INT32_MAX)
    return mica__fail(MICA_E_OVERFLOW,
                      "sample: a plane of %lld x %lld x %lld elements is too large; a plane must have fewer than 2^31",
                      (long long)e.size[0], (long long)e.size[1], (long long)e.size[2]);
  return mica__queue_submit(exec->queue, &l);
}

static mica_status launch_sample(const mica__exec *exec) { return launch(exec, &sample, SAMPLE); }
static mica_status launch_grad_x(const mica__exec *exec) { return launch(exec, &sample_grad_x, GRAD_X); }
static mica_status launch_grad_grid(const mica__exec *exec) { return launch(exec, &sample_grad_grid, GRAD_GRID); }

static mica_status grad_sample(const mica__grad *grad) {
  const mica__sample_attrs *how = mica__attrs_of(grad->y);
  mica_value operands[] = {grad->inputs[0], grad->inputs[1], grad->dy, {0}};
  int32_t count = 3;
  if (how->images) operands[count++] = grad->inputs[2];
  grad->dinputs[0] = mica__graph_add(&mica__op_sample_grad_x, operands, count, how);
  if (how->mode != MICA_SAMPLE_MODE_NEAREST)
    grad->dinputs[1] = mica__graph_add(&mica__op_sample_grad_grid, operands, count, how);
  return MICA_OK;
}

/* --- checks --- */

/* Positions are rounded before weights are computed from them, by up to 2^-21 on a side of 9. With |x| of at most 2 and
 * the slopes of cubic weights this is an error of 20 units of roundoff per term. */
static mica_status check_which(mica__check *check, const mica__op *op, int32_t with_dy) {
  static const mica__sample_attrs how[] = {
      {0},
      {.mode = MICA_SAMPLE_MODE_CUBIC, .padding = MICA_SAMPLE_PADDING_BORDER, .align = true},
      {.mode = MICA_SAMPLE_MODE_LINEAR, .padding = MICA_SAMPLE_PADDING_REFLECT, .images = true},
      {.mode = MICA_SAMPLE_MODE_NEAREST, .padding = MICA_SAMPLE_PADDING_ZEROS, .align = true},
      {.mode = MICA_SAMPLE_MODE_CUBIC, .padding = MICA_SAMPLE_PADDING_REFLECT, .images = true, .align = true},
      {.mode = MICA_SAMPLE_MODE_LINEAR, .padding = MICA_SAMPLE_PADDING_BORDER, .pixels = true}};
  const mica_shape x[] = {{4, {2, 3, 5, 9}}, {4, {2, 5, 7, 4}}, {4, {2, 3, 6, 5}},
                          {4, {1, 2, 1, 8}}, {4, {3, 2, 1, 1}}, {5, {1, 2, 3, 4, 5}}};
  const mica_shape grid[] = {{4, {2, 4, 7, 2}}, {3, {2, 65, 2}}, {4, {5, 3, 3, 2}},
                             {3, {1, 9, 2}},    {3, {4, 6, 2}},  {5, {1, 2, 3, 4, 3}}};
  const mica_shape y[] = {{4, {2, 3, 4, 7}}, {3, {2, 5, 65}}, {4, {5, 3, 3, 3}},
                          {3, {1, 2, 9}},    {3, {4, 2, 6}},  {5, {1, 2, 2, 3, 4}}};
  mica__launch_case list[sizeof how / sizeof *how];
  size_t count = sizeof how / sizeof *how;
  for (size_t i = 0; i < count; i++) {
    mica_dtype dtype = i == 3 ? MICA_F64 : MICA_F32;
    mica__launch_case c = {.attrs = &how[i],
                           .inputs = {{dtype, x[i]}, {dtype, grid[i]}},
                           .input_count = 2,
                           .bound = {2, how[i].pixels ? 6 : 1.3},
                           .terms = 20 * 9,
                           .normwise = true};
    if (with_dy) c.inputs[c.input_count++] = (mica__type){dtype, y[i]};
    if (how[i].images) {
      c.bound[c.input_count] = (double)x[i].dim[0];
      c.inputs[c.input_count++] = (mica__type){i == 2 ? MICA_I64 : MICA_I32, {1, {grid[i].dim[0]}}};
    }
    /* Gradients have more terms. The gradient of an element of x sums over all points of the grid. The gradient of a
     * point sums over all channels. */
    if (with_dy) c.terms *= 5;
    list[i] = c;
  }
  return mica__check_launches(check, op, op->name, list, count);
}

static mica_status check_sample(mica__check *check) { return check_which(check, &mica__op_sample, 0); }
static mica_status check_grad_x(mica__check *check) { return check_which(check, &mica__op_sample_grad_x, 1); }
static mica_status check_grad_grid(mica__check *check) { return check_which(check, &mica__op_sample_grad_grid, 1); }

static const mica__kernel_desc *const sample_kernels[] = {&sample, NULL};
static const mica__kernel_desc *const grad_x_kernels[] = {&sample_grad_x, NULL};
static const mica__kernel_desc *const grad_grid_kernels[] = {&sample_grad_grid, NULL};

const mica__op mica__op_sample = {.name = "sample",
                                  .kernels = sample_kernels,
                                  .check = check_sample,
                                  .kind = MICA__OP_LAUNCH,
                                  .min_inputs = 2,
                                  .max_inputs = 3,
                                  .attrs = &mica__sample_attr_list,
                                  .dtypes = "f0x>0",
                                  .infer = infer_sample,
                                  .grad = grad_sample,
                                  .evaluate = evaluate_sample,
                                  .launch = launch_sample,
                                  .takes_halves = 1};
/* Differentiable once: the gradients have no gradients themselves. */
#define SAMPLE_GRAD(what, own_dtypes, halves, unread)                                                                  \
  const mica__op mica__op_sample_##what = {.name = "sample_" #what,                                                    \
                                           .kernels = what##_kernels,                                                  \
                                           .check = check_##what,                                                      \
                                           .kind = MICA__OP_LAUNCH,                                                    \
                                           .min_inputs = 3,                                                            \
                                           .max_inputs = 4,                                                            \
                                           .attrs = &mica__sample_attr_list,                                           \
                                           .dtypes = own_dtypes,                                                       \
                                           .infer = infer_##what,                                                      \
                                           .evaluate = evaluate_##what,                                                \
                                           .launch = launch_##what,                                                    \
                                           .takes_halves = halves,                                                     \
                                           .shape_only = unread}
SAMPLE_GRAD(grad_x, "f00x>0", 0, 1);
SAMPLE_GRAD(grad_grid, "f00x>1", 1, 0);

mica_value mica_sample(mica_value x, mica_value grid, const mica_sample_config *config) {
  mica_sample_config c = config ? *config : (mica_sample_config){0};
  bool images = !mica_value_is_null(c.images);
  const mica__sample_attrs how = {
      .mode = (int32_t)c.mode, .padding = (int32_t)c.padding, .align = c.align, .pixels = c.pixels, .images = images};
  mica_value wide = mica__widen(x), at = grid;
  if (mica_value_is_null(x) || mica_value_is_null(grid)) return (mica_value){0};
  if (mica_value_dtype(at) != mica_value_dtype(wide) &&
      mica_dtype_kind_of(mica_value_dtype(at)) == MICA_DTYPE_KIND_FLOAT)
    at = mica_cast(at, mica_value_dtype(wide));
  mica_value operands[] = {wide, at, c.images};
  return mica__narrow(mica__graph_add(&mica__op_sample, operands, images ? 3 : 2, &how), x);
}
