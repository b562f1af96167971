/* windows/include/dirent.h: reads directories like POSIX; dirfd's descriptor is closed with the directory. */
#ifndef MICA_WINDOWS_DIRENT_H
#define MICA_WINDOWS_DIRENT_H

#include "windows/posix.h"

struct dirent {
  char d_name[1024];
};
typedef struct mica__directory DIR;

DIR *mica__posix_opendir(const char *path);
struct dirent *mica__posix_readdir(DIR *directory);
int mica__posix_dirfd(DIR *directory);
int mica__posix_closedir(DIR *directory);
int mica__posix_alphasort(const struct dirent **a, const struct dirent **b);
/* Lists the entries that `keep` accepts (NULL: all), sorted by `compare` unless it is NULL; the caller frees each entry
 * and the list. */
int mica__posix_scandir(const char *path, struct dirent ***entries, int (*keep)(const struct dirent *),
                        int (*compare)(const struct dirent **, const struct dirent **));

#define opendir mica__posix_opendir
#define readdir mica__posix_readdir
#define dirfd mica__posix_dirfd
#define closedir mica__posix_closedir
#define alphasort mica__posix_alphasort
#define scandir mica__posix_scandir

#endif
