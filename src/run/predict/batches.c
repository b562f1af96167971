/* Computes the network's outputs for the batches of a test. */
#include "run/predict/batches.h"
#include "run/columns/columns.h"
#include "run/head.h"
#include "run/run.h"
#include "run/state/evaluation.h"
#include "run/state/parts.h"

#include <stdlib.h>
#include <string.h>

const mica_tensor *mica__batch_find(const mica_batch *batch, const char *name) {
  for (size_t i = 0; i < batch->tensor_count; i++)
    if (!strcmp(batch->tensors[i].name, name)) return batch->tensors[i].tensor;
  return NULL;
}

mica_status mica__batch_read(const mica_run *run, const mica_batch *batch, const char *name, void *to, size_t bytes) {
  const mica_tensor *tensor = mica__batch_find(batch, name);
  return tensor ? mica_tensor_download(mica_engine_queue(run->engine), tensor, to, bytes) : MICA_OK;
}

mica_status mica__batch_infer(mica_run *run, const mica_batch *batch, int64_t width, float **outputs) {
  const char *name = run->task->head->output;
  MICA_TRY(mica_trainer_predict(run->trainer, batch));
  const mica_tensor *result = mica_trainer_output(run->trainer, name);
  if (!result || mica_tensor_count(result) < batch->count * width)
    return mica__fail(MICA_E_STATE, "the network has no output '%s' of %lld numbers per sample (an error in Mica)",
                      name, (long long)width);
  *outputs = malloc(mica_tensor_bytes(result) + 1);
  if (!*outputs) return mica__fail_nomem("predictions");
  return mica_tensor_download(mica_engine_queue(run->engine), result, *outputs, mica_tensor_bytes(result));
}

static mica_status test_batch(mica_run *run, const mica_batch *batch, int64_t width, mica__tested_fn *fn, void *user) {
  float *outputs = NULL;
  mica_feed *feeds = NULL;
  mica_batch blind;
  mica_status status = mica__run_withhold(run, batch, &feeds, &blind);
  if (status == MICA_OK) status = mica__batch_infer(run, &blind, width, &outputs);
  if (status == MICA_OK) status = fn(run, batch, outputs, user);
  free(outputs);
  free(feeds);
  return status;
}

const mica_dataset *mica__source_data(const mica_run *run, const mica_batch_source *source) {
  for (int i = 0; i < MICA__PARTS; i++)
    if (run->parts->at[i].loader && source->user == run->parts->at[i].loader) return run->parts->at[i].data;
  return run->evaluation->data;
}

mica_status mica__test_batches(mica_run *run, const mica_batch_source *source, int64_t width, mica__tested_fn *fn,
                               void *user) {
  MICA_TRY(source->seek(source->user, 0, 0));
  for (mica_batch batch = {0};;) {
    MICA_TRY(source->next(source->user, mica_engine_queue(run->engine), &batch));
    if (!batch.count) return MICA_OK;
    MICA_TRY(test_batch(run, &batch, width, fn, user));
  }
}
