/* Builds lists of keys for GGUF files; the lists copy all they hold. */
#include "base/checked.h"
#include "base/error.h"
#include "io/gguf.h"

#include <stdlib.h>
#include <string.h>

struct mica_gguf_keys {
  mica_gguf_value *list;
  size_t count, room;
};

static void free_value(mica_gguf_value *value) {
  /* An array of texts and the bytes of the texts share one allocation, so one call frees both. */
  if (value->kind == MICA_GGUF_KIND_ARRAY)
    for (size_t i = 0; value->data && i < value->count; i++) free_value((mica_gguf_value *)(uintptr_t)value->data + i);
  free((void *)(uintptr_t)value->data);
  free((void *)(uintptr_t)value->key);
}

static size_t bytes_of(mica_gguf_kind kind) {
  static const size_t bytes[MICA_GGUF_KIND_COUNT] = {
#define BYTES(name, token, number, size) [MICA_GGUF_KIND_##name] = size,
      MICA_GGUF_KIND_LIST(BYTES)
#undef BYTES
  };
  return (unsigned)kind < MICA_GGUF_KIND_COUNT ? bytes[kind] : 0;
}

static mica_status fail_size(const mica_gguf_value *value) {
  return mica__fail(MICA_E_INVALID, "mica_gguf_keys_add: key \"%s\" is too large", value->key ? value->key : "");
}

static mica_status copy_texts(const mica_gguf_value *value, mica_gguf_value *copy) {
  const mica_gguf_text *from = value->data;
  size_t bytes = 0;
  if (!mica__mul_size(value->count, sizeof *from, &bytes)) return fail_size(value);
  for (size_t i = 0; i < value->count; i++)
    if (!mica__add_size(bytes, from[i].length, &bytes)) return fail_size(value);
  mica_gguf_text *to = malloc(bytes + 1);
  if (!to) return mica__fail_nomem("keys of a GGUF file");
  char *at = (char *)(to + value->count);
  for (size_t i = 0; i < value->count; i++) {
    if (from[i].length) memcpy(at, from[i].bytes, from[i].length);
    to[i] = (mica_gguf_text){at, from[i].length};
    at += from[i].length;
  }
  copy->data = to;
  return MICA_OK;
}

static mica_status copy_value(const mica_gguf_value *value, mica_gguf_value *copy);

static mica_status copy_arrays(const mica_gguf_value *value, mica_gguf_value *copy) {
  const mica_gguf_value *from = value->data;
  mica_gguf_value *to = calloc(value->count + 1, sizeof *to);
  if (!to) return mica__fail_nomem("keys of a GGUF file");
  copy->data = to;
  for (size_t i = 0; i < value->count; i++) MICA_TRY(copy_value(&from[i], &to[i]));
  return MICA_OK;
}

static mica_status copy_value(const mica_gguf_value *value, mica_gguf_value *copy) {
  *copy = *value;
  copy->data = NULL;
  copy->key = NULL;
  if (value->key) {
    char *key = malloc(strlen(value->key) + 1);
    if (!key) return mica__fail_nomem("keys of a GGUF file");
    copy->key = strcpy(key, value->key);
  }
  if (value->kind == MICA_GGUF_KIND_TEXT) return copy_texts(value, copy);
  if (value->kind == MICA_GGUF_KIND_ARRAY) return copy_arrays(value, copy);
  size_t bytes = 0;
  if (!mica__mul_size(value->count, bytes_of(value->kind), &bytes)) return fail_size(value);
  void *data = malloc(bytes + 1);
  if (!data) return mica__fail_nomem("keys of a GGUF file");
  copy->data = bytes ? memcpy(data, value->data, bytes) : data;
  return MICA_OK;
}

static mica_status make_room(mica_gguf_keys *keys) {
  if (keys->count < keys->room) return MICA_OK;
  const size_t room = keys->room ? 2 * keys->room : 32;
  mica_gguf_value *list = realloc(keys->list, room * sizeof *list);
  if (!list) return mica__fail_nomem("keys of a GGUF file");
  keys->list = list;
  keys->room = room;
  return MICA_OK;
}

mica_status mica_gguf_keys_create(mica_gguf_keys **keys) {
  if (!keys) return mica__fail(MICA_E_INVALID, "mica_gguf_keys_create: keys is NULL");
  mica_gguf_keys *made = calloc(1, sizeof *made);
  if (!made) return mica__fail_nomem("keys of a GGUF file");
  *keys = made;
  return MICA_OK;
}

void mica_gguf_keys_destroy(mica_gguf_keys *keys) {
  if (!keys) return;
  for (size_t i = 0; i < keys->count; i++) free_value(&keys->list[i]);
  free(keys->list);
  free(keys);
}

mica_status mica_gguf_keys_add(mica_gguf_keys *keys, const mica_gguf_value *value) {
  if (!keys || !value || !value->key || (value->count && !value->data))
    return mica__fail(MICA_E_INVALID, "mica_gguf_keys_add: keys, value, its key or its data is NULL");
  if (!bytes_of(value->kind) && value->kind != MICA_GGUF_KIND_TEXT && value->kind != MICA_GGUF_KIND_ARRAY)
    return mica__fail(MICA_E_INVALID, "mica_gguf_keys_add: key \"%s\" has an unknown kind", value->key);
  mica_gguf_value copy;
  mica_status status = copy_value(value, &copy);
  if (status == MICA_OK) status = make_room(keys);
  if (status != MICA_OK) {
    free_value(&copy);
    return status;
  }
  for (size_t i = 0; i < keys->count; i++) {
    if (strcmp(keys->list[i].key, value->key) != 0) continue;
    free_value(&keys->list[i]);
    keys->list[i] = copy;
    return MICA_OK;
  }
  keys->list[keys->count++] = copy;
  return MICA_OK;
}

mica_status mica_gguf_keys_add_text(mica_gguf_keys *keys, const char *key, const char *text) {
  if (!text) return mica__fail(MICA_E_INVALID, "mica_gguf_keys_add_text: text is NULL");
  const mica_gguf_text one = {text, strlen(text)};
  return mica_gguf_keys_add(keys,
                            &(mica_gguf_value){.key = key, .kind = MICA_GGUF_KIND_TEXT, .count = 1, .data = &one});
}

mica_status mica_gguf_keys_add_integer(mica_gguf_keys *keys, const char *key, int64_t number) {
  if (number < 0 || number > UINT32_MAX)
    return mica__fail(MICA_E_INVALID,
                      "mica_gguf_keys_add_integer: the number of key \"%s\" is %lld, but must be from 0 to 2^32 - 1",
                      key ? key : "", (long long)number);
  const uint32_t one = (uint32_t)number;
  return mica_gguf_keys_add(keys, &(mica_gguf_value){.key = key, .kind = MICA_GGUF_KIND_U32, .count = 1, .data = &one});
}

mica_status mica_gguf_keys_add_real(mica_gguf_keys *keys, const char *key, double number) {
  const float one = (float)number;
  return mica_gguf_keys_add(keys, &(mica_gguf_value){.key = key, .kind = MICA_GGUF_KIND_F32, .count = 1, .data = &one});
}

mica_status mica_gguf_keys_add_flag(mica_gguf_keys *keys, const char *key, bool flag) {
  const uint8_t one = flag;
  return mica_gguf_keys_add(keys,
                            &(mica_gguf_value){.key = key, .kind = MICA_GGUF_KIND_BOOL, .count = 1, .data = &one});
}

const mica_gguf_value *mica_gguf_keys_list(const mica_gguf_keys *keys, size_t *count) {
  *count = keys->count;
  return keys->list;
}
