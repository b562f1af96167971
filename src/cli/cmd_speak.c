#include "cli/compiling.h"
#include "cli/number.h"
#include "cli/result.h"
#include "cli/voice.h"

#include <mica/data.h>
#include <mica/speak.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct values {
  const char *model, *text, *phonemes, *speaker, *like, *out, *speed, *iterations, *noise, *device;
  bool json;
};

static const cli_option options[] = {
    CLI_ROW("model", struct values, model, .value = "DIR",
            .help = "folder of a speak run, or a voice of Piper (.onnx) (required)"),
    CLI_ROW("text", struct values, text, .value = "TEXT", .help = "text to speak"),
    CLI_ROW("phonemes", struct values, phonemes, .value = "TEXT",
            .help = "Piper: phonemes to speak, instead of a text"),
    CLI_ROW("speaker", struct values, speaker, .value = "NAME",
            .help = "speaker whose voice to use (default: the first speaker)"),
    CLI_ROW("like", struct values, like, .value = "FILE",
            .help = "mix the run's speakers so that the voice resembles this recording"),
    CLI_ROW("out", struct values, out, .value = "FILE",
            .help = "WAV file to write; never overwrites (default speech.wav)"),
    CLI_ROW("speed", struct values, speed, .value = "R", .help = "speaking speed; 2: twice as fast (default 1)"),
    CLI_ROW("iterations", struct values, iterations, .value = "N",
            .help = "iterations of Griffin-Lim (default: the run's)"),
    CLI_ROW("noise", struct values, noise, .value = "F",
            .help = "Piper: factor of the voice's random variation; 0: none (default 1)"),
    CLI_DEVICE_ROW(struct values),
    CLI_ROW("json", struct values, json, .help = "write a JSON object: file, rate and seconds"),
    {0},
};

/* The speech, and the run that speaks it; a voice of Piper has no run. */
typedef struct speech {
  mica_engine *engine;
  mica_run *trained;
  float *samples;
  int64_t count;
  int32_t rate;
  double *shares; /* with --like: one per name */
  const char *const *names;
  size_t speakers;
} speech;

static void free_speech(speech *s) {
  free(s->shares);
  mica_free(s->samples);
  mica_run_destroy(s->trained);
  mica_engine_destroy(s->engine);
}

/* The share of a speaker in a voice is not printed if it is below this, unless it is the largest one. */
#define LEAST_SHARE 0.005

static void print_voice(const speech *s) {
  printf("voice: ");
  const char *between = "";
  size_t most = 0;
  for (size_t i = 0; i < s->speakers; i++)
    if (s->shares[i] > s->shares[most]) most = i;
  for (size_t i = 0; i < s->speakers; i++) {
    if (s->shares[i] < LEAST_SHARE && i != most) continue;
    printf("%s%s %.2f", between, cli_clean(s->names[i]), s->shares[i]);
    between = ", ";
  }
  printf("\n");
}

static int print(const cli_command *self, const struct values *v, const char *out, const speech *s) {
  const double rate = s->rate, seconds = (double)s->count / rate;
  cli_json json;
  if (!v->json) {
    if (s->shares) print_voice(s);
    printf("%s: %.2f s at %.0f Hz\n", out, seconds, rate);
    return CLI_OK;
  }
  cli_json_begin(&json);
  cli_json_text(&json, json.root, "file", out);
  cli_json_text(&json, json.root, "text", v->phonemes ? v->phonemes : v->text);
  cli_json_real(&json, json.root, "rate", rate);
  cli_json_real(&json, json.root, "seconds", seconds);
  cJSON *voice = s->shares ? cli_json_object(&json, json.root, "voice") : NULL;
  for (size_t i = 0; voice && i < s->speakers; i++) cli_json_real(&json, voice, s->names[i], s->shares[i]);
  return cli_json_print_line(&json, self);
}

/* Sets s->names and s->speakers to the run's speakers, and s->shares to how much the voice in the recording `path`
 * resembles each of them. */
static int hear(const cli_command *self, const char *path, speech *s) {
  s->names = mica_run_fact(s->trained, "speakers", &s->speakers);
  if (!(s->shares = calloc(s->speakers + 1, sizeof *s->shares))) return cli_fail(self, "there is not enough memory");
  return mica_run_voice(s->trained, path, s->shares) == MICA_OK ? CLI_OK : cli_fail_library(self);
}

static int speak_run(const cli_command *self, const struct values *v, mica_speech_config *config, speech *s) {
  int status = cli_open_run(self, v->model, v->device, &s->engine, &s->trained);
  if (status == CLI_OK && v->like) status = hear(self, v->like, s);
  config->shares = s->shares;
  if (status == CLI_OK && mica_run_speak(s->trained, config, &s->samples, &s->count) != MICA_OK)
    status = cli_fail_library(self);
  if (status == CLI_OK) s->rate = (int32_t)mica_run_fact_numbers(s->trained, "rate", NULL)[0];
  return status;
}

/* True if the file name has an ending other than .wav. */
static bool is_other_kind(const char *file) {
  const char *slash = file ? strrchr(file, '/') : NULL, *name = slash ? slash + 1 : file;
  const char *ending = name ? strrchr(name, '.') : NULL;
  return ending && strcasecmp(ending, ".wav") != 0;
}

/* Refuses options that are only for the other kind of model (a speak run, or a voice of Piper), options that conflict,
 * an --out that is not a WAV file, and a command that lacks a required option. */
static int check(const cli_command *self, const struct values *v) {
  const bool voice = v->model && cli_voice_is(v->model);
  const char *other = voice         ? (v->iterations ? "iterations"
                                       : v->like     ? "like"
                                                     : NULL)
                      : v->phonemes ? "phonemes"
                      : v->noise    ? "noise"
                                    : NULL;
  if (!v->model)
    cli_fail(self, "--model is missing: a folder that mica train --task speak wrote, or a voice of Piper");
  else if (other)
    cli_fail(self, "--%s is for %s; %s is %s", other, voice ? "speak runs" : "voices of Piper", v->model,
             voice ? "a voice of Piper" : "not one: their names end in .onnx");
  else if (!v->text && !v->phonemes)
    cli_fail(self, "--text is missing: what to say");
  else if (v->text && v->phonemes)
    cli_fail(self, "give --text or --phonemes, not both");
  else if (v->speaker && v->like)
    cli_fail(self, "give --speaker or --like, not both");
  else if (v->out && !strcmp(v->out, "-"))
    cli_fail(self, "--out -: a WAV file is not written to standard output; name a file");
  else if (is_other_kind(v->out))
    cli_fail(self, "--out %s: only WAV files are written; choose a name that ends in .wav", v->out);
  else
    return CLI_OK;
  return CLI_USAGE;
}

static int run(const cli_command *self, const void *given) {
  const struct values *v = given;
  const char *out = v->out ? v->out : "speech.wav";
  mica_speech_config config = {.text = v->text, .speaker = v->speaker};
  cli_voice_job job = {.model = v->model,
                       .phonemes = v->phonemes,
                       .text = v->text,
                       .speaker = v->speaker,
                       .device = v->device,
                       .noise = -1};
  speech s = {0};
  int status = check(self, v);
  if (status == CLI_OK) status = cli_number(self, "speed", v->speed, 0.1, 10, &config.speed);
  if (status == CLI_OK) status = cli_number(self, "noise", v->noise, 0, 10, &job.noise);
  if (status == CLI_OK) status = cli_integer(self, "iterations", v->iterations, 1, 10000, &config.iterations);
  if (status == CLI_OK) status = cli_refuse_file(self, out, "choose another file with --out");
  job.speed = config.speed;
  if (status == CLI_OK && cli_voice_is(v->model))
    status = cli_voice_speak(self, &job, &s.samples, &s.count, &s.rate);
  else if (status == CLI_OK)
    status = speak_run(self, v, &config, &s);
  if (status == CLI_OK && mica_sound_write(out, s.rate, s.samples, s.count) != MICA_OK) status = cli_fail_library(self);
  if (status == CLI_OK) status = print(self, v, out, &s);
  free_speech(&s);
  return status;
}

const cli_command cli_command_speak = {
    .name = "speak",
    .summary = "speak a text with a trained or published voice",
    .details = "\nThe text may hold only letters that the run was trained on:\n"
               "\n"
               "  mica speak --model DIR --text \"three one four\" --speaker theo --out x.wav\n"
               "\n"
               "The same text gives the same samples.\n"
               "\n"
               "A voice of Piper is a model in ONNX with a JSON file beside it. It speaks\n"
               "phonemes, which espeak-ng writes:\n"
               "\n"
               "  mica speak --model en_US-joe-medium.onnx \\\n"
               "    --phonemes \"$(espeak-ng -q --ipa -v en-us 'hello world')\"\n",
    .options = options,
    .values_size = sizeof(struct values),
    .run = run,
};
