/* cli/recordings.h: transcribes recordings from files and standard input, one after the other, with any kind of model.
 * Prints the text while it grows, or JSON at the end. */
#ifndef MICA_CLI_RECORDINGS_H
#define MICA_CLI_RECORDINGS_H

#include "cli/command.h"
#include "cli/json.h"

/* Functions for one kind of model. begin, take and finish return an exit status; on failure they must have called
 * cli_recordings_fail. `user` is cli_recordings.user. */
typedef struct cli_transcriber {
  /* Begins a recording with this sample rate; piped: it comes from a pipe. */
  int (*begin)(void *user, int32_t rate, bool piped);
  /* Passes samples to the model. Prints the new text unless JSON is wanted. */
  int (*take)(void *user, const float *samples, int64_t count);
  /* Ends a recording after its last samples. *seconds: its length. */
  int (*finish)(void *user, double *seconds);
  /* Ends the line of a recording's text; named: the line has the recording's name. */
  void (*end_line)(void *user, bool named);
  /* Adds the results to the recording's JSON object, which already has its name. */
  void (*describe)(void *user, cli_json *json, cJSON *text);
} cli_transcriber;

typedef struct cli_recordings {
  const cli_command *self;
  const cli_words *inputs; /* files; "-": standard input */
  const cli_transcriber *transcriber;
  void *user;
  int32_t file_rate, rate, channels; /* sample rate of files; rate and channels of raw standard input */
  const char *task, *after_name;     /* after_name: printed between name and text if there are several inputs */
  bool json, quiet;
  /* The recording in progress. */
  const char *name;
  bool named;
  double seconds; /* of computing, without waits for a pipe */
  int64_t taken;  /* samples */
  bool broken;    /* begin failed: no more recordings can be transcribed */
} cli_recordings;

/* Transcribes all inputs; if one fails, continues with the next one. Returns an exit status. */
int cli_recordings_transcribe(cli_recordings *recordings);
/* Ends the current line of text and prints the library's last message, after the recording's name if `of` is true.
 * Returns CLI_FAILED. */
int cli_recordings_fail(cli_recordings *recordings, bool of);

#endif
