/* Compares runs on the same data: their metrics, the cost of a prediction, and how far their answers agree. */
#include "base/clock.h"
#include "run/columns/columns.h"
#include "run/composed.h"
#include "run/evaluation.h"
#include "run/guard.h"
#include "run/parts.h"
#include "run/run.h"
#include "run/state/evaluation.h"
#include "run/verbs/agree.h"
#include "train/train.h"

#include <math.h>
#include <mica/compare.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define USUAL_SAMPLES 500
#define USUAL_REPEATS 200
#define USUAL_SECONDS 5.0
#define LEAST_REPEATS 20
/* A run makes ROW predictions each time that it is its turn. Before its first turn, it makes WARM_UP predictions that
 * are not timed, so that plans are made. */
#define ROW 10
#define WARM_UP 3

/* A run, one sample on the device, and the times of its predictions. */
typedef struct contender {
  mica_run *run;
  mica_dataset *shown;
  mica_loader *loader;
  mica_batch batch;
  mica_feed *feeds;
  double *times, spent;
  int64_t timed;
} contender;

static void free_contenders(contender *list, size_t count) {
  for (size_t i = 0; list && i < count; i++) {
    mica_loader_destroy(list[i].loader);
    mica_dataset_destroy(list[i].shown);
    free(list[i].times);
    free(list[i].feeds);
  }
  free(list);
}

static mica_status take_sample(contender *c, mica_part part) {
  mica_run *run = c->run;
  mica_loader_config config;
  mica_batch batch = {0};
  MICA_TRY(mica__run_loading(run, part, run->evaluation->data, &config));
  config.batch = 1;
  config.residence = MICA_RESIDENCE_STREAM;
  if (run->task->input->views.shows) MICA_TRY(run->task->input->views.shows(run, run->evaluation->data, &c->shown));
  MICA_TRY(mica_loader_create(run->engine, c->shown ? c->shown : run->evaluation->data, &config, &c->loader));
  const mica_batch_source source = mica_loader_source(c->loader);
  MICA_TRY(source.seek(source.user, 0, 0));
  MICA_TRY(source.next(source.user, mica_engine_queue(run->engine), &batch));
  if (!batch.count) return mica__fail(MICA_E_FORMAT, "%s has no samples", mica_dataset_name(run->evaluation->data));
  /* A network that predicts does not see the answers. */
  return mica__run_withhold(run, &batch, &c->feeds, &c->batch);
}

static mica_status predict_once(contender *c) {
  if (c->run->task->answers) return c->run->task->answers(c->run);
  MICA_TRY(mica_trainer_predict(c->run->trainer, &c->batch));
  return mica_queue_finish(mica_engine_queue(c->run->engine));
}

static mica_status time_row(contender *c, int64_t most) {
  for (int64_t i = 0; i < ROW && c->timed < most; i++) {
    const double begun = mica__clock();
    MICA_TRY(predict_once(c));
    c->times[c->timed] = mica__clock() - begun;
    c->spent += c->times[c->timed++];
  }
  return MICA_OK;
}

static mica_status time_all(contender *list, size_t count, const mica_compare_config *config) {
  const int64_t most = config->repeats > 0 ? config->repeats : USUAL_REPEATS;
  const double seconds = config->seconds > 0 ? config->seconds : USUAL_SECONDS;
  for (size_t i = 0; i < count; i++) {
    list[i].times = calloc((size_t)most, sizeof(double));
    if (!list[i].times) return mica__fail_nomem("a comparison");
    /* Makes the predicting session, from which note_costs reads what a prediction costs. */
    MICA_TRY(mica_trainer_predict(list[i].run->trainer, &list[i].batch));
    for (int n = 0; n < WARM_UP; n++) MICA_TRY(predict_once(&list[i]));
  }
  for (bool going = true; going;) {
    going = false;
    for (size_t i = 0; i < count; i++) {
      contender *c = &list[i];
      if (c->timed == most || (c->timed >= LEAST_REPEATS && c->spent > seconds)) continue;
      if (config->around) config->around(config->user, i, true);
      mica_status status = time_row(c, most);
      if (config->around) config->around(config->user, i, false);
      MICA_TRY(status);
      going = true;
    }
  }
  return MICA_OK;
}

static int compare_times(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static mica_status note_costs(contender *c, mica_compared *result) {
  mica_run *run = c->run;
  struct stat about;
  mica_session_report plan;
  char *path = mica__run_path(run, "model.safetensors");
  if (!path) return mica__fail_nomem("a comparison");
  result->file_bytes = stat(path, &about) == 0 ? (uint64_t)about.st_size : 0;
  free(path);
  result->parameters = mica_nn_element_count(mica_trainer_test_network(run->trainer), false);
  MICA_TRY(mica_session_describe(run->trainer->predicting.session, &plan));
  result->flops = plan.flops;
  result->memory = plan.planned_bytes + plan.workspace_bytes + plan.io_bytes;
  /* An answer found by a search does not come from a single pass whose cost could be counted. */
  if (!result->memory) result->flops = (double)NAN;
  mica_nn *nn = run->trainer->predicting.nn;
  for (size_t i = 0; i < mica_nn_parameter_count(nn); i++) {
    const mica_tensor *tensor =
        mica_session_parameter(run->trainer->predicting.session, mica_nn_parameter_at(nn, i)->name);
    if (tensor) result->memory += mica_tensor_bytes(tensor);
  }
  qsort(c->times, (size_t)c->timed, sizeof *c->times, compare_times);
  result->timed = c->timed;
  result->median = (c->times[(c->timed - 1) / 2] + c->times[c->timed / 2]) / 2;
  result->p95 = c->times[(int64_t)ceil(0.95 * (double)c->timed) - 1];
  return MICA_OK;
}

/* --- answers --- */

static mica_status answer(mica_run *run, const mica_compare_config *config, mica_report **report) {
  const char *data = config->data ? config->data : run->data;
  const mica_run_input input = {.data = data, .part = config->part, .count = config->samples, .top = 1};
  /* If no data are named, the samples are those of the test part. */
  run->evaluation->predicts_own = !config->data;
  mica_status status = mica_run_predict(run, &input, report);
  run->evaluation->predicts_own = false;
  return status;
}

static mica_status compare_predictions(mica_run *const *runs, size_t count, const mica_compare_config *config,
                                       mica_compared *results) {
  mica_report *first = NULL, *other = NULL;
  mica_status status = answer(runs[0], config, &first);
  /* Rankings are answers to users rather than to samples, so they have no predictions to compare. */
  if (status == MICA_E_UNSUPPORTED) return MICA_OK;
  for (size_t i = 0; status == MICA_OK && i < count; i++) {
    if (i) status = answer(runs[i], config, &other);
    if (status == MICA_OK) results[i].agreement = mica__agreement(first, i ? other : first, &results[i].answers);
    mica_report_destroy(other);
    other = NULL;
  }
  mica_report_destroy(first);
  return status;
}

static mica_status compare_answers(mica_run *const *runs, size_t count, const mica_compare_config *config,
                                   mica_compared *results) {
  const mica__task_row *task = runs[0]->task;
  for (size_t i = 0; i < count; i++) results[i].agreement = (double)NAN;
  if (!task->agree) return compare_predictions(runs, count, config, results);
  for (size_t i = 0; i < count; i++)
    MICA_TRY(task->agree(runs[0], runs[i], config->samples, &results[i].agreement, &results[i].answers));
  return MICA_OK;
}

/* Checks that all runs were trained on the same data. Called if the user names no data for testing. */
static mica_status check_data(mica_run *const *runs, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (!runs[i]->data)
      return mica__fail(MICA_E_INVALID, "%s does not say what it was trained on; name the data for testing with --data",
                        runs[i]->folder);
    if (strcmp(runs[i]->data, runs[0]->data) != 0)
      return mica__fail(MICA_E_INVALID, "%s was trained on %s, but %s on %s; name the data for testing with --data",
                        runs[0]->folder, runs[0]->data, runs[i]->folder, runs[i]->data);
  }
  return MICA_OK;
}

/* Refuses runs that split the same data by different settings: samples that one held out may be training samples of
 * the other. */
static mica_status check_split(const mica_run *first, const mica_run *other) {
  static const char *const splits[] = {"seed", "validation"};
  for (size_t i = 0; i < 2 && first->evaluation->split; i++) {
    const char *a = mica_run_setting(first, splits[i]), *b = mica_run_setting(other, splits[i]);
    if (strcmp(a, b) != 0)
      return mica__fail(
          MICA_E_INVALID,
          "%s and %s hold out different samples of %s (%s %s and %s); name the data for testing with --data",
          first->folder, other->folder, first->data, splits[i], a, b);
  }
  return MICA_OK;
}

static mica_status check(mica_run *const *runs, size_t count, const mica_compare_config *config,
                         const mica_compared *results) {
  if (!runs || !config || !results)
    return mica__fail(MICA_E_INVALID, "mica_runs_compare: runs, config or results is NULL");
  if (!count) return mica__fail(MICA_E_INVALID, "mica_runs_compare: count is 0, but must be 1 or above");
  if (config->part < MICA_PART_TRAIN || config->part > MICA_PART_TEST)
    return mica__fail(MICA_E_INVALID, "mica_runs_compare: part is %d, but must be from 0 to %d", (int)config->part,
                      (int)MICA_PART_TEST);
  if (config->samples < 0)
    return mica__fail(MICA_E_INVALID, "mica_runs_compare: samples is %lld, but must be 0 or above",
                      (long long)config->samples);
  if (config->repeats < 0)
    return mica__fail(MICA_E_INVALID, "mica_runs_compare: repeats is %lld, but must be 0 or above",
                      (long long)config->repeats);
  if (!(config->seconds >= 0))
    return mica__fail(MICA_E_INVALID, "mica_runs_compare: seconds is %g, but must be 0 or above", config->seconds);
  for (size_t i = 0; i < count; i++) {
    if (!runs[i] || !runs[i]->folder)
      return mica__fail(MICA_E_INVALID, "mica_runs_compare: runs[%zu] %s", i, runs[i] ? "has no folder" : "is NULL");
    if (runs[i]->task != runs[0]->task)
      return mica__fail(
          MICA_E_INVALID,
          "%s is a run of the task %s, but %s is a run of the task %s; only runs of the same task can be compared",
          runs[0]->folder, runs[0]->task->name, runs[i]->folder, runs[i]->task->name);
  }
  return MICA_OK;
}

mica_status mica_runs_compare(mica_run *const *runs, size_t count, const mica_compare_config *given,
                              mica_compared *results) {
  MICA_TRY(check(runs, count, given, results));
  mica_compare_config how = *given;
  const mica_compare_config *const config = &how;
  if (!how.samples) how.samples = USUAL_SAMPLES;
  if (!how.data) MICA_TRY(check_data(runs, count));
  contender *list = calloc(count, sizeof *list);
  mica_status status = list ? MICA_OK : mica__fail_nomem("a comparison");
  for (size_t i = 0; status == MICA_OK && i < count; i++) {
    results[i] = (mica_compared){0};
    list[i].run = runs[i];
    status = mica__run_evaluate(runs[i], config->data, config->part, &results[i].metrics);
    if (status == MICA_OK) status = check_split(runs[0], runs[i]);
  }
  if (status == MICA_OK) status = compare_answers(runs, count, config, results);
  for (size_t i = 0; status == MICA_OK && i < count; i++) status = take_sample(&list[i], config->part);
  if (status == MICA_OK) status = time_all(list, count, config);
  for (size_t i = 0; status == MICA_OK && i < count; i++) status = note_costs(&list[i], &results[i]);
  free_contenders(list, count);
  return status;
}
