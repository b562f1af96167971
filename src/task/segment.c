/* segment: the class of each pixel of a picture. */
#include "task/head/pixels.h"
#include "task/input/picture.h"

#define SEGMENT_SETTINGS(X, S) PIXELS_SETTINGS(X, S) PICTURE_SETTINGS(X, S)
#define SEGMENT_FACTS(X, S) PIXELS_FACTS(X, S) PICTURE_FACTS(X, S)
MICA__TASK_FIELDS(segment, SEGMENT_SETTINGS, SEGMENT_FACTS, 3);

static const mica_setting defaults[] = {
    {"model", "unet"}, {"epochs", ""}, {"batch", "4"}, {"augment", "flip,rotate,scale,elastic"}, {0}};

static const mica_task_metric metrics[] = PIXELS_METRICS;
static const mica_onnx_text export_docs[] = {
    {"image",
     "a picture, or a tile of a larger one, of sides that the network can halve: (u8 / 255 - \"mean\") / \"deviation\" "
     "of the channel"},
    {"shares", "of each pixel the probability of each of the \"classes\", whose values in masks are \"mask_values\""},
    {0}};

const mica__task_row mica__task_segment = {
    .name = "segment",
    .text = "the class of each pixel of a picture, from pictures and masks",
    MICA__COMPOSED(picture, pixels),
    .metrics = metrics,
    MICA__TASK_LISTS(segment),
    .checks = mica__pixels_check,
    .defaults = defaults,
    .export_docs = export_docs,
};
