/* Opens and saves adapters of models. */
#include "foundation/adapter_file.h"

#include "base/json_check.h"
#include "base/signature.h"

#include <mica/gguf.h>
#include <stdlib.h>
#include <sys/stat.h>

const char *mica_adapter_form_name(mica_adapter_form form) {
  static const char *const texts[] = {
#define FORM_TEXT(name, text) text,
      MICA_ADAPTER_FORM_LIST(FORM_TEXT)};
  return (unsigned)form < sizeof texts / sizeof *texts ? texts[form] : "?";
}

static mica_status open_gguf(mica__adapter_source *source, mica_adapter *adapter) {
  mica_gguf *file = NULL;
  MICA_TRY(mica_gguf_open(source->path, &file));
  const mica_status status = mica__adapter_read_gguf(source, file, adapter);
  mica_gguf_close(file);
  return status;
}

#if MICA_WITH_CJSON
static mica_status open_peft(mica__adapter_source *source, mica_adapter *adapter) {
  const char *folder = source->path;
  mica__text config = {0}, tensors = {0};
  unsigned char *text = NULL;
  size_t bytes = 0;
  struct cJSON *root = NULL;
  mica_weights *weights = NULL;
  mica_status status = MICA_OK;
  mica__text_addf(&config, "%s/adapter_config.json", folder);
  mica__text_addf(&tensors, "%s/adapter_model.safetensors", folder);
  MICA_TRY_GOTO(mica__text_status(&config), done);
  MICA_TRY_GOTO(mica__text_status(&tensors), done);
  MICA_TRY_GOTO(mica__file_read_signed(config.data, &text, &bytes), done);
  source->path = config.data;
  MICA_TRY_GOTO(mica__adapter_config_read(source, (const char *)text, bytes, &root), done);
  MICA_TRY_GOTO(mica_weights_open(tensors.data, &weights), done);
  source->path = tensors.data;
  status = mica__adapter_read_peft(source, weights, adapter);
done:
  source->path = folder;
  source->alphas = NULL;
  mica_weights_close(weights);
  cJSON_Delete(root);
  free(text);
  mica__text_free(&config);
  mica__text_free(&tensors);
  return status;
}
#else
static mica_status open_peft(mica__adapter_source *source, mica_adapter *adapter) {
  (void)adapter;
  return mica__fail_lacks(source->path, "cJSON");
}
#endif

mica_status mica_foundation_adapter_open(const mica_foundation *model, const char *path, mica_adapter **out) {
  struct stat about;
  mica__adapter_source source;
  mica_adapter *adapter = NULL;
  if (!model || !path || !out) return mica__fail(MICA_E_INVALID, "mica_foundation_adapter_open: a pointer is NULL");
  const bool folder = stat(path, &about) == 0 && S_ISDIR(about.st_mode);
  MICA_TRY(mica__adapter_source_begin(model, path, !folder, &source));
  mica_status status = mica_adapter_create(NULL, &adapter);
  if (status == MICA_OK) status = folder ? open_peft(&source, adapter) : open_gguf(&source, adapter);
  if (status == MICA_OK && mica_adapter_count(adapter) == 0)
    status = mica__fail(MICA_E_FORMAT, "%s: the adapter has no tensors", path);
  mica__name_rows_free(&source.rows);
  if (status == MICA_OK)
    *out = adapter;
  else
    mica_adapter_destroy(adapter);
  return status;
}

mica_status mica_foundation_adapter_save(const mica_foundation *model, const mica_adapter *adapter, const char *path,
                                         mica_adapter_form form) {
  mica__adapter_source source;
  if (!model || !adapter || !path) return mica__fail(MICA_E_INVALID, "mica_foundation_adapter_save: a pointer is NULL");
  if (form != MICA_ADAPTER_FORM_PEFT && form != MICA_ADAPTER_FORM_GGUF)
    return mica__fail(MICA_E_INVALID, "mica_foundation_adapter_save: form is %d, but must be a mica_adapter_form",
                      (int)form);
  if (mica_adapter_count(adapter) == 0) return mica__fail(MICA_E_STATE, "%s: the adapter has no layers", path);
  for (size_t i = 0; i < mica_adapter_count(adapter); i++)
    if (!mica_adapter_at(adapter, i)->a)
      return mica__fail(MICA_E_STATE, "%s: the adapter has no values; read them with mica_adapter_read_from", path);
  MICA_TRY(mica__adapter_source_begin(model, path, form == MICA_ADAPTER_FORM_GGUF, &source));
  const mica_status status =
      source.gguf ? mica__adapter_write_gguf(&source, adapter) : mica__adapter_write_peft(&source, adapter);
  mica__name_rows_free(&source.rows);
  return status;
}
