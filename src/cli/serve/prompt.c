/* Makes the prompts of a request: messages rendered by the model's chat template, or texts and lists of tokens as they
 * are. */
#include "cli/serve/reading.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_VARIABLES 16

static const char *text_at(const cJSON *object, const char *name) {
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
  return cJSON_IsString(item) ? item->valuestring : NULL;
}

/* Adds the tokens of a text as another prompt. */
static bool add_text(serve_reading *r, const char *text, size_t bytes, bool special) {
  serve_asked *asked = r->asked;
  mica_encoding *prompt = &asked->prompts[asked->prompt_count];
  if (mica_tokenizer_encode(r->model->tokenizer, text, bytes, &(mica_encode_config){.special = special}, prompt) !=
      MICA_OK)
    return serve_refuse_library(r->problem, "invalid_value");
  asked->prompt_count++;
  return true;
}

static bool check_lengths(serve_reading *r) {
  const serve_asked *asked = r->asked;
  for (size_t p = 0; p < asked->prompt_count; p++) {
    const size_t count = asked->prompts[p].count;
    if (count == 0) return serve_refuse(r->problem, 400, "invalid_value", "the prompt has no token");
    if ((int64_t)count >= r->model->context)
      return serve_refuse(r->problem, 400, "context_length_exceeded",
                          "the prompt has %zu tokens, but the context has room for %lld, including the answer", count,
                          (long long)r->model->context);
  }
  if (asked->prompt_count * (size_t)asked->n <= SERVE_MOST_CHOICES) return true;
  return serve_refuse(r->problem, 400, "invalid_value",
                      "%zu prompts with %d answers each are too many; at most %d answers are possible at once",
                      asked->prompt_count, (int)asked->n, SERVE_MOST_CHOICES);
}

/* --- messages --- */

/* Joins the texts of a message whose content is a list of parts. The caller frees the result. Returns NULL, after
 * refusing the request, if a part is not text or memory is short. */
static char *join_parts(serve_reading *r, const cJSON *parts, size_t message) {
  size_t bytes = 0;
  const cJSON *part;
  cJSON_ArrayForEach(part, parts) {
    const char *type = text_at(part, "type"), *text = text_at(part, "text");
    if (!type || strcmp(type, "text") != 0 || !text) {
      serve_refuse(
          r->problem, 400, "unsupported_value",
          "message %zu: a part of its content is not {\"type\": \"text\", \"text\": ...}; the model reads text",
          message);
      return NULL;
    }
    bytes += strlen(text);
  }
  char *joined = malloc(bytes + 1), *at = joined;
  if (!joined) {
    serve_refuse_memory(r);
    return NULL;
  }
  cJSON_ArrayForEach(part, parts) {
    const char *text = text_at(part, "text");
    const size_t length = strlen(text);
    memcpy(at, text, length);
    at += length;
  }
  *at = '\0';
  return joined;
}

static bool is_role(const char *role) {
  static const char *const roles[] = {"system", "developer", "user", "assistant", "tool", "function"};
  for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
    if (!strcmp(role, roles[i])) return true;
  return false;
}

/* Changes a message to the form that chat templates expect; refuses one that is not valid. */
static bool fit_message(serve_reading *r, cJSON *message, size_t index) {
  const char *role = text_at(message, "role");
  const cJSON *content = cJSON_GetObjectItemCaseSensitive(message, "content");
  const bool calls = cJSON_IsArray(cJSON_GetObjectItemCaseSensitive(message, "tool_calls"));
  cJSON *replaced = NULL;
  if (!role)
    return serve_refuse(r->problem, 400, "invalid_value", "message %zu has no role, or its role is not a string",
                        index);
  if (!is_role(role))
    return serve_refuse(r->problem, 400, "invalid_value",
                        "message %zu has the role \"%.40s\"; choose system, developer, user, assistant or tool", index,
                        role);
  if (!strcmp(role, "developer")) {
    if (!(replaced = cJSON_CreateString("system"))) return serve_refuse_memory(r);
    cJSON_ReplaceItemInObjectCaseSensitive(message, "role", replaced);
  }
  if (cJSON_IsArray(content)) {
    char *joined = join_parts(r, content, index);
    if (!joined) return false;
    replaced = cJSON_CreateString(joined);
    free(joined);
    if (!replaced) return serve_refuse_memory(r);
    cJSON_ReplaceItemInObjectCaseSensitive(message, "content", replaced);
  } else if (!cJSON_IsString(content) && !calls) {
    return serve_refuse(r->problem, 400, "invalid_value",
                        "the content of message %zu must be a string or a list of text parts", index);
  }
  return true;
}

/* Converts the messages of the request to mica_messages. */
static bool make_messages(serve_reading *r, mica_messages *messages) {
  cJSON *copy = cJSON_Duplicate(r->messages, true), *message;
  if (!copy) return serve_refuse_memory(r);
  size_t index = 0;
  bool good = true;
  cJSON_ArrayForEach(message, copy) if (!(good = fit_message(r, message, index++))) break;
  char *text = good ? cJSON_PrintUnformatted(copy) : NULL;
  cJSON_Delete(copy);
  if (!good) return false;
  if (!text) return serve_refuse_memory(r);
  good = mica_messages_add_json(messages, text, strlen(text)) == MICA_OK ||
         serve_refuse_library(r->problem, "invalid_value");
  cJSON_free(text);
  return good;
}

/* --- the template --- */

static void free_variables(mica_chat_variable *variables, size_t count) {
  for (size_t v = 0; v < count; v++) cJSON_free((void *)(uintptr_t)variables[v].json);
}

/* Lists the template's variables: special tokens, then the request's. The caller frees their JSON. */
static bool make_variables(serve_reading *r, mica_chat_variable *variables, size_t *count) {
  const cJSON *item;
  for (*count = 0; *count < 2; (*count)++) variables[*count] = r->model->variables[*count];
  if (!r->variables) return true;
  if (!cJSON_IsObject(r->variables) || cJSON_GetArraySize(r->variables) > MOST_VARIABLES)
    return serve_refuse(r->problem, 400, "invalid_value",
                        "\"chat_template_kwargs\" must be an object of at most %d names", MOST_VARIABLES);
  cJSON_ArrayForEach(item, r->variables) {
    char *json = cJSON_PrintUnformatted(item);
    if (!json) return serve_refuse_memory(r);
    variables[(*count)++] = (mica_chat_variable){.name = item->string, .json = json};
  }
  return true;
}

static bool apply(serve_reading *r, const mica_messages *messages, const char *tools) {
  mica_chat_variable variables[MOST_VARIABLES + 2] = {{0}};
  size_t count = 0, bytes = 0;
  char *text = NULL;
  bool good = make_variables(r, variables, &count);
  const mica_chat_options how = {
      .tools = tools, .add_generation_prompt = true, .variables = variables, .variable_count = count};
  good = good && (mica_chat_template_apply(r->model->form, messages, &how, &text, &bytes) == MICA_OK ||
                  serve_refuse_library(r->problem, "invalid_value"));
  good = good && add_text(r, text, bytes, false);
  mica_free(text);
  free_variables(variables, count);
  return good;
}

bool serve_finish_chat(serve_reading *r) {
  const int count = cJSON_IsArray(r->messages) ? cJSON_GetArraySize(r->messages) : 0;
  mica_messages *messages = NULL;
  bool listed = false;
  if (!r->model->form)
    return serve_refuse(r->problem, 400, "unsupported_model",
                        "the model has no chat template; send a text to /v1/completions");
  serve_name_field(r, "messages");
  if (count < 1 || count > SERVE_MOST_MESSAGES)
    return serve_refuse(r->problem, 400, "invalid_value", "\"messages\" must be a list of 1 to %d messages",
                        SERVE_MOST_MESSAGES);
  r->problem->field[0] = '\0';
  if (!serve_choose_function(r, &listed)) return false;
  serve_name_field(r, "messages");
  char *tools = listed ? cJSON_PrintUnformatted(r->tools) : NULL;
  bool good = listed && !tools ? serve_refuse_memory(r) : true;
  good = good && (mica_messages_create(&messages) == MICA_OK || serve_refuse_library(r->problem, "invalid_value"));
  good = good && make_messages(r, messages) && apply(r, messages, tools) && check_lengths(r);
  mica_messages_destroy(messages);
  cJSON_free(tools);
  return good;
}

/* --- completions --- */

static bool add_ids(serve_reading *r, const cJSON *list) {
  mica_encoding *prompt = &r->asked->prompts[r->asked->prompt_count];
  if (!serve_read_ids(r, list, &prompt->ids, &prompt->count)) return false;
  r->asked->prompt_count++;
  return true;
}

static bool add_prompt(serve_reading *r, const cJSON *v) {
  if (cJSON_IsString(v)) return add_text(r, v->valuestring, strlen(v->valuestring), true);
  if (cJSON_IsArray(v)) return add_ids(r, v);
  return serve_refuse(r->problem, 400, "invalid_value",
                      "\"prompt\" must be a text, a list of texts, a list of tokens or a list of such lists");
}

bool serve_finish_completion(serve_reading *r) {
  const cJSON *first = cJSON_GetArrayItem(r->prompt, 0), *item;
  serve_name_field(r, "prompt");
  if (!r->prompt) return serve_refuse(r->problem, 400, "missing_field", "\"prompt\" is missing");
  if (!cJSON_IsArray(r->prompt) || cJSON_IsNumber(first)) return add_prompt(r, r->prompt) && check_lengths(r);
  const int count = cJSON_GetArraySize(r->prompt);
  if (count < 1 || count > SERVE_MOST_CHOICES)
    return serve_refuse(r->problem, 400, "invalid_value", "\"prompt\" must have 1 to %d texts or lists of tokens",
                        SERVE_MOST_CHOICES);
  cJSON_ArrayForEach(item, r->prompt) if (!add_prompt(r, item)) return false;
  return check_lengths(r);
}
