#include "cli/serve/calls.h"

#include <stdlib.h>
#include <string.h>

static const char begin_tag[] = "<tool_call>", end_tag[] = "</tool_call>";
#define TAG (sizeof begin_tag - 1)
#define END_TAG (sizeof end_tag - 1)

const cJSON *serve_tool_find(const cJSON *tools, const char *name) {
  const cJSON *tool;
  cJSON_ArrayForEach(tool, tools) {
    const cJSON *function = cJSON_GetObjectItemCaseSensitive(tool, "function");
    const cJSON *its = cJSON_GetObjectItemCaseSensitive(function, "name");
    if (name && cJSON_IsString(its) && !strcmp(its->valuestring, name)) return function;
  }
  return NULL;
}

void serve_calls_free(serve_calls *calls) {
  for (size_t c = 0; c < calls->count; c++) {
    cJSON_free(calls->list[c].name);
    cJSON_free(calls->list[c].arguments);
  }
  *calls = (serve_calls){0};
}

/* --- texts --- */

static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

static size_t skip_space(const char *text, size_t bytes, size_t at) {
  while (at < bytes && is_space(text[at])) at++;
  return at;
}

static bool is_at(const char *text, size_t bytes, size_t at, const char *word, size_t length) {
  return bytes - at >= length && !memcmp(text + at, word, length);
}

static bool begins_json(const char *text, size_t bytes, size_t at) {
  return at < bytes && (text[at] == '{' || text[at] == '[');
}

/* The offset of the first tag that begins a call; `bytes` if there is no tag. */
static size_t find_tag(const char *text, size_t bytes) {
  for (size_t at = 0; at < bytes; at++)
    if (is_at(text, bytes, at, begin_tag, TAG)) return at;
  return bytes;
}

size_t serve_calls_plain(const char *text, size_t bytes) {
  const size_t first = skip_space(text, bytes, 0);
  if (first == bytes || begins_json(text, bytes, first)) return 0;
  size_t at = find_tag(text, bytes);
  /* The last bytes may be the beginning of a tag, so they are not counted yet. Spaces before a tag do not count. */
  for (size_t tail = TAG - 1; at == bytes && tail > 0; tail--)
    if (tail <= bytes && !memcmp(text + bytes - tail, begin_tag, tail)) at = bytes - tail;
  while (at > 0 && is_space(text[at - 1])) at--;
  return at;
}

/* --- calls --- */

static bool add_call(const cJSON *tools, const cJSON *value, serve_calls *calls) {
  const cJSON *inner = cJSON_GetObjectItemCaseSensitive(value, "function");
  if (cJSON_IsObject(inner)) value = inner;
  const cJSON *name = cJSON_GetObjectItemCaseSensitive(value, "name");
  const cJSON *arguments = cJSON_GetObjectItemCaseSensitive(value, "arguments");
  if (!arguments) arguments = cJSON_GetObjectItemCaseSensitive(value, "parameters");
  if (!cJSON_IsString(name) || !cJSON_IsObject(arguments) || calls->count == SERVE_MOST_CALLS) return false;
  if (!serve_tool_find(tools, name->valuestring)) return false;
  serve_call *call = &calls->list[calls->count++];
  call->name = strdup(name->valuestring);
  call->arguments = cJSON_PrintUnformatted(arguments);
  return call->name && call->arguments;
}

/* Reads a call or a list of calls at *at, and moves past it. False: the text there is something else, names a function
 * that tools lacks, or has too many calls; or memory is short. */
static bool add_calls(const cJSON *tools, const char *text, size_t bytes, size_t *at, serve_calls *calls) {
  const char *end = NULL;
  cJSON *value = cJSON_ParseWithLengthOpts(text + *at, bytes - *at, &end, false);
  if (!value) return false;
  bool good = true;
  if (cJSON_IsArray(value)) {
    const cJSON *item;
    cJSON_ArrayForEach(item, value) good = good && add_call(tools, item, calls);
  } else {
    good = add_call(tools, value, calls);
  }
  cJSON_Delete(value);
  *at = skip_space(text, bytes, (size_t)(end - text));
  return good;
}

static bool read_tagged(const cJSON *tools, const char *text, size_t bytes, size_t at, serve_calls *calls) {
  while (is_at(text, bytes, at, begin_tag, TAG)) {
    at += TAG;
    if (!add_calls(tools, text, bytes, &at, calls)) return false;
    /* The end tag may be missing at the end of the text. */
    if (is_at(text, bytes, at, end_tag, END_TAG)) at = skip_space(text, bytes, at + END_TAG);
  }
  return at == bytes;
}

bool serve_calls_read(const cJSON *tools, const char *text, size_t bytes, serve_calls *calls) {
  const size_t tag = find_tag(text, bytes);
  size_t at = skip_space(text, bytes, 0);
  *calls = (serve_calls){0};
  bool good;
  if (tag < bytes)
    good = read_tagged(tools, text, bytes, tag, calls);
  else
    good = begins_json(text, bytes, at) && add_calls(tools, text, bytes, &at, calls) && at == bytes;
  if (good && calls->count > 0) {
    calls->before = tag < bytes ? tag : 0;
    while (calls->before > 0 && is_space(text[calls->before - 1])) calls->before--;
    return true;
  }
  serve_calls_free(calls);
  return false;
}
