/* Interactions of users and items: the values stored about them (run/facts.h), and how they become batches. An id is
 * the row of a user or an item in the network's tables. */
#include "task/input/interactions.h"
#include "data/interactions/measures.h"
#include "run/columns/categories.h"
#include "run/columns/columns.h"
#include "run/facts.h"
#include "run/record.h"
#include "run/state/parts.h"

#include <stdlib.h>

/* Returns 0, so that no data select this task by themselves: any table could be one of interactions. The user must
 * choose this task by name. */
static int32_t suits(const mica_dataset *data) {
  (void)data;
  return 0;
}

/* --- stored values --- */

static mica_status note_ids(mica_run *run, const char *fact, const mica__id_names *ids, const char *path) {
  if (!ids->count) return mica__fail(MICA_E_FORMAT, "%s: no %s are left to train on", path, fact);
  return mica__run_note(run, fact, (const char *const *)ids->names, (size_t)ids->count);
}

static mica_status write_history(void *user, size_t u, mica__text *text) {
  mica__histories_write(user, u + 1, text);
  return MICA_OK;
}

/* Sets the stored value "histories": for each user, a text with the numbers of the items in order of time. */
static mica_status note_histories(mica_run *run, const mica__interactions *x) {
  mica__histories h = {0};
  MICA_TRY(mica__histories_make(x, MICA_PART_TEST, &h));
  mica_status status = mica__run_note_written(run, "histories", (size_t)x->users.count, write_history, &h);
  mica__histories_free(&h);
  return status;
}

static mica_status note_titles(mica_run *run, const mica__id_names *items) {
  char **titles = NULL;
  const char *path = mica__recommend_settings_of(run).titles;
  MICA_TRY(mica__titles_open(*path ? path : NULL, run->data, items, &titles));
  if (!titles) return MICA_OK;
  mica_status status = mica__run_note(run, "titles", (const char *const *)titles, (size_t)items->count);
  for (int32_t i = 0; i < items->count; i++) free(titles[i]);
  free(titles);
  return status;
}

/* Sets the stored values "popularity" (how often each item occurs in training), "rating_mean" and "rating_range". */
static mica_status note_numbers(mica_run *run, const mica__interactions *x) {
  const size_t items = (size_t)x->items.count + 1;
  double *counts = calloc(items, sizeof *counts), mean = 0, range[2];
  if (!counts) return mica__fail_nomem("a run");
  mica__interactions_popularity(x, counts, &mean, range);
  mica_status status = mica__run_note_numbers(run, "popularity", counts, items);
  if (status == MICA_OK) status = mica__run_note_numbers(run, "rating_mean", &mean, 1);
  if (status == MICA_OK) status = mica__run_note_numbers(run, "rating_range", range, 2);
  free(counts);
  return status;
}

/* Checks the stored values about features of an opened run, by reading them. */
static mica_status check_features(const mica_run *run) {
  mica__features f = {0};
  mica_status status = mica__features_recall(run, &f);
  mica__features_free(&f);
  return status;
}

static mica_status prepare(mica_run *run) {
  if (!run->parts->whole) return check_features(run);
  const mica__interactions *x = mica__interactions_of(run->parts->whole);
  MICA_TRY(note_ids(run, "users", &x->users, run->data));
  MICA_TRY(note_ids(run, "items", &x->items, run->data));
  MICA_TRY(note_titles(run, &x->items));
  MICA_TRY(note_histories(run, x));
  MICA_TRY(note_numbers(run, x));
  return mica__features_note(run, &x->features, &x->users, &x->items);
}

static mica_status complete(mica_run *run, const mica_column *label) {
  const mica__interactions *x = mica__interactions_of(run->parts->whole);
  (void)label;
  MICA_TRY(mica__run_remark_passed(run, run->data, x->passed));
  if (!mica__recommend_ranks(run) || x->timed) return MICA_OK;
  return mica__run_remark(run, "there is no column of times, so the order of the lines is used");
}

static mica_status fits(const mica_run *run, const mica_dataset *data) {
  (void)run;
  return mica__interactions_of(data)
             ? MICA_OK
             : mica__fail(MICA_E_FORMAT, "%s is not a table of interactions", mica_dataset_name(data));
}

static void loads(const mica_run *run, mica_part part, mica_loader_config *config) {
  if (part != MICA_PART_TRAIN && mica__recommend_ranks(run)) config->batch = 64;
}

/* The part whose samples calibrate a quantised network. A ranking is trained on pairs or windows, but it predicts from
 * histories, which samples of the training part lack. */
static mica_part calibrates(const mica_run *run) {
  return mica__recommend_ranks(run) ? MICA_PART_VALIDATION : MICA_PART_TRAIN;
}

static const char *const networks[] = {"mf", "neumf", "dlrm", "towers", "sasrec", NULL};

const mica__input mica__input_interactions = {
    .name = "interactions",
    .traits.own_input = true,
    .suits = suits,
    .prepare = prepare,
    .complete = complete,
    .fits = fits,
    .views.calibrates = calibrates,
    .loads = loads,
    .networks = networks,
};
