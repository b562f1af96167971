/* run/predict/recordings.h: functions for mica__input.samples, for inputs that read recordings with one answer each. */
#ifndef MICA_RUN_PREDICT_RECORDINGS_H
#define MICA_RUN_PREDICT_RECORDINGS_H

#include "run/sample.h"

/* Visits files, which are read at the sample rate `rate` (Hz), or samples of data. */
mica_status mica__recordings_visit(mica_run *run, int32_t rate, const mica_run_input *given, mica__sample_fn *fn,
                                   void *user);
/* Visits the first samples of data. */
mica_status mica__recordings_look(mica_run *run, const mica_dataset *data, mica__sample_fn *fn, void *user);

#endif
