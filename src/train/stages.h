/* train/stages.h: a trainer whose network is cut into stages, a rank each (mica_train_stages).
 *
 * All ranks build the whole step. What one value alone goes through is a point where it can be cut (ir/cut.h), and a
 * rank makes sessions of its range: forward, and forward again and back, where gradients add up over the
 * micro-batches; a third one, the update, takes the step. The trainer's "training" phase is the whole network with the
 * session that goes back, which has this stage's weights; the phase of tests has all weights, which are shared before a
 * test. */
#ifndef MICA_TRAIN_STAGES_H
#define MICA_TRAIN_STAGES_H

#include "train/train.h"

#include <mica/parallel.h>

/* Weights that several stages have, such as tied ones: their gradients are summed. */
typedef struct mica__shared {
  int32_t parameter; /* index in the network */
  mica_communicator *among;
} mica__shared;

struct mica__stages {
  mica_communicator *data, *pipe; /* groups; data NULL: there is one replica */
  int32_t stage, count, micro, replica;
  mica_session *forward; /* NULL in the last stage */
  mica_graph *graph;     /* of the update */
  mica_nn *nn;
  mica_session *update;
  mica_stage *link;
  size_t parameters; /* of the network */
  uint64_t *holders; /* by index: a bit a stage that has it */
  mica__shared *shared;
  size_t shared_count;
  mica_dtype x, y;     /* of what comes and goes */
  bool steps;          /* passes have a number, which dropout draws by */
  mica_feed *feeds;    /* of a pass: columns, x and dy */
  mica_tensor **views; /* of its columns */
  const mica_batch *batch;
};

/* Cuts the step that the training phase holds, and makes the sessions. */
mica_status mica__stages_create(mica_trainer *trainer);
/* The last part of it: what goes between the stages. */
mica_status mica__stages_link(mica_trainer *trainer);
void mica__stages_destroy(mica__stages *stages);
/* A step on a batch: row receives its sums in the last stage, zeros in others. */
mica_status mica__stages_step(mica_trainer *trainer, const mica_batch *batch, mica_tensor *row,
                              const mica_tensor *rate);
/* Gives all ranks' networks of tests the weights of all stages and parts, where they have changed since. All ranks call
 * it. */
mica_status mica__stages_share(mica_trainer *trainer);
/* True where this rank is the one of its kind that has the samples: sums of others are zeros. */
bool mica__stages_counts(const mica_trainer *trainer);

#endif
