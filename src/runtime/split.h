/* runtime/split.h: splits index spaces that are larger than a device takes in one launch.
 *
 * Parts are launches of the same kernel with the same arguments at offsets of whole groups. Kernels count groups and
 * work-items from the beginning of the range, so they need not know about parts. get_num_groups and get_global_size are
 * those of the part, so kernels for GPUs cannot use them unless their launches are whole (mica__launch_whole). */
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

/* CPUs and the null device have no limits: everything is one part. */
mica__split_limits mica__split_limits_of(const mica_device_info *device);

/* The text that precedes a program's source: OpenCL counts groups from the offset of a launch, Mica's kernels from the
 * beginning of the range. "" if the device needs no parts. */
const char *mica__split_prelude(const mica_device_info *device);

/* A range in work-items, padded to whole groups, and the work-items per part. */
typedef struct mica__split {
  size_t global[3], part[3];
  size_t count;
} mica__split;

/* MICA_E_UNSUPPORTED for a range above the limits that must not be split. A range that must not be split and only
 * takes too long stays whole. */
mica_status mica__split_make(const mica__split_limits *limits, const mica__launch *launch, mica__split *split);

/* The engine's limits, which tests reduce. */
mica__split_limits *mica__engine_split_limits(mica_engine *engine);

#endif
