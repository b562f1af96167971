#include "base/clock.h"
#include "base/error.h"
#include "ops/select/registry.h"
#include "ops/select/tunable.h"

#include <math.h>
#include <mica/tune.h>
#include <stdlib.h>
#include <string.h>

typedef struct candidate {
  mica__choice choice;
  char text[MICA__TUNING_TEXT];
} candidate;

struct mica_tuner {
  mica_engine *engine;
  const mica__tunable *tunable;
  mica__trial *trial;
  candidate *candidates;
  size_t count, capacity;
};

#define DEFAULT_BUDGET 0.05
#define MIN_SAMPLES 5
#define MAX_SAMPLES 1000
/* The duration of the runs that are queued between two waits, so that the cost of a wait is negligible; at most
 * MAX_BATCH runs. */
#define SAMPLE_SECONDS 2e-3
#define MAX_BATCH 256

/* Adds the choice unless it is listed, and sets *index to its index. */
static mica_status add(mica_tuner *tuner, const mica__choice *choice, size_t *index) {
  candidate c = {.choice = *choice};
  mica__choice_format(choice, c.text);
  for (*index = 0; *index < tuner->count; ++*index)
    if (!strcmp(tuner->candidates[*index].text, c.text)) return MICA_OK;
  if (tuner->count == tuner->capacity) {
    size_t capacity = tuner->capacity ? tuner->capacity * 2 : 32;
    candidate *grown = realloc(tuner->candidates, capacity * sizeof *grown);
    if (!grown) return mica__fail_nomem("a tuner's candidates");
    tuner->candidates = grown;
    tuner->capacity = capacity;
  }
  tuner->candidates[tuner->count++] = c;
  return MICA_OK;
}

static mica_status add_all(mica_tuner *tuner, mica__choice *choices, size_t count, mica_status status) {
  if (status != MICA_OK) return status;
  size_t index = 0;
  for (size_t i = 0; status == MICA_OK && i < count; i++)
    if (mica__choice_is_open(tuner->engine, &choices[i], tuner->trial->problem))
      status = add(tuner, &choices[i], &index);
  free(choices);
  return status;
}

static mica_status list_candidates(mica_tuner *tuner) {
  mica__choice *choices = NULL;
  size_t count = 0;
  mica_status status =
      mica__choices_of(tuner->engine, tuner->tunable->impls(tuner->trial), tuner->trial->problem, &choices, &count);
  return add_all(tuner, choices, count, status);
}

mica_status mica_tuner_create(mica_engine *engine, const char *problem, mica_tuner **out) {
  if (!engine || !problem || !out)
    return mica__fail(MICA_E_INVALID, "mica_tuner_create: engine, problem or out is NULL");
  const char *rest = problem + strcspn(problem, " ");
  const mica__op *op = NULL;
  for (size_t i = 0; i < mica__op_count; i++) {
    const char *name = mica__ops[i]->name;
    if (mica__ops[i]->tunable && strlen(name) == (size_t)(rest - problem) && !memcmp(name, problem, strlen(name)))
      op = mica__ops[i];
  }
  if (!op) return mica__fail(MICA_E_FORMAT, "\"%s\" does not begin with the name of an op that can be tuned", problem);
  mica_tuner *tuner = calloc(1, sizeof *tuner);
  if (!tuner) return mica__fail_nomem("a tuner");
  tuner->engine = engine;
  tuner->tunable = op->tunable;
  mica_status status = op->tunable->open(engine, rest + strspn(rest, " "), &tuner->trial);
  if (status == MICA_OK) status = list_candidates(tuner);
  if (status == MICA_OK)
    *out = tuner;
  else
    mica_tuner_destroy(tuner);
  return status;
}

void mica_tuner_destroy(mica_tuner *tuner) {
  if (!tuner) return;
  if (tuner->trial) tuner->tunable->close(tuner->trial);
  free(tuner->candidates);
  free(tuner);
}

const char *mica_tuner_key(const mica_tuner *tuner) { return tuner->trial->key; }
double mica_tuner_flops(const mica_tuner *tuner) { return tuner->trial->flops; }
size_t mica_tuner_count(const mica_tuner *tuner) { return tuner->count; }

static mica_status check_index(const mica_tuner *tuner, size_t index) {
  if (!tuner) return mica__fail(MICA_E_INVALID, "the tuner is NULL");
  if (index < tuner->count) return MICA_OK;
  return mica__fail(MICA_E_INVALID, "there is no candidate %zu; candidates are numbered from 0, and there are %zu",
                    index, tuner->count);
}

const char *mica_tuner_candidate(const mica_tuner *tuner, size_t index) {
  return check_index(tuner, index) == MICA_OK ? tuner->candidates[index].text : NULL;
}

mica_status mica_tuner_add(mica_tuner *tuner, const char *text, size_t *index) {
  mica__choice choice;
  if (!tuner || !text || !index) return mica__fail(MICA_E_INVALID, "mica_tuner_add: tuner, text or index is NULL");
  if (!mica__choice_parse(tuner->tunable->impls(tuner->trial), text, &choice) ||
      !mica__choice_is_open(tuner->engine, &choice, tuner->trial->problem))
    return mica__fail(MICA_E_NOT_FOUND, "\"%s\" is not a candidate for %s on this device", text, tuner->trial->key);
  return add(tuner, &choice, index);
}

mica_status mica_tuner_widen(mica_tuner *tuner, size_t index) {
  MICA_TRY(check_index(tuner, index));
  mica__choice *choices = NULL;
  size_t count = 0;
  mica_status status = mica__choice_neighbours(&tuner->candidates[index].choice, &choices, &count);
  return add_all(tuner, choices, count, status);
}

/* Measures the seconds of one run, from `batch` runs queued together. */
static mica_status time_batch(const mica_tuner *tuner, const mica__choice *choice, size_t batch, double *seconds) {
  mica_queue *queue = mica_engine_queue(tuner->engine);
  double begin = mica__clock();
  for (size_t i = 0; i < batch; i++) MICA_TRY(mica__choice_launch(queue, choice, tuner->trial->problem));
  MICA_TRY(mica_queue_finish(queue));
  *seconds = (mica__clock() - begin) / (double)batch;
  return MICA_OK;
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

static mica_status time_median(const mica_tuner *tuner, const mica__choice *choice, double budget, double *seconds) {
  double samples[MAX_SAMPLES], once = 0;
  size_t count = 0, batch = 1;
  MICA_TRY(time_batch(tuner, choice, 1, &once));
  if (once < SAMPLE_SECONDS) batch = (size_t)(SAMPLE_SECONDS / (once > 0 ? once : 1e-9)) + 1;
  if (batch > MAX_BATCH) batch = MAX_BATCH;
  for (double spent = 0; count < MAX_SAMPLES && (count < MIN_SAMPLES || spent < budget); count++) {
    MICA_TRY(time_batch(tuner, choice, batch, &samples[count]));
    spent += samples[count] * (double)batch;
  }
  qsort(samples, count, sizeof *samples, ascending);
  *seconds = samples[count / 2];
  return MICA_OK;
}

mica_status mica_tuner_measure(mica_tuner *tuner, size_t index, double budget, double *seconds) {
  MICA_TRY(check_index(tuner, index));
  if (!seconds) return mica__fail(MICA_E_INVALID, "mica_tuner_measure: seconds is NULL");
  const mica__choice *choice = &tuner->candidates[index].choice;
  MICA_TRY(mica__trial_poison(tuner->trial));
  MICA_TRY(mica__choice_launch(mica_engine_queue(tuner->engine), choice, tuner->trial->problem));
  MICA_TRY(mica__trial_verify(tuner->trial, choice));
  return time_median(tuner, choice, budget > 0 ? budget : DEFAULT_BUDGET, seconds);
}

mica_status mica_tuner_keep(mica_tuner *tuner, size_t index, double seconds) {
  MICA_TRY(check_index(tuner, index));
  if (!(seconds > 0 && seconds < INFINITY))
    return mica__fail(MICA_E_INVALID, "mica_tuner_keep: seconds is %g, but must be a finite number above 0", seconds);
  return mica__tuning_keep(tuner->engine, tuner->trial->key, tuner->candidates[index].text, seconds);
}

mica_status mica_tuner_quarantine(mica_tuner *tuner, size_t index, const char *reason) {
  MICA_TRY(check_index(tuner, index));
  return mica__tuning_quarantine(tuner->engine, tuner->candidates[index].text, reason ? reason : "no reason given");
}

/* Returns the op with this index among those that can be tuned; NULL if there are fewer. */
static const mica__op *tunable_op(size_t index) {
  for (size_t i = 0; i < mica__op_count; i++)
    if (mica__ops[i]->tunable && index-- == 0) return mica__ops[i];
  return NULL;
}

bool mica_tunable_get(size_t index, mica_tunable *tunable) {
  const mica__op *op = tunable_op(index);
  if (!op || !tunable) return false;
  *tunable = (mica_tunable){.op = op->name,
                            .summary = op->tunable->summary,
                            .syntax = op->tunable->syntax,
                            .problems = op->tunable->problems};
  return true;
}

void mica__tune_first_time(mica_engine *engine, const char *key, const char *problem) {
  char known[MICA__TUNING_TEXT];
  if (!mica__engine_tunes(engine) || mica__tuning_best(engine, key, known)) return;
  mica__attempt_begin();
  if (mica__tune(engine, problem) != MICA_OK)
    mica__log(MICA_LOG_LEVEL_INFO, "%s is not tuned: %s", problem, mica_error_message());
  mica__attempt_end();
}

mica_status mica__tune(mica_engine *engine, const char *problem) {
  mica_tuner *tuner = NULL;
  MICA_TRY(mica_tuner_create(engine, problem, &tuner));
  size_t best = 0;
  double best_seconds = 0;
  for (size_t i = 0; i < tuner->count; i++) {
    double seconds = 0;
    mica_status status = mica_tuner_measure(tuner, i, 0, &seconds);
    if (status == MICA_E_NUMERIC && mica_tuner_quarantine(tuner, i, mica_error_message()) != MICA_OK)
      mica__log(MICA_LOG_LEVEL_WARNING, "could not save that a kernel gave wrong results: %s", mica_error_message());
    if (status != MICA_OK || (best_seconds > 0 && seconds >= best_seconds)) continue;
    best = i;
    best_seconds = seconds;
  }
  mica_status status = best_seconds > 0
                           ? mica_tuner_keep(tuner, best, best_seconds)
                           : mica__fail(MICA_E_UNSUPPORTED, "no kernel for %s ran and gave the right result", problem);
  mica_tuner_destroy(tuner);
  return status;
}
