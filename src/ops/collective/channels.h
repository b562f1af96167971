/* ops/collective/channels.h: who uses each channel of a communicator. A new use gets a row here. */
#ifndef MICA_OPS_COLLECTIVE_CHANNELS_H
#define MICA_OPS_COLLECTIVE_CHANNELS_H

#include <mica/dist.h>

/* The first channel of each use. A use has the channels from its own row to the next row, except those just below
 * SHARD_NORMS (see there). If a use needs more channels for a larger network, its code checks that there are enough. */
enum {
  MICA__CHANNEL_PROGRAM = 0,                             /* mica_all_reduce, and layers that are divided among ranks */
  MICA__CHANNEL_NORMS = MICA_CHANNELS / 8,               /* two for each batch norm of a network */
  MICA__CHANNEL_DICE = MICA_CHANNELS / 4 - 4,            /* Dice loss of a task */
  MICA__CHANNEL_STAGE_VALUES = MICA_CHANNELS / 4 - 3,    /* from a stage to the next one */
  MICA__CHANNEL_STAGE_GRADIENTS = MICA_CHANNELS / 4 - 2, /* from a stage to the previous one */
  MICA__CHANNEL_SAVING = MICA_CHANNELS / 4 - 1,          /* saved weights to rank 0; in a step, a pipeline's loss */
  MICA__CHANNEL_BUCKETS = MICA_CHANNELS / 4,             /* how much a rank's gradients count, then the gradients */
  MICA__CHANNEL_SHARD_NORMS = MICA_CHANNELS / 2 - 5,     /* two; channels just below: gradients that stages share */
  MICA__CHANNEL_SHARE = MICA_CHANNELS / 2 - 3,           /* the trainer: data that one rank sends to all others */
  MICA__CHANNEL_SUMS = MICA_CHANNELS / 2 - 2,            /* the trainer: sums of metrics, times, counts */
  MICA__CHANNEL_AGREE = MICA_CHANNELS / 2 - 1,           /* the trainer: whether to stop */
  MICA__CHANNEL_OF_GRADIENTS = MICA_CHANNELS / 2,        /* add c: the gradient of the sum on channel c */
};

_Static_assert(MICA__CHANNEL_PROGRAM < MICA__CHANNEL_NORMS && MICA__CHANNEL_NORMS < MICA__CHANNEL_DICE &&
                   MICA__CHANNEL_DICE + 1 == MICA__CHANNEL_STAGE_VALUES &&
                   MICA__CHANNEL_STAGE_VALUES + 1 == MICA__CHANNEL_STAGE_GRADIENTS &&
                   MICA__CHANNEL_STAGE_GRADIENTS + 1 == MICA__CHANNEL_SAVING &&
                   MICA__CHANNEL_SAVING + 1 == MICA__CHANNEL_BUCKETS,
               "channels of a step's graph do not meet");
_Static_assert(MICA__CHANNEL_BUCKETS < MICA__CHANNEL_SHARD_NORMS &&
                   MICA__CHANNEL_SHARD_NORMS + 2 == MICA__CHANNEL_SHARE &&
                   MICA__CHANNEL_SHARE + 1 == MICA__CHANNEL_SUMS && MICA__CHANNEL_SUMS + 1 == MICA__CHANNEL_AGREE &&
                   MICA__CHANNEL_AGREE + 1 == MICA__CHANNEL_OF_GRADIENTS,
               "channels of the optimiser and the trainer do not meet");
/* Only sums on channels up to DICE have gradients, which need the same number of channels from OF_GRADIENTS on. */
_Static_assert(MICA__CHANNEL_OF_GRADIENTS + MICA__CHANNEL_DICE < MICA_CHANNELS, "gradients have channels");

#endif
