/* Recordings to predict from, and those that a report shows. */
#include "run/predict/recordings.h"
#include "data/dataset.h"
#include "run/composed.h"
#include "run/evaluation.h"
#include "run/predict/samples.h"
#include "run/predict/truths.h"
#include "run/predict/visits.h"
#include "run/run.h"
#include "run/state/evaluation.h"

#include <math.h>
#include <mica/data.h>
#include <stdlib.h>

/* How many recordings a report looks at, to show some of them. */
#define LOOKED_AT 500

/* Allocates the true answers of a sample and sets all to NaN (unknown). Returns NULL if memory is short. */
static double *make_truths(const mica_run *run) {
  const size_t count = mica__truth_count(run);
  double *truths = malloc((count + 1) * sizeof *truths);
  for (size_t k = 0; truths && k < count; k++) truths[k] = (double)NAN;
  return truths;
}

static mica_status visit_one(mica_run *run, const char *name, const float *samples, int64_t length,
                             const double *truths, mica__sample_fn *fn, void *user) {
  const mica__sample sample = {.name = name, .truths = truths};
  return mica__visit_sound(run, &sample, samples, length, run->task->head->outputs(run), fn, user);
}

static mica_status visit_files(mica_run *run, int32_t rate, const mica_run_input *given, mica__sample_fn *fn,
                               void *user) {
  const int32_t *classes = mica__truth_count(run) == 1 ? run->evaluation->file_classes : NULL;
  double *truths = make_truths(run);
  mica_status status = truths ? MICA_OK : mica__fail_nomem("predictions");
  for (size_t i = 0; status == MICA_OK && i < given->file_count; i++) {
    float *samples = NULL;
    int64_t length = 0;
    status = mica_sound_read(given->files[i], rate, &samples, &length, NULL);
    if (status != MICA_OK) {
      status = mica__run_pass_file(run, given, given->files[i], status);
      continue;
    }
    if (classes) truths[0] = classes[i] < 0 ? (double)NAN : (double)classes[i];
    status = visit_one(run, given->files[i], samples, length, truths, fn, user);
    mica_free(samples);
  }
  free(truths);
  return status;
}

static mica_status visit_sample(mica_run *run, const mica_dataset *data, uint64_t i, const double *truths,
                                mica__sample_fn *fn, void *user) {
  float *samples = NULL;
  int64_t length = 0;
  char *name = mica__sample_name(data, i);
  mica_status status = name ? mica__sound_of(data, i, &samples, &length) : mica__fail_nomem("predictions");
  if (status == MICA_OK) status = visit_one(run, name, samples, length, truths, fn, user);
  free(samples);
  free(name);
  return status;
}

static mica_status visit_first(mica_run *run, const mica_dataset *data, uint64_t count, mica__sample_fn *fn,
                               void *user) {
  mica__truths known = {0};
  double *truths = make_truths(run);
  mica_status status = truths ? mica__truths_open(run, data, &known) : mica__fail_nomem("predictions");
  for (uint64_t i = 0; status == MICA_OK && i < count && i < mica_dataset_count(data); i++) {
    status = mica__truths_read(&known, i, truths);
    if (status == MICA_OK) status = visit_sample(run, data, i, truths, fn, user);
  }
  mica__truths_close(&known);
  free(truths);
  return status;
}

mica_status mica__recordings_visit(mica_run *run, int32_t rate, const mica_run_input *given, mica__sample_fn *fn,
                                   void *user) {
  if (given->file_count) return visit_files(run, rate, given, fn, user);
  if (given->data) return mica__visit_data(run, given, visit_first, fn, user);
  return mica__fail(
      MICA_E_INVALID,
      "the task %s predicts from files of recordings, or from data with --data; not from texts or standard input",
      run->task->name);
}

mica_status mica__recordings_look(mica_run *run, const mica_dataset *data, mica__sample_fn *fn, void *user) {
  return visit_first(run, data, LOOKED_AT, fn, user);
}
