/* run/evaluation.h: the data that a run is evaluated on, and predictions of data sets. */
#ifndef MICA_RUN_EVALUATION_H
#define MICA_RUN_EVALUATION_H

#include "base/error.h"

#include <mica/run.h>

/* mica_run_evaluate, of data that are named as they are, the run's own too. */
mica_status mica__run_evaluate(mica_run *run, const char *path, mica_part part, mica_metrics *metrics);
/* Opens a part of data that were given, to predict it. Of data that are in no parts the whole is the test part, and
 * *all is true. MICA_E_NOT_FOUND says what to do about data that have parts, and no test part. */
mica_status mica__run_open_given(mica_run *run, const char *path, mica_part part, bool *all, mica_dataset **data);
/* Opens a part of the run's own data as training parted them. MICA_E_STATE where it was split off by the seed and they
 * have changed since: other samples would be in it. */
mica_status mica__run_open_own(mica_run *run, mica_part part, mica_dataset **data);
/* Like mica__run_open_given, but for evaluation. */
mica_status mica__run_open_judged(const mica_run *run, const char *path, mica_part part, bool *all,
                                  mica_dataset **data);
/* MICA_E_NOT_FOUND of data without a test part: the sentence there is, and which part they have; MICA_E_STATE where
 * there was one when the run was trained. */
mica_status mica__run_no_test(const mica_run *run);
/* Gives the sections so far to input->take if it is set, then drops them. */
mica_status mica__run_take(const mica_run_input *input, mica_report *prediction);

#endif
