/* Turns tensors and a config into a problem that has been checked. */
#include "base/error.h"
#include "cl/conv/fields.clh"
#include "ops/common/operand.h"
#include "ops/conv/conv.h"
#include "runtime/fields.h"

#include <inttypes.h>
#include <stdio.h>

/* The largest extent, stride, padding and dilation. The sum of four such numbers still fits an int. */
#define MAX_SIZE (INT32_MAX / 4)
/* From this many bytes on, caches keep little of a result until it is read. */
#define NONTEMPORAL_BYTES (16 << 20)

static int64_t or_one(int64_t value) { return value ? value : 1; }

int64_t mica__product3(const int64_t extent[3]) { return extent[0] * extent[1] * extent[2]; }

int64_t mica__conv_extent(int64_t in, int64_t filter, int64_t stride, int64_t pad, int64_t more, int64_t dilation) {
  int64_t room = in + 2 * pad + more - (filter - 1) * dilation - 1;
  return filter < 1 || room < 0 ? 0 : room / stride + 1;
}

/* True if the input position o * stride + at of some output position o lies inside the input. */
static bool overlaps(int64_t in, int64_t out, int64_t stride, int64_t at) {
  int64_t o = at < 0 ? (stride - 1 - at) / stride : 0;
  return o < out && o * stride + at < in;
}

int64_t mica__conv_drop_idle(int64_t in, int64_t out, int64_t stride, int64_t first, int64_t delta, int64_t *taps) {
  int64_t begin = 0;
  while (*taps > 0 && !overlaps(in, out, stride, first + (*taps - 1) * delta)) --*taps;
  while (begin < *taps && !overlaps(in, out, stride, first + begin * delta)) begin++;
  *taps -= begin;
  return begin;
}

double mica__conv_flops(const mica__conv_dims *d) {
  return 2.0 * (double)d->n * (double)(d->groups * d->k) * (double)d->c * (double)mica__product3(d->filter) *
         (double)mica__product3(d->out);
}

static mica_status fail_shapes(mica_shape x, mica_shape w, const mica_shape *y, int64_t groups, const char *why) {
  char tx[MICA_SHAPE_TEXT], tw[MICA_SHAPE_TEXT], ty[MICA_SHAPE_TEXT] = "";
  if (y) mica_shape_format(*y, ty);
  return mica__fail(MICA_E_SHAPE, "x %s, w %s%s%s, %lld groups: %s", mica_shape_format(x, tx), mica_shape_format(w, tw),
                    y ? ", y " : "", ty, (long long)groups, why);
}

static mica_status check_config(const mica_conv_config *config) {
  for (int i = 0; i < 3; i++) {
    static const char *const names[] = {"stride", "pad", "dilation", "output_pad"};
    const int64_t values[] = {config->stride[i], config->pad[i], config->dilation[i], config->output_pad[i]};
    for (size_t k = 0; k < sizeof values / sizeof *values; k++)
      if (values[k] < 0 || values[k] > MAX_SIZE)
        return mica__fail(MICA_E_INVALID, "%s is %lld, but must be from 0 to 2^29 - 1", names[k], (long long)values[k]);
    if (config->pad_more[i] < -MAX_SIZE || config->pad_more[i] > MAX_SIZE)
      return mica__fail(MICA_E_INVALID, "pad_more is %lld, but must be from -2^29 + 1 to 2^29 - 1",
                        (long long)config->pad_more[i]);
    if (config->pad[i] + config->pad_more[i] < 0)
      return mica__fail(MICA_E_INVALID, "pad (%lld) and pad_more (%lld) must add up to 0 or more",
                        (long long)config->pad[i], (long long)config->pad_more[i]);
  }
  if (config->groups >= 0) return MICA_OK;
  return mica__fail(MICA_E_INVALID, "groups is %lld, but must not be negative", (long long)config->groups);
}

/* Sets dimension `to` of dims from spatial dimension `at` of the tensors. */
static mica_status set_extent(const mica_conv_config *config, mica_shape x, mica_shape w, const mica_shape *y, int at,
                              int to, mica__conv_dims *d) {
  d->in[to] = x.dim[2 + at];
  d->filter[to] = w.dim[2 + at];
  d->stride[to] = or_one(config->stride[at]);
  d->pad[to] = config->pad[at];
  d->dilation[to] = or_one(config->dilation[at]);
  if (d->in[to] > MAX_SIZE || d->filter[to] > MAX_SIZE || (d->filter[to] - 1) * d->dilation[to] > MAX_SIZE)
    return fail_shapes(x, w, y, d->groups, "an extent of x, or of w with its dilation, exceeds 2^29 - 1");
  d->out[to] =
      mica__conv_extent(d->in[to], d->filter[to], d->stride[to], d->pad[to], config->pad_more[at], d->dilation[to]);
  if (y && y->dim[2 + at] != d->out[to])
    return fail_shapes(x, w, y, d->groups, "an extent of y is not what x, w, stride and padding give");
  return MICA_OK;
}

mica_status mica__conv_dims_of(const mica_conv_config *config, mica_shape x, mica_shape w, const mica_shape *y,
                               mica__conv_dims *dims) {
  static const mica_conv_config none;
  if (!config) config = &none;
  mica__conv_dims d = {.groups = or_one(config->groups)};
  MICA_TRY(check_config(config));
  if (x.rank < 3 || x.rank > 5 || w.rank != x.rank || (y && y->rank != x.rank))
    return fail_shapes(x, w, y, d.groups, "all must have the same rank, from 3 to 5");
  d.n = x.dim[0];
  d.c = w.dim[1];
  d.k = w.dim[0] / d.groups;
  if (w.dim[0] % d.groups)
    return fail_shapes(x, w, y, d.groups, "the number of filters of w must be a multiple of groups");
  if (x.dim[1] != d.c * d.groups)
    return fail_shapes(x, w, y, d.groups, "the channels of x must be groups times those of w");
  if (y && (y->dim[0] != d.n || y->dim[1] != w.dim[0]))
    return fail_shapes(x, w, y, d.groups, "y must have the batch of x, and a channel for each filter of w");
  for (int i = 0; i < 3; i++) d.in[i] = d.filter[i] = d.out[i] = d.stride[i] = d.dilation[i] = 1;
  for (int i = 0; i < x.rank - 2; i++) MICA_TRY(set_extent(config, x, w, y, i, i + 5 - x.rank, &d));
  *dims = d;
  return MICA_OK;
}

/* True if the axis has extent 1 in all three tensors, and no padding. */
static bool is_one(const mica__conv_dims *d, int axis) {
  return d->in[axis] == 1 && d->filter[axis] == 1 && d->out[axis] == 1 && d->pad[axis] == 0;
}

void mica__conv_lead_ones(mica__conv_dims *d) {
  mica__conv_dims old = *d;
  int to = 2;
  for (int from = 2; from >= 0; from--) {
    if (is_one(&old, from)) continue;
    d->in[to] = old.in[from];
    d->filter[to] = old.filter[from];
    d->out[to] = old.out[from];
    d->stride[to] = old.stride[from];
    d->pad[to] = old.pad[from];
    d->dilation[to--] = old.dilation[from];
  }
  for (; to >= 0; to--) {
    d->in[to] = d->filter[to] = d->out[to] = d->stride[to] = d->dilation[to] = 1;
    d->pad[to] = 0;
  }
}

static mica_status check_types(const mica_engine *engine, const mica_conv_epilogue *epilogue, mica__conv *conv) {
  mica_dtype dtype = mica_tensor_dtype(conv->x);
  conv->dtype = dtype;
  if (mica_dtype_kind_of(dtype) != MICA_DTYPE_KIND_FLOAT)
    return mica__fail(MICA_E_DTYPE, "conv: x is %s, but must be of a floating type", mica_dtype_name(dtype));
  MICA_TRY(mica__operand_same_dtype("conv", conv->x, conv->w));
  MICA_TRY(mica__operand_same_dtype("conv", conv->x, conv->y));
  if (epilogue->bias) {
    mica_dtype bias = mica_tensor_dtype(epilogue->bias);
    if ((bias == MICA_F64) != (dtype == MICA_F64) || mica_dtype_kind_of(bias) != MICA_DTYPE_KIND_FLOAT)
      return mica__fail(MICA_E_DTYPE,
                        "conv: the bias is %s, but must be of a floating type, and f64 only with a result (%s) of f64",
                        mica_dtype_name(bias), mica_dtype_name(dtype));
  }
  if (dtype == MICA_F64 && !(mica_engine_device(engine)->features & MICA_FEATURE_FP64))
    return mica__fail(MICA_E_UNSUPPORTED, "conv: the tensors are f64, but the device has no double precision");
  return MICA_OK;
}

/* Fails if an operand is NULL, if it is not on the queue's engine or, unless its channels are last, if it is not
 * contiguous. */
static mica_status check_operand(mica_queue *queue, bool last, const char *name, const mica_tensor *tensor) {
  return (last ? mica__operand_check_strided : mica__operand_check)(queue, "conv", name, tensor);
}

static mica_status check_epilogue(mica_queue *queue, const mica_conv_epilogue *epilogue, int64_t channels, bool last,
                                  const mica_tensor *result) {
  char text[MICA_SHAPE_TEXT];
  if (epilogue->activation < 0 || epilogue->activation > MICA_ACTIVATION_HARD_SWISH)
    return mica__fail(MICA_E_INVALID, "conv: %d is not an activation", (int)epilogue->activation);
  if (epilogue->bias) {
    MICA_TRY(mica__operand_check(queue, "conv", "bias", epilogue->bias));
    if (!mica_shape_equal(mica_tensor_shape(epilogue->bias), MICA_SHAPE(channels)))
      return mica__fail(MICA_E_SHAPE, "conv: the bias is %s, but must be (%lld)",
                        mica_shape_format(mica_tensor_shape(epilogue->bias), text), (long long)channels);
  }
  if (!epilogue->addend) return MICA_OK;
  MICA_TRY(check_operand(queue, last, "addend", epilogue->addend));
  MICA_TRY(mica__operand_same_dtype("conv", epilogue->addend, result));
  return mica__operand_same_shape("conv", epilogue->addend, result);
}

static const mica_tensor *result_of(const mica__conv *conv) {
  return conv->pass == MICA__CONV_FWD ? conv->y : conv->pass == MICA__CONV_BWD_DATA ? conv->x : conv->w;
}

/* MICA_E_INVALID if the result is read-only or overlaps an operand; the addend may be the result itself. names: what
 * the pass calls x, w and y. */
static mica_status check_overlaps(const mica_conv_epilogue *epilogue, const mica__conv *conv,
                                  const char *const names[3]) {
  const mica_tensor *result = result_of(conv), *const tensors[] = {conv->x, conv->w, conv->y};
  const char *name = conv->pass == MICA__CONV_FWD ? names[2] : conv->pass == MICA__CONV_BWD_DATA ? names[0] : names[1];
  for (int i = 0; i < 3; i++)
    if (tensors[i] != result || names[i] != name)
      MICA_TRY(mica__operand_apart("conv", name, result, names[i], tensors[i]));
  MICA_TRY(mica__operand_apart("conv", name, result, "bias", epilogue->bias));
  return mica__operand_apart_or_same("conv", name, result, "addend", epilogue->addend);
}

/* The largest number of rows, columns and images: a tile that begins below it still ends within an int. */
#define MAX_RESULT (INT32_MAX - 65536)

bool mica__conv_is_result_last(const mica__conv *conv) {
  if (conv->pass == MICA__CONV_BWD_FILTER) return false;
  return conv->last & (conv->pass == MICA__CONV_FWD ? MICA__CONV_Y_LAST : MICA__CONV_X_LAST);
}

/* Describes the result as matrices, and sets the epilogue that writes them. MICA_E_OVERFLOW: they are too large. */
static mica_status set_result(const mica_conv_epilogue *epilogue, mica__conv *conv) {
  const mica__conv_dims *d = &conv->dims;
  const mica_tensor *result = result_of(conv);
  int64_t taps = mica__product3(d->filter), inputs = mica__product3(d->in), pixels = mica__product3(d->out);
  bool filter = conv->pass == MICA__CONV_BWD_FILTER, forward = conv->pass == MICA__CONV_FWD;
  conv->images = filter ? 1 : d->n;
  conv->rows = conv->pass == MICA__CONV_BWD_DATA ? d->groups * d->c : d->groups * d->k;
  conv->columns = filter ? d->c * taps : forward ? pixels : inputs;
  conv->depth = filter ? d->n * pixels : forward ? d->c * taps : d->k * taps;
  if (conv->rows > MAX_RESULT || conv->columns > MAX_RESULT || d->n > MAX_RESULT)
    return mica__fail(
        MICA_E_OVERFLOW,
        "conv: the batch (%lld) and the sides of the result as a matrix (%lld x %lld) must be at most %lld",
        (long long)d->n, (long long)conv->rows, (long long)conv->columns, (long long)MAX_RESULT);
  mica__matrix matrix = {.tensor = result, .row = conv->columns, .col = 1};
  if (!filter) matrix.batch = conv->rows * conv->columns;
  conv->epilogue = (mica__epilogue){.c = matrix,
                                    .d = matrix,
                                    .acc = conv->dtype == MICA_F64 ? MICA_F64 : MICA_F32,
                                    .bias = epilogue->bias,
                                    .bias_axis = MICA_BIAS_AXIS_ROW,
                                    .alpha = 1,
                                    .beta = epilogue->addend ? 1 : 0,
                                    .activation = epilogue->activation,
                                    .activation_arg = epilogue->activation_arg};
  if (mica__conv_is_result_last(conv)) conv->epilogue.d.row = conv->epilogue.c.row = conv->rows;
  if (epilogue->addend) conv->epilogue.c.tensor = epilogue->addend;
  return MICA_OK;
}

mica_status mica__conv_problem_last(mica_queue *queue, mica__conv_pass pass, unsigned last,
                                    const mica_conv_config *config, const mica_tensor *x, const mica_tensor *w,
                                    const mica_tensor *y, const mica_conv_epilogue *epilogue, mica__conv *conv) {
  static const mica_conv_epilogue none;
  if (!epilogue) epilogue = &none;
  bool data = pass == MICA__CONV_BWD_DATA, filter = pass == MICA__CONV_BWD_FILTER;
  const char *const names[] = {data ? "dx" : "x", filter ? "dw" : "w", pass == MICA__CONV_FWD ? "y" : "dy"};
  MICA_TRY(check_operand(queue, last & MICA__CONV_X_LAST, names[0], x));
  MICA_TRY(mica__operand_check(queue, "conv", names[1], w));
  MICA_TRY(check_operand(queue, last & MICA__CONV_Y_LAST, names[2], y));
  *conv = (mica__conv){.pass = pass, .x = x, .w = w, .y = y, .last = last};
  mica_shape shape = mica_tensor_shape(y);
  mica_status status = mica__conv_dims_of(config, mica_tensor_shape(x), mica_tensor_shape(w), &shape, &conv->dims);
  if (status != MICA_OK) return mica__fail_in(status, "conv");
  mica__conv_lead_ones(&conv->dims);
  MICA_TRY(check_types(mica__queue_engine(queue), epilogue, conv));
  conv->allow_tf32 = config && config->allow_tf32 && conv->dtype == MICA_F32;
  MICA_TRY(set_result(epilogue, conv));
  conv->nontemporal = mica_tensor_bytes(result_of(conv)) >= NONTEMPORAL_BYTES;
  MICA_TRY(check_epilogue(queue, epilogue, conv->rows, mica__conv_is_result_last(conv), result_of(conv)));
  return check_overlaps(epilogue, conv, names);
}

mica_status mica__conv_problem(mica_queue *queue, mica__conv_pass pass, const mica_conv_config *config,
                               const mica_tensor *x, const mica_tensor *w, const mica_tensor *y,
                               const mica_conv_epilogue *epilogue, mica__conv *conv) {
  return mica__conv_problem_last(queue, pass, 0, config, x, w, y, epilogue, conv);
}

void mica__conv_dims_key(const mica__conv_dims *d, const char *problem, char key[MICA__TUNING_TEXT]) {
  int at = snprintf(key, MICA__TUNING_TEXT, "%s n%" PRId64 " g%" PRId64 " c%" PRId64 " k%" PRId64, problem, d->n,
                    d->groups, d->c, d->k);
  const struct {
    char letter;
    const int64_t *values;
  } rows[] = {{'i', d->in}, {'r', d->filter}, {'o', d->out}, {'s', d->stride}, {'p', d->pad}, {'d', d->dilation}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows && at < MICA__TUNING_TEXT; i++)
    at += snprintf(key + at, (size_t)(MICA__TUNING_TEXT - at), " %c%" PRId64 "x%" PRId64 "x%" PRId64, rows[i].letter,
                   rows[i].values[0], rows[i].values[1], rows[i].values[2]);
}

void mica__conv_key(const mica__conv *conv, char key[MICA__TUNING_TEXT]) {
  static const char *const passes[] = {"fwd", "bwd_data", "bwd_filter"};
  char problem[64];
  snprintf(problem, sizeof problem, "conv %s %s", passes[conv->pass],
           conv->allow_tf32 ? "tf32" : mica_dtype_name(conv->dtype));
  mica__conv_dims_key(&conv->dims, problem, key);
}

MICA__FIELDS(size_fields, CONV_SIZE);
MICA__FIELDS(extent_fields, CONV_EXTENT);
MICA__FIELDS(step_fields, CONV_STEP);
void mica__conv_push_dims(mica__launch *launch, const mica__conv_dims *d) {
  const int64_t *r = d->filter, *in = d->in, *out = d->out, *stride = d->stride, *pad = d->pad, *by = d->dilation;
  const size_fields s = {
      .N = d->n, .G = d->groups, .CG = d->c, .KG = d->k, .R0 = r[0], .R1 = r[1], .R2 = r[2], .I0 = in[0]};
  const extent_fields e = {.I1 = in[1],
                           .I2 = in[2],
                           .O0 = out[0],
                           .O1 = out[1],
                           .O2 = out[2],
                           .ST0 = stride[0],
                           .ST1 = stride[1],
                           .ST2 = stride[2]};
  const step_fields t = {.PA0 = pad[0], .PA1 = pad[1], .PA2 = pad[2], .DI0 = by[0], .DI1 = by[1], .DI2 = by[2]};
  mica__launch_sizes(launch, s.values);
  mica__launch_sizes(launch, e.values);
  mica__launch_sizes(launch, t.values);
}
