#include "base/checked.h"
#include "base/utf8.h"
#include "io/gguf.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* --- types and kinds --- */

static const mica__gguf_type types[] = {
#define TYPE_ROW(name, number, elements, bytes, dtype) {#name, number, elements, bytes, dtype, MICA_BLOCK_NONE},
    MICA__GGUF_TYPE_LIST(TYPE_ROW)
#undef TYPE_ROW
#define BLOCK_ROW(name, text, elements, bytes, number)                                                                 \
  {#name, number, elements, bytes, MICA_DTYPE_COUNT, MICA_BLOCK_##name},
        MICA_BLOCK_LIST(BLOCK_ROW)
#undef BLOCK_ROW
};

/* The types in MICA_BLOCK_LIST include MICA_BLOCK_NONE, whose row has 0 bytes and is skipped. */
const mica__gguf_type *mica__gguf_type_numbered(uint32_t number) {
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (types[i].bytes && types[i].number == (int64_t)number) return &types[i];
  return NULL;
}

const char *mica__gguf_type_removed(uint32_t number) {
  static const struct {
    uint32_t number;
    const char *name;
  } removed[] = {{4, "Q4_2"},      {5, "Q4_3"},        {31, "Q4_0_4_4"},   {32, "Q4_0_4_8"},
                 {33, "Q4_0_8_8"}, {36, "IQ4_NL_4_4"}, {37, "IQ4_NL_4_8"}, {38, "IQ4_NL_8_8"}};
  for (size_t i = 0; i < sizeof removed / sizeof *removed; i++)
    if (removed[i].number == number) return removed[i].name;
  return NULL;
}

const mica__gguf_type *mica__gguf_type_of(const mica_weight_entry *entry) {
  const bool named = entry->block == MICA_BLOCK_NONE && entry->dtype == MICA_DTYPE_COUNT;
  if (named && !entry->type) return NULL;
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    const mica__gguf_type *type = &types[i];
    if (!type->bytes || type->block != entry->block) continue;
    if (entry->block != MICA_BLOCK_NONE || (!named && type->dtype == entry->dtype)) return type;
    if (named && !strcmp(type->name, entry->type)) return type;
  }
  return NULL;
}

bool mica__gguf_bytes(const mica__gguf_type *type, mica_shape shape, size_t *bytes) {
  int64_t count = 1;
  if (!mica_shape_is_valid(shape) || shape.rank > MICA__GGUF_MAX_RANK) return false;
  if ((shape.rank ? shape.dim[shape.rank - 1] : 1) % type->elements) return false;
  for (int32_t i = 0; i < shape.rank; i++)
    if (!mica__mul_i64(count, shape.dim[i], &count)) return false;
  return mica__mul_size((uint64_t)(count / type->elements), type->bytes, bytes) && mica__fits_i64(*bytes);
}

static const struct {
  const char *name;
  size_t bytes;
} kinds[MICA_GGUF_KIND_COUNT] = {
#define KIND_ROW(name, token, number, bytes) [number] = {#token, bytes},
    MICA_GGUF_KIND_LIST(KIND_ROW)
#undef KIND_ROW
};

size_t mica__gguf_kind_bytes(uint32_t kind) { return kind < MICA_GGUF_KIND_COUNT ? kinds[kind].bytes : 0; }

const char *mica_gguf_kind_name(mica_gguf_kind kind) {
  return (unsigned)kind < MICA_GGUF_KIND_COUNT ? kinds[kind].name : "?";
}

/* --- checks that the reader and the writer share --- */

mica_status mica__gguf_check_name(mica_status status, const char *path, const char *what, const char *text,
                                  size_t bytes, size_t most) {
  if (bytes == 0) return mica__fail(status, "%s: %s is empty", path, what);
  if (mica__utf8_prefix(text, bytes) < bytes) return mica__fail(status, "%s: %s is not UTF-8", path, what);
  if (memchr(text, 0, bytes)) return mica__fail(status, "%s: %s has the character U+0000", path, what);
  if (bytes > most)
    return mica__fail(status, "%s: %s, \"%.60s...\", has %zu bytes, but may have at most %zu", path, what, text, bytes,
                      most);
  return MICA_OK;
}

mica_status mica__gguf_alignment(mica_status status, const char *path, const mica_gguf_value *value,
                                 size_t *alignment) {
  *alignment = MICA__GGUF_ALIGNMENT;
  if (!value) return MICA_OK;
  if (value->array || value->kind != MICA_GGUF_KIND_U32)
    return mica__fail(status, "%s: key \"%s\" must be one number of the kind u32", path, value->key);
  const int64_t asked = mica_gguf_integer(value, 0);
  if (asked < 1 || asked > MICA__GGUF_MAX_ALIGNMENT || (asked & (asked - 1)))
    return mica__fail(status, "%s: key \"%s\" is %" PRId64 ", but must be a power of two up to %d", path, value->key,
                      asked, MICA__GGUF_MAX_ALIGNMENT);
  *alignment = (size_t)asked;
  return MICA_OK;
}

static int by_key(const void *a, const void *b) {
  const mica_gguf_value *const *x = a, *const *y = b;
  return strcmp((*x)->key, (*y)->key);
}

mica_status mica__gguf_sort_keys(mica_status status, const char *path, const mica_gguf_value *keys, size_t count,
                                 const mica_gguf_value ***sorted) {
  const mica_gguf_value **list = *sorted = calloc(count + 1, sizeof *list);
  if (!list) return mica__fail_nomem(path);
  for (size_t i = 0; i < count; i++) list[i] = &keys[i];
  qsort(list, count, sizeof *list, by_key);
  for (size_t i = 1; i < count; i++)
    if (!strcmp(list[i - 1]->key, list[i]->key))
      return mica__fail(status, "%s: the key \"%.200s\" is there twice", path, list[i]->key);
  return MICA_OK;
}

/* --- values --- */

/* Returns the bits of an element of a numeric value, which may be at any address; 0 if the kind is not a number. */
static uint64_t bits_at(const mica_gguf_value *value, size_t index) {
  const unsigned char *at = value->data;
  switch (mica__gguf_kind_bytes((uint32_t)value->kind)) {
  case 1: return at[index];
  case 2: {
    uint16_t bits = 0;
    memcpy(&bits, at + 2 * index, sizeof bits);
    return bits;
  }
  case 4: {
    uint32_t bits = 0;
    memcpy(&bits, at + 4 * index, sizeof bits);
    return bits;
  }
  case 8: {
    uint64_t bits = 0;
    memcpy(&bits, at + 8 * index, sizeof bits);
    return bits;
  }
  default: return 0;
  }
}

int64_t mica_gguf_integer(const mica_gguf_value *value, size_t index) {
  if (!value || index >= value->count) return 0;
  const uint64_t bits = bits_at(value, index);
  switch (value->kind) {
  case MICA_GGUF_KIND_I8: return (int8_t)bits;
  case MICA_GGUF_KIND_I16: return (int16_t)bits;
  case MICA_GGUF_KIND_I32: return (int32_t)bits;
  case MICA_GGUF_KIND_I64: return (int64_t)bits;
  case MICA_GGUF_KIND_U64: return bits > INT64_MAX ? INT64_MAX : (int64_t)bits;
  case MICA_GGUF_KIND_F32:
  case MICA_GGUF_KIND_F64: return 0;
  default: return (int64_t)bits;
  }
}

double mica_gguf_number(const mica_gguf_value *value, size_t index) {
  if (!value || index >= value->count) return 0;
  const uint64_t bits = bits_at(value, index);
  const uint32_t low = (uint32_t)bits;
  float single = 0;
  double number = 0;
  switch (value->kind) {
  case MICA_GGUF_KIND_F32: memcpy(&single, &low, sizeof single); return (double)single;
  case MICA_GGUF_KIND_F64: memcpy(&number, &bits, sizeof number); return number;
  case MICA_GGUF_KIND_U64: return (double)bits;
  default: return (double)mica_gguf_integer(value, index);
  }
}

mica_gguf_text mica_gguf_text_at(const mica_gguf_value *value, size_t index) {
  if (!value || value->kind != MICA_GGUF_KIND_TEXT || index >= value->count) return (mica_gguf_text){"", 0};
  return ((const mica_gguf_text *)value->data)[index];
}

const mica_gguf_value *mica_gguf_array_at(const mica_gguf_value *value, size_t index) {
  if (!value || value->kind != MICA_GGUF_KIND_ARRAY || index >= value->count) return NULL;
  return &((const mica_gguf_value *)value->data)[index];
}
