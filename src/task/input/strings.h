/* task/input/strings.h: the parts of the task speech: settings and step are in strings.c, data in strings_data.c and
 * data/sound/transcripts.c, the network in strings_network.c, texts of scores in head/letters_text.c, sound as it comes
 * in verbs/transcribe.c. */
#ifndef MICA_TASK_INPUT_STRINGS_H
#define MICA_TASK_INPUT_STRINGS_H

#include "data/sound/transcripts.h"
#include "run/run.h"

#include <mica/speech.h>

/* Recurrent layers, or blocks, at most. */
#define MICA__SPEECH_LAYERS 16
/* Values that a stream keeps from chunk to chunk, at most. */
#define MICA__SPEECH_STATES (3 * MICA__SPEECH_LAYERS + 1)

/* --- time --- */

/* Frames of the spectrum and steps of the network, in samples. A step sees `reach` samples and the next one those
 * `stride` later: nothing before or behind them but through the state of recurrent layers. */
typedef struct mica__speech_time {
  int64_t length, hop; /* of a frame */
  int64_t stride, reach;
  int64_t tail; /* zeros behind a recording, in which its last letters are found */
} mica__speech_time;
/* tail at a rate. */
int64_t mica__speech_tail(double rate);
mica__speech_time mica__speech_time_of(const mica_run *run);
/* The steps that so many samples make. */
int64_t mica__speech_steps(const mica__speech_time *time, int64_t samples);

/* --- the network --- */

/* Logits (N, steps, classes) f32 of x (N, samples). states, unless NULL: what a stream (N is 1) has kept of what was
 * before x, which is replaced by what is behind it. */
mica_value mica__speech_network(mica_nn *nn, const mica_run *run, mica_value x, mica_value *states);
/* A value that a stream keeps, zeros in the beginning. */
typedef struct mica__speech_state {
  char name[32];
  mica_shape shape;
  bool counts; /* i32, else of the network's dtype */
} mica__speech_state;
/* The states of the run's network, MICA__SPEECH_STATES at most; returns how many there are. */
int64_t mica__speech_states(const mica_run *run, mica__speech_state *states);
/* MICA_E_INVALID where settings make no network. */
mica_status mica__speech_check_network(const mica_run *run);
/* Log mel spectra (N, mels, frames) of x, which the network begins with. */
mica_value mica__speech_spectra(const mica_run *run, mica_value x);

/* --- letters: class 0 is CTC's blank, class k the letter k - 1 of the fact "alphabet" --- */

int64_t mica__speech_classes(const mica_run *run);
/* The code points of the alphabet, rising, as many as classes less 1: the fact's, the caller's to free. MICA_E_FORMAT
 * where it holds no such thing. */
mica_status mica__speech_alphabet(const mica_run *run, int32_t **letters);
/* The code point that a text of UTF-8 begins with, its bytes in *bytes; -1 for what is none. */
int32_t mica__speech_letter(const char *text, size_t size, size_t *bytes);
/* Adds a code point as UTF-8; of spaces none at the beginning, and none behind another. */
void mica__speech_add_letter(mica__text *text, int32_t letter);
/* The text of labels (classes, without blanks), without a space at its end. */
mica_status mica__speech_text_of(const mica_run *run, const int32_t *labels, int64_t count, mica__text *text);

/* How labels are found in scores: *search as mica_ctc_beam takes it, by the run's setting where the caller says
 * nothing, its text model in *model, the caller's to destroy. False in *wanted: the best label of each step. */
mica_status mica__speech_search(const mica_run *run, const mica_text_search *how, mica_ctc_beam_config *search,
                                mica_text_model **model, bool *wanted);
/* What mica_run_search sets: the task state of a run of speech. */
typedef struct mica__speech_decoding {
  mica_ctc_beam_config search; /* beam 0: by the setting */
  mica_text_model *model;      /* the user of `search`; NULL: none */
} mica__speech_decoding;
/* Keeps it for the run. */
mica_status mica__speech_set_search(mica_run *run, const mica_text_search *how);
/* Frees what a search left. */
void mica__speech_close(mica_run *run);

/* --- data --- */

mica_status mica__speech_open(const mica_run *run, const char *path, const mica_dataset_config *config,
                              mica_dataset **data);
/* MICA_E_FORMAT names a sample with a letter that the alphabet lacks, or with more letters than its sound has steps.
 * letters: the alphabet, rising. */
mica_status mica__speech_check(const mica_run *run, const mica_dataset *data, const int32_t *letters, int64_t count);

/* --- what becomes of scores --- */

mica_status mica__speech_evaluate(mica_run *run, const mica_batch_source *source, mica_metrics *metrics);
mica_status mica__speech_answers(mica_run *run);
mica_status mica__speech_predict(mica_run *run, const mica_run_input *input, mica_report *prediction);
mica_status mica__speech_report(mica_run *run, mica_report *report);

/* What the setting "model" may name, then NULL. */
extern const char *const mica__speech_networks[];

#endif
