/* task/speak/speak.h: speech from texts. speak.c trains, network.c has the settings and the sizes of the network, say.c
 * speaks, and voice.c tells whose voice a recording has. */
#ifndef MICA_TASK_SPEAK_SPEAK_H
#define MICA_TASK_SPEAK_SPEAK_H

#include "networks/speaker.h"
#include "run/common_settings.h"
#include "run/fact_fields.h"
#include "run/run.h"
#include "task/input/strings.h"

#include <mica/speak.h>

#define SPEAK_SETTINGS(X, S)                                                                                           \
  X(S, TEXT, join, "join", "", "A-B",                                                                                  \
    "join A to B recordings of one speaker into a sample, their texts separated by spaces, as in 2-5 (default: "       \
    "single recordings)",                                                                                              \
    .fixed = true)                                                                                                     \
  X(S, INT, strings, "strings", "0", "N", "with --join: samples per epoch; 0: twice the number of recordings",         \
    .low = 0, .high = 0x1p31, .of = "join=*", .fixed = true)                                                           \
  X(S, REAL, gap, "gap", "0.1", "S", "with --join: silence between recordings, in seconds", .low = 0, .high = 60,      \
    .of = "join=*", .fixed = true)                                                                                     \
  MICA__MEL_SETTINGS(X, S, 8)                                                                                          \
  X(S, INT, width, "width", "96", "N", "channels of the network", .low = 8, .high = 4096, .fixed = true,               \
    .structure = true)                                                                                                 \
  X(S, INT, encoder_layers, "encoder-layers", "3", "N", "convolutions over letters", .low = 1, .high = 64,             \
    .fixed = true, .structure = true)                                                                                  \
  X(S, INT, layers, "layers", "4", "N", "convolutions over frames", .low = 1, .high = 64, .fixed = true,               \
    .structure = true)                                                                                                 \
  X(S, INT, kernel, "kernel", "5", "N", "filter length, an odd number", .low = 1, .high = 63, .fixed = true,           \
    .structure = true)                                                                                                 \
  X(S, REAL, dropout, "dropout", "0", "P", "dropout after each convolution", .low = 0, .high = 0.95, .fixed = true)    \
  X(S, INT, iterations, "iterations", "60", "N", "iterations of Griffin-Lim; more take longer and sound cleaner",      \
    .low = 1, .high = 10000)

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

/* --- the network (network.c) --- */

/* The run's network. *letters receives the code points of the alphabet, which the network refers to; the caller frees
 * them. */
mica_status mica__speak_network(const mica_run *run, mica__speaker *network, int32_t **letters);

/* --- speaking --- */

/* mica_run_voice: fills shares[] with the probability of each of the run's speakers for a recording. */
mica_status mica__speak_voice(mica_run *run, const char *path, double *shares);

mica_status mica__speak_say(mica_run *run, const mica_speech_config *config, float **samples, int64_t *count);
mica_status mica__speak_report(mica_run *run, mica_report *report);

#endif
