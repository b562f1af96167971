/* mica/run.h: training runs: a task, data and settings become a folder with a trained network, which evaluates and
 * predicts. The command's train, eval and predict are these calls (its subcommand `run` is another thing: it computes
 * an ONNX file).
 *
 *   mica_run_open(engine, "mica-run", &run);
 *   mica_run_predict(run, &(mica_run_input){.files = &path, .file_count = 1}, &prediction);
 *   mica_report_json(prediction, "predictions", "", &text);
 *
 *   config.json         task, settings, and the facts that data must fit
 *   model.safetensors   weights of the best epoch so far; before the first epoch has ended, of the last checkpoint
 *   last.safetensors    all that is needed to go on, after the last epoch or stop
 *   best.safetensors    the checkpoint of the best epoch
 *   history.csv  events.out.tfevents.*
 *
 * Threads: a run is used by one thread at a time; its stop flag may be set from any, and by a signal handler. */
#ifndef MICA_RUN_H
#define MICA_RUN_H

#include <mica/data.h>
#include <mica/report.h>
#include <mica/task.h>
#include <mica/train.h>

MICA_BEGIN_DECLS

typedef struct mica_run mica_run;

/* --- runs --- */

typedef struct mica_run_config {
  const char *task;            /* NULL: the one that suits the data best */
  const char *data;            /* as mica_dataset_open takes it */
  const mica_dataset *dataset; /* in place of data: the caller's samples to train on, which outlive the run */
  const char *folder;          /* to be filled; NULL: nothing is written */
  const mica_setting *settings;
  size_t setting_count;
  /* Goes on with the run in the folder; data, task and settings may be left out. The setting "epochs" may become more
   * or fewer: a run that was stopped after that many epochs, or more, ends with those that are done. Data that are left
   * out and have changed since are refused (MICA_E_STATE), and so is a folder that another process trains in. */
  bool resume;
  mica_train_fn *report;
  void *user;
  const volatile int *stop; /* as in mica_trainer_config */
  /* Without an engine given: how the run makes one of its own, while the data are read. NULL: by its defaults. */
  const mica_engine_config *engine;
  /* Several ranks (mica/dist.h), each with a run of the same configuration but for engine and communicator: `batch` is
   * what they train on together, divided evenly, so that the order of samples and the steps are those of one rank, and
   * a run that was stopped goes on on any number of ranks. Rank 0 alone reports and writes to the folder, which the
   * others read to resume. MICA_E_INVALID on all where they differ in version, seed, settings, data or network. */
  mica_communicator *communicator;
  /* How the ranks share the work: "data=2,pipe=2" for two replicas, each cut into two stages (mica_train_stages);
   * "micro=8" and "order=gpipe" for more micro-batches than 2 a stage, and for another schedule; "tensor=2" for two
   * ranks that have parts of each layer (mica_trainer_config.tensor), in every stage. NULL: all are replicas. The files
   * are those of one process, and what the numbers were does not bind a run that is resumed. MICA_E_INVALID on all: not
   * so many ranks, a network that cannot be cut, heads or units that the ranks do not divide; MICA_E_UNSUPPORTED:
   * stages or parts with teacher, quantize, sync-norm, a pruned network or a model in ONNX, stages with precision f16,
   * parts of a network that has no such layers. */
  const char *parallel;
  bool shard; /* the optimiser's state is divided among replicas (mica_optimizer_config) */
  /* Batches are divided among the ranks by these numbers, one for each and the same on all, such as what
   * mica_run_measure found; a rank gets one sample at least. NULL: evenly. Not with stages. */
  const double *speeds;
  /* Batches that cannot be divided evenly are divided as nearly as can be, for a run that goes on over other ranks than
   * it began on; else they are refused. Not with stages. */
  bool uneven;
} mica_run_config;

/* Checks all of a configuration that needs no data: names, values, the folder. MICA_E_INVALID, MICA_E_NOT_FOUND: it
 * is wrong, the sentence says where; MICA_E_STATE: the folder holds a run, or a file that a run would write over;
 * else what reading the folder gives. */
MICA_API MICA_CHECKED mica_status mica_run_check(const mica_run_config *config);

/* Checks, reads the data, finds the task, prepares it, builds the network and makes the folder, where nothing is
 * written before mica_run_fit. engine may be NULL (config->engine). MICA_E_NOT_FOUND: `freeze` matches no weight;
 * MICA_E_STATE: it leaves none to train, or the run that is resumed is complete and a setting is to change;
 * MICA_E_FORMAT: no weight of the file `init` fits. */
MICA_API MICA_CHECKED mica_status mica_run_create(mica_engine *engine, const mica_run_config *config, mica_run **run);
/* Opens a folder to evaluate and to predict; runs of Mica 0.2 too. Or a model in ONNX that mica_run_export wrote of a
 * run of classify or regress, to predict. MICA_E_FORMAT names file and fact or tensor where
 * one is missing, or holds what no training leaves there, such as weights that are not finite. */
MICA_API MICA_CHECKED mica_status mica_run_open(mica_engine *engine, const char *folder, mica_run **run);

typedef struct mica_run_open_config {
  /* "f32", "f16" or "bf16": what layers compute in, whatever the run was trained in; weights stay as they are. NULL: as
   * it was trained, of a model in ONNX f32. MICA_E_UNSUPPORTED: a run of integers, or one whose network is a model in
   * ONNX. */
  const char *precision;
} mica_run_open_config;

/* Opens a run as mica_run_open does. config may be NULL. */
MICA_API MICA_CHECKED mica_status mica_run_open_as(mica_engine *engine, const char *folder,
                                                   const mica_run_open_config *config, mica_run **run);
/* Before the engine that it was given. NULL is a no-op. */
MICA_API void mica_run_destroy(mica_run *run);

/* What a run's steps cost on its ranks, each with an even share of a batch. */
typedef struct mica_run_speeds {
  double alone;   /* samples a second of the fastest rank while the others rest */
  int32_t best;   /* that rank */
  double summing; /* seconds in which the gradients are added up over all ranks, which the backward pass may hide */
} mica_run_speeds;

/* Measures, by some steps of a trainer of its own, which are forgotten: speeds[r] are samples a second of rank r with
 * all ranks at work. Every rank calls it, of a run that was created and not yet fitted; all get the same numbers. Takes
 * some seconds. MICA_E_STATE: a run without ranks, or with stages. */
MICA_API MICA_CHECKED mica_status mica_run_measure(mica_run *run, double *speeds, mica_run_speeds *found);

/* Trains, from where the run stood, and keeps the best epoch's weights: model.safetensors is replaced with each
 * better epoch, so that a run that is stopped, or killed, can be opened. Returns MICA_OK when the training ends and
 * when it is stopped: mica_run_stopped says why it ended before the last epoch, NULL: it did not. A first training
 * that fails before there is a checkpoint leaves no files; settings of a run that is resumed are recorded when
 * training goes on. If the folder, or a file in it that the run is opened by, is deleted or moved meanwhile, it is
 * made again with the next checkpoint, with a warning in the log. MICA_E_IO if another run lies there by then: this
 * one is saved in a folder beside it, which the message names. Blocks. */
MICA_API MICA_CHECKED mica_status mica_run_fit(mica_run *run);
/* Why the training ended before its last epoch. Of a run that was opened and has not ended: a sentence that names
 * the epoch of its weights. NULL: it has ended. The run's, until the next call of mica_run_fit. */
MICA_API const char *mica_run_stopped(const mica_run *run);
/* The epoch, from 1, of the weights in model.safetensors; 0: of a stop within the first; -1: the file does not say, as
 * files of Mica 0.5.0. */
MICA_API int64_t mica_run_weights_epoch(const mica_run *run);
/* True if there is no more to train: behind the last epoch, or where patience is over. */
MICA_API bool mica_run_is_complete(const mica_run *run);
/* Sentences about what a user may not have meant, such as "2 of 4 weights are frozen by fc1.*" and "all samples are
 * of one class", from mica_run_create on; NULL behind the last. They are the run's. */
MICA_API const char *mica_run_remark(const mica_run *run, size_t index);

/* The metrics of a part of data, NULL: of the training's, where validation may be a share of what was trained on, as it
 * is where these are named, unchanged. By all ranks together, which end where one fails. MICA_E_FORMAT names both sides
 * where columns, sizes or classes do not fit the run's; MICA_E_NOT_FOUND: there is no such part; MICA_E_STATE: the part
 * is a share of the training's data, which have changed since, or their test part, which is gone; MICA_E_NUMERIC: the
 * loss is not a number. */
MICA_API MICA_CHECKED mica_status mica_run_evaluate(mica_run *run, const char *data, mica_part part,
                                                    mica_metrics *metrics);
/* What was evaluated last: "train", "validation", "test", or "all" where a test part was wanted of data that are in no
 * parts: the whole is taken. "" before. Changes with the next evaluation. */
MICA_API const char *mica_run_evaluated(const mica_run *run);
/* True if that was a part of the run's own data, these have changed since it was trained, and its task parts them: the
 * part may hold what was trained on, as a remark says. */
MICA_API bool mica_run_evaluated_changed(const mica_run *run);

/* What to predict from; one of files, data and text. */
typedef struct mica_run_input {
  const char *const *files; /* pictures, folders of them, a table (.csv, .tsv) without or with the label's column, an
                             * array of inputs (.npy), or texts to translate, a line each */
  size_t file_count;
  const char *data; /* samples of a dataset, with their truths */
  mica_part part;
  const char *text; /* lines of a table, or a text, as the task takes it */
  int64_t count;    /* samples at most; 0: all */
  int64_t top;      /* likeliest classes of each; 0: 3 */
  double threshold; /* of several labels a sample: one is said where its share is above it; 0: 0.5, MICA_ZERO: 0 */
  const char *name; /* what sentences call the text; NULL: the text */
  /* Translations: hypotheses of each that are kept, and the power of their lengths that scores are divided by, as in
   * mica_beam_config. */
  int64_t beams;         /* 0: 1, which is greedy */
  double length_penalty; /* 0: the run's setting; MICA_ZERO: 0 */
  /* Takes what is predicted, some sections at a time in their order: a task that predicts in parts then keeps none of
   * them (recommend; of others all come at once, at the end), and *prediction has none. A failure of its ends the
   * prediction. NULL: *prediction has all. */
  mica_status (*take)(void *user, const mica_report *sections);
  void *user;
} mica_run_input;

/* A section for each sample, its title the file, row or number. Samples are computed some at once, and how many there
 * are may decide which kernels do: numbers differ by roundings then, while a call that is repeated has the same bits.
 * *prediction is the caller's to mica_report_destroy. */
MICA_API MICA_CHECKED mica_status mica_run_predict(mica_run *run, const mica_run_input *input,
                                                   mica_report **prediction);

/* Facts of the run, curves of its history, and the task's sections about what was evaluated last. The caller's. */
MICA_API MICA_CHECKED mica_status mica_run_report(mica_run *run, mica_report **report);

/* --- what a run is --- */

/* The name of the run's task, such as "classify". */
MICA_API const char *mica_run_task(const mica_run *run);
/* The setting as it stands, found ones included; "" for a name that it has not. */
MICA_API const char *mica_run_setting(const mica_run *run, const char *name);
/* A setting as a number; NaN where it is none. */
MICA_API double mica_run_number(const mica_run *run, const char *name);
/* What the data must fit, by name: "classes", "columns", "input"; "categories": columns of classes that are inputs,
 * "unused": columns that are not, each with what it holds. *count (may be NULL) texts or numbers; NULL without
 * such a fact. */
MICA_API const char *const *mica_run_fact(const mica_run *run, const char *name, size_t *count);
MICA_API const double *mica_run_fact_numbers(const mica_run *run, const char *name, size_t *count);
/* The data of a part, NULL where there is none or the run was opened; engine and trainer. They are the run's. */
MICA_API const mica_dataset *mica_run_data(const mica_run *run, mica_part part);
/* What an epoch of training is: batches of `batch` samples on all ranks together, fewer than the setting says where
 * there are no more. What makes no whole batch is left out, other samples in each epoch. Zeros for a run that was
 * opened. */
typedef struct mica_run_epoch {
  uint64_t batches, batch, left_out;
} mica_run_epoch;
MICA_API mica_run_epoch mica_run_epoch_of(const mica_run *run);
MICA_API mica_engine *mica_run_engine(const mica_run *run);
MICA_API mica_trainer *mica_run_trainer(const mica_run *run);

MICA_END_DECLS

/* Until 1.0 this header includes those of single tasks and of conversions. */
#include <mica/run_convert.h>
#include <mica/run_recommend.h>
#include <mica/run_text.h>

#endif
