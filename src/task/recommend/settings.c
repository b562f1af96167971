/* What settings and facts say of a run of recommendations. */
#include "run/settings.h"
#include "task/recommend/recommend.h"

#include <string.h>
#include <sys/stat.h>

static int64_t whole(const mica_run *run, const char *name) { return (int64_t)mica_run_number(run, name); }

bool mica__recommend_ranks(const mica_run *run) { return !strcmp(mica_run_setting(run, "objective"), "ranking"); }
bool mica__recommend_clicks(const mica_run *run) { return !strcmp(mica_run_setting(run, "objective"), "click"); }
int64_t mica__recommend_top(const mica_run *run) { return whole(run, "top"); }

/* Ratings are trained on to the end of the schedule, unless a part is asked for to choose an epoch by. */
double mica__recommend_validation(const mica_run *run) {
  if (!strcmp(mica_run_setting(run, "objective"), "rating") && !mica__run_is_set(run, "validation")) return 0;
  return mica_run_number(run, "validation");
}

static const char *model_of(const mica_run *run) {
  const char *name = mica_run_setting(run, "model");
  return *name ? name : mica__recommend_ranks(run) ? "sasrec" : mica__recommend_clicks(run) ? "dlrm" : "mf";
}

static size_t count_of(const mica_run *run, const char *fact) {
  size_t count = 0;
  mica_run_fact(run, fact, &count);
  return count;
}

/* The sizes of features, as the run's facts have them. */
static void take_sizes(const mica_run *run, mica__recommender *network) {
  size_t count = 0, number_count = 0;
  const char *const *texts = mica_run_fact(run, "features", &count);
  const double *numbers = mica_run_fact_numbers(run, "feature_numbers", &number_count);
  network->values = 1;
  /* Facts that do not go together are refused when features are recalled. */
  for (size_t k = 0; k < count && 4 * k + 4 <= number_count; k++) {
    const double *own = numbers + 4 * k;
    network->values += (int64_t)own[0];
    if (*texts[k] == 'n') network->numbers++;
    if (*texts[k] == 'c') network->categories++;
    if (*texts[k] == 's' && network->sets < MICA__RECOMMENDER_SETS)
      network->set_width[network->sets++] = own[1] > 0 ? (int64_t)own[1] : 1;
  }
}

mica__recommender mica__recommend_network(const mica_run *run) {
  mica__recommender network = {.name = model_of(run),
                               .users = (int64_t)count_of(run, "users") + 1,
                               .items = (int64_t)count_of(run, "items") + 1,
                               .width = whole(run, "width"),
                               .layers = whole(run, "layers"),
                               .heads = whole(run, "heads"),
                               .context = whole(run, "context"),
                               .dropout = mica_run_number(run, "dropout")};
  if (mica__recommender_has_features(&network)) take_sizes(run, &network);
  return network;
}

bool mica__recommend_owns(const mica_run *run, const char *path) {
  struct stat own, given;
  if (!run->data) return false;
  if (!strcmp(path, run->data)) return true;
  return !stat(run->data, &own) && !stat(path, &given) && own.st_dev == given.st_dev && own.st_ino == given.st_ino;
}
