/* segment_volumes: the class of each voxel of a volume. */
#include "task/head/voxels.h"
#include "task/input/volume.h"

#define SEGMENT_SETTINGS(X, S) PIXELS_SETTINGS(X, S) VOLUME_SETTINGS(X, S)
#define SEGMENT_FACTS(X, S) PIXELS_FACTS(X, S) VOLUME_FACTS(X, S)
MICA__TASK_FIELDS(segment_volumes, SEGMENT_SETTINGS, SEGMENT_FACTS, 3);

static const mica_setting defaults[] = {{"model", "unet"},        {"augment", "none"},    {"epochs", "50"},
                                        {"batch", "2"},           {"optimizer", "adamw"}, {"lr", "0.002"},
                                        {"weight-decay", "0.01"}, {"schedule", "cosine"}, {0}};

static const mica_task_metric metrics[] = VOXELS_METRICS;
static const char *const stands_for[] = {"segment", NULL};
static const mica_onnx_text export_docs[] = {
    {"image",
     "a window of \"window\" voxels: of the volume's channel the mean was made 0 and the deviation 1; then (value - "
     "\"mean\") / \"deviation\""},
    {"shares", "of each voxel the probability of each of the \"classes\", whose values in masks are \"mask_values\""},
    {0}};

const mica__task_row mica__task_segment_volumes = {
    .name = "segment_volumes",
    .text = "the class of each voxel of a volume, from volumes and masks (NIfTI)",
    .stands_for = stands_for,
    MICA__COMPOSED(volume, voxels),
    .metrics = metrics,
    MICA__TASK_LISTS(segment_volumes),
    .checks = mica__pixels_check,
    .defaults = defaults,
    .least_steps = 400,
    .export_docs = export_docs,
};
