/* Baselines for rankings: the most popular items, and the items most similar to a user's. */
#include "run/state/evaluation.h"
#include "task/head/ranking.h"

#include <stdlib.h>

/* A sample of a test: the items that a user had, and those held out. */
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
      mica__ranking_score(&n, which ? NULL : counts, s.seen, s.seen_count, scores);
      mica__ranking_best(scores, n.items, ranked, top);
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
