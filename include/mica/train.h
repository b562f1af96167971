/* mica/train.h: train networks: epochs, validation, metrics, checkpoints. The trainer knows no task. A function of
 * yours builds loss and metrics from a batch's columns.
 *
 *   static void step(mica_nn *nn, const mica_batch_values *batch, const void *config, mica_objective *out) {
 *     mica_value z = network(nn, mica_batch_value(batch, "image"));
 *     out->outputs[0] = z, out->output_names[0] = "logits";
 *     if (!mica_batch_has(batch, "label")) return;
 *     out->loss = mica_cross_entropy(z, mica_batch_value(batch, "label"), NULL);
 *     out->metrics[0] = mica_metric_mean("accuracy", mica_hits(z, mica_batch_value(batch, "label")));
 *   }
 *
 *   mica_batch_source training = mica_loader_source(loader);
 *   mica_trainer_config config = {.step = step, .columns = training.columns, .column_count = training.column_count,
 *                                 .optimizer = mica_optimizer_config_default(MICA_OPTIMIZER_ADAM),
 *                                 .schedule = {.rate = 1e-3}, .epochs = 10, .watch = "accuracy"};
 *   mica_trainer_create(engine, &config, &trainer);
 *   mica_trainer_fit(trainer, &training, &validation);
 *
 * A step does not allocate, build or wait. Losses are summed on the device and read some steps later.
 *
 * Threads: use a trainer from one thread at a time. Any thread, and a signal handler, may set its stop flag. A trainer
 * works on the engine's own queue. Several trainers, each in a thread, may share an engine; their steps then take turns
 * on the device. */
#ifndef MICA_TRAIN_H
#define MICA_TRAIN_H

#include <mica/batch.h>
#include <mica/metric.h>
#include <mica/optim.h>
#include <mica/parallel.h>

MICA_BEGIN_DECLS

typedef struct mica_trainer mica_trainer;
struct mica_batch_column;

/* --- objective --- */

/* Columns of a batch, as inputs of the graph under construction. */
typedef struct mica_batch_values mica_batch_values;
/* The column with this name: input "batch.NAME" of the graph. If it does not exist, the result is null and the graph
 * has an error that lists the columns. mica_batch_has tells whether it exists. */
MICA_API mica_value mica_batch_value(const mica_batch_values *batch, const char *name);
MICA_API bool mica_batch_has(const mica_batch_values *batch, const char *name);
/* Number of samples in the batch, f32. It is taken from the first column, in the order of the batch, that was read with
 * mica_batch_value and has a dimension; without such a column the graph has an error (MICA_E_STATE). */
MICA_API mica_value mica_batch_samples(const mica_batch_values *batch);

/* For distillation: kind of a network's answer, and the distance that is minimised between the student's answer q and
 * the teacher's answer p, per element. The distance is 0 if they agree. T is a temperature (Hinton et al. 2015). */
typedef enum mica_answer_kind {
  MICA_ANSWER_KIND_CLASSES, /* logits of classes on axis 1: T^2 KL(softmax(p / T), softmax(q / T)) over that axis */
  MICA_ANSWER_KIND_LABELS,  /* logits of yes or no: T^2 KL(sigmoid(p / T), sigmoid(q / T)) per element */
  /* Logits of yes or no that are almost always no: the distance above times (sigmoid(q / T) - sigmoid(p / T))^2, so
   * that elements in near agreement count little (Li et al. 2020). */
  MICA_ANSWER_KIND_RARE_LABELS,
  MICA_ANSWER_KIND_NUMBERS, /* (q - p)^2 */
  MICA_ANSWER_KIND_BOXES,   /* corners x0 y0 x1 y1 on the last axis: 1 - giou(q, p) per box */
} mica_answer_kind;

/* An answer of the network, to compare with a teacher's answer. */
typedef struct mica_answer {
  mica_answer_kind kind;
  mica_value value; /* f32 */
  /* f32: weight of each distance; has value's shape, for CLASSES without axis 1, for BOXES without the last axis. null:
   * 1 */
  mica_value weight;
  mica_value count; /* f32 scalar that divides the weighted sum; null: the sum of the weights */
} mica_answer;

#define MICA_OBJECTIVE_ANSWERS 4
#define MICA_OBJECTIVE_METRICS 16
#define MICA_OBJECTIVE_OUTPUTS 8
/* Result of a step function. metrics and outputs end at the first NULL name, answers at the first null value. */
typedef struct mica_objective {
  mica_value loss; /* f32 scalar to minimise, a mean; null when predicting */
  /* f32 scalar: number of samples, pixels or tokens over which the loss is a mean; weights the loss in sums over
   * batches and ranks. null: samples of the batch */
  mica_value weight;
  double least; /* mica_optimizer_config.least, for `weight` */
  bool joined;  /* mica_optimizer_config.joined: set it if the loss uses mica_nn_loss_ranks */
  mica_metric metrics[MICA_OBJECTIVE_METRICS];
  mica_answer answers[MICA_OBJECTIVE_ANSWERS]; /* answers to compare with a teacher's */
  /* If the step function changes a column for training (noise, mosaics): the changed value, which a teacher gets
   * instead of the column seen_column. null: no change. */
  mica_value seen;
  const char *seen_column;
  /* Values to read after a test (outputs of mica_trainer_test_session) or a prediction (mica_trainer_output). */
  mica_value outputs[MICA_OBJECTIVE_OUTPUTS];
  const char *output_names[MICA_OBJECTIVE_OUTPUTS];
} mica_objective;

/* Step function: builds the network, its loss, metrics and outputs into nn's graph. The trainer calls it
 *
 *   - when the trainer is created: once for training (mica_nn_is_training) and once for tests
 *   - at the first mica_trainer_predict, and whenever the columns of a predicted batch change
 *   - for each mica_trainer_observe
 *
 * For predictions, columns that only the loss needs may be missing; leave the loss null then. Build the network first
 * and the metrics last, because the random numbers of a dropout depend on the values built before it. */
typedef void mica_step_fn(mica_nn *nn, const mica_batch_values *batch, const void *config, mica_objective *objective);

/* Events that a callback receives.
 *
 *   BEGIN        before the first step, with the test network's loss; not when a run resumes
 *   STEPS        some steps are done
 *   EPOCH        an epoch is done and validated
 *   CHECKPOINT   last.safetensors has been written
 *   STOPPED      the stop flag, the callback or `patience` ended training; the checkpoint is written if there is a
 *                folder */
typedef enum mica_train_event {
  MICA_TRAIN_EVENT_BEGIN,
  MICA_TRAIN_EVENT_STEPS,
  MICA_TRAIN_EVENT_EPOCH,
  MICA_TRAIN_EVENT_CHECKPOINT,
  MICA_TRAIN_EVENT_STOPPED,
} mica_train_event;

/* How a rank spent its time, in seconds. computing: all time except waiting. waiting: until messages of other ranks had
 * arrived. sending: time during which messages were in transit, waiting included. */
typedef struct mica_rank_times {
  double computing, waiting, sending;
} mica_rank_times;
/* A progress report has the times of at most this number of ranks, the first ones. */
#define MICA_TRAIN_RANKS 16

typedef struct mica_train_progress {
  mica_train_event event;
  int64_t epoch, epochs;   /* current epoch, from 0 */
  int64_t batch, batches;  /* done in this epoch */
  int64_t step;            /* steps done in total */
  double rate;             /* learning rate of the last step */
  mica_metrics recent;     /* STEPS: over the steps since the last such event; BEGIN: of the first batch */
  mica_metrics training;   /* over this epoch so far, with the weights at each step */
  mica_metrics validation; /* EPOCH; samples is 0 without validation */
  bool best;               /* EPOCH: the best one so far */
  bool kept;               /* EPOCH: its weights are kept: it is the best, or within `tolerance` of the best */
  double seconds;          /* of this epoch so far, without validation */
  double data_seconds;     /* part of `seconds` spent waiting for data: sum of mica_batch.waited */
  const char *path;        /* CHECKPOINT: the file */
  const char *reason;      /* STOPPED: a sentence */
  int32_t ranks;           /* EPOCH, with a communicator: number of ranks, and the rank that computed longest */
  int32_t slowest_rank;
  mica_rank_times rank_times[MICA_TRAIN_RANKS];
  const char *watch; /* the configuration's: the metric that decides which epoch is best; NULL: the loss */
} mica_train_progress;

/* Progress callback. Return false to stop after the current step. */
typedef bool mica_train_fn(void *user, const mica_train_progress *progress);

/* Pipeline parallelism (mica/parallel.h). The network is cut into `count` stages. Each rank owns one stage: its weights
 * and their optimiser state. If there are more ranks than stages, they form replicas, which train on different batches:
 * rank k is in replica k / count, and the first rank of a replica has the last stage. With `tensor` ranks per stage,
 * rank k is in replica k / (count tensor).
 *
 * The network is cut at points where a single value passes from one layer to the next. Cuts are chosen so that the most
 * expensive stage has as few FLOPs as possible. Weights used in several stages, such as tied ones, stay equal. The N
 * samples of a batch are divided evenly into micro-batches; their gradients are averaged like the gradients of ranks.
 * Batch norms use the statistics of one micro-batch. Tests need all weights on every rank. */
typedef struct mica_train_stages {
  int32_t count; /* 0 and 1: the network is not cut */
  int32_t micro_batches;
  mica_pipeline_schedule schedule;
} mica_train_stages;

typedef struct mica_trainer_config {
  /* The function that builds the network, and the columns of batches (mica_batch_source.columns). Give test_columns if
   * tests use other columns, for example if labels are mixed in training. */
  mica_step_fn *step;
  const void *step_config;
  const struct mica_batch_column *columns, *test_columns; /* test_columns NULL: the same */
  size_t column_count, test_column_count;
  /* Metric that decides which epoch is best; falling: a lower value is better. NULL or "loss": the loss. Without
   * `evaluate` it must be a metric of tests, else MICA_E_NOT_FOUND. Without validation data the training metric
   * decides. The loss decides if the metric does not exist or is NaN. Between epochs with equal values, the loss
   * decides. */
  const char *watch;
  bool falling;
  /* If the metric of an epoch is worse than the best one by at most this, its weights still replace the weights that
   * were kept, because a small validation part cannot tell the two apart. 0: only better epochs do. */
  double tolerance;
  /* Called after the sums of a test are read, to add metrics that are not quotients of sums. May call mica_trainer_sum,
   * or run the test session over the source again. NULL: none. */
  mica_status (*evaluate)(void *user, mica_trainer *trainer, const mica_batch_source *source, mica_metrics *metrics);
  void *evaluate_user;
  mica_dtype dtype; /* type that layers compute in; see mica_nn_config */
  bool allow_tf32;  /* see mica_nn_config */
  uint64_t seed;
  const struct mica_safetensors
      *like; /* file whose weights set the widths of layers; see mica_nn_config; may be NULL */
  mica_optimizer_config optimizer;
  mica_schedule_config schedule; /* steps 0: all steps of the run */
  /* Also multiply the learning rate by the factor that `plateau` returns for the validation loss (without validation:
   * for the training loss). */
  bool on_plateau;
  mica_plateau plateau;
  const char *freeze;   /* pattern of weights that are not trained; NULL: none */
  int64_t epochs;       /* 0: 1 */
  int64_t patience;     /* stop after this number of epochs without a better one; 0: never */
  int64_t report_every; /* maximum steps between readings of the loss, at most 64; 0: 32 */
  mica_train_fn *report;
  void *user;
  /* Folder for last.safetensors and best.safetensors; created if missing. MICA_E_IO before the first step if it cannot
   * be written. NULL: no files. last is written after every epoch, every checkpoint_steps steps (0: only after epochs)
   * and on a stop. best is written after each epoch whose weights are kept: one that is better than all earlier ones,
   * or within `tolerance` of the best. */
  const char *folder;
  int64_t checkpoint_steps;
  /* Called by the layers of every network that the trainer builds (mica/nn.h); may be NULL. */
  mica_nn_hook *hook;
  void *hook_user;
  /* Chooses in which form each weight is stored (mica_nn_config.hold). Weights that it freezes are not in checkpoints.
   * When the network is built, `bind` returns the memory of these weights for the training session
   * (mica_foundation_bind); other sessions share it. The tensors must outlive the trainer. MICA_E_UNSUPPORTED: combined
   * with stages or tensor. NULL: all weights are f32. */
  mica_nn_hold_fn *hold;
  void *hold_user;
  mica_status (*bind)(void *user, const mica_nn *nn, const mica_binding **parameters, size_t *count);
  void *bind_user;
  /* Stop flag for signal handlers: training stops after the current step once it points to a value other than 0. NULL:
   * none. */
  const volatile int *stop;
  /* Data parallelism. Each rank has a trainer with the same configuration, except for engine and communicator, and its
   * own batches. Ranks take the same steps. Sums are over all ranks, the batches of a test are divided among them, and
   * rank 0 writes the files. Any rank can stop all. When a run begins, all ranks take rank 0's parameters and position.
   * Weights that `hold` freezes are an exception: each rank reads them from its file.
   *
   * Dropout differs by rank. Batch norms use the samples of their rank, unless sync_norm is set; their running
   * statistics are averaged. If a rank fails, all ranks stop with a message that names rank and step. The communicator
   * must outlive the trainer. NULL: one rank. */
  mica_communicator *communicator;
  bool sync_norm; /* batch norms use the samples of all ranks, as one process would; not with stages */
  /* Needs a communicator. MICA_E_INVALID: the number of ranks is not a multiple of the stages, there are more than 64
   * stages, micro_batches is below 1, the network has too few points to cut, a stage has no weight to train, or
   * `accumulate` or sync_norm is set. MICA_E_UNSUPPORTED: a loss scale, or a weight of the loss that depends on
   * parameters. */
  mica_train_stages stages;
  /* Tensor parallelism; needs a communicator. This number of consecutive ranks has the same samples, and each has a
   * part of the network's layers (mica_nn_config.tensor_ranks) with its weights and optimiser state. Further ranks are
   * stages and replicas. Tests need all weights on every rank. 0 and 1: layers are not divided. MICA_E_INVALID: the
   * number of ranks is not a multiple. MICA_E_UNSUPPORTED: no layer can be divided, or a hook, like or sync_norm is
   * set. */
  int32_t tensor;
} mica_trainer_config;

/* Creates a trainer. Copies config, but not what its pointers refer to: that must outlive the trainer.
 * mica_trainer_destroy: NULL is a no-op. */
MICA_API MICA_CHECKED mica_status mica_trainer_create(mica_engine *engine, const mica_trainer_config *config,
                                                      mica_trainer **trainer);
MICA_API void mica_trainer_destroy(mica_trainer *trainer);

/* Network and session for training, and network and session for tests. The test session uses the same weights, or their
 * moving averages if the optimiser has an ema. Inputs are "batch.NAME" for each column that the step function used.
 * Outputs of the test session are the objective's outputs. The trainer owns the returned objects. */
MICA_API mica_nn *mica_trainer_network(mica_trainer *trainer);
MICA_API mica_session *mica_trainer_session(mica_trainer *trainer);
MICA_API mica_nn *mica_trainer_test_network(mica_trainer *trainer);
MICA_API mica_session *mica_trainer_test_session(mica_trainer *trainer);

/* Number of epochs done, including those before a loaded checkpoint. */
MICA_API int64_t mica_trainer_epoch(const mica_trainer *trainer);

/* Trains until all epochs are done or training is stopped, starting from a loaded checkpoint if there is one.
 * validation may be NULL. MICA_E_NUMERIC: the loss is not finite; the message names step and learning rate. The weights
 * are useless then, and no checkpoint is written. Blocks. */
MICA_API MICA_CHECKED mica_status mica_trainer_fit(mica_trainer *trainer, const mica_batch_source *training,
                                                   const mica_batch_source *validation);

/* Queues one step on a batch, for training loops of your own. Metrics are summed until mica_trainer_take_metrics, which
 * waits for them, returns them and resets them. */
MICA_API MICA_CHECKED mica_status mica_trainer_step(mica_trainer *trainer, const mica_batch *batch);
MICA_API MICA_CHECKED mica_status mica_trainer_take_metrics(mica_trainer *trainer, mica_metrics *metrics);

/* Computes the metrics of one epoch of a source with the current weights. Blocks. */
MICA_API MICA_CHECKED mica_status mica_trainer_test(mica_trainer *trainer, const mica_batch_source *source,
                                                    mica_metrics *metrics);

/* Saves or loads a checkpoint: every parameter of the training session, and the position of the run. After loading,
 * training gives the same bits as a run that was never stopped. If ranks own parts (stages, divided optimiser state),
 * all ranks call save and rank 0 writes one whole file. It equals the file of one process, and any number of ranks can
 * resume from it. MICA_E_FORMAT: the file belongs to another network or optimiser; the message says what differs, and
 * the trainer does not change. */
MICA_API MICA_CHECKED mica_status mica_trainer_save(mica_trainer *trainer, const char *path);
MICA_API MICA_CHECKED mica_status mica_trainer_load(mica_trainer *trainer, const char *path);

/* Reads the sum of a metric from the last test, without dividing it by a weight; for example a matrix of counts,
 * row-major. count must be its number of elements. MICA_E_NOT_FOUND: unknown metric. MICA_E_STATE: nothing was tested.
 */
MICA_API MICA_CHECKED mica_status mica_trainer_sum(mica_trainer *trainer, const char *metric, double *elements,
                                                   size_t count);

/* Queues the network on a batch, which may lack columns that only the loss needs. The network is built at the first
 * call, and again whenever a batch has other columns than the one before. */
MICA_API MICA_CHECKED mica_status mica_trainer_predict(mica_trainer *trainer, const mica_batch *batch);
/* Callbacks of mica_trainer_observe, which runs a further network with the weights that tests use, for example to
 * calibrate quantisation (mica_calibration_hook, mica_calibration_values, mica_calibration_note). hook is called by the
 * network's layers. */
typedef struct mica_observer {
  mica_nn_hook *hook;
  void *user;
  /* Called after the network is built. Returns further values to compute, besides the objective's outputs. The list
   * must stay valid until the session is created. */
  mica_status (*values)(void *user, const mica_value **values, size_t *count);
  /* Called after each run. Output number first + k of the session is value number k. */
  mica_status (*note)(void *user, mica_session *session, size_t first);
} mica_observer;
/* Builds the observed network and runs it on batches of the source until `samples` samples were seen; 0: one epoch.
 * Blocks. */
MICA_API MICA_CHECKED mica_status mica_trainer_observe(mica_trainer *trainer, const mica_observer *observer,
                                                       const mica_batch_source *source, int64_t samples);
/* An output of the last mica_trainer_predict, by name. NULL if the name is unknown or nothing was predicted yet. The
 * trainer owns it. */
MICA_API const mica_tensor *mica_trainer_output(const mica_trainer *trainer, const char *name);

MICA_END_DECLS

#endif
