/* Converts floats to blocks. The importance of an element is the weight of its squared error. Without importance, types
 * of 32 elements follow GGUF's formulas. In all other cases several scales are tried, and those with the least weighted
 * squared error are taken. */
#include "base/element.h"
#include "base/error.h"
#include "cl/blocks/fields.clh"
#include "ops/blocks/blocks.h"

#include <math.h>
#include <string.h>

/* A block under construction. Numbers are as stored; an element is scale * (number - less) + minimum. */
typedef struct work {
  const mica__block_layout *layout;
  const float *x, *importance; /* importance: NULL for none */
  uint8_t *block;
  int low, high; /* the range of number - less */
} work;

static float rounded(float value) {
  uint16_t bits;
  mica__element_set(MICA_F16, &bits, 0, value);
  return (float)mica__element_get(MICA_F16, &bits, 0);
}

static bool put_half(uint8_t *at, float value) {
  uint16_t bits;
  mica__element_set(MICA_F16, &bits, 0, value);
  at[0] = (uint8_t)bits;
  at[1] = (uint8_t)(bits >> 8);
  return isfinite(rounded(value));
}

static float weight_of(const work *w, int i) { return w->importance ? w->importance[i] : 1; }

static float clamped(float value, int low, int high) {
  return value > (float)low ? value < (float)high ? value : (float)high : (float)low;
}

/* --- GGUF's formulas --- */

/* Products have their own variables, so that the compiler does not fuse them with additions: fused multiply-adds would
 * change the last bits. */
static bool plain_symmetric(const work *w) {
  uint8_t numbers[MICA__BLOCK_MOST];
  const mica__block_layout *l = w->layout;
  float most = 0;
  for (int i = 0; i < l->elements; i++)
    if (fabsf(w->x[i]) > fabsf(most)) most = w->x[i];
  const bool bytes = l->low_bits == 8;
  const float d = bytes ? fabsf(most) / 127 : most / (float)-l->less;
  float inverse = d != 0 ? 1 / d : 0;
  if (!isfinite(inverse)) inverse = 0;
  for (int i = 0; i < l->elements; i++) {
    const float product = w->x[i] * inverse, up = product + ((float)l->less + 0.5f);
    numbers[i] = bytes ? (uint8_t)(int)roundf(product) : (uint8_t)clamped(truncf(up), 0, w->high + l->less);
  }
  mica__block_pack(l, numbers, w->block);
  return put_half(w->block + l->d, d);
}

static bool plain_asymmetric(const work *w) {
  uint8_t numbers[MICA__BLOCK_MOST];
  const mica__block_layout *l = w->layout;
  float most = w->x[0], least = w->x[0];
  for (int i = 1; i < l->elements; i++) {
    most = fmaxf(most, w->x[i]);
    least = fminf(least, w->x[i]);
  }
  const float range = most - least, d = range / (float)w->high;
  float inverse = d != 0 ? 1 / d : 0;
  if (!isfinite(inverse)) inverse = 0;
  for (int i = 0; i < l->elements; i++) {
    const float above = w->x[i] - least, product = above * inverse, up = product + 0.5f;
    numbers[i] = (uint8_t)clamped(truncf(up), 0, w->high);
  }
  mica__block_pack(l, numbers, w->block);
  return put_half(w->block + l->d, d) && put_half(w->block + l->minimum, least);
}

/* Writes the numbers of least error for the scale (a power of two) in the block. Returns the weighted squared error. */
static double nearest_fours(const work *w) {
  uint8_t numbers[MICA__BLOCK_MOST];
  float scale[MICA__BLOCK_GROUPS], minimum[MICA__BLOCK_GROUPS];
  double error = 0;
  mica__block_scales(w->layout, w->block, scale, minimum);
  for (int i = 0; i < w->layout->elements; i++) {
    float best = INFINITY;
    numbers[i] = 0;
    for (int q = 0; q < 16; q++) {
      const float value = *scale * (float)mica__block_fours[q], distance = fabsf(value - w->x[i]);
      if (!(distance < best)) continue;
      best = distance;
      numbers[i] = (uint8_t)q;
    }
    error += (double)weight_of(w, i) * best * best;
  }
  memset(w->block + w->layout->low, 0, (size_t)w->layout->elements / 2);
  mica__block_pack(w->layout, numbers, w->block);
  return error;
}

static bool powers(const work *w) {
  float most = 0;
  for (int i = 0; i < w->layout->elements; i++) most = fmaxf(most, fabsf(w->x[i]));
  uint8_t *exponent = &w->block[w->layout->d];
  const int plain = most > 0 ? (int)clamped(floorf(log2f(most)) + 125, 0, 254) : 0;
  int best = plain;
  double least = INFINITY;
  for (int e = plain - 1; w->importance && e <= plain + 1; e++) {
    if (e < 0 || e > 254) continue;
    *exponent = (uint8_t)e;
    const double error = nearest_fours(w);
    if (!(error < least)) continue;
    least = error;
    best = e;
  }
  *exponent = (uint8_t)best;
  nearest_fours(w);
  return true;
}

/* --- the search --- */

#define TRIALS                                                                                                         \
  10 /* scales tried on each side of the plain one, which maps the element of largest magnitude (with a minimum: the
      * largest element) to the number of largest magnitude; from one scale to the next, that number changes by
      * 0.1 */

/* Returns the scale with the least weighted squared error in x = scale * q, of those tried, for elements first .. first
 * + n - 1; 0 if all are 0. */
static float symmetric_scale(const work *w, int first, int n) {
  float most = 0, best = 0;
  double gain = 0;
  for (int i = first; i < first + n; i++)
    if (fabsf(w->x[i]) > fabsf(most)) most = w->x[i];
  if (most == 0) return 0;
  for (int t = -TRIALS; t <= TRIALS; t++) {
    const float inverse = ((float)w->low + 0.1f * (float)t) / most;
    double sum = 0, squares = 0;
    for (int i = first; isfinite(inverse) && i < first + n; i++) {
      const double q = clamped(rintf(w->x[i] * inverse), w->low, w->high), weight = weight_of(w, i);
      sum += weight * q * w->x[i];
      squares += weight * q * q;
    }
    if (squares <= 0 || sum * sum <= gain * squares) continue;
    gain = sum * sum / squares;
    best = (float)(sum / squares);
  }
  return best != 0 ? best : most / (float)w->low;
}

/* The weighted sums for fitting x = scale * q + minimum. */
typedef struct fit {
  double w, q, x, qq, qx, xx;
} fit;

/* Finds the scale and minimum of least error. If `bounded` is set, the minimum is at most 0. Returns the error. */
static double solve(const fit *f, bool bounded, double *scale, double *minimum) {
  const double det = f->w * f->qq - f->q * f->q;
  *scale = *minimum = 0;
  if (det > 0) {
    *scale = (f->w * f->qx - f->q * f->x) / det;
    *minimum = (f->qq * f->x - f->q * f->qx) / det;
  }
  if (det <= 0 || (bounded && *minimum > 0)) {
    *minimum = 0;
    *scale = f->qq > 0 ? f->qx / f->qq : 0;
  }
  return f->xx - 2 * (*scale * f->qx + *minimum * f->x) + *scale * *scale * f->qq + 2 * *scale * *minimum * f->q +
         *minimum * *minimum * f->w;
}

static void asymmetric_scale(const work *w, int first, int n, bool bounded, float *scale, float *minimum) {
  float least = w->x[first], most = least;
  double best = INFINITY;
  for (int i = first; i < first + n; i++) {
    least = fminf(least, w->x[i]);
    most = fmaxf(most, w->x[i]);
  }
  if (bounded) least = fminf(least, 0);
  *scale = (most - least) / (float)w->high;
  *minimum = least;
  for (int t = -TRIALS; most > least && t <= TRIALS; t++) {
    const float inverse = ((float)w->high + 0.1f * (float)t) / (most - least);
    fit f = {0};
    for (int i = first; isfinite(inverse) && i < first + n; i++) {
      const double q = clamped(rintf((w->x[i] - least) * inverse), 0, w->high), weight = weight_of(w, i), x = w->x[i];
      f.w += weight;
      f.q += weight * q;
      f.x += weight * x;
      f.qq += weight * q * q;
      f.qx += weight * q * x;
      f.xx += weight * x * x;
    }
    double s = 0, m = 0;
    if (f.w <= 0) continue;
    const double error = solve(&f, bounded, &s, &m);
    if (!(error < best) || !(s > 0)) continue;
    best = error;
    *scale = (float)s;
    *minimum = (float)m;
  }
}

/* The number nearest to an element, minus `less`. */
static int nearest(const work *w, int i, float scale, float minimum) {
  const float q = scale != 0 ? (w->x[i] - minimum) / scale : 0;
  return isnan(q) ? 0 : (int)clamped(rintf(q), w->low, w->high);
}

static double error_of(const work *w, int first, int n, float scale, float minimum) {
  double error = 0;
  for (int i = first; i < first + n; i++) {
    const double off = (double)scale * nearest(w, i, scale, minimum) + minimum - w->x[i];
    error += weight_of(w, i) * off * off;
  }
  return error;
}

/* Replaces the rounded sub-scales *a and *b by those of least error. Tries all numbers within 1 of them that lie in
 * [low, high]. *a multiplies d, and *b multiplies m; *b becomes 0 if m is 0. */
static void refine(const work *w, int first, int n, float d, float m, int low, int high, int *a, int *b) {
  const int around_a = *a, around_b = *b;
  double least = INFINITY;
  for (int i = around_a - 1; i <= around_a + 1; i++)
    for (int j = m != 0 ? around_b - 1 : 0; j <= (m != 0 ? around_b + 1 : 0); j++) {
      if (i < low || i > high || (m != 0 && (j < low || j > high))) continue;
      const double error = error_of(w, first, n, d * (float)i, -(m * (float)j));
      if (!(error < least)) continue;
      least = error;
      *a = i;
      *b = j;
    }
}

static int divided(float value, float by, int low, int high) {
  return by != 0 ? (int)clamped(rintf(value / by), low, high) : 0;
}

/* Searches for the scales of a Q4_K or Q5_K block. Returns false if one is too large for f16. */
static bool search_six(const work *w) {
  float scale[8], minimum[8], d = 0, m = 0;
  const int n = w->layout->elements / 8;
  uint8_t *s = w->block + w->layout->scales_at;
  for (int g = 0; g < 8; g++) {
    asymmetric_scale(w, g * n, n, true, &scale[g], &minimum[g]);
    d = fmaxf(d, scale[g] / 63);
    m = fmaxf(m, -minimum[g] / 63);
  }
  if (!put_half(w->block + w->layout->d, d) || !put_half(w->block + w->layout->minimum, m)) return false;
  d = rounded(d);
  m = rounded(m);
  for (int g = 0; g < 8; g++) {
    int a = divided(scale[g], d, 0, 63), b = divided(-minimum[g], m, 0, 63);
    refine(w, g * n, n, d, m, 0, 63, &a, &b);
    if (g < 4) {
      s[g] |= (uint8_t)a;
      s[g + 4] |= (uint8_t)b;
    } else {
      s[g + 4] |= (uint8_t)((a & 15) | (b & 15) << 4);
      s[g - 4] |= (uint8_t)(a >> 4 << 6);
      s[g] |= (uint8_t)(b >> 4 << 6);
    }
  }
  return true;
}

/* Searches for the scales of a Q6_K block. Returns false if one is too large for f16. */
static bool search_bytes(const work *w) {
  float scale[16], most = 0;
  const int n = w->layout->elements / 16;
  for (int g = 0; g < 16; g++) {
    scale[g] = symmetric_scale(w, g * n, n);
    if (fabsf(scale[g]) > fabsf(most)) most = scale[g];
  }
  if (!put_half(w->block + w->layout->d, most / -128)) return false;
  const float d = rounded(most / -128);
  for (int g = 0; g < 16; g++) {
    int a = divided(scale[g], d, -128, 127), b = 0;
    refine(w, g * n, n, d, 0, -128, 127, &a, &b);
    w->block[w->layout->scales_at + g] = (uint8_t)a;
  }
  return true;
}

static bool search_scales(const work *w) {
  const mica__block_layout *l = w->layout;
  if (l->scales == BLOCK_SIX) return search_six(w);
  if (l->scales == BLOCK_BYTES) return search_bytes(w);
  if (l->minimum < 0) return put_half(w->block + l->d, symmetric_scale(w, 0, l->elements));
  float scale = 0, minimum = 0;
  asymmetric_scale(w, 0, l->elements, false, &scale, &minimum);
  return put_half(w->block + l->d, scale) && put_half(w->block + l->minimum, minimum);
}

static bool search(const work *w) {
  const mica__block_layout *l = w->layout;
  uint8_t numbers[MICA__BLOCK_MOST];
  float scale[MICA__BLOCK_GROUPS], minimum[MICA__BLOCK_GROUPS];
  if (!search_scales(w)) return false;
  const int group = l->elements / mica__block_scales(l, w->block, scale, minimum);
  for (int i = 0; i < l->elements; i++)
    numbers[i] = (uint8_t)(nearest(w, i, scale[i / group], minimum[i / group]) + l->less);
  mica__block_pack(l, numbers, w->block);
  return true;
}

/* --- blocks --- */

static bool quantize(const work *w) {
  const mica__block_layout *l = w->layout;
  memset(w->block, 0, (size_t)l->bytes);
  if (l->scales == BLOCK_POWERS) return powers(w);
  if (w->importance || l->scales != BLOCK_PLAIN) return search(w);
  return l->minimum < 0 ? plain_symmetric(w) : plain_asymmetric(w);
}

static mica_status check(mica_block type, const float *x, int64_t count, const float *importance, const void *blocks) {
  const mica__block_layout *layout = mica__block_layout_of(type);
  if (!layout) return mica__fail(MICA_E_INVALID, "quantize: %d is not a block type", (int)type);
  if (count < 0 || count % layout->elements != 0)
    return mica__fail(
        MICA_E_INVALID,
        "quantize: the number of elements (%lld) must be 0 or above, and a multiple of %d, the size of a block",
        (long long)count, layout->elements);
  if (count > 0 && (!blocks || !x)) return mica__fail(MICA_E_INVALID, "quantize: blocks or x is NULL");
  for (int64_t i = 0; i < count; i++) {
    if (!isfinite(x[i])) return mica__fail(MICA_E_INVALID, "quantize: element %lld is not finite", (long long)i);
    if (importance && !(importance[i] >= 0 && isfinite(importance[i])))
      return mica__fail(MICA_E_INVALID, "quantize: importance %lld is %g, but must be a finite number of 0 or more",
                        (long long)i, (double)importance[i]);
  }
  return MICA_OK;
}

mica_status mica_block_quantize(mica_block type, const float *x, int64_t count, const float *importance, void *blocks) {
  MICA_TRY(check(type, x, count, importance, blocks));
  const mica__block_layout *layout = mica__block_layout_of(type);
  const int highest = layout->low_bits == 8 ? 127 : (1 << (4 + layout->high_bits)) - 1 - layout->less;
  work w = {.layout = layout, .low = layout->low_bits == 8 ? -127 : -layout->less, .high = highest};
  for (int64_t i = 0; i < count; i += layout->elements) {
    w.x = x + i;
    w.importance = importance ? importance + i : NULL;
    w.block = (uint8_t *)blocks + i / layout->elements * layout->bytes;
    if (!quantize(&w))
      return mica__fail(
          MICA_E_INVALID,
          "quantize: elements %lld to %lld are too large: their scale exceeds f16's largest number, 65504",
          (long long)i, (long long)i + layout->elements - 1);
  }
  return MICA_OK;
}
