/* task/verify/verify.h: verification: do two samples have the same class, which may be one that was not trained on? */
#ifndef MICA_TASK_VERIFY_VERIFY_H
#define MICA_TASK_VERIFY_VERIFY_H

#include "run/setting_fields.h"
#include "run/task.h"

/* Which classes the test keeps. */
#define UNSEEN_SETTINGS(X, S)                                                                                          \
  X(S, TEXT, unseen, "unseen", "", "LIST",                                                                             \
    "classes kept for the test, as in a,b or as a number (default: classes that only the test part has, else 30 %)",   \
    .fixed = true)

/* What the label's column of a part is made of, which it has as `user`: numbers of classes. Those that are trained on
 * come first, in the order of the run's fact "classes"; others follow in the order of the data. */
typedef struct mica__identities {
  int32_t *numbers; /* of each sample of the data that were opened */
  char **names;     /* by number */
  size_t count, trained;
} mica__identities;

/* The identities of a column; NULL: it was not opened by mica__verify_open. */
const mica__identities *mica__identities_of(const mica_dataset *data);

/* Opens a part by class (mica__task_row.open): the test part has the classes that training does not see. */
mica_status mica__verify_open(const mica_run *run, const char *path, const mica_dataset_config *config,
                              mica_dataset **data);

#endif
