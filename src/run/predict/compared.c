/* Compares all pairs of a test's samples by their embeddings. */
#include "run/predict/compared.h"
#include "base/error.h"
#include "run/common_facts.h"
#include "run/predict/batches.h"
#include "run/predict/gallery.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The most samples of a test whose pairs are compared, evenly chosen from all. They form 1,124,250 pairs. */
#define MOST_COMPARED 1500

void mica__compared_free(mica__compared *c) {
  if (!c) return;
  free(c->embeddings);
  free(c->numbers);
  free(c);
}

static mica_status make_compared(int64_t width, uint64_t samples, mica__compared **out) {
  const size_t most = samples < MOST_COMPARED ? (size_t)samples : MOST_COMPARED;
  mica__compared *c = calloc(1, sizeof *c);
  if (c) c->embeddings = malloc((most * (size_t)width + 1) * sizeof *c->embeddings);
  if (c) c->numbers = malloc((most + 1) * sizeof *c->numbers);
  if (c) c->width = width;
  *out = c;
  return c && c->embeddings && c->numbers ? MICA_OK : mica__fail_nomem("embeddings");
}

/* Keeps those samples of a batch that are compared. The `count` samples of the batch have the numbers `at`, `at` + 1,
 * ... among all `samples` samples of the test. */
static void keep(mica__compared *c, const float *embeddings, const int32_t *numbers, int64_t width, uint64_t at,
                 int64_t count, uint64_t samples) {
  const uint64_t most = samples < MOST_COMPARED ? samples : MOST_COMPARED;
  for (int64_t i = 0; i < count; i++) {
    const uint64_t sample = at + (uint64_t)i;
    if (sample * most / samples == (sample + 1) * most / samples || c->count == most) continue;
    memcpy(c->embeddings + c->count * (size_t)width, embeddings + i * width, (size_t)width * sizeof *embeddings);
    c->numbers[c->count++] = numbers[i];
  }
}

/* A test under way, which has read `at` of its `samples` samples. */
typedef struct comparing {
  mica__compared *to;
  uint64_t at, samples;
} comparing;

static mica_status take_batch(mica_run *run, const mica_batch *batch, const float *embeddings, void *user) {
  comparing *c = user;
  int32_t *numbers = malloc((size_t)batch->count * sizeof *numbers);
  mica_status status = numbers ? mica__batch_read(run, batch, mica__common_facts_of(run).label_column, numbers,
                                                  (size_t)batch->count * sizeof *numbers)
                               : mica__fail_nomem("embeddings");
  if (status == MICA_OK) keep(c->to, embeddings, numbers, c->to->width, c->at, batch->count, c->samples);
  c->at += (uint64_t)batch->count;
  free(numbers);
  return status;
}

mica_status mica__compared_take(mica_run *run, const mica_batch_source *source, int64_t width, mica__compared **out) {
  mica_status status = make_compared(width, source->samples, out);
  comparing test = {.to = *out, .samples = source->samples};
  return status == MICA_OK ? mica__test_batches(run, source, width, take_batch, &test) : status;
}

void mica__compared_pairs_free(mica__compared_pairs *p) {
  free(p->cosines);
  free(p->same);
}

mica_status mica__compared_pair(const mica__compared *c, mica__compared_pairs *p) {
  const int64_t width = c->width;
  const size_t n = c->count, count = n * (n > 0 ? n - 1 : 0) / 2;
  float *best = malloc((n + 1) * sizeof *best);
  bool *right = calloc(n + 1, sizeof *right);
  *p = (mica__compared_pairs){.cosines = malloc((count + 1) * sizeof *p->cosines), .same = malloc(count + 1)};
  mica_status status = best && right && p->cosines && p->same ? MICA_OK : mica__fail_nomem("pairs of samples");
  for (size_t i = 0; status == MICA_OK && i < n; i++) best[i] = -2;
  for (size_t i = 0; status == MICA_OK && i < n; i++)
    for (size_t j = 0; j < i; j++) {
      const float *a = c->embeddings + i * (size_t)width, *b = c->embeddings + j * (size_t)width;
      const float cosine = (float)mica__gallery_cosine(a, b, width);
      const bool same = c->numbers[i] == c->numbers[j];
      p->cosines[p->count] = cosine;
      p->same[p->count++] = same;
      if (cosine > best[i]) best[i] = cosine, right[i] = same;
      if (cosine > best[j]) best[j] = cosine, right[j] = same;
    }
  size_t found = 0;
  for (size_t i = 0; status == MICA_OK && i < n; i++) found += right[i];
  p->nearest = n ? (double)found / (double)n : 0;
  free(best);
  free(right);
  return status;
}

/* The position of a class in a list; `count` if it is not there. */
static size_t find(const int32_t *classes, size_t count, int32_t wanted) {
  size_t k = 0;
  while (k < count && classes[k] != wanted) k++;
  return k;
}

mica_status mica__compared_classes(const mica__compared *c, const mica__compared_pairs *p, size_t known, size_t most,
                                   int32_t *classes, double (*numbers)[3], size_t *count) {
  size_t rows = 0, at = 0;
  *count = 0;
  for (size_t i = 0; i < c->count; i++) {
    const size_t k = find(classes, rows, c->numbers[i]);
    if (k == most || c->numbers[i] < 0 || (size_t)c->numbers[i] >= known) return MICA_OK;
    if (k == rows) {
      classes[rows] = c->numbers[i];
      for (int n = 0; n < 3; n++) numbers[rows][n] = 0;
      rows++;
    }
    numbers[k][0]++;
  }
  double(*counts)[2] = calloc(rows + 1, sizeof *counts);
  if (!counts) return mica__fail_nomem("a report");
  for (size_t i = 0; i < c->count; i++)
    for (size_t j = 0; j < i; j++, at++)
      for (size_t k = 0; k < rows; k++)
        if (classes[k] == c->numbers[i] || classes[k] == c->numbers[j]) {
          numbers[k][p->same[at] ? 1 : 2] += (double)p->cosines[at];
          counts[k][p->same[at] ? 0 : 1]++;
        }
  for (size_t k = 0; k < rows; k++)
    for (size_t j = 0; j < 2; j++)
      numbers[k][1 + j] = counts[k][j] > 0 ? numbers[k][1 + j] / counts[k][j] : (double)NAN;
  free(counts);
  *count = rows;
  return MICA_OK;
}
