/* Runs the network over texts, window by window, and visits its outputs. */
#include "base/file.h"
#include "run/predict/samples.h"
#include "run/run.h"
#include "task/input/contexts.h"

#include <stdlib.h>
#include <string.h>

/* Maximum number of windows of a text that run as one batch. */
#define AT_A_TIME 16
/* Maximum number of contexts that mica__contexts_look visits. */
#define LOOKED_AT 100

/* Runs the network on `count` windows of `row` tokens and downloads an output that has four bytes per position. */
static mica_status infer(mica_run *run, const int32_t *tokens, int64_t count, int64_t row, const char *output,
                         void *values) {
  mica_queue *queue = mica_engine_queue(run->engine);
  mica_tensor *tensor = NULL;
  MICA_TRY(mica_tensor_create(run->engine, MICA_I32, MICA_SHAPE(count, row), &tensor));
  const mica_feed feed = {"tokens", tensor};
  mica_status status = mica_tensor_upload(queue, tensor, tokens, mica_tensor_bytes(tensor));
  if (status == MICA_OK)
    status = mica_trainer_predict(run->trainer, &(mica_batch){.count = count, .tensors = &feed, .tensor_count = 1});
  const mica_tensor *result = status == MICA_OK ? mica_trainer_output(run->trainer, output) : NULL;
  if (status == MICA_OK && !result)
    status = mica__fail(MICA_E_STATE, "the network has no output '%s' (an error in Mica)", output);
  if (status == MICA_OK) status = mica_tensor_download(queue, result, values, mica_tensor_bytes(result));
  mica_tensor_destroy(tensor);
  return status;
}

/* The last window is padded with id 0, and the outputs of the padding are dropped. */
mica_status mica__contexts_read(mica_run *run, const int32_t *ids, int64_t n, const char *output, void *values) {
  const int64_t context = mica__contexts_settings_of(run).context, row = context + 1, all = n - 1;
  const int64_t windows = (all + context - 1) / context;
  int32_t *tokens = calloc((size_t)(AT_A_TIME * row), sizeof *tokens), *made = values;
  int32_t *some = malloc((size_t)(AT_A_TIME * context) * sizeof *some);
  mica_status status = tokens && some ? MICA_OK : mica__fail_nomem("a text");
  for (int64_t from = 0; status == MICA_OK && from < windows; from += AT_A_TIME) {
    const int64_t count = windows - from < AT_A_TIME ? windows - from : AT_A_TIME, at = from * context;
    const int64_t given = all - at < count * context ? all - at : count * context;
    memset(tokens, 0, (size_t)(count * row) * sizeof *tokens);
    for (int64_t w = 0; w < count; w++)
      for (int64_t i = 0; i < row && at + w * context + i < n; i++) tokens[w * row + i] = ids[at + w * context + i];
    status = infer(run, tokens, count, row, output, some);
    if (status == MICA_OK) memcpy(made + at, some, (size_t)given * sizeof *made);
  }
  free(tokens);
  free(some);
  return status;
}

/* --- samples --- */

static mica_status visit_ids(mica_run *run, const mica__sample *sample, mica__sample_fn *fn, void *user) {
  float *outputs = malloc(sample->id_count * sizeof *outputs);
  mica_status status =
      outputs ? mica__contexts_read(run, sample->ids, (int64_t)sample->id_count, run->task->head->output, outputs)
              : mica__fail_nomem("a text");
  if (status == MICA_OK) status = fn(run, sample, outputs, user);
  free(outputs);
  return status;
}

static mica_status visit_text(mica_run *run, const char *name, const char *text, size_t bytes, mica__sample_fn *fn,
                              void *user) {
  mica__ids ids = {0};
  mica_status status = mica__contexts_encode(run, name, text, bytes, &ids);
  if (status == MICA_OK && ids.count < 2)
    status = mica__fail(MICA_E_FORMAT, "%s has too few %s (%zu): predictions begin with the second one", name,
                        run->tokenizer ? "tokens" : "bytes", ids.count);
  const mica__sample sample = {.name = name, .text = text, .bytes = bytes, .ids = ids.ids, .id_count = ids.count};
  if (status == MICA_OK) status = visit_ids(run, &sample, fn, user);
  mica__ids_free(&ids);
  return status;
}

static mica_status visit_file(mica_run *run, const char *path, mica__sample_fn *fn, void *user) {
  unsigned char *bytes = NULL;
  size_t size = 0;
  MICA_TRY(mica__file_read(path, &bytes, &size));
  mica_status status = visit_text(run, path, (const char *)bytes, size, fn, user);
  free(bytes);
  return status;
}

mica_status mica__contexts_visit(mica_run *run, const mica_run_input *given, mica__sample_fn *fn, void *user) {
  if (given->text)
    return visit_text(run, given->name ? given->name : given->text, given->text, strlen(given->text), fn, user);
  if (given->data) return visit_file(run, given->data, fn, user);
  for (size_t i = 0; i < given->file_count; i++) MICA_TRY(visit_file(run, given->files[i], fn, user));
  return MICA_OK;
}

mica_status mica__contexts_look(mica_run *run, const mica_dataset *data, mica__sample_fn *fn, void *user) {
  const size_t column = mica_dataset_column_index(data, "tokens");
  const size_t count = (size_t)mica__contexts_settings_of(run).context + 1;
  int32_t *ids = calloc(count, sizeof *ids);
  mica_status status = ids ? MICA_OK : mica__fail_nomem("a context");
  for (uint64_t i = 0; status == MICA_OK && i < LOOKED_AT && i < mica_dataset_count(data); i++) {
    char *name = mica__sample_name(data, i);
    const mica__sample sample = {.name = name, .ids = ids, .id_count = count};
    status = name ? mica_dataset_read(data, column, i, ids, count * sizeof *ids) : mica__fail_nomem("a context");
    if (status == MICA_OK) status = visit_ids(run, &sample, fn, user);
    free(name);
  }
  free(ids);
  return status;
}
