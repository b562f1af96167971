/* Recordings as spectra, and a network that tells words apart. */
#include "networks/keywords.h"

#include <mica/nodes.h>
#include <mica/signal.h>
#include <stdio.h>

#define BLOCKS 4
/* Added to the loudest mel power before all powers are divided by it, so that the powers of silence, which are 0, are
 * not divided by 0. It is below the power of any audible sound, and above the power of the errors of rounding to 16
 * bits. */
#define LEAST_POWER 1e-7
/* Powers that are more than a factor of RANGE (50 dB) below the loudest one are treated as silence. CENTRE and
 * DEVIATION standardise the logarithm: they are the negative mean and the standard deviation of the log power of
 * speech, relative to the loudest power. */
#define RANGE 1e5
#define CENTRE 7.0
#define DEVIATION 3.0

mica_value mica__keywords_middles(mica_nn *nn, mica_value x, mica_value lengths, int64_t length, double shift) {
  mica_value count = mica_unsqueeze(mica_cast(lengths, MICA_F32), MICA_AXES(1));
  mica_value start = mica_affine(count, 0.5, -0.5 * (double)length);
  if (mica_nn_is_training(nn) && shift >= 1)
    start = mica_add(start, mica_random_uniform(mica_nn_step(nn), start, 17, -shift, shift));
  mica_value at =
      mica_add(mica_reshape(mica_range(x.graph, MICA_F32, length), MICA_SHAPE(1, length)), mica_floor(start));
  mica_value inside = mica_logical_and(mica_greater_equal(at, mica_full_like(at, 0)), mica_less(at, count));
  mica_value index = mica_cast(mica_where(inside, at, mica_full_like(at, 0x1p30)), MICA_I64);
  return mica_gather_elements(x, index, 1);
}

mica_value mica__keywords_whole_middles(mica_value x, int64_t length) {
  /* The tensor of ones is computed from x, because the shape of x may be open if the model is part of a graph. */
  mica_value ones = mica_affine(mica_clip(x, 0, 0), 1, 1);
  mica_value count = mica_max(mica_sum(ones, MICA_AXES(1), false), MICA_AXES(0), false);
  mica_value start = mica_floor(mica_affine(count, 0.5, -0.5 * (double)length));
  mica_value at = mica_add(mica_range(x.graph, MICA_F32, length), start);
  mica_value kept = mica_maximum(mica_minimum(at, mica_affine(count, 1, -1)), mica_full_like(at, 0));
  mica_value y = mica_gather(x, mica_cast(kept, MICA_I64), 1);
  return mica_mul(y, mica_cast(mica_equal(at, kept), MICA_F32));
}

/* Log mel spectra (N, 1, mels, frames). The logarithm is about 0 at the loudest value of a recording and at least
 * -log(RANGE). It is then standardised: (log + CENTRE) / DEVIATION. So the loudness of a recording and zeros around it
 * hardly change the result. */
mica_value mica__keywords_spectra(mica_nn *nn, const mica__keywords *k, mica_value x) {
  const double rate = k->rate;
  mica_mel_config c = {.rate = rate, .mels = k->mels, .low = 20};
  c.stft.length = 1;
  while ((double)c.stft.length < rate * 0.025) c.stft.length *= 2;
  c.stft.hop = (int64_t)(rate * 0.01);
  mica_value power = mica_mel(x, &c);
  mica_value loudest = mica_affine(mica_max(power, MICA_AXES(1, 2), true), 1, LEAST_POWER);
  mica_value y = mica_log(mica_affine(mica_div(power, loudest), 1, 1 / RANGE));
  y = mica_affine(y, 1 / DEVIATION, CENTRE / DEVIATION);
  const int64_t masks = k->masks;
  if (mica_nn_is_training(nn) && masks > 0)
    y = mica_spec_augment(y, mica_nn_step(nn),
                          &(mica_spec_augment_config){.frequency_masks = masks,
                                                      .frequency_width = c.mels / 6,
                                                      .time_masks = masks,
                                                      .time_width = 12,
                                                      .seed = 23});
  return mica_unsqueeze(y, MICA_AXES(1));
}

static mica_value normed(mica_nn *nn, const char *name, mica_value x) {
  return mica_relu(mica_nn_batch_norm(nn, name, x, NULL));
}

mica_value mica__keywords_build(mica_nn *nn, const mica__keywords *k, mica_value x, int64_t outputs) {
  const int64_t width = k->width;
  x = mica_nn_conv(
      nn, "conv", x, width, 3,
      &(mica_nn_conv_config){.window = {4, 10}, .how = {.stride = {2, 2}, .pad = {1, 4}}, .no_bias = true});
  x = normed(nn, "norm", x);
  for (int i = 0; i < BLOCKS; i++) {
    char name[16];
    snprintf(name, sizeof name, "block%d", i);
    mica_nn_push(nn, name);
    x = mica_nn_conv(nn, "depthwise", x, width, 3,
                     &(mica_nn_conv_config){.how = {.stride = {i ? 1 : 2, i ? 1 : 2}, .pad = {1, 1}, .groups = width},
                                            .no_bias = true});
    x = normed(nn, "norm1", x);
    x = normed(nn, "norm2", mica_nn_conv(nn, "pointwise", x, width, 1, &(mica_nn_conv_config){.no_bias = true}));
    mica_nn_pop(nn);
  }
  x = mica_mean(x, MICA_AXES(2, 3), false);
  return mica_nn_dense(nn, "classes", mica_nn_dropout(nn, x, k->dropout), outputs, NULL);
}
