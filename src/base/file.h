/* base/file.h: whole files: read or mapped at once, replaced at once. */
#ifndef MICA_BASE_FILE_H
#define MICA_BASE_FILE_H

#include "base/error.h"
#include "base/shared.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>

/* The ending of the temporary files of mica__file_replace. A file with this ending was left by a killed process. */
#define MICA__FILE_ASIDE ".tmp"

/* *data is the caller's to free, and not NULL even for an empty file; a NUL stands after its end. MICA_E_NOT_FOUND when
 * there is no regular file of that name, MICA_E_IO when it cannot be read or is above 1 GiB, MICA_E_NOMEM. */
MICA__SHARED mica_status mica__file_read(const char *path, unsigned char **data, size_t *size);

/* Opens a file for mica__file_read_open, which reads it whole even when its name is deleted; close() lets it go. */
MICA__SHARED mica_status mica__file_hold(const char *path, int *file);
MICA__SHARED mica_status mica__file_read_open(int file, const char *path, unsigned char **data, size_t *size);

/* Reads a file that no other user could have written: MICA_E_STATE, and once a warning, if it or its folder belongs to
 * another user (root excepted), or can be written by others. */
mica_status mica__file_read_private(const char *path, unsigned char **data, size_t *size);
/* Reads a file of this user or root that others cannot write, in whatever folder: MICA_E_STATE if it is another. */
mica_status mica__file_read_owned(const char *path, unsigned char **data, size_t *size);
/* Reads a share of a file of any size, from and to being 0 to 1, as mica__file_read does. */
MICA__SHARED mica_status mica__file_read_part(const char *path, double from, double to, unsigned char **data,
                                              size_t *size);

/* Maps what mica__file_read would read, without the NUL, as pages of the file itself; mica__file_unmap lets them go.
 * Whoever replaces the file leaves the pages as they are; a file that is truncated in place faults. *data is not NULL
 * even for an empty file. */
mica_status mica__file_map(const char *path, const unsigned char **data, size_t *size);
void mica__file_unmap(const unsigned char *data, size_t size);

/* Sets *path, empty before, to the first of the names, which NULL ends, that is a regular file in the directory `at`,
 * or another one beside it where that is a file itself; false if there is none. Where memory is short it is true,
 * and mica__text_status(path) says so. The caller frees *path. */
MICA__SHARED bool mica__file_find(const char *at, const char *const *names, mica__text *path);

/* Makes the directory that path stands in, and those above it, where they are missing. */
mica_status mica__file_make_parents(const char *path);

/* Makes a directory and those above it that are missing; *made counts them. */
MICA__SHARED mica_status mica__folder_make(const char *path, int *made);
/* Removes an empty directory and so many in all, upwards, until one is not empty. */
MICA__SHARED void mica__folder_remove(const char *path, int made);
/* MICA_E_IO if a directory cannot be made or written; one that is made to find out is gone again. */
mica_status mica__folder_check(const char *path);
/* The directories that mica__folder_make would make. */
MICA__SHARED int mica__folder_missing(const char *path);

typedef struct mica__bytes {
  const void *data;
  size_t size;
} mica__bytes;

/* Deletes what killed processes of this machine left aside of path. */
void mica__file_sweep(const char *path);

/* Makes the file hold the pieces one after another: at any moment it is the old file or the new one, also for other
 * processes and after a loss of power. Written beside its place, synced, renamed. Missing directories are made.
 * MICA_E_IO says what went wrong, and nothing is left after. A device, a pipe or a name in /dev is written to instead;
 * a pipe that nobody reads, or no longer, is MICA_E_IO, without SIGPIPE. */
MICA__SHARED mica_status mica__file_replace(const char *path, const mica__bytes *pieces, size_t count);
/* For files in folders of Mica's own: whatever has the name is replaced, a link or device too, never written to. */
mica_status mica__file_replace_own(const char *path, const mica__bytes *pieces, size_t count);

/* Does so for a file that mica__file_read_private reads: of mode 0600, in a folder that is made with mode 0700. */
mica_status mica__file_replace_private(const char *path, const mica__bytes *pieces, size_t count);

/* While a folder is held, both write PATH/NAME to the directory that is open as `folder`, wherever it is, and the
 * first does as the second. They fail with MICA_E_IO once it is deleted. Let it go before it is closed. */
MICA__SHARED mica_status mica__folder_hold(const char *path, int folder);
MICA__SHARED void mica__folder_let_go(int folder);

#endif
