/* train/stages.h: a trainer whose network is cut into stages, one per rank (mica_train_stages).
 *
 * All ranks build the whole step. It can be cut where only one value passes (ir/cut.h). Each rank creates three
 * sessions for its stage:
 *
 *   forward   the forward pass of a micro-batch; not in the last stage
 *   backward  the forward and backward pass of a micro-batch, which adds to the sums of the gradients
 *   update    the optimizer's step with these sums
 *
 * The trainer's phase "training" is the whole network, with the backward session, which holds this stage's weights.
 * The test phase has all weights; ranks exchange them before a test. */
#ifndef MICA_TRAIN_STAGES_H
#define MICA_TRAIN_STAGES_H

#include "base/shared.h"
#include "train/train.h"

#include <mica/parallel.h>

/* A weight that several stages have, such as a tied one; its gradients are summed. */
typedef struct mica__shared {
  int32_t parameter; /* index in the network */
  mica_communicator *among;
} mica__shared;

struct mica__stages {
  mica_communicator *data, *pipe; /* groups: the replicas of this stage (NULL: one replica), and the stages of this
                                   * replica */
  int32_t stage, count, micro, replica;
  mica_session *forward; /* NULL in the last stage */
  mica_graph *graph;     /* of the update */
  mica_nn *nn;
  mica_session *update;
  mica_stage *link;
  size_t parameters; /* number of the network's parameters */
  uint64_t *holders; /* per parameter: one bit per stage that has it */
  mica__shared *shared;
  size_t shared_count;
  mica_dtype x, y;     /* types of the received and the sent value */
  bool steps;          /* dropout depends on the number of the pass */
  mica_feed *feeds;    /* of a pass: columns, x and dy */
  mica_tensor **views; /* views of the columns, for one micro-batch */
  const mica_batch *batch;
};

/* Cuts the step of the training phase and creates the sessions. */
mica_status mica__stages_create(mica_trainer *trainer);
/* Creates the transfers between stages. mica__stages_create calls it last. */
mica_status mica__stages_link(mica_trainer *trainer);
void mica__stages_destroy(mica__stages *stages);
/* Takes a step on a batch. In the last stage, row receives the sums; in other stages, it receives zeros. */
mica_status mica__stages_step(mica_trainer *trainer, const mica_batch *batch, mica_tensor *row,
                              const mica_tensor *rate);
/* Gives the test networks of all ranks the weights of all stages and parts, if these have changed. All ranks must call
 * it. */
mica_status mica__stages_share(mica_trainer *trainer);
/* True if this rank's sums count. Other ranks with the same samples have zeros. */
bool mica__stages_counts(const mica_trainer *trainer);

#endif
