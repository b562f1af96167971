/* run/predict/frames.h: functions for mica__input.samples, for inputs that read pictures scaled into a frame of one
 * size. */
#ifndef MICA_RUN_PREDICT_FRAMES_H
#define MICA_RUN_PREDICT_FRAMES_H

#include "run/sample.h"

/* Visits files, the pictures in folders, or samples of data: pixels and sizes are as in the files. Remarks on frames
 * of a video that differ in size. */
mica_status mica__frames_visit(mica_run *run, const mica_run_input *given, mica__sample_fn *fn, void *user);
/* Visits the first samples of data. */
mica_status mica__frames_look(mica_run *run, const mica_dataset *data, mica__sample_fn *fn, void *user);

#endif
