/* Writes the weights for prediction from a checkpoint into a file of their own. It needs no device. */
#include "base/text.h"
#include "train/train.h"

#include <stdlib.h>

/* Finds the moving average of a weight or, if it has none, the weight; NULL: the file has neither. */
static mica_status find_entry(const mica_safetensors *file, const char *name, const mica_safetensors_entry **entry) {
  mica__text average = {0};
  mica__text_addf(&average, "ema.%s", name);
  mica_status status = mica__text_status(&average);
  if (status == MICA_OK) *entry = mica_safetensors_find(file, average.data);
  if (status == MICA_OK && !*entry) *entry = mica_safetensors_find(file, name);
  mica__text_free(&average);
  return status;
}

static mica_status collect(const mica_trainer *t, const char *checkpoint, const mica_safetensors *file,
                           mica_safetensors_entry *list, size_t *count) {
  const mica_nn *nn = t->testing.nn;
  for (size_t i = 0; i < mica_nn_parameter_count(nn); i++) {
    const mica_nn_parameter_info *info = mica_nn_parameter_at(nn, i);
    const mica_safetensors_entry *entry = NULL;
    if (info->role == MICA_NN_ROLE_OPTIMIZER || !mica_session_parameter(t->testing.session, info->name)) continue;
    MICA_TRY(find_entry(file, info->own_name, &entry));
    if (!entry) return mica__fail(MICA_E_FORMAT, "%s: there is no tensor '%s'", checkpoint, info->own_name);
    list[*count] = *entry;
    list[(*count)++].name = info->own_name;
  }
  return MICA_OK;
}

mica_status mica__train_extract(const mica_trainer *t, const char *checkpoint, const char *path,
                                const mica_safetensors_pair *metadata, size_t pairs) {
  mica_safetensors *file = NULL;
  size_t count = 0;
  MICA_TRY(mica_safetensors_open(checkpoint, &file));
  mica_safetensors_entry *list = calloc(mica_nn_parameter_count(t->testing.nn) + 1, sizeof *list);
  mica_status status = list ? collect(t, checkpoint, file, list, &count) : mica__fail_nomem("weights");
  if (status == MICA_OK) status = mica_safetensors_write(path, list, count, metadata, pairs);
  free(list);
  mica_safetensors_close(file);
  return status;
}
