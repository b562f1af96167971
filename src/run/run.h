/* run/run.h: a run: the engine, the task, the data and the trainer, with what its parts keep. */
#ifndef MICA_RUN_RUN_H
#define MICA_RUN_RUN_H

#include "base/text.h"
#include "run/facts.h"
#include "run/layout.h"
#include "run/parts.h"
#include "run/record.h"
#include "run/settings.h"
#include "run/task.h"
#include "run/verbs/distil.h"

#include <mica/compress.h>
#include <mica/history.h>
#include <mica/model.h>
#include <mica/safetensors.h>
#include <mica/speech.h>
#include <mica/tokenizer.h>
#include <pthread.h>

struct mica_run {
  mica_engine *engine;
  bool own_engine, resumed;
  int made_folders; /* the run's own, and those above it, that were missing */
  mica__layout layout;
  int64_t *shares;       /* of a batch, of each rank, where they differ; NULL: even ones */
  bool refused;          /* by all ranks alike: none needs to be told */
  int lock;              /* the folder of a run that is trained, open and locked; -1: none */
  int network_file;      /* its network.onnx, likewise; -1: none */
  bool begun;            /* what is written at the beginning stands in the folder */
  bool has_best;         /* and best.safetensors */
  bool ended_early;      /* by a number of epochs that are done already */
  double epochs_before;  /* the setting, before a resumed run got another one */
  int64_t weights_epoch; /* of model.safetensors, from 1; 0: within the first; -1: not known */
  mica_run_config config;
  const mica__task_row *task;
  const char *precision; /* of a run that was opened, in place of the setting; NULL: that */
  char *data, *folder;
  const mica_setting_row *rows[MICA__SETTINGS];
  char *values[MICA__SETTINGS]; /* NULL: the row's default */
  size_t row_count;
  mica__fact facts[MICA__FACTS];
  size_t fact_count;
  /* Data: the whole that training samples are a part of, and the parts by mica_part. */
  const mica_dataset *whole;
  mica_dataset *outline; /* of rows: the columns that tables to be read are like */
  bool outlined;         /* it is that of a table; else it has only as many numbers as inputs */
  mica__run_part parts[MICA__PARTS];
  float *mean, *deviation;    /* the facts of these names as loaders take them */
  mica_batch_column *columns; /* of tests */
  size_t column_count;
  mica_trainer_config training; /* prepare may change `watch` and `falling` */
  mica_tokenizer *tokenizer;    /* NULL: the run has none */
  mica_ctc_beam_config search;  /* how texts are found in scores (mica_run_search); beam 0: by the setting */
  mica_text_model *text_model;  /* its user; NULL: none */
  mica_quantizer *quantizer; /* of a quantised run, or one that trains with rounded weights; NULL: layers are float */
  mica_trainer *trainer;
  mica_safetensors *like; /* of a pruned run: the file that layers take their widths from */
  mica__teacher teacher;  /* of a run that is trained; zeros without */
  mica_history *history;
  mica_events *events;
  char *stopped;
  char *left; /* the folder that training left, since another run lies there; NULL: none */
  char *remarks[MICA__REMARKS];
  struct mica_onnx *network; /* the network of a run that began with a model in ONNX; NULL for others */
  struct mica_run *origin;   /* the facts of the run that the network was exported from; NULL: it is not asked for */
  struct mica_onnx *model;   /* what was opened in the place of a folder, to predict by; with its runner */
  struct mica_onnx_runner *runner;
  const char *changed; /* the first setting that a resumed run gets another value of; NULL: none */
  /* What was evaluated last: by a report it is shown. */
  const mica_dataset *judged;
  mica_dataset *judged_own; /* opened for the evaluation */
  int32_t *labels;          /* and other classes, in the run's numbers, where the data's are others */
  float *numbers;           /* and its inputs, where their columns lie in another order */
  double *label_scores;     /* of several labels a sample, what the test said of each (task/head/labels.h) */
  char *bases;              /* of a table's numbers, as mica_dataset_config takes them; NULL: there are none */
  char *kinds;              /* of columns that are inputs, as mica_dataset_config takes them; NULL: nothing to say */
  mica_metrics metrics;
  char judged_part[16];
  bool other_data;     /* a run that is resumed goes on with data that are not, or no longer, what it began with */
  bool judged_split;   /* it was split off by the seed */
  bool judged_changed; /* the run's own data, parted by its task, are not those that it was trained on */
  bool predicts_own;   /* mica__run_open_given opens parts of the run's own data as training parted them */
};

/* The engine that is given, or one by the configuration. */
mica_status mica__run_make_engine(mica_run *run);
/* What a run's config.json says, made ready: the task is prepared, columns are known, and there is no network yet. */
mica_status mica__run_open_facts(mica_run *run);
/* Makes a run of a folder, or file, by what `open` does; precision as the field. */
mica_status mica__run_open_folder(mica_engine *engine, const char *folder, const char *precision,
                                  mica_status (*open)(mica_run *run), mica_run **out);

#endif
