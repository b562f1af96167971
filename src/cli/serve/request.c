#include "cli/serve/request.h"

#include "cli/serve/reading.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool serve_refuse(serve_problem *problem, int status, const char *code, const char *format, ...) {
  if (problem->status) return false;
  va_list args;
  va_start(args, format);
  vsnprintf(problem->text, sizeof problem->text, format, args);
  va_end(args);
  /* A text that was cut may end with a part of a character. */
  size_t length = strlen(problem->text);
  while (length > 0 && !serve_is_utf8(problem->text, length)) length--;
  problem->text[length] = '\0';
  problem->status = status;
  problem->code = code;
  return false;
}

bool serve_refuse_memory(serve_reading *r) {
  return serve_refuse(r->problem, 500, "out_of_memory", "there is not enough memory");
}

void serve_name_field(serve_reading *r, const char *field) {
  if (!r->problem->status) snprintf(r->problem->field, sizeof r->problem->field, "%s", field);
}

bool serve_refuse_library(serve_problem *problem, const char *code) {
  const mica_status status = mica_error_status();
  const bool host = status == MICA_E_NOMEM;
  return serve_refuse(problem, host ? 500 : 400, host ? "out_of_memory" : code, "%s", mica_error_message());
}

/* --- numbers --- */

bool serve_number(serve_reading *r, const cJSON *v, double low, double high, double *number) {
  if (!cJSON_IsNumber(v) || !(v->valuedouble >= low && v->valuedouble <= high))
    return serve_refuse(r->problem, 400, "invalid_value", "\"%s\" must be a number from %.10g to %.10g", v->string, low,
                        high);
  *number = v->valuedouble;
  return true;
}

bool serve_integer(serve_reading *r, const cJSON *v, double low, double high, int64_t *number) {
  double read = 0;
  if (!serve_number(r, v, low, high, &read)) return false;
  if (read != floor(read))
    return serve_refuse(r->problem, 400, "invalid_value", "\"%s\" must be an integer", v->string);
  *number = (int64_t)read;
  return true;
}

bool serve_bool(serve_reading *r, const cJSON *v, bool *value) {
  if (!cJSON_IsBool(v))
    return serve_refuse(r->problem, 400, "invalid_value", "\"%s\" must be true or false", v->string);
  *value = cJSON_IsTrue(v);
  return true;
}

/* --- fields of one value --- */

static bool read_model(serve_reading *r, const cJSON *v) {
  const serve_model *model = r->model;
  for (size_t n = 0; n < model->name_count; n++) {
    if (!cJSON_IsString(v) || strcmp(v->valuestring, model->names[n]) != 0) continue;
    r->asked->name = n;
    return true;
  }
  return serve_refuse(r->problem, 404, "model_not_found", "\"model\" must be \"%s\"%s, or left out", model->names[0],
                      model->name_count > 1 ? " or another name that /v1/models lists" : ", the model that is served");
}

static bool read_most_tokens(serve_reading *r, const cJSON *v) {
  return serve_integer(r, v, 1, 2147483647, &r->asked->most_tokens);
}

static bool read_n(serve_reading *r, const cJSON *v) {
  int64_t n = 1;
  if (!serve_integer(r, v, 1, SERVE_MOST_CHOICES, &n)) return false;
  r->asked->n = (int32_t)n;
  return true;
}

static bool read_stream(serve_reading *r, const cJSON *v) { return serve_bool(r, v, &r->asked->stream); }

static bool read_stream_options(serve_reading *r, const cJSON *v) {
  const cJSON *usage = cJSON_GetObjectItemCaseSensitive(v, "include_usage");
  return !usage || cJSON_IsNull(usage) || serve_bool(r, usage, &r->asked->usage);
}

static bool read_logprobs(serve_reading *r, const cJSON *v) { return serve_bool(r, v, &r->asked->logprobs); }

/* Reads the number of likely tokens to list with each token. */
static bool read_top_logprobs(serve_reading *r, const cJSON *v) {
  int64_t top = 0;
  if (!serve_integer(r, v, 0, MICA_DECODER_MAX_TOP, &top)) return false;
  r->asked->top = (int32_t)top;
  r->asked->logprobs |= r->asked->kind == SERVE_COMPLETION;
  return true;
}

static bool read_seed(serve_reading *r, const cJSON *v) {
  int64_t seed = 0;
  if (!serve_integer(r, v, -9007199254740992.0, 9007199254740992.0, &seed)) return false;
  r->asked->sampling.seed = (uint64_t)seed;
  return r->asked->seeded = true;
}

/* --- sampling --- */

static bool read_temperature(serve_reading *r, const cJSON *v) {
  double *value = &r->asked->sampling.temperature;
  if (!serve_number(r, v, 0, 1000, value)) return false;
  if (*value == 0) *value = MICA_ZERO;
  return true;
}

static bool read_top_p(serve_reading *r, const cJSON *v) {
  double *value = &r->asked->sampling.top_p;
  if (!serve_number(r, v, 0, 1, value)) return false;
  if (*value < 1e-6) *value = 1e-6;
  return true;
}

static bool read_top_k(serve_reading *r, const cJSON *v) {
  int64_t *value = &r->asked->sampling.top_k;
  if (!serve_integer(r, v, -1, 2147483647, value)) return false;
  if (*value == 0) *value = -1;
  return true;
}

static bool read_min_p(serve_reading *r, const cJSON *v) {
  double *value = &r->asked->sampling.min_p;
  if (!serve_number(r, v, 0, 1, value)) return false;
  if (*value == 0) *value = MICA_ZERO;
  return true;
}

static bool read_repeat_penalty(serve_reading *r, const cJSON *v) {
  return serve_number(r, v, 1e-3, 1000, &r->asked->sampling.repeat_penalty);
}

static bool read_presence_penalty(serve_reading *r, const cJSON *v) {
  return serve_number(r, v, -100, 100, &r->asked->sampling.presence_penalty);
}

static bool read_frequency_penalty(serve_reading *r, const cJSON *v) {
  return serve_number(r, v, -100, 100, &r->asked->sampling.frequency_penalty);
}

static bool read_logit_bias(serve_reading *r, const cJSON *v) {
  serve_asked *asked = r->asked;
  const int count = cJSON_IsObject(v) ? cJSON_GetArraySize(v) : -1;
  if (count < 0 || count > 1024)
    return serve_refuse(r->problem, 400, "invalid_value",
                        "\"logit_bias\" must be an object of at most 1024 tokens: {\"50256\": -100}");
  free(asked->bias);
  asked->bias = calloc((size_t)count + 1, sizeof *asked->bias);
  if (!asked->bias) return serve_refuse_memory(r);
  size_t at = 0;
  const cJSON *item;
  cJSON_ArrayForEach(item, v) {
    char *end = NULL;
    const long token = strtol(item->string, &end, 10);
    double bias = 0;
    if (!*item->string || *end || token < 0 || token >= r->model->vocabulary)
      return serve_refuse(r->problem, 400, "invalid_value", "\"logit_bias\": \"%.40s\" is not a token from 0 to %lld",
                          item->string, (long long)r->model->vocabulary - 1);
    if (!serve_number(r, item, -100, 100, &bias)) return false;
    asked->bias[at++] = (mica_logit_bias){(int32_t)token, (float)bias};
  }
  asked->sampling.logit_bias = asked->bias;
  asked->sampling.logit_bias_count = at;
  return true;
}

/* --- texts --- */

static bool add_stop(serve_reading *r, const cJSON *v) {
  const size_t bytes = cJSON_IsString(v) ? strlen(v->valuestring) : 0;
  if (bytes == 0 || bytes > SERVE_MOST_STOP || r->asked->stop_count == SERVE_MOST_STOPS)
    return serve_refuse(r->problem, 400, "invalid_value", "\"stop\" must be at most %d texts of 1 to %d bytes",
                        SERVE_MOST_STOPS, SERVE_MOST_STOP);
  r->asked->stops[r->asked->stop_count++] = v->valuestring;
  return true;
}

static bool read_stop(serve_reading *r, const cJSON *v) {
  r->asked->stop_count = 0;
  if (!cJSON_IsArray(v)) return add_stop(r, v);
  const cJSON *item;
  cJSON_ArrayForEach(item, v) if (!add_stop(r, item)) return false;
  return true;
}

bool serve_set_schema(serve_reading *r, const cJSON *schema) {
  free(r->asked->schema);
  r->asked->schema = cJSON_PrintUnformatted(schema);
  if (!r->asked->schema) return serve_refuse_memory(r);
  if (strlen(r->asked->schema) <= SERVE_MOST_SCHEMA) return true;
  return serve_refuse(r->problem, 400, "invalid_value", "the schema has more than %d bytes", SERVE_MOST_SCHEMA);
}

static bool read_response_format(serve_reading *r, const cJSON *v) {
  const cJSON *type = cJSON_GetObjectItemCaseSensitive(v, "type");
  const char *name = cJSON_IsString(type) ? type->valuestring : "";
  if (!strcmp(name, "text")) return true;
  if (!strcmp(name, "json_object")) {
    r->asked->schema = strdup("{\"type\":\"object\"}");
    return r->asked->schema || serve_refuse_memory(r);
  }
  const cJSON *wrapped = cJSON_GetObjectItemCaseSensitive(v, "json_schema");
  const cJSON *schema = cJSON_GetObjectItemCaseSensitive(wrapped, "schema");
  if (strcmp(name, "json_schema") != 0 || !cJSON_IsObject(schema))
    return serve_refuse(r->problem, 400, "invalid_value",
                        "\"response_format\" must have the type \"text\", \"json_object\", or \"json_schema\" with "
                        "{\"json_schema\": {\"name\": ..., \"schema\": {...}}}");
  return serve_set_schema(r, schema);
}

static bool read_content(serve_reading *r, const cJSON *v) {
  if (!cJSON_IsString(v)) return serve_refuse(r->problem, 400, "invalid_value", "\"content\" must be a text");
  r->asked->text = v->valuestring;
  return true;
}

static bool read_special(serve_reading *r, const cJSON *v) { return serve_bool(r, v, &r->asked->special); }

bool serve_read_ids(serve_reading *r, const cJSON *v, int32_t **ids, size_t *count) {
  const int size = cJSON_GetArraySize(v);
  *count = 0;
  *ids = calloc((size_t)size + 1, sizeof **ids);
  if (!*ids) return serve_refuse_memory(r);
  const cJSON *item;
  cJSON_ArrayForEach(item, v) {
    const double id = cJSON_IsNumber(item) ? item->valuedouble : -1;
    if (!(id >= 0 && id < (double)r->model->vocabulary) || id != floor(id))
      return serve_refuse(r->problem, 400, "invalid_value", "token %zu must be an integer from 0 to %lld", *count,
                          (long long)r->model->vocabulary - 1);
    (*ids)[(*count)++] = (int32_t)id;
  }
  return true;
}

static bool read_tokens(serve_reading *r, const cJSON *v) {
  if (!cJSON_IsArray(v)) return serve_refuse(r->problem, 400, "invalid_value", "\"tokens\" must be a list of tokens");
  free(r->asked->ids);
  return serve_read_ids(r, v, &r->asked->ids, &r->asked->id_count);
}

/* --- vectors --- */

static bool read_encoding(serve_reading *r, const cJSON *v) {
  const char *name = cJSON_IsString(v) ? v->valuestring : "";
  r->asked->base64 = !strcmp(name, "base64");
  return r->asked->base64 || !strcmp(name, "float") ||
         serve_refuse(r->problem, 400, "invalid_value", "\"encoding_format\" must be \"float\" or \"base64\"");
}

static bool read_dimensions(serve_reading *r, const cJSON *v) {
  if (cJSON_IsNumber(v) && v->valuedouble == (double)r->model->width) return true;
  return serve_refuse(r->problem, 400, "unsupported_value",
                      "\"dimensions\" must be %lld, the length of the model's vectors", (long long)r->model->width);
}

static bool read_cut(serve_reading *r, const cJSON *v) { return serve_bool(r, v, &r->asked->cut); }

/* --- fields that are read later --- */

/* Keep fields whose meaning depends on others; they are interpreted when all are known. */
static bool read_messages(serve_reading *r, const cJSON *v) { return (r->messages = v) != NULL; }
static bool read_tools(serve_reading *r, const cJSON *v) { return (r->tools = v) != NULL; }
static bool read_tool_choice(serve_reading *r, const cJSON *v) { return (r->tool_choice = v) != NULL; }
static bool read_variables(serve_reading *r, const cJSON *v) { return (r->variables = v) != NULL; }
static bool read_prompt(serve_reading *r, const cJSON *v) { return (r->prompt = v) != NULL; }
static bool read_input(serve_reading *r, const cJSON *v) { return (r->input = v) != NULL; }

/* --- whole requests --- */

static const struct {
  int kinds;
  const char *name;
  bool (*read)(serve_reading *r, const cJSON *v); /* NULL: the field is refused unless is_neutral accepts its value */
  double neutral;                                 /* number that has no effect in a refused field; NaN: no number */
} fields[] = {
#define FIELD(kinds, name, read) {kinds, #name, read, NAN},
#define REFUSED(kinds, name, neutral) {kinds, #name, NULL, neutral},
#include "cli/serve/fields.def"
#undef FIELD
#undef REFUSED
};

/* True for a value with which an unsupported field does not change the answer. */
static bool is_neutral(const cJSON *v, double neutral) {
  if (cJSON_IsNumber(v)) return v->valuedouble == neutral;
  return cJSON_IsFalse(v) || (cJSON_IsArray(v) && !v->child);
}

static bool read_field(serve_reading *r, const cJSON *v) {
  if (cJSON_IsNull(v)) return true;
  for (size_t f = 0; f < sizeof fields / sizeof *fields; f++) {
    if (!(fields[f].kinds & (int)r->asked->kind) || strcmp(fields[f].name, v->string) != 0) continue;
    if (!fields[f].read && is_neutral(v, fields[f].neutral)) return true;
    const bool read = fields[f].read ? fields[f].read(r, v)
                                     : serve_refuse(r->problem, 400, "unsupported_parameter",
                                                    "\"%s\" is not supported; leave it out", v->string);
    if (!read && !r->problem->field[0]) snprintf(r->problem->field, sizeof r->problem->field, "%s", fields[f].name);
    return read;
  }
  return true;
}

bool serve_is_utf8(const char *text, size_t bytes) {
  for (size_t i = 0; i < bytes;) {
    const unsigned char *s = (const unsigned char *)text + i;
    const size_t length = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : s[0] < 0xf5 ? 4 : 0;
    if (length == 0 || length > bytes - i || s[0] == 0) return false;
    for (size_t k = 1; k < length; k++)
      if ((s[k] & 0xc0) != 0x80) return false;
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f)) return false;
    if ((s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f)) return false;
    i += length;
  }
  return true;
}

/* Refuses a body that is not UTF-8, is nested more than SERVE_MOST_DEPTH deep, or has the character U+0000, also as
 * \u0000: cJSON would end a text there. */
static bool check_text(const char *body, size_t bytes, serve_problem *problem) {
  int depth = 0;
  bool quoted = false;
  if (!serve_is_utf8(body, bytes))
    return serve_refuse(problem, 400, "invalid_json", "the body must be UTF-8 without the character U+0000");
  for (size_t i = 0; i < bytes; i++) {
    const char c = body[i];
    if (quoted && c == '\\') {
      if (bytes - i > 5 && !memcmp(body + i + 1, "u0000", 5))
        return serve_refuse(problem, 400, "invalid_json", "byte %zu: texts must not have the character U+0000", i);
      i++;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && (c == '{' || c == '[')) {
      if (++depth > SERVE_MOST_DEPTH)
        return serve_refuse(problem, 400, "invalid_json", "byte %zu: JSON is nested more than %d deep", i,
                            SERVE_MOST_DEPTH);
    } else if (!quoted && (c == '}' || c == ']')) {
      depth--;
    }
  }
  return true;
}

static bool parse(const char *body, size_t bytes, cJSON **root, serve_problem *problem) {
  if (!check_text(body, bytes, problem)) return false;
  const char *end = NULL;
  *root = cJSON_ParseWithLengthOpts(body, bytes, &end, false);
  if (!*root)
    return serve_refuse(problem, 400, "invalid_json", "the body is not JSON from byte %zu on",
                        end ? (size_t)(end - body) : 0);
  const size_t used = (size_t)(end - body);
  for (size_t i = used; i < bytes; i++)
    if (!strchr(" \t\r\n", body[i]))
      return serve_refuse(problem, 400, "invalid_json", "byte %zu: something follows the JSON", i);
  return cJSON_IsObject(*root) || serve_refuse(problem, 400, "invalid_json", "the body must be a JSON object");
}

/* True if the model can answer requests of this kind. */
static bool check_kind(serve_reading *r) {
  const int kind = (int)r->asked->kind;
  if (kind & (SERVE_CHAT | SERVE_COMPLETION) && !r->model->writes)
    return serve_refuse(r->problem, 501, "not_implemented",
                        "the model generates no text; it makes vectors at /v1/embeddings");
  if (kind == SERVE_EMBEDDING && !r->model->width)
    return serve_refuse(r->problem, 501, "not_implemented",
                        "the server makes no vectors of this model; start it with --pooling");
  return true;
}

static bool finish(serve_reading *r) {
  serve_asked *asked = r->asked;
  if (asked->kind == SERVE_EMBEDDING) return serve_finish_embedding(r);
  if (asked->kind == SERVE_CHAT) return serve_finish_chat(r);
  if (asked->kind == SERVE_COMPLETION) return serve_finish_completion(r);
  if (asked->kind == SERVE_TOKENIZE && !asked->text)
    return serve_refuse(r->problem, 400, "missing_field", "\"content\" is missing");
  if (asked->kind == SERVE_DETOKENIZE && !asked->ids)
    return serve_refuse(r->problem, 400, "missing_field", "\"tokens\" is missing");
  return true;
}

bool serve_read(const serve_model *model, serve_kind kind, const char *body, size_t bytes, serve_asked *asked,
                serve_problem *problem) {
  serve_reading r = {.model = model, .asked = asked, .problem = problem};
  *asked = (serve_asked){.kind = kind, .n = 1};
  *problem = (serve_problem){0};
  if (!check_kind(&r) || !parse(body, bytes, &asked->root, problem)) return false;
  const cJSON *item;
  cJSON_ArrayForEach(item, asked->root) if (!read_field(&r, item)) return false;
  return finish(&r);
}

void serve_asked_free(serve_asked *asked) {
  for (size_t p = 0; p < SERVE_MOST_CHOICES; p++) mica_encoding_free(&asked->prompts[p]);
  free(asked->bias);
  free(asked->schema);
  free(asked->ids);
  free(asked->texts);
  cJSON_Delete(asked->root);
  *asked = (serve_asked){0};
}
