/* Histograms, and the choice of ranges from them. */
#include "base/arith.h"
#include "compress/calibration.h"

#include <string.h>

#define BINS MICA__BINS
#define HALF (BINS / 2)

/* --- counting --- */

/* Doubles the limit: merges pairs of bins on both sides of zero. */
static void double_limit(mica__histogram *h) {
  double merged[BINS] = {0};
  for (int i = 0; i < BINS; i++) merged[HALF / 2 + i / 2] += h->counts[i];
  memcpy(h->counts, merged, sizeof merged);
  h->limit *= 2;
}

static void widen(mica__histogram *h, float most) {
  if (most == 0) return;
  if (h->limit == 0) h->limit = most;
  while (h->limit < most && isfinite(2 * h->limit)) double_limit(h);
}

void mica__histogram_add(mica__histogram *h, const float *x, size_t count) {
  float low = h->low, high = h->high;
  for (size_t i = 0; i < count; i++) {
    if (!isfinite(x[i])) {
      h->finite = false;
      return;
    }
    if (x[i] < low) low = x[i];
    if (x[i] > high) high = x[i];
  }
  h->low = low;
  h->high = high;
  widen(h, fmaxf(-low, high));
  h->total += (double)count;
  uint32_t counts[BINS] = {0}, zeros = 0;
  const float scale = h->limit > 0 ? HALF / h->limit : 0;
  for (size_t i = 0; i < count; i++) {
    int at = HALF + (int)floorf(x[i] * scale);
    at = at < 0 ? 0 : at > BINS - 1 ? BINS - 1 : at;
    counts[at]++;
    zeros += x[i] == 0;
    if ((i & 0x3fffffff) != 0x3fffffff && i + 1 < count) continue;
    for (int k = 0; k < BINS; k++) h->counts[k] += counts[k];
    h->zeros += zeros;
    memset(counts, 0, sizeof counts);
    zeros = 0;
  }
}

/* --- choosing --- */

static double width_of(const mica__histogram *h) { return (double)h->limit / HALF; }
static double centre_of(const mica__histogram *h, int bin) { return (bin - HALF + 0.5) * width_of(h); }

/* The count of a bin without exact zeros. */
static double count_of(const mica__histogram *h, int bin) {
  return bin == HALF ? h->counts[bin] - h->zeros : h->counts[bin];
}

/* The sum of squared errors from clipping and from rounding to `levels` even steps between low and high. */
static double error_of(const mica__histogram *h, double low, double high, double levels) {
  const double step = (high - low) / levels, rounding = step * step / 12;
  double sum = 0;
  for (int i = 0; i < BINS; i++) {
    const double count = count_of(h, i), x = centre_of(h, i);
    if (count == 0) continue;
    const double beyond = x < low ? low - x : x > high ? x - high : 0;
    sum += count * (rounding + beyond * beyond);
  }
  return sum;
}

static double energy_of(const mica__histogram *h) {
  double sum = 0;
  for (int i = 0; i < BINS; i++) sum += count_of(h, i) * centre_of(h, i) * centre_of(h, i);
  return sum;
}

/* choose_mse tries SHARES evenly spaced shares of the range, down to LEAST_SHARE. */
#define SHARES 64
#define LEAST_SHARE 0.1

/* Tries smaller ranges: shrinks both ends, then only the lower one, then only the upper one. */
static void choose_mse(const mica__histogram *h, double levels, double *low, double *high) {
  const double from[2] = {*low, *high};
  double best = error_of(h, *low, *high, levels);
  for (int way = 0; way < 3; way++) {
    const double begin[2] = {*low, *high};
    for (int i = 1; i <= SHARES; i++) {
      const double share = 1 - (1 - LEAST_SHARE) * i / SHARES;
      const double l = way == 2 ? begin[0] : (way ? begin[0] : from[0]) * share;
      const double u = way == 1 ? begin[1] : (way ? begin[1] : from[1]) * share;
      const double error = error_of(h, l, u, levels);
      if (error >= best || u <= l) continue;
      best = error, *low = l, *high = u;
    }
  }
}

/* Narrows the range [*low, *high], which includes 0, so that at most about a fraction 1 - share of all values lies
 * below it, and at most as much above it. */
static void choose_percentile(const mica__histogram *h, double share, double *low, double *high) {
  const double most = h->total * (1 - share);
  double below = 0, above = 0;
  for (int i = 0; i < HALF && *low < 0; i++) {
    below += h->counts[i];
    if (below <= most) continue;
    *low = fmax(*low, centre_of(h, i) - width_of(h) / 2);
    break;
  }
  if (below <= most) *low = 0;
  for (int i = BINS - 1; i >= HALF && *high > 0; i--) {
    above += h->counts[i];
    if (above <= most) continue;
    *high = fmin(*high, centre_of(h, i) + width_of(h) / 2);
    break;
  }
  if (above <= most) *high = 0;
  if (*high <= 0 && *low >= 0) *high = (double)h->high, *low = (double)h->low;
}

/* The Kullback-Leibler divergence between the distribution of magnitudes, clipped at bin `edge`, and its quantisation
 * to `levels` groups of bins. Each non-empty bin of a group gets the mean of the group's non-empty bins. */
static double divergence(const double *magnitudes, int edge, int levels, double total) {
  double beyond = 0, sum = 0;
  for (int i = edge; i < HALF; i++) beyond += magnitudes[i];
  for (int g = 0; g < levels; g++) {
    const int first = (int)((int64_t)g * edge / levels), last = (int)((int64_t)(g + 1) * edge / levels);
    double mass = 0;
    int filled = 0;
    for (int i = first; i < last; i++) mass += magnitudes[i], filled += magnitudes[i] > 0;
    for (int i = first; i < last; i++) {
      const double p = magnitudes[i] + (i == edge - 1 ? beyond : 0);
      /* The last bin includes magnitudes beyond the edge; the quantised distribution does not. */
      const double q = magnitudes[i] > 0 ? mass / filled : 1e-9 * total;
      if (p > 0) sum += p / total * log(p / q);
    }
  }
  return beyond < total ? sum + log((total - beyond) / total) : INFINITY;
}

static void choose_entropy(const mica__histogram *h, int32_t bits, double *low, double *high) {
  static const int step = 16;
  const int levels = *low < 0 ? 1 << (bits - 1) : 1 << bits;
  double magnitudes[HALF], total = 0, best = INFINITY;
  int edge = HALF;
  for (int i = 0; i < HALF; i++) {
    magnitudes[i] = count_of(h, HALF + i) + h->counts[HALF - 1 - i];
    total += magnitudes[i];
  }
  for (int i = levels; i <= HALF && total > 0; i += step) {
    const double d = divergence(magnitudes, i, levels, total);
    if (d < best) best = d, edge = i;
  }
  *low = fmax(*low, -edge * width_of(h));
  *high = fmin(*high, edge * width_of(h));
}

mica_status mica__histogram_range(const mica__histogram *h, mica_calibration_method method, double percentile,
                                  int32_t bits, double *low, double *high, double *decibel) {
  const double levels = exp2(bits) - 1;
  if (!h->finite) return mica__fail(MICA_E_NUMERIC, "the layer's input has numbers that are not finite");
  if (h->total == 0)
    return mica__fail(MICA_E_STATE, "no input of the layer was measured; run the calibration on samples first");
  double l = fmin((double)h->low, 0), u = fmax((double)h->high, 0);
  if (u <= l) return mica__fail(MICA_E_NUMERIC, "every input of the layer is 0, so it has no range");
  switch (method) {
  case MICA_CALIBRATION_METHOD_MSE: choose_mse(h, levels, &l, &u); break;
  case MICA_CALIBRATION_METHOD_PERCENTILE: choose_percentile(h, percentile > 0 ? percentile : 0.9999, &l, &u); break;
  case MICA_CALIBRATION_METHOD_ENTROPY: choose_entropy(h, bits, &l, &u); break;
  case MICA_CALIBRATION_METHOD_MINMAX: break;
  }
  *low = l;
  *high = u;
  const double error = error_of(h, l, u, levels);
  *decibel = error > 0 ? 10 * log10(energy_of(h) / error) : INFINITY;
  return MICA_OK;
}
