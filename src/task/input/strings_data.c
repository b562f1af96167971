/* Training data of the tasks speech and speak: parts of the run's recordings. */
#include "run/facts.h"
#include "run/fields.h"
#include "run/parts.h"
#include "run/run.h"
#include "run/state/parts.h"
#include "task/input/strings.h"

#include "data/dataset.h"

#include <stdlib.h>
#include <string.h>

#define READ_SETTINGS(X, S) STRINGS_SETTINGS(X, S) X(S, REAL, seed, "seed", "", "", "")

MICA__SETTINGS_STRUCT(strings, READ_SETTINGS);
MICA__SETTINGS(strings, READ_SETTINGS);
MICA__FACTS(strings, STRINGS_FACTS, 0);

/* Opens a part of recordings. If the run's own data have no validation part, one is split off the training part. */
static mica_status open_parted(const mica_run *run, int32_t rate, const char *path, mica_part part,
                               mica_dataset **data) {
  const bool own = run->data && !strcmp(path, run->data);
  mica_dataset *whole = NULL, *held_out = NULL, *rest = NULL;
  mica_status status = mica__strings_open_files(rate, path, part, data);
  if (!own || part == MICA_PART_TEST || (part == MICA_PART_VALIDATION && status != MICA_E_NOT_FOUND)) return status;
  if (part == MICA_PART_TRAIN) {
    MICA_TRY(status);
    whole = *data;
    *data = NULL;
    status = mica__strings_open_files(rate, path, MICA_PART_VALIDATION, &held_out);
    mica_dataset_destroy(held_out);
    held_out = NULL;
    if (status == MICA_OK) *data = whole;
    if (status != MICA_E_NOT_FOUND) {
      if (status != MICA_OK) mica_dataset_destroy(whole);
      return status;
    }
  } else {
    MICA_TRY(mica__strings_open_files(rate, path, MICA_PART_TRAIN, &whole));
  }
  status = mica__run_split(run, whole, &held_out, &rest);
  if (status == MICA_OK && held_out && part == MICA_PART_VALIDATION) status = mica__strings_know(rest, &held_out);
  if (status == MICA_OK && !held_out && part == MICA_PART_VALIDATION)
    status = mica__fail(MICA_E_NOT_FOUND, "%s has no validation part", path);
  if (status == MICA_OK) *data = part == MICA_PART_VALIDATION ? held_out : rest ? rest : whole;
  if (*data != held_out) mica_dataset_destroy(held_out);
  if (*data != rest) mica_dataset_destroy(rest);
  if (*data != whole) mica_dataset_destroy(whole);
  return status;
}

static mica_status open_form(const mica_run *run, const char *path, mica_part part, const mica__strings_form *form,
                             mica_dataset **data) {
  mica_dataset *base = NULL, *made = NULL;
  MICA_TRY(open_parted(run, form->rate, path, part, &base));
  MICA_TRY(mica__strings_make(base, run->task->name, part, form, &made));
  /* The training part is opened first and gives the run its alphabet. Parts that are opened later must fit the
   * alphabet. */
  const mica_status status = facts_of(run).alphabet.list ? run->task->fits(run, made) : MICA_OK;
  if (status == MICA_OK)
    *data = made;
  else
    mica_dataset_destroy(made);
  return status;
}

/* All parts number speakers in the order of the training part. The run records the speakers only after its parts are
 * opened, so the names are taken from the training data here. */
mica_status mica__strings_open_form(const mica_run *run, const char *path, mica_part part,
                                    const mica__strings_form *form, mica_dataset **data) {
  mica__strings_form numbered = *form;
  const mica_dataset *whole = run->parts->whole;
  if (!form->speakers || form->known_count || !whole || part == MICA_PART_TRAIN)
    return open_form(run, path, part, form, data);
  int32_t count = 0;
  const char **names = mica__strings_speakers(whole, &count);
  if (!names) return mica__fail_nomem("speakers");
  numbered.known = names;
  numbered.known_count = (size_t)count;
  mica_status status = open_form(run, path, part, &numbered, data);
  free(names);
  return status;
}

mica_status mica__strings_note_speakers(mica_run *run) {
  int32_t count = 0;
  const char **names = mica__strings_speakers(run->parts->whole, &count);
  if (!names) return mica__fail_nomem("speakers");
  mica_status status = mica__run_note(run, "speakers", names, (size_t)count);
  free(names);
  return status;
}

mica_status mica__strings_open(const mica_run *run, const char *path, const mica_dataset_config *config,
                               mica_dataset **data) {
  const mica__strings_settings s = settings_of(run);
  const double known = facts_of(run).rate;
  const mica__strings_form form = {.join = s.join,
                                   .strings = s.strings,
                                   .gap = s.gap,
                                   .noise = s.noise,
                                   .rate = known > 0 ? (int32_t)known : (int32_t)s.rate,
                                   .seed = (uint64_t)s.seed,
                                   .tail = MICA__STRINGS_TAIL};
  return mica__strings_open_form(run, path, config->part, &form, data);
}
