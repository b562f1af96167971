/* Reads tables of interactions by the settings of a run. */
#include "run/common_fields.h"
#include "run/settings.h"
#include "task/input/interactions.h"

#include <math.h>
#include <string.h>

static bool takes_features(const mica_run *run) {
  const mica__recommender network = mica__recommend_network(run);
  return mica__recommender_has_features(&network);
}

static const char *given(const char *text) { return *text ? text : NULL; }

static mica__feature_config features_of(const mica_run *run) {
  const mica__recommend_settings s = mica__recommend_settings_of(run);
  return (mica__feature_config){.separator = *s.separator,
                                .categorical = s.categorical,
                                .ignored = mica__common_settings_of(run).ignore,
                                .key = SIZE_MAX,
                                .title = SIZE_MAX,
                                .known = mica__features_are_noted(run)};
}

/* Adds features of users and items, read from the tables that settings name or that lie beside the training data. */
static mica_status add_sides(const mica_run *run, mica__interactions *x) {
  const mica__recommend_settings s = mica__recommend_settings_of(run);
  const mica__feature_config config = features_of(run);
  for (mica__side side = MICA__SIDE_USER; side <= MICA__SIDE_ITEM; side++) {
    const char *own = side == MICA__SIDE_USER ? s.user_features : s.item_features;
    mica__text path = {0};
    if (*own) mica__text_add(&path, own);
    const bool found = *own || mica__interactions_find_side(run->data, side, &path);
    mica_status status = found ? mica__text_status(&path) : MICA_OK;
    if (status == MICA_OK) status = mica__interactions_add_side(found ? path.data : NULL, side, &config, x);
    mica__text_free(&path);
    MICA_TRY(status);
  }
  return config.known ? MICA_OK : mica__features_check(&x->features, &config);
}

static mica_status read_file(const mica_run *run, const char *path, mica__interactions *out,
                             mica__interactions_fn *each, void *user) {
  const mica__recommend_settings s = mica__recommend_settings_of(run);
  const mica__feature_config features = features_of(run);
  const bool takes = takes_features(run), clicks = mica__recommend_clicks(run);
  const mica__interactions_config config = {
      .columns = {given(s.user_column), given(s.item_column), given(s.rating_column), given(s.time_column)},
      .duplicates = s.duplicates >= 0 ? (mica__duplicates)s.duplicates
                    : clicks          ? MICA__DUPLICATES_KEEP
                                      : MICA__DUPLICATES_FAIL,
      .clicks = clicks,
      .clicks_from = s.clicks_from,
      .features = takes ? &features : NULL};
  if (strlen(s.separator) != 1)
    return mica__fail(MICA_E_INVALID, "separator must be one ASCII character, not \"%s\"", s.separator);
  if (takes) MICA_TRY(mica__features_recall(run, &out->features));
  MICA_TRY(mica__interactions_open(path, &config, each, user, out));
  /* The run's own data read features from the tables of users and items beside them. Other data use the values stored
   * with the run, which were read above. */
  return !each && takes && mica__recommend_owns(run, path) ? add_sides(run, out) : MICA_OK;
}

mica_status mica__recommend_read(const mica_run *run, const char *path, mica__interactions *out) {
  return read_file(run, path, out, NULL, NULL);
}

mica_status mica__recommend_read_each(const mica_run *run, const char *path, mica__interactions *out,
                                      mica__interactions_fn *each, void *user) {
  return read_file(run, path, out, each, user);
}

/* Sets the rows of features of an interaction's user and item if the features come from the values stored with the run.
 * Such features have no keys, and their rows are in the order of ids. -1: there are no features. */
static void take_recalled(const mica__features *f, mica__interaction *one) {
  if (!f->keys[MICA__SIDE_USER].count) one->rows.at[MICA__SIDE_USER] = f->rows[MICA__SIDE_USER] ? one->user - 1 : -1;
  if (!f->keys[MICA__SIDE_ITEM].count) one->rows.at[MICA__SIDE_ITEM] = f->rows[MICA__SIDE_ITEM] ? one->item - 1 : -1;
}

mica_status mica__recommend_adopt(mica__interactions *x, const mica_run *run) {
  const mica__recommend_facts facts = mica__recommend_facts_of(run);
  MICA_TRY(mica__interactions_rename(x, facts.users.list, facts.users.count, facts.items.list, facts.items.count));
  for (size_t i = 0; i < x->count; i++) take_recalled(&x->features, &x->list[i]);
  return MICA_OK;
}
