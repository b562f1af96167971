/* mica/train.h: training a network: epochs, validation, metrics, checkpoints. The trainer knows no task: a function of
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
 * A step allocates nothing, builds nothing and waits for nothing: losses add up on the device and are read some steps
 * later.
 *
 * Threads: a trainer is used by one thread at a time; its stop flag may be set from any, and by a signal handler. It
 * works on the engine's own queue: several trainers, in a thread each, may share an engine, whose device then does
 * their steps one after the other. */
#ifndef MICA_TRAIN_H
#define MICA_TRAIN_H

#include <mica/batch.h>
#include <mica/metric.h>
#include <mica/optim.h>
#include <mica/parallel.h>

MICA_BEGIN_DECLS

typedef struct mica_trainer mica_trainer;
struct mica_batch_column;

/* --- what is trained --- */

/* The columns of a batch, as inputs of the graph that is being built. */
typedef struct mica_batch_values mica_batch_values;
/* The column of that name: the graph's input "batch.NAME". Null, and an error in the graph that lists the columns, when
 * it is not there. */
MICA_API mica_value mica_batch_value(const mica_batch_values *batch, const char *name);
MICA_API bool mica_batch_has(const mica_batch_values *batch, const char *name);
/* How many samples the batch has, f32. */
MICA_API mica_value mica_batch_samples(const mica_batch_values *batch);

/* What the numbers of an answer are, and how far a network's q is from another one's p, element by element: 0 where
 * they agree. T is a temperature (Hinton et al. 2015). */
typedef enum mica_answer_kind {
  MICA_ANSWER_KIND_CLASSES, /* logits of classes along axis 1: T^2 KL(softmax(p / T), softmax(q / T)), over that axis */
  MICA_ANSWER_KIND_LABELS,  /* logits of yes and no: T^2 KL(sigmoid(p / T), sigmoid(q / T)), of each */
  /* Likewise where almost all are no: that times (sigmoid(q / T) - sigmoid(p / T))^2 (Li et al. 2020), so that those
   * which nearly agree count for little. */
  MICA_ANSWER_KIND_RARE_LABELS,
  MICA_ANSWER_KIND_NUMBERS, /* (q - p)^2 */
  MICA_ANSWER_KIND_BOXES,   /* corners x0 y0 x1 y1 along the last axis: 1 - giou(q, p), one number a box */
} mica_answer_kind;

/* What a network answers, by which it may be compared with another one, a teacher. */
typedef struct mica_answer {
  mica_answer_kind kind;
  mica_value value;  /* f32 */
  mica_value weight; /* f32: how much each element counts (of classes and boxes without their axis); null: 1 */
  mica_value count;  /* f32, a scalar: what the weighted sum is divided by; null: the sum of the weights */
} mica_answer;

#define MICA_OBJECTIVE_ANSWERS 4
#define MICA_OBJECTIVE_METRICS 16
#define MICA_OBJECTIVE_OUTPUTS 8
/* What a step makes of a batch. metrics and outputs end with the first NULL name, answers with the first null value. */
typedef struct mica_objective {
  mica_value loss;   /* a scalar to be minimised, f32: a mean over what `weight` counts; null when predicting */
  mica_value weight; /* f32: how many samples, pixels or tokens the loss is the mean of; null: the batch's samples */
  double least;      /* the loss is divided by this where weight is less; 0: a loss without weight is 0 */
  bool joined;       /* what the loss has of mica_nn_loss_ranks wants a gradient for the sum of their losses */
  mica_metric metrics[MICA_OBJECTIVE_METRICS];
  mica_answer answers[MICA_OBJECTIVE_ANSWERS]; /* what a teacher's may be compared with */
  /* A column as training changed it (noise, mosaics) for the network to see: a teacher sees it likewise; or null. */
  mica_value seen;
  const char *seen_column;
  mica_value outputs[MICA_OBJECTIVE_OUTPUTS]; /* read after a test or a prediction (mica_trainer_output) */
  const char *output_names[MICA_OBJECTIVE_OUTPUTS];
} mica_objective;

/* Builds the network, its loss, metrics and outputs into nn's graph. Called once to train (mica_nn_is_training), once
 * to test, and once to predict: then columns may be missing that only the loss needs, and the loss stays null. Make the
 * network first and the metrics last: dropout's numbers depend on the values made before it. */
typedef void mica_step_fn(mica_nn *nn, const mica_batch_values *batch, const void *config, mica_objective *objective);

/* Events of a run, as a callback learns of them. BEGIN: nothing is done yet, and this is the loss to start from, as the
 * test network sees it (not where a run goes on from a checkpoint); STEPS: some steps are done; EPOCH: one is, and
 * validated; CHECKPOINT: a file is written; STOPPED: by the stop flag, by the callback or by `patience`, and the
 * checkpoint is written if there is a folder. */
typedef enum mica_train_event {
  MICA_TRAIN_EVENT_BEGIN,
  MICA_TRAIN_EVENT_STEPS,
  MICA_TRAIN_EVENT_EPOCH,
  MICA_TRAIN_EVENT_CHECKPOINT,
  MICA_TRAIN_EVENT_STOPPED,
} mica_train_event;

/* Where a rank's time went, in seconds: on the network (and what is beside waiting), waiting for other ranks, and while
 * messages were on their way, of which waiting is a part. */
typedef struct mica_rank_times {
  double computing, waiting, sending;
} mica_rank_times;
/* The first so many ranks are told of. */
#define MICA_TRAIN_RANKS 16

typedef struct mica_train_progress {
  mica_train_event event;
  int64_t epoch, epochs;   /* the current one, from 0 */
  int64_t batch, batches;  /* done in this epoch */
  int64_t step;            /* done in all */
  double rate;             /* the learning rate of the last step */
  mica_metrics recent;     /* STEPS: of the steps since the last such event; BEGIN: of the first batch, untrained */
  mica_metrics training;   /* of this epoch so far, as the weights were then */
  mica_metrics validation; /* EPOCH; samples 0 without validation */
  bool best;               /* EPOCH: the best one so far */
  double seconds;          /* of this epoch so far, without validation */
  double data_seconds;     /* of these, waited for data: the batches' `waited` */
  const char *path;        /* CHECKPOINT */
  const char *reason;      /* STOPPED: a sentence */
  int32_t ranks;           /* EPOCH, with a communicator: how many there are, and which computed longest */
  int32_t slowest_rank;
  mica_rank_times rank_times[MICA_TRAIN_RANKS];
} mica_train_progress;

/* Returns false to stop after the step in hand. */
typedef bool mica_train_fn(void *user, const mica_train_progress *progress);

/* A network cut into stages (mica/parallel.h), each of which a rank has, with its weights and their optimiser's state;
 * the ranks left over are replicas with batches of their own: rank k is in replica k / count, and rank 0 of a replica
 * has its last stage (with `tensor` ranks a stage: k / (count tensor)). The network is cut where one value alone goes
 * through, so that the dearest stage costs as little as it can by the operations of its layers; weights that are used
 * in several stages, such as tied ones, are the same
 * in all of them. A batch's N is divided evenly into the micro-batches, whose gradients are means weighted as those of
 * ranks are; batch norms take the statistics of a micro-batch. Tests want all weights on every rank. */
typedef struct mica_train_stages {
  int32_t count; /* 0 and 1: the network is whole */
  int32_t micro_batches;
  mica_pipeline_schedule schedule;
} mica_train_stages;

typedef struct mica_trainer_config {
  /* What is trained, and the columns that batches have (mica_batch_source.columns); those of tests where they differ,
   * as labels do that are mixed to train on. */
  mica_step_fn *step;
  const void *step_config;
  const struct mica_batch_column *columns, *test_columns; /* test_columns NULL: the same */
  size_t column_count, test_column_count;
  /* The metric that decides which epoch is best, and whether lower is better; NULL and "loss": the loss. It is one of a
   * test (else MICA_E_NOT_FOUND), or of what evaluate adds; the loss takes its place where training has it not and
   * nothing validates, and decides among epochs of one value. */
  const char *watch;
  bool falling;
  /* After a test's sums are read: adds metrics that are no quotients of sums. May use mica_trainer_sum, run the test
   * session over the source again, or do nothing. NULL: none. */
  mica_status (*evaluate)(void *user, mica_trainer *trainer, const mica_batch_source *source, mica_metrics *metrics);
  void *evaluate_user;
  mica_dtype dtype; /* what layers compute in; see mica_nn_config */
  bool allow_tf32;  /* likewise */
  uint64_t seed;
  const struct mica_safetensors *like; /* a file that layers take their widths from, as in mica_nn_config; or NULL */
  mica_optimizer_config optimizer;
  mica_schedule_config schedule; /* steps 0: all steps of the run */
  bool on_plateau; /* also multiply the rate by what plateau makes of the validation's loss (or the training's) */
  mica_plateau plateau;
  const char *freeze;   /* a pattern of weights that stay as they are; NULL for none */
  int64_t epochs;       /* 0: 1 */
  int64_t patience;     /* stop after so many epochs without a better one; 0: never */
  int64_t report_every; /* steps between readings of the loss at most, which 64 bounds; 0: 32 */
  mica_train_fn *report;
  void *user;
  /* The folder for last.safetensors and best.safetensors, made where it is missing (MICA_E_IO before the first step
   * where it cannot be written); NULL: none is written. last: after every epoch, every checkpoint_steps steps (0: never
   * in between) and when stopped; best: after an epoch better than all before it. */
  const char *folder;
  int64_t checkpoint_steps;
  /* Called by the layers of every network that the trainer builds (mica/nn.h); may be NULL. */
  mica_nn_hook *hook;
  void *hook_user;
  /* Training stops after the step in hand once this is not NULL and points to something else than 0: for a signal
   * handler. */
  const volatile int *stop;
  /* Several ranks, each with a trainer of the same configuration but for engine and communicator, and batches of its
   * own: they take the same steps. Sums are those of all ranks, a test's batches are shared out among them, rank 0
   * writes the files, and whoever wants to stop stops all. Rank 0's parameters and position are everybody's when a run
   * begins. Dropout differs by rank; batch norms take the statistics of the rank's own samples, unless sync_norm, and
   * those that they note for inference are averaged. A rank that fails ends the run on all, with a sentence that names
   * it and the step. The communicator outlives the trainer; NULL: one rank. */
  mica_communicator *communicator;
  bool sync_norm; /* batch norms take the samples of all ranks, as one process would; not with stages */
  /* With a communicator. MICA_E_INVALID: ranks that are no multiple of the stages, too few points to cut, a stage
   * without a weight to train, accumulate; MICA_E_UNSUPPORTED: a loss scale. */
  mica_train_stages stages;
  /* With a communicator: so many ranks in a row have the same samples and each a part of the network's layers
   * (mica_nn_config.tensor_ranks), its weights and their optimiser's state; those that are left over are stages, and
   * replicas. Tests want all weights on every rank. 0 and 1: layers are whole. MICA_E_INVALID: ranks that are no
   * multiple; MICA_E_UNSUPPORTED: no layer that is divided, a hook, like, sync_norm. */
  int32_t tensor;
} mica_trainer_config;

/* Copies config, but not what its pointers name: those stay valid as long as the trainer. */
MICA_API MICA_CHECKED mica_status mica_trainer_create(mica_engine *engine, const mica_trainer_config *config,
                                                      mica_trainer **trainer);
MICA_API void mica_trainer_destroy(mica_trainer *trainer);

/* The network and the session that train, and those that test on the same weights (their moving averages where the
 * optimiser has an ema). The inputs are "batch.NAME" for the columns that the step asked for, the outputs of the
 * testing session the objective's. They belong to the trainer. */
MICA_API mica_nn *mica_trainer_network(mica_trainer *trainer);
MICA_API mica_session *mica_trainer_session(mica_trainer *trainer);
MICA_API mica_nn *mica_trainer_test_network(mica_trainer *trainer);
MICA_API mica_session *mica_trainer_test_session(mica_trainer *trainer);

/* Epochs that are done, those of a loaded checkpoint too. */
MICA_API int64_t mica_trainer_epoch(const mica_trainer *trainer);

/* Trains until all epochs are done or something stops it, from where a loaded checkpoint left off. validation may be
 * NULL. MICA_E_NUMERIC names step and learning rate where the loss is no longer finite; the weights are useless then,
 * and no checkpoint is written. Blocks. */
MICA_API MICA_CHECKED mica_status mica_trainer_fit(mica_trainer *trainer, const mica_batch_source *training,
                                                   const mica_batch_source *validation);

/* One queued step on a batch, for loops of one's own; the metrics add up until mica_trainer_take_metrics, which waits
 * for them, returns and resets them. */
MICA_API MICA_CHECKED mica_status mica_trainer_step(mica_trainer *trainer, const mica_batch *batch);
MICA_API MICA_CHECKED mica_status mica_trainer_take_metrics(mica_trainer *trainer, mica_metrics *metrics);

/* The metrics of one epoch of a source, with the weights as they are. Blocks. */
MICA_API MICA_CHECKED mica_status mica_trainer_test(mica_trainer *trainer, const mica_batch_source *source,
                                                    mica_metrics *metrics);

/* A checkpoint: every parameter of the training session, and where the run stands. Where ranks have parts of it
 * (stages, an optimiser's state that is divided) all of them call save, and rank 0 writes the whole: the file is that
 * of one process, and any number of ranks goes on from it. A run that is loaded from it goes on to the same bits as
 * one that was never stopped. MICA_E_FORMAT says what does not fit when it is one of another network or optimiser;
 * then the trainer is as before. */
MICA_API MICA_CHECKED mica_status mica_trainer_save(mica_trainer *trainer, const char *path);
MICA_API MICA_CHECKED mica_status mica_trainer_load(mica_trainer *trainer, const char *path);

/* The sum of a metric in the last test (without a weight: a matrix of counts, say), row-major; count must be its
 * elements. MICA_E_NOT_FOUND: no such metric; MICA_E_STATE: nothing was tested. */
MICA_API MICA_CHECKED mica_status mica_trainer_sum(mica_trainer *trainer, const char *metric, double *elements,
                                                   size_t count);

/* Queues the network on a batch that may lack columns which only the loss needs. It is built for the
 * columns that this batch has, at the first call and wherever they are others than in the call before. */
MICA_API MICA_CHECKED mica_status mica_trainer_predict(mica_trainer *trainer, const mica_batch *batch);
/* A further network on the weights that are tested, which is looked into: layers call another hook, and values beside
 * the objective's outputs are noted after each run (mica_calibration_hook, mica_calibration_values,
 * mica_calibration_note). */
typedef struct mica_observer {
  mica_nn_hook *hook;
  void *user;
  /* Called once the network is built: what is to be computed. They stay valid until the session is made. */
  mica_status (*values)(void *user, const mica_value **values, size_t *count);
  /* Called after each run: its outputs from `first` on are the values. */
  mica_status (*note)(void *user, mica_session *session, size_t first);
} mica_observer;
/* Builds it and runs it on the source's batches from the first one on, until so many samples were seen; 0: all of an
 * epoch. Blocks. */
MICA_API MICA_CHECKED mica_status mica_trainer_observe(mica_trainer *trainer, const mica_observer *observer,
                                                       const mica_batch_source *source, int64_t samples);
/* An output, by name, of the last mica_trainer_predict. NULL for none of the name, and before. */
MICA_API const mica_tensor *mica_trainer_output(const mica_trainer *trainer, const char *name);

MICA_END_DECLS

#endif
