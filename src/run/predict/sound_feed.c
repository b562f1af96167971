/* Feeds recordings to a network. */
#include "base/arith.h"
#include "run/predict/visits.h"
#include "run/run.h"

#include <stdlib.h>
#include <string.h>

/* Recordings are padded to one of a few lengths. The lengths are multiples of LEAST, the smallest of them. Each is
 * longer than the one before by about a quarter, and at least by LEAST. */
#define LEAST 2048

static int64_t padded_length(int64_t length) {
  int64_t padded = LEAST;
  while (padded < length) padded = (padded + mica__max(padded / 4, LEAST)) / LEAST * LEAST;
  return padded;
}

/* Makes two tensors: the samples (1, T), and their number (1). The samples are padded with zeros, so that a session
 * need not be planned anew for each recording. The caller destroys both, also after a failure. */
static mica_status make_tensors(mica_run *run, const float *samples, int64_t length, mica_tensor *tensors[2]) {
  const int32_t count = (int32_t)length;
  if (length < 0 || length > INT32_MAX / 2)
    return mica__fail(MICA_E_OVERFLOW, "a recording of %lld samples is too long; at most %d can be computed at once",
                      (long long)length, INT32_MAX / 2);
  const int64_t padded = padded_length(length);
  float *longer = calloc((size_t)padded, sizeof *longer);
  if (!longer) return mica__fail_nomem("a recording");
  if (length) memcpy(longer, samples, (size_t)length * sizeof *longer);
  mica_status status = mica_tensor_create_from(run->engine, MICA_F32, MICA_SHAPE(1, padded), longer, &tensors[0]);
  free(longer);
  return status == MICA_OK ? mica_tensor_create_from(run->engine, MICA_I32, MICA_SHAPE(1), &count, &tensors[1])
                           : status;
}

mica_status mica__visit_sound(mica_run *run, const mica__sample *sample, const float *samples, int64_t length,
                              int64_t width, mica__sample_fn *fn, void *user) {
  mica_tensor *tensors[2] = {NULL, NULL};
  mica_status status = make_tensors(run, samples, length, tensors);
  const mica_feed feeds[] = {{"sound", tensors[0]}, {"sound.length", tensors[1]}};
  if (status == MICA_OK) status = mica__visit_fed(run, sample, feeds, 2, width, fn, user);
  mica_tensor_destroy(tensors[0]);
  mica_tensor_destroy(tensors[1]);
  return status;
}

mica_status mica__sound_of(const mica_dataset *data, uint64_t i, float **samples, int64_t *length) {
  const size_t column = mica_dataset_column_index(data, "sound");
  MICA_TRY(mica_dataset_length(data, column, i, length));
  if (!(*samples = malloc((size_t)*length * sizeof **samples + 1))) return mica__fail_nomem("recordings");
  return mica_dataset_read(data, column, i, *samples, (size_t)*length * sizeof **samples);
}
