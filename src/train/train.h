/* train/train.h: the trainer.
 *
 * Losses and metrics of runs add up in a parameter of the session, "metrics". From time to time a readback, queued like
 * any other work, downloads it and sets it to zero, so that the host reads sums that are some runs old and never
 * waits. */
#ifndef MICA_TRAIN_TRAIN_H
#define MICA_TRAIN_TRAIN_H

#include "base/error.h"

#include <mica/train.h>

/* Learning rates are uploaded for this many steps at once, each at an address where a tensor may begin. */
#define MICA__RATES 64
#define MICA__RATE_STRIDE 16
/* Readbacks in flight at most. */
#define MICA__READBACKS 2

/* The elements of "metrics": sums over samples, and the number of runs with a finite loss. */
typedef enum mica__sum {
  MICA__SUM_LOSS,
  MICA__SUM_MEASURE, /* of hits, or of absolute errors */
  MICA__SUM_SAMPLES,
  MICA__SUM_FINITE,
  MICA__SUM_TOP_K,
  MICA__SUMS
} mica__sum;

/* One phase, training or testing: the network on a graph of its own, with its session. */
typedef struct mica__phase {
  mica_graph *graph;
  mica_nn *nn;
  mica_session *session;
  mica_tensor *metrics; /* the session's */
} mica__phase;

typedef struct mica__totals {
  double sums[MICA__SUMS];
} mica__totals;

/* A download of the sums, in flight. */
typedef struct mica__readback {
  mica_event *event; /* NULL: none */
  float sums[MICA__SUMS];
  int64_t first_step, last_step; /* the runs that it covers: [first_step, last_step) */
  double rate;                   /* of the last run */
  int64_t batch;                 /* batches of the epoch done by then */
} mica__readback;

/* The position of a run: what a checkpoint holds beside tensors. */
typedef struct mica__progress {
  int64_t step, epoch, batch;
  double best;      /* measure of the best epoch: lower is better */
  int64_t measured; /* epochs that were compared with it */
  int64_t worse;    /* epochs since the best one */
  mica_plateau plateau;
  mica__totals totals; /* of the epoch so far */
} mica__progress;

struct mica_trainer {
  mica_engine *engine;
  mica_queue *queue;
  mica_trainer_config config;
  mica__phase training, testing;
  mica_tensor *rates, *rate[MICA__RATES];
  float rates_sent[MICA__RATES][MICA__RATE_STRIDE]; /* what `rates` holds, to skip equal uploads */
  int64_t rates_from;                               /* the step of rate[0]; -1: the rates are stale */
  mica_schedule_config schedule;
  mica__progress progress;
  mica__readback readbacks[MICA__READBACKS];
  int first_readback, readback_count;
  int64_t unread_from;                 /* the first step that no readback covers */
  mica__totals recent;                 /* drained since the last event */
  double begun, seconds, data_seconds; /* of the epoch: start of the current part; sums of those before */
};

/* Builds inputs, model, loss and sums into the phase's graph; *loss is to be optimised, *result is f32. */
void mica__train_graph(const mica_trainer_config *config, mica__phase *phase, bool test, mica_value *loss,
                       mica_value *result);

/* Divides sums by the number of samples; `test`: with top_k. */
mica_metrics mica__metrics_of(const mica_trainer_config *config, const mica__totals *totals, bool test);

/* The learning rate of a step. */
double mica__train_rate(const mica_trainer *trainer, int64_t step);

/* The metrics of the test network on the source's first batch. Blocks. */
mica_status mica__train_first_batch(mica_trainer *trainer, const mica_batch_source *source, mica_metrics *metrics);

/* Queues a readback of all steps that none covers yet. If the maximum is in flight, the oldest is drained first, which
 * keeps the host from running ahead of the device without bound. */
mica_status mica__train_read(mica_trainer *trainer);
/* Waits for the oldest readback and adds it to the totals. MICA_E_NUMERIC where a loss in it is not finite. */
mica_status mica__train_drain(mica_trainer *trainer);
/* Waits for all readbacks and drops them. */
void mica__train_discard(mica_trainer *trainer);

#endif
