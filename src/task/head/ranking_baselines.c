/* What rankings are compared with: the most popular items, and items similar to those that a user had. */
#include "run/state/evaluation.h"
#include "task/head/ranking.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How many similar items are kept for each. */
#define NEIGHBOURS 100
/* For users with more items than this only the last ones count, because the time grows with the square. */
#define LONGEST 1000

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

/* --- neighbours --- */

typedef struct neighbour {
  int32_t item;
  float share;
} neighbour;

typedef struct neighbours {
  neighbour *list; /* NEIGHBOURS per item; unused slots have item 0 */
  size_t items;
} neighbours;

/* The users of each item and the items of each user, in the training part. */
typedef struct links {
  mica__histories of_users;
  int64_t *offsets;
  int32_t *users;
} links;

static int64_t first_of(const links *l, int32_t u) {
  const int64_t begin = l->of_users.offsets[u], end = l->of_users.offsets[u + 1];
  return end - begin > LONGEST ? end - LONGEST : begin;
}

static mica_status make_links(const mica__interactions *x, links *l) {
  const size_t items = (size_t)x->items.count + 1;
  MICA_TRY(mica__histories_make(x, MICA_PART_TRAIN, &l->of_users));
  l->offsets = calloc(items + 2, sizeof *l->offsets);
  l->users = malloc(((size_t)l->of_users.offsets[x->users.count + 1] + 1) * sizeof *l->users);
  if (!l->offsets || !l->users) return mica__fail_nomem("neighbours");
  /* Counts are stored two slots further on, so that filling in the entries leaves the offsets in place. */
  for (int32_t u = 1; u <= x->users.count; u++)
    for (int64_t i = first_of(l, u); i < l->of_users.offsets[u + 1]; i++) l->offsets[l->of_users.items[i] + 2]++;
  for (size_t i = 1; i < items; i++) l->offsets[i + 1] += l->offsets[i];
  for (int32_t u = 1; u <= x->users.count; u++)
    for (int64_t i = first_of(l, u); i < l->of_users.offsets[u + 1]; i++)
      l->users[l->offsets[l->of_users.items[i] + 1]++] = u;
  return MICA_OK;
}

static void free_links(links *l) {
  mica__histories_free(&l->of_users);
  free(l->offsets);
  free(l->users);
}

static int64_t degree(const links *l, int32_t item) { return l->offsets[item + 1] - l->offsets[item]; }

/* Inserts a neighbour of an item, in descending order. */
static void keep(neighbour *list, neighbour found) {
  int at = NEIGHBOURS;
  if (list[NEIGHBOURS - 1].item && !(found.share > list[NEIGHBOURS - 1].share)) return;
  while (at > 0 && (!list[at - 1].item || list[at - 1].share < found.share)) at--;
  memmove(list + at + 1, list + at, (size_t)(NEIGHBOURS - 1 - at) * sizeof *list);
  list[at] = found;
}

/* The cosine of the sets of users of two items: both / sqrt(one other). */
static void find_neighbours(const links *l, int32_t item, int32_t *both, int32_t *touched, neighbour *list) {
  size_t count = 0;
  for (int64_t k = l->offsets[item]; k < l->offsets[item + 1]; k++) {
    const int32_t u = l->users[k];
    for (int64_t i = first_of(l, u); i < l->of_users.offsets[u + 1]; i++) {
      const int32_t other = l->of_users.items[i];
      if (!both[other]++) touched[count++] = other;
    }
  }
  for (size_t i = 0; i < count; i++) {
    const int32_t other = touched[i];
    const double share = both[other] / sqrt((double)degree(l, item) * (double)degree(l, other));
    if (other != item) keep(list, (neighbour){other, (float)share});
    both[other] = 0;
  }
}

static mica_status make_neighbours(const mica__interactions *x, neighbours *n) {
  links l = {0};
  n->items = (size_t)x->items.count + 1;
  n->list = calloc(n->items * NEIGHBOURS, sizeof *n->list);
  int32_t *both = calloc(n->items, sizeof *both), *touched = malloc(n->items * sizeof *touched);
  mica_status status = n->list && both && touched ? make_links(x, &l) : mica__fail_nomem("neighbours");
  for (size_t i = 1; status == MICA_OK && i < n->items; i++)
    find_neighbours(&l, (int32_t)i, both, touched, n->list + i * NEIGHBOURS);
  free_links(&l);
  free(both);
  free(touched);
  return status;
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
static void score(const neighbours *n, const double *counts, const sample *s, float *scores) {
  memset(scores, 0, n->items * sizeof *scores);
  for (size_t i = 0; counts && i < n->items; i++) scores[i] = (float)counts[i];
  for (int64_t k = 0; !counts && k < s->seen_count; k++) {
    const neighbour *list = n->list + (size_t)s->seen[k] * NEIGHBOURS;
    for (int i = 0; i < NEIGHBOURS && list[i].item; i++) scores[list[i].item] += list[i].share;
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
  neighbours n = {0};
  sample s = {0};
  if (!x || !counts) return MICA_OK;
  float *scores = malloc(((size_t)x->items.count + 1) * sizeof *scores);
  int32_t *ranked = calloc((size_t)top, sizeof *ranked);
  mica_status status = scores && ranked ? make_neighbours(x, &n) : mica__fail_nomem("a test");
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
