/* The parts of a table of interactions as datasets: ratings to learn, positives to tell from negatives, windows of
 * histories, and users with the items that were held out of theirs. */
#include "run/common_fields.h"
#include "run/facts.h"
#include "task/input/interactions.h"

#include <stdlib.h>
#include <string.h>

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

/* Room for `rows` rows of `width` i32 or f32 numbers. */
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

/* Makes the dataset, which takes the columns' memory and the interactions (also on failure). */
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

/* --- what the parts are --- */

static mica_status no_part(const char *path, mica_part part) {
  return mica__fail(MICA_E_NOT_FOUND, "%s has no %s part", path, mica_part_name(part));
}

static size_t count_part(const mica__interactions *x, mica_part part, bool known) {
  size_t count = 0;
  for (size_t i = 0; i < x->count; i++)
    count += x->list[i].part == part && (!known || (x->list[i].user && x->list[i].item));
  return count;
}

/* Columns of features, for networks that take some; NULL: there are none of the kind. */
typedef struct feature_columns {
  int64_t numbers, categories, width, sets;
  float *number;
  int32_t *category, *set, *length;
} feature_columns;

static feature_columns add_features(making *m, const mica__recommender *network) {
  feature_columns c = {.numbers = network->numbers, .categories = network->categories, .sets = network->sets};
  for (int64_t s = 0; s < c.sets; s++) c.width += network->set_width[s];
  if (c.numbers)
    c.number = add_column(m, "numbers", MICA_COLUMN_KIND_NUMBER, MICA_F32, MICA_SHAPE(c.numbers), m->samples, NULL);
  if (c.categories) c.category = add_rows(m, "categories", m->samples, c.categories);
  if (c.sets) c.set = add_rows(m, "sets", m->samples, c.width);
  if (c.sets) c.length = add_rows(m, "set_lengths", m->samples, c.sets);
  return c;
}

static void encode(const feature_columns *c, const mica__interactions *x, const mica__interaction *one, int64_t at) {
  mica__features_encode(&x->features, &one->rows, c->number ? c->number + at * c->numbers : NULL,
                        c->category ? c->category + at * c->categories : NULL, c->set ? c->set + at * c->width : NULL,
                        c->length ? c->length + at * c->sets : NULL);
}

static mica_status make_ratings(const mica__recommender *network, const char *path, mica__interactions *x,
                                mica_part part, mica_dataset **data) {
  making m = {.samples = count_part(x, part, false)};
  const feature_columns features = add_features(&m, network);
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

/* The last `context` items up to `end`, the others 0; *length counts them. */
static void copy_window(const mica__histories *h, int64_t begin, int64_t end, int64_t context, int32_t *window,
                        int32_t *length) {
  const int64_t from = end - begin > context ? end - context : begin;
  for (int64_t i = from; i < end; i++) window[i - from] = h->items[i];
  *length = (int32_t)(end - from);
}

/* A sample for each position of a history that is known: the item there, and the items before it. */
static mica_status make_pairs(const char *path, mica__interactions *x, const mica__histories *h, int64_t context,
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

/* Windows of context + 1 items, from the end of each history backwards, with half of a window in common. */
static mica_status make_windows(const char *path, mica__interactions *x, const mica__histories *h, int64_t context,
                                mica_dataset **data) {
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

/* A sample for each user with items of the part: the history before them, all items seen, and the ones held out. */
static mica_status make_held(const char *path, mica__interactions *x, const mica__histories *h, mica_part part,
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
    *to++ = 0; /* no item is recommended that has no name */
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

/* --- opening --- */

static mica__holdout holdout_of(const mica_run *run) {
  const int32_t split = mica__recommend_settings_of(run).split;
  if (split >= 0) return (mica__holdout)split;
  return mica__recommend_ranks(run) ? MICA__HOLDOUT_LAST : MICA__HOLDOUT_RANDOM;
}

static mica_status need_times(const mica_run *run, const mica__interactions *x, const char *path) {
  if (x->timed || holdout_of(run) != MICA__HOLDOUT_TIME) return MICA_OK;
  return mica__fail(MICA_E_FORMAT, "%s has no column of times, as 'timestamp', to split by", path);
}

/* Reads the file, and parts it where it is the run's own. */
static mica_status read_parted(const mica_run *run, const char *path, bool own, mica__interactions *x) {
  const mica__recommend_settings s = mica__recommend_settings_of(run);
  const bool known = mica__recommend_facts_of(run).users.count > 0;
  MICA_TRY(mica__recommend_read(run, path, x));
  if (!mica__recommend_ranks(run) && !x->rated)
    return mica__fail(MICA_E_FORMAT, "%s has no column of %s, as '%s'; --objective ranking needs none", path,
                      mica__recommend_clicks(run) ? "clicks" : "ratings",
                      mica__recommend_clicks(run) ? "click" : "rating");
  MICA_TRY(need_times(run, x, path));
  if (own)
    MICA_TRY(mica__interactions_part(x, holdout_of(run), s.test, mica__recommend_validation(run),
                                     (uint64_t)mica__common_settings_of(run).seed));
  if (known) return mica__recommend_adopt(x, run);
  return mica__interactions_number(x, s.least);
}

static mica_status make_part(const mica_run *run, const char *path, mica_part part, mica__interactions *x,
                             mica_dataset **data) {
  mica__recommender network = mica__recommend_network(run);
  const int64_t context = mica__recommender_context(&network);
  mica__histories h = {0};
  mica_status status;
  if (mica__recommender_has_features(&network)) mica__features_size(&x->features, &network);
  if (!mica__recommend_ranks(run)) return make_ratings(&network, path, x, part, data);
  status = mica__histories_make(x, part == MICA_PART_TEST ? MICA_PART_VALIDATION : MICA_PART_TRAIN, &h);
  if (status != MICA_OK) {
    mica__interactions_free(x);
    return status;
  }
  if (part != MICA_PART_TRAIN)
    status = make_held(path, x, &h, part, context, data);
  else
    status = mica__recommender_is_sequential(&network) ? make_windows(path, x, &h, context, data)
                                                       : make_pairs(path, x, &h, context, data);
  mica__histories_free(&h);
  return status;
}

mica_status mica__recommend_open(const mica_run *run, const char *path, const mica_dataset_config *config,
                                 mica_dataset **data) {
  const mica_part part = config->part;
  const bool own = mica__recommend_owns(run, path);
  if (!own && mica__recommend_ranks(run))
    return mica__fail(MICA_E_UNSUPPORTED, "%s: rankings are tested on what was held out of the training's data", path);
  if (!own && part != MICA_PART_TRAIN) return no_part(path, part);
  mica__interactions *x = calloc(1, sizeof *x);
  if (!x) return mica__fail_nomem(path);
  mica_status status = read_parted(run, path, own, x);
  if (status == MICA_OK && !count_part(x, part, false)) status = no_part(path, part);
  if (status != MICA_OK) {
    mica__interactions_free(x);
    return status;
  }
  return make_part(run, path, part, x, data);
}
