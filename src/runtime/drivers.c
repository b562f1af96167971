#define _GNU_SOURCE /* for sched_getaffinity; NOLINT(bugprone-reserved-identifier): the system's own switch */
#include "runtime/drivers.h"

#include "base/text.h"
#include "runtime/quota.h"

#include <errno.h>
#include <mica/device.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The number of cores that the process may run on, whatever its share of CPU time. */
static size_t allowed_cores(void) {
#ifdef CPU_COUNT
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) return (size_t)CPU_COUNT(&allowed);
#endif
  return 1;
}

/* The quota of CPU time, in cores. It is read only at the first call, because graphs ask for it at each node. `known`
 * is 0 until then. */
static size_t quota_cores(void) {
  static atomic_size_t known;
  size_t cores = atomic_load(&known);
  if (!cores) atomic_store(&known, cores = mica__quota_cores(""));
  return cores;
}

size_t mica__usable_cores(void) {
  const size_t cores = allowed_cores(), quota = quota_cores();
  return cores < quota ? cores : quota;
}

void mica_device_prepare_drivers(void) {
  /* The ranks (processes) of an MPI job on this machine share its quota of CPU time. They also share its cores, unless
   * the launcher bound each of them to cores of its own. */
  const char *ranks = getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
  const long cores = (long)allowed_cores(), all = sysconf(_SC_NPROCESSORS_ONLN), told = ranks ? atol(ranks) : 1;
  const long local = told > 1 ? told : 1, share = cores < all ? cores : cores / local;
  const size_t quota = quota_cores() / (size_t)local;
  const long own = quota < (size_t)share ? (long)quota : share;
  if (own < cores || local > 1) {
    char threads[24];
    snprintf(threads, sizeof threads, "%ld", own > 0 ? own : 1);
    setenv("POCL_MAX_PTHREAD_COUNT", threads, 0);
  } else if (cores == all)
    setenv("POCL_AFFINITY", "1", 0);
  setenv("POCL_WORK_GROUP_SPECIALIZATION", "0", 0);
}

/* Finds the path of PoCL's cache as PoCL does: the folder POCL_CACHE_DIR or, if that is not set, pocl/kcache under
 * XDG_CACHE_HOME or ~/.cache. False if no such variable is set: PoCL then chooses a temporary folder. */
static bool pocl_cache(mica__text *path) {
  const char *own = getenv("POCL_CACHE_DIR"), *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  if (own)
    mica__text_add(path, own);
  else if (xdg && *xdg)
    mica__text_addf(path, "%s/pocl/kcache", xdg);
  else if (home && *home)
    mica__text_addf(path, "%s/.cache/pocl/kcache", home);
  return path->data != NULL;
}

/* Tries to write in the folder or, if it is missing, in its nearest existing parent, where PoCL would create it.
 * Looking at permissions alone would not show that a file system is full or read-only. The test is to create a folder
 * and to remove it. */
static bool can_be_written(const char *folder) {
  struct stat about;
  mica__text probe = {0};
  char *found = *folder ? mica__strdup(folder) : NULL; /* PoCL aborts the process on an empty name */
  while (found && stat(found, &about) != 0 && errno == ENOENT && strcmp(found, ".") != 0) {
    char *slash = strrchr(found, '/');
    if (!slash)
      strcpy(found, ".");
    else
      slash[slash == found] = '\0';
  }
  if (found) mica__text_addf(&probe, "%s/mica-probe-XXXXXX", found);
  bool written = found && mica__text_status(&probe) == MICA_OK && mkdtemp(probe.data) && rmdir(probe.data) == 0;
  mica__text_free(&probe);
  free(found);
  return written;
}

/* Makes a folder of this user's own among the temporary files, shared by all processes. False unless it is a folder
 * that this user owns and can write, and that is closed to all others, who could put code there. */
static bool temporary_folder(mica__text *path) {
  const char *base = getenv("TMPDIR");
  struct stat about;
  mica__text_addf(path, "%s/mica-pocl-%lu", base && *base ? base : "/tmp", (unsigned long)geteuid());
  if (mica__text_status(path) != MICA_OK) return false;
  mkdir(path->data, 0700);
  return lstat(path->data, &about) == 0 && S_ISDIR(about.st_mode) && about.st_uid == geteuid() &&
         (about.st_mode & 077) == 0 && can_be_written(path->data);
}

/* The warning names these two: the cache that cannot be written, and the folder used instead. */
static mica__text unwritable, instead;

void mica__drivers_prepare_pocl_cache(void) {
  static bool checked;
  if (checked) return;
  checked = true;
  mica__attempt_begin();
  if (pocl_cache(&unwritable) && can_be_written(unwritable.data)) mica__text_free(&unwritable);
  if (unwritable.data && temporary_folder(&instead))
    setenv("POCL_CACHE_DIR", instead.data, 1);
  else
    mica__text_free(&instead);
  mica__attempt_end();
}

void mica__drivers_warn_of_pocl_cache(void) {
  if (unwritable.data)
    mica__log(
        MICA_LOG_LEVEL_WARNING,
        "PoCL cannot write its cache \"%s\" (POCL_CACHE_DIR, else pocl/kcache under XDG_CACHE_HOME or ~/.cache); %s%s",
        unwritable.data, instead.data ? "it keeps compiled kernels in " : "expect it to fail",
        instead.data ? instead.data : "");
  mica__text_free(&unwritable);
  mica__text_free(&instead);
}
