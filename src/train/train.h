/* train/train.h: the trainer. It knows no task; a step's objective names the sums to collect.
 *
 * A step writes its loss and metrics to its own row. A readback is queued like other work and downloads several rows,
 * so the host reads older steps and never waits. The host adds rows one by one in double precision: the sums of an
 * epoch depend neither on the time of readbacks nor on where a run was stopped and resumed. Tests always start from
 * zero, so they sum on the device, in the session's parameter "metrics". Sums without a weight ("sum.NAME") exist in
 * tests only. */
#ifndef MICA_TRAIN_TRAIN_H
#define MICA_TRAIN_TRAIN_H

#include "base/error.h"
#include "base/shared.h"

#include <mica/safetensors.h>
#include <mica/train.h>

/* Number of f32 elements between addresses where tensors may begin. */
#define MICA__ROW_STEP 16
/* Number of steps whose learning rates are uploaded at once. */
#define MICA__RATES 64
/* Maximum number of steps per readback. */
#define MICA__ROWS 64
/* Maximum number of readbacks in flight. */
#define MICA__READBACKS 2

/* First elements of a row and of "metrics". The sums and weights of each metric follow. */
enum {
  MICA__SUM_LOSS,   /* loss times its weight */
  MICA__SUM_WEIGHT, /* weight of the loss */
  MICA__SUM_FIRST,
};

/* A metric of a phase. */
typedef struct mica__metric_slot {
  char *name, **parts; /* parts NULL: one sum and one weight */
  size_t count;        /* elements of the sum, and of the weight if it has one */
  size_t at;           /* position of the sums in a row, followed by the weights; unused without a weight */
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

/* The network in its own graph with its session: for training, testing or predicting. */
typedef struct mica__phase {
  mica_graph *graph;
  mica_nn *nn;
  mica_session *session;
  mica_tensor *metrics; /* the session's; NULL except in tests */
  mica_batch_values batch;
  mica__metric_slot slots[MICA_OBJECTIVE_METRICS];
  size_t slot_count, sum_count; /* sum_count: elements of a row */
  char *outputs[MICA_OBJECTIVE_OUTPUTS];
  mica_value output_values[MICA_OBJECTIVE_OUTPUTS];
  size_t output_count;
  mica_feed *feeds;              /* one per column, and the rate */
  const mica_observer *observer; /* source of hook and values; NULL: the trainer's own */
  mica_value loss, weight, row;  /* of a step that will be cut into stages */
  double least;                  /* of the objective */
} mica__phase;

/* A download of rows in flight. */
typedef struct mica__readback {
  mica_event *event;             /* NULL: none */
  float *rows;                   /* like the trainer's `rows`, starting with first_step */
  int64_t first_step, last_step; /* runs that it covers: [first_step, last_step) */
  int64_t samples;               /* of these runs */
  double rate;                   /* of the last run */
  int64_t batch;                 /* batches of the epoch done by then */
} mica__readback;

/* Sums of a phase, and their number of samples. */
typedef struct mica__totals {
  double *sums;
  int64_t samples;
} mica__totals;

/* Position of a run: the part of a checkpoint that is not tensors. */
typedef struct mica__progress {
  int64_t step, epoch, batch;
  double best;      /* measure of the best epoch; lower is better */
  double best_loss; /* its loss, which decides between equal measures; NaN if the checkpoint lacks it */
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
  /* Called before each checkpoint. May change the configuration's folder. A failure ends training. */
  mica_status (*prepare)(void *user);
  /* True if a checkpoint failed because the folder is gone; it is tried again. */
  bool (*is_lost)(void *user);
  /* Called after a checkpoint with the best weights so far: of the best epoch or, during the first epoch, of each
   * checkpoint. */
  mica_status (*keep)(void *user, const char *checkpoint);
} mica__keeper;

struct mica_trainer {
  mica_engine *engine;
  mica_queue *queue;
  mica_trainer_config config;
  mica__keeper keeper;
  bool best_lost; /* the best checkpoint is gone, so the next epoch becomes the best; rank 0 decides */
  mica__phase training, testing, predicting;
  mica__stages *stages; /* NULL: the network is whole */
  /* tensor: ranks with parts of the same layers; NULL: layers are whole. beside: ranks with the same part as this one,
   * without stages; NULL: one replica. */
  mica_communicator *tensor, *beside;
  bool stale; /* test weights are outdated; only if they are separate */
  mica_tensor *rates, *rate[MICA__RATES];
  mica_tensor *rows, *row[MICA__ROWS];           /* report_every rows; the first is for step unread_from */
  size_t row_stride;                             /* elements between rows */
  float rates_sent[MICA__RATES][MICA__ROW_STEP]; /* content of `rates`, to skip equal uploads */
  int64_t rates_from;                            /* step of rate[0]; -1: rates are outdated */
  mica_schedule_config schedule;
  mica__progress progress;
  mica__totals epoch, recent; /* of the epoch so far; drained since the last event */
  mica__totals tested;        /* of the last test; samples 0: no test yet */
  mica__readback readbacks[MICA__READBACKS];
  int first_readback, readback_count;
  int64_t unread_from, unread_samples; /* first step that no readback covers; samples since then */
  void *agreed;                        /* ranks: request that tells whether all stop; NULL: none */
  int32_t stopping;                    /* ranks: number of ranks that want to stop */
  mica_communicator_stats link_then;   /* statistics when times were last noted */
  double begun, seconds, data_seconds; /* of the epoch: start of the current part; sums of earlier parts */
};

typedef enum mica__phase_kind { MICA__PHASE_TRAIN, MICA__PHASE_TEST, MICA__PHASE_PREDICT } mica__phase_kind;

/* Builds the test step in a temporary graph, for observers that need the layers before a trainer exists. */
MICA__SHARED mica_status mica__train_outline(const mica_trainer_config *config, const mica_observer *observer);
/* Builds the step and its sums in the phase's own graph, and the session. columns: columns of batches. */
mica_status mica__phase_build(mica_trainer *trainer, mica__phase *phase, mica__phase_kind kind,
                              const mica_batch_column *columns, size_t count);
MICA__SHARED void mica__phase_free(mica__phase *phase);
/* The network for predictions from these columns, in f32 whatever the training type, on the trainer's weights. step
 * NULL: the trainer's own. Free it, even after a failure. */
MICA__SHARED mica_status mica__phase_build_outputs(mica_trainer *trainer, mica_step_fn *step,
                                                   const mica_batch_column *columns, size_t count, mica__phase *phase);
/* Queues a run of the phase on a batch. rate NULL: no rate. A training run writes its row into the tensor bound to
 * output 0. */
mica_status mica__phase_run(mica_trainer *trainer, mica__phase *phase, const mica_batch *batch,
                            const mica_tensor *rate);

/* Converts sums to metrics. MICA_E_OVERFLOW: there are too many. */
mica_status mica__metrics_of(const mica__phase *phase, const mica__totals *totals, mica_metrics *metrics);

/* True if patience has run out: too many epochs in a row were no better than the best one. */
static inline bool mica__train_patience_over(const mica_trainer *trainer) {
  return trainer->config.patience && trainer->progress.worse >= trainer->config.patience;
}

/* Writes the weights of a checkpoint for the test network into a file of weights, with moving averages if they exist.
 * Does not change the trainer's weights. */
MICA__SHARED mica_status mica__train_extract(const mica_trainer *trainer, const char *checkpoint, const char *path,
                                             const mica_safetensors_pair *metadata, size_t count);

/* Learning rate of a step. */
double mica__train_rate(const mica_trainer *trainer, int64_t step);

/* MICA_E_INVALID: the source lacks a function. `who` is the caller's name for the message. */
mica_status mica__train_check_source(const mica_batch_source *source, const char *who);
/* Calls a source's functions; a failure always has a message, even if the source gave none. */
mica_status mica__train_next(mica_trainer *trainer, const mica_batch_source *source, mica_batch *batch);
mica_status mica__train_seek(const mica_batch_source *source, uint64_t epoch, uint64_t batch);
/* Metrics of the test network on the source's first batch. Blocks. */
mica_status mica__train_first_batch(mica_trainer *trainer, const mica_batch_source *source, mica_metrics *metrics);

/* Queues a readback of all uncovered steps. If the maximum is in flight, the oldest is drained first, which limits how
 * far the host runs ahead of the device. */
mica_status mica__train_read(mica_trainer *trainer);
/* Waits for the oldest readback and adds it to the totals. MICA_E_NUMERIC: a loss in it is not finite. */
mica_status mica__train_drain(mica_trainer *trainer);
/* Waits for all readbacks and drops them. */
void mica__train_discard(mica_trainer *trainer);
void mica__totals_clear(mica__totals *totals, const mica__phase *phase);

/* --- several ranks; on one rank these do nothing, or the obvious --- */

/* True on the rank that writes files. */
bool mica__ranks_speaks(const mica_trainer *trainer);
int32_t mica__ranks_count(const mica_trainer *trainer);
int32_t mica__ranks_own(const mica_trainer *trainer);
/* Ranks with the same stage and other batches; NULL: one rank. */
mica_communicator *mica__ranks_replicas(const mica_trainer *trainer);
/* Number of ranks that share each layer; 1: layers are whole. */
int32_t mica__ranks_parts(const mica_trainer *trainer);
/* A rank by its replica, the number of stages after its own, and its part of layers. */
int32_t mica__ranks_at(const mica_trainer *trainer, int32_t replica, int32_t behind, int32_t part);
/* Creates the groups of ranks that share layers. */
mica_status mica__ranks_divide(mica_trainer *trainer);
/* True if tests have separate weights, because no rank trains all of them. */
bool mica__ranks_apart(const mica_trainer *trainer);
/* True if no rank has a whole checkpoint. */
bool mica__ranks_divided(const mica_trainer *trainer);
/* Gives all ranks the parameters and the position of rank 0. */
mica_status mica__ranks_begin(mica_trainer *trainer);
/* Gives all ranks rank 0's test weights, if they are separate from the trained ones. */
MICA__SHARED mica_status mica__ranks_tested(mica_trainer *trainer);
/* Tells other ranks whether this one wants to stop. *all_stop is the answer to the previous call, equal on all ranks.
 */
mica_status mica__ranks_agree(mica_trainer *trainer, bool stops, bool *all_stop);
/* Call it after the last mica__ranks_agree of an epoch. */
mica_status mica__ranks_end_steps(mica_trainer *trainer);
/* Averages state other than weights (running statistics). */
mica_status mica__ranks_join_state(mica_trainer *trainer);
/* Sums over all ranks; samples may be NULL. */
mica_status mica__ranks_add(const mica_trainer *trainer, double *sums, size_t count, int64_t *samples);
/* Sends rank 0's data to all ranks. */
mica_status mica__ranks_broadcast(const mica_trainer *trainer, void *data, size_t bytes);
/* Fills in how the ranks spent their time since the last call. */
mica_status mica__ranks_times(mica_trainer *trainer, double seconds, double data_seconds, mica_train_progress *event);
/* If status is a failure, ends the run on all ranks and names the step. Returns status. */
MICA__SHARED mica_status mica__ranks_fail(mica_trainer *trainer, mica_status status);

#endif
