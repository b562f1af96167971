/* The network that turns texts into speech, its losses, and a small network that recognises the speaker. */
#include "networks/speaker.h"
#include "networks/recogniser.h"

#include <math.h>
#include <mica/loss.h>
#include <mica/nodes.h>
#include <stdio.h>

/* FLOOR is added to a magnitude before the logarithm. MEAN and DEVIATION describe the logarithms for speech, and
 * standardise them. */
#define FLOOR 0.01
#define MEAN -1.0
#define DEVIATION 2.0
/* Added to a recording's power, so that silence is not divided by 0. */
#define LEAST_POWER 1e-8
/* Channels of the network that recognises voices. */
#define LISTENER 32
/* An alignment is expected to follow the text at an even pace. This is the standard deviation of a frame's position
 * from that pace, as a share of the text's length. */
#define WIDTH_OF_DIAGONAL 0.15
/* NO_LETTER: the score of "no letter", which is so low that each frame goes to a letter. HIDDEN: subtracted from the
 * scores of letters beyond the end of the text. */
#define NO_LETTER -12.0
#define HIDDEN 1e4
/* The most frames of a letter, as log(1 + frames). */
#define LONGEST 7.0
/* The weights of the losses for alignment, durations and speakers beside that for spectra. */
#define ALIGNMENT 1.0
#define DURATIONS 0.2
#define VOICES 0.2
/* The number of frequencies in the sines and cosines that tell a frame its position in its letter. */
#define WAVES 3
#define PI 3.14159265358979323846

typedef mica__speaker speaker;

/* --- spectra --- */

mica_stft_config mica__speaker_stft(double rate) {
  mica_stft_config c = {.length = 1, .hop = (int64_t)(rate * 0.01), .pad = MICA_SIGNAL_PAD_ZERO};
  if (c.hop < 1) c.hop = 1;
  while ((double)c.length < rate * 0.025) c.length *= 2;
  return c;
}

int64_t mica__speaker_bins(double rate) { return mica__speaker_stft(rate).length / 2 + 1; }

mica_value mica__speaker_scale(mica_value magnitudes) {
  return mica_affine(mica_log(mica_affine(magnitudes, 1, FLOOR)), 1 / DEVIATION, -MEAN / DEVIATION);
}

mica_value mica__speaker_unscale(mica_value scaled) {
  return mica_relu(mica_affine(mica_exp(mica_affine(scaled, DEVIATION, MEAN)), 1, -FLOOR));
}

mica_value mica__speaker_levelled(mica_value sound, mica_value lengths) {
  mica_value energy = mica_sum(mica_square(sound), MICA_AXES(1), true);
  mica_value count = mica_unsqueeze(mica_cast(lengths, MICA_F32), MICA_AXES(1));
  mica_value power = mica_div(energy, mica_maximum(count, mica_full_like(count, 1)));
  return mica_mul(sound, mica_affine(mica_rsqrt(mica_affine(power, 1, LEAST_POWER)), MICA__SPEAKER_LEVEL, 0));
}

mica__speaker_spectra mica__speaker_spectra_of(const speaker *s, mica_value sound) {
  const mica_mel_config mel = {
      .stft = mica__speaker_stft(s->rate), .rate = s->rate, .mels = s->mels, .norm = MICA_MEL_NORM_NONE};
  mica_value magnitudes = mica_magnitude(mica_stft(sound, &mel.stft), 1);
  mica_value filters = mica_transpose(mica_mel_filters(sound.graph, &mel), MICA_AXES(1, 0));
  return (mica__speaker_spectra){.spectrum = mica__speaker_scale(magnitudes),
                                 .mel = mica__speaker_scale(mica_matmul(filters, magnitudes))};
}

mica_value mica__speaker_frames(double rate, mica_value lengths) {
  const double hop = (double)mica__speaker_stft(rate).hop;
  return mica_add(mica_div(lengths, mica_full_like(lengths, hop)), mica_full_like(lengths, 1));
}

/* --- layers --- */

mica_value mica__speaker_mask(mica_value x, mica_value lengths) {
  mica_value positions = mica_cumsum(mica_full_like(mica_slice(x, 1, 0, 1, 1), 1), 2, true, false);
  mica_value each = mica_unsqueeze(mica_cast(lengths, MICA_F32), MICA_AXES(1, 2));
  return mica_cast(mica_less(positions, each), MICA_F32);
}

static mica_value convolved(mica_nn *nn, const char *name, mica_value x, int64_t filters, int64_t size) {
  const mica_nn_conv_config c = {.how.pad = {size / 2}, .weight = {.kind = MICA_INIT_XAVIER_UNIFORM}};
  return mica_nn_conv(nn, name, x, filters, size, &c);
}

/* A residual convolution. */
static mica_value block(mica_nn *nn, const char *name, int64_t i, mica_value x, mica_value mask, const speaker *s) {
  const mica_nn_conv_config c = {
      .how.pad = {s->kernel / 2}, .no_bias = true, .weight = {.kind = MICA_INIT_XAVIER_UNIFORM}};
  /* A block begins with small weights, so that a chain of blocks keeps the size of its input. */
  const mica_norm_config norm = {.scale = 0.3};
  char numbered[32];
  snprintf(numbered, sizeof numbered, "%s%d", name, (int)i);
  mica_nn_push(nn, numbered);
  mica_value y = mica_nn_conv(nn, "conv", x, s->width, s->kernel, &c);
  y = mica_nn_dropout(nn, mica_relu(mica_nn_batch_norm(nn, "norm", y, &norm)), s->dropout);
  mica_nn_pop(nn);
  return mica_mul(mica_add(x, y), mask);
}

static mica_value embedded(mica_nn *nn, const char *name, const speaker *s, mica_value letters, int64_t width) {
  mica_value classes = mica__letters_as_classes(letters, s->letters, s->classes - 1);
  return mica_transpose(mica_nn_embedding(nn, name, classes, s->classes, width, NULL), MICA_AXES(0, 2, 1));
}

/* The vector of the voice (N, width) of each text. */
static mica_value voice_of(mica_nn *nn, const speaker *s, const mica__speaker_words *words) {
  const int64_t speakers = s->speakers, width = s->width;
  if (words->speakers.graph) return mica_nn_embedding(nn, "speakers", words->speakers, speakers, width, NULL);
  mica_value all = mica_cumsum(mica_full(words->shares.graph, MICA_I32, MICA_SHAPE(speakers), 1), 0, true, false);
  return mica_matmul(words->shares, mica_nn_embedding(nn, "speakers", all, speakers, width, NULL));
}

mica__speaker_code mica__speaker_encode(mica_nn *nn, const speaker *s, const mica__speaker_words *words) {
  mica__speaker_code c = {0};
  mica_value x = embedded(nn, "letters", s, words->letters, s->width);
  c.mask = mica__speaker_mask(x, words->lengths);
  c.voice = mica_unsqueeze(voice_of(nn, s, words), MICA_AXES(2));
  x = mica_mul(x, c.mask);
  for (int64_t i = 0; i < s->encoder_layers; i++) x = block(nn, "encoder", i, x, c.mask, s);
  c.code = mica_mul(mica_add(x, c.voice), c.mask);
  /* No gradient flows from the durations back to the letters' features. */
  mica_value d = mica_stop_gradient(c.code);
  for (int64_t i = 0; i < 2; i++) d = block(nn, "duration", i, d, c.mask, s);
  d = mica_mul(mica_clip(mica_softplus(convolved(nn, "durations", d, 1, 1)), 0, LONGEST), c.mask);
  c.durations = mica_squeeze(d, MICA_AXES(1));
  return c;
}

/* --- alignment --- */

/* Turns scores (N, F, 1 + L) of letters into log probabilities, and lowers the log probabilities of letters that are
 * far from the even pace: a frame in the middle of the recording should belong to a letter in the middle of the text.
 * "No letter" gets NO_LETTER.
 *
 *   frames   (N, F, 1): position of each frame as a share of the recording, from 0 to 1
 *   numbers  (N, 1, 1 + L): number of each letter in the text, 1, 2, ...; 0 means no letter
 *   lengths  (N): number of letters of each text */
static mica_value near_diagonal(mica_value scores, mica_value frames, mica_value numbers, mica_value lengths) {
  mica_value each = mica_unsqueeze(mica_cast(lengths, MICA_F32), MICA_AXES(1, 2));
  mica_value none = mica_full_like(numbers, 0), hidden = mica_full_like(numbers, HIDDEN);
  mica_value letter = mica_logical_and(mica_greater(numbers, none), mica_less_equal(numbers, each));
  scores = mica_log_softmax(mica_sub(scores, mica_where(letter, none, hidden)), 2);
  mica_value shares = mica_div(mica_affine(numbers, 1, -0.5), mica_maximum(each, mica_full_like(each, 1)));
  mica_value apart = mica_square(mica_sub(frames, shares));
  scores = mica_add(scores, mica_affine(apart, -0.5 / (WIDTH_OF_DIAGONAL * WIDTH_OF_DIAGONAL), 0));
  return mica_where(mica_greater(numbers, none), scores, mica_full_like(numbers, NO_LETTER));
}

mica_value mica__speaker_align(mica_nn *nn, const speaker *s, const mica__speaker_words *words, mica_value mel,
                               mica_value frame_mask) {
  const int64_t width = s->mels;
  mica_value nothing = mica_full_like(mica_unsqueeze(words->lengths, MICA_AXES(1)), 0);
  mica_value letters = mica_concat((mica_value[]){nothing, words->letters}, 2, 1);
  mica_nn_push(nn, "align");
  mica_value keys = embedded(nn, "letters", s, letters, width);
  keys = mica_add(keys, convolved(nn, "context", mica_relu(convolved(nn, "keys", keys, 2 * width, 3)), width, 1));
  mica_value queries = mica_relu(convolved(nn, "frames", mel, 2 * width, 5));
  queries = convolved(nn, "queries", queries, width, 1);
  mica_nn_pop(nn);
  mica_value product = mica_matmul(mica_transpose(queries, MICA_AXES(0, 2, 1)), keys);
  mica_value norm = mica_sum(mica_square(keys), MICA_AXES(1), true);
  mica_value scores = mica_affine(mica_sub(mica_affine(product, 2, 0), norm), 1 / (double)width, 0);
  mica_value positions = mica_affine(mica_cumsum(mica_full_like(frame_mask, 1), 2, true, false), 1, 0.5);
  positions = mica_div(positions, mica_sum(frame_mask, MICA_AXES(2), true));
  mica_value numbers = mica_cumsum(mica_full_like(norm, 1), 2, true, false);
  return near_diagonal(scores, mica_transpose(positions, MICA_AXES(0, 2, 1)), numbers, words->lengths);
}

/* --- frames --- */

/* Features (N, 2 + 2 WAVES, F) of each frame's position within its letter. belongs (N, F, L) is the weight with which
 * each frame belongs to each letter. times, starts and durations are in frames. */
static mica_value relative(mica_value belongs, mica_value times, mica_value starts, mica_value durations) {
  mica_value list[2 + 2 * WAVES];
  mica_value least = mica_maximum(durations, mica_full_like(durations, 1));
  mica_value share = mica_sum(mica_mul(belongs, mica_div(mica_sub(times, starts), least)), MICA_AXES(2), false);
  mica_value length = mica_sum(mica_mul(belongs, mica_log1p(durations)), MICA_AXES(2), false);
  list[0] = share, list[1] = length;
  for (int k = 0; k < WAVES; k++) {
    list[2 + 2 * k] = mica_sin(mica_affine(share, (k + 1) * PI, 0));
    list[3 + 2 * k] = mica_cos(mica_affine(share, (k + 1) * PI, 0));
  }
  for (int k = 0; k < 2 + 2 * WAVES; k++) list[k] = mica_unsqueeze(list[k], MICA_AXES(1));
  return mica_concat(list, 2 + 2 * WAVES, 1);
}

mica__speaker_spectra mica__speaker_decode(mica_nn *nn, const speaker *s, const mica__speaker_code *code,
                                           mica_value durations, mica_value frame_mask) {
  mica_value d = mica_unsqueeze(durations, MICA_AXES(1)), ends = mica_cumsum(d, 2, false, false);
  mica_value starts = mica_sub(ends, d);
  mica_value times = mica_affine(mica_cumsum(mica_full_like(frame_mask, 1), 2, true, false), 1, 0.5);
  times = mica_transpose(times, MICA_AXES(0, 2, 1));
  /* A letter's frames are between its start and its end. The weights change smoothly at these two times, over about one
   * frame. */
  mica_value belongs = mica_sub(mica_sigmoid(mica_affine(mica_sub(times, starts), 4, 0)),
                                mica_sigmoid(mica_affine(mica_sub(times, ends), 4, 0)));
  belongs = mica_mul(belongs, code->mask);
  mica_value x = mica_matmul(code->code, mica_transpose(belongs, MICA_AXES(0, 2, 1)));
  x = mica_add(x, convolved(nn, "positions", relative(belongs, times, starts, d), s->width, 1));
  x = mica_mul(mica_add(x, code->voice), frame_mask);
  for (int64_t i = 0; i < s->layers; i++) x = block(nn, "decoder", i, x, frame_mask, s);
  return (mica__speaker_spectra){.spectrum = convolved(nn, "spectrum", x, mica__speaker_bins(s->rate), 1),
                                 .mel = convolved(nn, "mel", x, s->mels, 1)};
}

/* --- voices --- */

mica_value mica__speaker_listen(mica_nn *nn, const speaker *s, mica_value mel, mica_value frame_mask) {
  mica_nn_push(nn, "listen");
  mica_value x = mica_relu(convolved(nn, "first", mel, LISTENER, 5));
  x = mica_mul(mica_relu(convolved(nn, "second", x, LISTENER, 5)), frame_mask);
  mica_value count = mica_sum(frame_mask, MICA_AXES(2), false);
  x = mica_div(mica_sum(x, MICA_AXES(2), false), mica_maximum(count, mica_full_like(count, 1)));
  x = mica_nn_dense(nn, "speakers", x, s->speakers, NULL);
  mica_nn_pop(nn);
  return x;
}

/* --- training --- */

mica__speaker_words mica__speaker_words_of(mica_value letters, mica_value lengths) {
  mica_value each = mica_unsqueeze(lengths, MICA_AXES(1)), silence = mica_full_like(each, MICA__SPEAKER_SILENCE);
  mica_value positions = mica_cumsum(mica_full_like(letters, 1), 1, true, false);
  letters = mica_mul(letters, mica_cast(mica_less(positions, each), MICA_I32));
  mica__speaker_words words = {.letters = mica_concat((mica_value[]){silence, letters, silence}, 3, 1)};
  words.lengths = mica_add(lengths, mica_full_like(lengths, 2));
  return words;
}

/* The expected number of frames of each letter (N, L) over all alignments; null if the graph has failed. *loss
 * receives the loss of the alignments, summed over the batch. */
static mica_value durations_of(mica_value logits, const mica__speaker_words *words, mica_value frames,
                               mica_value frame_mask, mica_value *loss) {
  mica_value first = mica_transpose(logits, MICA_AXES(1, 0, 2)), gradient = {0};
  mica_value positions = mica_cumsum(mica_full_like(words->letters, 1), 1, false, false);
  *loss = mica_ctc_loss(first, positions, frames, words->lengths,
                        &(mica_ctc_config){.reduction = MICA_LOSS_REDUCTION_SUM, .zero_infinity = true});
  if (!loss->graph || mica_gradients(*loss, &first, 1, &gradient) != MICA_OK) return (mica_value){0};
  /* The gradient of the CTC loss with respect to the logits is the softmax minus the probability that the frame belongs
   * to the letter. So the probability is the softmax minus the gradient. */
  mica_value there = mica_sub(mica_softmax(first, 2), gradient);
  there = mica_mul(there, mica_transpose(frame_mask, MICA_AXES(2, 0, 1)));
  return mica_stop_gradient(mica_gather_elements(mica_sum(there, MICA_AXES(0), false), positions, 1));
}

static mica_value total(mica_value x) { return mica_sum(x, MICA_ALL_AXES, false); }

/* The sum over frames of the mean absolute difference over frequencies. */
static mica_value distance(mica_value a, mica_value b, mica_value mask) {
  const double count = (double)mica_value_shape(a).dim[1];
  return mica_affine(total(mica_mul(mica_abs(mica_sub(a, b)), mask)), 1 / count, 0);
}

mica__speaker_losses mica__speaker_losses_of(mica_nn *nn, const speaker *s, const mica__speaker_words *words,
                                             const mica__speaker_code *code, mica_value sound, mica_value lengths) {
  mica__speaker_losses l = {.loss = {0}};
  mica_value frames = mica__speaker_frames(s->rate, lengths);
  const mica__speaker_spectra want = mica__speaker_spectra_of(s, mica__speaker_levelled(sound, lengths));
  if (!want.mel.graph) return l;
  mica_value mask = mica__speaker_mask(want.mel, frames), aligned = {0};
  mica_value logits = mica__speaker_align(nn, s, words, want.mel, mask);
  mica_value durations = durations_of(logits, words, frames, mask, &aligned);
  if (!durations.graph) return l;
  const mica__speaker_spectra z = mica__speaker_decode(nn, s, code, durations, mask);
  if (!z.mel.graph) return l;
  mica_value letter_mask = mica_squeeze(code->mask, MICA_AXES(1));
  l.frames = total(mask);
  l.letters = mica_maximum(total(letter_mask), mica_full_like(l.frames, 1));
  mica_value apart = mica_mul(mica_sub(code->durations, mica_log1p(durations)), letter_mask);
  mica_value error = mica_mul(mica_sub(mica_expm1(code->durations), durations), letter_mask);
  l.spectrum = distance(z.spectrum, want.spectrum, mask);
  mica_value loss = mica_add(l.spectrum, distance(z.mel, want.mel, mask));
  mica_value voices = mica__speaker_listen(nn, s, want.mel, mask);
  loss = mica_div(mica_add(loss, mica_affine(aligned, ALIGNMENT, 0)), l.frames);
  loss = mica_add(loss, mica_affine(mica_div(total(mica_square(apart)), l.letters), DURATIONS, 0));
  l.loss = mica_add(loss, mica_affine(mica_cross_entropy(voices, words->speakers, NULL), VOICES, 0));
  l.duration = total(mica_abs(error));
  return l;
}
