/* run/task.h: tasks as rows: what `mica train --task NAME` does with data. A task is a file or a folder of src/task,
 * which defines its row as mica__task_NAME, and a line in tasks.def; trainer, run and command know none of them. */
#ifndef MICA_RUN_TASK_H
#define MICA_RUN_TASK_H

#include "base/error.h"

#include <mica/onnx.h>
#include <mica/run.h>
#include <mica/speak.h>

typedef struct mica__task_row {
  const char *name, *text;
  const mica_task_metric *metrics;            /* the first one is watched unless prepare says otherwise */
  const struct mica__setting_list *settings;  /* --help, config.json and completion come from it; may be NULL */
  const struct mica__fact_list *facts;        /* what config.json must hold (run/fact_fields.h) */
  mica_status (*checks)(const mica_run *run); /* what facts must be besides; MICA_E_FORMAT names one. NULL: nothing */
  const mica_setting *defaults;               /* see mica_task_defaults; NULL: common defaults */
  /* Opens a part in place of mica_dataset_open, where data are no dataset of its; MICA_E_NOT_FOUND: there is no such
   * part. NULL: mica_dataset_open. */
  mica_status (*open)(const mica_run *run, const char *path, const mica_dataset_config *config, mica_dataset **data);
  bool named_columns;             /* what `open` opens has columns that the setting "label" may name */
  bool threshold, beams, gallery; /* predictions use these members of mica_run_input */
  bool draws;                     /* predictions are drawn, from no files, data or text (MICA_RUN_OPTION_DRAW) */
  bool classes;                   /* whole numbers that are the answers of tables are classes, however many there are */
  /* How data are opened for the task; NULL: as they are. */
  void (*opens)(const mica_run *run, mica_dataset_config *config);
  /* The default number of epochs rises until they have at least this many steps; 0: it does not (run/learning.h). */
  int32_t least_steps;
  /* 0: not at all; the highest wins if no --task is given. NULL: as `input` and `head` say. */
  int32_t (*suits)(const mica_dataset *data);
  /* What the task is composed of (run/composed.h); a task without a head has functions of its own. */
  const struct mica__input *input; /* never NULL */
  const struct mica__head *head;
  /* Names of tasks, ended by NULL, in whose place this one is taken if it suits the data and they do not. */
  const char *const *stands_for;
  /* Facts of the run (class names, scaling, vocabulary), loaders' configurations, the network. Of a run that was
   * opened there is no data, and the facts are there already. */
  mica_status (*prepare)(mica_run *run);
  /* MICA_E_FORMAT, naming both sides, where other data do not fit the run's facts. */
  mica_status (*fits)(const mica_run *run, const mica_dataset *data);
  /* Initial values beside the network's own, of a run that begins; NULL: none. */
  mica_status (*begin)(mica_run *run);
  /* Changes the trainer's configuration, as the settings of all tasks have it; NULL: nothing. */
  void (*configures)(const mica_run *run, mica_trainer_config *config);
  /* Columns of answers, which a prediction goes without, beside those of the facts "label_column" and "boxes_column";
   * ends with NULL. */
  const char *const *answer_columns;
  mica_step_fn *step; /* its config is the const mica_run * */
  /* MICA_E_FORMAT or MICA_E_UNSUPPORTED, saying why, where a run of the task cannot teach the run, although they have
   * in common what those of all tasks must (run/verbs/distil.c). NULL: it can. */
  mica_status (*teaches)(const mica_run *run, const mica_run *teacher);
  /* Metrics that are no sums; NULL: sums suffice. */
  mica_status (*evaluate)(mica_run *run, const mica_batch_source *source, mica_metrics *metrics);
  /* Adds a section for each sample. */
  mica_status (*predict)(mica_run *run, const mica_run_input *input, mica_report *prediction);
  /* How texts are found in what is heard, from now on. NULL: none is. */
  mica_status (*search)(mica_run *run, const mica_text_search *search);
  /* Frees run->task_state. NULL: the task keeps nothing. */
  void (*closes)(mica_run *run);
  /* Answers the first sample of the data that are judged, where an answer is more than what the step predicts: to be
   * timed. NULL: it is not. */
  mica_status (*answers)(mica_run *run);
  mica_status (*report)(mica_run *run, mica_report *report); /* adds its sections; NULL: none */
  /* What an exported model computes; NULL: what the step predicts, and of a task with a head `exports` of that. */
  mica_step_fn *exports;
  /* What a model's inputs and outputs are, by name, those that some runs alone have too; the last has no key. NULL:
   * nothing is said; of tasks of samples export.c says it. */
  const mica_onnx_text *export_docs;
  /* The share of what both runs answer alike to the first `most` samples that the first one has judged, where
   * predictions do not hold it; *count is the number of samples. NaN and 0: their answers have nothing in common. NULL:
   * predictions hold it. */
  mica_status (*agree)(mica_run *run, mica_run *other, int64_t most, double *share, int64_t *count);
  /* Continues texts; NULL: the task has none to continue. */
  mica_status (*generate)(mica_run *run, const mica_run_texts *texts);
  /* Speaks a text (mica_run_speak); NULL: the task does not. */
  mica_status (*speak)(mica_run *run, const mica_speech_config *config, float **samples, int64_t *count);
  /* Tells whose voice a recording has (mica_run_voice); NULL: the task does not. */
  mica_status (*voice)(mica_run *run, const char *path, double *shares);
  /* Adds a section of items for each user and item that is asked for; NULL: the task has none. */
  mica_status (*recommend)(mica_run *run, const mica_run_query *query, mica_report *prediction);
} mica__task_row;

/* All tasks in the order of help, then NULL (task/tasks.c). */
extern const mica__task_row *const mica__tasks[];

#endif
