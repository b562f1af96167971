/* Recordings to predict from, in files or samples of data, and pictures of their spectra. */
#include "base/arith.h"
#include "base/text.h"
#include "data/picture/paint.h"
#include "data/sound/letters.h"
#include "run/fields.h"
#include "run/letters.h"
#include "run/predict/samples.h"
#include "run/predict/visits.h"
#include "run/run.h"
#include "task/input/strings.h"

#include <stdlib.h>
#include <string.h>

/* Maximum number of recordings that a report evaluates, to show some of them. This takes only seconds. */
#define LOOKED_AT 200

/* --- pictures --- */

/* The state of a visit that adds a picture of the spectra to each sample before it calls `fn`. */
typedef struct drawing {
  mica__sample_fn *fn;
  void *user;
  int64_t frames; /* number of spectra of the sample, without those of the batch's padding */
} drawing;

static mica_status visit_drawn(mica_run *run, const mica__sample *sample, const float *outputs, void *user) {
  const drawing *d = user;
  const mica_tensor *picture = mica_trainer_output(run->trainer, MICA__PICTURE_OUTPUT);
  if (!picture)
    return mica__fail(MICA_E_STATE, "the network has no output '%s' (an error in Mica)", MICA__PICTURE_OUTPUT);
  const int64_t mels = mica_tensor_shape(picture).dim[1], row = mica_tensor_shape(picture).dim[2];
  const int64_t frames = mica__min(d->frames, row);
  float *spectra = malloc(mica_tensor_bytes(picture) + 1);
  uint8_t *planes = calloc((size_t)(2 * mels * frames) + 1, 1);
  mica__sample drawn = *sample;
  mica_status status = spectra && planes ? mica_tensor_download(mica_engine_queue(run->engine), picture, spectra,
                                                                mica_tensor_bytes(picture))
                                         : mica__fail_nomem("a picture");
  if (status == MICA_OK) mica__paint_mels(spectra, mels, frames, row, planes);
  drawn.pixels = planes;
  drawn.shape = MICA_SHAPE(1, 2 * mels, frames);
  if (status == MICA_OK) status = d->fn(run, &drawn, outputs, d->user);
  free(spectra);
  free(planes);
  return status;
}

/* --- recordings --- */

/* Visits a recording followed by zeros. text: its words; NULL: not known. */
static mica_status visit_one(mica_run *run, const char *name, const float *samples, int64_t length, const char *text,
                             mica__sample_fn *fn, void *user) {
  const mica__strings_time t = mica__strings_time_of(run);
  const mica__steps steps = {.count = mica__strings_steps(&t, length),
                             .middle = t.reach / 2,
                             .apart = t.stride,
                             .column = t.hop,
                             .rate = t.rate,
                             .seconds = (double)(length - t.tail) / t.rate};
  const mica__sample sample = {.name = name, .meaning = text, .steps = &steps};
  return mica__visit_sound(run, &sample, samples, length, steps.count * run->task->head->outputs(run), fn, user);
}

static mica_status visit_file(mica_run *run, const char *path, mica__sample_fn *fn, void *user) {
  const mica__strings_time t = mica__strings_time_of(run);
  float *samples = NULL;
  int64_t length = 0;
  MICA_TRY(mica_sound_read(path, (int32_t)t.rate, &samples, &length, NULL));
  float *longer = calloc((size_t)(length + t.tail) + 1, sizeof *longer);
  if (longer && length) memcpy(longer, samples, (size_t)length * sizeof *longer);
  mica_free(samples);
  mica_status status = longer ? visit_one(run, path, longer, length + t.tail, NULL, fn, user) : mica__fail_nomem(path);
  free(longer);
  return status;
}

static mica_status visit_sample(mica_run *run, const mica_dataset *data, uint64_t i, bool drawn, mica__sample_fn *fn,
                                void *user) {
  const mica__strings_time t = mica__strings_time_of(run);
  drawing d = {.fn = fn, .user = user};
  mica__text text = {0};
  float *samples = NULL;
  int64_t length = 0;
  char *name = mica__sample_name(data, i);
  mica_status status = name ? mica__letters_take(data, i, &text) : mica__fail_nomem("recordings");
  if (status == MICA_OK) status = mica__sound_of(data, i, &samples, &length);
  d.frames = length < t.length ? 0 : 1 + (length - t.length) / t.hop;
  if (status == MICA_OK)
    status = drawn ? visit_one(run, name, samples, length, text.data, visit_drawn, &d)
                   : visit_one(run, name, samples, length, text.data, fn, user);
  free(samples);
  free(name);
  mica__text_free(&text);
  return status;
}

static mica_status visit_part(mica_run *run, const mica_dataset *data, uint64_t count, mica__sample_fn *fn,
                              void *user) {
  for (uint64_t i = 0; i < count; i++) MICA_TRY(visit_sample(run, data, i, false, fn, user));
  return MICA_OK;
}

mica_status mica__strings_visit(mica_run *run, const mica_run_input *given, mica__sample_fn *fn, void *user) {
  if (given->file_count) return mica__visit_files(run, given, visit_file, fn, user);
  if (given->data) return mica__visit_data(run, given, visit_part, fn, user);
  return mica__fail(
      MICA_E_INVALID,
      "the task %s predicts from files of recordings, or from data with --data; not from texts or standard input",
      run->task->name);
}

mica_status mica__strings_look(mica_run *run, const mica_dataset *data, mica__sample_fn *fn, void *user) {
  for (uint64_t i = 0; i < LOOKED_AT && i < mica_dataset_count(data); i++)
    MICA_TRY(visit_sample(run, data, i, true, fn, user));
  return MICA_OK;
}
