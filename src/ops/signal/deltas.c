/* Changes over time: deltas of features, pre-emphasis of signals. */
#include "base/error.h"
#include "ops/signal/signal.h"

#define MOST_WIDTH 255

/* Sets weights[k] for neighbour k - width / 2. The weighted sum is the derivative of order `order` of the polynomial
 * of that degree that fits the neighbours by least squares; this derivative is constant. */
static void weights_of(int64_t width, int32_t order, double *weights) {
  const int64_t half = width / 2;
  double mean = 0, squares = 0;
  for (int64_t k = -half; order == 2 && k <= half; k++) mean += (double)(k * k) / (double)width;
  for (int64_t k = -half; k <= half; k++) {
    double basis = order == 2 ? (double)(k * k) - mean : (double)k;
    weights[k + half] = basis * order;
    squares += basis * basis;
  }
  for (int64_t k = 0; k < width; k++) weights[k] /= squares;
}

/* Returns the weighted sums of `width` neighbours in rows (R, F). */
static mica_value weighted(mica_value rows, int64_t width, const double *weights, mica_signal_pad pad) {
  mica_value y = mica_matmul(mica_frames(rows, width, 1, pad), mica__signal_matrix("deltas", rows, weights, width, 1));
  return mica_reshape(y, MICA_SHAPE(MICA__COPY_DIM(0), MICA__COPY_DIM(1)));
}

mica_value mica_deltas(mica_value x, int64_t width, int32_t order, mica_delta_style style) {
  const mica_shape shape = mica_value_shape(x);
  char text[MICA_SHAPE_TEXT];
  double weights[MOST_WIDTH];
  if (shape.rank != 3 || shape.dim[1] == MICA_DYNAMIC)
    return mica__builder_fail("deltas", x, MICA_E_SHAPE, "x is %s, but must be (N, C, frames) with C known",
                              mica_shape_format(shape, text));
  if (width < 3 || width > MOST_WIDTH || width % 2 == 0)
    return mica__builder_fail("deltas", x, MICA_E_INVALID, "width is %lld, but must be an odd number from 3 to %d",
                              (long long)width, MOST_WIDTH);
  if (order < 1 || order > 2)
    return mica__builder_fail("deltas", x, MICA_E_INVALID, "order is %d, but must be 1 or 2", (int)order);
  if (!mica__builder_choice("deltas", x, "style", (int64_t)style, MICA_DELTA_STYLE_TORCHAUDIO + 1))
    return (mica_value){0};
  mica_value rows = mica_reshape(mica__widen(x), MICA_SHAPE(MICA_DYNAMIC, MICA__COPY_DIM(2)));
  if (style == MICA_DELTA_STYLE_TORCHAUDIO) {
    weights_of(width, 1, weights);
    for (int32_t i = 0; i < order; i++) rows = weighted(rows, width, weights, MICA_SIGNAL_PAD_EDGE);
  } else {
    const int64_t edges[] = {0, width / 2};
    if (shape.dim[2] == MICA_DYNAMIC || shape.dim[2] < width)
      return mica__builder_fail("deltas", x, MICA_E_SHAPE,
                                "x is %s, but must have a known number of frames, at least width (%lld)",
                                mica_shape_format(shape, text), (long long)width);
    weights_of(width, order, weights);
    rows = mica_pad(weighted(rows, width, weights, MICA_SIGNAL_PAD_NONE), edges, edges, MICA_PAD_MODE_EDGE, 0);
  }
  return mica__narrow(mica_reshape(rows, MICA_SHAPE(MICA_DYNAMIC, shape.dim[1], MICA__COPY_DIM(1))), x);
}

mica_value mica_preemphasis(mica_value x, double p, bool librosa) {
  mica_value wide = mica__widen(x), pairs = mica__frames(wide, 2, 1, MICA_SIGNAL_PAD_ZERO, 1, 0);
  mica_value before = mica__drop_axis(mica_slice(pairs, 2, 0, 1, 1), 2);
  mica_value own = mica__drop_axis(mica_slice(pairs, 2, 1, 2, 1), 2);
  mica_value y = mica_sub(own, mica_affine(before, p, 0));
  if (!librosa || !y.graph) return y.graph ? mica__narrow(y, x) : y;
  const int64_t first[] = {0, 1};
  const double weights[] = {2, -1};
  mica_value two = mica_gather(wide, mica_constant(x.graph, MICA_I64, MICA_SHAPE(2), first), 1);
  mica_value added = mica_matmul(two, mica__signal_matrix("preemphasis", wide, weights, 2, 1));
  mica_value index = mica_cumsum(mica_full_like(wide, 1), 1, false, false);
  mica_value begins = mica_equal(index, mica__number(index, 1));
  return mica__narrow(mica_add(y, mica_where(begins, added, mica__number(added, 0))), x);
}
