/* Interactions as datasets: ratings, pairs of a user and an item, windows of histories, and users with their held-out
 * items. */
#include "data/dataset.h"
#include "data/interactions/interactions.h"

#include <stdlib.h>

const mica__interactions *mica__interactions_of(const mica_dataset *dataset) {
  for (size_t i = 0; dataset && i < dataset->store->owned_count; i++)
    if (dataset->store->owned[i].release == mica__interactions_free) return dataset->store->owned[i].object;
  return NULL;
}

/* --- a dataset under construction --- */

/* Columns whose memory the dataset will own. */
typedef struct making {
  mica_column_data columns[8];
  size_t count;
  size_t samples;
  bool failed;
} making;

/* Allocates `rows` rows of `width` i32 or f32 numbers. */
static void *add_column(making *m, const char *name, mica_column_kind kind, mica_dtype dtype, mica_shape shape,
                        size_t rows, int64_t *offsets) {
  size_t width = 1;
  for (int32_t i = offsets ? 1 : 0; i < shape.rank; i++) width *= (size_t)shape.dim[i];
  void *data = calloc(rows * width + 1, 4);
  m->failed = m->failed || !data;
  m->columns[m->count++] = (mica_column_data){
      .column = {.name = name, .kind = kind, .dtype = dtype, .shape = shape}, .data = data, .offsets = offsets};
  return data;
}

static int32_t *add_ids(making *m, const char *name, size_t rows) {
  return add_column(m, name, MICA_COLUMN_KIND_ID, MICA_I32, MICA_SCALAR, rows, NULL);
}
static int32_t *add_rows(making *m, const char *name, size_t rows, int64_t width) {
  return add_column(m, name, MICA_COLUMN_KIND_ID, MICA_I32, MICA_SHAPE(width), rows, NULL);
}

/* Makes the dataset, which takes over the columns' memory and the interactions (also on failure). */
static mica_status finish(making *m, const char *name, mica__interactions *x, mica_dataset **data) {
  mica_status status = m->failed ? mica__fail_nomem(name) : MICA_OK;
  if (status == MICA_OK) status = mica_dataset_create(name, m->samples, m->columns, m->count, data);
  mica__store *store = status == MICA_OK ? (*data)->store : NULL;
  for (size_t i = 0; i < m->count; i++) {
    void *const memory[] = {(void *)m->columns[i].data, (void *)m->columns[i].offsets};
    for (int k = 0; k < 2; k++) {
      if (!store || status != MICA_OK)
        free(memory[k]);
      else
        status = mica__store_own(store, memory[k], free);
    }
  }
  if (store && status == MICA_OK)
    status = mica__store_own(store, x, mica__interactions_free);
  else
    mica__interactions_free(x);
  if (status != MICA_OK && store) mica_dataset_destroy(*data), *data = NULL;
  return status;
}

/* --- ratings --- */

size_t mica__interactions_count(const mica__interactions *x, mica_part part) {
  size_t count = 0;
  for (size_t i = 0; i < x->count; i++) count += x->list[i].part == part;
  return count;
}

/* Columns of features, for networks that read some; NULL: there are none of this kind. */
typedef struct feature_columns {
  mica__feature_sizes sizes;
  float *number;
  int32_t *category, *set, *length;
} feature_columns;

static feature_columns add_features(making *m, const mica__features *f) {
  const mica__feature_sizes s = mica__features_size(f);
  feature_columns c = {.sizes = s};
  if (s.numbers)
    c.number = add_column(m, "numbers", MICA_COLUMN_KIND_NUMBER, MICA_F32, MICA_SHAPE(s.numbers), m->samples, NULL);
  if (s.categories) c.category = add_rows(m, "categories", m->samples, s.categories);
  if (s.sets) c.set = add_rows(m, "sets", m->samples, s.width);
  if (s.sets) c.length = add_rows(m, "set_lengths", m->samples, s.sets);
  return c;
}

static void encode(const feature_columns *c, const mica__interactions *x, const mica__interaction *one, int64_t at) {
  mica__features_encode(&x->features, &one->rows, c->number ? c->number + at * c->sizes.numbers : NULL,
                        c->category ? c->category + at * c->sizes.categories : NULL,
                        c->set ? c->set + at * c->sizes.width : NULL,
                        c->length ? c->length + at * c->sizes.sets : NULL);
}

mica_status mica__interactions_ratings(const char *path, mica__interactions *x, mica_part part, mica_dataset **data) {
  making m = {.samples = mica__interactions_count(x, part)};
  const feature_columns features = add_features(&m, &x->features);
  int32_t *users = add_ids(&m, "user", m.samples), *items = add_ids(&m, "item", m.samples);
  float *ratings = add_column(&m, "label", MICA_COLUMN_KIND_NUMBER, MICA_F32, MICA_SCALAR, m.samples, NULL);
  size_t at = 0;
  for (size_t i = 0; !m.failed && i < x->count; i++) {
    const mica__interaction *one = &x->list[i];
    if (one->part != part) continue;
    users[at] = one->user;
    items[at] = one->item;
    encode(&features, x, one, (int64_t)at);
    ratings[at++] = one->rating;
  }
  return finish(&m, path, x, data);
}

/* Copies to `window` the items of a history at positions before `end`: at most the last `context` of them, and none
 * before position `begin`. *length receives how many were copied. */
static void copy_window(const mica__histories *h, int64_t begin, int64_t end, int64_t context, int32_t *window,
                        int32_t *length) {
  const int64_t from = end - begin > context ? end - context : begin;
  for (int64_t i = from; i < end; i++) window[i - from] = h->items[i];
  *length = (int32_t)(end - from);
}

mica_status mica__interactions_pairs(const char *path, mica__interactions *x, const mica__histories *h, int64_t context,
                                     mica_dataset **data) {
  making m = {.samples = (size_t)h->offsets[x->users.count + 1]};
  int32_t *users = add_ids(&m, "user", m.samples), *items = add_ids(&m, "item", m.samples);
  int32_t *windows = context ? add_rows(&m, "history", m.samples, context) : NULL;
  int32_t *lengths = context ? add_ids(&m, "history_length", m.samples) : NULL;
  for (int32_t u = 1; !m.failed && u <= x->users.count; u++)
    for (int64_t i = h->offsets[u]; i < h->offsets[u + 1]; i++) {
      users[i] = u;
      items[i] = h->items[i];
      if (context) copy_window(h, h->offsets[u], i, context, windows + i * context, &lengths[i]);
    }
  return finish(&m, path, x, data);
}

mica_status mica__interactions_windows(const char *path, mica__interactions *x, const mica__histories *h,
                                       int64_t context, mica_dataset **data) {
  making m = {.samples = 0};
  const int64_t stride = context > 1 ? context / 2 : 1;
  for (int pass = 0; pass < 2; pass++) {
    int32_t *tokens = pass ? add_rows(&m, "tokens", m.samples, context + 1) : NULL, length;
    size_t at = 0;
    for (int32_t u = 1; !m.failed && u <= x->users.count; u++) {
      const int64_t begin = h->offsets[u];
      for (int64_t end = h->offsets[u + 1]; end - begin >= 2; end -= stride, at++) {
        if (pass) copy_window(h, begin, end, context + 1, tokens + at * (size_t)(context + 1), &length);
        if (end - begin <= context + 1) {
          at++;
          break;
        }
      }
    }
    m.samples = at;
  }
  return finish(&m, path, x, data);
}

mica_status mica__interactions_held(const char *path, mica__interactions *x, const mica__histories *h, mica_part part,
                                    int64_t context, mica_dataset **data) {
  const size_t users = (size_t)x->users.count + 1;
  making m = {.samples = 0};
  int64_t *held_count = calloc(users, sizeof *held_count), *seen_at = NULL, *held_at = NULL;
  size_t seen = 0, held = 0;
  m.failed = !held_count;
  for (size_t i = 0; !m.failed && i < x->count; i++)
    if (x->list[i].part == part && x->list[i].user) held_count[x->list[i].user]++;
  for (size_t u = 1; !m.failed && u < users; u++)
    if (held_count[u]) {
      m.samples++;
      seen += (size_t)(h->offsets[u + 1] - h->offsets[u]) + 1;
      held += (size_t)held_count[u];
    }
  seen_at = calloc(m.samples + 1, sizeof *seen_at);
  held_at = calloc(m.samples + 1, sizeof *held_at);
  m.failed = m.failed || !seen_at || !held_at;
  int32_t *ids = add_ids(&m, "user", m.samples);
  int32_t *windows = context ? add_rows(&m, "history", m.samples, context) : NULL;
  int32_t *lengths = context ? add_ids(&m, "history_length", m.samples) : NULL;
  const mica_shape open = MICA_SHAPE(MICA_DYNAMIC);
  int32_t *all = add_column(&m, "seen", MICA_COLUMN_KIND_ID, MICA_I32, open, seen, seen_at);
  int32_t *out = add_column(&m, "held", MICA_COLUMN_KIND_ID, MICA_I32, open, held, held_at);
  size_t at = 0;
  for (size_t u = 1; !m.failed && u < users; u++) {
    if (!held_count[u]) continue;
    const int64_t begin = h->offsets[u], end = h->offsets[u + 1];
    ids[at] = (int32_t)u;
    if (context) copy_window(h, begin, end, context, windows + at * (size_t)context, &lengths[at]);
    int32_t *to = all + seen_at[at];
    *to++ = 0; /* item 0, which stands for unknown items, is never recommended */
    for (int64_t i = begin; i < end; i++) *to++ = h->items[i];
    seen_at[at + 1] = seen_at[at] + end - begin + 1;
    held_at[at + 1] = held_at[at] + held_count[u];
    held_count[u] = held_at[at++]; /* from now on: the next free element */
  }
  for (size_t i = 0; !m.failed && i < x->count; i++)
    if (x->list[i].part == part && x->list[i].user) out[held_count[x->list[i].user]++] = x->list[i].item;
  free(held_count);
  return finish(&m, path, x, data);
}
