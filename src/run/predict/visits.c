/* Visits the samples given to predict. */
#include "run/predict/visits.h"
#include "run/evaluation.h"
#include "run/predict/batches.h"
#include "run/predict/samples.h"
#include "run/run.h"

#include <stdlib.h>

mica_status mica__visit_data(mica_run *run, const mica_run_input *given, mica__data_visit_fn *visit,
                             mica__sample_fn *fn, void *user) {
  mica_dataset *data = NULL;
  bool all = false;
  MICA_TRY(mica__run_open_given(run, given->data, given->part, &all, &data));
  mica_status status = run->task->fits(run, data);
  const uint64_t there = mica_dataset_count(data), wanted = given->count > 0 ? (uint64_t)given->count : there;
  if (status == MICA_OK) status = visit(run, data, wanted < there ? wanted : there, fn, user);
  mica_dataset_destroy(data);
  return status;
}

mica_status mica__visit_files(mica_run *run, const mica_run_input *given, mica__file_visit_fn *visit,
                              mica__sample_fn *fn, void *user) {
  mica__paths paths = {0};
  mica_status status = mica__paths_find(run, given, &paths);
  for (size_t i = 0; status == MICA_OK && i < paths.count; i++)
    status = mica__run_pass_file(run, given, paths.list[i], visit(run, paths.list[i], fn, user));
  mica__paths_free(&paths);
  return status;
}

mica_status mica__visit_fed(mica_run *run, const mica__sample *sample, const mica_feed *feeds, size_t count,
                            int64_t width, mica__sample_fn *fn, void *user) {
  const mica_batch batch = {.count = 1, .tensors = feeds, .tensor_count = count};
  float *outputs = NULL;
  mica_status status = mica__batch_infer(run, &batch, width, &outputs);
  if (status == MICA_OK) status = fn(run, sample, outputs, user);
  free(outputs);
  return status;
}
