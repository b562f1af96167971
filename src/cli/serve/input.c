/* Reads the texts of requests for embeddings. */
#include "cli/serve/reading.h"

#include <stdlib.h>
#include <string.h>

/* Adds a text and counts its tokens. Refuses a value that is not a text or has no tokens, and a text that is too long,
 * unless the request has "truncate": true. */
static bool add_text(serve_reading *r, const cJSON *v, mica_encoding *encoding) {
  serve_asked *asked = r->asked;
  const mica_encode_config how = {.special = true};
  if (!cJSON_IsString(v) || !*v->valuestring)
    return serve_refuse(r->problem, 400, "invalid_value",
                        "\"input\" must be a text, or a list of 1 to %d texts; a text has at least one character",
                        SERVE_MOST_TEXTS);
  if (mica_tokenizer_encode(r->model->tokenizer, v->valuestring, strlen(v->valuestring), &how, encoding) != MICA_OK)
    return serve_refuse_library(r->problem, "invalid_value");
  const int64_t count = (int64_t)encoding->count, most = r->model->most_embedded;
  if (count == 0)
    return serve_refuse(r->problem, 400, "invalid_value", "text %zu of \"input\" has no tokens", asked->text_count);
  if (count > most && !asked->cut)
    return serve_refuse(
        r->problem, 400, "context_length_exceeded",
        "text %zu of \"input\" has %lld tokens, but may have at most %lld; \"truncate\": true cuts longer texts",
        asked->text_count, (long long)count, (long long)most);
  asked->text_tokens += count < most ? count : most;
  asked->texts[asked->text_count++] = v->valuestring;
  return true;
}

bool serve_finish_embedding(serve_reading *r) {
  serve_asked *asked = r->asked;
  mica_encoding encoding = {0};
  const cJSON *item;
  bool good = true;
  if (asked->name)
    return serve_refuse(r->problem, 400, "unsupported_value",
                        "embeddings are made without adapters; \"model\" must be \"%s\" or left out",
                        r->model->names[0]);
  serve_name_field(r, "input");
  const int count = cJSON_IsArray(r->input) ? cJSON_GetArraySize(r->input) : 1;
  if (count < 1 || count > SERVE_MOST_TEXTS)
    return serve_refuse(r->problem, 400, "invalid_value", "\"input\" must have 1 to %d texts", SERVE_MOST_TEXTS);
  asked->texts = calloc((size_t)count, sizeof *asked->texts);
  if (!asked->texts) return serve_refuse_memory(r);
  if (cJSON_IsArray(r->input))
    cJSON_ArrayForEach(item, r->input) good = good && add_text(r, item, &encoding);
  else
    good = add_text(r, r->input, &encoding);
  mica_encoding_free(&encoding);
  if (good) r->problem->field[0] = '\0';
  return good;
}
