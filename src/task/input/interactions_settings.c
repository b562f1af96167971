/* The meaning of settings and stored values (run/facts.h) for a recommending run. */
#include "run/common_fields.h"
#include "run/common_values.h"
#include "run/fields.h"
#include "run/settings.h"
#include "task/input/interactions.h"

#include <string.h>
#include <sys/stat.h>

const char *mica__recommend_objective_at(size_t i) {
  static const char *const names[] = {"rating", "ranking", "click", NULL};
  return names[i];
}

const char *mica__recommend_split_at(size_t i) {
  static const char *const names[] = {"random", "time", "leave-one-out", NULL};
  return names[i];
}

const char *mica__recommend_duplicates_at(size_t i) {
  static const char *const names[] = {"error", "last", "keep", NULL};
  return names[i];
}

const char *mica__recommend_sampling_at(size_t i) {
  static const char *const names[] = {"popular", "even", NULL};
  return names[i];
}

MICA__FIELDS(recommend, RECOMMEND_SETTINGS, RECOMMEND_FACTS);

bool mica__recommend_ranks(const mica_run *run) {
  return mica__recommend_settings_of(run).objective == MICA__OBJECTIVE_RANKING;
}

bool mica__recommend_clicks(const mica_run *run) {
  return mica__recommend_settings_of(run).objective == MICA__OBJECTIVE_CLICK;
}

int64_t mica__recommend_top(const mica_run *run) { return mica__recommend_settings_of(run).top; }

/* If ratings are learned, training goes on to the end of the schedule, and by default no validation part chooses the
 * best epoch. */
double mica__recommend_validation(const mica_run *run) {
  if (mica__recommend_settings_of(run).objective == MICA__OBJECTIVE_RATING &&
      !mica__common_is_set(run, MICA__SETTING_validation))
    return 0;
  return mica__common_settings_of(run).validation;
}

static const char *model_of(const mica_run *run) {
  const char *name = mica__common_settings_of(run).model;
  return *name ? name : mica__recommend_ranks(run) ? "sasrec" : mica__recommend_clicks(run) ? "dlrm" : "mf";
}

/* The sizes of features, from the values stored with the run. */
static void take_sizes(const mica_run *run, mica__recommender *network) {
  const mica__recommend_facts facts = mica__recommend_facts_of(run);
  const mica__fact_texts features = facts.features;
  network->values = 1;
  /* Stored values that contradict each other are refused when features are read back. */
  for (size_t k = 0; k < features.count && 4 * k + 4 <= facts.feature_numbers.count; k++) {
    const double *own = facts.feature_numbers.list + 4 * k;
    network->values += (int64_t)own[0];
    if (*features.list[k] == 'n') network->numbers++;
    if (*features.list[k] == 'c') network->categories++;
    if (*features.list[k] == 's' && network->sets < MICA__RECOMMENDER_SETS)
      network->set_width[network->sets++] = own[1] > 0 ? (int64_t)own[1] : 1;
  }
}

mica__recommender mica__recommend_network(const mica_run *run) {
  const mica__recommend_settings s = mica__recommend_settings_of(run);
  const mica__recommend_facts facts = mica__recommend_facts_of(run);
  mica__recommender network = {.name = model_of(run),
                               .users = (int64_t)facts.users.count + 1,
                               .items = (int64_t)facts.items.count + 1,
                               .width = s.width,
                               .layers = s.layers,
                               .heads = s.heads,
                               .context = s.context,
                               .dropout = s.dropout};
  if (mica__recommender_has_features(&network)) take_sizes(run, &network);
  return network;
}

mica__ranker mica__recommend_ranker(const mica_run *run) {
  return (mica__ranker){.engine = run->engine,
                        .trainer = run->trainer,
                        .network = mica__recommend_network(run),
                        .mean = mica__recommend_facts_of(run).rating_mean,
                        .l2 = mica__recommend_settings_of(run).l2};
}

bool mica__recommend_owns(const mica_run *run, const char *path) {
  struct stat own, given;
  if (!run->data) return false;
  if (!strcmp(path, run->data)) return true;
  return !stat(run->data, &own) && !stat(path, &given) && own.st_dev == given.st_dev && own.st_ino == given.st_ino;
}
