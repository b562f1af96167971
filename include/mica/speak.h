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
  const char *speaker;  /* one of the fact "speakers"; NULL: the first */
  double speed;         /* 2: twice as fast; 0: 1 */
  const double *shares; /* share of each speaker in a mixed voice, as mica_run_voice gives them; NULL: only `speaker` */
  int64_t iterations;   /* of Griffin-Lim (Griffin and Lim 1984); 0: the run's setting */
} mica_speech_config;

/* Speaks a text. *samples receives *count numbers from -1 to 1 at the run's fact "rate" (Hz), the caller's to
 * mica_free. They begin and end with 0.15 s of silence. The same text gives the same samples. MICA_E_UNSUPPORTED: the
 * run's task is not speak. MICA_E_INVALID: the text is empty or not UTF-8, has a letter that the run has not learned
 * (the message names it), or a field is out of range. MICA_E_NOT_FOUND: the run has no such speaker. Blocks. */
MICA_API MICA_CHECKED mica_status mica_run_speak(mica_run *run, const mica_speech_config *config, float **samples,
                                                 int64_t *count);

/* Tells whose voice a recording has: WAV, FLAC or OGG, any rate. shares receives a probability for each of the fact
 * "speakers"; they add up to 1. Passed as mica_speech_config.shares, they mix the speakers into the voice that is most
 * like the recording's. MICA_E_UNSUPPORTED: the run's task is not speak. MICA_E_FORMAT: the file is not a recording, is
 * silent or is shorter than a frame (25 ms). Blocks. */
MICA_API MICA_CHECKED mica_status mica_run_voice(mica_run *run, const char *path, double *shares);

MICA_END_DECLS

#endif
