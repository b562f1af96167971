/* Whose voice a recording has: the probabilities of the run's speakers. */
#include "nn/nn.h"
#include "run/facts.h"
#include "run/network.h"
#include "task/speak/speak.h"

#include <math.h>
#include <mica/data.h>
#include <stdlib.h>

typedef struct listener {
  mica_graph *graph;
  mica_nn *nn;
  mica_session *session;
  mica_tensor *sound;
} listener;

static void free_listener(listener *l) {
  mica_tensor_destroy(l->sound);
  mica_session_destroy(l->session);
  mica_nn_destroy(l->nn);
  mica_graph_destroy(l->graph);
}

static mica_status build(mica_run *run, int64_t count, listener *l) {
  const mica_nn_config building = mica__run_building(run);
  const mica_session_config config = {.share = mica_trainer_test_session(run->trainer)};
  MICA_TRY(mica_graph_create(&l->graph));
  MICA_TRY(mica_nn_create(l->graph, &building, &l->nn));
  mica_value sound = mica_input(l->graph, "sound", MICA_F32, MICA_SHAPE(1, count));
  mica_value length = mica_full(l->graph, MICA_I32, MICA_SHAPE(1), (double)count);
  const mica__speak_spectra spectra = mica__speak_spectra_of(run, mica__speak_levelled(sound, length));
  if (!spectra.mel.graph) return mica_graph_status(l->graph);
  mica_value mask = mica__speak_mask(spectra.mel, mica__speak_frames(run, length));
  mica_value shares = mica_softmax(mica__speak_listen(l->nn, run, spectra.mel, mask), 1);
  return mica_session_create(run->engine, l->graph, &shares, 1, &config, &l->session);
}

static mica_status listen(mica_run *run, const float *samples, int64_t count, float *shares) {
  mica_queue *queue = mica_engine_queue(run->engine);
  listener l = {0};
  mica_status status = build(run, count, &l);
  if (status == MICA_OK) status = mica_tensor_create(run->engine, MICA_F32, MICA_SHAPE(1, count), &l.sound);
  if (status == MICA_OK) status = mica_tensor_upload(queue, l.sound, samples, (size_t)count * sizeof *samples);
  if (status == MICA_OK) status = mica_session_run(l.session, queue, &(mica_feed){"sound", l.sound}, 1);
  if (status == MICA_OK) {
    const mica_tensor *output = mica_session_output(l.session, 0);
    status = mica_tensor_download(queue, output, shares, mica_tensor_bytes(output));
  }
  free_listener(&l);
  return status;
}

mica_status mica__speak_voice(mica_run *run, const char *path, double *shares) {
  const mica__speak_facts facts = mica__speak_facts_of(run);
  const int64_t least = mica__speak_stft(run).length;
  float *samples = NULL, *found = calloc(facts.speakers.count, sizeof *found);
  int64_t count = 0;
  mica_status status =
      found ? mica_sound_read(path, (int32_t)facts.rate, &samples, &count, NULL) : mica__fail_nomem("speakers");
  if (status == MICA_OK && count < least)
    status = mica__fail(MICA_E_FORMAT, "%s: %lld samples are too few to tell whose voice it is; it takes %lld", path,
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
