/* The ops of 8-bit products: types, references, launches. */
#include "ops/quant/int8.h"

#include "base/arith.h"

#include <math.h>

MICA__ATTR_TABLE(int8, MICA__INT8_ATTRS);

/* --- types --- */

static const char *const operand_names[] = {"the first operand",
                                            "the second operand",
                                            "the scale of the first operand",
                                            "the zero point of the first operand",
                                            "the scale of the second operand",
                                            "the zero point of the second operand",
                                            "the bias",
                                            "the scale of the result",
                                            "the zero point of the result",
                                            "the operand to add",
                                            "the scale of the operand to add",
                                            "the zero point of the operand to add",
                                            "the scale of the sum",
                                            "the zero point of the sum"};

static int64_t count_of(mica_shape shape) {
  int64_t count = 1;
  for (int32_t i = 0; i < shape.rank; i++) count *= shape.dim[i];
  return count;
}

/* The dtype of zero points: all are F32 or all are I32. */
static mica_dtype zero_type(const mica__int8_attrs *attrs, const mica__type *inputs) {
  int32_t first = mica__int8_input(attrs, MICA__INT8_FIRST_ZERO),
          second = mica__int8_input(attrs, MICA__INT8_SECOND_ZERO);
  mica_dtype type = first >= 0 ? inputs[first].dtype : second >= 0 ? inputs[second].dtype : MICA_F32;
  return type == MICA_I32 ? MICA_I32 : MICA_F32;
}

/* Checks that the operand, if present, has this dtype and `count` elements. An operand that is not the bias may also
 * have one element. MICA_E_SHAPE if not. */
static mica_status expect(const mica__int8_attrs *attrs, const mica__type *inputs, mica__int8_operand operand,
                          mica_dtype dtype, int64_t count) {
  char text[MICA__TYPE_TEXT];
  int32_t at = mica__int8_input(attrs, operand);
  if (at < 0) return MICA_OK;
  int64_t has = count_of(inputs[at].shape);
  if (inputs[at].dtype == dtype && (has == count || (has == 1 && operand != MICA__INT8_BIAS))) return MICA_OK;
  return mica__fail(MICA_E_SHAPE, "%s is %s, but must be of type %s and have an element count of %lld%s",
                    operand_names[operand], mica__type_format(inputs[at], text), mica_dtype_name(dtype),
                    (long long)count, operand != MICA__INT8_BIAS && count != 1 ? " or 1" : "");
}

static bool is_byte(mica_dtype dtype) { return dtype == MICA_I8 || dtype == MICA_U8; }

static mica_status check_operands(const mica__int8_attrs *attrs, const mica__type *inputs, int64_t first,
                                  int64_t second) {
  bool quantized = is_byte(attrs->to);
  if (!is_byte(inputs[0].dtype) || !is_byte(inputs[1].dtype))
    return mica__fail(MICA_E_DTYPE, "the operands are %s and %s, but both must be i8 or u8",
                      mica_dtype_name(inputs[0].dtype), mica_dtype_name(inputs[1].dtype));
  if (!quantized && attrs->to != MICA_I32 && attrs->to != MICA_F32)
    return mica__fail(MICA_E_DTYPE, "the result is %s, but must be i8, u8, i32 or f32", mica_dtype_name(attrs->to));
  MICA_TRY(expect(attrs, inputs, MICA__INT8_FIRST_SCALE, MICA_F32, first));
  MICA_TRY(expect(attrs, inputs, MICA__INT8_FIRST_ZERO, zero_type(attrs, inputs), first));
  MICA_TRY(expect(attrs, inputs, MICA__INT8_SECOND_SCALE, MICA_F32, second));
  MICA_TRY(expect(attrs, inputs, MICA__INT8_SECOND_ZERO, zero_type(attrs, inputs), second));
  MICA_TRY(expect(attrs, inputs, MICA__INT8_BIAS, MICA_F32, second));
  MICA_TRY(expect(attrs, inputs, MICA__INT8_Y_SCALE, MICA_F32, 1));
  return expect(attrs, inputs, MICA__INT8_Y_ZERO, MICA_F32, 1);
}

static mica_status infer_matmul(const mica__type *inputs, int32_t input_count, void *attributes, mica__type *out) {
  (void)input_count;
  const mica__int8_attrs *attrs = attributes;
  mica_shape a = inputs[0].shape, b = inputs[1].shape;
  char ta[MICA_SHAPE_TEXT], tb[MICA_SHAPE_TEXT];
  bool fits = a.rank >= 2 && (b.rank == 2 || b.rank == a.rank) && !mica__shape_is_open(a) && !mica__shape_is_open(b);
  for (int32_t i = 0; fits && b.rank > 2 && i + 2 < a.rank; i++) fits = a.dim[i] == b.dim[i];
  int64_t n = fits ? b.dim[b.rank - 1 - attrs->transposed] : 0, k = fits ? a.dim[a.rank - 1] : 0;
  if (!fits || b.dim[b.rank - 2 + attrs->transposed] != k)
    return mica__fail(MICA_E_SHAPE, "%s and %s cannot be multiplied: the shapes must be known and fit as matrices",
                      mica_shape_format(a, ta), mica_shape_format(b, tb));
  if (k < 1 || k > INT32_MAX || n > INT32_MAX)
    return mica__fail(MICA_E_SHAPE,
                      "the product has %lld columns and sums %lld elements, but must have at most 2^31 - 1 columns and "
                      "sum 1 to 2^31 - 1 elements",
                      (long long)n, (long long)k);
  if (mica__int8_input(attrs, MICA__INT8_OTHER) >= 0)
    return mica__fail(MICA_E_SHAPE, "an operand to add is given, but only convolutions support one");
  *out = (mica__type){attrs->to, a};
  out->shape.dim[a.rank - 1] = n;
  return check_operands(attrs, inputs, a.rank == 2 ? a.dim[0] : 1, n);
}

static mica_conv_config config_of(const mica__int8_attrs *attrs) {
  mica_conv_config config = {.groups = attrs->groups};
  for (int i = 0; i < 3; i++) {
    config.stride[i] = attrs->stride[i];
    config.pad[i] = attrs->pad[i];
    config.pad_more[i] = attrs->pad_more[i];
    config.dilation[i] = attrs->dilation[i];
  }
  return config;
}

/* Checks the bytes that are added to a convolution's result, and sets the result's type to the type of the sums. */
static mica_status check_other(const mica__int8_attrs *attrs, const mica__type *inputs, mica__type *out) {
  const int32_t at = mica__int8_input(attrs, MICA__INT8_OTHER);
  for (int32_t i = MICA__INT8_OTHER_SCALE; i < MICA__INT8_OPERANDS; i++) {
    if (at < 0 && mica__int8_input(attrs, (mica__int8_operand)i) >= 0)
      return mica__fail(MICA_E_SHAPE, "%s is given, but the operand to add is missing", operand_names[i]);
    MICA_TRY(expect(attrs, inputs, (mica__int8_operand)i, MICA_F32, 1));
  }
  if (at < 0) return MICA_OK;
  if (!is_byte(inputs[at].dtype) || !is_byte(attrs->to) || !is_byte(attrs->sum_to))
    return mica__fail(MICA_E_DTYPE, "the operand to add is %s, the result %s and the sum %s, but each must be i8 or u8",
                      mica_dtype_name(inputs[at].dtype), mica_dtype_name(attrs->to), mica_dtype_name(attrs->sum_to));
  char other[MICA_SHAPE_TEXT], result[MICA_SHAPE_TEXT];
  if (!mica_shape_equal(inputs[at].shape, out->shape))
    return mica__fail(MICA_E_SHAPE, "the operand to add is %s, but must have the shape of the result, %s",
                      mica_shape_format(inputs[at].shape, other), mica_shape_format(out->shape, result));
  out->dtype = attrs->sum_to;
  return MICA_OK;
}

static mica_status infer_conv(const mica__type *inputs, int32_t input_count, void *attributes, mica__type *out) {
  (void)input_count;
  const mica__int8_attrs *attrs = attributes;
  mica_shape x = inputs[0].shape, w = inputs[1].shape;
  mica_conv_config config = config_of(attrs);
  mica__conv_dims dims;
  char tx[MICA_SHAPE_TEXT], tw[MICA_SHAPE_TEXT];
  if (x.rank < 3 || x.rank > 4 || w.rank != x.rank || mica__shape_is_open(x) || mica__shape_is_open(w))
    return mica__fail(MICA_E_SHAPE, "images %s and filters %s must have the same rank, 3 or 4, and no open dimension",
                      mica_shape_format(x, tx), mica_shape_format(w, tw));
  MICA_TRY(mica__conv_dims_of(&config, x, w, NULL, &dims));
  if (dims.c < 1)
    return mica__fail(MICA_E_SHAPE, "filters are %s, but must have at least 1 channel", mica_shape_format(w, tw));
  if (dims.out[1] < 1 || dims.out[2] < 1)
    return mica__fail(MICA_E_SHAPE, "filters %s are larger than the padded images %s", mica_shape_format(w, tw),
                      mica_shape_format(x, tx));
  *out = (mica__type){attrs->to, x};
  out->shape.dim[1] = w.dim[0];
  for (int32_t i = 2; i < x.rank; i++) out->shape.dim[i] = dims.out[i + 3 - x.rank];
  MICA_TRY(check_operands(attrs, inputs, 1, w.dim[0]));
  return check_other(attrs, inputs, out);
}

/* --- references --- */

/* By operand: its values and their number; NULL and 0 if it is absent. */
typedef struct reference {
  const mica__int8_attrs *attrs;
  const double *in[MICA__INT8_OPERANDS];
  int64_t count[MICA__INT8_OPERANDS];
} reference;

static reference reference_of(const mica__eval *eval) {
  reference r = {.attrs = eval->attrs};
  for (int i = 0; i < MICA__INT8_OPERANDS; i++) {
    int32_t at = mica__int8_input(r.attrs, (mica__int8_operand)i);
    if (at < 0) continue;
    r.in[i] = eval->inputs[at];
    r.count[i] = count_of(eval->types[at].shape);
  }
  return r;
}

static double number(const reference *r, mica__int8_operand operand, int64_t index, double absent) {
  return r->in[operand] ? r->in[operand][r->count[operand] > 1 ? index : 0] : absent;
}

static uint32_t bits_of(double value) { return (uint32_t)(int32_t)value; }

/* Saturates a quantized number to a byte of the type; NaN becomes 0. */
static double byte_of(float step, mica_dtype to) {
  float low = to == MICA_I8 ? -128 : 0, high = to == MICA_I8 ? 127 : 255;
  return isnan(step) ? 0 : (double)(step < low ? low : step > high ? high : step);
}

static float within(float v, double low, double high) {
  return v < (float)low ? (float)low : v > (float)high ? (float)high : v;
}

/* A byte as a real number. Operand `scale` is its scale, and the next operand its zero point. */
static float real_of(const reference *r, double value, mica__int8_operand scale) {
  return ((float)value - (float)number(r, scale + 1, 0, 0)) * (float)number(r, scale, 0, 1);
}

/* Adds the other byte with this index to a byte of the result. Returns the byte as it is if nothing is added. */
static double add_other(const reference *r, double byte, int64_t index) {
  const mica__int8_attrs *attrs = r->attrs;
  if (!r->in[MICA__INT8_OTHER]) return byte;
  const float x = real_of(r, byte, MICA__INT8_Y_SCALE),
              other = real_of(r, r->in[MICA__INT8_OTHER][index], MICA__INT8_OTHER_SCALE);
  const float sum = within(x + other, attrs->sum_low, attrs->sum_high);
  const float step =
      rintf(sum / (float)number(r, MICA__INT8_SUM_SCALE, 0, 1)) + (float)number(r, MICA__INT8_SUM_ZERO, 0, 0);
  return byte_of(step, attrs->sum_to);
}

/* The result for a sum, which is given as the bits of an i32, before other bytes are added. Computes in f32, like a
 * device. */
static double finish(const reference *r, uint32_t bits, int64_t first, int64_t second) {
  const mica__int8_attrs *attrs = r->attrs;
  int32_t sum = (int32_t)bits;
  if (attrs->to == MICA_I32) return sum;
  float factor =
      (float)number(r, MICA__INT8_FIRST_SCALE, first, 1) * (float)number(r, MICA__INT8_SECOND_SCALE, second, 1);
  float v = fmaf((float)sum, factor, (float)number(r, MICA__INT8_BIAS, second, 0));
  v = within(v, attrs->low, attrs->high);
  if (attrs->to == MICA_F32) return (double)v;
  float step = rintf(v / (float)number(r, MICA__INT8_Y_SCALE, 0, 1)) + (float)number(r, MICA__INT8_Y_ZERO, 0, 0);
  return byte_of(step, attrs->to);
}

static mica_status evaluate_matmul(const mica__eval *eval) {
  reference r = reference_of(eval);
  mica_shape a = eval->types[0].shape, b = eval->types[1].shape;
  int64_t k = a.dim[a.rank - 1], m = a.dim[a.rank - 2], n = eval->type->shape.dim[a.rank - 1];
  int64_t all = count_of(a) / k, b_step = b.rank > 2 ? n * k : 0;
  double *y = eval->output;
  for (int64_t row = 0; row < all; row++)
    for (int64_t j = 0; j < n; j++) {
      const double *pa = eval->inputs[0] + row * k, *pb = eval->inputs[1] + row / m * b_step;
      uint32_t sum = 0;
      uint32_t za = bits_of(number(&r, MICA__INT8_FIRST_ZERO, row, 0));
      uint32_t zb = bits_of(number(&r, MICA__INT8_SECOND_ZERO, j, 0));
      for (int64_t l = 0; l < k; l++)
        sum += (bits_of(pa[l]) - za) * (bits_of(pb[r.attrs->transposed ? j * k + l : l * n + j]) - zb);
      *y++ = finish(&r, sum, row, j);
    }
  return MICA_OK;
}

/* The sum for one element of a convolution, modulo 2^32. */
static uint32_t conv_sum(const reference *r, const mica__conv_dims *d, int64_t image, int64_t filter, int64_t p,
                         int64_t q) {
  uint32_t zx = bits_of(number(r, MICA__INT8_FIRST_ZERO, 0, 0)), sum = 0;
  uint32_t zw = bits_of(number(r, MICA__INT8_SECOND_ZERO, filter, 0));
  for (int64_t c = 0; c < d->c; c++)
    for (int64_t t = 0; t < d->filter[1] * d->filter[2]; t++) {
      int64_t h = p * d->stride[1] - d->pad[1] + t / d->filter[2] * d->dilation[1];
      int64_t w = q * d->stride[2] - d->pad[2] + t % d->filter[2] * d->dilation[2];
      if (h < 0 || h >= d->in[1] || w < 0 || w >= d->in[2]) continue;
      int64_t channel = (image * d->groups + filter / d->k) * d->c + c;
      double x = r->in[MICA__INT8_FIRST][(channel * d->in[1] + h) * d->in[2] + w];
      double weight = r->in[MICA__INT8_SECOND][(filter * d->c + c) * d->filter[1] * d->filter[2] + t];
      sum += (bits_of(x) - zx) * (bits_of(weight) - zw);
    }
  return sum;
}

static mica_status evaluate_conv(const mica__eval *eval) {
  reference r = reference_of(eval);
  mica_conv_config config = config_of(eval->attrs);
  mica__conv_dims d;
  MICA_TRY(mica__conv_dims_of(&config, eval->types[0].shape, eval->types[1].shape, NULL, &d));
  double *y = eval->output;
  for (int64_t image = 0, i = 0; image < d.n; image++)
    for (int64_t f = 0; f < d.groups * d.k; f++)
      for (int64_t pixel = 0; pixel < d.out[1] * d.out[2]; pixel++, i++)
        y[i] = add_other(&r, finish(&r, conv_sum(&r, &d, image, f, pixel / d.out[2], pixel % d.out[2]), 0, f), i);
  return MICA_OK;
}

/* --- launches --- */

static mica__int8 problem_of(const mica__exec *exec) {
  mica__int8 p = {.exec = exec, .attrs = exec->attrs, .row_batches = 1, .batches = 1};
  for (int i = 0; i < MICA__INT8_OPERANDS; i++) {
    int32_t at = mica__int8_input(p.attrs, (mica__int8_operand)i);
    if (at >= 0) p.in[i] = exec->inputs[at];
  }
  p.transposed = p.attrs->transposed;
  return p;
}

static mica_status launch_matmul(const mica__exec *exec) {
  mica__int8 p = problem_of(exec);
  mica_shape a = mica_tensor_shape(exec->inputs[0]), b = mica_tensor_shape(exec->inputs[1]);
  int64_t lead = 1;
  for (int32_t i = 0; i + 2 < a.rank; i++) lead *= a.dim[i];
  p.depth = a.dim[a.rank - 1];
  p.n = b.dim[b.rank - 1 - p.transposed];
  p.m = a.dim[a.rank - 2] * (b.rank > 2 ? 1 : lead);
  p.batches = p.row_batches = b.rank > 2 ? lead : 1;
  return mica_tensor_count(exec->output) == 0 ? MICA_OK : mica__int8_product(&p);
}

/* For filters of one pixel without stride and padding, joins an image's rows into one, because fewer rows leave fewer
 * partial vectors. */
static void join_rows(mica__conv_dims *d) {
  for (int i = 1; i <= 2; i++)
    if (d->filter[i] != 1 || d->stride[i] != 1 || d->pad[i] != 0 || d->out[i] != d->in[i]) return;
  d->in[2] = d->out[2] = d->in[1] * d->in[2];
  d->in[1] = d->out[1] = 1;
}

/* True if images have one pixel and can be the rows of a matrix, with filters as columns. With pixels as lanes, most
 * lanes would idle. */
static bool is_matrix(const mica__conv_dims *d) {
  return d->groups == 1 && mica__product3(d->in) == 1 && mica__product3(d->out) == 1 && mica__product3(d->filter) == 1;
}

static mica_status launch_conv(const mica__exec *exec) {
  mica__int8 p = problem_of(exec);
  mica_conv_config config = config_of(exec->attrs);
  p.conv = true;
  p.launch = launch_conv;
  MICA_TRY(mica__conv_dims_of(&config, mica_tensor_shape(exec->inputs[0]), mica_tensor_shape(exec->inputs[1]), NULL,
                              &p.dims));
  if (mica_tensor_count(exec->output) == 0) return MICA_OK;
  mica__conv_lead_ones(&p.dims);
  const bool matrix = is_matrix(&p.dims);
  p.depth = p.dims.c;
  if (p.in[MICA__INT8_OTHER] && (matrix || mica__int8_is_depthwise(&p) || !mica__int8_product_adds(&p)))
    return mica__int8_conv_then_add(&p, launch_conv);
  if (matrix) {
    p.conv = false;
    p.transposed = true;
    p.m = p.dims.n;
    p.n = p.dims.k;
    return mica__int8_product(&p);
  }
  join_rows(&p.dims);
  p.m = p.dims.k;
  p.row_batches = p.dims.groups;
  p.batches = p.dims.n * p.dims.groups;
  return mica__int8_is_depthwise(&p) ? mica__int8_depthwise(&p) : mica__int8_product(&p);
}

static double flops_of(const mica__node *node, const mica__type *inputs) {
  double terms = (double)count_of(inputs[1].shape);
  mica_shape y = node->type.shape;
  const mica__int8_attrs *attrs = node->attrs;
  bool conv = node->op == &mica__op_int8_conv;
  int64_t made = conv ? inputs[1].shape.dim[0] : inputs[1].shape.dim[inputs[1].shape.rank - 1 - attrs->transposed];
  if (!conv && inputs[1].shape.rank > 2)
    for (int32_t i = 0; i + 2 < y.rank; i++) terms /= (double)y.dim[i];
  return made > 0 ? 2 * (double)count_of(y) * terms / (double)made : 0;
}

static mica_status check_matmul(mica__check *check) { return mica__int8_matmul_check(check, &mica__op_int8_matmul); }
static mica_status check_conv(mica__check *check) { return mica__int8_conv_check(check, &mica__op_int8_conv); }

static const mica__kernel_desc *const matmul_kernels[] = {
    &mica__int8_pack_kernel, &mica__int8_cpu_kernel,     &mica__int8_cpu_vnni_kernel, &mica__int8_cpu_amx_kernel,
    &mica__int8_gpu_kernel,  &mica__int8_gpu_ptx_kernel, &mica__int8_mma_kernel,      NULL};
static const mica__kernel_desc *const conv_kernels[] = {&mica__int8_image_kernel,
                                                        &mica__int8_split_kernel,
                                                        &mica__int8_cpu_bytes_kernel,
                                                        &mica__int8_filters_kernel,
                                                        &mica__int8_winograd_kernel,
                                                        &mica__int8_winograd_image_kernel,
                                                        &mica__int8_winograd_filters_kernel,
                                                        &mica__int8_depthwise_kernel,
                                                        &mica__int8_depthwise_cpu_kernel,
                                                        &mica__int8_add_kernel,
                                                        NULL};

const mica__op mica__op_int8_matmul = {.name = "int8_matmul",
                                       .kernels = matmul_kernels,
                                       .check = check_matmul,
                                       .kind = MICA__OP_LAUNCH,
                                       .min_inputs = 2,
                                       .max_inputs = MICA__INT8_OPERANDS,
                                       .attrs = &mica__int8_attr_list,
                                       .infer = infer_matmul,
                                       .evaluate = evaluate_matmul,
                                       .launch = launch_matmul,
                                       .match = mica__int8_match_matmul,
                                       .flops = flops_of};

const mica__op mica__op_int8_conv = {.name = "int8_conv",
                                     .kernels = conv_kernels,
                                     .check = check_conv,
                                     .kind = MICA__OP_LAUNCH,
                                     .min_inputs = 2,
                                     .max_inputs = MICA__INT8_OPERANDS,
                                     .attrs = &mica__int8_attr_list,
                                     .infer = infer_conv,
                                     .evaluate = evaluate_conv,
                                     .launch = launch_conv,
                                     .match = mica__int8_match_conv,
                                     .flops = flops_of};
