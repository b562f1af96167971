/* POSIX functions for directories, names of files, and locks. */
#include "windows/handles.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>

/* --- names --- */

int mica__posix_mkdir(const char *path, unsigned mode) {
  (void)mode; /* the system gives a folder its parent's access list */
  return CreateDirectoryA(path, NULL) ? 0 : mica__posix_fail();
}

/* Renames a file like POSIX, even if other processes have the replaced file open; their descriptors stay valid. Needs
 * Windows 10. */
static bool rename_at_once(const char *from, const char *to) {
  wchar_t name[PATH_MAX];
  const int length = MultiByteToWideChar(CP_ACP, 0, to, -1, name, PATH_MAX);
  const size_t bytes = sizeof(FILE_RENAME_INFO) + sizeof name;
  FILE_RENAME_INFO *info = length > 0 ? calloc(1, bytes) : NULL;
  const HANDLE file =
      info ? CreateFileA(from, DELETE | SYNCHRONIZE, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
                         OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, NULL)
           : INVALID_HANDLE_VALUE;
  bool done = false;
  if (file != INVALID_HANDLE_VALUE) {
    enum { REPLACES_AS_POSIX = 3, FILE_RENAME_EX = 22 };
    const DWORD flags = REPLACES_AS_POSIX;
    /* The flags share a union with a BOOL, the only member that MinGW-w64 declares. */
    memcpy(info, &flags, sizeof flags);
    info->FileNameLength = (DWORD)(length - 1) * (DWORD)sizeof *name;
    memcpy(info->FileName, name, info->FileNameLength);
    done = SetFileInformationByHandle(file, (FILE_INFO_BY_HANDLE_CLASS)FILE_RENAME_EX, info, (DWORD)bytes);
    CloseHandle(file);
  }
  free(info);
  return done;
}

int mica__posix_rename(const char *from, const char *to) {
  if (rename_at_once(from, to) || MoveFileExA(from, to, MOVEFILE_REPLACE_EXISTING)) return 0;
  return mica__posix_fail();
}

int mica__posix_renameat(int from_at, const char *from, int to_at, const char *to) {
  char whole_from[PATH_MAX], whole_to[PATH_MAX];
  const char *found_from = mica__posix_path_at(from_at, from, whole_from);
  const char *found_to = mica__posix_path_at(to_at, to, whole_to);
  return found_from && found_to ? mica__posix_rename(found_from, found_to) : -1;
}

int mica__posix_unlink(const char *path) {
  const DWORD attributes = GetFileAttributesA(path);
  if (attributes != INVALID_FILE_ATTRIBUTES && (attributes & FILE_ATTRIBUTE_DIRECTORY)) return errno = EISDIR, -1;
  return DeleteFileA(path) ? 0 : mica__posix_fail();
}

int mica__posix_unlinkat(int at, const char *path, int flags) {
  char whole[PATH_MAX];
  const char *found = mica__posix_path_at(at, path, whole);
  if (!found) return -1;
  if (!(flags & AT_REMOVEDIR)) return mica__posix_unlink(found);
  return RemoveDirectoryA(found) ? 0 : mica__posix_fail();
}

int mica__posix_utimensat(int at, const char *path, const struct timespec times[2], int flags) {
  char whole[PATH_MAX];
  const char *found = mica__posix_path_at(at, path, whole);
  if (!found) return -1;
  if (times || flags) return errno = EINVAL, -1;
  const HANDLE file = CreateFileA(found, FILE_WRITE_ATTRIBUTES, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                                  NULL, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, NULL);
  if (file == INVALID_HANDLE_VALUE) return mica__posix_fail();
  FILETIME now;
  GetSystemTimeAsFileTime(&now);
  const int answer = SetFileTime(file, NULL, &now, &now) ? 0 : mica__posix_fail();
  CloseHandle(file);
  return answer;
}

int mica__posix_symlink(const char *target, const char *path) {
  (void)target, (void)path;
  return errno = ENOSYS, -1;
}

ssize_t mica__posix_readlink(const char *path, char *target, size_t bytes) {
  (void)target, (void)bytes;
  return errno = GetFileAttributesA(path) == INVALID_FILE_ATTRIBUTES ? ENOENT : EINVAL, -1;
}

char *mica__posix_realpath(const char *path, char *whole) {
  if (mica__posix_access(path, F_OK) != 0) return NULL;
  char *own = whole ? whole : malloc(PATH_MAX);
  const DWORD n = own ? GetFullPathNameA(path, PATH_MAX, own, NULL) : 0;
  if (n == 0 || n >= PATH_MAX) {
    if (own != whole) free(own);
    errno = own ? ENAMETOOLONG : ENOMEM;
    return NULL;
  }
  for (char *at = own; *at; at++)
    if (*at == '\\') *at = '/';
  return own;
}

char *mica__posix_mkdtemp(char *path) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
  const size_t n = strlen(path), last = 6;
  if (n < last || strspn(path + n - last, "X") != last) return errno = EINVAL, NULL;
  LARGE_INTEGER clock;
  QueryPerformanceCounter(&clock);
  uint64_t state = (uint64_t)clock.QuadPart ^ (uint64_t)GetCurrentProcessId() << 32;
  for (int tries = 0; tries < 100; tries++) {
    for (size_t i = n - last; i < n; i++) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      path[i] = letters[(state >> 33) % (sizeof letters - 1)];
    }
    if (CreateDirectoryA(path, NULL)) return path;
    if (GetLastError() != ERROR_ALREADY_EXISTS) break;
  }
  mica__posix_fail();
  return NULL;
}

/* --- directories --- */

struct mica__directory {
  HANDLE search;
  WIN32_FIND_DATAA found;
  struct dirent entry;
  bool waits; /* `found` has an entry that readdir has not returned yet */
  int file;   /* the descriptor that dirfd has returned, or -1 */
  char path[];
};

DIR *mica__posix_opendir(const char *path) {
  struct mica__posix_stat about;
  if (mica__posix_stat(path, &about) != 0) return NULL;
  if (!S_ISDIR(about.st_mode)) return errno = ENOTDIR, NULL;
  const size_t n = strlen(path);
  DIR *directory = calloc(1, sizeof *directory + n + 3);
  if (!directory) return errno = ENOMEM, NULL;
  memcpy(directory->path, path, n);
  memcpy(directory->path + n, "/*", 3);
  directory->file = -1;
  directory->search = FindFirstFileA(directory->path, &directory->found);
  directory->path[n] = '\0';
  directory->waits = directory->search != INVALID_HANDLE_VALUE;
  if (!directory->waits && GetLastError() != ERROR_FILE_NOT_FOUND) {
    mica__posix_fail();
    free(directory);
    return NULL;
  }
  return directory;
}

struct dirent *mica__posix_readdir(DIR *directory) {
  if (!directory->waits) return NULL;
  snprintf(directory->entry.d_name, sizeof directory->entry.d_name, "%s", directory->found.cFileName);
  directory->waits = FindNextFileA(directory->search, &directory->found);
  return &directory->entry;
}

int mica__posix_dirfd(DIR *directory) {
  if (directory->file < 0) directory->file = mica__posix_open(directory->path, O_RDONLY | O_DIRECTORY);
  return directory->file;
}

int mica__posix_closedir(DIR *directory) {
  if (directory->search != INVALID_HANDLE_VALUE) FindClose(directory->search);
  if (directory->file >= 0) mica__posix_close(directory->file);
  free(directory);
  return 0;
}

int mica__posix_alphasort(const struct dirent **a, const struct dirent **b) {
  return strcmp((*a)->d_name, (*b)->d_name);
}

/* Adds a copy of an entry to a list of *count; false when memory is short. */
static bool add_entry(struct dirent ***entries, int *count, const struct dirent *entry) {
  struct dirent **grown = realloc(*entries, ((size_t)*count + 1) * sizeof **entries);
  if (grown) *entries = grown;
  if (!grown || !(grown[*count] = malloc(sizeof *entry))) return false;
  *grown[(*count)++] = *entry;
  return true;
}

int mica__posix_scandir(const char *path, struct dirent ***entries, int (*keep)(const struct dirent *),
                        int (*compare)(const struct dirent **, const struct dirent **)) {
  DIR *directory = mica__posix_opendir(path);
  int count = 0;
  bool good = directory != NULL;
  *entries = NULL;
  for (const struct dirent *entry; good && (entry = mica__posix_readdir(directory));)
    if (!keep || keep(entry)) good = add_entry(entries, &count, entry);
  if (directory) mica__posix_closedir(directory);
  if (!good) {
    for (int i = 0; i < count; i++) free((*entries)[i]);
    free(*entries);
    *entries = NULL;
    if (directory) errno = ENOMEM;
    return -1;
  }
  /* Insertion sort: there are few entries, and qsort's comparison has other types. */
  for (int i = 1; compare && i < count; i++)
    for (int k = i;
         k > 0 && compare((const struct dirent **)&(*entries)[k - 1], (const struct dirent **)&(*entries)[k]) > 0;
         k--) {
      struct dirent *moved = (*entries)[k];
      (*entries)[k] = (*entries)[k - 1];
      (*entries)[k - 1] = moved;
    }
  return count;
}

/* --- locks --- */

/* Files use the system's locks. A directory cannot have such a lock. Its lock is an event, whose name consists of the
 * volume and the index of the directory, and which exists while a process has it open. */
typedef struct lock {
  int file;
  HANDLE event;
  struct lock *next;
} lock;

static lock *all_locks;
static pthread_mutex_t locks = PTHREAD_MUTEX_INITIALIZER;

static int lock_directory(int file, const struct mica__posix_stat *about) {
  char name[64];
  snprintf(name, sizeof name, "mica-%llx-%llx", (unsigned long long)about->st_dev, (unsigned long long)about->st_ino);
  const HANDLE event = CreateEventA(NULL, TRUE, FALSE, name);
  if (!event) return mica__posix_fail();
  lock *one = GetLastError() == ERROR_ALREADY_EXISTS ? NULL : malloc(sizeof *one);
  if (!one) {
    CloseHandle(event);
    return errno = EWOULDBLOCK, -1;
  }
  pthread_mutex_lock(&locks);
  *one = (lock){file, event, all_locks};
  all_locks = one;
  pthread_mutex_unlock(&locks);
  return 0;
}

void mica__posix_unlock(int file) {
  pthread_mutex_lock(&locks);
  for (lock **at = &all_locks; *at;) {
    lock *one = *at;
    if (one->file != file) {
      at = &one->next;
      continue;
    }
    *at = one->next;
    CloseHandle(one->event);
    free(one);
  }
  pthread_mutex_unlock(&locks);
}

int mica__posix_flock(int file, int how) {
  struct mica__posix_stat about;
  OVERLAPPED position = {0};
  if (mica__posix_fstat(file, &about) != 0) return -1;
  const HANDLE handle = mica__posix_handle(file);
  if (S_ISDIR(about.st_mode) && !(how & LOCK_UN)) return lock_directory(file, &about);
  if (S_ISDIR(about.st_mode)) return mica__posix_unlock(file), 0;
  if (how & LOCK_UN) return UnlockFileEx(handle, 0, MAXDWORD, MAXDWORD, &position) ? 0 : mica__posix_fail();
  const DWORD flags = (how & LOCK_EX ? LOCKFILE_EXCLUSIVE_LOCK : 0u) | (how & LOCK_NB ? LOCKFILE_FAIL_IMMEDIATELY : 0u);
  return LockFileEx(handle, flags, 0, MAXDWORD, MAXDWORD, &position) ? 0 : mica__posix_fail();
}

/* --- descriptors --- */

int mica__posix_close(int file) {
  mica__posix_unlock(file);
  return _close(file);
}

int mica__posix_fcntl(int file, int what, ...) {
  if (mica__posix_handle(file) == INVALID_HANDLE_VALUE) return -1;
  return what == F_DUPFD_CLOEXEC ? _dup(file) : 0;
}
