/* train/train.h: what a trainer is made of.
 *
 * Losses and metrics of runs add up in a parameter of the session, "metrics", which is downloaded and set to zero from
 * time to time in the order of the queue, so that the host reads what some runs ago was. */
#ifndef MICA_TRAIN_TRAIN_H
#define MICA_TRAIN_TRAIN_H

#include "base/error.h"

#include <mica/train.h>

/* Learning rates of so many steps are uploaded at once. Each stands where a tensor may begin. */
#define MICA__RATES 64
#define MICA__RATE_STRIDE 16
/* Readings in flight. */
#define MICA__READINGS 2

/* The elements of "metrics": sums over samples, and the number of runs with a finite loss. */
typedef enum mica__sum {
  MICA__SUM_LOSS,
  MICA__SUM_MEASURE, /* of hits, or of absolute errors */
  MICA__SUM_SAMPLES,
  MICA__SUM_FINITE,
  MICA__SUM_TOP_K,
  MICA__SUMS
} mica__sum;

/* A network on one graph, with its session. */
typedef struct mica__side {
  mica_graph *graph;
  mica_nn *nn;
  mica_session *session;
  mica_tensor *metrics; /* the session's */
} mica__side;

typedef struct mica__totals {
  double sums[MICA__SUMS];
} mica__totals;

/* A download on its way. */
typedef struct mica__reading {
  mica_event *event; /* NULL: none */
  float sums[MICA__SUMS];
  int64_t first_step, last_step; /* of the runs it covers; the second is one behind */
  double rate;                   /* of the last of them */
  int64_t batch;                 /* done in the epoch by then */
} mica__reading;

/* Where a run stands: what a checkpoint holds beside tensors. */
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
  mica__side training, testing;
  mica_tensor *rates, *rate[MICA__RATES];
  float rates_sent[MICA__RATES][MICA__RATE_STRIDE]; /* what `rates` holds: most schedules seldom change it */
  int64_t rates_from;                               /* the step of rate[0]; -1 where they must be made anew */
  mica_schedule_config schedule;
  mica__progress progress;
  mica__reading readings[MICA__READINGS];
  int first_reading, reading_count;
  int64_t unread_from;                 /* the first step that no reading covers */
  mica__totals recent;                 /* settled since the last event */
  double begun, seconds, data_seconds; /* of the epoch: when it went on, and what was before */
};

/* Adds the inputs, the model, the loss and the sums; *loss is to be optimised, *result is f32. */
void mica__train_graph(const mica_trainer_config *config, mica__side *side, bool test, mica_value *loss,
                       mica_value *result);

/* Means of sums; `test`: with top_k. */
mica_metrics mica__metrics_of(const mica_trainer_config *config, const mica__totals *totals, bool test);

/* The learning rate of a step. */
double mica__train_rate(const mica_trainer *trainer, int64_t step);

/* What the test network makes of the source's first batch. Blocks. */
mica_status mica__train_first_batch(mica_trainer *trainer, const mica_batch_source *source, mica_metrics *metrics);

/* Queues a reading of all steps that none covers yet. Where all readings are in flight, the oldest is settled first,
 * which keeps the host from running away from the device. */
mica_status mica__train_read(mica_trainer *trainer);
/* Waits for the oldest reading and adds it to the totals. MICA_E_NUMERIC where a loss in it is not finite. */
mica_status mica__train_drain(mica_trainer *trainer);
/* Waits for all readings and forgets them. */
void mica__train_discard(mica_trainer *trainer);

#endif
