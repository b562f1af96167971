/* runtime/quota.h: the CPU time that a control group (cgroup) of Linux grants, as containers are limited by. */
#ifndef MICA_RUNTIME_QUOTA_H
#define MICA_RUNTIME_QUOTA_H

#include <stddef.h>

/* Whole cores' worth of CPU time that this process may use, rounded down and at least 1; SIZE_MAX without a limit.
 * The smallest limit of the process's control group and of those above it counts, version 1 or 2. root: the folder
 * that contains proc and sys, "" for the system's own. Not cached: it opens a few files. */
size_t mica__quota_cores(const char *root);

#endif
