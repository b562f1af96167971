/* Sound to text as it arrives: a session for one chunk, which keeps the states of layers and the samples that the next
 * chunk reads again. */
#include "networks/transcriber.h"
#include "base/error.h"
#include "base/text.h"
#include "data/sound/letters.h"
#include "data/sound/sound.h"

#include <mica/nodes.h>
#include <mica/speech.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK 0.48

struct mica_transcriber {
  mica__transcription how;
  mica_queue *queue;
  mica__resampler *resampler; /* NULL: nothing is resampled */
  int32_t given_rate;
  int64_t steps, window; /* of a chunk: its steps, and the samples that they cover */
  float *samples;        /* of the next chunk; the first `held` samples are filled */
  int64_t held;
  mica_graph *graph;
  mica_nn *nn;
  mica_session *session;
  mica_tensor *sound;
  mica__recogniser_state states[MICA__RECOGNISER_STATES];
  int64_t state_count;
  int32_t *best;  /* class of each step */
  int32_t before; /* class of the last step that take_steps has read */
  /* With a beam: */
  mica_ctc_search *search; /* NULL: takes the most likely class of each step */
  float *scores;           /* (steps, classes) */
  int32_t *labels;         /* of the text */
  int64_t label_room, written;
  mica__text text;
  int64_t taken; /* samples so far, at the recording's rate */
  bool finished;
};

/* Builds the network for a chunk, and the states after it. */
static mica_status build(mica_transcriber *t) {
  mica_value states[MICA__RECOGNISER_STATES], old[MICA__RECOGNISER_STATES];
  const mica_nn_config *config = &t->how.nn;
  t->state_count = mica__recogniser_states(&t->how.network, t->states);
  MICA_TRY(mica_graph_create(&t->graph));
  MICA_TRY(mica_nn_create(t->graph, config, &t->nn));
  mica_value x = mica_input(t->graph, "sound", MICA_F32, MICA_SHAPE(1, t->window));
  for (int64_t k = 0; k < t->state_count; k++) {
    const mica__recogniser_state *s = &t->states[k];
    old[k] = mica_parameter(t->graph, s->name, s->counts ? MICA_I32 : config->dtype, s->shape);
    states[k] = old[k];
  }
  mica_value z = mica__recogniser_build(t->nn, &t->how.network, x, t->how.classes, states);
  mica_value best = t->search ? mica_cast(z, MICA_F32) : mica_cast(mica_argmax(z, 2, false), MICA_I32);
  for (int64_t k = 0; k < t->state_count; k++) mica_assign(old[k], states[k]);
  if (mica_graph_status(t->graph) != MICA_OK)
    return mica__fail(mica_graph_status(t->graph), "%s", mica_graph_message(t->graph));
  const mica_session_config own = {.share = t->how.share};
  MICA_TRY(mica_session_create(t->how.engine, t->graph, &best, 1, &own, &t->session));
  return mica_tensor_create(t->how.engine, MICA_F32, MICA_SHAPE(1, t->window), &t->sound);
}

/* Goes back to the beginning of a recording: all states are zeros, and the text is empty. */
static mica_status reset(mica_transcriber *t) {
  t->held = t->taken = t->written = 0;
  if (t->search) mica_ctc_search_reset(t->search);
  t->before = 0;
  t->finished = false;
  t->text.length = 0;
  mica__text_add(&t->text, "");
  MICA_TRY(mica__text_status(&t->text));
  t->text.data[0] = '\0';
  for (int64_t k = 0; k < t->state_count; k++) {
    mica_tensor *state = mica_session_parameter(t->session, t->states[k].name);
    if (!state) continue;
    void *zeros = calloc(1, mica_tensor_bytes(state));
    mica_status status = zeros ? mica_tensor_upload(t->queue, state, zeros, mica_tensor_bytes(state))
                               : mica__fail_nomem("a transcriber");
    free(zeros);
    MICA_TRY(status);
  }
  return MICA_OK;
}

static mica_status start(mica_transcriber *t, int32_t rate, double chunk) {
  const mica__strings_time *time = &t->how.time;
  if (!(chunk > 0)) chunk = CHUNK;
  t->queue = mica_engine_queue(t->how.engine);
  t->given_rate = rate ? rate : (int32_t)time->rate;
  t->steps = (int64_t)(chunk * time->rate / (double)time->stride + 0.5);
  if (t->steps < 1) t->steps = 1;
  t->window = (t->steps - 1) * time->stride + time->reach;
  t->samples = calloc((size_t)t->window, sizeof *t->samples);
  t->best = calloc((size_t)t->steps, sizeof *t->best);
  t->scores = t->how.searches ? calloc((size_t)(t->steps * t->how.classes), sizeof *t->scores) : NULL;
  if (!t->samples || !t->best || (t->how.searches && !t->scores)) return mica__fail_nomem("a transcriber");
  if (t->how.searches) MICA_TRY(mica_ctc_search_create(t->how.classes, &t->how.beam, &t->search));
  MICA_TRY(build(t));
  return reset(t);
}

void mica__transcription_free(mica__transcription *how) {
  free(how->letters);
  mica_text_model_destroy(how->model);
}

mica_status mica__transcriber_make(const mica__transcription *how, int32_t rate, double chunk, mica_transcriber **out) {
  mica_transcriber *t = calloc(1, sizeof *t);
  mica__transcription own = *how;
  if (!t) {
    mica__transcription_free(&own);
    return mica__fail_nomem("a transcriber");
  }
  t->how = own;
  mica_status status = start(t, rate, chunk);
  if (status == MICA_OK)
    *out = t;
  else
    mica_transcriber_destroy(t);
  return status;
}

void mica_transcriber_destroy(mica_transcriber *t) {
  if (!t) return;
  mica_session_destroy(t->session);
  mica_tensor_destroy(t->sound);
  mica_nn_destroy(t->nn);
  mica_graph_destroy(t->graph);
  mica__resampler_destroy(t->resampler);
  mica__text_free(&t->text);
  mica_ctc_search_destroy(t->search);
  free(t->scores);
  free(t->labels);
  free(t->samples);
  free(t->best);
  mica__transcription_free(&t->how);
  free(t);
}

/* Writes the labels that the search has found since the last call. If `last` is true, these are the rest of the best
 * labels. Otherwise they are the labels that later sound cannot change. */
static mica_status write_found(mica_transcriber *t, bool last) {
  const int64_t most = mica_ctc_search_frames(t->search);
  if (most > t->label_room) {
    int32_t *more = realloc(t->labels, 2 * (size_t)most * sizeof *more);
    if (!more) return mica__fail_nomem("a text");
    t->labels = more;
    t->label_room = 2 * most;
  }
  if (!most) return MICA_OK;
  const int64_t count =
      last ? mica_ctc_search_best(t->search, t->labels, NULL) : mica_ctc_search_stable(t->search, t->labels);
  for (; t->written < count; t->written++) mica__letter_add(&t->text, t->how.letters[t->labels[t->written] - 1]);
  return mica__text_status(&t->text);
}

/* Writes the letters of the first `steps` steps of a computed chunk. */
static mica_status take_steps(mica_transcriber *t, int64_t steps) {
  const mica_tensor *output = mica_session_output(t->session, 0);
  if (t->search) {
    MICA_TRY(mica_tensor_download(t->queue, output, t->scores, mica_tensor_bytes(output)));
    MICA_TRY(mica_ctc_search_push(t->search, t->scores, steps));
    return write_found(t, false);
  }
  MICA_TRY(mica_tensor_download(t->queue, output, t->best, (size_t)t->steps * sizeof *t->best));
  for (int64_t i = 0; i < steps; i++) {
    if (t->best[i] > 0 && t->best[i] != t->before) mica__letter_add(&t->text, t->how.letters[t->best[i] - 1]);
    t->before = t->best[i];
  }
  return mica__text_status(&t->text);
}

/* Computes the chunk, whose first `steps` steps are valid, and moves on past them. */
static mica_status compute(mica_transcriber *t, int64_t steps) {
  const mica_feed feed = {"sound", t->sound};
  MICA_TRY(mica_tensor_upload(t->queue, t->sound, t->samples, (size_t)t->window * sizeof *t->samples));
  MICA_TRY(mica_session_run(t->session, t->queue, &feed, 1));
  MICA_TRY(take_steps(t, steps));
  const int64_t gone = steps * t->how.time.stride < t->held ? steps * t->how.time.stride : t->held;
  t->held -= gone;
  memmove(t->samples, t->samples + gone, (size_t)t->held * sizeof *t->samples);
  return MICA_OK;
}

/* Takes samples at the network's rate; NULL means zeros. */
static mica_status take(void *user, const float *samples, int64_t count) {
  mica_transcriber *t = user;
  for (int64_t at = 0; at < count;) {
    const int64_t room = t->window - t->held, n = count - at < room ? count - at : room;
    if (samples)
      memcpy(t->samples + t->held, samples + at, (size_t)n * sizeof *samples);
    else
      memset(t->samples + t->held, 0, (size_t)n * sizeof *samples);
    t->held += n;
    at += n;
    if (t->held == t->window) MICA_TRY(compute(t, t->steps));
  }
  return MICA_OK;
}

/* Takes samples at the recording's rate; last: no more will follow. */
static mica_status resample(mica_transcriber *t, const float *samples, int64_t count, bool last) {
  return mica__sound_resample(&t->resampler, t->given_rate, (int32_t)t->how.time.rate, samples, count, last, take, t);
}

mica_status mica_transcriber_push(mica_transcriber *t, const float *samples, int64_t count) {
  if (!t || count < 0 || (count && !samples))
    return mica__fail(MICA_E_INVALID,
                      "mica_transcriber_push: a pointer is NULL, or the number of samples (%lld) is negative",
                      (long long)count);
  if (t->finished) MICA_TRY(reset(t));
  MICA_TRY(mica__sound_check(samples, count, t->taken));
  MICA_TRY(resample(t, samples, count, false));
  t->taken += count;
  return MICA_OK;
}

mica_status mica_transcriber_finish(mica_transcriber *t) {
  if (!t) return mica__fail(MICA_E_INVALID, "mica_transcriber_finish: a pointer is NULL");
  if (t->finished) MICA_TRY(reset(t));
  MICA_TRY(resample(t, NULL, 0, true));
  MICA_TRY(take(t, NULL, t->how.time.tail));
  const int64_t steps = mica__strings_steps(&t->how.time, t->held);
  memset(t->samples + t->held, 0, (size_t)(t->window - t->held) * sizeof *t->samples);
  if (steps > 0) MICA_TRY(compute(t, steps));
  if (t->search) MICA_TRY(write_found(t, true));
  if (t->text.length && t->text.data[t->text.length - 1] == ' ') t->text.data[--t->text.length] = '\0';
  mica__resampler_destroy(t->resampler);
  t->resampler = NULL;
  t->finished = true;
  return MICA_OK;
}

const char *mica_transcriber_text(const mica_transcriber *t) { return t && t->text.data ? t->text.data : ""; }
double mica_transcriber_seconds(const mica_transcriber *t) { return t ? (double)t->taken / (double)t->given_rate : 0; }
