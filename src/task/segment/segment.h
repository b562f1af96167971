/* task/segment/segment.h: the task segment: segment.c trains, tiles.c joins what the network says of tiles, show.c
 * shows it. */
#ifndef MICA_TASK_SEGMENT_SEGMENT_H
#define MICA_TASK_SEGMENT_SEGMENT_H

#include "run/run.h"

int64_t mica__segment_classes(const mica_run *run);
/* How pictures are cut for the network. */
mica_tiling mica__segment_tiling(const mica_run *run);

/* What the network says of a picture: (K, H, W) weighted sums of its tiles' shares, and (H, W) the sums of weights. A
 * tile's weight falls from its middle to its edges, so that where tiles meet nothing shows. */
typedef struct mica__blend {
  int64_t classes, height, width;
  float *sums, *weights;
} mica__blend;
mica_status mica__blend_create(int64_t classes, int64_t height, int64_t width, mica__blend *blend);
void mica__blend_free(mica__blend *blend);
/* Adds the shares of a tile, (K, tiling->height, tiling->width). */
void mica__blend_add(mica__blend *blend, const mica_tiling *tiling, mica_tiling_tile tile, const float *shares);
/* The likeliest class of each pixel, of equal ones the first. */
void mica__blend_decide(const mica__blend *blend, uint8_t *classes);

/* Classes of a picture's pixels: planes (C, height, width), normalised as the run's are, tile by tile. */
mica_status mica__segment_infer(mica_run *run, const uint8_t *planes, int64_t height, int64_t width, uint8_t *classes);

mica_status mica__segment_evaluate(mica_run *run, const mica_batch_source *source, mica_metrics *metrics);
mica_status mica__segment_predict(mica_run *run, const mica_run_input *input, mica_report *prediction);
mica_status mica__segment_report(mica_run *run, mica_report *report);

#endif
