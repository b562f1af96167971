/* cli/recordings.h: transcribes recordings one after the other, from files and standard input, with any kind of
 * model: for people as the text grows, or as JSON. */
#ifndef MICA_CLI_RECORDINGS_H
#define MICA_CLI_RECORDINGS_H

#include "cli/command.h"
#include "cli/json.h"

/* What a kind of model does. All but end_line return an exit status, having said what failed with
 * cli_recordings_fail. `user` is that of cli_recordings. */
typedef struct cli_transcriber {
  /* Before the first samples of a recording: their rate, and whether they come from a pipe. */
  int (*begin)(void *user, int32_t rate, bool piped);
  /* Computes on samples. It prints what is new for people. */
  int (*take)(void *user, const float *samples, int64_t count);
  /* After the last samples. Gives the length of the recording in seconds. */
  int (*finish)(void *user, double *seconds);
  /* Ends the line that a recording's text has begun; named: its name stands on it. */
  void (*end_line)(void *user, bool named);
  /* Adds what was found to the recording's object, which has its name. */
  void (*describe)(void *user, cli_json *json, cJSON *text);
} cli_transcriber;

typedef struct cli_recordings {
  const cli_command *self;
  const cli_words *inputs; /* files; "-": standard input */
  const cli_transcriber *transcriber;
  void *user;
  int32_t file_rate, rate, channels; /* of files as they are read; of raw standard input */
  const char *task, *after_name;     /* after_name: between a recording's name and its text, with several inputs */
  bool json, quiet;
  /* The recording in progress. */
  const char *name;
  bool named;
  double seconds; /* that the computer took, without waiting for a pipe */
  int64_t taken;  /* samples */
  bool broken;    /* begin failed: no further recording can be transcribed */
} cli_recordings;

/* Transcribes all inputs; after one that fails the others are transcribed all the same. Returns an exit status. */
int cli_recordings_transcribe(cli_recordings *recordings);
/* Ends the line and says the library's last sentence; of: after the recording's name. Returns CLI_FAILED. */
int cli_recordings_fail(cli_recordings *recordings, bool of);

#endif
