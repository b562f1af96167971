/* mica/nodes.h: builders of graph values (see mica/graph.h).
 *
 * Conventions. x, a, b, c are values; y is the result. Shapes are inferred. Operands must have equal dtypes, unless an
 * op says otherwise. Operands of pointwise ops broadcast. "float" means f32 f16 bf16 f64; "integer" means i8 i16 i32
 * i64 u8 u16 u32 u64, with wrapping arithmetic; "number" means both. Ops with float results have gradients of any
 * order, unless an op says otherwise. Builders are sticky: a null operand gives a null result.
 *
 * Threads: as in mica/graph.h. */
#ifndef MICA_NODES_H
#define MICA_NODES_H

#include <mica/graph.h>
#include <mica/window.h>

MICA_BEGIN_DECLS

/* --- pointwise: one operand --- */

/* name, formula of y[i]. The result has x's dtype. NaN and infinities follow IEEE 754. */
#define MICA_UNARY_BUILDERS(X)                                                                                         \
  X(neg, "-x; number")                                                                                                 \
  X(abs, "|x|; number")                                                                                                \
  X(sign, "-1, 0 or 1; number")                                                                                        \
  X(square, "x x; number")                                                                                             \
  X(relu, "max(x, 0); number")                                                                                         \
  X(reciprocal, "1 / x")                                                                                               \
  X(sqrt, "square root")                                                                                               \
  X(rsqrt, "1 / sqrt(x)")                                                                                              \
  X(exp, "e^x")                                                                                                        \
  X(exp2, "2^x")                                                                                                       \
  X(expm1, "e^x - 1, exact near 0")                                                                                    \
  X(log, "natural logarithm")                                                                                          \
  X(log1p, "log(1 + x), exact near 0")                                                                                 \
  X(log2, "logarithm to base 2")                                                                                       \
  X(log10, "logarithm to base 10")                                                                                     \
  X(erf, "2/sqrt(pi) times the integral of e^(-t t) from 0 to x")                                                      \
  X(sin, "x in radians")                                                                                               \
  X(cos, "x in radians")                                                                                               \
  X(tan, "x in radians")                                                                                               \
  X(asin, "radians")                                                                                                   \
  X(acos, "radians")                                                                                                   \
  X(atan, "radians")                                                                                                   \
  X(sinh, "(e^x - e^-x) / 2")                                                                                          \
  X(cosh, "(e^x + e^-x) / 2")                                                                                          \
  X(tanh, "sinh(x) / cosh(x)")                                                                                         \
  X(asinh, "inverse of sinh")                                                                                          \
  X(acosh, "inverse of cosh, x >= 1")                                                                                  \
  X(atanh, "inverse of tanh, |x| < 1")                                                                                 \
  X(floor, "largest integer <= x; no gradient")                                                                        \
  X(ceil, "smallest integer >= x; no gradient")                                                                        \
  X(round, "nearest integer, ties to even; no gradient")                                                               \
  X(trunc, "towards zero; no gradient")                                                                                \
  X(isnan, "as bool")                                                                                                  \
  X(isinf, "as bool")                                                                                                  \
  X(isfinite, "as bool")                                                                                               \
  X(logical_not, "of bool")                                                                                            \
  X(bit_not, "of integers")                                                                                            \
  X(sigmoid, "1 / (1 + e^-x)")                                                                                         \
  X(silu, "x sigmoid(x); Elfwing et al. 2017")                                                                         \
  X(gelu, "x (1 + erf(x / sqrt 2)) / 2; Hendrycks and Gimpel 2016")                                                    \
  X(gelu_tanh, "x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) / 2, their approximation")                                 \
  X(quick_gelu, "x sigmoid(1.702 x), as CLIP has it; Hendrycks and Gimpel 2016")                                       \
  X(relu2, "max(x, 0)^2; So et al. 2021")                                                                              \
  X(selu, "s (x < 0 ? t (e^x - 1) : x), s = 1.0507..., t = 1.6732...; Klambauer et al. 2017")                          \
  X(mish, "x tanh(log(1 + e^x)); Misra 2019")                                                                          \
  X(softplus, "log(1 + e^x)")                                                                                          \
  X(softsign, "x / (1 + |x|)")                                                                                         \
  X(hard_swish, "x min(max(x + 3, 0), 6) / 6; Howard et al. 2019")
#define MICA_UNARY_DECLARE(name, text) MICA_API mica_value mica_##name(mica_value x);
MICA_UNARY_BUILDERS(MICA_UNARY_DECLARE)
#undef MICA_UNARY_DECLARE

/* x scale + shift. Float. */
MICA_API mica_value mica_affine(mica_value x, double scale, double shift);
/* min(max(x, low), high). Number. NaN stays NaN. low <= high, else MICA_E_INVALID; both may be infinite. */
MICA_API mica_value mica_clip(mica_value x, double low, double high);
/* x < 0 ? slope x : x */
MICA_API mica_value mica_leaky_relu(mica_value x, double slope);
/* x < 0 ? alpha (e^x - 1) : x; Clevert et al. 2015 */
MICA_API mica_value mica_elu(mica_value x, double alpha);
/* x < 0 ? alpha (e^(x / alpha) - 1) : x; alpha must not be 0. Barron 2017 */
MICA_API mica_value mica_celu(mica_value x, double alpha);
/* x > threshold ? x : 0; Konda et al. 2014 */
MICA_API mica_value mica_thresholded_relu(mica_value x, double threshold);
/* x + bias if x < -threshold, x - bias if x > threshold, else 0, also for NaN. bias 0 gives hard shrinkage, bias =
 * threshold soft shrinkage (Donoho and Johnstone 1994). */
MICA_API mica_value mica_shrink(mica_value x, double threshold, double bias);
/* min(max(scale x + shift, 0), 1). PyTorch uses 1/6 and 1/2, ONNX 0.2 and 0.5. */
MICA_API mica_value mica_hard_sigmoid(mica_value x, double scale, double shift);
/* Converts x to another dtype. Float to integer: truncates towards zero and saturates; NaN gives 0. Integer to integer:
 * wraps. To bool: x != 0. The gradient is cast back. */
MICA_API mica_value mica_cast(mica_value x, mica_dtype dtype);
/* Reinterprets the bytes of x as another dtype of equal size. bool is not allowed, because a byte may be neither 0 nor
 * 1. No gradient. */
MICA_API mica_value mica_bitcast(mica_value x, mica_dtype dtype);

/* --- pointwise: two operands, broadcast --- */

#define MICA_BINARY_BUILDERS(X)                                                                                        \
  X(add, "a + b; number")                                                                                              \
  X(sub, "a - b; number")                                                                                              \
  X(mul, "a b; number")                                                                                                \
  X(div, "a / b; integers towards zero, x / 0 is 0")                                                                   \
  X(mod, "a - b floor(a / b), which has the sign of b; number; for integers 0 where b is 0")                           \
  X(fmod, "a - b trunc(a / b), which has the sign of a; number; for integers 0 where b is 0")                          \
  X(pow, "a^b; float")                                                                                                 \
  X(atan2, "the angle of the point (x = b, y = a); float")                                                             \
  X(maximum, "the larger; NaN where either is; number")                                                                \
  X(minimum, "the smaller; NaN where either is; number")                                                               \
  X(equal, "as bool; any type")                                                                                        \
  X(not_equal, "as bool; any type")                                                                                    \
  X(less, "a < b as bool; number")                                                                                     \
  X(less_equal, "a <= b as bool; number")                                                                              \
  X(greater, "a > b as bool; number")                                                                                  \
  X(greater_equal, "a >= b as bool; number")                                                                           \
  X(logical_and, "of bool")                                                                                            \
  X(logical_or, "of bool")                                                                                             \
  X(logical_xor, "of bool")                                                                                            \
  X(bit_and, "of integers")                                                                                            \
  X(bit_or, "of integers")                                                                                             \
  X(bit_xor, "of integers")                                                                                            \
  X(shift_left, "a 2^b modulo the type's range; integers; 0 unless 0 <= b < bits")                                     \
  X(shift_right, "floor(a / 2^b); integers; the sign (0 or -1) unless 0 <= b < bits")                                  \
  X(prelu, "a < 0 ? a b : a; float; He et al. 2015")
#define MICA_BINARY_DECLARE(name, text) MICA_API mica_value mica_##name(mica_value a, mica_value b);
MICA_BINARY_BUILDERS(MICA_BINARY_DECLARE)
#undef MICA_BINARY_DECLARE

/* condition ? a : b. condition is bool; a and b have one dtype; all three broadcast. */
MICA_API mica_value mica_where(mica_value condition, mica_value a, mica_value b);

/* --- reductions --- */

/* A list of axes: MICA_AXES(0, -1). Negative axes count from the end. An empty list means all axes. */
typedef struct mica_axes {
  int32_t count;
  int32_t axis[MICA_MAX_RANK];
} mica_axes;
#ifdef __cplusplus
#define MICA_AXES(...) mica_axes_of({__VA_ARGS__})
#define MICA_ALL_AXES (mica_axes{})
#else
#define MICA_AXES(...)                                                                                                 \
  ((mica_axes){.count = (int32_t)(sizeof((int32_t[]){__VA_ARGS__}) / sizeof(int32_t)), .axis = {__VA_ARGS__}})
#define MICA_ALL_AXES ((mica_axes){.count = 0})
#endif

/* name, what is computed from the elements along the axes. keep: the axes stay, with extent 1. Results have x's dtype;
 * integer sums wrap. Over 0 elements, sums are 0, products 1, and max and min are MICA_E_SHAPE. */
#define MICA_REDUCE_BUILDERS(X)                                                                                        \
  X(sum, "the sum; number")                                                                                            \
  X(mean, "the sum divided by the count; float")                                                                       \
  X(max, "the largest; NaN when there is one; number. Its gradient is shared by equals")                               \
  X(min, "the smallest, likewise")                                                                                     \
  X(prod, "the product; number")                                                                                       \
  X(l1, "the sum of |x|")                                                                                              \
  X(l2, "the square root of the sum of squares")                                                                       \
  X(sum_square, "the sum of squares")                                                                                  \
  X(logsum, "log of the sum; float")                                                                                   \
  X(logsumexp, "log of the sum of e^x, without overflow; float")
#define MICA_REDUCE_DECLARE(name, text) MICA_API mica_value mica_##name(mica_value x, mica_axes axes, bool keep);
MICA_REDUCE_BUILDERS(MICA_REDUCE_DECLARE)
#undef MICA_REDUCE_DECLARE

/* Index (i64) of the largest or smallest element along one axis; the lowest index if several are equal. NaN is treated
 * as the largest by argmax, and as the smallest by argmin. Number. */
MICA_API mica_value mica_argmax(mica_value x, int32_t axis, bool keep);
MICA_API mica_value mica_argmin(mica_value x, int32_t axis, bool keep);

/* y[j] = sum or product of x[0 .. j] along an axis. exclusive: without x[j]. reverse: of x[j] and all elements after
 * it. Number. The gradient of the product divides by x, so it is not finite where x is 0. */
MICA_API mica_value mica_cumsum(mica_value x, int32_t axis, bool exclusive, bool reverse);
MICA_API mica_value mica_cumprod(mica_value x, int32_t axis, bool exclusive, bool reverse);

/* --- layout --- */

/* The elements of x, in row-major order, in another shape. One dimension may be MICA_DYNAMIC: it is computed. */
MICA_API mica_value mica_reshape(mica_value x, mica_shape shape);
/* Axis k of y is axis axes[k] of x; MICA_ALL_AXES reverses the axes. */
MICA_API mica_value mica_transpose(mica_value x, mica_axes axes);
/* Broadcasts x to the shape that broadcasting x's shape with `shape` gives. MICA_DYNAMIC means x's own extent. */
MICA_API mica_value mica_expand(mica_value x, mica_shape shape);

/* Elements start, start + step, ... before stop along one axis, as in Python: negative indices count from the end,
 * indices out of range are clamped, and step may be negative. stop = MICA_END: to the end in step's direction. The axis
 * must not be dynamic. */
#define MICA_END INT64_MIN
MICA_API mica_value mica_slice(mica_value x, int32_t axis, int64_t start, int64_t stop, int64_t step);
/* Reverses the order along axes. */
MICA_API mica_value mica_flip(mica_value x, mica_axes axes);
/* Concatenates values along an axis. Dtypes and other axes must agree. count 0 returns the null value and sets
 * mica_error_message, because there is no graph to record the error. */
MICA_API mica_value mica_concat(const mica_value *values, size_t count, int32_t axis);
/* Splits an axis: parts[i] receives the next sizes[i] elements. The sizes must add up to the extent. */
MICA_API void mica_split(mica_value x, int32_t axis, const int64_t *sizes, size_t count, mica_value *parts);

/* Padding of a b c d. CONSTANT: a value; REFLECT: d c b | a b c d | c b a; EDGE: a a a | a b c d | d d d; WRAP: b c d |
 * a b c d | a b c. */
typedef enum mica_pad_mode {
  MICA_PAD_MODE_CONSTANT,
  MICA_PAD_MODE_REFLECT,
  MICA_PAD_MODE_EDGE,
  MICA_PAD_MODE_WRAP
} mica_pad_mode;
/* Adds before[k] and after[k] elements along axis k; negative numbers remove elements. REFLECT adds fewer than the
 * extent, WRAP at most the extent. Padded axes must not be dynamic. value is for CONSTANT. */
MICA_API mica_value mica_pad(mica_value x, const int64_t *before, const int64_t *after, mica_pad_mode mode,
                             double value);
/* Repeats x repeats[k] times along axis k. */
MICA_API mica_value mica_tile(mica_value x, const int64_t *repeats);
/* Removes axes of extent 1; MICA_ALL_AXES: all of them. */
MICA_API mica_value mica_squeeze(mica_value x, mica_axes axes);
/* Adds axes of extent 1 at these positions of the result. */
MICA_API mica_value mica_unsqueeze(mica_value x, mica_axes axes);
/* Reshapes x to a matrix: axes before `axis` form the rows, the others the columns. axis may be the rank. */
MICA_API mica_value mica_flatten(mica_value x, int32_t axis);
/* x (N, C b b, H, W) to y (N, C, H b, W b), with b = block:
 *
 *   y[n, c, h b + i, w b + j] = x[n, (i b + j) C + c, h, w]
 *   y[n, c, h b + i, w b + j] = x[n, c b b + i b + j, h, w]    with columns_first (pixel shuffle) */
MICA_API mica_value mica_depth_to_space(mica_value x, int32_t block, bool columns_first);
/* (N, C, H b, W b) to (N, b b C, H, W): the inverse of mica_depth_to_space without columns_first. */
MICA_API mica_value mica_space_to_depth(mica_value x, int32_t block);

/* --- indexing --- */

/* Indices are i32 or i64. Negative ones count from the end. For an index that is out of range, gathers give 0 and
 * scatters write nothing. */

/* 0, 1, ... count - 1. MICA_E_OVERFLOW: the dtype cannot represent all of them exactly. */
MICA_API mica_value mica_range(mica_graph *graph, mica_dtype dtype, int64_t count);
/* y[o..., j..., i...] = x[o..., indices[j...], i...]: the axes of indices replace the axis. */
MICA_API mica_value mica_gather(mica_value x, mica_value indices, int32_t axis);
/* mica_gather along axis 0: rows of a table. The backward pass sums rows of equal indices in a fixed order. */
MICA_API mica_value mica_embedding(mica_value table, mica_value indices);
/* y[o, j, i] = x[o, indices[o, j, i], i]. x and indices have equal shapes except for the axis. */
MICA_API mica_value mica_gather_elements(mica_value x, mica_value indices, int32_t axis);
/* indices (..., k): y[...] = x[indices[..., 0], ... indices[..., k - 1]], with the remaining axes of x. */
MICA_API mica_value mica_gather_nd(mica_value x, mica_value indices);

/* How updates combine with existing elements. SET replaces them; the last update wins. SET takes any dtype, the others
 * only numbers. Only SET and ADD have gradients; the gradient of SET is correct if no index occurs twice. */
typedef enum mica_scatter {
  MICA_SCATTER_SET,
  MICA_SCATTER_ADD,
  MICA_SCATTER_MUL,
  MICA_SCATTER_MAX,
  MICA_SCATTER_MIN,
} mica_scatter;
/* Returns a copy of x in which element [o, indices[o, j, i], i] is combined with updates[o, j, i], in ascending j.
 * updates has the shape of indices. The other axes of indices may be smaller than x's, unless x's are dynamic. */
MICA_API mica_value mica_scatter_elements(mica_value x, mica_value indices, mica_value updates, int32_t axis,
                                          mica_scatter how);
/* indices (..., k): returns a copy of x in which element [indices[..., 0], ... indices[..., k - 1]] is combined with
 * updates[...]. */
MICA_API mica_value mica_scatter_nd(mica_value x, mica_value indices, mica_value updates, mica_scatter how);
/* Returns a copy of x with `values` at elements start, start + step, ... along one axis, as after Python's x[:,
 * start::step] = values. A negative start counts from the end. The extent of values along the axis is the number of
 * elements; all must be inside x. The axis must not be dynamic; other axes must be equal. As with all scatters, only
 * changed elements are written if the result is assigned to the parameter x. */
MICA_API mica_value mica_slice_assign(mica_value x, mica_value values, int32_t axis, int64_t start, int64_t step);
/* Adds an axis of extent `depth` at `axis` of the result: `on` at the index, `off` elsewhere; both are scalars of one
 * dtype. Indices are i32 or i64. Negative ones count from the end; an index that is out of range gives only `off`. */
MICA_API mica_value mica_one_hot(mica_value indices, int64_t depth, int32_t axis, mica_value off, mica_value on);
/* The k largest or smallest elements along an axis: the largest or smallest first, equal elements in their order in x,
 * and NaN before all others. The indices are i64. */
typedef struct mica_top_k_results {
  mica_value values, indices;
} mica_top_k_results;
MICA_API mica_top_k_results mica_top_k(mica_value x, int64_t k, int32_t axis, bool smallest);

/* --- matrices --- */

/* NumPy's matmul: (..., M, K) times (..., K, N) is (..., M, N); leading axes broadcast. A vector on the left is a row,
 * on the right a column; its axis is then removed. Number: floats are summed in f32 (f64 for f64); integers wrap. */
MICA_API mica_value mica_matmul(mica_value a, mica_value b);
/* Determinant of each matrix of (..., n, n), by elimination with partial pivoting, in f32 (f64 for f64); 1 for n = 0.
 * Float; no gradient. */
MICA_API mica_value mica_determinant(mica_value x);
/* alpha a b + beta c. c broadcasts; null: alpha a b. Transpose operands with mica_transpose. */
MICA_API mica_value mica_gemm(mica_value a, mica_value b, mica_value c, double alpha, double beta);
/* Einstein summation, such as "ij,jk->ik". A letter names an axis; letters missing from the output are summed over.
 * Without an arrow, the output has the letters that occur once, in alphabetical order. "..." means axes without
 * letters, which broadcast; without an arrow they come first. A letter twice in a term takes the diagonal of axes that
 * are not dynamic. At most 16 terms. Number. If count is 0 or all values are null, it returns the null value and sets
 * mica_error_message, because there is no graph to record the error. */
MICA_API mica_value mica_einsum(const char *equation, const mica_value *values, size_t count);

/* --- normalisation of rows --- */

/* Statistics are f32 for 16-bit types. An epsilon must be finite and not negative, else MICA_E_INVALID. */

/* e^x / sum e^x along an axis, without overflow. */
MICA_API mica_value mica_softmax(mica_value x, int32_t axis);
/* Logarithm of mica_softmax. */
MICA_API mica_value mica_log_softmax(mica_value x, int32_t axis);
/* (x - mean) / sqrt(variance + epsilon) scale + bias over the axes from `axis` on. scale and bias have the shape of
 * these axes and may be null. Ba et al. 2016. */
MICA_API mica_value mica_layer_norm(mica_value x, int32_t axis, mica_value scale, mica_value bias, double epsilon);
/* x / sqrt(mean of x x + epsilon) scale over the axes from `axis` on; scale may be null. Zhang and Sennrich 2019. */
MICA_API mica_value mica_rms_norm(mica_value x, int32_t axis, mica_value scale, double epsilon);

/* --- normalisation of channels --- */

/* x is (N, C, ...). Parameters per channel are (C). For 16-bit types, statistics are f32, and parameters may be f32 or
 * x's dtype. */

/* (x - mean) / sqrt(variance + epsilon) scale + bias with given statistics. All are (C); scale and bias may be null. */
MICA_API mica_value mica_batch_norm(mica_value x, mica_value scale, mica_value bias, mica_value mean,
                                    mica_value variance, double epsilon);
/* Batch norm with the statistics of this batch, over all axes but 1. *mean and *variance (may be NULL) receive them:
 * (C), f32 for 16-bit types. The variance is biased: divided by the count n = N H W. For running statistics, the
 * unbiased variance is usual: n / (n - 1) times as large. Running statistics are parameters that the graph assigns:
 *
 *   mica_assign(running, mica_add(mica_affine(running, 1 - momentum, 0), mica_affine(mean, momentum, 0)));
 *
 * Ioffe and Szegedy 2015. */
MICA_API mica_value mica_batch_norm_train(mica_value x, mica_value scale, mica_value bias, double epsilon,
                                          mica_value *mean, mica_value *variance);
/* Instance norm: statistics per channel and image. Ulyanov et al. 2016. */
MICA_API mica_value mica_instance_norm(mica_value x, mica_value scale, mica_value bias, double epsilon);
/* Group norm: statistics per image and group of C / groups channels; C must not be dynamic. Wu and He 2018. */
MICA_API mica_value mica_group_norm(mica_value x, mica_value scale, mica_value bias, int64_t groups, double epsilon);
/* For channel c: x / (k + alpha / size sum x x)^beta. The sum is over `size` channels starting at c - floor((size - 1)
 * / 2); channels that do not exist add nothing. Krizhevsky et al. 2012. */
MICA_API mica_value mica_local_response_norm(mica_value x, int64_t size, double alpha, double beta, double k);

/* --- windows --- */

/* x is (N, C, spatial...) with one to three spatial axes. See mica/window.h for the configurations. */

/* Convolution by the formula of mica/conv.h, plus b (K) per channel unless b is null. */
MICA_API mica_value mica_conv(mica_value x, mica_value w, mica_value b, const mica_conv_config *config);
/* Transposed convolution: x (N, K, ...), w (K, C / groups, ...), b (C) or null, y (N, C, ...) with extents
 *
 *   (X - 1) stride - 2 pad - pad_more + (S - 1) dilation + 1 + output_pad
 *
 * which mica_conv with this config maps to x's shape. */
MICA_API mica_value mica_conv_transpose(mica_value x, mica_value w, mica_value b, const mica_conv_config *config);

/* Maximum per window; NaN if the window contains a NaN; the dtype's lowest value for a window without elements. Number.
 * The gradient goes to the first maximum. */
MICA_API mica_value mica_max_pool(mica_value x, const mica_pool_config *config);
/* Index (i64) of the first maximum in its plane (D, H, W), row-major without padding; D H W for a window without
 * elements. (ONNX's indices also count the planes before.) */
MICA_API mica_value mica_max_pool_indices(mica_value x, const mica_pool_config *config);
/* Mean per window; 0 for a window without elements. Float. */
MICA_API mica_value mica_average_pool(mica_value x, const mica_pool_config *config);
/* (sum |x|^p)^(1/p) per window. Float. Where the result is 0, the gradient is not finite, unless p is 1. */
MICA_API mica_value mica_lp_pool(mica_value x, const mica_pool_config *config);
/* Pool over all spatial axes, which stay with extent 1. p = 0 means 2. */
MICA_API mica_value mica_global_average_pool(mica_value x);
MICA_API mica_value mica_global_max_pool(mica_value x);
MICA_API mica_value mica_global_lp_pool(mica_value x, double p);
/* sizes[i] outputs along spatial axis i: output o of m covers elements floor(o n / m) to ceil((o + 1) n / m), end
 * excluded. */
MICA_API mica_value mica_adaptive_average_pool(mica_value x, const int64_t *sizes);
MICA_API mica_value mica_adaptive_max_pool(mica_value x, const int64_t *sizes);

/* --- resizing --- */

typedef enum mica_resize_mode {
  MICA_RESIZE_MODE_NEAREST,
  MICA_RESIZE_MODE_LINEAR,
  MICA_RESIZE_MODE_CUBIC
} mica_resize_mode;
/* Source coordinate of output o of m on an axis of n elements, as in ONNX; s is the scale. */
typedef enum mica_resize_coordinates {
  MICA_RESIZE_COORDINATES_HALF_PIXEL,           /* (o + 1/2) / s - 1/2 */
  MICA_RESIZE_COORDINATES_HALF_PIXEL_SYMMETRIC, /* HALF_PIXEL, but centred if m is not n s */
  MICA_RESIZE_COORDINATES_PYTORCH_HALF_PIXEL,   /* HALF_PIXEL, but 0 if m is 1 */
  MICA_RESIZE_COORDINATES_ALIGN_CORNERS,        /* o (n - 1) / (m - 1), 0 if m is 1 */
  MICA_RESIZE_COORDINATES_ASYMMETRIC,           /* o / s */
  MICA_RESIZE_COORDINATES_TF_HALF_PIXEL,        /* (o + 1/2) / s */
  MICA_RESIZE_COORDINATES_TF_CROP,              /* from crop_start (n - 1) to crop_end (n - 1), corners aligned */
} mica_resize_coordinates;
typedef enum mica_resize_nearest {
  MICA_RESIZE_NEAREST_ROUND_PREFER_FLOOR,
  MICA_RESIZE_NEAREST_ROUND_PREFER_CEIL,
  MICA_RESIZE_NEAREST_FLOOR,
  MICA_RESIZE_NEAREST_CEIL,
} mica_resize_nearest;

/* Element k of the arrays is for axis k. An axis without scale and size does not change. */
typedef struct mica_resize_config {
  mica_resize_mode mode;
  mica_resize_coordinates coordinates;
  mica_resize_nearest nearest;      /* NEAREST */
  int64_t size[MICA_MAX_RANK];      /* 0: floor(n scale) */
  double scale[MICA_MAX_RANK];      /* 0: size / n */
  double cubic_a;                   /* CUBIC; 0: -0.75. Keys 1981 has -0.5 */
  bool exclude_outside;             /* ignore elements beyond the edges; false: repeat the edge */
  bool antialias;                   /* LINEAR, CUBIC: widen the filter by 1 / s if the axis shrinks */
  double crop_start[MICA_MAX_RANK]; /* TF_CROP */
  double crop_end[MICA_MAX_RANK];
  double extrapolation; /* TF_CROP: value outside the elements */
} mica_resize_config;

/* Resizes each axis of x independently. NEAREST: any dtype; others: float. */
MICA_API mica_value mica_resize(mica_value x, const mica_resize_config *config);

/* --- random numbers --- */

/* Philox4x32-10. Numbers depend only on seed, position in the graph, step and element, so runs are repeatable. step is
 * one i32 or i64: an input, or a parameter that counts. Results have like's shape. No gradient. */

/* Uniform in [low, high), of like's dtype. */
MICA_API mica_value mica_random_uniform(mica_value step, mica_value like, uint64_t seed, double low, double high);
/* Normal distribution, of like's dtype. */
MICA_API mica_value mica_random_normal(mica_value step, mica_value like, uint64_t seed, double mean, double deviation);
/* bool, true with this probability. */
MICA_API mica_value mica_random_bernoulli(mica_value step, mica_value like, uint64_t seed, double probability);
/* 0 with probability `rate`, else x / (1 - rate); 0 <= rate < 1. Srivastava et al. 2014. */
MICA_API mica_value mica_dropout(mica_value x, mica_value step, uint64_t seed, double rate);

/* --- losses --- */

/* Computed in f32 for 16-bit types. */

typedef enum mica_loss_reduction {
  MICA_LOSS_REDUCTION_MEAN,
  MICA_LOSS_REDUCTION_SUM,
  MICA_LOSS_REDUCTION_NONE
} mica_loss_reduction;

typedef struct mica_cross_entropy_config {
  /* MEAN divides by the sum of the weights of samples that are not ignored; with probabilities, by the number of
   * samples */
  mica_loss_reduction reduction;
  double label_smoothing; /* e: mixes the target with the uniform distribution, (1 - e) to e; Szegedy et al. 2016 */
  mica_value weights;     /* (C), one weight per class; null: 1 */
  bool ignore;            /* ignore samples of class `ignored`; for indices only */
  int64_t ignored;
} mica_cross_entropy_config;

/* -log softmax(logits)[target]. logits (N, C, ...) with classes on axis 1. target: i32 or i64 indices (N, ...), or
 * float probabilities of logits' shape. An index outside 0 to C - 1 that is not `ignored`, such as the -1 of a CLASS
 * column, is a sample without a target: its loss is 0 (except for label_smoothing), and MEAN counts it unless there are
 * weights. config may be NULL. */
MICA_API mica_value mica_cross_entropy(mica_value logits, mica_value target, const mica_cross_entropy_config *config);
/* Cross entropy of log probabilities. */
MICA_API mica_value mica_nll(mica_value log_probabilities, mica_value target, const mica_cross_entropy_config *config);
/* (a - b)^2; and |a - b|. */
MICA_API mica_value mica_mse(mica_value a, mica_value b, mica_loss_reduction reduction);
MICA_API mica_value mica_mae(mica_value a, mica_value b, mica_loss_reduction reduction);
/* Huber loss: with d = a - b, d d / 2 if |d| <= delta, else delta (|d| - delta / 2). delta must be finite and positive.
 */
MICA_API mica_value mica_huber(mica_value a, mica_value b, double delta, mica_loss_reduction reduction);
/* -(w t log s + (1 - t) log(1 - s)) with s = sigmoid(logits), t the target in [0, 1], w positive_weight, finite and not
 * negative. */
MICA_API mica_value mica_bce_with_logits(mica_value logits, mica_value target, double positive_weight,
                                         mica_loss_reduction reduction);
/* sum(a b) / max(|a| |b|, epsilon) along an axis, which is removed. epsilon must be finite and not negative. */
MICA_API mica_value mica_cosine_similarity(mica_value a, mica_value b, int32_t axis, double epsilon);
/* p (log p - log_q); 0 if p is 0. */
MICA_API mica_value mica_kl_divergence(mica_value log_q, mica_value p, mica_loss_reduction reduction);

MICA_END_DECLS

#ifdef __cplusplus
/* MICA_AXES in C++. Builders refuse more than MICA_MAX_RANK axes. */
static inline mica_axes mica_axes_of(std::initializer_list<int32_t> axes) {
  mica_axes of{};
  for (int32_t axis : axes) {
    if (of.count < MICA_MAX_RANK) of.axis[of.count] = axis;
    of.count++;
  }
  return of;
}
#endif

#endif
