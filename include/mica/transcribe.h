/* mica/transcribe.h: streaming speech recognition with a run of the task speech.
 *
 *   mica_run_open(engine, "mica-run", &run);
 *   mica_transcriber_create(run, NULL, &transcriber);
 *   while (...) {
 *     mica_transcriber_push(transcriber, samples, count);
 *     puts(mica_transcriber_text(transcriber));
 *   }
 *   mica_transcriber_finish(transcriber);
 *
 * Threads: use a transcriber from one thread at a time, and not at the same time as its run. */
#ifndef MICA_TRANSCRIBE_H
#define MICA_TRANSCRIBE_H

#include <mica/run.h>

MICA_EXPERIMENTAL
MICA_BEGIN_DECLS

typedef struct mica_transcriber mica_transcriber;

typedef struct mica_transcriber_config {
  int32_t rate; /* rate of pushed samples (Hz); 0: the run's. Other rates are resampled like mica_sound_read */
  double chunk; /* seconds to compute at a time, rounded to steps of the network; 0: 0.48 */
  /* With a beam or a text model, the text grows only as far as all prefixes agree. */
  mica_text_search search;
} mica_transcriber_config;

/* Creates a transcriber: a network with the run's weights and its own state, which is carried from chunk to chunk.
 * Memory grows with the text and, if the search has a beam or a text model, slowly with the sound. config may be NULL.
 * The run must outlive it. MICA_E_UNSUPPORTED: the run's task is not speech. MICA_E_INVALID: a field is out of range.
 * Otherwise the errors of mica_text_model_open. */
MICA_API MICA_CHECKED mica_status mica_transcriber_create(mica_run *run, const mica_transcriber_config *config,
                                                          mica_transcriber **transcriber);
/* Destroys a transcriber. Call it before destroying the run. NULL is a no-op. */
MICA_API void mica_transcriber_destroy(mica_transcriber *transcriber);

/* Adds samples of one channel. The text does not depend on how samples are divided into calls. Blocks while it computes
 * complete chunks. MICA_E_FORMAT: a sample is not finite. */
MICA_API MICA_CHECKED mica_status mica_transcriber_push(mica_transcriber *transcriber, const float *samples,
                                                        int64_t count);
/* Ends the recording and computes the rest. Later samples begin a new recording. */
MICA_API MICA_CHECKED mica_status mica_transcriber_finish(mica_transcriber *transcriber);

/* Text of the recording so far, UTF-8. It only grows; mica_transcriber_finish may remove a final space. The transcriber
 * owns it; it is valid until the next call. */
MICA_API const char *mica_transcriber_text(const mica_transcriber *transcriber);
/* Seconds of the recording so far. */
MICA_API double mica_transcriber_seconds(const mica_transcriber *transcriber);

MICA_END_DECLS

#endif
