/* networks/speaker.h: a network that turns text into speech. Convolutions over the letters predict how many frames each
 * letter takes, and convolutions over the frames predict the spectra (FastSpeech 2, Ren et al. 2021). In training,
 * frames are aligned with letters as in Badlani et al. 2021. */
#ifndef MICA_NETWORKS_SPEAKER_H
#define MICA_NETWORKS_SPEAKER_H

#include <mica/nn.h>
#include <mica/signal.h>

typedef struct mica__speaker {
  double rate; /* samples per second */
  int64_t mels, width, encoder_layers, layers;
  int64_t kernel; /* odd */
  double dropout;
  int64_t speakers;
  int64_t classes;        /* one per letter, and class 0 for silence and padding */
  const int32_t *letters; /* code points of the classes 1, 2, ..., ascending */
} mica__speaker;

/* --- spectra --- */

/* How spectra are computed: frames of 25 ms, enlarged to a power of two samples, every 10 ms. */
mica_stft_config mica__speaker_stft(double rate);
/* The root mean square to which recordings and the network's speech are scaled. Speech that would leave the range -1 to
 * 1 is scaled to less. */
#define MICA__SPEAKER_LEVEL 0.1
/* The number of frequencies of a spectrum. */
int64_t mica__speaker_bins(double rate);
/* Scales recordings (N, T) to the level MICA__SPEAKER_LEVEL. The level of recording n is measured over its first
 * lengths[n] samples; all later ones must be 0. */
mica_value mica__speaker_levelled(mica_value sound, mica_value lengths);
/* The number of frames (N) of recordings, given their lengths (N) in samples. */
mica_value mica__speaker_frames(double rate, mica_value lengths);
/* scale converts magnitudes to the form that the network learns, (log(x + floor) - mean) / deviation; unscale converts
 * them back, to at least 0. */
mica_value mica__speaker_scale(mica_value magnitudes);
mica_value mica__speaker_unscale(mica_value scaled);

/* Scaled spectra (N, bins, F) and mel spectra (N, mels, F). */
typedef struct mica__speaker_spectra {
  mica_value spectrum, mel;
} mica__speaker_spectra;
/* Spectra of recordings (N, T) in the form that the network outputs. */
mica__speaker_spectra mica__speaker_spectra_of(const mica__speaker *s, mica_value sound);

/* --- the network --- */

/* The letter at both ends of a text: silence. */
#define MICA__SPEAKER_SILENCE 0

/* Texts and their speakers. letters (N, L) are code points; letters after the first lengths[n] of text n are padding.
 * speakers (N) gives one speaker per text. If speakers is null, shares (N, speakers) f32 gives the weights with which
 * the speakers' voices are mixed. */
typedef struct mica__speaker_words {
  mica_value letters, lengths, speakers, shares;
} mica__speaker_words;

/* Letters in their context. */
typedef struct mica__speaker_code {
  mica_value code;      /* (N, width, L) */
  mica_value mask;      /* (N, 1, L): 1 where a letter counts */
  mica_value voice;     /* (N, width, 1) */
  mica_value durations; /* (N, L): predicted log(1 + frames) of each letter */
} mica__speaker_code;

/* 1 for the first lengths[n] positions of the last axis of x (N, K, X), else 0: (N, 1, X) f32. */
mica_value mica__speaker_mask(mica_value x, mica_value lengths);
mica__speaker_code mica__speaker_encode(mica_nn *nn, const mica__speaker *s, const mica__speaker_words *words);
/* Logits (N, F, 1 + L): how well each frame of mel (N, mels, F) fits no letter, and each of the letters. */
mica_value mica__speaker_align(mica_nn *nn, const mica__speaker *s, const mica__speaker_words *words, mica_value mel,
                               mica_value frame_mask);
/* Spectra of letters, each of `durations` (N, L) frames. */
mica__speaker_spectra mica__speaker_decode(mica_nn *nn, const mica__speaker *s, const mica__speaker_code *code,
                                           mica_value durations, mica_value frame_mask);

/* Logits (N, speakers): the speaker of mel spectra (N, mels, F). */
mica_value mica__speaker_listen(mica_nn *nn, const mica__speaker *s, mica_value mel, mica_value frame_mask);

/* --- training --- */

/* Adds the letter for silence at both ends of texts (N, S) of code points; only the first lengths[n] of text n count.
 * The result has neither speakers nor shares. */
mica__speaker_words mica__speaker_words_of(mica_value letters, mica_value lengths);
/* Losses for recordings (N, T) of texts. If the graph has failed, `loss` is null, and the others may be. `spectrum` is
 * the sum over frames of the mean absolute difference of the spectra, and `frames` is the number of frames. `duration`
 * is the sum over letters of the absolute error of their durations, in frames, and `letters` is the number of letters,
 * silence included, but at least 1. */
typedef struct mica__speaker_losses {
  mica_value loss, spectrum, duration, frames, letters;
} mica__speaker_losses;
mica__speaker_losses mica__speaker_losses_of(mica_nn *nn, const mica__speaker *s, const mica__speaker_words *words,
                                             const mica__speaker_code *code, mica_value sound, mica_value lengths);

#endif
