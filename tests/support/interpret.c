#include "support/interpret.h"

#include "base/element.h"
#include "ops/common/build.h"
#include "ops/common/tolerance.h"
#include "support/engine.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_OPERANDS 24

/* tests/support/ulps.def. */
static const struct {
  const char *name;
  double ulps;
} op_ulps[] = {
#define ULPS(name, ulps) {#name, ulps},
#include "support/ulps.def"
#undef ULPS
};

static double ulps_of(const char *name) {
  for (size_t i = 0; i < sizeof op_ulps / sizeof *op_ulps; i++)
    if (!strcmp(op_ulps[i].name, name)) return op_ulps[i].ulps;
  return 1;
}

static double attr_of(const mica__node *node, const char *name) {
  const mica__attr *attr = mica__attr_find(node->op->attrs, name, strlen(name));
  ck_assert_ptr_nonnull(attr);
  return mica__attr_number(attr, node->attrs);
}

/* What an op cancels inside: the magnitude of the terms whose rounding the result does not show. */
static double cancelled(const mica__node *node, double a) {
  if (!strcmp(node->op->name, "affine") || !strcmp(node->op->name, "hard_sigmoid"))
    return fabs(a * attr_of(node, "scale")) + fabs(attr_of(node, "offset"));
  if (!strcmp(node->op->name, "gelu_tanh")) return 8 * fabs(a);
  if (!strcmp(node->op->name, "hard_swish")) return fabs(a);
  return 0;
}

int64_t test_count(mica_shape shape) {
  int64_t count = 0;
  ck_ok(mica_shape_count(shape, &count));
  return count;
}

static double *doubles(int64_t count) {
  double *values = calloc((size_t)count + 1, sizeof *values);
  ck_assert_ptr_nonnull(values);
  return values;
}

static bool is_float(mica_dtype dtype) { return mica_dtype_kind_of(dtype) == MICA_DTYPE_KIND_FLOAT; }

static mica_dtype compute_of(mica_dtype dtype) { return dtype == MICA_F16 || dtype == MICA_BF16 ? MICA_F32 : dtype; }

/* What an element of an integer type holds after the op's result is stored. */
static double as_integer(mica_dtype dtype, double value) {
  unsigned char element[8] = {0};
  double bits = 8 * (double)mica_dtype_size(dtype), range = exp2(bits);
  if (mica_dtype_kind_of(dtype) == MICA_DTYPE_KIND_BOOL) return value != 0;
  if (!isfinite(value)) return 0;
  value = trunc(value);
  double low = mica_dtype_kind_of(dtype) == MICA_DTYPE_KIND_SIGNED ? -range / 2 : 0;
  value -= range * floor((value - low) / range);
  mica__element_set(dtype, element, 0, value);
  return mica__element_get(dtype, element, 0);
}

double test_stored(mica_dtype dtype, double value) { return is_float(dtype) ? value : as_integer(dtype, value); }

/* A node as it is evaluated. */
typedef struct work {
  const mica__node *node;
  const double *value[MAX_OPERANDS], *bound[MAX_OPERANDS];
  mica__type types[MAX_OPERANDS];
  double *out, *out_bound;     /* of result 0 */
  double **outs, **out_bounds; /* of each result */
  int64_t count;
  bool bounded;
} work;

static void pointwise(const work *w) {
  const mica__node *node = w->node;
  int64_t index[MICA_MAX_RANK] = {0}, stride[4][MICA_MAX_RANK] = {{0}};
  mica_shape space = node->type.shape;
  for (int32_t k = 0; k < node->input_count; k++) {
    int64_t own[MICA_MAX_RANK];
    mica_shape shape = w->types[k].shape;
    mica__row_major(shape, own);
    for (int32_t i = 0; i < shape.rank; i++)
      if (shape.dim[i] != 1) stride[k][space.rank - shape.rank + i] = own[i];
  }
  for (int64_t i = 0; i < w->count; i++, mica__next_index(space, index)) {
    double x[4] = {0}, error[4] = {0}, bound = 0;
    for (int32_t k = 0; k < node->input_count; k++) {
      int64_t at = 0;
      for (int32_t d = 0; d < space.rank; d++) at += index[d] * stride[k][d];
      if (!w->value[k]) continue;
      x[k] = w->value[k][at];
      error[k] = w->bounded ? w->bound[k][at] : 0;
    }
    double y = test_stored(node->type.dtype, node->op->scalar(x, node->attrs));
    w->out[i] = y;
    if (!w->bounded) continue;
    for (int32_t k = 0; k < node->input_count; k++) {
      double exact = x[k], most = 0;
      for (int sign = -1; sign <= 1 && error[k] > 0; sign += 2) {
        x[k] = exact + sign * error[k];
        double off = fabs(test_stored(node->type.dtype, node->op->scalar(x, node->attrs)) - y);
        most = off > most || isnan(off) ? off : most;
      }
      x[k] = exact;
      bound += most;
    }
    mica_dtype compute = compute_of(node->type.dtype);
    if (is_float(node->type.dtype) && isfinite(y))
      bound += mica__tolerance_ulps(compute, node->type.dtype, ulps_of(node->op->name), y) +
               2 * mica__element_roundoff(compute) * cancelled(node, x[0]);
    w->out_bound[i] = isnan(bound) ? (double)INFINITY : bound;
  }
}

static void view(const work *w) {
  int64_t index[MICA_MAX_RANK] = {0};
  mica__access access = {0};
  ck_assert_ptr_nonnull(w->value[0]);
  ck_assert(w->node->op->view(w->node, w->types[0].shape, &access));
  for (int64_t i = 0; i < w->count; i++, mica__next_index(w->node->type.shape, index)) {
    int64_t at = mica__access_at(&access, w->node->type.shape, index);
    w->out[i] = w->value[0][at];
    if (w->bounded) w->out_bound[i] = w->bound[0][at];
  }
}

static void evaluate(const work *w, const double *const *inputs, double *const *outs) {
  mica__type types[MICA__MAX_RESULTS];
  for (int32_t r = 0; r < mica__node_results(w->node); r++) types[r] = w->node[r].type;
  mica__eval eval = {.attrs = w->node->attrs,
                     .inputs = inputs,
                     .types = w->types,
                     .input_count = w->node->input_count,
                     .type = types,
                     .output = outs[0],
                     .outputs = outs};
  ck_ok(w->node->op->evaluate(&eval));
}

/* The op on |x| + share * bound for floating operands; of a smallest one on the bounds alone. */
static void evaluate_bounds(const work *w, double share, double *const *outs) {
  double *inputs[MAX_OPERANDS] = {NULL};
  const double *operands[MAX_OPERANDS] = {NULL};
  mica__join join = w->node->op->join;
  bool extreme = join == MICA__JOIN_MAX || join == MICA__JOIN_MIN;
  for (int32_t k = 0; k < w->node->input_count; k++) {
    int64_t count = test_count(w->types[k].shape);
    operands[k] = w->value[k];
    if (!w->value[k] || !is_float(w->types[k].dtype)) continue;
    operands[k] = inputs[k] = doubles(count);
    for (int64_t i = 0; i < count; i++)
      inputs[k][i] = extreme ? (join == MICA__JOIN_MIN ? -share : share) * w->bound[k][i]
                             : fabs(w->value[k][i]) + share * w->bound[k][i];
  }
  evaluate(w, operands, outs);
  for (int32_t k = 0; k < w->node->input_count; k++) free(inputs[k]);
}

/* How many operands' elements make one of the result. */
static double terms_of(const work *w) {
  if (!strcmp(w->node->op->name, "matmul")) return (double)w->types[0].shape.dim[w->types[0].shape.rank - 1];
  double most = 1;
  for (int32_t k = 0; k < w->node->input_count; k++) {
    double count = (double)test_count(w->types[k].shape);
    most = count > most ? count : most;
  }
  return w->node->op->kind == MICA__OP_REDUCE && w->count > 0 ? most / (double)w->count : most;
}

/* What is added up to the element: of random numbers a constant and a multiple of one of them. */
static double magnitude_of(const work *w, double value, double of_magnitudes) {
  if (strcmp(w->node->op->name, "random")) return fabs(of_magnitudes);
  double constant = attr_of(w->node, "a");
  return fabs(constant) + fabs(value - constant);
}

/* Elements and bounds of result r, from those on magnitudes. */
static void finish(const work *w, int32_t r, const double *low, const double *high) {
  mica_dtype dtype = w->node[r].type.dtype;
  double *out = w->outs[r], *bound = w->out_bounds[r];
  const int64_t count = test_count(w->node[r].type.shape);
  for (int64_t i = 0; i < count; i++) {
    out[i] = test_stored(dtype, out[i]);
    if (!is_float(dtype)) continue;
    double carried = fabs(high[i]) - fabs(low[i]);
    double own = mica__tolerance_sum(compute_of(dtype), dtype, terms_of(w), magnitude_of(w, out[i], high[i]), out[i]);
    bound[i] = isfinite(out[i]) ? fabs(carried) + own : 0;
  }
}

/* Elements alone. */
static void whole_values(const work *w) {
  evaluate(w, w->value, w->outs);
  for (int32_t r = 0; r < mica__node_results(w->node); r++) {
    const int64_t count = test_count(w->node[r].type.shape);
    for (int64_t i = 0; i < count; i++) w->outs[r][i] = test_stored(w->node[r].type.dtype, w->outs[r][i]);
  }
}

static void whole(const work *w) {
  double *low[MICA__MAX_RESULTS], *high[MICA__MAX_RESULTS];
  int32_t results = mica__node_results(w->node);
  bool floating = false;
  for (int32_t r = 0; r < results; r++) {
    low[r] = doubles(test_count(w->node[r].type.shape));
    high[r] = doubles(test_count(w->node[r].type.shape));
    floating = floating || is_float(w->node[r].type.dtype);
  }
  evaluate(w, w->value, w->outs);
  if (floating) {
    evaluate_bounds(w, 0, low);
    evaluate_bounds(w, 1, high);
  }
  for (int32_t r = 0; r < results; r++) {
    finish(w, r, low[r], high[r]);
    free(low[r]);
    free(high[r]);
  }
}

static void source(const work *w, const double *feed) {
  const mica__node *node = w->node;
  for (int64_t i = 0; i < w->count; i++)
    w->out[i] = feed         ? feed[i]
                : node->data ? mica__element_get(node->type.dtype, node->data, i)
                             : mica__full_value(node);
}

/* What the node computes of values that are there, into room for its results. */
static void interpret_node(const mica_graph *graph, double *const *feeds, int32_t id, bool bounded,
                           test_values *result) {
  work w = {.node = mica__graph_node(graph, id), .bounded = bounded};
  ck_assert_int_le(w.node->input_count, MAX_OPERANDS);
  w.count = test_count(w.node->type.shape);
  w.outs = &result->value[id - 1];
  w.out_bounds = &result->bound[id - 1];
  for (int32_t r = 0; r < mica__node_results(w.node); r++) {
    w.outs[r] = doubles(test_count(w.node[r].type.shape));
    if (bounded) w.out_bounds[r] = doubles(test_count(w.node[r].type.shape));
  }
  w.out = w.outs[0];
  w.out_bound = w.out_bounds[0];
  for (int32_t k = 0; k < w.node->input_count; k++) {
    int32_t input = w.node->inputs[k];
    w.types[k] = mica__graph_node(graph, input)->type;
    w.value[k] = w.node->op->shape_only >> k & 1 ? NULL : result->value[input - 1];
    w.bound[k] = result->bound[input - 1];
  }
  switch (w.node->op->kind) {
  case MICA__OP_SOURCE: source(&w, feeds[id - 1]); break;
  case MICA__OP_POINTWISE: pointwise(&w); break;
  case MICA__OP_VIEW: view(&w); break;
  default: bounded ? whole(&w) : whole_values(&w); break;
  }
}

static test_values begin(const mica_graph *graph) {
  size_t n = (size_t)graph->count + 1;
  test_values result = {.value = calloc(n, sizeof(double *)), .bound = calloc(n, sizeof(double *))};
  result.count = graph->count;
  ck_assert(result.value && result.bound);
  ck_assert_msg(mica_graph_status(graph) == MICA_OK, "%s", mica_graph_message(graph));
  return result;
}

test_values test_interpret(const mica_graph *graph, double *const *feeds) {
  test_values result = begin(graph);
  for (int32_t id = 1; id <= graph->count; id++)
    if (!mica__graph_node(graph, id)->result) interpret_node(graph, feeds, id, true, &result);
  return result;
}

/* A number between -1/2 and 1/2 of the last place that the type has for the value. Added before a value is rounded to
 * the nearest it lets it fall to either neighbour, the nearer one the likelier, and leaves what the type has. */
static double dither(mica_dtype dtype, double value, uint64_t *state) {
  const int digits = dtype == MICA_F32 ? 24 : dtype == MICA_F16 ? 11 : dtype == MICA_BF16 ? 8 : 53;
  int exponent = 0;
  frexp(value, &exponent);
  uint64_t z = *state += 0x9e3779b97f4a7c15; /* splitmix64 */
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return ldexp((double)((z ^ z >> 31) >> 11) * 0x1p-53 - 0.5, exponent - digits);
}

static void round_values(const mica__node *node, uint64_t *state, double *values) {
  unsigned char element[8];
  const int64_t count = is_float(node->type.dtype) ? test_count(node->type.shape) : 0;
  for (int64_t i = 0; i < count; i++) {
    if (*state && isfinite(values[i])) values[i] += dither(node->type.dtype, values[i], state);
    mica__element_set(node->type.dtype, element, 0, values[i]);
    values[i] = mica__element_get(node->type.dtype, element, 0);
  }
}

test_values test_interpret_values(const mica_graph *graph, double *const *feeds, uint64_t *rounding, const bool *kept) {
  test_values result = begin(graph);
  int32_t *last = calloc((size_t)graph->count + 1, sizeof *last);
  ck_assert_ptr_nonnull(last);
  for (int32_t id = 1; id <= graph->count; id++)
    for (int32_t k = 0; k < mica__graph_node(graph, id)->input_count; k++)
      last[mica__graph_node(graph, id)->inputs[k] - 1] = id;
  for (int32_t id = 1; id <= graph->count; id++) {
    const mica__node *node = mica__graph_node(graph, id);
    if (node->result) continue; /* its node has computed it */
    interpret_node(graph, feeds, id, false, &result);
    for (int32_t r = 0; rounding && r < mica__node_results(node); r++)
      round_values(&node[r], rounding, result.value[id - 1 + r]);
    for (int32_t k = 0; k < node->input_count; k++) {
      const int32_t input = node->inputs[k];
      if (last[input - 1] != id || kept[input - 1]) continue;
      free(result.value[input - 1]);
      result.value[input - 1] = NULL;
    }
  }
  free(last);
  return result;
}

void test_expect(const test_values *values, mica_value output, const mica_tensor *got, const char *label,
                 const char *what) {
  mica_dtype dtype = mica_tensor_dtype(got);
  const double *want = values->value[output.id - 1], *bound = values->bound[output.id - 1];
  void *data = malloc(mica_tensor_bytes(got) + 1);
  ck_assert_ptr_nonnull(data);
  ck_assert(dtype == mica_value_dtype(output) && mica_shape_equal(mica_tensor_shape(got), mica_value_shape(output)));
  ck_ok(mica_tensor_download(test_queue(), got, data, mica_tensor_bytes(got)));
  for (int64_t i = 0; i < mica_tensor_count(got); i++) {
    unsigned char rounded[8] = {0};
    double value = mica__element_get(dtype, data, i);
    mica__element_set(dtype, rounded, 0, want[i]); /* what overflows the type is infinite */
    bool right = value == want[i] || value == mica__element_get(dtype, rounded, 0) ||
                 (isnan(value) && isnan(want[i])) || fabs(value - want[i]) <= bound[i];
    ck_assert_msg(right, "%s: element %lld of %s is %.9g, should be %.9g within %.3g", label, (long long)i, what, value,
                  want[i], bound[i]);
  }
  free(data);
}

void test_values_free(test_values *result) {
  for (int32_t i = 0; i < result->count; i++) {
    free(result->value[i]);
    free(result->bound[i]);
  }
  free(result->value);
  free(result->bound);
  *result = (test_values){0};
}
