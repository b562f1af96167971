/* run/verbs/distil.h: knowledge distillation. A run learns from the answers of another run, its teacher. The training
 * graph contains the teacher's network. */
#ifndef MICA_RUN_VERBS_DISTIL_H
#define MICA_RUN_VERBS_DISTIL_H

#include "run/task.h"

struct mica_safetensors;

/* The teacher of a run: the settings and stored values (run/facts.h) in its folder, and its network in the last
 * training graph. */
typedef struct mica__teacher {
  mica_run *run;
  mica_nn *nn;
  struct mica_safetensors *weights; /* the file that gives the teacher's layers their widths */
  bool plain;                       /* the teacher's answers are in the target's own units, not standardised */
} mica__teacher;

/* Checks the teacher, run->networks->teacher.run, and opens the file of its weights unless it is a model in ONNX.
 * MICA_E_FORMAT with a message that says how teacher and run differ. MICA_E_UNSUPPORTED if the teacher is quantised, or
 * if it is in ONNX and has other inputs than one of f32, or the run has inputs that such a teacher cannot take. */
mica_status mica__distil_begin(mica_run *run);
/* Compare a stored value (run/facts.h) of the teacher, texts or numbers, with the run's. MICA_E_FORMAT if they differ;
 * the message has both values. `one` and `many` are the words for one text and for several. */
mica_status mica__distil_check_texts(const mica_run *run, const char *fact, const char *one, const char *many);
mica_status mica__distil_check_numbers(const mica_run *run, const char *fact);
/* The step function of a run: the step of its task. In training, the distance between the run's answers and the
 * teacher's is added to the loss. */
void mica__distil_step(mica_nn *nn, const mica_batch_values *batch, const void *config, mica_objective *objective);
/* Loads the teacher's weights into the session of a newly made trainer. */
mica_status mica__distil_load(const mica_run *run, mica_trainer *trainer);

#endif
