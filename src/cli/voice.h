/* cli/voice.h: published voices in ONNX, as Piper has them: a model and a JSON file beside it. */
#ifndef MICA_CLI_VOICE_H
#define MICA_CLI_VOICE_H

#include "cli/command.h"

#include <stdint.h>

typedef struct cli_voice_job {
  const char *model, *phonemes, *text, *speaker, *device;
  double speed, noise; /* noise: a factor of the voice's own; negative: 1 */
} cli_voice_job;

/* True if the path names such a voice. */
bool cli_voice_is(const char *path);
/* Speaks; *samples is the caller's to free. An exit status, after an error message on failure. */
int cli_voice_speak(const cli_command *self, const cli_voice_job *job, float **samples, int64_t *count, int32_t *rate);

#endif
