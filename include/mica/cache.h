/* mica/cache.h: inspect and clear the disk cache of compiled kernels. Engines manage it themselves.
 *
 * Threads: any thread and process may call these functions, also while engines use the directory. */
#ifndef MICA_CACHE_H
#define MICA_CACHE_H

#include <mica/status.h>
#include <stddef.h>
#include <stdint.h>

MICA_BEGIN_DECLS

typedef struct mica_cache_entry {
  char program[128]; /* kernel file, or name of a generated kernel */
  char device[128];
  char key[33]; /* the entry is the file programs/KEY.bin in the cache directory */
  uint64_t bytes;
  int64_t last_used; /* seconds since 1970 */
} mica_cache_entry;

/* Finds the cache directory that an engine would use with this mica_engine_config.cache_dir (NULL: the default). *path
 * is "" if the engine would use no cache. The caller frees *path with mica_free. */
MICA_API MICA_CHECKED mica_status mica_cache_path(const char *cache_dir, char **path);

/* Calls fn for each readable entry of a directory. Damaged files are skipped. A missing directory is empty. */
typedef void mica_cache_fn(void *user, const mica_cache_entry *entry);
MICA_API MICA_CHECKED mica_status mica_cache_list(const char *directory, mica_cache_fn *fn, void *user);

/* Deletes all entries, including damaged ones. *count receives the number of deleted files, also if one cannot be
 * deleted (MICA_E_IO). */
MICA_API MICA_CHECKED mica_status mica_cache_clear(const char *directory, size_t *count);

MICA_END_DECLS

#endif
