/* Conversations: lists of messages, each stored as JSON. */
#include "base/utf8.h"
#include "text/template/value.h"

#include <mica/chat_template.h>
#include <stdlib.h>
#include <string.h>

typedef struct message {
  char *json;
  size_t bytes;
} message;

struct mica_messages {
  message *list;
  size_t count, room;
};

mica_status mica_messages_create(mica_messages **messages) {
  if (!messages) return mica__fail(MICA_E_INVALID, "mica_messages_create: messages is NULL");
  mica_messages *made = calloc(1, sizeof *made);
  if (!made) return mica__fail_nomem("a list of messages");
  *messages = made;
  return MICA_OK;
}

void mica_messages_cut(mica_messages *messages, size_t count) {
  if (!messages) return;
  while (messages->count > count) free(messages->list[--messages->count].json);
}

void mica_messages_destroy(mica_messages *messages) {
  if (!messages) return;
  mica_messages_cut(messages, 0);
  free(messages->list);
  free(messages);
}

size_t mica_messages_count(const mica_messages *messages) { return messages ? messages->count : 0; }

const char *mica_messages_at(const mica_messages *messages, size_t index, size_t *bytes) {
  if (!messages || index >= messages->count) return NULL;
  if (bytes) *bytes = messages->list[index].bytes;
  return messages->list[index].json;
}

/* Appends a value as JSON. */
static mica_status append(mica_messages *messages, const mica__object *value) {
  static const mica__json_style style = {.comma = ", ", .colon = ": "};
  mica__text json = {0};
  if (messages->count == messages->room) {
    const size_t room = messages->room ? 2 * messages->room : 8;
    message *grown = room < SIZE_MAX / sizeof *grown ? realloc(messages->list, room * sizeof *grown) : NULL;
    if (!grown) return mica__fail_nomem("a list of messages");
    messages->list = grown;
    messages->room = room;
  }
  const mica_status status = mica__object_write_json(&json, value, &style);
  if (status == MICA_OK)
    messages->list[messages->count++] = (message){json.data, json.length};
  else
    mica__text_free(&json);
  return status;
}

static mica_status set(mica__arena *arena, mica__dict *dict, const char *key, const char *text) {
  const mica__object name = mica__object_text(key, strlen(key)), value = mica__object_text(text, strlen(text));
  if (mica__utf8_prefix(text, value.count) < value.count)
    return mica__fail(MICA_E_INVALID, "a message's %s is not UTF-8", key);
  return mica__dict_set(arena, dict, &name, &value);
}

mica_status mica_messages_add(mica_messages *messages, const char *role, const char *content) {
  if (!messages || !role || !content)
    return mica__fail(MICA_E_INVALID, "mica_messages_add: messages, role or content is NULL");
  mica__arena arena = {0};
  mica__dict *dict = NULL;
  mica_status status = mica__dict_create(&arena, &dict);
  if (status == MICA_OK) status = set(&arena, dict, "role", role);
  if (status == MICA_OK) status = set(&arena, dict, "content", content);
  if (status == MICA_OK) status = append(messages, &(mica__object){.kind = MICA__OBJECT_DICT, .as.dict = dict});
  mica__arena_free(&arena);
  return status;
}

mica_status mica_messages_add_json(mica_messages *messages, const char *json, size_t bytes) {
  if (!messages || !json) return mica__fail(MICA_E_INVALID, "mica_messages_add_json: messages or json is NULL");
  const size_t before = messages->count;
  mica__arena arena = {0};
  mica__object value = {0};
  mica_status status = mica__object_read_json(&arena, json, bytes, &value);
  const mica__object *items = value.kind == MICA__OBJECT_LIST ? value.as.items : &value;
  const size_t count = value.kind == MICA__OBJECT_LIST ? value.count : 1;
  for (size_t i = 0; i < count && status == MICA_OK; i++) {
    if (items[i].kind == MICA__OBJECT_DICT)
      status = append(messages, &items[i]);
    else
      status = mica__fail(MICA_E_FORMAT, "message %zu is of type %s, but must be an object", i,
                          mica__object_type(&items[i]));
  }
  if (status != MICA_OK) mica_messages_cut(messages, before);
  mica__arena_free(&arena);
  return status;
}
