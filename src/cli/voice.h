/* cli/voice.h: published ONNX voices in Piper's format: a model and a JSON file next to it. */
#ifndef MICA_CLI_VOICE_H
#define MICA_CLI_VOICE_H

#include "cli/command.h"

#include <stdint.h>

typedef struct cli_voice_job {
  const char *model, *phonemes, *text, *speaker, *device;
  double speed, noise; /* noise: multiplies the voice's own noise; negative: 1 */
} cli_voice_job;

/* True if the path names such a voice. */
bool cli_voice_is(const char *path);
/* Computes the speech for a text or phonemes: *count samples at *rate (Hz). The caller frees *samples. Returns an exit
 * status, after an error message on failure. */
int cli_voice_speak(const cli_command *self, const cli_voice_job *job, float **samples, int64_t *count, int32_t *rate);

#endif
