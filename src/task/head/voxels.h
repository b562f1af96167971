/* task/head/voxels.h: learns the class of each voxel from volumes with masks, in the same way as the classes of pixels
 * (task/head/pixels.h). Metrics are computed per volume. */
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
