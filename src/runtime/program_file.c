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
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MAX_FILE_BYTES ((size_t)1 << 30)
#define MAX_KEY_BYTES ((size_t)4 << 20) /* room for a line of a hundred bytes per kernel of a bundle */
/* How often to try to lock the links, and the wait between two tries: a second in all. */
#define LOCK_TRIES 1000
#define LOCK_NANOSECONDS 1000000
#define SUFFIX ".bin"
#define LINK_SUFFIX ".kernel"

static const char magic[8] = "MICAPRG2";

typedef struct header {
  char magic[8];
  mica__hash key;
  uint64_t key_bytes;    /* with the terminator */
  uint64_t source_bytes; /* with the terminator; 0 if none is kept */
  uint64_t binary_bytes;
  uint64_t used;       /* mica__program_binary.used */
  mica__hash checksum; /* of the fields above, the key's text, the source and the binary */
} header;

static mica__hash checksum_of(const header *h, const char *key_text, const char *source, const unsigned char *binary) {
  mica__hash sum = mica__hash_bytes((mica__hash){0}, h, offsetof(header, checksum));
  sum = mica__hash_bytes(sum, key_text, (size_t)h->key_bytes);
  sum = mica__hash_bytes(sum, source, (size_t)h->source_bytes);
  return mica__hash_bytes(sum, binary, (size_t)h->binary_bytes);
}

void mica__program_file_field(const char *key_text, const char *field, char *out, size_t size) {
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

static mica_status miss(const char *why) { return mica__fail(MICA_E_NOT_FOUND, "program cache: %s", why); }

/* Reads the content of an intact file, whatever its key. */
static mica_status parse_any(unsigned char *data, size_t size, header *h, mica__program_found *found) {
  if (size < sizeof *h) return miss("a file is too short");
  memcpy(h, data, sizeof *h);
  if (memcmp(h->magic, magic, sizeof magic) != 0) return miss("a file is not a compiled program of Mica's");
  if (h->key_bytes == 0 || h->key_bytes > MAX_KEY_BYTES || h->source_bytes > MAX_FILE_BYTES ||
      h->binary_bytes > MAX_FILE_BYTES || sizeof *h + h->key_bytes + h->source_bytes + h->binary_bytes != size)
    return miss("a file has the wrong size");
  const char *text = (const char *)data + sizeof *h, *source = text + h->key_bytes;
  unsigned char *binary = data + sizeof *h + h->key_bytes + h->source_bytes;
  if (source[-1] != '\0' || (h->source_bytes > 0 && binary[-1] != '\0')) return miss("a file is damaged");
  if (!mica__hash_equal(h->checksum, checksum_of(h, text, source, binary))) return miss("a file is damaged");
  *found = (mica__program_found){.file = data, .key_text = text};
  found->binary = (mica__program_binary){binary, (size_t)h->binary_bytes, h->used, h->source_bytes > 0 ? source : NULL};
  return MICA_OK;
}

mica_status mica__program_file_parse_any(unsigned char *file, size_t size, mica__hash *key,
                                         mica__program_found *found) {
  header h;
  MICA_TRY(parse_any(file, size, &h, found));
  *key = h.key;
  return MICA_OK;
}

mica_status mica__program_file_parse(unsigned char *file, size_t size, mica__hash key, const char *key_text,
                                     mica__program_binary *binary) {
  header h;
  mica__program_found found;
  MICA_TRY(parse_any(file, size, &h, &found));
  if (!mica__hash_equal(h.key, key) || strlen(found.key_text) + 1 != h.key_bytes ||
      strcmp(found.key_text, key_text) != 0)
    return miss("a file belongs to another program");
  *binary = found.binary;
  return MICA_OK;
}

mica_status mica__program_file_parse_holder(unsigned char *file, size_t size, mica__hash key, mica__hash kernel,
                                            mica__program_found *found) {
  header h;
  char entry[2];
  MICA_TRY(parse_any(file, size, &h, found));
  if (!mica__hash_equal(h.key, key) || !mica__program_file_entry(found->key_text, kernel, entry, sizeof entry))
    return miss("a file does not hold the program that a kernel's link names");
  return MICA_OK;
}

/* Writes the path DIRECTORY/programs/NAME SUFFIX; false if it is too long. */
static bool entry_path(char path[PATH_MAX], const char *directory, const char *name, const char *suffix) {
  int n = snprintf(path, PATH_MAX, "%s/programs/%s%s", directory, name, suffix);
  return n > 0 && n < PATH_MAX;
}

/* Reads the file of a key; the caller frees *data. Sets `path` to the file's path. */
static mica_status read_program(const char *directory, mica__hash key, char path[PATH_MAX], unsigned char **data,
                                size_t *size) {
  char name[MICA__HASH_TEXT];
  if (!*directory || !entry_path(path, directory, mica__hash_format(key, name), SUFFIX))
    return miss("there is no cache directory");
  mica_status status = mica__file_read_private(path, data, size);
  return status == MICA_OK || status == MICA_E_NOMEM ? status : miss("there is no readable file");
}

mica_status mica__program_file_read(const char *directory, mica__hash key, unsigned char **data, size_t *size) {
  char path[PATH_MAX];
  return read_program(directory, key, path, data, size);
}

/* If status is MICA_OK, sets the file's time of use to now; when the cache is too large, the files that were not used
 * for longest are deleted. Setting the time fails in a read-only directory, which is only logged. If status is an
 * error, logs it and frees the data. Returns status. */
static mica_status verified(mica_status status, const char *path, unsigned char *data) {
  if (status == MICA_OK) {
    if (utimensat(AT_FDCWD, path, NULL, 0))
      mica__log(MICA_LOG_LEVEL_DEBUG, "the time of use of %s cannot be changed", path);
  } else {
    mica__log(MICA_LOG_LEVEL_INFO, "%s (%s)", mica_error_message(), path);
    free(data);
  }
  return status;
}

mica_status mica__program_file_load(const char *directory, mica__hash key, const char *key_text,
                                    mica__program_binary *binary) {
  char path[PATH_MAX];
  unsigned char *data = NULL;
  size_t size = 0;
  MICA_TRY(read_program(directory, key, path, &data, &size));
  MICA_TRY(verified(mica__program_file_parse(data, size, key, key_text, binary), path, data));
  memmove(data, binary->data, binary->size);
  *binary = (mica__program_binary){.data = data, .size = binary->size, .used = binary->used};
  return MICA_OK;
}

bool mica__program_file_exists(const char *directory, mica__hash key) {
  char path[PATH_MAX], name[MICA__HASH_TEXT];
  return *directory && entry_path(path, directory, mica__hash_format(key, name), SUFFIX) && !access(path, R_OK);
}

/* --- kernels that programs share --- */

bool mica__program_file_entry(const char *key_text, mica__hash kernel, char *entry, size_t size) {
  char field[sizeof "kernel " + MICA__HASH_TEXT], hash[MICA__HASH_TEXT];
  snprintf(field, sizeof field, "kernel %s", mica__hash_format(kernel, hash));
  mica__program_file_field(key_text, field, entry, size);
  return *entry != '\0';
}

/* Reads the target of a kernel's link; false if the target is not the name of a program. */
static bool read_link(const char *path, mica__hash *key) {
  char target[MICA__HASH_TEXT + sizeof SUFFIX];
  ssize_t n = readlink(path, target, sizeof target - 1);
  if (n < 0) return false;
  target[n] = '\0';
  return mica__hash_parse(target, key) && strcmp(target + MICA__HASH_TEXT - 1, SUFFIX) == 0;
}

bool mica__program_file_holder(const char *directory, mica__hash kernel, mica__hash *key) {
  char path[PATH_MAX], name[MICA__HASH_TEXT];
  return *directory && entry_path(path, directory, mica__hash_format(kernel, name), LINK_SUFFIX) &&
         read_link(path, key);
}

mica_status mica__program_file_load_holder(const char *directory, mica__hash key, mica__hash kernel,
                                           mica__program_found *found) {
  char path[PATH_MAX];
  unsigned char *data = NULL;
  size_t size = 0;
  MICA_TRY(read_program(directory, key, path, &data, &size));
  return verified(mica__program_file_parse_holder(data, size, key, kernel, found), path, data);
}

/* Locks DIRECTORY/programs with flock until the returned descriptor is closed; -1 if that fails, or if another process
 * holds the lock for too long. */
static int lock_links(const char *directory, int how) {
  char path[PATH_MAX];
  const int folder = entry_path(path, directory, "", "") ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
  if (folder < 0) return -1;
  for (int tries = 0; flock(folder, how | LOCK_NB); tries++) {
    if (errno != EWOULDBLOCK || tries == LOCK_TRIES) {
      close(folder);
      return -1;
    }
    nanosleep(&(struct timespec){.tv_nsec = LOCK_NANOSECONDS}, NULL);
  }
  return folder;
}

static void unlock_links(int lock) {
  if (lock >= 0) close(lock);
}

bool mica__program_file_next_kernel(const char **line, mica__hash *kernel) {
  for (const char *at = *line; at && *at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL) {
    if (strncmp(at, "kernel ", 7) != 0 || !mica__hash_parse(at + 7, kernel)) continue;
    *line = strchr(at, '\n') ? strchr(at, '\n') + 1 : at + strlen(at);
    return true;
  }
  return false;
}

/* Makes the links of a program's kernels. Replaces links, but no other files. If a link cannot be made, the kernel is
 * compiled again when it is needed. */
static void link_kernels(const char *directory, mica__hash key, const char *key_text) {
  char path[PATH_MAX], name[MICA__HASH_TEXT], target[MICA__HASH_TEXT + sizeof SUFFIX];
  snprintf(target, sizeof target, "%s%s", mica__hash_format(key, name), SUFFIX);
  const int lock = lock_links(directory, LOCK_SH);
  mica__hash kernel, held;
  for (const char *line = key_text; mica__program_file_next_kernel(&line, &kernel);) {
    char byte;
    if (!entry_path(path, directory, mica__hash_format(kernel, name), LINK_SUFFIX)) continue;
    if (read_link(path, &held) && mica__hash_equal(held, key)) continue;
    if (readlink(path, &byte, 1) >= 0) unlink(path);
    if (symlink(target, path)) mica__log(MICA_LOG_LEVEL_DEBUG, "%s is not linked: %s", path, strerror(errno));
  }
  unlock_links(lock);
}

/* Deletes links that point to no program. Without the lock, another process could store the missing program between the
 * check and the deletion. That process would keep the existing link, which would then be deleted here. */
static void sweep_links(const char *directory) {
  char path[PATH_MAX];
  if (!entry_path(path, directory, "", "")) return;
  const int lock = lock_links(directory, LOCK_EX);
  DIR *stream = opendir(path);
  if (!stream) {
    unlock_links(lock);
    return;
  }
  for (const struct dirent *entry; (entry = readdir(stream));) {
    mica__hash kernel;
    const char *name = entry->d_name;
    if (mica__hash_parse(name, &kernel) && strcmp(name + MICA__HASH_TEXT - 1, LINK_SUFFIX) == 0 &&
        faccessat(dirfd(stream), name, F_OK, 0))
      unlinkat(dirfd(stream), name, 0);
  }
  closedir(stream);
  unlock_links(lock);
}

typedef struct found_file {
  char name[64];
  uint64_t bytes;
  struct timespec used;
  bool temporary; /* being written, or left behind when a process died */
} found_file;

/* True if the name shows that the file is Mica's: 32 hexadecimal digits, then SUFFIX, or a suffix that ends in
 * MICA__FILE_ASIDE. The user may have named the wrong directory, and other files there must survive. */
static bool is_ours(const char *name) {
  const char *rest = name + strspn(name, "0123456789abcdef");
  if (rest - name != MICA__HASH_TEXT - 1 || strlen(name) >= sizeof(((found_file *)0)->name)) return false;
  return strcmp(rest, SUFFIX) == 0 || (*rest == '.' && strcmp(strrchr(rest, '.'), MICA__FILE_ASIDE) == 0);
}

/* Lists Mica's files in DIRECTORY/programs; the caller frees *files. */
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

/* Deletes the least recently used files while the total is above the limit. Two processes may do so at once: a file
 * that is already gone counts as deleted, and one that is open elsewhere stays readable there. */
static mica_status bound_size(const char *directory, uint64_t limit) {
  found_file *files = NULL;
  size_t count = 0;
  MICA_TRY(find_files(directory, &files, &count));
  uint64_t total = 0;
  for (size_t i = 0; i < count; i++) total += files[i].bytes;
  if (total > limit) qsort(files, count, sizeof *files, older_first);
  bool deletes = total > limit;
  for (size_t i = 0; i < count && total > limit; i++) {
    char path[PATH_MAX];
    if (entry_path(path, directory, files[i].name, "")) unlink(path);
    total -= files[i].bytes;
  }
  free(files);
  if (deletes) sweep_links(directory);
  return MICA_OK;
}

mica_status mica__program_file_store(const char *directory, mica__hash key, const char *key_text,
                                     const mica__program_binary *binary, uint64_t limit) {
  char path[PATH_MAX], name[MICA__HASH_TEXT];
  if (!*directory) return mica__fail(MICA_E_IO, "there is no cache directory");
  if (!entry_path(path, directory, mica__hash_format(key, name), SUFFIX))
    return mica__fail(MICA_E_IO, "the path of the cache is too long");
  size_t key_bytes = strlen(key_text) + 1, source_bytes = binary->source ? strlen(binary->source) + 1 : 0;
  size_t most = MAX_FILE_BYTES - sizeof(header) - MAX_KEY_BYTES;
  if (key_bytes > MAX_KEY_BYTES || source_bytes > most || binary->size > most - source_bytes)
    return mica__fail(
        MICA_E_IO,
        "a compiled program of %zu bytes, with %zu of its source and %zu of its key, is too large for the cache",
        binary->size, source_bytes, key_bytes);
  header h = {.key = key, .key_bytes = key_bytes, .source_bytes = source_bytes, .used = binary->used};
  const char *source = source_bytes > 0 ? binary->source : "";
  h.binary_bytes = binary->size;
  memcpy(h.magic, magic, sizeof magic);
  h.checksum = checksum_of(&h, key_text, source, binary->data);
  const mica__bytes pieces[] = {
      {&h, sizeof h}, {key_text, key_bytes}, {source, source_bytes}, {binary->data, binary->size}};
  MICA_TRY(mica__file_replace_private(path, pieces, sizeof pieces / sizeof *pieces));
  link_kernels(directory, key, key_text);
  return bound_size(directory, limit);
}

/* Passes one file to fn if it is intact. */
static void show_entry(const char *directory, const found_file *file, mica_cache_fn *fn, void *user) {
  char path[PATH_MAX];
  unsigned char *data = NULL;
  size_t size = 0;
  header h;
  mica__program_found found;
  if (file->temporary || !entry_path(path, directory, file->name, "")) return;
  mica__attempt_begin();
  bool sound = mica__file_read(path, &data, &size) == MICA_OK && parse_any(data, size, &h, &found) == MICA_OK;
  mica__attempt_end();
  if (sound) {
    mica_cache_entry entry = {.bytes = file->bytes, .last_used = file->used.tv_sec};
    mica__program_file_field(found.key_text, "program", entry.program, sizeof entry.program);
    mica__program_file_field(found.key_text, "device", entry.device, sizeof entry.device);
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
  if (gone > 0) sweep_links(directory);
  *cleared = gone;
  return status;
}
