/* task/head/depths.h: the depth of each pixel, learned from pictures with depth maps. depths.c has the losses and the
 * metrics; depths_show.c adds depths to predictions and reports. */
#ifndef MICA_TASK_HEAD_DEPTHS_H
#define MICA_TASK_HEAD_DEPTHS_H

#include "data/annotation/depth_errors.h"
#include "run/composed.h"
#include "run/fact_fields.h"
#include "run/setting_fields.h"

/* Name i of the setting "loss"; NULL after the last. */
const char *mica__depths_loss_at(size_t i);

#define DEPTHS_SETTINGS(X, S)                                                                                          \
  X(S, CHOICE, loss, "loss", "silog", "NAME", "loss to minimise; silog is the scale-invariant error of log depths",    \
    .names = mica__depths_loss_at, .fixed = true)                                                                      \
  X(S, REAL, delta, "delta", "1", "D", "huber: error above which the loss is linear, in units of depth", .low = 1e-6,  \
    .high = 1e6, .fixed = true, .of = "loss=huber")                                                                    \
  X(S, REAL, scale_share, "scale-share", "0.5", "S",                                                                   \
    "silog: share of a picture's overall scale error to ignore; 0: none, 1: all", .low = 0, .high = 1, .fixed = true,  \
    .of = "loss=silog")                                                                                                \
  X(S, REAL, depth_scale, "depth-scale", "256", "N",                                                                   \
    "PNG depth maps: values per unit of depth; for depths in metres 256 in KITTI, 1000 for millimetres, 5000 in TUM",  \
    .low = 1e-6, .high = 1e9, .fixed = true)

/* usual_depth: the geometric mean of the known depths. depth_range: the least and the greatest of them, and the
 * share of pixels without a depth. depth_maps: how many maps were read for these, if not all were. */
#define DEPTHS_FACTS(X, S)                                                                                             \
  X(S, NUMBERS, usual_depth, .needed = true, .count = 1)                                                               \
  X(S, NUMBERS, depth_range, .count = 3, MICA__OR_ZERO)                                                                \
  X(S, NUMBERS, depth_maps, .count = 1)

/* The metrics of a task with this head: an initialiser for the member of its mica__task_row. */
#define DEPTHS_METRICS                                                                                                 \
  {                                                                                                                    \
    {"absrel", true, "mean absolute error divided by the true depth; less is better", false},                          \
        {"rmse", true, "root of the mean squared error, in the unit of the depth maps", false},                        \
        {"delta1", false, "share of pixels whose depth is wrong by a factor below 1.25; 1 is best", false}, {          \
      0                                                                                                                \
    }                                                                                                                  \
  }

extern const mica__head mica__head_depths;

/* Functions that mica__head_depths points to (in depths_show.c). */
mica_status mica__depths_section(mica_run *run, mica_report *report, const mica__sample *sample, const float *depths,
                                 const mica_run_input *given);
mica_status mica__depths_report(mica_run *run, mica_report *report);

#endif
