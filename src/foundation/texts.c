/* The tokenizer and the chat template of a model. */
#include "base/json_check.h"
#include "base/signature.h"
#include "base/text.h"
#include "foundation/model.h"

#include <mica/chat_template.h>
#include <mica/gguf.h>
#include <mica/tokenizer.h>

#include <stdlib.h>
#include <string.h>

mica_status mica_foundation_tokenizer(const mica_foundation *model, mica_tokenizer **tokenizer) {
  if (!model || !tokenizer) return mica__fail(MICA_E_INVALID, "mica_foundation_tokenizer: a pointer is NULL");
  const mica_gguf *gguf = mica_weights_gguf(model->weights);
  if (gguf && !mica_gguf_find(gguf, "tokenizer.ggml.model"))
    return mica__fail(MICA_E_NOT_FOUND, "%s has no tokenizer", model->path);
  if (gguf) return mica_tokenizer_open_gguf(model->path, gguf, tokenizer);
  mica__text path = {0};
  mica__text_addf(&path, "%s/tokenizer.json", model->path);
  mica_status status = mica__text_status(&path);
  if (status == MICA_OK) status = mica_tokenizer_open(path.data, tokenizer);
  mica__text_free(&path);
  return status;
}

static mica_status none(const mica_foundation *model) {
  return mica__fail(MICA_E_NOT_FOUND, "%s has no chat template", model->path);
}

#if MICA_WITH_CJSON
/* Reads the template in tokenizer_config.json: a text, or the one named "default" in a list. */
static mica_status from_config(const char *path, const unsigned char *text, size_t bytes, char **source) {
  cJSON *root = NULL;
  mica_status status = mica__folder_parse(path, (const char *)text, bytes, &root);
  const cJSON *item = status == MICA_OK ? cJSON_GetObjectItemCaseSensitive(root, "chat_template") : NULL;
  for (const cJSON *one = cJSON_IsArray(item) ? item->child : NULL; one; one = one->next) {
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(one, "name");
    if (cJSON_IsString(name) && !strcmp(name->valuestring, "default"))
      item = cJSON_GetObjectItemCaseSensitive(one, "template");
  }
  if (status == MICA_OK && cJSON_IsString(item) && !(*source = mica__strdup(item->valuestring)))
    status = mica__fail_nomem(path);
  cJSON_Delete(root);
  return status;
}

/* Reads a file of the folder; MICA_E_NOT_FOUND if it is missing. */
static mica_status read_file(const mica_foundation *model, const char *name, mica__text *path, unsigned char **text,
                             size_t *bytes) {
  mica__text_free(path);
  mica__text_addf(path, "%s/%s", model->path, name);
  MICA_TRY(mica__text_status(path));
  return mica__file_read_signed(path->data, text, bytes);
}

/* Finds the file with the template, and reads its source. */
static mica_status find_text(const mica_foundation *model, mica__text *path, char **source) {
  unsigned char *text = NULL;
  size_t bytes = 0;
  mica__attempt_begin();
  mica_status status = read_file(model, "chat_template.jinja", path, &text, &bytes);
  const bool apart = status != MICA_E_NOT_FOUND;
  if (!apart) status = read_file(model, "tokenizer_config.json", path, &text, &bytes);
  if (status != MICA_OK && status != MICA_E_NOT_FOUND) return mica__attempt_pass(status);
  mica__attempt_end();
  if (status == MICA_E_NOT_FOUND) return MICA_OK;
  if (apart && memchr(text, 0, bytes))
    status = mica__fail(MICA_E_FORMAT, "%s holds a zero byte, but a template must be a text in UTF-8", path->data);
  else if (apart && !(*source = malloc(bytes + 1)))
    status = mica__fail_nomem(path->data);
  else if (apart)
    memcpy(*source, text, bytes), (*source)[bytes] = '\0';
  else
    status = from_config(path->data, text, bytes, source);
  free(text);
  return status;
}

mica_status mica__template_text(const mica_foundation *model, char **text) {
  mica__text path = {0};
  *text = NULL;
  const mica_status status = find_text(model, &path, text);
  mica__text_free(&path);
  return status;
}

static mica_status from_folder(const mica_foundation *model, mica_chat_template **chat_template) {
  mica__text path = {0};
  char *source = NULL;
  mica_status status = find_text(model, &path, &source);
  if (status == MICA_OK)
    status = source ? mica_chat_template_create(path.data, source, strlen(source), chat_template) : none(model);
  free(source);
  mica__text_free(&path);
  return status;
}
#else
mica_status mica__template_text(const mica_foundation *model, char **text) {
  (void)model;
  return *text = NULL, MICA_OK;
}

static mica_status from_folder(const mica_foundation *model, mica_chat_template **chat_template) {
  (void)chat_template;
  return none(model);
}
#endif

mica_status mica_foundation_template(const mica_foundation *model, mica_chat_template **chat_template) {
  if (!model || !chat_template) return mica__fail(MICA_E_INVALID, "mica_foundation_template: a pointer is NULL");
  const mica_gguf *gguf = mica_weights_gguf(model->weights);
  if (!gguf) return from_folder(model, chat_template);
  const mica_gguf_text text = mica_gguf_text_at(mica_gguf_find(gguf, "tokenizer.chat_template"), 0);
  if (text.length == 0) return none(model);
  return mica_chat_template_create(model->path, text.bytes, text.length, chat_template);
}
