/* windows/handles.h: what the files of this folder share. */
#ifndef MICA_WINDOWS_HANDLES_H
#define MICA_WINDOWS_HANDLES_H

#include "windows/posix.h"

#define WIN32_LEAN_AND_MEAN
#include <windows.h>

/* Sets errno to what GetLastError says; returns -1. */
int mica__posix_fail(void);
/* The handle of an open descriptor; INVALID_HANDLE_VALUE and EBADF of another number. */
HANDLE mica__posix_handle(int file);
/* The path of a name from the directory that is open as `at`: `path` itself or `whole`. NULL and errno on failure. */
const char *mica__posix_path_at(int at, const char *path, char whole[PATH_MAX]);
/* Lets the lock of a descriptor go, if it has one. */
void mica__posix_unlock(int file);

#endif
