/* Creates chat templates and applies them. */
#include "base/utf8.h"
#include "text/template/run.h"

#include <stdlib.h>
#include <string.h>

#define MOST_SOURCE ((size_t)1 << 20)

/* --- making --- */

/* Converts newlines to "\n", and drops a newline at the end of the template, as Jinja does. */
static void normalise(mica_chat_template *t) {
  for (size_t i = 0; i < t->given_bytes; i++) {
    const char c = t->given[i];
    if (c == '\r' && i + 1 < t->given_bytes && t->given[i + 1] == '\n') continue;
    t->source[t->bytes++] = c == '\r' ? '\n' : c;
  }
  if (t->bytes > 0 && t->source[t->bytes - 1] == '\n') t->bytes--;
  t->source[t->bytes] = '\0';
}

static mica_status make(mica_chat_template *t, const char *name, const char *text, size_t bytes) {
  t->name = mica__strdup(name);
  t->given = malloc(bytes + 1);
  t->source = malloc(bytes + 1);
  if (!t->name || !t->given || !t->source) return mica__fail_nomem("a chat template");
  if (bytes) memcpy(t->given, text, bytes);
  t->given[bytes] = '\0';
  t->given_bytes = bytes;
  normalise(t);
  MICA_TRY(mica__template_name(t, "loop", 4, &t->loop));
  MICA_TRY(mica__template_name(t, "caller", 6, &t->caller));
  return mica__template_parse(t);
}

mica_status mica_chat_template_create(const char *name, const char *text, size_t bytes,
                                      mica_chat_template **chat_template) {
  if (!name || (!text && bytes) || !chat_template)
    return mica__fail(MICA_E_INVALID, "mica_chat_template_create: name, text or chat_template is NULL");
  if (bytes > MOST_SOURCE)
    return mica__fail(MICA_E_FORMAT, "%s: the template has %zu bytes, but may have at most %zu", name, bytes,
                      MOST_SOURCE);
  const size_t valid = bytes ? mica__utf8_prefix(text, bytes) : 0;
  if (valid < bytes) return mica__fail(MICA_E_FORMAT, "%s: byte %zu is not UTF-8", name, valid);
  mica_chat_template *t = calloc(1, sizeof *t);
  if (!t) return mica__fail_nomem(name);
  const mica_status status = make(t, name, text, bytes);
  if (status == MICA_OK)
    *chat_template = t;
  else
    mica_chat_template_destroy(t);
  return status;
}

void mica_chat_template_destroy(mica_chat_template *chat_template) {
  if (!chat_template) return;
  mica__name_table_free(&chat_template->names);
  mica__arena_free(&chat_template->arena);
  free(chat_template->name);
  free(chat_template->given);
  free(chat_template->source);
  free(chat_template);
}

const char *mica_chat_template_source(const mica_chat_template *chat_template, size_t *bytes) {
  if (bytes) *bytes = chat_template->given_bytes;
  return chat_template->given;
}

bool mica_chat_template_has_spans(const mica_chat_template *chat_template) { return chat_template->has_spans; }

/* --- applying --- */

/* Sets a variable if the template uses its name. */
static mica_status set(mica__render *run, const char *name, const mica__object *value) {
  const int32_t index = mica__name_table_find(&run->t->names, name);
  return index >= 0 ? mica__render_set(run, run->scope, index, value) : MICA_OK;
}

static mica_status read_option(mica__render *run, const char *name, const char *json, mica__object *value) {
  const mica_status status = mica__object_read_json(&run->arena, json, strlen(json), value);
  if (status == MICA_OK) return MICA_OK;
  mica__fail_in(MICA_E_INVALID, name);
  return status == MICA_E_FORMAT ? MICA_E_INVALID : status;
}

static mica_status set_json(mica__render *run, const char *name, const char *json) {
  mica__object value = mica__object_none();
  if (json) MICA_TRY(read_option(run, name, json, &value));
  return set(run, name, &value);
}

/* Finds a message's reasoning: the first of "reasoning_content", "thinking" and "reasoning" that is not null. Sets
 * "reasoning_content" to it, and also "thinking" unless the message has this member, as transformers does. */
static mica_status name_reasoning(mica__render *run, mica__object *message) {
  static const char *const names[] = {"reasoning_content", "thinking", "reasoning"};
  const mica__object first = mica__object_text(names[1], strlen(names[1])),
                     last = mica__object_text(names[0], strlen(names[0])), *reasoning = NULL;
  const mica__dict *given = message->as.dict;
  mica__dict *dict = NULL;
  for (size_t i = 0; i < 3 && !(reasoning && reasoning->kind != MICA__OBJECT_NONE); i++)
    reasoning = mica__dict_find_text(given, names[i], strlen(names[i]));
  if (!reasoning || reasoning->kind == MICA__OBJECT_NONE) return MICA_OK;
  MICA_TRY(mica__dict_create(&run->arena, &dict));
  MICA_TRY(mica__dict_set(&run->arena, dict, &first, reasoning));
  for (size_t i = 0; i < given->count; i++)
    MICA_TRY(mica__dict_set(&run->arena, dict, &given->keys[i], &given->values[i]));
  MICA_TRY(mica__dict_set(&run->arena, dict, &last, reasoning));
  message->as.dict = dict;
  return MICA_OK;
}

static mica_status set_messages(mica__render *run, const mica_messages *messages, size_t most) {
  const size_t all = mica_messages_count(messages), count = most && most < all ? most : all;
  mica__object *items = NULL;
  MICA_TRY(mica__arena_take(&run->arena, count, sizeof *items, &items));
  for (size_t i = 0; i < count; i++) {
    size_t bytes = 0;
    const char *json = mica_messages_at(messages, i, &bytes);
    MICA_TRY(mica__object_read_json(&run->arena, json, bytes, &items[i]));
    MICA_TRY(name_reasoning(run, &items[i]));
  }
  const mica__object list = mica__object_list(items, count);
  return set(run, "messages", &list);
}

static mica_status set_variable(mica__render *run, const mica_chat_variable *variable) {
  if (!variable->name) return mica__fail(MICA_E_INVALID, "the name of a variable is NULL");
  if (!variable->text && !variable->json)
    return mica__fail(MICA_E_INVALID, "the variable %s has neither text nor json", variable->name);
  if (!variable->text) return set_json(run, variable->name, variable->json);
  const mica__object value = mica__object_text(variable->text, strlen(variable->text));
  if (mica__utf8_prefix(variable->text, value.count) < value.count)
    return mica__fail(MICA_E_INVALID, "the variable %s is not UTF-8", variable->name);
  return set(run, variable->name, &value);
}

static mica_status run_template(mica__render *run, const mica_messages *messages, const mica_chat_options *options) {
  const mica__object prompt = mica__object_bool(options->add_generation_prompt);
  MICA_TRY(mica__render_scope(run, NULL, &run->scope));
  MICA_TRY(set_messages(run, messages, options->count));
  MICA_TRY(set_json(run, "tools", options->tools));
  MICA_TRY(set_json(run, "documents", options->documents));
  MICA_TRY(set(run, "add_generation_prompt", &prompt));
  for (size_t i = 0; i < options->variable_count; i++) MICA_TRY(set_variable(run, &options->variables[i]));
  MICA_TRY(mica__render_template(run));
  /* A comparison or search stops early when the limit of work is reached. If that was the last step of the template,
   * this step reports it. */
  MICA_TRY(mica__render_step(run, 0));
  mica__text_add(&run->text, "");
  return mica__text_status(&run->text);
}

mica_status mica_chat_template_apply_spans(const mica_chat_template *chat_template, const mica_messages *messages,
                                           const mica_chat_options *options, char **text, size_t *bytes,
                                           mica_text_span **spans, size_t *span_count) {
  static const mica_chat_options none = {0};
  if (!chat_template || !messages || !text)
    return mica__fail(MICA_E_INVALID, "mica_chat_template_apply: chat_template, messages or text is NULL");
  if (!spans != !span_count)
    return mica__fail(MICA_E_INVALID, "mica_chat_template_apply_spans: %s is NULL, but %s is not",
                      spans ? "span_count" : "spans", spans ? "spans" : "span_count");
  if (options && !options->variables && options->variable_count)
    return mica__fail(MICA_E_INVALID, "mica_chat_template_apply: variables is NULL, but variable_count is %zu",
                      options->variable_count);
  mica__render run = {.t = chat_template};
  if (!options) options = &none;
  run.out = &run.text;
  run.time = options->time;
  const mica_status status = run_template(&run, messages, options);
  mica__arena_free(&run.arena);
  if (status != MICA_OK) {
    mica__text_free(&run.text);
    free(run.spans);
    return status;
  }
  *text = run.text.data;
  if (bytes) *bytes = run.text.length;
  if (spans) {
    *spans = run.spans;
    *span_count = run.span_count;
  } else {
    free(run.spans);
  }
  return MICA_OK;
}

mica_status mica_chat_template_apply(const mica_chat_template *chat_template, const mica_messages *messages,
                                     const mica_chat_options *options, char **text, size_t *bytes) {
  return mica_chat_template_apply_spans(chat_template, messages, options, text, bytes, NULL, NULL);
}
