/* Nearest neighbours by cosine. Every vector is compared; a sorted list per query keeps the best ones. Long lists are
 * sorted only at the end. */
#include "base/error.h"

#include <mica/embed.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* Number of vectors that are compared with all queries before the next ones, so that they stay in the CPU's cache. */
#define TILE 64
/* The longest list that is kept sorted by insertion. For longer lists, all similarities are stored and sorted at the
 * end. */
#define SORTED 64
/* The number of partial sums of a product, which are added in a fixed order. */
#define LANES 16

static float product(const float *a, const float *b, int64_t width) {
  float part[LANES] = {0}, sum = 0;
  int64_t i = 0;
  for (; i + LANES <= width; i += LANES)
    for (int lane = 0; lane < LANES; lane++) part[lane] += a[i + lane] * b[i + lane];
  for (int lane = 0; lane < LANES; lane++) sum += part[lane];
  for (; i < width; i++) sum += a[i] * b[i];
  return sum;
}

/* 1 / |x| of each row, 0 for zeros. */
static mica_status scales(const char *what, const float *x, size_t count, int64_t width, double *scale) {
  for (size_t r = 0; r < count; r++) {
    double sum = 0;
    for (int64_t i = 0; i < width; i++) sum += (double)x[(int64_t)r * width + i] * (double)x[(int64_t)r * width + i];
    if (!isfinite(sum)) return mica__fail(MICA_E_FORMAT, "%s %zu has a number that is not finite", what, r);
    scale[r] = sum > 0 ? 1 / sqrt(sum) : 0;
  }
  return MICA_OK;
}

/* Inserts into a list of *used neighbours, most similar first. Of equals the earlier vector stays first. */
static void insert(mica_neighbour *list, size_t *used, size_t nearest, size_t index, float similarity) {
  size_t at = *used;
  if (at == nearest && !(similarity > list[at - 1].similarity)) return;
  if (at == nearest)
    at--;
  else
    ++*used;
  for (; at > 0 && similarity > list[at - 1].similarity; at--) list[at] = list[at - 1];
  list[at] = (mica_neighbour){.index = index, .similarity = similarity};
}

static void compare(const float *vectors, size_t count, int64_t width, const float *queries, size_t query_count,
                    const double *scale, size_t *used, size_t nearest, mica_neighbour *neighbours) {
  for (size_t begin = 0; begin < count; begin += TILE)
    for (size_t q = 0; q < query_count; q++)
      for (size_t v = begin; v < count && v < begin + TILE; v++) {
        const float *vector = vectors + (int64_t)v * width, *query = queries + (int64_t)q * width;
        const double cosine = (double)product(vector, query, width) * scale[v] * scale[count + q];
        insert(neighbours + q * nearest, &used[q], nearest, v, (float)fmax(-1, fmin(1, cosine)));
      }
}

static int more_similar(const void *a, const void *b) {
  const mica_neighbour *x = a, *y = b;
  if (x->similarity != y->similarity) return x->similarity > y->similarity ? -1 : 1;
  return x->index < y->index ? -1 : x->index > y->index;
}

static mica_status compare_and_sort(const float *vectors, size_t count, int64_t width, const float *queries,
                                    size_t query_count, const double *scale, size_t nearest,
                                    mica_neighbour *neighbours) {
  mica_neighbour *all = calloc(count, sizeof *all);
  if (!all) return mica__fail_nomem("neighbours");
  for (size_t q = 0; q < query_count; q++) {
    for (size_t v = 0; v < count; v++) {
      const float *vector = vectors + (int64_t)v * width, *query = queries + (int64_t)q * width;
      const double cosine = (double)product(vector, query, width) * scale[v] * scale[count + q];
      all[v] = (mica_neighbour){.index = v, .similarity = (float)fmax(-1, fmin(1, cosine))};
    }
    qsort(all, count, sizeof *all, more_similar);
    for (size_t k = 0; k < nearest; k++) neighbours[q * nearest + k] = all[k];
  }
  free(all);
  return MICA_OK;
}

mica_status mica_nearest(const float *vectors, size_t count, int64_t width, const float *queries, size_t query_count,
                         size_t nearest, mica_neighbour *neighbours) {
  if (query_count == 0) return MICA_OK;
  if (!vectors || !queries || !neighbours) return mica__fail(MICA_E_INVALID, "mica_nearest: a pointer is NULL");
  if (width < 1)
    return mica__fail(MICA_E_INVALID, "mica_nearest: the width is %" PRId64 ", but must be at least 1", width);
  if (nearest < 1 || nearest > count)
    return mica__fail(MICA_E_INVALID,
                      "mica_nearest: the number of neighbours is %zu, but must be at least 1 and at most the number of "
                      "vectors, %zu",
                      nearest, count);
  size_t *used = calloc(query_count, sizeof *used);
  double *scale = count <= SIZE_MAX - query_count ? calloc(count + query_count, sizeof *scale) : NULL;
  mica_status status = used && scale ? MICA_OK : mica__fail_nomem("neighbours");
  if (status == MICA_OK) status = scales("vector", vectors, count, width, scale);
  if (status == MICA_OK) status = scales("query", queries, query_count, width, scale + count);
  if (status == MICA_OK && nearest <= SORTED)
    compare(vectors, count, width, queries, query_count, scale, used, nearest, neighbours);
  else if (status == MICA_OK)
    status = compare_and_sort(vectors, count, width, queries, query_count, scale, nearest, neighbours);
  free(used);
  free(scale);
  return status;
}
