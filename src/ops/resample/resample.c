#include "ops/resample/resample.h"

#include "base/error.h"
#include "ops/select/launch_check.h"
#include "runtime/launch.h"

/* A work-item of resample_lines gets several rows, until it does at least this many additions and multiplications, or
 * has all rows, so that the cost of starting it does not matter. */
#define LINES_UNIT 8192

/* --- the tables of a map --- */

static const char *const kinds[] = {"identity", "window", "resize"};
static const char *const divisors[] = {"one", "elements", "padded"};
static const char *const modes[] = {"nearest", "linear", "cubic"};
static const char *const coordinates[] = {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
                                          "asymmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize"};
static const char *const roundings[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};

#define TABLE_ATTRS(X, S)                                                                                              \
  X(S, INT, axis, 0, "of the operand")                                                                                 \
  X(S, BOOL, transposed, false, "the table of the gradient")                                                           \
  X(S, ENUM, kind, MICA__MAP_IDENTITY, "what the map is", kinds)                                                       \
  X(S, INT, size, 0, "of a window")                                                                                    \
  X(S, INT, stride, 0, "from one window to the next")                                                                  \
  X(S, INT, pad, 0, "elements before the first")                                                                       \
  X(S, INT, pad_end, 0, "and after the last")                                                                          \
  X(S, INT, dilation, 0, "from one element of a window to the next")                                                   \
  X(S, BOOL, ceil_mode, false, "a last window may reach beyond the padding")                                           \
  X(S, INT, windows, 0, "above 0: so many adaptive windows")                                                           \
  X(S, ENUM, divisor, MICA__DIVIDE_BY_ONE, "of a window's sum", divisors)                                              \
  X(S, INT, outputs, 0, "of a resizing; 0: as the scale says")                                                         \
  X(S, ENUM, mode, MICA_RESIZE_MODE_NEAREST, "of a resizing", modes)                                                   \
  X(S, ENUM, coordinates, MICA_RESIZE_COORDINATES_HALF_PIXEL, "where an output lies among the elements", coordinates)  \
  X(S, ENUM, nearest, MICA_RESIZE_NEAREST_ROUND_PREFER_FLOOR, "which element is the nearest", roundings)               \
  X(S, BOOL, exclude_outside, false, "elements outside have weight 0, the others' sum is 1")                           \
  X(S, BOOL, antialias, false, "a filter as wide as what becomes one element")                                         \
  X(S, REAL, scale, 0, "outputs an element; 0: from the extents")                                                      \
  X(S, REAL, cubic_a, 0, "of the cubic filter")                                                                        \
  X(S, REAL, crop_start, 0, "of tf_crop_and_resize, as a part of the extent")                                          \
  X(S, REAL, crop_end, 0, "likewise")
MICA__ATTR_STRUCT(table, TABLE_ATTRS);
static MICA__ATTR_TABLE(table, TABLE_ATTRS);

static mica__table_attrs attrs_of_map(int64_t axis, const mica__axis_map *map) {
  const mica__resample_window *w = &map->window;
  return (mica__table_attrs){.axis = axis,
                             .kind = (int32_t)map->kind,
                             .size = w->size,
                             .stride = w->stride,
                             .pad = w->pad,
                             .pad_end = w->pad_end,
                             .dilation = w->dilation,
                             .ceil_mode = w->ceil_mode != 0,
                             .windows = w->outputs,
                             .divisor = (int32_t)map->divisor,
                             .outputs = map->outputs,
                             .mode = (int32_t)map->mode,
                             .coordinates = (int32_t)map->coordinates,
                             .nearest = (int32_t)map->nearest,
                             .exclude_outside = map->exclude_outside != 0,
                             .antialias = map->antialias != 0,
                             .scale = map->scale,
                             .cubic_a = map->cubic_a,
                             .crop_start = map->crop_start,
                             .crop_end = map->crop_end};
}

static mica__axis_map map_of_attrs(const mica__table_attrs *a) {
  return (mica__axis_map){.kind = a->kind,
                          .window = {a->size, a->stride, a->pad, a->pad_end, a->dilation, a->ceil_mode, a->windows},
                          .divisor = a->divisor,
                          .outputs = a->outputs,
                          .mode = a->mode,
                          .coordinates = a->coordinates,
                          .nearest = a->nearest,
                          .exclude_outside = a->exclude_outside,
                          .antialias = a->antialias,
                          .scale = a->scale,
                          .cubic_a = a->cubic_a,
                          .crop_start = a->crop_start,
                          .crop_end = a->crop_end};
}

static mica_status infer_table(const mica__type *inputs, const mica__table_attrs *attrs, mica_dtype dtype,
                               mica__type *out) {
  const mica__axis_map map = map_of_attrs(attrs);
  bool transposed = attrs->transposed;
  int64_t n = inputs[0].shape.dim[attrs->axis], outputs = map.outputs ? map.outputs : MICA_DYNAMIC;
  *out = (mica__type){dtype, MICA_SHAPE(MICA_DYNAMIC, transposed ? n : outputs)};
  if (n == MICA_DYNAMIC) return MICA_OK;
  MICA_TRY(mica__map_outputs(&map, n, &outputs));
  out->shape.dim[1] = transposed ? n : outputs;
  return mica__map_taps(&map, n, transposed, &out->shape.dim[0]);
}

static mica_status infer_index(const mica__type *inputs, int32_t input_count, void *attrs, mica__type *out) {
  (void)input_count;
  return infer_table(inputs, attrs, MICA_I32, out);
}

static mica_status infer_weight(const mica__type *inputs, int32_t input_count, void *attrs, mica__type *out) {
  (void)input_count;
  return infer_table(inputs, attrs, inputs[0].dtype == MICA_F64 ? MICA_F64 : MICA_F32, out);
}

static mica_status evaluate_table(const mica__eval *eval, double *index, double *weight) {
  const mica__table_attrs *attrs = eval->attrs;
  const mica__axis_map map = map_of_attrs(attrs);
  return mica__map_tables(&map, eval->types[0].shape.dim[attrs->axis], attrs->transposed, eval->type->shape.dim[0],
                          index, weight);
}

static mica_status evaluate_index(const mica__eval *eval) { return evaluate_table(eval, eval->output, NULL); }
static mica_status evaluate_weight(const mica__eval *eval) { return evaluate_table(eval, NULL, eval->output); }

static mica_status grad_table(const mica__grad *grad) {
  grad->dinputs[0] = (mica_value){0};
  return MICA_OK;
}

#define TABLE(label)                                                                                                   \
  const mica__op mica__op_resample_##label = {.name = "resample_" #label,                                              \
                                              .kind = MICA__OP_SHAPE,                                                  \
                                              .min_inputs = 1,                                                         \
                                              .max_inputs = 1,                                                         \
                                              .attrs = &mica__table_attr_list,                                         \
                                              .infer = infer_##label,                                                  \
                                              .grad = grad_table,                                                      \
                                              .evaluate = evaluate_##label,                                            \
                                              .shape_only = 1};
TABLE(index)
TABLE(weight)

/* --- the op (x, row index, row weight[, column index, column weight]): resamples an axis, and perhaps the next --- */

#define RESAMPLE_ATTRS(X, S) X(S, INT, axis, 0, "of the rows")
MICA__ATTR_STRUCT(resample, RESAMPLE_ATTRS);
static MICA__ATTR_TABLE(resample, RESAMPLE_ATTRS);

enum { X, ROW_INDEX, ROW_WEIGHT, COLUMN_INDEX, COLUMN_WEIGHT, WITH_COLUMNS };

typedef struct sizes {
  int64_t outer, H, W, P, Q, J, K;
} sizes;

static sizes sizes_of(mica_shape x, mica_shape rows, const mica_shape *columns, int64_t axis) {
  const mica__rows r = mica__rows_of(x, axis);
  sizes s = {.outer = r.outer, .H = r.n, .W = r.inner, .P = rows.dim[1], .Q = r.inner, .J = rows.dim[0], .K = 1};
  if (columns) s.K = columns->dim[0], s.Q = columns->dim[1];
  return s;
}

static mica_status infer_resample(const mica__type *inputs, int32_t input_count, void *attrs, mica__type *out) {
  int64_t axis = ((const mica__resample_attrs *)attrs)->axis;
  *out = inputs[X];
  out->shape.dim[axis] = inputs[ROW_INDEX].shape.dim[1];
  if (input_count == WITH_COLUMNS) out->shape.dim[axis + 1] = inputs[COLUMN_INDEX].shape.dim[1];
  return MICA_OK;
}

static mica_status evaluate_resample(const mica__eval *eval) {
  bool columns = eval->input_count == WITH_COLUMNS;
  const sizes s =
      sizes_of(eval->types[X].shape, eval->types[ROW_INDEX].shape, columns ? &eval->types[COLUMN_INDEX].shape : NULL,
               ((const mica__resample_attrs *)eval->attrs)->axis);
  for (int64_t line = 0, at = 0; line < s.outer * s.P; line++)
    for (int64_t q = 0; q < s.Q; q++, at++) {
      double sum = 0;
      for (int64_t j = 0; j < s.J; j++)
        for (int64_t k = 0; k < s.K; k++) {
          int64_t row = j * s.P + line % s.P;
          double h = eval->inputs[ROW_INDEX][row], weight = eval->inputs[ROW_WEIGHT][row];
          double w = columns ? eval->inputs[COLUMN_INDEX][k * s.Q + q] : (double)q;
          if (columns) weight *= eval->inputs[COLUMN_WEIGHT][k * s.Q + q];
          if (h >= 0 && h < (double)s.H && w >= 0 && w < (double)s.W)
            sum += weight * eval->inputs[X][(line / s.P * s.H + (int64_t)h) * s.W + (int64_t)w];
        }
      eval->output[at] = sum;
    }
  return MICA_OK;
}

/* Returns the table of the transposed map. */
static mica_value transposed(mica_value table) {
  const mica__node *node = mica__graph_node(table.graph, table.id);
  mica__table_attrs attrs = *(const mica__table_attrs *)node->attrs;
  mica_value source = {table.graph, node->inputs[0]};
  attrs.transposed = !attrs.transposed;
  return mica__graph_add(node->op, &source, 1, &attrs);
}

static mica_status grad_resample(const mica__grad *grad) {
  mica_value operands[WITH_COLUMNS] = {grad->dy};
  for (int32_t k = 1; k < grad->input_count; k++) operands[k] = transposed(grad->inputs[k]);
  grad->dinputs[X] = mica__graph_add(&mica__op_resample, operands, grad->input_count, mica__attrs_of(grad->y));
  return MICA_OK;
}

static const mica__kernel_param params[] = {
    MICA__DTYPE("X_T", "type of x and y", MICA__FLOATS),
    MICA__INT("VW", "columns that are taken as one vector", 1, 2, 4, 8, 16),
};
static const mica__variant variants[] = {
    MICA__VARIANT("cpu", MICA__ON_CPU, MICA_F32, 16),
    MICA__VARIANT("gpu", MICA__ON_GPU, MICA_F32, 1),
};
static const mica__kernel_desc resample_rows = {
    MICA__KERNEL("resample_rows", "resample/resample.cl", params, variants)};
static const mica__kernel_desc resample_each = {
    MICA__KERNEL("resample_each", "resample/resample.cl", params, variants)};
static const mica__variant lines_variants[] = {MICA__VARIANT("cpu", MICA__ON_CPU, MICA_F32, 16)};
static const mica__kernel_desc resample_lines = {
    MICA__KERNEL("resample_lines", "resample/resample.cl", params, lines_variants)};

/* Returns the bytes that a row takes in local memory. */
static size_t line_bytes(const sizes *s, mica_dtype dtype) { return ((size_t)s->W + 1) * (dtype == MICA_F64 ? 8 : 4); }

/* Chooses the kernel. If one axis is resampled, a work-item computes a vector of elements. If two are, a work-item on a
 * CPU computes whole rows, provided that a row fits local memory; otherwise a work-item computes one element, so that
 * adjacent work-items share reads. */
static const mica__kernel_desc *kernel_of(const mica__exec *exec, const sizes *s) {
  const mica_device_info *device = mica_engine_device(mica__queue_engine(exec->queue));
  if (exec->input_count != WITH_COLUMNS) return &resample_rows;
  bool fits = line_bytes(s, mica_tensor_dtype(exec->output)) <= device->local_bytes;
  return fits && mica__exec_takes(exec, &resample_lines) ? &resample_lines : &resample_each;
}

static mica_status launch_resample(const mica__exec *exec) {
  bool columns = exec->input_count == WITH_COLUMNS;
  const mica_shape column_shape = columns ? mica_tensor_shape(exec->inputs[COLUMN_INDEX]) : MICA_SCALAR;
  const sizes s = sizes_of(mica_tensor_shape(exec->inputs[X]), mica_tensor_shape(exec->inputs[ROW_INDEX]),
                           columns ? &column_shape : NULL, ((const mica__resample_attrs *)exec->attrs)->axis);
  const mica__kernel_desc *desc = kernel_of(exec, &s);
  int32_t values[MICA__MAX_PARAMS];
  mica__kernel *kernel = NULL;
  if (mica_tensor_count(exec->output) == 0) return MICA_OK;
  MICA_TRY(mica__exec_values(exec, desc, values));
  mica__kernel_set(desc, values, "X_T", (int32_t)mica_tensor_dtype(exec->output));
  int64_t width = values[mica__kernel_param_index(desc, "VW")], lines = s.outer * s.P, per = 1;
  while (width > 1 && width > s.W) width /= 2;
  mica__kernel_set(desc, values, "VW", (int32_t)width);
  MICA_TRY(mica__kernel_get(mica__queue_engine(exec->queue), desc, values, NULL, &kernel));
  mica__launch launch = mica__launch_of(kernel);
  mica__launch_tensor(&launch, exec->inputs[X]);
  mica__launch_tensor(&launch, exec->output);
  for (int32_t k = ROW_INDEX; k < exec->input_count; k++) mica__launch_tensor(&launch, exec->inputs[k]);
  const int64_t all[] = {s.outer, s.H, s.W, s.P, s.J, s.Q, s.K};
  for (int i = 0; i < (columns ? 7 : 5); i++) mica__launch_size(&launch, all[i]);
  if (desc == &resample_lines) {
    while (per < lines && 2 * per * s.J * (s.W + s.Q) < LINES_UNIT) per *= 2;
    mica__launch_size(&launch, per);
    mica__launch_local(&launch, line_bytes(&s, mica_tensor_dtype(exec->output)));
    mica__launch_range1(&launch, (lines + per - 1) / per, 1);
  } else {
    mica__launch_range1(&launch, lines * (columns ? s.Q : (s.W + width - 1) / width), MICA__RANGE_GROUP);
  }
  double terms = (double)mica_tensor_count(exec->output) * (double)s.J * (double)s.K;
  mica__launch_cost(&launch, 2 * terms,
                    (double)mica_tensor_bytes(exec->inputs[X]) + (double)mica_tensor_bytes(exec->output));
  return mica__queue_submit(exec->queue, &launch);
}

static mica_status check_resample(mica__check *check) {
  /* A row too long for local memory. */
  const int64_t wide = (int64_t)mica_engine_device(check->engine)->local_bytes / 4;
  const mica__launch_case list[] = {
      {.attrs = &(mica__resample_attrs){0},
       .inputs = {{MICA_F32, {2, {3, wide}}},
                  {MICA_I32, {2, {1, 2}}},
                  {MICA_F32, {2, {1, 2}}},
                  {MICA_I32, {2, {1, 5}}},
                  {MICA_F32, {2, {1, 5}}}},
       .input_count = 5,
       .bound = {2, 3, 1, (double)wide, 1},
       .terms = 1},
      {.attrs = &(mica__resample_attrs){1},
       .inputs = {{MICA_F32, {3, {2, 7, 33}}}, {MICA_I32, {2, {3, 5}}}, {MICA_F32, {2, {3, 5}}}},
       .input_count = 3,
       .bound = {2, 8, 1},
       .terms = 3},
      {.attrs = &(mica__resample_attrs){0},
       .inputs = {{MICA_F16, {1, {9}}}, {MICA_I32, {2, {2, 4}}}, {MICA_F32, {2, {2, 4}}}},
       .input_count = 3,
       .bound = {2, 10, 1},
       .terms = 2},
      {.attrs = &(mica__resample_attrs){1},
       .inputs = {{MICA_F32, {3, {3, 7, 9}}},
                  {MICA_I32, {2, {2, 5}}},
                  {MICA_F32, {2, {2, 5}}},
                  {MICA_I32, {2, {3, 20}}},
                  {MICA_F32, {2, {3, 20}}}},
       .input_count = 5,
       .bound = {2, 8, 1, 10, 1},
       .terms = 6},
      {.attrs = &(mica__resample_attrs){0},
       .inputs = {{MICA_F64, {2, {40, 37}}},
                  {MICA_I32, {2, {1, 70}}},
                  {MICA_F64, {2, {1, 70}}},
                  {MICA_I32, {2, {4, 3}}},
                  {MICA_F64, {2, {4, 3}}}},
       .input_count = 5,
       .bound = {2, 40, 1, 37, 1},
       .terms = 4},
      {.attrs = &(mica__resample_attrs){1},
       .inputs = {{MICA_BF16, {3, {70, 5, 1}}},
                  {MICA_I32, {2, {5, 1}}},
                  {MICA_F32, {2, {5, 1}}},
                  {MICA_I32, {2, {1, 2}}},
                  {MICA_F32, {2, {1, 2}}}},
       .input_count = 5,
       .bound = {2, 6, 1, 1, 1},
       .terms = 5},
  };
  return mica__check_launches(check, &mica__op_resample, "resample", list, sizeof list / sizeof *list);
}

static const mica__kernel_desc *const kernels[] = {&resample_rows, &resample_each, &resample_lines, NULL};
const mica__op mica__op_resample = {.name = "resample",
                                    .kernels = kernels,
                                    .check = check_resample,
                                    .kind = MICA__OP_LAUNCH,
                                    .min_inputs = 3,
                                    .max_inputs = WITH_COLUMNS,
                                    .attrs = &mica__resample_attr_list,
                                    .dtypes = "f*>0",
                                    .infer = infer_resample,
                                    .grad = grad_resample,
                                    .evaluate = evaluate_resample,
                                    .launch = launch_resample};

/* --- builders --- */

mica_value mica__axis_table(const mica__op *table, mica_value x, int32_t axis, const mica__axis_map *map) {
  const mica__table_attrs attrs = attrs_of_map(axis, map);
  return mica__graph_add(table, &x, 1, &attrs);
}

/* Resamples axis `axis` of x by one map and, unless `columns` is NULL, the next axis by another. */
static mica_value resample_two(mica_value x, int32_t axis, const mica__axis_map *rows, const mica__axis_map *columns) {
  mica_value operands[WITH_COLUMNS] = {x};
  const mica__axis_map *maps[] = {rows, columns};
  for (int32_t k = 0; k < (columns ? 2 : 1); k++) {
    operands[ROW_INDEX + 2 * k] = mica__axis_table(&mica__op_resample_index, x, axis + k, maps[k]);
    operands[ROW_WEIGHT + 2 * k] = mica__axis_table(&mica__op_resample_weight, x, axis + k, maps[k]);
  }
  return mica__graph_add(&mica__op_resample, operands, columns ? 5 : 3, &(mica__resample_attrs){axis});
}

mica_value mica__resample(mica_value x, const mica__axis_map *maps) {
  int32_t rank = mica_value_shape(x).rank;
  static const mica__axis_map identity = {.kind = MICA__MAP_IDENTITY};
  for (int32_t k = 0; k < rank; k++) {
    bool columns = k == rank - 2 && maps[rank - 1].kind != MICA__MAP_IDENTITY;
    if (maps[k].kind == MICA__MAP_IDENTITY && !columns) continue;
    if (rank == 1) return mica__drop_axis(resample_two(mica__insert_axis(x, 0), 0, &identity, maps), 0);
    if (k == rank - 1) break;
    x = resample_two(x, k, &maps[k], columns ? &maps[k + 1] : NULL);
  }
  return x;
}

mica_value mica__resample_axis(mica_value x, int32_t axis, const mica__axis_map *map) {
  mica__axis_map maps[MICA_MAX_RANK] = {{0}};
  maps[axis] = *map;
  return mica__resample(x, maps);
}
