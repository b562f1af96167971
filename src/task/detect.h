/* task/detect.h: the parts of the task detect: its step is in detect.c, what becomes of boxes on the host in
 * detect_boxes.c. */
#ifndef MICA_TASK_DETECT_H
#define MICA_TASK_DETECT_H

#include "task/run.h"

/* Boxes of a picture that a prediction has at most: COCO counts as many. */
#define MICA__DETECT_MOST 100

mica_status mica__detect_evaluate(mica_run *run, const mica_batch_source *source, mica_metrics *metrics);
mica_status mica__detect_predict(mica_run *run, const mica_run_input *input, mica_report *prediction);
mica_status mica__detect_report(mica_run *run, mica_report *report);

#endif
