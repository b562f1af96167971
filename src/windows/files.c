/* POSIX functions for files, on top of Windows handles. */
#include "windows/posix.h"

#include "windows/handles.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>

#define SHARED_BY_ALL (FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE)

int mica__posix_fail(void) {
  switch (GetLastError()) {
  case ERROR_FILE_NOT_FOUND:
  case ERROR_PATH_NOT_FOUND:
  case ERROR_INVALID_NAME:
  case ERROR_BAD_NETPATH:
  case ERROR_BAD_PATHNAME: errno = ENOENT; break;
  case ERROR_DIRECTORY: errno = ENOTDIR; break;
  case ERROR_FILE_EXISTS:
  case ERROR_ALREADY_EXISTS: errno = EEXIST; break;
  case ERROR_DIR_NOT_EMPTY: errno = ENOTEMPTY; break;
  case ERROR_ACCESS_DENIED:
  case ERROR_SHARING_VIOLATION: errno = EACCES; break;
  case ERROR_LOCK_VIOLATION: errno = EWOULDBLOCK; break;
  case ERROR_HANDLE_DISK_FULL:
  case ERROR_DISK_FULL: errno = ENOSPC; break;
  case ERROR_NOT_ENOUGH_MEMORY:
  case ERROR_OUTOFMEMORY: errno = ENOMEM; break;
  case ERROR_TOO_MANY_OPEN_FILES: errno = EMFILE; break;
  case ERROR_INVALID_HANDLE: errno = EBADF; break;
  case ERROR_BROKEN_PIPE:
  case ERROR_NO_DATA: errno = EPIPE; break;
  case ERROR_NOT_SAME_DEVICE: errno = EXDEV; break;
  case ERROR_FILENAME_EXCED_RANGE: errno = ENAMETOOLONG; break;
  case ERROR_WRITE_PROTECT: errno = EROFS; break;
  default: errno = EIO;
  }
  return -1;
}

HANDLE mica__posix_handle(int file) {
  const HANDLE handle = (HANDLE)_get_osfhandle(file);
  if (handle == INVALID_HANDLE_VALUE) errno = EBADF;
  return handle;
}

/* Fails if `at` is not open, or the path would be too long. */
const char *mica__posix_path_at(int at, const char *path, char whole[PATH_MAX]) {
  const bool whole_already = path[0] == '/' || path[0] == '\\' || (path[0] && path[1] == ':');
  if (at == AT_FDCWD || whole_already) return path;
  const HANDLE directory = mica__posix_handle(at);
  if (directory == INVALID_HANDLE_VALUE) return NULL;
  const size_t length = strlen(path);
  const DWORD n = GetFinalPathNameByHandleA(directory, whole, PATH_MAX, FILE_NAME_NORMALIZED | VOLUME_NAME_DOS);
  if (n == 0) {
    mica__posix_fail();
    return NULL;
  }
  if (n + 1 + length >= PATH_MAX) {
    errno = ENAMETOOLONG;
    return NULL;
  }
  whole[n] = '\\';
  for (size_t i = 0; i <= length; i++) whole[n + 1 + i] = path[i] == '/' ? '\\' : path[i];
  return whole;
}

static DWORD rights_of(int flags) {
  switch (flags & (O_RDONLY | O_WRONLY | O_RDWR)) {
  case O_WRONLY: return GENERIC_WRITE;
  case O_RDWR: return GENERIC_READ | GENERIC_WRITE;
  default: return GENERIC_READ;
  }
}

static DWORD disposition_of(int flags) {
  if ((flags & O_CREAT) && (flags & O_EXCL)) return CREATE_NEW;
  if ((flags & O_CREAT) && (flags & O_TRUNC)) return CREATE_ALWAYS;
  if (flags & O_CREAT) return OPEN_ALWAYS;
  return flags & O_TRUNC ? TRUNCATE_EXISTING : OPEN_EXISTING;
}

static int open_path(const char *path, int flags) {
  if (strcmp(path, "/dev/null") == 0) path = "NUL";
  const DWORD before = GetFileAttributesA(path);
  const bool there = before != INVALID_FILE_ATTRIBUTES, directory = there && (before & FILE_ATTRIBUTE_DIRECTORY);
  if ((flags & O_DIRECTORY) && there && !directory) return errno = ENOTDIR, -1;
  if ((flags & O_NOFOLLOW) && there && (before & FILE_ATTRIBUTE_REPARSE_POINT)) return errno = ELOOP, -1;
  if (directory && (flags & (O_WRONLY | O_RDWR | O_CREAT))) return errno = flags & O_EXCL ? EEXIST : EISDIR, -1;
  const HANDLE handle = CreateFileA(path, rights_of(flags), SHARED_BY_ALL, NULL, disposition_of(flags),
                                    directory ? FILE_FLAG_BACKUP_SEMANTICS : FILE_ATTRIBUTE_NORMAL, NULL);
  if (handle == INVALID_HANDLE_VALUE) return mica__posix_fail();
  const int file = _open_osfhandle((intptr_t)handle, O_BINARY | O_NOINHERIT | (flags & (O_APPEND | O_RDONLY)));
  if (file < 0) CloseHandle(handle);
  return file;
}

int mica__posix_open(const char *path, int flags, ...) { return open_path(path, flags); }

int mica__posix_openat(int at, const char *path, int flags, ...) {
  char whole[PATH_MAX];
  const char *found = mica__posix_path_at(at, path, whole);
  return found ? open_path(found, flags) : -1;
}

/* --- file status --- */

static struct timespec time_of(FILETIME time) {
  const uint64_t ticks = (uint64_t)time.dwHighDateTime << 32 | time.dwLowDateTime; /* in 100 ns since 1601 */
  return (struct timespec){.tv_sec = (time_t)(ticks / 10000000) - 11644473600,
                           .tv_nsec = (long)(ticks % 10000000) * 100};
}

static int stat_handle(HANDLE handle, struct mica__posix_stat *about) {
  BY_HANDLE_FILE_INFORMATION info;
  *about = (struct mica__posix_stat){.st_nlink = 1, .st_mode = S_IFCHR | 0600};
  const DWORD type = GetFileType(handle);
  if (type == FILE_TYPE_PIPE) about->st_mode = S_IFIFO | 0600;
  if (type != FILE_TYPE_DISK) return 0;
  if (!GetFileInformationByHandle(handle, &info)) return mica__posix_fail();
  const unsigned write = info.dwFileAttributes & FILE_ATTRIBUTE_READONLY ? 0 : 0200;
  about->st_mode = info.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY ? S_IFDIR | 0700 : S_IFREG | 0500 | write;
  about->st_dev = info.dwVolumeSerialNumber;
  about->st_ino = (uint64_t)info.nFileIndexHigh << 32 | info.nFileIndexLow;
  about->st_nlink = info.nNumberOfLinks;
  about->st_size = (int64_t)((uint64_t)info.nFileSizeHigh << 32 | info.nFileSizeLow);
  about->st_atim = time_of(info.ftLastAccessTime);
  about->st_mtim = time_of(info.ftLastWriteTime);
  about->st_ctim = time_of(info.ftCreationTime);
  return 0;
}

static int stat_path(const char *path, struct mica__posix_stat *about, bool follow) {
  if (!*path) return errno = ENOENT, -1;
  const HANDLE handle = CreateFileA(path, FILE_READ_ATTRIBUTES, SHARED_BY_ALL, NULL, OPEN_EXISTING,
                                    FILE_FLAG_BACKUP_SEMANTICS | (follow ? 0 : FILE_FLAG_OPEN_REPARSE_POINT), NULL);
  if (handle == INVALID_HANDLE_VALUE) return mica__posix_fail();
  int answer = stat_handle(handle, about);
  const DWORD attributes = follow ? 0 : GetFileAttributesA(path);
  if (answer == 0 && attributes != INVALID_FILE_ATTRIBUTES && (attributes & FILE_ATTRIBUTE_REPARSE_POINT))
    about->st_mode = S_IFLNK | 0700;
  CloseHandle(handle);
  return answer;
}

int mica__posix_stat(const char *path, struct mica__posix_stat *about) { return stat_path(path, about, true); }
int mica__posix_lstat(const char *path, struct mica__posix_stat *about) { return stat_path(path, about, false); }

int mica__posix_fstatat(int at, const char *path, struct mica__posix_stat *about, int flags) {
  char whole[PATH_MAX];
  const char *found = mica__posix_path_at(at, path, whole);
  return found ? stat_path(found, about, !(flags & AT_SYMLINK_NOFOLLOW)) : -1;
}

int mica__posix_fstat(int file, struct mica__posix_stat *about) {
  const HANDLE handle = mica__posix_handle(file);
  return handle == INVALID_HANDLE_VALUE ? -1 : stat_handle(handle, about);
}

int mica__posix_access(const char *path, int how) {
  if (!*path) return errno = ENOENT, -1;
  const DWORD attributes = GetFileAttributesA(path);
  if (attributes == INVALID_FILE_ATTRIBUTES) return mica__posix_fail();
  if ((how & W_OK) && !(attributes & FILE_ATTRIBUTE_DIRECTORY) && (attributes & FILE_ATTRIBUTE_READONLY))
    return errno = EACCES, -1;
  return 0;
}

int mica__posix_faccessat(int at, const char *path, int how, int flags) {
  char whole[PATH_MAX];
  const char *found = flags ? NULL : mica__posix_path_at(at, path, whole);
  return found ? mica__posix_access(found, how) : -1;
}

/* --- reading and writing --- */

/* The number of bytes for one ReadFile or WriteFile, whose counts have 32 bits. As in POSIX, a read or write may be
 * partial. */
static DWORD part_of(size_t bytes) { return bytes < 1 << 30 ? (DWORD)bytes : 1 << 30; }

ssize_t mica__posix_read(int file, void *data, size_t bytes) {
  const HANDLE handle = mica__posix_handle(file);
  DWORD got = 0;
  if (handle == INVALID_HANDLE_VALUE) return -1;
  if (ReadFile(handle, data, part_of(bytes), &got, NULL)) return (ssize_t)got;
  return GetLastError() == ERROR_BROKEN_PIPE || GetLastError() == ERROR_HANDLE_EOF ? 0 : mica__posix_fail();
}

ssize_t mica__posix_write(int file, const void *data, size_t bytes) {
  const HANDLE handle = mica__posix_handle(file);
  DWORD put = 0;
  if (handle == INVALID_HANDLE_VALUE) return -1;
  return WriteFile(handle, data, part_of(bytes), &put, NULL) ? (ssize_t)put : mica__posix_fail();
}

ssize_t mica__posix_pread(int file, void *data, size_t bytes, int64_t at) {
  const HANDLE handle = mica__posix_handle(file);
  DWORD got = 0;
  OVERLAPPED position = {.Offset = (DWORD)((uint64_t)at & 0xffffffff), .OffsetHigh = (DWORD)((uint64_t)at >> 32)};
  const LARGE_INTEGER none = {.QuadPart = 0};
  LARGE_INTEGER before;
  if (handle == INVALID_HANDLE_VALUE) return -1;
  if (at < 0) return errno = EINVAL, -1;
  /* Restores the position afterwards: ReadFile moves it, pread must not. */
  if (!SetFilePointerEx(handle, none, &before, FILE_CURRENT)) return errno = ESPIPE, -1;
  const BOOL read = ReadFile(handle, data, part_of(bytes), &got, &position);
  const DWORD error = read ? 0 : GetLastError();
  SetFilePointerEx(handle, before, NULL, FILE_BEGIN);
  SetLastError(error);
  return read || error == ERROR_HANDLE_EOF ? (ssize_t)got : mica__posix_fail();
}

int mica__posix_fsync(int file) {
  struct mica__posix_stat about;
  if (mica__posix_fstat(file, &about) != 0) return -1;
  /* The system flushes directories itself. */
  if (!S_ISREG(about.st_mode)) return 0;
  return FlushFileBuffers(mica__posix_handle(file)) ? 0 : mica__posix_fail();
}

/* Converts a mode for the CRT: always binary, and without letters that the CRT does not know. */
static void binary_mode(char own[8], const char *mode) {
  size_t n = 0;
  for (; *mode && n < 6; mode++)
    if (*mode == 'r' || *mode == 'w' || *mode == 'a' || *mode == '+') own[n++] = *mode;
  own[n++] = 'b';
  own[n] = '\0';
}

FILE *mica__posix_fopen(const char *path, const char *mode) {
  char own[8];
  binary_mode(own, mode);
  const int access = strchr(mode, '+') ? O_RDWR : *mode == 'r' ? O_RDONLY : O_WRONLY;
  const int making =
      *mode == 'r' ? 0 : O_CREAT | (*mode == 'w' ? O_TRUNC : O_APPEND) | (strchr(mode, 'x') ? O_EXCL : 0);
  const int file = open_path(path, access | making);
  FILE *stream = file >= 0 ? _fdopen(file, own) : NULL;
  if (file >= 0 && !stream) _close(file);
  return stream;
}

FILE *mica__posix_fdopen(int file, const char *mode) {
  char own[8];
  binary_mode(own, mode);
  return _fdopen(file, own);
}

int mica__posix_pipe(int ends[2]) { return _pipe(ends, 1 << 16, O_BINARY | O_NOINHERIT); }

/* --- pages --- */

void *mica__posix_mmap(void *where, size_t bytes, int protection, int flags, int file, int64_t from) {
  void *pages = NULL;
  if (where || bytes == 0 || from < 0) return errno = EINVAL, MAP_FAILED;
  const bool copied = flags & MAP_PRIVATE && protection & PROT_WRITE, written = protection & PROT_WRITE;
  HANDLE handle = INVALID_HANDLE_VALUE;
  if (!(flags & MAP_ANONYMOUS) && (handle = mica__posix_handle(file)) == INVALID_HANDLE_VALUE) return MAP_FAILED;
  const uint64_t end = (uint64_t)from + bytes;
  const HANDLE mapping =
      CreateFileMappingA(handle, NULL,
                         flags & MAP_ANONYMOUS || (written && !copied) ? PAGE_READWRITE
                         : copied                                      ? PAGE_WRITECOPY
                                                                       : PAGE_READONLY,
                         flags & MAP_ANONYMOUS ? (DWORD)(end >> 32) : 0, flags & MAP_ANONYMOUS ? (DWORD)end : 0, NULL);
  if (mapping) {
    const DWORD how = flags & MAP_ANONYMOUS || (written && !copied) ? FILE_MAP_WRITE
                      : copied                                      ? FILE_MAP_COPY
                                                                    : FILE_MAP_READ;
    pages = MapViewOfFile(mapping, how, (DWORD)((uint64_t)from >> 32), (DWORD)((uint64_t)from & 0xffffffff), bytes);
    if (!pages) mica__posix_fail();
    CloseHandle(mapping); /* the view keeps the mapping alive */
  } else {
    mica__posix_fail();
  }
  return pages ? pages : MAP_FAILED;
}

int mica__posix_munmap(void *pages, size_t bytes) { return bytes && UnmapViewOfFile(pages) ? 0 : mica__posix_fail(); }
