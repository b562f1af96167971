/* mica/run.h: training runs. A run takes a task, data and settings, and fills a folder with a trained network. It can
 * evaluate and predict. The commands `mica train`, `mica eval` and `mica predict` use these calls. (`mica run` is
 * unrelated: it computes an ONNX model.)
 *
 *   mica_run_open(engine, "mica-run", &run);
 *   mica_run_predict(run, &(mica_run_input){.files = &path, .file_count = 1}, &prediction);
 *   mica_report_json(prediction, "predictions", "", &text);
 *
 * The folder holds:
 *
 *   config.json               task, settings, and facts that data must match
 *   model.safetensors         weights that are kept, usually of the best epoch so far; while the first epoch lasts, the
 *                             weights of the latest checkpoint
 *   last.safetensors          everything needed to resume; written after every epoch, at a checkpoint within an epoch
 *                             and on a stop
 *   best.safetensors          checkpoint of the best epoch
 *   history.csv               metrics per epoch
 *   events.out.tfevents.*     the same for TensorBoard
 *
 * Threads: use a run from one thread at a time. Any thread, and a signal handler, may set its stop flag. */
#ifndef MICA_RUN_H
#define MICA_RUN_H

#include <mica/data.h>
#include <mica/report.h>
#include <mica/task.h>
#include <mica/track.h>
#include <mica/train.h>

MICA_BEGIN_DECLS

typedef struct mica_run mica_run;

/* --- runs --- */

typedef struct mica_run_config {
  const char *task;            /* NULL: the task that suits the data best */
  const char *data;            /* path or name; see mica_dataset_open */
  const mica_dataset *dataset; /* the caller's training samples, used instead of data; must outlive the run */
  const char *folder;          /* folder to fill; NULL: the run writes nothing */
  const mica_setting *settings;
  size_t setting_count;
  /* Continues the run in the folder. data, task and settings may be left out. Settings may change, except fixed ones
   * (mica_setting_row.fixed). An unfinished run may get a smaller number of epochs, even one that it has already
   * trained for: the run is then finished, provided that no other setting changes.
   *
   * MICA_E_STATE: settings change but nothing is left to train, the data were left out and have changed since, or
   * another process trains in the folder. MICA_E_UNSUPPORTED: a run of Mica 0.2. */
  bool resume;
  mica_train_fn *report;
  void *user;
  const volatile int *stop; /* see mica_trainer_config */
  /* Configuration of the engine that the run creates if mica_run_create gets no engine. It is created while the data
   * are read. NULL: defaults. */
  const mica_engine_config *engine;
  /* Trains on several ranks (mica/dist.h). Each rank creates a run with the same configuration, except for engine and
   * communicator. The setting `batch` counts the samples of all ranks together. The ranks divide each batch among them,
   * so the order of samples and the steps are the same as on one rank. A stopped run can resume on any number of ranks.
   * Rank 0 alone reports and writes to the folder; the other ranks read the folder to resume. MICA_E_INVALID on every
   * rank if version, seed, settings, data or network differ. NULL: one rank. */
  mica_communicator *communicator;
  /* How ranks share the work, as NAME=VALUE pairs separated by commas:
   *
   *   data=2          two replicas
   *   pipe=2          each replica is cut into two pipeline stages (mica_train_stages)
   *   tensor=2        two ranks share each layer of a stage (mica_trainer_config.tensor)
   *   micro=8         micro-batches per step (default: 2 per stage, or fewer if that does not divide the batch)
   *   order=gpipe     another pipeline schedule
   *
   * NULL: every rank is a replica. The files are the same as for one process, and a resumed run may use other values.
   * On every rank, MICA_E_INVALID: the number of ranks does not match, the network cannot be cut, or the ranks do not
   * divide its heads or units. MICA_E_UNSUPPORTED: stages or tensor parallelism combined with teacher, quantize,
   * sync-norm, a pruned network, a published model or an ONNX model; stages with precision f16; tensor parallelism of a
   * network that has no such layers. */
  const char *parallel;
  bool shard; /* divides the optimiser's state among replicas (mica_optimizer_config) */
  /* Relative speed of each rank, for example from mica_run_measure; the array must be the same on every rank. Batches
   * are divided in these proportions; every rank gets at least one sample. NULL: evenly. MICA_E_UNSUPPORTED: combined
   * with stages or tensor parallelism. */
  const double *speeds;
  /* Allows batches that do not divide evenly: ranks get nearly equal shares. Use it to resume on another number of
   * ranks. false, and with stages or tensor parallelism: such batches are refused. */
  bool uneven;
} mica_run_config;

/* Checks everything in a configuration that can be checked without reading the data: names, values, the folder. A new
 * run's folder must not be a folder of data, contain one or lie in one.
 *
 *   MICA_E_INVALID, MICA_E_NOT_FOUND   the configuration is wrong; the message says where
 *   MICA_E_STATE                       the folder holds a run, or a file that a run would overwrite
 *   MICA_E_FORMAT                      `data` is neither a file nor a folder
 *   other errors                       the folder cannot be read or written */
MICA_API MICA_CHECKED mica_status mica_run_check(const mica_run_config *config);

/* Checks the configuration, reads the data, infers the task if none was given, builds the network and makes the folder.
 * Nothing is written into the folder before mica_run_fit. engine may be NULL (see config->engine).
 *
 * Fails like mica_run_check and mica_run_config.resume. MICA_E_NOT_FOUND: `freeze` matches no weight. MICA_E_STATE:
 * `freeze` leaves no weight to train. MICA_E_FORMAT: no weight of the file `init` fits, or all training samples have
 * the same class. */
MICA_API MICA_CHECKED mica_status mica_run_create(mica_engine *engine, const mica_run_config *config, mica_run **run);
/* Opens the folder of a run to evaluate and predict; folders of Mica 0.2 and later are accepted. Also opens an ONNX
 * model that mica_run_export wrote for a classify or regress run, to predict. MICA_E_FORMAT: a value in config.json or
 * a tensor is missing or is one that training never writes, such as a weight that is not finite; the message names file
 * and item. Also for an ONNX model that mica_run_export did not write. MICA_E_INVALID: `folder` is a file of a run.
 * MICA_E_UNSUPPORTED: an ONNX model of another task. */
MICA_API MICA_CHECKED mica_status mica_run_open(mica_engine *engine, const char *folder, mica_run **run);

typedef struct mica_run_open_config {
  /* Type that layers compute in: "f32", "f16" or "bf16". Weights are not converted. NULL: the type used in training;
   * f32 if an ONNX model is opened. MICA_E_UNSUPPORTED: f16 or bf16 for a run that is quantised or that trained a
   * network from an ONNX model. MICA_E_INVALID: another name. */
  const char *precision;
  /* Replaces the setting depth-scale for test data: integer pixels of a depth map are divided by this number to get the
   * depth. 0: the scale used in training. MICA_E_INVALID: the run's task has no such setting, or the number is below 0
   * or not finite. */
  double depth_scale;
} mica_run_open_config;

/* Opens a run like mica_run_open, with options. config may be NULL. */
MICA_API MICA_CHECKED mica_status mica_run_open_as(mica_engine *engine, const char *folder,
                                                   const mica_run_open_config *config, mica_run **run);
/* Destroys the run. Call it before destroying the engine that the run was given. NULL is a no-op. */
MICA_API void mica_run_destroy(mica_run *run);

/* Cost of training steps, measured with an even share of a batch on each rank. */
typedef struct mica_run_speeds {
  double alone;   /* samples per second of the fastest rank while the others are idle */
  int32_t best;   /* the fastest rank */
  double summing; /* seconds to sum gradients over all ranks; the backward pass may hide them */
} mica_run_speeds;

/* Measures the speed of every rank with a temporary trainer; the run itself is not changed. speeds[r] receives the
 * samples per second of rank r while all ranks work. Call it on every rank, after mica_run_create and before
 * mica_run_fit. All ranks receive the same numbers. Takes a few seconds. MICA_E_STATE: the run has no communicator, was
 * opened, or divides its network among ranks (stages or tensor parallelism). Any other failure ends the
 * communicator. */
MICA_API MICA_CHECKED mica_status mica_run_measure(mica_run *run, double *speeds, mica_run_speeds *found);

/* Trains until the last epoch or a stop, starting where the run stands. Returns MICA_OK when training ends or is
 * stopped; mica_run_stopped tells which. Blocks.
 *
 * Each epoch whose weights are kept (mica_train_progress.kept) replaces model.safetensors, so a run that was stopped or
 * killed can still be opened. If training of a new run fails before its first checkpoint, no files remain. A resumed
 * run records its settings when training starts.
 *
 * If the folder, or a file needed to open the run, is deleted or moved during training, the next checkpoint restores
 * it, with a warning in the log. MICA_E_IO: by then another run occupies the folder; this run is saved in a folder
 * beside it, which the message names. MICA_E_STATE: the run was opened, not created. */
MICA_API MICA_CHECKED mica_status mica_run_fit(mica_run *run);
/* Why training ended before its last epoch; NULL if it did not. For an opened run that is not complete: a sentence that
 * names the epoch of its weights. The run owns the text; it is valid until the next mica_run_fit. */
MICA_API const char *mica_run_stopped(const mica_run *run);
/* Epoch of the weights in model.safetensors, from 1. 0: training was stopped within the first epoch. -1: the file does
 * not say (files that the release 0.5.0 wrote). */
MICA_API int64_t mica_run_weights_epoch(const mica_run *run);
/* True if no training remains: the last epoch is done, or patience has run out. */
MICA_API bool mica_run_is_complete(const mica_run *run);
/* Remark number `index` about things that the user may not have intended, such as "2 of 4 weights are frozen by fc1.*".
 * Available after mica_run_create. NULL after the last one. The run owns the text. */
MICA_API const char *mica_run_remark(const mica_run *run, size_t index);

/* Evaluates the run on one part of `data`; data NULL means the training data. If the training data have no validation
 * part, the validation part is the share of samples that the run held out; this also holds if `data` names the training
 * data and they have not changed. On several ranks, all ranks call it; if one fails, all fail.
 *
 * MICA_E_FORMAT: columns, sizes or classes differ from the run's; the message names both sides. MICA_E_NOT_FOUND: the
 * data have no such part. MICA_E_STATE: the part is a share of training data that have changed, or their test part is
 * gone. MICA_E_NUMERIC: the loss is not a number. MICA_E_UNSUPPORTED: the run is an opened ONNX model. */
MICA_API MICA_CHECKED mica_status mica_run_evaluate(mica_run *run, const char *data, mica_part part,
                                                    mica_metrics *metrics);
/* Part of the last evaluation: "train", "validation" or "test"; "all" if a test part was asked for and the data have no
 * parts. "" before the first evaluation. Valid until the next evaluation. */
MICA_API const char *mica_run_evaluated(const mica_run *run);
/* True if the last evaluation may include training samples: it used the run's own data, which the task splits into
 * parts and which have changed since training. A remark says so too. */
MICA_API bool mica_run_evaluated_changed(const mica_run *run);

/* Members and functions that only some runs support (mica_run_takes). */
typedef enum mica_run_option {
  MICA_RUN_OPTION_THRESHOLD, /* mica_run_input.threshold */
  MICA_RUN_OPTION_BEAMS,     /* mica_run_input.beams and .length_penalty */
  MICA_RUN_OPTION_SEARCH,    /* mica_run_search */
  MICA_RUN_OPTION_DRAW,      /* mica_run_input.of_class, .seed, .steps and .guidance; no files, data or text */
  MICA_RUN_OPTION_GALLERY,   /* mica_run_input.gallery */
  MICA_RUN_OPTION_GENERATE,  /* mica_run_generate */
  MICA_RUN_OPTION_SPEAK,     /* mica_run_speak */
  MICA_RUN_OPTION_TRACK      /* mica_run_input.tracker */
} mica_run_option;

/* True if the member or function that the option names works with this run. False if run is NULL or the option is
 * unknown. */
MICA_API bool mica_run_takes(const mica_run *run, mica_run_option option);

/* What to predict from. Set one of files, data and text; none of them for runs that draw (MICA_RUN_OPTION_DRAW). */
typedef struct mica_run_input {
  /* Pictures; recordings; folders of pictures or recordings (if a folder has none, its subfolders are used); a table
   * (.csv, .tsv; the label's column is optional); an array of inputs (.npy); or text files to translate line by line */
  const char *const *files;
  size_t file_count;
  const char *data; /* samples of a dataset, with their labels */
  mica_part part;
  const char *text; /* lines of a table, or a text, depending on the task */
  int64_t count;    /* maximum number of samples; 0: all */
  int64_t top;      /* number of likeliest classes to report per sample; 0: 3 */
  /* For runs with several labels per sample: report labels whose probability exceeds the threshold; 0: 0.5. For detect:
   * report boxes whose score is at least the threshold; 0: the run's setting. MICA_ZERO: a threshold of 0 */
  double threshold;
  const char *name; /* name of the text in error messages; NULL: "the text" */
  /* MICA_RUN_OPTION_GALLERY: a file, or a folder, whose nearest samples are reported for each input, `top` of them.
   * NULL: the first input is compared with each other one. MICA_E_INVALID: other tasks */
  const char *gallery;
  /* MICA_RUN_OPTION_TRACK: the pictures are the frames of a video. The tracker follows boxes from frame to frame, and
   * each box gets the id of its track as a sixth number (NaN without an id). If the only file is a folder, its pictures
   * are taken in order of their names, with numbers in names compared by value: 9 comes before 10. `take` receives one
   * section at a time. NULL: boxes have no ids. MICA_E_INVALID: other tasks */
  mica_tracker *tracker;
  /* segment_volumes: report masks as .nii files. By default they are .nii.gz if this build can compress. */
  bool plain_masks;
  /* Translation only; see mica_beam_config. */
  int64_t beams;         /* hypotheses kept per source; 0: 1 (greedy) */
  double length_penalty; /* scores are divided by length^this; 0: the run's setting; MICA_ZERO: 0 */
  /* diffuse only: `count` pictures are drawn (0: 10), the same ones for the same seed. */
  const char *of_class; /* class of all pictures; NULL: picture i has class i modulo the number of classes */
  uint64_t seed;
  int64_t steps;   /* steps of drawing; 0: the run's setting */
  double guidance; /* how strongly pictures follow their class; 0: the run's setting; MICA_ZERO: 0 */
  /* Receives the predicted sections in order, some at a time, instead of *prediction. The task recommend, and detect
   * with a tracker, then keep no sections in memory; other tasks deliver all sections at once, at the end. A status
   * other than MICA_OK ends the prediction. NULL: *prediction holds all sections. */
  mica_status (*take)(void *user, const mica_report *sections);
  /* Called for each picture or recording that cannot be read, with a sentence that names the file and the reason; the
   * prediction continues without it. If no file can be read, the prediction fails with MICA_E_FORMAT. The first such
   * file ends the prediction if this function is NULL; in the task verify also if gallery is NULL. */
  void (*unread)(void *user, const char *file, const char *reason);
  void *user; /* of both functions */
} mica_run_input;

/* Predicts. The report has one section per sample, titled by file, row or number. Samples are computed in batches, and
 * the batch size may select other kernels: results for other batches may differ by rounding. Repeating a call gives the
 * same bits. MICA_E_INVALID: not exactly one of files, data and text is given, or any of them for a run that draws.
 * MICA_E_NOT_FOUND: a file is missing. MICA_E_FORMAT: a file is damaged, or its columns or sizes are not the run's. The
 * caller frees *prediction with mica_report_destroy. */
MICA_API MICA_CHECKED mica_status mica_run_predict(mica_run *run, const mica_run_input *input,
                                                   mica_report **prediction);

/* Reports the run's stored values (mica_run_fact), metrics, curves of its history, and the task's sections about the
 * last evaluation. The caller frees *report with mica_report_destroy. */
MICA_API MICA_CHECKED mica_status mica_run_report(mica_run *run, mica_report **report);

/* --- queries --- */

/* Name of the run's task, such as "classify". */
MICA_API const char *mica_run_task(const mica_run *run);
/* Current value of a setting, including values that the run chose itself. "" if there is no such setting. */
MICA_API const char *mica_run_setting(const mica_run *run, const char *name);
/* Value of a setting as a number; NaN if it is not a number. */
MICA_API double mica_run_number(const mica_run *run, const char *name);
/* Returns a fact of the run: a named value that is stored with the run and that other data for it must match. It is a
 * list of texts (first function) or of numbers (second function). Examples: "classes", "columns", "input";
 * "categories": names of the input columns that hold classes; "unused": names of columns that are not used, each with
 * what it holds. *count (count may be NULL) receives the number of values in the list. NULL if the run has no such
 * fact, or if it belongs to the other function. The run owns the list. */
MICA_API const char *const *mica_run_fact(const mica_run *run, const char *name, size_t *count);
MICA_API const double *mica_run_fact_numbers(const mica_run *run, const char *name, size_t *count);
/* The data of one part; NULL if the run has no such part or was opened with mica_run_open. The run owns the dataset. */
MICA_API const mica_dataset *mica_run_data(const mica_run *run, mica_part part);
/* One epoch of training: `batches` batches of `batch` samples, counted over all ranks. `batch` is less than the setting
 * if there are fewer samples. `left_out` samples do not fill a batch and are left out; each epoch is shuffled anew and
 * so leaves out different ones. All fields are 0 for an opened run. */
typedef struct mica_run_epoch {
  uint64_t batches, batch, left_out;
} mica_run_epoch;
MICA_API mica_run_epoch mica_run_epoch_of(const mica_run *run);
/* The engine that the run uses: the one that it was given, else its own, which it destroys. */
MICA_API mica_engine *mica_run_engine(const mica_run *run);
/* The run's trainer, which it owns; NULL for an opened ONNX model. */
MICA_API mica_trainer *mica_run_trainer(const mica_run *run);

MICA_END_DECLS

/* Until 1.0 this header includes these three headers. */
#include <mica/run_convert.h>
#include <mica/run_recommend.h>
#include <mica/run_text.h>

#endif
