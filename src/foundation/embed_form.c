/* Pooling, normalisation and maximum length of a model, from files of sentence-transformers. In GGUF files, a key gives
 * only the pooling. */
#include "foundation/embed.h"

#include "base/json_check.h"
#include "base/signature.h"
#include "foundation/model.h"

#include <mica/gguf.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if MICA_WITH_CJSON

static const char *text_of(const cJSON *object, const char *key) {
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
  return cJSON_IsString(item) ? item->valuestring : NULL;
}

/* --- modules.json --- */

static bool is_plain_folder(const char *name) {
  return *name && !strchr(name, '/') && !strchr(name, '\\') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

static mica_status take_module(const char *path, const cJSON *module, mica__embed_form *form, mica__text *pooling) {
  const char *type = text_of(module, "type"), *folder = text_of(module, "path");
  if (!type) return mica__fail(MICA_E_FORMAT, "%s: the type of a module is missing or not a string", path);
  const char *dot = strrchr(type, '.'), *name = dot ? dot + 1 : type;
  if (!strcmp(name, "Transformer")) return MICA_OK;
  if (!strcmp(name, "Normalize")) {
    form->unit = true;
    return MICA_OK;
  }
  if (strcmp(name, "Pooling") != 0)
    return mica__fail(MICA_E_UNSUPPORTED,
                      "%s: the module \"%.60s\" is unknown; Mica knows Transformer, Pooling and "
                      "Normalize",
                      path, name);
  if (pooling->length) return mica__fail(MICA_E_FORMAT, "%s has two modules Pooling", path);
  if (!folder || !is_plain_folder(folder))
    return mica__fail(MICA_E_FORMAT, "%s: the path of the module Pooling is missing or not the name of a folder", path);
  mica__text_add(pooling, folder);
  return mica__text_status(pooling);
}

mica_status mica__embed_modules_read(const char *path, const char *text, size_t bytes, mica__embed_form *form,
                                     mica__text *pooling) {
  if (bytes > MICA__FOLDER_MAX_BYTES)
    return mica__fail(MICA_E_FORMAT, "%s has %zu bytes; the maximum is %zu", path, bytes, MICA__FOLDER_MAX_BYTES);
  MICA_TRY(mica__json_check_text(path, "the file", text, bytes));
  if (mica__json_depth(text, bytes) > MICA__FOLDER_MAX_DEPTH)
    return mica__fail(MICA_E_FORMAT, "%s is nested more than %d deep", path, MICA__FOLDER_MAX_DEPTH);
  cJSON *root = cJSON_ParseWithLength(text, bytes);
  mica_status status = cJSON_IsArray(root) ? MICA_OK : mica__fail(MICA_E_FORMAT, "%s is not a JSON array", path);
  for (const cJSON *module = status == MICA_OK ? root->child : NULL; module && status == MICA_OK; module = module->next)
    status = take_module(path, module, form, pooling);
  cJSON_Delete(root);
  return status;
}

/* --- config.json of the pooling --- */

static const struct {
  /* key: the flag of this kind in files before version 5 of sentence-transformers. name: the value of pooling_mode
   * since then */
  const char *key, *name;
  mica_embed_pooling pooling;
} kinds[] = {
    {"pooling_mode_mean_tokens", "mean", MICA_EMBED_POOLING_MEAN},
    {"pooling_mode_cls_token", "cls", MICA_EMBED_POOLING_CLS},
    {"pooling_mode_lasttoken", "lasttoken", MICA_EMBED_POOLING_LAST},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static mica_status take_kind(const char *path, const char *text, bool by_name, mica__embed_form *form) {
  for (size_t k = 0; k < KINDS; k++)
    if (!strcmp(by_name ? kinds[k].name : kinds[k].key, text)) {
      if (form->pooling != MICA_EMBED_POOLING_MODEL)
        return mica__fail(MICA_E_UNSUPPORTED, "%s asks for several kinds of pooling; Mica uses one", path);
      form->pooling = kinds[k].pooling;
      return MICA_OK;
    }
  return mica__fail(MICA_E_UNSUPPORTED, "%s: the pooling \"%.60s\" is unknown; Mica knows mean, cls and lasttoken",
                    path, text);
}

mica_status mica__embed_pooling_read(const char *path, const char *text, size_t bytes, mica__embed_form *form) {
  cJSON *root = NULL;
  mica_status status = mica__folder_parse(path, text, bytes, &root);
  const char *mode = status == MICA_OK ? text_of(root, "pooling_mode") : NULL;
  form->pooling = MICA_EMBED_POOLING_MODEL;
  if (mode) status = take_kind(path, mode, true, form);
  for (const cJSON *item = status == MICA_OK && !mode ? root->child : NULL; item && status == MICA_OK;
       item = item->next)
    if (cJSON_IsTrue(item) && !strncmp(item->string, "pooling_mode_", 13))
      status = take_kind(path, item->string, false, form);
  if (status == MICA_OK && form->pooling == MICA_EMBED_POOLING_MODEL)
    status = mica__fail(MICA_E_FORMAT, "%s names no kind of pooling", path);
  cJSON_Delete(root);
  return status;
}

/* --- sentence_bert_config.json --- */

mica_status mica__embed_limits_read(const char *path, const char *text, size_t bytes, mica__embed_form *form) {
  cJSON *root = NULL;
  mica_status status = mica__folder_parse(path, text, bytes, &root);
  const cJSON *most = status == MICA_OK ? cJSON_GetObjectItemCaseSensitive(root, "max_seq_length") : NULL;
  if (most && !cJSON_IsNull(most)) {
    const double value = cJSON_IsNumber(most) ? most->valuedouble : 0;
    if (value >= 1 && value <= 16777216)
      form->most_tokens = (int64_t)value;
    else
      status = mica__fail(MICA_E_FORMAT, "%s: max_seq_length is not a number from 1 to 2^24", path);
  }
  cJSON_Delete(root);
  return status;
}

/* --- the folder --- */

/* Reads a file of the folder; *text stays NULL if it is missing. */
static mica_status read_file(const char *folder, const char *part, const char *name, mica__text *path,
                             unsigned char **text, size_t *bytes) {
  mica__text_free(path);
  mica__text_addf(path, "%s/%s%s%s", folder, part, *part ? "/" : "", name);
  MICA_TRY(mica__text_status(path));
  mica__attempt_begin();
  const mica_status status = mica__file_read_signed(path->data, text, bytes);
  if (status != MICA_OK && status != MICA_E_NOT_FOUND) return mica__attempt_pass(status);
  mica__attempt_end();
  return MICA_OK;
}

static mica_status find_pooling(const char *folder, const char *part, mica__embed_form *form) {
  mica__text path = {0};
  unsigned char *text = NULL;
  size_t bytes = 0;
  mica_status status = read_file(folder, part, "config.json", &path, &text, &bytes);
  if (status == MICA_OK && !text)
    status = mica__fail(MICA_E_NOT_FOUND, "%s is missing; modules.json names its folder", path.data);
  if (status == MICA_OK) status = mica__embed_pooling_read(path.data, (const char *)text, bytes, form);
  free(text);
  mica__text_free(&path);
  return status;
}

static mica_status find_in_folder(const char *folder, mica__embed_form *form) {
  mica__text path = {0}, pooling = {0};
  unsigned char *modules = NULL, *limits = NULL;
  size_t bytes = 0;
  mica_status status = read_file(folder, "", "modules.json", &path, &modules, &bytes);
  if (status == MICA_OK && modules)
    status = mica__embed_modules_read(path.data, (const char *)modules, bytes, form, &pooling);
  if (status == MICA_OK && pooling.length) status = find_pooling(folder, pooling.data, form);
  if (status == MICA_OK) status = read_file(folder, "", "sentence_bert_config.json", &path, &limits, &bytes);
  if (status == MICA_OK && limits) status = mica__embed_limits_read(path.data, (const char *)limits, bytes, form);
  free(modules);
  free(limits);
  mica__text_free(&pooling);
  mica__text_free(&path);
  return status;
}

#else

static mica_status find_in_folder(const char *folder, mica__embed_form *form) {
  (void)form;
  return mica__fail_lacks(folder, "cJSON");
}

#endif

/* --- GGUF --- */

static mica_status find_in_gguf(const mica_foundation *model, const mica_gguf *gguf, mica__embed_form *form) {
  char key[100];
  snprintf(key, sizeof key, "%s.pooling_type", model->family->arch);
  const mica_gguf_value *value = mica_gguf_find(gguf, key);
  if (!value) return MICA_OK;
  switch (mica_gguf_integer(value, 0)) {
  case 0: return MICA_OK;
  case 1: form->pooling = MICA_EMBED_POOLING_MEAN; return MICA_OK;
  case 2: form->pooling = MICA_EMBED_POOLING_CLS; return MICA_OK;
  case 3: form->pooling = MICA_EMBED_POOLING_LAST; return MICA_OK;
  default: break;
  }
  return mica__fail(MICA_E_UNSUPPORTED, "%s: the key %s is %lld, but Mica knows only the poolings 0 to 3", model->path,
                    key, (long long)mica_gguf_integer(value, 0));
}

mica_status mica__embed_form_find(const mica_foundation *model, mica__embed_form *form) {
  const mica_gguf *gguf = mica_weights_gguf(model->weights);
  *form = (mica__embed_form){0};
  return gguf ? find_in_gguf(model, gguf, form) : find_in_folder(model->path, form);
}
