/* Saves and loads networks as safetensors files. */
#include "nn/file.h"

#include "base/element.h"
#include "base/text.h"
#include "nn/divided.h"

#include <stdlib.h>

mica_status mica__nn_collect(const mica_nn *nn, mica_session *session, bool network, bool optimiser,
                             mica__weights *parts) {
  for (size_t i = 0; i < mica_nn_parameter_count(nn); i++) {
    const mica_nn_parameter_info *info = mica_nn_parameter_at(nn, i);
    mica_tensor *tensor = mica_session_parameter(session, info->name);
    mica__weight_part *one = NULL;
    /* Checkpoints omit weights that never change; these stay in the file that they came from. */
    if (optimiser && info->held.frozen) continue;
    if (!tensor || !(info->role == MICA_NN_ROLE_OPTIMIZER ? optimiser : network)) continue;
    MICA_TRY(mica__weights_put(parts, info->own_name, mica_tensor_dtype(tensor), mica_tensor_shape(tensor), &one));
    one->head.division = *mica__nn_division(nn, i);
    mica_queue *queue = mica_engine_queue(mica_tensor_engine(tensor));
    MICA_TRY(mica_tensor_download(queue, tensor, one->data, (size_t)one->head.bytes));
  }
  return MICA_OK;
}

static mica_status save(const mica_nn *nn, mica_session *session, const char *path,
                        const mica_safetensors_pair *metadata, size_t metadata_count) {
  mica__weights parts = {0};
  mica_status status = mica__nn_collect(nn, session, true, false, &parts);
  if (status == MICA_OK) status = mica__weights_write(&parts, path, metadata, metadata_count);
  mica__weights_free(&parts);
  return status;
}

/* True if the file's tensor is f16 or bf16 and the parameter's tensor is f32, which represents all its values
 * exactly. */
static bool widens(const mica_safetensors_entry *entry, const mica_tensor *tensor) {
  return (entry->dtype == MICA_BF16 || entry->dtype == MICA_F16) && mica_tensor_dtype(tensor) == MICA_F32;
}

/* MICA_E_FORMAT: the file's tensor does not match the parameter's tensor; the message says how they differ. */
static mica_status compare(const char *path, const char *name, const mica_safetensors_entry *entry,
                           const mica_tensor *tensor, const mica__division *d) {
  char is[MICA_SHAPE_TEXT], want[MICA_SHAPE_TEXT];
  const mica_shape shape = mica__division_whole(d, mica_tensor_shape(tensor));
  if (!entry)
    return mica__fail(MICA_E_FORMAT,
                      "%s: the file lacks the tensor '%s', so it was written for another network or optimiser", path,
                      name);
  const bool same = entry->dtype == mica_tensor_dtype(tensor) || widens(entry, tensor);
  if (same && mica_shape_equal(entry->shape, shape)) return MICA_OK;
  if (mica_shape_equal(entry->shape, shape))
    return mica__fail(MICA_E_FORMAT, "%s: the tensor '%s' is %s, but %s in this network; convert the file", path, name,
                      entry->type ? entry->type : "?", mica_dtype_name(mica_tensor_dtype(tensor)));
  return mica__fail(MICA_E_FORMAT,
                    "%s: the file was written for another network or optimiser: the tensor '%s' is %s %s, not %s %s",
                    path, name, entry->type ? entry->type : "?", mica_shape_format(entry->shape, is),
                    mica_dtype_name(mica_tensor_dtype(tensor)), mica_shape_format(shape, want));
}

static mica_status fill(mica_tensor *tensor, const mica_safetensors_entry *entry) {
  mica_queue *queue = mica_engine_queue(mica_tensor_engine(tensor));
  if (!widens(entry, tensor)) return mica_tensor_upload(queue, tensor, entry->data, entry->bytes);
  const size_t count = mica_tensor_bytes(tensor) / sizeof(float);
  float *wide = malloc((count + 1) * sizeof *wide);
  if (!wide) return mica__fail_nomem("weights");
  for (size_t i = 0; i < count; i++) wide[i] = (float)mica__element_get(entry->dtype, entry->data, (int64_t)i);
  mica_status status = mica_tensor_upload(queue, tensor, wide, count * sizeof *wide);
  free(wide);
  return status;
}

/* Fills a tensor from the file's tensor, or from this rank's part of it. */
static mica_status fill_part(const mica_nn *nn, size_t index, mica_tensor *tensor,
                             const mica_safetensors_entry *entry) {
  const mica__division *d = mica__nn_division(nn, index);
  if (!mica__is_divided(d)) return fill(tensor, entry);
  const mica_communicator *c = nn->config.tensor_ranks;
  mica_safetensors_entry own = *entry;
  own.bytes = entry->bytes / (size_t)c->ranks;
  char *data = malloc(own.bytes + 1);
  if (!data) return mica__fail_nomem("weights");
  mica__division_copy(d, mica_tensor_shape(tensor), mica_dtype_size(entry->dtype), c->ranks, c->rank,
                      (char *)(uintptr_t)entry->data, data, false);
  own.data = data;
  mica_status status = fill(tensor, &own);
  free(data);
  return status;
}

static mica_status find_entry(const mica_safetensors *file, const char *name, mica__nn_extent which,
                              const mica_safetensors_entry **entry) {
  mica__text average = {0};
  *entry = NULL;
  if (which == MICA__NN_AVERAGES) {
    mica__text_addf(&average, "ema.%s", name);
    MICA_TRY(mica__text_status(&average));
    *entry = mica_safetensors_find(file, average.data);
    mica__text_free(&average);
  }
  if (!*entry) *entry = mica_safetensors_find(file, name);
  return MICA_OK;
}

static bool reads(mica__nn_extent which, const mica_nn_parameter_info *info) {
  if (which == MICA__NN_WHOLE && info->held.frozen) return false;
  return which == MICA__NN_WHOLE || (info->role == MICA_NN_ROLE_OPTIMIZER) == (which == MICA__NN_OPTIMISER);
}

/* If `changes` is false, compares the tensors with the file; if true, fills them from the file. *missing receives the
 * number of tensors that the file lacks. If missing is NULL, a missing tensor is an error (found by the comparison,
 * which comes first). */
static mica_status take(const mica_nn *nn, mica_session *session, mica__nn_extent which, const char *path,
                        const mica_safetensors *file, bool changes, size_t *missing) {
  size_t lacking = 0;
  for (size_t i = 0; i < mica_nn_parameter_count(nn); i++) {
    const mica_nn_parameter_info *info = mica_nn_parameter_at(nn, i);
    mica_tensor *tensor = mica_session_parameter(session, info->name);
    if (!tensor || !reads(which, info)) continue;
    const mica_safetensors_entry *entry = NULL;
    MICA_TRY(find_entry(file, info->own_name, which, &entry));
    lacking += !entry;
    if (!entry && missing) continue;
    if (!changes) MICA_TRY(compare(path, info->own_name, entry, tensor, mica__nn_division(nn, i)));
    if (changes && entry) MICA_TRY(fill_part(nn, i, tensor, entry));
  }
  if (missing) *missing = lacking;
  return MICA_OK;
}

mica_status mica__nn_compare(const mica_nn *nn, mica_session *session, mica__nn_extent which, const char *path,
                             const mica_safetensors *file) {
  return take(nn, session, which, path, file, false, NULL);
}

mica_status mica__nn_fill(const mica_nn *nn, mica_session *session, mica__nn_extent which, const char *path,
                          const mica_safetensors *file, size_t *missing) {
  MICA_TRY(take(nn, session, which, path, file, false, missing));
  return take(nn, session, which, path, file, true, missing);
}

mica_status mica_nn_save(const mica_nn *nn, mica_session *session, const char *path,
                         const mica_safetensors_pair *metadata, size_t metadata_count) {
  if (!nn || !session || !path) return mica__fail(MICA_E_INVALID, "mica_nn_save: a pointer is NULL");
  return save(nn, session, path, metadata, metadata_count);
}

mica_status mica_nn_load(const mica_nn *nn, mica_session *session, const char *path, size_t *missing) {
  mica_safetensors *file = NULL;
  if (!nn || !session || !path) return mica__fail(MICA_E_INVALID, "mica_nn_load: a pointer is NULL");
  MICA_TRY(mica_safetensors_open(path, &file));
  mica_status status = mica__nn_fill(nn, session, MICA__NN_WEIGHTS, path, file, missing);
  mica_safetensors_close(file);
  return status;
}

mica_status mica_nn_load_ema(const mica_nn *nn, mica_session *session, const char *path) {
  mica_safetensors *file = NULL;
  if (!nn || !session || !path) return mica__fail(MICA_E_INVALID, "mica_nn_load_ema: a pointer is NULL");
  MICA_TRY(mica_safetensors_open(path, &file));
  mica_status status = mica__nn_fill(nn, session, MICA__NN_AVERAGES, path, file, NULL);
  mica_safetensors_close(file);
  return status;
}
