/* run/verbs/distil.h: training with a teacher: another run's network in the graph that is trained. */
#ifndef MICA_RUN_VERBS_DISTIL_H
#define MICA_RUN_VERBS_DISTIL_H

#include "run/task.h"

struct mica_safetensors;

/* The teacher of a run: the settings and facts of its folder, and its network in the last training graph. */
typedef struct mica__teacher {
  mica_run *run;
  mica_nn *nn;
  struct mica_safetensors *weights; /* the file that gives its layers their widths */
  bool plain;                       /* its answers are in the target's own units */
} mica__teacher;

/* Checks the teacher, run->networks->teacher.run, and opens the file of its weights unless it is a model in ONNX.
 * MICA_E_FORMAT: the message names how it and the run differ. MICA_E_UNSUPPORTED: it is quantised, or is in ONNX and
 * its inputs or the run's are of another kind. */
mica_status mica__distil_begin(mica_run *run);
/* MICA_E_FORMAT, naming both values, if the teacher's fact of texts or numbers differs from the run's; `one` and `many`
 * are the words for a text and several texts. */
mica_status mica__distil_check_texts(const mica_run *run, const char *fact, const char *one, const char *many);
mica_status mica__distil_check_numbers(const mica_run *run, const char *fact);
/* The step of a run: that of its task; in training the distance to the teacher's answers is added to the loss. */
void mica__distil_step(mica_nn *nn, const mica_batch_values *batch, const void *config, mica_objective *objective);
/* Loads the teacher's weights into the session of a newly made trainer. */
mica_status mica__distil_load(const mica_run *run, mica_trainer *trainer);

#endif
