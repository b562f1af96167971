#include "cli/whisper.h"

#include "cli/json.h"
#include "cli/model.h"
#include "cli/number.h"
#include "cli/result.h"

#include <mica/data.h>
#include <mica/whisper.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Bytes that are read from a pipe, and samples from a file, at a time. */
#define PIECE 8192

typedef struct writing {
  const cli_command *self;
  const cli_whisper_job *job;
  cli_model opened;
  mica_whisper_config config;
  mica_whisper *whisper;
  const char *name;
  int64_t segments; /* of this recording */
  bool named;       /* its name stands on the screen without the end of the line */
  double seconds;   /* that the computer took, without waiting for a pipe */
  cli_json json;
  cJSON *texts, *text, *list;
  char *joined; /* all segments as a text, for JSON */
  size_t joined_bytes;
} writing;

const char *cli_whisper_given(const cli_whisper_values *v) {
  if (v->language) return "language";
  if (v->translate) return "translate";
  if (v->no_speech) return "no-speech";
  if (v->timestamps) return "timestamps";
  if (v->srt) return "srt";
  return v->vtt ? "vtt" : NULL;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* --- segments --- */

/* "00:01:02,345" with the mark ','. */
static const char *format_time(double seconds, char mark, char text[32]) {
  const int64_t ms = (int64_t)(seconds * 1000 + 0.5);
  snprintf(text, 32, "%02" PRId64 ":%02" PRId64 ":%02" PRId64 "%c%03" PRId64, ms / 3600000, ms / 60000 % 60,
           ms / 1000 % 60, mark, ms % 1000);
  return text;
}

static const char *without_space(const char *text) {
  while (*text == ' ') text++;
  return text;
}

/* WebVTT reads &, < and > as markup. */
static void print_escaped(const char *text) {
  while (*text) {
    const size_t plain = strcspn(text, "&<>");
    cli_print_clean(text, plain);
    text += plain;
    if (*text) printf("%s", *text == '&' ? "&amp;" : *text == '<' ? "&lt;" : "&gt;");
    text += *text != '\0';
  }
}

static void print_segment(writing *w, const mica_whisper_segment *s) {
  const cli_whisper_values *v = w->job->values;
  const char *text = without_space(s->text);
  char from[32], to[32];
  const char mark = v->srt ? ',' : '.';
  format_time(s->from, mark, from);
  format_time(s->to, mark, to);
  if (v->srt) {
    printf("%" PRId64 "\n%s --> %s\n", w->segments, from, to);
    cli_print_clean(text, strlen(text));
    printf("\n\n");
  } else if (v->vtt) {
    printf("%s --> %s\n", from, to);
    print_escaped(text);
    printf("\n\n");
  } else if (v->timestamps) {
    printf("[%s --> %s] ", from, to);
    cli_print_clean(text, strlen(text));
    putchar('\n');
  } else {
    if (w->segments == 1)
      cli_print_clean(text, strlen(text));
    else
      cli_print_clean(s->text, strlen(s->text));
  }
  fflush(stdout);
}

static void add_segment(writing *w, const mica_whisper_segment *s) {
  cJSON *one = cli_json_object(&w->json, w->list, NULL);
  cli_json_real(&w->json, one, "from", s->from);
  cli_json_real(&w->json, one, "to", s->to);
  cli_json_text(&w->json, one, "text", s->text);
  cli_json_real(&w->json, one, "log_probability", s->log_probability);
  cli_json_real(&w->json, one, "no_speech", s->no_speech);
  cJSON *tokens = cli_json_array(&w->json, one, "tokens");
  for (size_t i = 0; i < s->token_count; i++) cli_json_integer(&w->json, tokens, NULL, (uint64_t)s->tokens[i]);
  const size_t n = strlen(s->text);
  char *grown = realloc(w->joined, w->joined_bytes + n + 1);
  if (!grown) {
    w->json.failed = true;
    return;
  }
  memcpy(grown + w->joined_bytes, s->text, n + 1);
  w->joined = grown;
  w->joined_bytes += n;
}

static void take_segment(void *user, const mica_whisper_segment *s) {
  writing *w = user;
  if (!*without_space(s->text)) return;
  w->segments++;
  if (w->job->json)
    add_segment(w, s);
  else
    print_segment(w, s);
}

/* --- recordings --- */

/* Ends the line of a text. */
static void end_line(writing *w) {
  const cli_whisper_values *v = w->job->values;
  const bool lines = w->job->json || v->timestamps || v->srt || v->vtt;
  if (!lines && (w->segments || w->named)) putchar('\n');
  w->segments = 0;
  w->named = false;
  fflush(stdout);
}

/* Says which recording failed; named: the library did. */
static int fail(writing *w, bool named) {
  end_line(w);
  if (named) return cli_fail_library(w->self);
  return cli_fail(w->self, "%s: %s", w->name, mica_error_message());
}

/* A whisper for this kind of input. */
static int prepare(writing *w, int32_t rate, bool stream) {
  if (w->whisper && w->config.rate == rate && w->config.stream == stream) {
    mica_whisper_reset(w->whisper);
    return CLI_OK;
  }
  mica_whisper_destroy(w->whisper);
  w->whisper = NULL;
  w->config.rate = rate;
  w->config.stream = stream;
  if (mica_whisper_create(w->opened.engine, w->opened.model, &w->config, &w->whisper) == MICA_OK) return CLI_OK;
  return fail(w, true);
}

static int push(writing *w, const float *samples, int64_t count) {
  const double begin = now();
  if (mica_whisper_push(w->whisper, samples, count) != MICA_OK) return fail(w, false);
  w->seconds += now() - begin;
  return CLI_OK;
}

static int take_file(writing *w) {
  mica_sound_stream *stream = NULL;
  float samples[PIECE];
  int64_t count = PIECE;
  int status = prepare(w, MICA_WHISPER_RATE, false);
  if (status == CLI_OK && mica_sound_stream_open(w->name, MICA_WHISPER_RATE, &stream) != MICA_OK)
    status = fail(w, true);
  while (status == CLI_OK && count == PIECE) {
    if (mica_sound_stream_next(stream, samples, PIECE, &count) != MICA_OK) status = fail(w, true);
    if (status == CLI_OK) status = push(w, samples, count);
  }
  mica_sound_stream_close(stream);
  return status;
}

static int take_pipe(writing *w) {
  char bytes[PIECE];
  mica_pcm *pcm = NULL;
  ssize_t got = 1;
  bool begun = false;
  const int32_t rate = w->job->rate ? w->job->rate : MICA_WHISPER_RATE;
  int status = mica_pcm_create(rate, w->job->channels, &pcm) == MICA_OK ? CLI_OK : fail(w, true);
  while (status == CLI_OK && got > 0) {
    const float *samples = NULL;
    int64_t count = 0;
    while ((got = read(STDIN_FILENO, bytes, sizeof bytes)) < 0 && errno == EINTR) continue;
    if (got < 0) status = cli_fail(w->self, "%s: %s", w->name, strerror(errno));
    if (status == CLI_OK && mica_pcm_push(pcm, bytes, got > 0 ? (size_t)got : 0, got == 0, &samples, &count) != MICA_OK)
      status = fail(w, false);
    if (status == CLI_OK && count && !begun) status = prepare(w, mica_pcm_rate(pcm), true);
    begun = begun || count;
    if (status == CLI_OK && count) status = push(w, samples, count);
  }
  mica_pcm_destroy(pcm);
  if (status == CLI_OK && !begun) status = cli_fail(w->self, "%s holds no samples", w->name);
  return status;
}

static int finish(writing *w) {
  const double begin = now();
  if (mica_whisper_finish(w->whisper) != MICA_OK) return fail(w, false);
  w->seconds += now() - begin;
  const double sound = mica_whisper_seconds(w->whisper), speed = sound > 0 ? w->seconds / sound : 0;
  end_line(w);
  if (w->job->json) {
    cli_json_text(&w->json, w->text, "text", w->joined ? without_space(w->joined) : "");
    cli_json_text(&w->json, w->text, "language", mica_whisper_language(w->whisper));
    cli_json_real(&w->json, w->text, "seconds", sound);
    cli_json_real(&w->json, w->text, "seconds_per_second", speed);
  } else if (!w->job->quiet) {
    fprintf(stderr, "%s: %.2f s of sound in %.2f s, %.3f s a second\n", cli_clean(w->name), sound, w->seconds, speed);
  }
  return CLI_OK;
}

static int take_one(writing *w, const char *input) {
  const bool piped = !strcmp(input, "-");
  const cli_whisper_values *v = w->job->values;
  w->name = piped ? "standard input" : input;
  w->segments = 0;
  w->seconds = 0;
  w->named = !w->job->json && w->job->inputs->count > 1;
  if (w->job->json) {
    w->text = cli_json_object(&w->json, w->texts, NULL);
    cli_json_text(&w->json, w->text, "name", w->name);
    w->list = cli_json_array(&w->json, w->text, "segments");
    w->joined_bytes = 0;
    if (w->joined) *w->joined = '\0';
  }
  if (w->named) printf(v->timestamps ? "%s:\n" : "%s: ", cli_clean(w->name));
  int status = piped ? take_pipe(w) : take_file(w);
  if (status == CLI_OK) status = finish(w);
  if (status != CLI_OK && w->job->json) cJSON_DeleteItemFromArray(w->texts, cJSON_GetArraySize(w->texts) - 1);
  return status;
}

static int check(const cli_command *self, const cli_whisper_job *job) {
  const cli_whisper_values *v = job->values;
  const int forms = (v->timestamps != 0) + v->srt + v->vtt + job->json;
  const char *wrong = NULL;
  if (forms > 1) wrong = "give one of --timestamps, --srt, --vtt and --json";
  if ((v->srt || v->vtt) && job->inputs->count > 1) wrong = "subtitles are of one recording; give one FILE";
  if (!wrong) return CLI_OK;
  cli_fail(self, "%s", wrong);
  return CLI_USAGE;
}

int cli_whisper_transcribe(const cli_command *self, const cli_whisper_job *job) {
  const cli_whisper_values *v = job->values;
  writing w = {.self = self, .job = job};
  w.config =
      (mica_whisper_config){.segment = take_segment, .user = &w, .language = v->language, .translate = v->translate};
  int status = check(self, job), failed = CLI_OK;
  if (status == CLI_OK) status = cli_number(self, "no-speech", v->no_speech, 0, 1, &w.config.no_speech);
  if (status != CLI_OK) return status;
  cli_json_begin(&w.json);
  cli_json_text(&w.json, w.json.root, "task", "transcribe");
  w.texts = cli_json_array(&w.json, w.json.root, "texts");
  status = cli_model_open(self, job->model, NULL, job->device, 0, &w.opened);
  if (status == CLI_OK) status = prepare(&w, MICA_WHISPER_RATE, false);
  if (status == CLI_OK && v->vtt) printf("WEBVTT\n\n");
  size_t written = 0;
  /* After a recording that fails the next ones are transcribed all the same. */
  for (size_t i = 0; status == CLI_OK && i < job->inputs->count; i++) {
    const int one = take_one(&w, job->inputs->words[i]);
    if (one != CLI_OK) failed = one;
    written += one == CLI_OK;
    if (!w.whisper) status = one;
  }
  if (status == CLI_OK && job->json && written)
    status = cli_json_print_line(&w.json, self);
  else
    cJSON_Delete(w.json.root);
  mica_whisper_destroy(w.whisper);
  cli_model_close(&w.opened);
  free(w.joined);
  return status == CLI_OK ? failed : status;
}
