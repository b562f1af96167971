/* run/task.h: tasks as rows: what `mica train --task NAME` does with data. A task is a file or folder of src/task
 * that defines its row as mica__task_NAME, and a line in tasks.def. Trainer, run and command do not know any task by
 * name. */
#ifndef MICA_RUN_TASK_H
#define MICA_RUN_TASK_H

#include "base/error.h"
#include "run/verbs/verbs.h"

#include <mica/onnx.h>
#include <mica/run.h>

typedef struct mica__task_row {
  const char *name, *text;
  const mica_task_metric *metrics;            /* the first one is watched, unless prepare chooses another */
  const struct mica__setting_list *settings;  /* source of --help, config.json and completion; may be NULL */
  const struct mica__fact_list *facts;        /* what config.json must hold (run/fact_fields.h) */
  mica_status (*checks)(const mica_run *run); /* further conditions on facts; MICA_E_FORMAT names one. NULL: none */
  const mica_setting *defaults;               /* see mica_task_defaults; NULL: common defaults */
  /* Opens a part instead of mica_dataset_open, for data that it cannot read; MICA_E_NOT_FOUND: there is no such part.
   * NULL: mica_dataset_open. */
  mica_status (*open)(const mica_run *run, const char *path, const mica_dataset_config *config, mica_dataset **data);
  bool named_columns;                      /* data opened by `open` have columns that the setting "label" may name */
  bool threshold, beams, gallery, tracker; /* predictions use these members of mica_run_input */
  bool draws;   /* predictions draw samples and read no files, data or text (MICA_RUN_OPTION_DRAW) */
  bool classes; /* whole numbers in the answers of tables are classes, however many there are */
  /* Changes how data are opened for the task; NULL: they are opened as they are. */
  void (*opens)(const mica_run *run, mica_dataset_config *config);
  /* The default number of epochs rises until they have at least this many steps; 0: it does not (run/learning.h). */
  int32_t least_steps;
  /* How well the data suit the task; 0: not at all. Without --task the highest wins. NULL: as `input` and `head`
   * say. */
  int32_t (*suits)(const mica_dataset *data);
  /* What the task is composed of (run/composed.h); a task without a head has functions of its own. */
  const struct mica__input *input; /* never NULL */
  const struct mica__head *head;
  /* Names of tasks, ending with NULL: this task takes the place of one of them if the data suit it and do not suit that
   * one. */
  const char *const *stands_for;
  /* Sets facts of the run (class names, scaling, vocabulary), the loaders' configurations and the network. For an
   * opened run there are no data, and the facts are there. */
  mica_status (*prepare)(mica_run *run);
  /* MICA_E_FORMAT, naming both sides, if other data do not fit the run's facts. */
  mica_status (*fits)(const mica_run *run, const mica_dataset *data);
  /* Initial values in addition to the network's own, for a new run; NULL: none. */
  mica_status (*begin)(mica_run *run);
  /* Changes the trainer's configuration after the settings of all tasks were applied; NULL: does not. */
  void (*configures)(const mica_run *run, mica_trainer_config *config);
  /* Columns of answers, not needed to predict, besides those of the facts "label_column" and "boxes_column"; ends with
   * NULL. */
  const char *const *answer_columns;
  mica_step_fn *step; /* its config is the const mica_run * */
  /* MICA_E_FORMAT or MICA_E_UNSUPPORTED, with the reason, if a run of the task cannot teach the run although both agree
   * in what run/verbs/distil.c checks for all tasks. NULL: it can. */
  mica_status (*teaches)(const mica_run *run, const mica_run *teacher);
  /* Metrics that cannot be computed as sums; NULL: there are none. */
  mica_status (*evaluate)(mica_run *run, const mica_batch_source *source, mica_metrics *metrics);
  /* Adds a section for each sample. */
  mica_status (*predict)(mica_run *run, const mica_run_input *input, mica_report *prediction);
  /* Frees run->task_state. NULL: the task keeps nothing. */
  void (*closes)(mica_run *run);
  /* Answers the first sample of the evaluated data, to be timed, if an answer needs more than one prediction step.
   * NULL: it does not. */
  mica_status (*answers)(mica_run *run);
  mica_status (*report)(mica_run *run, mica_report *report); /* adds its sections; NULL: none */
  /* What an exported model computes; NULL: the same as the step predicts, or the head's `exports` of it. */
  mica_step_fn *exports;
  /* Describes a model's inputs and outputs by name, including those that only some runs have; the last has no key.
   * NULL: no description; for tasks on samples export.c gives it. */
  const mica_onnx_text *export_docs;
  /* The share of equal answers of two runs to the first `most` samples that the first run was evaluated on, if
   * predictions do not show it; *count is the number of samples. NaN and 0: their answers cannot be compared. NULL:
   * predictions show it. */
  mica_status (*agree)(mica_run *run, mica_run *other, int64_t most, double *share, int64_t *count);
  mica__task_verbs verbs;
} mica__task_row;

/* All tasks in the order of help, then NULL (task/tasks.c). */
extern const mica__task_row *const mica__tasks[];

#endif
