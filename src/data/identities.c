/* Gives the classes in training numbers that are the same in all parts of the data (training, validation, test),
 * although the parts need not have the same classes. */
#include "data/identities.h"
#include "base/text.h"
#include "ops/random/permutation.h"

#include <stdlib.h>
#include <string.h>

/* The share and the smallest number of classes that are kept for the test, unless the setting or a test part
 * decides. */
#define USUAL_SHARE 0.3
#define FEWEST 2

/* The index of a name in a list of `count`; `count`: it is not there. */
static size_t find_name(const char *const *names, size_t count, const char *name) {
  size_t i = 0;
  while (i < count && strcmp(names[i], name) != 0) i++;
  return i;
}

static void release(void *user) {
  mica__identities *ids = user;
  for (size_t i = 0; ids->names && i < ids->count; i++) free(ids->names[i]);
  free(ids->names);
  free(ids->numbers);
  free(ids);
}

const mica__identities *mica__identities_of(const mica_dataset *data) {
  const mica__column *label = data && data->store ? mica__store_find(data->store, "label") : NULL;
  return label && label->about.kind == MICA_COLUMN_KIND_ID ? label->user : NULL;
}

/* --- which classes are kept for the test --- */

/* Opened data and their column of classes. */
typedef struct base {
  mica_dataset *data;
  size_t column, classes;
} base;

static const char *name_of(const base *b, size_t k) {
  return mica_dataset_column_class(b->data, b->column, (int32_t)k);
}

static mica_status open_base(const char *path, const mica_dataset_config *config, const mica__unseen *how,
                             mica_part part, base *b) {
  mica_dataset_config own = *config;
  const mica_dataset *like = config->like;
  own.part = part;
  own.like = NULL; /* with config->like, a class that the run does not have would be an error */
  if (like && mica_dataset_shape(like).rank == 3) {
    const mica_shape shape = mica_dataset_shape(like);
    own.channels = (int32_t)shape.dim[0], own.height = (int32_t)shape.dim[1], own.width = (int32_t)shape.dim[2];
  }
  MICA_TRY(mica_dataset_open(path, &own, &b->data));
  b->column = mica_dataset_column_index(b->data, "label");
  const mica_column *label = mica_dataset_column(b->data, b->column);
  if (label && label->kind == MICA_COLUMN_KIND_CLASS && label->shape.rank == 0) {
    b->classes = (size_t)label->classes;
    return MICA_OK;
  }
  mica_dataset_destroy(b->data);
  b->data = NULL;
  return mica__fail(MICA_E_FORMAT, "%s has no column \"label\" with one class per sample, which the task %s needs",
                    path, how->task);
}

/* How many classes of the test part are not in the training part; 0 if there is no test part. */
static mica_status count_new(const char *path, const mica_dataset_config *config, const mica__unseen *how,
                             const base *b, size_t *count) {
  base test = {0};
  const char **names = calloc(b->classes + 1, sizeof *names);
  *count = 0;
  if (!names) return mica__fail_nomem("classes");
  mica_status status = open_base(path, config, how, MICA_PART_TEST, &test);
  for (size_t k = 0; k < b->classes; k++) names[k] = name_of(b, k);
  for (size_t k = 0; status == MICA_OK && k < test.classes; k++)
    *count += find_name(names, b->classes, name_of(&test, k)) == b->classes;
  mica_dataset_destroy(test.data);
  free(names);
  return status == MICA_E_NOT_FOUND ? MICA_OK : status;
}

/* Marks the classes in a list such as "ann,bob". */
static mica_status mark_named(const base *b, const char *list, bool *kept) {
  for (const char *at = list; *at;) {
    const size_t n = strcspn(at, ",");
    size_t k = 0;
    while (k < b->classes && (strlen(name_of(b, k)) != n || strncmp(name_of(b, k), at, n) != 0)) k++;
    if (n && k == b->classes)
      return mica__fail(MICA_E_INVALID, "unseen: no sample to train on in %s has the class '%.*s'",
                        mica_dataset_name(b->data), (int)n, at);
    if (n) kept[k] = true;
    at += n + (at[n] == ',');
  }
  return MICA_OK;
}

static void mark_some(const mica__unseen *how, const base *b, size_t count, bool *kept) {
  const mica__permutation order = mica__permutation_of((uint32_t)b->classes, how->seed, MICA__PERMUTATION_SPLIT);
  for (uint32_t k = 0; k < b->classes; k++) kept[k] = mica__permute(&order, k) < count;
}

/* Marks the classes that are kept for the test. */
static mica_status mark(const char *path, const mica_dataset_config *config, const mica__unseen *how, const base *b,
                        bool *kept) {
  const char *unseen = how->classes;
  const bool number = *unseen && !unseen[strspn(unseen, "0123456789")];
  size_t count = 0, found = 0;
  if (number)
    count = (size_t)strtoul(unseen, NULL, 10);
  else if (!*unseen)
    MICA_TRY(count_new(path, config, how, b, &found));
  if (!*unseen && found < FEWEST) count = (size_t)(USUAL_SHARE * (double)b->classes + 0.5);
  if (!*unseen && found < FEWEST && count < FEWEST) count = FEWEST;
  if (*unseen && !number)
    MICA_TRY(mark_named(b, unseen, kept));
  else if (count && count < b->classes)
    mark_some(how, b, count, kept);
  for (size_t k = 0; !number && *unseen && k < b->classes; k++) count += kept[k];
  if (b->classes < 2 * FEWEST && (count == 1 || count > b->classes || b->classes - count < FEWEST))
    return mica__fail(MICA_E_FORMAT,
                      "%s has %zu class%s: the task %s needs four: two to train on and two others for the test", path,
                      b->classes, b->classes == 1 ? "" : "es", how->task);
  if (count == 1)
    return mica__fail(MICA_E_INVALID,
                      "unseen keeps one class for the test, which has no pairs of different classes; keep two or more");
  if (count > b->classes || b->classes - count < FEWEST)
    return mica__fail(MICA_E_FORMAT,
                      "%s has %zu class%s, but the task %s keeps %zu for the test and needs two or more others to "
                      "train on; keep fewer with --unseen",
                      path, b->classes, b->classes == 1 ? "" : "es", how->task, count);
  return MICA_OK;
}

/* Refuses data in which no class has two samples: nothing could be learned. */
static mica_status check_pairs(const char *path, const mica__unseen *how, const base *b, const bool *kept) {
  size_t *counts = calloc(b->classes + 1, sizeof *counts), pairs = 0;
  if (!counts) return mica__fail_nomem("classes");
  for (uint64_t i = 0; i < mica_dataset_count(b->data); i++) {
    const int32_t k = mica_dataset_label(b->data, i);
    if (k >= 0 && !kept[k]) pairs += ++counts[k] == 2;
  }
  free(counts);
  if (pairs) return MICA_OK;
  return mica__fail(MICA_E_FORMAT,
                    "%s: no class to train on has two samples; the task %s learns from samples of the same class", path,
                    how->task);
}

/* --- numbers of classes --- */

/* The names of the classes in training. */
typedef struct trained {
  const char **names;
  size_t count;
} trained;

/* Finds the names of the identities that are trained: the names of config->like, else how->known, else the classes of
 * the data that the settings do not keep for the test. */
static mica_status find_trained(const char *path, const mica_dataset_config *config, const mica__unseen *how,
                                const base *b, trained *t) {
  const mica__identities *like = mica__identities_of(config->like);
  t->count = like ? like->trained : how->known_count;
  t->names = calloc((t->count > b->classes ? t->count : b->classes) + 1, sizeof *t->names);
  if (!t->names) return mica__fail_nomem("classes");
  for (size_t k = 0; k < t->count; k++) t->names[k] = like ? like->names[k] : how->known[k];
  if (t->count) return MICA_OK;
  bool *kept = calloc(b->classes + 1, sizeof *kept);
  if (!kept) return mica__fail_nomem("classes");
  mica_status status = mark(path, config, how, b, kept);
  if (status == MICA_OK) status = check_pairs(path, how, b, kept);
  for (size_t k = 0; status == MICA_OK && k < b->classes; k++)
    if (!kept[k]) t->names[t->count++] = name_of(b, k);
  free(kept);
  return status;
}

static mica_status fill(const base *b, const trained *t, mica__identities *ids) {
  const uint64_t samples = mica_dataset_count(b->data);
  ids->names = calloc(t->count + b->classes + 1, sizeof *ids->names);
  ids->numbers = malloc(((size_t)samples + 1) * sizeof *ids->numbers);
  int32_t *map = malloc((b->classes + 1) * sizeof *map);
  bool made = ids->names && ids->numbers && map;
  ids->trained = ids->count = t->count;
  for (size_t k = 0; made && k < t->count; k++) made = (ids->names[k] = mica__strdup(t->names[k])) != NULL;
  for (size_t k = 0; made && k < b->classes; k++) {
    const size_t at = find_name(t->names, t->count, name_of(b, k));
    map[k] = (int32_t)(at < t->count ? at : ids->count);
    if (at == t->count) made = (ids->names[ids->count++] = mica__strdup(name_of(b, k))) != NULL;
  }
  for (uint64_t i = 0; made && i < samples; i++) {
    const int32_t k = mica_dataset_label(b->data, i);
    ids->numbers[i] = k < 0 ? -1 : map[k];
  }
  free(map);
  return made ? MICA_OK : mica__fail_nomem("classes");
}

/* Replaces the data's classes by identity numbers. */
static mica_status number_classes(const base *b, const trained *t, mica_dataset **out) {
  mica__identities *ids = calloc(1, sizeof *ids);
  mica_status status = ids ? fill(b, t, ids) : mica__fail_nomem("classes");
  if (status == MICA_OK) {
    const mica_column_data label = {
        .column = {"label", MICA_COLUMN_KIND_ID, MICA_I32, {0}, 0}, .data = ids->numbers, .user = ids};
    status = mica_dataset_derive(b->data, &label, 1, out);
  }
  if (status != MICA_OK) {
    if (ids) release(ids);
    return status;
  }
  const char *summary = mica_dataset_summary(b->data);
  status = mica__store_own((*out)->store, ids, release);
  if (status == MICA_OK && *summary) status = mica__store_add_summary((*out)->store, summary);
  if (status == MICA_OK) return MICA_OK;
  mica_dataset_destroy(*out);
  *out = NULL;
  return status;
}

/* --- parts --- */

mica_status mica__identities_pick(mica_dataset *whole, bool unseen, mica_dataset **out) {
  const mica__identities *ids = mica__identities_of(whole);
  const uint64_t samples = mica_dataset_count(whole);
  uint8_t *chosen = malloc((size_t)samples + 1);
  if (!chosen) return mica__fail_nomem("a part of a dataset");
  for (uint64_t i = 0; i < samples; i++)
    chosen[i] = ids->numbers[i] >= 0 && ((size_t)ids->numbers[i] >= ids->trained) == unseen;
  mica_status status = mica__dataset_pick(whole, chosen, out);
  free(chosen);
  return status;
}

mica_status mica__identities_open(const char *path, const mica_dataset_config *config, const mica__unseen *how,
                                  mica_part part, mica_dataset **out) {
  base b = {0};
  trained t = {0};
  MICA_TRY(open_base(path, config, how, part, &b));
  mica_status status = find_trained(path, config, how, &b, &t);
  if (status == MICA_OK) status = number_classes(&b, &t, out);
  free(t.names);
  mica_dataset_destroy(b.data);
  return status;
}

mica_status mica__identities_has(const char *path, const mica_dataset_config *config, const mica__unseen *how,
                                 mica_part part, bool *has) {
  base b = {0};
  mica_status status = open_base(path, config, how, part, &b);
  mica_dataset_destroy(b.data);
  *has = status == MICA_OK;
  return status == MICA_E_NOT_FOUND ? MICA_OK : status;
}
