/* runtime/split.h: index spaces larger than a device takes in one launch, in parts.
 *
 * Parts are launches of the same kernel with the same arguments at offsets of whole groups. Kernels count groups and
 * work-items from the beginning of the range, so that they know nothing of it; get_num_groups and get_global_size are
 * the part's, and of no use to kernels of GPUs whose launches are not whole (mica__launch_whole). */
#ifndef MICA_RUNTIME_SPLIT_H
#define MICA_RUNTIME_SPLIT_H

#include "runtime/launch.h"

/* What a part may have at most. */
typedef struct mica__split_limits {
  size_t groups[3];
  size_t items;
  double flops, bytes;  /* of a launch that says what it needs */
  size_t unknown_items; /* of one that does not */
} mica__split_limits;

/* Everything in one part on CPUs and the null device. */
mica__split_limits mica__split_limits_of(const mica_device_info *device);

/* What stands before a program's text: OpenCL counts groups from the offset of a launch, Mica's kernels from that of
 * the range. "" if nothing is split. */
const char *mica__split_prelude(const mica_device_info *device);

/* A range in work-items, padded to whole groups, and the work-items of its parts. */
typedef struct mica__split {
  size_t global[3], part[3];
  size_t count;
} mica__split;

/* MICA_E_UNSUPPORTED for a range above the limits that must not be split. What is split for its duration alone stays
 * whole then. */
mica_status mica__split_make(const mica__split_limits *limits, const mica__launch *launch, mica__split *split);

/* The engine's limits, which tests lower. */
mica__split_limits *mica__engine_split_limits(mica_engine *engine);

#endif
