#include "runtime/quota.h"

#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads a file of one line; false if it cannot be read. */
static bool read_line(const char *folder, const char *name, char line[64]) {
  mica__text path = {0};
  mica__text_addf(&path, "%s/%s", folder, name);
  FILE *file = mica__text_status(&path) == MICA_OK ? fopen(path.data, "r") : NULL;
  mica__text_free(&path);
  if (!file) return false;
  const bool got = fgets(line, 64, file) != NULL;
  fclose(file);
  return got;
}

/* The number of whole cores that `quota` microseconds of CPU time per `period` microseconds are worth, at least 1;
 * SIZE_MAX if the numbers set no limit. */
static size_t cores_of(long long quota, long long period) {
  if (quota <= 0 || period <= 0) return SIZE_MAX;
  return quota > period ? (size_t)(quota / period) : 1;
}

/* The limit that one folder of a control group sets. In version 2, cpu.max holds "QUOTA PERIOD", or "max PERIOD"
 * without a limit. Version 1 has two files; without a limit, the quota is -1. */
static size_t limit_of(const char *folder) {
  char quota[64], period[64], *end;
  if (read_line(folder, "cpu.max", quota)) {
    const long long microseconds = strtoll(quota, &end, 10);
    return end == quota ? SIZE_MAX : cores_of(microseconds, strtoll(end, NULL, 10));
  }
  if (!read_line(folder, "cpu.cfs_quota_us", quota) || !read_line(folder, "cpu.cfs_period_us", period)) return SIZE_MAX;
  return cores_of(strtoll(quota, NULL, 10), strtoll(period, NULL, 10));
}

/* The smallest limit of mount/group and the folders above it, mount included. Folders may be missing: in a container,
 * the mount is often the container's own group, while the group's name is the one outside. */
static size_t smallest_limit(const char *root, const char *mount, const char *group) {
  mica__text path = {0};
  mica__text_addf(&path, "%s/sys/fs/cgroup%s", root, mount);
  const size_t top = path.length;
  mica__text_add(&path, group);
  size_t smallest = SIZE_MAX;
  while (mica__text_status(&path) == MICA_OK) {
    const size_t limit = limit_of(path.data);
    if (limit < smallest) smallest = limit;
    char *slash = strrchr(path.data + top, '/');
    if (!slash) break;
    *slash = '\0';
  }
  mica__text_free(&path);
  return smallest;
}

/* True if "cpu" is in the comma-separated list of controllers. */
static bool has_cpu(const char *controllers) {
  for (const char *at = controllers; at; at = strchr(at, ',')) {
    at += *at == ',';
    if (strcspn(at, ",") == 3 && strncmp(at, "cpu", 3) == 0) return true;
  }
  return false;
}

/* The limit that follows from one line of /proc/self/cgroup, "NUMBER:CONTROLLERS:GROUP". Version 2 has number 0 and no
 * controllers. It is mounted at /sys/fs/cgroup, or at the folder `unified` there if version 1 is mounted too. Version 1
 * is mounted at the folder `cpu` there, or at one with the names of all its controllers, such as `cpu,cpuacct`. */
static size_t limit_of_line(const char *root, char *line) {
  char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
  if (!group) return SIZE_MAX;
  *group++ = '\0';
  controllers++;
  group[strcspn(group, "\n")] = '\0';
  if (*controllers && !has_cpu(controllers)) return SIZE_MAX;
  mica__text named = {0};
  mica__text_addf(&named, "/%s", controllers);
  const char *mounts[] = {*controllers ? "/cpu" : "", *controllers ? named.data : "/unified"};
  size_t smallest = SIZE_MAX;
  for (int i = 0; i < 2; i++) {
    const size_t limit = mounts[i] ? smallest_limit(root, mounts[i], group) : SIZE_MAX;
    if (limit < smallest) smallest = limit;
  }
  mica__text_free(&named);
  return smallest;
}

size_t mica__quota_cores(const char *root) {
  mica__text name = {0};
  mica__text_addf(&name, "%s/proc/self/cgroup", root);
  FILE *file = mica__text_status(&name) == MICA_OK ? fopen(name.data, "r") : NULL;
  mica__text_free(&name);
  if (!file) return SIZE_MAX;
  size_t smallest = SIZE_MAX;
  for (char line[4352]; fgets(line, sizeof line, file);) {
    const size_t limit = limit_of_line(root, line);
    if (limit < smallest) smallest = limit;
  }
  fclose(file);
  return smallest;
}
