#include "io/shards.h"

#include "base/json_check.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool ends_with(const char *text, const char *ending) {
  const size_t n = strlen(text), m = strlen(ending);
  return n > m && strcmp(text + n - m, ending) == 0;
}

#if MICA_WITH_CJSON

struct mica__shards {
  cJSON *root;         /* owns the texts */
  const cJSON **items; /* of weight_map, sorted by name */
  size_t count;
  const char **files; /* sorted */
  size_t file_count;
};

void mica__shards_free(mica__shards *shards) {
  if (!shards) return;
  cJSON_Delete(shards->root);
  free(shards->items);
  free(shards->files);
  free(shards);
}

static int by_text(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

static int by_key(const void *a, const void *b) {
  const cJSON *const *x = a, *const *y = b;
  return strcmp((*x)->string, (*y)->string);
}

static mica_status check_file(const char *name, const char *tensor, const cJSON *file) {
  if (!cJSON_IsString(file))
    return mica__fail(MICA_E_FORMAT, "%s: weight_map must give the name of a file for tensor \"%.200s\", as a string",
                      name, tensor);
  if (strpbrk(file->valuestring, "/\\"))
    return mica__fail(MICA_E_FORMAT,
                      "%s: tensor \"%.200s\" is in \"%.200s\"; name a file of the index's folder, without '/' or '\\'",
                      name, tensor, file->valuestring);
  if (!ends_with(file->valuestring, ".safetensors"))
    return mica__fail(MICA_E_FORMAT, "%s: tensor \"%.200s\" is in \"%.200s\", which is not a safetensors file", name,
                      tensor, file->valuestring);
  return MICA_OK;
}

static mica_status read_map(const char *name, mica__shards *shards) {
  const cJSON *map = cJSON_GetObjectItemCaseSensitive(shards->root, "weight_map");
  if (!cJSON_IsObject(map) || !map->child)
    return mica__fail(MICA_E_FORMAT, "%s is not an index of safetensors files: it has no weight_map with tensors",
                      name);
  MICA_TRY(mica__json_check_keys(name, "weight_map", map));
  const size_t count = (size_t)cJSON_GetArraySize(map);
  shards->items = calloc(count, sizeof *shards->items);
  shards->files = calloc(count, sizeof *shards->files);
  if (!shards->items || !shards->files) return mica__fail_nomem(name);
  for (const cJSON *item = map->child; item; item = item->next) {
    MICA_TRY(check_file(name, item->string, item));
    shards->files[shards->count] = item->valuestring;
    shards->items[shards->count++] = item;
  }
  qsort(shards->items, count, sizeof *shards->items, by_key);
  qsort(shards->files, count, sizeof *shards->files, by_text);
  for (size_t i = 0; i < count; i++)
    if (i == 0 || strcmp(shards->files[i], shards->files[shards->file_count - 1]) != 0)
      shards->files[shards->file_count++] = shards->files[i];
  return MICA_OK;
}

mica_status mica__shards_parse(const char *name, const char *text, size_t bytes, mica__shards **out) {
  if (bytes > MICA__SHARDS_MAX_BYTES)
    return mica__fail(MICA_E_FORMAT, "%s: the index has %zu bytes, but may have at most %zu", name, bytes,
                      MICA__SHARDS_MAX_BYTES);
  MICA_TRY(mica__json_check_text(name, "the index", text, bytes));
  mica__shards *shards = calloc(1, sizeof *shards);
  if (!shards) return mica__fail_nomem(name);
  shards->root = cJSON_ParseWithLength(text, bytes);
  mica_status status = cJSON_IsObject(shards->root)
                           ? mica__json_check_keys(name, "the index", shards->root)
                           : mica__fail(MICA_E_FORMAT, "%s is not an index: it is not a JSON object", name);
  if (status == MICA_OK) status = read_map(name, shards);
  if (status == MICA_OK)
    *out = shards;
  else
    mica__shards_free(shards);
  return status;
}

size_t mica__shards_file_count(const mica__shards *shards) { return shards->file_count; }
const char *mica__shards_file(const mica__shards *shards, size_t index) { return shards->files[index]; }
size_t mica__shards_count(const mica__shards *shards) { return shards->count; }
const char *mica__shards_name(const mica__shards *shards, size_t index) { return shards->items[index]->string; }

static int key_order(const void *key, const void *item) { return strcmp(key, (*(const cJSON *const *)item)->string); }

const char *mica__shards_file_of(const mica__shards *shards, const char *tensor) {
  const cJSON *const *found = bsearch(tensor, shards->items, shards->count, sizeof *shards->items, key_order);
  return found ? (*found)->valuestring : NULL;
}

bool mica__shards_total(const mica__shards *shards, uint64_t *bytes) {
  const cJSON *metadata = cJSON_GetObjectItemCaseSensitive(shards->root, "metadata");
  const cJSON *total = cJSON_GetObjectItemCaseSensitive(metadata, "total_size");
  if (!cJSON_IsNumber(total) || !(total->valuedouble >= 0 && total->valuedouble < 0x1p63)) return false;
  *bytes = (uint64_t)total->valuedouble;
  return true;
}

#else

mica_status mica__shards_parse(const char *name, const char *text, size_t bytes, mica__shards **shards) {
  (void)text, (void)bytes, (void)shards;
  return mica__fail_lacks(name, "cJSON");
}
void mica__shards_free(mica__shards *shards) { (void)shards; }
size_t mica__shards_file_count(const mica__shards *shards) { return (void)shards, 0; }
const char *mica__shards_file(const mica__shards *shards, size_t index) { return (void)shards, (void)index, NULL; }
size_t mica__shards_count(const mica__shards *shards) { return (void)shards, 0; }
const char *mica__shards_name(const mica__shards *shards, size_t index) { return (void)shards, (void)index, NULL; }
const char *mica__shards_file_of(const mica__shards *shards, const char *tensor) {
  return (void)shards, (void)tensor, NULL;
}
bool mica__shards_total(const mica__shards *shards, uint64_t *bytes) { return (void)shards, (void)bytes, false; }

#endif

/* --- folders --- */

/* Files of a folder with a given ending. */
typedef struct found {
  const char *ending, *preferred; /* preferred: a name that wins over all others; may be NULL */
  bool has_preferred;
  size_t count;
  mica__text first;
} found;

/* True for the second and later shards of a GGUF file; only the first one is listed. */
static bool is_later_shard(const char *name) {
  const char *of = strstr(name, "-of-");
  return ends_with(name, ".gguf") && of && of - name >= 6 && of[-6] == '-' && strncmp(of - 6, "-00001", 6) != 0;
}

static void consider(found *f, const char *name) {
  if (!ends_with(name, f->ending) || is_later_shard(name)) return;
  if (f->preferred && !strcmp(name, f->preferred)) f->has_preferred = true;
  if (f->count++ == 0) mica__text_add(&f->first, name);
}

/* Chooses a file of the folder: the first preferred name that exists, else the only file with the first ending that any
 * file has. *path stays empty if the folder has no such file. MICA_E_NOT_FOUND: several files have that ending. */
static mica_status choose(const char *folder, const found *list, size_t count, mica__text *path) {
  for (size_t i = 0; i < count; i++) {
    if (!list[i].has_preferred) continue;
    mica__text_addf(path, "%s/%s", folder, list[i].preferred);
    return mica__text_status(path);
  }
  for (size_t i = 0; i < count; i++) {
    if (list[i].count > 1)
      return mica__fail(MICA_E_NOT_FOUND, "%s has %zu files that end in %s; name one of them", folder, list[i].count,
                        list[i].ending);
    if (list[i].count == 0) continue;
    MICA_TRY(mica__text_status(&list[i].first));
    mica__text_addf(path, "%s/%s", folder, list[i].first.data);
    return mica__text_status(path);
  }
  return MICA_OK;
}

mica_status mica__shards_in_folder(const char *folder, mica__text *path) {
  found list[] = {{.ending = ".safetensors.index.json", .preferred = "model.safetensors.index.json"},
                  {.ending = ".safetensors", .preferred = "model.safetensors"},
                  {.ending = ".gguf"}};
  const size_t count = sizeof list / sizeof *list;
  bool pickled = false;
  DIR *directory = opendir(folder);
  if (!directory) return mica__fail(MICA_E_IO, "cannot read the folder %s: %s", folder, strerror(errno));
  for (const struct dirent *entry; (entry = readdir(directory));) {
    for (size_t i = 0; i < count && entry->d_name[0] != '.'; i++) consider(&list[i], entry->d_name);
    pickled |= !strncmp(entry->d_name, "pytorch_model", 13);
  }
  closedir(directory);
  mica_status status = choose(folder, list, count, path);
  for (size_t i = 0; i < count; i++) mica__text_free(&list[i].first);
  if (status != MICA_OK || path->length) return status;
  if (pickled)
    return mica__fail(MICA_E_NOT_FOUND,
                      "%s has its weights in pytorch_model files, which can run code; convert them to safetensors",
                      folder);
  return mica__fail(MICA_E_NOT_FOUND, "%s has neither a safetensors nor a GGUF file", folder);
}
