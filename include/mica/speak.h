/* mica/speak.h: speech from texts with a run of the task speak.
 *
 *   mica_run_open(engine, "voice", &run);
 *   mica_run_speak(run, &(mica_speech_config){.text = "three one four", .speaker = "theo"}, &samples, &count);
 *   mica_sound_write("x.wav", rate, samples, count);
 *   mica_free(samples);
 *
 * Threads: as in mica/run.h. */
#ifndef MICA_SPEAK_H
#define MICA_SPEAK_H

#include <mica/run.h>

MICA_EXPERIMENTAL
MICA_BEGIN_DECLS

typedef struct mica_speech_config {
  const char *text;     /* UTF-8 */
  const char *speaker;  /* a name in mica_run_fact(run, "speakers"); NULL: the first */
  double speed;         /* 2: twice as fast; 0: 1 */
  const double *shares; /* share of each speaker in a mixed voice, as mica_run_voice gives them; NULL: only `speaker` */
  int64_t iterations;   /* of Griffin-Lim (Griffin and Lim 1984); 0: the run's setting */
} mica_speech_config;

/* Speaks a text. *samples receives *count numbers from -1 to 1. Their sample rate, in Hz, is
 * mica_run_fact_numbers(run, "rate"). The caller frees *samples with mica_free. The sound begins and ends with 0.15 s
 * of silence. The same configuration gives the same samples. Blocks.
 *
 * MICA_E_UNSUPPORTED: the run's task is not speak. MICA_E_INVALID: the text is empty or not UTF-8, has a letter that
 * the run has not learned (the message names it), or a field is out of range. MICA_E_NOT_FOUND: the run has no such
 * speaker. MICA_E_NUMERIC: the network predicts too many frames. */
MICA_API MICA_CHECKED mica_status mica_run_speak(mica_run *run, const mica_speech_config *config, float **samples,
                                                 int64_t *count);

/* Recognises the speaker of a recording: WAV, FLAC or OGG of any sample rate. shares receives one probability per
 * speaker, in the order of mica_run_fact(run, "speakers"); the probabilities add up to 1. Pass shares as
 * mica_speech_config.shares to mix the speakers into a voice like the recorded one. MICA_E_UNSUPPORTED: the run's task
 * is not speak. MICA_E_FORMAT: the file is not a recording, is silent or is shorter than a frame (25 ms). Blocks. */
MICA_API MICA_CHECKED mica_status mica_run_voice(mica_run *run, const char *path, double *shares);

MICA_END_DECLS

#endif
