/* Merges adapters into the matrices of a model: W + scale B A. */
#include "foundation/merge.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

mica_status mica__merge_begin(const mica_foundation *model, const mica_adapter *adapter, const char *path, bool gguf,
                              mica__merging *merge) {
  *merge = (mica__merging){.adapter = adapter};
  if (mica_adapter_count(adapter) == 0)
    return mica__fail(MICA_E_STATE, "mica_foundation_merge: the adapter has no layers");
  for (size_t i = 0; i < mica_adapter_count(adapter); i++) {
    const mica_adapter_layer *layer = mica_adapter_at(adapter, i);
    if (!layer->a || !layer->b)
      return mica__fail(MICA_E_STATE, "mica_foundation_merge: the adapter's layer \"%s\" has no values", layer->name);
  }
  return mica__adapter_source_begin(model, path, gguf, &merge->source);
}

void mica__merge_end(mica__merging *merge) { mica__name_rows_free(&merge->source.rows); }

static const mica_adapter_layer *layer_named(const mica_adapter *adapter, const char *name) {
  for (size_t i = 0; i < mica_adapter_count(adapter); i++)
    if (!strcmp(mica_adapter_at(adapter, i)->name, name)) return mica_adapter_at(adapter, i);
  return NULL;
}

mica_status mica__merge_find(mica__merging *merge, const char *name, mica__addition *addition) {
  char *own = NULL;
  int64_t outputs = 0, inputs = 0;
  *addition = (mica__addition){0};
  if (!merge) return MICA_OK;
  /* mica__adapter_layer_of fails for vectors and embeddings. They cannot be adapted, so nothing is added to them. */
  mica__attempt_begin();
  const mica_status status = mica__adapter_layer_of(&merge->source, name, &own, &outputs, &inputs);
  mica__attempt_end();
  if (status == MICA_E_NOMEM) return mica__fail_nomem(name);
  if (status != MICA_OK) return MICA_OK;
  const mica_adapter_layer *layer = layer_named(merge->adapter, own);
  free(own);
  if (!layer) return MICA_OK;
  if (layer->outputs != outputs || layer->inputs != inputs)
    return mica__fail(MICA_E_SHAPE,
                      "%s: the adapter's layer \"%s\" has %" PRId64 " outputs and %" PRId64
                      " inputs, but the model's has %" PRId64 " and %" PRId64,
                      merge->source.model->path, layer->name, layer->outputs, layer->inputs, outputs, inputs);
  MICA_TRY(mica__adapter_rows(&merge->source, layer, &addition->b));
  addition->layer = layer;
  merge->merged++;
  return MICA_OK;
}

void mica__merge_add(const mica__addition *addition, int64_t r, float *row) {
  const mica_adapter_layer *layer = addition->layer;
  for (int32_t k = 0; layer && k < layer->rank; k++) {
    const float factor = (float)layer->scale * addition->b[r * layer->rank + k];
    const float *a = layer->a + k * layer->inputs;
    for (int64_t c = 0; c < layer->inputs; c++) row[c] += factor * a[c];
  }
}

mica_status mica__merge_check(const mica__merging *merge) {
  if (merge->merged == mica_adapter_count(merge->adapter)) return MICA_OK;
  for (size_t i = 0; i < mica_adapter_count(merge->adapter); i++) {
    mica__text name = {0};
    const mica_status status = mica__adapter_name_of(&merge->source, mica_adapter_at(merge->adapter, i)->name, &name);
    mica__text_free(&name);
    if (status != MICA_OK) return status;
  }
  return mica__fail(MICA_E_NOT_FOUND,
                    "%s: the model has only %zu of the adapter's %zu layers, so the adapter is of another model",
                    merge->source.model->path, merge->merged, mica_adapter_count(merge->adapter));
}
