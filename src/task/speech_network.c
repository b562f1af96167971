/* The network of the task speech: log mel spectra, two convolutions, recurrent layers that hear no more than has come.
 * Nothing is padded in time, so that parts of a recording give what the whole does. */
#include "task/speech.h"

#include <math.h>
#include <mica/nodes.h>
#include <mica/sequence.h>
#include <mica/signal.h>
#include <stdio.h>

/* What is added to a mel power before its logarithm: that of rounding to 16 bits. */
#define LEAST_POWER 1e-7
/* Seconds. */
#define TAIL 0.4
/* Steps that a layer sees before the recurrent ones: with 40 ms a step most of a short word. */
#define SPAN 5
/* Frames and frequencies that a filter sees. */
#define WINDOW 3

static int64_t whole(const mica_run *run, const char *name) { return (int64_t)mica_run_number(run, name); }

int64_t mica__speech_tail(double rate) { return (int64_t)(rate * TAIL); }

/* Frames are of 25 ms, enlarged to a power of two, and begin each 10 ms. */
mica__speech_time mica__speech_time_of(const mica_run *run) {
  const double rate = mica__run_fact_number(run, "rate", 0);
  mica__speech_time t = {.length = 1, .hop = (int64_t)(rate * 0.01)};
  const int64_t second = whole(run, "reduction") / 2;
  if (t.hop < 1) t.hop = 1;
  while ((double)t.length < rate * 0.025) t.length *= 2;
  t.stride = t.hop * 2 * second;
  t.reach = t.length + t.hop * (WINDOW - 1) * 3 + t.stride * (SPAN - 1);
  t.tail = mica__speech_tail(rate);
  return t;
}

int64_t mica__speech_steps(const mica__speech_time *t, int64_t samples) {
  return samples < t->reach ? 0 : 1 + (samples - t->reach) / t->stride;
}

int64_t mica__speech_layers(const mica_run *run) { return whole(run, "layers"); }
int64_t mica__speech_width(const mica_run *run) { return whole(run, "width"); }

mica_value mica__speech_spectra(const mica_run *run, mica_value x) {
  const mica__speech_time t = mica__speech_time_of(run);
  const mica_mel_config c = {.stft = {.length = t.length, .hop = t.hop, .pad = MICA_SIGNAL_PAD_NONE},
                             .rate = mica__run_fact_number(run, "rate", 0),
                             .mels = whole(run, "mels"),
                             .low = 20};
  return mica_log(mica_affine(mica_mel(x, &c), 1, LEAST_POWER));
}

static mica_value convolved(mica_nn *nn, const char *name, mica_value x, int64_t filters, int64_t stride) {
  const mica_nn_conv_config c = {
      .window = {WINDOW, WINDOW}, .how = {.stride = {2, stride}, .pad = {1, 0}}, .no_bias = true};
  mica_nn_push(nn, name);
  x = mica_relu(mica_nn_batch_norm(nn, "norm", mica_nn_conv(nn, "conv", x, filters, WINDOW, &c), NULL));
  mica_nn_pop(nn);
  return x;
}

mica_value mica__speech_network(mica_nn *nn, const mica_run *run, mica_value x, mica_value *states) {
  const int64_t width = mica__speech_width(run), masks = whole(run, "masks"), mels = whole(run, "mels");
  const double dropout = mica_run_number(run, "dropout");
  x = mica_nn_batch_norm(nn, "spectra", mica__speech_spectra(run, x), NULL);
  if (mica_nn_is_training(nn) && masks > 0)
    x = mica_spec_augment(
        x, mica_nn_step(nn),
        &(mica_spec_augment_config){
            .frequency_masks = masks, .frequency_width = mels / 6, .time_masks = masks, .time_width = 8, .seed = 23});
  x = convolved(nn, "first", mica_unsqueeze(x, MICA_AXES(1)), whole(run, "filters"), 2);
  x = convolved(nn, "second", x, whole(run, "filters"), whole(run, "reduction") / 2);
  /* A dense layer over all filters and frequencies of some steps. */
  const mica_nn_conv_config dense = {.window = {mica_value_shape(x).dim[2], SPAN}, .no_bias = true};
  x = mica_squeeze(mica_nn_conv(nn, "dense", x, width, 1, &dense), MICA_AXES(2));
  x = mica_transpose(mica_relu(mica_nn_batch_norm(nn, "norm", x, NULL)), MICA_AXES(0, 2, 1));
  /* What a recurrent layer hears is added to what it is given: letters are learned without it first. */
  for (int64_t k = 0; k < mica__speech_layers(run); k++) {
    char name[16];
    snprintf(name, sizeof name, "gru%d", (int)k);
    const mica_nn_rnn_config c = {.kind = MICA_RNN_KIND_GRU, .h0 = states ? &states[k] : NULL};
    mica_rnn_results r = mica_nn_rnn(nn, name, mica_nn_dropout(nn, x, dropout), width, &c);
    if (states) states[k] = r.h;
    x = mica_add(x, r.y);
  }
  x = mica_nn_dense(nn, "letters", mica_nn_dropout(nn, x, dropout), mica__speech_classes(run),
                    &(mica_dense_config){.weight = {.kind = MICA_INIT_XAVIER_UNIFORM}});
  return mica_value_dtype(x) == MICA_F32 ? x : mica_cast(x, MICA_F32);
}
