#include "runtime/program_file.h"

#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mica/cache.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_FILE_BYTES ((size_t)1 << 30)
#define MAX_KEY_BYTES 8192
#define SUFFIX ".bin"

static const char magic[8] = "MICAPRG1";

typedef struct header {
  char magic[8];
  mica__hash key;
  uint64_t key_bytes; /* with the terminator */
  uint64_t binary_bytes;
  uint64_t used;       /* mica__program_binary.used */
  mica__hash checksum; /* of all that stands before it, the key and the binary */
} header;

static mica__hash checksum_of(const header *h, const char *key_text, const unsigned char *binary) {
  mica__hash sum = mica__hash_bytes((mica__hash){0}, h, offsetof(header, checksum));
  sum = mica__hash_bytes(sum, key_text, h->key_bytes);
  return mica__hash_bytes(sum, binary, h->binary_bytes);
}

static mica_status miss(const char *why) { return mica__fail(MICA_E_NOT_FOUND, "program cache: %s", why); }

/* Header and key of a file that is sound as a whole, whatever its key. */
static mica_status parse_any(const unsigned char *data, size_t size, header *h, const char **key_text) {
  if (size < sizeof *h) return miss("a file is too short");
  memcpy(h, data, sizeof *h);
  if (memcmp(h->magic, magic, sizeof magic) != 0) return miss("a file is not one of ours");
  if (h->key_bytes == 0 || h->key_bytes > MAX_KEY_BYTES || h->binary_bytes > MAX_FILE_BYTES ||
      sizeof *h + h->key_bytes + h->binary_bytes != size)
    return miss("a file has the wrong size");
  const char *text = (const char *)data + sizeof *h;
  if (text[h->key_bytes - 1] != '\0') return miss("a file is damaged");
  if (!mica__hash_equal(h->checksum, checksum_of(h, text, data + sizeof *h + h->key_bytes)))
    return miss("a file is damaged");
  *key_text = text;
  return MICA_OK;
}

mica_status mica__program_file_parse(unsigned char *file, size_t size, mica__hash key, const char *key_text,
                                     mica__program_binary *binary) {
  header h;
  const char *text = NULL;
  MICA_TRY(parse_any(file, size, &h, &text));
  if (!mica__hash_equal(h.key, key) || strlen(text) + 1 != h.key_bytes || strcmp(text, key_text) != 0)
    return miss("a file belongs to another program");
  *binary = (mica__program_binary){.data = file + sizeof h + h.key_bytes, .size = h.binary_bytes, .used = h.used};
  return MICA_OK;
}

/* DIRECTORY/programs/NAME SUFFIX; false when it would be too long. */
static bool entry_path(char path[PATH_MAX], const char *directory, const char *name, const char *suffix) {
  int n = snprintf(path, PATH_MAX, "%s/programs/%s%s", directory, name, suffix);
  return n > 0 && n < PATH_MAX;
}

mica_status mica__program_file_load(const char *directory, mica__hash key, const char *key_text,
                                    mica__program_binary *binary) {
  char path[PATH_MAX], name[MICA__HASH_TEXT];
  if (!*directory || !entry_path(path, directory, mica__hash_format(key, name), SUFFIX)) return miss("no directory");
  unsigned char *data = NULL;
  size_t size = 0;
  mica_status status = mica__file_read(path, &data, &size);
  if (status == MICA_E_NOMEM) return status;
  if (status != MICA_OK) return miss("there is no readable file");
  status = mica__program_file_parse(data, size, key, key_text, binary);
  if (status != MICA_OK) {
    mica__log(MICA_LOG_LEVEL_INFO, "%s (%s)", mica_error_message(), path);
    free(data);
    return status;
  }
  memmove(data, binary->data, binary->size);
  binary->data = data;
  /* Its time of use, for the bound on the directory's size; a read-only directory merely forgets it. */
  if (utimensat(AT_FDCWD, path, NULL, 0)) mica__log(MICA_LOG_LEVEL_DEBUG, "%s keeps its time of use", path);
  return MICA_OK;
}

bool mica__program_file_exists(const char *directory, mica__hash key) {
  char path[PATH_MAX], name[MICA__HASH_TEXT];
  return *directory && entry_path(path, directory, mica__hash_format(key, name), SUFFIX) && !access(path, R_OK);
}

typedef struct found_file {
  char name[64];
  uint64_t bytes;
  struct timespec used;
  bool temporary; /* being written, or left by a process that died */
} found_file;

/* True when a file is ours by its name: 32 hexadecimal digits, then SUFFIX, or something that ends in MICA__FILE_ASIDE.
 * The user may have named the wrong directory, and what lies there must survive that. */
static bool is_ours(const char *name) {
  const char *rest = name + strspn(name, "0123456789abcdef");
  if (rest - name != MICA__HASH_TEXT - 1 || strlen(name) >= sizeof(((found_file *)0)->name)) return false;
  return strcmp(rest, SUFFIX) == 0 || (*rest == '.' && strcmp(strrchr(rest, '.'), MICA__FILE_ASIDE) == 0);
}

/* Every file of DIRECTORY/programs that is ours; *files is the caller's to free. */
static mica_status find_files(const char *directory, found_file **files, size_t *count) {
  char path[PATH_MAX];
  *files = NULL;
  *count = 0;
  if (!*directory || !entry_path(path, directory, "", "")) return MICA_OK;
  DIR *stream = opendir(path);
  if (!stream) return MICA_OK;
  size_t capacity = 0;
  mica_status status = MICA_OK;
  for (const struct dirent *entry; status == MICA_OK && (entry = readdir(stream));) {
    struct stat about;
    if (!is_ours(entry->d_name)) continue;
    if (fstatat(dirfd(stream), entry->d_name, &about, 0) || !S_ISREG(about.st_mode)) continue;
    if (*count == capacity) {
      capacity = capacity ? capacity * 2 : 64;
      found_file *grown = realloc(*files, capacity * sizeof **files);
      if (!grown) {
        status = mica__fail_nomem("the list of compiled programs");
        break;
      }
      *files = grown;
    }
    found_file *f = &(*files)[(*count)++];
    *f = (found_file){.bytes = (uint64_t)about.st_size,
                      .used = about.st_mtim,
                      .temporary = strstr(entry->d_name, MICA__FILE_ASIDE) != NULL};
    memcpy(f->name, entry->d_name, strlen(entry->d_name) + 1);
  }
  closedir(stream);
  if (status != MICA_OK) {
    free(*files);
    *files = NULL;
    *count = 0;
  }
  return status;
}

static int older_first(const void *a, const void *b) {
  const found_file *x = a, *y = b;
  if (x->used.tv_sec != y->used.tv_sec) return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
  return x->used.tv_nsec < y->used.tv_nsec ? -1 : x->used.tv_nsec > y->used.tv_nsec;
}

/* Deletes the least recently used files while all are above limit. Two processes may do so at once: a file that is
 * already gone is as good as deleted, and one that is open elsewhere stays readable there. */
static mica_status bound_size(const char *directory, uint64_t limit) {
  found_file *files = NULL;
  size_t count = 0;
  MICA_TRY(find_files(directory, &files, &count));
  uint64_t total = 0;
  for (size_t i = 0; i < count; i++) total += files[i].bytes;
  if (total > limit) qsort(files, count, sizeof *files, older_first);
  for (size_t i = 0; i < count && total > limit; i++) {
    char path[PATH_MAX];
    if (entry_path(path, directory, files[i].name, "")) unlink(path);
    total -= files[i].bytes;
  }
  free(files);
  return MICA_OK;
}

mica_status mica__program_file_store(const char *directory, mica__hash key, const char *key_text,
                                     const mica__program_binary *binary, uint64_t limit) {
  char path[PATH_MAX], name[MICA__HASH_TEXT];
  if (!*directory) return mica__fail(MICA_E_IO, "there is no cache directory");
  if (!entry_path(path, directory, mica__hash_format(key, name), SUFFIX))
    return mica__fail(MICA_E_IO, "the path of the cache is too long");
  size_t key_bytes = strlen(key_text) + 1;
  if (key_bytes > MAX_KEY_BYTES || binary->size > MAX_FILE_BYTES - sizeof(header) - MAX_KEY_BYTES)
    return mica__fail(MICA_E_IO, "a compiled program of %zu bytes is too large for the cache", binary->size);
  header h = {.key = key, .key_bytes = key_bytes, .binary_bytes = binary->size, .used = binary->used};
  memcpy(h.magic, magic, sizeof magic);
  h.checksum = checksum_of(&h, key_text, binary->data);
  const mica__bytes pieces[] = {{&h, sizeof h}, {key_text, key_bytes}, {binary->data, binary->size}};
  MICA_TRY(mica__file_replace(path, pieces, sizeof pieces / sizeof *pieces));
  return bound_size(directory, limit);
}

/* The value of the line "field: value" of a key; "" when it has none. */
static void key_field(const char *key_text, const char *field, char *out, size_t size) {
  size_t length = strlen(field);
  out[0] = '\0';
  for (const char *line = key_text; line; line = strchr(line, '\n')) {
    if (*line == '\n') line++;
    if (strncmp(line, field, length) == 0 && strncmp(line + length, ": ", 2) == 0) {
      const char *value = line + length + 2;
      snprintf(out, size, "%.*s", (int)strcspn(value, "\n"), value);
      return;
    }
  }
}

/* Shows one file to fn when it is sound. */
static void show_entry(const char *directory, const found_file *file, mica_cache_fn *fn, void *user) {
  char path[PATH_MAX];
  unsigned char *data = NULL;
  size_t size = 0;
  header h;
  const char *key_text = NULL;
  if (file->temporary || !entry_path(path, directory, file->name, "")) return;
  mica__attempt_begin();
  bool sound = mica__file_read(path, &data, &size) == MICA_OK && parse_any(data, size, &h, &key_text) == MICA_OK;
  mica__attempt_end();
  if (sound) {
    mica_cache_entry entry = {.bytes = file->bytes, .last_used = file->used.tv_sec};
    key_field(key_text, "program", entry.program, sizeof entry.program);
    key_field(key_text, "device", entry.device, sizeof entry.device);
    mica__hash_format(h.key, entry.key);
    fn(user, &entry);
  }
  free(data);
}

mica_status mica_cache_list(const char *directory, mica_cache_fn *fn, void *user) {
  if (!directory || !fn) return mica__fail(MICA_E_INVALID, "mica_cache_list: a pointer is NULL");
  found_file *files = NULL;
  size_t count = 0;
  MICA_TRY(find_files(directory, &files, &count));
  for (size_t i = 0; i < count; i++) show_entry(directory, &files[i], fn, user);
  free(files);
  return MICA_OK;
}

mica_status mica_cache_clear(const char *directory, size_t *cleared) {
  if (!directory || !cleared) return mica__fail(MICA_E_INVALID, "mica_cache_clear: a pointer is NULL");
  found_file *files = NULL;
  size_t count = 0, gone = 0;
  MICA_TRY(find_files(directory, &files, &count));
  mica_status status = MICA_OK;
  for (size_t i = 0; i < count; i++) {
    char path[PATH_MAX];
    if (!entry_path(path, directory, files[i].name, "")) continue;
    if (unlink(path) == 0)
      gone++;
    else if (errno != ENOENT)
      status = mica__fail(MICA_E_IO, "cannot delete %s: %s", path, strerror(errno));
  }
  free(files);
  *cleared = gone;
  return status;
}
