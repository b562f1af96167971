/* run/columns/batch_columns.h: the columns of the batches that tests read. */
#ifndef MICA_RUN_COLUMNS_BATCH_COLUMNS_H
#define MICA_RUN_COLUMNS_BATCH_COLUMNS_H

#include "base/error.h"

#include <mica/run.h>

/* Keeps the columns as the stored value "columns": one text per column with its name, type and sizes (-1 for any size),
 * such as "label i32 -1". */
mica_status mica__run_note_batch_columns(mica_run *run, const mica_batch_source *source);
/* Reads the columns of an opened run from its stored value "columns". */
mica_status mica__run_recall_columns(mica_run *run);

#endif
