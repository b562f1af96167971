/* foundation/adapter_file.h: tensors of adapters, by the names in PEFT or GGUF files. */
#ifndef MICA_FOUNDATION_ADAPTER_FILE_H
#define MICA_FOUNDATION_ADAPTER_FILE_H

#include "base/text.h"
#include "foundation/model.h"

#include <mica/finetune.h>

/* An adapter file that is being read or written. alpha, rslora and alphas come from the file's configuration. */
typedef struct mica__adapter_source {
  const mica_foundation *model;
  const char *path;
  bool gguf;
  mica__name_rows rows; /* names in the file */
  double alpha;
  bool rslora;
  const struct cJSON *alphas; /* PEFT: alpha_pattern, or NULL */
} mica__adapter_source;

/* Fills model, path, gguf and rows; free the rows with mica__name_rows_free. */
mica_status mica__adapter_source_begin(const mica_foundation *model, const char *path, bool gguf,
                                       mica__adapter_source *source);

/* Finds the model's layer for a matrix that the file calls `name`. For example "model.layers.0.self_attn.q_proj.weight"
 * gives "layers.0.self_attn.q_proj". The caller frees *layer. *outputs and *inputs receive the matrix's sizes.
 *
 * MICA_E_FORMAT: the model has no such matrix. MICA_E_UNSUPPORTED: the matrix is an embedding of tokens or positions,
 * or an output layer tied to the embeddings. */
mica_status mica__adapter_layer_of(const mica__adapter_source *source, const char *name, char **layer, int64_t *outputs,
                                   int64_t *inputs);
/* Converts the other way: appends to `name` the file's name for a layer's matrix, with the family's prefix.
 * MICA_E_NOT_FOUND: the model has no such layer. */
mica_status mica__adapter_name_of(const mica__adapter_source *source, const char *layer, mica__text *name);

/* Checks a layer's two tensors and adds them to the adapter. module: the matrix's name without ".weight". */
mica_status mica__adapter_take(const mica__adapter_source *source, const char *module, const mica_weight_entry *a,
                               const mica_weight_entry *b, mica_adapter *adapter);
/* Makes a copy of the layer's matrix B with the rows in the file's order. The caller frees *b. */
mica_status mica__adapter_rows(const mica__adapter_source *source, const mica_adapter_layer *layer, float **b);

/* Reads adapter_config.json from memory into alpha, rslora and alphas. `alphas` points into *root, so the caller must
 * not delete *root before it has finished with the source. */
mica_status mica__adapter_config_read(mica__adapter_source *source, const char *text, size_t bytes,
                                      struct cJSON **root);
/* Adds all tensors of a PEFT or GGUF file to the adapter. */
mica_status mica__adapter_read_peft(const mica__adapter_source *source, const mica_weights *weights,
                                    mica_adapter *adapter);
mica_status mica__adapter_read_gguf(mica__adapter_source *source, const struct mica_gguf *file, mica_adapter *adapter);

mica_status mica__adapter_write_peft(const mica__adapter_source *source, const mica_adapter *adapter);
mica_status mica__adapter_write_gguf(const mica__adapter_source *source, const mica_adapter *adapter);

#endif
