/* Opens parts of data by class: some classes are kept for the test. */
#include "run/parts.h"
#include "run/common_facts.h"
#include "run/common_fields.h"
#include "run/fields.h"
#include "run/run.h"
#include "task/verify/verify.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

MICA__SETTINGS_STRUCT(unseen, UNSEEN_SETTINGS);
MICA__SETTINGS(unseen, UNSEEN_SETTINGS);

static mica__unseen unseen_of(const mica_run *run) {
  const mica__fact_texts known = mica__common_facts_of(run).classes;
  return (mica__unseen){.task = run->task->name,
                        .classes = settings_of(run).unseen,
                        .seed = (uint64_t)mica__common_settings_of(run).seed,
                        .known = known.list,
                        .known_count = known.count};
}

static mica_status open_numbered(const mica_run *run, const char *path, const mica_dataset_config *config,
                                 mica_part part, mica_dataset **out) {
  const mica__unseen how = unseen_of(run);
  return mica__identities_open(path, config, &how, part, out);
}

/* Opens a part of the run's own data; validation is split off later. *apart: the part has its own file or folder. */
static mica_status open_own(const mica_run *run, const char *path, const mica_dataset_config *config, mica_part part,
                            bool *apart, mica_dataset **out) {
  mica_dataset *whole = NULL;
  mica_status status = open_numbered(run, path, config, part, &whole);
  *apart = status == MICA_OK;
  if (status == MICA_E_NOT_FOUND && part != MICA_PART_TRAIN)
    status = open_numbered(run, path, config, MICA_PART_TRAIN, &whole);
  MICA_TRY(status);
  status = mica__identities_pick(whole, part == MICA_PART_TEST, out);
  mica_dataset_destroy(whole);
  return status;
}

/* True if the path names the run's own data. */
static bool is_own(const mica_run *run, const char *path) {
  char whole[PATH_MAX];
  if (!run->data) return false;
  return !strcmp(path, run->data) || (realpath(path, whole) && !strcmp(whole, run->data));
}

mica_status mica__verify_open(const mica_run *run, const char *path, const mica_dataset_config *config,
                              mica_dataset **data) {
  const mica_part part = config->part;
  mica_dataset *whole = NULL, *held_out = NULL, *rest = NULL;
  bool apart = false;
  const mica__unseen how = unseen_of(run);
  if (!is_own(run, path)) return open_numbered(run, path, config, part, data);
  MICA_TRY(open_own(run, path, config, part, &apart, &whole));
  mica_status status = MICA_OK;
  if (part == MICA_PART_TRAIN) status = mica__identities_has(path, config, &how, MICA_PART_VALIDATION, &apart);
  if (status == MICA_OK && !apart && part != MICA_PART_TEST) status = mica__run_split(run, whole, &held_out, &rest);
  if (status == MICA_OK && part != MICA_PART_TRAIN) {
    mica_dataset *found = part == MICA_PART_TEST || apart ? whole : held_out;
    if (!found || !mica_dataset_count(found))
      status = mica__fail(MICA_E_NOT_FOUND, "%s has no %s part", path, mica_part_name(part));
  }
  if (status == MICA_OK) *data = part == MICA_PART_VALIDATION && held_out ? held_out : rest ? rest : whole;
  if (status != MICA_OK || *data != held_out) mica_dataset_destroy(held_out);
  if (status != MICA_OK || *data != rest) mica_dataset_destroy(rest);
  if (status != MICA_OK || *data != whole) mica_dataset_destroy(whole);
  return status;
}
