/* Poolings and resizing. */
#include "onnx/write/writer.h"

#include "base/element.h"
#include "ops/resample/resample.h"

#include <stdlib.h>

/* The window of one spatial axis. */
typedef struct window {
  int64_t size, stride, pad, pad_end, dilation;
} window;

static void write_windows(mica__onnx_writer *w, const window *windows, size_t n, bool dilations, bool ceil_mode) {
  int64_t size[MICA__MAX_SPATIAL], stride[MICA__MAX_SPATIAL], dilation[MICA__MAX_SPATIAL];
  int64_t pads[2 * MICA__MAX_SPATIAL];
  for (size_t i = 0; i < n; i++) {
    size[i] = windows[i].size;
    stride[i] = windows[i].stride;
    dilation[i] = windows[i].dilation;
    pads[i] = windows[i].pad;
    pads[n + i] = windows[i].pad_end;
  }
  mica__write_ints(w, "kernel_shape", size, n);
  mica__write_ints(w, "strides", stride, n);
  mica__write_ints(w, "pads", pads, 2 * n);
  if (dilations) mica__write_ints(w, "dilations", dilation, n);
  if (ceil_mode) mica__write_int(w, "ceil_mode", 1);
}

static void check_window(mica__onnx_writer *w, int32_t id, const window *at) {
  if (at->pad < 0 || at->pad_end < 0) mica__write_fail(w, id, "negative padding cannot be expressed in ONNX");
}

MICA__WRITE(max_pool) {
  window windows[MICA__MAX_SPATIAL];
  const size_t n = (size_t)node->type.shape.rank - 2;
  const int64_t *ceil_mode = mica__node_list(node, "ceil_mode");
  for (size_t i = 0; i < n; i++) {
    windows[i] =
        (window){mica__node_list(node, "size")[i], mica__node_list(node, "stride")[i], mica__node_list(node, "pad")[i],
                 mica__node_list(node, "pad_end")[i], mica__node_list(node, "dilation")[i]};
    check_window(w, id, &windows[i]);
    if (w->needed[id]) mica__write_fail(w, id, "the positions of maxima cannot be expressed in ONNX");
    if (mica__node_list(node, "outputs")[i] > 0)
      mica__write_fail(w, id, "adaptive windows cannot be expressed in ONNX");
    if (ceil_mode[i] != ceil_mode[0])
      mica__write_fail(w, id, "a ceil_mode that differs by axis cannot be expressed in ONNX");
  }
  mica__write_node(w, "MaxPool", mica__write_own(w, id), MICA__OPERANDS(mica__write_operand(w, node->inputs[0])));
  write_windows(w, windows, n, true, ceil_mode[0] != 0);
}

/* --- sums of windows --- */

/* The inputs of a resample node that hold its table for rows and its table for columns; the next input holds the
 * weights of the table's elements. A node that resamples one axis has no table for columns. */
enum { ROWS = 1, COLUMNS = 3 };
static const mica__node *table_of(const mica__onnx_writer *w, const mica__node *node, int32_t input) {
  return node->input_count > input ? mica__graph_node(w->graph, node->inputs[input]) : NULL;
}

static bool is_window(const mica__node *table) {
  return !table || (mica__node_int(table, "kind") == MICA__MAP_WINDOW && mica__node_int(table, "windows") == 0 &&
                    !mica__node_int(table, "transposed"));
}

static window window_of(const mica__node *table) {
  return (window){mica__node_int(table, "size"), mica__node_int(table, "stride"), mica__node_int(table, "pad"),
                  mica__node_int(table, "pad_end"), mica__node_int(table, "dilation")};
}

static bool average_pool(mica__onnx_writer *w, int32_t id, const mica__node *node) {
  const mica__node *tables[] = {table_of(w, node, ROWS), table_of(w, node, COLUMNS)};
  const int64_t axis = mica__node_int(node, "axis"), divisor = mica__node_int(tables[0], "divisor");
  const size_t n = node->type.shape.rank > 2 ? (size_t)node->type.shape.rank - 2 : 0;
  window windows[MICA_MAX_RANK];
  bool dilated = false, same = is_window(tables[0]) && is_window(tables[1]) && axis >= 2 && n <= MICA__MAX_SPATIAL;
  const bool ceil_mode = mica__node_int(tables[0], "ceil_mode");
  int64_t count = 1;
  for (size_t i = 0; i < n; i++) windows[i] = (window){1, 1, 0, 0, 1};
  for (int k = 0; same && k < 2 && tables[k]; k++) {
    window *at = &windows[axis - 2 + k];
    *at = window_of(tables[k]);
    dilated = dilated || at->dilation != 1;
    same = mica__node_int(tables[k], "divisor") == divisor && mica__node_int(tables[k], "ceil_mode") == ceil_mode;
    check_window(w, id, at);
    count *= at->size;
  }
  if (!same || (dilated && w->opset < 19)) return false;
  const char *own = mica__write_own(w, id), *x = mica__write_operand(w, node->inputs[0]);
  const char *mean = mica__write_node(w, "AveragePool", divisor == MICA__DIVIDE_BY_ONE ? NULL : own, MICA__OPERANDS(x));
  write_windows(w, windows, n, dilated, ceil_mode);
  mica__write_int(w, "count_include_pad", divisor != MICA__DIVIDE_BY_ELEMENTS);
  if (divisor == MICA__DIVIDE_BY_ONE)
    mica__write_node(w, "Mul", own, MICA__OPERANDS(mean, mica__write_scalar(w, node->type.dtype, (double)count)));
  return true;
}

/* --- resizing --- */

static const char *const modes[] = {"nearest", "linear", "cubic"};
static const char *const coordinates[] = {
    "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric", NULL, NULL};
static const char *const roundings[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};

static bool is_resize(const mica__onnx_writer *w, const mica__node *table) {
  const int64_t how = mica__node_int(table, "coordinates");
  if (mica__node_int(table, "kind") != MICA__MAP_RESIZE || mica__node_int(table, "transposed")) return false;
  if ((mica__node_int(table, "outputs") != 0) == (mica__node_real(table, "scale") != 0)) return false;
  if (mica__node_int(table, "antialias") || (how == MICA_RESIZE_COORDINATES_HALF_PIXEL_SYMMETRIC && w->opset < 19))
    return false;
  return coordinates[how] != NULL;
}

static bool same_resize(const mica__node *a, const mica__node *b) {
  static const char *const names[] = {"mode", "coordinates", "nearest", "exclude_outside"};
  bool same = (mica__node_real(a, "scale") != 0) == (mica__node_real(b, "scale") != 0) &&
              mica__node_real(a, "cubic_a") == mica__node_real(b, "cubic_a");
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    same = same && mica__node_int(a, names[i]) == mica__node_int(b, names[i]);
  return same;
}

/* The result's extents, as an operand of Resize. */
static const char *sizes_of(mica__onnx_writer *w, const mica__node *node, int64_t axis,
                            const mica__node *const *tables) {
  int64_t before[MICA_MAX_RANK], sizes[2] = {0, 0}, behind[MICA_MAX_RANK];
  const int64_t rank = node->type.shape.rank, count = tables[1] ? 2 : 1;
  const char *parts[3];
  size_t n = 0;
  for (int64_t k = 0; k < axis; k++) before[k] = k;
  for (int64_t k = axis + count; k < rank; k++) behind[k - axis - count] = k;
  for (int64_t k = 0; k < count; k++) sizes[k] = mica__node_int(tables[k], "outputs");
  if (axis > 0) parts[n++] = mica__write_extents(w, node->inputs[0], before, (size_t)axis);
  parts[n++] = mica__write_integers(w, sizes, (size_t)count);
  if (axis + count < rank) parts[n++] = mica__write_extents(w, node->inputs[0], behind, (size_t)(rank - axis - count));
  const char *joined = mica__write_node(w, "Concat", NULL, parts, n);
  mica__write_int(w, "axis", 0);
  return joined;
}

static const char *scales_of(mica__onnx_writer *w, const mica__node *node, int64_t axis,
                             const mica__node *const *tables) {
  const int64_t rank = node->type.shape.rank;
  float *scales = mica__write_room(w, (size_t)rank * sizeof *scales);
  for (int64_t k = 0; scales && k < rank; k++) scales[k] = 1;
  for (int64_t k = 0; scales && k < 2 && tables[k]; k++) scales[axis + k] = (float)mica__node_real(tables[k], "scale");
  return mica__write_tensor(w, "scales", MICA_F32, MICA_SHAPE(rank), scales);
}

static bool resize(mica__onnx_writer *w, int32_t id, const mica__node *node) {
  const mica__node *tables[] = {table_of(w, node, ROWS), table_of(w, node, COLUMNS)};
  const int64_t axis = mica__node_int(node, "axis");
  if (!is_resize(w, tables[0])) return false;
  if (tables[1] && (!is_resize(w, tables[1]) || !same_resize(tables[0], tables[1]))) return false;
  const int64_t mode = mica__node_int(tables[0], "mode");
  const bool scaled = mica__node_real(tables[0], "scale") != 0;
  const char *x = mica__write_operand(w, node->inputs[0]);
  const char *scales = scaled ? scales_of(w, node, axis, tables) : NULL;
  const char *sizes = scaled ? NULL : sizes_of(w, node, axis, tables);
  mica__write_node(w, "Resize", mica__write_own(w, id), MICA__OPERANDS(x, NULL, scales, sizes));
  mica__write_text(w, "mode", modes[mode]);
  mica__write_text(w, "coordinate_transformation_mode", coordinates[mica__node_int(tables[0], "coordinates")]);
  if (mode == MICA_RESIZE_MODE_NEAREST)
    mica__write_text(w, "nearest_mode", roundings[mica__node_int(tables[0], "nearest")]);
  if (mode == MICA_RESIZE_MODE_CUBIC) mica__write_real(w, "cubic_coeff_a", mica__node_real(tables[0], "cubic_a"));
  mica__write_int(w, "exclude_outside", mica__node_int(tables[0], "exclude_outside"));
  return true;
}

/* --- other resampling, if its weights are known: products with matrices --- */

/* Writes the weights of a resampling as a matrix (n, m), where element (i, o) is the weight of input element i in
 * output element o. If `rows` is set, writes the transpose, (m, n). Returns NULL if an extent is open. */
static const char *matrix_of(mica__onnx_writer *w, const mica__node *node, int32_t input, bool rows, mica_dtype dtype) {
  const mica__node *tables[] = {table_of(w, node, input), table_of(w, node, input + 1)};
  const mica_shape shape = tables[0]->type.shape;
  const mica__type from = mica__write_type_of(w, tables[0]->inputs[0]);
  const int64_t n = from.shape.dim[mica__node_int(tables[0], "axis")], taps = shape.dim[0], m = shape.dim[1];
  if (mica__write_is_open(shape) || n == MICA_DYNAMIC) return NULL;
  double *values[2];
  for (int k = 0; k < 2; k++) {
    values[k] = mica__write_room(w, (size_t)(taps * m) * sizeof(double));
    const mica__eval eval = {
        .attrs = tables[k]->attrs, .types = &from, .input_count = 1, .type = &tables[k]->type, .output = values[k]};
    if (values[k]) w->status = tables[k]->op->evaluate(&eval);
  }
  void *matrix = mica__write_room(w, (size_t)(n * m) * mica_dtype_size(dtype));
  for (int64_t i = 0; w->status == MICA_OK && matrix && i < taps * m; i++) {
    const int64_t element = (int64_t)values[0][i], o = i % m, at = rows ? o * n + element : element * m + o;
    if (element >= 0 && element < n)
      mica__element_set(dtype, matrix, at, mica__element_get(dtype, matrix, at) + values[1][i]);
  }
  return mica__write_tensor(w, "resample", dtype, rows ? MICA_SHAPE(m, n) : MICA_SHAPE(n, m), matrix);
}

static void write_products(mica__onnx_writer *w, int32_t id, const mica__node *node) {
  const int32_t rank = node->type.shape.rank;
  const bool columns = table_of(w, node, COLUMNS) != NULL;
  const mica_dtype dtype = node->type.dtype;
  if (mica__node_int(node, "axis") != rank - 2) {
    mica__write_fail(w, id, "windows along axis %d of a value of rank %d cannot be expressed in ONNX",
                     (int)mica__node_int(node, "axis"), (int)rank);
    return;
  }
  const char *left = matrix_of(w, node, ROWS, true, dtype);
  const char *right = columns ? matrix_of(w, node, COLUMNS, false, dtype) : NULL;
  if (!left || (columns && !right)) {
    mica__write_fail(w, id, "the windows are unknown, because the shape of the input is not known");
    return;
  }
  const char *x = mica__write_operand(w, node->inputs[0]), *own = mica__write_own(w, id);
  x = mica__write_node(w, "MatMul", columns ? NULL : own, MICA__OPERANDS(left, x));
  if (columns) mica__write_node(w, "MatMul", own, MICA__OPERANDS(x, right));
}

MICA__WRITE(resample) {
  if (!average_pool(w, id, node) && !resize(w, id, node)) write_products(w, id, node);
}
