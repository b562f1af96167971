/* windows/handles.h: functions that the files of this folder share. */
#ifndef MICA_WINDOWS_HANDLES_H
#define MICA_WINDOWS_HANDLES_H

#include "windows/posix.h"

#define WIN32_LEAN_AND_MEAN
#include <windows.h>

/* Sets errno from GetLastError; returns -1. */
int mica__posix_fail(void);
/* The handle of an open descriptor; INVALID_HANDLE_VALUE and EBADF if it is not open. */
HANDLE mica__posix_handle(int file);
/* The whole path of `path`, seen from the open directory `at`. This is `path` itself if it is absolute or if
 * `at` is AT_FDCWD. Else it is `whole`, which receives the path. NULL and errno on failure. */
const char *mica__posix_path_at(int at, const char *path, char whole[PATH_MAX]);
/* Releases a descriptor's lock if it has one. */
void mica__posix_unlock(int file);

#endif
