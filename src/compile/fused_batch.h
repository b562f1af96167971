/* compile/fused_batch.h: several pointwise kernels with the same text as one launch, such as an optimizer's updates of
 * all weights.
 *
 * Each part has its own pointers and length. The parts share constants and the values that every element reads (the
 * learning rate). A work-group belongs to one part. It finds the part by subtracting the number of groups of each part
 * from its group number. */
#ifndef MICA_COMPILE_FUSED_BATCH_H
#define MICA_COMPILE_FUSED_BATCH_H

#include "base/hash.h"
#include "compile/fused.h"

#define MICA__BATCH_PARTS 16

/* Maximum number of kernels like `fused`, which must be simplified, in one launch; 1 if it must have its own launch. */
int32_t mica__fused_batch_room(const mica__fused *fused);
/* True if two simplified kernels may be parts of one launch. a_nodes and b_nodes: the nodes of their operands; operands
 * that every element reads must be the same. */
bool mica__fused_alike(const mica__fused *a, const int32_t *a_nodes, const mica__fused *b, const int32_t *b_nodes);

/* A hash that is equal for kernels that can share a launch. */
mica__hash mica__fused_batch_hash(const mica__fused *fused, const int32_t *nodes);

/* The parts of one launch. They must be alike (mica__fused_alike), and no part may read memory that another part
 * writes. operands[p]: as for mica__fused_launch. */
typedef struct mica__batch {
  int32_t count;
  const mica__fused *parts[MICA__BATCH_PARTS];
  const mica_tensor *const *operands[MICA__BATCH_PARTS];
} mica__batch;

mica_status mica__fused_batch_launch(mica_queue *queue, const mica__batch *batch);
/* Puts the kernel that mica__fused_batch_launch needs for the batch into a bundle. */
mica_status mica__fused_batch_collect(mica_engine *engine, const mica__batch *batch, mica__kernel_bundle *bundle);
/* Like mica__fused_batch_launch, with the plan for another class of device. For checks. */
mica_status mica__fused_batch_launch_as(mica_queue *queue, unsigned device_class, const mica__batch *batch);

#endif
