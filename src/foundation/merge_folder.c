/* Writes a model's folder with an adapter merged into its matrices. */
#include "base/element.h"
#include "base/signature.h"
#include "base/text.h"
#include "foundation/merge.h"
#include "nn/name_map.h"

#include <mica/io.h>
#include <mica/safetensors.h>
#include <stdlib.h>
#include <string.h>

/* Files that are copied to a merged folder, besides the weights. */
static const char *const files[] = {"config.json",
                                    "generation_config.json",
                                    "tokenizer.json",
                                    "tokenizer_config.json",
                                    "tokenizer.model",
                                    "special_tokens_map.json",
                                    "added_tokens.json",
                                    "vocab.json",
                                    "merges.txt",
                                    "vocab.txt",
                                    "chat_template.jinja",
                                    "chat_template.json",
                                    "preprocessor_config.json"};

static mica_status copy_file(const char *from, const char *to, const char *name) {
  mica__text source = {0}, target = {0};
  unsigned char *data = NULL;
  size_t bytes = 0;
  mica__text_addf(&source, "%s/%s", from, name);
  mica__text_addf(&target, "%s/%s", to, name);
  mica__attempt_begin();
  mica_status status = mica__text_status(&source);
  if (status == MICA_OK) status = mica__text_status(&target);
  if (status == MICA_OK) status = mica__file_read_signed(source.data, &data, &bytes);
  const bool none = status == MICA_E_NOT_FOUND;
  if (status == MICA_OK) status = mica__file_replace(target.data, &(mica__bytes){data, bytes}, 1);
  if (status == MICA_OK || none)
    mica__attempt_end();
  else
    status = mica__attempt_pass(status);
  free(data);
  mica__text_free(&source);
  mica__text_free(&target);
  return none ? MICA_OK : status;
}

/* Sets *transposed to true if the folder stores the layer's matrix as (inputs, outputs), as GPT-2 does for its Conv1D
 * layers. */
static mica_status is_transposed(const mica_foundation *model, const char *layer, bool *transposed) {
  const mica_name_map map = {.rows = model->rows.rows, .count = model->rows.count};
  mica__named_tensor found = {0};
  mica__text own = {0};
  mica__text_addf(&own, "%s.weight", layer);
  mica_status status = mica__text_status(&own);
  if (status == MICA_OK) status = mica__name_map_find(&map, model->weights, own.data, &found);
  mica__text_free(&own);
  *transposed = found.row.transposed;
  return status;
}

/* Computes the matrix plus the addition in memory, and converts the result to the matrix's type. The caller frees *out,
 * also after a failure. */
static mica_status merge_tensor(const mica_foundation *model, const mica_weight_entry *entry,
                                const mica__addition *addition, void **out) {
  const int64_t rows = addition->layer->outputs, columns = addition->layer->inputs;
  bool transposed = false;
  MICA_TRY(is_transposed(model, addition->layer->name, &transposed));
  float *row = malloc((size_t)columns * sizeof *row);
  char *data = *out = malloc(entry->bytes + 1);
  if (!row || !data) {
    free(row);
    return mica__fail_nomem(entry->name);
  }
  for (int64_t r = 0; r < rows; r++) {
    for (int64_t c = 0; c < columns; c++)
      row[c] = (float)mica__element_get(entry->dtype, entry->data, transposed ? c * rows + r : r * columns + c);
    mica__merge_add(addition, r, row);
    for (int64_t c = 0; c < columns; c++)
      mica__element_set(entry->dtype, data, transposed ? c * rows + r : r * columns + c, (double)row[c]);
  }
  free(row);
  return MICA_OK;
}

static bool is_float(mica_dtype dtype) { return dtype == MICA_F32 || dtype == MICA_F16 || dtype == MICA_BF16; }

/* Writes the folder's tensors as they are, and merged ones from memory. */
static mica_status write_tensors(const mica_foundation *model, mica__merging *merge, const char *path,
                                 mica_foundation_written *written) {
  const size_t count = mica_weights_count(model->weights);
  const mica_safetensors_pair format = {"format", "pt"};
  mica_safetensors_entry *list = calloc(count + 1, sizeof *list);
  void **owned = calloc(count + 1, sizeof *owned);
  mica_status status = list && owned ? MICA_OK : mica__fail_nomem(path);
  for (size_t i = 0; status == MICA_OK && i < count; i++) {
    const mica_weight_entry *entry = mica_weights_at(model->weights, i);
    mica__addition addition = {0};
    list[i] = (mica_safetensors_entry){.name = entry->name,
                                       .type = entry->type,
                                       .dtype = entry->dtype,
                                       .shape = entry->shape,
                                       .data = entry->data,
                                       .bytes = entry->bytes};
    written->tensors++;
    written->bytes += entry->bytes;
    status = mica__merge_find(merge, entry->name, &addition);
    if (status == MICA_OK && addition.layer && !is_float(entry->dtype))
      status =
          mica__fail(MICA_E_UNSUPPORTED,
                     "%s: the tensor \"%s\" is of the type %s, but adapters can be merged only into F32, F16 and BF16",
                     model->path, entry->name, entry->type);
    if (status == MICA_OK && addition.layer) {
      status = merge_tensor(model, entry, &addition, &owned[i]);
      list[i].data = owned[i];
      written->converted++;
    }
    free(addition.b);
  }
  if (status == MICA_OK) status = mica__merge_check(merge);
  if (status == MICA_OK) status = mica_safetensors_write(path, list, count, &format, 1);
  for (size_t i = 0; owned && i < count; i++) free(owned[i]);
  free(owned);
  free(list);
  return status;
}

mica_status mica__merge_folder(const mica_foundation *model, const mica_adapter *adapter, const char *path,
                               mica_foundation_written *written) {
  mica_foundation_written own = {0};
  mica__merging merge = {0};
  mica__text tensors = {0};
  if (mica_weights_gguf(model->weights))
    return mica__fail(MICA_E_UNSUPPORTED, "%s is a GGUF file; the output must be one too: name it FILE.gguf",
                      model->path);
  MICA_TRY(mica_foundation_check(model));
  mica_status status = mica__merge_begin(model, adapter, path, false, &merge);
  mica__text_addf(&tensors, "%s/model.safetensors", path);
  if (status == MICA_OK) status = mica__text_status(&tensors);
  if (status == MICA_OK) status = write_tensors(model, &merge, tensors.data, &own);
  for (size_t i = 0; status == MICA_OK && i < sizeof files / sizeof *files; i++)
    status = copy_file(model->path, path, files[i]);
  mica__text_free(&tensors);
  mica__merge_end(&merge);
  if (status == MICA_OK && written) *written = own;
  return status;
}
