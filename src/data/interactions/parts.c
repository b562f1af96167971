/* Splits interactions into parts, numbers them, and sorts them by time. */
#include "data/interactions/interactions.h"
#include "ops/random/philox.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- parts --- */

typedef struct entry {
  double key;
  int32_t user;
  size_t index;
} entry;

static int compare_entries(const void *a, const void *b) {
  const entry *x = a, *y = b;
  if (x->user != y->user) return x->user < y->user ? -1 : 1;
  if (x->key != y->key) return x->key < y->key ? -1 : 1;
  return (x->index > y->index) - (x->index < y->index);
}

static void part_last(mica__interactions *x, const entry *order, bool validates) {
  for (size_t from = 0, to = 0; from < x->count; from = to) {
    while (to < x->count && order[to].user == order[from].user) to++;
    const size_t all = to - from;
    if (all > 1) x->list[order[to - 1].index].part = MICA_PART_TEST;
    if (all > 2 && validates) x->list[order[to - 2].index].part = MICA_PART_VALIDATION;
  }
}

/* A pseudo-random number from 0 to 1 that depends only on the seed and the index of the line. */
static double draw(size_t i, uint64_t seed) {
  /* The third word, "reco", makes these numbers differ from those of other tasks. */
  uint32_t words[4] = {(uint32_t)i, (uint32_t)((uint64_t)i >> 32), UINT32_C(0x7265636f), 0};
  mica__philox(words, (uint32_t)seed, (uint32_t)(seed >> 32));
  return (double)words[0] * 0x1p-32 + (double)words[1] * 0x1p-64;
}

mica_status mica__interactions_part(mica__interactions *x, mica__holdout how, double test, double validation,
                                    uint64_t seed) {
  entry *order = malloc((x->count + 1) * sizeof *order);
  if (!order) return mica__fail_nomem("a split");
  for (size_t i = 0; i < x->count; i++) {
    x->list[i].part = MICA_PART_TRAIN;
    order[i] = (entry){how == MICA__HOLDOUT_RANDOM ? draw(i, seed) : x->list[i].time,
                       how == MICA__HOLDOUT_LAST ? x->list[i].user : 0, i};
  }
  qsort(order, x->count, sizeof *order, compare_entries);
  const size_t last = (size_t)round(test * (double)x->count), before = (size_t)round(validation * (double)x->count);
  if (how == MICA__HOLDOUT_LAST) part_last(x, order, validation > 0);
  for (size_t i = 0; how != MICA__HOLDOUT_LAST && i < last + before && i < x->count; i++)
    x->list[order[x->count - 1 - i].index].part = i < last ? MICA_PART_TEST : MICA_PART_VALIDATION;
  free(order);
  return MICA_OK;
}

/* --- numbers --- */

static void apply(mica__interactions *x, const int32_t *users, const int32_t *items) {
  for (size_t i = 0; i < x->count; i++) {
    x->list[i].user = users[x->list[i].user];
    x->list[i].item = items[x->list[i].item];
  }
}

/* Renumbers the values of features by how they occur in the training part (mica__features_number). */
static mica_status number_features(mica__interactions *x, int64_t least) {
  mica__feature_rows *rows = malloc((x->count + 1) * sizeof *rows);
  size_t count = 0;
  if (!rows) return mica__fail_nomem("features");
  for (size_t i = 0; i < x->count; i++)
    if (x->list[i].part == MICA_PART_TRAIN) rows[count++] = x->list[i].rows;
  mica_status status = mica__features_number(&x->features, rows, count, least);
  free(rows);
  return status;
}

mica_status mica__interactions_number(mica__interactions *x, int64_t least) {
  const size_t users = (size_t)x->users.count + 1, items = (size_t)x->items.count + 1;
  int32_t *map = calloc(2 * (users + items), sizeof *map), known[2] = {0, 0};
  if (!map) return mica__fail_nomem("ids");
  int32_t *user_map = map, *item_map = map + users, *user_count = item_map + items, *item_count = user_count + users;
  for (size_t i = 0; i < x->count; i++)
    if (x->list[i].part == MICA_PART_TRAIN) user_count[x->list[i].user]++, item_count[x->list[i].item]++;
  for (size_t i = 0; i < x->count; i++) {
    const mica__interaction *one = &x->list[i];
    if (one->part != MICA_PART_TRAIN) continue;
    if (!user_map[one->user] && user_count[one->user] >= least) user_map[one->user] = ++known[0];
    if (!item_map[one->item] && item_count[one->item] >= least) item_map[one->item] = ++known[1];
  }
  apply(x, user_map, item_map);
  mica_status status = mica__id_names_renumber(&x->users, user_map, known[0]);
  if (status == MICA_OK) status = mica__id_names_renumber(&x->items, item_map, known[1]);
  free(map);
  return status == MICA_OK ? number_features(x, least) : status;
}

/* Numbers ids in the order of `names`. *map receives the new number of each old id, 0 if its name is not in `names`.
 * Messages call the list `what`. */
static mica_status rename_ids(mica__id_names *ids, const char *what, const char *const *names, size_t count,
                              int32_t **map) {
  mica__id_names known = {0};
  int32_t id = 0;
  *map = calloc((size_t)ids->count + 1, sizeof **map);
  mica_status status = *map ? MICA_OK : mica__fail_nomem("ids");
  for (size_t i = 0; status == MICA_OK && i < count; i++) {
    status = mica__id_names_add(&known, names[i], &id);
    if (status == MICA_OK && (size_t)id != i + 1)
      status = mica__fail(MICA_E_FORMAT, "\"%s\" names '%s' twice", what, names[i]);
  }
  for (int32_t i = 0; status == MICA_OK && i < ids->count; i++)
    (*map)[i + 1] = mica__id_names_find(&known, ids->names[i]);
  mica__id_names_free(ids);
  *ids = known;
  return status;
}

mica_status mica__interactions_rename(mica__interactions *x, const char *const *users, size_t user_count,
                                      const char *const *items, size_t item_count) {
  int32_t *maps[2] = {NULL, NULL};
  mica_status status = rename_ids(&x->users, "users", users, user_count, &maps[0]);
  if (status == MICA_OK) status = rename_ids(&x->items, "items", items, item_count, &maps[1]);
  if (status == MICA_OK) apply(x, maps[0], maps[1]);
  free(maps[0]);
  free(maps[1]);
  return status;
}

/* --- histories --- */

void mica__histories_free(mica__histories *h) {
  free(h->offsets);
  free(h->items);
  free(h->ratings);
  *h = (mica__histories){0};
}

mica_status mica__histories_make(const mica__interactions *x, mica_part last, mica__histories *out) {
  const size_t users = (size_t)x->users.count + 1;
  size_t count = 0;
  entry *order = malloc((x->count + 1) * sizeof *order);
  *out = (mica__histories){calloc(users + 1, sizeof *out->offsets), malloc((x->count + 1) * sizeof *out->items),
                           malloc((x->count + 1) * sizeof *out->ratings)};
  if (!order || !out->offsets || !out->items || !out->ratings) {
    free(order);
    mica__histories_free(out);
    return mica__fail_nomem("histories");
  }
  for (size_t i = 0; i < x->count; i++) {
    const mica__interaction *one = &x->list[i];
    if (one->part <= (int)last && one->item && one->user) order[count++] = (entry){one->time, one->user, i};
  }
  qsort(order, count, sizeof *order, compare_entries);
  for (size_t i = 0; i < count; i++) {
    out->items[i] = x->list[order[i].index].item;
    out->ratings[i] = x->list[order[i].index].rating;
    out->offsets[order[i].user + 1]++;
  }
  for (size_t u = 0; u < users; u++) out->offsets[u + 1] += out->offsets[u];
  free(order);
  return MICA_OK;
}

void mica__histories_write(const mica__histories *h, size_t user, mica__text *text) {
  mica__text_add(text, "");
  for (int64_t i = h->offsets[user]; i < h->offsets[user + 1]; i++)
    mica__text_addf(text, i > h->offsets[user] ? " %d" : "%d", (int)h->items[i]);
}

bool mica__histories_parse(const char *text, size_t items, int32_t *ids, int64_t *count) {
  for (char *next = NULL; *text; text = next) {
    const long item = strtol(text, &next, 10);
    if (next == text || item < 1 || (size_t)item > items) return false;
    ids[(*count)++] = (int32_t)item;
  }
  return true;
}
