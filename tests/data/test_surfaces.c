/* labels: null
 *
 * Likeness of labels against all pairs of voxels: Dice, intersection over union, distances of surfaces and their 95th
 * percentiles, with spacings that differ. */
#include "data/volume/surfaces.h"
#include "support/check_main.h"
#include "support/engine.h"

#include <math.h>
#include <stdlib.h>

enum { MOST = 9 * 7 * 8 };

static bool is(const uint8_t *a, const uint8_t *known, int64_t i) { return a[i] == 1 && known[i] != 255; }

static bool on_surface(const uint8_t *a, const uint8_t *known, const int64_t n[3], int64_t i) {
  const int64_t steps[3] = {n[1] * n[2], n[2], 1}, at[3] = {i / steps[0], i / n[2] % n[1], i % n[2]};
  bool found = false;
  for (int k = 0; k < 3; k++)
    found = found || at[k] == 0 || at[k] == n[k] - 1 || !is(a, known, i - steps[k]) || !is(a, known, i + steps[k]);
  return is(a, known, i) && found;
}

static int by_size(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* The distance of each surface voxel of a to the nearest surface voxel of b. */
static size_t distances(const uint8_t *a, const uint8_t *b, const uint8_t *known, const int64_t n[3],
                        const double spacing[3], double *out) {
  size_t count = 0;
  for (int64_t i = 0; i < n[0] * n[1] * n[2]; i++) {
    double least = INFINITY;
    if (!on_surface(a, known, n, i)) continue;
    for (int64_t j = 0; j < n[0] * n[1] * n[2]; j++) {
      if (!on_surface(b, known, n, j)) continue;
      const double z = spacing[0] * (double)(i / n[2] / n[1] - j / n[2] / n[1]);
      const double y = spacing[1] * (double)(i / n[2] % n[1] - j / n[2] % n[1]);
      least = fmin(least, sqrt(z * z + y * y + pow(spacing[2] * (double)(i % n[2] - j % n[2]), 2)));
    }
    out[count++] = least;
  }
  qsort(out, count, sizeof *out, by_size);
  return count;
}

START_TEST(distances_are_those_of_all_pairs) {
  static const int64_t sides[][3] = {{9, 7, 8}, {1, 7, 8}, {5, 1, 1}, {4, 4, 4}};
  static const double spacings[][3] = {{1, 1, 1}, {2.5, 0.5, 1}, {0.1, 3, 1}, {1, 2, 4}};
  srand(3);
  for (int round = 0; round < 200; round++) {
    const int64_t *n = sides[round % 4], voxels = n[0] * n[1] * n[2];
    const double *spacing = spacings[round / 4 % 4];
    uint8_t a[MOST], b[MOST], known[MOST];
    double there[MOST], back[MOST], both = 0, all = 0;
    for (int64_t i = 0; i < voxels; i++) {
      a[i] = rand() % 8 < round % 5 + 1, b[i] = rand() % 8 < round % 3 + 1, known[i] = rand() % 16 ? 0 : 255;
      both += is(a, known, i) && is(b, known, i);
      all += is(a, known, i) + is(b, known, i);
    }
    mica__likeness l;
    ck_ok(mica__labels_compare(a, b, known, 1, n, spacing, &l));
    const size_t from_a = distances(a, b, known, n, spacing, there), from_b = distances(b, a, known, n, spacing, back);
    if (!from_a || !from_b) continue;
    ck_assert_double_eq(l.dice, 2 * both / all);
    ck_assert_double_eq(l.iou, both / (all - both));
    ck_assert_double_eq_tol(l.farthest, fmax(there[from_a - 1], back[from_b - 1]), 1e-9);
    double most = 0;
    for (int k = 0; k < 2; k++) {
      const double *list = k ? back : there, rank = 0.95 * (double)((k ? from_b : from_a) - 1);
      const size_t low = (size_t)rank, high = (size_t)ceil(rank);
      most = fmax(most, list[low] + (rank - floor(rank)) * (list[high] - list[low]));
    }
    ck_assert_double_eq_tol(l.most, most, 1e-9);
  }
}
END_TEST

START_TEST(what_is_missing_is_far_away) {
  const int64_t sides[3] = {2, 2, 2};
  const double spacing[3] = {1.5, 2, 0};
  const uint8_t none[8] = {0}, one[8] = {1};
  mica__likeness l;
  ck_ok(mica__labels_compare(none, none, NULL, 1, sides, spacing, &l));
  ck_assert(isnan(l.dice) && isnan(l.iou) && isnan(l.farthest) && isnan(l.most));
  ck_ok(mica__labels_compare(none, one, NULL, 1, sides, spacing, &l));
  ck_assert_double_eq(l.dice, 0);
  ck_assert_double_eq(l.farthest, 5);
  ck_assert_double_eq(l.most, 5);
  ck_ok(mica__labels_compare(one, one, NULL, 1, sides, spacing, &l));
  ck_assert_double_eq(l.dice, 1);
  ck_assert_double_eq(l.farthest, 0);
}
END_TEST

TESTS(ANYWHERE, NULL, NULL, distances_are_those_of_all_pairs, what_is_missing_is_far_away)
