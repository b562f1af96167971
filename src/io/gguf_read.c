#include "base/byte_order.h"
#include "base/checked.h"
#include "base/file.h"
#include "base/number.h"
#include "io/gguf.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Sizes in bytes. LEAST_PAIR: a key with its value is never smaller. LEAST_TENSOR: the smallest entry of a tensor,
 * which consists of name, rank, shape, type and offset. HEADER: the file's header. */
#define LEAST_PAIR 13
#define LEAST_TENSOR 25
#define HEADER 24

/* A header is parsed twice: first to check it and to count the room that it needs, then to fill that room. The second
 * pass checks against the room again, in case the file changed in between. */
typedef struct cursor {
  const char *path;
  const unsigned char *data;
  size_t size, at;
  const char *what; /* "key" or "tensor" while one is parsed, else NULL */
  mica_gguf_text name;
  mica__gguf_part *part; /* NULL in the first pass */
  uint64_t *offsets;     /* of tensors, in the second pass */
  size_t key_count, tensor_count;
  size_t texts, arrays, names; /* used so far */
  size_t most_texts, most_arrays, most_names;
} cursor;

#define WHERE 1200
/* Formats the position for messages: "x.gguf" or "x.gguf: key \"general.name\"". */
static const char *describe(const cursor *c, char text[WHERE]) {
  if (c->what)
    snprintf(text, WHERE, "%.800s: %s \"%.*s\"", c->path, c->what, (int)(c->name.length < 200 ? c->name.length : 200),
             c->name.bytes);
  else
    snprintf(text, WHERE, "%.800s", c->path);
  return text;
}

/* Fails with MICA_E_FORMAT and the current position. */
static mica_status fail_at(const cursor *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
static mica_status fail_at(const cursor *c, const char *format, ...) {
  char where[WHERE], reason[400];
  va_list arguments;
  va_start(arguments, format);
  mica__vsnprintf(reason, sizeof reason, format, arguments);
  va_end(arguments);
  return mica__fail(MICA_E_FORMAT, "%s: %s", describe(c, where), reason);
}

static mica_status need(const cursor *c, uint64_t bytes, const char *what) {
  if (bytes <= c->size - c->at) return MICA_OK;
  return fail_at(c, "the file is truncated: %s at byte %zu takes %" PRIu64 " bytes, but only %zu follow", what, c->at,
                 bytes, c->size - c->at);
}

static uint64_t number_at(const unsigned char *data, size_t width) {
  uint64_t number = 0;
  for (size_t i = width; i-- > 0;) number = number << 8 | data[i];
  return number;
}

static mica_status read_number(cursor *c, size_t width, const char *what, uint64_t *number) {
  MICA_TRY(need(c, width, what));
  *number = number_at(c->data + c->at, width);
  c->at += width;
  return MICA_OK;
}

static mica_status read_text(cursor *c, const char *what, mica_gguf_text *text) {
  uint64_t length = 0;
  MICA_TRY(read_number(c, 8, what, &length));
  MICA_TRY(need(c, length, what));
  *text = (mica_gguf_text){(const char *)c->data + c->at, (size_t)length};
  c->at += (size_t)length;
  return MICA_OK;
}

/* Allots n entries of an array and adds n to *taken. *first receives the index of the first of these entries. `most` is
 * the length of the array, as counted in the first pass. MICA_E_FORMAT: fewer than n entries are left, because the file
 * has changed since then. */
static mica_status take(const cursor *c, size_t *taken, size_t n, size_t most, size_t *first) {
  *first = *taken;
  if (n > most - *taken) return fail_at(c, "the file changed while it was opened");
  *taken += n;
  return MICA_OK;
}

/* Copies a name to part->names and sets *kept to the copy, which ends in a NUL. The first pass only counts the
 * bytes. */
static mica_status keep_name(cursor *c, mica_gguf_text text, const char **kept) {
  size_t first = 0;
  MICA_TRY(take(c, &c->names, text.length + 1, c->most_names, &first));
  if (!c->part) return MICA_OK;
  memcpy(c->part->names + first, text.bytes, text.length);
  *kept = c->part->names + first;
  return MICA_OK;
}

/* --- values --- */

static mica_status check_bools(const cursor *c, const mica_gguf_value *value) {
  const unsigned char *bools = value->data;
  for (size_t i = 0; value->kind == MICA_GGUF_KIND_BOOL && i < value->count; i++)
    if (bools[i] > 1) return fail_at(c, "element %zu is %d, but a bool must be 0 or 1", i, bools[i]);
  return MICA_OK;
}

static mica_status read_texts(cursor *c, mica_gguf_value *value) {
  size_t first = 0;
  MICA_TRY(take(c, &c->texts, value->count, c->most_texts, &first));
  mica_gguf_text *texts = c->part ? c->part->texts + first : NULL, scratch;
  for (size_t i = 0; i < value->count; i++) MICA_TRY(read_text(c, "a text", texts ? &texts[i] : &scratch));
  value->data = texts;
  return MICA_OK;
}

static mica_status read_array(cursor *c, int depth, mica_gguf_value *value);

static mica_status read_arrays(cursor *c, int depth, mica_gguf_value *value) {
  size_t first = 0;
  MICA_TRY(take(c, &c->arrays, value->count, c->most_arrays, &first));
  mica_gguf_value *arrays = c->part ? c->part->arrays + first : NULL, scratch = {0};
  for (size_t i = 0; i < value->count; i++) MICA_TRY(read_array(c, depth + 1, arrays ? &arrays[i] : &scratch));
  value->data = arrays;
  return MICA_OK;
}

/* Reads the elements of a value of known kind and count; depth: how many arrays it is nested in. */
static mica_status read_elements(cursor *c, uint64_t kind, uint64_t count, int depth, mica_gguf_value *value) {
  if (kind >= MICA_GGUF_KIND_COUNT) return fail_at(c, "a value is of the unknown kind %" PRIu64, kind);
  const size_t bytes = mica__gguf_kind_bytes((uint32_t)kind);
  const size_t least = bytes ? bytes : kind == MICA_GGUF_KIND_TEXT ? 8 : 12;
  if (count > (c->size - c->at) / least)
    return fail_at(c,
                   "the file is truncated: %" PRIu64 " elements of the kind %s at byte %zu, but only %zu bytes follow",
                   count, mica_gguf_kind_name((mica_gguf_kind)kind), c->at, c->size - c->at);
  value->kind = (mica_gguf_kind)kind;
  value->count = (size_t)count;
  if (kind == MICA_GGUF_KIND_TEXT) return read_texts(c, value);
  if (kind == MICA_GGUF_KIND_ARRAY) return read_arrays(c, depth, value);
  value->data = c->data + c->at;
  c->at += value->count * bytes;
  return check_bools(c, value);
}

static mica_status read_array(cursor *c, int depth, mica_gguf_value *value) {
  uint64_t kind = 0, count = 0;
  if (depth > MICA__GGUF_MAX_DEPTH) return fail_at(c, "arrays are nested more than %d deep", MICA__GGUF_MAX_DEPTH);
  value->array = true;
  MICA_TRY(read_number(c, 4, "the kind of an array", &kind));
  MICA_TRY(read_number(c, 8, "the length of an array", &count));
  return read_elements(c, kind, count, depth, value);
}

static mica_status read_pair(cursor *c, mica_gguf_value *value) {
  uint64_t kind = 0;
  MICA_TRY(read_text(c, "a key", &c->name));
  MICA_TRY(mica__gguf_check_name(MICA_E_FORMAT, c->path, "a key", c->name.bytes, c->name.length, MICA__GGUF_MAX_KEY));
  c->what = "key";
  MICA_TRY(keep_name(c, c->name, &value->key));
  MICA_TRY(read_number(c, 4, "a kind", &kind));
  MICA_TRY(kind == MICA_GGUF_KIND_ARRAY ? read_array(c, 1, value) : read_elements(c, kind, 1, 0, value));
  c->what = NULL;
  return MICA_OK;
}

/* --- tensors --- */

static mica_status read_shape(cursor *c, mica_shape *shape) {
  uint64_t rank = 0;
  MICA_TRY(read_number(c, 4, "a rank", &rank));
  if (rank > MICA__GGUF_MAX_RANK)
    return fail_at(c, "the rank is %" PRIu64 ", but must be at most %d", rank, MICA__GGUF_MAX_RANK);
  *shape = (mica_shape){.rank = (int32_t)rank};
  for (size_t i = (size_t)rank; i-- > 0;) {
    uint64_t dim = 0;
    MICA_TRY(read_number(c, 8, "a dimension", &dim));
    if (!mica__fits_i64(dim)) return fail_at(c, "a dimension of %" PRIu64 " elements is too large", dim);
    shape->dim[i] = (int64_t)dim;
  }
  return MICA_OK;
}

static mica_status read_type(cursor *c, const mica__gguf_type **type) {
  uint64_t number = 0;
  MICA_TRY(read_number(c, 4, "a type", &number));
  *type = mica__gguf_type_numbered((uint32_t)number);
  if (*type) return MICA_OK;
  const char *removed = mica__gguf_type_removed((uint32_t)number);
  if (removed)
    return fail_at(c, "it is of type %" PRIu64 ", %s, which GGUF no longer has; convert the model again", number,
                   removed);
  return fail_at(c, "it is of the unknown type %" PRIu64, number);
}

static mica_status read_tensor(cursor *c, size_t index, mica_weight_entry *entry) {
  const mica__gguf_type *type = NULL;
  uint64_t offset = 0;
  char text[MICA_SHAPE_TEXT];
  MICA_TRY(read_text(c, "the name of a tensor", &c->name));
  MICA_TRY(mica__gguf_check_name(MICA_E_FORMAT, c->path, "the name of a tensor", c->name.bytes, c->name.length,
                                 MICA__GGUF_MAX_NAME));
  c->what = "tensor";
  MICA_TRY(keep_name(c, c->name, &entry->name));
  MICA_TRY(read_shape(c, &entry->shape));
  MICA_TRY(read_type(c, &type));
  MICA_TRY(read_number(c, 8, "an offset", &offset));
  entry->type = type->name;
  entry->dtype = type->dtype;
  entry->block = type->block;
  const int32_t rank = entry->shape.rank;
  const int64_t row = rank ? entry->shape.dim[rank - 1] : 1;
  if (row % type->elements)
    return fail_at(c, "rows of %" PRId64 " elements are not a whole number of blocks of %s, which have %" PRId64, row,
                   type->name, type->elements);
  if (!mica__gguf_bytes(type, entry->shape, &entry->bytes))
    return fail_at(c, "%s %s takes 2^63 bytes or more", type->name, mica_shape_format(entry->shape, text));
  if (c->offsets) c->offsets[index] = offset;
  c->what = NULL;
  return MICA_OK;
}

static int by_data(const void *a, const void *b) {
  const mica_weight_entry *const *x = a, *const *y = b;
  if ((*x)->data != (*y)->data) return (const char *)(*x)->data < (const char *)(*y)->data ? -1 : 1;
  if ((*x)->bytes != (*y)->bytes) return (*x)->bytes < (*y)->bytes ? -1 : 1;
  return strcmp((*x)->name, (*y)->name);
}

static mica_status check_overlaps(const char *path, const mica__weight_table *tensors) {
  const mica_weight_entry **sorted = tensors->by_name, *last = NULL;
  for (size_t i = 0; i < tensors->count; i++) sorted[i] = &tensors->entries[i];
  qsort(sorted, tensors->count, sizeof *sorted, by_data);
  for (size_t i = 0; i < tensors->count; i++) {
    if (sorted[i]->bytes == 0) continue;
    if (last && (const char *)sorted[i]->data < (const char *)last->data + last->bytes)
      return mica__fail(MICA_E_FORMAT, "%s: tensor \"%.200s\" overlaps tensor \"%.200s\"", path, sorted[i]->name,
                        last->name);
    last = sorted[i];
  }
  return MICA_OK;
}

/* Finds the tensors' data, which begin at the first multiple of the alignment after the header. */
static mica_status find_data(cursor *c, size_t alignment) {
  size_t begin = 0;
  if (!mica__add_size(c->at, alignment - 1, &begin)) return fail_at(c, "its header is too long");
  begin -= begin % alignment;
  for (size_t i = 0; i < c->tensor_count; i++) {
    mica_weight_entry *entry = &c->part->tensors.entries[i];
    const uint64_t offset = c->offsets[i];
    c->what = "tensor";
    c->name = (mica_gguf_text){entry->name, strlen(entry->name)};
    if (offset % alignment)
      return fail_at(c, "its offset %" PRIu64 " is not a multiple of the alignment, %zu", offset, alignment);
    const size_t room = begin < c->size ? c->size - begin : 0;
    if (offset > room || entry->bytes > room - (size_t)offset)
      return fail_at(c, "the file is truncated: its %zu bytes begin at byte %zu + %" PRIu64 ", and the file has %zu",
                     entry->bytes, begin, offset, c->size);
    entry->data = c->data + (entry->bytes ? begin + (size_t)offset : 0);
  }
  c->what = NULL;
  return MICA_OK;
}

/* --- a whole file --- */

static mica_status walk(cursor *c) {
  c->at = HEADER;
  c->texts = c->arrays = c->names = 0;
  for (size_t i = 0; i < c->key_count; i++) {
    mica_gguf_value scratch = {0};
    MICA_TRY(read_pair(c, c->part ? &c->part->keys[i] : &scratch));
  }
  for (size_t i = 0; i < c->tensor_count; i++) {
    mica_weight_entry scratch = {0};
    MICA_TRY(read_tensor(c, i, c->part ? &c->part->tensors.entries[i] : &scratch));
  }
  return MICA_OK;
}

static mica_status read_counts(cursor *c) {
  uint64_t version = 0, tensors = 0, keys = 0;
  if (c->size < 4 || memcmp(c->data, "GGUF", 4) != 0)
    return fail_at(c, "it is not a GGUF file: it does not begin with GGUF");
  c->at = 4;
  MICA_TRY(read_number(c, 4, "the version", &version));
  if (version == 0x02000000 || version == 0x03000000)
    return fail_at(c, "it is a big-endian GGUF file; convert it to little-endian, for example by gguf-convert-endian");
  if (version != 2 && version != 3)
    return fail_at(c, "the file is GGUF version %" PRIu64 ", but Mica reads 2 and 3", version);
  MICA_TRY(read_number(c, 8, "the number of tensors", &tensors));
  MICA_TRY(read_number(c, 8, "the number of keys", &keys));
  const size_t room = c->size - HEADER;
  if (keys > room / LEAST_PAIR || tensors > (room - (size_t)keys * LEAST_PAIR) / LEAST_TENSOR)
    return fail_at(c, "the file is truncated: %" PRIu64 " keys and %" PRIu64 " tensors do not fit %zu bytes", keys,
                   tensors, c->size);
  c->key_count = (size_t)keys;
  c->tensor_count = (size_t)tensors;
  return MICA_OK;
}

/* Allocates room for what the first pass counted; the file's size bounds all of it. */
static mica_status make_room(cursor *c, mica__gguf_part *part) {
  part->keys = calloc(c->key_count + 1, sizeof *part->keys);
  part->texts = c->texts < SIZE_MAX / sizeof *part->texts ? calloc(c->texts + 1, sizeof *part->texts) : NULL;
  part->arrays = c->arrays < SIZE_MAX / sizeof *part->arrays ? calloc(c->arrays + 1, sizeof *part->arrays) : NULL;
  part->names = calloc(c->names + 1, 1);
  c->offsets = calloc(c->tensor_count + 1, sizeof *c->offsets);
  if (!part->keys || !part->texts || !part->arrays || !part->names || !c->offsets) return mica__fail_nomem(c->path);
  MICA_TRY(mica__weight_table_make(&part->tensors, c->tensor_count));
  part->key_count = c->key_count;
  c->most_texts = c->texts;
  c->most_arrays = c->arrays;
  c->most_names = c->names;
  c->part = part;
  return MICA_OK;
}

static size_t number_bytes(const mica_gguf_value *value) {
  return value->count * mica__gguf_kind_bytes((uint32_t)value->kind);
}

static void order(unsigned char **at, const void **data, size_t bytes, size_t width) {
  if (bytes) memcpy(*at, *data, bytes);
  mica__bytes_from_file(false, *at, bytes / width, width);
  *data = *at;
  *at += bytes;
}

/* Copies numbers in the byte order of a big-endian host; blocks stay as they are. */
static mica_status order_numbers(const cursor *c, mica__gguf_part *part) {
  size_t bytes = 0;
  for (size_t i = 0; i < part->key_count; i++) bytes += number_bytes(&part->keys[i]);
  for (size_t i = 0; i < c->arrays; i++) bytes += number_bytes(&part->arrays[i]);
  for (size_t i = 0; i < part->tensors.count; i++) bytes += part->tensors.entries[i].bytes;
  unsigned char *at = part->ordered = malloc(bytes + 1);
  if (!at) return mica__fail_nomem(c->path);
  for (size_t i = 0; i < part->key_count + c->arrays; i++) {
    mica_gguf_value *value = i < part->key_count ? &part->keys[i] : &part->arrays[i - part->key_count];
    const size_t width = mica__gguf_kind_bytes((uint32_t)value->kind);
    if (width) order(&at, &value->data, number_bytes(value), width);
  }
  for (size_t i = 0; i < part->tensors.count; i++) {
    mica_weight_entry *entry = &part->tensors.entries[i];
    if (entry->dtype != MICA_DTYPE_COUNT) order(&at, &entry->data, entry->bytes, mica_dtype_size(entry->dtype));
  }
  return MICA_OK;
}

static mica_status fill(cursor *c, mica__gguf_part *part) {
  size_t alignment = 0;
  MICA_TRY(walk(c));
  MICA_TRY(mica__gguf_sort_keys(MICA_E_FORMAT, c->path, part->keys, part->key_count, &part->by_key));
  MICA_TRY(
      mica__gguf_alignment(MICA_E_FORMAT, c->path, mica__gguf_part_find(part, MICA__GGUF_ALIGNMENT_KEY), &alignment));
  MICA_TRY(find_data(c, alignment));
  MICA_TRY(check_overlaps(c->path, &part->tensors));
  return MICA__HOST_BIG_ENDIAN ? order_numbers(c, part) : MICA_OK;
}

mica_status mica__gguf_part_read(mica__gguf_part *part) {
  cursor c = {.path = part->file.path,
              .data = part->file.data,
              .size = part->file.bytes,
              .most_texts = SIZE_MAX,
              .most_arrays = SIZE_MAX,
              .most_names = SIZE_MAX};
  MICA_TRY(read_counts(&c));
  MICA_TRY(walk(&c));
  mica_status status = make_room(&c, part);
  if (status == MICA_OK) status = fill(&c, part);
  free(c.offsets);
  return status;
}

static int key_order(const void *key, const void *value) {
  return strcmp(key, (*(const mica_gguf_value *const *)value)->key);
}

const mica_gguf_value *mica__gguf_part_find(const mica__gguf_part *part, const char *key) {
  const mica_gguf_value **found =
      part->key_count ? bsearch(key, part->by_key, part->key_count, sizeof *part->by_key, key_order) : NULL;
  return found ? *found : NULL;
}

void mica__gguf_part_free(mica__gguf_part *part) {
  if (part->mapped) mica__file_unmap(part->file.data, part->file.bytes);
  mica__weight_table_free(&part->tensors);
  free(part->path);
  free(part->keys);
  free(part->by_key);
  free(part->texts);
  free(part->arrays);
  free(part->names);
  free(part->ordered);
  *part = (mica__gguf_part){0};
}
