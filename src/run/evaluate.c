/* Evaluates a run: opens the given data, or one part of the run's own, and tests the network on them. */
#include "data/annotation/depth_map.h"
#include "data/dataset.h"
#include "run/columns/missing.h"
#include "run/common_facts.h"
#include "run/evaluation.h"
#include "run/facts.h"
#include "run/guard.h"
#include "run/input.h"
#include "run/parts.h"
#include "run/record.h"
#include "run/run.h"
#include "run/state/evaluation.h"
#include "run/state/parts.h"
#include "run/state/settings.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- the data --- */

/* Fills missing numbers of data that were opened for a run; destroys the data if that fails. */
static mica_status fill_opened(const mica_run *run, mica_dataset **data) {
  mica_status status = mica__run_fill(run, *data);
  if (status == MICA_OK) return MICA_OK;
  mica_dataset_destroy(*data);
  *data = NULL;
  return status;
}

/* Like mica__run_open_given. If there is no test part, `instead` ends the message and says what to do. */
static mica_status open_part_or_all(const mica_run *run, const char *path, mica_part part, const char *instead,
                                    bool *all, mica_dataset **data) {
  mica_dataset_config config = mica__run_opening(run, part);
  mica_dataset *other = NULL;
  mica_status status = mica__run_open_part(run, path, &config, data);
  *all = false;
  if (status == MICA_OK) return fill_opened(run, data);
  if (status != MICA_E_NOT_FOUND || part != MICA_PART_TEST) return status;
  config.part = MICA_PART_VALIDATION;
  *all = mica__run_open_part(run, path, &config, &other) == MICA_E_NOT_FOUND;
  mica_dataset_destroy(other);
  config.part = *all ? MICA_PART_TRAIN : part;
  status = mica__run_open_part(run, path, &config, data);
  if (status == MICA_OK) return fill_opened(run, data);
  if (status != MICA_E_NOT_FOUND || *all) return status;
  return mica__fail(MICA_E_NOT_FOUND, "%s; %s", mica_error_message(), instead);
}

mica_status mica__run_open_given(mica_run *run, const char *path, mica_part part, bool *all, mica_dataset **data) {
  *all = false;
  if (run->evaluation->predicts_own) return mica__run_open_own(run, part, data);
  return open_part_or_all(run, path, part, "to predict for other files, give them as inputs", all, data);
}

static const char validated[] = "--part validation takes the samples that training was validated on";

mica_status mica__run_open_judged(const mica_run *run, const char *path, mica_part part, bool *all,
                                  mica_dataset **data) {
  return open_part_or_all(run, path, part, validated, all, data);
}

mica_status mica__run_no_test(const mica_run *run) {
  const double samples = mica__common_facts_of(run).test_samples;
  if (samples == 0) return mica__fail(MICA_E_NOT_FOUND, "%s; %s", mica_error_message(), validated);
  return mica__fail(MICA_E_STATE, "%s no longer has the test part of %.0f samples that it had when %s was trained; %s",
                    run->data, samples, run->folder, validated);
}

/* For data without a validation part: splits them again as training did, and opens the training samples or the
 * others. */
static mica_status split_again(mica_run *run, mica_part wanted, mica_dataset **data) {
  const mica_dataset_config config = mica__run_opening(run, MICA_PART_TRAIN);
  const bool validation = wanted == MICA_PART_VALIDATION;
  mica_dataset *whole = NULL, *part = NULL, *rest = NULL;
  if (run->task->open) return mica__fail(MICA_E_NOT_FOUND, "%s: there is no validation part", run->data);
  if (mica__run_data_changed(run))
    return mica__fail(MICA_E_STATE,
                      "%s has changed since %s was trained, so its %s part cannot be found again; "
                      "choose other data with --data FILE",
                      run->data, run->folder, mica_part_name(wanted));
  run->evaluation->split = true;
  MICA_TRY(mica_dataset_open(run->data, &config, &whole));
  MICA_TRY(fill_opened(run, &whole));
  mica_status status = mica__run_split(run, whole, &part, &rest);
  if (status == MICA_OK && !part && validation)
    status = mica__fail(MICA_E_NOT_FOUND, "all of %s was trained on, so there is no validation part", run->data);
  if (status == MICA_OK) *data = validation ? part : rest ? rest : whole;
  if (*data != part) mica_dataset_destroy(part);
  if (*data != rest) mica_dataset_destroy(rest);
  if (*data != whole) mica_dataset_destroy(whole);
  return status;
}

/* Warns that parts made by a task may have changed. This is not a failure, because the data of some tasks only grow. */
static mica_status remark_changed(mica_run *run, mica_part part) {
  run->evaluation->changed = run->task->open && mica__run_data_changed(run);
  if (!run->evaluation->changed) return MICA_OK;
  return mica__run_remark(run, "%s has changed since %s was trained: its %s part may hold samples that were trained on",
                          run->data, run->folder, mica_part_name(part));
}

mica_status mica__run_open_own(mica_run *run, mica_part part, mica_dataset **data) {
  const mica_dataset_config config = mica__run_opening(run, part);
  bool has = true;
  if (part == MICA_PART_TRAIN) MICA_TRY(mica__run_has_validation(run, &has));
  if (!has) return split_again(run, part, data);
  mica_status status = mica__run_open_part(run, run->data, &config, data);
  if (status == MICA_E_NOT_FOUND && part == MICA_PART_VALIDATION) return split_again(run, part, data);
  if (status == MICA_OK) status = fill_opened(run, data);
  if (status == MICA_OK && part != MICA_PART_TRAIN) status = remark_changed(run, part);
  return status;
}

/* --- the test --- */

/* Reports what is unusual about a folder of pictures in classes, as training does. */
static mica_status remark_folder(mica_run *run, const mica_dataset *data) {
  const char *summary = mica_dataset_summary(data);
  if (!*summary || !run->task->input || !run->task->input->traits.by_samples || data->store->schema ||
      !mica_dataset_file(data, 0))
    return MICA_OK;
  return mica__run_remark(run, "%s: %s", mica_dataset_name(data), summary);
}

/* Adds a remark if the depth scale that was given changes nothing. */
static mica_status remark_depth_scale(mica_run *run, const mica_dataset *data) {
  if (!(run->settings->depth_scale > 0) || !mica__depth_maps_are_floating(data)) return MICA_OK;
  return mica__run_remark(run, "%s: the depth scale %g changes nothing, because no depth map holds whole numbers",
                          mica_dataset_name(data), run->settings->depth_scale);
}

static mica_status open_judged(mica_run *run, const char *path, mica_part part) {
  mica_dataset *data = NULL;
  bool all = false;
  mica_status status =
      path ? mica__run_open_judged(run, path, part, &all, &data) : mica__run_open_own(run, part, &data);
  if (all) snprintf(run->evaluation->part, sizeof run->evaluation->part, "all");
  if (status == MICA_E_NOT_FOUND && !path && part == MICA_PART_TEST && access(run->data, F_OK) == 0)
    status = mica__run_no_test(run);
  MICA_TRY(status);
  mica_status ready = path ? remark_folder(run, data) : MICA_OK;
  if (ready == MICA_OK) ready = remark_depth_scale(run, data);
  if (ready != MICA_OK) mica_dataset_destroy(data);
  MICA_TRY(ready);
  MICA_TRY(mica__run_make_ready(run, part, data, false, &data));
  run->evaluation->data = run->evaluation->own = data;
  return MICA_OK;
}

static mica_status judge(mica_run *run, mica_loader *loader, mica_metrics *metrics) {
  const mica_batch_source source = mica_loader_source(loader);
  mica_metrics made;
  MICA_TRY(mica_trainer_test(run->trainer, &source, &made));
  if (isnan(made.loss))
    return mica__fail(
        MICA_E_NUMERIC,
        "the loss on %s is not a number: the weights or the data are damaged, or the computation overflows",
        mica_dataset_name(run->evaluation->data));
  *metrics = run->evaluation->metrics = made;
  return MICA_OK;
}

static mica_status evaluate(mica_run *run, const char *path, mica_part part, mica_metrics *metrics) {
  mica_loader *loader = NULL;
  mica_dataset_destroy(run->evaluation->own);
  run->evaluation->data = run->evaluation->own = NULL;
  run->evaluation->split = run->evaluation->changed = false;
  snprintf(run->evaluation->part, sizeof run->evaluation->part, "%s", mica_part_name(part));
  if (!path && run->parts->at[part].data && part != MICA_PART_TRAIN) {
    run->evaluation->data = run->parts->at[part].data;
    return judge(run, run->parts->at[part].loader, metrics);
  }
  if (!path && run->config.dataset && part == MICA_PART_TRAIN)
    run->evaluation->data = run->parts->at[part].data;
  else
    MICA_TRY(open_judged(run, path, part));
  mica_dataset *shown = NULL;
  mica_status status = mica__run_load(run, part, run->evaluation->data, MICA_RESIDENCE_AUTO, &shown, &loader);
  if (status == MICA_OK) status = judge(run, loader, metrics);
  mica_loader_destroy(loader);
  mica_dataset_destroy(shown);
  return status;
}

/* True if the path leads to the training data and these are unchanged, so that they have the same parts as in
 * training. Always false for the test part: if the data have none, a test uses all samples. */
static bool is_own(const mica_run *run, const char *path, mica_part part) {
  char whole[PATH_MAX];
  return path && part != MICA_PART_TEST && run->data && realpath(path, whole) && !strcmp(whole, run->data) &&
         !mica__run_data_changed(run);
}

mica_status mica_run_evaluate(mica_run *run, const char *path, mica_part part, mica_metrics *metrics) {
  return mica__run_evaluate(run, run && is_own(run, path, part) ? NULL : path, part, metrics);
}

mica_status mica__run_evaluate(mica_run *run, const char *path, mica_part part, mica_metrics *metrics) {
  if (!run || !metrics) return mica__fail(MICA_E_INVALID, "mica_run_evaluate: a pointer is NULL");
  if (part < MICA_PART_TRAIN || part > MICA_PART_TEST)
    return mica__fail(MICA_E_INVALID, "mica_run_evaluate: %d is not a mica_part", (int)part);
  if (!run->trainer)
    return mica__fail(MICA_E_UNSUPPORTED, "%s is a model in ONNX, which can only predict; name the folder of a run",
                      run->folder);
  mica_status status = evaluate(run, path, part, metrics);
  /* The other ranks must be told, or they would wait for this rank's share of the sums. */
  if (status != MICA_OK) mica_communicator_abort(run->config.communicator, mica_error_message());
  return status;
}
