/* mica/transcribe.h: sound to text as it comes, by a run of the task speech.
 *
 *   mica_run_open(engine, "mica-run", &run);
 *   mica_transcriber_create(run, NULL, &transcriber);
 *   while (...) {
 *     mica_transcriber_push(transcriber, samples, count);
 *     puts(mica_transcriber_text(transcriber));
 *   }
 *   mica_transcriber_finish(transcriber);
 *
 * Threads: a transcriber is used by one thread at a time, and not beside its run. */
#ifndef MICA_TRANSCRIBE_H
#define MICA_TRANSCRIBE_H

#include <mica/run.h>

MICA_EXPERIMENTAL
MICA_BEGIN_DECLS

typedef struct mica_transcriber mica_transcriber;

typedef struct mica_transcriber_config {
  int32_t rate; /* of the samples that are pushed; 0: the run's. Others are resampled as mica_sound_read does */
  double chunk; /* seconds that are computed at a time, rounded to steps of the network; 0: 0.48 */
  /* With a beam or a text model the text grows as far as all prefixes agree. */
  mica_text_search search;
} mica_transcriber_config;

/* A network with the run's weights and states of its own, which stay from chunk to chunk: memory does not grow with the
 * sound, but for the text. config may be NULL. The run outlives it. MICA_E_UNSUPPORTED: a run of another task;
 * MICA_E_INVALID; as mica_text_model_open. */
MICA_API MICA_CHECKED mica_status mica_transcriber_create(mica_run *run, const mica_transcriber_config *config,
                                                          mica_transcriber **transcriber);
/* Before its run. NULL is a no-op. */
MICA_API void mica_transcriber_destroy(mica_transcriber *transcriber);

/* Takes samples of one channel, as many as there are; the text does not depend on how many come at a time. Blocks while
 * whole chunks are computed. MICA_E_FORMAT: a sample is not a number. */
MICA_API MICA_CHECKED mica_status mica_transcriber_push(mica_transcriber *transcriber, const float *samples,
                                                        int64_t count);
/* The recording ends: the rest is computed. What is pushed next begins another one. */
MICA_API MICA_CHECKED mica_status mica_transcriber_finish(mica_transcriber *transcriber);

/* The text of the recording so far, UTF-8, which only grows until it is finished: a space at its end goes then. The
 * transcriber's, valid until the next call. */
MICA_API const char *mica_transcriber_text(const mica_transcriber *transcriber);
/* Seconds of the recording so far. */
MICA_API double mica_transcriber_seconds(const mica_transcriber *transcriber);

MICA_END_DECLS

#endif
