/* tests/support/random_network.h: networks of a seed, as lists of layers that adapt to what they are given, so that any
 * part of a list is a network too. */
#ifndef MICA_TESTS_SUPPORT_RANDOM_NETWORK_H
#define MICA_TESTS_SUPPORT_RANDOM_NETWORK_H

#include <mica/mica.h>

#define RANDOM_LAYERS 20
#define RANDOM_STEPS 4
#define RANDOM_DRAWS 5
#define RANDOM_FEEDS 8
#define RANDOM_FACTOR "factor" /* an input, 1 but in the step that is left out: infinite */

/* A layer that the shape at its position does not suit does nothing. */
#define RANDOM_LAYER_LIST(X)                                                                                           \
  X(CONV, conv)                                                                                                        \
  X(DEPTHWISE, depthwise)                                                                                              \
  X(TRANSPOSED, transposed)                                                                                            \
  X(POOL, pool)                                                                                                        \
  X(BATCH_NORM, batch_norm)                                                                                            \
  X(GROUP_NORM, group_norm)                                                                                            \
  X(LAST_NORM, last_norm)                                                                                              \
  X(ACTIVATION, activation)                                                                                            \
  X(DROPOUT, dropout)                                                                                                  \
  X(RESIDUAL, residual)                                                                                                \
  X(CONCAT, concat)                                                                                                    \
  X(UPSAMPLE, upsample)                                                                                                \
  X(GATE, gate)                                                                                                        \
  X(SHARED, shared)                                                                                                    \
  X(DENSE, dense)                                                                                                      \
  X(SEQUENCE, sequence)                                                                                                \
  X(ATTENTION, attention)                                                                                              \
  X(TRANSFORMER, transformer)                                                                                          \
  X(RECURRENT, recurrent)                                                                                              \
  X(JOIN, join)                                                                                                        \
  X(SHUFFLE, shuffle)                                                                                                  \
  X(PARAMETER, parameter)                                                                                              \
  X(CHECKPOINT, checkpoint)                                                                                            \
  X(LOSS, loss)

typedef enum random_layer_kind {
#define RANDOM_LAYER_ENUM(name, function) RANDOM_##name,
  RANDOM_LAYER_LIST(RANDOM_LAYER_ENUM)
#undef RANDOM_LAYER_ENUM
      RANDOM_LAYER_KINDS
} random_layer_kind;

typedef struct random_layer {
  random_layer_kind kind;
  uint32_t draw[RANDOM_DRAWS];
} random_layer;

typedef struct random_network {
  uint32_t seed;
  int32_t spatial;  /* axes of an image, 1 to 3; 0: a vector; -1: tokens */
  int64_t dims[4];  /* channels, then these axes; of tokens: vocabulary, width, steps */
  int64_t elements; /* a sample's, at most */
  int64_t batch[RANDOM_STEPS];
  int32_t steps;
  bool open;                  /* one session whose batch is open; else a session a size, which share their parameters */
  bool gradients;             /* of all weights are outputs */
  int32_t fault;              /* the step whose loss is infinite, so that it is left out (loss_scale); 0: none */
  bool averages;              /* predicts with the averages of the weights (ema) */
  const char *frozen, *decay; /* patterns of weights that are not trained, and whose decay changes; NULL for none */
  mica_dtype dtype;
  uint32_t head;
  random_layer layers[RANDOM_LAYERS];
  int32_t layer_count;
  mica_optimizer_config how;
} random_network;

/* What a network is fed: integers below a bound, or numbers in -1 .. 1 where that is 0; RANDOM_FACTOR of its loss. */
typedef struct random_feed {
  char name[16];
  int64_t below;
} random_feed;

typedef struct random_built {
  mica_value y, loss;
  random_feed feeds[RANDOM_FEEDS];
  int32_t feed_count;
  bool kinks; /* gradients jump somewhere */
} random_built;

/* small: of so few elements that the host computes it at once. */
random_network random_network_of(uint32_t seed, bool small);
/* The network in nn's graph, for batches of that size (MICA_DYNAMIC: any). */
random_built random_network_build(const random_network *network, mica_nn *nn, int64_t batch);
/* Prints what it is. */
void random_network_print(const random_network *network);

/* The next number of a stream. */
uint32_t random_next(uint64_t *state);

#endif
