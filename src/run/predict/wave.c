/* The wave of a spectrum whose phases are unknown: Griffin-Lim (Griffin and Lim 1984) with momentum (Perraudin et al.
 * 2013). */
#include "run/predict/wave.h"
#include "ops/random/philox.h"

#include <math.h>
#include <mica/nodes.h>
#include <mica/session.h>
#include <stdlib.h>

#define MOMENTUM 0.99
/* A word of the Philox counter, "wave", that separates these random numbers from those of other uses. */
#define KEY UINT32_C(0x77617665)
#define TWO_PI 6.28318530717958647692

enum { MAGNITUDES, SPECTRUM, BEFORE, PARAMETERS };
static const char *const names[PARAMETERS] = {"magnitudes", "spectrum", "before"};

typedef struct finder {
  mica_engine *engine;
  mica_graph *graph;
  mica_session *session;
  mica_shape shapes[PARAMETERS];
} finder;

static void free_finder(finder *f) {
  mica_session_destroy(f->session);
  mica_graph_destroy(f->graph);
}

/* Builds one iteration. It computes the wave of the spectrum in parameter SPECTRUM, scaled to the given magnitudes.
 * It then sets parameter BEFORE to the spectrum of that wave, and SPECTRUM to the one to start the next iteration
 * from. */
static mica_status build(finder *f, const mica_stft_config *c, int64_t count) {
  mica_value in[PARAMETERS];
  MICA_TRY(mica_graph_create(&f->graph));
  for (int i = 0; i < PARAMETERS; i++) in[i] = mica_parameter(f->graph, names[i], MICA_F32, f->shapes[i]);
  mica_value size = mica_maximum(mica_magnitude(in[SPECTRUM], 1), mica_full_like(in[MAGNITUDES], 1e-8));
  mica_value given = mica_mul(in[SPECTRUM], mica_unsqueeze(mica_div(in[MAGNITUDES], size), MICA_AXES(3)));
  mica_value wave = mica_istft(given, mica_full(f->graph, MICA_F32, MICA_SHAPE(1, count), 0), c);
  mica_value spectrum = mica_stft(wave, c);
  mica_assign(in[SPECTRUM], mica_add(spectrum, mica_affine(mica_sub(spectrum, in[BEFORE]), MOMENTUM, 0)));
  mica_assign(in[BEFORE], spectrum);
  return mica_session_create(f->engine, f->graph, &wave, 1, NULL, &f->session);
}

static mica_status upload(const finder *f, int which, const float *data) {
  mica_tensor *tensor = mica_session_parameter(f->session, names[which]);
  return mica_tensor_upload(mica_engine_queue(f->engine), tensor, data, mica_tensor_bytes(tensor));
}

/* Fills in random phases to begin with, as pairs of cosine and sine; they are the same in each call. */
static void fill_phases(float *pairs, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    uint32_t words[4] = {(uint32_t)i, KEY, 0, 0};
    mica__philox(words, 0, 0);
    pairs[2 * i] = (float)cos((double)words[0] * 0x1p-32 * TWO_PI);
    pairs[2 * i + 1] = (float)sin((double)words[0] * 0x1p-32 * TWO_PI);
  }
}

static mica_status iterate(const finder *f, int64_t iterations, float *samples) {
  mica_queue *queue = mica_engine_queue(f->engine);
  for (int64_t i = 0; i < iterations; i++) MICA_TRY(mica_session_run(f->session, queue, NULL, 0));
  const mica_tensor *wave = mica_session_output(f->session, 0);
  return mica_tensor_download(queue, wave, samples, mica_tensor_bytes(wave));
}

mica_status mica__find_wave(mica_engine *engine, const mica_stft_config *stft, const float *magnitudes, int64_t frames,
                            int64_t iterations, float **samples, int64_t *count) {
  const int64_t bins = stft->length / 2 + 1, hop = stft->hop;
  finder f = {.engine = engine,
              .shapes = {MICA_SHAPE(1, bins, frames), MICA_SHAPE(1, bins, frames, 2), MICA_SHAPE(1, bins, frames, 2)}};
  *count = hop * (frames - 1);
  *samples = calloc((size_t)*count + 1, sizeof **samples);
  float *pairs = calloc((size_t)(2 * bins * frames), sizeof *pairs);
  mica_status status = *samples && pairs ? build(&f, stft, *count) : mica__fail_nomem("a wave");
  if (status == MICA_OK) status = upload(&f, MAGNITUDES, magnitudes);
  if (status == MICA_OK) fill_phases(pairs, bins * frames);
  if (status == MICA_OK) status = upload(&f, SPECTRUM, pairs);
  if (status == MICA_OK) status = iterate(&f, iterations, *samples);
  free(pairs);
  free_finder(&f);
  if (status == MICA_OK) return status;
  free(*samples);
  *samples = NULL;
  return status;
}
