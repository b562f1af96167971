/* Window functions, Fourier transforms and mel filter banks. A transform is a product with a matrix of cosines and
 * sines; its cost is n m for n elements and m frequencies. */
#include "onnx/ops/family.h"

#include <math.h>
#include <string.h>

#define PI 3.14159265358979323846
/* Limit on the elements of a matrix of cosines, and of a window. */
#define MOST_ELEMENTS (1 << 24)

/* Makes a constant of type `dtype` from doubles. */
static mica_value constant(mica__lowering *l, const double *values, mica_shape shape, mica_dtype dtype) {
  return mica_cast(mica_constant(mica__lower_graph(l), MICA_F64, shape, values), dtype);
}

/* --- windows --- */

/* a0 - a1 cos(2 pi i / n) + a2 cos(4 pi i / n), where n is the size, or one less if the window is symmetric. */
MICA__LOWER(window) {
  mica__integers size;
  mica_dtype dtype = MICA_F32;
  bool hann = !strcmp(node->op, "HannWindow"), hamming = !strcmp(node->op, "HammingWindow");
  double a0 = hann ? 0.5 : hamming ? 25.0 / 46 : 0.42, a1 = hann ? 0.5 : hamming ? 1 - 25.0 / 46 : 0.5;
  double a2 = hann || hamming ? 0 : 0.08;
  if (!mica__lower_integers(l, node, 0, &size)) return MICA_OK;
  const int64_t type = mica__onnx_int(node, "output_datatype", 1);
  if (!mica__lower_dtype(l, type, &dtype))
    return mica__lower_fail(l, node, MICA_E_UNSUPPORTED, "elements of type %s (output_datatype %lld) are not supported",
                            mica__onnx_type_name(type), (long long)type);
  if (size.count != 1)
    return mica__lower_fail(l, node, MICA_E_INVALID, "size has %lld numbers, but must have 1", (long long)size.count);
  if (size.values[0] < 0 || size.values[0] > MOST_ELEMENTS)
    return mica__lower_fail(l, node, MICA_E_INVALID, "size is %lld, but must be 0 to %d", (long long)size.values[0],
                            MOST_ELEMENTS);
  int64_t n = size.values[0];
  double period = (double)(mica__onnx_int(node, "periodic", 1) ? n : n - 1);
  double *values = mica__lower_room(l, (size_t)n + 1, sizeof *values);
  if (!values) return MICA_E_NOMEM;
  for (int64_t i = 0; i < n; i++) {
    double angle = period > 0 ? 2 * PI * (double)i / period : 0;
    values[i] = a0 - a1 * cos(angle) + a2 * cos(2 * angle);
  }
  return give(l, node, constant(l, values, MICA_SHAPE(n), dtype));
}

/* --- transforms --- */

/* Makes a matrix (n, m) with cos(2 pi i k / period) in row i and column k or, if `sine`, -sign sin(2 pi i k / period).
 * Returns null, with an error recorded, if the matrix is too large. */
static mica_value waves(mica__lowering *l, const mica__onnx_node *node, int64_t n, int64_t period, int64_t m, bool sine,
                        double sign, mica_dtype dtype) {
  int64_t count = 0;
  if (!mica__lower_product(l, node, n, m, MOST_ELEMENTS, &count)) return (mica_value){0};
  double *values = mica__lower_room(l, (size_t)count + 1, sizeof *values);
  if (!values) return (mica_value){0};
  for (int64_t i = 0; i < n; i++)
    for (int64_t k = 0; k < m; k++) {
      double angle = 2 * PI * (double)(i * k % period) / (double)period;
      values[i * m + k] = sine ? -sign * sin(angle) : cos(angle);
    }
  return constant(l, values, MICA_SHAPE(n, m), dtype);
}

/* Transforms the n real or complex elements along the last axis but one of x (..., n, 1 or 2) to m frequencies (..., m,
 * 2). The inverse transform divides by `period`, the length of the whole transform. */
static mica_value transform(mica__lowering *l, const mica__onnx_node *node, mica_value x, int64_t period, int64_t m,
                            bool inverse) {
  mica_shape s = mica_value_shape(x);
  int32_t last = s.rank - 1;
  mica_dtype dtype = mica_value_dtype(x);
  mica_shape row = s;
  if (!x.graph) return x;
  row.rank--;
  double sign = inverse ? -1 : 1;
  mica_value cosine = waves(l, node, s.dim[last - 1], period, m, false, sign, dtype);
  mica_value sine = waves(l, node, s.dim[last - 1], period, m, true, sign, dtype);
  if (!cosine.graph || !sine.graph) return (mica_value){0};
  mica_value real = mica_reshape(mica_slice(x, last, 0, 1, 1), row);
  mica_value re = mica_matmul(real, cosine), im = mica_matmul(real, sine);
  if (s.dim[last] == 2) {
    mica_value imaginary = mica_reshape(mica_slice(x, last, 1, 2, 1), row);
    re = mica_sub(re, mica_matmul(imaginary, sine));
    im = mica_add(im, mica_matmul(imaginary, cosine));
  }
  mica_value parts[] = {mica_unsqueeze(re, MICA_AXES(-1)), mica_unsqueeze(im, MICA_AXES(-1))};
  mica_value y = mica_concat(parts, 2, last);
  return inverse ? mica_affine(y, 1 / (double)period, 0) : y;
}

/* Completes the first m frequencies of a spectrum (..., m, 2) to n: frequency n - k is the conjugate of frequency k. If
 * m >= n, cuts the spectrum to n frequencies instead. */
static mica_value mirrored(mica_value x, int64_t n) {
  if (!x.graph) return x;
  mica_shape s = mica_value_shape(x);
  int32_t last = s.rank - 1;
  int64_t have = s.dim[last - 1];
  if (have >= n) return mica_slice(x, last - 1, 0, n, 1);
  mica_value rest = mica_slice(x, last - 1, n - have, 0, -1);
  mica_value parts[] = {mica_slice(rest, last, 0, 1, 1), mica_neg(mica_slice(rest, last, 1, 2, 1))};
  return mica_concat((mica_value[]){x, mica_concat(parts, 2, last)}, 2, last - 1);
}

/* Makes the last axis but one of x n elements long: cuts it, or appends zeros. */
static mica_value resized(mica_value x, int64_t n) {
  if (!x.graph) return x;
  int64_t before[MICA_MAX_RANK] = {0}, after[MICA_MAX_RANK] = {0};
  int32_t axis = mica_value_shape(x).rank - 2;
  after[axis] = n - mica_value_shape(x).dim[axis];
  return after[axis] ? mica_pad(x, before, after, MICA_PAD_MODE_CONSTANT, 0) : x;
}

/* The order of axes with `axis` and the last but one exchanged. */
static mica_axes exchanged(int32_t rank, int64_t axis) {
  mica_axes axes = {.count = rank};
  for (int32_t i = 0; i < rank; i++) axes.axis[i] = i == axis ? rank - 2 : i == rank - 2 ? (int32_t)axis : i;
  return axes;
}

/* The axis is an attribute before version 20, and operand 2 since. */
MICA__LOWER(dft) {
  mica__integers length, given = {0};
  mica_value x = x_of(l, node);
  int64_t axis = node->version < 20 ? mica__onnx_int(node, "axis", 1) : -2;
  if (!mica__lower_integers(l, node, 1, &length)) return MICA_OK;
  if (node->version >= 20 && !mica__lower_integers(l, node, 2, &given)) return MICA_OK;
  if (given.count) axis = given.values[0];
  int32_t rank = mica_value_shape(x).rank;
  if (!x.graph || !mica__lower_axis(l, node, rank, &axis)) return MICA_OK;
  int64_t parts = mica_value_shape(x).dim[rank - 1];
  char text[MICA_SHAPE_TEXT];
  if (rank < 2 || parts < 1 || parts > 2)
    return mica__lower_fail(l, node, MICA_E_SHAPE, "the input is %s, but must be (..., n, 1) or (..., n, 2)",
                            mica_shape_format(mica_value_shape(x), text));
  if (axis == rank - 1)
    return mica__lower_fail(l, node, MICA_E_SHAPE,
                            "the axis is %lld, the last one, but must be another; the last axis holds the real and "
                            "imaginary parts",
                            (long long)axis);
  bool inverse = mica__onnx_int(node, "inverse", 0), half = mica__onnx_int(node, "onesided", 0);
  mica_axes order = exchanged(rank, axis);
  if (axis != rank - 2) x = mica_transpose(x, order);
  if (!x.graph) return MICA_OK;
  int64_t own = mica_value_shape(x).dim[rank - 2];
  int64_t n = length.count ? length.values[0] : inverse && half ? 2 * (own - 1) : own;
  if (n < 1 || n > MOST_ELEMENTS)
    return mica__lower_fail(l, node, MICA_E_INVALID,
                            "the transform has %lld elements, but must have a known number of 1 to %d", (long long)n,
                            MOST_ELEMENTS);
  if (inverse && half)
    x = mirrored(x, n);
  else
    x = resized(x, n);
  mica_value y = transform(l, node, x, n, half && !inverse ? n / 2 + 1 : n, inverse);
  if (inverse && half && y.graph) y = mica_slice(y, rank - 1, 0, 1, 1);
  if (axis != rank - 2 && y.graph) y = mica_transpose(y, order);
  return give(l, node, y);
}

/* Cuts the signal (batch, n, 1 or 2) into frames, multiplies each by the window and transforms it: (batch, frames,
 * frequencies, 2). A signal (batch, n) is real, as in onnxruntime. */
MICA__LOWER(stft) {
  mica__integers step, length = {0};
  mica_value x = x_of(l, node), window = {0};
  if (mica__lower_has(l, node, 2)) window = mica__lower_operand(l, node, 2);
  if (!mica__lower_integers(l, node, 1, &step) || !mica__lower_integers(l, node, 3, &length) || !x.graph)
    return MICA_OK;
  if (mica_value_shape(x).rank == 2) x = mica_unsqueeze(x, MICA_AXES(2));
  mica_shape s = mica_value_shape(x);
  int64_t width = length.count ? length.values[0] : window.graph ? mica_value_shape(window).dim[0] : 0;
  char text[MICA_SHAPE_TEXT];
  if (s.rank != 3 || s.dim[2] < 1 || s.dim[2] > 2)
    return mica__lower_fail(l, node, MICA_E_SHAPE, "the signal is %s, but must be (batch, n) or (batch, n, 1 or 2)",
                            mica_shape_format(s, text));
  if (step.count != 1)
    return mica__lower_fail(l, node, MICA_E_SHAPE, "frame_step has %lld numbers, but must have 1",
                            (long long)step.count);
  if (step.values[0] < 1)
    return mica__lower_fail(l, node, MICA_E_SHAPE, "frame_step is %lld, but must be at least 1",
                            (long long)step.values[0]);
  if (width < 1 || width > s.dim[1])
    return mica__lower_fail(l, node, MICA_E_SHAPE,
                            "the frame length (frame_length, or the length of window) is %lld, but must be 1 to %lld, "
                            "the length of the signal; -1 means not known",
                            (long long)width, (long long)s.dim[1]);
  int64_t frames = (s.dim[1] - width) / step.values[0] + 1, half = mica__onnx_int(node, "onesided", 1);
  if (!mica__lower_positions(l, node, frames) || !mica__lower_positions(l, node, width)) return MICA_OK;
  mica_graph *graph = mica__lower_graph(l);
  mica_value begin = mica_range(graph, MICA_I64, frames), at = mica_range(graph, MICA_I64, width);
  begin = mica_reshape(mica_mul(begin, mica__lower_number(begin, (double)step.values[0])), MICA_SHAPE(frames, 1));
  mica_value framed = mica_gather(x, mica_add(begin, at), 1);
  if (window.graph) framed = mica_mul(framed, mica_reshape(window, MICA_SHAPE(width, 1)));
  return give(l, node, transform(l, node, framed, width, half ? width / 2 + 1 : width, false));
}

/* --- mel --- */

static double mel_of(double hertz) { return 2595 * log10(1 + hertz / 700); }
static double hertz_of(double mel) { return 700 * (pow(10, mel / 2595) - 1); }

/* Makes a mel filter bank (frequencies, triangles): triangular filters whose corners are equally spaced on the mel
 * scale. */
MICA__LOWER(mel_weights) {
  static const char *const names[] = {"num_mel_bins", "dft_length", "sample_rate"};
  mica__integers counts[3];
  mica__reals edges[2];
  mica_dtype dtype = MICA_F32;
  for (int32_t k = 0; k < 3; k++)
    if (!mica__lower_integers(l, node, k, &counts[k])) return MICA_OK;
  for (int32_t k = 0; k < 2; k++)
    if (!mica__lower_reals(l, node, 3 + k, &edges[k])) return MICA_OK;
  const int64_t type = mica__onnx_int(node, "output_datatype", 1);
  if (!mica__lower_dtype(l, type, &dtype))
    return mica__lower_fail(l, node, MICA_E_UNSUPPORTED, "elements of type %s (output_datatype %lld) are not supported",
                            mica__onnx_type_name(type), (long long)type);
  for (int k = 0; k < 3; k++) {
    if (counts[k].count != 1)
      return mica__lower_fail(l, node, MICA_E_INVALID, "%s has %lld numbers, but must have 1", names[k],
                              (long long)counts[k].count);
    if (counts[k].values[0] < 1 || counts[k].values[0] > 1 << 20)
      return mica__lower_fail(l, node, MICA_E_INVALID, "%s is %lld, but must be 1 to 2^20", names[k],
                              (long long)counts[k].values[0]);
  }
  if (edges[0].count != 1 || edges[1].count != 1)
    return mica__lower_fail(l, node, MICA_E_INVALID,
                            "lower_edge_hertz has %lld numbers and upper_edge_hertz %lld, but each must have 1",
                            (long long)edges[0].count, (long long)edges[1].count);
  int64_t triangles = counts[0].values[0], bins = counts[1].values[0] / 2 + 1;
  double low = mel_of(edges[0].values[0]), step = (mel_of(edges[1].values[0]) - low) / (double)(triangles + 2);
  int64_t count = 0;
  if (!mica__lower_product(l, node, triangles, bins, MOST_ELEMENTS, &count)) return MICA_OK;
  double *values = mica__lower_room(l, (size_t)count, sizeof *values);
  if (!values) return MICA_E_NOMEM;
  for (int64_t triangle = 0; triangle < triangles; triangle++) {
    double corner[3];
    for (int c = 0; c < 3; c++)
      corner[c] = floor((double)(counts[1].values[0] + 1) * hertz_of(low + step * (double)(triangle + c)) /
                        (double)counts[2].values[0]);
    for (int64_t bin = 0; bin < bins; bin++) {
      double at = (double)bin, *value = &values[bin * triangles + triangle];
      if (corner[1] == corner[0]) {
        if (at == corner[1]) *value = 1;
      } else if (at >= corner[0] && at <= corner[1]) {
        *value = (at - corner[0]) / (corner[1] - corner[0]);
      }
      if (corner[2] != corner[1] && at >= corner[1] && at < corner[2])
        *value = (corner[2] - at) / (corner[2] - corner[1]);
    }
  }
  return give(l, node, constant(l, values, MICA_SHAPE(bins, triangles), dtype));
}
