/* Features as facts of a run: a text for each column, the values of the columns, and the rows of users and items. */
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

/* --- to facts --- */

static mica_status note_columns(mica_run *run, const mica__features *f) {
  mica__text *texts = calloc(f->count + 1, sizeof *texts);
  const char **list = calloc(f->count + 1, sizeof *list);
  double *numbers = calloc(4 * f->count + 1, sizeof *numbers);
  mica_status status = texts && list && numbers ? MICA_OK : mica__fail_nomem("features");
  for (size_t k = 0; status == MICA_OK && k < f->count; k++) {
    status = mica__feature_write(&f->list[k], &texts[k], numbers + 4 * k);
    list[k] = texts[k].data;
  }
  if (status == MICA_OK) status = mica__run_note(run, "features", list, f->count);
  if (status == MICA_OK) status = mica__run_note_numbers(run, "feature_numbers", numbers, 4 * f->count);
  for (size_t k = 0; texts && k < f->count; k++) mica__text_free(&texts[k]);
  free(texts);
  free(list);
  free(numbers);
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
  const size_t count = (size_t)ids->count;
  if (!mica__features_has_side(f, side)) return MICA_OK;
  mica__text *texts = calloc(count + 1, sizeof *texts);
  const char **list = calloc(count + 1, sizeof *list);
  mica_status status = texts && list ? MICA_OK : mica__fail_nomem("features");
  for (size_t i = 0; status == MICA_OK && i < count; i++) {
    mica__features_write_row(f, side, mica__id_names_find(&f->keys[side], ids->names[i]) - 1, &texts[i]);
    status = mica__text_status(&texts[i]);
    list[i] = texts[i].data;
  }
  if (status == MICA_OK) status = mica__run_note(run, row_facts[side], list, count);
  for (size_t i = 0; texts && i < count; i++) mica__text_free(&texts[i]);
  free(texts);
  free(list);
  return status;
}

mica_status mica__features_note(mica_run *run, const mica__features *f, const mica__id_names *users,
                                const mica__id_names *items) {
  if (!f->count) return MICA_OK;
  MICA_TRY(note_columns(run, f));
  MICA_TRY(note_values(run, f));
  MICA_TRY(note_rows(run, f, MICA__SIDE_USER, users));
  return note_rows(run, f, MICA__SIDE_ITEM, items);
}

/* --- from facts --- */

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
