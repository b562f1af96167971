#include "ops/batch/geometry.h"

#include <math.h>
#include <string.h>

static void draw_words(const mica__augment *a, uint32_t position, uint32_t use, uint32_t words[4]) {
  const uint32_t counter[4] = {position, 0, a->epoch, UINT32_C(0x61756700) + use};
  memcpy(words, counter, sizeof counter);
  mica__philox(words, (uint32_t)a->seed, (uint32_t)(a->seed >> 32));
}

static int64_t below(uint32_t word, int64_t n) { return (int64_t)((uint64_t)word * (uint64_t)n >> 32); }
static double signed_unit(uint32_t word) { return ldexp((double)(word >> 8), -23) - 1; }

/* Returns the start of a window of w elements in W: a random one if w < W, else the one that centres the W elements in
 * the window. */
static int64_t window_at(uint32_t word, int64_t W, int64_t w) {
  return W > w ? below(word, W - w + 1) : -((w - W) / 2);
}

mica__draw mica__draw_of(const mica__augment *a, uint32_t position, int64_t H, int64_t W, double one) {
  uint32_t w[3][4];
  const int64_t h = a->high ? a->high : H, wide = a->wide ? a->wide : W;
  for (uint32_t use = 0; use < 3; use++) draw_words(a, position, use, w[use]);
  return (mica__draw){.dx = below(w[0][0], 2 * a->crop + 1) - a->crop + window_at(w[2][1], W, wide),
                      .dy = below(w[0][1], 2 * a->crop + 1) - a->crop + window_at(w[2][2], H, h),
                      .mirrored = a->flip && w[0][2] >> 31,
                      .gain = 1 + (double)a->contrast * signed_unit(w[0][3]),
                      .lift = (double)a->brightness * one * signed_unit(w[1][0]),
                      .cut_x = below(w[1][1], wide),
                      .cut_y = below(w[1][2], h),
                      .angle = (double)a->angle * signed_unit(w[1][3]),
                      .zoom = 1 + (double)a->zoom * signed_unit(w[2][0]),
                      .augment = a,
                      .position = position};
}

#define GRID_CELLS 4

/* Adds the elastic shift at pixel (q, r) to at[0] and at[1]. */
static void add_shift(const mica__draw *d, int64_t q, int64_t r, int64_t H, int64_t W, double at[2]) {
  const double x = ((double)q + 0.5) * GRID_CELLS / (double)W, y = ((double)r + 0.5) * GRID_CELLS / (double)H;
  const int across = x < GRID_CELLS - 1 ? (int)x : GRID_CELLS - 1, down = y < GRID_CELLS - 1 ? (int)y : GRID_CELLS - 1;
  const double u = x - across, v = y - down, wx = u * u * (3 - 2 * u), wy = v * v * (3 - 2 * v);
  for (int k = 0; k < 4; k++) {
    uint32_t words[4];
    draw_words(d->augment, d->position, 16 + (uint32_t)((down + (k >> 1)) * (GRID_CELLS + 1) + across + (k & 1)),
               words);
    const double weight = (k & 1 ? wx : 1 - wx) * (k & 2 ? wy : 1 - wy) * (double)d->augment->elastic;
    for (int i = 0; i < 2; i++) at[i] += weight * signed_unit(words[i]);
  }
}

void mica__draw_source(const mica__draw *d, int64_t q, int64_t r, int64_t H, int64_t W, double at[2]) {
  const double u = (double)(d->mirrored ? W - 1 - q : q) - 0.5 * (double)(W - 1);
  const double v = (double)r - 0.5 * (double)(H - 1);
  at[0] = (cos(d->angle) * u - sin(d->angle) * v) / d->zoom + 0.5 * (double)(W - 1) + (double)d->dx;
  at[1] = (sin(d->angle) * u + cos(d->angle) * v) / d->zoom + 0.5 * (double)(H - 1) + (double)d->dy;
  if (d->augment->elastic > 0) add_shift(d, q, r, H, W, at);
}

void mica__draw_target(const mica__draw *d, double x, double y, int64_t H, int64_t W, double at[2]) {
  const double a = x - 0.5 * (double)W - (double)d->dx, b = y - 0.5 * (double)H - (double)d->dy;
  const double u = d->zoom * (cos(d->angle) * a + sin(d->angle) * b) + 0.5 * (double)W;
  at[0] = d->mirrored ? (double)W - u : u;
  at[1] = d->zoom * (cos(d->angle) * b - sin(d->angle) * a) + 0.5 * (double)H;
}

void mica__draw_box(const mica__draw *d, const double box[4], int64_t H, int64_t W, double out[4], double *share) {
  double low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY}, whole = 1, seen = 1;
  for (int corner = 0; corner < 4; corner++) {
    double at[2];
    mica__draw_target(d, box[corner & 1 ? 2 : 0], box[corner & 2 ? 3 : 1], H, W, at);
    for (int k = 0; k < 2; k++) {
      low[k] = fmin(low[k], at[k]);
      high[k] = fmax(high[k], at[k]);
    }
  }
  for (int k = 0; k < 2; k++) {
    const double side = (double)(k ? H : W);
    whole *= high[k] - low[k];
    out[k] = fmin(fmax(low[k], 0), side);
    out[k + 2] = fmin(fmax(high[k], 0), side);
    seen *= out[k + 2] - out[k];
  }
  *share = whole > 0 ? seen / whole : 0;
  if (*share < MICA__BOX_SHARE) memset(out, 0, 4 * sizeof *out);
}
