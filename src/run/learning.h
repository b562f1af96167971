/* run/learning.h: how long a run trains by default, and remarks on how its epochs went. */
#ifndef MICA_RUN_LEARNING_H
#define MICA_RUN_LEARNING_H

#include "run/task.h"

/* Sets the defaults of batch and augment that suit the number of pictures, for a classifier whose network the caller
 * leaves to Mica. Values that the caller gave stay. */
mica_status mica__run_set_picture_defaults(mica_run *run);
/* Sets mica_trainer_config.tolerance: if a later epoch is worse than the best one by no more than this, it is kept. If
 * there are few validation pictures and the learning rate falls to the end, the tolerance is the greatest standard
 * error that the accuracy can have; otherwise it is 0. It is stored with the run, so that a resumed run has the
 * same. */
mica_status mica__run_set_tolerance(mica_run *run, mica_trainer_config *config);
/* Raises the default number of epochs if they would have fewer steps than the task needs:
 * mica__task_row.least_steps, or 900 for pictures whose network Mica chooses. It becomes at most ten times the
 * default. A number that the caller gave, or that a resumed run has, stays. */
mica_status mica__run_find_epochs(mica_run *run);
/* Adds remarks on a run that has trained: it overfits, its answers are not better than one answer for all samples,
 * few samples validated it, or it was still improving at its last epoch. */
mica_status mica__run_remark_learning(mica_run *run);

#endif
