/* Transcribers of runs: a task's row says how its network transcribes sound. */
#include "data/sound/sound.h"
#include "networks/transcriber.h"
#include "run/run.h"

#define LONGEST_CHUNK 60.0

mica_status mica_transcriber_create(mica_run *run, const mica_transcriber_config *config, mica_transcriber **out) {
  const mica_transcriber_config c = config ? *config : (mica_transcriber_config){0};
  if (!run || !out) return mica__fail(MICA_E_INVALID, "mica_transcriber_create: a pointer is NULL");
  if (!run->task->verbs.transcribes)
    return mica__fail(MICA_E_UNSUPPORTED, "%s is a run of the task %s, which does not transcribe sound", run->folder,
                      run->task->name);
  if (c.rate < 0 || c.rate > MICA__SOUND_RATE)
    return mica__fail(MICA_E_INVALID, "mica_transcriber_create: rate is %d Hz, but must be 0 to %d Hz", (int)c.rate,
                      MICA__SOUND_RATE);
  if (!(c.chunk >= 0 && c.chunk <= LONGEST_CHUNK))
    return mica__fail(MICA_E_INVALID, "mica_transcriber_create: chunk is %g s, but must be 0 to %g s", c.chunk,
                      LONGEST_CHUNK);
  mica__transcription how = {0};
  mica_status status = run->task->verbs.transcribes(run, &c.search, &how);
  if (status == MICA_OK) return mica__transcriber_make(&how, c.rate, c.chunk, out);
  mica__transcription_free(&how);
  return status;
}
