/* run/verbs/distil.h: training with a teacher: a run's network in the graph of the one that is trained. */
#ifndef MICA_RUN_VERBS_DISTIL_H
#define MICA_RUN_VERBS_DISTIL_H

#include "run/task.h"

struct mica_safetensors;

/* The teacher of a run: settings and facts of its folder, and its network in the training graph built last. */
typedef struct mica__teacher {
  mica_run *run;
  mica_nn *nn;
  struct mica_safetensors *weights; /* from which layers take their widths */
  bool plain;                       /* its answers are in the target's own units */
} mica__teacher;

/* Takes the run that stands as the teacher. MICA_E_FORMAT names what it and the run do not have in common. */
mica_status mica__distil_begin(mica_run *run);
/* MICA_E_FORMAT, naming both, where a fact of texts or of numbers is another one of the teacher; `one` and `many` are
 * what a text is called. */
mica_status mica__distil_check_texts(const mica_run *run, const char *fact, const char *one, const char *many);
mica_status mica__distil_check_numbers(const mica_run *run, const char *fact);
/* The step of a run: its task's, in training with the distance to the teacher's answers mixed into the loss. */
void mica__distil_step(mica_nn *nn, const mica_batch_values *batch, const void *config, mica_objective *objective);
/* Loads the teacher's weights into the session of a trainer that was just made. */
mica_status mica__distil_load(const mica_run *run, mica_trainer *trainer);

#endif
