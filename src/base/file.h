/* base/file.h: reads files or parts of them, maps them, finds them, replaces them atomically, and makes and removes
 * folders. */
#ifndef MICA_BASE_FILE_H
#define MICA_BASE_FILE_H

#include "base/error.h"
#include "base/shared.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>

/* Suffix of the temporary files of mica__file_replace. A killed process may leave such a file. */
#define MICA__FILE_ASIDE ".tmp"

/* Reads a whole file. The caller frees *data, which is not NULL even for an empty file; a NUL follows the content.
 * MICA_E_NOT_FOUND if there is no regular file of that name, MICA_E_IO if it cannot be read or exceeds 1 GiB,
 * MICA_E_NOMEM. */
MICA__SHARED mica_status mica__file_read(const char *path, unsigned char **data, size_t *size);

/* Opens a file for mica__file_read_open, which reads all of it even if its name was deleted. Close it with close(). */
MICA__SHARED mica_status mica__file_hold(const char *path, int *file);
MICA__SHARED mica_status mica__file_read_open(int file, const char *path, unsigned char **data, size_t *size);

/* Reads a file that no other user could have written. MICA_E_STATE if the file or its folder belongs to another user
 * except root, or if others can write to the file or its folder; the first such failure in a process logs a warning. */
mica_status mica__file_read_private(const char *path, unsigned char **data, size_t *size);
/* Reads a file that belongs to this user or root and that others cannot write, in any folder; else MICA_E_STATE. */
mica_status mica__file_read_owned(const char *path, unsigned char **data, size_t *size);
/* Like mica__file_read, for a part of a file of any size. from and to, 0 to 1, are fractions of the file's size. */
MICA__SHARED mica_status mica__file_read_part(const char *path, double from, double to, unsigned char **data,
                                              size_t *size);

/* Maps a file of any size; unmap it with mica__file_unmap. MICA_E_NOT_FOUND and MICA_E_IO as in mica__file_read. No NUL
 * follows the content. Replacing the file does not change the mapped pages; truncating it in place makes accesses
 * fault. *data is not NULL even for an empty file. */
mica_status mica__file_map(const char *path, const unsigned char **data, size_t *size);
void mica__file_unmap(const unsigned char *data, size_t size);

/* Looks for regular files with the given names (NULL ends the list): in the directory `at` or, if `at` is a file, next
 * to it; `at` itself does not count. Sets *path, which must be empty, to the first one that exists and returns true;
 * returns false if none exists. If memory is short it returns true, and mica__text_status(path) fails. The caller frees
 * *path. */
MICA__SHARED bool mica__file_find(const char *at, const char *const *names, mica__text *path);

/* Makes the missing directories above path. */
mica_status mica__file_make_parents(const char *path);

/* Makes a directory and its missing parents; *made receives the number of directories made. */
MICA__SHARED mica_status mica__folder_make(const char *path, int *made);
/* Undoes mica__folder_make: removes the directory and then its parents, `made` directories in all. Stops at a directory
 * that is not empty. */
MICA__SHARED void mica__folder_remove(const char *path, int made);
/* MICA_E_IO if a directory cannot be made or written. A directory made for the check is removed again. */
mica_status mica__folder_check(const char *path);
/* The number of directories that mica__folder_make would make. */
MICA__SHARED int mica__folder_missing(const char *path);

typedef struct mica__bytes {
  const void *data;
  size_t size;
} mica__bytes;

/* Deletes temporary files for path that killed processes of this machine left. */
void mica__file_sweep(const char *path);

/* Replaces the content of a file by the pieces, one after another. The change is atomic: other processes see the old
 * file or the new one, also after a loss of power. The new file is written next to the old one, synced and renamed.
 * Missing directories are made. MICA_E_IO on failure, and no temporary file is left. A device, a pipe or a name in /dev
 * is written to instead; a pipe without a reader is MICA_E_IO, without SIGPIPE. */
MICA__SHARED mica_status mica__file_replace(const char *path, const mica__bytes *pieces, size_t count);
/* Like mica__file_replace, but a device, a pipe or a name in /dev is not written to: a regular file replaces it, too.
 * For files in folders that Mica manages. */
mica_status mica__file_replace_own(const char *path, const mica__bytes *pieces, size_t count);

/* Replaces a file so that mica__file_read_private accepts it. The file gets mode 0600. Its folder is made with mode
 * 0700 if it is missing, and gets this mode if it belongs to this user but others can write to it. */
mica_status mica__file_replace_private(const char *path, const mica__bytes *pieces, size_t count);

/* Between the two calls, a file path/NAME that mica__file_replace or mica__file_replace_own writes goes into the
 * directory that is open as the descriptor `folder`, even if that directory was moved meanwhile. They fail with
 * MICA_E_IO if the directory was deleted. Call mica__folder_let_go before you close the descriptor. */
MICA__SHARED mica_status mica__folder_hold(const char *path, int folder);
MICA__SHARED void mica__folder_let_go(int folder);

#endif
