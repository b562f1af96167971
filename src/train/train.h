/* train/train.h: the trainer, which knows no task: a step's objective names what is added up.
 *
 * A step writes its loss and metrics to a row of its own. From time to time a readback, queued like any other work,
 * downloads the rows, so that the host reads steps that are some runs old and never waits. The host adds them up one by
 * one, in double: the sums of an epoch do not depend on when they were read, nor on where the run was stopped and
 * resumed. Tests, which begin anew, add up on the device instead, in the session's parameter "metrics". Sums without a
 * weight ("sum.NAME") are counted by tests alone. */
#ifndef MICA_TRAIN_TRAIN_H
#define MICA_TRAIN_TRAIN_H

#include "base/error.h"

#include <mica/safetensors.h>
#include <mica/train.h>

/* Elements of f32 from an address where a tensor may begin to the next one. */
#define MICA__ROW_STEP 16
/* Learning rates are uploaded for this many steps at once. */
#define MICA__RATES 64
/* Steps that a readback covers at most. */
#define MICA__ROWS 64
/* Readbacks in flight at most. */
#define MICA__READBACKS 2

/* The first elements of a row and of "metrics". A metric's sums and weights follow, then those of the next one. */
enum {
  MICA__SUM_LOSS,   /* times its weight */
  MICA__SUM_WEIGHT, /* of the loss */
  MICA__SUM_FIRST,
};

/* A metric of a phase. */
typedef struct mica__metric_slot {
  char *name, **parts; /* parts NULL: one sum and one weight */
  size_t count;        /* elements of the sum, and of the weight where it has one */
  size_t at;           /* of the sums in a row, the weights behind them; unused without a weight */
  bool weighted;
  char *parameter;     /* without a weight: "sum.NAME"; */
  mica_tensor *tensor; /* the session's; */
  double *totals;      /* count; of the last test */
} mica__metric_slot;

/* A column of batches as an input of a phase's graph. */
typedef struct mica__batch_input {
  char *name, *input; /* NAME and "batch.NAME" */
  mica_dtype dtype;
  mica_shape shape;
  mica_value value; /* null: the step did not ask for it */
} mica__batch_input;

struct mica_batch_values {
  mica_graph *graph;
  mica__batch_input *columns;
  size_t count;
};

/* The network on a graph of its own, with its session: to train, to test, to predict. */
typedef struct mica__phase {
  mica_graph *graph;
  mica_nn *nn;
  mica_session *session;
  mica_tensor *metrics; /* the session's; NULL but when testing */
  mica_batch_values batch;
  mica__metric_slot slots[MICA_OBJECTIVE_METRICS];
  size_t slot_count, sum_count; /* sum_count: elements of a row */
  char *outputs[MICA_OBJECTIVE_OUTPUTS];
  mica_value output_values[MICA_OBJECTIVE_OUTPUTS];
  size_t output_count;
  mica_feed *feeds;              /* as many as columns and a rate */
  const mica_observer *observer; /* whose hook and values it has; NULL: the trainer's own */
  mica_value loss, weight, row;  /* of a step that will be cut into stages */
  double least;                  /* of the objective */
} mica__phase;

/* A download of the rows, in flight. */
typedef struct mica__readback {
  mica_event *event;             /* NULL: none */
  float *rows;                   /* as `rows` of the trainer; that of first_step comes first */
  int64_t first_step, last_step; /* the runs that it covers: [first_step, last_step) */
  int64_t samples;               /* of these */
  double rate;                   /* of the last run */
  int64_t batch;                 /* batches of the epoch done by then */
} mica__readback;

/* Sums of a phase and the samples that they are of. */
typedef struct mica__totals {
  double *sums;
  int64_t samples;
} mica__totals;

/* The position of a run: what a checkpoint holds beside tensors. */
typedef struct mica__progress {
  int64_t step, epoch, batch;
  double best;      /* measure of the best epoch: lower is better */
  double best_loss; /* its loss, which decides among epochs of one measure; NaN where a checkpoint does not say it */
  int64_t measured; /* epochs that were compared with it */
  int64_t worse;    /* epochs since the best one */
  mica_plateau plateau;
} mica__progress;

typedef struct mica__stages mica__stages; /* train/stages.h */

/* A folder that somebody deletes again and again is made again so often. */
#define MICA__KEEP_TRIES 100

/* Calls of whoever owns the folder of checkpoints, on the rank that writes. They may be NULL. */
typedef struct mica__keeper {
  void *user;
  /* Before each checkpoint. May change the configuration's folder; a failure ends the training. */
  mica_status (*prepare)(void *user);
  /* True if a checkpoint could not be written because the folder is gone: it is tried again. */
  bool (*is_lost)(void *user);
  /* After a checkpoint whose weights are the best so far: of the best epoch, and before the first epoch has ended
   * each one. */
  mica_status (*keep)(void *user, const char *checkpoint);
} mica__keeper;

struct mica_trainer {
  mica_engine *engine;
  mica_queue *queue;
  mica_trainer_config config;
  mica__keeper keeper;
  bool best_lost; /* the checkpoint of the best epoch is gone: the next epoch is the best; what rank 0 says holds */
  mica__phase training, testing, predicting;
  mica__stages *stages; /* NULL: the network is whole */
  /* The ranks that have parts of the same layers, NULL: they are whole; and those beside them that have this rank's
   * part, where there are no stages, NULL: there is one replica. */
  mica_communicator *tensor, *beside;
  bool stale; /* the weights of tests are not those of now; where they are apart */
  mica_tensor *rates, *rate[MICA__RATES];
  mica_tensor *rows, *row[MICA__ROWS];           /* the first is that of step unread_from; report_every of them, */
  size_t row_stride;                             /* elements from one to the next */
  float rates_sent[MICA__RATES][MICA__ROW_STEP]; /* what `rates` holds, to skip equal uploads */
  int64_t rates_from;                            /* the step of rate[0]; -1: the rates are stale */
  mica_schedule_config schedule;
  mica__progress progress;
  mica__totals epoch, recent; /* of the epoch so far; drained since the last event */
  mica__totals tested;        /* of the last test; samples 0: nothing was tested */
  mica__readback readbacks[MICA__READBACKS];
  int first_readback, readback_count;
  int64_t unread_from, unread_samples; /* the first step that no readback covers; samples since */
  void *agreed;                        /* ranks: the request whose answer tells whether all stop; NULL: none */
  int32_t stopping;                    /* ranks: how many want to */
  mica_communicator_stats link_then;   /* when times were noted last */
  double begun, seconds, data_seconds; /* of the epoch: start of the current part; sums of those before */
};

typedef enum mica__phase_kind { MICA__PHASE_TRAIN, MICA__PHASE_TEST, MICA__PHASE_PREDICT } mica__phase_kind;

/* Builds the step as it will be tested on a graph that is dropped again, for an observer who learns of layers before
 * there is a trainer. */
mica_status mica__train_outline(const mica_trainer_config *config, const mica_observer *observer);
/* Builds the step and its sums on a graph of the phase's own, and the session. columns: what batches have. */
mica_status mica__phase_build(mica_trainer *trainer, mica__phase *phase, mica__phase_kind kind,
                              const mica_batch_column *columns, size_t count);
void mica__phase_free(mica__phase *phase);
/* The network as it predicts from these columns, in f32 whatever it is trained in, on the trainer's weights; step: NULL
 * for the trainer's own. To be freed, after a failure too. */
mica_status mica__phase_build_outputs(mica_trainer *trainer, mica_step_fn *step, const mica_batch_column *columns,
                                      size_t count, mica__phase *phase);
/* Queues a run of the phase on a batch. rate NULL: it has none. A run that trains writes its row where output 0 is
 * bound to. */
mica_status mica__phase_run(mica_trainer *trainer, mica__phase *phase, const mica_batch *batch,
                            const mica_tensor *rate);

/* Sums as metrics. MICA_E_OVERFLOW where they are too many. */
mica_status mica__metrics_of(const mica__phase *phase, const mica__totals *totals, mica_metrics *metrics);

/* True where so many epochs in a row were no better than the best one that the configuration's patience is over. */
bool mica__train_patience_over(const mica_trainer *trainer);

/* Writes the weights that the test network has of a checkpoint, moving averages in the place of weights that have some,
 * as a file of weights. The trainer's own are not changed. */
mica_status mica__train_extract(const mica_trainer *trainer, const char *checkpoint, const char *path,
                                const mica_safetensors_pair *metadata, size_t count);

/* The learning rate of a step. */
double mica__train_rate(const mica_trainer *trainer, int64_t step);

/* MICA_E_INVALID where the source lacks a call; who is called with it. */
mica_status mica__train_check_source(const mica_batch_source *source, const char *who);
/* A source's calls, whose failure has a sentence whether the source gave one or not. */
mica_status mica__train_next(mica_trainer *trainer, const mica_batch_source *source, mica_batch *batch);
mica_status mica__train_seek(const mica_batch_source *source, uint64_t epoch, uint64_t batch);
/* The metrics of the test network on the source's first batch. Blocks. */
mica_status mica__train_first_batch(mica_trainer *trainer, const mica_batch_source *source, mica_metrics *metrics);

/* Queues a readback of all steps that none covers yet. If the maximum is in flight, the oldest is drained first, which
 * keeps the host from running ahead of the device without bound. */
mica_status mica__train_read(mica_trainer *trainer);
/* Waits for the oldest readback and adds it to the totals. MICA_E_NUMERIC where a loss in it is not finite. */
mica_status mica__train_drain(mica_trainer *trainer);
/* Waits for all readbacks and drops them. */
void mica__train_discard(mica_trainer *trainer);
void mica__totals_clear(mica__totals *totals, const mica__phase *phase);

/* --- several ranks; each does nothing, or the obvious, on one --- */

/* True on the rank that writes files. */
bool mica__ranks_speaks(const mica_trainer *trainer);
int32_t mica__ranks_count(const mica_trainer *trainer);
int32_t mica__ranks_own(const mica_trainer *trainer);
/* The ranks that have the same stage and take batches of their own; NULL: one. */
mica_communicator *mica__ranks_replicas(const mica_trainer *trainer);
/* The ranks that have parts of a layer of their own; 1: layers are whole. */
int32_t mica__ranks_parts(const mica_trainer *trainer);
/* A rank by its replica, the stages behind its own, and its part of layers. */
int32_t mica__ranks_at(const mica_trainer *trainer, int32_t replica, int32_t behind, int32_t part);
/* Makes the groups of ranks that have parts of layers. */
mica_status mica__ranks_divide(mica_trainer *trainer);
/* True where tests have weights of their own, since no rank trains all of them. */
bool mica__ranks_apart(const mica_trainer *trainer);
/* True where no rank has all that a checkpoint holds. */
bool mica__ranks_divided(const mica_trainer *trainer);
/* Gives all ranks the parameters and the position of rank 0. */
mica_status mica__ranks_begin(mica_trainer *trainer);
/* Gives all ranks the weights that rank 0 has to test, where they are apart from those that train. */
mica_status mica__ranks_tested(mica_trainer *trainer);
/* Tells the others whether this rank wants to stop; *all_stop is what was told a step ago, the same on all ranks. */
mica_status mica__ranks_agree(mica_trainer *trainer, bool stops, bool *all_stop);
/* Behind the last mica__ranks_agree of an epoch. */
mica_status mica__ranks_end_steps(mica_trainer *trainer);
/* The mean of the state that is no weight (running statistics). */
mica_status mica__ranks_join_state(mica_trainer *trainer);
/* Adds sums up over all ranks; samples may be NULL. */
mica_status mica__ranks_add(const mica_trainer *trainer, double *sums, size_t count, int64_t *samples);
/* What rank 0 has, on all. */
mica_status mica__ranks_broadcast(const mica_trainer *trainer, void *data, size_t bytes);
/* Fills in what the ranks' time went to since the last call. */
mica_status mica__ranks_times(mica_trainer *trainer, double seconds, double data_seconds, mica_train_progress *event);
/* Ends the run of all ranks where status is a failure, and names the step; returns status. */
mica_status mica__ranks_fail(mica_trainer *trainer, mica_status status);

#endif
