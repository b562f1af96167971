/* run/predict/tables.h: functions for mica__input.samples, for inputs that read rows of tables with derived columns. */
#ifndef MICA_RUN_PREDICT_TABLES_H
#define MICA_RUN_PREDICT_TABLES_H

#include "base/text.h"
#include "run/sample.h"

/* Appends the name of a sample to `name`. */
typedef mica_status mica__naming_fn(void *user, const mica_dataset *data, uint64_t sample, mica__text *name);
/* Visits the first `most` samples, or all if `most` is 0, of data that are ready for loaders, batch by batch in order.
 * `naming` is passed to `name`. */
mica_status mica__loaded_visit(mica_run *run, const mica_dataset *data, uint64_t most, mica__naming_fn *name,
                               void *naming, mica__sample_fn *fn, void *user);
/* Visits the rows of tables, or of a text that is a table, or of data; they may lack answers. */
mica_status mica__tables_visit(mica_run *run, const mica_run_input *given, mica__sample_fn *fn, void *user);
/* Visits the first rows of data that are ready for loaders. */
mica_status mica__tables_look(mica_run *run, const mica_dataset *data, mica__sample_fn *fn, void *user);
/* Shows a row by its line. */
mica_status mica__tables_show(mica_run *run, mica_report *report, const mica_dataset *data, uint64_t sample,
                              const char *caption);

#endif
