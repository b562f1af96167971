/* depth: the depth of each pixel of a picture. */
#include "task/head/depths.h"
#include "task/input/picture.h"

#define DEPTH_SETTINGS(X, S) DEPTHS_SETTINGS(X, S) PICTURE_SETTINGS(X, S)
#define DEPTH_FACTS(X, S) DEPTHS_FACTS(X, S) PICTURE_FACTS(X, S)
MICA__TASK_FIELDS(depth, DEPTH_SETTINGS, DEPTH_FACTS, 3);

static const mica_setting defaults[] = {
    {"model", "unet"}, {"epochs", ""}, {"batch", "4"}, {"augment", "flip,brightness=0.2,contrast=0.2"}, {0}};

static const mica_task_metric metrics[] = DEPTHS_METRICS;
static const mica_onnx_text export_docs[] = {
    {"image",
     "a picture, or a tile of a larger one, of sides that the network can halve: (u8 / 255 - \"mean\") / \"deviation\" "
     "of the channel"},
    {"depth", "the depth of each pixel, in the unit of the depth maps"},
    {0}};

const mica__task_row mica__task_depth = {
    .name = "depth",
    .text = "the depth of each pixel of a picture, from pictures and depth maps",
    MICA__COMPOSED(picture, depths),
    .metrics = metrics,
    MICA__TASK_LISTS(depth),
    .defaults = defaults,
    .export_docs = export_docs,
};
