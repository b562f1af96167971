/* networks/detector_boxes.h: true and found boxes of a test, collected to be compared. */
#ifndef MICA_NETWORKS_DETECTOR_BOXES_H
#define MICA_NETWORKS_DETECTOR_BOXES_H

#include "base/error.h"

#include <mica/metric.h>

/* All boxes of a test, in pixels of the pictures' files and not of the network's input. So "small" and "large" have the
 * same meaning as in COCO. The caller frees both lists. */
typedef struct mica__box_lists {
  mica_true_box *truths;
  mica_found_box *found;
  size_t truth_count, truth_capacity, found_count, found_capacity;
  int64_t pictures;
} mica__box_lists;

/* The true boxes of a batch: `rows` per picture, in pixels of its frame. Unused rows have no area or a label below 0.
 * `areas` and `ignored` may be NULL. */
typedef struct mica__batch_boxes {
  int64_t rows;
  float *boxes, *areas;
  int32_t *labels, *ignored, *sizes; /* sizes: width and height of the files' pictures */
} mica__batch_boxes;

/* Adds picture i of a batch: its true boxes, and those found in it. found is (N, most, MICA__BOX_NUMBERS), from
 * mica__detector_find. */
mica_status mica__box_lists_add(mica__box_lists *lists, const mica__batch_boxes *truths, int64_t frame_height,
                                int64_t frame_width, const float *found, int64_t most, int64_t i);

#endif
