/* Baselines for rankings: the most popular items, and items similar to those of a user. */
#include "data/interactions/neighbours.h"
#include "run/state/evaluation.h"
#include "task/head/ranking.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void mica__ranking_add(mica__ranking *sums, const int32_t *ranked, int64_t top, const int32_t *held, int64_t count) {
  double gain = 0, most = 0, found = 0;
  for (int64_t j = 0; j < top; j++) {
    bool hit = false;
    for (int64_t i = 0; i < count; i++) hit = hit || (held[i] && held[i] == ranked[j]);
    gain += hit ? 1 / log2((double)j + 2) : 0;
    found += hit;
    most += j < count ? 1 / log2((double)j + 2) : 0;
  }
  sums->users++;
  sums->hits += found > 0;
  sums->gain += gain / most;
  sums->recall += found / (double)count;
}

/* The items with the highest scores; ties go to the first. Item 0 is left out, and unused slots are 0. */
static void find_top(const float *scores, size_t items, int32_t *ranked, int64_t top) {
  int64_t count = 0;
  for (size_t i = 1; i < items; i++) {
    if (scores[i] < 0 || (count == top && !(scores[i] > scores[ranked[top - 1]]))) continue;
    int64_t at = count < top ? count++ : top - 1;
    for (; at > 0 && scores[ranked[at - 1]] < scores[i]; at--) ranked[at] = ranked[at - 1];
    ranked[at] = (int32_t)i;
  }
  while (count < top) ranked[count++] = 0;
}

/* --- a test --- */

/* The samples of a test, one at a time. */
typedef struct sample {
  int32_t *seen, *held;
  int64_t seen_count, held_count;
} sample;

static mica_status read_ids(const mica_dataset *data, const char *name, uint64_t at, int32_t **ids, int64_t *count) {
  const size_t column = mica_dataset_column_index(data, name);
  MICA_TRY(mica_dataset_length(data, column, at, count));
  const size_t bytes = (size_t)*count * sizeof **ids;
  int32_t *grown = realloc(*ids, bytes + 1);
  if (!grown) return mica__fail_nomem("a test");
  *ids = grown;
  return mica_dataset_read(data, column, at, grown, bytes);
}

/* Scores of all items for a user; -1 for items already seen. */
static void score(const mica__neighbours *n, const double *counts, const sample *s, float *scores) {
  memset(scores, 0, n->items * sizeof *scores);
  for (size_t i = 0; counts && i < n->items; i++) scores[i] = (float)counts[i];
  for (int64_t k = 0; !counts && k < s->seen_count; k++) {
    const mica__neighbour *list = n->list + (size_t)s->seen[k] * MICA__NEIGHBOURS;
    for (int i = 0; i < MICA__NEIGHBOURS && list[i].item; i++) scores[list[i].item] += list[i].share;
  }
  for (int64_t k = 0; k < s->seen_count; k++) scores[s->seen[k]] = -1;
}

static mica_status add_metrics(mica_metrics *m, const char *name, const mica__ranking *sums) {
  const struct {
    const char *metric;
    double sum;
  } all[] = {{"ndcg", sums->gain}, {"hit_rate", sums->hits}, {"recall", sums->recall}};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    mica__text text = {0};
    mica__text_addf(&text, "%s_%s", name, all[i].metric);
    mica_status status = mica__text_status(&text);
    if (status == MICA_OK) status = mica_metrics_add(m, text.data, all[i].sum / sums->users);
    mica__text_free(&text);
    MICA_TRY(status);
  }
  return MICA_OK;
}

mica_status mica__recommend_baselines(mica_run *run, mica_metrics *m) {
  const mica__interactions *x = mica__interactions_of(run->evaluation->data);
  const double *counts = mica__recommend_facts_of(run).popularity.list;
  const int64_t top = mica__recommend_top(run);
  mica__ranking popular = {0}, near = {0};
  mica__neighbours n = {0};
  sample s = {0};
  if (!x || !counts) return MICA_OK;
  float *scores = malloc(((size_t)x->items.count + 1) * sizeof *scores);
  int32_t *ranked = calloc((size_t)top, sizeof *ranked);
  mica_status status = scores && ranked ? mica__neighbours_make(x, &n) : mica__fail_nomem("a test");
  for (uint64_t i = 0; status == MICA_OK && i < mica_dataset_count(run->evaluation->data); i++) {
    status = read_ids(run->evaluation->data, "seen", i, &s.seen, &s.seen_count);
    if (status == MICA_OK) status = read_ids(run->evaluation->data, "held", i, &s.held, &s.held_count);
    for (int which = 0; status == MICA_OK && which < 2; which++) {
      score(&n, which ? NULL : counts, &s, scores);
      find_top(scores, n.items, ranked, top);
      mica__ranking_add(which ? &near : &popular, ranked, top, s.held, s.held_count);
    }
  }
  if (status == MICA_OK) status = add_metrics(m, "popularity", &popular);
  if (status == MICA_OK) status = add_metrics(m, "item_knn", &near);
  free(n.list);
  free(scores);
  free(ranked);
  free(s.seen);
  free(s.held);
  return status;
}
