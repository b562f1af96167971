/* Opens a part of a table of interactions. */
#include "run/common_fields.h"
#include "run/facts.h"
#include "task/input/interactions.h"

#include <stdlib.h>

static mica_status no_part(const char *path, mica_part part) {
  return mica__fail(MICA_E_NOT_FOUND, "%s has no %s part", path, mica_part_name(part));
}

static mica__holdout holdout_of(const mica_run *run) {
  const int32_t split = mica__recommend_settings_of(run).split;
  if (split >= 0) return (mica__holdout)split;
  return mica__recommend_ranks(run) ? MICA__HOLDOUT_LAST : MICA__HOLDOUT_RANDOM;
}

static mica_status need_times(const mica_run *run, const mica__interactions *x, const char *path) {
  if (x->timed || holdout_of(run) != MICA__HOLDOUT_TIME) return MICA_OK;
  return mica__fail(MICA_E_FORMAT,
                    "%s has no column of times, such as 'timestamp'; without one, choose another --split", path);
}

/* Reads the file, and splits it if it is the run's own. */
static mica_status read_parted(const mica_run *run, const char *path, bool own, mica__interactions *x) {
  const mica__recommend_settings s = mica__recommend_settings_of(run);
  const bool known = mica__recommend_facts_of(run).users.count > 0;
  MICA_TRY(mica__recommend_read(run, path, x));
  if (!mica__recommend_ranks(run) && !x->rated)
    return mica__fail(MICA_E_FORMAT, "%s has no column of %s, such as '%s'; --objective ranking needs none", path,
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
  const mica__recommender network = mica__recommend_network(run);
  const int64_t context = mica__recommender_context(&network);
  mica__histories h = {0};
  mica_status status;
  if (!mica__recommend_ranks(run)) return mica__interactions_ratings(path, x, part, data);
  status = mica__histories_make(x, part == MICA_PART_TEST ? MICA_PART_VALIDATION : MICA_PART_TRAIN, &h);
  if (status != MICA_OK) {
    mica__interactions_free(x);
    return status;
  }
  if (part != MICA_PART_TRAIN)
    status = mica__interactions_held(path, x, &h, part, context, data);
  else
    status = mica__recommender_is_sequential(&network) ? mica__interactions_windows(path, x, &h, context, data)
                                                       : mica__interactions_pairs(path, x, &h, context, data);
  mica__histories_free(&h);
  return status;
}

mica_status mica__recommend_open(const mica_run *run, const char *path, const mica_dataset_config *config,
                                 mica_dataset **data) {
  const mica_part part = config->part;
  const bool own = mica__recommend_owns(run, path);
  if (!own && mica__recommend_ranks(run))
    return mica__fail(
        MICA_E_UNSUPPORTED,
        "%s cannot be tested on: rankings are tested only on samples held out of the training data; leave out --data",
        path);
  if (!own && part != MICA_PART_TRAIN) return no_part(path, part);
  mica__interactions *x = calloc(1, sizeof *x);
  if (!x) return mica__fail_nomem(path);
  mica_status status = read_parted(run, path, own, x);
  if (status == MICA_OK && !mica__interactions_count(x, part)) status = no_part(path, part);
  if (status != MICA_OK) {
    mica__interactions_free(x);
    return status;
  }
  return make_part(run, path, part, x, data);
}
