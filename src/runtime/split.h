/* runtime/split.h: splits index spaces that are larger than a device takes in one launch, or that would take too long
 * in one.
 *
 * Parts are launches of the same kernel with the same arguments, each at an offset of whole groups. In a part, kernels
 * get the ids of groups and work-items in the whole range (mica__split_prelude), so they work without a change.
 * get_num_groups and get_global_size give the numbers of the part. Kernels for GPUs may use them only if their launches
 * are never split (mica__launch_whole). */
#ifndef MICA_RUNTIME_SPLIT_H
#define MICA_RUNTIME_SPLIT_H

#include "runtime/launch.h"

/* The limits of one part. */
typedef struct mica__split_limits {
  size_t groups[3];
  size_t items;
  double flops, bytes;  /* for a launch that states its cost */
  size_t unknown_items; /* for a launch that does not */
} mica__split_limits;

/* The limits for a device. CPUs and the null device have no limits, so each launch is one part. */
mica__split_limits mica__split_limits_of(const mica_device_info *device);

/* The text to put before a program's source. OpenCL counts groups from the beginning of a part, so the text redefines
 * get_group_id to count them from the beginning of the range. "" if launches are never split on the device. */
const char *mica__split_prelude(const mica_device_info *device);

/* A range in work-items, padded to whole groups, and the work-items per part. */
typedef struct mica__split {
  size_t global[3], part[3];
  size_t count;
} mica__split;

/* Splits the launch's range into parts within the limits. A range that must not be split stays whole if it only takes
 * too long; if it has too many groups or work-items, MICA_E_UNSUPPORTED. */
mica_status mica__split_make(const mica__split_limits *limits, const mica__launch *launch, mica__split *split);

/* The engine's limits, which tests reduce. */
mica__split_limits *mica__engine_split_limits(mica_engine *engine);

#endif
