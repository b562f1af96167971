#include "cli/recordings.h"
#include "cli/result.h"

#include <mica/data.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Bytes of a pipe, or samples of a file, that are read at a time. */
#define PIECE 8192

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void end_line(cli_recordings *r) {
  r->transcriber->end_line(r->user, r->named);
  r->named = false;
  fflush(stdout);
}

int cli_recordings_fail(cli_recordings *r, bool of) {
  end_line(r);
  return of ? cli_fail(r->self, "%s: %s", r->name, mica_error_message()) : cli_fail_library(r->self);
}

static int begin(cli_recordings *r, int32_t rate, bool piped) {
  const int status = r->transcriber->begin(r->user, rate, piped);
  r->broken = status != CLI_OK;
  return status;
}

static int take(cli_recordings *r, const float *samples, int64_t count) {
  const double from = now();
  const int status = r->transcriber->take(r->user, samples, count);
  r->seconds += now() - from;
  r->taken += count;
  return status;
}

static int take_file(cli_recordings *r) {
  mica_sound_stream *stream = NULL;
  float samples[PIECE];
  int64_t count = PIECE;
  int status = begin(r, r->file_rate, false);
  if (status == CLI_OK && mica_sound_stream_open(r->name, r->file_rate, &stream) != MICA_OK)
    status = cli_recordings_fail(r, false);
  while (status == CLI_OK && count == PIECE) {
    const double from = now();
    if (mica_sound_stream_next(stream, samples, PIECE, &count) != MICA_OK) status = cli_recordings_fail(r, false);
    r->seconds += now() - from;
    if (status == CLI_OK) status = take(r, samples, count);
  }
  mica_sound_stream_close(stream);
  return status;
}

static int take_pipe(cli_recordings *r) {
  char bytes[PIECE];
  mica_pcm *pcm = NULL;
  ssize_t got = 1;
  int status = mica_pcm_create(r->rate, r->channels, &pcm) == MICA_OK ? CLI_OK : cli_recordings_fail(r, false);
  while (status == CLI_OK && got > 0) {
    const float *samples = NULL;
    int64_t count = 0;
    while ((got = read(STDIN_FILENO, bytes, sizeof bytes)) < 0 && errno == EINTR) continue;
    if (got < 0) status = cli_fail(r->self, "%s: %s", r->name, strerror(errno));
    if (status == CLI_OK && mica_pcm_push(pcm, bytes, got > 0 ? (size_t)got : 0, got == 0, &samples, &count) != MICA_OK)
      status = cli_recordings_fail(r, true);
    if (status == CLI_OK && count && !r->taken) status = begin(r, mica_pcm_rate(pcm), true);
    if (status == CLI_OK && count) status = take(r, samples, count);
  }
  mica_pcm_destroy(pcm);
  if (status == CLI_OK && !r->taken) status = cli_fail(r->self, "%s holds no samples", r->name);
  return status;
}

static int finish(cli_recordings *r, cli_json *json, cJSON *text) {
  const double from = now();
  double sound = 0;
  const int status = r->transcriber->finish(r->user, &sound);
  r->seconds += now() - from;
  if (status != CLI_OK) return status;
  const double speed = sound > 0 ? r->seconds / sound : 0;
  if (r->json) {
    r->transcriber->describe(r->user, json, text);
    cli_json_real(json, text, "seconds", sound);
    cli_json_real(json, text, "seconds_per_second", speed);
    return CLI_OK;
  }
  end_line(r);
  if (!r->quiet)
    fprintf(stderr, "%s: %.2f s of sound in %.2f s, %.3f s a second\n", cli_clean(r->name), sound, r->seconds, speed);
  return CLI_OK;
}

static int transcribe_one(cli_recordings *r, const char *input, cli_json *json, cJSON *texts) {
  const bool piped = !strcmp(input, "-");
  r->name = piped ? "standard input" : input;
  r->seconds = 0;
  r->taken = 0;
  r->named = !r->json && r->inputs->count > 1;
  cJSON *text = r->json ? cli_json_object(json, texts, NULL) : NULL;
  if (r->json) cli_json_text(json, text, "name", r->name);
  if (r->named) printf("%s%s", cli_clean(r->name), r->after_name);
  int status = piped ? take_pipe(r) : take_file(r);
  if (status == CLI_OK) status = finish(r, json, text);
  if (status == CLI_OK) return CLI_OK;
  end_line(r);
  if (r->json) cJSON_DeleteItemFromArray(texts, cJSON_GetArraySize(texts) - 1);
  return status;
}

int cli_recordings_transcribe(cli_recordings *r) {
  cli_json json;
  int failed = CLI_OK;
  size_t written = 0;
  cli_json_begin(&json);
  cli_json_text(&json, json.root, "task", r->task);
  cJSON *texts = cli_json_array(&json, json.root, "texts");
  for (size_t i = 0; !r->broken && i < r->inputs->count; i++) {
    const int status = transcribe_one(r, r->inputs->words[i], &json, texts);
    if (status != CLI_OK) failed = status;
    written += status == CLI_OK;
  }
  if (r->broken || !r->json || !written) {
    cJSON_Delete(json.root);
    return failed;
  }
  const int status = cli_json_print_line(&json, r->self);
  return status == CLI_OK ? failed : status;
}
