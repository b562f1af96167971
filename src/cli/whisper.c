#include "cli/whisper.h"

#include "cli/json.h"
#include "cli/model.h"
#include "cli/number.h"
#include "cli/recordings.h"
#include "cli/result.h"

#include <mica/whisper.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct writing {
  const cli_whisper_job *job;
  cli_recordings recordings;
  cli_model opened;
  mica_whisper_config config;
  mica_whisper *whisper;
  int64_t segments; /* of this recording */
  cli_json list;    /* list of segments, for JSON */
  char *joined;     /* the text of all segments, for JSON */
  size_t joined_bytes;
} writing;

const char *cli_whisper_given(const cli_whisper_values *v) {
  if (v->language) return "language";
  if (v->translate) return "translate";
  if (v->no_speech) return "no-speech";
  if (v->no_fallback) return "no-fallback";
  if (v->no_context) return "no-context";
  if (v->seed) return "seed";
  if (v->half) return "half";
  if (v->timestamps) return "timestamps";
  if (v->srt) return "srt";
  return v->vtt ? "vtt" : NULL;
}

/* --- segments --- */

/* Formats "00:01:02,345", with `mark` (here ',') before the milliseconds. */
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

/* Escapes &, < and >, which are markup in WebVTT. */
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
  cJSON *one = cli_json_object(&w->list, w->list.root, NULL);
  cli_json_real(&w->list, one, "from", s->from);
  cli_json_real(&w->list, one, "to", s->to);
  cli_json_text(&w->list, one, "text", s->text);
  cli_json_real(&w->list, one, "log_probability", s->log_probability);
  cli_json_real(&w->list, one, "no_speech", s->no_speech);
  cli_json_real(&w->list, one, "temperature", s->temperature);
  cli_json_real(&w->list, one, "compression", s->compression);
  cJSON *tokens = cli_json_array(&w->list, one, "tokens");
  for (size_t i = 0; i < s->token_count; i++) cli_json_integer(&w->list, tokens, NULL, (uint64_t)s->tokens[i]);
  const size_t n = strlen(s->text);
  char *grown = realloc(w->joined, w->joined_bytes + n + 1);
  if (!grown) {
    w->list.failed = true;
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

static void end_line(void *user, bool named) {
  writing *w = user;
  const cli_whisper_values *v = w->job->values;
  const bool lines = w->job->json || v->timestamps || v->srt || v->vtt;
  if (!lines && (w->segments || named)) putchar('\n');
  w->segments = 0;
}

/* Empties the list of segments. */
static void clear(writing *w) {
  w->segments = 0;
  w->joined_bytes = 0;
  if (w->joined) *w->joined = '\0';
  cJSON_Delete(w->list.root);
  w->list = (cli_json){.root = w->job->json ? cJSON_CreateArray() : NULL};
  w->list.failed = w->job->json && !w->list.root;
}

/* Creates a mica_whisper for this sample rate and kind of input (stream for a pipe), or reuses the last one if both are
 * the same. */
static int begin(void *user, int32_t rate, bool piped) {
  writing *w = user;
  clear(w);
  if (w->whisper && w->config.rate == rate && w->config.stream == piped) {
    mica_whisper_reset(w->whisper);
    return CLI_OK;
  }
  mica_whisper_destroy(w->whisper);
  w->whisper = NULL;
  w->config.rate = rate;
  w->config.stream = piped;
  if (mica_whisper_create(w->opened.engine, w->opened.model, &w->config, &w->whisper) == MICA_OK) return CLI_OK;
  return cli_recordings_fail(&w->recordings, false);
}

static int take(void *user, const float *samples, int64_t count) {
  writing *w = user;
  if (mica_whisper_push(w->whisper, samples, count) == MICA_OK) return CLI_OK;
  return cli_recordings_fail(&w->recordings, true);
}

static int finish(void *user, double *seconds) {
  writing *w = user;
  if (mica_whisper_finish(w->whisper) != MICA_OK) return cli_recordings_fail(&w->recordings, true);
  *seconds = mica_whisper_seconds(w->whisper);
  return CLI_OK;
}

static void describe(void *user, cli_json *json, cJSON *text) {
  writing *w = user;
  json->failed = json->failed || w->list.failed || !cJSON_AddItemToObject(text, "segments", w->list.root);
  if (!json->failed) w->list.root = NULL;
  cli_json_text(json, text, "text", w->joined ? without_space(w->joined) : "");
  cli_json_text(json, text, "language", mica_whisper_language(w->whisper));
}

static const cli_transcriber transcriber = {
    .begin = begin, .take = take, .finish = finish, .end_line = end_line, .describe = describe};

static int check(const cli_command *self, const cli_whisper_job *job) {
  const cli_whisper_values *v = job->values;
  const int forms = (v->timestamps != 0) + v->srt + v->vtt + job->json;
  const char *wrong = NULL;
  if (forms > 1) wrong = "give only one of --timestamps, --srt, --vtt and --json";
  if ((v->srt || v->vtt) && job->inputs->count > 1) wrong = "--srt and --vtt write one recording; give only one FILE";
  if (!wrong) return CLI_OK;
  cli_fail(self, "%s", wrong);
  return CLI_USAGE;
}

int cli_whisper_transcribe(const cli_command *self, const cli_whisper_job *job) {
  const cli_whisper_values *v = job->values;
  writing w = {.job = job};
  int64_t seed = 0;
  w.config = (mica_whisper_config){.segment = take_segment,
                                   .user = &w,
                                   .language = v->language,
                                   .translate = v->translate,
                                   .no_fallback = v->no_fallback,
                                   .no_context = v->no_context,
                                   .half = v->half};
  w.recordings = (cli_recordings){.self = self,
                                  .inputs = job->inputs,
                                  .transcriber = &transcriber,
                                  .user = &w,
                                  .file_rate = MICA_WHISPER_RATE,
                                  .rate = job->rate ? job->rate : MICA_WHISPER_RATE,
                                  .channels = job->channels,
                                  .task = "transcribe",
                                  .after_name = v->timestamps ? ":\n" : ": ",
                                  .json = job->json,
                                  .quiet = job->quiet};
  int status = check(self, job);
  if (status == CLI_OK) status = cli_number(self, "no-speech", v->no_speech, 0, 1, &w.config.no_speech);
  if (status == CLI_OK) status = cli_integer(self, "seed", v->seed, 0, INT64_MAX, &seed);
  if (status != CLI_OK) return status;
  if (v->no_speech && w.config.no_speech == 0) w.config.no_speech = MICA_ZERO;
  w.config.seed = (uint64_t)seed;
  status = cli_model_open(self, job->model, NULL, job->device, 0, &w.opened);
  if (status == CLI_OK) status = begin(&w, MICA_WHISPER_RATE, false);
  if (status == CLI_OK && v->vtt) printf("WEBVTT\n\n");
  if (status == CLI_OK) status = cli_recordings_transcribe(&w.recordings);
  mica_whisper_destroy(w.whisper);
  cli_model_close(&w.opened);
  cJSON_Delete(w.list.root);
  free(w.joined);
  return status;
}
