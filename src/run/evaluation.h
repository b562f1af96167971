/* run/evaluation.h: opens the data on which a run is evaluated, or which it predicts. */
#ifndef MICA_RUN_EVALUATION_H
#define MICA_RUN_EVALUATION_H

#include "base/error.h"

#include <mica/run.h>

/* Like mica_run_evaluate, but a path is always opened as it is, even if it leads to the data that the run was
 * trained on. */
mica_status mica__run_evaluate(mica_run *run, const char *path, mica_part part, mica_metrics *metrics);
/* Opens a part of the data at `path`, or of the run's own if evaluation->predicts_own, to predict it. If the data at
 * `path` have no parts, the test part is all of them and *all is true. MICA_E_NOT_FOUND if the data have parts but not
 * this one; for the test part, the message says what to do. */
mica_status mica__run_open_given(mica_run *run, const char *path, mica_part part, bool *all, mica_dataset **data);
/* Opens a part of the run's own data as training split them. MICA_E_STATE if the part was split off by the seed and the
 * data have changed since, because the part would then have other samples. */
mica_status mica__run_open_own(mica_run *run, mica_part part, mica_dataset **data);
/* Like mica__run_open_given, but always opens `path`, to test on the part. The message says what to do for a test. */
mica_status mica__run_open_judged(const mica_run *run, const char *path, mica_part part, bool *all,
                                  mica_dataset **data);
/* Fails for data without a test part: MICA_E_NOT_FOUND with the parts that they have, or MICA_E_STATE if they had a
 * test part when the run was trained. */
mica_status mica__run_no_test(const mica_run *run);

#endif
