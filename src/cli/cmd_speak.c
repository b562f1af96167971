#include "cli/compiling.h"
#include "cli/number.h"
#include "cli/result.h"

#include <mica/data.h>
#include <mica/speak.h>
#include <stdio.h>

struct values {
  const char *model, *text, *speaker, *out, *speed, *iterations, *device;
  bool json;
};

static const cli_option options[] = {
    CLI_ROW("model", struct values, model, .value = "DIR", .help = "folder of a speak run"),
    CLI_ROW("text", struct values, text, .value = "TEXT", .help = "text to speak"),
    CLI_ROW("speaker", struct values, speaker, .value = "NAME", .help = "voice (default: the run's first speaker)"),
    CLI_ROW("out", struct values, out, .value = "FILE", .help = "WAV file to write (default speech.wav)"),
    CLI_ROW("speed", struct values, speed, .value = "R", .help = "speed; 2: twice as fast (default 1)"),
    CLI_ROW("iterations", struct values, iterations, .value = "N",
            .help = "iterations of Griffin-Lim (default: the run's)"),
    CLI_ROW("device", struct values, device, .value = "SELECTOR", .help = "device to use, as in MICA_DEVICE"),
    CLI_ROW("json", struct values, json, .help = "write a JSON object: file, rate and seconds"),
    {0},
};

static int print(const cli_command *self, const struct values *v, const char *out, double rate, int64_t count) {
  const double seconds = (double)count / rate;
  cli_json json;
  if (!v->json) {
    printf("%s: %.2f s at %.0f Hz\n", out, seconds, rate);
    return CLI_OK;
  }
  cli_json_begin(&json);
  cli_json_text(&json, json.root, "file", out);
  cli_json_text(&json, json.root, "text", v->text);
  cli_json_real(&json, json.root, "rate", rate);
  cli_json_real(&json, json.root, "seconds", seconds);
  return cli_json_print_line(&json, self);
}

static int speak(const cli_command *self, const struct values *v, const mica_speech_config *config, mica_run *run) {
  const char *out = v->out ? v->out : "speech.wav";
  float *samples = NULL;
  int64_t count = 0;
  if (mica_run_speak(run, config, &samples, &count) != MICA_OK) return cli_fail_library(self);
  const double rate = mica_run_fact_numbers(run, "rate", NULL)[0];
  int status = CLI_OK;
  if (mica_sound_write(out, (int32_t)rate, samples, count) != MICA_OK) status = cli_fail_library(self);
  if (status == CLI_OK) status = print(self, v, out, rate, count);
  mica_free(samples);
  return status;
}

static int run(const cli_command *self, const void *given) {
  const struct values *v = given;
  mica_speech_config config = {.text = v->text, .speaker = v->speaker};
  mica_engine *engine = NULL;
  mica_run *trained = NULL;
  if (!v->model || !v->text) {
    cli_fail(self, !v->model ? "--model is missing: a folder that mica train --task speak wrote"
                             : "--text is missing: what to say");
    return CLI_USAGE;
  }
  int status = cli_number(self, "speed", v->speed, 0.1, 10, &config.speed);
  if (status == CLI_OK) status = cli_integer(self, "iterations", v->iterations, 1, 10000, &config.iterations);
  if (status == CLI_OK) status = cli_open_run(self, v->model, v->device, &engine, &trained);
  if (status == CLI_OK) status = speak(self, v, &config, trained);
  mica_run_destroy(trained);
  mica_engine_destroy(engine);
  return status;
}

const cli_command cli_command_speak = {
    .name = "speak",
    .summary = "speak a text with a voice that was trained",
    .details = "\nThe text may hold the letters that the run was trained on, and no others:\n"
               "\n"
               "  mica speak --model DIR --text \"three one four\" --speaker theo --out x.wav\n"
               "\n"
               "The same text gives the same samples.\n",
    .options = options,
    .values_size = sizeof(struct values),
    .run = run,
};
