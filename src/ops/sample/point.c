/* The references' part of sampling, on the host: the elements that a point of the grid reads, their weights, and the
 * slopes of these weights. */
#include "ops/sample/sample.h"

#include <math.h>

typedef struct axis {
  int32_t count;
  int64_t at[4];
  double weight[4], slope[4];
} axis;

static double padded(const mica__sample_attrs *how, double u, double size, double *slope) {
  double v = u;
  if (how->padding == MICA_SAMPLE_PADDING_ZEROS) return u;
  if (how->padding == MICA_SAMPLE_PADDING_REFLECT) {
    double low = how->align ? 0 : -0.5, span = how->align ? size - 1 : size;
    *slope *= span == 0 ? 0 : u < low ? -1 : 1;
    if (span == 0) return 0;
    v = fabs(u - low);
    double flips = floor(v / span);
    bool odd = fmod(flips, 2) != 0;
    v -= flips * span;
    *slope *= odd ? -1 : 1;
    v = (odd ? span - v : v) + low;
  }
  if (v > 0 && v < size - 1) return v;
  *slope = 0;
  return v > 0 ? size - 1 : 0;
}

/* Returns the cubic of Keys 1981 with a = -0.75, and its slope. */
static double cubic(double d, double *slope) {
  const double a = -0.75, s = fabs(d), sign = d < 0 ? -1 : 1;
  *slope = s <= 1 ? sign * (3 * (a + 2) * s - 2 * (a + 3)) * s : s < 2 ? sign * a * ((3 * s - 10) * s + 8) : 0;
  return s <= 1 ? ((a + 2) * s - (a + 3)) * s * s + 1 : s < 2 ? a * (((s - 5) * s + 8) * s - 4) : 0;
}

static int64_t tap_at(double v, double size) { return v >= 0 && v < size ? (int64_t)v : -1; }

static axis axis_of(const mica__sample_attrs *how, double g, double size) {
  double slope = how->pixels ? 1 : how->align ? (size - 1) / 2 : size / 2;
  double u = how->pixels ? g : how->align ? (g + 1) * slope : (g + 1) * slope - 0.5, unused = 0;
  axis a = {.count = how->mode == MICA_SAMPLE_MODE_CUBIC ? 4 : how->mode == MICA_SAMPLE_MODE_LINEAR ? 2 : 1};
  if (a.count == 4) {
    double first = floor(u) - 1;
    for (int k = 0; k < 4; k++) {
      a.weight[k] = cubic(u - (first + k), &a.slope[k]);
      a.slope[k] *= slope;
      a.at[k] = tap_at(rint(padded(how, first + k, size, &unused)), size);
    }
    return a;
  }
  double v = padded(how, u, size, &slope), first = a.count == 2 ? floor(v) : rint(v);
  for (int k = 0; k < a.count; k++) {
    a.at[k] = tap_at(first + k, size);
    a.weight[k] = a.count == 1 ? 1 : k ? v - first : 1 - (v - first);
    a.slope[k] = a.count == 1 ? 0 : k ? slope : -slope;
  }
  return a;
}

void mica__sample_point_of(const mica__sample_attrs *how, const int64_t size[3], int32_t dims, const double *grid,
                           mica__sample_point *point) {
  axis axes[3] = {{.count = 1, .weight = {1}}, {0}, {0}}; /* z, y, x */
  for (int32_t a = 0; a < dims; a++) axes[2 - a] = axis_of(how, grid[a], (double)size[2 - a]);
  point->count = 0;
  for (int32_t k = 0; k < axes[0].count; k++)
    for (int32_t j = 0; j < axes[1].count; j++)
      for (int32_t i = 0; i < axes[2].count; i++) {
        int32_t t = point->count++;
        bool inside = axes[0].at[k] >= 0 && axes[1].at[j] >= 0 && axes[2].at[i] >= 0;
        double z = axes[0].weight[k], y = axes[1].weight[j], x = axes[2].weight[i];
        point->at[t] = inside ? (axes[0].at[k] * size[1] + axes[1].at[j]) * size[2] + axes[2].at[i] : -1;
        point->weight[t] = z * y * x;
        point->slope[0][t] = z * y * axes[2].slope[i];
        point->slope[1][t] = z * axes[1].slope[j] * x;
        point->slope[2][t] = axes[0].slope[k] * y * x;
      }
}
