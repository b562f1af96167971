/* mica/nodes.h: the builders of a graph's values (see mica/graph.h).
 *
 * Letters: x, a, b, c are values, y is the result. Shapes are inferred, dtypes of operands must agree unless said
 * otherwise, and operands broadcast where the op is pointwise. "float" stands for f32 f16 bf16 f64, "integer" for i8
 * i16 i32 i64 u8 u16 u32 u64, whose arithmetic wraps, "number" for both. Every op whose result is a float has gradients
 * of any order, unless said otherwise.
 * Builders are sticky: given a null value they return a null value. Threads: as mica/graph.h. */
#ifndef MICA_NODES_H
#define MICA_NODES_H

#include <mica/graph.h>
#include <mica/window.h>

MICA_BEGIN_DECLS

/* --- pointwise: one operand --- */

/* name, y[i] =. The result has x's type. NaN and infinities go as IEEE 754 has it. */
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
/* min(max(x, low), high); number. A NaN stays. low <= high, else MICA_E_INVALID; both may be infinite. */
MICA_API mica_value mica_clip(mica_value x, double low, double high);
/* x < 0 ? slope x : x */
MICA_API mica_value mica_leaky_relu(mica_value x, double slope);
/* x < 0 ? alpha (e^x - 1) : x; Clevert et al. 2015 */
MICA_API mica_value mica_elu(mica_value x, double alpha);
/* x < 0 ? alpha (e^(x / alpha) - 1) : x; alpha is not 0. Barron 2017 */
MICA_API mica_value mica_celu(mica_value x, double alpha);
/* x > threshold ? x : 0; Konda et al. 2014 */
MICA_API mica_value mica_thresholded_relu(mica_value x, double threshold);
/* x + bias where x < -threshold, x - bias where x > threshold, 0 between and for NaN: with a bias of 0 the hard
 * shrinkage of Donoho and Johnstone 1994, with that of the threshold the soft one. */
MICA_API mica_value mica_shrink(mica_value x, double threshold, double bias);
/* min(max(scale x + shift, 0), 1); PyTorch's has 1/6 and 1/2, ONNX's 0.2 and 0.5 */
MICA_API mica_value mica_hard_sigmoid(mica_value x, double scale, double shift);
/* x as another type: floats to integers are cut towards zero and saturate, NaN gives 0; integers wrap; bool is x != 0.
 * The gradient is cast back. */
MICA_API mica_value mica_cast(mica_value x, mica_dtype dtype);
/* The bytes of x as another type of the same size, not bool: a byte may be neither 0 nor 1. No gradient. */
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

/* condition ? a : b; condition is bool, a and b have one type, all three broadcast. */
MICA_API mica_value mica_where(mica_value condition, mica_value a, mica_value b);

/* --- reductions --- */

/* Some axes of a value; negative ones count from the end. MICA_AXES(0, -1); no axes at all stand for every one. */
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

/* name, y = over the elements along the axes. keep leaves the axes with extent 1. Results have x's type; sums of
 * integers wrap. Over no elements sums are 0, products 1, and max and min fail with MICA_E_SHAPE. */
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

/* The index of the largest (smallest) element along one axis, the first of equals, a NaN being the largest (smallest),
 * as i64. number. */
MICA_API mica_value mica_argmax(mica_value x, int32_t axis, bool keep);
MICA_API mica_value mica_argmin(mica_value x, int32_t axis, bool keep);

/* y[j] = the sum (product) of x[0 .. j] along an axis; exclusive: without x[j]; reverse: of x[j ..]. number. The
 * gradient of the product divides by x. */
MICA_API mica_value mica_cumsum(mica_value x, int32_t axis, bool exclusive, bool reverse);
MICA_API mica_value mica_cumprod(mica_value x, int32_t axis, bool exclusive, bool reverse);

/* --- layout --- */

/* The elements of x, in row-major order, in another shape. One dimension may be MICA_DYNAMIC: it is what remains. */
MICA_API mica_value mica_reshape(mica_value x, mica_shape shape);
/* y's axis k is x's axis axes[k]; MICA_ALL_AXES reverses them. */
MICA_API mica_value mica_transpose(mica_value x, mica_axes axes);
/* Broadcast to the broadcast of x's shape and this one, in which MICA_DYNAMIC stands for x's own extent. */
MICA_API mica_value mica_expand(mica_value x, mica_shape shape);

/* Elements start, start + step, ... before stop along one axis, as in Python: negative indices count from the end, what
 * lies outside is left out, step may be negative; MICA_END is the end that the step leads to. The axis is not open. */
#define MICA_END INT64_MIN
MICA_API mica_value mica_slice(mica_value x, int32_t axis, int64_t start, int64_t stop, int64_t step);
/* The axes backwards. */
MICA_API mica_value mica_flip(mica_value x, mica_axes axes);
/* The values one after another along an axis; they agree in dtype and in the other axes. Of no values there is no graph
 * to hold the error: the null value, and a sentence in mica_error_message. */
MICA_API mica_value mica_concat(const mica_value *values, size_t count, int32_t axis);
/* parts[i] takes the next sizes[i] elements of the axis; the sizes add up to its extent. */
MICA_API void mica_split(mica_value x, int32_t axis, const int64_t *sizes, size_t count, mica_value *parts);

/* Padding beyond the edges of a b c d. CONSTANT: a value; REFLECT: d c b | a b c d | c b a; EDGE: a a a | a b c d |
 * d d d; WRAP: b c d | a b c d | a b c. */
typedef enum mica_pad_mode {
  MICA_PAD_MODE_CONSTANT,
  MICA_PAD_MODE_REFLECT,
  MICA_PAD_MODE_EDGE,
  MICA_PAD_MODE_WRAP
} mica_pad_mode;
/* before[k] and after[k] elements more along axis k; negative ones cut. REFLECT adds less than the extent, WRAP at most
 * the extent. Padded axes are not open. value is for CONSTANT. */
MICA_API mica_value mica_pad(mica_value x, const int64_t *before, const int64_t *after, mica_pad_mode mode,
                             double value);
/* x repeats[k] times along axis k. */
MICA_API mica_value mica_tile(mica_value x, const int64_t *repeats);
/* Drops these axes, which have extent 1; MICA_ALL_AXES: without all such axes. */
MICA_API mica_value mica_squeeze(mica_value x, mica_axes axes);
/* Adds axes of extent 1, named by their positions in the result. */
MICA_API mica_value mica_unsqueeze(mica_value x, mica_axes axes);
/* A matrix: the axes before `axis` are its rows, the others its columns. axis may be the rank. */
MICA_API mica_value mica_flatten(mica_value x, int32_t axis);
/* (N, C b b, H, W) to (N, C, H b, W b): channel (i b + j) C + c goes to row i, column j of channel c's blocks;
 * columns_first: channel c b b + i b + j does (pixel shuffle). */
MICA_API mica_value mica_depth_to_space(mica_value x, int32_t block, bool columns_first);
/* (N, C, H b, W b) to (N, b b C, H, W), the reverse of depth_to_space without columns_first. */
MICA_API mica_value mica_space_to_depth(mica_value x, int32_t block);

/* --- indexing: indices are i32 or i64; negative ones count from the end; outside an element reads as 0, and is not
 * written --- */

/* 0, 1, ... count - 1. MICA_E_OVERFLOW unless the dtype holds each of them exactly. */
MICA_API mica_value mica_range(mica_graph *graph, mica_dtype dtype, int64_t count);
/* y[o..., j..., i...] = x[o..., indices[j...], i...]: the axis is replaced by the indices' axes. */
MICA_API mica_value mica_gather(mica_value x, mica_value indices, int32_t axis);
/* mica_gather along axis 0: rows of a table. Its backward sums the rows of equal indices in a fixed order. */
MICA_API mica_value mica_embedding(mica_value table, mica_value indices);
/* y[o, j, i] = x[o, indices[o, j, i], i]; shapes of x and indices are equal beside the axis. */
MICA_API mica_value mica_gather_elements(mica_value x, mica_value indices, int32_t axis);
/* indices (..., k): y[...] = x[indices[..., 0], ... indices[..., k - 1]], with x's further axes. */
MICA_API mica_value mica_gather_nd(mica_value x, mica_value indices);

/* The reduction of an update with the element that is there. SET: the last update stays, any type; the others: number.
 * Only SET and ADD have gradients (that of SET is right where no index occurs twice). */
typedef enum mica_scatter {
  MICA_SCATTER_SET,
  MICA_SCATTER_ADD,
  MICA_SCATTER_MUL,
  MICA_SCATTER_MAX,
  MICA_SCATTER_MIN,
} mica_scatter;
/* x with updates[o, j, i] reduced into [o, indices[o, j, i], i], in rising j. Beside the axis the indices may be
 * smaller than x where that is not open. updates has the indices' shape. */
MICA_API mica_value mica_scatter_elements(mica_value x, mica_value indices, mica_value updates, int32_t axis,
                                          mica_scatter how);
/* indices (..., k): x with updates[...] reduced into x[indices[..., 0], ... indices[..., k - 1]]. */
MICA_API mica_value mica_scatter_nd(mica_value x, mica_value indices, mica_value updates, mica_scatter how);
/* x with values as its elements start, start + step, ... along one axis, as Python's x[:, start::step] = values. A
 * negative start counts from the end; the extent of values says how many, all inside x. The axis is open in neither;
 * beside it both have one shape. Like every scatter it writes only what changes where its result is assigned to the
 * parameter that it reads. */
MICA_API mica_value mica_slice_assign(mica_value x, mica_value values, int32_t axis, int64_t start, int64_t step);
/* A new axis of `depth` at `axis` of the result: `on` at the index, `off` elsewhere; both scalars of one type. Indices
 * of i32 or i64; negative ones count from the end, and those outside have no `on`. */
MICA_API mica_value mica_one_hot(mica_value indices, int64_t depth, int32_t axis, mica_value off, mica_value on);
/* The k largest (smallest) along an axis in order; of equals the first comes first, a NaN is the largest (smallest).
 * The indices are i64. */
typedef struct mica_top_k_results {
  mica_value values, indices;
} mica_top_k_results;
MICA_API mica_top_k_results mica_top_k(mica_value x, int64_t k, int32_t axis, bool smallest);

/* --- matrices --- */

/* NumPy's matmul: (..., M, K) times (..., K, N) gives (..., M, N); leading axes broadcast; a vector on the left is a
 * row, one on the right a column, and that axis is dropped again. Number: floats are summed in f32 (f64 for f64),
 * integers wrap. */
MICA_API mica_value mica_matmul(mica_value a, mica_value b);
/* The determinant of each matrix of (..., n, n), by elimination with partial pivoting, in f32 (f64 for f64); 1 of
 * none. Float; no gradient. */
MICA_API mica_value mica_determinant(mica_value x);
/* alpha a b + beta c; c broadcasts, and may be null: then alpha a b. Transposed operands are mica_transpose. */
MICA_API mica_value mica_gemm(mica_value a, mica_value b, mica_value c, double alpha, double beta);
/* Einstein's summation: "ij,jk->ik": a letter names an axis of each term that has it; letters that the output lacks are
 * summed over. Without an arrow the output has the letters that occur once, in alphabetical order. "..." stands for the
 * axes that have no letter, which broadcast; without an arrow they come first. No letter twice in a term. Float. */
MICA_API mica_value mica_einsum(const char *equation, const mica_value *values, size_t count);

/* --- rows; statistics in f32 for 16-bit types; an epsilon is finite and at least 0, else MICA_E_INVALID --- */

/* e^x / sum e^x along an axis, without overflow. */
MICA_API mica_value mica_softmax(mica_value x, int32_t axis);
/* log of that. */
MICA_API mica_value mica_log_softmax(mica_value x, int32_t axis);
/* (x - mean) / sqrt(variance + epsilon) scale + bias over the axes from `axis` on; scale and bias have their shape and
 * may be null. Ba et al. 2016. */
MICA_API mica_value mica_layer_norm(mica_value x, int32_t axis, mica_value scale, mica_value bias, double epsilon);
/* x / sqrt(mean of x x + epsilon) scale, likewise. Zhang and Sennrich 2019. */
MICA_API mica_value mica_rms_norm(mica_value x, int32_t axis, mica_value scale, double epsilon);

/* --- channels: x is (N, C, ...), one number a channel in (C); in f32 for 16-bit types, where these numbers may be of
 * either type --- */

/* (x - mean) / sqrt(variance + epsilon) scale + bias with given statistics, all (C); scale and bias may be null. */
MICA_API mica_value mica_batch_norm(mica_value x, mica_value scale, mica_value bias, mica_value mean,
                                    mica_value variance, double epsilon);
/* Batch norm with the statistics of this batch, over all axes but 1; *mean and *variance (may be NULL) get them, (C),
 * f32 for 16-bit types. The variance is the biased one, divided by the count n = N H W; the unbiased one that is usual
 * for running statistics is n / (n - 1) times it. Running statistics are parameters that are assigned:
 *
 *   mica_assign(running, mica_add(mica_affine(running, 1 - momentum, 0), mica_affine(mean, momentum, 0)));
 *
 * Ioffe and Szegedy 2015. */
MICA_API mica_value mica_batch_norm_train(mica_value x, mica_value scale, mica_value bias, double epsilon,
                                          mica_value *mean, mica_value *variance);
/* Instance norm: with the statistics of each channel of each image. Ulyanov et al. 2016. */
MICA_API mica_value mica_instance_norm(mica_value x, mica_value scale, mica_value bias, double epsilon);
/* Group norm: with the statistics of each group of C / groups channels of an image. Wu and He 2018. */
MICA_API mica_value mica_group_norm(mica_value x, mica_value scale, mica_value bias, int64_t groups, double epsilon);
/* x / (k + alpha / size sum x x)^beta, the sum being over the `size` channels from c - floor((size - 1) / 2) on, as far
 * as there are such. Krizhevsky et al. 2012. */
MICA_API mica_value mica_local_response_norm(mica_value x, int64_t size, double alpha, double beta, double k);

/* --- windows: x is (N, C, spatial...) with one to three spatial axes --- */

/* y, plus b (K) for each channel unless b is null. */
MICA_API mica_value mica_conv(mica_value x, mica_value w, mica_value b, const mica_conv_config *config);
/* The transposed convolution: x (N, K, ...), w (K, C / groups, ...) and y (N, C, ...) with extents
 * (X - 1) stride - 2 pad - pad_more + (S - 1) dilation + 1 + output_pad: what mica_conv with this config makes x's
 * shape of. b (C) may be null. */
MICA_API mica_value mica_conv_transpose(mica_value x, mica_value w, mica_value b, const mica_conv_config *config);

/* The largest; NaN where there is one; number. A window without elements gives the type's lowest value. The gradient
 * goes to the first of equals. */
MICA_API mica_value mica_max_pool(mica_value x, const mica_pool_config *config);
/* The index of the largest in its plane (D, H, W), the first of equals, row-major without padding, as i64; D H W for a
 * window without elements. (ONNX adds the plane's own first element.) */
MICA_API mica_value mica_max_pool_indices(mica_value x, const mica_pool_config *config);
/* The mean, 0 of a window without elements. Float. */
MICA_API mica_value mica_average_pool(mica_value x, const mica_pool_config *config);
/* (sum |x|^p)^(1/p). Float. Its gradient at 0 is that of the root: not finite. */
MICA_API mica_value mica_lp_pool(mica_value x, const mica_pool_config *config);
/* Over all spatial axes, which stay with extent 1. p of 0 stands for 2. */
MICA_API mica_value mica_global_average_pool(mica_value x);
MICA_API mica_value mica_global_max_pool(mica_value x);
MICA_API mica_value mica_global_lp_pool(mica_value x, double p);
/* So many outputs along each spatial axis: output o of m looks at elements floor(o n / m) to ceil((o + 1) n / m). */
MICA_API mica_value mica_adaptive_average_pool(mica_value x, const int64_t *sizes);
MICA_API mica_value mica_adaptive_max_pool(mica_value x, const int64_t *sizes);

/* --- resizing --- */

typedef enum mica_resize_mode {
  MICA_RESIZE_MODE_NEAREST,
  MICA_RESIZE_MODE_LINEAR,
  MICA_RESIZE_MODE_CUBIC
} mica_resize_mode;
/* Coordinates of output o of m on an axis of n elements, s being the scale: as ONNX defines them. */
typedef enum mica_resize_coordinates {
  MICA_RESIZE_COORDINATES_HALF_PIXEL,           /* (o + 1/2) / s - 1/2 */
  MICA_RESIZE_COORDINATES_HALF_PIXEL_SYMMETRIC, /* half_pixel about the middle, where m is not n s */
  MICA_RESIZE_COORDINATES_PYTORCH_HALF_PIXEL,   /* half_pixel, but 0 where m is 1 */
  MICA_RESIZE_COORDINATES_ALIGN_CORNERS,        /* o (n - 1) / (m - 1), 0 where m is 1 */
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

/* Element k of the arrays is for axis k. An axis of neither scale nor size stays as it is. */
typedef struct mica_resize_config {
  mica_resize_mode mode;
  mica_resize_coordinates coordinates;
  mica_resize_nearest nearest;      /* of NEAREST */
  int64_t size[MICA_MAX_RANK];      /* 0: floor(n scale) */
  double scale[MICA_MAX_RANK];      /* 0: size / n */
  double cubic_a;                   /* of CUBIC; 0: -0.75. Keys 1981 has -0.5 */
  bool exclude_outside;             /* elements beyond the edges weigh nothing; else the edge is repeated */
  bool antialias;                   /* shrinking widens the filter of LINEAR and CUBIC by 1 / s */
  double crop_start[MICA_MAX_RANK]; /* of TF_CROP */
  double crop_end[MICA_MAX_RANK];
  double extrapolation; /* of TF_CROP: the value outside of the elements */
} mica_resize_config;

/* x in other sizes, each axis by itself. NEAREST takes any type, the others floating ones. */
MICA_API mica_value mica_resize(mica_value x, const mica_resize_config *config);

/* --- random numbers: Philox4x32-10; a function of seed, position in the graph, step and element alone, so that a run
 * can be repeated. step is one i32 or i64: an input, or a parameter that counts. Results have like's shape; no gradient
 * --- */

/* Uniform in [low, high), of like's type. */
MICA_API mica_value mica_random_uniform(mica_value step, mica_value like, uint64_t seed, double low, double high);
/* Normally distributed, of like's type. */
MICA_API mica_value mica_random_normal(mica_value step, mica_value like, uint64_t seed, double mean, double deviation);
/* bool, true with that probability. */
MICA_API mica_value mica_random_bernoulli(mica_value step, mica_value like, uint64_t seed, double probability);
/* 0 with probability `rate`, else x / (1 - rate); 0 <= rate < 1. Srivastava et al. 2014. */
MICA_API mica_value mica_dropout(mica_value x, mica_value step, uint64_t seed, double rate);

/* --- losses; in f32 for 16-bit types --- */

typedef enum mica_loss_reduction {
  MICA_LOSS_REDUCTION_MEAN,
  MICA_LOSS_REDUCTION_SUM,
  MICA_LOSS_REDUCTION_NONE
} mica_loss_reduction;

typedef struct mica_cross_entropy_config {
  mica_loss_reduction reduction; /* MEAN divides by the weights of the samples that are not ignored */
  double label_smoothing; /* e: the target is (1 - e) of itself and e of all classes alike; Szegedy et al. 2016 */
  mica_value weights;     /* (C), a weight a class; null for 1 */
  bool ignore;            /* samples of class `ignored` count for nothing */
  int64_t ignored;
} mica_cross_entropy_config;

/* -log softmax(logits)[target]. logits (N, C, ...), classes along axis 1. target: i32 or i64 indices (N, ...), or
 * probabilities of logits' shape and a floating type. An index outside 0 to C - 1 that is not `ignored`, such as the -1
 * of a CLASS column without a class, is a sample without a target: its loss is 0 (but for label_smoothing), and MEAN
 * counts it. config may be NULL. */
MICA_API mica_value mica_cross_entropy(mica_value logits, mica_value target, const mica_cross_entropy_config *config);
/* The cross entropy of log probabilities. */
MICA_API mica_value mica_nll(mica_value log_probabilities, mica_value target, const mica_cross_entropy_config *config);
/* (a - b)^2 and |a - b| */
MICA_API mica_value mica_mse(mica_value a, mica_value b, mica_loss_reduction reduction);
MICA_API mica_value mica_mae(mica_value a, mica_value b, mica_loss_reduction reduction);
/* The Huber loss: with d = a - b, d d / 2 where |d| <= delta, else delta (|d| - delta / 2). delta is
 * finite and above 0. */
MICA_API mica_value mica_huber(mica_value a, mica_value b, double delta, mica_loss_reduction reduction);
/* -(w t log s + (1 - t) log(1 - s)), s = sigmoid(logits), t the target in [0, 1], w the positive weight, finite and
 * at least 0. */
MICA_API mica_value mica_bce_with_logits(mica_value logits, mica_value target, double positive_weight,
                                         mica_loss_reduction reduction);
/* sum(a b) / max(|a| |b|, epsilon) along an axis, which is dropped. epsilon is finite and at least 0. */
MICA_API mica_value mica_cosine_similarity(mica_value a, mica_value b, int32_t axis, double epsilon);
/* p (log p - log_q), 0 where p is 0. */
MICA_API mica_value mica_kl_divergence(mica_value log_q, mica_value p, mica_loss_reduction reduction);

MICA_END_DECLS

#ifdef __cplusplus
/* What MICA_AXES is in C++; more axes than MICA_MAX_RANK are refused by the builder. */
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
