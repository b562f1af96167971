#include "base/byte_order.h"
#include "base/checked.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/utf8.h"
#include "io/safetensors.h"

#include <stdlib.h>
#include <string.h>

#if MICA_WITH_CJSON
#include <cjson/cJSON.h>

/* An entry that will be written, and its index in the caller's list. */
typedef struct item {
  const mica_safetensors_entry *entry;
  const mica__safetensors_type *type;
  size_t index;
} item;

static mica_status check_entry(const mica_safetensors_entry *entry, size_t index, item *out) {
  char text[MICA_SHAPE_TEXT];
  size_t bytes = 0;
  if (!entry->name) return mica__fail(MICA_E_INVALID, "safetensors: tensor %zu has no name", index);
  if (!strcmp(entry->name, MICA__SAFETENSORS_METADATA))
    return mica__fail(MICA_E_INVALID,
                      "safetensors: tensor %zu cannot have the name \"" MICA__SAFETENSORS_METADATA
                      "\"; the format reserves this name",
                      index);
  if (mica__utf8_prefix(entry->name, strlen(entry->name)) < strlen(entry->name))
    return mica__fail(MICA_E_INVALID, "safetensors: the name \"%s\" of tensor %zu is not UTF-8", entry->name, index);
  *out = (item){
      entry, entry->type ? mica__safetensors_type_named(entry->type) : mica__safetensors_type_of(entry->dtype), index};
  if (!out->type)
    return mica__fail(MICA_E_INVALID, "safetensors: tensor \"%s\" is of the type %s, which the format does not have",
                      entry->name,
                      entry->type                         ? entry->type
                      : mica_dtype_is_valid(entry->dtype) ? mica_dtype_name(entry->dtype)
                                                          : "?");
  if (!mica_shape_is_valid(entry->shape))
    return mica__fail(MICA_E_INVALID, "safetensors: tensor \"%s\" has the invalid shape %s", entry->name,
                      mica_shape_format(entry->shape, text));
  if (!mica__safetensors_bytes(out->type, entry->shape, &bytes) || bytes != entry->bytes)
    return mica__fail(MICA_E_INVALID, "safetensors: tensor \"%s\" has %zu bytes, which is not the size of %s %s",
                      entry->name, entry->bytes, out->type->name, mica_shape_format(entry->shape, text));
  if (bytes && !entry->data)
    return mica__fail(MICA_E_INVALID, "safetensors: the data of tensor \"%s\" is NULL", entry->name);
  return MICA_OK;
}

static int by_name(const void *a, const void *b) {
  return strcmp(((const item *)a)->entry->name, ((const item *)b)->entry->name);
}

static int by_width(const void *a, const void *b) {
  const item *x = a, *y = b;
  if (x->type->size != y->type->size) return x->type->size > y->type->size ? -1 : 1;
  return x->index < y->index ? -1 : 1;
}

static mica_status check_names(item *items, size_t count) {
  qsort(items, count, sizeof *items, by_name);
  for (size_t i = 1; i < count; i++)
    if (!strcmp(items[i - 1].entry->name, items[i].entry->name))
      return mica__fail(MICA_E_INVALID, "safetensors: two tensors are named \"%s\"", items[i].entry->name);
  return MICA_OK;
}

static int by_key(const void *a, const void *b) {
  return strcmp(((const mica_safetensors_pair *)a)->key, ((const mica_safetensors_pair *)b)->key);
}

static bool is_utf8(const char *text) { return !text[mica__utf8_prefix(text, strlen(text))]; }

static mica_status check_metadata(const mica_safetensors_pair *metadata, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (!metadata[i].key || !metadata[i].value)
      return mica__fail(MICA_E_INVALID, "mica_safetensors_write: the key or the value of metadata %zu is NULL", i);
    if (!is_utf8(metadata[i].key))
      return mica__fail(MICA_E_INVALID, "safetensors: the key \"%s\" of the metadata is not UTF-8", metadata[i].key);
    if (!is_utf8(metadata[i].value))
      return mica__fail(MICA_E_INVALID, "safetensors: the value of \"%s\" in the metadata is not UTF-8",
                        metadata[i].key);
  }
  if (count < 2) return MICA_OK;
  mica_safetensors_pair *sorted = calloc(count, sizeof *sorted);
  if (!sorted) return mica__fail_nomem("metadata");
  memcpy(sorted, metadata, count * sizeof *sorted);
  qsort(sorted, count, sizeof *sorted, by_key);
  mica_status status = MICA_OK;
  for (size_t i = 1; status == MICA_OK && i < count; i++)
    if (!strcmp(sorted[i - 1].key, sorted[i].key))
      status = mica__fail(MICA_E_INVALID, "safetensors: the metadata has \"%s\" twice", sorted[i].key);
  free(sorted);
  return status;
}

/* Appends a number to the array; false if memory is short. */
static bool add_number(cJSON *array, size_t value) {
  return cJSON_AddItemToArray(array, cJSON_CreateNumber((double)value));
}

static bool add_entry(cJSON *header, const item *it, size_t *offset) {
  const mica_safetensors_entry *entry = it->entry;
  cJSON *object = cJSON_AddObjectToObject(header, entry->name);
  bool added = object && cJSON_AddStringToObject(object, "dtype", it->type->name);
  cJSON *shape = added ? cJSON_AddArrayToObject(object, "shape") : NULL;
  for (int32_t i = 0; shape && i < entry->shape.rank; i++)
    added = added && add_number(shape, (size_t)entry->shape.dim[i]);
  cJSON *offsets = shape ? cJSON_AddArrayToObject(object, "data_offsets") : NULL;
  added = added && offsets && add_number(offsets, *offset) && add_number(offsets, *offset + entry->bytes);
  *offset += entry->bytes;
  return added;
}

/* Returns the header as JSON; NULL if memory is short. */
static char *header_text(const item *items, size_t count, const mica_safetensors_pair *metadata, size_t pairs) {
  static const char digits[] = "00000000000000000000000000000000";
  cJSON *header = cJSON_CreateObject();
  cJSON *texts = header ? cJSON_AddObjectToObject(header, MICA__SAFETENSORS_METADATA) : NULL;
  bool added = texts && cJSON_AddStringToObject(texts, MICA__SAFETENSORS_HASH, digits);
  for (size_t i = 0; added && i < pairs; i++)
    if (strcmp(metadata[i].key, MICA__SAFETENSORS_HASH) != 0)
      added = cJSON_AddStringToObject(texts, metadata[i].key, metadata[i].value) != NULL;
  size_t offset = 0;
  for (size_t i = 0; added && i < count; i++) added = add_entry(header, &items[i], &offset);
  char *text = added ? cJSON_PrintUnformatted(header) : NULL;
  cJSON_Delete(header);
  return text;
}

/* Needed only on a big-endian host: copies the elements and swaps their bytes to the format's byte order. The pieces
 * then point to the copies. The caller frees *ordered. */
static mica_status order_elements(const char *path, const item *items, size_t count, mica__bytes *pieces,
                                  unsigned char **ordered) {
  size_t bytes = 0;
  if (!MICA__HOST_BIG_ENDIAN) return MICA_OK;
  for (size_t i = 0; i < count; i++) bytes += items[i].entry->bytes;
  unsigned char *at = *ordered = malloc(bytes + 1);
  if (!at) return mica__fail_nomem(path);
  for (size_t i = 0; i < count; i++) {
    const mica_safetensors_entry *entry = items[i].entry;
    if (entry->bytes) memcpy(at, entry->data, entry->bytes);
    mica__safetensors_order(items[i].type, at, entry->bytes);
    pieces[i].data = at;
    at += entry->bytes;
  }
  return MICA_OK;
}

/* Computes the hash of the header's size, the header after the hash, the blanks after the header, and the tensors.
 * Writes the digits of the hash into the header. */
static void fill_hash(char *text, const mica__bytes *pieces, size_t count) {
  char digits[MICA__HASH_TEXT];
  char *at = text + strlen(MICA__SAFETENSORS_HASHED), *rest = at + MICA__HASH_TEXT - 1;
  mica__hash hash = mica__hash_bytes((mica__hash){0}, pieces[0].data, pieces[0].size);
  hash = mica__hash_bytes(hash, rest, strlen(rest));
  for (size_t i = 2; i < count; i++)
    if (pieces[i].size) hash = mica__hash_bytes(hash, pieces[i].data, pieces[i].size);
  memcpy(at, mica__hash_format(hash, digits), MICA__HASH_TEXT - 1);
}

static mica_status write_file(const char *path, const item *items, size_t count, char *text) {
  static const char blanks[8] = "        ";
  mica__bytes *pieces = calloc(count + 3, sizeof *pieces);
  if (!pieces) return mica__fail_nomem(path);
  size_t length = strlen(text), padded = mica__round_up(length, 8);
  unsigned char size[8];
  for (int i = 0; i < 8; i++) size[i] = (unsigned char)((uint64_t)padded >> (8 * i));
  pieces[0] = (mica__bytes){size, sizeof size};
  pieces[1] = (mica__bytes){text, length};
  pieces[2] = (mica__bytes){blanks, padded - length};
  for (size_t i = 0; i < count; i++) pieces[3 + i] = (mica__bytes){items[i].entry->data, items[i].entry->bytes};
  mica__file_sweep(path);
  unsigned char *ordered = NULL;
  mica_status status =
      padded > MICA__SAFETENSORS_MAX_HEADER
          ? mica__fail(MICA_E_OVERFLOW, "%s: the header would have %zu bytes, but may have at most %zu", path, padded,
                       MICA__SAFETENSORS_MAX_HEADER)
          : order_elements(path, items, count, pieces + 3, &ordered);
  if (status == MICA_OK) {
    fill_hash(text, pieces, count + 3);
    status = mica__file_replace(path, pieces, count + 3);
  }
  free(ordered);
  free(pieces);
  return status;
}

mica_status mica_safetensors_write(const char *path, const mica_safetensors_entry *entries, size_t count,
                                   const mica_safetensors_pair *metadata, size_t metadata_count) {
  if (!path || (!entries && count) || (!metadata && metadata_count))
    return mica__fail(MICA_E_INVALID, "mica_safetensors_write: path, entries or metadata is NULL");
  MICA_TRY(check_metadata(metadata, metadata_count));
  item *items = calloc(count + 1, sizeof *items);
  if (!items) return mica__fail_nomem(path);
  char *text = NULL;
  mica_status status = MICA_OK;
  for (size_t i = 0; status == MICA_OK && i < count; i++) status = check_entry(&entries[i], i, &items[i]);
  if (status == MICA_OK) status = check_names(items, count);
  if (status == MICA_OK) {
    qsort(items, count, sizeof *items, by_width);
    text = header_text(items, count, metadata, metadata_count);
    status = text ? write_file(path, items, count, text) : mica__fail_nomem(path);
  }
  cJSON_free(text);
  free(items);
  return status;
}

#endif
