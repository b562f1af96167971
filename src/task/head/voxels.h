/* task/head/voxels.h: the class of each voxel, of volumes with masks. It is learned as those of pixels are
 * (task/head/pixels.h), and measured per volume. */
#ifndef MICA_TASK_HEAD_VOXELS_H
#define MICA_TASK_HEAD_VOXELS_H

#include "task/head/pixels.h"

/* Metrics of a task with this head, for rows. */
#define VOXELS_METRICS                                                                                                 \
  {                                                                                                                    \
    {"dice", false}, {"iou", false}, {"accuracy", false}, {"hausdorff", true}, {"hausdorff_95", true}, { NULL, false } \
  }

extern const mica__head mica__head_voxels;

#endif
