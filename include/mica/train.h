/* mica/train.h: training a network: epochs, validation, metrics, checkpoints.
 *
 *   mica_trainer_config config = {.model = classifier, .input = MICA_SHAPE(1, 28, 28), .classes = 10, .epochs = 10,
 *                                 .optimizer = mica_optimizer_config_default(MICA_OPTIMIZER_ADAM),
 *                                 .schedule = {.rate = 1e-3}};
 *   mica_trainer_create(engine, &config, &trainer);
 *   mica_trainer_fit(trainer, &training, &validation);
 *
 * A step allocates nothing, builds nothing and waits for nothing: losses add up on the device and are read some steps
 * later.
 *
 * Threads: a trainer is used by one thread at a time; its stop flag may be set from any, and by a signal handler. */
#ifndef MICA_TRAIN_H
#define MICA_TRAIN_H

#include <mica/batch.h>
#include <mica/optim.h>

MICA_BEGIN_DECLS

typedef struct mica_trainer mica_trainer;

/* The loss of a sample, which is minimised: name, text. cross_entropy takes logits (N, classes) and targets (N) i32;
 * the others take predictions and f32 targets of one shape. */
#define MICA_LOSS_LIST(X)                                                                                              \
  X(CROSS_ENTROPY, "cross_entropy")                                                                                    \
  X(MSE, "mse")                                                                                                        \
  X(MAE, "mae")                                                                                                        \
  X(HUBER, "huber")                                                                                                    \
  X(BCE, "bce")

typedef enum mica_loss {
#define MICA_LOSS_ENUM(name, text) MICA_LOSS_##name,
  MICA_LOSS_LIST(MICA_LOSS_ENUM)
#undef MICA_LOSS_ENUM
} mica_loss;

MICA_API const char *mica_loss_name(mica_loss loss);

/* Means over `samples` samples. NaN for what the task does not have: accuracy and top_k belong to cross_entropy,
 * error to the other losses. */
typedef struct mica_metrics {
  int64_t samples;
  double loss;
  double accuracy; /* the share of samples whose largest logit is that of the target */
  double top_k;    /* whose target has fewer than k larger logits; only where it is measured (mica_trainer_test) */
  double error;    /* mean absolute error */
} mica_metrics;

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
} mica_train_progress;

/* Returns false to stop after the step in hand. */
typedef bool mica_train_fn(void *user, const mica_train_progress *progress);

typedef struct mica_trainer_config {
  /* The network: from inputs (N, input...) to logits or predictions. */
  mica_nn_block *model;
  const void *model_config;
  mica_shape input;  /* of a sample */
  mica_loss loss;    /* cross_entropy unless given */
  int64_t classes;   /* cross_entropy */
  mica_shape target; /* of a sample, the other losses */
  double label_smoothing;
  mica_dtype dtype; /* what layers compute in; see mica_nn_config */
  uint64_t seed;
  mica_optimizer_config optimizer;
  mica_schedule_config schedule; /* steps 0: all steps of the run */
  bool on_plateau; /* also multiply the rate by what plateau makes of the validation's loss (or the training's) */
  mica_plateau plateau;
  const char *freeze;   /* a pattern of weights that stay as they are; NULL for none */
  int64_t epochs;       /* 0: 1 */
  int64_t patience;     /* stop after so many epochs without a better one; 0: never */
  int64_t top_k;        /* 0: 5 */
  int64_t report_every; /* steps between readings of the loss at most; 0: 32 */
  mica_train_fn *report;
  void *user;
  /* The folder for last.safetensors and best.safetensors; NULL: none is written. last: after every epoch, every
   * checkpoint_steps steps (0: never in between) and when stopped; best: after an epoch better than all before it. */
  const char *folder;
  int64_t checkpoint_steps;
  /* Training stops after the step in hand once this is not NULL and points to something else than 0: for a signal
   * handler. */
  const volatile int *stop;
} mica_trainer_config;

/* Copies config, but not what its pointers name: those stay valid as long as the trainer. */
MICA_API MICA_CHECKED mica_status mica_trainer_create(mica_engine *engine, const mica_trainer_config *config,
                                                      mica_trainer **trainer);
MICA_API void mica_trainer_destroy(mica_trainer *trainer);

/* The network and the session that train, and those that test on the same weights (their moving averages
 * where the optimiser has an ema). The inputs are called "inputs" and "targets", the first output of the testing
 * session is logits or predictions, f32. They belong to the trainer. */
MICA_API mica_nn *mica_trainer_network(mica_trainer *trainer);
MICA_API mica_session *mica_trainer_session(mica_trainer *trainer);
MICA_API mica_nn *mica_trainer_test_network(mica_trainer *trainer);
MICA_API mica_session *mica_trainer_test_session(mica_trainer *trainer);

/* Trains until all epochs are done or something stops it, from where a loaded checkpoint left off. validation may be
 * NULL. MICA_E_NUMERIC names step and learning rate where the loss is no longer finite; the weights are useless then,
 * and no checkpoint is written. Blocks. */
MICA_API MICA_CHECKED mica_status mica_trainer_fit(mica_trainer *trainer, const mica_batch_source *training,
                                                   const mica_batch_source *validation);

/* One queued step on a batch, for loops of one's own; the metrics add up until mica_trainer_take_metrics, which waits
 * for them, returns and resets them. */
MICA_API MICA_CHECKED mica_status mica_trainer_step(mica_trainer *trainer, const mica_batch *batch);
MICA_API MICA_CHECKED mica_status mica_trainer_take_metrics(mica_trainer *trainer, mica_metrics *metrics);

/* The metrics of one epoch of a source, with the weights as they are. confusion (may be NULL): classes x classes
 * counts, row-major, row the target and column the prediction; cross_entropy only. Blocks. */
MICA_API MICA_CHECKED mica_status mica_trainer_test(mica_trainer *trainer, const mica_batch_source *source,
                                                    mica_metrics *metrics, int64_t *confusion);

/* A checkpoint: every parameter of the training session, and where the run stands. A run that is loaded from it goes on
 * to the same bits as one that was never stopped. MICA_E_FORMAT says what does not fit when it is one of another
 * network or optimiser; then the trainer is as before. */
MICA_API MICA_CHECKED mica_status mica_trainer_save(mica_trainer *trainer, const char *path);
MICA_API MICA_CHECKED mica_status mica_trainer_load(mica_trainer *trainer, const char *path);

/* Scores of a class, from a confusion matrix. A score with no samples to divide by is 0. */
typedef struct mica_class_scores {
  double precision, recall, f1;
} mica_class_scores;
/* scores (may be NULL): one a class; *mean: their means over classes; *accuracy: the diagonal's share. The last two may
 * be NULL. */
MICA_API void mica_confusion_scores(const int64_t *confusion, int64_t classes, mica_class_scores *scores,
                                    mica_class_scores *mean, double *accuracy);

MICA_END_DECLS

#endif
