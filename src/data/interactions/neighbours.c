/* Finds the items most similar to each item, because the same users had them. */
#include "data/interactions/neighbours.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* For users with more items than this only the last ones count, because the time grows with the square. */
#define LONGEST 1000

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
  /* Slot i + 2 first counts the users of item i. After the summation, slot i + 1 is where the users of item i begin in
   * l->users. Each user that is filled in increments that slot, so in the end it is where the users of item i + 1
   * begin. */
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
static void keep(mica__neighbour *list, mica__neighbour found) {
  int at = MICA__NEIGHBOURS;
  if (list[MICA__NEIGHBOURS - 1].item && !(found.share > list[MICA__NEIGHBOURS - 1].share)) return;
  while (at > 0 && (!list[at - 1].item || list[at - 1].share < found.share)) at--;
  memmove(list + at + 1, list + at, (size_t)(MICA__NEIGHBOURS - 1 - at) * sizeof *list);
  list[at] = found;
}

/* Cosine similarity of two items: common users / sqrt(users of one * users of the other). */
static void find_neighbours(const links *l, int32_t item, int32_t *both, int32_t *touched, mica__neighbour *list) {
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
    if (other != item) keep(list, (mica__neighbour){other, (float)share});
    both[other] = 0;
  }
}

mica_status mica__neighbours_make(const mica__interactions *x, mica__neighbours *n) {
  links l = {0};
  n->items = (size_t)x->items.count + 1;
  n->list = calloc(n->items * MICA__NEIGHBOURS, sizeof *n->list);
  int32_t *both = calloc(n->items, sizeof *both), *touched = malloc(n->items * sizeof *touched);
  mica_status status = n->list && both && touched ? make_links(x, &l) : mica__fail_nomem("neighbours");
  for (size_t i = 1; status == MICA_OK && i < n->items; i++)
    find_neighbours(&l, (int32_t)i, both, touched, n->list + i * MICA__NEIGHBOURS);
  free_links(&l);
  free(both);
  free(touched);
  return status;
}
