/* Discrete Fourier transforms of rows, in stages of small radices; mica_fft and its relatives are in transform.c. */
#include "base/error.h"
#include "ops/select/launch_check.h"
#include "ops/signal/signal.h"
#include "runtime/launch.h"
#include "runtime/workspace.h"

#include <math.h>
#include <stdlib.h>

#define MOST_LENGTH ((int64_t)1 << 24)
#define MOST_STAGES 24

#define DFT_ATTRS(X, S)                                                                                                \
  X(S, INT, n, 1, "complex numbers of a transform")                                                                    \
  X(S, INT, m, 1, "frequencies that are wanted, the first ones")                                                       \
  X(S, BOOL, inverse, false, "the exponent is positive")                                                               \
  X(S, BOOL, real, false, "without imaginary parts")
MICA__ATTR_STRUCT(dft, DFT_ATTRS);
static MICA__ATTR_TABLE(dft, DFT_ATTRS);

extern const mica__op mica__op_dft;

static mica_status infer_dft(const mica__type *inputs, int32_t input_count, void *attrs, mica__type *out) {
  (void)input_count;
  const mica__dft_attrs *how = attrs;
  const mica_shape x = inputs[0].shape;
  char text[MICA_SHAPE_TEXT];
  if (x.rank < 2 || x.dim[x.rank - 1] < 1 || x.dim[x.rank - 1] > 2 || x.dim[x.rank - 2] < 1)
    return mica__fail(MICA_E_SHAPE, "x is %s, but must be (..., n, 1 or 2) with n known and at least 1",
                      mica_shape_format(x, text));
  if (how->n < 1 || how->n > MOST_LENGTH || x.dim[x.rank - 2] > how->n)
    return mica__fail(MICA_E_INVALID, "n is %lld, but must be from 1 to 2^24, and at least %lld, the extent of x",
                      (long long)how->n, (long long)x.dim[x.rank - 2]);
  if (how->m < 1 || how->m > how->n)
    return mica__fail(MICA_E_INVALID, "the number of frequencies is %lld, but must be from 1 to n (%lld)",
                      (long long)how->m, (long long)how->n);
  out->shape = x;
  out->shape.dim[x.rank - 2] = how->m;
  out->shape.dim[x.rank - 1] = how->real ? 1 : 2;
  return MICA_OK;
}

static int64_t rows_of(mica_shape shape) {
  int64_t rows = 1;
  for (int32_t i = 0; i < shape.rank - 2; i++) rows *= shape.dim[i];
  return rows;
}

static mica_status evaluate_dft(const mica__eval *eval) {
  const mica__dft_attrs *how = eval->attrs;
  const mica_shape x = eval->types[0].shape;
  int64_t h = x.dim[x.rank - 2], in = x.dim[x.rank - 1], out = how->real ? 1 : 2, rows = rows_of(x);
  double *wave = malloc((size_t)how->n * 2 * sizeof *wave);
  if (!wave) return mica__fail(MICA_E_NOMEM, "there is not enough memory for a Fourier transform");
  for (int64_t k = 0; k < how->n; k++) {
    double angle = 2 * MICA__PI * (double)k / (double)how->n;
    wave[2 * k] = cos(angle);
    wave[2 * k + 1] = how->inverse ? sin(angle) : -sin(angle);
  }
  for (int64_t row = 0; row < rows; row++)
    for (int64_t k = 0; k < how->m; k++) {
      double re = 0, im = 0;
      for (int64_t j = 0; j < h; j++) {
        const double *w = &wave[2 * (j * k % how->n)], *v = &eval->inputs[0][(row * h + j) * in];
        double i = in == 2 ? v[1] : 0;
        re += v[0] * w[0] - i * w[1];
        im += v[0] * w[1] + i * w[0];
      }
      eval->output[(row * how->m + k) * out] = re;
      if (!how->real) eval->output[(row * how->m + k) * out + 1] = im;
    }
  free(wave);
  return MICA_OK;
}

/* --- launches --- */

static const mica__kernel_param params[] = {
    MICA__DTYPE("X_T", "type of the numbers", MICA_F32, MICA_F64),
    MICA__CASE("RADIX", "numbers of a butterfly; 0: any", 4, 5, 3, 2, 0),
    MICA__CASE("X_PARTS", "1: real numbers come", 2, 1),
    MICA__CASE("Y_PARTS", "1: real numbers are wanted", 2, 1),
};
static const mica__variant variants[] = {MICA__VARIANT("any", MICA__ON_ANY, MICA_F32, 4, 2, 2)};
static const mica__kernel_desc stage_kernel = {MICA__KERNEL("fft_stage", "signal/fft_stage.cl", params, variants)};

/* Finds factors of n, beginning with those that have butterflies; returns how many they are. The only factor of 1 is
 * 1. */
static int factors_of(int64_t n, int64_t *factors) {
  static const int64_t small[] = {5, 3, 4, 2};
  int count = 0;
  for (int i = 0; i < 4; i++)
    for (; n % small[i] == 0; n /= small[i]) factors[count++] = small[i];
  for (int64_t p = 7; n > 1; p = p * p > n ? n : p + 2)
    for (; n % p == 0; n /= p) factors[count++] = p;
  if (count == 0) factors[count++] = 1;
  return count;
}

typedef struct stage {
  const mica_tensor *x;
  mica_tensor *y;
  int64_t rows, radix, done, have, want;
  int32_t x_parts, y_parts;
} stage;

static mica_status launch_stage(const mica__exec *exec, const stage *s) {
  const mica__dft_attrs *how = exec->attrs;
  bool small = s->radix >= 2 && s->radix <= 5;
  int32_t values[MICA__MAX_PARAMS];
  mica__kernel *kernel = NULL;
  MICA_TRY(mica__exec_values(exec, &stage_kernel, values));
  mica__kernel_set(&stage_kernel, values, "X_T", (int32_t)mica_tensor_dtype(exec->output));
  mica__kernel_set(&stage_kernel, values, "RADIX", small ? (int32_t)s->radix : 0);
  mica__kernel_set(&stage_kernel, values, "X_PARTS", s->x_parts);
  mica__kernel_set(&stage_kernel, values, "Y_PARTS", s->y_parts);
  MICA_TRY(mica__kernel_get(mica__queue_engine(exec->queue), &stage_kernel, values, NULL, &kernel));
  mica__launch launch = mica__launch_of(kernel);
  mica__launch_tensor(&launch, s->x);
  mica__launch_tensor(&launch, s->y);
  const int64_t sizes[] = {s->rows, how->n, s->done, s->radix, s->have, s->want, how->inverse};
  for (int i = 0; i < 7; i++) mica__launch_size(&launch, sizes[i]);
  mica__launch_range1(&launch, s->rows * (small ? how->n / s->radix : how->n), MICA__RANGE_GROUP);
  mica__launch_cost(&launch, 4.0 * (double)s->rows * (double)how->n * (double)s->radix,
                    (double)mica_tensor_bytes(s->x) + (double)mica_tensor_bytes(s->y));
  return mica__queue_submit(exec->queue, &launch);
}

/* Stages alternate between two workspaces; the first reads the operand and the last writes the result. */
static mica_status launch_dft(const mica__exec *exec) {
  const mica__dft_attrs *how = exec->attrs;
  const mica_shape x = mica_tensor_shape(exec->inputs[0]);
  int64_t factors[MOST_STAGES], rows = rows_of(x), done = 1;
  int count = factors_of(how->n, factors);
  mica_tensor *room[2] = {NULL, NULL};
  mica_status status = MICA_OK;
  if (mica_tensor_count(exec->output) == 0) return MICA_OK;
  for (int i = 0; i < 2 && i < count - 1 && status == MICA_OK; i++)
    status =
        mica__workspace_tensor(exec->queue, mica_tensor_dtype(exec->output), MICA_SHAPE(rows, how->n, 2), &room[i]);
  for (int i = 0; i < count && status == MICA_OK; i++) {
    const bool first = i == 0, last = i == count - 1;
    const stage s = {.x = first ? exec->inputs[0] : room[(i + 1) % 2],
                     .y = last ? exec->output : room[i % 2],
                     .rows = rows,
                     .radix = factors[i],
                     .done = done,
                     .have = first ? x.dim[x.rank - 2] : how->n,
                     .want = last ? how->m : how->n,
                     .x_parts = first ? (int32_t)x.dim[x.rank - 1] : 2,
                     .y_parts = last && how->real ? 1 : 2};
    status = launch_stage(exec, &s);
    done *= factors[i];
  }
  for (int i = 0; i < 2; i++) mica_tensor_destroy(room[i]);
  return status;
}

/* The transform reads h numbers and writes the first m frequencies, so its gradient reads m numbers and writes h. The
 * gradient multiplies by the transposed matrix of waves. On pairs of real numbers this is the conjugate matrix, so the
 * sign of the exponent changes. */
static mica_status grad_dft(const mica__grad *grad) {
  const mica__dft_attrs *how = mica__attrs_of(grad->y);
  const mica_shape x = mica_value_shape(grad->inputs[0]);
  grad->dinputs[0] = mica__dft(grad->dy, how->n, x.dim[x.rank - 2], !how->inverse, x.dim[x.rank - 1] == 1);
  return MICA_OK;
}

static mica_status check_dft(mica__check *check) {
  static const mica__dft_attrs attrs[] = {{1, 1, false, false},     {2, 2, true, false},      {60, 60, false, false},
                                          {64, 33, false, false},   {105, 80, true, true},    {122, 122, false, true},
                                          {512, 257, false, false}, {2048, 2048, true, false}};
  const mica__launch_case list[] = {
      {.attrs = &attrs[0], .inputs = {{MICA_F32, {2, {1, 2}}}}, .input_count = 1, .terms = 8, .normwise = true},
      {.attrs = &attrs[1], .inputs = {{MICA_F32, {3, {3, 2, 2}}}}, .input_count = 1, .terms = 8, .normwise = true},
      {.attrs = &attrs[2], .inputs = {{MICA_F32, {3, {2, 60, 2}}}}, .input_count = 1, .terms = 60, .normwise = true},
      {.attrs = &attrs[3], .inputs = {{MICA_F32, {3, {3, 50, 1}}}}, .input_count = 1, .terms = 64, .normwise = true},
      {.attrs = &attrs[4], .inputs = {{MICA_F32, {3, {2, 99, 2}}}}, .input_count = 1, .terms = 105, .normwise = true},
      {.attrs = &attrs[5], .inputs = {{MICA_F32, {2, {122, 1}}}}, .input_count = 1, .terms = 122, .normwise = true},
      {.attrs = &attrs[6], .inputs = {{MICA_F32, {3, {5, 512, 1}}}}, .input_count = 1, .terms = 64, .normwise = true},
      {.attrs = &attrs[7], .inputs = {{MICA_F32, {3, {2, 2000, 2}}}}, .input_count = 1, .terms = 64, .normwise = true},
  };
  return mica__check_launches(check, &mica__op_dft, "dft", list, sizeof list / sizeof *list);
}

static double flops_dft(const mica__node *node, const mica__type *inputs) {
  const mica__dft_attrs *how = node->attrs;
  return 5 * (double)rows_of(inputs[0].shape) * (double)how->n * log2((double)how->n + 1);
}

static const mica__kernel_desc *const kernels[] = {&stage_kernel, NULL};
const mica__op mica__op_dft = {.name = "dft",
                               .kernels = kernels,
                               .check = check_dft,
                               .kind = MICA__OP_LAUNCH,
                               .min_inputs = 1,
                               .max_inputs = 1,
                               .attrs = &mica__dft_attr_list,
                               .dtypes = "f>0",
                               .infer = infer_dft,
                               .grad = grad_dft,
                               .evaluate = evaluate_dft,
                               .launch = launch_dft,
                               .flops = flops_dft};

/* --- builders --- */

mica_value mica__dft(mica_value x, int64_t n, int64_t m, bool inverse, bool real) {
  mica_value y =
      mica__graph_add(&mica__op_dft, (mica_value[]){mica__widen(x)}, 1, &(mica__dft_attrs){n, m, inverse, real});
  return mica__narrow(y, x);
}
