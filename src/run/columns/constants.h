/* run/columns/constants.h: answers from which nothing can be learned. */
#ifndef MICA_RUN_COLUMNS_CONSTANTS_H
#define MICA_RUN_COLUMNS_CONSTANTS_H

#include "run/run.h"

/* Remarks on answers, numbers or labels, that have the same value in every training sample. */
mica_status mica__run_remark_constants(mica_run *run, const mica_column *label);

#endif
