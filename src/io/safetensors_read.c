#include "base/byte_order.h"
#include "base/checked.h"
#include "base/hash.h"
#include "base/json_check.h"
#include "base/signature.h"
#include "io/safetensors.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if MICA_WITH_CJSON
#include <cjson/cJSON.h>

/* An open file. A file on disk is mapped instead of read. The pages stay valid if another file is renamed over it, as
 * Mica's writer does. Only truncation in place would cause a fault. */
struct mica_safetensors {
  const unsigned char *data;
  size_t size;
  bool mapped;            /* this object must unmap data */
  unsigned char *ordered; /* the elements in the order of a big-endian host, else NULL */
  cJSON *header;          /* owns the texts */
  const cJSON *metadata;
  const cJSON **pairs; /* the items of `metadata`, without the hash, by index */
  size_t pair_count;
  mica_safetensors_entry *entries;
  const mica_safetensors_entry **by_name; /* the entries, sorted */
  size_t count;
};

/* Reads a size from the header. Doubles are exact up to 2^53, and no file is larger. */
static bool read_size(const cJSON *item, uint64_t *out) {
  if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0 && item->valuedouble < 0x1p53)) return false;
  if (item->valuedouble != floor(item->valuedouble)) return false;
  *out = (uint64_t)item->valuedouble;
  return true;
}

static mica_status read_shape(const char *path, const char *name, const cJSON *item, mica_shape *shape) {
  *shape = MICA_SCALAR;
  if (!cJSON_IsArray(item))
    return mica__fail(MICA_E_FORMAT, "%s: the shape of tensor \"%.200s\" is missing or not a list", path, name);
  for (const cJSON *at = item->child; at; at = at->next) {
    uint64_t dim = 0;
    if (shape->rank == MICA_MAX_RANK)
      return mica__fail(MICA_E_FORMAT, "%s: tensor \"%.200s\" has %d dimensions, but may have at most %d", path, name,
                        cJSON_GetArraySize(item), MICA_MAX_RANK);
    if (!read_size(at, &dim))
      return mica__fail(MICA_E_FORMAT,
                        "%s: tensor \"%.200s\" has a shape whose dimension %d is not an integer from 0 to 2^53 - 1",
                        path, name, (int)shape->rank);
    shape->dim[shape->rank++] = (int64_t)dim;
  }
  return MICA_OK;
}

/* Reads the offsets of a tensor's first byte and of the byte after its last. */
static mica_status read_offsets(const char *path, const char *name, const cJSON *item, uint64_t *begin, uint64_t *end) {
  if (!cJSON_IsArray(item))
    return mica__fail(MICA_E_FORMAT, "%s: the data_offsets of tensor \"%.200s\" are missing or not a list", path, name);
  bool pair = cJSON_GetArraySize(item) == 2 && read_size(item->child, begin) && read_size(item->child->next, end);
  if (pair && *begin <= *end) return MICA_OK;
  return mica__fail(MICA_E_FORMAT,
                    "%s: the data_offsets of tensor \"%.200s\" must be two integers from 0 to 2^53 - 1, the second not "
                    "below the first",
                    path, name);
}

static mica_status check_bools(const char *path, const mica_safetensors_entry *entry) {
  for (size_t i = 0; entry->dtype == MICA_BOOL && i < entry->bytes; i++)
    if (((const unsigned char *)entry->data)[i] > 1)
      return mica__fail(MICA_E_FORMAT,
                        "%s: tensor \"%.200s\" is BOOL, but has %d as element %zu; a bool must be 0 or 1", path,
                        entry->name, ((const unsigned char *)entry->data)[i], i);
  return MICA_OK;
}

static mica_status check_fields(const char *path, const cJSON *item) {
  char what[256];
  snprintf(what, sizeof what, "tensor \"%.200s\"", item->string);
  return mica__json_check_keys(path, what, item);
}

static mica_status read_entry(const char *path, const cJSON *item, const unsigned char *data, size_t data_size,
                              mica_safetensors_entry *entry) {
  const char *name = item->string;
  const cJSON *dtype = cJSON_GetObjectItemCaseSensitive(item, "dtype");
  const cJSON *offsets = cJSON_GetObjectItemCaseSensitive(item, "data_offsets");
  if (!cJSON_IsObject(item) || !cJSON_IsString(dtype))
    return mica__fail(MICA_E_FORMAT, "%s: tensor \"%.200s\" is not an object, or its dtype is missing or not a string",
                      path, name);
  MICA_TRY(check_fields(path, item));
  const mica__safetensors_type *type = mica__safetensors_type_named(dtype->valuestring);
  if (!type)
    return mica__fail(MICA_E_FORMAT, "%s: tensor \"%.200s\" is of the unknown dtype \"%.40s\"", path, name,
                      dtype->valuestring);
  *entry = (mica_safetensors_entry){.name = name, .type = type->name, .dtype = type->dtype};
  MICA_TRY(read_shape(path, name, cJSON_GetObjectItemCaseSensitive(item, "shape"), &entry->shape));
  uint64_t begin = 0, end = 0;
  MICA_TRY(read_offsets(path, name, offsets, &begin, &end));
  if (end > data_size)
    return mica__fail(MICA_E_FORMAT,
                      "%s is truncated or damaged: the data of tensor \"%.200s\" end at byte %" PRIu64
                      ", but only %zu bytes follow the header",
                      path, name, end, data_size);
  char text[MICA_SHAPE_TEXT];
  if (!mica__safetensors_bytes(type, entry->shape, &entry->bytes))
    return mica__fail(MICA_E_FORMAT, "%s: tensor \"%.200s\", %s %s, takes 2^64 bytes or more", path, name, type->name,
                      mica_shape_format(entry->shape, text));
  if (entry->bytes != end - begin)
    return mica__fail(MICA_E_FORMAT,
                      "%s: tensor \"%.200s\", %s %s, takes %zu bytes, but its data_offsets name %" PRIu64, path, name,
                      type->name, mica_shape_format(entry->shape, text), entry->bytes, end - begin);
  entry->data = data + (size_t)begin;
  return check_bools(path, entry);
}

static int by_offset(const void *a, const void *b) {
  const mica_safetensors_entry *x = a, *y = b;
  if (x->data != y->data) return (const char *)x->data < (const char *)y->data ? -1 : 1;
  if (x->bytes != y->bytes) return x->bytes < y->bytes ? -1 : 1;
  return strcmp(x->name, y->name);
}

static int by_name(const void *a, const void *b) {
  const mica_safetensors_entry *const *x = a, *const *y = b;
  return strcmp((*x)->name, (*y)->name);
}

/* Sorts the entries. MICA_E_FORMAT if two share a name or overlap, or if a byte belongs to no tensor. Names are checked
 * first, because a tensor that is there twice also overlaps itself. */
static mica_status check_entries(const char *path, mica_safetensors *file, const unsigned char *data, size_t size) {
  const unsigned char *end = data;
  qsort(file->entries, file->count, sizeof *file->entries, by_offset);
  for (size_t i = 0; i < file->count; i++) file->by_name[i] = &file->entries[i];
  qsort(file->by_name, file->count, sizeof *file->by_name, by_name);
  for (size_t i = 1; i < file->count; i++)
    if (!strcmp(file->by_name[i - 1]->name, file->by_name[i]->name))
      return mica__fail(MICA_E_FORMAT, "%s: the tensor \"%.200s\" is there twice", path, file->by_name[i]->name);
  for (size_t i = 0; i < file->count; i++) {
    const mica_safetensors_entry *entry = &file->entries[i];
    if (entry->data != end)
      return mica__fail(MICA_E_FORMAT,
                        (const unsigned char *)entry->data < end
                            ? "%s: the data of tensor \"%.200s\" overlap the data of another tensor"
                            : "%s: there is a gap before the data of tensor \"%.200s\"",
                        path, entry->name);
    end += entry->bytes;
  }
  if (end != data + size)
    return mica__fail(MICA_E_FORMAT, "%s has %zu bytes after the last tensor, but must have none", path,
                      (size_t)(data + size - end));
  return MICA_OK;
}

static mica_status read_metadata(const char *path, mica_safetensors *file, const cJSON *item) {
  if (file->metadata) return mica__fail(MICA_E_FORMAT, "%s has " MICA__SAFETENSORS_METADATA " twice", path);
  if (!cJSON_IsObject(item))
    return mica__fail(MICA_E_FORMAT, "%s: " MICA__SAFETENSORS_METADATA " must be an object", path);
  for (const cJSON *at = item->child; at; at = at->next)
    if (!cJSON_IsString(at))
      return mica__fail(MICA_E_FORMAT, "%s: metadata \"%.200s\" must be a string", path, at->string);
  MICA_TRY(mica__json_check_keys(path, MICA__SAFETENSORS_METADATA, item));
  file->metadata = item;
  file->pairs = calloc((size_t)cJSON_GetArraySize(item) + 1, sizeof *file->pairs);
  if (!file->pairs) return mica__fail_nomem(path);
  for (const cJSON *at = item->child; at; at = at->next)
    if (strcmp(at->string, MICA__SAFETENSORS_HASH) != 0) file->pairs[file->pair_count++] = at;
  return MICA_OK;
}

static bool is_blank(const char *at, const char *end) {
  while (at < end && (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r')) at++;
  return at == end;
}

/* MICA_E_FORMAT if the file has a hash of Mica and the content does not match it. A file without a hash passes. The
 * writer hashes the blanks after the header as a piece of their own, so they are hashed separately here too. */
static mica_status check_hash(const char *path, const mica_safetensors *file, size_t length) {
  const char *text = (const char *)file->data + 8, *end = text + length;
  const size_t before = strlen(MICA__SAFETENSORS_HASHED), digits = MICA__HASH_TEXT - 1;
  mica__hash said, hash;
  if (length <= before + digits || memcmp(text, MICA__SAFETENSORS_HASHED, before) != 0) return MICA_OK;
  if (text[before + digits] != '"' || !mica__hash_parse(text + before, &said)) return MICA_OK;
  const char *rest = text + before + digits;
  while (end > rest && end[-1] == ' ') end--;
  hash = mica__hash_bytes((mica__hash){0}, file->data, 8);
  hash = mica__hash_bytes(hash, rest, (size_t)(end - rest));
  if (end < text + length) hash = mica__hash_bytes(hash, end, (size_t)(text + length - end));
  for (size_t i = 0; i < file->count; i++)
    if (file->entries[i].bytes) hash = mica__hash_bytes(hash, file->entries[i].data, file->entries[i].bytes);
  if (mica__hash_equal(hash, said)) return MICA_OK;
  return mica__fail(MICA_E_FORMAT, "%s is damaged: its content does not have the hash that it was written with", path);
}

static mica_status parse_header(const char *path, mica_safetensors *file) {
  uint64_t length = 0;
  if (file->size < 8) return mica__fail(MICA_E_FORMAT, "%s is truncated: it has only %zu bytes", path, file->size);
  for (int i = 7; i >= 0; i--) length = length << 8 | file->data[i];
  if (length > MICA__SAFETENSORS_MAX_HEADER)
    return mica__fail(MICA_E_FORMAT, "%s is not a safetensors file: it begins with a header size of %llu bytes", path,
                      (unsigned long long)length);
  if (length > file->size - 8)
    return mica__fail(MICA_E_FORMAT, "%s is truncated: its header has %llu bytes, but only %zu bytes follow its size",
                      path, (unsigned long long)length, file->size - 8);
  const char *text = (const char *)file->data + 8, *parsed = text, *end = text + length;
  if (length > 0 && *text == '{') MICA_TRY(mica__json_check_text(path, "its header", text, (size_t)length));
  /* A header begins with a brace; this check rejects most other files at once. */
  if (length > 0 && *text == '{') file->header = cJSON_ParseWithLengthOpts(text, (size_t)length, &parsed, false);
  if (!cJSON_IsObject(file->header) || !is_blank(parsed, end))
    return mica__fail(MICA_E_FORMAT, "%s is not a safetensors file: its header is not a JSON object", path);
  size_t capacity = (size_t)cJSON_GetArraySize(file->header);
  file->entries = calloc(capacity + 1, sizeof *file->entries);
  file->by_name = calloc(capacity + 1, sizeof *file->by_name);
  if (!file->entries || !file->by_name) return mica__fail_nomem(path);
  const unsigned char *data = file->data + 8 + length;
  size_t size = file->size - 8 - (size_t)length;
  for (const cJSON *item = file->header->child; item; item = item->next)
    if (!strcmp(item->string, MICA__SAFETENSORS_METADATA))
      MICA_TRY(read_metadata(path, file, item));
    else
      MICA_TRY(read_entry(path, item, data, size, &file->entries[file->count++]));
  MICA_TRY(check_entries(path, file, data, size));
  return check_hash(path, file, (size_t)length);
}

void mica_safetensors_close(mica_safetensors *file) {
  if (!file) return;
  if (file->mapped) mica__file_unmap(file->data, file->size);
  cJSON_Delete(file->header);
  free(file->ordered);
  free(file->entries);
  free(file->by_name);
  free(file->pairs);
  free(file);
}

/* Copies the entries one after another in the host's byte order. */
static mica_status order_elements(const char *path, mica_safetensors *file) {
  size_t bytes = 0;
  for (size_t i = 0; i < file->count; i++) bytes += file->entries[i].bytes;
  file->ordered = malloc(bytes + 1);
  if (!file->ordered) return mica__fail_nomem(path);
  unsigned char *at = file->ordered;
  for (size_t i = 0; i < file->count; i++) {
    mica_safetensors_entry *entry = &file->entries[i];
    memcpy(at, entry->data, entry->bytes);
    mica__safetensors_order(mica__safetensors_type_named(entry->type), at, entry->bytes);
    entry->data = at;
    at += entry->bytes;
  }
  return MICA_OK;
}

/* Takes ownership of the mapping, also on failure. */
static mica_status open_bytes(const char *path, const void *data, size_t size, bool mapped, mica_safetensors **out) {
  mica_safetensors *file = calloc(1, sizeof *file);
  if (!file) {
    if (mapped) mica__file_unmap(data, size);
    return mica__fail_nomem(path);
  }
  *file = (mica_safetensors){.data = data, .size = size, .mapped = mapped};
  mica_status status = parse_header(path, file);
  if (status == MICA_OK && MICA__HOST_BIG_ENDIAN) status = order_elements(path, file);
  if (status == MICA_OK)
    *out = file;
  else
    mica_safetensors_close(file);
  return status;
}

mica_status mica_safetensors_open_memory(const char *name, const void *data, size_t bytes, mica_safetensors **file) {
  if (!name || (!data && bytes) || !file)
    return mica__fail(MICA_E_INVALID, "mica_safetensors_open_memory: name, data or file is NULL");
  return open_bytes(name, data, bytes, false, file);
}

mica_status mica_safetensors_open(const char *path, mica_safetensors **file) {
  if (!path || !file) return mica__fail(MICA_E_INVALID, "mica_safetensors_open: path or file is NULL");
  const unsigned char *data = NULL;
  size_t size = 0;
  MICA_TRY(mica__file_map_signed(path, &data, &size));
  if (size == 0) return mica__fail(MICA_E_FORMAT, "%s is empty", path);
  return open_bytes(path, data, size, true, file);
}

const void *mica__safetensors_data(const mica_safetensors *file, size_t *bytes) {
  *bytes = file->size;
  return file->data;
}

size_t mica_safetensors_count(const mica_safetensors *file) { return file->count; }

const mica_safetensors_entry *mica_safetensors_at(const mica_safetensors *file, size_t index) {
  return index < file->count ? &file->entries[index] : NULL;
}

const mica_safetensors_entry *mica_safetensors_find(const mica_safetensors *file, const char *name) {
  const mica_safetensors_entry wanted = {.name = name}, *key = &wanted;
  const mica_safetensors_entry **found = bsearch(&key, file->by_name, file->count, sizeof *file->by_name, by_name);
  return found ? *found : NULL;
}

size_t mica_safetensors_metadata_count(const mica_safetensors *file) { return file->pair_count; }

mica_safetensors_pair mica_safetensors_metadata_at(const mica_safetensors *file, size_t index) {
  const cJSON *item = index < file->pair_count ? file->pairs[index] : NULL;
  return item ? (mica_safetensors_pair){item->string, item->valuestring} : (mica_safetensors_pair){NULL, NULL};
}

const char *mica_safetensors_metadata(const mica_safetensors *file, const char *key) {
  const bool own = !file->metadata || !strcmp(key, MICA__SAFETENSORS_HASH);
  const cJSON *item = own ? NULL : cJSON_GetObjectItemCaseSensitive(file->metadata, key);
  return item ? item->valuestring : NULL;
}

#endif
