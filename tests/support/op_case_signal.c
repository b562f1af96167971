/* Transforms and CTC by their formulas written out, for tests/ops/cases/signal.def and loss.def. */
#include "ir/graph.h"
#include "ops/common/build.h"
#include "support/op_case_helpers.h"

#include <math.h>
#include <mica/loss.h>
#include <mica/nodes.h>

#define PI 3.14159265358979323846

/* (n, m) cosines or sines of 2 pi j k / n, of like's type. */
static mica_value waves(mica_value like, int64_t n, int64_t m, bool sine) {
  double values[64 * 64];
  for (int64_t j = 0; j < n; j++)
    for (int64_t k = 0; k < m; k++) {
      double angle = 2 * PI * (double)(j * k % n) / (double)n;
      double value = sine ? sin(angle) : cos(angle);
      values[j * m + k] = fabs(value) < 1e-12 ? 0 : value; /* multiples of a right angle */
    }
  return mica_cast(mica_constant(like.graph, MICA_F64, MICA_SHAPE(n, m), values), mica_value_dtype(like));
}

mica_value test_fft_written(mica_value x, bool inverse, bool real_in, bool real_out) {
  const mica_shape shape = mica_value_shape(x);
  const int32_t last = real_in ? shape.rank : shape.rank - 1;
  int64_t h = shape.dim[last - 1], n = real_out ? 2 * h - 1 : h, m = real_in ? n / 2 + 1 : n;
  mica_value wide = mica__widen(x), re = wide, im = mica_full_like(wide, 0);
  if (!real_in) {
    re = mica__drop_axis(mica_slice(wide, last, 0, 1, 1), last);
    im = mica__drop_axis(mica_slice(wide, last, 1, 2, 1), last);
  }
  if (real_out) { /* the second half is the conjugate of the first */
    mica_value inner = mica_slice(im, last - 1, 1, h, 1), zero = mica_full_like(mica_slice(im, last - 1, 0, 1, 1), 0);
    re = mica_concat((mica_value[]){re, mica_slice(re, last - 1, h - 1, 0, -1)}, 2, last - 1);
    im = mica_concat((mica_value[]){zero, inner, mica_neg(mica_flip(inner, MICA_AXES(-1)))}, 3, last - 1);
  }
  mica_value c = waves(wide, n, m, false), s = waves(wide, n, m, true);
  if (!inverse) s = mica_neg(s);
  mica_value real = mica_sub(mica_matmul(re, c), mica_matmul(im, s));
  mica_value imaginary = mica_add(mica_matmul(re, s), mica_matmul(im, c));
  mica_value y = real;
  if (!real_out)
    y = mica_concat((mica_value[]){mica__insert_axis(real, last), mica__insert_axis(imaginary, last)}, 2, last);
  return mica__narrow(inverse ? mica_affine(y, 1 / (double)n, 0) : y, x);
}

/* Targets of the case, for every sequence the same; blank 1. */
static const int32_t labels[] = {0, 2, 2};
enum { LABELS = 3, STATES = 2 * LABELS + 1, BLANK = 1 };

mica_value test_ctc(mica_value logits, int64_t frames, mica_loss_reduction reduction) {
  const int64_t n = mica_value_shape(logits).dim[1];
  int32_t targets[64 * LABELS], lengths[64], counts[64];
  for (int64_t i = 0; i < n; i++) {
    for (int k = 0; k < LABELS; k++) targets[i * LABELS + k] = labels[k];
    lengths[i] = (int32_t)frames;
    counts[i] = LABELS;
  }
  mica_graph *graph = logits.graph;
  return mica_ctc_loss(logits, mica_constant(graph, MICA_I32, MICA_SHAPE(n, LABELS), targets),
                       mica_constant(graph, MICA_I32, MICA_SHAPE(n), lengths),
                       mica_constant(graph, MICA_I32, MICA_SHAPE(n), counts),
                       &(mica_ctc_config){.reduction = reduction, .blank = BLANK});
}

static int64_t class_of(int state) { return state % 2 ? labels[state / 2] : BLANK; }

mica_value test_ctc_written(mica_value logits, int64_t frames, mica_loss_reduction reduction) {
  mica_value log_p = mica_log_softmax(mica__widen(logits), 2), alpha[STATES] = {{0}};
  for (int64_t t = 0; t < frames; t++) {
    mica_value next[STATES] = {{0}};
    for (int i = 0; i < STATES; i++) {
      mica_value from[3];
      size_t count = 0;
      for (int back = 0; back < 3 && back <= i && t > 0; back++) {
        bool skips = back == 2 && (i % 2 == 0 || class_of(i) == class_of(i - 2));
        if (alpha[i - back].graph && !skips) from[count++] = mica__insert_axis(alpha[i - back], 0);
      }
      mica_value p = mica_slice(mica_slice(log_p, 0, t, t + 1, 1), 2, class_of(i), class_of(i) + 1, 1);
      p = mica_reshape(p, MICA_SHAPE(MICA_DYNAMIC));
      if (t == 0 && i < 2) next[i] = p;
      if (count > 0) next[i] = mica_add(p, mica_logsumexp(mica_concat(from, count, 0), MICA_AXES(0), false));
    }
    for (int i = 0; i < STATES; i++) alpha[i] = next[i];
  }
  mica_value ends[] = {mica__insert_axis(alpha[STATES - 1], 0), mica__insert_axis(alpha[STATES - 2], 0)};
  mica_value loss = mica_neg(mica_logsumexp(mica_concat(ends, 2, 0), MICA_AXES(0), false));
  if (reduction == MICA_LOSS_REDUCTION_MEAN) loss = mica_affine(mica_mean(loss, MICA_ALL_AXES, false), 1.0 / LABELS, 0);
  if (reduction == MICA_LOSS_REDUCTION_SUM) loss = mica_sum(loss, MICA_ALL_AXES, false);
  return mica__narrow(loss, logits);
}
