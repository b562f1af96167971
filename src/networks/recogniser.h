/* networks/recogniser.h: networks that read sound in time steps and predict a letter or "no letter" for each step. They
 * never look ahead, and their convolutions are not padded in time, so a recording that is given in parts yields the
 * same result as in one piece. */
#ifndef MICA_NETWORKS_RECOGNISER_H
#define MICA_NETWORKS_RECOGNISER_H

#include "data/sound/strings.h"

#include <mica/nn.h>

/* The most recurrent layers, or blocks. */
#define MICA__RECOGNISER_LAYERS 16
/* The most values that a stream keeps from chunk to chunk. */
#define MICA__RECOGNISER_STATES (3 * MICA__RECOGNISER_LAYERS + 1)

typedef struct mica__recogniser {
  bool conformer; /* Conformer blocks, else recurrent layers */
  double rate;    /* samples per second */
  int64_t tens;   /* output time step, in units of 10 ms: 2 or 4 */
  int64_t mels, masks, filters, layers, width;
  int64_t heads, kernel; /* of Conformer blocks */
  double context;        /* seconds of the past that their attention sees */
  double dropout;
  const struct mica_safetensors *like; /* weights of a pruned network; NULL: it is not pruned */
} mica__recogniser;

/* The network's frames and steps, in samples. Frames last 25 ms, enlarged to a power of two, and begin every 10 ms.
 * tail: seconds of zeros after a recording. */
mica__strings_time mica__recogniser_time(const mica__recogniser *l, double tail);
/* MICA_E_INVALID if the width of Conformer blocks is not a multiple of twice the number of heads. */
mica_status mica__recogniser_check(const mica__recogniser *l);

/* Log mel spectra (N, mels, frames) of x (N, samples), the first stage of the network. */
mica_value mica__recogniser_spectra(const mica__recogniser *l, mica_value x);
/* Logits (N, steps, classes) f32 for the samples x (N, samples). For a stream (N is 1), states[k] is what the stream
 * has kept from the samples before x, and is replaced by what it keeps after x. states is NULL for whole recordings. */
mica_value mica__recogniser_build(mica_nn *nn, const mica__recogniser *l, mica_value x, int64_t classes,
                                  mica_value *states);

/* Turns code points (N, S) i32 into classes. `letters` are in ascending order, and a code point's class is the number
 * of letters that are not above it. So letters[0] has class 1, letters[1] class 2, and a code point below letters[0]
 * class 0. */
mica_value mica__letters_as_classes(mica_value tokens, const int32_t *letters, int64_t count);

/* A value that a stream keeps; zeros at the beginning. */
typedef struct mica__recogniser_state {
  char name[32];
  mica_shape shape;
  bool counts; /* i32; else the network's dtype */
} mica__recogniser_state;
/* The states of the network, at most MICA__RECOGNISER_STATES; returns how many there are. */
int64_t mica__recogniser_states(const mica__recogniser *l, mica__recogniser_state *states);

#endif
