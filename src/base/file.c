#include "base/file.h"
#include "base/content.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_FILE_BYTES ((uint64_t)1 << 30)

static mica_status fail_io(const char *what, const char *path, int error) {
  return mica__fail(MICA_E_IO, "cannot %s %s: %s", what, path, strerror(error));
}

static mica_status read_open(int file, const char *path, unsigned char **data, size_t *size) {
  struct stat about;
  if (fstat(file, &about) || !S_ISREG(about.st_mode))
    return mica__fail(MICA_E_NOT_FOUND, "%s is not a regular file", path);
  if ((uint64_t)about.st_size > MAX_FILE_BYTES) return fail_io("read", path, EFBIG);
  size_t n = (size_t)about.st_size, at = 0;
  unsigned char *content = malloc(n + 1);
  if (!content) return mica__fail_nomem(path);
  while (at < n) {
    ssize_t got = read(file, content + at, n - at);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      free(content);
      return fail_io("read", path, got < 0 ? errno : EIO);
    }
    at += (size_t)got;
  }
  content[n] = '\0';
  *data = content;
  *size = n;
  return MICA_OK;
}

static mica_status open_to_read(const char *path, int *file) {
  *file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (*file >= 0) return MICA_OK;
  if (errno == ENOENT || errno == ENOTDIR) return mica__fail(MICA_E_NOT_FOUND, "there is no file %s", path);
  return fail_io("read", path, errno);
}

mica_status mica__file_hold(const char *path, int *file) { return open_to_read(path, file); }

mica_status mica__file_read_open(int file, const char *path, unsigned char **data, size_t *size) {
  return lseek(file, 0, SEEK_SET) == 0 ? read_open(file, path, data, size) : fail_io("read", path, errno);
}

mica_status mica__file_read(const char *path, unsigned char **data, size_t *size) {
  int file = -1;
  MICA_TRY(open_to_read(path, &file));
  mica_status status = read_open(file, path, data, size);
  close(file);
  return status;
}

/* --- files that nobody else could write --- */

/* Copies the directory of path into `directory`; false if the name is too long. */
static bool parent_of(const char *path, char directory[PATH_MAX]) {
  const char *slash = strrchr(path, '/');
  size_t n = slash ? (size_t)(slash - path) : 0;
  if (n >= PATH_MAX) return false;
  memcpy(directory, path, n);
  directory[n] = '\0';
  if (!slash) strcpy(directory, ".");
  if (slash == path) strcpy(directory, "/");
  return true;
}

/* True if this user or root owns the file and no other user can write it. Write permission of the group is allowed only
 * if the file's group is this user's group and its number equals the user's number, which is how systems number groups
 * with one member. */
static bool is_private(const struct stat *about) {
  const bool alone = about->st_gid == getegid() && (uintmax_t)about->st_gid == (uintmax_t)geteuid();
  return (about->st_uid == geteuid() || about->st_uid == 0) && !(about->st_mode & S_IWOTH) &&
         (alone || !(about->st_mode & S_IWGRP));
}

mica_status mica__file_read_private(const char *path, unsigned char **data, size_t *size) {
  static atomic_bool warned;
  struct stat about, above;
  char folder[PATH_MAX];
  int file = -1;
  MICA_TRY(open_to_read(path, &file));
  const bool known = fstat(file, &about) == 0 && parent_of(path, folder) && stat(folder, &above) == 0;
  mica_status status = MICA_OK;
  if (!known || !is_private(&about) || !is_private(&above)) {
    status =
        mica__fail(MICA_E_STATE,
                   "%s is not used, because the file or its folder belongs to another user, can be written by others, "
                   "or cannot be examined",
                   path);
    if (!atomic_exchange(&warned, true)) mica__log(MICA_LOG_LEVEL_WARNING, "%s", mica_error_message());
  }
  if (status == MICA_OK) status = read_open(file, path, data, size);
  close(file);
  return status;
}

mica_status mica__file_read_owned(const char *path, unsigned char **data, size_t *size) {
  struct stat about;
  int file = -1;
  MICA_TRY(open_to_read(path, &file));
  mica_status status = MICA_OK;
  if (fstat(file, &about) || !is_private(&about))
    status =
        mica__fail(MICA_E_STATE,
                   "%s is not used, because the file belongs to another user, can be written by others, or cannot be "
                   "examined",
                   path);
  if (status == MICA_OK) status = read_open(file, path, data, size);
  close(file);
  return status;
}

/* --- parts of files, and maps --- */

static mica_status read_part(int file, const char *path, double from, double to, unsigned char **data, size_t *size) {
  struct stat about;
  if (fstat(file, &about) || !S_ISREG(about.st_mode))
    return mica__fail(MICA_E_NOT_FOUND, "%s is not a regular file", path);
  if ((uint64_t)about.st_size >= SIZE_MAX) return fail_io("read", path, EFBIG);
  const size_t all = (size_t)about.st_size, first = (size_t)(from * (double)all);
  const size_t count = (to < 1 ? (size_t)(to * (double)all) : all) - first;
  unsigned char *content = malloc(count + 1);
  if (!content) return mica__fail_nomem(path);
  for (size_t at = 0; at < count;) {
    const ssize_t got = pread(file, content + at, count - at, (off_t)(first + at));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      free(content);
      return fail_io("read", path, got < 0 ? errno : EIO);
    }
    at += (size_t)got;
  }
  content[count] = '\0';
  *data = content;
  *size = count;
  return MICA_OK;
}

mica_status mica__file_read_part(const char *path, double from, double to, unsigned char **data, size_t *size) {
  int file = -1;
  MICA_TRY(open_to_read(path, &file));
  mica_status status = read_part(file, path, from, to, data, size);
  close(file);
  return status;
}

static mica_status map_open(int file, const char *path, const unsigned char **data, size_t *size) {
  struct stat about;
  if (fstat(file, &about) || !S_ISREG(about.st_mode))
    return mica__fail(MICA_E_NOT_FOUND, "%s is not a regular file", path);
  if ((uint64_t)about.st_size > SIZE_MAX) return fail_io("read", path, EFBIG);
  *data = (const unsigned char *)"";
  *size = (size_t)about.st_size;
  if (*size == 0) return MICA_OK;
  void *mapped = mmap(NULL, *size, PROT_READ, MAP_PRIVATE, file, 0);
  if (mapped == MAP_FAILED) return fail_io("read", path, errno);
  *data = mapped;
  return MICA_OK;
}

mica_status mica__file_map(const char *path, const unsigned char **data, size_t *size) {
  int file = -1;
  MICA_TRY(open_to_read(path, &file));
  mica_status status = map_open(file, path, data, size);
  close(file);
  return status;
}

void mica__file_unmap(const unsigned char *data, size_t size) {
  if (size > 0) munmap((void *)(uintptr_t)data, size);
}

bool mica__file_find(const char *at, const char *const *names, mica__text *path) {
  struct stat about;
  if (stat(at, &about) != 0) return false;
  const bool folder = S_ISDIR(about.st_mode);
  const char *slash = strrchr(at, '/');
  for (; *names; names++) {
    mica__text_free(path);
    *path = (mica__text){0};
    if (folder)
      mica__text_addf(path, "%s/%s", at, *names);
    else
      mica__text_addf(path, "%.*s%s", slash ? (int)(slash + 1 - at) : 0, at, *names);
    if (path->failed) return true;
    if (stat(path->data, &about) == 0 && S_ISREG(about.st_mode) && strcmp(path->data, at) != 0) return true;
  }
  return false;
}

mica_status mica__file_make_parents(const char *path) {
  char copy[PATH_MAX];
  size_t n = strlen(path);
  if (n >= sizeof copy) return fail_io("write", path, ENAMETOOLONG);
  memcpy(copy, path, n + 1);
  for (char *at = copy + 1; *at; at++)
    if (*at == '/') {
      *at = '\0';
      if (mkdir(copy, 0777) && errno != EEXIST) return fail_io("make the directory", copy, errno);
      *at = '/';
    }
  return MICA_OK;
}

/* Removes the last component of a path and the slashes around it; false if nothing or only the root is left. */
static bool cut_part(char *path) {
  size_t n = strlen(path);
  while (n > 1 && path[n - 1] == '/') n--;
  while (n > 0 && path[n - 1] != '/') n--;
  while (n > 1 && path[n - 1] == '/') n--;
  path[n] = '\0';
  return n > 1 || (n == 1 && *path != '/');
}

int mica__folder_missing(const char *path) {
  char copy[PATH_MAX];
  struct stat about;
  int count = 0;
  if (strlen(path) >= sizeof copy) return 0;
  strcpy(copy, path);
  while (*copy && stat(copy, &about) != 0 && errno == ENOENT) {
    count++;
    if (!cut_part(copy)) break;
  }
  return count;
}

mica_status mica__folder_make(const char *path, int *made) {
  *made = mica__folder_missing(path);
  mica_status status = mica__file_make_parents(path);
  if (status == MICA_OK && mkdir(path, 0777) && errno != EEXIST) status = fail_io("make the directory", path, errno);
  if (status != MICA_OK) mica__folder_remove(path, *made);
  return status;
}

void mica__folder_remove(const char *path, int made) {
  char copy[PATH_MAX];
  if (strlen(path) >= sizeof copy) return;
  strcpy(copy, path);
  for (; made > 0; made--) {
    if (rmdir(copy) && errno != ENOENT) return;
    if (!cut_part(copy)) return;
  }
}

mica_status mica__folder_check(const char *path) {
  struct stat at;
  int made = 0, refused = 0;
  MICA_TRY(mica__folder_make(path, &made));
  if (stat(path, &at) || (S_ISDIR(at.st_mode) && access(path, W_OK | X_OK)))
    refused = errno;
  else if (!S_ISDIR(at.st_mode))
    refused = ENOTDIR;
  mica__folder_remove(path, made);
  return refused ? mica__fail(MICA_E_IO, "cannot write to the folder %s: %s", path, strerror(refused)) : MICA_OK;
}

static bool write_all(int file, const void *data, size_t n) {
  for (const char *at = data; n > 0;) {
    ssize_t put = write(file, at, n);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    at += put;
    n -= (size_t)put;
  }
  return true;
}

/* Syncs the directory of path, so that a rename in it survives a loss of power. Failures are ignored, because the file
 * itself is already written. */
static void sync_parent(const char *path) {
  char directory[PATH_MAX];
  int handle = parent_of(path, directory) ? open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
  if (handle < 0) return;
  fsync(handle);
  close(handle);
}

/* True if `found` is a temporary name that replace_at gave for `name` in a process that no longer exists. */
static bool is_leftover(const char *found, const char *name) {
  size_t n = strlen(name);
  long process = 0;
  unsigned serial = 0;
  int used = 0;
  if (strncmp(found, name, n) || sscanf(found + n, ".%ld.%u" MICA__FILE_ASIDE "%n", &process, &serial, &used) != 2)
    return false;
  return used > 0 && !found[n + (size_t)used] && process > 0 && kill((pid_t)process, 0) && errno == ESRCH;
}

void mica__file_sweep(const char *path) {
  char directory[PATH_MAX];
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  DIR *open_directory = parent_of(path, directory) ? opendir(directory) : NULL;
  if (!open_directory) return;
  for (const struct dirent *entry; (entry = readdir(open_directory));)
    if (is_leftover(entry->d_name, name)) unlinkat(dirfd(open_directory), entry->d_name, 0);
  closedir(open_directory);
}

static bool write_pieces(int file, const mica__bytes *pieces, size_t count) {
  bool written = true;
  for (size_t i = 0; written && i < count; i++) written = write_all(file, pieces[i].data, pieces[i].size);
  return written;
}

/* Writes to a pipe or a device. If a pipe's reader goes away, this thread's SIGPIPE is consumed so that it does not end
 * the process, and the error is EPIPE. */
static bool write_pipe(int file, const mica__bytes *pieces, size_t count) {
  sigset_t pipe, before, pending;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  sigpending(&pending);
  const bool waits = sigismember(&pending, SIGPIPE) == 1;
  if ((errno = pthread_sigmask(SIG_BLOCK, &pipe, &before))) return false;
  const bool written = write_pieces(file, pieces, count);
  const int error = errno;
  int number = 0;
  sigpending(&pending);
  if (!waits && sigismember(&pending, SIGPIPE) == 1) sigwait(&pipe, &number);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  errno = error;
  return written;
}

/* Writes to a device or a pipe, which must not be replaced by a regular file. It is also used for every name in /dev,
 * because /dev/stdout may lead to a regular file that another program holds open. A pipe that nobody reads is an error
 * (ENXIO); the call does not wait for a reader. */
static mica_status write_through(const char *path, const mica__bytes *pieces, size_t count) {
  int file = open(path, O_WRONLY | O_TRUNC | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return fail_io("write", path, errno);
  const int flags = fcntl(file, F_GETFL);
  bool written = flags >= 0 && fcntl(file, F_SETFL, flags & ~O_NONBLOCK) == 0 && write_pipe(file, pieces, count);
  int error = errno;
  if (close(file) && written) written = false, error = errno;
  return written ? MICA_OK : fail_io("write", path, error);
}

/* --- folders that are held --- */

typedef struct held {
  char *path;
  int folder;
  struct held *next;
} held;

static held *all_held;
static pthread_mutex_t held_lock = PTHREAD_MUTEX_INITIALIZER;

mica_status mica__folder_hold(const char *path, int folder) {
  held *one = calloc(1, sizeof *one);
  char *copy = one ? mica__strdup(path) : NULL;
  if (!copy) {
    free(one);
    return mica__fail_nomem(path);
  }
  pthread_mutex_lock(&held_lock);
  *one = (held){copy, folder, all_held};
  all_held = one;
  pthread_mutex_unlock(&held_lock);
  return MICA_OK;
}

void mica__folder_let_go(int folder) {
  pthread_mutex_lock(&held_lock);
  for (held **at = &all_held; *at; at = &(*at)->next) {
    held *one = *at;
    if (one->folder != folder) continue;
    *at = one->next;
    free(one->path);
    free(one);
    break;
  }
  pthread_mutex_unlock(&held_lock);
}

/* If path is PATH/NAME for a folder PATH of mica__folder_hold, returns a duplicate of the folder's descriptor and sets
 * *name to NAME; else returns -1. */
static int find_held(const char *path, const char **name) {
  const char *slash = strrchr(path, '/');
  int folder = -1;
  if (!slash) return -1;
  pthread_mutex_lock(&held_lock);
  for (const held *one = all_held; one && folder < 0; one = one->next)
    if (strlen(one->path) == (size_t)(slash - path) && !strncmp(one->path, path, (size_t)(slash - path)))
      folder = fcntl(one->folder, F_DUPFD_CLOEXEC, 0);
  pthread_mutex_unlock(&held_lock);
  if (folder >= 0) *name = slash + 1;
  return folder;
}

/* --- replacing --- */

/* Replaces the file `name` in the directory that is open as `at`. path: the name in messages. */
static mica_status replace_at(int at, const char *name, const char *path, mode_t mode, const mica__bytes *pieces,
                              size_t count) {
  static atomic_uint serial;
  char aside[PATH_MAX];
  int n =
      snprintf(aside, sizeof aside, "%s.%ld.%u" MICA__FILE_ASIDE, name, (long)getpid(), atomic_fetch_add(&serial, 1));
  if (n < 0 || (size_t)n >= sizeof aside) return fail_io("write", path, ENAMETOOLONG);
  int file = openat(at, aside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
  if (file < 0) return fail_io("write", path, errno);
  bool written = write_pieces(file, pieces, count) && fsync(file) == 0;
  int error = errno;
  if (close(file) && written) written = false, error = errno;
  if (written && renameat(at, aside, at, name)) written = false, error = errno;
  if (written) {
    mica__content_wrote(pieces, count);
    return MICA_OK;
  }
  unlinkat(at, aside, 0);
  return fail_io("write", path, error);
}

mica_status mica__file_replace_own(const char *path, const mica__bytes *pieces, size_t count) {
  const char *name = path;
  const int folder = find_held(path, &name);
  if (folder >= 0) {
    mica_status status = replace_at(folder, name, path, 0666, pieces, count);
    if (status == MICA_OK) fsync(folder);
    close(folder);
    return status;
  }
  MICA_TRY(mica__file_make_parents(path));
  MICA_TRY(replace_at(AT_FDCWD, path, path, 0666, pieces, count));
  sync_parent(path);
  return MICA_OK;
}

mica_status mica__file_replace_private(const char *path, const mica__bytes *pieces, size_t count) {
  char folder[PATH_MAX];
  struct stat about;
  if (!parent_of(path, folder)) return fail_io("write", path, ENAMETOOLONG);
  MICA_TRY(mica__file_make_parents(folder));
  mkdir(folder, 0700);
  if (stat(folder, &about) == 0 && about.st_uid == geteuid() && !is_private(&about) && chmod(folder, 0700))
    return fail_io("write", path, errno);
  MICA_TRY(replace_at(AT_FDCWD, path, path, 0600, pieces, count));
  sync_parent(path);
  return MICA_OK;
}

mica_status mica__file_replace(const char *path, const mica__bytes *pieces, size_t count) {
  struct stat about;
  const char *name = path;
  const int folder = find_held(path, &name);
  if (folder >= 0) close(folder);
  const bool through = folder < 0 && stat(path, &about) == 0 && !S_ISDIR(about.st_mode) &&
                       (!S_ISREG(about.st_mode) || strncmp(path, "/dev/", 5) == 0);
  return through ? write_through(path, pieces, count) : mica__file_replace_own(path, pieces, count);
}
