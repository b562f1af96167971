/* Computes for each speaker of the run the probability that a recording has the voice of that speaker. */
#include "run/predict/once.h"
#include "task/speak/speak.h"

#include <math.h>
#include <mica/data.h>
#include <stdlib.h>

typedef struct listening {
  mica__speaker network;
  int64_t count; /* samples of the recording */
} listening;

/* Builds the shares (1, speakers) of the speakers in the voice of a recording (1, T). They add up to 1. */
static mica_value build(mica_nn *nn, const mica_run *run, const mica_value *in, void *user) {
  const listening *l = user;
  (void)run;
  mica_value length = mica_full(in[0].graph, MICA_I32, MICA_SHAPE(1), (double)l->count);
  const mica__speaker_spectra spectra = mica__speaker_spectra_of(&l->network, mica__speaker_levelled(in[0], length));
  if (!spectra.mel.graph) return spectra.mel;
  mica_value mask = mica__speaker_mask(spectra.mel, mica__speaker_frames(l->network.rate, length));
  return mica_softmax(mica__speaker_listen(nn, &l->network, spectra.mel, mask), 1);
}

static mica_status listen(mica_run *run, const float *samples, int64_t count, float *shares) {
  const mica__once_input sound = {"sound", MICA_F32, MICA_SHAPE(1, count), samples};
  listening l = {.count = count};
  int32_t *letters = NULL;
  mica_status status = mica__speak_network(run, &l.network, &letters);
  if (status == MICA_OK) status = mica__run_once(run, &sound, 1, build, &l, shares, l.network.speakers);
  free(letters);
  return status;
}

mica_status mica__speak_voice(mica_run *run, const char *path, double *shares) {
  const mica__speak_facts facts = mica__speak_facts_of(run);
  const int64_t least = mica__speaker_stft(facts.rate).length;
  float *samples = NULL, *found = calloc(facts.speakers.count, sizeof *found);
  int64_t count = 0;
  mica_status status =
      found ? mica_sound_read(path, (int32_t)facts.rate, &samples, &count, NULL) : mica__fail_nomem("speakers");
  if (status == MICA_OK && count < least)
    status = mica__fail(MICA_E_FORMAT, "%s: %lld samples are too few to tell whose voice it is; %lld are needed", path,
                        (long long)count, (long long)least);
  double power = 0;
  for (int64_t i = 0; status == MICA_OK && i < count; i++) power += fabs((double)samples[i]);
  if (status == MICA_OK && !(power > 0))
    status = mica__fail(MICA_E_FORMAT, "%s: the recording is silent; there is no voice to hear", path);
  if (status == MICA_OK) status = listen(run, samples, count, found);
  for (size_t i = 0; status == MICA_OK && i < facts.speakers.count; i++) shares[i] = (double)found[i];
  mica_free(samples);
  free(found);
  return status;
}
