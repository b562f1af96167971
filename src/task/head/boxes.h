/* task/head/boxes.h: the parts of the task detect: its step is in boxes.c, what becomes of boxes on the host in
 * boxes_show.c. */
#ifndef MICA_TASK_HEAD_BOXES_H
#define MICA_TASK_HEAD_BOXES_H

#include "run/run.h"

/* Boxes of a picture that a prediction has at most: COCO counts as many. */
#define MICA__DETECT_MOST 100

/* A batch of training: pictures (N, C, H, W), boxes (N, M, 4), label and ignored (N, M); ignored may be null. */
typedef struct mica__detect_batch {
  mica_value x, boxes, label, ignored;
} mica__detect_batch;
/* Makes that share of the pictures ones of four parts, each another sample of the batch where it lies in it, with the
 * boxes of all four: (N, 4 M, 4), of which those without area are none. */
void mica__detect_mosaic(mica_nn *nn, double share, mica__detect_batch *batch);

mica_status mica__detect_evaluate(mica_run *run, const mica_batch_source *source, mica_metrics *metrics);
mica_status mica__detect_predict(mica_run *run, const mica_run_input *input, mica_report *prediction);
mica_status mica__detect_report(mica_run *run, mica_report *report);

#endif
