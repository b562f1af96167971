/* runtime/quota.h: the CPU time that a Linux control group (cgroup) grants, which is how containers are limited. */
#ifndef MICA_RUNTIME_QUOTA_H
#define MICA_RUNTIME_QUOTA_H

#include <stddef.h>

/* The CPU time that this process may use, in whole cores, rounded down, at least 1; SIZE_MAX without a limit. It is the
 * smallest limit of the process's control group and the groups above it, version 1 or 2. `root` is the folder that
 * contains proc and sys, "" for the system's own. Each call reads a few files. */
size_t mica__quota_cores(const char *root);

#endif
