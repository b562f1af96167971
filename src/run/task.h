/* run/task.h: a task, which is what `mica train --task NAME` does with data, as a struct of texts, lists and functions:
 * its row. A task is a file or folder of src/task that defines its row as mica__task_NAME, and a line in tasks.def.
 * Trainer, run and command do not know any task by name. */
#ifndef MICA_RUN_TASK_H
#define MICA_RUN_TASK_H

#include "base/error.h"
#include "run/verbs/verbs.h"

#include <mica/onnx.h>
#include <mica/run.h>

typedef struct mica__task_row {
  const char *name, *text;
  const mica_task_metric *metrics;           /* the first one is watched, unless `configures` chooses another */
  const struct mica__setting_list *settings; /* source of --help, config.json and completion; may be NULL */
  const struct mica__fact_list *facts;       /* what config.json must hold (run/fact_fields.h) */
  /* Checks further conditions on the stored values (run/facts.h). MICA_E_FORMAT if one does not hold. May be NULL. */
  mica_status (*checks)(const mica_run *run);
  const mica_setting *defaults; /* see mica_task_defaults; may be NULL */
  /* Opens a part of data that mica_dataset_open cannot read. MICA_E_NOT_FOUND if there is no such part. If NULL,
   * mica_dataset_open opens the parts. */
  mica_status (*open)(const mica_run *run, const char *path, const mica_dataset_config *config, mica_dataset **data);
  bool named_columns;                      /* data opened by `open` have columns that the setting "label" may name */
  bool threshold, beams, gallery, tracker; /* predictions use these members of mica_run_input */
  bool draws;   /* predictions draw samples and read no files, data or text (MICA_RUN_OPTION_DRAW) */
  bool classes; /* whole numbers in the answers of tables are classes, however many there are */
  /* Changes how data are opened for the task; may be NULL. */
  void (*opens)(const mica_run *run, mica_dataset_config *config);
  /* The default number of epochs is raised until training takes at least this many steps (run/learning.h); 0 if it is
   * never raised. */
  int32_t least_steps;
  /* Returns how well the data suit the task, or 0 if not at all. Without --task, the task with the highest number is
   * taken. If NULL, `input` and `head` give the number. */
  int32_t (*suits)(const mica_dataset *data);
  /* What the task is composed of (run/composed.h); a task without a head has functions of its own. */
  const struct mica__input *input; /* never NULL */
  const struct mica__head *head;
  /* Names of tasks, ending with NULL: this task takes the place of one of them if it suits the data better. */
  const char *const *stands_for;
  /* Stores class names, scales, vocabulary and the like with the run (run/facts.h). A run that is opened from its
   * folder has its stored values already, but no data. */
  mica_status (*prepare)(mica_run *run);
  /* Checks that other data fit the values stored with the run. If not, MICA_E_FORMAT with a message that states what
   * the run and the data have. */
  mica_status (*fits)(const mica_run *run, const mica_dataset *data);
  /* Sets initial values that the network does not set itself, in a new run; may be NULL. */
  mica_status (*begin)(mica_run *run);
  /* Changes the trainer's configuration after the settings of all tasks were applied; may be NULL. */
  void (*configures)(const mica_run *run, mica_trainer_config *config);
  /* Columns of answers, not needed to predict, besides those that the stored values "label_column" and "boxes_column"
   * name; ends with NULL. */
  const char *const *answer_columns;
  mica_step_fn *step; /* its config is the const mica_run * */
  /* Checks whether `teacher`, a run of this task, can teach the run. run/verbs/distil.c has already checked what all
   * tasks need. If it cannot, MICA_E_FORMAT or MICA_E_UNSUPPORTED with the reason. NULL if it always can. */
  mica_status (*teaches)(const mica_run *run, const mica_run *teacher);
  /* Computes metrics that are not sums over samples; may be NULL. */
  mica_status (*evaluate)(mica_run *run, const mica_batch_source *source, mica_metrics *metrics);
  /* Adds a section for each sample. */
  mica_status (*predict)(mica_run *run, const mica_run_input *input, mica_report *prediction);
  /* Frees run->task_state; NULL if the task keeps nothing there. */
  void (*closes)(mica_run *run);
  /* Answers the first sample of the evaluated data, so that the time can be measured. NULL if an answer takes a single
   * prediction step. */
  mica_status (*answers)(mica_run *run);
  mica_status (*report)(mica_run *run, mica_report *report); /* adds the task's sections; may be NULL */
  /* Makes what an exported model computes. If NULL, the head's `exports` makes it of the network's answers; if the task
   * has no head, a model computes the predictions. */
  mica_step_fn *exports;
  /* Describes a model's inputs and outputs by name, also those that only some runs have. The last entry has no key. If
   * NULL, export.c describes the models of tasks on samples, and other models have no description. */
  const mica_onnx_text *export_docs;
  /* Compares the answers of two runs if predictions of the task cannot be compared; NULL if they can. Uses the first
   * `most` samples on which the first run was evaluated. Sets *share to the share of equal answers and *count to the
   * number of samples, or NaN and 0 if the answers cannot be compared. */
  mica_status (*agree)(mica_run *run, mica_run *other, int64_t most, double *share, int64_t *count);
  mica__task_verbs verbs;
} mica__task_row;

/* All tasks in the order of help, then NULL (task/tasks.c). */
extern const mica__task_row *const mica__tasks[];

#endif
