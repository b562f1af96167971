/* task/head/voxels.h: learns the class of each voxel from volumes with masks, in the same way as the classes of pixels
 * (task/head/pixels.h). Metrics are computed per volume. */
#ifndef MICA_TASK_HEAD_VOXELS_H
#define MICA_TASK_HEAD_VOXELS_H

#include "task/head/pixels.h"

/* The metrics of a task with this head: an initialiser for the member of its mica__task_row. */
#define VOXELS_METRICS                                                                                                 \
  {                                                                                                                    \
    {"dice", false, "twice the common area, divided by the sum of both areas; 1 is best", false},                      \
        {"iou", false, "common area divided by the united area; 1 is best", false},                                    \
        {"accuracy", false, "share of voxels whose class is right", false},                                            \
        {"hausdorff", true, "largest distance between the predicted and the true surface", false},                     \
        {"hausdorff_95", true, "distance between surfaces that 95 % of their points do not exceed", false}, {          \
      0                                                                                                                \
    }                                                                                                                  \
  }

extern const mica__head mica__head_voxels;

#endif
