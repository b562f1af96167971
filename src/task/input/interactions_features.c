/* Features as values stored with a run (run/facts.h): a text for each column, the values of the columns, and the rows
 * of users and items. */
#include "data/interactions/feature_texts.h"
#include "run/facts.h"
#include "run/fields.h"
#include "task/input/interactions.h"

#include <stdlib.h>

static const char *const row_facts[] = {NULL, "user_features", "item_features"};
_Static_assert(MICA__FEATURE_SETS == MICA__RECOMMENDER_SETS, "a network takes all sets that are read");

#define FEATURE_FACTS(X, S)                                                                                            \
  X(S, TEXTS, feature_values, .needed = false)                                                                         \
  X(S, TEXTS, user_features, .needed = false)                                                                          \
  X(S, TEXTS, item_features, .needed = false)
MICA__FACTS(feature, FEATURE_FACTS, 0);

bool mica__features_are_noted(const mica_run *run) { return mica__recommend_facts_of(run).features.list != NULL; }

/* --- to stored values --- */

/* The state of writing features to stored values: either the columns with their numbers, or the rows of features of one
 * side's ids (users or items). */
typedef struct writing {
  const mica__features *f;
  mica__side side;
  const mica__id_names *ids;
  double *numbers;
} writing;

static mica_status write_column(void *user, size_t k, mica__text *text) {
  const writing *w = user;
  return mica__feature_write(&w->f->list[k], text, w->numbers + 4 * k);
}

static mica_status write_row(void *user, size_t i, mica__text *text) {
  const writing *w = user;
  const int32_t row = mica__id_names_find(&w->f->keys[w->side], w->ids->names[i]) - 1;
  mica__features_write_row(w->f, w->side, row, text);
  return MICA_OK;
}

static mica_status note_columns(mica_run *run, const mica__features *f) {
  writing w = {.f = f, .numbers = calloc(4 * f->count + 1, sizeof *w.numbers)};
  if (!w.numbers) return mica__fail_nomem("features");
  mica_status status = mica__run_note_written(run, "features", f->count, write_column, &w);
  if (status == MICA_OK) status = mica__run_note_numbers(run, "feature_numbers", w.numbers, 4 * f->count);
  free(w.numbers);
  return status;
}

static mica_status note_values(mica_run *run, const mica__features *f) {
  size_t count = 0, at = 0;
  for (size_t k = 0; k < f->count; k++) count += (size_t)f->list[k].values.count;
  if (!count) return MICA_OK;
  const char **list = calloc(count, sizeof *list);
  if (!list) return mica__fail_nomem("features");
  for (size_t k = 0; k < f->count; k++)
    for (int32_t i = 0; i < f->list[k].values.count; i++) list[at++] = f->list[k].values.names[i];
  mica_status status = mica__run_note(run, "feature_values", list, count);
  free(list);
  return status;
}

static mica_status note_rows(mica_run *run, const mica__features *f, mica__side side, const mica__id_names *ids) {
  writing w = {.f = f, .side = side, .ids = ids};
  if (!mica__features_has_side(f, side)) return MICA_OK;
  return mica__run_note_written(run, row_facts[side], (size_t)ids->count, write_row, &w);
}

mica_status mica__features_note(mica_run *run, const mica__features *f, const mica__id_names *users,
                                const mica__id_names *items) {
  if (!f->count) return MICA_OK;
  MICA_TRY(note_columns(run, f));
  MICA_TRY(note_values(run, f));
  MICA_TRY(note_rows(run, f, MICA__SIDE_USER, users));
  return note_rows(run, f, MICA__SIDE_ITEM, items);
}

/* --- from stored values --- */

mica_status mica__features_recall(const mica_run *run, mica__features *f) {
  const mica__recommend_facts known = mica__recommend_facts_of(run);
  const mica__feature_facts facts = facts_of(run);
  const mica__feature_texts texts = {.columns = known.features.list,
                                     .values = facts.feature_values.list,
                                     .numbers = known.feature_numbers.list,
                                     .count = known.features.count,
                                     .value_count = facts.feature_values.count,
                                     .number_count = known.feature_numbers.count};
  if (!mica__features_are_noted(run)) return MICA_OK;
  MICA_TRY(mica__features_read_columns(&texts, f));
  MICA_TRY(mica__features_read_rows(f, MICA__SIDE_USER, facts.user_features.list, facts.user_features.count,
                                    known.users.count));
  return mica__features_read_rows(f, MICA__SIDE_ITEM, facts.item_features.list, facts.item_features.count,
                                  known.items.count);
}
