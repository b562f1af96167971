/* cli/whisper.h: transcripts by Whisper models: as text, with times, as subtitles or as JSON. */
#ifndef MICA_CLI_WHISPER_H
#define MICA_CLI_WHISPER_H

#include "cli/command.h"

typedef struct cli_whisper_values {
  const char *language, *no_speech, *seed;
  bool translate, no_fallback, no_context, half, timestamps, srt, vtt;
} cli_whisper_values;

/* Rows of the options, for a struct `type` with a cli_whisper_values called whisper. */
#define CLI_WHISPER_ROWS(type)                                                                                         \
  CLI_ROW("language", type, whisper.language, .value = "CODE",                                                         \
          .help = "Whisper: language of the speech, such as de (default: detected)"),                                  \
      CLI_ROW("translate", type, whisper.translate, .help = "Whisper: translate to English"),                          \
      CLI_ROW("no-speech", type, whisper.no_speech, .value = "P",                                                      \
              .help = "Whisper: skip a window if its text is unlikely and its probability of no speech is above P "    \
                      "(default 0.6)"),                                                                                \
      CLI_ROW("no-fallback", type, whisper.no_fallback,                                                                \
              .help = "Whisper: transcribe each window once; do not try unlikely ones again with random tokens"),      \
      CLI_ROW("no-context", type, whisper.no_context,                                                                  \
              .help = "Whisper: transcribe each window without the text of the windows before it"),                    \
      CLI_ROW("seed", type, whisper.seed, .value = "N", .help = "Whisper: seed of random tokens (default 0)"),         \
      CLI_ROW("half", type, whisper.half,                                                                              \
              .help = "Whisper: round the decoder's f32 matrices to f16, in half the memory"),                         \
      CLI_ROW("timestamps", type, whisper.timestamps, .help = "Whisper: print a line per segment, with times"),        \
      CLI_ROW("srt", type, whisper.srt, .help = "Whisper: print SubRip subtitles"),                                    \
      CLI_ROW("vtt", type, whisper.vtt, .help = "Whisper: print WebVTT subtitles")

/* The name of the first option that was given; NULL if none was. */
const char *cli_whisper_given(const cli_whisper_values *values);

typedef struct cli_whisper_job {
  const char *model, *device;
  const cli_words *inputs;
  const cli_whisper_values *values;
  int32_t rate, channels; /* of raw standard input; rate 0: 16,000 */
  bool json, quiet;
} cli_whisper_job;

/* Transcribes all inputs. Returns an exit status, after an error message on failure. */
int cli_whisper_transcribe(const cli_command *self, const cli_whisper_job *job);

#endif
