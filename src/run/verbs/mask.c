/* A copy of a run whose smallest weights are set to zero. */
#include "nn/nn.h"
#include "run/config.h"
#include "run/guard.h"
#include "run/run.h"
#include "run/verbs/imported.h"
#include "run/verbs/published.h"
#include "run/verbs/quantizer.h"

#include <math.h>
#include <mica/safetensors.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MODEL "model.safetensors"

/* True if the tensor is a matrix or filters that the network trains. */
static bool is_masked(const mica_nn *nn, const mica_safetensors_entry *e) {
  for (size_t i = 0; e->dtype == MICA_F32 && e->shape.rank > 1 && i < mica_nn_parameter_count(nn); i++) {
    const mica_nn_parameter_info *info = mica_nn_parameter_at(nn, i);
    if (info->role == MICA_NN_ROLE_WEIGHT && !strcmp(info->own_name, e->name)) return true;
  }
  return false;
}

static int compare_magnitudes(const void *a, const void *b) {
  const float x = *(const float *)a, y = *(const float *)b;
  return (x > y) - (x < y);
}

/* Points the entry to a copy of its weights in which this share of them, the smallest by magnitude, is 0. Of equal
 * weights, the first ones become 0. Adds the number of zeros in the copy to *zeros. */
static mica_status mask(mica_safetensors_entry *e, double share, int64_t *zeros) {
  const size_t count = e->bytes / sizeof(float), gone = (size_t)((double)count * share);
  const float *w = e->data;
  float *copy = malloc(e->bytes + sizeof *copy), *sorted = malloc(e->bytes + sizeof *sorted);
  if (!copy || !sorted) {
    free(copy);
    free(sorted);
    return mica__fail_nomem("masked weights");
  }
  for (size_t i = 0; i < count; i++) sorted[i] = fabsf(w[i]);
  qsort(sorted, count, sizeof *sorted, compare_magnitudes);
  const float limit = gone ? sorted[gone - 1] : -1;
  size_t ties = 0;
  for (size_t i = 0; i < gone; i++) ties += sorted[i] == limit;
  for (size_t i = 0; i < count; i++) {
    const bool tie = fabsf(w[i]) == limit && ties > 0;
    ties -= tie;
    copy[i] = tie || fabsf(w[i]) < limit ? 0 : w[i];
    *zeros += copy[i] == 0;
  }
  free(sorted);
  e->data = copy;
  return MICA_OK;
}

static mica_status write_weights(const mica_run *run, const mica_safetensors *file, double share, const char *path,
                                 int64_t totals[2]) {
  const size_t count = mica_safetensors_count(file), texts = mica_safetensors_metadata_count(file);
  const mica_nn *nn = mica_trainer_network(run->trainer);
  mica_safetensors_entry *list = calloc(count + 1, sizeof *list);
  mica_safetensors_pair *pairs = calloc(texts + 1, sizeof *pairs);
  mica_status status = list && pairs ? MICA_OK : mica__fail_nomem("masked weights");
  for (size_t i = 0; status == MICA_OK && i < texts; i++) pairs[i] = mica_safetensors_metadata_at(file, i);
  for (size_t i = 0; status == MICA_OK && i < count; i++) {
    list[i] = *mica_safetensors_at(file, i);
    if (!is_masked(nn, &list[i])) continue;
    totals[1] += (int64_t)(list[i].bytes / sizeof(float));
    status = mask(&list[i], share, &totals[0]);
  }
  if (status == MICA_OK && !totals[1])
    status = mica__fail(MICA_E_STATE, "%s has no matrices or filters of f32 to mask", run->folder);
  if (status == MICA_OK) status = mica_safetensors_write(path, list, count, pairs, texts);
  for (size_t i = 0; list && i < count && list[i].name; i++)
    if (list[i].data != mica_safetensors_at(file, i)->data) free((void *)(uintptr_t)list[i].data);
  free(list);
  free(pairs);
  return status;
}

static mica_status write_run(const mica_run *run, const mica_run *target, double share, int64_t totals[2]) {
  mica_safetensors *file = NULL;
  mica_run copy = *run;
  char *from = mica__run_path(run, MODEL), *to = mica__run_path(target, MODEL);
  mica_status status = from && to ? mica_safetensors_open(from, &file) : mica__fail_nomem("a run");
  if (status == MICA_OK) status = write_weights(run, file, share, to, totals);
  mica_safetensors_close(file);
  free(from);
  free(to);
  copy.folder = target->folder;
  if (status == MICA_OK) status = mica__run_copy_tokenizer(run, target);
  if (status == MICA_OK) status = mica__imported_copy(run, &copy);
  if (status == MICA_OK) status = mica__published_copy(run, &copy);
  return status == MICA_OK ? mica__run_write_config(&copy) : status;
}

mica_status mica_run_mask(mica_run *run, const mica_mask_config *config, int64_t *zeros, int64_t *weights) {
  int64_t totals[2] = {0};
  mica_run target = {0};
  if (!run || !config || !config->folder) return mica__fail(MICA_E_INVALID, "mica_run_mask: a pointer is NULL");
  if (!(config->share > 0 && config->share < 1))
    return mica__fail(MICA_E_INVALID, "mica_run_mask: the share is %g, but must be between 0 and 1", config->share);
  if (!run->folder || !run->trainer)
    return mica__fail(MICA_E_STATE, "mica_run_mask: the run has no folder with weights");
  if (mica__run_is_quantized(run))
    return mica__fail(MICA_E_STATE, "%s is quantised; mask the run that it was made from", run->folder);
  MICA_TRY(mica__run_check_free(config->folder));
  MICA_TRY(mica__run_check_apart(config->folder, run->data));
  target.folder = (char *)(uintptr_t)config->folder;
  MICA_TRY(mica__run_make_folder(&target));
  mica_status status = write_run(run, &target, config->share, totals);
  if (status != MICA_OK) mica__run_clear(&target);
  if (status == MICA_OK && zeros) *zeros = totals[0];
  if (status == MICA_OK && weights) *weights = totals[1];
  return status;
}
