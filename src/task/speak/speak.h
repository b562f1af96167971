/* task/speak/speak.h: speech from texts. speak.c trains, network.c has settings and network, say.c speaks, and voice.c
 * tells whose voice a recording has. */
#ifndef MICA_TASK_SPEAK_SPEAK_H
#define MICA_TASK_SPEAK_SPEAK_H

#include "run/common_settings.h"
#include "run/fact_fields.h"
#include "run/run.h"
#include "task/input/strings.h"

#include <mica/signal.h>
#include <mica/speak.h>

#define SPEAK_SETTINGS(X, S)                                                                                           \
  X(S, TEXT, join, "join", "", "A-B",                                                                                  \
    "join A to B recordings of one speaker into a sample, their texts separated by spaces", .fixed = true)             \
  X(S, INT, strings, "strings", "0", "N", "joined samples per epoch; 0: twice the number of recordings", .low = 0,     \
    .high = 0x1p31, .of = "join=*", .fixed = true)                                                                     \
  X(S, REAL, gap, "gap", "0.1", "S", "silence between joined recordings, in seconds", .low = 0, .high = 60,            \
    .of = "join=*", .fixed = true)                                                                                     \
  MICA__MEL_SETTINGS(X, S, 8)                                                                                          \
  X(S, INT, width, "width", "96", "N", "channels of the network", .low = 8, .high = 4096, .fixed = true)               \
  X(S, INT, encoder_layers, "encoder-layers", "3", "N", "convolutions over letters", .low = 1, .high = 64,             \
    .fixed = true)                                                                                                     \
  X(S, INT, layers, "layers", "4", "N", "convolutions over frames", .low = 1, .high = 64, .fixed = true)               \
  X(S, INT, kernel, "kernel", "5", "N", "filter length, an odd number", .low = 1, .high = 63, .fixed = true)           \
  X(S, REAL, dropout, "dropout", "0", "P", "dropout after each convolution", .low = 0, .high = 0.95, .fixed = true)    \
  X(S, INT, iterations, "iterations", "60", "N", "iterations of Griffin-Lim", .low = 1, .high = 10000)

/* "alphabet": the letters of all texts of the training part. */
#define SPEAK_FACTS(X, S)                                                                                              \
  X(S, TEXTS, alphabet, .needed = true)                                                                                \
  X(S, TEXTS, speakers, .needed = true)                                                                                \
  X(S, NUMBER, rate, .needed = true, .most = 1 << 20)

MICA__SETTINGS_STRUCT(speak, SPEAK_SETTINGS);
MICA__FACTS_STRUCT(speak, SPEAK_FACTS);
extern const mica__setting_list mica__speak_setting_list;
extern const mica__fact_list mica__speak_fact_list;
mica__speak_settings mica__speak_settings_of(const mica_run *run);
mica__speak_facts mica__speak_facts_of(const mica_run *run);

/* --- spectra --- */

/* Frames of 25 ms, enlarged to a power of two, every 10 ms. */
mica_stft_config mica__speak_stft(const mica_run *run);
/* The root mean square of recordings and of speech. */
#define MICA__SPEAK_LEVEL 0.1
/* Frequencies of a spectrum. */
int64_t mica__speak_bins(const mica_run *run);
/* Makes recordings (N, T) equally loud, judged by the first lengths[n] samples of each. */
mica_value mica__speak_levelled(mica_value sound, mica_value lengths);
/* The frames of recordings. */
mica_value mica__speak_frames(const mica_run *run, mica_value lengths);
/* Magnitudes are learned as (log(x + floor) - mean) / deviation. */
mica_value mica__speak_scale(mica_value magnitudes);
mica_value mica__speak_unscale(mica_value scaled);

/* Scaled spectra (N, bins, F) and mel spectra (N, mels, F). */
typedef struct mica__speak_spectra {
  mica_value spectrum, mel;
} mica__speak_spectra;
/* Spectra of recordings (N, T) in the form that the network outputs. */
mica__speak_spectra mica__speak_spectra_of(const mica_run *run, mica_value sound);

/* --- the network --- */

/* The letter at both ends of a text: silence. */
#define MICA__SPEAK_SILENCE 0

/* A text and its speaker: letters (N, L) as code points, of which the first lengths[n] count, and speakers (N) or, if
 * that has no graph, the shares (N, speakers) f32 of a mixed voice. */
typedef struct mica__speak_words {
  mica_value letters, lengths, speakers, shares;
} mica__speak_words;

/* Letters in their context. */
typedef struct mica__speak_code {
  mica_value code;      /* (N, width, L) */
  mica_value mask;      /* (N, 1, L): 1 where a letter counts */
  mica_value voice;     /* (N, width, 1) */
  mica_value durations; /* (N, L): predicted log(1 + frames) of each letter */
} mica__speak_code;

/* 1 for the first lengths[n] positions of the last axis of x (N, K, X), else 0: (N, 1, X) f32. */
mica_value mica__speak_mask(mica_value x, mica_value lengths);
mica__speak_code mica__speak_encode(mica_nn *nn, const mica_run *run, const mica__speak_words *words);
/* Logits (N, F, 1 + L): how well each frame of mel (N, mels, F) fits no letter, and each of the letters. */
mica_value mica__speak_align(mica_nn *nn, const mica_run *run, const mica__speak_words *words, mica_value mel,
                             mica_value frame_mask);
/* Spectra of letters, each of `durations` (N, L) frames. */
mica__speak_spectra mica__speak_decode(mica_nn *nn, const mica_run *run, const mica__speak_code *code,
                                       mica_value durations, mica_value frame_mask);

/* Logits (N, speakers): the speaker of mel spectra (N, mels, F). */
mica_value mica__speak_listen(mica_nn *nn, const mica_run *run, mica_value mel, mica_value frame_mask);

/* --- speaking --- */

/* mica_run_voice. */
mica_status mica__speak_voice(mica_run *run, const char *path, double *shares);

mica_status mica__speak_say(mica_run *run, const mica_speech_config *config, float **samples, int64_t *count);
mica_status mica__speak_report(mica_run *run, mica_report *report);

#endif
