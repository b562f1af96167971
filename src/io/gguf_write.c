#include "base/byte_order.h"
#include "base/checked.h"
#include "base/file.h"
#include "base/text.h"
#include "io/gguf.h"

#include <stdlib.h>
#include <string.h>

/* A file that is being written: its header, and what the header says of the tensors. */
typedef struct writer {
  const char *path;
  mica__text header;
  size_t alignment;
  const mica__gguf_type **types; /* of the tensors */
} writer;

static void add_number(writer *w, uint64_t number, size_t width) {
  char bytes[8];
  for (size_t i = 0; i < width; i++) bytes[i] = (char)(unsigned char)(number >> (8 * i));
  mica__text_add_bytes(&w->header, bytes, width);
}

static void add_text(writer *w, const char *text, size_t length) {
  add_number(w, length, 8);
  mica__text_add_bytes(&w->header, text, length);
}

static mica_status add_elements(writer *w, const char *key, const mica_gguf_value *value, int depth);

static mica_status add_array(writer *w, const char *key, const mica_gguf_value *value, int depth) {
  if (depth > MICA__GGUF_MAX_DEPTH)
    return mica__fail(MICA_E_INVALID, "%s: the arrays of key \"%s\" are nested more than %d deep", w->path, key,
                      MICA__GGUF_MAX_DEPTH);
  add_number(w, (uint64_t)value->kind, 4);
  add_number(w, value->count, 8);
  return add_elements(w, key, value, depth);
}

static mica_status add_elements(writer *w, const char *key, const mica_gguf_value *value, int depth) {
  const size_t width = mica__gguf_kind_bytes((uint32_t)value->kind);
  if ((unsigned)value->kind >= MICA_GGUF_KIND_COUNT)
    return mica__fail(MICA_E_INVALID, "%s: key \"%s\" has the unknown kind %d", w->path, key, (int)value->kind);
  if (value->count && !value->data)
    return mica__fail(MICA_E_INVALID, "%s: the data of key \"%s\" is NULL", w->path, key);
  for (size_t i = 0; value->kind == MICA_GGUF_KIND_BOOL && i < value->count; i++)
    if (((const unsigned char *)value->data)[i] > 1)
      return mica__fail(MICA_E_INVALID, "%s: element %zu of key \"%s\" is a bool that is neither 0 nor 1", w->path, i,
                        key);
  for (size_t i = 0; value->kind == MICA_GGUF_KIND_TEXT && i < value->count; i++) {
    const mica_gguf_text text = mica_gguf_text_at(value, i);
    if (!text.bytes && text.length)
      return mica__fail(MICA_E_INVALID, "%s: text %zu of key \"%s\" is NULL", w->path, i, key);
    add_text(w, text.bytes, text.length);
  }
  for (size_t i = 0; value->kind == MICA_GGUF_KIND_ARRAY && i < value->count; i++)
    MICA_TRY(add_array(w, key, mica_gguf_array_at(value, i), depth + 1));
  if (!width || !value->count) return MICA_OK;
  size_t bytes = 0;
  if (!mica__mul_size(value->count, width, &bytes))
    return mica__fail(MICA_E_INVALID, "%s: key \"%s\" has too many elements", w->path, key);
  const size_t begin = w->header.length;
  mica__text_add_bytes(&w->header, value->data, bytes);
  if (MICA__HOST_BIG_ENDIAN && !w->header.failed)
    mica__bytes_from_file(false, (uint8_t *)w->header.data + begin, value->count, width);
  return MICA_OK;
}

static mica_status add_pair(writer *w, const mica_gguf_value *value) {
  add_text(w, value->key, strlen(value->key));
  if (value->array) {
    add_number(w, MICA_GGUF_KIND_ARRAY, 4);
    return add_array(w, value->key, value, 1);
  }
  if (value->count != 1 || value->kind == MICA_GGUF_KIND_ARRAY)
    return mica__fail(
        MICA_E_INVALID,
        "%s: key \"%s\" has %zu elements of the kind %s; set array, or give one element that is not an array", w->path,
        value->key, value->count, mica_gguf_kind_name(value->kind));
  add_number(w, (uint64_t)value->kind, 4);
  return add_elements(w, value->key, value, 0);
}

static mica_status check_tensor(const writer *w, const mica_weight_entry *entry, size_t index,
                                const mica__gguf_type **type) {
  char text[MICA_SHAPE_TEXT];
  size_t bytes = 0;
  if (!entry->name) return mica__fail(MICA_E_INVALID, "%s: tensor %zu has no name", w->path, index);
  MICA_TRY(mica__gguf_check_name(MICA_E_INVALID, w->path, "the name of a tensor", entry->name, strlen(entry->name),
                                 MICA__GGUF_MAX_NAME));
  *type = mica__gguf_type_of(entry);
  if (!*type)
    return mica__fail(MICA_E_INVALID, "%s: tensor \"%s\" is of a type that GGUF lacks%s%s", w->path, entry->name,
                      mica_dtype_is_valid(entry->dtype) ? ", " : "",
                      mica_dtype_is_valid(entry->dtype) ? mica_dtype_name(entry->dtype) : "");
  if (!mica__gguf_bytes(*type, entry->shape, &bytes))
    return mica__fail(
        MICA_E_INVALID,
        "%s: GGUF cannot hold tensor \"%s\" as %s %s; it needs at most %d dimensions, rows of whole blocks "
        "(%lld elements), and less than 2^63 bytes",
        w->path, entry->name, (*type)->name,
        mica_shape_is_valid(entry->shape) ? mica_shape_format(entry->shape, text) : "?", MICA__GGUF_MAX_RANK,
        (long long)(*type)->elements);
  if (bytes != entry->bytes)
    return mica__fail(MICA_E_INVALID, "%s: tensor \"%s\" has %zu bytes, but as %s %s must have %zu", w->path,
                      entry->name, entry->bytes, (*type)->name, mica_shape_format(entry->shape, text), bytes);
  if (bytes && !entry->data)
    return mica__fail(MICA_E_INVALID, "%s: the data of tensor \"%s\" is NULL", w->path, entry->name);
  return MICA_OK;
}

static mica_status add_tensors(writer *w, const mica_weight_entry *tensors, size_t count) {
  uint64_t offset = 0;
  for (size_t i = 0; i < count; i++) {
    const mica_shape shape = tensors[i].shape;
    add_text(w, tensors[i].name, strlen(tensors[i].name));
    add_number(w, (uint64_t)shape.rank, 4);
    for (int32_t d = shape.rank; d-- > 0;) add_number(w, (uint64_t)shape.dim[d], 8);
    add_number(w, (uint64_t)w->types[i]->number, 4);
    add_number(w, offset, 8);
    const uint64_t padded = (tensors[i].bytes + w->alignment - 1) / w->alignment * w->alignment;
    if (padded > INT64_MAX - offset)
      return mica__fail(MICA_E_INVALID, "%s: the tensors take 2^63 bytes or more", w->path);
    offset += padded;
  }
  while (!w->header.failed && w->header.length % w->alignment) mica__text_add_bytes(&w->header, "", 1);
  return mica__text_status(&w->header);
}

/* Needed only on a big-endian host: copies the elements and swaps their bytes to the file's byte order. Blocks are not
 * copied. The pieces then point to the copies. The caller frees *ordered. */
static mica_status order_elements(const writer *w, const mica_weight_entry *tensors, size_t count, mica__bytes *pieces,
                                  unsigned char **ordered) {
  size_t bytes = 0;
  if (!MICA__HOST_BIG_ENDIAN) return MICA_OK;
  for (size_t i = 0; i < count; i++) bytes += tensors[i].bytes;
  unsigned char *at = *ordered = malloc(bytes + 1);
  if (!at) return mica__fail_nomem(w->path);
  for (size_t i = 0; i < count; i++) {
    if (w->types[i]->dtype == MICA_DTYPE_COUNT || !tensors[i].bytes) continue;
    memcpy(at, tensors[i].data, tensors[i].bytes);
    mica__bytes_from_file(false, at, tensors[i].bytes / w->types[i]->bytes, w->types[i]->bytes);
    pieces[1 + 2 * i].data = at;
    at += tensors[i].bytes;
  }
  return MICA_OK;
}

static mica_status write_file(const writer *w, const mica_weight_entry *tensors, size_t count) {
  static const char zeros[MICA__GGUF_MAX_ALIGNMENT];
  mica__bytes *pieces = count < SIZE_MAX / 4 / sizeof *pieces ? calloc(1 + 2 * count, sizeof *pieces) : NULL;
  unsigned char *ordered = NULL;
  if (!pieces) return mica__fail_nomem(w->path);
  pieces[0] = (mica__bytes){w->header.data, w->header.length};
  for (size_t i = 0; i < count; i++) {
    const size_t over = tensors[i].bytes % w->alignment;
    pieces[1 + 2 * i] = (mica__bytes){tensors[i].data, tensors[i].bytes};
    pieces[2 + 2 * i] = (mica__bytes){zeros, over ? w->alignment - over : 0};
  }
  mica_status status = order_elements(w, tensors, count, pieces, &ordered);
  mica__file_sweep(w->path);
  if (status == MICA_OK) status = mica__file_replace(w->path, pieces, 1 + 2 * count);
  free(ordered);
  free(pieces);
  return status;
}

/* Checks that keys and names are unique, and gets the alignment from its key. */
static mica_status check_names(writer *w, const mica_gguf_value *keys, size_t key_count,
                               const mica_weight_entry *tensors, size_t tensor_count) {
  const mica_gguf_value **sorted = NULL, *asked = NULL;
  for (size_t i = 0; i < key_count; i++) {
    if (!keys[i].key) return mica__fail(MICA_E_INVALID, "%s: key %zu has no name", w->path, i);
    MICA_TRY(
        mica__gguf_check_name(MICA_E_INVALID, w->path, "a key", keys[i].key, strlen(keys[i].key), MICA__GGUF_MAX_KEY));
    if (!strcmp(keys[i].key, MICA__GGUF_ALIGNMENT_KEY)) asked = &keys[i];
  }
  mica_status status = mica__gguf_sort_keys(MICA_E_INVALID, w->path, keys, key_count, &sorted);
  free(sorted);
  if (status == MICA_OK && asked && (!asked->data || asked->count != 1))
    status = mica__fail(MICA_E_INVALID, "%s: key \"%s\" must have one value", w->path, asked->key);
  if (status == MICA_OK) status = mica__gguf_alignment(MICA_E_INVALID, w->path, asked, &w->alignment);
  if (status != MICA_OK) return status;
  mica__weight_table names = {0};
  status = mica__weight_table_make(&names, tensor_count);
  if (status == MICA_OK && tensor_count) memcpy(names.entries, tensors, tensor_count * sizeof *tensors);
  if (status == MICA_OK) status = mica__weight_table_sort(MICA_E_INVALID, &names, w->path);
  mica__weight_table_free(&names);
  return status;
}

static mica_status make_header(writer *w, const mica_gguf_value *keys, size_t key_count,
                               const mica_weight_entry *tensors, size_t tensor_count) {
  for (size_t i = 0; i < tensor_count; i++) MICA_TRY(check_tensor(w, &tensors[i], i, &w->types[i]));
  MICA_TRY(check_names(w, keys, key_count, tensors, tensor_count));
  mica__text_add(&w->header, "GGUF");
  add_number(w, 3, 4);
  add_number(w, tensor_count, 8);
  add_number(w, key_count, 8);
  for (size_t i = 0; i < key_count; i++) MICA_TRY(add_pair(w, &keys[i]));
  return add_tensors(w, tensors, tensor_count);
}

mica_status mica_gguf_write(const char *path, const mica_gguf_value *keys, size_t key_count,
                            const mica_weight_entry *tensors, size_t tensor_count) {
  if (!path || (!keys && key_count) || (!tensors && tensor_count))
    return mica__fail(MICA_E_INVALID, "mica_gguf_write: path, keys or tensors is NULL");
  writer w = {.path = path, .types = calloc(tensor_count + 1, sizeof *w.types)};
  if (!w.types) return mica__fail_nomem(path);
  mica_status status = make_header(&w, keys, key_count, tensors, tensor_count);
  if (status == MICA_OK) status = write_file(&w, tensors, tensor_count);
  mica__text_free(&w.header);
  free(w.types);
  return status;
}
