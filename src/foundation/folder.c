#include "foundation/model.h"

#include "base/json_check.h"
#include "base/signature.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if MICA_WITH_CJSON

mica_status mica__folder_parse(const char *path, const char *text, size_t bytes, struct cJSON **root) {
  if (bytes > MICA__FOLDER_MAX_BYTES)
    return mica__fail(MICA_E_FORMAT, "%s has %zu bytes, but may have at most %zu", path, bytes, MICA__FOLDER_MAX_BYTES);
  MICA_TRY(mica__json_check_text(path, "the file", text, bytes));
  if (mica__json_depth(text, bytes) > MICA__FOLDER_MAX_DEPTH)
    return mica__fail(MICA_E_FORMAT, "%s is nested more than %d deep", path, MICA__FOLDER_MAX_DEPTH);
  *root = cJSON_ParseWithLength(text, bytes);
  if (!cJSON_IsObject(*root)) return mica__fail(MICA_E_FORMAT, "%s is not a JSON object", path);
  return mica__json_check_keys(path, "the file", *root);
}

static mica_status find_family(const char *path, const cJSON *root, const mica__family **family, const char **object) {
  char list[400];
  const cJSON *type = cJSON_GetObjectItemCaseSensitive(root, "model_type");
  if (!cJSON_IsString(type))
    return mica__fail(MICA_E_FORMAT,
                      "%s: it does not say the model's family: the key model_type is missing or not a string", path);
  *family = mica__family_of_type(type->valuestring, object);
  if (*family) return MICA_OK;
  if (cJSON_GetObjectItemCaseSensitive(root, "auto_map"))
    return mica__fail(MICA_E_FORMAT, "%s: the model_type \"%.60s\" needs code from the model's author; Mica runs none",
                      path, type->valuestring);
  return mica__fail(MICA_E_FORMAT, "%s: the model_type \"%.60s\" is unknown; Mica knows %s", path, type->valuestring,
                    mica__family_list(false, list));
}

/* Takes all end tokens from generation_config.json; config.json may have only the first. */
static mica_status take_ends(const char *path, const char *text, size_t bytes, cJSON *object) {
  cJSON *root = NULL;
  mica_status status = mica__folder_parse(path, text, bytes, &root);
  cJSON *ends = status == MICA_OK ? cJSON_DetachItemFromObjectCaseSensitive(root, "eos_token_id") : NULL;
  if (ends && !cJSON_IsNull(ends)) {
    cJSON_DeleteItemFromObjectCaseSensitive(object, "eos_token_id");
    if (cJSON_AddItemToObject(object, "eos_token_id", ends))
      ends = NULL;
    else
      status = mica__fail_nomem(path);
  }
  cJSON_Delete(ends);
  cJSON_Delete(root);
  return status;
}

mica_status mica__foundation_folder_read(mica_foundation *model, const char *path, const char *config,
                                         size_t config_bytes, const char *generation, size_t generation_bytes) {
  const char *name = NULL;
  MICA_TRY(mica__folder_parse(path, config, config_bytes, &model->config));
  MICA_TRY(find_family(path, model->config, &model->family, &name));
  cJSON *object = name ? cJSON_GetObjectItemCaseSensitive(model->config, name) : model->config;
  if (!cJSON_IsObject(object))
    return mica__fail(MICA_E_FORMAT, "%s: the key %s is missing or not an object", path, name);
  if (name) MICA_TRY(mica__json_check_keys(path, name, object));
  if (generation) MICA_TRY(take_ends("generation_config.json", generation, generation_bytes, object));
  model->seen = calloc((size_t)cJSON_GetArraySize(object) + 1, sizeof *model->seen);
  if (!model->seen) return mica__fail_nomem(path);
  const mica__config_source facts = {.path = path, .json = object, .root = model->config, .seen = model->seen};
  return mica__config_read(&facts, model->family, model->weights, &model->info, &model->arrays);
}

mica_status mica__foundation_config_text(const mica_foundation *model, char **text) {
  char *printed = cJSON_Print(model->config);
  *text = printed ? mica__strdup(printed) : NULL;
  cJSON_free(printed);
  return *text ? MICA_OK : mica__fail_nomem(model->path);
}

void mica__foundation_folder_free(mica_foundation *model) {
  cJSON_Delete(model->config);
  free(model->seen);
}

static mica_status read_file(const char *folder, const char *name, mica__text *path, unsigned char **text,
                             size_t *bytes) {
  mica__text_addf(path, "%s/%s", folder, name);
  MICA_TRY(mica__text_status(path));
  return mica__file_read_signed(path->data, text, bytes);
}

mica_status mica__foundation_folder_open(mica_foundation *model, const char *folder) {
  mica__text path = {0}, other = {0};
  unsigned char *config = NULL, *generation = NULL;
  size_t config_bytes = 0, generation_bytes = 0;
  mica_status status = read_file(folder, "config.json", &path, &config, &config_bytes);
  if (status == MICA_OK) {
    mica__attempt_begin();
    status = read_file(folder, "generation_config.json", &other, &generation, &generation_bytes);
    status = status == MICA_E_NOT_FOUND ? MICA_OK : status;
    if (status == MICA_OK)
      mica__attempt_end();
    else
      status = mica__attempt_pass(status);
  }
  if (status == MICA_OK)
    status = mica__foundation_folder_read(model, path.data, (const char *)config, config_bytes,
                                          (const char *)generation, generation_bytes);
  free(config);
  free(generation);
  mica__text_free(&path);
  mica__text_free(&other);
  return status;
}

bool mica__foundation_folder_is(const char *folder) {
  mica__text path = {0};
  unsigned char *text = NULL;
  size_t bytes = 0;
  cJSON *root = NULL;
  mica__attempt_begin();
  mica_status status = read_file(folder, "config.json", &path, &text, &bytes);
  if (status == MICA_OK) status = mica__folder_parse(path.data, (const char *)text, bytes, &root);
  mica__attempt_end();
  /* Also true if memory is short: opening then fails with the right message, while another reader would call the
   * model damaged. */
  const bool read = status == MICA_OK;
  const bool is =
      status == MICA_E_NOMEM || (read && cJSON_IsString(cJSON_GetObjectItemCaseSensitive(root, "model_type")) &&
                                 !cJSON_GetObjectItemCaseSensitive(root, "mica"));
  cJSON_Delete(root);
  free(text);
  mica__text_free(&path);
  return is;
}

#else

mica_status mica__foundation_folder_read(mica_foundation *model, const char *path, const char *config,
                                         size_t config_bytes, const char *generation, size_t generation_bytes) {
  (void)model, (void)config, (void)config_bytes, (void)generation, (void)generation_bytes;
  return mica__fail_lacks(path, "cJSON");
}
mica_status mica__foundation_folder_open(mica_foundation *model, const char *folder) {
  return mica__foundation_folder_read(model, folder, NULL, 0, NULL, 0);
}
bool mica__foundation_folder_is(const char *folder) { return (void)folder, false; }
mica_status mica__foundation_config_text(const mica_foundation *model, char **text) {
  return (void)text, mica__fail_lacks(model->path, "cJSON");
}
void mica__foundation_folder_free(mica_foundation *model) { (void)model; }

#endif
