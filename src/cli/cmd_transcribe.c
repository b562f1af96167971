#include "cli/compiling.h"
#include "cli/number.h"
#include "cli/result.h"
#include "cli/search.h"
#include "cli/whisper.h"

#include <errno.h>
#include <mica/foundation.h>
#include <mica/transcribe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Bytes that are read from a pipe, and samples from a file, at a time. */
#define PIECE 8192

struct values {
  cli_words inputs;
  const char *model, *rate, *channels, *chunk, *device;
  cli_search search;
  cli_whisper_values whisper;
  bool json, quiet;
};

static const cli_option options[] = {
    CLI_ROW("FILE", struct values, inputs, .role = CLI_OPTIONAL_OPERAND,
            .help = "recordings of any length; - for standard input"),
    CLI_ROW("model", struct values, model, .value = "DIR", .help = "folder of a speech run, or of a Whisper model"),
    CLI_ROW("rate", struct values, rate, .value = "HZ",
            .help = "sample rate of raw standard input (default: the run's)"),
    CLI_ROW("channels", struct values, channels, .value = "N", .help = "channels of raw standard input (default 1)"),
    CLI_ROW("chunk", struct values, chunk, .value = "S", .help = "seconds to compute at a time (default 0.48)"),
    CLI_ROW("beam", struct values, search.beam, .value = "N",
            .help = "beam width (default: the run's, or 16 with a text model)"),
    CLI_SEARCH_ROWS(struct values),
    CLI_WHISPER_ROWS(struct values),
    CLI_ROW("device", struct values, device, .value = "SELECTOR", .help = "device to use, as in MICA_DEVICE"),
    CLI_ROW("quiet", struct values, quiet, .help = "do not print the time that it takes"),
    CLI_ROW("json", struct values, json, .help = "write a JSON object: task and texts"),
    {0},
};

/* A recording that is being written down. */
typedef struct writing {
  const cli_command *self;
  const struct values *v;
  mica_run *run;
  mica_transcriber *transcriber;
  const char *name;
  size_t shown;   /* bytes of its text that stand on the screen */
  bool open;      /* its name stands there, and no end of the line */
  int64_t taken;  /* samples of it */
  double seconds; /* that the computer took, without waiting for a pipe */
} writing;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Shows what the text has grown by. */
static void show(writing *w, bool last) {
  const char *text = mica_transcriber_text(w->transcriber);
  const size_t size = strlen(text);
  /* A space that may be the last one is held back, so that what stands there never changes. */
  const size_t end = !last && size && text[size - 1] == ' ' ? size - 1 : size;
  if (w->v->json) return;
  if (end > w->shown) cli_print_clean(text + w->shown, end - w->shown);
  if (end > w->shown) w->shown = end;
  if (last) putchar('\n');
  if (last) w->open = false;
  fflush(stdout);
}

static void end_line(writing *w) {
  if (w->shown || w->open) putchar('\n');
  w->shown = 0;
  w->open = false;
  fflush(stdout);
}

/* Says which recording failed. */
static int fail(writing *w, bool named) {
  end_line(w);
  if (named) return cli_fail_library(w->self);
  return cli_fail(w->self, "%s: %s", w->name, mica_error_message());
}

static int take(writing *w, const float *samples, int64_t count) {
  const double begin = now();
  if (mica_transcriber_push(w->transcriber, samples, count) != MICA_OK) return fail(w, false);
  w->seconds += now() - begin;
  w->taken += count;
  show(w, false);
  return CLI_OK;
}

static int take_file(writing *w) {
  mica_sound_stream *stream = NULL;
  float samples[PIECE];
  int64_t count = PIECE;
  const int32_t rate = (int32_t)mica_run_fact_numbers(w->run, "rate", NULL)[0];
  int status = mica_sound_stream_open(w->name, rate, &stream) == MICA_OK ? CLI_OK : fail(w, true);
  while (status == CLI_OK && count == PIECE) {
    const double begin = now();
    if (mica_sound_stream_next(stream, samples, PIECE, &count) != MICA_OK) status = fail(w, true);
    w->seconds += now() - begin;
    if (status == CLI_OK) status = take(w, samples, count);
  }
  mica_sound_stream_close(stream);
  return status;
}

/* A transcriber for sound of another rate than the model's. */
static int adapt(writing *w, const mica_transcriber_config *config) {
  mica_transcriber_destroy(w->transcriber);
  w->transcriber = NULL;
  return mica_transcriber_create(w->run, config, &w->transcriber) == MICA_OK ? CLI_OK : cli_fail_library(w->self);
}

static int take_pipe(writing *w, mica_transcriber_config config, int32_t channels) {
  const int32_t rate = (int32_t)mica_run_fact_numbers(w->run, "rate", NULL)[0];
  char bytes[PIECE];
  mica_pcm *pcm = NULL;
  ssize_t got = 1;
  int status = mica_pcm_create(config.rate ? config.rate : rate, channels, &pcm) == MICA_OK ? CLI_OK : fail(w, true);
  config.rate = 0;
  while (status == CLI_OK && got > 0) {
    const float *samples = NULL;
    int64_t count = 0;
    while ((got = read(STDIN_FILENO, bytes, sizeof bytes)) < 0 && errno == EINTR) continue;
    if (got < 0) status = cli_fail(w->self, "%s: %s", w->name, strerror(errno));
    if (status == CLI_OK && mica_pcm_push(pcm, bytes, got > 0 ? (size_t)got : 0, got == 0, &samples, &count) != MICA_OK)
      status = fail(w, false);
    if (status == CLI_OK && !config.rate && mica_pcm_rate(pcm)) {
      config.rate = mica_pcm_rate(pcm);
      if (config.rate != rate) status = adapt(w, &config);
    }
    if (status == CLI_OK && count) status = take(w, samples, count);
  }
  mica_pcm_destroy(pcm);
  if (status == CLI_OK && !w->taken) status = cli_fail(w->self, "%s holds no samples", w->name);
  return status;
}

static int finish(writing *w, cli_json *json, cJSON *texts) {
  const double begin = now();
  if (mica_transcriber_finish(w->transcriber) != MICA_OK) return fail(w, false);
  w->seconds += now() - begin;
  const double sound = mica_transcriber_seconds(w->transcriber), speed = sound > 0 ? w->seconds / sound : 0;
  show(w, true);
  if (w->v->json) {
    cJSON *text = cli_json_object(json, texts, NULL);
    cli_json_text(json, text, "name", w->name);
    cli_json_text(json, text, "text", mica_transcriber_text(w->transcriber));
    cli_json_real(json, text, "seconds", sound);
    cli_json_real(json, text, "seconds_per_second", speed);
  } else if (!w->v->quiet) {
    fprintf(stderr, "%s: %.2f s of sound in %.2f s, %.3f s a second\n", cli_clean(w->name), sound, w->seconds, speed);
  }
  return CLI_OK;
}

static int write_all(const cli_command *self, const struct values *v, mica_run *run, mica_transcriber_config config,
                     int32_t channels) {
  writing w = {.self = self, .v = v, .run = run};
  const int32_t given = config.rate;
  cli_json json;
  cli_json_begin(&json);
  cli_json_text(&json, json.root, "task", mica_run_task(run));
  cJSON *texts = cli_json_array(&json, json.root, "texts");
  config.rate = 0;
  int status = adapt(&w, &config), failed = CLI_OK;
  size_t written = 0;
  /* One that fails is said, and those behind it are written down all the same. */
  for (size_t i = 0; status == CLI_OK && i < v->inputs.count; i++) {
    const bool piped = !strcmp(v->inputs.words[i], "-");
    w.name = piped ? "standard input" : v->inputs.words[i];
    w.shown = 0;
    w.seconds = 0;
    w.taken = 0;
    w.open = !v->json && v->inputs.count > 1;
    if (w.open) printf("%s: ", cli_clean(w.name));
    config.rate = given;
    int one = piped ? take_pipe(&w, config, channels) : take_file(&w);
    if (one == CLI_OK) one = finish(&w, &json, texts);
    if (one != CLI_OK) end_line(&w);
    if (one != CLI_OK)
      failed = one;
    else
      written++;
    config.rate = 0;
    if ((piped || one != CLI_OK) && i + 1 < v->inputs.count) status = adapt(&w, &config);
  }
  mica_transcriber_destroy(w.transcriber);
  if (status == CLI_OK && v->json && written)
    status = cli_json_print_line(&json, self);
  else
    cJSON_Delete(json.root);
  return status == CLI_OK ? failed : status;
}

/* Refuses options of the other kind of model. */
static int check_kind(const cli_command *self, const struct values *v, bool whisper) {
  const cli_search *s = &v->search;
  const struct {
    const char *name;
    bool given;
  } of_runs[] = {{"chunk", v->chunk},      {"beam", s->beam},          {"text-model", s->text_model},
                 {"text-order", s->order}, {"text-weight", s->weight}, {"text-bonus", s->bonus}};
  for (size_t i = 0; whisper && i < sizeof of_runs / sizeof *of_runs; i++)
    if (of_runs[i].given) {
      cli_fail(self, "--%s is for speech runs; %s is a Whisper model", of_runs[i].name, v->model);
      return CLI_USAGE;
    }
  const char *name = whisper ? NULL : cli_whisper_given(&v->whisper);
  if (!name) return CLI_OK;
  cli_fail(self, "--%s is for Whisper models; %s is a speech run", name, v->model);
  return CLI_USAGE;
}

static int transcribe_run(const cli_command *self, const struct values *v, mica_transcriber_config config,
                          int32_t channels) {
  mica_engine *engine = NULL;
  mica_run *trained = NULL;
  int status = cli_open_run(self, v->model, v->device, &engine, &trained);
  if (status == CLI_OK) status = write_all(self, v, trained, config, channels);
  mica_run_destroy(trained);
  mica_engine_destroy(engine);
  return status;
}

static int run(const cli_command *self, const void *given) {
  const struct values *v = given;
  int64_t rate = 0, channels = 1;
  mica_transcriber_config config = {0};
  int status = cli_integer(self, "rate", v->rate, 1000, 768000, &rate);
  if (status == CLI_OK) status = cli_integer(self, "channels", v->channels, 1, 64, &channels);
  if (status == CLI_OK) status = cli_number(self, "chunk", v->chunk, 0.01, 60, &config.chunk);
  if (status == CLI_OK) status = cli_take_search(self, &v->search, &config.search);
  if (status != CLI_OK) return status;
  if (!v->model || !v->inputs.count) {
    cli_fail(self, !v->model ? "--model is missing: a folder that mica train --task speech wrote, or a Whisper model"
                             : "FILE is missing: recordings, or - for standard input");
    return CLI_USAGE;
  }
  bool piped = false;
  for (size_t i = 0; i < v->inputs.count; i++) piped = piped || !strcmp(v->inputs.words[i], "-");
  if (!piped && (v->rate || v->channels)) {
    cli_fail(self, "--%s is for raw samples from standard input (-); a file has its own",
             v->rate ? "rate" : "channels");
    return CLI_USAGE;
  }
  const bool whisper = mica_foundation_is(v->model);
  status = check_kind(self, v, whisper);
  if (status != CLI_OK) return status;
  config.rate = (int32_t)rate;
  if (v->quiet) cli_compile_silently();
  if (!whisper) return transcribe_run(self, v, config, (int32_t)channels);
  const cli_whisper_job job = {.model = v->model,
                               .device = v->device,
                               .inputs = &v->inputs,
                               .values = &v->whisper,
                               .rate = (int32_t)rate,
                               .channels = (int32_t)channels,
                               .json = v->json,
                               .quiet = v->quiet};
  return cli_whisper_transcribe(self, &job);
}

const cli_command cli_command_transcribe = {
    .name = "transcribe",
    .summary = "transcribe recordings or a live stream to text",
    .details = "\nThe text is printed as it is recognised. Standard input is WAV, or 16-bit\n"
               "little-endian samples:\n"
               "\n"
               "  arecord -f S16_LE -r 8000 | mica transcribe --model DIR -\n"
               "\n"
               "A pipe gives the same text as a file, and memory does not grow with its length.\n"
               "With a beam, text is printed as soon as all hypotheses agree on it.\n"
               "\n"
               "A Whisper model is a folder with config.json, model.safetensors and\n"
               "tokenizer.json. It reads windows of 30 seconds:\n"
               "\n"
               "  mica transcribe --model whisper-tiny.en --srt talk.wav > talk.srt\n"
               "\n"
               "Files are scaled by their loudest moment, pipes by the loudest moment so far.\n",
    .options = options,
    .values_size = sizeof(struct values),
    .run = run,
};
