#include "cli/compiling.h"
#include "cli/number.h"
#include "cli/recordings.h"
#include "cli/result.h"
#include "cli/search.h"
#include "cli/whisper.h"

#include <mica/foundation.h>
#include <mica/transcribe.h>
#include <stdio.h>
#include <string.h>

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
    CLI_ROW("model", struct values, model, .value = "DIR",
            .help = "folder of a speech run, or of a Whisper model (required)"),
    CLI_ROW("rate", struct values, rate, .value = "HZ",
            .help = "sample rate of raw standard input (default: the run's, or 16000 for Whisper)"),
    CLI_ROW("channels", struct values, channels, .value = "N", .help = "channels of raw standard input (default 1)"),
    CLI_ROW("chunk", struct values, chunk, .value = "S",
            .help = "speech run: seconds of sound to compute at a time (default 0.48)"),
    CLI_ROW("beam", struct values, search.beam, .value = "N",
            .help = "speech: beam width (default: the run's, or 16 with --text-model)"),
    CLI_SEARCH_ROWS(struct values),
    CLI_WHISPER_ROWS(struct values),
    CLI_DEVICE_ROW(struct values),
    CLI_ROW("quiet", struct values, quiet, .help = "do not print the time taken"),
    CLI_ROW("json", struct values, json, .help = "write a JSON object: task and texts"),
    {0},
};

/* The recordings, and the run that transcribes them. */
typedef struct writing {
  cli_recordings recordings;
  mica_run *run;
  mica_transcriber *transcriber;
  mica_transcriber_config config;
  bool fresh;   /* the transcriber has no samples since it was made or finished */
  size_t shown; /* bytes of the text that are on the screen */
  bool ended;   /* the text is complete, and gets a line even if it is empty */
} writing;

/* Without --json, prints the part of the text that is not on the screen yet. last: the text is complete. */
static void show(writing *w, bool last) {
  const char *text = mica_transcriber_text(w->transcriber);
  const size_t size = strlen(text);
  /* A space at the end is held back: it may be dropped later, and printed text must not change. */
  const size_t end = !last && size && text[size - 1] == ' ' ? size - 1 : size;
  if (w->recordings.json || end <= w->shown) return;
  cli_print_clean(text + w->shown, end - w->shown);
  w->shown = end;
  fflush(stdout);
}

static void end_line(void *user, bool named) {
  writing *w = user;
  if (w->shown || w->ended || named) putchar('\n');
  w->shown = 0;
  w->ended = false;
}

/* Makes a transcriber for sound of this rate, or keeps the present one if it is fresh and has this rate. */
static int begin(void *user, int32_t rate, bool piped) {
  writing *w = user;
  (void)piped;
  w->shown = 0;
  w->ended = false;
  if (w->fresh && rate == w->config.rate) return CLI_OK;
  mica_transcriber_destroy(w->transcriber);
  w->transcriber = NULL;
  w->config.rate = rate;
  w->fresh = mica_transcriber_create(w->run, &w->config, &w->transcriber) == MICA_OK;
  return w->fresh ? CLI_OK : cli_recordings_fail(&w->recordings, false);
}

static int take(void *user, const float *samples, int64_t count) {
  writing *w = user;
  w->fresh = false;
  if (mica_transcriber_push(w->transcriber, samples, count) != MICA_OK)
    return cli_recordings_fail(&w->recordings, true);
  show(w, false);
  return CLI_OK;
}

static int finish(void *user, double *seconds) {
  writing *w = user;
  if (mica_transcriber_finish(w->transcriber) != MICA_OK) return cli_recordings_fail(&w->recordings, true);
  *seconds = mica_transcriber_seconds(w->transcriber);
  show(w, true);
  w->ended = !w->recordings.json;
  w->fresh = true;
  return CLI_OK;
}

static void describe(void *user, cli_json *json, cJSON *text) {
  const writing *w = user;
  cli_json_text(json, text, "text", mica_transcriber_text(w->transcriber));
}

static int write_all(const cli_command *self, const struct values *v, mica_run *run, mica_transcriber_config config,
                     int32_t channels) {
  static const cli_transcriber transcriber = {
      .begin = begin, .take = take, .finish = finish, .end_line = end_line, .describe = describe};
  writing w = {.run = run, .config = config};
  const int32_t rate = (int32_t)mica_run_fact_numbers(run, "rate", NULL)[0];
  w.recordings = (cli_recordings){.self = self,
                                  .inputs = &v->inputs,
                                  .transcriber = &transcriber,
                                  .user = &w,
                                  .file_rate = rate,
                                  .rate = config.rate ? config.rate : rate,
                                  .channels = channels,
                                  .task = mica_run_task(run),
                                  .after_name = ": ",
                                  .json = v->json,
                                  .quiet = v->quiet};
  int status = begin(&w, rate, false);
  if (status == CLI_OK) status = cli_recordings_transcribe(&w.recordings);
  mica_transcriber_destroy(w.transcriber);
  return status;
}

/* Refuses options that are only for the other kind of model: a speech run, or a Whisper model. */
static int check_kind(const cli_command *self, const struct values *v, bool whisper) {
  const cli_search *s = &v->search;
  const struct {
    const char *name;
    bool given;
  } of_runs[] = {{"chunk", v->chunk},      {"beam", s->beam},          {"text-model", s->text_model},
                 {"text-order", s->order}, {"text-weight", s->weight}, {"text-bonus", s->bonus}};
  for (size_t i = 0; whisper && i < sizeof of_runs / sizeof *of_runs; i++)
    if (of_runs[i].given) {
      cli_fail(self, "--%s is for speech runs; %s is a published model", of_runs[i].name, v->model);
      return CLI_USAGE;
    }
  const char *name = whisper ? NULL : cli_whisper_given(&v->whisper);
  if (!name) return CLI_OK;
  cli_fail(self, "--%s is for Whisper models; %s is not one", name, v->model);
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
    cli_fail(self, "--%s is for raw samples from standard input (-); a file states this itself",
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
