/* What settings and facts say of a run of recommendations. */
#include "task/recommend.h"

#include <string.h>

static int64_t whole(const mica_run *run, const char *name) { return (int64_t)mica_run_number(run, name); }

bool mica__recommend_ranks(const mica_run *run) { return !strcmp(mica_run_setting(run, "objective"), "ranking"); }
int64_t mica__recommend_top(const mica_run *run) { return whole(run, "top"); }

/* Ratings are trained on to the end of the schedule, unless a part is asked for to choose an epoch by. */
double mica__recommend_validation(const mica_run *run) {
  if (!mica__recommend_ranks(run) && !mica__run_is_set(run, "validation")) return 0;
  return mica_run_number(run, "validation");
}

static const char *model_of(const mica_run *run) {
  const char *name = mica_run_setting(run, "model");
  return *name ? name : mica__recommend_ranks(run) ? "sasrec" : "mf";
}

static size_t count_of(const mica_run *run, const char *fact) {
  size_t count = 0;
  mica_run_fact(run, fact, &count);
  return count;
}

mica__recommender mica__recommend_network(const mica_run *run) {
  return (mica__recommender){.name = model_of(run),
                             .users = (int64_t)count_of(run, "users") + 1,
                             .items = (int64_t)count_of(run, "items") + 1,
                             .width = whole(run, "width"),
                             .layers = whole(run, "layers"),
                             .heads = whole(run, "heads"),
                             .context = whole(run, "context"),
                             .dropout = mica_run_number(run, "dropout")};
}
