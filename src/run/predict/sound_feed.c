/* One recording as the feeds of a network. */
#include "base/arith.h"
#include "run/predict/samples.h"
#include "run/run.h"

#include <stdlib.h>
#include <string.h>

/* Lengths that recordings are padded to: multiples of the least one, each about a quarter above the one before it. */
#define LEAST 2048

static int64_t padded_length(int64_t length) {
  int64_t padded = LEAST;
  while (padded < length) padded = (padded + mica__max(padded / 4, LEAST)) / LEAST * LEAST;
  return padded;
}

mica_status mica__run_feed_sound(mica_run *run, const float *samples, int64_t length, mica_tensor *tensors[2]) {
  const int32_t count = (int32_t)length;
  if (length < 0 || length > INT32_MAX / 2)
    return mica__fail(MICA_E_OVERFLOW, "a recording of %lld samples is too long to be computed at once",
                      (long long)length);
  const int64_t padded = padded_length(length);
  float *longer = calloc((size_t)padded, sizeof *longer);
  if (!longer) return mica__fail_nomem("a recording");
  if (length) memcpy(longer, samples, (size_t)length * sizeof *longer);
  mica_status status = mica_tensor_create_from(run->engine, MICA_F32, MICA_SHAPE(1, padded), longer, &tensors[0]);
  free(longer);
  return status == MICA_OK ? mica_tensor_create_from(run->engine, MICA_I32, MICA_SHAPE(1), &count, &tensors[1])
                           : status;
}
