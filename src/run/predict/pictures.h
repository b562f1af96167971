/* run/predict/pictures.h: functions for mica__input.samples, for inputs that read pictures in their own sizes, with
 * masks or depths. */
#ifndef MICA_RUN_PREDICT_PICTURES_H
#define MICA_RUN_PREDICT_PICTURES_H

#include "run/sample.h"

/* Visits files, the pictures in folders, or samples of data, with the shares of their tiles joined. */
mica_status mica__pictures_visit(mica_run *run, const mica_run_input *given, mica__sample_fn *fn, void *user);
/* Visits the first samples of data. */
mica_status mica__pictures_look(mica_run *run, const mica_dataset *data, mica__sample_fn *fn, void *user);

#endif
