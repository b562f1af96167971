/* mica/cache.h: the compiled kernels on disk. Programs never need this; it is for looking and for cleaning up.
 * Threads and processes: any, also while engines use the directory. */
#ifndef MICA_CACHE_H
#define MICA_CACHE_H

#include <mica/status.h>
#include <stddef.h>
#include <stdint.h>

MICA_BEGIN_DECLS

typedef struct mica_cache_entry {
  char program[128]; /* the kernel file or the name of the generated kernel */
  char device[128];
  char key[33]; /* the entry's file is programs/KEY.bin under the cache directory */
  uint64_t bytes;
  int64_t last_used; /* seconds since 1970 */
} mica_cache_entry;

/* The directory an engine with this config would use; *path is the caller's to mica_free. "" when there is none. */
MICA_API MICA_CHECKED mica_status mica_cache_path(const char *cache_dir, char **path);

/* Calls fn for each readable entry of the directory; damaged files are passed over. An absent directory is empty. */
typedef void mica_cache_fn(void *user, const mica_cache_entry *entry);
MICA_API MICA_CHECKED mica_status mica_cache_list(const char *directory, mica_cache_fn *fn, void *user);

/* Deletes every entry, damaged ones too; *count says how many files went. */
MICA_API MICA_CHECKED mica_status mica_cache_clear(const char *directory, size_t *count);

MICA_END_DECLS

#endif
