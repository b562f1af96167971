#include "io/gguf.h"
#include "base/signature.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- a file, or its shards --- */

struct mica_gguf {
  mica__gguf_part *parts;
  size_t part_count;
  mica__weight_table joined; /* the tensors of all parts */
};

void mica_gguf_close(mica_gguf *file) {
  if (!file) return;
  for (size_t i = 0; i < file->part_count; i++) mica__gguf_part_free(&file->parts[i]);
  mica__weight_table_free(&file->joined);
  free(file->parts);
  free(file);
}

/* Adds a file. If `data` is not NULL, the file is the `bytes` bytes at data; otherwise it is mapped from `path`. */
static mica_status add_part(mica_gguf *file, const char *path, const void *data, size_t bytes) {
  mica__gguf_part *parts = realloc(file->parts, (file->part_count + 1) * sizeof *parts);
  if (!parts) return mica__fail_nomem(path);
  file->parts = parts;
  mica__gguf_part *part = &parts[file->part_count++];
  *part = (mica__gguf_part){.file = {.data = data, .bytes = bytes}, .path = mica__strdup(path)};
  if (!part->path) return mica__fail_nomem(path);
  part->file.path = part->path;
  if (!data) {
    const unsigned char *mapped = NULL;
    MICA_TRY(mica__file_map_signed(path, &mapped, &part->file.bytes));
    part->file.data = mapped;
    part->mapped = true;
  }
  return mica__gguf_part_read(part);
}

static mica_status join(mica_gguf *file, const char *path) {
  size_t count = 0, at = 0;
  for (size_t i = 0; i < file->part_count; i++) count += file->parts[i].tensors.count;
  MICA_TRY(mica__weight_table_make(&file->joined, count));
  for (size_t i = 0; i < file->part_count; i++) {
    const mica__weight_table *tensors = &file->parts[i].tensors;
    for (size_t t = 0; t < tensors->count; t++) {
      file->joined.entries[at] = tensors->entries[t];
      file->joined.entries[at++].file = i;
    }
  }
  return mica__weight_table_sort(MICA_E_FORMAT, &file->joined, path);
}

/* Parses a name "X-0000K-of-0000N.gguf": *stem is the length of X, *number K, *count N; false for other names. */
static bool parse_shard(const char *path, size_t *stem, int *number, int *count) {
  static const char ending[] = ".gguf", form[] = "-ddddd-of-ddddd";
  const size_t n = strlen(path), tail = sizeof form - 1 + sizeof ending - 1;
  if (n <= tail || strcmp(path + n - (sizeof ending - 1), ending) != 0) return false;
  *stem = n - tail;
  for (size_t i = 0; form[i]; i++) {
    const char c = path[*stem + i];
    if (form[i] == 'd' ? c < '0' || c > '9' : c != form[i]) return false;
  }
  *number = atoi(path + *stem + 1);
  *count = atoi(path + *stem + 10);
  return true;
}

/* Returns an integer of a header; -1 if the value is of another kind. */
static int64_t shard_number(const mica_gguf_value *value) {
  const bool integer = value->kind != MICA_GGUF_KIND_TEXT && value->kind != MICA_GGUF_KIND_BOOL &&
                       value->kind != MICA_GGUF_KIND_F32 && value->kind != MICA_GGUF_KIND_F64;
  return integer && value->count ? mica_gguf_integer(value, 0) : -1;
}

static const char *format_number(int64_t number, char text[24]) {
  if (number < 0) return "not an integer";
  snprintf(text, 24, "%" PRId64, number);
  return text;
}

static mica_status check_shard(const mica__gguf_part *part, int number, int count) {
  const mica_gguf_value *no = mica__gguf_part_find(part, "split.no"), *of = mica__gguf_part_find(part, "split.count");
  if (!no || !of)
    return mica__fail(MICA_E_FORMAT, "%s: its name says shard %d of %d, but it lacks the key split.no or split.count",
                      part->path, number, count);
  if (shard_number(no) == number - 1 && shard_number(of) == count) return MICA_OK;
  char no_text[24], of_text[24];
  return mica__fail(MICA_E_FORMAT,
                    "%s: its name says shard %d of %d, so its key split.no must be %d and split.count %d, but they are "
                    "%s and %s",
                    part->path, number, count, number - 1, count, format_number(shard_number(no), no_text),
                    format_number(shard_number(of), of_text));
}

static mica_status add_shards(mica_gguf *file, const char *path, size_t stem, int count) {
  const size_t room = strlen(path) + 32;
  char *name = malloc(room);
  if (!name) return mica__fail_nomem(path);
  mica_status status = check_shard(&file->parts[0], 1, count);
  for (int i = 2; status == MICA_OK && i <= count; i++) {
    snprintf(name, room, "%.*s-%05d-of-%05d.gguf", (int)stem, path, i, count);
    status = add_part(file, name, NULL, 0);
    if (status == MICA_OK) status = check_shard(&file->parts[file->part_count - 1], i, count);
  }
  free(name);
  if (status != MICA_OK) return status;
  size_t tensors = 0;
  for (size_t i = 0; i < file->part_count; i++) tensors += file->parts[i].tensors.count;
  const mica_gguf_value *all = mica__gguf_part_find(&file->parts[0], "split.tensors.count");
  if (!all || mica_gguf_integer(all, 0) == (int64_t)tensors) return MICA_OK;
  return mica__fail(MICA_E_FORMAT, "%s: its %d shards have %zu tensors, but its key split.tensors.count is %" PRId64,
                    path, count, tensors, mica_gguf_integer(all, 0));
}

static mica_status open_files(mica_gguf *file, const char *path) {
  size_t stem = 0;
  int number = 0, count = 0;
  const bool is_shard = parse_shard(path, &stem, &number, &count);
  if (is_shard && (number < 1 || number > count))
    return mica__fail(MICA_E_FORMAT, "%s: its name says shard %d of %d, but shards are numbered from 1 to their number",
                      path, number, count);
  if (is_shard && number > 1)
    return mica__fail(MICA_E_FORMAT, "%s is shard %d of %d; open the first one, %.*s-00001-of-%05d.gguf", path, number,
                      count, (int)stem, path, count);
  MICA_TRY(add_part(file, path, NULL, 0));
  if (is_shard) return add_shards(file, path, stem, count);
  const mica_gguf_value *of = mica__gguf_part_find(&file->parts[0], "split.count");
  if (mica_gguf_integer(of, 0) <= 1) return MICA_OK;
  const int64_t no = mica_gguf_integer(mica__gguf_part_find(&file->parts[0], "split.no"), 0);
  return mica__fail(MICA_E_FORMAT,
                    "%s is shard %" PRId64 " of %" PRId64 ", but its name does not end in -%05" PRId64 "-of-%05" PRId64
                    ".gguf; rename all shards in this way",
                    path, no + 1, mica_gguf_integer(of, 0), no + 1, mica_gguf_integer(of, 0));
}

static mica_status open_any(const char *path, const void *data, size_t bytes, mica_gguf **out) {
  mica_gguf *file = calloc(1, sizeof *file);
  if (!file) return mica__fail_nomem(path);
  mica_status status = data ? add_part(file, path, data, bytes) : open_files(file, path);
  if (status == MICA_OK) status = join(file, path);
  if (status == MICA_OK)
    *out = file;
  else
    mica_gguf_close(file);
  return status;
}

mica_status mica_gguf_open(const char *path, mica_gguf **file) {
  if (!path || !file) return mica__fail(MICA_E_INVALID, "mica_gguf_open: path or file is NULL");
  return open_any(path, NULL, 0, file);
}

mica_status mica_gguf_open_memory(const char *name, const void *data, size_t bytes, mica_gguf **file) {
  if (!name || (!data && bytes) || !file)
    return mica__fail(MICA_E_INVALID, "mica_gguf_open_memory: name, data or file is NULL");
  return open_any(name, data ? data : "", bytes, file);
}

/* --- the contents of a file --- */

size_t mica_gguf_key_count(const mica_gguf *file) { return file->parts[0].key_count; }

const mica_gguf_value *mica_gguf_key_at(const mica_gguf *file, size_t index) {
  return index < file->parts[0].key_count ? &file->parts[0].keys[index] : NULL;
}

const mica_gguf_value *mica_gguf_find(const mica_gguf *file, const char *key) {
  return file && key ? mica__gguf_part_find(&file->parts[0], key) : NULL;
}

size_t mica_gguf_tensor_count(const mica_gguf *file) { return file->joined.count; }

const mica_weight_entry *mica_gguf_tensor(const mica_gguf *file, size_t index) {
  return index < file->joined.count ? &file->joined.entries[index] : NULL;
}

size_t mica_gguf_file_count(const mica_gguf *file) { return file->part_count; }

const mica_weight_file *mica_gguf_file_at(const mica_gguf *file, size_t index) {
  return index < file->part_count ? &file->parts[index].file : NULL;
}
