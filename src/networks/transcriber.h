/* networks/transcriber.h: sound to text as it arrives (mica/transcribe.h). */
#ifndef MICA_NETWORKS_TRANSCRIBER_H
#define MICA_NETWORKS_TRANSCRIBER_H

#include "networks/recogniser.h"

#include <mica/speech.h>
#include <mica/transcribe.h>

/* The parts of a transcriber. */
typedef struct mica__transcription {
  mica_engine *engine;
  mica__recogniser network;
  mica__strings_time time;
  mica_nn_config nn;
  mica_session *share; /* has the weights */
  int32_t *letters;    /* code points of the classes 1, 2, ...; one fewer than `classes` */
  int64_t classes;
  bool searches; /* uses a beam search, configured by `beam`; else takes the likeliest class of each step */
  mica_ctc_beam_config beam;
  mica_text_model *model; /* the text model that `beam` uses; NULL: none */
} mica__transcription;

/* Frees the letters and the text model. */
void mica__transcription_free(mica__transcription *how);
/* Creates a transcriber. It owns the letters and the text model of `how` from then on, also after a failure. `rate` is
 * the sample rate of the recordings (0: the network's), and `chunk` the length of a chunk in seconds (0: the
 * default). */
mica_status mica__transcriber_make(const mica__transcription *how, int32_t rate, double chunk, mica_transcriber **out);

#endif
