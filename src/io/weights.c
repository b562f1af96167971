#include "base/signature.h"
#include "io/gguf.h"
#include "io/safetensors.h"
#include "io/shards.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Weights from one GGUF file (in one or several shards) or from safetensors files. */
struct mica_weights {
  atomic_size_t owners;
  mica_gguf *gguf;
  mica_safetensors **parts;
  char **paths; /* of the parts */
  size_t part_count;
  mica_weight_file *files;
  size_t file_count;
  mica__weight_table table;
};

mica_weights *mica_weights_retain(mica_weights *weights) {
  if (weights) atomic_fetch_add_explicit(&weights->owners, 1, memory_order_relaxed);
  return weights;
}

void mica_weights_close(mica_weights *weights) {
  if (!weights || atomic_fetch_sub_explicit(&weights->owners, 1, memory_order_acq_rel) != 1) return;
  mica_gguf_close(weights->gguf);
  for (size_t i = 0; i < weights->part_count; i++) {
    mica_safetensors_close(weights->parts[i]);
    free(weights->paths[i]);
  }
  free(weights->parts);
  free(weights->paths);
  free(weights->files);
  mica__weight_table_free(&weights->table);
  free(weights);
}

/* --- safetensors --- */

static mica_status make_parts(mica_weights *w, size_t count) {
  w->parts = calloc(count, sizeof *w->parts);
  w->paths = calloc(count, sizeof *w->paths);
  w->files = calloc(count, sizeof *w->files);
  return w->parts && w->paths && w->files ? MICA_OK : mica__fail_nomem("a list of files");
}

/* Opens the file `name` as the next part. folder: the folder's path in `length` bytes, with the slash. */
static mica_status add_part(mica_weights *w, const char *folder, size_t length, const char *name) {
  const size_t n = strlen(name);
  char *path = malloc(length + n + 1);
  if (!path) return mica__fail_nomem(name);
  memcpy(path, folder, length);
  memcpy(path + length, name, n + 1);
  const size_t at = w->part_count++;
  w->paths[at] = path;
  MICA_TRY(mica_safetensors_open(path, &w->parts[at]));
  w->files[at].path = path;
  w->files[at].data = mica__safetensors_data(w->parts[at], &w->files[at].bytes);
  w->file_count = w->part_count;
  return MICA_OK;
}

static mica_status join_parts(mica_weights *w, const char *path) {
  size_t count = 0, at = 0;
  for (size_t i = 0; i < w->part_count; i++) count += mica_safetensors_count(w->parts[i]);
  MICA_TRY(mica__weight_table_make(&w->table, count));
  for (size_t i = 0; i < w->part_count; i++)
    for (size_t t = 0; t < mica_safetensors_count(w->parts[i]); t++) {
      const mica_safetensors_entry *entry = mica_safetensors_at(w->parts[i], t);
      w->table.entries[at++] = (mica_weight_entry){.name = entry->name,
                                                   .type = entry->type,
                                                   .dtype = entry->dtype,
                                                   .shape = entry->shape,
                                                   .data = entry->data,
                                                   .bytes = entry->bytes,
                                                   .file = i};
    }
  return mica__weight_table_sort(MICA_E_FORMAT, &w->table, path);
}

/* Checks that the index lists every tensor under the right file, and that every tensor in the index exists. A wrong
 * total size is only a warning. */
static mica_status check_index(const mica_weights *w, const char *path, const mica__shards *shards) {
  uint64_t bytes = 0, total = 0;
  for (size_t i = 0; i < w->table.count; i++) {
    const mica_weight_entry *entry = &w->table.entries[i];
    const char *file = mica__shards_file_of(shards, entry->name), *has = w->paths[entry->file];
    if (!file) return mica__fail(MICA_E_FORMAT, "%s: tensor \"%.200s\" is not in the index", has, entry->name);
    if (strcmp(file, mica__shards_file(shards, entry->file)) != 0)
      return mica__fail(MICA_E_FORMAT, "%s: tensor \"%.200s\" is in %s, but the index says %.200s", path, entry->name,
                        has, file);
    bytes += entry->bytes;
  }
  for (size_t i = 0; i < mica__shards_count(shards); i++) {
    const char *name = mica__shards_name(shards, i);
    if (!mica__weight_table_find(&w->table, name))
      return mica__fail(MICA_E_FORMAT, "%s: tensor \"%.200s\" is not in %.200s, where the index says it is", path, name,
                        mica__shards_file_of(shards, name));
  }
  if (mica__shards_total(shards, &total) && total != bytes)
    mica__log(MICA_LOG_LEVEL_WARNING, "%s: total_size is %" PRIu64 ", but the tensors have %" PRIu64 " bytes", path,
              total, bytes);
  return MICA_OK;
}

static mica_status open_shards(mica_weights *w, const char *path, const mica__shards *shards) {
  const char *slash = strrchr(path, '/');
  const size_t folder = slash ? (size_t)(slash + 1 - path) : 0;
  MICA_TRY(make_parts(w, mica__shards_file_count(shards)));
  for (size_t i = 0; i < mica__shards_file_count(shards); i++)
    MICA_TRY(add_part(w, path, folder, mica__shards_file(shards, i)));
  MICA_TRY(join_parts(w, path));
  return check_index(w, path, shards);
}

static mica_status open_index(mica_weights *w, const char *path, const unsigned char *data, size_t bytes) {
  mica__shards *shards = NULL;
  MICA_TRY(mica__shards_parse(path, (const char *)data, bytes, &shards));
  mica_status status = open_shards(w, path, shards);
  mica__shards_free(shards);
  return status;
}

static mica_status open_safetensors(mica_weights *w, const char *path) {
  MICA_TRY(make_parts(w, 1));
  MICA_TRY(add_part(w, "", 0, path));
  return join_parts(w, path);
}

/* --- GGUF --- */

static mica_status open_gguf(mica_weights *w, const char *path) {
  MICA_TRY(mica_gguf_open(path, &w->gguf));
  w->file_count = mica_gguf_file_count(w->gguf);
  w->files = calloc(w->file_count, sizeof *w->files);
  if (!w->files) return mica__fail_nomem(path);
  for (size_t i = 0; i < w->file_count; i++) w->files[i] = *mica_gguf_file_at(w->gguf, i);
  MICA_TRY(mica__weight_table_make(&w->table, mica_gguf_tensor_count(w->gguf)));
  for (size_t i = 0; i < w->table.count; i++) w->table.entries[i] = *mica_gguf_tensor(w->gguf, i);
  return mica__weight_table_sort(MICA_E_FORMAT, &w->table, path);
}

/* --- files of any kind --- */

/* True for a JSON text. A safetensors file begins with the length of its header, 8 bytes in little-endian order. The
 * length is below 2^32, so at least one of these bytes is 0. A JSON text contains no such byte. */
static bool is_json(const unsigned char *data, size_t bytes) {
  for (size_t i = 0; i < bytes && i < 8; i++)
    if (data[i] == 0) return false;
  size_t at = 0;
  while (at < bytes && data[at] && strchr(" \t\r\n", data[at])) at++;
  return at < bytes && data[at] == '{';
}

static bool is_named_gguf(const char *path) {
  const size_t n = strlen(path);
  return n > 5 && !strcmp(path + n - 5, ".gguf");
}

static mica_status open_file(mica_weights *w, const char *path) {
  const unsigned char *data = NULL;
  size_t bytes = 0;
  MICA_TRY(mica__file_map(path, &data, &bytes));
  mica_status status;
  if ((bytes >= 4 && !memcmp(data, "GGUF", 4)) || is_named_gguf(path))
    status = open_gguf(w, path);
  else if (is_json(data, bytes)) {
    status = mica__signature_demand(path, data, bytes);
    if (status == MICA_OK) status = open_index(w, path, data, bytes);
  } else
    status = open_safetensors(w, path);
  mica__file_unmap(data, bytes);
  return status;
}

mica_status mica_weights_open(const char *path, mica_weights **weights) {
  if (!path || !weights) return mica__fail(MICA_E_INVALID, "mica_weights_open: a pointer is NULL");
  struct stat about;
  mica__text chosen = {0};
  if (stat(path, &about) == 0 && S_ISDIR(about.st_mode)) {
    mica_status status = mica__shards_in_folder(path, &chosen);
    if (status != MICA_OK) {
      mica__text_free(&chosen);
      return status;
    }
  }
  mica_weights *w = calloc(1, sizeof *w);
  mica_status status = w ? MICA_OK : mica__fail_nomem(path);
  if (w) atomic_init(&w->owners, 1);
  if (status == MICA_OK) status = open_file(w, chosen.data ? chosen.data : path);
  mica__text_free(&chosen);
  if (status == MICA_OK)
    *weights = w;
  else
    mica_weights_close(w);
  return status;
}

size_t mica_weights_count(const mica_weights *weights) { return weights->table.count; }

const mica_weight_entry *mica_weights_at(const mica_weights *weights, size_t index) {
  return index < weights->table.count ? &weights->table.entries[index] : NULL;
}

const mica_weight_entry *mica_weights_find(const mica_weights *weights, const char *name) {
  return name ? mica__weight_table_find(&weights->table, name) : NULL;
}

size_t mica_weights_file_count(const mica_weights *weights) { return weights->file_count; }

const mica_weight_file *mica_weights_file_at(const mica_weights *weights, size_t index) {
  return index < weights->file_count ? &weights->files[index] : NULL;
}

const mica_gguf *mica_weights_gguf(const mica_weights *weights) { return weights->gguf; }
