#include "cli/voice.h"
#include "cli/compiling.h"
#include "cli/result.h"
#include "cli/voice_file.h"

#include <errno.h>
#include <mica/mica.h>
#include <stdlib.h>
#include <string.h>

/* The most bytes of a JSON file. */
#define MOST_BYTES (1 << 24)
#define MOST_PATH 4096

bool cli_voice_is(const char *path) {
  const size_t size = strlen(path);
  return size > 5 && !strcmp(path + size - 5, ".onnx");
}

/* Reads MODEL.json. */
static int open_file(const cli_command *self, const char *model, cli_voice_file *voice) {
  char path[MOST_PATH];
  if ((size_t)snprintf(path, sizeof path, "%s.json", model) >= sizeof path)
    return cli_fail(self, "the path of the voice is too long: %s", model);
  FILE *file = fopen(path, "rb");
  if (!file) return cli_fail(self, "cannot read %s, the configuration of the voice: %s", path, strerror(errno));
  char *content = malloc(MOST_BYTES + 1);
  const size_t size = content ? fread(content, 1, MOST_BYTES + 1, file) : 0;
  fclose(file);
  const char *wrong = !content            ? "there is not enough memory"
                      : size > MOST_BYTES ? "it is larger than 16 MiB"
                                          : cli_voice_file_read(content, size, voice);
  free(content);
  return wrong ? cli_fail(self, "%s: %s", path, wrong) : CLI_OK;
}

static int encode(const cli_command *self, const cli_voice_job *job, const cli_voice_file *voice, int64_t **ids,
                  size_t *count) {
  const char *phonemes = job->phonemes ? job->phonemes : job->text;
  size_t at = 0, end = 0;
  if (!job->phonemes && !voice->letters) {
    cli_fail(self, "the voice reads phonemes: give them with --phonemes; espeak-ng -q --ipa TEXT prints them");
    return CLI_USAGE;
  }
  const char *wrong = cli_voice_file_encode(voice, phonemes, ids, count, &at);
  if (!wrong) return CLI_OK;
  for (end = at + 1; at < strlen(phonemes) && ((unsigned char)phonemes[end] & 0xc0) == 0x80;) end++;
  if (!phonemes[at]) return cli_fail(self, "%s", wrong);
  return cli_fail(self, "'%.*s' at byte %zu: %s", (int)(end - at), phonemes + at, at + 1, wrong);
}

static bool has_input(const mica_onnx *model, const char *name) {
  for (size_t i = 0; i < mica_onnx_input_count(model); i++)
    if (!strcmp(mica_onnx_input(model, i).name, name)) return true;
  return false;
}

/* Reads the first output as samples. */
static int fetch(const cli_command *self, mica_queue *queue, const mica_onnx_runner *runner, float **samples,
                 int64_t *count) {
  const mica_tensor *wave = mica_onnx_output(runner, 0);
  if (!wave || mica_tensor_dtype(wave) != MICA_F32)
    return cli_fail(self, "the model's first output is not sound: it must be f32 samples");
  *count = mica_tensor_count(wave);
  if (!(*samples = malloc(mica_tensor_bytes(wave) + 1))) return cli_fail(self, "there is not enough memory");
  if (mica_tensor_download(queue, wave, *samples, mica_tensor_bytes(wave)) == MICA_OK) return CLI_OK;
  return cli_fail_library(self);
}

static int run_model(const cli_command *self, const cli_voice_job *job, const cli_voice_file *voice,
                     mica_engine *engine, mica_onnx *model, float **samples, int64_t *count) {
  const double noise = job->noise < 0 ? 1 : job->noise, speed = job->speed > 0 ? job->speed : 1;
  const float scales[] = {(float)(voice->noise * noise), (float)(voice->length / speed),
                          (float)(voice->duration_noise * noise)};
  const int64_t speaker = cli_voice_file_speaker(voice, job->speaker);
  mica_onnx_runner *runner = NULL;
  int64_t *ids = NULL, length = 0;
  size_t n = 0;
  if (speaker < 0) return cli_fail(self, "the voice has no speaker \"%s\"", job->speaker);
  int status = encode(self, job, voice, &ids, &n);
  length = (int64_t)n;
  const mica_onnx_feed feeds[] = {{.name = "input", .dtype = MICA_I64, .shape = MICA_SHAPE(1, length), .data = ids},
                                  {.name = "input_lengths", .dtype = MICA_I64, .shape = MICA_SHAPE(1), .data = &length},
                                  {.name = "scales", .dtype = MICA_F32, .shape = MICA_SHAPE(3), .data = scales},
                                  {.name = "sid", .dtype = MICA_I64, .shape = MICA_SHAPE(1), .data = &speaker}};
  if (status == CLI_OK && mica_onnx_runner_create(engine, model, NULL, &runner) != MICA_OK)
    status = cli_fail_library(self);
  if (status == CLI_OK &&
      mica_onnx_run(runner, mica_engine_queue(engine), feeds, has_input(model, "sid") ? 4 : 3) != MICA_OK)
    status = cli_fail_library(self);
  if (status == CLI_OK) status = fetch(self, mica_engine_queue(engine), runner, samples, count);
  mica_onnx_runner_destroy(runner);
  free(ids);
  return status;
}

int cli_voice_speak(const cli_command *self, const cli_voice_job *job, float **samples, int64_t *count, int32_t *rate) {
  mica_engine_config config = mica_engine_config_default();
  mica_engine *engine = NULL;
  mica_onnx *model = NULL;
  cli_voice_file voice = {0};
  config.device = job->device;
  cli_compile_with(self, &config);
  int status = cli_refuse_null(self, job->device);
  if (status == CLI_OK) status = open_file(self, job->model, &voice);
  *rate = voice.rate;
  if (status == CLI_OK && mica_onnx_open(job->model, &model) != MICA_OK) status = cli_fail_library(self);
  if (status == CLI_OK && mica_engine_create(&config, &engine) != MICA_OK) status = cli_fail_library(self);
  if (status == CLI_OK) status = run_model(self, job, &voice, engine, model, samples, count);
  mica_onnx_close(model);
  mica_engine_destroy(engine);
  cli_voice_file_free(&voice);
  return status;
}
