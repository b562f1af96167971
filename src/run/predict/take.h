/* run/predict/take.h: predictions that are delivered in parts. */
#ifndef MICA_RUN_PREDICT_TAKE_H
#define MICA_RUN_PREDICT_TAKE_H

#include "base/error.h"

#include <mica/run.h>

/* Passes the sections made so far to input->take, if it is set, and drops them. */
mica_status mica__run_take(const mica_run_input *input, mica_report *prediction);

#endif
