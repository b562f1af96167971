/* task/verify/verify.h: verification. A network tells whether two samples have the same class, even if training had no
 * sample of that class. */
#ifndef MICA_TASK_VERIFY_VERIFY_H
#define MICA_TASK_VERIFY_VERIFY_H

#include "data/identities.h"
#include "run/setting_fields.h"
#include "run/task.h"

/* The setting that chooses the classes kept for the test. */
#define UNSEEN_SETTINGS(X, S)                                                                                          \
  X(S, TEXT, unseen, "unseen", "", "LIST",                                                                             \
    "classes to keep for the test: their names, as in ann,bob, or how many to draw at random, as in 5 (default: the "  \
    "classes that only the test part has, else 30 % of all, drawn at random)",                                         \
    .fixed = true)

/* Opens a part by class (mica__task_row.open). In the run's own data, the classes of the test part do not occur in
 * training and validation; other data are opened as they are. */
mica_status mica__verify_open(const mica_run *run, const char *path, const mica_dataset_config *config,
                              mica_dataset **data);

#endif
