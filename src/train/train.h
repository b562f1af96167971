/* train/train.h: the trainer. It knows no task; the step's objective names the sums to collect.
 *
 * Each step writes its loss and metrics to its own row. A readback is queued like other work and downloads several
 * rows, so the host reads older steps and seldom waits. The host adds rows one by one in double precision. The sums of
 * an epoch therefore depend neither on the time of readbacks nor on where a run was stopped and resumed. Tests always
 * start from zero, so they sum on the device, in the session's parameter "metrics". Sums without a weight ("sum.NAME")
 * exist only in tests. */
#ifndef MICA_TRAIN_TRAIN_H
#define MICA_TRAIN_TRAIN_H

#include "base/error.h"
#include "base/shared.h"

#include <mica/safetensors.h>
#include <mica/train.h>

/* Rows of a tensor begin at multiples of this number of f32 elements, so that each row can be a tensor by itself. */
#define MICA__ROW_STEP 16
/* Number of steps whose learning rates are uploaded at once. */
#define MICA__RATES 64
/* Maximum number of steps per readback. */
#define MICA__ROWS 64
/* Maximum number of readbacks in flight. */
#define MICA__READBACKS 2

/* The first elements of a row and of "metrics". The sums and weights of each metric follow. */
enum {
  MICA__SUM_LOSS,   /* loss times its weight */
  MICA__SUM_WEIGHT, /* weight of the loss */
  MICA__SUM_FIRST,
};

/* A metric of a phase. */
typedef struct mica__metric_slot {
  char *name, **parts; /* parts NULL: a single sum and weight */
  size_t count;        /* elements of the sum, and of the weight if it has one */
  size_t at;           /* position of the sums in a row; the weights follow; unused without a weight */
  bool weighted;
  char *parameter;     /* without a weight: name of its parameter, "sum.NAME" */
  mica_tensor *tensor; /* without a weight: the session's tensor */
  double *totals;      /* without a weight: totals of the last test, `count` of them */
} mica__metric_slot;

/* A column of batches as an input of a phase's graph. */
typedef struct mica__batch_input {
  char *name, *input; /* NAME and "batch.NAME" */
  mica_dtype dtype;
  mica_shape shape;
  mica_value value; /* null: the step did not use it */
} mica__batch_input;

struct mica_batch_values {
  mica_graph *graph;
  mica__batch_input *columns;
  size_t count;
};

/* The network in its own graph, with its session: for training, testing or predicting. */
typedef struct mica__phase {
  mica_graph *graph;
  mica_nn *nn;
  mica_session *session;
  mica_tensor *metrics; /* the session's sums; NULL except in tests */
  mica_batch_values batch;
  mica__metric_slot slots[MICA_OBJECTIVE_METRICS];
  size_t slot_count, sum_count; /* sum_count: elements of a row */
  char *outputs[MICA_OBJECTIVE_OUTPUTS];
  mica_value output_values[MICA_OBJECTIVE_OUTPUTS];
  size_t output_count;
  mica_feed *feeds;              /* one per column, and the rate */
  const mica_observer *observer; /* has hook and values; NULL: the trainer's own are used */
  mica_value loss, weight, row;  /* of a step that is cut into stages */
  double least;                  /* mica_objective.least */
} mica__phase;

/* A download of rows in flight. */
typedef struct mica__readback {
  mica_event *event;             /* NULL: none */
  float *rows;                   /* same layout as the trainer's `rows`; first_step comes first */
  int64_t first_step, last_step; /* the steps that it covers: [first_step, last_step) */
  int64_t samples;               /* of these steps */
  double rate;                   /* of the last step */
  int64_t batch;                 /* batches of the epoch that were done by then */
} mica__readback;

/* Sums of a phase, and their number of samples. */
typedef struct mica__totals {
  double *sums;
  int64_t samples;
} mica__totals;

/* Progress of a run: everything in a checkpoint except tensors. */
typedef struct mica__progress {
  int64_t step, epoch, batch;
  double best;      /* the best epoch's measure; lower is better */
  double best_loss; /* its loss, which decides between equal measures; NaN: not in the checkpoint */
  int64_t measured; /* number of epochs compared */
  int64_t worse;    /* epochs since the best one */
  mica_plateau plateau;
} mica__progress;

typedef struct mica__stages mica__stages; /* train/stages.h */

/* Maximum number of times that a deleted folder is made again. */
#define MICA__KEEP_TRIES 100

/* Callbacks for the owner of the checkpoints' folder, on the rank that writes. They may be NULL. */
typedef struct mica__keeper {
  void *user;
  /* Called before each checkpoint. It may change the configuration's folder. A failure ends training. */
  mica_status (*prepare)(void *user);
  /* True if the last checkpoint failed because the folder is gone. The checkpoint is then written again. */
  bool (*is_lost)(void *user);
  /* Called after a checkpoint of the best weights so far: after the best epoch or, during the first epoch, after each
   * checkpoint. */
  mica_status (*keep)(void *user, const char *checkpoint);
} mica__keeper;

struct mica_trainer {
  mica_engine *engine;
  mica_queue *queue;
  mica_trainer_config config;
  mica__keeper keeper;
  bool best_lost; /* rank 0: the best checkpoint is gone, so the next epoch becomes the best */
  mica__phase training, testing, predicting;
  mica__stages *stages; /* NULL: the network is not cut into stages */
  /* tensor: the ranks that hold the parts of this rank's layers; NULL if layers are not divided. beside: the ranks that
   * hold the same part as this rank in other replicas. NULL if layers are not divided, if there are stages (their
   * communicator is in `stages`), or if there is only one replica. */
  mica_communicator *tensor, *beside;
  bool stale; /* test weights are outdated; only if tests have their own weights */
  mica_tensor *rates, *rate[MICA__RATES];
  mica_tensor *rows, *row[MICA__ROWS];           /* report_every rows; the first is for step unread_from */
  size_t row_stride;                             /* elements between rows */
  float rates_sent[MICA__RATES][MICA__ROW_STEP]; /* content of `rates`, to skip equal uploads */
  int64_t rates_from;                            /* step of rate[0]; -1: rates are outdated */
  mica_schedule_config schedule;
  mica__progress progress;
  mica__totals epoch, recent; /* the epoch so far; what was drained since the last event */
  mica__totals tested;        /* of the last test; samples 0: no test yet */
  mica__readback readbacks[MICA__READBACKS];
  int first_readback, readback_count;
  int64_t unread_from, unread_samples; /* first step that no readback covers; samples since then */
  void *agreed;                        /* ranks: request that answers if all stop; NULL: none */
  int32_t stopping;                    /* ranks: number of ranks that want to stop */
  mica_communicator_stats link_then;   /* link statistics at the last event */
  double begun, seconds, data_seconds; /* begun: when this part of the epoch began; others: of its earlier parts */
};

typedef enum mica__phase_kind { MICA__PHASE_TRAIN, MICA__PHASE_TEST, MICA__PHASE_PREDICT } mica__phase_kind;

/* Builds the test step in a temporary graph, for observers that need its layers before a trainer exists. */
MICA__SHARED mica_status mica__train_outline(const mica_trainer_config *config, const mica_observer *observer);
/* Builds the step and its sums in the phase's own graph, and the session. A training step that is cut into stages gets
 * its sessions later. columns: what the batches hold. */
mica_status mica__phase_build(mica_trainer *trainer, mica__phase *phase, mica__phase_kind kind,
                              const mica_batch_column *columns, size_t count);
MICA__SHARED void mica__phase_free(mica__phase *phase);
/* Builds the network for predictions from these columns, with the trainer's weights; always in f32. step NULL: the
 * trainer's own. The caller frees `phase`, even after a failure. */
MICA__SHARED mica_status mica__phase_build_outputs(mica_trainer *trainer, mica_step_fn *step,
                                                   const mica_batch_column *columns, size_t count, mica__phase *phase);
/* Queues a run of the phase on a batch. rate NULL: no rate. A training run writes its row into the tensor bound to
 * output 0. */
mica_status mica__phase_run(mica_trainer *trainer, mica__phase *phase, const mica_batch *batch,
                            const mica_tensor *rate);

/* Converts sums to metrics. MICA_E_OVERFLOW: there are too many metrics. */
mica_status mica__metrics_of(const mica__phase *phase, const mica__totals *totals, mica_metrics *metrics);

/* True if patience has run out: too many epochs in a row were no better than the best one. */
static inline bool mica__train_patience_over(const mica_trainer *trainer) {
  return trainer->config.patience && trainer->progress.worse >= trainer->config.patience;
}

/* Writes the weights that prediction uses from a checkpoint into a weights file: the moving average of each weight or,
 * if the checkpoint has none, the weight itself. The trainer's weights do not change. */
MICA__SHARED mica_status mica__train_extract(const mica_trainer *trainer, const char *checkpoint, const char *path,
                                             const mica_safetensors_pair *metadata, size_t count);

/* Learning rate of a step. */
double mica__train_rate(const mica_trainer *trainer, int64_t step);

/* Checks that the source has all functions; MICA_E_INVALID: it lacks one. `who` is the caller's name in the message. */
mica_status mica__train_check_source(const mica_batch_source *source, const char *who);
/* These call the source's functions. A failure always has a message, even if the source gave none. */
mica_status mica__train_next(mica_trainer *trainer, const mica_batch_source *source, mica_batch *batch);
mica_status mica__train_seek(const mica_batch_source *source, uint64_t epoch, uint64_t batch);
/* Computes the test network's metrics on the source's first batch. Blocks. */
mica_status mica__train_first_batch(mica_trainer *trainer, const mica_batch_source *source, mica_metrics *metrics);

/* Queues a readback of all steps that no readback covers yet. If the maximum number is in flight, the oldest is drained
 * first; this limits how far the host runs ahead of the device. */
mica_status mica__train_read(mica_trainer *trainer);
/* Waits for the oldest readback and adds it to the totals. MICA_E_NUMERIC: one of its losses is not finite. */
mica_status mica__train_drain(mica_trainer *trainer);
/* Waits for all readbacks and drops them. */
void mica__train_discard(mica_trainer *trainer);
void mica__totals_clear(mica__totals *totals, const mica__phase *phase);

/* --- several ranks; without a communicator, these functions act as for a single rank --- */

/* True on the rank that writes files. */
bool mica__ranks_speaks(const mica_trainer *trainer);
int32_t mica__ranks_count(const mica_trainer *trainer);
int32_t mica__ranks_own(const mica_trainer *trainer);
/* Ranks with the same stage and other batches; NULL: there is one replica. */
mica_communicator *mica__ranks_replicas(const mica_trainer *trainer);
/* Number of ranks that share each layer; 1: layers are not divided. */
int32_t mica__ranks_parts(const mica_trainer *trainer);
/* The rank in replica `replica` that has `behind` stages after its own, and part `part` of the layers. */
int32_t mica__ranks_at(const mica_trainer *trainer, int32_t replica, int32_t behind, int32_t part);
/* Creates the groups of ranks that share layers. */
mica_status mica__ranks_divide(mica_trainer *trainer);
/* True if tests have their own weights, because no rank trains all weights. */
bool mica__ranks_apart(const mica_trainer *trainer);
/* True if a checkpoint is in parts, because no rank has all tensors. */
bool mica__ranks_divided(const mica_trainer *trainer);
/* Begins training: gives replicas the same parameters, except frozen ones from a model's file and divided optimiser
 * state, and gives all ranks rank 0's progress. */
mica_status mica__ranks_begin(mica_trainer *trainer);
/* Gives all ranks rank 0's test weights, if tests have their own weights. */
MICA__SHARED mica_status mica__ranks_tested(mica_trainer *trainer);
/* Tells the other ranks if this one wants to stop. *all_stop is the answer to the previous call; it is equal on all
 * ranks. */
mica_status mica__ranks_agree(mica_trainer *trainer, bool stops, bool *all_stop);
/* Waits for the answer to the epoch's last mica__ranks_agree, and drops it. */
mica_status mica__ranks_end_steps(mica_trainer *trainer);
/* Replaces state other than weights (running statistics) by its mean over replicas. */
mica_status mica__ranks_join_state(mica_trainer *trainer);
/* Adds up sums and samples over all ranks; samples may be NULL. */
mica_status mica__ranks_add(const mica_trainer *trainer, double *sums, size_t count, int64_t *samples);
/* Sends rank 0's data to all ranks. */
mica_status mica__ranks_broadcast(const mica_trainer *trainer, void *data, size_t bytes);
/* Fills in how each rank spent the time since the last call. */
mica_status mica__ranks_times(mica_trainer *trainer, double seconds, double data_seconds, mica_train_progress *event);
/* If status is a failure, ends the run on all ranks and adds the step to this rank's message. Returns status. */
mica_status mica__ranks_fail(mica_trainer *trainer, mica_status status);
/* Gives every rank the weights of all stages. A failure ends the run on all ranks. */
MICA__SHARED mica_status mica__train_share_stages(mica_trainer *trainer);

#endif
