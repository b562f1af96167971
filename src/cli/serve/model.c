#include "cli/serve/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Copies the last part of a path, without ".gguf". */
static char *name_of(const char *path) {
  size_t length = strlen(path);
  while (length > 1 && path[length - 1] == '/') length--;
  size_t first = length;
  while (first > 0 && path[first - 1] != '/') first--;
  if (length - first > 5 && !strncmp(path + length - 5, ".gguf", 5)) length -= 5;
  return strndup(path + first, length - first);
}

static char *copy_token(const serve_model *model, int32_t id) {
  const char *token = id >= 0 ? mica_tokenizer_token(model->tokenizer, id) : NULL;
  return strdup(token ? token : "");
}

mica_status serve_model_open(const mica_foundation *foundation, const char *path, const char *name,
                             serve_model *model) {
  const mica_foundation_info *info = mica_foundation_describe(foundation);
  *model = (serve_model){.foundation = foundation,
                         .context = mica_foundation_context(foundation),
                         .vocabulary = info->vocabulary,
                         .slots = 1,
                         .writes = info->task == MICA_FOUNDATION_TASK_GENERATE};
  const mica_status status = mica_foundation_tokenizer(foundation, &model->tokenizer);
  if (status != MICA_OK) return status;
  const mica_status found = mica_foundation_template(foundation, &model->form);
  if (found != MICA_OK && found != MICA_E_NOT_FOUND) return found;
  model->names[model->name_count++] = name ? strdup(name) : name_of(path);
  model->begin = copy_token(model, info->begin);
  model->end = copy_token(model, info->end_count ? info->ends[0] : -1);
  if (!model->names[0] || !model->begin || !model->end) return MICA_E_NOMEM;
  model->variables[0] = (mica_chat_variable){.name = "bos_token", .text = model->begin};
  model->variables[1] = (mica_chat_variable){.name = "eos_token", .text = model->end};
  return MICA_OK;
}

bool serve_model_add_name(serve_model *model, const char *name) {
  const size_t bytes = strlen(model->names[0]) + strlen(name) + 2;
  char *both = malloc(bytes);
  if (!both) return false;
  snprintf(both, bytes, "%s:%s", model->names[0], name);
  model->names[model->name_count++] = both;
  return true;
}

void serve_model_close(serve_model *model) {
  mica_tokenizer_destroy(model->tokenizer);
  mica_chat_template_destroy(model->form);
  for (size_t n = 0; n < model->name_count; n++) free(model->names[n]);
  free(model->begin);
  free(model->end);
}
